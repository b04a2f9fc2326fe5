//! The embedded PostgreSQL server: found, initialised, started or adopted, and stopped.
//!
//! Without `DATABASE_URL` Rentroll brings its own server, in the data directory, reachable through a socket that only the
//! program enters. One process owns it (it started PostgreSQL, which ends with it), any number use it:
//!
//! | who opens | nobody owns | a command owns | `serve` owns |
//! |---|---|---|---|
//! | a command | owns | adopts | adopts |
//! | `serve` | owns | waits until that command has finished | is refused |
//!
//! An owner stops PostgreSQL only when it is the last user. `binaries` finds the programs, `account` says as whom they
//! run, `cluster` lays out the data directory, `postmaster` keeps the process, `locks` says who owns and who uses.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{ConnectOptions, Connection};

use super::binaries;
use super::cluster::{Cluster, Place};
use super::locks::{OwnerLock, OwnerNote, Phase, ServeLock, UsersLock};
use super::postmaster::{Postmaster, State};
pub use super::server_error::ServerError;
use super::server_error::named;
use crate::locale::Message;

/// Between two looks at a lock or at a server that starts.
const POLL: Duration = Duration::from_millis(25);
/// How long one connection may take before the server counts as busy.
const ASKING: Duration = Duration::from_secs(5);
/// How long a server may give no sign of life at all: no socket, no answer "starting up".
const SILENCE: Duration = Duration::from_mins(2);
/// A start that takes longer is explained: PostgreSQL replays its log after a crash.
const LONG_START: Duration = Duration::from_secs(3);

/// Who opens the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// `rentroll serve`: one for each data directory; never adopts.
    Serve,
    /// Any other command: adopts a server that runs.
    Command,
}

/// The server of a data directory, in use by this process until [`EmbeddedServer::close`].
///
/// Dropping it without closing stops a server that we own at once, whoever uses it.
#[derive(Debug)]
pub struct EmbeddedServer {
    socket: PathBuf,
    users: UsersLock,
    postmaster: Option<Postmaster>,
    _serving: Option<ServeLock>,
}

