//! `rentroll import`: files of environments, bills and rates. All or nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{Args, Subcommand, ValueEnum};

use super::console::{Console, Refused, Report};
use super::open::{Opened, Purpose};
use super::progress::Progress;
use crate::actor::{Actor, Source};
use crate::app::App;
use crate::config::Config;
use crate::encoding::Encoding;
use crate::environments::import as environments;
use crate::environments::import::cells::NumberFormat;
use crate::error::Error;
use crate::ledger::bill_import::{self, BillFile};
use crate::ledger::exchange_rate_import;
use crate::limits;
use crate::locale::Message;
use crate::postgres::os_user;
use crate::row_error::RowError;

/// What was typed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// A bill: .csv or .csv.gz.
    Bill(Bill),
    /// Environments and their terms: one row per term.
    Environments(Environments),
    /// Exchange rates: the European Central Bank's files, or base,quote,date,rate.
    Rates(File),
}

#[derive(Debug, Args)]
struct File {
    /// The file.
    file: PathBuf,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Args)]
struct Environments {
    #[command(flatten)]
    file: File,
    /// The encoding: utf-8, utf-16le, utf-16be or gb18030; found by itself unless this says otherwise.
    #[arg(long, value_parser = str::parse::<Encoding>)]
    encoding: Option<Encoding>,
    /// How the file writes numbers: point (1,234.56) or comma (1.234,56).
    #[arg(long, value_parser = str::parse::<NumberFormat>)]
    numbers: Option<NumberFormat>,
}

#[derive(Debug, Args)]
struct Bill {
    #[command(flatten)]
    file: File,
    /// Who sends the bill; created where the ledger does not know them.
    #[arg(long)]
    provider: String,
    /// How the bill is written.
    #[arg(long, value_enum, default_value_t = Format::Auto)]
    format: Format,
}

/// The formats of bills. There is one, so `auto` finds it in every file that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As the heading says.
    Auto,
    /// FOCUS 1.0 to 1.4.
    Focus,
}

pub(super) async fn run(config: &Config, console: &Console, arguments: Arguments) -> Result<Report, Refused> {
    match arguments.what {
        What::Bill(bill) => {
            // Said before a database is started for it.
            size(&bill.file.file)?;
            let opened = Opened::open(config, Purpose::Work, console).await?;
            let result = import_bill(&opened.app, console, &bill).await;
            opened.close(None).await;
            result
        }
        What::Environments(Environments { file, encoding, numbers }) => {
            let reading = environments::Reading { encoding, numbers, ..environments::Reading::default() };
            let parsed = environments::read_as(&read(&file.file)?, &reading).named(&name_of(&file.file));
            let opened = Opened::open(config, Purpose::Work, console).await?;
            let result = import_environments(&opened.app, console, &parsed, file.dry_run).await;
            opened.close(None).await;
            result
        }
        What::Rates(file) => {
            let bytes = read(&file.file)?;
            let opened = Opened::open(config, Purpose::Work, console).await?;
            let result = import_rates(&opened.app, console, &file, &bytes).await;
            opened.close(None).await;
            result
        }
    }
}

fn actor() -> Actor {
    Actor::command_line(&os_user()).through(Source::Import)
}

/// A file that is read at once.
fn read(path: &Path) -> Result<Vec<u8>, Refused> {
    if size(path)? > limits::UPLOAD_BYTES {
        let most = format!("{} MiB", limits::UPLOAD_BYTES / 1024 / 1024);
        return Err(Message::new("cli-file-large").with("path", path.display().to_string()).with("most", most).into());
    }
    Ok(std::fs::read(path).map_err(|cause| unreadable(path, &cause))?)
}

/// How large a file is.
fn size(path: &Path) -> Result<u64, Refused> {
    let found = std::fs::metadata(path).map_err(|cause| unreadable(path, &cause))?;
    if found.is_dir() {
        return Err(Message::new("cli-file-folder").with("path", path.display().to_string()).into());
    }
    Ok(found.len())
}

fn unreadable(path: &Path, cause: &std::io::Error) -> Message {
    Message::new("cli-file").with("path", path.display().to_string()).with("cause", cause.to_string())
}

