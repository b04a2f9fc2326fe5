# Reminders: what the mails say, and the pages about what ends when and which mails went out.

# ---- the mail's subject: what has to be done, which depends on how the term is renewed
reminder-subject-expiry = [{ reminder-days }] { $environment } { $renewal ->
    [automatic] ends { $date } and renews itself
    [never] ends { $date } and is not renewed
   *[on_request] ends: decide by { $date }
 }
reminder-subject-expiry-today = [Today] { $environment } { $renewal ->
    [automatic] renews itself
    [never] ends for good
   *[on_request] ends
 } at midnight
reminder-subject-expiry-past = [{ reminder-days } ago] { $environment } { $renewal ->
    [automatic] should have renewed itself: record the new term
    [never] has ended: record its end
   *[on_request] has ended, undecided
 }
reminder-subject-cancel = [{ reminder-days }] { $environment }: { $renewal ->
    [never] tell the provider by { $date } that it ends
   *[on_request] give notice by { $date }
 }
reminder-subject-cancel-today = [Today] { $environment }: last day to { $renewal ->
    [never] tell the provider that it ends
   *[on_request] give notice
 }
reminder-subject-cancel-past = [{ reminder-days } ago] { $environment }: the last day to { $renewal ->
    [automatic] give notice has passed, it renews itself
    [never] tell the provider has passed
   *[on_request] give notice has passed
 }
reminder-subject-bounced = [No answer] { $environment } { $when }; mail to { $name } bounces
reminder-subject-unnamed = [No answer] { $environment } { $when }; nobody named on it can be reached
reminder-when-expiry = { $n ->
    [0] ends today
    [one] ends in 1 day
   *[other] ends in { $n } days
 }
reminder-when-past = ended { reminder-days } ago
reminder-when-cancel = needs notice by { $date }
reminder-when-cancel-past = needed notice by { $date }

# ---- the mail's sentences
reminder-greeting = { $name },
reminder-expiry = { $environment } ({ $project }) { reminder-when-expiry } { $renewal ->
    [automatic] and renews itself on { $day_after }.
    [never] and is not renewed.
   *[on_request] and nobody has decided yet.
 }
reminder-expiry-past = { $environment } ({ $project }) { reminder-when-past } { $renewal ->
    [automatic] and should have renewed itself; its new term is not recorded.
    [never] and was not to be renewed; its end is not recorded.
   *[on_request] and nobody has recorded a renewal or its end.
 }
reminder-cancel = { $environment } ({ $project }) { $renewal ->
    [automatic] renews itself on { $day_after } unless notice is given by { $date }; { reminder-cancel-left }.
    [never] is not renewed, and the provider must be told so by { $date }; { reminder-cancel-left }.
   *[on_request] needs notice by { $date } if it is not to go on; { reminder-cancel-left }.
 }
reminder-cancel-left = { $n ->
    [0] today is the last day
    [one] 1 day left
   *[other] { $n } days left
 }
reminder-cancel-past = { $environment } ({ $project }): the last day to { $renewal ->
    [automatic] give notice was { $date }, { reminder-days } ago; it renews itself on { $day_after }.
    [never] tell the provider that it is not renewed was { $date }, { reminder-days } ago. Check that it was told.
   *[on_request] give notice was { $date }, { reminder-days } ago.
 }
reminder-stop-by = If it is not wanted any more, cancel it by { $date }.
reminder-stop-over = The last day to cancel it was { $date }.
reminder-save = { $n ->
    [0] Save its data today
   *[other] Save its data before then
 }; if the work goes on, plan its replacement.
reminder-late = This reminder was due on { $date } and comes late.
reminder-link = { $renewal ->
    [automatic] The environment:
    [never] The environment:
   *[on_request] Decide:
 }
reminder-rule = Rule: { $rule }. { $next }
reminder-next = Next: { $date }.
reminder-next-none = This is the last one.
reminder-why = You get this as the { $part }; also sent to { $others }.
reminder-why-alone = You get this as the { $part }; nobody else does.
reminder-why-bounced = You get this as { $part } because mail to { $name } bounces: { $reply }
reminder-why-nobody = You get this as { $part } because nobody named on the environment can be reached.
reminder-other = { $name } ({ $part })
reminder-part-owner = owner
reminder-part-checker = checker
reminder-part-watcher = copied
reminder-part-manager = the project's manager
reminder-part-administrator = administrator

# ---- the mail's labelled lines
reminder-line-environment = Environment:
reminder-line-project = Project:
reminder-line-provider = Provider:
reminder-line-tier = Tier:
reminder-line-quantity = Quantity:
reminder-line-first-day = First day:
reminder-line-last-day = Last day:
reminder-line-left = Left:
reminder-line-cancel-by = Cancel by:
reminder-line-renewal = Renewal:
reminder-line-cost = Cost per cycle:
reminder-line-if-nothing = If nothing is done:
reminder-value = { $value }
reminder-days = { $n ->
    [one] 1 day
   *[other] { $n } days
 }
