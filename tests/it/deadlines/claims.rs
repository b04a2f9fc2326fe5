//! A claim meets planning: two instances on one database, one of which is just taking what the other would replace.

use rentroll::dates::{Notice, Renewal};
use rentroll::deadlines::attempt::{self, Attempt, Ending};
use rentroll::deadlines::claim::{self, Claim};
use rentroll::environments::term::NewTerm;
use rentroll::mail::Outcome;
use rentroll::tx::Tx;

use super::delivering::{deliveries, mailer_to};
use super::{day, sql};
use crate::harness::{TestApp, remind};

/// A program whose only mail waits for its next try since this day, because the mail server was away.
async fn with_a_waiting_mail(app: &TestApp, today: &str) {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let down = app.another(mailer_to(&format!("smtp://{closed}")), None).await;
    sql(app, "update environment set checker_id = null").await;
    app.go_to(today);
    let report = remind(&down, None).await;
    assert_eq!((report.done, report.failed), (0, 1));
    app.app.clock.advance(chrono::TimeDelta::minutes(2));
}

/// The other instance takes what waits; its transaction stays open.
async fn begin_claim(app: &TestApp) -> (Tx, Vec<Claim>) {
    let mut tx = app.write().await;
    let claimed = claim::claim(&mut tx, false, "other").await.unwrap();
    tx.unchanged();
    (tx, claimed.claims)
}

/// The other instance has sent what it took, and books it.
async fn sent(app: &TestApp, claims: Vec<Claim>) {
    let now = app.now();
    let ended: Vec<Attempt> = claims
        .into_iter()
        .map(|claim| {
            let ending = Ending::Server(Outcome::Sent { reply: "250 taken".to_owned() });
            Attempt { claim, started_at: now, finished_at: now, ending }
        })
        .collect();
    let mut tx = app.write().await;
    attempt::book(&mut tx, &ended, "other").await.unwrap();
    tx.commit().await.unwrap();
}

/// State of every delivery, with how many reminders it carries, oldest first.
async fn carried(app: &TestApp) -> Vec<(String, i64)> {
    sqlx::query_as(
        "select v.state, (select count(*) from reminder r where r.delivery_id = v.id) from delivery v order by v.created_at, v.id",
    )
    .fetch_all(&mut app.database.superuser().await)
    .await
    .unwrap()
}

#[tokio::test]
async fn a_reminder_that_is_being_claimed_goes_to_no_second_mail() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    with_a_waiting_mail(&app, "2026-03-16").await;
    let (tx, claims) = begin_claim(&app).await;
    assert_eq!(claims.len(), 1);
    assert_eq!(app.remind().await.done, 0, "planned while the other claims");
    tx.commit().await.unwrap();
    assert_eq!(app.remind().await.done, 0, "planned while the other sends");
    sent(&app, claims).await;
    assert_eq!(app.remind().await.done, 0);
    assert_eq!((app.mails().len(), carried(&app).await), (0, vec![("sent".to_owned(), 1)]), "the other's mail alone");
}

// Another date of the same environment falls due meanwhile: it is a mail of its own, and takes nothing of the claimed one along.
#[tokio::test]
async fn another_date_that_falls_due_during_a_claim_takes_nothing_along() {
    let app = TestApp::new().await;
    let term = NewTerm {
        renewal: Renewal::Automatic,
        notice: Notice::parse("2 days").unwrap(),
        ..NewTerm::between(day("2025-04-01"), Some(day("2026-03-31")))
    };
    app.open_environment_with("竹简-预训练", term).await;
    with_a_waiting_mail(&app, "2026-03-14").await;
    app.go_to("2026-03-16");
    let (tx, claims) = begin_claim(&app).await;
    let report = app.remind().await;
    assert_eq!((report.matched, report.done), (2, 1));
    tx.commit().await.unwrap();
    sent(&app, claims).await;
    assert_eq!(app.remind().await.done, 0);
    assert_eq!(carried(&app).await, [("sent".to_owned(), 1), ("sent".to_owned(), 1)]);
    let mails = app.mails();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].text.contains("还有 15 天到期") && !mails[0].text.contains("不续须在"), "{}", mails[0].text);
}

// Planning takes a reminder back whose mail is being claimed: neither waits for the other, and nothing is sent.
#[tokio::test]
async fn planning_does_not_wait_for_a_claim() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    with_a_waiting_mail(&app, "2026-03-16").await;
    let (tx, claims) = begin_claim(&app).await;
    assert_eq!(claims.len(), 1);
    sql(&app, &format!("update deadline set due_on = '2026-12-31' where environment_id = {}", environment.id)).await;
    assert_eq!(app.remind().await.done, 0);
    tx.commit().await.unwrap();
    assert_eq!(app.mails().len(), 0);
}

// The next step of the same date falls due meanwhile: it alone is told, not the earlier one beside it.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_is_being_claimed_gives_way_to_the_next_one() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    with_a_waiting_mail(&app, "2026-03-16").await;
    app.go_to("2026-03-24");
    let (tx, claims) = begin_claim(&app).await;
    let engine = app.app.clone();
    let planner = tokio::spawn(async move { remind(&engine, None).await });
    // Until it waits for the claim to end, or is done without.
    let mut superuser = app.database.superuser().await;
    while !planner.is_finished() {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        .fetch_one(&mut superuser)
        .await
        .unwrap();
        if waiting > 0 {
            break;
        }
    }
    tx.commit().await.unwrap();
    sent(&app, claims).await;
    planner.await.unwrap();
    app.remind().await;
    let told: Vec<String> = app.mails().into_iter().map(|mail| mail.subject).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("【还有 7 天】"), "{told:?}");
    let states: Vec<String> = deliveries(&app).await.into_iter().map(|row| row.1).collect();
    assert_eq!(states, ["cancelled", "sent"]);
}
