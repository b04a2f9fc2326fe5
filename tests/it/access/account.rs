//! A person's own log-in.

use axum::http::StatusCode;
use rentroll::actor::Role;

use super::is_known;
use crate::harness::{PASSWORD, TestApp};

const NEW: &str = "nine quiet harbours in the fog";

fn change(current: &'static str, new: &'static str) -> [(&'static str, &'static str); 3] {
    [("password_current", current), ("password", new), ("password_again", new)]
}

// cases P07 and A13: other sessions end at once; the history says that the password changed, and nothing of it.
#[tokio::test]
async fn a_changed_password_ends_every_other_session() {
    let app = TestApp::new().await;
    let here = app.sign_in(Role::Member).await;
    let before = here.cookie("__Host-session").unwrap();
    let elsewhere = app.browser();
    elsewhere.sign_in("member@palmfan.example").await;

    let answer = here.submit("/account", "/account/password", &change(PASSWORD, NEW)).await;
    assert_eq!((answer.status, answer.location().as_str()), (StatusCode::SEE_OTHER, "/account"));
    assert_eq!(here.get("/account").await.status, StatusCode::OK);
    assert_ne!(here.cookie("__Host-session").unwrap(), before);
    assert_eq!(elsewhere.get("/account").await.status, StatusCode::SEE_OTHER);
    let old = app.browser();
    old.set_cookie("__Host-session", &before);
    assert_eq!(old.get("/account").await.status, StatusCode::SEE_OTHER);

    let answer = old.submit("/sign-in", "/sign-in", &[("email", "member@palmfan.example"), ("password", NEW)]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let entry = app.history().await.into_iter().find(|entry| entry.action == "user.password_changed").unwrap();
    assert_eq!(entry.actor_name, "member");
    let changes: Vec<_> = entry.changes().iter().map(|change| (change.field.clone(), change.after.clone())).collect();
    assert_eq!(changes, [("credential".to_owned(), "changed".to_owned())]);
    for entry in app.history().await {
        let bytes = String::from_utf8(entry.bytes).unwrap();
        assert!(!bytes.contains("argon2") && !bytes.contains(NEW) && !bytes.contains(PASSWORD), "{bytes}");
    }
}

// Whoever knew the old password may have signed in anywhere: only the browser in which it was changed stays known.
#[tokio::test]
async fn after_another_password_other_browsers_are_strangers_again() {
    let app = TestApp::new().await;
    let here = app.sign_in(Role::Member).await;
    let (elsewhere, other) = (app.browser(), app.sign_in(Role::Auditor).await);
    elsewhere.sign_in("member@palmfan.example").await;
    assert!(is_known(&app, &elsewhere, "member@palmfan.example").await);
    here.submit("/account", "/account/password", &change(PASSWORD, NEW)).await;
    assert!(is_known(&app, &here, "member@palmfan.example").await);
    assert!(!is_known(&app, &elsewhere, "member@palmfan.example").await);
    assert!(is_known(&app, &other, "auditor@palmfan.example").await, "another person's browser");
}

#[tokio::test]
async fn the_present_password_is_asked_for_and_a_weak_one_is_not_taken() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Member).await;
    let answer = browser.submit("/account", "/account/password", &change("not the present one", NEW)).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(answer.texts("#password_current-error"), ["这不是现在的密码。"]);
    let answer = browser.submit("/account", "/account/password", &change(PASSWORD, "member member member")).await;
    assert!(answer.texts("#password-error")[0].contains("大家都知道"), "{:?}", answer.texts("#password-error"));
    let fields = [("password_current", ""), ("password", "short"), ("password_again", "other")];
    let answer = browser.submit("/account", "/account/password", &fields).await;
    for field in ["password_current", "password", "password_again"] {
        assert_eq!(answer.texts(&format!("#{field}-error")).len(), 1, "{field} is told with all others");
    }
    let fields = [("password_current", PASSWORD), ("password", NEW), ("password_again", "other")];
    let answer = browser.submit("/account", "/account/password", &fields).await;
    assert!(answer.texts("#password_again-error")[0].contains("不一样"));
    assert!(answer.attributes("input[type=password]", "value").is_empty());
    // Tries count as at the door.
    for _ in 0..9 {
        browser.submit("/account", "/account/password", &change("not the present one", NEW)).await;
    }
    let answer = browser.submit("/account", "/account/password", &change(PASSWORD, NEW)).await;
    assert!(answer.texts("[role=alert]")[0].contains("失败次数太多"), "{}", answer.text());
    app.browser().get("/sign-in").await;
    assert!(!app.actions().await.contains(&"user.password_changed".to_owned()));
}

#[tokio::test]
async fn a_person_sees_and_ends_their_own_sessions_only() {
    let app = TestApp::new().await;
    let here = app.sign_in(Role::Member).await;
    let elsewhere = app.browser();
    elsewhere.sign_in("member@palmfan.example").await;
    let other = app.sign_in(Role::Auditor).await;
    let foreign = other.get("/account").await.attributes("input[name=session]", "value").pop().unwrap();

    let page = here.get("/account").await;
    let rows = page.rows("table.sessions");
    assert_eq!(rows.len(), 2);
    assert_eq!(rows.iter().filter(|row| row[0].contains("就是这里")).count(), 1);
    here.post("/account/sessions", &[("session", &foreign)]).await;
    assert_eq!(other.get("/account").await.status, StatusCode::OK, "another person's session goes on");

    let own = page.attributes("input[name=session]", "value");
    let at = rows.iter().position(|row| !row[0].contains("就是这里")).unwrap();
    here.post("/account/sessions", &[("session", &own[at])]).await;
    assert_eq!(elsewhere.get("/account").await.status, StatusCode::SEE_OTHER);
    assert_eq!(here.get("/account").await.rows("table.sessions").len(), 1);
    assert_eq!(here.post("/account/sessions", &[("session", "zz")]).await.status, StatusCode::NOT_FOUND);
    here.post("/account/sessions", &[("session", &own[1 - at])]).await;
    assert_eq!(here.cookie("__Host-session"), None);
}

