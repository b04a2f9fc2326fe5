//! A database that is ready to work with: roles made, migrations applied, a pool whose every connection is `rentroll_app`.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, PgConnection, PgPool};

use crate::error::{Error, Result};
use crate::limits;
use crate::locale::Message;
use crate::postgres::roles;

/// The migrations, inside the binary. One static for everybody: each `migrate!` embeds its own copy.
pub static MIGRATOR: Migrator = sqlx::migrate!("./migrations");

/// Makes roles, applies migrations. Several instances may do this at once on an empty database: each migration runs once.
pub async fn migrate(options: &PgConnectOptions) -> Result<()> {
    let mut connection = connect(options).await?;
    let version: i32 =
        sqlx::query_scalar("select current_setting('server_version_num')::integer").fetch_one(&mut connection).await?;
    if version < 150_000 {
        return Err(Error::Unavailable(Message::new("database-too-old").with("found", version / 10_000).into()));
    }
    roles::ensure(&mut connection).await?;
    connection.execute("set role rentroll_owner").await?;
    // sqlx holds an advisory lock while it migrates; the others wait here and find nothing to do.
    MIGRATOR.run(&mut connection).await.map_err(|cause| describe_migration_error(&cause))?;
    connection.close().await?;
    Ok(())
}

/// Names the migration that failed: a broken one ends the program.
fn describe_migration_error(cause: &sqlx::migrate::MigrateError) -> Error {
    use sqlx::migrate::MigrateError;
    let message = match cause {
        MigrateError::ExecuteMigration(why, version) => {
            Message::new("database-migration-failed").with("name", name(*version)).with("cause", why.to_string())
        }
        MigrateError::VersionMismatch(version) => {
            Message::new("database-migration-changed").with("name", name(*version))
        }
        MigrateError::VersionMissing(version) => {
            Message::new("database-migration-unknown").with("name", version.to_string())
        }
        why => Message::new("database-migrations-failed").with("cause", why.to_string()),
    };
    // The message says what the chain would say once more.
    Error::Internal(message.into())
}

/// A migration by its number and what it is for.
fn name(version: i64) -> String {
    MIGRATOR
        .iter()
        .find(|migration| migration.version == version)
        .map_or_else(|| version.to_string(), |migration| format!("{version} ({})", migration.description))
}

/// What this database lacks of this version's migrations. Refuses a database that another version made.
pub async fn missing_migrations(options: &PgConnectOptions) -> Result<Vec<String>> {
    let mut connection = connect(options).await?;
    let found =
        sqlx::query_as("select version, checksum from _sqlx_migrations where success").fetch_all(&mut connection).await;
    let applied: Vec<(i64, Vec<u8>)> = match found {
        Ok(applied) => applied,
        // 42P01: no such table: nothing was ever applied.
        Err(sqlx::Error::Database(cause)) if cause.code().as_deref() == Some("42P01") => Vec::new(),
        Err(cause) => return Err(cause.into()),
    };
    connection.close().await?;
    for (version, checksum) in &applied {
        use sqlx::migrate::MigrateError;
        match MIGRATOR.iter().find(|migration| migration.version == *version) {
            Some(migration) if migration.checksum.as_ref() == checksum.as_slice() => {}
            Some(_) => return Err(describe_migration_error(&MigrateError::VersionMismatch(*version))),
            None => return Err(describe_migration_error(&MigrateError::VersionMissing(*version))),
        }
    }
    Ok(MIGRATOR
        .iter()
        .map(|migration| migration.version)
        .filter(|version| applied.iter().all(|(applied, _)| applied != version))
        .map(name)
        .collect())
}

/// The server's version, as it calls it.
pub async fn version(options: &PgConnectOptions) -> Result<String> {
    let mut connection = connect(options).await?;
    let version = sqlx::query_scalar("select current_setting('server_version')").fetch_one(&mut connection).await?;
    connection.close().await?;
    Ok(version)
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection> {
    let options = options.clone().log_statements(tracing::log::LevelFilter::Off);
    let connecting = PgConnection::connect_with(&options);
    match tokio::time::timeout(limits::ACQUIRE_TIME, connecting).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(cause)) => {
            let cause = cause.as_database_error().map_or_else(|| cause.to_string(), |said| said.message().to_owned());
            Err(Error::Unavailable(Message::new("database-unreachable").with("cause", cause).into()))
        }
        Err(_) => Err(Error::Unavailable(Message::new("database-silent").into())),
    }
}

/// A pool whose every connection is `rentroll_app` and gives up in time.
pub async fn pool(options: &PgConnectOptions, connections: u32) -> Result<PgPool> {
    // Statements are logged nowhere: they hold what people typed.
    let options = options.clone().log_statements(tracing::log::LevelFilter::Off);
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(limits::ACQUIRE_TIME)
        .idle_timeout(Duration::from_mins(10))
        // The pool asks a connection whether it lives when it comes back. To ask again a moment later would cost every request
        // two round trips.
        .test_before_acquire(false)
        .before_acquire(|connection, taken| {
            Box::pin(async move {
                if taken.idle_for < limits::TRUSTED_IDLE_TIME {
                    return Ok(true);
                }
                // An error, so that a broken one is dropped and not closed politely, which waits for an answer.
                connection.ping().await?;
                Ok(true)
            })
        })
        .after_connect(|connection, _| {
            Box::pin(async move {
                // Compiling a query that reads 50 rows of many partitions takes longer than the query.
                let settings = format!(
                    "set role rentroll_app; set statement_timeout = {}; set lock_timeout = {};
                     set idle_in_transaction_session_timeout = {}; set timezone = 'UTC'; set jit = off",
                    limits::STATEMENT_TIME.as_millis(),
                    limits::LOCK_TIME.as_millis(),
                    limits::IDLE_IN_TRANSACTION_TIME.as_millis(),
                );
                connection.execute(AssertSqlSafe(settings)).await?;
                Ok(())
            })
        })
        .connect_with(options)
        .await?;
    Ok(pool)
}
