//! Every limit, with its reason. `docs/model.md` 8.
//!
//! Lengths of text are counted in characters (Unicode scalar values after NFC), sizes in bytes.

use std::time::Duration;

use chrono::TimeDelta;

// ---- text -----------------------------------------------------------------------------------------------------------

/// A name: it must fit the subject of a mail and a table's cell.
pub const NAME_CHARS: usize = 120;
/// One line of text: a reason, an address, a link's title.
pub const LINE_CHARS: usize = 300;
/// A note of several lines: about two printed pages.
pub const NOTE_CHARS: usize = 4_000;
/// An e-mail address: RFC 5321 allows 256 with the angle brackets.
pub const EMAIL_CHARS: usize = 254;
/// How much of a wrong value a message quotes back.
pub const EXCERPT_CHARS: usize = 60;
/// Labels of one thing: more are a sign that a column is missing.
pub const LABELS: usize = 20;
/// A label's key.
pub const LABEL_KEY_CHARS: usize = 40;
/// A label's value.
pub const LABEL_VALUE_CHARS: usize = 120;

// ---- numbers and dates ----------------------------------------------------------------------------------------------

/// Significant digits of one amount or quantity: what a 96-bit decimal always holds (`docs/model.md` 4).
pub const DECIMAL_DIGITS: usize = 28;
/// Digits after the point of one amount or quantity (bills have up to 18).
pub const DECIMAL_PLACES: u32 = 28;
/// Largest amount or quantity that a person may type, either sign: 99,999,999,999.99. Anything longer is a slip of the hand.
pub const AMOUNT_CENTS: i64 = 9_999_999_999_999;
/// First year of a date: cloud computing is younger.
pub const FIRST_YEAR: i32 = 1990;
/// Last year of a date: later ones are slips, and month arithmetic stays far from the calendar's end.
pub const LAST_YEAR: i32 = 2199;
/// Months of one cycle: ten years.
pub const CYCLE_MONTHS: u16 = 120;
/// Months of a notice.
pub const NOTICE_MONTHS: u16 = 24;
/// Days of a notice: two years.
pub const NOTICE_DAYS: u16 = 730;
/// Reminder steps of one rule: more would be nagging.
pub const STEPS: usize = 12;
/// Days ahead of the earliest step: one year.
pub const STEP_DAYS: i32 = 366;
/// Overdue reminders: one on the day after, then weekly for this many weeks (`docs/model.md` 7).
pub const OVERDUE_WEEKS: i32 = 8;

// ---- files ----------------------------------------------------------------------------------------------------------

/// An uploaded document.
pub const UPLOAD_BYTES: u64 = 20 * 1024 * 1024;
/// Documents of one thing, all versions: more are an archive, and a page would not show them.
pub const DOCUMENTS: usize = 200;
/// All documents of one project, and of the catalogue.
pub const PROJECT_DOCUMENT_BYTES: i64 = 2 * 1024 * 1024 * 1024;
/// A file to import, unpacked: about ten million bill lines.
pub const IMPORT_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// One cell of an imported file: longer ones are a broken quotation mark.
pub const IMPORT_CELL_BYTES: usize = 64 * 1024;
/// One record of an imported file with all its cells: a longer one is an unclosed quotation mark.
pub const IMPORT_RECORD_BYTES: usize = 4 * 1024 * 1024;
/// An account, a sub-account, a service in an imported file: together they must fit a row of an index (2,700 bytes).
pub const IMPORT_ID_BYTES: usize = 600;
/// A resource in an imported file: it must fit such a row together with the account.
pub const IMPORT_RESOURCE_BYTES: usize = 1_500;
/// Columns of an imported file: the widest cloud bill has about 200.
pub const IMPORT_COLUMNS: usize = 512;
/// Errors of one import that are listed; the count is always complete.
pub const IMPORT_ERRORS: usize = 200;

// ---- pages ----------------------------------------------------------------------------------------------------------

