//! Several instances, outages, and what a run leaves behind.

use std::time::Duration;

use rentroll::jobs::{self, RunFilter};
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio_util::sync::CancellationToken;

use super::sql;
use crate::harness::{TestApp, remind};

// case R03, check C13: three engines on one database at the same second.
#[tokio::test(flavor = "multi_thread")]
async fn three_instances_send_exactly_one_mail_each() {
    let app = TestApp::new().await;
    for i in 0..50 {
        app.open_environment(&format!("环境 {i:02}"), "2025-04-01", Some("2026-03-31")).await;
    }
    let mut engines = Vec::new();
    for _ in 0..3 {
        engines.push(app.another(app.app.mailer.clone(), None).await);
    }
    let reports = futures_util::future::join_all(engines.iter().map(|engine| remind(engine, None))).await;
    // An engine that came while another planned has nothing to do; the next tick finds nothing left either.
    let late = remind(&engines[0], None).await;
    assert_eq!(reports.iter().map(|report| report.done).sum::<i64>() + late.done, 100);
    let mut mails: Vec<(String, String)> =
        app.mails().into_iter().map(|mail| (mail.to.address().to_owned(), mail.subject)).collect();
    assert_eq!(mails.len(), 100);
    mails.sort();
    mails.dedup();
    assert_eq!(mails.len(), 100, "each once");
    let keys: i64 = sqlx::query_scalar("select count(*) from reminder where delivery_id is not null")
        .fetch_one(&mut app.database.superuser().await)
        .await
        .unwrap();
    assert_eq!(keys, 100);
}

// check C20: what cannot be said of one environment costs the others nothing.
#[tokio::test]
async fn one_row_that_cannot_be_told_does_not_stop_the_rest() {
    let app = TestApp::new().await;
    for i in 0..20 {
        app.open_environment(&format!("环境 {i:02}"), "2025-04-01", Some("2026-03-31")).await;
    }
    sql(&app, "update term set price = 1, currency = '?' where environment_id = (select min(id) from environment)")
        .await;
    let report = app.remind().await;
    assert_eq!((report.done, report.failed), (38, 2));
    for _ in 0..40 {
        app.app.clock.advance(chrono::TimeDelta::hours(1));
        app.remind().await;
    }
    let rows: Vec<(String, i32, String)> =
        sqlx::query_as("select state, attempts, reply from delivery where state <> 'sent'")
            .fetch_all(&mut app.database.superuser().await)
            .await
            .unwrap();
    assert_eq!(rows.len(), 2);
    for (state, attempts, reply) in rows {
        assert_eq!((state.as_str(), attempts), ("dead", 10));
        assert!(reply.contains("is not a currency"), "{reply}");
    }
}

// check C20 too: a row that cannot even be read.
#[tokio::test]
async fn one_row_that_cannot_be_read_does_not_stop_the_rest() {
    let app = TestApp::new().await;
    for i in 0..5 {
        app.open_environment(&format!("环境 {i:02}"), "2025-04-01", Some("2026-03-31")).await;
    }
    // More digits than the program ever writes.
    sql(
        &app,
        "update term set price = 1e40, currency = 'CNY' where environment_id = (select min(id) from environment)",
    )
    .await;
    let report = app.remind().await;
    assert_eq!((report.done, report.failed), (8, 2));
}

// case R33
#[tokio::test]
async fn every_run_leaves_its_numbers() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    app.remind().await;
    app.remind_as_of("2026-03-24").await;
    let sweep = jobs::find("sweep").unwrap();
    jobs::run(&app.app, sweep, None).await.unwrap();
    let mut read = app.read().await;
    let runs = jobs::list(&mut read, &RunFilter::default(), 10).await.unwrap();
    let seen: Vec<_> = runs
        .iter()
        .map(|run| (run.job.as_str(), run.as_of.map(|day| day.to_string()), run.report.matched, run.report.done))
        .collect();
    assert_eq!(
        seen,
        [("sweep", None, 0, 0), ("reminders", Some("2026-03-24".to_owned()), 2, 2), ("reminders", None, 2, 2)]
    );
    assert!(runs.iter().all(|run| run.error.is_none() && run.finished_at.is_some()));
    let last = jobs::last(read.connection(), "reminders").await.unwrap().unwrap();
    assert_eq!(last.report.checked, 1);
}

// case R35: the database goes away under the ticker and comes back; the next tick works, without a restart.
#[tokio::test(flavor = "multi_thread")]
async fn the_ticker_outlives_an_outage_of_the_database() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    let name = app.database.options().get_database().unwrap().to_owned();
    let mut cluster = PgConnection::connect_with(&app.database.options().database("postgres")).await.unwrap();
    for away in [
        format!("alter database {name} with allow_connections false"),
        format!("select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"),
    ] {
        cluster.execute(sqlx::AssertSqlSafe(away)).await.unwrap();
    }
    let job = jobs::find("reminders").unwrap();
    for _ in 0..2 {
        assert!(jobs::run(&app.app, job, None).await.is_err(), "the database is away");
    }
    cluster.execute(sqlx::AssertSqlSafe(format!("alter database {name} with allow_connections true"))).await.unwrap();
    let stop = CancellationToken::new();
    let ticker = tokio::spawn(jobs::ticker(app.app.clone(), stop.clone()));
    let sent = async {
        // Asks the database, so that waiting leaves room for the ticker.
        while app.mails().len() < 2 {
            cluster.execute("select 1").await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_mins(1), sent).await.expect("the first tick sends");
    stop.cancel();
    tokio::time::timeout(Duration::from_mins(1), ticker).await.expect("the ticker ends").unwrap();
}
