//! The fences: the classes of table, the roles, the scope, the history.

use std::collections::BTreeMap;

use rentroll::access::person::{self, NewPerson};
use rentroll::access::project;
use rentroll::actor::{Actor, ProjectRole, Role, Scope};
use rentroll::catalog::provider;
use rentroll::error::Error;
use rentroll::jobs;
use rentroll::postgres::tables::{Class, TABLES};
use sqlx::Executor as _;

use crate::harness::TestApp;

#[tokio::test]
async fn every_table_has_the_fences_of_its_class() {
    let app = TestApp::new().await;
    let mut superuser = app.database.superuser().await;
    let rows: Vec<(String, bool, bool, bool, bool, bool)> = sqlx::query_as(
        "select c.relname::text, c.relrowsecurity and c.relforcerowsecurity,
                has_table_privilege('rentroll_app', c.oid, 'update'),
                has_table_privilege('rentroll_app', c.oid, 'delete'),
                exists (select 1 from pg_trigger t where t.tgrelid = c.oid and t.tgname like '%\\_no\\_truncate' and t.tgenabled = 'A'),
                exists (select 1 from pg_trigger t where t.tgrelid = c.oid and t.tgname like '%\\_outside\\_change' and t.tgenabled = 'A')
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> '_sqlx_migrations'
         order by 1",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    let listed: Vec<&str> = TABLES.iter().map(|table| table.0).collect();
    assert_eq!(names, listed, "the list in src/postgres/tables.rs and the catalogue differ");
    for ((name, scoped, update, delete, truncate_refused, watched), (_, class, project_owned)) in
        rows.iter().zip(TABLES)
    {
        assert_eq!(scoped, project_owned, "{name}: forced row-level security");
        assert_eq!(*delete, *class == Class::Machine, "{name}: delete");
        // Of a price only the columns change that say that it was voided.
        let every_column = *class != Class::Ledger && name != "price";
        assert_eq!(*update, every_column, "{name}: update of every column");
        assert_eq!(*truncate_refused, *class != Class::Machine, "{name}: truncate refused");
        let watches = *class != Class::Machine && name != "audit_entry";
        assert_eq!(*watched, watches, "{name}: changes from outside are history");
    }
}

#[tokio::test]
async fn every_partition_of_spend_has_the_fences_of_spend() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    for month in ["2026-01-01", "2026-02-01"] {
        sqlx::query("select app_spend_partition($1::date)")
            .bind(month.parse::<chrono::NaiveDate>().unwrap())
            .execute(tx.connection())
            .await
            .unwrap();
    }
    tx.unchanged();
    tx.commit().await.unwrap();
    let mut superuser = app.database.superuser().await;
    let bare: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = 'spend'::regclass
           and not (c.relforcerowsecurity and exists (select 1 from pg_policy p where p.polrelid = c.oid)
                    and (select count(*) from pg_trigger t where t.tgrelid = c.oid and t.tgenabled = 'A') >= 4)",
    )
    .fetch_all(&mut superuser)
    .await
    .unwrap();
    assert_eq!(bare, Vec::<String>::new());
    let error = superuser.execute("truncate spend_202601").await.unwrap_err();
    assert!(error.to_string().contains("append-only"), "{error}");
}

// check C27, case A09: no right and no trick of the application's role changes what is append-only.
#[tokio::test]
async fn the_application_role_cannot_change_or_delete_history() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    for (name, class, _) in TABLES {
        if *class == Class::Machine {
            continue;
        }
        let mut attempts = vec![
            format!("delete from {name}"),
            format!("truncate {name}"),
            format!("drop table {name}"),
            format!("alter table {name} disable trigger all"),
        ];
        if *class == Class::Ledger && *name != "spend" {
            attempts.push(format!(
                "update {name} set {} = null",
                if *name == "audit_entry" { "reason" } else { "project_id" }
            ));
        }
        for sql in attempts {
            let mut connection = app.app.db.acquire().await.unwrap();
            let result = connection.execute(sqlx::AssertSqlSafe(sql.clone())).await;
            assert!(result.is_err(), "{sql} was not refused");
        }
    }
    let mut connection = app.app.db.acquire().await.unwrap();
    assert!(connection.execute("set session_replication_role = replica").await.is_err());
    assert!(connection.execute("set row_security = off; select count(*) from environment").await.is_err());
}

