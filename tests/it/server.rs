//! The embedded server: who owns it, who adopts it, and what happens when somebody is killed.
//!
//! Works as root (PostgreSQL then runs as `postgres` or `nobody`) and as an ordinary user. Owners that must die are this
//! very test program, started again with [`HELPER`] set; only processes started here are ended, by their number.

#![expect(clippy::unwrap_used, reason = "what fails in a test may say so by itself")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rentroll::locale::{Locale, Message};
use rentroll::postgres::server::{EmbeddedServer, ServerError, User};
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const HELPER: &str = "RENTROLL_TEST_HELPER";
/// Far beyond what any step takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(2);

// ---- harness --------------------------------------------------------------------------------------------------------

/// A data directory (not made yet) that PostgreSQL's user can reach.
fn place() -> (TempDir, PathBuf) {
    let root = tempfile::Builder::new()
        .prefix("rentroll-it-")
        .permissions(fs::Permissions::from_mode(0o755))
        .tempdir_in("/tmp")
        .unwrap();
    let data_dir = root.path().join("data");
    (root, data_dir)
}

fn bindir() -> Option<PathBuf> {
    std::env::var_os("PG_BINDIR").map(PathBuf::from)
}

async fn open(data_dir: &Path, user: User) -> Result<EmbeddedServer, ServerError> {
    open_saying(data_dir, user, &|_| {}).await
}

async fn open_saying(
    data_dir: &Path,
    user: User,
    say: &(dyn Fn(Message) + Send + Sync),
) -> Result<EmbeddedServer, ServerError> {
    tokio::time::timeout(PATIENCE, EmbeddedServer::open(data_dir, bindir().as_deref(), user, say))
        .await
        .expect("opened or refused in time")
}

async fn connect(server: &EmbeddedServer) -> PgConnection {
    PgConnection::connect_with(&server.connect_options()).await.unwrap()
}

fn connect_folder(server: &EmbeddedServer) -> PathBuf {
    server.connect_options().get_socket().unwrap().clone()
}

