//! `rentroll export LIST`: the file that the page of the list gives, with the page's own filter.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{Args, ValueEnum};
use futures_util::{Stream, TryStreamExt as _, stream};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::console::{Console, Refused, Report};
use super::open::{Opened, Purpose};
use super::progress::Progress;
use crate::access::people::{self, PeopleFilter, PersonRow};
use crate::actor::Actor;
use crate::app::App;
use crate::catalog::{contact, contract, incident, price, provider, tier};
use crate::config::Config;
use crate::deadlines::reminder;
use crate::environments::{roll, term_row};
use crate::error::{Error, Result};
use crate::ledger::filter::{Chosen, SpendFilter};
use crate::ledger::{output, spend_list};
use crate::locale::Message;
use crate::postgres::os_user;
use crate::table::{CopyRows, Format, Table};
use crate::tx::Read;
use crate::web::export::{self, Export};
use crate::web::query;
use crate::{audit, deadline};

/// What was typed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which list.
    list: List,
    /// Only what matches: a key of the page's own address, such as project=3.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    filter: Vec<(String, String)>,
    /// csv for people with Excel, csv-plain and json for programs, xlsx; as the file's name says, else csv.
    #[arg(long)]
    format: Option<Format>,
    /// Where to write; without it, standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The lists that can leave as a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum List {
    Environments,
    Terms,
    Deadlines,
    Reminders,
    Spend,
    Output,
    People,
    Providers,
    Contacts,
    Contracts,
    Incidents,
    Tiers,
    Prices,
    Audit,
}

fn pair(text: &str) -> Result<(String, String), Message> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err(Message::new("cli-filter-pair").with("value", text)),
    }
}

impl Arguments {
    /// The format that was asked for, else that of the file's ending.
    ///
    /// # Errors
    /// An ending of no format of ours.
    fn format(&self) -> Result<Format, Message> {
        let ending =
            self.out.as_deref().and_then(Path::extension).map(|ending| ending.to_string_lossy().to_lowercase());
        match (self.format, ending) {
            (Some(format), _) => Ok(format),
            (None, None) => Ok(Format::Csv),
            (None, Some(ending)) => ending.parse().map_err(|_| Message::new("cli-out-ending").with("ending", ending)),
        }
    }
}

pub(super) async fn run(config: &Config, console: &Console, arguments: Arguments) -> Result<Report, Refused> {
    if console.json && arguments.out.is_none() {
        return Err(Refused::Usage(Message::new("cli-export-wants-out")));
    }
    let format = arguments.format().map_err(Refused::Usage)?;
    let opened = Opened::open(config, Purpose::Work, console).await?;
    let result = write(&opened.app, console, &arguments, format).await;
    opened.close(None).await;
    result
}

async fn write(app: &App, console: &Console, arguments: &Arguments, format: Format) -> Result<Report, Refused> {
    let actor = Actor::command_line(&os_user());
    let rows = Arc::new(AtomicU64::new(0));
    let request = Request { app, actor: &actor, format, filter: &arguments.filter, rows: rows.clone() };
    let export = request.begin(arguments.list).await?;
    let mut progress = Progress::start(console);
    let mut tell = || progress.at(&Message::new("cli-export-progress").with("n", count(&rows)));
    let Some(path) = &arguments.out else {
        pour(export, tokio::io::stdout(), &mut tell).await?;
        return Ok(Report::default());
    };
    // Whole or not at all: a file that was there before stays until then.
    let draft = draft_of(path);
    let kept = async {
        let file = tokio::fs::File::create(&draft).await.map_err(|cause| unwritable(path, &cause))?;
        let file = pour(export, file, &mut tell).await?;
        file.sync_all().await.map_err(|cause| unwritable(path, &cause))?;
        tokio::fs::rename(&draft, path).await.map_err(|cause| unwritable(path, &cause))
    };
    if let Err(refused) = kept.await {
        let _ = tokio::fs::remove_file(&draft).await;
        return Err(refused);
    }
    let out = path.display().to_string();
    let json = json!({ "list": list_name(arguments.list), "format": format.name(), "rows": count(&rows), "out": out });
    let line = Message::new("cli-exported").with("n", count(&rows)).with("path", out);
    Ok(Report::done(json, line))
}

