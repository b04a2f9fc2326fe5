# Words of the frame: the application's name, the menu, what every page shares.
app-name = Rentroll
days-left = { $n ->
    [0] ends today
    [one] 1 day left
   *[other] { $n } days left
 }
days-past = ended { $n ->
    [one] 1 day
   *[other] { $n } days
 } ago
days-left-to-act = { $n ->
    [0] today is the last day
    [one] 1 day left
   *[other] { $n } days left
 }
days-overdue = { $n ->
    [one] 1 day
   *[other] { $n } days
 } overdue
skip-to-content = Skip to content
nav-label = Main menu
nav-overview = Overview
nav-renewals = Renewals
nav-environments = Environments
nav-ledger = Ledger
nav-audit = History
nav-settings = Settings
act-sign-out = Sign out
optional = optional
field-reason = Reason
choose = Choose …
language-zh-cn = Chinese
language-en = English
choose-none = (none)
form-has-errors = Not saved yet: see the notes beside the fields.
export-as = Export:
page-next = Next page
saved-filters = Saved filters
saved-filters-lead = Your own filters of the lists. They stand as links above each list; nobody else sees them there.
saved-filters-edit = Rename or remove saved filters
saved-filters-none = None yet. Filter the list, then save the filter there.
saved-filter-as = Save this filter as
saved-filter-name = Name of the filter
saved-filter-save = Save filter
saved-filter-rename = Rename
saved-filter-end = Remove
error-saved-filter-empty = Nothing is filtered; choose or write something in the filter first.
error-saved-filter-count = You keep { $most } filters already; remove one first.
error-saved-filter-taken = You have a filter "{ $name }" already; choose another name.
error-saved-filter-act = Save, rename or remove: this form says none of them.
error-saved-filter-list = "{ $value }" is not a list with saved filters; open the list, filter it, and save the filter there.
