//! The data sets: made once, in a folder below the target folder, by the embedded server, and the same at every run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use chrono::NaiveTime;
use rentroll::dates::Steps;
use rentroll::locale::Locale;
use rentroll::postgres::database::{self, MIGRATOR};
use rentroll::postgres::server::{EmbeddedServer, User};
use rentroll::setting::{self, NewOrganisation};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::runtime::Handle;

const RECORDS: &str = include_str!("records.sql");
const LINES: &str = include_str!("lines.sql");
const SUMS: &str = include_str!("sums.sql");
const HISTORY: &str = include_str!("history.sql");

/// Months of bill lines in a data set; the last is October 2026.
const MONTHS: u16 = 24;
/// The token of the signed-in administrator.
pub const TOKEN: &str = "benchmark";

/// What a data set holds.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Bill lines, over 24 months; and as many entries in the history.
    pub lines: u32,
    /// Environments in use.
    pub environments: u16,
    /// The day on which all of them end; on different days where it is empty.
    pub ends_on: &'static str,
}

/// A data directory with a data set in it.
#[derive(Debug, Clone)]
pub struct DataSet {
    /// The data directory, as `RENTROLL_DATA_DIR` takes it.
    pub dir: PathBuf,
}

impl DataSet {
    /// Makes it unless it is there, made by the same migrations and the same SQL.
    pub fn ready(runtime: &Handle, folder: &Path, name: &str, wanted: Wanted) -> Result<Self> {
        let dir = folder.join(name);
        let mark = dir.join("made-by");
        let made_by = fingerprint(wanted);
        if fs::read_to_string(&mark).is_ok_and(|found| found == made_by) {
            return Ok(Self { dir });
        }
        eprintln!("making the data set {name} ({} lines) in {}", wanted.lines, dir.display());
        match fs::remove_dir_all(&dir) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(cause.into()),
            _ => {}
        }
        let set = Self { dir };
        let database = Database::open(runtime, &set)?;
        runtime.block_on(make(&database.options, wanted)).context("making the data set")?;
        drop(database);
        // Last: what was broken off is made anew.
        fs::write(mark, made_by)?;
        Ok(set)
    }
}

/// Changes with whatever a data set is made by.
fn fingerprint(wanted: Wanted) -> String {
    let mut hash = Sha256::new();
    for migration in MIGRATOR.iter() {
        hash.update(&migration.checksum);
    }
    for text in [RECORDS, LINES, SUMS, HISTORY, &format!("{wanted:?}/{MONTHS}")] {
        hash.update(text);
    }
    hex::encode(hash.finalize())
}

async fn make(options: &PgConnectOptions, wanted: Wanted) -> Result<()> {
    database::migrate(options).await?;
    let mut connection = connect(options).await?;
    // The mark says that the program itself does it: nothing here is a change from outside.
    connection.execute("set app.marked = 'yes'").await?;
    setting::ensure(&mut connection, &organisation()?).await?;
    let Wanted { lines, environments, ends_on } = wanted;
    let settings = format!("set bench.environments = '{environments}'; set bench.ends_on = '{ends_on}'");
    connection.execute(AssertSqlSafe(settings)).await?;
    connection.execute(RECORDS).await?;
    for month in 1..=MONTHS {
        let of = |month: u16| u64::from(lines) * u64::from(month) / u64::from(MONTHS);
        let share = i32::try_from(of(month) - of(month - 1))?;
        // The first month is November 2024.
        let day = chrono::NaiveDate::from_ymd_opt(2024, 11, 1)
            .and_then(|first| first.checked_add_months(chrono::Months::new(u32::from(month) - 1)))
            .context("a month")?;
        sqlx::query("select app_spend_partition($1)").bind(day).execute(&mut connection).await?;
        sqlx::query(LINES).bind(i32::from(month)).bind(day).bind(share).execute(&mut connection).await?;
        connection.execute(AssertSqlSafe(format!("set bench.month = '{day}'"))).await?;
        connection.execute(SUMS).await?;
    }
    sqlx::query(HISTORY).bind(i32::try_from(lines)?).execute(&mut connection).await?;
    connection.execute("vacuum analyze").await?;
    connection.execute("checkpoint").await?;
    connection.close().await?;
    Ok(())
}

