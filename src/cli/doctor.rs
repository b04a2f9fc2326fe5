//! `rentroll doctor`: whether each part is well, or what to do. It changes nothing but what every command brings up to date.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::console::{Console, Refused, Report};
use super::open::{self, Database, Purpose};
use super::{serve, variables};
use crate::clock::Clock;
use crate::config::Config;
use crate::locale::Message;
use crate::mail::Mailer;
use crate::postgres::tables::TABLES;
use crate::postgres::{database, self_check};

/// Room below which a bill import or a checkpoint of the database may fail.
const DISK_BYTES: u64 = 1024 * 1024 * 1024;

/// One part, and how it is.
struct Check {
    name: &'static str,
    ok: bool,
    message: Message,
}

impl Check {
    const fn well(name: &'static str, message: Message) -> Self {
        Self { name, ok: true, message }
    }

    const fn ill(name: &'static str, message: Message) -> Self {
        Self { name, ok: false, message }
    }

    fn of(name: &'static str, ill: Option<Message>, well: Message) -> Self {
        match ill {
            Some(message) => Self::ill(name, message),
            None => Self::well(name, well),
        }
    }
}

/// `unusable`: why variables cannot be used. While there are such, nothing is done with what the others say.
pub(super) async fn run(config: &Config, console: &Console, unusable: &[Message]) -> Result<Report, Refused> {
    let mut checks = variables(config, unusable);
    if !unusable.is_empty() {
        return Ok(report(&checks, console));
    }
    database(config, console, &mut checks).await;
    checks.push(mail(config).await);
    checks.extend(public_url(config));
    checks.push(documents(config).await);
    let data_dir = config.data_dir()?;
    checks.push(keys(&data_dir));
    checks.push(disk(&data_dir));
    Ok(report(&checks, console))
}

fn report(checks: &[Check], console: &Console) -> Report {
    let ok = checks.iter().all(|check| check.ok);
    let listed: Vec<Value> = checks
        .iter()
        .map(|check| json!({ "name": check.name, "ok": check.ok, "message": console.locale.say(&check.message) }))
        .collect();
    let line = |check: &Check| {
        Message::new(if check.ok { "cli-doctor-ok" } else { "cli-doctor-ill" })
            .with("name", format!("{:<12}", check.name))
            .with("message", check.message.clone())
    };
    Report { json: Some(json!({ "ok": ok, "checks": listed })), lines: checks.iter().map(line).collect(), refused: !ok }
}

/// Every variable that is set, also where nothing needs it at the moment, and every one that only looks like one.
fn variables(config: &Config, unusable: &[Message]) -> Vec<Check> {
    let wrong = unusable.iter().cloned().chain(variables::unfit(config)).chain(variables::unknown());
    let ill: Vec<Check> = wrong.map(|message| Check::ill("variables", message)).collect();
    let set = variables::set();
    let well = if set.is_empty() {
        Message::new("cli-doctor-variables-none")
    } else {
        Message::new("cli-doctor-variables").with("names", set.join(", "))
    };
    if ill.is_empty() { vec![Check::well("variables", well)] } else { ill }
}

/// The checks that need a database; only the first of them where there is none.
async fn database(config: &Config, console: &Console, checks: &mut Vec<Check>) {
    match Database::open(config, Purpose::Work, console).await {
        Ok(database) => {
            if let Err(refused) = connected(&database, checks).await {
                checks.push(Check::ill("database", refused.message()));
            }
            database.close(None).await;
        }
        Err(refused) => checks.push(Check::ill("database", refused.message())),
    }
}

