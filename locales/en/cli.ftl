# The command line: what it says in the end, and what is wrong with how it was called.

cli-cause = { $what }: { $cause }
cli-variable = { $name } cannot be used: { $cause }
cli-log = RENTROLL_LOG is "{ $value }", which cannot be read: { $cause }. Write a level, like info, or one for each part, like info,rentroll=debug.
cli-database-url-scheme = DATABASE_URL must begin with postgres://, as in postgres://user:password@host/database.
cli-database-url = DATABASE_URL cannot be read: { $cause }. Write it like postgres://user:password@host/database.
cli-mail-from-missing = RENTROLL_SMTP_URL is set, but RENTROLL_MAIL_FROM is not: name the sender of all mails, for example Rentroll <ledger@example.com>.
cli-migrations-missing = { $n ->
    [one] The database lacks a migration:
   *[other] The database lacks { $n } migrations:
 }
    {"  "}{ $names }
    Bring it up to this version:  rentroll migrate
cli-migrated = { $n ->
    [0] Nothing to do: the database is at { $newest }
    [one] Applied 1 migration; the database is at { $newest }
   *[other] Applied { $n } migrations; the database is at { $newest }
 }

# ---- serve
cli-listening = listening on { $url }
cli-set-up = Set up the first administrator here (the link works once, for an hour):
    { $link }
cli-listen = { $address } cannot be listened on: { $cause }. Name another address and port with RENTROLL_LISTEN, for example 127.0.0.1:8081.
cli-listen-taken = { $address } is taken: another program listens there. Name another port with RENTROLL_LISTEN, for example 127.0.0.1:8081.
cli-serve-stops = Stopping: requests that are running may finish
cli-public-url-http = RENTROLL_PUBLIC_URL is { $url }: without https browsers send no session cookie to that name, so nobody can sign in there. Put a proxy with https before Rentroll, or use localhost.
cli-public-url-missing-for-sign-in = The pages can be reached from elsewhere ({ $address }), but over http nobody can sign in except on localhost. Put a proxy with https before Rentroll and name its address in RENTROLL_PUBLIC_URL.
cli-public-url-missing-for-mail = RENTROLL_PUBLIC_URL is not set: reminders go without a link, and invitations wait. Set it to the address that people type.

# ---- doctor
cli-doctor-ok = ok    { $name } { $message }
cli-doctor-ill = look  { $name } { $message }
cli-doctor-variables = can be used: { $names }
cli-doctor-variables-none = none is set
cli-doctor-variable-unknown = { $name } is set, but this version knows no such variable. See  rentroll --help
cli-doctor-variable-meant = { $name } is set, but this version knows no such variable. Is { $nearest } meant?
cli-doctor-embedded = PostgreSQL { $version }, Rentroll's own
cli-doctor-given = PostgreSQL { $version } at DATABASE_URL
cli-doctor-migrations = all { $n } applied
cli-doctor-roles = rentroll_app is fenced in on { $n } tables
cli-doctor-roles-open = Row-level security is off on { $tables }. Somebody changed the tables from outside: alter table … enable row level security, force row level security;
cli-doctor-clock = the database's and this machine's agree
cli-doctor-mail = { $server } takes mails from { $from }
cli-doctor-mail-silent = The mail server did not say what is wrong.
cli-doctor-outbox = no mail server is set (RENTROLL_SMTP_URL), so mails wait in { $path }
cli-doctor-public-url = links in mails begin with { $url }
cli-doctor-no-public-url = not set (RENTROLL_PUBLIC_URL), and not needed on this machine alone
cli-doctor-documents = kept in { $place }
cli-doctor-keys = { $path } is closed to others
cli-doctor-keys-open = { $path } is open to others. Close it:  chmod go= { $path }
cli-doctor-disk = { $free } free for { $path }
cli-doctor-disk-full = Only { $free } free for { $path }: below 1 GiB imports and the database may stop. Make room.

# ---- export
cli-filter-pair = "{ $value }" is not a filter; write it like project=3.
cli-filter-key = This list has no filter "{ $key }". { $known ->
    [none] It takes none.
   *[other] It knows: { $known }.
 }
cli-export-wants-out = With --json standard output holds the result, so the list needs a file: --out FILE.
cli-export-progress = { $n } rows so far
cli-exported = { $n ->
    [one] Wrote 1 row to { $path }
   *[other] Wrote { $n } rows to { $path }
 }
cli-out = { $path } cannot be written: { $cause }. Name another file with --out.
cli-out-ending = Files with the ending .{ $ending } are not written; end the name in csv, xlsx or json, or add --format.
cli-out-broke = { $name } broke off: { $cause }

# ---- user
cli-user-added = { $name } can sign in with the password
cli-user-mailed = { $name } chooses a password through a link that was mailed to { $email } (it works once, for 72 hours):
    { $link }
cli-user-link = { $name } chooses a password here (the link works once, for 72 hours):
    { $link }
cli-user-no-password = Standard input holds no password: give it as its first line.

# ---- jobs
cli-job = { $name } (every { $minutes } min): { $why }
    { $last }
cli-job-never = has not run yet
cli-job-last = last run { $at }: { $result }
cli-job-last-as-of = last run { $at }, as of { $date }: { $result }
cli-job-failed = it failed: { $cause }
cli-job-ran = { $name }: { $result }
cli-job-report = looked at { $checked }, called for { $matched }, done { $done }, failed { $failed }
cli-job-skipped = left out { $n }: { $why }

# ---- import
cli-file = { $path } cannot be read: { $cause }.
cli-file-folder = { $path } is a folder; name the file in it.
cli-file-large = { $path } is larger than { $most }, which no file of this kind is.
cli-row-error = row { $row }: { $message }
cli-cell-error = row { $row }, { $column } "{ $value }": { $message }
cli-imported = { $read ->
    [one] Read 1 row: { $new } new, { $known } known
   *[other] Read { $read } rows: { $new } new, { $known } known
 }
cli-would-import = { $read ->
    [one] Read 1 row and changed nothing: { $new } would be new, { $known } known
   *[other] Read { $read } rows and changed nothing: { $new } would be new, { $known } known
 }
cli-import-refused = { $rejected ->
    [one] Nothing was changed: something is wrong in 1 of { $read } rows.
   *[other] Nothing was changed: something is wrong in { $rejected } of { $read } rows.
 }
cli-import-makes = new: { $what }
cli-import-progress = { $n } rows so far
cli-bill-total = { $currency }: billed { $billed }, effective { $effective }, list { $list }
cli-bill-missing = { $n ->
    [one] 1 row of the same months that the ledger has is not in the file; it stays
   *[other] { $n } rows of the same months that the ledger has are not in the file; they stay
 }
cli-import-unreadable = Nothing was changed: the file cannot be read.