fn organisation() -> Result<NewOrganisation> {
    Ok(NewOrganisation {
        name: "算力租赁台账".parse().map_err(|message| anyhow::anyhow!("{message}"))?,
        zone: "Asia/Shanghai".parse().map_err(|message| anyhow::anyhow!("{message}"))?,
        currency: "CNY".parse().map_err(|message| anyhow::anyhow!("{message}"))?,
        locale: Locale::ZhCn,
        send_at: NaiveTime::from_hms_opt(9, 0, 0).context("nine o'clock")?,
        reminder_steps: Steps::default(),
    })
}

/// The server of a data set, for as long as it is used: started, or that of a running `rentroll serve`.
pub struct Database {
    /// How to connect, as the superuser.
    pub options: PgConnectOptions,
    server: Option<EmbeddedServer>,
    runtime: Handle,
}

impl Database {
    /// Starts the server of this data set, or adopts it.
    pub fn open(runtime: &Handle, set: &DataSet) -> Result<Self> {
        let bindir = std::env::var_os("PG_BINDIR").map(PathBuf::from);
        let opening = EmbeddedServer::open(&set.dir, bindir.as_deref(), User::Command, &|message| {
            tracing::debug!(%message);
        });
        let server = runtime.block_on(opening)?;
        let options = server.connect_options().disable_statement_logging();
        Ok(Self { options, server: Some(server), runtime: runtime.clone() })
    }

    /// Runs statements as the superuser, each on its own, in a database of this server.
    pub fn execute(&self, database: &str, statements: &[&str]) -> Result<()> {
        self.runtime.block_on(async {
            let mut connection = connect(&self.options.clone().database(database)).await?;
            connection.execute("set app.marked = 'yes'").await?;
            for statement in statements {
                connection.execute(AssertSqlSafe(*statement)).await.with_context(|| (*statement).to_owned())?;
            }
            connection.close().await?;
            Ok(())
        })
    }

    /// One whole number out of a database of this server.
    pub fn number(&self, database: &str, query: &'static str) -> Result<i64> {
        self.runtime.block_on(async {
            let mut connection = connect(&self.options.clone().database(database)).await?;
            let number = sqlx::query_scalar(query).fetch_one(&mut connection).await?;
            connection.close().await?;
            Ok(number)
        })
    }

    /// One text out of the data set.
    pub fn text(&self, query: &'static str) -> Result<String> {
        self.runtime.block_on(async {
            let mut connection = connect(&self.options).await?;
            let text = sqlx::query_scalar(query).fetch_one(&mut connection).await?;
            connection.close().await?;
            Ok(text)
        })
    }

    /// Asks the data set twice over one connection; gives the rows of the second time, and how many milliseconds it took.
    pub fn ask(&self, query: &'static str) -> Result<(Vec<String>, f64)> {
        self.runtime.block_on(async {
            let mut connection = connect(&self.options).await?;
            sqlx::query_scalar::<_, String>(query).fetch_all(&mut connection).await?;
            let begun = Instant::now();
            let rows = sqlx::query_scalar(query).fetch_all(&mut connection).await?;
            let took = begun.elapsed().as_secs_f64() * 1000.0;
            connection.close().await?;
            Ok((rows, took))
        })
    }

    /// A copy of the data set in a database of its own, so that the data set stays as it is.
    pub fn copy(&self, name: &str) -> Result<()> {
        let drop = format!("drop database if exists {name} with (force)");
        let create = format!("create database {name} template rentroll strategy file_copy");
        self.execute("postgres", &[&drop, &create, "checkpoint"])
    }

    /// Signs the administrator in: the session's cookie holds [`TOKEN`].
    pub fn sign_in(&self) -> Result<()> {
        let hash = hex::encode(Sha256::digest(TOKEN));
        let session = format!(
            "insert into session (token_hash, user_id, created_at, seen_at, user_agent, address)
             values ('\\x{hash}', 1, now(), now(), '', '')
             on conflict (token_hash) do update set created_at = now(), seen_at = now()"
        );
        self.execute("rentroll", &[&session])
    }

    /// The folder of the server's socket.
    pub fn socket(&self) -> Result<&Path> {
        self.options.get_socket().map(PathBuf::as_path).context("the embedded server has a socket")
    }

    /// The address of one of its databases, as `DATABASE_URL` takes it.
    pub fn url(&self, database: &str) -> Result<String> {
        let socket: String =
            url::form_urlencoded::byte_serialize(self.socket()?.as_os_str().as_encoded_bytes()).collect();
        Ok(format!("postgres://rentroll@localhost/{database}?host={socket}"))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.close(Some(Duration::from_secs(10))));
        }
    }
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection> {
    Ok(PgConnection::connect_with(options).await?)
}
