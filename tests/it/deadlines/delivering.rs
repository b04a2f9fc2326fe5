//! What becomes of a delivery when the mail server takes it, refuses it, is away, or says nothing.

use std::time::Duration;

use chrono::TimeDelta;
use rentroll::actor::Role;
use rentroll::app::App;
use rentroll::jobs::RunReport;
use rentroll::mail::{Deadlines, Mailbox, Mailer, Outbox, SmtpSettings};
use serde_json::Value;

use super::sql;
use crate::harness::smtp_sink::{At, Fault, SmtpSink};
use crate::harness::{TestApp, remind};

/// Long enough for a loaded machine to answer in, short enough to wait for.
const SHORT: Duration = Duration::from_secs(2);

fn from() -> Mailbox {
    "算力台账 <ledger@rentroll.example>".parse().unwrap()
}

/// A mailer that speaks to this sink and loses patience soon.
pub(crate) fn mailer_to(url: &str) -> Mailer {
    let mut settings = SmtpSettings::new(url.parse().unwrap(), from(), None).unwrap();
    settings.deadlines = Deadlines { connect: SHORT, hello: SHORT, command: SHORT, body: SHORT };
    Mailer::Smtp(settings)
}

/// The program with a mail server of its own, at ten in the morning of the day on which step 15 is due.
async fn with_sink() -> (TestApp, SmtpSink) {
    let sink = SmtpSink::start().await;
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", mailer_to(&sink.url())).await;
    (app, sink)
}

/// State, tries, reply of every delivery, oldest first, with whom it goes to.
pub(super) async fn deliveries(app: &TestApp) -> Vec<(String, String, i32, Option<String>)> {
    sqlx::query_as(
        "select p.email, v.state, v.attempts, v.reply from delivery v join person p on p.id = v.person_id
         order by v.created_at, v.escalates is not null, p.id",
    )
    .fetch_all(&mut app.database.superuser().await)
    .await
    .unwrap()
}

/// Phase and outcome of every attempt, oldest first.
async fn attempts(app: &TestApp) -> Vec<(String, String)> {
    sqlx::query_as("select phase, outcome from attempt order by id")
        .fetch_all(&mut app.database.superuser().await)
        .await
        .unwrap()
}

fn states(rows: &[(String, String, i32, Option<String>)]) -> Vec<&str> {
    rows.iter().map(|row| row.1.as_str()).collect()
}

async fn tick(app: &App) -> RunReport {
    remind(app, None).await
}

// cases E09, E10, E14 with a real conversation: each of the two gets one mail, under its delivery's id.
#[tokio::test]
async fn a_reminder_arrives_through_a_real_conversation() {
    let (app, sink) = with_sink().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    let report = app.remind_as_of("2026-03-18").await;
    assert_eq!((report.done, report.failed), (2, 0));
    let messages = sink.messages();
    let recipients: Vec<&str> = messages.iter().map(|it| it.rcpt_to[0].as_str()).collect();
    assert_eq!(recipients, ["owner@palmfan.example", "checker@palmfan.example"]);
    assert_eq!(sink.connections(), 1, "one conversation for both");
    for message in &messages {
        assert!(message.subject().starts_with("【还有 13 天】"), "{}", message.subject());
        assert_eq!(message.parts, ["text/plain", "text/html"]);
        assert!(message.text.contains("还有：　　　　13 天"), "{}", message.text);
        assert!(message.message_id().ends_with("@rentroll.example>"));
    }
    assert_ne!(messages[0].message_id(), messages[1].message_id());
    let rows = deliveries(&app).await;
    assert_eq!(states(&rows), ["sent", "sent"]);
    assert_eq!(rows[0].3.as_deref(), Some("250 2.0.0 queued as 4F1"), "the server's word is evidence");
    app.remind_as_of("2026-03-18").await;
    assert_eq!(sink.messages().len(), 2);
}