/// Rows of a list on one page, by key (`docs/model.md` 5).
pub const PAGE_ROWS: usize = 50;
/// A form without a file.
pub const FORM_BYTES: usize = 256 * 1024;
/// Environments that one form changes: as many as fit into its size and into the time of a request.
pub const BULK_ENVIRONMENTS: usize = 500;
/// Filters that a person keeps: they stand as links above a list.
pub const SAVED_FILTERS: usize = 30;
/// The words of a search.
pub const SEARCH_CHARS: usize = 200;

// ---- people and requests --------------------------------------------------------------------------------------------

/// Sessions of one person; the oldest ends when another begins.
pub const SESSIONS: i64 = 10;
/// A session ends after this, whatever happens in it.
pub const SESSION_TIME: TimeDelta = TimeDelta::hours(24);
/// A session ends after this long without a request.
pub const SESSION_IDLE_TIME: TimeDelta = TimeDelta::hours(8);
/// How exactly the last request of a session is kept: a write at every page would be waste.
pub const SESSION_SEEN_STEP: TimeDelta = TimeDelta::minutes(5);
/// Failed sign-ins of one account within [`SIGN_IN_WINDOW`]; then it waits. Those of each of its own browsers count apart.
pub const SIGN_IN_FAILURES_OF_ACCOUNT: i64 = 10;
/// Failed sign-ins out of one network (/24, /64) within [`SIGN_IN_WINDOW`]: a whole office may share one address.
pub const SIGN_IN_FAILURES_OF_NETWORK: i64 = 100;
/// Browsers in which a person has signed in before, whose failures are counted apart.
pub const DEVICES: i64 = 20;
/// How long such a browser is known: whoever stays away for longer is a stranger again.
pub const DEVICE_TIME: TimeDelta = TimeDelta::days(180);
/// How long a failed sign-in counts.
pub const SIGN_IN_WINDOW: TimeDelta = TimeDelta::minutes(15);
/// Shortest password: length is what counts (OWASP ASVS 5.0, 6.2.9).
pub const PASSWORD_CHARS_LEAST: usize = 15;
/// Longest password.
pub const PASSWORD_CHARS_MOST: usize = 256;
/// Password hashes at once: each takes 64 MiB of memory.
pub const HASHES: usize = 2;
/// Exports that run at once on one instance; each holds a connection for as long as it lasts.
pub const EXPORTS: usize = 2;
/// Imports that run at once on one instance.
pub const IMPORTS: usize = 1;
/// Connections that are served at once; more wait to be taken. Each may hold about 400 KiB of a request's head.
pub const CONNECTIONS: usize = 1024;
/// The head of a request, and a connection on which nobody asks anything: slow clients do not keep their places.
pub const HEAD_TIME: Duration = Duration::from_secs(30);
/// One request, except exports and imports.
pub const REQUEST_TIME: Duration = Duration::from_secs(10);
/// A file on its way to us: whoever sends slower than that holds a connection for nothing.
pub const UPLOAD_TIME: Duration = Duration::from_mins(1);
/// Uploaded files that are in memory at once, each until its request is answered; others wait on disk.
pub const UPLOADS_IN_MEMORY: usize = 2;
/// Draining at the end of the program (`docs/model.md` 1).
pub const DRAIN_TIME: Duration = Duration::from_secs(10);
/// The one-time link that sets up the first administrator.
pub const SETUP_LINK_TIME: Duration = Duration::from_hours(1);
/// The one-time link with which a person chooses a password: it must survive a weekend.
pub const CHOOSE_PASSWORD_LINK_TIME: TimeDelta = TimeDelta::hours(72);
/// The same link where the person asked for it at the door.
pub const FORGOTTEN_LINK_TIME: TimeDelta = TimeDelta::minutes(60);
/// The waits before a mail with it is tried again that failed for now: a server that puts strangers off wants a few minutes, and
/// most of the link's hour must be left.
pub const FORGOTTEN_MAIL_WAITS: [TimeDelta; 3] = [TimeDelta::minutes(1), TimeDelta::minutes(5), TimeDelta::minutes(15)];
/// How often a link may be asked for one address within [`SIGN_IN_WINDOW`], so that nobody's mailbox is filled.
pub const FORGOTTEN_OF_ACCOUNT: i64 = 3;
/// The same out of one network.
pub const FORGOTTEN_OF_NETWORK: i64 = 20;
/// How long a page waits for the mail server's answer to a test mail.
pub const TEST_MAIL_TIME: Duration = Duration::from_secs(8);

