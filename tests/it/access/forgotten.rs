//! A forgotten password: the link that a person asks for at the door.

use std::time::Duration;

use axum::http::StatusCode;
use rentroll::access::{one_time_link, user};
use rentroll::actor::Role;
use rentroll::ids::UserId;
use rentroll::mail::{Mailbox, Mailer, Outbox};

use crate::deadlines::mailer_to;
use crate::harness::smtp_sink::{At, Fault, SmtpSink};
use crate::harness::{Answer, Browser, PASSWORD, TestApp};

const NEW: &str = "nine quiet harbours in the fog";

async fn ask(browser: &Browser, address: &str) -> Answer {
    browser.submit("/forgotten-password", "/forgotten-password", &[("email", address)]).await
}

/// The history's entries about wishes for a link, once there are so many: they are written after the answer.
async fn wishes(app: &TestApp, count: usize) -> Vec<String> {
    for _ in 0..200 {
        let entries: Vec<String> = app
            .history()
            .await
            .into_iter()
            .filter(|entry| entry.action == "user.link_asked")
            .map(|entry| entry.actor_name)
            .collect();
        if entries.len() >= count {
            return entries;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("fewer than {count} wishes in the history");
}

/// The path of the link in the newest mail, once there are so many mails.
async fn link(app: &TestApp, mails: usize) -> String {
    for _ in 0..200 {
        if let Some(mail) = app.mails().get(mails - 1) {
            let at = mail.text.find("/choose-password/").expect("a link");
            return mail.text[at..].split_whitespace().next().unwrap().to_owned();
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("no mail {mails}");
}

#[tokio::test]
async fn a_person_who_forgot_the_password_chooses_another_through_one_mail() {
    let app = TestApp::new().await;
    let elsewhere = app.sign_in(Role::Member).await;
    let browser = app.browser();
    assert!(browser.get("/sign-in").await.attributes("main a", "href").contains(&"/forgotten-password".to_owned()));
    let answer = ask(&browser, "MEMBER@palmfan.example").await;
    assert_eq!((answer.status, answer.location().as_str()), (StatusCode::SEE_OTHER, "/forgotten-password/asked"));
    let page = browser.get("/forgotten-password/asked").await;
    assert!(page.texts("main p")[0].contains("60 分钟"), "{:?}", page.texts("main p"));

    let first = link(&app, 1).await;
    let mail = app.mails().remove(0);
    assert_eq!(mail.to.address(), "member@palmfan.example");
    assert!(mail.subject.contains("重设") && mail.text.contains("60 分钟") && !mail.text.contains("72 小时"));
    assert_eq!(elsewhere.get("/account").await.status, StatusCode::OK, "a wish alone changes nothing");
    app.browser().sign_in("member@palmfan.example").await;

    // Once: the others end with the one that is used.
    ask(&browser, "member@palmfan.example").await;
    let second = link(&app, 2).await;
    assert_eq!(browser.get(&first).await.status, StatusCode::OK);
    let answer = browser.submit(&second, &second, &[("password", NEW), ("password_again", NEW)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    assert_eq!(browser.get("/account").await.status, StatusCode::OK);
    for used in [&first, &second] {
        assert_eq!(browser.get(used).await.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(elsewhere.get("/account").await.status, StatusCode::SEE_OTHER, "signed out everywhere else");
    let old = [("email", "member@palmfan.example"), ("password", PASSWORD)];
    let answer = app.browser().submit("/sign-in", "/sign-in", &old).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(wishes(&app, 2).await, ["member", "member"]);
    assert!(app.actions().await.contains(&"user.password_changed".to_owned()));

    // It lasts an hour.
    ask(&browser, "member@palmfan.example").await;
    let third = link(&app, 3).await;
    app.app.clock.advance(chrono::TimeDelta::minutes(61));
    assert_eq!(app.browser().get(&third).await.status, StatusCode::NOT_FOUND);
}

// Whoever asks at the door has not said who they are: the wish takes nothing from the person.
#[tokio::test]
async fn a_stranger_who_asks_takes_no_invitation_away() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let fields = [("name", "林小满"), ("email", "xiaoman@palmfan.example"), ("right", "member")];
    administrator.submit("/people/new", "/people", &fields).await;
    let invitation = link(&app, 1).await;
    for _ in 0..2 {
        ask(&app.browser(), "xiaoman@palmfan.example").await;
    }
    let asked = link(&app, 3).await;
    let browser = app.browser();
    for link in [&invitation, &asked] {
        assert_eq!(browser.get(link).await.status, StatusCode::OK);
    }
    let answer = browser.submit(&invitation, &invitation, &[("password", NEW), ("password_again", NEW)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    assert_eq!(app.browser().get(&asked).await.status, StatusCode::NOT_FOUND, "all end with the one that is used");
}

#[tokio::test]
async fn an_unknown_address_and_an_ended_log_in_are_answered_alike_and_get_no_mail() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let ended = app.add_user("ended@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    user::disable(&mut tx, ended, 1).await.unwrap();
    tx.commit().await.unwrap();
    let mut answers = Vec::new();
    for address in ["administrator@palmfan.example", "ended@palmfan.example", "unknown@palmfan.example"] {
        let answer = ask(&app.browser(), address).await;
        answers.push((answer.status, answer.location(), answer.bytes.len()));
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    link(&app, 1).await;
    let mut who = wishes(&app, 3).await;
    who.sort_unstable();
    assert_eq!(who, ["administrator", "ended", "unknown account"]);
    assert_eq!(app.mails().len(), 1, "only who may sign in gets a link");
    assert_eq!(administrator.get("/account").await.status, StatusCode::OK);
    // What was typed is not kept, and the history reads as a sentence.
    for entry in app.history().await.iter().filter(|entry| entry.action == "user.link_asked") {
        assert!(!String::from_utf8_lossy(&entry.bytes).contains("palmfan"));
        assert!(entry.sentence(&rentroll::locale::Locale::ZhCn).contains("申请"));
    }
}

#[tokio::test]
async fn nobodys_mailbox_is_filled() {
    let app = TestApp::new().await;
    app.add_user("member@palmfan.example", Role::Member).await;
    for address in ["member@palmfan.example", "unknown@palmfan.example"] {
        for _ in 0..3 {
            assert_eq!(ask(&app.browser(), address).await.status, StatusCode::SEE_OTHER);
        }
        let answer = ask(&app.browser(), address).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(answer.texts("[role=alert]")[0].contains("15 分钟"), "{:?}", answer.texts("[role=alert]"));
        assert_eq!(answer.attributes("#email", "value"), [address], "what was typed comes back");
    }
    wishes(&app, 6).await;
    assert_eq!(app.mails().len(), 3);
    // Wishes are no failed sign-ins.
    app.browser().sign_in("member@palmfan.example").await;
    let answer = ask(&app.browser(), "no address").await;
    assert_eq!(answer.texts("#email-error").len(), 1);
}

/// A program that mails through a server of its own, and somebody who can sign in.
async fn with_sink() -> (TestApp, SmtpSink) {
    let sink = SmtpSink::start().await;
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", mailer_to(&sink.url())).await;
    app.add_user("member@palmfan.example", Role::Member).await;
    (app, sink)
}

/// Lets minutes pass by the program's clock, a few at a time, until it is so.
async fn minutes_pass(app: &TestApp, each: i64, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..60 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        app.app.clock.advance(chrono::TimeDelta::minutes(each));
    }
    panic!("it never came to be so");
}

/// Why mails with a link did not go out, as the history tells it.
async fn not_mailed(app: &TestApp) -> Vec<String> {
    let entries = app.history().await.into_iter().filter(|entry| entry.action == "user.link_not_mailed");
    entries.map(|entry| entry.sentence(&rentroll::locale::Locale::En)).collect()
}

// A server that puts strangers off at first gets the mail once it takes it.
#[tokio::test]
async fn a_link_that_cannot_be_mailed_for_now_is_mailed_a_little_later() {
    let (app, sink) = with_sink().await;
    sink.script([Some(Fault::code(At::Rcpt, 451)), Some(Fault::Drop(At::Greeting))]);
    ask(&app.browser(), "member@palmfan.example").await;
    minutes_pass(&app, 1, async || !sink.messages().is_empty()).await;
    assert_eq!((sink.messages().len(), sink.connections()), (1, 3));
    let text = sink.messages()[0].text.clone();
    let link = text[text.find("/choose-password/").unwrap()..].split_whitespace().next().unwrap().to_owned();
    assert_eq!(app.browser().get(&link).await.status, StatusCode::OK);
    assert_eq!(not_mailed(&app).await, Vec::<String>::new());
}

// What does not go out is seen by whoever can help, and tried no more often than it may be of use.
#[tokio::test]
async fn a_link_that_was_not_mailed_stands_in_the_history() {
    for (fault, tries, said) in [
        (Fault::code(At::Rcpt, 451), 4, "451 scripted: <…>"),
        (Fault::code(At::Rcpt, 550), 1, "550 scripted: <…>"),
        (Fault::code(At::Mail, 530), 1, "wants a sign-in first"),
        (Fault::Drop(At::Dot), 1, "It may arrive or not"),
    ] {
        let (app, sink) = with_sink().await;
        sink.behave(Fault::Echo);
        sink.behave(fault.clone());
        ask(&app.browser(), "member@palmfan.example").await;
        minutes_pass(&app, 2, async || !not_mailed(&app).await.is_empty()).await;
        let told = not_mailed(&app).await;
        assert!(told[0].contains("could not mail member") && told[0].contains(said), "{fault:?}: {told:?}");
        assert_eq!((told.len(), sink.connections()), (1, tries), "{fault:?}");
        let administrator = app.sign_in(Role::Administrator).await;
        let person = administrator.get("/people?q=member").await.attributes("main table a", "href").remove(0);
        assert!(administrator.get(&person).await.text().contains("没能把重设密码的链接发给"), "on the person's page");
        for entry in app.history().await {
            assert!(!String::from_utf8_lossy(&entry.bytes).contains("palmfan"));
        }
    }
}

#[tokio::test]
async fn the_end_of_the_program_leaves_no_mail_waiting_in_silence() {
    let (app, sink) = with_sink().await;
    sink.behave(Fault::code(At::Rcpt, 451));
    ask(&app.browser(), "member@palmfan.example").await;
    while sink.connections() == 0 {
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let begun = tokio::time::Instant::now();
    app.app.background.end(begun + Duration::from_secs(30)).await;
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert!(not_mailed(&app).await[0].contains("451"));
}

// Whoever found the password again, or was given another link, waits for no mail.
#[tokio::test]
async fn a_link_that_ended_is_not_mailed_any_more() {
    let (app, sink) = with_sink().await;
    sink.script([Some(Fault::code(At::Rcpt, 451))]);
    ask(&app.browser(), "member@palmfan.example").await;
    wishes(&app, 1).await;
    while sink.connections() == 0 {
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let id = sqlx::query_scalar("select id from user_account").fetch_one(&app.app.db).await.unwrap();
    let mut tx = app.write().await;
    one_time_link::revoke(&mut tx, UserId(id)).await.unwrap();
    tx.unchanged();
    tx.commit().await.unwrap();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        app.app.clock.advance(chrono::TimeDelta::minutes(2));
    }
    assert_eq!((sink.messages().len(), sink.connections()), (0, 1));
    assert_eq!(not_mailed(&app).await, Vec::<String>::new());
}

#[tokio::test]
async fn without_a_mail_server_the_page_says_who_can_help() {
    let from = Mailbox::new("", "ledger@rentroll.example").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let outbox = Outbox { path: folder.path().join("outbox"), from };
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", Mailer::Directory(outbox)).await;
    app.add_user("member@palmfan.example", Role::Member).await;
    let page = app.browser().get("/forgotten-password").await;
    assert!(page.texts("main p")[0].contains("管理员") && page.texts("main input[name=email]").is_empty());
    let answer = app.browser().post("/forgotten-password", &[("email", "member@palmfan.example")]).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(!app.actions().await.contains(&"user.link_asked".to_owned()));
}