reminder-included = { $date } (included)
reminder-no-notice = no notice needed
reminder-unknown = unknown
reminder-amount = { $currency } { $amount }
reminder-cost = { $total } ({ $price } × { $quantity }, { $cycle })
reminder-nothing-stops = stops on { $date } at 00:00
reminder-nothing-renews = renews itself on { $date } for about { $amount }
reminder-nothing-renews-unknown = renews itself on { $date }, cost unknown
reminder-nothing-renews-until = renews itself on { $date } until { $until } for about { $amount }
reminder-nothing-renews-until-unknown = renews itself on { $date } until { $until }, cost unknown
reminder-nothing-over = the provider may stop it and delete its data at any time
reminder-nothing-renewed = the provider may have renewed it already: record the new term

# ---- what ends when
lead-renewals = What ends when, and who decides
due-overdue = Overdue
due-within = Within { $n } days
due-present = Overdue and within 30 days
due-all = All dates
due-open-ended = No end date
due-whose = Whose
due-project = Project
due-every-project = All projects
due-apply = Show
due-empty = No date matches. Every environment with a last day is here as soon as it is recorded.
due-empty-add = Add environment
due-days-left = Left
due-environment = Environment
due-environment-id = Environment id
due-kind = What
due-date = Date
due-if-nothing = If nothing is done
due-owner = Owner
due-renewal = Renewal
due-told = Mails
due-mails-sent = Mails sent
due-last-sent-at = Last mail
due-next-mail-on = Next mail
due-no-end = no end date
due-mail-failed = not delivered
due-mails = { $n ->
    [one] 1 sent
   *[other] { $n } sent
 }
due-next = next { $date }
due-rule = { $rule }.
due-see-reminders = All reminders
due-see-deliveries = All reminder mails
due-see-jobs = Job runs
due-runs-on = runs on
due-stops = stops the day after
due-renews = renews itself the day after
due-may-be-gone = may be stopped and deleted at any time
due-may-be-renewed = may be renewed already: record the new term
due-renews-without-notice = renews itself unless notice is given
due-will-renew = renews itself at the end of the term
due-notice-lapses = the time to give notice passes
error-cursor = This is not a place in the list; open the list again.

# ---- reminders
reminders-title = Reminders
reminders-lead = Every reminder that is planned, was sent or was taken back.
reminders-id = Id
reminders-project = Project
reminders-environment-id = Environment id
reminders-environment = Environment
reminders-kind = What
reminders-deadline-on = Date
reminders-step = Step
reminders-person = To
reminders-due-on = Goes out on
reminders-state = State
reminders-sent-at = Sent
reminders-reply = Server's reply
reminders-every-state = All states
reminders-from = From
reminders-to = To
reminders-empty = No reminder matches. They are planned within a minute after a last day is recorded.
reminders-days-before = { $n ->
    [0] on the day
    [one] 1 day before
   *[other] { $n } days before
 }
reminders-days-after = { $n ->
    [one] 1 day after
   *[other] { $n } days after
 }
reminder-planned = planned
reminder-due = due
reminder-sent = sent
reminder-failed = not delivered
reminder-superseded = replaced by a later one
reminder-withdrawn = taken back
error-reminder-state = "{ $value }" is not a state of a reminder; write planned, due, sent, failed, superseded or withdrawn.

# ---- mails
deliveries-title = Mails
deliveries-lead = What was sent to whom, and what the mail server said.
deliveries-mail-off = Mail is not set up: mails wait in the outbox folder and go out once there is a server.
deliveries-state = State
deliveries-of-all = Mails of all environments
deliveries-empty = No mail matches. A mail is made on the day on which its reminder goes out.
deliveries-made = Made
deliveries-subject = Subject
deliveries-person = To
deliveries-address = Address
deliveries-tries = Tries
deliveries-reply = Server's reply
deliveries-environment = Environment
deliveries-run-on = Day of the run
deliveries-sent-at = Sent
deliveries-escalation = Sent because the mail to somebody named on the environment bounced.
deliveries-retry = Try again
deliveries-attempts = Tries
deliveries-no-attempts = Not tried yet.
deliveries-tried-at = When
deliveries-outcome = Result
deliveries-phase = How far
deliveries-text = What it says
delivery-pending = waiting
delivery-outbox = in the outbox
delivery-leased = being sent
delivery-sent = sent
delivery-bounced = refused
delivery-dead = given up
delivery-cancelled = taken back
delivery-failed = refused or given up
attempt-sent = sent
attempt-retry = tried again later
attempt-bounced = refused
attempt-configuration = settings refused
attempt-ambiguous = may have arrived
attempt-late-finish = ended too late
attempt-cancelled = taken back
attempt-outbox = written to the outbox
error-delivery-state = "{ $value }" is not a state of a mail; write pending, outbox, leased, sent, bounced, dead, cancelled or failed.
error-delivery-not-failed = This mail was not refused or given up, so there is nothing to try again.