async fn setting(connection: &mut PgConnection, name: &str) -> String {
    sqlx::query_scalar("select current_setting($1)").bind(name).fetch_one(connection).await.unwrap()
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn postmaster(data_dir: &Path) -> u32 {
    let file = fs::read_to_string(data_dir.join("postgres/postmaster.pid")).unwrap();
    file.lines().next().unwrap().trim().parse().unwrap()
}

/// Whether the process runs; one that is dead and only not yet collected does not.
fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

async fn kill(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status().await.unwrap();
    assert!(status.success());
}

/// Another process that opens the server as a command and keeps it until it is killed.
struct Owner {
    child: Child,
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Owner {
    async fn start(data_dir: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "server::helper_process", "--nocapture"])
            .env(HELPER, data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = async { while !lines.next_line().await.unwrap().expect("opened").contains("@ready") {} };
        tokio::time::timeout(PATIENCE, ready).await.expect("opened in time");
        Self { child, _lines: lines }
    }

    async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// Not a test: what [`Owner`] runs.
#[tokio::test]
async fn helper_process() {
    let Some(data_dir) = std::env::var_os(HELPER) else { return };
    let server = open(Path::new(&data_dir), User::Command).await.unwrap();
    assert!(server.owned());
    println!("@ready");
    std::future::pending::<()>().await;
}

/// Writes rows, each acknowledged by its own commit, until the connection breaks. The last acknowledged number.
async fn write_until_it_breaks(connection: &mut PgConnection) -> i32 {
    let mut written = 0;
    while sqlx::query("insert into row values ($1)").bind(written + 1).execute(&mut *connection).await.is_ok() {
        written += 1;
    }
    written
}

async fn rows(server: &EmbeddedServer, up_to: i32) -> i64 {
    sqlx::query_scalar("select count(*) from row where n <= $1")
        .bind(up_to)
        .fetch_one(&mut connect(server).await)
        .await
        .unwrap()
}

// ---- stories --------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn from_nothing_to_a_durable_server_that_only_the_socket_reaches() {
    let (_root, data_dir) = place();
    // What an initialisation that was killed leaves.
    fs::create_dir_all(data_dir.join("postgres.new-1/base")).unwrap();
    fs::set_permissions(&data_dir, fs::Permissions::from_mode(0o755)).unwrap();
    let said = Mutex::new(Vec::new());
    let server = open_saying(&data_dir, User::Serve, &|message| said.lock().unwrap().push(message.key)).await.unwrap();
    assert!(server.owned());
    assert_eq!(*said.lock().unwrap(), ["server-initialises", "server-starts"]);
    let mut connection = connect(&server).await;
    for (name, value) in [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("server_encoding", "UTF8"),
    ] {
        assert_eq!(setting(&mut connection, name).await, value, "{name}");
    }
    for name in ["postgres", "socket", "run", "documents", "outbox", "keys"] {
        assert_eq!(fs::metadata(data_dir.join(name)).unwrap().mode() & 0o777, 0o700, "{name}");
    }
    assert!(!data_dir.join("postgres.new-1").exists());
    sqlx::raw_sql("create table row (n int); insert into row values (1)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let pid = postmaster(&data_dir);
    server.close(None).await;
    assert!(!runs(pid));
    assert!(!data_dir.join("postgres/postmaster.pid").exists(), "it ended in order");

    let server = open(&data_dir, User::Command).await.unwrap();
    assert_eq!(rows(&server, 1).await, 1);
    server.close(None).await;
}

#[tokio::test]
async fn a_command_adopts_the_server_of_serve_and_a_second_serve_is_refused() {
    let (_root, data_dir) = place();
    let serve = open(&data_dir, User::Serve).await.unwrap();
    let command = open(&data_dir, User::Command).await.unwrap();
    assert!(!command.owned());
    connect(&command).await.ping().await.unwrap();

    let refused = open(&data_dir, User::Serve).await.unwrap_err();
    let words = Locale::En.say(&refused.message());
    assert!(words.contains(data_dir.to_str().unwrap()) && words.contains(&std::process::id().to_string()), "{words}");

    command.close(None).await;
    connect(&serve).await.ping().await.unwrap();
    serve.close(Some(Duration::from_secs(10))).await;
}

#[tokio::test]
async fn a_command_that_owns_the_server_keeps_it_for_the_others_and_newcomers_wait_for_the_next() {
    let (_root, data_dir) = place();
    let owner = open(&data_dir, User::Command).await.unwrap();
    let other = open(&data_dir, User::Command).await.unwrap();
    let first = postmaster(&data_dir);
    let closing = tokio::spawn(owner.close(None));
    eventually("the owner says that it is stopping", async || {
        fs::read_to_string(data_dir.join("run/owner.lock")).unwrap().contains("stopping")
    })
    .await;
    connect(&other).await.ping().await.unwrap();

    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let newcomer = tokio::spawn({
        let data_dir = data_dir.clone();
        async move { open_saying(&data_dir, User::Command, &|message| told.send(message.key).unwrap()).await }
    });
    assert_eq!(hears.recv().await, Some("server-waits-for-stop"));
    connect(&other).await.ping().await.unwrap();
    assert!(!closing.is_finished() && !newcomer.is_finished());

    other.close(None).await;
    closing.await.unwrap();
    let newcomer = newcomer.await.unwrap().unwrap();
    assert!(newcomer.owned());
    assert_ne!(postmaster(&data_dir), first);
    newcomer.close(None).await;
}

#[tokio::test]
async fn serve_stops_the_server_when_its_patience_is_over() {
    let (_root, data_dir) = place();
    let serve = open(&data_dir, User::Serve).await.unwrap();
    let command = open(&data_dir, User::Command).await.unwrap();
    let pid = postmaster(&data_dir);
    serve.close(Some(Duration::from_millis(100))).await;
    assert!(!runs(pid));
    assert!(PgConnection::connect_with(&command.connect_options()).await.is_err());
    command.close(None).await;
}

#[tokio::test]
async fn of_commands_that_start_at_the_same_moment_one_owns_and_the_others_adopt() {
    let (_root, data_dir) = place();
    let (a, b, c) =
        tokio::join!(open(&data_dir, User::Command), open(&data_dir, User::Command), open(&data_dir, User::Command));
    let servers = [a.unwrap(), b.unwrap(), c.unwrap()];
    assert_eq!(servers.iter().filter(|server| server.owned()).count(), 1);
    for server in &servers {
        connect(server).await.ping().await.unwrap();
    }
    futures_util::future::join_all(servers.map(|server| server.close(None))).await;
}

#[tokio::test]
async fn serve_waits_for_a_command_that_owns_the_server_and_says_so() {
    let (_root, data_dir) = place();
    let command = open(&data_dir, User::Command).await.unwrap();
    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let serve = tokio::spawn({
        let data_dir = data_dir.clone();
        async move { open_saying(&data_dir, User::Serve, &|message| told.send(message).unwrap()).await }
    });
    let message = hears.recv().await.unwrap();
    assert_eq!(message.key, "server-waits-for-command");
    assert!(message.to_string().contains(&std::process::id().to_string()), "{message}");
    assert!(!serve.is_finished());
    command.close(None).await;
    let serve = serve.await.unwrap().unwrap();
    assert!(serve.owned());
    serve.close(None).await;
}

#[tokio::test]
async fn after_kill_9_of_the_owner_no_server_is_left_and_the_next_one_has_every_row() {
    let (_root, data_dir) = place();
    let owner = Owner::start(&data_dir).await;
    let adopter = open(&data_dir, User::Command).await.unwrap();
    assert!(!adopter.owned());
    let first = postmaster(&data_dir);
    let mut connection = connect(&adopter).await;
    sqlx::query("create table row (n int)").execute(&mut connection).await.unwrap();
    let writing = tokio::spawn(async move { write_until_it_breaks(&mut connection).await });
    eventually("some rows", async || rows(&adopter, i32::MAX).await > 20).await;
    owner.kill().await;
    let written = writing.await.unwrap();
    adopter.close(None).await;

    let next = open(&data_dir, User::Serve).await.unwrap();
    assert!(next.owned());
    assert!(!runs(first));
    assert_eq!(rows(&next, written).await, i64::from(written));
    next.close(None).await;
}

#[tokio::test]
async fn a_server_killed_by_9_comes_back_with_every_acknowledged_row() {
    let (_root, data_dir) = place();
    let server = open(&data_dir, User::Serve).await.unwrap();
    let mut connection = connect(&server).await;
    sqlx::query("create table row (n int)").execute(&mut connection).await.unwrap();
    let writing = tokio::spawn(async move { write_until_it_breaks(&mut connection).await });
    eventually("some rows", async || rows(&server, i32::MAX).await > 20).await;
    let first = postmaster(&data_dir);
    kill(first).await;
    let written = writing.await.unwrap();
    eventually("the server is back", async || PgConnection::connect_with(&server.connect_options()).await.is_ok())
        .await;
    assert_eq!(rows(&server, written).await, i64::from(written));
    let second = postmaster(&data_dir);
    assert_ne!(second, first);
    server.close(None).await;
    assert!(!runs(second));
}

#[tokio::test]
async fn after_kill_9_of_owner_and_server_the_next_one_has_every_row() {
    let (_root, data_dir) = place();
    let owner = Owner::start(&data_dir).await;
    let adopter = open(&data_dir, User::Command).await.unwrap();
    let first = postmaster(&data_dir);
    let mut connection = connect(&adopter).await;
    sqlx::query("create table row (n int)").execute(&mut connection).await.unwrap();
    let writing = tokio::spawn(async move { write_until_it_breaks(&mut connection).await });
    eventually("some rows", async || rows(&adopter, i32::MAX).await > 20).await;
    tokio::join!(kill(first), owner.kill());
    let written = writing.await.unwrap();
    adopter.close(None).await;

    let next = open(&data_dir, User::Command).await.unwrap();
    assert!(next.owned());
    assert_eq!(rows(&next, written).await, i64::from(written));
    next.close(None).await;
}

#[tokio::test]
async fn data_of_an_older_major_version_are_refused_with_commands_that_carry_them_over() {
    let (_root, data_dir) = place();
    let server = open(&data_dir, User::Command).await.unwrap();
    let mut connection = connect(&server).await;
    sqlx::raw_sql("create table row (n int); insert into row values (1), (2)").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    server.close(None).await;
    let version = data_dir.join("postgres/PG_VERSION");
    let ours = fs::read_to_string(&version).unwrap();
    fs::write(&version, "14\n").unwrap();

    let refused = open(&data_dir, User::Command).await.unwrap_err();
    let ServerError::OtherMajor { made_by: 14, steps: Some(steps), .. } = &refused else { panic!("{refused:?}") };
    assert!(Locale::ZhCn.say(&refused.message()).contains("postgres-14"));
    assert!(refused.to_string().contains("NEW="), "{refused}");

    // The commands really carry data over: with the programs at hand in the old version's place.
    fs::write(&version, ours).unwrap();
    let (install, rest) = steps.split_once('\n').unwrap();
    assert!(install.contains("postgresql-14") || install.contains("postgresql14"), "{install}");
    let new = rest.lines().find_map(|line| line.strip_prefix("NEW=")).unwrap();
    let script: Vec<_> = rest
        .lines()
        .map(|line| if line.starts_with("OLD=") { format!("OLD={new}") } else { line.to_owned() })
        .collect();
    let output = Command::new("sh").args(["-e", "-c", &script.join("\n")]).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(data_dir.join("postgres-14/PG_VERSION").exists());
    let server = open(&data_dir, User::Command).await.unwrap();
    assert_eq!(rows(&server, 2).await, 2);
    server.close(None).await;
}

#[tokio::test]
async fn data_of_a_newer_major_version_are_refused_with_what_to_install() {
    let (_root, data_dir) = place();
    fs::create_dir_all(data_dir.join("postgres")).unwrap();
    fs::write(data_dir.join("postgres/PG_VERSION"), "99\n").unwrap();
    let refused = open(&data_dir, User::Command).await.unwrap_err();
    assert!(matches!(refused, ServerError::OtherMajor { made_by: 99, steps: None, .. }), "{refused:?}");
    assert!(refused.to_string().contains("apt-get install postgresql-99"), "{refused}");
}

#[tokio::test]
async fn a_data_directory_below_a_closed_folder_is_refused_by_that_folders_name() {
    let (root, _) = place();
    let closed = root.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let own = fs::metadata(&closed).unwrap().uid();
    // Root is stopped by nothing, but the user that runs PostgreSQL for it is.
    fs::set_permissions(&closed, fs::Permissions::from_mode(if own == 0 { 0o700 } else { 0o000 })).unwrap();
    let refused = open(&closed.join("below/data"), User::Command).await.unwrap_err();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    let ServerError::Closed { ancestor, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(ancestor.canonicalize().unwrap(), closed.canonicalize().unwrap());
    assert!(refused.to_string().contains(&format!("chmod o+x {}", ancestor.display())), "{refused}");
}

#[tokio::test]
async fn a_folder_without_postgresqls_programs_is_named() {
    let (root, data_dir) = place();
    let refused = EmbeddedServer::open(&data_dir, Some(root.path()), User::Command, &|_| {}).await.unwrap_err();
    assert!(matches!(refused, ServerError::BinDir { .. }), "{refused:?}");
    assert!(refused.to_string().contains(root.path().to_str().unwrap()), "{refused}");
}

#[tokio::test]
async fn a_long_data_directory_works_through_a_short_socket() {
    let (_root, data_dir) = place();
    let data_dir = data_dir.join("a, b".repeat(30));
    let server = open(&data_dir, User::Command).await.unwrap();
    let adopter = open(&data_dir, User::Command).await.unwrap();
    assert!(!adopter.owned());
    connect(&adopter).await.ping().await.unwrap();
    let socket = connect_folder(&adopter);
    assert!(!socket.starts_with(&data_dir) && socket.exists());
    adopter.close(None).await;
    server.close(None).await;
    assert!(!socket.exists());
}