#[tokio::test]
async fn without_a_scope_there_are_no_rows() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let project = project::add(&mut tx, "竹简大模型".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let count: i64 = sqlx::query_scalar("select count(*) from project").fetch_one(&app.app.db).await.unwrap();
    assert_eq!(count, 0);

    // check C30: nobody sees another project's anything, and it looks like one that does not exist.
    let stranger = Actor {
        role: Role::Member,
        scope: Scope {
            all: None,
            projects: BTreeMap::from([(rentroll::ids::ProjectId(project.id.0 + 1), ProjectRole::Manager)]),
        },
        ..Actor::command_line("stranger")
    };
    let mut read = app.app.read(&stranger).await.unwrap();
    assert!(matches!(project::get(read.connection(), project.id).await, Err(Error::NotFound)));
    assert_eq!(project::list(&mut read).await.unwrap(), []);
    for (name, _, project_owned) in TABLES {
        if *project_owned && !["resource", "spend_month_total", "spend_total"].contains(name) {
            let sql = format!("select count(*) from {name} where project_id is not null");
            let sql = if *name == "project" { "select count(*) from project".to_owned() } else { sql };
            let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(read.connection()).await.unwrap();
            assert_eq!(count, 0, "{name}");
        }
    }
}

// case A14: an entry that cannot be written takes the change with it; and a change without an entry does not commit.
#[tokio::test]
async fn a_change_and_its_entry_live_or_die_together() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    sqlx::query("insert into provider (name, created_at) values ('silent', now())")
        .execute(tx.connection())
        .await
        .unwrap();
    assert!(matches!(tx.commit().await, Err(Error::Internal(_))));

    app.database.superuser().await.execute("revoke insert on audit_entry from rentroll_app").await.unwrap();
    let mut tx = app.write().await;
    assert!(provider::add(&mut tx, "苇塘云".parse().unwrap()).await.is_err());
    drop(tx);
    let mut read = app.read().await;
    assert_eq!(provider::list(&mut read).await.unwrap(), []);
}

// case A11: a path beside the program.
#[tokio::test]
async fn a_change_by_psql_is_history_under_the_database_users_name() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let provider = provider::add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    let mut superuser = app.database.superuser().await;
    superuser.execute("update provider set note = 'changed outside'").await.unwrap();
    let entries = app.history().await;
    let entry = &entries[0];
    assert_eq!((entry.source.as_str(), entry.action.as_str()), ("database", "provider.update"));
    assert_eq!(entry.object_id, Some(provider.id.0));
    assert!(!entry.actor_name.is_empty());
    let change = &entry.changes()[0];
    assert_eq!((change.field.as_str(), change.after.as_str()), ("note", "changed outside"));
    assert_eq!(entries.len(), 2, "one entry for each change");
}

// case A13: addresses only as digests, secrets never.
#[tokio::test]
async fn the_history_holds_no_address_and_no_secret() {
    let app = TestApp::new().await;
    app.add_user("bailu@palmfan.example", Role::Administrator).await;
    let mut superuser = app.database.superuser().await;
    superuser.execute("update person set email = 'other@palmfan.example'").await.unwrap();
    superuser.execute("update user_account set password_hash = 'planted-secret'").await.unwrap();
    for entry in app.history().await {
        let bytes = String::from_utf8(entry.bytes.clone()).unwrap();
        for secret in ["bailu@palmfan", "other@palmfan", "argon2", "planted-secret"] {
            assert!(!bytes.contains(secret), "{} holds {secret}: {bytes}", entry.action);
        }
    }
}

#[tokio::test]
async fn the_same_address_in_other_capitals_is_the_same_person() {
    let app = TestApp::new().await;
    let mut tx = app.write().await;
    let one =
        person::find_or_add(&mut tx, NewPerson::named("陈白露", Some("Bailu@palmfan.example")).unwrap()).await.unwrap();
    let two =
        person::find_or_add(&mut tx, NewPerson::named("Chen", Some("bailu@PALMFAN.example")).unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(one, two);
    assert_eq!(app.actions().await, ["person.added"]);
}

#[tokio::test]
async fn the_sweep_takes_away_what_killed_uploads_left_a_day_ago() {
    let app = TestApp::new().await;
    let incoming = app.folder().join("documents/incoming");
    std::fs::create_dir(&incoming).unwrap();
    for (name, hours) in [("old#1", 25), ("new#1", 23)] {
        let file = std::fs::File::create(incoming.join(name)).unwrap();
        file.set_modified((app.now() - chrono::TimeDelta::hours(hours)).into()).unwrap();
    }
    let report = jobs::run(&app.app, jobs::find("sweep").unwrap(), None).await.unwrap();
    assert_eq!((report.done, report.failed), (1, 0));
    assert!(!incoming.join("old#1").exists() && incoming.join("new#1").exists());
}
