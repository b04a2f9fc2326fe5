//! A database per test, made from one migrated template per set of migrations.
//!
//! `bin/test` starts the throw-away cluster and names it in `RENTROLL_TEST_DATABASE_URL`.

use std::str::FromStr as _;

use rentroll::dates::{Steps, Zone};
use rentroll::locale::Locale;
use rentroll::postgres::database::{self, MIGRATOR};
use rentroll::setting::{self, NewOrganisation};
use sha2::{Digest as _, Sha256};
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection};

/// A database of one test; dropped with it.
pub struct TestDatabase {
    name: String,
    cluster: PgConnectOptions,
}

/// A number of our own, so that of many test processes one makes the template.
const TEMPLATE_LOCK: i64 = 0x7465_6d70_6c61_7465;

impl TestDatabase {
    /// A fresh database with all migrations and an organisation (Asia/Shanghai, CNY, zh-CN).
    pub async fn new() -> Self {
        let cluster = cluster();
        let template = template(&cluster).await;
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let mut connection = connect(&cluster).await;
        let sql = format!("create database {name} template {template}");
        connection.execute(AssertSqlSafe(sql)).await.expect("a database from the template");
        connection.close().await.expect("closing");
        Self { name, cluster }
    }

    /// An empty database, without even the migrations.
    pub async fn empty() -> Self {
        let cluster = cluster();
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let mut connection = connect(&cluster).await;
        connection.execute(AssertSqlSafe(format!("create database {name}"))).await.expect("an empty database");
        connection.close().await.expect("closing");
        Self { name, cluster }
    }

    /// How to connect, as the superuser of the throw-away cluster.
    pub fn options(&self) -> PgConnectOptions {
        self.cluster.clone().database(&self.name)
    }

    /// A connection as the superuser: what `psql` in an administrator's hands could do.
    pub async fn superuser(&self) -> PgConnection {
        connect(&self.options()).await
    }

    /// The address, as `DATABASE_URL` takes it.
    pub fn url(&self) -> String {
        let url = std::env::var("RENTROLL_TEST_DATABASE_URL").expect("checked in cluster()");
        let (server, _) = url.rsplit_once('/').expect("an address with a database");
        format!("{server}/{}", self.name)
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (name, cluster) = (std::mem::take(&mut self.name), self.cluster.clone());
        // A runtime of its own: the test's is busy ending.
        let dropper = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let mut connection = connect(&cluster).await;
                let sql = format!("drop database if exists {name} with (force)");
                connection.execute(AssertSqlSafe(sql)).await.ok();
            });
        });
        dropper.join().ok();
    }
}

fn cluster() -> PgConnectOptions {
    let url = std::env::var("RENTROLL_TEST_DATABASE_URL").expect(
        "run the tests through bin/test: it starts a throw-away PostgreSQL and sets RENTROLL_TEST_DATABASE_URL",
    );
    PgConnectOptions::from_str(&url).expect("RENTROLL_TEST_DATABASE_URL").disable_statement_logging()
}

async fn connect(options: &PgConnectOptions) -> PgConnection {
    PgConnection::connect_with(options).await.expect("the throw-away PostgreSQL answers")
}

/// The template of these migrations, made by whichever test comes first.
async fn template(cluster: &PgConnectOptions) -> String {
    let mut hash = Sha256::new();
    for migration in MIGRATOR.iter() {
        hash.update(&migration.checksum);
    }
    let name = format!("rentroll_template_{}", &hex::encode(hash.finalize())[..16]);
    let mut connection = connect(cluster).await;
    sqlx::query("select pg_advisory_lock($1)").bind(TEMPLATE_LOCK).execute(&mut connection).await.expect("the lock");
    let exists: bool = sqlx::query_scalar("select exists (select 1 from pg_database where datname = $1)")
        .bind(&name)
        .fetch_one(&mut connection)
        .await
        .expect("a list of databases");
    if !exists {
        let making = format!("{name}_making");
        for sql in [format!("drop database if exists {making}"), format!("create database {making}")] {
            connection.execute(AssertSqlSafe(sql)).await.expect("a new template");
        }
        let options = cluster.clone().database(&making);
        database::migrate(&options).await.expect("the migrations run");
        let mut owner = connect(&options).await;
        owner.execute("set app.marked = 'yes'; set role rentroll_app").await.expect("the application's role");
        setting::ensure(&mut owner, &first_organisation()).await.expect("an organisation");
        owner.close().await.expect("closing");
        // Only a finished template gets the name that tests look for.
        connection.execute(AssertSqlSafe(format!("alter database {making} rename to {name}"))).await.expect("renaming");
    }
    connection.close().await.expect("closing gives the lock back");
    name
}

/// The organisation of every test.
pub fn first_organisation() -> NewOrganisation {
    NewOrganisation {
        name: "蒲扇智能".parse().expect("a name"),
        zone: Zone::default(),
        currency: "CNY".parse().expect("a currency"),
        locale: Locale::ZhCn,
        send_at: chrono::NaiveTime::from_hms_opt(9, 0, 0).expect("a time"),
        reminder_steps: Steps::default(),
    }
}
