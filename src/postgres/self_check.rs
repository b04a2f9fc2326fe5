//! Refuses to start on a database that could lose what it acknowledged, or whose fences are down.

use chrono::{DateTime, Utc};
use sqlx::PgPool;

use crate::error::{Error, Result};
use crate::locale::Message;
use crate::postgres::tables::TABLES;

/// By how many seconds the database's clock may differ from ours.
const DRIFT: i64 = 5;

/// What is wrong with a database and with our role in it; nothing where all is well.
#[derive(Debug, Default)]
pub struct Findings {
    /// It could lose what it acknowledged: stops the program.
    pub not_durable: Option<Message>,
    /// Row-level security would not hold: stops the program.
    pub powerful: Option<Message>,
    /// Damage on the disk would go unnoticed.
    pub no_checksums: Option<Message>,
    /// Its clock and ours differ.
    pub clock: Option<Message>,
}

/// Looks at the server's settings and our role.
pub async fn look(pool: &PgPool, now: DateTime<Utc>) -> Result<Findings> {
    let row = sqlx::query!(
        r#"select current_setting('fsync') as "fsync!", current_setting('full_page_writes') as "full_page_writes!",
                  current_setting('synchronous_commit') as "synchronous_commit!",
                  current_setting('data_checksums') as "data_checksums!",
                  (select rolsuper or rolbypassrls from pg_roles where rolname = current_user) as "powerful!",
                  exists (select 1 from pg_class c join pg_roles r on r.oid = c.relowner
                          where r.rolname = current_user and c.relkind in ('r', 'p')) as "owns_tables!",
                  current_user::text as "role!", clock_timestamp() as "at!""#
    )
    .fetch_one(pool)
    .await?;
    let mut findings = Findings::default();
    if row.fsync != "on" || row.full_page_writes != "on" {
        findings.not_durable = Some(Message::new("database-not-durable"));
    } else if row.synchronous_commit == "off" {
        findings.not_durable = Some(Message::new("database-asynchronous"));
    }
    if row.powerful || row.owns_tables {
        findings.powerful = Some(Message::new("database-powerful").with("role", row.role));
    }
    if row.data_checksums != "on" {
        findings.no_checksums = Some(Message::new("database-no-checksums"));
    }
    let drift = (row.at - now).num_seconds().abs();
    if drift > DRIFT {
        findings.clock = Some(Message::new("database-clock").with("n", drift));
    }
    Ok(findings)
}

/// Refuses what stops the program; gives what is to be logged.
pub async fn run(pool: &PgPool, now: DateTime<Utc>) -> Result<Vec<Message>> {
    let findings = look(pool, now).await?;
    match findings.not_durable.or(findings.powerful) {
        Some(message) => Err(Error::Unavailable(message.into())),
        None => Ok(findings.no_checksums.into_iter().chain(findings.clock).collect()),
    }
}

/// Tables and partitions whose rows belong to projects, but which row-level security does not fence for everybody.
pub async fn open_tables(pool: &PgPool) -> Result<Vec<String>> {
    let scoped: Vec<String> =
        TABLES.iter().filter(|(.., is_scoped)| *is_scoped).map(|(name, ..)| (*name).to_owned()).collect();
    let open = sqlx::query_scalar!(
        r#"with scoped as (
               select oid from pg_class where relname = any ($1) and relnamespace = 'public'::regnamespace
           )
           select relname::text as "name!" from pg_class
           where oid in (select oid from scoped union all
                         select inhrelid from pg_inherits where inhparent in (select oid from scoped))
             and not (relrowsecurity and relforcerowsecurity)
           order by relname"#,
        &scoped,
    )
    .fetch_all(pool)
    .await?;
    Ok(open)
}
