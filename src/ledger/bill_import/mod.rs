//! A file of bill lines. All of it or nothing; met again it adds nothing; one import is one entry of the history.
//!
//! A thread reads the file (`focus.rs`) and turns its rows into lines (`lines.rs`); they go by `copy` into a temporary table,
//! where everything else happens set-wise (`book.rs`): known lines are dropped, resources found or added, lines placed by the bindings of
//! today, sums kept. A preview is the same work without the last step, and saves nothing.

mod book;
mod file;
pub mod focus;
mod lines;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::types::Json;
use tokio::sync::mpsc;

use crate::actor::{Actor, Permission};
use crate::app::App;
use crate::catalog::provider;
use crate::dates::Period;
use crate::documents::Stored;
use crate::error::{Error, Result};
use crate::ids::{BillImportId, ProviderId};
use crate::limits;
use crate::locale::{Locale, Message};
use crate::money::{self, Currency, Sum};
use crate::row_error::RowErrors;
use crate::text::Name;
use crate::tx::Read;

/// A file of bill lines that was imported.
#[derive(Debug, Clone)]
pub struct BillImport {
    /// Its id.
    pub id: BillImportId,
    /// Who sent the bill.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// The file's name.
    pub file_name: String,
    /// The name of its bytes among the documents.
    pub file_sha256: Vec<u8>,
    /// How many bytes.
    pub file_bytes: i64,
    /// For example `FOCUS 1.2`.
    pub format: String,
    /// Lines of the file.
    pub rows_read: i64,
    /// Lines that were added.
    pub rows_new: i64,
    /// Lines that the ledger had.
    pub rows_known: i64,
    /// Lines of the same accounts and months that the ledger had and the file lacks.
    pub rows_missing: i64,
    /// What the file's lines add up to.
    pub totals: Json<BTreeMap<Currency, FileTotal>>,
    /// The months of the lines.
    pub periods: Vec<Period>,
    /// Who imported it.
    pub person_name: String,
    /// When.
    pub created_at: DateTime<Utc>,
}

impl BillImport {
    /// What is to be paid, for people: `USD 14.92`, currency by currency.
    pub fn shown_totals(&self) -> String {
        totals_text(&self.totals.0)
    }

    /// The months, for people.
    pub fn months(&self) -> String {
        self.periods.iter().map(Period::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// What the lines of a file add up to in one currency. What is unknown is not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTotal {
    /// To be paid, in plain digits.
    pub billed: String,
    /// What it cost.
    pub effective: String,
    /// At public prices.
    pub list: String,
}

/// How many lines of a file do not say an amount.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// At public prices.
    pub list: u64,
    /// At agreed prices.
    pub contracted: u64,
    /// To be paid.
    pub billed: u64,
    /// What it cost.
    pub effective: u64,
}

/// What an import did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// For example `FOCUS 1.2`; empty where the header could not be read.
    pub format: String,
    /// Rows of the file: new, known and rejected ones.
    pub rows_read: u64,
    /// Lines that the ledger does not have.
    pub rows_new: u64,
    /// Lines that it has.
    pub rows_known: u64,
    /// Lines of the same accounts and months that it has and the file lacks. They stay.
    pub rows_missing: u64,
    /// Rows with something wrong: then nothing is saved.
    pub rows_rejected: u64,
    /// Lines that do not say an amount.
    pub unknown: Unknown,
    /// What the file's lines add up to.
    pub totals: BTreeMap<Currency, FileTotal>,
    /// The months of the lines.
    pub periods: Vec<Period>,
    /// The import: of now, or of an earlier time that brought exactly this file. Nothing in a preview.
    pub import_id: Option<BillImportId>,
    /// What is wrong.
    pub errors: RowErrors,
    /// The name of the file's bytes, once all were read.
    pub file_sha256: Option<[u8; 32]>,
}

impl Summary {
    /// Whether the file can be imported.
    pub fn is_good(&self) -> bool {
        self.errors.is_empty()
    }

    /// As the contract has it, messages in words.
    pub fn json(&self, locale: Locale) -> Value {
        json!({
            "rows_read": self.rows_read, "rows_new": self.rows_new, "rows_known": self.rows_known,
            "rows_missing": self.rows_missing, "rows_rejected": self.rows_rejected, "unknown": self.unknown,
            "totals": self.totals, "import_id": self.import_id, "errors": self.errors.said(locale),
        })
    }
}

