//! From the configuration to the assembled program, and back in order.
//!
//! Without `DATABASE_URL` the embedded server is started or adopted, and every command migrates. With it only `serve` and
//! `migrate` do; the others say what is missing.

use std::time::Duration;

use chrono::NaiveTime;
use sqlx::PgPool;
use sqlx::postgres::PgConnectOptions;

use super::console::{Console, Refused};
use crate::app::{App, Parts};
use crate::clock::Clock;
use crate::config::Config;
use crate::dates::Steps;
use crate::documents::Documents;
use crate::error::{Error, Result};
use crate::limits;
use crate::locale::{Locale, Message};
use crate::mail::{Mailbox, Mailer, Outbox, SmtpConfig, SmtpSettings};
use crate::postgres::server::{EmbeddedServer, User};
use crate::postgres::{database, self_check};
use crate::setting::{self, NewOrganisation};

/// What the program is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To serve.
    Serve,
    /// To migrate.
    Migrate,
    /// To do anything else.
    Work,
}

/// A database that can be connected to, and the embedded server where it is ours.
pub(super) struct Database {
    /// How to connect, with the rights to migrate.
    pub options: PgConnectOptions,
    /// The embedded server.
    pub server: Option<EmbeddedServer>,
}

/// The assembled program and what it stands on.
pub(super) struct Opened {
    /// The program.
    pub app: App,
    /// Migrations that were applied on the way.
    pub applied: usize,
    database: Database,
}

impl Database {
    /// Finds the database: another's by its address, or our own.
    pub async fn open(config: &Config, purpose: Purpose, console: &Console) -> Result<Self, Refused> {
        if let Some(url) = config.database_url()? {
            return Ok(Self { options: address(url.reveal())?, server: None });
        }
        let user = if purpose == Purpose::Serve { User::Serve } else { User::Command };
        let say = |message: Message| console.say(&message);
        let server = EmbeddedServer::open(&config.data_dir()?, config.pg_bindir.as_deref(), user, &say).await?;
        Ok(Self { options: server.connect_options(), server: Some(server) })
    }

    /// Leaves it. A server of our own ends when nobody else uses it, or when `patience` is over.
    pub async fn close(self, patience: Option<Duration>) {
        if let Some(server) = self.server {
            server.close(patience).await;
        }
    }

    /// Applies what is missing, or says it. Gives how many were applied.
    pub async fn migrate(&self, purpose: Purpose) -> Result<usize, Refused> {
        let missing = database::missing_migrations(&self.options).await?;
        if self.server.is_none() && purpose == Purpose::Work {
            let message = Message::new("cli-migrations-missing").with("n", missing.len());
            return if missing.is_empty() { Ok(0) } else { Err(message.with("names", missing.join("\n  ")).into()) };
        }
        // Also where none is missing: one that was changed, or that is newer than this program, is refused here.
        database::migrate(&self.options).await?;
        Ok(missing.len())
    }
}

impl Opened {
    /// Opens everything that a command needs. What fails leaves nothing running.
    pub async fn open(config: &Config, purpose: Purpose, console: &Console) -> Result<Self, Refused> {
        // What can be wrong without a database is said before one is started.
        let mailer = mailer(config)?;
        let database = Database::open(config, purpose, console).await?;
        let clock = Clock::System;
        match Self::connect(config, purpose, console, &database, &clock).await {
            Ok((db, bulk, documents, applied)) => {
                let (exports, imports, hashing) = App::semaphores();
                let app = App::new(Parts {
                    db,
                    bulk,
                    clock,
                    mailer,
                    documents,
                    public_url: config.public_url.clone(),
                    base: config.base_path(),
                    trusted_proxies: config.trusted_proxies.clone(),
                    exports,
                    imports,
                    hashing,
                });
                Ok(Self { app, applied, database })
            }
            Err(refused) => {
                database.close(Some(Duration::ZERO)).await;
                Err(refused)
            }
        }
    }