/// The administrator's page of the person with a log-in `member`.
async fn page_of_member(app: &TestApp, administrator: &crate::harness::Browser) -> String {
    let person: i64 = sqlx::query_scalar("select id from person where email = 'member@palmfan.example'")
        .fetch_one(&mut app.database.superuser().await)
        .await
        .unwrap();
    let page = format!("/people/{person}");
    assert_eq!(administrator.get(&page).await.status, StatusCode::OK);
    page
}

// check C35: a person ends all other sessions, an administrator ends anybody's; the history names both.
#[tokio::test]
async fn sessions_are_ended_by_their_owner_and_by_an_administrator() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let here = app.sign_in(Role::Member).await;
    let (second, third) = (app.browser(), app.browser());
    for browser in [&second, &third] {
        browser.sign_in("member@palmfan.example").await;
    }
    let answer = here.submit("/account", "/account/sessions/others", &[]).await;
    assert_eq!(answer.location(), "/account");
    for ended in [&second, &third] {
        assert_eq!(ended.get("/account").await.status, StatusCode::SEE_OTHER);
    }
    let page = here.get("/account").await;
    assert_eq!(page.rows("table.sessions").len(), 1);
    assert!(!page.text().contains("/account/sessions/others"), "there is nothing more to end");

    let page = page_of_member(&app, &administrator).await;
    second.sign_in("member@palmfan.example").await;
    let shown = administrator.get(&page).await;
    assert_eq!(shown.rows("table.sessions").len(), 2);
    assert!(here.get(&page).await.rows("table.sessions").is_empty(), "nobody else sees where a person is signed in");
    let answer = administrator.submit(&page, &format!("{page}/sessions"), &[]).await;
    assert_eq!(answer.location(), page);
    assert_eq!(administrator.get(&page).await.rows("table.sessions").len(), 1);
    second.sign_in("member@palmfan.example").await;
    administrator.submit(&page, &format!("{page}/sessions/all"), &[]).await;
    for ended in [&here, &second] {
        assert_eq!(ended.get("/account").await.status, StatusCode::SEE_OTHER);
    }
    assert_eq!(administrator.get("/account").await.status, StatusCode::OK);
    let history = app.history().await;
    let ended = history.iter().filter(|entry| entry.action == "user.sessions_ended");
    let ended: Vec<&str> = ended.map(|entry| entry.actor_name.as_str()).collect();
    assert_eq!(ended, ["administrator", "administrator", "member"]);
}

// check C35, cases P07 and P10: what a session meets from its first to its last moment.
#[tokio::test]
async fn a_session_is_dead_after_each_of_its_ends() {
    let app = TestApp::new().await;
    let administrator = app.sign_in(Role::Administrator).await;
    let browser = app.sign_in(Role::Member).await;
    let page = page_of_member(&app, &administrator).await;
    let is_dead = async |token: &str| {
        let thief = app.browser();
        thief.set_cookie("__Host-session", token);
        let read = thief.get("/account").await.status == StatusCode::SEE_OTHER;
        let written = thief.post("/account/sessions/others", &[]).await.status == StatusCode::UNAUTHORIZED;
        assert_eq!(read, written);
        read
    };
    let token = || browser.cookie("__Host-session").unwrap();

    // Signing out.
    let old = token();
    browser.post("/sign-out", &[]).await;
    assert!(is_dead(&old).await, "signed out");
    // Another right.
    browser.sign_in("member@palmfan.example").await;
    let old = token();
    assert!(!is_dead(&old).await);
    administrator.submit(&page, &format!("{page}/right"), &[("right", "member_all")]).await;
    assert!(is_dead(&old).await, "another right");
    // Too long without a request, and too long at all.
    browser.sign_in("member@palmfan.example").await;
    let old = token();
    app.app.clock.advance(chrono::TimeDelta::hours(8));
    assert!(!is_dead(&old).await);
    app.app.clock.advance(chrono::TimeDelta::hours(8) + chrono::TimeDelta::seconds(1));
    assert!(is_dead(&old).await, "idle");
    browser.sign_in("member@palmfan.example").await;
    let old = token();
    for _ in 0..4 {
        assert!(!is_dead(&old).await);
        app.app.clock.advance(chrono::TimeDelta::hours(6));
    }
    app.app.clock.advance(chrono::TimeDelta::seconds(1));
    assert!(is_dead(&old).await, "a day old");
    // The log-in ended.
    browser.sign_in("member@palmfan.example").await;
    let old = token();
    let administrator = app.browser();
    administrator.sign_in("administrator@palmfan.example").await;
    let answer = administrator.submit(&page, &format!("{page}/disable"), &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    assert!(is_dead(&old).await, "disabled");
}
