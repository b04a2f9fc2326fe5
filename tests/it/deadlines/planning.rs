//! Which reminders go out on which day.

use rentroll::dates::{Notice, Renewal};
use rentroll::deadlines::reminder::{self, ReminderFilter};
use rentroll::environments::environment::Environment;
use rentroll::environments::term::{self, NewTerm};
use rentroll::mail::Outgoing;

use super::{day, sql};
use crate::harness::TestApp;

/// Who got which subject, in the order of sending.
fn subjects(mails: &[Outgoing]) -> Vec<(String, String)> {
    mails.iter().map(|mail| (mail.to.address().to_owned(), mail.subject.clone())).collect()
}

/// The days on which the owner got a mail, by ticks at ten in the morning of every day.
async fn days_with_mail(app: &TestApp, from: &str, to: &str) -> Vec<String> {
    let mut days = Vec::new();
    for today in day(from).iter_days().take_while(|today| *today <= day(to)) {
        app.go_to(&today.to_string());
        let before = app.mails().len();
        app.remind().await;
        let mails = app.mails();
        days.extend(
            mails[before..]
                .iter()
                .filter(|mail| mail.to.address() == "owner@palmfan.example")
                .map(|_| today.to_string()),
        );
    }
    days
}

async fn move_end(app: &TestApp, environment: &Environment, ends_on: &str) {
    let mut tx = app.write().await;
    let last = term::last(tx.connection(), environment.id).await.unwrap();
    let new = NewTerm { ends_on: Some(day(ends_on)), ..last.facts() };
    term::change(&mut tx, last.id, last.version, &new).await.unwrap();
    tx.commit().await.unwrap();
}

// The issue's own example; case R01.
#[tokio::test]
async fn a_missed_day_is_caught_up_once_and_a_moved_date_is_told_again() {
    let app = TestApp::at("2026-12-01T05:00:00Z").await;
    let environment = app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    let nothing = app.remind_as_of("2026-03-15").await;
    assert_eq!((nothing.checked, nothing.matched, nothing.done), (1, 0, 0));
    assert_eq!(app.mails().len(), 0);

    let report = app.remind_as_of("2026-03-18").await;
    assert_eq!((report.matched, report.done, report.failed), (2, 2, 0));
    let subject = "【还有 13 天】竹简-预训练 到期，3月31日（周二）前定是否续费".to_owned();
    assert_eq!(
        subjects(&app.mails()),
        [("owner@palmfan.example".to_owned(), subject.clone()), ("checker@palmfan.example".to_owned(), subject)]
    );
    let again = app.remind_as_of("2026-03-18").await;
    assert_eq!((again.matched, again.done, again.is_idle()), (0, 0, true));
    assert_eq!(app.mails().len(), 2);
    let sent = app.actions().await.into_iter().filter(|action| action == "reminder.sent").count();
    assert_eq!(sent, 2, "each mail is history");
    assert_eq!(app.history().await[0].as_of, Some(day("2026-03-18")));

    move_end(&app, &environment, "2026-04-30").await;
    assert_eq!(app.remind_as_of("2026-04-14").await.done, 0);
    assert_eq!(app.remind_as_of("2026-04-15").await.done, 2);
    assert_eq!(app.mails()[2].subject, "【还有 15 天】竹简-预训练 到期，4月30日（周四）前定是否续费");
}

// A tick of the true day, months later, must not take the rest of those days for mails that were missed.
#[tokio::test]
async fn a_pretended_date_in_the_past_leaves_the_true_day_alone() {
    let app = TestApp::at("2026-12-01T05:00:00Z").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    app.remind_as_of("2026-03-15").await;
    app.remind().await;
    assert_eq!(app.mails().len(), 0);
    app.remind_as_of("2026-03-18").await;
    app.remind().await;
    app.remind_as_of("2026-03-18").await;
    assert_eq!(app.mails().len(), 2);
}

// A mistyped year: the step of that day went out, and every other one goes out on its own day.
#[tokio::test]
async fn a_pretended_date_ahead_silences_no_step_before_it() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    app.go_to("2026-03-10");
    assert_eq!(app.remind_as_of("2026-04-23").await.done, 2);
    let mut read = app.read().await;
    let filter = ReminderFilter { state: Some("superseded".into()), ..Default::default() };
    assert_eq!(reminder::list(&mut read, &filter, 100).await.unwrap().len(), 0);
    read.end().await.unwrap();
    assert_eq!(
        days_with_mail(&app, "2026-03-11", "2026-04-30").await,
        [
            "2026-03-16",
            "2026-03-24",
            "2026-03-28",
            "2026-03-30",
            "2026-03-31",
            "2026-04-01",
            "2026-04-08",
            "2026-04-15",
            "2026-04-29"
        ]
    );
}

