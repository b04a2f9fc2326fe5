//! The program in a test: a real database, a clock that the test moves, mails in memory, documents in a temporary folder.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use rentroll::access::{person, project, user};
use rentroll::actor::{Actor, Role};
use rentroll::app::{self, App, Parts};
use rentroll::audit::{self, Entry, EntryFilter};
use rentroll::catalog::{provider, tier};
use rentroll::clock::Clock;
use rentroll::documents::Documents;
use rentroll::environments::environment::{self, Environment, Facts, NewEnvironment};
use rentroll::environments::term::NewTerm;
use rentroll::jobs::{self, RunReport};
use rentroll::mail::{Mailbox, Mailer, Memory, Outgoing};
use rentroll::postgres::database;
use rentroll::tx::{Read, Tx};
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor as _, PgPool};

use super::browser::Browser;
use super::database::TestDatabase;

/// The program, ready for a story.
pub struct TestApp {
    /// The program itself.
    pub app: App,
    /// Its database.
    pub database: TestDatabase,
    memory: Memory,
    folder: tempfile::TempDir,
}

/// The password of everybody in the stories.
pub const PASSWORD: &str = "lanterns over seven wet bridges";

impl TestApp {
    /// A program at 2026-03-16 10:00 in Shanghai, with an empty ledger.
    pub async fn new() -> Self {
        Self::at("2026-03-16T02:00:00Z").await
    }

    /// A program at an instant, with an empty ledger.
    pub async fn at(instant: &str) -> Self {
        let memory = Memory {
            sent: Arc::default(),
            from: Mailbox::new("算力台账", "ledger@rentroll.example").expect("an address"),
        };
        Self::build(instant, Mailer::Memory(memory.clone()), memory, "http://localhost").await
    }

    /// A program that sends through this mailer.
    pub async fn with_mailer(instant: &str, mailer: Mailer) -> Self {
        let memory =
            Memory { sent: Arc::default(), from: Mailbox::new("", "ledger@rentroll.example").expect("an address") };
        Self::build(instant, mailer, memory, "http://localhost").await
    }

    /// A program behind a public address, for example one with a path.
    pub async fn behind(public_url: &str) -> Self {
        let memory =
            Memory { sent: Arc::default(), from: Mailbox::new("", "ledger@rentroll.example").expect("an address") };
        Self::build("2026-03-16T02:00:00Z", Mailer::Memory(memory.clone()), memory, public_url).await
    }

    /// A program that believes what these networks of proxies forward.
    pub async fn trusting(proxies: &[&str]) -> Self {
        let memory =
            Memory { sent: Arc::default(), from: Mailbox::new("", "ledger@rentroll.example").expect("an address") };
        let proxies = proxies.iter().map(|network| network.parse().expect("a network")).collect();
        let mailer = Mailer::Memory(memory.clone());
        Self::build_behind("2026-03-16T02:00:00Z", mailer, memory, "http://localhost", proxies).await
    }

    async fn build(instant: &str, mailer: Mailer, memory: Memory, public_url: &str) -> Self {
        Self::build_behind(instant, mailer, memory, public_url, Vec::new()).await
    }

    async fn build_behind(
        instant: &str,
        mailer: Mailer,
        memory: Memory,
        public_url: &str,
        trusted_proxies: Vec<ipnet::IpNet>,
    ) -> Self {
        let database = TestDatabase::new().await;
        let options = database.options();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (exports, imports, hashing) = App::semaphores();
        let public_url: url::Url = public_url.parse().expect("a public address");
        let app = App::new(Parts {
            db: database::pool(&options, 5).await.expect("a pool"),
            bulk: database::pool(&options, 2).await.expect("a pool"),
            clock: Clock::fixed(instant.parse().expect("an instant")),
            mailer,
            documents: Documents::open(None, folder.path(), None).expect("a folder for documents"),
            base: public_url.path().trim_end_matches('/').to_owned(),
            public_url: Some(public_url),
            trusted_proxies,
            exports,
            imports,
            hashing,
        });
        Self { app, database, memory, folder }
    }

    /// Another instance of the program over the same database and clock.
    pub async fn another(&self, mailer: Mailer, public_url: Option<&str>) -> App {
        let db = database::pool(&self.database.options(), 5).await.expect("a pool");
        self.instance(mailer, public_url, db).await
    }

    /// Another instance, whose requests wait for a connection and for one another as long as it takes: for stories of many at
    /// once, which must not hang on how fast the machine is.
    pub async fn patient(&self) -> App {
        let db = PgPoolOptions::new()
            .max_connections(8)
            .acquire_timeout(Duration::from_hours(1))
            .after_connect(|connection, _| {
                Box::pin(async move {
                    connection.execute("set role rentroll_app; set timezone = 'UTC'; set jit = off").await?;
                    Ok(())
                })
            })
            .connect_with(self.database.options())
            .await
            .expect("a pool");
        self.instance(Mailer::Memory(self.memory.clone()), Some("http://localhost"), db).await
    }

