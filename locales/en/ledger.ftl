# The ledger: spend, output, resources and where they belong, bill imports, exchange rates.

category-usage = Usage
category-purchase = Purchase
category-tax = Tax
category-credit = Credit
category-adjustment = Adjustment
class-correction = Correction
cost-kind-compute = Compute
cost-kind-storage = Storage
cost-kind-network = Network
cost-kind-cross-region = Cross-region
cost-kind-queueing = Queueing
cost-kind-failed-jobs = Failed jobs
cost-kind-support = Support
cost-kind-depreciation = Depreciation
cost-kind-power = Power
cost-kind-room = Room
cost-kind-staff = Staff
cost-kind-spares = Spares

spend-title = Spend
spend-col-id = No.
spend-col-provider = Provider
spend-col-account = Account
spend-col-sub-account = Sub-account
spend-col-project = Project
spend-col-environment = Environment
spend-col-resource = Resource
spend-col-service = Service
spend-col-category = Charge category
spend-col-class = Class
spend-col-charge-start = Charged from
spend-col-charge-end = Charged until
spend-col-period = Period
spend-col-quantity = Quantity
spend-col-unit = Unit
spend-col-list = List cost
spend-col-contracted = Contracted cost
spend-col-billed = Billed cost
spend-col-effective = Effective cost
spend-col-currency = Currency
spend-col-description = Description
spend-col-tags = Tags
spend-col-import-id = Import
spend-col-reverses-id = Reverses

resources-title = Resources
resources-col-name = Name
resources-col-type = Type
resources-col-region = Region
resources-col-lines = Lines
resources-col-first = First period
resources-col-last = Last period

error-category = "{ $value }" is not a charge category; write usage, purchase, tax, credit or adjustment.
error-class = "{ $value }" is not a charge class; leave it empty or write correction.
error-cost-kind = "{ $value }" is not a cost kind; choose one of the list.
error-environment-choose = Choose an environment.
error-provider-choose = Choose a provider.
error-resource-choose = Choose a resource.
error-filter-unknown = The filter { $name } finds no "{ $value }"; write the number or the name exactly as it is.
error-filter-unknown-number = The filter { $name } finds no "{ $value }"; write the number as the list gives it.
error-spend-amount = Write at least one of the four amounts; leave empty what is not known.
error-spend-days = The last day cannot be before { $first }.
error-spend-is-reversal = This entry takes another one back; it cannot be corrected or voided itself.
ledger-closed-entry = Open entry { $id }
ledger-closed-replacement = It was replaced by entry { $id }
error-spend-reversed = This entry was corrected or voided already; open it again.
error-reason = Say why, so that somebody understands it later.
error-tax-rate = "{ $value }" is not a tax rate; write it like 6% or 0.06, between 0 and 100%.
error-provider-busy = A bill or a binding of this provider is being worked on; try again in a moment.
error-binding-overlap = On some of these days the resource belongs to an environment already; take that back first, or change the days.
error-binding-days = The last day cannot be before { $first }.
error-binding-withdrawn = This was taken back already; open it again.
error-import-no-rows = The file holds no row of data.
error-import-unreadable = The file cannot be read: { $cause }
error-import-changed = The file was changed while it was being imported. Nothing was saved; import it again.

spend-col-cost-kind = Cost kind
ledger-lead = What it cost: one line an entry, corrections included. Currencies add up only at a dated rate.
ledger-record = Record spend
ledger-record-lead = A cost that no bill brings. Bills come in as files.
ledger-all = All
ledger-from = From
ledger-to = To
ledger-filter = Filter
ledger-filter-clear = Show all
ledger-only-environment = Environment: { $name }
ledger-only-resource = Resource: { $name }
ledger-only-import = Import no. { $name }
ledger-only-unrated = Without a rate
ledger-empty = No spend yet. Import a bill, or record the first entry.
ledger-empty-filter = No entry matches this filter.
ledger-totals = { $n ->
    [one] 1 entry
   *[other] { $n } entries
 }
ledger-lines = { $n ->
    [one] 1 line
   *[other] { $n } lines
 }
