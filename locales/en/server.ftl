# The embedded PostgreSQL server: what is being done, what is waited for, what is wrong and the way out.

# ---- progress
server-initialises = Creating the database (PostgreSQL { $major } from { $bindir })
server-starts = Starting PostgreSQL { $major }
server-recovers = PostgreSQL is recovering what was not yet written out; this can take minutes after a crash
server-ends-orphan = Stopping a PostgreSQL that an earlier run left behind
server-waits-for-earlier = Waiting for an earlier PostgreSQL (process { $pid }) to end
server-waits-for-command = A command (process { $pid }) is using the database; waiting for it to finish
server-waits-for-start = Process { $pid } is starting the database; waiting for it
server-waits-for-stop = Process { $pid } is stopping the database; waiting for it

# ---- errors
server-error-io = { $path } cannot be used: { $cause }. Run Rentroll as the user who owns the data directory, or name another with RENTROLL_DATA_DIR.
server-error-closed = The user { $user }, who runs PostgreSQL, cannot enter { $ancestor } and so cannot reach { $below }.
    Open it:  chmod o+x { $ancestor }
    or take a place outside it with RENTROLL_DATA_DIR (the data, for example /var/lib/rentroll) or PG_BINDIR (PostgreSQL's programs).
server-error-closed-to-us = { $ancestor } is closed to you, so { $below } cannot be reached. Name another folder with RENTROLL_DATA_DIR, or have it opened:  chmod o+x { $ancestor }
server-error-foreign = The database in { $path } belongs to the user { $owner }. Run Rentroll as that user or as root, or name another data directory with RENTROLL_DATA_DIR.
server-error-no-account = PostgreSQL does not run as root, and this system has neither a user postgres nor a user nobody. Create one (useradd --system postgres), or run Rentroll as an ordinary user.
server-error-no-binaries = PostgreSQL is not installed. Install it:
    Debian, Ubuntu:  { $debian }
    Fedora:          { $fedora }
    macOS:           { $macos }
    or use a server that you have:  DATABASE_URL=postgres://user:password@host/database
server-error-no-binaries-of = The database was made by PostgreSQL { $major }, which is not installed. Install it:
    Debian, Ubuntu:  { $debian }
    Fedora:          { $fedora }
    macOS:           { $macos }
    or name the folder of its programs with PG_BINDIR.
server-error-too-old = PostgreSQL { $found } in { $bindir } is too old: Rentroll needs { $oldest } or newer. Install it:
    Debian, Ubuntu:  { $debian }
    Fedora:          { $fedora }
    macOS:           { $macos }
    or use a server that you have:  DATABASE_URL=postgres://user:password@host/database
server-error-bindir = PG_BINDIR names { $path }, but PostgreSQL's programs cannot be run from there: { $cause }. Name the folder that holds postgres, initdb and pg_ctl, for example /usr/lib/postgresql/15/bin, or leave PG_BINDIR empty.
server-error-older-data = The database was made by PostgreSQL { $made_by }, but here is { $found } ({ $bindir }), which cannot read it. Nothing was changed.
    To go on as before, install PostgreSQL { $made_by } beside it; Rentroll finds it by itself.
    To carry the data over to { $found }, type this, line by line:

    { $steps }

    Then start Rentroll again. Keep the folder postgres-{ $made_by } and carry-over.sql until you have seen that all is there.
server-error-newer-data = The database was made by PostgreSQL { $made_by }, which is newer than { $found } ({ $bindir }) and cannot be read by it. Nothing was changed. Install PostgreSQL { $made_by }:
    Debian, Ubuntu:  { $debian }
    Fedora:          { $fedora }
    macOS:           { $macos }
    or name the folder of its programs with PG_BINDIR.
server-error-not-a-database = { $path } holds files but no PostgreSQL database. Move it aside, or name another data directory with RENTROLL_DATA_DIR.
server-error-socket-dir = { $path }, where the database's socket belongs, is another user's or open to others. Remove it, or take a data directory with a shorter path (RENTROLL_DATA_DIR).
server-error-init = The database could not be created. initdb says:
    { $output }
server-error-start = PostgreSQL did not start. Its log { $log } says:
    { $said }
server-error-blocked = An earlier PostgreSQL (process { $pid }) still uses the database and does not end. See what it does (ps -fp { $pid }), stop it (kill -INT { $pid }), and start again.
server-error-already-serving = rentroll serve already runs on { $data_dir } (process { $pid }). Stop that one first, or name another data directory with RENTROLL_DATA_DIR.
server-error-silent = PostgreSQL runs but does not answer. Its log is { $log }.
server-error-refused = PostgreSQL in the data directory refuses us: { $cause }. If this database was not made by Rentroll, name another data directory with RENTROLL_DATA_DIR.

# ---- any database: its version, roles, migrations, settings
database-too-old = The database is PostgreSQL { $found }, which is too old: Rentroll needs 15 or newer.
database-silent = The database does not answer. Look at its address in DATABASE_URL, and whether it runs.
database-unreachable = The database cannot be reached: { $cause }. Look at its address in DATABASE_URL, and whether it runs.
database-roles = The database user "{ $login }" may not create the roles that Rentroll needs ({ $cause }). Give this to the administrator of the database, then start again:

    { $sql }
database-migration-failed = Migration { $name } failed, and nothing of it was kept: { $cause }
database-migration-changed = Migration { $name } is not the one that was applied to this database. Use the version of Rentroll that was used before, or a newer one.
database-migration-unknown = This database holds migration { $name }, which this version of Rentroll does not know. Use a newer version.
database-migrations-failed = The migrations did not run: { $cause }
database-not-durable = The database runs with fsync or full_page_writes off and could lose what it acknowledged. Set both to on in its postgresql.conf.
database-asynchronous = The database runs with synchronous_commit off and could lose what it acknowledged. Set it to on in its postgresql.conf, for this database and this user.
database-powerful = The role { $role } is a superuser or owns tables, so row-level security would not hold. Rentroll works as rentroll_app, which may be neither: alter role rentroll_app nosuperuser nobypassrls;
database-no-checksums = The database keeps no checksums of its pages, so damage on the disk would go unnoticed. Turn them on while it is stopped: pg_checksums --enable
database-clock = The clocks of the database and of this machine differ by { $n } seconds. Set both by a time server.