// case R36: the server is away at nine and back at twenty past.
#[tokio::test]
async fn what_fails_for_now_is_sent_once_when_the_server_is_back() {
    let app = TestApp::at("2026-03-16T01:00:00Z").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    let away = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let down = app.another(mailer_to(&format!("smtp://{away}")), None).await;
    let report = tick(&down).await;
    assert_eq!((report.matched, report.done, report.failed), (2, 0, 2));
    assert_eq!(report.skipped.get("later"), Some(&2));
    assert_eq!(states(&deliveries(&app).await), ["pending", "pending"]);
    assert_eq!(tick(&down).await.failed, 0, "not before its time");

    let sink = SmtpSink::start().await;
    let up = app.another(mailer_to(&sink.url()), None).await;
    let mut sent_after = None;
    for minutes in 1..=30 {
        app.app.clock.advance(TimeDelta::minutes(1));
        let engine = if minutes < 20 { &down } else { &up };
        if tick(engine).await.done > 0 {
            sent_after.get_or_insert(minutes);
        }
    }
    assert_eq!(sent_after, Some(21), "tried after 1, 5 and 21 minutes");
    assert_eq!(sink.messages().len(), 2);
    assert_eq!(app.actions().await.iter().filter(|action| *action == "reminder.sent").count(), 2);
}

// The contract: `--as-of` tries at once what failed for now in an earlier call, and comes back.
#[tokio::test]
async fn a_call_as_of_a_day_tries_again_at_once() {
    let (app, sink) = with_sink().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sink.script([Some(Fault::code(At::Rcpt, 451).for_recipient("owner@palmfan.example"))]);
    let report = app.remind_as_of("2026-03-16").await;
    assert_eq!((report.done, report.failed), (1, 1));
    let report = app.remind_as_of("2026-03-16").await;
    assert_eq!((report.done, report.failed), (1, 0));
    assert_eq!(states(&deliveries(&app).await), ["sent", "sent"]);
    assert_eq!(sink.messages().len(), 2);
}

// check C15: 4xx for three days, then yes; 550 for one of three; 554 after the dot.
#[tokio::test]
async fn a_server_that_says_later_for_three_days_gets_it_in_the_end() {
    let (app, sink) = with_sink().await;
    sql(&app, "update organisation set reminder_steps = '{15}'").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    let start = app.now();
    for code in [421, 450, 451, 452] {
        sink.script((0..4).map(|_| Some(Fault::code(At::Rcpt, code))));
    }
    sink.behave(Fault::code(At::Rcpt, 450));
    while app.now() - start < TimeDelta::hours(72) {
        tick(&app.app).await;
        app.app.clock.advance(TimeDelta::hours(1));
    }
    assert_eq!(states(&deliveries(&app).await), ["pending", "pending"]);
    let good = SmtpSink::start().await;
    let recovered = app.another(mailer_to(&good.url()), None).await;
    for _ in 0..12 {
        tick(&recovered).await;
        app.app.clock.advance(TimeDelta::minutes(30));
    }
    assert_eq!(states(&deliveries(&app).await), ["sent", "sent"]);
    assert_eq!(good.messages().len(), 2);
}

#[tokio::test]
async fn a_server_that_never_takes_it_is_given_up_and_shown() {
    let (app, sink) = with_sink().await;
    sql(&app, "update organisation set reminder_steps = '{15}'").await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sink.behave(Fault::code(At::Rcpt, 451).for_recipient("owner@palmfan.example"));
    for _ in 0..40 {
        tick(&app.app).await;
        app.app.clock.advance(TimeDelta::hours(2));
    }
    let rows = deliveries(&app).await;
    assert_eq!(states(&rows), ["dead", "sent"]);
    assert_eq!(rows[0].3.as_deref(), Some("451 scripted"));

    // Nobody tries it any more: the state of health says so until somebody does, or there is nothing left to tell.
    let given_up = async || {
        let health: Value = serde_json::from_str(&app.browser().get("/healthz").await.text()).unwrap();
        (health["status"].as_str().unwrap().to_owned(), health["given_up_reminders"]["count"].as_i64())
    };
    tick(&app.app).await;
    assert_eq!(given_up().await, ("degraded".to_owned(), Some(1)));
    let browser = app.sign_in(Role::Administrator).await;
    let link = browser.get("/deliveries?state=failed").await.attributes("table.deliveries th a", "href").remove(0);
    browser.submit(&link, "/retry", &[]).await;
    assert_eq!(given_up().await.1, Some(0));
    sql(&app, "update delivery set state = 'dead' where state = 'pending'").await;
    assert_eq!(given_up().await, ("degraded".to_owned(), Some(1)));
    sql(&app, "update deadline set closed = 'done'").await;
    tick(&app.app).await;
    assert_eq!(given_up().await, ("ok".to_owned(), Some(0)));
}

