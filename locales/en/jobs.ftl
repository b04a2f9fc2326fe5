# Jobs: what each is for, what a run did.

job-reminders = Plans the reminders that are due and sends them.
job-renewals-title = Automatic renewals
job-reminders-title = Reminders
job-sweep-title = Clearing away
job-gone = A job of an earlier version
job-renewals = Writes the automatic renewals of terms that are over, and puts the quantity of terms that begin into use.
job-sweep = Clears away ended sessions, used links, old records of runs and what broken uploads left.

skipped-before-hour = before the hour of sending
skipped-later = to be tried again later
skipped-nobody = nobody can be told
skipped-outbox = wait in the outbox: mail is not set up
skipped-settings = held back: the mail server refused the settings
skipped-superseded = replaced by a later step
skipped-withdrawn = not wanted any more

# ---- the page
jobs-title = Job runs
jobs-lead = What the periodic jobs looked at, did, left and why. Idle runs of an hour share one row.
jobs-job = Job
jobs-every-job = All jobs
jobs-what = Show
jobs-every-run = All runs
jobs-busy = Only runs that did something
jobs-empty = No run matches. Jobs run while the server does, and by the command jobs run.
jobs-started-at = Began
jobs-as-of = as of { $date }
jobs-runs = Runs
jobs-checked = Checked
jobs-matched = Matched
jobs-done = Done
jobs-failed = Failed
jobs-skipped = Left, and why
jobs-skipped-one = { $n } { $why }
jobs-error = failed