// ---- database -------------------------------------------------------------------------------------------------------

/// Connections for pages, commands and jobs of one instance.
pub const POOL_CONNECTIONS: u32 = 10;
/// Connections kept for exports and imports, so that they never starve the pages.
pub const BULK_CONNECTIONS: u32 = 3;
/// A connection that was in use this short a time ago is taken without asking whether it still lives.
pub const TRUSTED_IDLE_TIME: Duration = Duration::from_secs(1);
/// Waiting for a free connection; then 503.
pub const ACQUIRE_TIME: Duration = Duration::from_secs(2);
/// One statement of a page.
pub const STATEMENT_TIME: Duration = Duration::from_secs(5);
/// Waiting for a row that somebody else is changing.
pub const LOCK_TIME: Duration = Duration::from_secs(2);
/// A transaction that does nothing.
pub const IDLE_IN_TRANSACTION_TIME: Duration = Duration::from_mins(1);

// ---- what is kept how long (`docs/model.md` 8) ---------------------------------------------------------------------------

/// Days that a job run with work in it is kept; idle ones fold into one row per job and hour.
pub const JOB_RUN_DAYS: i64 = 400;
/// How long a form that was sent is remembered, so that sending it again is the same act.
pub const SUBMISSION_TIME: TimeDelta = TimeDelta::days(30);
/// How long what an upload left that was killed may lie in the store of documents: no upload takes so long.
pub const INCOMING_TIME: TimeDelta = TimeDelta::days(1);
/// How long an uploaded file may wait to be confirmed: whoever looks at a preview on Friday can come back on Monday.
pub const WAITING_TIME: TimeDelta = TimeDelta::days(7);
/// Days that a sent mail stays in the outbox.
pub const OUTBOX_DAYS: i64 = 90;

// ---- reminders (`docs/model.md` 7) ---------------------------------------------------------------------------------------

/// Deliveries that one worker claims at once, under one lease of five minutes.
pub const MAIL_BATCH: i64 = 100;
/// A message is begun only so long after the claim: the longest conversation (about four minutes) then still ends within
/// the lease.
pub const MAIL_BEGIN_TIME: Duration = Duration::from_secs(45);
/// While batches take less than this, the next one is written while one is being sent.
pub const MAIL_QUICK_TIME: Duration = Duration::from_secs(5);
/// Sent messages that are booked at once.
pub const MAIL_BOOK_COUNT: usize = 100;
/// Messages that may be sent while others are being booked; then sending waits.
pub const MAIL_UNBOOKED_COUNT: usize = 50;
/// One round sends for so long at most. The next one goes on, and other jobs of the same interval get their turn.
pub const MAIL_ROUND_TIME: Duration = Duration::from_mins(5);
/// A booking waits so long for more, and no longer, so that a crash leaves few in doubt.
pub const MAIL_BOOK_TIME: Duration = Duration::from_millis(25);
/// The wait after the first failure for now; it is four times as long after each further one.
pub const MAIL_RETRY_FIRST: TimeDelta = TimeDelta::minutes(1);
/// The longest wait between two tries.
pub const MAIL_RETRY_MOST: TimeDelta = TimeDelta::hours(4);
/// A failure so long after the first try is the last one.
pub const MAIL_RETRY_TIME: TimeDelta = TimeDelta::hours(72);
/// The wait after a try of which nobody can say whether it arrived.
pub const MAIL_AMBIGUOUS_WAIT: TimeDelta = TimeDelta::minutes(10);
/// How often such a message is sent again.
pub const MAIL_RESENDS: i32 = 2;
/// Tries of a message that cannot even be written.
pub const MAIL_WRITE_TRIES: i32 = 10;
/// A mail that waits for longer is late, and `/healthz` says so.
pub const MAIL_LATE_TIME: TimeDelta = TimeDelta::hours(1);
/// How long all mail rests after the server refused the settings, so that no account gets locked.
pub const MAIL_REST_TIME: TimeDelta = TimeDelta::minutes(10);
