# Environments: what is rented, its terms, renewals, changes of quantity, the file that brings them in; deadlines.

scenario-debug = Debug
scenario-training = Training
scenario-fine-tuning = Fine-tuning
scenario-inference = Inference
scenario-evaluation = Evaluation
scenario-batch = Batch
kind-instance = Instance
kind-pool = Pool
kind-service = Service
kind-line = Line
kind-storage = Storage
kind-maintenance = Maintenance
kind-voucher = Voucher
priority-core = Core
priority-normal = Normal
priority-low = Low
state-active = Active
state-ended = Ended
state-voided = Voided
state-open-ended = No end date

deadline-expiry = Last day
deadline-cancel-by = Cancel by
deadline-renewed = renewed
deadline-ended = ended
deadline-voided = voided
deadline-withdrawn = date withdrawn
deadline-done = done

env-deadlines-title = Deadlines
env-col-id = Id
env-col-kind = Kind
env-col-project = Project
env-col-environment-id = Environment id
env-col-environment = Environment
env-col-owner = Owner
env-col-due-on = Date
env-col-days-left = Days left
env-col-closed = Closed

error-scenario = "{ $value }" is not a scenario; write debug, training, fine_tuning, inference, evaluation or batch.
error-environment-kind = "{ $value }" is not a kind of environment; write instance, pool, service, line, storage, maintenance or voucher.
error-priority = "{ $value }" is not a priority; write core, normal or low.
error-status = "{ $value }" is not a status; write active or ended.
error-deadline-kind = "{ $value }" is not a kind of deadline; write expiry or cancel_by.
error-deadline-closed = "{ $value }" is not a reason; write renewed, ended, voided, withdrawn or done.
error-term-days = The last day { $ends_on } is before the first day { $starts_on }; check both.
error-term-currency = A price needs its currency: write a code like CNY or USD.
error-term-overlap = Another term of this environment covers some of these days; terms may not overlap.
error-term-order = Terms keep their order: this one must lie between the terms before and after it.
error-quantity = { $value } is not a quantity; write a number above zero, at most { $most }.
error-environment-taken = This project has an environment "{ $name }" already.
error-environment-tier = This tier does not belong to the provider.

env-terms = Terms
env-col-name = Name
env-col-provider = Provider
env-col-tier = Tier
env-col-scenario = Scenario
env-col-status = Status
env-col-ended-on = Ended on
env-col-quantity = Quantity
env-col-checker = Checker
env-checks-themself = the owner too: nobody else checks
env-col-priority = Priority
env-col-labels = Labels
env-col-term-starts-on = Term starts on
env-col-term-ends-on = Term ends on
env-col-cycle = Cycle
env-col-renewal = Renewal
env-col-last-on = Last day
env-col-cancel-by = Cancel by
env-col-price = Price
env-col-currency = Currency
env-col-expected = Expected cost per cycle
env-col-expected-currency = Currency of the expected cost
env-col-starts-on = Starts on
env-col-ends-on = Ends on
env-col-notice = Notice
env-col-watchers = Watchers
env-col-steps = Steps
env-cycle-months = { $n } months
error-environment-voided = This environment is voided and cannot be changed any more.
error-environment-not-active = This environment is not in use any more. Take its end back first.
error-environment-not-ended = This environment is not ended.
error-environment-has-rows = Spend, output or resources are recorded for this environment, so it cannot be voided. End it instead.
error-end-before-start = The last day of use cannot be before { $starts_on }, the first day of the term.
error-end-after-term = The last term ends on { $ends_on }; the last day of use cannot be after it. To go on longer, renew.
error-scale-ahead = A change of quantity is recorded from its day on, today ({ $today }) at the latest.
error-scale-order = Changes are told in order: on { $day } or later.
error-renewal-cycles = "{ $value }" is not a number of cycles that this term can have; write a whole number from 1 to { $most }.
error-renewal-once = This term has no cycle: write the new last day.
error-renewal-day = The new term begins on { $starts_on }; its last day cannot be before that.
error-renewal-open-ended = This term has no last day, so there is nothing to renew. If it has one by now, write it into the term.
error-renewal-never = This term ends and is not renewed. If that has changed, choose another kind of renewal for it first.
error-renewal-done = Somebody else has renewed it meanwhile: term { $number } is there already. Look at it before you renew again.
error-project-unknown = There is no project "{ $name }". An administrator can add it.
error-person-name = Not exactly one person is called "{ $name }"; write the e-mail address.
missing-project = Project "{ $name }"
missing-provider = Provider "{ $name }"
missing-tier = Tier "{ $name }" of { $provider }
missing-person = Person without a log-in: { $address }
import-row-new = new
import-row-known = known
import-not-text = From this row on the file is no text in this encoding. Choose another encoding above, or save it in Excel as "CSV UTF-8".
import-workbook = This is a workbook of a spreadsheet. Save it as CSV there ("CSV UTF-8" in Excel) and choose that file.
import-number-asks = "{ $value }" can be read in two ways. Say under "Numbers" how this file writes them (--numbers on the command line), and read it again.
import-number-differs = "{ $value }" is not written like { $format ->
    [comma] 1.234,56
   *[other] 1,234.56
 }, as was said of this file.
