# Signing in, setting up, accounts, people, projects, settings.

field-email = E-mail
field-password = Password
field-password-new = New password
field-password-again = The new password again
field-organisation = Organisation
field-organisation-locale = Language of the organisation
field-own-name = Your name
password-hint = At least { $least } characters; several words are easiest to remember. Every character counts, spaces too.

sign-in-title = Sign in
sign-in-help = Forgotten the password? An administrator can give you a new link to choose one.
sign-in-insecure = Signing in needs an encrypted connection: open this address with https://, or use http://localhost on the machine itself. Browsers do not keep the sign-in otherwise.
act-sign-in = Sign in
act-to-sign-in = To the sign-in page
set-up-title = Set up Rentroll
set-up-lead = The organisation and its first administrator. Time zone, currency and reminder rule can be changed afterwards on the settings page.
act-set-up = Set up and sign in
link-dead = This link does not work any more
set-up-link-dead = A set-up link works once, for one hour, and only while nobody can sign in yet. Restart Rentroll: it prints a new one as long as there is no user.

error-sign-in = E-mail and password do not go together.
error-sign-in-too-often = Too many failed tries. Wait { $minutes ->
    [one] 1 minute
   *[other] { $minutes } minutes
 }, then try again.
error-password-short = At least { $least } characters; this has { $length }.
error-password-long = At most { $most } characters; this has { $length }.
error-password-own-words = This is little more than names that everybody knows: yours, your address, the organisation or the product. Choose other words.
error-password-common = This is among the first that guessers try. Choose words that do not belong together.
error-password-differs = The two passwords differ. Type the same one twice.
error-last-administrator = This is the only administrator. Make somebody else an administrator first.
error-email-needed = Whoever signs in needs an e-mail address.
error-member-already = This person works on the project already. Change the role in the list instead.
error-user-unknown = Choose a person from the list.

choose-password-title = Choose a password
choose-password-lead = { $name }, choose the password you will sign in with.
choose-password-link-dead = A link to choose a password works once, for 72 hours, and only the newest one. Ask an administrator for a new one, or sign in if you have chosen a password already.
act-choose-password = Save the password and sign in

account-title = My account
account-lead = Your password, your language, and where you are signed in.
account-about = About you
account-password = Change the password
account-password-ends = Every other browser is signed out.
account-sessions = Signed in
act-change-password = Change the password
act-choose = Choose
act-end-session = End
field-password-current = Present password
session-device = Browser
session-address = Address
session-since = Signed in
session-seen = Last seen
session-here = this one

settings-lead = The organisation, mail, people and projects.
settings-organisation = Organisation
settings-zone = Time zone
settings-zone-help = All days and months are counted in it, for example Asia/Shanghai.
settings-currency = House currency
settings-currency-help = Of totals, for example CNY. Amounts are never converted without a dated rate.
settings-locale-help = Of exports, and of pages and mails for people who chose none.
settings-send-at = Reminders leave at
settings-steps = Reminder steps
settings-steps-help = Days before the date, like 15;7;3;1;0. Projects and environments can have their own.
settings-mail = Mail
settings-mail-where = Mails go
settings-mail-server = through { $server }, from { $from }
settings-mail-outbox = nowhere yet: no mail server is set, so they wait in { $path }. Set RENTROLL_SMTP_URL and restart. The sender will be { $from }.
settings-mail-memory = nowhere: this is a trial run, from { $from }
settings-public-url = Address in mails
settings-no-public-url = not set: reminders go out without a link, and links to choose a password are not mailed. Set RENTROLL_PUBLIC_URL and restart.
settings-people = { $n ->
    [one] 1 person is known; { $users } can sign in.
   *[other] { $n } people are known; { $users } can sign in.
 }
settings-test-sent = The test mail to { $address } was taken by the mail server: { $reply }
settings-test-kept = The test mail to { $address } waits in the outbox as { $reply }.
settings-test-slow = The mail server did not answer in time. The test mail may arrive or not.
act-save-settings = Save the settings
act-send-test = Send a test mail to me
act-see-people = All people
act-see-projects = All projects

people-title = People
people-lead = Who is named in the ledger, and who can sign in.
people-id = Person no.
people-name = Name
people-role = Role
people-locale = Language
people-locale-organisation = the organisation's
people-zone = Time zone
people-all-projects = Every project
people-has-password = Password chosen
people-created-at = Known since
people-disabled-at = Log-in ended
people-state = Log-in
people-log-in = Log-in
people-q = Name or e-mail
people-any-role = Any
people-empty = Nobody yet.
people-empty-filter = Nobody matches. Take the filter away to see everybody.
act-filter = Filter
act-add-person = Add a person
act-save-person = Save
act-back = Back
act-to-person = To { $name }
act-give-log-in = Give a log-in
act-change-right = Change the role
act-new-link = New link to choose a password
act-disable = End the log-in
act-enable = Open the log-in again
person-new-lead = An owner, checker or copied person needs no log-in: mails reach the address anyway.
person-open-known = Open the page of { $name }
person-edit = Edit the person
person-email-help = Reminders go there; whoever has a log-in signs in with it.
person-right-help = A link to choose a password is mailed, or shown to you where mail is not set up.
person-right-ends = When the role changes, the person is signed out everywhere.
person-disable-help = The person is signed out everywhere and cannot sign in any more. The name stays in the history.
user-state-none = No log-in
user-state-open = Can sign in
user-state-invited = Has not chosen a password yet
user-state-disabled = Ended
role-administrator = Administrator
role-auditor = Auditor
role-member = Member
role-manager = Manager
role-operator = Operator
role-viewer = Viewer
right-administrator = Administrator: people, settings, every project
right-auditor = Auditor: reads every project
right-auditor-listed = Auditor: reads the projects listed for them
right-member = Member: works on the projects listed for them
right-member-all = Member: operates every project
invited-title = Hand over this link
invited-lead = { $name } has a log-in. With this link they choose their password:
invited-mail-failed = It could not be mailed.
invited-how = It works once, for { $hours } hours, and is shown only now. Give it to nobody else: whoever opens it signs in as this person.
credential-changed = changed

projects-title = Projects
projects-lead = What is rented for, where its costs are booked, and who works on it.
projects-empty = No project yet. Add one, or import the spreadsheet you use now.
project-name = Name
project-cost-centre = Cost centre
project-ends-on = Last day (included)
project-steps = Reminder steps
project-steps-help = Days before the date, like 30;15;7. Empty: the organisation's.
project-steps-organisation = (the organisation's rule)
project-environments = Its environments
project-edit = Edit the project
act-add-project = Add a project
act-save-project = Save
members-title = Members
members-lead = Managers and operators change its records, viewers read. Administrators and everybody with every project are not listed here.
members-person = Person
members-role-of = Role of { $name }
act-add-member = Add
act-change-role = Change
act-end-membership = Take out

mail-choose-password-subject = { $organisation }: choose your password for Rentroll
mail-choose-password-name = { $name },
mail-choose-password-what = you can now sign in to the compute rental ledger of { $organisation }. Choose your password:
mail-choose-password-foot = The link works once, for { $hours } hours. If you did not expect this, tell an administrator and leave the link alone.
mail-test-subject = Rentroll: a test mail
mail-test-what = { $name }, mail from the rental ledger of { $organisation } reaches you.

error-password-current = This is not the present password.
error-right = Choose a role from the list.
error-project-role = Choose viewer, operator or manager.
error-user-disabled = The log-in was ended. Open it again first.
error-time = "{ $value }" is not a time of day; write it like 09:00.