/// Where a bill's bytes are.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file of this machine.
    Path(PathBuf),
    /// In memory.
    Bytes(Bytes),
    /// Among the documents, by SHA-256: what a page has taken in before.
    Document([u8; 32]),
}

/// A bill to be imported.
#[derive(Debug, Clone)]
pub struct BillFile {
    /// The name to keep.
    pub name: String,
    /// Where the bytes are.
    pub source: Source,
}

/// What is told while the rows are read: how many so far.
pub type Progress = Arc<dyn Fn(u64) + Send + Sync>;

/// Imports a bill, or says what importing it would do.
///
/// What is wrong with the file is in the summary, and nothing is saved then. It runs to its end even where nobody waits for
/// the answer any more.
///
/// # Errors
/// The actor may not import bills; the provider has no name; the database or the documents are away.
pub async fn run(
    app: &App,
    actor: &Actor,
    file: BillFile,
    provider: &str,
    dry_run: bool,
    progress: Progress,
) -> Result<Summary> {
    actor.allow(Permission::Unplaced, None)?;
    let provider: Name = provider.parse().map_err(|message| Error::invalid("provider", message))?;
    let (app, actor) = (app.clone(), actor.clone().through(crate::actor::Source::Import));
    let work = async move {
        let slot = app.imports.clone().acquire_owned().await;
        let _slot = slot.map_err(|closed| Error::Unavailable(closed.into()))?;
        import(&app, &actor, file, provider, dry_run, progress).await
    };
    tokio::spawn(work).await.map_err(|panicked| Error::Internal(panicked.into()))?
}

async fn import(
    app: &App,
    actor: &Actor,
    file: BillFile,
    name: Name,
    dry_run: bool,
    progress: Progress,
) -> Result<Summary> {
    let mut tx = app.write_bulk(actor).await?;
    book::prepare(&mut tx, &name).await?;
    let provider = match (provider::find_by_name(tx.connection(), &name).await?, dry_run) {
        (Some(provider), _) => provider.id,
        // Nobody has lines of it, so no number is needed to tell what is new.
        (None, true) => ProviderId(0),
        (None, false) => provider::add(&mut tx, name.clone()).await?.id,
    };
    super::resource::lock_provider(&mut tx, provider).await?;
    let bytes = open(app, &file.source).await?;
    let zone = tx.organisation().zone;
    let (lines, rows) = mpsc::channel(8);
    let reading = tokio::task::spawn_blocking(move || lines::read(bytes, provider, zone, &lines, &progress));
    let copied = book::copy_lines(&mut tx, rows).await;
    let read = reading.await.map_err(|panicked| Error::Internal(panicked.into()))?;
    copied?;
    let mut summary = read.summary;
    book::compare(&mut tx, provider, &mut summary).await?;
    if dry_run || !summary.is_good() {
        return Ok(summary);
    }
    let Some(fingerprint) = read.fingerprint else {
        return Err(Error::internal("a file was read whole and its hash is not known"));
    };
    if summary.rows_new == 0 {
        summary.import_id = earlier(tx.connection(), &fingerprint.sha256).await?;
        return Ok(summary);
    }
    for period in &summary.periods {
        // In a transaction of its own: a month's table is visible to all at once.
        let mut machine = app.machine(actor).await?;
        super::spend::make_partition(&mut machine, *period).await?;
        machine.commit().await?;
    }
    store(app, &file, &fingerprint).await?;
    let facts = book::Facts { provider, provider_name: name, file_name: file.name, fingerprint, digest: read.digest };
    let id = book::book(&mut tx, &facts, &summary, &read.resources).await?;
    tx.commit().await?;
    summary.import_id = Some(id);
    Ok(summary)
}