    async fn instance(&self, mailer: Mailer, public_url: Option<&str>, db: PgPool) -> App {
        let options = self.database.options();
        let (exports, imports, hashing) = App::semaphores();
        App::new(Parts {
            db,
            bulk: database::pool(&options, 2).await.expect("a pool"),
            clock: self.app.clock.clone(),
            mailer,
            documents: Documents::open(None, self.folder.path(), None).expect("a folder for documents"),
            base: String::new(),
            public_url: public_url.map(|url| url.parse().expect("a public address")),
            trusted_proxies: Vec::new(),
            exports,
            imports,
            hashing,
        })
    }

    /// One tick of the reminder job, at the story's time.
    pub async fn remind(&self) -> RunReport {
        remind(&self.app, None).await
    }

    /// `rentroll jobs run reminders --as-of DAY`.
    pub async fn remind_as_of(&self, day: &str) -> RunReport {
        remind(&self.app, Some(day)).await
    }

    /// A folder of this test's own.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Somebody who may do everything.
    #[expect(clippy::unused_self, reason = "reads as the story's own")]
    pub fn operator(&self) -> Actor {
        Actor::command_line("test")
    }

    /// A unit of work of somebody who may do everything.
    pub async fn write(&self) -> Tx {
        self.app.write(&self.operator()).await.expect("a transaction")
    }

    /// A snapshot of somebody who sees everything.
    pub async fn read(&self) -> Read {
        self.app.read(&self.operator()).await.expect("a snapshot")
    }

    /// What time it is in the story.
    pub fn now(&self) -> DateTime<Utc> {
        self.app.clock.now()
    }

    /// Jumps to 10:00 in Shanghai on a day.
    pub fn go_to(&self, day: &str) {
        let date: NaiveDate = day.parse().expect("a date");
        self.app.clock.set(date.and_hms_opt(2, 0, 0).expect("a time").and_utc());
    }

    /// The mails of the story so far.
    pub fn mails(&self) -> Vec<Outgoing> {
        self.memory.sent.lock().expect("no test panics while it holds the mails").clone()
    }

    /// The history so far, newest first.
    pub async fn history(&self) -> Vec<Entry> {
        let mut read = self.read().await;
        audit::list(&mut read, &EntryFilter::default(), 1000).await.expect("the history")
    }

    /// The actions of the history, oldest first.
    pub async fn actions(&self) -> Vec<String> {
        self.history().await.into_iter().rev().map(|entry| entry.action).collect()
    }

    /// Makes a log-in with [`PASSWORD`] and signs in through the pages.
    pub async fn sign_in(&self, role: Role) -> Browser {
        let email = format!("{}@palmfan.example", role.code());
        self.add_user(&email, role).await;
        let browser = self.browser();
        browser.sign_in(&email).await;
        browser
    }

    /// Makes a log-in with [`PASSWORD`].
    pub async fn add_user(&self, email: &str, role: Role) -> rentroll::ids::UserId {
        let mut tx = self.write().await;
        let name = email.split('@').next().expect("an address");
        let new = person::NewPerson::named(name, Some(email)).expect("a person");
        let person = person::find_or_add(&mut tx, new).await.expect("a person");
        let hash = user::hash_password(&self.app, PASSWORD.to_owned()).await.expect("a hash");
        let user = user::add(&mut tx, person.id, role, Some(hash)).await.expect("a log-in");
        tx.commit().await.expect("committed");
        user.id
    }

    /// Opens an environment of one unit in the project 竹简大模型 (苇塘云, H800×8), with an owner and a checker.
    pub async fn open_environment(&self, name: &str, starts_on: &str, ends_on: Option<&str>) -> Environment {
        let day = |text: &str| rentroll::dates::parse_date(text).expect("a date");
        self.open_environment_with(name, NewTerm::between(day(starts_on), ends_on.map(day))).await
    }

    /// As [`TestApp::open_environment`], with all facts of the first term.
    pub async fn open_environment_with(&self, name: &str, term: NewTerm) -> Environment {
        let mut tx = self.write().await;
        let project = project::find_or_add(&mut tx, "竹简大模型".parse().expect("a name")).await.expect("a project");
        let provider = provider::find_or_add(&mut tx, "苇塘云".parse().expect("a name")).await.expect("a provider");
        let tier = tier::find_or_add(&mut tx, provider.id, "H800×8".parse().expect("a name")).await.expect("a tier");
        let mut facts = Facts::named(name.parse().expect("a name"), provider.id, tier.id);
        for (person, id) in [("陈白露", &mut facts.owner_id), ("宋霜降", &mut facts.checker_id)] {
            let address = if person == "陈白露" { "owner@palmfan.example" } else { "checker@palmfan.example" };
            let new = person::NewPerson::named(person, Some(address)).expect("a person");
            *id = Some(person::find_or_add(&mut tx, new).await.expect("a person").id);
        }
        let new = NewEnvironment { project_id: project.id, facts, term };
        let environment = environment::open(&mut tx, &new).await.expect("an environment");
        tx.commit().await.expect("committed");
        environment
    }

    /// A browser that has not signed in.
    pub fn browser(&self) -> Browser {
        Browser::new(app::router(&self.app), &self.app.base)
    }
}

/// The reminder job of any instance: a tick, or as of a day.
pub async fn remind(app: &App, as_of: Option<&str>) -> RunReport {
    let job = jobs::find("reminders").expect("the job");
    jobs::run(app, job, as_of.map(|day| day.parse().expect("a date"))).await.expect("the job runs")
}
