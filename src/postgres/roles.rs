//! The two roles: `rentroll_owner` owns and migrates, `rentroll_app` does the work and owns nothing.
//!
//! Made once per cluster, outside migrations, under an advisory lock. A log-in that may not make them is shown the SQL to give
//! to its DBA.

use sqlx::{Connection as _, PgConnection};

use crate::error::{Error, Result};
use crate::locale::Message;

/// What a DBA runs when our log-in may not. `{login}` and `{database}` are put in.
pub const SQL_FOR_THE_DBA: &str = r#"create role rentroll_owner nologin;
create role rentroll_app nologin;
grant rentroll_owner, rentroll_app to "{login}";
grant connect, temporary on database "{database}" to rentroll_app;
-- in the database "{database}":
grant usage, create on schema public to rentroll_owner;
grant usage on schema public to rentroll_app;"#;

/// A number of our own for the advisory lock of the whole cluster.
const LOCK: i64 = 0x7265_6e74_726f_6c6c;

/// Makes the roles where they are missing, and gives them their place in this database.
pub async fn ensure(connection: &mut PgConnection) -> Result<()> {
    if ready(connection).await? {
        return Ok(());
    }
    let made = make(connection).await;
    match made {
        Ok(()) => Ok(()),
        Err(cause) => {
            let (login, database): (String, String) =
                sqlx::query_as("select session_user::text, current_database()::text").fetch_one(connection).await?;
            let sql = SQL_FOR_THE_DBA.replace("{login}", &login).replace("{database}", &database);
            let message = Message::new("database-roles")
                .with("login", login)
                .with("cause", cause.to_string())
                .with("sql", sql.replace('\n', "\n    "));
            Err(Error::Unavailable(message.into()))
        }
    }
}

/// Whether both roles exist, our log-in may take them, and they have their place in this database.
async fn ready(connection: &mut PgConnection) -> Result<bool> {
    let ready = sqlx::query_scalar::<_, bool>(
        "select count(*) = 2
                and coalesce(bool_and(pg_has_role(session_user, rolname, 'member')), false)
                and coalesce(bool_and(has_schema_privilege(rolname, 'public', 'usage')), false)
                and coalesce(bool_or(rolname = 'rentroll_owner' and has_schema_privilege(rolname, 'public', 'create')), false)
                and coalesce(bool_or(rolname = 'rentroll_app' and has_database_privilege(rolname, current_database(), 'temporary')), false)
         from pg_roles where rolname in ('rentroll_owner', 'rentroll_app')",
    )
    .fetch_one(connection)
    .await?;
    Ok(ready)
}

async fn make(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let mut tx = connection.begin().await?;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *tx).await?;
    // Advisory locks are per database, roles per cluster: another database's start-up may still be first.
    sqlx::raw_sql(
        "do $$
         begin
             begin create role rentroll_owner nologin; exception when duplicate_object or unique_violation then null; end;
             begin create role rentroll_app nologin; exception when duplicate_object or unique_violation then null; end;
             execute format('grant rentroll_owner, rentroll_app to %I', session_user);
             execute format('grant connect, temporary on database %I to rentroll_app', current_database());
             grant usage, create on schema public to rentroll_owner;
             grant usage on schema public to rentroll_app;
         end $$",
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await
}