// case R02, case R30
#[tokio::test]
async fn a_tick_every_half_minute_sends_one_mail_in_a_day() {
    let app = TestApp::at("2026-03-16T00:58:00Z").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    for _ in 0..12 {
        app.app.clock.advance(chrono::TimeDelta::seconds(30));
        app.remind().await;
    }
    assert_eq!(app.mails().len(), 2, "one for the owner, one for the checker");
    let rows: Vec<(i64, i64, i32)> =
        sqlx::query_as("select matched, done, runs from job_run order by id").fetch_all(&app.app.db).await.unwrap();
    // Before nine: held back; at nine: sent; after it idle runs, folded into one row.
    assert_eq!(rows, [(2, 0, 3), (2, 2, 1), (0, 0, 8)]);
}

// case R04, case R05, case R17, case R42
#[tokio::test]
async fn every_step_is_one_mail_and_a_renewed_term_is_told_for_its_own_date() {
    let app = TestApp::new().await;
    sql(&app, "update organisation set reminder_steps = '{15,7,1,0}'").await;
    let environment = app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    assert_eq!(
        days_with_mail(&app, "2026-03-10", "2026-04-01").await,
        ["2026-03-16", "2026-03-24", "2026-03-30", "2026-03-31", "2026-04-01"],
        "and one when it is overdue"
    );
    move_end(&app, &environment, "2026-06-30").await;
    assert_eq!(days_with_mail(&app, "2026-04-02", "2026-06-16").await, ["2026-06-15"]);
    move_end(&app, &environment, "2027-06-30").await;
    assert_eq!(days_with_mail(&app, "2026-06-17", "2026-07-20").await, Vec::<String>::new());
}

// case R29
#[tokio::test]
async fn one_step_is_one_mail_in_its_whole_window() {
    let app = TestApp::new().await;
    sql(&app, "update organisation set reminder_steps = '{15}'").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    assert_eq!(days_with_mail(&app, "2026-03-10", "2026-03-31").await, ["2026-03-16"]);
}

// case R16
#[tokio::test]
async fn a_term_that_never_renews_is_told_before_and_after_its_end() {
    let app = TestApp::new().await;
    sql(&app, "update organisation set reminder_steps = '{15}'").await;
    let term = NewTerm { renewal: Renewal::Never, ..NewTerm::between(day("2025-04-01"), Some(day("2026-03-31"))) };
    app.open_environment_with("竹简-终训", term).await;
    let days = days_with_mail(&app, "2026-03-10", "2026-07-01").await;
    // Once on the day after, then weekly, eight weeks at most.
    assert_eq!(days[..4], ["2026-03-16", "2026-04-01", "2026-04-08", "2026-04-15"]);
    assert_eq!(days.last().unwrap(), "2026-05-20");
    assert_eq!(days.len(), 9);
    assert!(app.mails().last().unwrap().subject.starts_with("【已到期 50 天】"));
}

// case R27, case R28
#[tokio::test]
async fn what_is_not_in_use_is_never_told() {
    let app = TestApp::at("2026-03-16T00:59:00Z").await;
    let environment = app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    app.remind().await;
    sql(&app, &format!("update environment set status = 'voided' where id = {}", environment.id)).await;
    app.app.clock.advance(chrono::TimeDelta::minutes(1));
    assert_eq!(app.remind().await.matched, 0);
    app.go_to("2026-03-21");
    sql(&app, &format!("update environment set status = 'active' where id = {}", environment.id)).await;
    assert_eq!(app.remind().await.done, 2);
    assert!(app.mails()[0].subject.starts_with("【还有 10 天】"), "{}", app.mails()[0].subject);
}

// case R32: the organisation's rule holds where a record has none of its own, and moves with it.
#[tokio::test]
async fn a_changed_rule_moves_the_mails_of_those_that_follow_it() {
    let app = TestApp::new().await;
    let follows = app.open_environment("跟随", "2025-04-01", Some("2026-03-31")).await;
    let own = app.open_environment("自定", "2025-04-01", Some("2026-03-31")).await;
    sql(&app, &format!("update environment set reminder_steps = '{{3}}' where id = {}", own.id)).await;
    app.go_to("2026-03-10");
    app.remind().await;
    sql(&app, "update organisation set reminder_steps = '{20}'").await;
    app.go_to("2026-03-11");
    assert_eq!(app.remind().await.done, 2);
    assert!(app.mails()[0].subject.contains("跟随"), "{}", follows.name);
    assert_eq!(days_with_mail(&app, "2026-03-12", "2026-03-31").await, ["2026-03-28"]);
}

// case R37
#[tokio::test]
async fn what_has_no_end_is_never_told() {
    let app = TestApp::new().await;
    app.open_environment("竹简-调试池", "2025-04-01", None).await;
    let report = app.remind().await;
    assert_eq!((report.checked, report.matched), (0, 0));
}

