//! Terms and the deadlines that follow from them.

use rentroll::dates::{self, Cycle};
use rentroll::deadline::{Closed, Kind};
use rentroll::environments::environment;
use rentroll::environments::renewal;
use rentroll::environments::term::{self, NewTerm};
use rentroll::error::Error;

use super::{day, deadlines};
use crate::harness::TestApp;

// case R15
#[tokio::test]
async fn an_environment_is_opened_with_its_term_and_its_deadlines() {
    let app = TestApp::new().await;
    let term = NewTerm {
        cycle: Cycle::YEARLY,
        notice: dates::Notice::parse("2 months").unwrap(),
        renewal: dates::Renewal::Never,
        ..NewTerm::between(day("2025-02-01"), Some(day("2026-01-31")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    assert_eq!(environment.anchor_day, Some(1));
    assert_eq!(
        deadlines(&app, environment.id).await,
        [(Kind::CancelBy, "2025-11-30".to_owned(), None), (Kind::Expiry, "2026-01-31".to_owned(), None)]
    );
    let opened = ["environment.opened", "term.added", "deadline.added", "deadline.added"];
    let actions = app.actions().await;
    assert_eq!(actions[actions.len() - 4..], opened);
}

// case R37, case R40: no end date, no deadline.
#[tokio::test]
async fn a_term_without_an_end_has_no_deadline() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    assert_eq!(deadlines(&app, environment.id).await, []);
}

// case R04, case A10
#[tokio::test]
async fn an_edited_last_day_moves_its_deadline_and_an_unchanged_one_records_nothing() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let mut tx = app.write().await;
    let before = term::last(tx.connection(), environment.id).await.unwrap();
    let same = term::change(&mut tx, before.id, before.version, &before.facts()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(same, before);
    let count = app.actions().await.len();

    let mut tx = app.write().await;
    let moved = NewTerm { ends_on: Some(day("2026-06-30")), ..before.facts() };
    let after = term::change(&mut tx, before.id, before.version, &moved).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(after.version, before.version + 1);
    assert_eq!(deadlines(&app, environment.id).await, [(Kind::Expiry, "2026-06-30".to_owned(), None)]);
    assert_eq!(app.actions().await[count..], ["term.changed", "deadline.moved"]);

    let mut tx = app.write().await;
    let open_ended = NewTerm { ends_on: None, ..before.facts() };
    let stale = term::change(&mut tx, before.id, before.version, &open_ended).await.unwrap_err();
    assert!(matches!(&stale, Error::Conflict(message) if message.key == "error-stale"), "{stale}");
    term::change(&mut tx, before.id, after.version, &open_ended).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(
        deadlines(&app, environment.id).await,
        [(Kind::Expiry, "2026-06-30".to_owned(), Some(Closed::Withdrawn))]
    );
}

#[tokio::test]
async fn two_environments_of_a_project_cannot_have_one_name() {
    let app = TestApp::new().await;
    let first = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let mut tx = app.write().await;
    let facts = environment::Facts::named(first.name.clone(), first.provider_id, first.tier_id);
    let term = NewTerm::between(day("2026-01-01"), None);
    let new = environment::NewEnvironment { project_id: first.project_id, facts, term };
    let error = environment::open(&mut tx, &new).await.unwrap_err();
    assert!(error.to_string().contains("name: This project has an environment \"竹简-预训练\" already"), "{error}");
}

// case I18 (the date of what is there can be changed), case C01
#[tokio::test]
async fn a_middle_term_can_be_edited_but_not_moved_past_its_neighbours() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-01-31")).await;
    for until in ["2026-02-28", "2026-03-31"] {
        let mut tx = app.write().await;
        let last = term::last(tx.connection(), environment.id).await.unwrap();
        let new =
            renewal::NewRenewal { until: renewal::Until::Day(day(until)), ..renewal::NewRenewal::same_again(&last, 1) };
        renewal::renew(&mut tx, environment.id, &new).await.unwrap();
        tx.commit().await.unwrap();
    }
    let mut tx = app.write().await;
    let terms = term::of_environment(tx.connection(), environment.id).await.unwrap();
    let middle = &terms[1];
    let shorter = NewTerm { ends_on: Some(day("2026-02-15")), ..middle.facts() };
    term::change(&mut tx, middle.id, middle.version, &shorter).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(
        deadlines(&app, environment.id).await,
        [
            (Kind::Expiry, "2026-01-31".to_owned(), Some(Closed::Renewed)),
            (Kind::Expiry, "2026-02-28".to_owned(), Some(Closed::Renewed)),
            (Kind::Expiry, "2026-03-31".to_owned(), None),
        ],
        "only the last term has an open deadline"
    );
    for (starts_on, ends_on, wrong) in [
        ("2026-02-01", "2026-03-01", "ends_on: Another term of this environment covers some of these days"),
        ("2026-05-01", "2026-05-31", "starts_on: Terms keep their order"),
    ] {
        let mut tx = app.write().await;
        let new = NewTerm { starts_on: day(starts_on), ends_on: Some(day(ends_on)), ..middle.facts() };
        let error = term::change(&mut tx, middle.id, middle.version + 1, &new).await.unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}

// case R27, case R28 (what ends and comes back)
#[tokio::test]
async fn ending_closes_the_deadlines_and_taking_the_end_back_opens_them() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let mut tx = app.write().await;
    let ended = environment::end(&mut tx, environment.id, environment.version, day("2026-03-20")).await.unwrap();
    tx.commit().await.unwrap();
    let closed = (Kind::Expiry, "2026-03-31".to_owned(), Some(Closed::Ended));
    assert_eq!(deadlines(&app, environment.id).await, [closed]);
    let mut tx = app.write().await;
    environment::resume(&mut tx, environment.id, ended.version).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(deadlines(&app, environment.id).await, [(Kind::Expiry, "2026-03-31".to_owned(), None)]);
}

#[tokio::test]
async fn a_term_without_an_end_gets_it_when_the_environment_ends() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let mut tx = app.write().await;
    let early = environment::end(&mut tx, environment.id, environment.version, day("2025-12-31")).await;
    assert!(early.unwrap_err().to_string().contains("ended_on"));
    environment::end(&mut tx, environment.id, environment.version, day("2026-03-10")).await.unwrap();
    let last = term::last(tx.connection(), environment.id).await.unwrap();
    assert_eq!(last.ends_on, Some(day("2026-03-10")));
    tx.commit().await.unwrap();
    assert_eq!(deadlines(&app, environment.id).await, []);
}

#[tokio::test]
async fn a_voided_environment_gives_its_name_back_and_one_with_output_cannot_be_voided() {
    let app = TestApp::new().await;
    let wrong = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let mut tx = app.write().await;
    environment::void(&mut tx, wrong.id, wrong.version).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(deadlines(&app, wrong.id).await[0].2, Some(Closed::Voided));
    let right = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    let mut superuser = app.database.superuser().await;
    sqlx::query(
        "insert into output_entry (project_id, environment_id, period, unit, quantity, recorded_at)
         values ($1, $2, '2026-02-01', 'token', 5, '2026-03-01')",
    )
    .bind(right.project_id.0)
    .bind(right.id.0)
    .execute(&mut superuser)
    .await
    .unwrap();
    let mut tx = app.write().await;
    let refused = environment::void(&mut tx, right.id, right.version).await.unwrap_err();
    assert!(matches!(&refused, Error::Conflict(message) if message.key == "error-environment-has-rows"), "{refused}");
}