async fn connected(database: &Database, checks: &mut Vec<Check>) -> Result<(), Refused> {
    let version = database::version(&database.options).await?;
    let key = if database.server.is_some() { "cli-doctor-embedded" } else { "cli-doctor-given" };
    let migrations = match database.migrate(Purpose::Work).await {
        Ok(_) => {
            let n = database::MIGRATOR.iter().count();
            Check::well("migrations", Message::new("cli-doctor-migrations").with("n", n))
        }
        Err(refused) => Check::ill("migrations", refused.message()),
    };
    // Without the migrations there may be no roles to connect as.
    let is_migrated = migrations.ok;
    let findings = if is_migrated {
        let pool = database::pool(&database.options, 1).await?;
        let findings = self_check::look(&pool, Clock::System.now()).await?;
        let open = self_check::open_tables(&pool).await?;
        pool.close().await;
        Some((findings, open))
    } else {
        None
    };
    let (findings, open) = findings.unzip();
    let findings = findings.unwrap_or_default();
    let version = Message::new(key).with("version", version);
    checks.push(Check::of("database", findings.not_durable.or(findings.no_checksums), version));
    checks.push(migrations);
    if let Some(open) = open {
        let n = TABLES.iter().filter(|(.., is_scoped)| *is_scoped).count();
        let hole = (!open.is_empty()).then(|| Message::new("cli-doctor-roles-open").with("tables", open.join(", ")));
        checks.push(Check::of("roles", findings.powerful.or(hole), Message::new("cli-doctor-roles").with("n", n)));
        checks.push(Check::of("clock", findings.clock, Message::new("cli-doctor-clock")));
    }
    Ok(())
}

/// Speaks to the mail server up to the point where a message would begin; sends nothing.
async fn mail(config: &Config) -> Check {
    let mailer = match open::mailer(config) {
        Ok(mailer) => mailer,
        Err(message) => return Check::ill("mail", message),
    };
    match (&mailer, mailer.open().await) {
        (_, Err(outcome)) => {
            Check::ill("mail", outcome.message().cloned().unwrap_or_else(|| Message::new("cli-doctor-mail-silent")))
        }
        (Mailer::Smtp(settings), Ok(conversation)) => {
            conversation.quit().await;
            let message = Message::new("cli-doctor-mail").with("server", settings.config.to_string());
            Check::well("mail", message.with("from", settings.from.address()))
        }
        (Mailer::Directory(outbox), Ok(_)) => {
            Check::well("mail", Message::new("cli-doctor-outbox").with("path", outbox.path.display().to_string()))
        }
        (Mailer::Memory(_), Ok(_)) => Check::well("mail", Message::new("cli-doctor-mail-silent")),
    }
}

/// The address that people type.
fn public_url(config: &Config) -> Vec<Check> {
    let well = match &config.public_url {
        Some(url) => Message::new("cli-doctor-public-url").with("url", url.as_str()),
        None => Message::new("cli-doctor-no-public-url"),
    };
    let ill: Vec<Check> =
        serve::address_warnings(config).into_iter().map(|message| Check::ill("public_url", message)).collect();
    if ill.is_empty() { vec![Check::well("public_url", well)] } else { ill }
}

async fn documents(config: &Config) -> Check {
    let documents = match open::documents(config) {
        Ok(documents) => documents,
        Err(message) => return Check::ill("documents", message),
    };
    match documents.check().await {
        Ok(()) => Check::well("documents", Message::new("cli-doctor-documents").with("place", documents.to_string())),
        Err(error) => Check::ill("documents", Refused::from(error).message()),
    }
}

/// The folder for keys, and what lies in it, is the program's user's alone.
fn keys(data_dir: &Path) -> Check {
    let folder = data_dir.join("keys");
    let inside = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let open = std::iter::once(folder.clone()).chain(inside).find(|path| {
        // What is not there is open to nobody.
        std::fs::symlink_metadata(path).is_ok_and(|found| found.mode() & 0o077 != 0)
    });
    let hole = open.map(|path| Message::new("cli-doctor-keys-open").with("path", path.display().to_string()));
    Check::of("keys", hole, Message::new("cli-doctor-keys").with("path", folder.display().to_string()))
}

/// Room on the disk of the data directory.
fn disk(data_dir: &Path) -> Check {
    let there = data_dir.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    let free = match rustix::fs::statvfs(there) {
        Ok(disk) => disk.f_bavail.saturating_mul(disk.f_frsize),
        Err(cause) => {
            let message = Message::new("error-data-dir").with("path", there.display().to_string());
            return Check::ill("disk", message.with("cause", cause.to_string()));
        }
    };
    let of = |key| {
        let tenths = free.saturating_mul(10) / (1024 * 1024 * 1024);
        Message::new(key)
            .with("path", data_dir.display().to_string())
            .with("free", format!("{}.{} GiB", tenths / 10, tenths % 10))
    };
    Check::of("disk", (free < DISK_BYTES).then(|| of("cli-doctor-disk-full")), of("cli-doctor-disk"))
}
