//! The program itself, started as a person starts it: what it prints, how it ends, and what it survives.
//!
//! Only processes started here are ended, by their number.

#![expect(clippy::unwrap_used, reason = "what fails in a test may say so by itself")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rentroll::postgres::database::MIGRATOR;
use rentroll::postgres::server::{EmbeddedServer, User};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, ChildStdout, Command};

use crate::harness::TestDatabase;
use crate::harness::smtp_sink::SmtpSink;

/// Far beyond what any step takes, on the slowest machine.
const PATIENCE: Duration = Duration::from_mins(2);

// ---- harness --------------------------------------------------------------------------------------------------------

/// A data directory (not made yet) that PostgreSQL's user can reach.
struct Place {
    root: TempDir,
    data_dir: PathBuf,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("rentroll-cli-")
            .permissions(fs::Permissions::from_mode(0o755))
            .tempdir_in("/tmp")
            .unwrap();
        let data_dir = root.path().join("data");
        Self { root, data_dir }
    }

    fn root(&self) -> &Path {
        self.root.path()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The program with nothing of the caller's environment that means something to it.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rentroll"));
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("RENTROLL_") || name.starts_with("DATABASE_URL") {
                command.env_remove(name);
            }
        }
        command.env("RENTROLL_DATA_DIR", &self.data_dir).env("RENTROLL_LOCALE", "en");
        command.env("RENTROLL_LISTEN", "127.0.0.1:0");
        command
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments)).await
    }

    async fn serve(&self) -> Serving {
        Serving::start(self.command(&["serve"])).await
    }

    fn postmaster(&self) -> u32 {
        let file = fs::read_to_string(self.data_dir.join("postgres/postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }
}

/// A command that has ended.
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    /// The one object on standard output.
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|_| panic!("one object: {:?}, {}", self.out, self.err))
    }

    fn check(&self, name: &str) -> (bool, String) {
        let json = self.json();
        let check = json["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
        let check = check.unwrap_or_else(|| panic!("{name} in {json}"));
        (check["ok"].as_bool().unwrap(), check["message"].as_str().unwrap().to_owned())
    }
}

async fn ran(mut command: Command) -> Ran {
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("ends in time").unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A program that serves.
struct Serving {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// `127.0.0.1:41234`
    address: String,
}

impl Serving {
    async fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("said in time").unwrap();
        let line = line.expect("it serves");
        let address = line.strip_prefix("listening on http://").unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        Self { child, lines, address }
    }

    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await.expect("said in time").unwrap();
        line.expect("another line")
    }

    async fn get(&self, path: &str) -> (u16, String) {
        get(&self.address, path).await.unwrap()
    }

    async fn eventually_ready(&self) {
        eventually("ready", async || matches!(get(&self.address, "/readyz").await, Ok((200, _)))).await;
    }

    async fn signal(&mut self, signal: &str) -> ExitStatus {
        kill(signal, self.child.id().unwrap()).await;
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("ends in time").unwrap()
    }
}

async fn get(address: &str, path: &str) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    status.zip(body).ok_or_else(|| std::io::Error::other(format!("no answer: {answer:?}")))
}

async fn kill(signal: &str, pid: u32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().await.unwrap().success());
}

async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "never came: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether the process runs; one that is dead and only not yet collected does not.
fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'))
}

/// A cluster of our own that keeps what it acknowledged, as no test cluster does, with one empty database.
struct Cluster {
    server: EmbeddedServer,
    place: Place,
}

impl Cluster {
    async fn new() -> Self {
        let place = Place::new();
        let bindir = std::env::var_os("PG_BINDIR").map(PathBuf::from);
        let opened = EmbeddedServer::open(&place.data_dir, bindir.as_deref(), User::Command, &|_| {}).await;
        Self { server: opened.unwrap(), place }
    }

    async fn connect(&self) -> PgConnection {
        PgConnection::connect_with(&self.server.connect_options()).await.unwrap()
    }

    fn url(&self) -> String {
        let options = self.server.connect_options();
        format!("postgres:///rentroll?user=rentroll&host={}", options.get_socket().unwrap().display())
    }
}

// ---- serve ----------------------------------------------------------------------------------------------------------

#[tokio::test]
async fn a_bare_call_serves_from_nothing_and_ends_in_order() {
    let place = Place::new();
    let mut serving = Serving::start(place.command(&[])).await;
    // The link is below the address, and opens the page that sets up the first administrator.
    assert!(serving.line().await.contains("first administrator"));
    let link = serving.line().await;
    let port = serving.address.rsplit(':').next().unwrap().to_owned();
    let path = link.trim().strip_prefix(&format!("http://localhost:{port}")).unwrap_or_else(|| panic!("{link}"));
    assert!(path.starts_with("/set-up/") && path.len() > 40, "{path}");
    assert_eq!(serving.get(path).await.0, 200);
    assert_eq!(serving.get("/set-up/another").await.0, 404);
    assert_eq!(serving.get("/readyz").await, (200, r#"{"ready":true}"#.to_owned()));
    let (status, body) = serving.get("/healthz").await;
    let health: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, health["database"].as_bool(), health["status"].as_str()), (200, Some(true), Some("ok")));

    let postmaster = place.postmaster();
    let begun = Instant::now();
    let status = serving.signal("-TERM").await;
    assert!(status.success());
    assert!(begun.elapsed() < Duration::from_secs(10), "it took {:?}", begun.elapsed());
    assert!(!runs(postmaster));
    assert!(get(&serving.address, "/readyz").await.is_err());
}