impl EmbeddedServer {
    /// Finds, initialises, starts or adopts the server of this data directory; when it returns, the database answers.
    ///
    /// `pg_bindir` is where PostgreSQL's programs must be taken from, if anywhere in particular. `say` hears what is being
    /// done and what is being waited for. The future may be dropped at any moment; what it started then ends.
    pub async fn open(
        data_dir: &Path,
        pg_bindir: Option<&Path>,
        user: User,
        say: &(dyn Fn(Message) + Send + Sync),
    ) -> Result<Self, ServerError> {
        let wanted = data_dir.to_owned();
        let place = blocking(move || Place::prepare(&wanted)).await?;
        let run = place.run();
        let serving = match user {
            User::Serve => Some(ServeLock::take(&run)?),
            User::Command => None,
        };
        let mut teller = Teller { say, last: "" };
        let mut heard = Instant::now();
        loop {
            if let Some(lock) = OwnerLock::try_take(&run, user)? {
                return Self::own(place, pg_bindir, lock, serving, teller).await;
            }
            // The one `serve` of this directory is ourselves, so the owner is a command.
            match OwnerNote::read(&run) {
                Some(note) if user == User::Serve => {
                    teller.once(Message::new("server-waits-for-command").with("pid", note.pid.to_string()));
                }
                Some(note) if note.phase == Phase::Ready => {
                    match Self::adopt(&run, &note).await? {
                        Adoption::Done(server) => return Ok(server),
                        Adoption::Busy => heard = Instant::now(),
                        Adoption::No => {}
                    }
                    if heard.elapsed() > SILENCE {
                        return Err(ServerError::Silent { log: run.join("postgres.log") });
                    }
                }
                Some(note) => {
                    heard = Instant::now();
                    let key = match note.phase {
                        Phase::Stopping => "server-waits-for-stop",
                        _ => "server-waits-for-start",
                    };
                    teller.once(Message::new(key).with("pid", note.pid.to_string()));
                }
                // It is just being written.
                None => {}
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// How to connect as the superuser of the embedded server; `roles` and the pools step down from there.
    pub fn connect_options(&self) -> PgConnectOptions {
        options(&self.socket, "rentroll")
    }

    /// Whether this process started PostgreSQL.
    pub fn owned(&self) -> bool {
        self.postmaster.is_some()
    }

    /// Leaves the server; stops PostgreSQL when we own it, as soon as nobody else uses it or `patience` is over (`None`
    /// waits as long as it takes). Close the pools first.
    pub async fn close(self, patience: Option<Duration>) {
        let Some(postmaster) = self.postmaster else { return };
        postmaster.closing();
        let begun = Instant::now();
        let mut told = false;
        loop {
            match self.users.try_alone() {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => {
                    tracing::error!(%error, "cannot tell who else uses the database");
                    break;
                }
            }
            if patience.is_some_and(|patience| begun.elapsed() >= patience) {
                tracing::warn!("other commands still use the database; it stops all the same");
                break;
            }
            if !told {
                tracing::info!("waiting for the other commands that use the database");
                told = true;
            }
            tokio::time::sleep(POLL).await;
        }
        // The users' lock is held until then, so that nobody joins a server that is about to end.
        postmaster.stop().await;
    }

    /// Uses the server of another process, if it answers.
    async fn adopt(run: &Path, note: &OwnerNote) -> Result<Adoption, ServerError> {
        // First the lock, then the question: from here on an owner waits for us before it stops the server.
        let Some(users) = UsersLock::try_shared(run)? else { return Ok(Adoption::No) };
        let connection = match ask(&options(&note.socket, "rentroll")).await {
            Answer::Yes(connection) => connection,
            Answer::Busy => return Ok(Adoption::Busy),
            Answer::No => return Ok(Adoption::No),
            Answer::Refused(cause) => return Err(ServerError::Refused(cause)),
        };
        connection.close().await.ok();
        // An owner that has begun to wait would, if it is `serve`, not wait long.
        if OwnerNote::read(run).as_ref() != Some(note) {
            return Ok(Adoption::No);
        }
        let socket = note.socket.clone();
        Ok(Adoption::Done(Self { socket, users, postmaster: None, _serving: None }))
    }

    async fn own(
        place: Place,
        pg_bindir: Option<&Path>,
        mut lock: OwnerLock,
        serving: Option<ServeLock>,
        mut teller: Teller<'_>,
    ) -> Result<Self, ServerError> {
        let run = place.run();
        let users = loop {
            // An owner that has just ended may hold it for another moment.
            if let Some(users) = UsersLock::try_shared(&run)? {
                break users;
            }
            tokio::time::sleep(POLL).await;
        };
        let pg_bindir = pg_bindir.map(Path::to_owned);
        let mut cluster = blocking(move || Cluster::plan(place, pg_bindir.as_deref())).await?;
        let socket = cluster.socket.clone();
        lock.set_socket(&socket).map_err(|cause| ServerError::Io { path: run.join("owner.lock"), cause })?;
        if cluster.empty {
            teller.once(
                Message::new("server-initialises")
                    .with("major", cluster.binaries.major.to_string())
                    .with("bindir", cluster.binaries.bindir.display().to_string()),
            );
            // The lock goes along: whoever drops this future must not let another in while initdb runs.
            (cluster, lock) = blocking(move || cluster.initialise().map(|()| (cluster, lock))).await?;
        }
        let admin = options(&socket, "postgres");
        if let Answer::Yes(connection) = ask(&admin).await {
            teller.once(Message::new("server-ends-orphan"));
            drop(connection);
            (cluster, lock) = blocking(move || {
                cluster.stop_orphan();
                Ok((cluster, lock))
            })
            .await?;
        }
        teller.once(Message::new("server-starts").with("major", cluster.binaries.major.to_string()));
        let launch = cluster.launch();
        let log = launch.log.clone();
        let mut postmaster = Postmaster::start(launch, lock)?;
        let mut connection = wait_until_it_answers(&mut postmaster, &admin, &log, &mut teller).await?;
        create_database(&mut connection).await.map_err(ServerError::Refused)?;
        connection.close().await.ok();
        postmaster.ready();
        Ok(Self { socket, users, postmaster: Some(postmaster), _serving: serving })
    }
}

enum Adoption {
    Done(EmbeddedServer),
    /// It lives, but takes nobody yet.
    Busy,
    No,
}

async fn wait_until_it_answers(
    postmaster: &mut Postmaster,
    admin: &PgConnectOptions,
    log: &Path,
    teller: &mut Teller<'_>,
) -> Result<PgConnection, ServerError> {
    let begun = Instant::now();
    let mut heard = begun;
    loop {
        let state = postmaster.state.borrow_and_update().clone();
        match state {
            State::Running => {}
            State::Waiting(pid) => {
                heard = Instant::now();
                teller.once(Message::new("server-waits-for-earlier").with("pid", named(pid)));
            }
            State::Failed(said) => return Err(ServerError::Start { log: log.to_owned(), said }),
            State::Blocked(pid) => return Err(ServerError::Blocked { pid }),
            State::Stopped => return Err(ServerError::Start { log: log.to_owned(), said: String::new() }),
        }
        match ask(admin).await {
            Answer::Yes(connection) => return Ok(connection),
            Answer::Busy => {
                heard = Instant::now();
                if begun.elapsed() > LONG_START {
                    teller.once(Message::new("server-recovers"));
                }
            }
            Answer::No if heard.elapsed() > SILENCE => return Err(ServerError::Silent { log: log.to_owned() }),
            Answer::No => {}
            Answer::Refused(cause) => return Err(ServerError::Refused(cause)),
        }
        // A change of state is looked at sooner.
        tokio::time::timeout(POLL, postmaster.state.changed()).await.ok();
    }
}

/// Only the owner does this, so it never meets another.
async fn create_database(connection: &mut PgConnection) -> sqlx::Result<()> {
    let exists: bool = sqlx::query_scalar("select exists (select from pg_database where datname = 'rentroll')")
        .fetch_one(&mut *connection)
        .await?;
    if !exists {
        sqlx::query("create database rentroll").execute(connection).await?;
    }
    Ok(())
}

enum Answer {
    Yes(PgConnection),
    /// It lives: starting, recovering, shutting down, or overloaded.
    Busy,
    /// Nobody there, or not for the database that is asked for yet.
    No,
    Refused(sqlx::Error),
}

async fn ask(options: &PgConnectOptions) -> Answer {
    let cause = match tokio::time::timeout(ASKING, PgConnection::connect_with(options)).await {
        Ok(Ok(connection)) => return Answer::Yes(connection),
        Ok(Err(cause)) => cause,
        Err(_) => return Answer::Busy,
    };
    let code = match &cause {
        // Killed in the middle of the greeting, too.
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => return Answer::No,
        sqlx::Error::Database(database) => database.code().unwrap_or_default().into_owned(),
        _ => String::new(),
    };
    match code.as_str() {
        // cannot connect now (starting, stopping), admin or crash shutdown, too many connections
        "57P03" | "57P01" | "57P02" | "53300" => Answer::Busy,
        // no such database yet
        "3D000" => Answer::No,
        _ => Answer::Refused(cause),
    }
}

/// Everything is said, so that no `PG…` variable of the environment has a say.
fn options(socket: &Path, database: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(socket)
        .port(5432)
        .username("rentroll")
        .database(database)
        .ssl_mode(PgSslMode::Disable)
        .application_name("rentroll")
        .disable_statement_logging()
}

/// Says a thing once, however often it is seen.
struct Teller<'a> {
    say: &'a (dyn Fn(Message) + Send + Sync),
    last: &'static str,
}

impl Teller<'_> {
    fn once(&mut self, message: Message) {
        if self.last != message.key {
            self.last = message.key;
            (self.say)(message);
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ServerError> + Send + 'static,
) -> Result<T, ServerError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Whether a folder (`PG_BINDIR`) holds PostgreSQL's programs, new enough and fit to be run.
pub fn check_bindir(bindir: &Path) -> Result<(), ServerError> {
    binaries::find(Some(bindir), Path::new(""), None, None).map(drop)
}