    async fn connect(
        config: &Config,
        purpose: Purpose,
        console: &Console,
        database: &Database,
        clock: &Clock,
    ) -> Result<(PgPool, PgPool, Documents, usize), Refused> {
        let applied = database.migrate(purpose).await?;
        let db = database::pool(&database.options, limits::POOL_CONNECTIONS).await?;
        for warning in self_check::run(&db, clock.now()).await? {
            console.warn(&warning);
        }
        first_organisation(&db, config).await?;
        let bulk = database::pool(&database.options, limits::BULK_CONNECTIONS).await?;
        // Not before the server has laid out the data directory, which its user must be able to pass.
        let documents = documents(config)?;
        Ok((db, bulk, documents, applied))
    }

    /// Ends in order: connections first, then the server. `patience` bounds the whole of it.
    pub async fn close(self, patience: Option<Duration>) {
        let begun = tokio::time::Instant::now();
        let pools = async { tokio::join!(self.app.db.close(), self.app.bulk.close()) };
        let most = patience.unwrap_or(limits::DRAIN_TIME).max(limits::ACQUIRE_TIME);
        if tokio::time::timeout(most, pools).await.is_err() {
            tracing::warn!("connections were still in use at the end");
        }
        self.database.close(patience.map(|patience| patience.saturating_sub(begun.elapsed()))).await;
    }
}

/// `DATABASE_URL`; never quoted, since it may hold a password.
fn address(url: &str) -> Result<PgConnectOptions, Message> {
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(Message::new("cli-database-url-scheme"));
    }
    let options: PgConnectOptions =
        url.parse().map_err(|cause: sqlx::Error| Message::new("cli-database-url").with("cause", cause.to_string()))?;
    Ok(options.application_name("rentroll"))
}

/// Makes the organisation's row where there is none, with the first values of the configuration.
async fn first_organisation(pool: &PgPool, config: &Config) -> Result<()> {
    let locale = config.locale.unwrap_or_default();
    let first = NewOrganisation {
        name: locale.text("app-name").parse().map_err(|message: Message| Error::internal(message))?,
        zone: config.timezone,
        currency: config.currency.clone(),
        locale,
        send_at: NaiveTime::from_hms_opt(9, 0, 0).expect("nine o'clock exists"),
        reminder_steps: Steps::default(),
    };
    // The mark says that the program makes it, not somebody at the database.
    let mut tx = pool.begin_with("begin; set local app.marked = 'yes'").await?;
    setting::ensure(&mut tx, &first).await?;
    tx.commit().await?;
    Ok(())
}

/// Where mails go: the mail server, or the outbox folder while none is set.
pub(super) fn mailer(config: &Config) -> Result<Mailer, Message> {
    let Some(url) = config.smtp_url()? else {
        let from = match &config.mail_from {
            Some(from) => from.clone(),
            None => waiting_sender(config),
        };
        return Ok(Mailer::Directory(Outbox { path: config.data_dir()?.join("outbox"), from }));
    };
    let named = |name: &'static str| {
        move |message: Message| Message::new("cli-variable").with("name", name).with("cause", message)
    };
    let server: SmtpConfig = url.reveal().parse().map_err(named("RENTROLL_SMTP_URL"))?;
    let from = config.mail_from.clone().ok_or_else(|| Message::new("cli-mail-from-missing"))?;
    let settings = SmtpSettings::new(server, from, config.extra_ca_file.as_deref());
    Ok(Mailer::Smtp(settings.map_err(named("RENTROLL_EXTRA_CA_FILE"))?))
}

/// Nothing leaves the outbox by itself, so the name only has to be one.
fn waiting_sender(config: &Config) -> Mailbox {
    let host = config.public_url.as_ref().and_then(|url| url.domain()).unwrap_or("localhost");
    let name = config.locale.unwrap_or(Locale::ZhCn).text("app-name");
    let at = |host: &str| Mailbox::new(&name, &format!("rentroll@{host}"));
    at(host).or_else(|_| at("localhost")).expect("this is an address")
}

/// Where documents are kept.
pub(super) fn documents(config: &Config) -> Result<Documents, Message> {
    Documents::open(config.documents_url.as_deref(), &config.data_dir()?, config.extra_ca_file.as_deref())
}