// A later mail about the same date reached the same person: nobody is left untold.
#[tokio::test]
async fn a_given_up_mail_is_made_good_by_a_later_one() {
    let (app, sink) = with_sink().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    app.remind().await;
    sql(&app, "update delivery set state = 'dead', sent_at = null").await;
    app.add_user("admin@palmfan.example", Role::Administrator).await;
    let count = async || {
        let health: Value = serde_json::from_str(&app.browser().get("/healthz").await.text()).unwrap();
        health["given_up_reminders"]["count"].as_i64()
    };
    assert_eq!(count().await, Some(2));
    app.go_to("2026-03-24");
    sink.behave(Fault::code(At::Rcpt, 550).for_recipient("checker@palmfan.example"));
    app.remind().await;
    assert_eq!(count().await, Some(1), "the checker still knows nothing; of the new one the administrator does");
    sql(&app, "update delivery set state = 'bounced', sent_at = null where escalates is not null").await;
    assert_eq!(count().await, Some(2), "nobody at all knows that the new one bounced");
}

// A server that repeats the recipient's address: what it says is kept for ever, the address is not.
#[tokio::test]
async fn what_the_server_says_is_kept_without_the_addresses_in_it() {
    let (app, sink) = with_sink().await;
    app.add_user("admin@palmfan.example", Role::Administrator).await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sink.behave(Fault::Echo);
    sink.behave(Fault::code(At::Rcpt, 550).for_recipient("owner@palmfan.example"));
    let report = app.remind().await;
    assert_eq!((report.done, report.failed), (2, 1));
    let browser = app.sign_in(Role::Administrator).await;
    let link = browser.get("/deliveries?state=bounced").await.attributes("table.deliveries th a", "href").remove(0);
    browser.submit(&link, "/retry", &[]).await;
    // An address to which nothing can be sent is named by the program itself.
    sql(&app, "update person set email = '李@palmfan.example' where email = 'owner@palmfan.example'").await;
    app.remind().await;

    let replies: Vec<String> = sqlx::query_scalar(
        "select reply from attempt union all select reply from delivery where reply is not null order by 1",
    )
    .fetch_all(&mut app.database.superuser().await)
    .await
    .unwrap();
    assert!(replies.contains(&"550 scripted: <…>".to_owned()), "{replies:?}");
    assert!(replies.contains(&"250 2.0.0 queued as 4F1: <…>".to_owned()), "{replies:?}");
    assert!(replies.iter().any(|reply| reply.contains("mail address")), "{replies:?}");
    assert!(replies.iter().all(|reply| !reply.contains("palmfan")), "{replies:?}");
    for entry in app.history().await {
        let bytes = String::from_utf8(entry.bytes).unwrap();
        assert!(!bytes.contains("palmfan.example"), "{bytes}");
    }
}

