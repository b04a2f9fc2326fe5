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