import-day-order = "{ $value }": which of these is the month? Write the year first, like 2026-03-31.
import-encoding = Encoding
import-encoding-found = Found: { $encoding }
import-encoding-chosen = Chosen: { $encoding }
import-numbers = Numbers
import-numbers-plain = Plain: 1234.56
import-which-column = Column { $at }:
import-left-out = Leave out
import-again = Read again
number-format-point = 1,234.56
number-format-comma = 1.234,56
import-broken = Row { $row } cannot be read as CSV: look for a quotation mark that is not closed.
import-empty = The file is empty. Its first row holds the headings: project,name,provider,tier,starts_on and further ones.
import-no-rows = There are headings, but no rows below them.
import-heading-unknown = The heading "{ $heading }" is not known. Known are project, name, provider, tier, scenario, owner, checker, starts_on, ends_on, cycle, renewal, notice, quantity, price, currency, labels, status, priority, watchers and steps.
import-heading-twice = The heading "{ $heading }" stands for a column that is there already. Choose above which of the two it is, or keep one of them in the file.
import-heading-missing = The column { $heading } is missing; without it there is no environment.
import-row-short = This row has { $cells } cells where the headings have { $headings }: it is cut off, or a mark between cells is missing.
import-cell-without-heading = Something stands in column { $column }, which has no heading.
import-ended-without-end = An ended environment needs the last day of its term.
import-rows-disagree = Row { $row } says "{ $value }" of the same environment; the rows of one environment must agree.
import-rows-overlap = This term overlaps the one in row { $row }.
import-differs = The ledger has "{ $value }" here. An import changes nothing that is there: correct the file, or edit the environment on its page.
import-ended = This environment has ended; take its end back on its page before it gets another term.
import-overlaps = This term overlaps the one from { $starts_on } that the ledger has.

# Pages.
env-lead = What we rent, until when, and what it should cost
env-add = Add environment
env-add-lead = One rented thing and its first term. Write names; what the ledger does not know yet is made after you agree.
env-edit-lead = An environment never changes its project ({ $project }). Dates and prices are changed on its terms.
env-import = Import environments
env-filter-words = Words
env-filter-all = All
env-filter-not-voided = All but voided
env-filter-show = Show
env-filter-clear = Clear the filter
env-empty-filter = Nothing matches this filter.
empty-environments = Nothing here yet. Add one, or import the spreadsheet you use now.
env-col-offer = Provider and tier
env-col-note = Note
env-col-number = No.
env-col-changes-on = From
env-col-before = Before
env-col-after = After
env-col-who = Recorded by
env-unknown = unknown
env-ended-on = ended on { $day }
env-totals = { $all ->
    [one] 1 environment
   *[other] { $all } environments
 }, { $active } in use
bulk-open = Change the ticked, or all that match
bulk-title = Change several environments
bulk-lead = Only what you fill in is changed, and everything else stays. You see what would change before anything is written.
bulk-labels-add = Labels to put on
bulk-labels-remove = Labels to take off
bulk-help-labels-remove = Their keys, like team;use.
bulk-help-steps = Days before a deadline, like 15;7;3;1;0.
bulk-difference = { $field }: { $before } → { $after }
bulk-same = is so already
bulk-left-out = left out
bulk-refused-right = Left out: you may not change records in { $project }.
bulk-refused-ended = Left out: it has ended.
bulk-change = { $n ->
    [one] Change 1 environment
   *[other] Change { $n } environments
 }