async fn import_bill(app: &App, console: &Console, bill: &Bill) -> Result<Report, Refused> {
    // Both formats have the one reader.
    let Bill { file, provider, format: Format::Auto | Format::Focus } = bill;
    let source = bill_import::Source::Path(file.file.clone());
    let rows = Arc::new(AtomicU64::new(0));
    let told = rows.clone();
    let count: bill_import::Progress = Arc::new(move |so_far| told.store(so_far, Ordering::Relaxed));
    let actor = actor();
    let work =
        bill_import::run(app, &actor, BillFile { name: name_of(&file.file), source }, provider, file.dry_run, count);
    let mut progress = Progress::start(console);
    let summary = progress
        .while_working(work, || Message::new("cli-import-progress").with("n", arg(rows.load(Ordering::Relaxed))))
        .await?;
    drop(progress);
    Ok(Report {
        json: Some(summary.json(console.locale)),
        lines: bill_words(&summary, file.dry_run),
        refused: !summary.is_good(),
    })
}

fn bill_words(summary: &bill_import::Summary, dry_run: bool) -> Vec<Message> {
    let mut lines: Vec<Message> = summary.errors.listed.iter().map(row_error_of).collect();
    let counts = Counts { read: summary.rows_read, new: summary.rows_new, known: summary.rows_known };
    lines.push(counts.words(summary.is_good(), summary.rows_rejected, dry_run));
    if summary.is_good() {
        lines.extend(summary.totals.iter().map(|(currency, total)| {
            Message::new("cli-bill-total")
                .with("currency", currency.to_string())
                .with("billed", total.billed.as_str())
                .with("effective", total.effective.as_str())
                .with("list", total.list.as_str())
        }));
        if summary.rows_missing > 0 {
            lines.push(Message::new("cli-bill-missing").with("n", arg(summary.rows_missing)));
        }
    }
    lines
}

async fn import_environments(
    app: &App,
    console: &Console,
    parsed: &environments::Parsed,
    dry_run: bool,
) -> Result<Report, Refused> {
    let _slot = app.imports.acquire().await.map_err(|closed| Error::Unavailable(closed.into()))?;
    let mut tx = app.write_bulk(&actor()).await?;
    let summary = environments::run(&mut tx, parsed, dry_run).await?;
    if summary.is_right() {
        tx.commit().await?;
    }
    let mut lines: Vec<Message> = summary
        .listed_errors()
        .iter()
        .map(|error| row_error(count(error.row), &error.column, &error.value, error.message.clone()))
        .collect();
    // A typed name that is new makes a record: whoever mistyped it sees it here.
    lines.extend(summary.missing.lines().into_iter().map(|what| Message::new("cli-import-makes").with("what", what)));
    let counts =
        Counts { read: count(summary.rows_read), new: count(summary.rows_new), known: count(summary.rows_known) };
    lines.push(counts.words(summary.is_right(), count(summary.rows_rejected), dry_run));
    Ok(Report { json: Some(summary.json(console.locale)), lines, refused: !summary.is_right() })
}

async fn import_rates(app: &App, console: &Console, file: &File, bytes: &[u8]) -> Result<Report, Refused> {
    let _slot = app.imports.acquire().await.map_err(|closed| Error::Unavailable(closed.into()))?;
    let summary = exchange_rate_import::run(app, &actor(), bytes, &name_of(&file.file), file.dry_run).await?;
    let mut lines: Vec<Message> = summary.errors.listed.iter().map(row_error_of).collect();
    let counts = Counts { read: summary.rows_read, new: summary.rows_new, known: summary.rows_known };
    lines.push(counts.words(summary.is_right(), summary.rows_rejected, file.dry_run));
    Ok(Report { json: Some(summary.json(console.locale)), lines, refused: !summary.is_right() })
}

/// The file's own name, for the records.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn row_error_of(error: &RowError) -> Message {
    row_error(error.row, &error.column, &error.value, error.message.clone())
}

/// An error with the place in the file where it stands.
fn row_error(row: u64, column: &str, value: &str, message: Message) -> Message {
    let key = match (row, column.is_empty()) {
        (0, _) => return message,
        (_, true) => "cli-row-error",
        (_, false) => "cli-cell-error",
    };
    Message::new(key).with("row", row.to_string()).with("column", column).with("value", value).with("message", message)
}

/// Rows, counted.
struct Counts {
    read: u64,
    new: u64,
    known: u64,
}

impl Counts {
    /// How it ended; nothing is `rejected` where it went well, or where the file as a whole cannot be read.
    fn words(&self, is_good: bool, rejected: u64, dry_run: bool) -> Message {
        let key = match (is_good, rejected, dry_run) {
            (true, _, false) => "cli-imported",
            (true, _, true) => "cli-would-import",
            (false, 0, _) => "cli-import-unreadable",
            (false, ..) => "cli-import-refused",
        };
        let message = Message::new(key).with("read", arg(self.read)).with("new", arg(self.new));
        message.with("known", arg(self.known)).with("rejected", arg(rejected))
    }
}

fn count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

fn arg(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