// check C15: one of three is refused for good; the others get theirs, and those in charge are told.
#[tokio::test]
async fn a_refused_recipient_costs_the_others_nothing_and_is_told_to_those_in_charge() {
    let (app, sink) = with_sink().await;
    app.add_user("admin@palmfan.example", Role::Administrator).await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sql(
        &app,
        "insert into person (name, email, created_at) values ('林小满', 'watcher@palmfan.example', now());
         insert into environment_watcher (project_id, environment_id, person_id)
         select e.project_id, e.id, p.id from environment e, person p where p.name = '林小满'",
    )
    .await;
    sink.behave(Fault::code(At::Rcpt, 550).for_recipient("owner@palmfan.example"));
    let report = app.remind_as_of("2026-03-18").await;
    assert_eq!((report.done, report.failed), (3, 1));
    let rows = deliveries(&app).await;
    assert_eq!(
        rows.iter().map(|row| (row.0.as_str(), row.1.as_str())).collect::<Vec<_>>(),
        [
            ("owner@palmfan.example", "bounced"),
            ("checker@palmfan.example", "sent"),
            ("watcher@palmfan.example", "sent"),
            ("admin@palmfan.example", "sent")
        ]
    );
    let told = sink.messages().pop().unwrap();
    assert_eq!(told.subject(), "【没人处理】竹简-预训练 还有 13 天到期，陈白露 的邮箱退信");
    assert!(told.text.contains("发给你，因为你是管理员，而 陈白露 的邮箱退信：550 scripted"), "{}", told.text);
    let again = app.remind_as_of("2026-03-18").await;
    assert_eq!((again.done, again.failed), (0, 0), "told once");

    // The managers come first, and somebody whose own mail bounces too is passed over.
    let manager = app.add_user("manager@palmfan.example", Role::Member).await;
    sql(&app, &format!("insert into membership (project_id, user_id, role, created_at) select id, {manager}, 'manager', now() from project")).await;
    sink.behave(Fault::code(At::Body, 554).for_recipient("manager@palmfan.example"));
    sink.behave(Fault::code(At::Dot, 554).for_recipient("manager@palmfan.example"));
    let report = app.remind_as_of("2026-03-24").await;
    assert_eq!((report.done, report.failed), (3, 2));
    let last: Vec<_> = deliveries(&app).await.into_iter().rev().take(2).map(|row| (row.0, row.1)).collect();
    assert!(last.contains(&("manager@palmfan.example".to_owned(), "bounced".to_owned())), "{last:?}");
    assert!(last.contains(&("admin@palmfan.example".to_owned(), "sent".to_owned())), "{last:?}");
}

// A dot without an answer: waited out, sent again twice at most, always the same bytes.
#[tokio::test]
async fn a_message_that_may_have_arrived_is_repeated_word_for_word_and_not_for_ever() {
    let (app, sink) = with_sink().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sql(&app, "update environment set checker_id = null").await;
    sink.behave(Fault::Drop(At::Dot));
    for _ in 0..60 {
        tick(&app.app).await;
        app.app.clock.advance(TimeDelta::minutes(1));
    }
    let rows = deliveries(&app).await;
    assert_eq!(states(&rows), ["dead"]);
    assert_eq!(attempts(&app).await, vec![("body".to_owned(), "ambiguous".to_owned()); 3]);
    let raw: Vec<String> = sink.messages().into_iter().map(|message| message.raw).collect();
    assert_eq!(raw.len(), 3, "one and two resends");
    assert!(raw.iter().all(|message| *message == raw[0]), "the same bytes");
}

// A fault of the settings stops the channel and nothing else: all stay, none is charged a try.
#[tokio::test]
async fn refused_settings_stop_the_channel_and_cost_nothing() {
    let sink = SmtpSink::start().await.with_auth("gpu", "right");
    let url = sink.url().replace("right", "wrong");
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", mailer_to(&url)).await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    let report = app.remind().await;
    assert_eq!((report.done, report.failed), (0, 1));
    let connections = sink.connections();
    let report = app.remind().await;
    assert_eq!(report.skipped.get("settings"), Some(&2));
    assert_eq!(sink.connections(), connections, "the account must not get locked");
    let rows = deliveries(&app).await;
    assert_eq!(rows.iter().map(|row| (row.1.as_str(), row.2)).collect::<Vec<_>>(), [("pending", 0), ("pending", 0)]);

    let good = app.another(mailer_to(&sink.url()), None).await;
    app.app.clock.advance(TimeDelta::minutes(11));
    assert_eq!(tick(&good).await.done, 2);
}

