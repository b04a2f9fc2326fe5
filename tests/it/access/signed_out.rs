//! What becomes of a form whose sender's session ended while they were typing.

use axum::http::StatusCode;
use chrono::TimeDelta;
use rentroll::actor::Role;

use crate::harness::TestApp;

// cases P09 and P10: nothing is done, nothing typed is lost, and after signing in again it is sent as it was.
#[tokio::test]
async fn a_form_sent_too_late_comes_back_with_what_was_typed() {
    for public_url in ["http://localhost", "http://localhost/roll"] {
        let app = TestApp::behind(public_url).await;
        let base = app.app.base.clone();
        let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
        let browser = app.sign_in(Role::Administrator).await;
        let path = format!("/environments/{}", environment.id);
        let (action, mut typed) = browser.get(&format!("{path}/edit")).await.form(&path);
        assert_eq!(action, format!("{base}{path}"));
        typed.insert("note".to_owned(), "一行\n“两行” <b>&amp;".to_owned());
        typed.insert("reason".to_owned(), "年中盘点".to_owned());
        typed.insert("password".to_owned(), "never kept".to_owned());
        let pairs: Vec<(&str, &str)> = typed.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let entries = app.history().await.len();
        app.app.clock.advance(TimeDelta::hours(9));

        let late = browser.post(&path, &pairs).await;
        assert_eq!(late.status, StatusCode::UNAUTHORIZED);
        assert_eq!(late.texts("h1"), ["请先登录"]);
        assert!(late.texts("main p")[0].contains("什么都没有保存"), "{}", late.text());
        assert_eq!(late.attributes("main a", "href"), [format!("{base}/sign-in")]);
        assert_eq!(app.history().await.len(), entries, "nothing was done");
        let (action, kept) = late.form(&path);
        assert_eq!(action, format!("{base}{path}"));
        typed.remove("password");
        assert_eq!(kept, typed);

        // In another tab; this page is still open and sends what it holds.
        browser.sign_in("administrator@palmfan.example").await;
        let kept: Vec<(&str, &str)> = kept.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let saved = browser.post(&path, &kept).await;
        assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
        let entry = app.history().await.into_iter().find(|entry| entry.action == "environment.changed").unwrap();
        assert_eq!(entry.reason.as_deref(), Some("年中盘点"));
    }
}

// case P09: the address keeps what stands behind its question mark; a file has to be chosen again, and a program hears 401.
#[tokio::test]
async fn what_cannot_be_kept_is_said() {
    let app = TestApp::new().await;
    let stranger = app.browser();
    let late = stranger.post("/resources/1/bindings?to=list", &[("environment", "1")]).await;
    assert_eq!(late.status, StatusCode::UNAUTHORIZED);
    assert_eq!(late.attributes("main form", "action"), ["/resources/1/bindings?to=list"]);
    let file = stranger.upload("/imports/environments", &[], ("file", "a.csv", b"a,b\n")).await;
    assert_eq!(file.status, StatusCode::UNAUTHORIZED);
    assert!(file.attributes("main form", "action").is_empty());
    assert!(file.texts("main p")[1].contains("后退"), "{}", file.text());
    let program = super::request(
        &stranger,
        axum::http::Method::POST,
        "/projects",
        &[("host", "localhost"), ("sec-fetch-site", "same-origin"), ("accept", "application/json")],
        "name=x",
    );
    let answer = stranger.exchange(program).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
}