// case R34: everything due is told, the soonest first, however much it is.
#[tokio::test]
async fn sixty_due_environments_are_sixty_mails_each_soonest_first() {
    let app = TestApp::new().await;
    for i in 0..60 {
        let ends_on = day("2026-03-31") - chrono::Days::new(i % 7);
        app.open_environment(&format!("环境 {i:02}"), "2025-04-01", Some(&ends_on.to_string())).await;
    }
    let report = app.remind().await;
    assert_eq!((report.checked, report.matched, report.done), (60, 120, 120));
    let left: Vec<i64> = app
        .mails()
        .iter()
        .map(|mail| mail.subject.trim_start_matches("【还有 ").split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(left.is_sorted(), "{left:?}");
}

// The notice and the end of one environment that fall due together are one mail.
#[tokio::test]
async fn dates_of_one_environment_that_fall_due_together_are_one_mail() {
    let app = TestApp::new().await;
    let term = NewTerm {
        renewal: Renewal::Automatic,
        notice: Notice::parse("2 days").unwrap(),
        ..NewTerm::between(day("2025-04-01"), Some(day("2026-03-31")))
    };
    app.open_environment_with("竹简-预训练", term).await;
    app.go_to("2026-03-16");
    assert_eq!(app.remind().await.done, 2);
    let mails = app.mails();
    assert!(mails[0].subject.starts_with("【还有 13 天】竹简-预训练 不续须在"), "{}", mails[0].subject);
    assert!(mails[0].text.contains("还有 15 天到期"), "{}", mails[0].text);
}

// case C05 and model 7: owner and checker being the same person is one mail.
#[tokio::test]
async fn one_person_in_two_parts_gets_one_mail() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sql(&app, "update environment set checker_id = owner_id").await;
    assert_eq!(app.remind().await.done, 1);
    assert!(app.mails()[0].text.contains("你是负责人、复核人"), "{}", app.mails()[0].text);
}

// check C17
#[tokio::test]
async fn nobody_to_tell_is_told_to_those_in_charge() {
    let app = TestApp::new().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sql(&app, "update environment set checker_id = null").await;
    sql(&app, "update person set email = null").await;
    let report = app.remind().await;
    assert_eq!((report.done, report.skipped.get("nobody")), (0, Some(&1)));

    app.add_user("admin@palmfan.example", rentroll::actor::Role::Administrator).await;
    assert_eq!(app.remind().await.done, 1);
    let mail = app.mails().pop().unwrap();
    assert_eq!(mail.to.address(), "admin@palmfan.example");
    assert_eq!(mail.subject, "【没人处理】竹简-预训练 还有 15 天到期，没有能收到邮件的负责人");

    let manager = app.add_user("manager@palmfan.example", rentroll::actor::Role::Member).await;
    sql(
        &app,
        &format!(
            "insert into membership (project_id, user_id, role, created_at) select id, {manager}, 'manager', now() from project"
        ),
    )
    .await;
    assert_eq!(app.remind().await.done, 1);
    assert_eq!(app.mails().pop().unwrap().to.address(), "manager@palmfan.example");
}

// check C18: an outage of twenty days across due dates, two steps and the end itself.
#[tokio::test]
async fn after_a_long_outage_the_latest_step_goes_out_once_and_says_that_it_is_late() {
    let app = TestApp::new().await;
    for (name, ends_on) in [("甲", "2026-04-05"), ("乙", "2026-03-25"), ("丙", "2026-06-30")] {
        app.open_environment(name, "2025-04-01", Some(ends_on)).await;
    }
    app.go_to("2026-03-08");
    app.remind().await;
    assert_eq!(app.mails().len(), 0);
    app.go_to("2026-03-29");
    let report = app.remind().await;
    assert_eq!(report.done, 4);
    assert_eq!(app.remind().await.done, 0);
    let mails = app.mails();
    let of = |name: &str| mails.iter().find(|mail| mail.subject.contains(name)).unwrap();
    assert!(of("甲").subject.starts_with("【还有 7 天】"), "on its day");
    assert!(!of("甲").text.contains("迟发"));
    assert!(of("乙").subject.starts_with("【已到期 4 天】"));
    assert!(of("乙").text.contains("本应 3月26日（周四）发出，迟发。"), "{}", of("乙").text);
    let mut read = app.read().await;
    let filter = ReminderFilter { state: Some("superseded".into()), ..Default::default() };
    let superseded = reminder::list(&mut read, &filter, 100).await.unwrap();
    assert_eq!(superseded.len(), 12, "one step of 甲 and five of 乙, for two people");
}

// case R25, check C19: nine in the morning is nine in the morning, also after the clocks change.
#[tokio::test]
async fn the_hour_of_sending_is_that_of_the_organisations_clocks() {
    let app = TestApp::new().await;
    sql(&app, "update organisation set zone = 'Europe/Berlin', reminder_steps = '{2,1}'").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-10-26")).await;
    let mut sent = Vec::new();
    let start: chrono::DateTime<chrono::Utc> = "2026-10-24T06:30:00Z".parse().unwrap();
    for minutes in (0..48 * 60).step_by(30) {
        app.app.clock.set(start + chrono::TimeDelta::minutes(minutes));
        if app.remind().await.done > 0 {
            sent.push(app.now().to_rfc3339());
        }
    }
    assert_eq!(sent, ["2026-10-24T07:00:00+00:00", "2026-10-25T08:00:00+00:00"]);
}