// case E11: the address counts at the time of sending.
#[tokio::test]
async fn a_changed_address_gets_the_mail_that_waits() {
    let (app, sink) = with_sink().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sink.script([Some(Fault::code(At::Mail, 451)), Some(Fault::code(At::Mail, 451))]);
    assert_eq!(tick(&app.app).await.done, 0);
    sql(&app, "update person set email = 'new@palmfan.example' where email = 'owner@palmfan.example'").await;
    app.app.clock.advance(TimeDelta::minutes(2));
    assert_eq!(tick(&app.app).await.done, 2);
    let recipients: Vec<String> = sink.messages().into_iter().flat_map(|message| message.rcpt_to).collect();
    assert_eq!(recipients, ["new@palmfan.example", "checker@palmfan.example"]);
}

// A date that moves while its mail waits takes the mail back, and back again brings it again.
#[tokio::test]
async fn a_mail_that_waits_is_taken_back_when_its_date_moves() {
    let (app, sink) = with_sink().await;
    app.open_environment("竹简-预训练", "2025-04-01", Some("2026-03-31")).await;
    sink.script([Some(Fault::code(At::Mail, 451)), Some(Fault::code(At::Mail, 451))]);
    tick(&app.app).await;
    sql(&app, "update deadline set due_on = '2026-12-31'").await;
    app.app.clock.advance(TimeDelta::minutes(2));
    let report = tick(&app.app).await;
    assert_eq!((report.done, report.skipped.get("withdrawn")), (0, Some(&2)));
    assert_eq!(states(&deliveries(&app).await), ["cancelled", "cancelled"]);
    sql(&app, "update deadline set due_on = '2026-03-31'").await;
    assert_eq!(tick(&app.app).await.done, 2);
    assert_eq!(sink.messages().len(), 2);
}

