//! Renewals and changes of quantity.

use rentroll::actor::Role;
use rentroll::dates::{Cycle, Notice, Renewal};
use rentroll::deadline::{Closed, Kind};
use rentroll::environments::environment;
use rentroll::environments::renewal::{self, NewRenewal, Until};
use rentroll::environments::scale::{self, NewScaleChange};
use rentroll::environments::term::{self, NewTerm, Term};
use rentroll::error::{Error, Result};
use rentroll::ids::EnvironmentId;
use rentroll::jobs;
use rentroll::locale::Locale;

use super::{day, deadlines};
use crate::harness::TestApp;

async fn renew(app: &TestApp, id: EnvironmentId, until: Until) -> Result<Term> {
    let mut tx = app.write().await;
    let environment = environment::get(tx.connection(), id).await?;
    let last = term::last(tx.connection(), id).await?;
    let new = NewRenewal { until, ..NewRenewal::same_again(&last, environment.anchor()) };
    let term = renewal::renew(&mut tx, id, &new).await?;
    tx.commit().await?;
    Ok(term)
}

// case R19, case R20: the 31st comes back after February, through the database and several renewals.
#[tokio::test]
async fn a_chain_of_renewals_keeps_its_anchor_day() {
    let app = TestApp::new().await;
    let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(day("2026-01-31"), Some(day("2026-02-27"))) };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let mut ends = Vec::new();
    for _ in 0..3 {
        ends.push(renew(&app, environment.id, Until::Cycles(1)).await.unwrap().ends_on.unwrap().to_string());
    }
    assert_eq!(ends, ["2026-03-30", "2026-04-29", "2026-05-30"]);
}