ledger-unknown = Unknown
ledger-and-unknown = and { $n } unknown
ledger-in-house = Billed, in { $currency }
ledger-no-rate = no rate
ledger-house-total = Total in { $currency }
ledger-house-rule = Each day's sum at that day's rate, the last one on or before it; rounded per currency, half a cent up.
ledger-not-in-total = No rate, so not in the total:
ledger-unconverted = { $currency } { $amount }: { $lines ->
    [one] 1 entry
   *[other] { $lines } entries
 }, { $days ->
    [one] 1 day, { $first }
   *[other] { $days } days, { $first } to { $last }
 }
ledger-unconverted-entries = Show these entries
ledger-col-day = Day
ledger-col-state = State
ledger-unplaced = Unassigned
ledger-refund = Refund
ledger-reverses = Reversal of no. { $id }
ledger-reversed = Reversed by no. { $id }
ledger-corrects = Corrects no. { $id }
ledger-entry = { $amount } { $currency }, { $day }
ledger-days = Charged for
ledger-tax = Tax
ledger-tax-included = included
ledger-tax-apart = not included
ledger-tax-rate = Tax rate
ledger-import-row = row { $row }
ledger-recorded-at = Recorded
ledger-correct = Correct
ledger-correct-lead = The entry stays and is reversed; what you write here is recorded as a new one.
ledger-void = Void
ledger-void-lead = The entry stays and is reversed: totals count it no more. This cannot be taken back.
ledger-reason = Reason
ledger-back = Back to the entry
ledger-provider-help = Left empty, the environment's own.
ledger-first-day = First day
ledger-first-day-help = Its month is the entry's period.
ledger-last-day = Last day (included)
ledger-amount-help = To be paid. Negative for a refund; leave empty what is not known.
ledger-effective-help = Prepayments spread over their time. Empty is unknown, not zero.

unplaced-title = Unassigned
unplaced-lead = Bill lines that found no environment. Assign each resource once; past lines follow, later ones find their place.
unplaced-empty = Every bill line has its environment.
unplaced-sums = Unassigned in all
unplaced-ticked = The ticked ones, each from its first line on, to
unplaced-none-ticked = Tick at least one resource.
unplaced-bind = Assign to environment
binding-from = From (day of charge)
binding-to = To (included)
binding-help = Lines charged from this day on move there at once.
binding-withdraw = Take back
binding-withdrawn = Taken back { $at }
resource-stand-in = Stands for lines of the bill that name no resource.
resource-entries = Show its entries
resource-bindings = Belongs to
resource-unbound = It belongs to no environment yet.
resource-months = Month by month

bill-import = Import bill
bill-import-lead = A FOCUS file, 1.0 to 1.4, as your provider exports it. You see what it would bring before anything is saved.
bill-list = Bill imports
bill-list-lead = Which bills came in, and what each brought.
bill-list-empty = No bill yet. Export one from your provider as FOCUS and import it here.
bill-file = File
bill-file-help = .csv or .csv.gz, up to 20 MiB; larger ones by the command: rentroll import bill.
bill-provider-help = Who sends the bill. A new name adds a provider.
bill-look = Look at it
bill-format = Format
bill-new = New
bill-known = Known
bill-missing-rows = Missing
bill-who = Imported by
bill-preview = { $rows ->
    [one] 1 row
   *[other] { $rows } rows
 }: { $new } new, { $known } known, { $bad } with problems
bill-missing = { $n ->
    [one] The ledger has 1 line of these months that the file lacks. It stays.
   *[other] The ledger has { $n } lines of these months that the file lacks. They stay.
 }
bill-unknown = Amounts that the file does not say: billed { $billed }, effective { $effective }, list { $list }.
bill-rows-bad = { $bad ->
    [one] 1 row needs
   *[other] { $bad } rows need
 } a change; nothing was saved.
bill-file-bad = The file cannot be imported; nothing was saved.
bill-nothing-new = The ledger has all of these lines already.
bill-confirm = Import
bill-other = Choose another file