// Mail is not set up: each mail lies in the outbox once and counts as waiting; it goes when there is a server, unless a
// later step has taken its place.
#[tokio::test]
async fn without_a_server_mails_wait_in_the_outbox_and_go_later() {
    let app = TestApp::new().await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    let folder = app.folder().join("outbox");
    let outbox = Mailer::Directory(Outbox { path: folder.clone(), from: from() });
    let waiting = app.another(outbox, None).await;
    let files = || {
        let mut names: Vec<String> =
            folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    for _ in 0..3 {
        let report = tick(&waiting).await;
        assert_eq!((report.done, report.failed, report.skipped.get("outbox")), (0, 0, Some(&2)));
        assert_eq!(files().len(), 2);
    }
    let rows = deliveries(&app).await;
    assert_eq!((states(&rows), rows[0].3.as_deref()), (vec!["pending", "pending"], Some("outbox")));

    app.go_to("2026-03-24");
    let report = tick(&waiting).await;
    assert_eq!((report.skipped.get("superseded"), report.skipped.get("outbox")), (Some(&2), Some(&2)));
    assert_eq!(files().len(), 2, "the next step is another mail, and the one before it does not lie there any more");
    assert_eq!(tick(&waiting).await.skipped.get("outbox"), Some(&2));

    app.go_to("2026-03-25");
    let sink = SmtpSink::start().await;
    let set_up = app.another(mailer_to(&sink.url()), None).await;
    let report = tick(&set_up).await;
    assert_eq!((report.done, report.skipped.len()), (2, 0));
    assert!(sink.messages()[0].subject().starts_with("【还有 6 天】"), "{}", sink.messages()[0].subject());
    assert_eq!(sink.messages().len(), 2);
}

// A pretended day ahead beside a running program without a mail server: what it told is not told again by the true day, and
// a mail that was replaced or taken back does not stay in the folder.
#[tokio::test]
async fn a_pretended_day_ahead_leaves_one_mail_each_in_the_outbox() {
    let app = TestApp::new().await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    let folder = app.folder().join("outbox");
    let outbox = Outbox { path: folder.clone(), from: from() };
    let waiting = app.another(Mailer::Directory(outbox.clone()), None).await;
    let files = async || {
        let mut names = outbox.names().await.unwrap();
        names.sort();
        names
    };
    tick(&waiting).await;
    let today = files().await;
    assert_eq!(today.len(), 2);
    std::fs::write(folder.join("invitation@rentroll.example.eml"), "not a reminder").unwrap();
    // One that somebody has cleared away already.
    std::fs::remove_file(folder.join(&today[0])).unwrap();

    let report = remind(&waiting, Some("2026-03-30")).await;
    assert_eq!(report.skipped.get("superseded"), Some(&2));
    let ahead = files().await;
    assert_eq!(ahead.len(), 3);
    assert!(!ahead.contains(&today[1]), "replaced");
    for day in ["2026-03-16", "2026-03-17", "2026-03-24"] {
        app.go_to(day);
        let report = tick(&waiting).await;
        assert_eq!((report.skipped.get("outbox"), report.skipped.get("superseded")), (Some(&2), None), "{day}");
        assert_eq!(files().await, ahead, "{day}");
    }
    let rows = deliveries(&app).await;
    let mut states = states(&rows);
    states.sort_unstable();
    assert_eq!(states, ["cancelled", "cancelled", "pending", "pending"]);

    app.go_to("2026-03-31");
    tick(&waiting).await;
    let last_day = files().await;
    assert_eq!(last_day.len(), 3);
    assert!(
        last_day.iter().filter(|name| ahead.contains(name)).eq(["invitation@rentroll.example.eml"]),
        "{last_day:?}"
    );
    sql(&app, "update deadline set due_on = '2026-12-31'").await;
    assert_eq!(tick(&waiting).await.skipped.get("withdrawn"), Some(&2));
    assert_eq!(files().await, ["invitation@rentroll.example.eml"]);
}

// A mail that a run with a pretended date left in the outbox is nothing that a server may send ahead of its day.
#[tokio::test]
async fn a_mail_ahead_of_its_day_in_the_outbox_is_not_sent_by_the_server_that_is_set_up_then() {
    let sink = SmtpSink::start().await;
    let app = TestApp::new().await;
    app.open_environment("甲", "2025-04-01", Some("2026-03-31")).await;
    let outbox = Outbox { path: app.folder().join("outbox"), from: from() };
    let waiting = app.another(Mailer::Directory(outbox), None).await;
    remind(&waiting, Some("2026-03-31")).await;
    let server = app.another(mailer_to(&sink.url()), None).await;
    app.go_to("2026-03-16");
    assert_eq!(tick(&server).await.skipped.get("withdrawn"), Some(&2), "the last day's mail does not go out");
    tick(&server).await;
    let said: Vec<_> = sink.messages().iter().map(|mail| mail.subject().to_owned()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said.iter().all(|subject| subject.starts_with("【还有 15 天】")), "{said:?}");
    app.go_to("2026-03-31");
    tick(&server).await;
    assert_eq!(sink.messages().len(), 4, "the last day has its own mail");
}

// What came of one mail cannot be written down: the others have their entries, and nothing further is begun.
#[tokio::test]
async fn a_mail_that_cannot_be_booked_keeps_no_other_from_its_entry() {
    let app = TestApp::new().await;
    for name in ["甲", "乙"] {
        app.open_environment(name, "2025-04-01", Some("2026-03-31")).await;
    }
    sql(
        &app,
        "create function refuse() returns trigger language plpgsql security definer as $$
         begin
             if exists (select 1 from delivery v join environment e on e.id = v.environment_id
                        where v.id = new.delivery_id and e.name = '甲') then
                 raise exception 'not this one';
             end if;
             return new;
         end $$",
    )
    .await;
    sql(&app, "create trigger refuse before insert on attempt for each row execute function refuse()").await;
    app.go_to("2026-03-16");
    let job = rentroll::jobs::find("reminders").unwrap();
    rentroll::jobs::run(&app.app, job, None).await.unwrap_err();
    let mut booked: Vec<(String, String)> = sqlx::query_as(
        "select e.name, v.state from delivery v join environment e on e.id = v.environment_id order by 1, 2",
    )
    .fetch_all(&mut app.database.superuser().await)
    .await
    .unwrap();
    booked.sort();
    let expected = [("乙", "sent"), ("乙", "sent"), ("甲", "leased"), ("甲", "leased")];
    assert_eq!(booked, expected.map(|(name, state)| (name.to_owned(), state.to_owned())));
    assert_eq!(app.mails().len(), 4);
}
