//! Several instances, outages, and what a run leaves behind.

use std::time::Duration;

use rentroll::dates::{Cycle, Renewal};
use rentroll::environments::term::NewTerm;
use rentroll::jobs::{self, RunFilter};
use sqlx::{Connection as _, Executor as _, PgConnection};
use tokio_util::sync::CancellationToken;

use super::{day, sql};
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

// Silence and failure are told by `/healthz`: the last run counts, not one that was folded into an earlier row of the hour.
#[tokio::test]
async fn health_tells_how_the_last_run_ended() {
    let app = TestApp::new().await;
    let browser = app.browser();
    let reminders = jobs::find("reminders").unwrap();
    let run = async |breaks: bool| {
        let name = |from: &str, to: &str| format!("alter table {from} rename to {to}");
        if breaks {
            sql(&app, &name("reminder", "mislaid")).await;
        }
        app.app.clock.advance(chrono::TimeDelta::minutes(1));
        assert_eq!(jobs::run(&app.app, reminders, None).await.is_err(), breaks);
        if breaks {
            sql(&app, &name("mislaid", "reminder")).await;
        }
        let told: serde_json::Value = serde_json::from_slice(&browser.get("/healthz").await.bytes).unwrap();
        let jobs = told["jobs"].as_array().unwrap();
        let told = jobs.iter().find(|job| job["name"] == "reminders").unwrap();
        (told["well"].as_bool().unwrap(), told["last_good_at"].as_str().map(str::to_owned))
    };
    assert!(run(false).await.0);
    assert!(!run(true).await.0);
    assert!(run(false).await.0, "it ran well again");
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    let (well, good_at) = run(false).await;
    assert!(well, "it sent something");
    for _ in 0..3 {
        let (well, still) = run(true).await;
        assert_eq!((well, &still), (false, &good_at), "a failure is not the last good run");
    }
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
    let last = jobs::last_good(read.connection(), "reminders").await.unwrap().unwrap();
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

/// Rented month by month, renewing itself on the last day of March.
async fn monthly(app: &TestApp) {
    let march = NewTerm::between(day("2026-03-01"), Some(day("2026-03-31")));
    let term = NewTerm { cycle: Cycle::MONTHLY, renewal: Renewal::Automatic, ..march };
    app.open_environment_with("竹简-预训练", term).await;
}

/// What the mails say first.
fn subjects(app: &TestApp) -> Vec<String> {
    app.mails().into_iter().map(|mail| mail.subject).collect()
}

// Down for a week over an automatic renewal: by hand, and before the renewal is booked, nobody hears that it is overdue.
#[tokio::test]
async fn after_downtime_over_an_automatic_renewal_nobody_hears_that_it_is_overdue() {
    let app = TestApp::new().await;
    monthly(&app).await;
    app.go_to("2026-03-24");
    app.remind().await;
    assert_eq!(app.mails().len(), 2);
    for today in ["2026-04-01", "2026-04-07"] {
        app.go_to(today);
        let report = app.remind().await;
        assert_eq!((report.matched, report.done), (0, 0), "{today}");
    }
    assert_eq!(app.remind_as_of("2026-04-20").await.done, 0);
    jobs::run(&app.app, jobs::find("renewals").unwrap(), None).await.unwrap();
    assert_eq!(app.remind().await.done, 0, "the new term ends in 23 days");
    app.go_to("2026-04-15");
    assert_eq!(app.remind().await.done, 2);
    let told = subjects(&app);
    assert!(told.iter().all(|subject| !subject.contains("已到期")), "{told:?}");
    assert!(told[2].starts_with("【还有 15 天】"), "{told:?}");
}

// A mail that waits for its server over the renewal is taken back, and the term that renews only once a person says so is told.
#[tokio::test]
async fn a_mail_that_waits_over_an_automatic_renewal_is_taken_back() {
    let app = TestApp::new().await;
    monthly(&app).await;
    app.open_environment("手动", "2026-03-01", Some("2026-03-31")).await;
    app.go_to("2026-03-31");
    let folder = app.folder().join("outbox");
    let from = rentroll::mail::Mailbox::new("", "ledger@rentroll.example").unwrap();
    let outbox = rentroll::mail::Mailer::Directory(rentroll::mail::Outbox { path: folder.clone(), from });
    let waiting = app.another(outbox, None).await;
    assert_eq!(remind(&waiting, None).await.skipped.get("outbox"), Some(&4));
    app.go_to("2026-04-01");
    assert_eq!(app.remind().await.done, 2);
    assert!(subjects(&app).iter().all(|subject| subject.contains("手动")), "{:?}", subjects(&app));
}

// At start-up, and at every tick, renewals are booked before reminders are planned: the first tick tells of the new term.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_tick_books_renewals_and_then_plans_reminders() {
    let app = TestApp::new().await;
    monthly(&app).await;
    app.go_to("2026-04-20");
    let stop = CancellationToken::new();
    let ticker = tokio::spawn(jobs::ticker(app.app.clone(), stop.clone()));
    let mut connection = app.database.superuser().await;
    let told = async {
        // Asks the database, so that waiting leaves room for the ticker. A second tick comes after a minute.
        while app.mails().len() < 2 {
            connection.execute("select 1").await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(50), told).await.expect("the first tick tells of the new term");
    stop.cancel();
    tokio::time::timeout(Duration::from_mins(1), ticker).await.expect("the ticker ends").unwrap();
    assert!(subjects(&app).iter().all(|subject| subject.starts_with("【还有 10 天】")), "{:?}", subjects(&app));
    let runs: Vec<String> = sqlx::query_scalar("select job from job_run where job <> 'sweep' order by id limit 2")
        .fetch_all(&mut connection)
        .await
        .unwrap();
    assert_eq!(runs, ["renewals", "reminders"]);
}
