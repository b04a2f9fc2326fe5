# The overview: what needs somebody today.
lead-overview = What needs you today
scope-mine = Mine
scope-all = All
overview-due = Overdue and within 15 days
overview-due-all = All renewals
overview-environment = Environment
overview-project = Project
overview-what = What
overview-date = Date
overview-left = Left
overview-owner = Owner
overview-no-owner = nobody
overview-organisation = the organisation
act-renew = Renew
act-end = End it
empty-due = Nothing due in 15 days. Next: { $name }, { $date }.
empty-due-none = Nothing is due, and no date lies ahead.
empty-due-mine = Nothing of yours is due.
overview-unreached = Nobody is named to be reminded of { $n ->
    [one] 1 environment
   *[other] { $n } environments
 }: neither owner nor checker nor anyone copied has an address. The managers of the project are told instead, else the administrators.
overview-mail-failed = { $n ->
    [one] 1 mail
   *[other] { $n } mails
 } of the last 30 days did not arrive.
overview-mail-retrying = { $n ->
    [one] 1 mail
   *[other] { $n } mails
 } failed for now and will be tried again.
mail-off = { $n ->
    [0] Mail is not set up: reminders will wait until it is.
    [one] Mail is not set up: 1 reminder is waiting.
   *[other] Mail is not set up: { $n } reminders are waiting.
 }
overview-unplaced = { $n ->
    [one] 1 bill line belongs
   *[other] { $n } bill lines belong
 } to no environment yet.
overview-see-mails = See the mails
overview-spend = Spend this month
overview-currency = Currency
overview-billed = Billed
overview-before = Last month
overview-unplaced-amount = Of this unassigned
overview-unknown = { $n ->
    [one] 1 more line
   *[other] { $n } more lines
 } of unknown amount
overview-no-spend = No spend this month yet.
overview-output = Last outputs
overview-period = Period
overview-quantity = Output
overview-no-output = No output recorded yet.
overview-ledger = Spend and output in detail
strip-scheduler = Reminders ran { $time }: { $checked } checked, { $sent } sent, { $failed } failed
strip-scheduler-error = Reminders broke off { $time }: { $error }
strip-scheduler-ran = Reminders ran { $time }
strip-scheduler-broken = Reminders broke off { $time }
strip-scheduler-never = Reminders have not run yet.
overview-start = Start here
overview-start-lead = Nothing here yet. Add one environment, or import the spreadsheet you use now.
overview-start-add = Add an environment
overview-start-add-why = What is rented, from when to when, and who decides; reminders follow by themselves.
overview-start-import = Import a spreadsheet
overview-start-import-why = One row for each term; you see the result before anything is saved.
overview-assign = Assign them
overview-start-bill = Import a bill
overview-start-bill-why = A provider's FOCUS file; its lines find their environment, or wait to be assigned.
overview-start-wait = Your projects have no environments yet. An operator of the project or an administrator can add them.