/// The bytes as something that a thread can read.
async fn open(app: &App, source: &Source) -> Result<Box<dyn io::Read + Send>> {
    match source {
        Source::Bytes(bytes) => Ok(Box::new(io::Cursor::new(bytes.clone()))),
        Source::Path(path) => {
            let file = tokio::fs::File::open(path).await.map_err(|cause| unreadable(&cause))?;
            Ok(Box::new(file.into_std().await))
        }
        Source::Document(sha256) => {
            let mut found = app.documents.find(sha256).await?.ok_or(Error::NotFound)?.bytes;
            let (sender, chunks) = mpsc::channel(4);
            tokio::spawn(async move {
                while let Some(chunk) = found.next().await {
                    if sender.send(chunk.map_err(io::Error::other)).await.is_err() {
                        return;
                    }
                }
            });
            Ok(Box::new(file::Incoming { chunks, chunk: Bytes::new() }))
        }
    }
}

fn unreadable(cause: &io::Error) -> Error {
    Error::invalid("file", Message::new("error-import-unreadable").with("cause", cause.to_string()))
}

/// Keeps the file's own bytes, before the rows that name them.
async fn store(app: &App, file: &BillFile, read: &file::Fingerprint) -> Result<()> {
    let stored = match &file.source {
        Source::Document(_) => Stored { sha256: read.sha256, size: read.bytes },
        Source::Bytes(bytes) => app.documents.put_bytes(bytes.clone(), limits::IMPORT_BYTES).await?,
        Source::Path(path) => {
            let file = tokio::fs::File::open(path).await.map_err(|cause| unreadable(&cause))?;
            let chunks = tokio_util::io::ReaderStream::with_capacity(file, 256 * 1024);
            let chunks = chunks.map(|chunk| chunk.map_err(|cause| unreadable(&cause)));
            app.documents.put(chunks, limits::IMPORT_BYTES).await?
        }
    };
    if stored.sha256 != read.sha256 {
        return Err(Error::Conflict(Message::new("error-import-changed")));
    }
    app.documents.keep(stored).await
}

/// Takes in a file's bytes, for a preview and the import after it; gives their name.
pub async fn take_in(app: &App, actor: &Actor, bytes: Bytes) -> Result<[u8; 32]> {
    actor.allow(Permission::Unplaced, None)?;
    Ok(app.documents.put(stream::iter([Ok(bytes)]), limits::IMPORT_BYTES).await?.sha256)
}

/// The earlier import of exactly this file.
async fn earlier(connection: &mut PgConnection, sha256: &[u8]) -> Result<Option<BillImportId>> {
    let found = sqlx::query_scalar!(
        r#"select id as "id: BillImportId" from bill_import where file_sha256 = $1 order by id desc limit 1"#,
        sha256
    );
    Ok(found.fetch_optional(connection).await?)
}

macro_rules! select_import {
    ($rest:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            BillImport,
            r#"select i.id as "id: BillImportId", i.provider_id as "provider_id: ProviderId", p.name as provider, i.file_name,
                      i.file_sha256, i.file_bytes, i.format, i.rows_read, i.rows_new, i.rows_known, i.rows_missing,
                      i.totals as "totals: Json<BTreeMap<Currency, FileTotal>>", i.periods as "periods: Vec<Period>",
                      i.person_name, i.created_at
               from bill_import i join provider p on p.id = i.provider_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The import with this id.
pub async fn get(connection: &mut PgConnection, id: BillImportId) -> Result<BillImport> {
    Ok(select_import!("where i.id = $1", id.0).fetch_one(connection).await?)
}

/// The imports, newest first, before the one with this id; at most a page and one more.
pub async fn list(read: &mut Read, before: Option<i64>) -> Result<Vec<BillImport>> {
    let limit = i64::try_from(limits::PAGE_ROWS).unwrap_or(i64::MAX - 1) + 1;
    let imports = select_import!("where $1::bigint is null or i.id < $1 order by i.id desc limit $2", before, limit);
    Ok(imports.fetch_all(read.connection()).await?)
}

/// The totals of a file for people: `USD 14.92`, currency by currency.
fn totals_text(totals: &BTreeMap<Currency, FileTotal>) -> String {
    let shown = totals.iter().map(|(currency, total)| {
        let amount =
            total.billed.parse().map_or_else(|()| total.billed.clone(), |amount: Plain| amount.shown(currency));
        format!("{currency} {amount}")
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// A total in plain digits, read back.
struct Plain(Sum);

impl std::str::FromStr for Plain {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        money::parse_decimal(text).map(|number| Self(number.into())).map_err(|_| ())
    }
}

impl Plain {
    fn shown(&self, currency: &Currency) -> String {
        money::display(&self.0, currency)
    }
}