#[tokio::test]
async fn a_request_that_hangs_does_not_keep_the_program() {
    let place = Place::new();
    let mut serving = place.serve().await;
    let mut slow = TcpStream::connect(&serving.address).await.unwrap();
    slow.write_all(b"GET /readyz HTTP/1.1\r\nhost: a\r\n").await.unwrap();
    let begun = Instant::now();
    assert!(serving.signal("-INT").await.success());
    assert!(begun.elapsed() < Duration::from_secs(12), "it took {:?}", begun.elapsed());
}

#[tokio::test]
async fn with_json_serve_prints_one_object() {
    let place = Place::new();
    let mut child = place.command(&["serve", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
    let json: Value = serde_json::from_str(&line).unwrap();
    assert!(json["listening"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{json}");
    assert!(json["set_up_link"].as_str().unwrap().contains("/set-up/"), "{json}");
    kill("-TERM", child.id().unwrap()).await;
    assert!(child.wait().await.unwrap().success());
    assert_eq!(lines.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_port_that_is_taken_is_named_with_its_variable() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = place.command(&["serve"]);
    command.env("RENTROLL_LISTEN", &address);
    let ran = ran(command).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains(&address) && ran.err.contains("RENTROLL_LISTEN"), "{}", ran.err);
    let postmaster = place.data_dir.join("postgres/postmaster.pid");
    assert!(!postmaster.exists(), "nothing is left running");
}

#[tokio::test]
async fn commands_work_beside_serve_and_a_second_serve_is_refused() {
    let place = Place::new();
    let mut serving = place.serve().await;
    let postmaster = place.postmaster();
    let migrate = place.run(&["migrate", "--json"]).await;
    assert_eq!((migrate.code, migrate.json()["applied"].as_i64()), (Some(0), Some(0)));
    let doctor = place.run(&["doctor"]).await;
    assert_eq!(doctor.code, Some(0), "{}{}", doctor.out, doctor.err);
    let second = place.run(&["serve"]).await;
    assert_eq!(second.code, Some(1));
    assert!(second.err.contains(&serving.child.id().unwrap().to_string()), "{}", second.err);
    assert_eq!(place.postmaster(), postmaster);
    assert_eq!(serving.get("/readyz").await.0, 200);
    assert!(serving.signal("-TERM").await.success());
}

// case R35
#[tokio::test]
async fn after_kill_9_of_postgresql_serve_works_again_by_itself() {
    let place = Place::new();
    let mut serving = place.serve().await;
    let first = place.postmaster();
    kill("-9", first).await;
    // It answers all the while, and says how it is.
    assert_eq!(serving.get("/healthz").await.0, 200);
    serving.eventually_ready().await;
    assert!(!runs(first));
    assert!(serving.signal("-TERM").await.success());
}

// case R35
#[tokio::test]
async fn while_the_database_is_away_serve_answers_and_is_not_ready() {
    let place = Place::new();
    let mut serving = place.serve().await;
    let postmaster = place.postmaster();
    kill("-STOP", postmaster).await;
    // Connections that are open go on; a stopped server takes no new ones.
    let backends = fs::read_to_string(format!("/proc/{postmaster}/task/{postmaster}/children")).unwrap();
    for backend in backends.split_whitespace() {
        kill("-STOP", backend.parse().unwrap()).await;
    }
    assert_eq!(serving.get("/readyz").await.0, 503);
    let (status, body) = serving.get("/healthz").await;
    assert_eq!(status, 200);
    assert!(body.contains(r#""status":"degraded""#), "{body}");
    for backend in backends.split_whitespace() {
        kill("-CONT", backend.parse().unwrap()).await;
    }
    kill("-CONT", postmaster).await;
    serving.eventually_ready().await;
    assert!(serving.signal("-TERM").await.success());
}

// ---- other databases ------------------------------------------------------------------------------------------------

// case U05
#[tokio::test]
async fn three_instances_start_at_once_on_an_empty_database() {
    let cluster = Cluster::new().await;
    let places = [Place::new(), Place::new(), Place::new()];
    let starting = places.iter().map(|place| {
        let mut command = place.command(&["serve"]);
        command.env("DATABASE_URL", cluster.url());
        Serving::start(command)
    });
    let serving = futures_util::future::join_all(starting).await;
    for mut serving in serving {
        assert_eq!(serving.get("/readyz").await.0, 200);
        assert!(serving.signal("-TERM").await.success());
    }
    let mut connection = cluster.connect().await;
    let applied: i64 =
        sqlx::query_scalar("select count(*) from _sqlx_migrations").fetch_one(&mut connection).await.unwrap();
    assert_eq!(usize::try_from(applied).unwrap(), MIGRATOR.iter().count());
    let organisations: i64 =
        sqlx::query_scalar("select count(*) from organisation").fetch_one(&mut connection).await.unwrap();
    assert_eq!(organisations, 1);
    connection.close().await.unwrap();
    // A command that found the database ready works with it, and it outlives all of them.
    let mut doctor = cluster.place.command(&["doctor", "--json"]);
    doctor.env("DATABASE_URL", cluster.url());
    let doctor = ran(doctor).await;
    assert!(doctor.check("database").0 && doctor.check("migrations").0 && doctor.check("roles").0, "{}", doctor.out);
    cluster.server.close(None).await;
}

#[tokio::test]
async fn with_a_database_address_only_serve_and_migrate_migrate() {
    let (place, database) = (Place::new(), TestDatabase::empty().await);
    let with_address = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("DATABASE_URL", database.url());
        ran(command)
    };
    let doctor = with_address(&["doctor", "--json"]).await;
    let (ok, message) = doctor.check("migrations");
    assert_eq!((doctor.code, ok), (Some(1), false));
    let newest = MIGRATOR.iter().last().unwrap().version.to_string();
    assert!(message.contains(&newest) && message.contains("rentroll migrate"), "{message}");

    // The test cluster may lose what it acknowledged, which `migrate` refuses only after the migrations.
    with_address(&["migrate"]).await;
    let doctor = with_address(&["doctor", "--json"]).await;
    assert!(doctor.check("migrations").0, "{}", doctor.out);
    assert!(!place.data_dir.join("postgres").exists(), "no server of our own was made");
}

// case U03
#[tokio::test]
async fn a_migration_that_was_changed_ends_the_program_with_its_name() {
    let (place, database) = (Place::new(), TestDatabase::new().await);
    let broken = MIGRATOR.iter().nth(1).unwrap();
    let mut superuser = database.superuser().await;
    let sql = format!("update _sqlx_migrations set checksum = '\\x00' where version = {}", broken.version);
    sqlx::query(AssertSqlSafe(sql)).execute(&mut superuser).await.unwrap();
    superuser.close().await.unwrap();
    for arguments in [&["serve"] as &[&str], &["migrate"]] {
        let mut command = place.command(arguments);
        command.env("DATABASE_URL", database.url());
        let ran = ran(command).await;
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "it does not serve");
        assert!(ran.err.contains(&broken.version.to_string()), "{}", ran.err);
        assert!(ran.err.contains(broken.description.as_ref()), "{}", ran.err);
    }
}

// case U03
#[tokio::test]
async fn a_migration_that_fails_ends_the_program_with_its_name() {
    let (place, database) = (Place::new(), TestDatabase::empty().await);
    let mut superuser = database.superuser().await;
    // In the way of the one that makes it.
    sqlx::query("create table organisation (id integer)").execute(&mut superuser).await.unwrap();
    superuser.close().await.unwrap();
    let mut command = place.command(&["serve", "--json"]);
    command.env("DATABASE_URL", database.url());
    let ran = ran(command).await;
    assert_eq!(ran.code, Some(1));
    let message = ran.json()["errors"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("20261201000200") && message.contains("organisation"), "{message}");
}

#[tokio::test]
async fn a_database_that_could_lose_what_it_acknowledged_is_refused() {
    let (place, database) = (Place::new(), TestDatabase::new().await);
    let mut superuser = database.superuser().await;
    let name: String = sqlx::query_scalar("select current_database()::text").fetch_one(&mut superuser).await.unwrap();
    let sql = format!("alter database {name} set synchronous_commit = off");
    sqlx::query(AssertSqlSafe(sql)).execute(&mut superuser).await.unwrap();
    superuser.close().await.unwrap();
    let mut command = place.command(&["serve"]);
    command.env("DATABASE_URL", database.url());
    let ran = ran(command).await;
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("could lose what it acknowledged"), "{}", ran.err);
}

// ---- the work -------------------------------------------------------------------------------------------------------

const HEADINGS: &str =
    "project,name,provider,tier,owner,checker,starts_on,ends_on,cycle,renewal,quantity,price,currency\n";

/// A file with one environment that ends on 2026-03-31.
fn environment(name: &str) -> String {
    format!(
        "{HEADINGS}竹简,{name},云商,H800,li@example.com,wang@example.com,2026-01-01,2026-03-31,monthly,on_request,2,100,CNY\n"
    )
}

// case R15
#[tokio::test]
async fn the_main_job_from_the_command_line_to_the_mailbox() {
    let (place, sink) = (Place::new(), SmtpSink::start().await);
    let file = place.file("environments.csv", &environment("训练一"));
    let file = file.to_str().unwrap();
    let with_mail = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env("RENTROLL_SMTP_URL", sink.url()).env("RENTROLL_MAIL_FROM", "Rentroll <ledger@example.com>");
        command.env("RENTROLL_PUBLIC_URL", "https://ledger.example.com");
        ran(command)
    };
    let dry = with_mail(&["import", "environments", file, "--dry-run", "--json"]).await.json();
    let imported = with_mail(&["import", "environments", file, "--json"]).await.json();
    assert_eq!((&dry["rows_new"], &imported["rows_new"]), (&Value::from(1), &Value::from(1)));
    let again = with_mail(&["import", "environments", file, "--json"]).await.json();
    assert_eq!((&again["rows_new"], &again["rows_known"]), (&Value::from(0), &Value::from(1)));

    let too_early = with_mail(&["jobs", "run", "reminders", "--as-of", "2026-03-15", "--json"]).await;
    assert_eq!((too_early.code, sink.messages().len()), (Some(0), 0));
    let due = with_mail(&["jobs", "run", "reminders", "--as-of", "2026-03-18", "--json"]).await.json();
    assert_eq!(due["done"], 2, "{due}");
    let mut recipients: Vec<String> = sink.messages().into_iter().flat_map(|mail| mail.rcpt_to).collect();
    recipients.sort();
    assert_eq!(recipients, ["li@example.com", "wang@example.com"]);
    for mail in sink.messages() {
        assert!(mail.text.contains("13 days") && mail.text.contains("https://ledger.example.com/"), "{}", mail.text);
    }
    let again = with_mail(&["jobs", "run", "reminders", "--as-of", "2026-03-18", "--json"]).await.json();
    assert_eq!((&again["done"], sink.messages().len()), (&Value::from(0), 2));

    let reminders = with_mail(&["export", "reminders", "--format", "csv-plain", "--filter", "state=sent"]).await;
    assert_eq!(reminders.out.lines().count(), 3, "{}", reminders.out);
    let listed = with_mail(&["jobs", "list", "--json"]).await.json();
    let names: Vec<&str> = listed["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["renewals", "reminders", "sweep"], "renewals come before reminders");
    assert_eq!(listed["jobs"][1]["last"]["as_of"], "2026-03-18");
}

#[tokio::test]
async fn a_file_with_an_error_is_refused_as_a_whole_with_its_row_and_column() {
    let place = Place::new();
    let wrong = environment("训练一").replace("2026-03-31", "2026-13-31");
    let file = place.file("environments.csv", &wrong);
    let refused = place.run(&["import", "environments", file.to_str().unwrap(), "--json"]).await;
    let json = refused.json();
    assert_eq!((refused.code, &json["rows_rejected"]), (Some(1), &Value::from(1)));
    assert_eq!((&json["errors"][0]["row"], &json["errors"][0]["column"]), (&Value::from(2), &Value::from("ends_on")));
    let refused = place.run(&["import", "environments", file.to_str().unwrap()]).await;
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(refused.err.contains("row 2") && refused.err.contains("2026-13-31"), "{}", refused.err);
    let terms = place.run(&["export", "terms", "--format", "csv-plain"]).await;
    assert_eq!(terms.out.lines().count(), 1, "only headings: {}", terms.out);

    let absent = place.run(&["import", "environments", "/nonexistent/environments.csv", "--json"]).await;
    assert_eq!(absent.code, Some(1));
    assert!(absent.json()["errors"][0]["message"].as_str().unwrap().contains("/nonexistent/environments.csv"));
}

/// Two lines of a bill, one of which says no public price.
const BILL: &str = "\
BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,\
ChargeDescription,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,ListCost,ContractedCost,InvoiceIssuerName,PricingQuantity,\
PricingUnit,ProviderName,PublisherName,ServiceCategory,ServiceName,ResourceId
12.50,a-1,Main,USD,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,Usage,,H800 hours,2026-03-02T00:00:00Z,2026-03-03T00:00:00Z,\
12.50,15.00,12.50,Cloud,5,Hours,Cloud,Cloud,Compute,GPU,i-1
-0.25,a-1,Main,USD,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,Credit,,Credit,2026-03-02T00:00:00Z,2026-03-03T00:00:00Z,\
-0.25,,-0.25,Cloud,,,Cloud,Cloud,Compute,GPU,i-1
";

#[tokio::test]
async fn a_bill_goes_in_once_and_the_ledger_comes_out() {
    let place = Place::new();
    let file = place.file("bill.csv", BILL);
    let bill = ["import", "bill", file.to_str().unwrap(), "--provider", "Cloud"];
    let with = |more: &'static [&'static str]| [&bill as &[&str], more].concat();
    let dry = place.run(&with(&["--dry-run", "--json"])).await;
    assert_eq!((dry.code, &dry.json()["rows_new"]), (Some(0), &Value::from(2)), "{} {}", dry.out, dry.err);
    let first = place.run(&with(&["--format", "focus", "--json"])).await.json();
    assert_eq!((&first["rows_new"], &first["rows_known"]), (&Value::from(2), &Value::from(0)), "{first}");
    assert_eq!(first["totals"]["USD"]["billed"], "12.25");
    let again = place.run(&with(&["--json"])).await.json();
    assert_eq!((&again["rows_new"], &again["rows_known"]), (&Value::from(0), &Value::from(2)));
    let words = place.run(&bill).await;
    assert!(words.out.contains("USD: billed 12.25"), "{}", words.out);

    let spend = place.run(&["export", "spend", "--format", "csv-plain", "--filter", "provider=Cloud"]).await;
    assert_eq!(spend.out.lines().count(), 3, "{}", spend.out);
    let nothing = place.run(&["export", "spend", "--filter", "provider=Nobody"]).await;
    assert_eq!((nothing.code, nothing.out.as_str()), (Some(1), ""));

    let wrong = place.file("wrong.csv", &BILL.replace("12.50,a-1", "\"$10,000.00\",a-1"));
    let wrong = place.run(&["import", "bill", wrong.to_str().unwrap(), "--provider", "Cloud", "--json"]).await;
    let error = &wrong.json()["errors"][0];
    assert_eq!((wrong.code, &error["row"], &error["column"]), (Some(1), &Value::from(2), &Value::from("BilledCost")));
    let rates = place.file("rates.csv", "base,quote,date,rate\nUSD,CNY,2026-03-02,7.10\n");
    let rates = place.run(&["import", "rates", rates.to_str().unwrap(), "--json"]).await;
    assert_eq!((rates.code, &rates.json()["rows_new"]), (Some(0), &Value::from(1)), "{}", rates.err);
}

#[tokio::test]
async fn lists_leave_as_files_and_a_filter_that_is_not_known_is_refused() {
    let place = Place::new();
    let mut serving = place.serve().await;
    let file = place.file("environments.csv", &environment("训练一"));
    assert_eq!(place.run(&["import", "environments", file.to_str().unwrap()]).await.code, Some(0));

    // What goes out as terms comes back in.
    let out = place.root().join("terms.csv");
    let out = out.to_str().unwrap();
    let exported = place.run(&["export", "terms", "--format", "csv-plain", "--out", out, "--json"]).await.json();
    assert_eq!((&exported["rows"], &exported["format"]), (&Value::from(1), &Value::from("csv-plain")));
    let back = place.run(&["import", "environments", out, "--json"]).await.json();
    assert_eq!((&back["rows_known"], &back["rows_rejected"]), (&Value::from(1), &Value::from(0)));

    let json = place.run(&["export", "providers", "--format", "json"]).await;
    assert_eq!(json.json()[0]["name"], "云商");
    let people = place.run(&["export", "people", "--format", "json"]).await.json();
    let addresses: Vec<&str> = people.as_array().unwrap().iter().map(|row| row["email"].as_str().unwrap()).collect();
    assert_eq!(addresses, ["li@example.com", "wang@example.com"]);
    let table = place.run(&["export", "environments"]).await;
    assert!(table.out.starts_with('\u{FEFF}') && table.out.contains("\r\n"));
    let book = place.root().join("tiers.xlsx");
    let written = place.run(&["export", "tiers", "--out", book.to_str().unwrap()]).await;
    assert_eq!(written.code, Some(0), "{}", written.err);
    assert!(fs::read(&book).unwrap().starts_with(b"PK"));
    assert_eq!(fs::metadata(&book).unwrap().permissions().mode() & 0o002, 0);

    let typo = place.run(&["export", "terms", "--filter", "projct=1"]).await;
    assert_eq!((typo.code, typo.out.as_str()), (Some(1), ""));
    assert!(typo.err.contains("projct") && typo.err.contains("project"), "{}", typo.err);
    let nothing = place.run(&["export", "terms", "--format", "csv-plain", "--filter", "project=999"]).await;
    assert_eq!(nothing.out.lines().count(), 1);
    for arguments in
        [&["export", "terms", "--json"] as &[&str], &["export", "everything"], &["export", "terms", "--filter", "x"]]
    {
        assert_eq!(place.run(arguments).await.code, Some(2), "{arguments:?}");
    }
    let nowhere = place.run(&["export", "terms", "--out", "/nonexistent/terms.csv", "--json"]).await;
    assert_eq!(nowhere.code, Some(1));
    assert!(nowhere.json()["errors"][0]["message"].as_str().unwrap().contains("--out"));
    assert!(serving.signal("-TERM").await.success());
}

#[tokio::test]
async fn a_log_in_is_made_with_a_password_or_with_a_link_that_works_once() {
    let place = Place::new();
    let mut command = place.command(&[
        "user",
        "add",
        "--email",
        "li@example.com",
        "--name",
        "Li Wei",
        "--role",
        "administrator",
        "--password-stdin",
        "--json",
    ]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all("竹简 梧桐 4711 hinter\n".as_bytes()).await.unwrap();
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    let added: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success(), "{added}");
    assert_eq!((&added["role"], &added["link"]), (&Value::from("administrator"), &Value::Null));

    let other = ["user", "add", "--email", "wang@example.com", "--name", "Wang", "--role", "member", "--json"];
    let added = place.run(&other).await.json();
    let link = added["link"].as_str().unwrap().to_owned();
    assert!(link.contains("/choose-password/"), "{link}");
    assert_eq!(added["mailed"], false);
    let again = place.run(&other).await;
    assert_eq!(again.code, Some(1));
    assert_eq!(again.json()["errors"][0]["field"], "email");

    // Now that there is somebody, no link to set up the first one is printed.
    let mut child = place.command(&["serve", "--json"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let told = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
    let json: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(json["set_up_link"], Value::Null);
    kill("-TERM", child.id().unwrap()).await;
    assert!(child.wait().await.unwrap().success());
}

// cases C1 and C3, in short
#[tokio::test]
async fn nothing_acknowledged_is_lost_when_program_and_database_are_killed_under_writes() {
    const KILLS: usize = 5;
    let place = Place::new();
    let mut serving = place.serve().await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let (acknowledge, mut acknowledged) = tokio::sync::mpsc::unbounded_channel();
    let place_ref = &place;
    let writers = (0..2).map(|writer| {
        let (acknowledge, stopped) = (acknowledge.clone(), stopped.clone());
        async move {
            for n in 0.. {
                if *stopped.borrow() {
                    return;
                }
                let name = format!("w{writer}-{n}");
                let file = place_ref.file(&format!("{name}.csv"), &environment(&name));
                // Without a change a killed command says nothing; one that says 0 has written.
                if place_ref.run(&["import", "environments", file.to_str().unwrap(), "--json"]).await.code == Some(0) {
                    acknowledge.send(name).unwrap();
                }
            }
        }
    });
    let killer = async {
        let mut names = Vec::new();
        for round in 0..KILLS {
            for _ in 0..2 {
                names.push(tokio::time::timeout(PATIENCE, acknowledged.recv()).await.expect("writes go on").unwrap());
            }
            if round % 2 == 0 {
                kill("-9", serving.child.id().unwrap()).await;
                serving.child.wait().await.unwrap();
                serving = place.serve().await;
            } else {
                kill("-9", place.postmaster()).await;
            }
            serving.eventually_ready().await;
        }
        stop.send(true).unwrap();
        names
    };
    let (mut names, _) = tokio::join!(killer, futures_util::future::join_all(writers));
    while let Ok(name) = acknowledged.try_recv() {
        names.push(name);
    }
    let kept = place.run(&["export", "terms", "--format", "json"]).await.json();
    let kept: Vec<&str> = kept.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let lost: Vec<&String> = names.iter().filter(|name| !kept.contains(&name.as_str())).collect();
    assert!(lost.is_empty(), "{lost:?} of {} acknowledged", names.len());
    let twice = kept.iter().filter(|name| kept.iter().filter(|other| other == name).count() > 1).count();
    assert_eq!(twice, 0);
    assert!(serving.signal("-TERM").await.success());
}

// ---- how it is called -----------------------------------------------------------------------------------------------

/// The commands between two marks of the operations guide.
fn recipe(name: &str) -> String {
    let guide = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operations.md")).unwrap();
    let (_, rest) = guide.split_once(&format!("<!-- {name}:begin -->")).unwrap();
    let (part, _) = rest.split_once(&format!("<!-- {name}:end -->")).unwrap();
    part.lines().filter(|line| !line.starts_with("```")).collect::<Vec<_>>().join("\n")
}

async fn follow_recipe(name: &str, data_dir: &Path, backup: &Path) {
    let mut shell = Command::new("bash");
    shell.args(["-euc", &recipe(name)]).env("RENTROLL_DATA_DIR", data_dir).env("BACKUP_DIR", backup);
    if let Some(bindir) = std::env::var_os("PG_BINDIR") {
        let path = std::env::var("PATH").unwrap_or_default();
        shell.env("PATH", format!("{}:{path}", PathBuf::from(bindir).display()));
    }
    let ran = ran(shell).await;
    assert_eq!(ran.code, Some(0), "{name}: {} {}", ran.out, ran.err);
}

#[tokio::test]
async fn the_guides_recipes_for_backup_and_restore_lose_nothing() {
    let (place, other) = (Place::new(), Place::new());
    let file = place.file(
        "terms.csv",
        "project,name,provider,tier,starts_on,ends_on\nLM,pretraining,Reedpond,H800,2026-01-01,2026-12-31\n",
    );
    let mut serving = place.serve().await;
    assert_eq!(place.run(&["import", "environments", file.to_str().unwrap()]).await.code, Some(0));
    let backup = place.root().join("backup");
    fs::create_dir(&backup).unwrap();
    follow_recipe("backup", &place.data_dir, &backup).await;
    let before = place.run(&["export", "audit", "--format", "csv-plain"]).await.out;
    assert!(serving.signal("-TERM").await.success());

    let mut restored = other.serve().await;
    follow_recipe("restore", &other.data_dir, &backup).await;
    assert!(restored.signal("-TERM").await.success());
    assert_eq!(other.run(&["doctor"]).await.code, Some(0));
    assert_eq!(other.run(&["export", "audit", "--format", "csv-plain"]).await.out, before);
    assert_eq!(other.run(&["export", "terms", "--format", "csv-plain"]).await.out.lines().count(), 2);
}

#[tokio::test]
async fn wrong_usage_is_2_and_a_refusal_is_1_with_the_errors_as_json() {
    let place = Place::new();
    for arguments in [&["serv"] as &[&str], &["serve", "--nothing"], &["--json"], &["serve", "extra"]] {
        let ran = place.run(arguments).await;
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(!ran.err.is_empty());
        if arguments.contains(&"--json") {
            assert!(ran.json()["errors"][0]["message"].is_string());
        } else {
            assert_eq!(ran.out, "");
        }
    }
    let mut command = place.command(&["migrate", "--json"]);
    command.env("DATABASE_URL", "postgres://someone:verysecret@127.0.0.1:1/nothing");
    let ran = ran(command).await;
    assert_eq!(ran.code, Some(1));
    let message = ran.json()["errors"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("DATABASE_URL") && !message.contains("secret"), "{message}");
    assert!(!ran.err.contains("secret"), "{}", ran.err);
    assert!(!place.data_dir.exists(), "nothing was made");
}

#[tokio::test]
async fn a_variable_that_cannot_be_read_ends_the_program_with_its_name() {
    for (name, value) in [
        ("RENTROLL_LISTEN", "8080"),
        ("RENTROLL_PUBLIC_URL", "ftp://ledger.example"),
        ("RENTROLL_TIMEZONE", "Mars/Olympus"),
        ("RENTROLL_CURRENCY", "¥"),
        ("RENTROLL_LOCALE", "fr"),
        ("RENTROLL_SMTP_URL", "mail.example.com:25"),
        ("RENTROLL_SMTP_URL_FILE", "/nonexistent/smtp-url"),
        ("RENTROLL_MAIL_FROM", "nobody"),
        ("RENTROLL_TRUSTED_PROXIES", "10.0.0.0/99"),
        ("RENTROLL_LOG", "==="),
        ("DATABASE_URL", "mysql://localhost/rentroll"),
    ] {
        let place = Place::new();
        let mut command = place.command(&["serve"]);
        command.env(name, value);
        let ran = ran(command).await;
        assert_ne!(ran.code, Some(0), "{name}");
        assert_eq!(ran.out, "", "{name}: it does not serve");
        assert!(ran.err.contains(name), "{name}: {}", ran.err);
        assert!(!place.data_dir.exists(), "{name}: nothing was made");
    }
}

/// How wrong usage is told: the field, and parts of the message that stand in the JSON and for people alike.
async fn assert_usage(arguments: &[&str], field: Option<&str>, parts: &[&str]) {
    let place = Place::new();
    let plain = place.run(arguments).await;
    let json = place.run(&[arguments, &["--json"]].concat()).await;
    assert_eq!((plain.code, json.code, plain.out.as_str()), (Some(2), Some(2), ""), "{arguments:?}");
    let errors = json.json()["errors"].clone();
    assert_eq!(errors.as_array().unwrap().len(), 1, "{errors}");
    assert_eq!(errors[0]["field"].as_str(), field, "{errors}");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(!message.contains('\n') && !message.contains("Usage"), "{message}");
    for part in parts {
        assert!(message.contains(part), "{arguments:?}: {part} in {message}");
        assert!(plain.err.contains(part), "{arguments:?}: {part} in {}", plain.err);
    }
    assert!(!place.data_dir.exists(), "nothing was made");
}

#[tokio::test]
async fn wrong_usage_is_told_with_its_whole_cause() {
    // What is missing.
    assert_usage(&["user", "add"], None, &["--email <EMAIL>", "--name <NAME>", "--role <ROLE>"]).await;
    assert_usage(&["import", "bill", "x.csv"], Some("--provider"), &["--provider <PROVIDER>"]).await;
    assert_usage(&["import", "rates"], Some("FILE"), &["<FILE>"]).await;
    assert_usage(&["user"], None, &["requires a subcommand", "[subcommands: add]"]).await;
    // The usage names what must be typed, not the variables that are set.
    let place = Place::new();
    let mut command = place.command(&["import", "bill", "x.csv"]);
    command.env("RENTROLL_LOG", "info");
    let usage = ran(command).await.err;
    assert!(usage.contains("Usage: rentroll import bill --provider <PROVIDER> <FILE>"), "{usage}");
    // What nobody knows.
    let commands = "[subcommands: serve, migrate, user, import, jobs, export, doctor]";
    assert_usage(&["serv"], None, &["'serv'", "'serve'", commands]).await;
    assert_usage(&["import", "bil", "x"], None, &["'bil'", "[subcommands: bill, environments, rates]"]).await;
    assert_usage(&["jobs", "run", "remind"], Some("NAME"), &["'remind'", "reminders"]).await;
    assert_usage(&["serve", "--colour"], Some("--colour"), &["'--colour'"]).await;
    // A value that cannot be.
    assert_usage(&["export", "terms", "--format", "pdf"], Some("--format"), &["'pdf'", "csv", "xlsx", "json"]).await;
    assert_usage(&["export", "planets"], Some("LIST"), &["'planets'", "environments", "audit"]).await;
    assert_usage(&["jobs", "run", "reminders", "--as-of", "soon"], Some("--as-of"), &["soon", "2026-12-01"]).await;
    assert_usage(&["serve", "--listen", "nonsense"], Some("--listen"), &["nonsense", "127.0.0.1:8080"]).await;
    let ending = ["export", "terms", "--out", "x.pdf"];
    assert_usage(&ending, None, &[".pdf", "csv, xlsx or json", "--format"]).await;
    assert_usage(&["serve", "--trusted-proxies", "everybody"], Some("--trusted-proxies"), &["10.0.0.0/8"]).await;
    // What excludes something else.
    let both = ["serve", "--smtp-url", "smtp://x", "--smtp-url-file", "/x"];
    assert_usage(&both, Some("--smtp-url"), &["--smtp-url <SMTP_URL>", "--smtp-url-file <SMTP_URL_FILE>"]).await;
}

#[tokio::test]
async fn doctor_looks_at_every_variable_also_at_those_that_nothing_needs() {
    let place = Place::new();
    let told = async |place: &Place, variables: &[(&str, &str)]| {
        let mut command = place.command(&["doctor", "--json"]);
        command.envs(variables.iter().copied());
        let ran = ran(command).await;
        assert_eq!(ran.code, Some(1), "{}", ran.out);
        let checks = ran.json()["checks"].as_array().unwrap().clone();
        let told = checks.iter().filter(|check| check["name"] == "variables" && check["ok"] == false);
        told.map(|check| check["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let nowhere = ("DATABASE_URL", "postgres://127.0.0.1:1/nothing");
    let pem = place.file("authority.pem", "no certificate");
    let pem = pem.to_str().unwrap();
    for (name, value) in [
        ("RENTROLL_EXTRA_CA_FILE", "/nonexistent/authority.pem"),
        ("RENTROLL_EXTRA_CA_FILE", pem),
        ("PG_BINDIR", "/nonexistent"),
        ("RENTROLL_DATA_DIR", pem),
        ("RENTROLL_LOG", "==="),
    ] {
        let messages = told(&place, &[nowhere, (name, value)]).await;
        assert!(messages.len() == 1 && messages[0].contains(name), "{name}={value}: {messages:?}");
    }
    // Everything that an address lacks, not only the first.
    let mut command = place.command(&["doctor", "--json"]);
    command.env("DATABASE_URL", nowhere.1).env("RENTROLL_LISTEN", "0.0.0.0:8080");
    command.env("RENTROLL_SMTP_URL", "smtp://127.0.0.1:1").env("RENTROLL_MAIL_FROM", "ledger@rentroll.example");
    let checks = ran(command).await.json()["checks"].as_array().unwrap().clone();
    assert_eq!(checks.iter().filter(|check| check["name"] == "public_url" && check["ok"] == false).count(), 2);
    // Names that nobody knows, with the one that was meant.
    let messages = told(&place, &[nowhere, ("RENTROLL_SMPT_URL", "smtp://x"), ("RENTROLL_SKY_COLOUR", "blue")]).await;
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("RENTROLL_SKY_COLOUR") && !messages[0].contains("meant"), "{messages:?}");
    assert!(messages[1].contains("RENTROLL_SMPT_URL") && messages[1].contains("RENTROLL_SMTP_URL"), "{messages:?}");
    // What Kubernetes sets for a Service named `rentroll` is nobody's mistake.
    let service = [
        nowhere,
        ("RENTROLL_SERVICE_HOST", "10.0.0.7"),
        ("RENTROLL_SERVICE_PORT", "80"),
        ("RENTROLL_SERVICE_PORT_HTTP", "80"),
        ("RENTROLL_PORT", "tcp://10.0.0.7:80"),
        ("RENTROLL_PORT_80_TCP_ADDR", "10.0.0.7"),
    ];
    assert_eq!(told(&place, &service).await, Vec::<String>::new());
    // What cannot be read at all is told together, and the doctor does nothing with the rest: no database is made.
    let wrong = [("RENTROLL_TIMEZONE", "Mars/Olympus"), ("RENTROLL_LISTEN", "8080"), ("RENTROLL_LOCALE", "fr")];
    let place = Place::new();
    let messages = told(&place, &wrong).await;
    for (name, value) in wrong {
        assert!(messages.iter().any(|it| it.contains(name) && it.contains(value)), "{name}: {messages:?}");
    }
    assert!(!place.data_dir.exists(), "nothing was made");
    // A secret's file that holds nothing: without it another database would be taken.
    let empty = place.file("database-url", "\n");
    let mut command = place.command(&["migrate"]);
    command.env("DATABASE_URL_FILE", &empty);
    let ran = ran(command).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("DATABASE_URL_FILE") && ran.err.contains("empty"), "{}", ran.err);
    assert!(!place.data_dir.exists(), "nothing was made");
}

#[tokio::test]
async fn a_variable_that_is_set_to_nothing_is_not_set() {
    let place = Place::new();
    let mut command = place.command(&["migrate", "--json"]);
    for name in ["RENTROLL_PUBLIC_URL", "RENTROLL_SMTP_URL", "RENTROLL_CURRENCY", "DATABASE_URL", "RENTROLL_TIMEZONE"] {
        command.env(name, "");
    }
    let ran = ran(command).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[tokio::test]
async fn the_mail_server_may_stand_in_a_file_and_wants_a_sender() {
    let place = Place::new();
    let file = place.file("smtp-url", "smtp://mailer:verysecret@127.0.0.1:1\n");
    let mut command = place.command(&["doctor", "--json"]);
    command.env("RENTROLL_SMTP_URL_FILE", &file);
    let without = ran(command).await;
    let (ok, message) = without.check("mail");
    assert!(!ok && message.contains("RENTROLL_MAIL_FROM"), "{message}");

    let mut command = place.command(&["doctor", "--json"]);
    command.env("RENTROLL_SMTP_URL_FILE", &file).env("RENTROLL_MAIL_FROM", "Rentroll <ledger@example.com>");
    let with = ran(command).await;
    let (ok, message) = with.check("mail");
    assert!(!ok && message.contains("127.0.0.1:1"), "{message}");
    // case N03
    let (ok, message) = with.check("public_url");
    assert!(!ok && message.contains("RENTROLL_PUBLIC_URL"), "{message}");
    assert_eq!(with.code, Some(1));
    assert!(!format!("{}{}", with.out, with.err).contains("secret"));
}

#[tokio::test]
async fn doctor_says_what_to_do_about_keys_that_others_can_read() {
    let place = Place::new();
    let well = place.run(&["doctor", "--json"]).await;
    assert_eq!((well.code, well.json()["ok"].as_bool()), (Some(0), Some(true)), "{}", well.out);
    let names: Vec<String> = well.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap().to_owned())
        .collect();
    let expected =
        ["variables", "database", "migrations", "roles", "clock", "mail", "public_url", "documents", "keys", "disk"];
    assert_eq!(names, expected);
    assert!(well.check("variables").1.contains("RENTROLL_DATA_DIR"), "{}", well.out);
    open_to_all(&place.data_dir.join("keys"));
    let ill = place.run(&["doctor", "--json"]).await;
    let (ok, message) = ill.check("keys");
    assert!(!ok && message.contains("chmod go="), "{message}");
    assert_eq!(ill.code, Some(1));
}

fn open_to_all(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn the_words_are_in_the_commands_language_and_the_codes_are_not() {
    let place = Place::new();
    let mut command = place.command(&["migrate"]);
    command.env("RENTROLL_LOCALE", "zh-CN");
    let chinese = ran(command).await;
    assert!(chinese.out.contains("迁移"), "{}", chinese.out);
    let english = place.run(&["migrate"]).await;
    assert!(english.out.starts_with("Nothing to do"), "{}", english.out);
    assert_eq!(english.code, Some(0));
}