fn list_name(list: List) -> String {
    list.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn count(rows: &AtomicU64) -> i64 {
    i64::try_from(rows.load(Ordering::Relaxed)).unwrap_or(i64::MAX)
}

/// In the same folder, so that it can be renamed.
fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

fn unwritable(path: &Path, cause: &std::io::Error) -> Refused {
    Message::new("cli-out").with("path", path.display().to_string()).with("cause", cause.to_string()).into()
}

/// Writes all of it.
async fn pour<W: AsyncWrite + Unpin>(export: Export, mut to: W, tell: &mut impl FnMut()) -> Result<W, Refused> {
    let mut bytes = export.bytes;
    let failed = |cause: std::io::Error| {
        // Whoever reads our standard output may stop at any time.
        let message = Message::new("cli-out-broke").with("name", export.name.as_str());
        Refused::Say(message.with("cause", cause.to_string()))
    };
    while let Some(chunk) = bytes.try_next().await? {
        to.write_all(&chunk).await.map_err(failed)?;
        tell();
    }
    to.flush().await.map_err(failed)?;
    Ok(to)
}

/// One list, wanted as a file.
struct Request<'a> {
    app: &'a App,
    actor: &'a Actor,
    format: Format,
    filter: &'a [(String, String)],
    rows: Arc<AtomicU64>,
}

impl Request<'_> {
    async fn begin(self, list: List) -> Result<Export> {
        match list {
            List::Environments => self.file(&roll::TABLE, roll::batches).await,
            List::Terms => self.file(&term_row::TABLE, term_row::batches).await,
            List::Deadlines => self.file(&deadline::TABLE, deadline::batches).await,
            List::Reminders => self.file(&reminder::TABLE, reminder::batches).await,
            List::Spend => self.file(&spend_list::TABLE, spend_batches).await,
            List::Output => self.file(&output::TABLE, output::batches).await,
            List::People => self.file(&people::PEOPLE, people_batches).await,
            List::Providers => self.file(&provider::TABLE, |read, NoFilter {}| provider::batches(read)).await,
            List::Contacts => self.file(&contact::TABLE, contact::batches).await,
            List::Contracts => self.file(&contract::TABLE, contract::batches).await,
            List::Incidents => self.file(&incident::TABLE, incident::batches).await,
            List::Tiers => self.file(&tier::TABLE, tier::batches).await,
            List::Prices => self.file(&price::TABLE, price::batches).await,
            List::Audit => self.file(&audit::TABLE, audit::batches).await,
        }
    }

    async fn file<Row, Filter, Batch, S>(
        self,
        list: &'static Table<Row>,
        batches: impl FnOnce(Read, Filter) -> S,
    ) -> Result<Export>
    where
        Row: Send + 'static,
        Filter: DeserializeOwned,
        Batch: IntoIterator<Item = Row, IntoIter: Send + 'static> + Send + 'static,
        S: Stream<Item = Result<Batch>> + Send + 'static,
    {
        let filter: Filter = read_filter(self.filter)?;
        let rows = self.rows;
        let counted = |read| {
            batches(read, filter).map_ok(move |batch| {
                let rows = rows.clone();
                batch.into_iter().inspect(move |_| _ = rows.fetch_add(1, Ordering::Relaxed))
            })
        };
        export::begin(self.app, self.actor, list, self.format, counted).await
    }
}

/// Names in the filter are looked up first.
fn spend_batches(mut read: Read, filter: SpendFilter) -> impl Stream<Item = Result<CopyRows>> + Send {
    let whole = SpendFilter { before: None, ..filter };
    let chosen = async move {
        let chosen = Chosen::of(&mut read, &whole).await?;
        Ok::<_, Error>(spend_list::stream(read, chosen))
    };
    stream::once(chosen).try_flatten()
}

/// An organisation has some thousands of people at most, so there is one batch.
fn people_batches(mut read: Read, filter: PeopleFilter) -> impl Stream<Item = Result<Vec<PersonRow>>> + Send {
    stream::once(async move { people::people_rows(&mut read, &filter).await })
}

/// A list that is short enough to be wanted whole.
#[derive(serde::Deserialize)]
struct NoFilter {}

/// As the page reads its address; but where a page passes over what it does not know, a typing error here would give the
/// whole list for a part of it.
fn read_filter<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T> {
    // Where a page goes on is no filter.
    let known: Vec<&str> =
        query::keys::<T>().iter().copied().filter(|key| !["after", "before"].contains(key)).collect();
    if let Some((key, _)) = pairs.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = Message::new("cli-filter-key").with("key", key).with("known", listed);
        return Err(Error::invalid("filter", message));
    }
    query::from_pairs(pairs.to_vec())
}