error-bulk-nothing = Fill in at least one field: what is to be changed?
error-bulk-none = No environment is ticked; tick at least one.
error-bulk-many = One form changes at most { $most } environments; filter the list, or tick some.
error-bulk-person = Nobody here has the address { $address }; add the person first.
error-bulk-stale = Changed by somebody else since you looked: { $names }. Nothing was saved. Below is how it stands now; look again, then confirm.
bar-today = today, { $day }
env-terms-file = Their terms, to import again:
env-expected-agreed = { $amount } (agreed)
env-expected-listed = { $amount } (price list)
env-act-scale = Change quantity
env-act-void = Void
env-act-resume = Take the end back
env-act-edit-term = Edit the term
env-steps-of-project = as the project or the organisation has them
env-scale-history = Quantity
env-scale-lead = In use now: { $quantity }. A change is kept with its day, who and why.
env-scale-empty = No change yet.
env-what = What it is
env-who = Who
env-first-term = First term
env-will-be-made = These are new and will be made with it. Save again to agree.
env-term-title = Term { $number }
env-term-lead = Deadlines and their reminders follow the dates.
env-renew-lead = The next term begins on the day after the last one. Look at the new last day and the cost, then renew.
env-last-term = Last term
env-cycles = { $n ->
    [one] 1 cycle
   *[other] { $n } cycles
 }
preview-renew = New last day { $date }, about { $amount } for the term
preview-renew-unknown = New last day { $date }; the cost is unknown
preview-reminders = { $kind } { $date }: reminders on { $days } to { $people }
preview-reminders-none = { $kind } { $date }: too late for a reminder ahead
preview-reminders-nobody = { $kind } { $date }: nobody can be reminded, because nobody named here has a mail address
preview-reminders-comma = {", "}
env-preview = Preview
env-field-cycles = Cycles
env-help-cycles = How many cycles the new term has.
env-field-new-last-day = Or to this last day
env-help-new-last-day = Rules where both are filled in.
env-field-ends-on = Last day (included)
env-help-ends-on = Empty: no end date, no reminder.
env-help-cycle = monthly, quarterly, yearly, once, or months like 14 months.
env-help-notice = How long before the last day notice must be given, like 30 days or 2 months; empty for none.
env-help-quantity = Units of the tier.
env-help-price = For one unit and one cycle; empty if not known.
env-help-new = Choose one, or write a new name.
env-help-labels = Like team=llm;use=training.
env-help-person = E-mail address; somebody new becomes a person without a log-in.
env-help-watchers = Addresses of those who get copies, apart by semicolons.
env-help-steps = Days before a deadline, like 15;7;3;1;0. Empty: as the project or the organisation has them.
env-field-new-quantity = New quantity
env-help-changes-on = The first day of the new quantity, today at the latest.
env-end-lead = Ending closes all deadlines: no more reminders. The environment and its history stay.
env-field-last-use = Last day of use
env-resume-lead = The environment is in use again, and its deadlines are open again.
env-void-lead = For an environment that was opened by mistake. It leaves the lists and gives its name back; its history stays. This cannot be taken back.
env-import-lead = A CSV file with one row per term. You see what it would do before anything is written.
env-import-file = File
env-import-limit = CSV in UTF-8, UTF-16 or GB18030 (GBK), up to 20 MiB. Save a workbook as CSV first.
env-import-look = Look at it first
env-import-columns = Columns
env-import-columns-required = Needed: project, name, provider, tier, starts_on. Further: ends_on, cycle, renewal, notice, quantity, price, currency, scenario, owner, checker, labels, status, priority, watchers, steps. Chinese headings are taken too.
env-import-columns-rows = Rows with the same project and name are one environment. What is there already is left alone; a row that differs from it is an error.
env-import-example = What the ledger has now, as such a file
env-import-write = { $n ->
    [one] Write 1 term
   *[other] Write { $n } terms
 }
import-counts = { $rows ->
    [one] 1 row
   *[other] { $rows } rows
 }: { $new } new, { $known } known, { $bad } with problems; { $environments ->
    [one] 1 new environment
   *[other] { $environments } new environments
 }
import-nothing-saved = { $bad ->
    [one] 1 row needs
   *[other] { $bad } rows need
 } a change; nothing was saved.
import-unread = Nothing was written.
import-nothing-new = Everything in this file is in the ledger already.
import-row = Row
import-column = Column
import-value = Value
import-message = What to change
import-state = What becomes of it
import-row-wrong = see above
import-more = … and { $n } more
import-file-gone = The file is not there any more; choose it again.