// case R24, case R05 (the old deadline is closed), case A10, case A11
#[tokio::test]
async fn a_renewal_is_a_new_term_with_its_own_deadlines_and_one_sentence() {
    let app = TestApp::at("2028-02-01T02:00:00Z").await;
    let term = NewTerm {
        cycle: Cycle::YEARLY,
        notice: Notice::parse("30 days").unwrap(),
        ..NewTerm::between(day("2027-03-01"), Some(day("2028-02-29")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let renewed = renew(&app, environment.id, Until::Cycles(1)).await.unwrap();
    assert_eq!((renewed.number, renewed.ends_on), (2, Some(day("2029-02-28"))));
    assert_eq!(
        deadlines(&app, environment.id).await,
        [
            (Kind::CancelBy, "2028-01-30".to_owned(), Some(Closed::Renewed)),
            (Kind::Expiry, "2028-02-29".to_owned(), Some(Closed::Renewed)),
            (Kind::CancelBy, "2029-01-29".to_owned(), None),
            (Kind::Expiry, "2029-02-28".to_owned(), None),
        ]
    );
    let history = app.history().await;
    let renewals: Vec<_> = history.iter().filter(|entry| entry.action == "term.renewed").collect();
    assert_eq!(renewals.len(), 1, "one act, one entry");
    assert!(renewals[0].sentence(&Locale::En).contains("2029-02-28"), "{}", renewals[0].sentence(&Locale::En));
}

// case C03: two people renew the same term.
#[tokio::test]
async fn the_second_renewal_of_the_same_term_is_refused() {
    let app = TestApp::new().await;
    let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(day("2026-03-01"), Some(day("2026-03-31"))) };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let mut read = app.read().await;
    let first = term::last(read.connection(), environment.id).await.unwrap();
    renew(&app, environment.id, Until::Cycles(1)).await.unwrap();
    let mut tx = app.write().await;
    let error = renewal::renew(&mut tx, environment.id, &NewRenewal::same_again(&first, 1)).await.unwrap_err();
    assert!(matches!(&error, Error::Conflict(message) if message.key == "error-renewal-done"), "{error}");
}

// case C05, case A02, case A11 (a job): as often as the job runs, and after downtime, each missing term once.
#[tokio::test]
async fn automatic_renewals_are_written_once_each() {
    let app = TestApp::at("2026-03-31T02:00:00Z").await;
    let term = NewTerm {
        cycle: Cycle::MONTHLY,
        renewal: Renewal::Automatic,
        ..NewTerm::between(day("2026-03-01"), Some(day("2026-03-31")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let due = async || {
        let mut read = app.read().await;
        let today = read.today();
        renewal::due_automatically(read.connection(), today).await.unwrap()
    };
    assert_eq!(due().await, [], "the last day is not over yet");
    app.go_to("2026-05-10");
    assert_eq!(due().await, [environment.id]);
    for done in [1, 0] {
        let report = jobs::run(&app.app, jobs::find("renewals").unwrap(), None).await.unwrap();
        assert_eq!((report.done, report.failed), (done, 0));
    }
    let renewed: Vec<_> = app.history().await.into_iter().filter(|entry| entry.action == "term.renewed").collect();
    assert_eq!((renewed.len(), renewed[0].actor_name.as_str()), (2, "system: renewals"));
    assert_eq!(due().await, []);
    let mut read = app.read().await;
    let last = term::last(read.connection(), environment.id).await.unwrap();
    assert_eq!((last.number, last.ends_on), (3, Some(day("2026-05-31"))));
}

// case R24: a term that begins on the last day of a month and ends on the last day of the next is one month, and so is each
// term that follows it.
#[tokio::test]
async fn a_term_to_the_end_of_a_month_is_not_renewed_for_twice_as_long() {
    let app = TestApp::at("2026-09-30T02:00:00Z").await;
    let term = NewTerm {
        cycle: Cycle::MONTHLY,
        renewal: Renewal::Automatic,
        price: Some(100.into()),
        currency: Some("CNY".parse().unwrap()),
        ..NewTerm::between(day("2026-08-31"), Some(day("2026-09-30")))
    };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    app.go_to("2026-12-15");
    jobs::run(&app.app, jobs::find("renewals").unwrap(), None).await.unwrap();
    let mut read = app.read().await;
    let terms = term::of_environment(read.connection(), environment.id).await.unwrap();
    let days: Vec<_> = terms.iter().map(|term| format!("{} – {}", term.starts_on, term.ends_on.unwrap())).collect();
    assert_eq!(
        days,
        ["2026-08-31 – 2026-09-30", "2026-10-01 – 2026-10-31", "2026-11-01 – 2026-11-30", "2026-12-01 – 2026-12-31"]
    );
}

async fn resize(app: &TestApp, id: EnvironmentId, on: &str, quantity: i64) -> Result<environment::Environment> {
    let mut tx = app.app.write(&app.operator().because("月底赶训练")).await?;
    let reason = "月底赶训练".parse().expect("a reason");
    let new = NewScaleChange { changes_on: day(on), quantity: quantity.into(), reason };
    let environment = scale::record(&mut tx, id, &new).await?;
    tx.commit().await?;
    Ok(environment)
}

#[tokio::test]
async fn a_change_of_quantity_is_kept_with_before_after_who_and_why() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    resize(&app, environment.id, "2026-02-01", 4).await.unwrap();
    let after = resize(&app, environment.id, "2026-03-10", 6).await.unwrap();
    assert_eq!(after.quantity, 6.into());
    let mut read = app.read().await;
    let changes = scale::of_environment(read.connection(), environment.id).await.unwrap();
    let told: Vec<_> = changes
        .iter()
        .map(|it| (it.changes_on.to_string(), it.quantity_before.to_string(), it.quantity_after.to_string()))
        .collect();
    assert_eq!(
        told,
        [
            ("2026-03-10".to_owned(), "4".to_owned(), "6".to_owned()),
            ("2026-02-01".to_owned(), "1".to_owned(), "4".to_owned()),
        ]
    );
    assert_eq!((changes[0].reason.as_str(), changes[0].person_name.as_str()), ("月底赶训练", "command line (test)"));
    assert_eq!(term::last(read.connection(), environment.id).await.unwrap().quantity, 1.into(), "as it began");
    let entry = &app.history().await[0];
    assert_eq!(entry.action, "scale.changed");
    assert_eq!(
        entry.sentence(&Locale::En),
        "The command line (test) changed 竹简-预训练 from 4 to 6. Reason: 月底赶训练"
    );
    for (on, key) in [("2026-03-17", "error-scale-ahead"), ("2026-03-01", "error-scale-order")] {
        let error = resize(&app, environment.id, on, 8).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid(errors) if errors.0[0].message.key == key), "{on}: {error}");
    }
    let next = renew(&app, environment.id, Until::Day(day("2026-06-30"))).await.unwrap();
    assert_eq!(next.quantity, 6.into(), "a renewal goes on with what is in use");
}

async fn quantity(app: &TestApp, id: EnvironmentId) -> i64 {
    let mut read = app.read().await;
    i64::try_from(environment::get(read.connection(), id).await.unwrap().quantity).unwrap()
}

/// The quantities with which the terms begin, first to last.
async fn quantities(app: &TestApp, id: EnvironmentId) -> Vec<i64> {
    let mut read = app.read().await;
    let terms = term::of_environment(read.connection(), id).await.unwrap();
    terms.into_iter().map(|term| i64::try_from(term.quantity).unwrap()).collect()
}

/// Edits the last term: it begins with another quantity.
async fn plan_quantity(app: &TestApp, id: EnvironmentId, quantity: i64) {
    let mut tx = app.write().await;
    let last = term::last(tx.connection(), id).await.unwrap();
    let new = NewTerm { quantity: quantity.into(), ..last.facts() };
    term::change(&mut tx, last.id, last.version, &new).await.unwrap();
    tx.commit().await.unwrap();
}

/// How many things the job did and failed to do.
async fn book(app: &TestApp, as_of: Option<&str>) -> (i64, i64) {
    let report = jobs::run(&app.app, jobs::find("renewals").unwrap(), as_of.map(day)).await.unwrap();
    (report.done, report.failed)
}

fn march(renewal: Renewal) -> NewTerm {
    let days = NewTerm::between(day("2026-03-01"), Some(day("2026-03-31")));
    NewTerm { cycle: Cycle::MONTHLY, renewal, ..days }
}

// A term that was written ahead with another quantity brings it into use on its first day, through the job, once.
#[tokio::test]
async fn a_term_written_ahead_brings_its_quantity_into_use_on_its_first_day() {
    let app = TestApp::new().await;
    let id = app.open_environment_with("竹简-预训练", march(Renewal::OnRequest)).await.id;
    renew(&app, id, Until::Cycles(1)).await.unwrap();
    plan_quantity(&app, id, 8).await;
    app.go_to("2026-03-31");
    assert_eq!((book(&app, None).await, quantity(&app, id).await), ((0, 0), 1), "not before its day");

    let before = app.history().await.len();
    assert_eq!(book(&app, Some("2026-04-01")).await, (0, 0), "a day to come changes nothing of today");
    assert_eq!((quantity(&app, id).await, app.history().await.len()), (1, before));

    app.go_to("2026-04-01");
    for done in [1, 0, 0] {
        assert_eq!((book(&app, None).await, quantity(&app, id).await), ((done, 0), 8));
    }
    assert_eq!(book(&app, Some("2026-03-20")).await, (0, 0), "a day that is past changes nothing of today");
    let history = app.history().await;
    assert_eq!(history.len(), before + 1, "one act, one entry");
    assert_eq!((history[0].action.as_str(), history[0].actor_name.as_str()), ("scale.followed", "system: renewals"));
    assert_eq!(
        history[0].sentence(&Locale::En),
        "The job renewals set the quantity of 竹简-预训练 from 1 to 8: the term from 2026-04-01 has begun"
    );
    let read = |change: &rentroll::audit::FieldChange| (change.before.clone(), change.after.clone());
    let change = history[0].changes().iter().find(|change| change.field == "quantity").map(read);
    assert_eq!(change, Some(("1".to_owned(), "8".to_owned())));
}

// Renewals may be written as if it were a later day; what is in use stays what it is.
#[tokio::test]
async fn a_renewal_written_with_a_pretended_date_leaves_the_quantity_in_use() {
    let app = TestApp::new().await;
    let id = app.open_environment_with("竹简-预训练", march(Renewal::Automatic)).await.id;
    renew(&app, id, Until::Cycles(1)).await.unwrap();
    plan_quantity(&app, id, 8).await;
    assert_eq!(book(&app, Some("2026-05-10")).await, (1, 0));
    assert_eq!((quantities(&app, id).await, quantity(&app, id).await), (vec![1, 8, 8], 1));
    assert_eq!(book(&app, None).await, (0, 0));
}

// A change that is recorded on the first day, before the job ran, starts from the quantity of the term that has begun.
#[tokio::test]
async fn a_change_starts_from_the_quantity_of_the_term_that_has_begun() {
    let app = TestApp::new().await;
    let id = app.open_environment_with("竹简-预训练", march(Renewal::OnRequest)).await.id;
    for _ in 0..2 {
        renew(&app, id, Until::Cycles(1)).await.unwrap();
        plan_quantity(&app, id, 8).await;
    }
    app.go_to("2026-04-01");
    let before = app.actions().await.len();
    resize(&app, id, "2026-04-01", 6).await.unwrap();
    let mut read = app.read().await;
    let changes = scale::of_environment(read.connection(), id).await.unwrap();
    assert_eq!((changes.len(), changes[0].shown()), (1, ("8".to_owned(), "6".to_owned())));
    assert_eq!((quantities(&app, id).await, quantity(&app, id).await), (vec![1, 8, 6], 6));
    assert_eq!(app.actions().await[before..], ["scale.followed", "term.changed", "scale.changed"]);
    assert_eq!(book(&app, None).await, (0, 0));
}

/// Four units until the end of March, still in use after it, and eight from 10 April on, before the renewal is written.
async fn grown_after_its_end(app: &TestApp, renewal: Renewal) -> EnvironmentId {
    let price = (Some(100.into()), Some("CNY".parse().unwrap()));
    let term = NewTerm { quantity: 4.into(), price: price.0, currency: price.1, ..march(renewal) };
    let id = app.open_environment_with("竹简-预训练", term).await.id;
    app.go_to("2026-04-10");
    assert_eq!(resize(app, id, "2026-04-10", 8).await.unwrap().quantity, 8.into());
    app.go_to("2026-04-15");
    id
}

#[tokio::test]
async fn a_late_renewal_begins_with_the_quantity_at_the_old_end() {
    let app = TestApp::new().await;
    let id = grown_after_its_end(&app, Renewal::OnRequest).await;
    let browser = app.sign_in(Role::Administrator).await;
    let page = browser.get(&format!("/environments/{}/renewals/new", id.0)).await;
    let preview = page.texts(".preview p");
    assert!(preview[0].contains("400.00"), "four units for a month: {preview:?}");
    renew(&app, id, Until::Cycles(1)).await.unwrap();
    assert_eq!((quantities(&app, id).await, quantity(&app, id).await), (vec![4, 4], 8));
    assert_eq!(book(&app, None).await, (0, 0), "what is in use is known already");
    renew(&app, id, Until::Cycles(1)).await.unwrap();
    assert_eq!(quantities(&app, id).await, [4, 4, 8], "the change was within the second term");
}

#[tokio::test]
async fn a_late_automatic_renewal_begins_with_the_quantity_at_the_old_end() {
    let app = TestApp::new().await;
    let id = grown_after_its_end(&app, Renewal::Automatic).await;
    app.go_to("2026-05-10");
    assert_eq!(book(&app, None).await, (1, 0));
    assert_eq!((quantities(&app, id).await, quantity(&app, id).await), (vec![4, 4, 8], 8));
}

// What has ended is not brought up to anything.
#[tokio::test]
async fn a_quantity_follows_only_what_is_in_use() {
    let app = TestApp::new().await;
    let id = app.open_environment_with("竹简-预训练", march(Renewal::OnRequest)).await.id;
    renew(&app, id, Until::Cycles(1)).await.unwrap();
    plan_quantity(&app, id, 8).await;
    let mut tx = app.write().await;
    let version = environment::get(tx.connection(), id).await.unwrap().version;
    environment::end(&mut tx, id, version, day("2026-03-20")).await.unwrap();
    tx.commit().await.unwrap();
    app.go_to("2026-04-02");
    assert_eq!((book(&app, None).await, quantity(&app, id).await), ((0, 0), 1));
}

// The rule of docs/model.md 6: a change goes on into terms written ahead, up to the first that says another quantity.
#[tokio::test]
async fn a_change_of_quantity_goes_on_into_terms_written_ahead() {
    let app = TestApp::new().await;
    let id = app.open_environment_with("竹简-预训练", march(Renewal::OnRequest)).await.id;
    for _ in 0..3 {
        renew(&app, id, Until::Cycles(1)).await.unwrap();
    }
    plan_quantity(&app, id, 8).await;
    let before = app.actions().await.len();
    resize(&app, id, "2026-03-10", 4).await.unwrap();
    assert_eq!(quantities(&app, id).await, [1, 4, 4, 8]);
    assert_eq!(quantity(&app, id).await, 4);
    assert_eq!(app.actions().await[before..], ["term.changed", "term.changed", "scale.changed"]);
    // A second change replaces the first one there too.
    resize(&app, id, "2026-03-12", 6).await.unwrap();
    assert_eq!(quantities(&app, id).await, [1, 6, 6, 8]);
    // What is written after the last term goes on with the last term's quantity, not with today's.
    assert_eq!(renew(&app, id, Until::Cycles(1)).await.unwrap().quantity, 8.into());
    for (today, in_use) in [("2026-04-10", 6), ("2026-05-10", 6), ("2026-06-10", 8)] {
        app.go_to(today);
        book(&app, None).await;
        assert_eq!(quantity(&app, id).await, in_use, "{today}");
    }
}

// After downtime: what was written ahead began and ended meanwhile, and the renewals that are missing go on from it.
#[tokio::test]
async fn missing_renewals_go_on_with_the_quantity_of_the_term_before_them() {
    let app = TestApp::new().await;
    let id = app.open_environment_with("竹简-预训练", march(Renewal::Automatic)).await.id;
    renew(&app, id, Until::Cycles(1)).await.unwrap();
    plan_quantity(&app, id, 8).await;
    app.go_to("2026-06-10");
    assert_eq!(book(&app, None).await, (1, 0));
    assert_eq!(quantities(&app, id).await, [1, 8, 8, 8]);
    assert_eq!(quantity(&app, id).await, 8);
    assert_eq!(book(&app, None).await, (0, 0));
}
