//! Filters of the list that a person keeps under a name.

use axum::http::StatusCode;
use rentroll::actor::Role;

use crate::harness::TestApp;

#[tokio::test]
async fn a_filter_is_kept_renamed_and_taken_off_by_its_owner_alone() {
    let app = TestApp::new().await;
    app.open_environment("甲", "2026-01-01", None).await;
    let (browser, other) = (app.sign_in(Role::Auditor).await, app.sign_in(Role::Administrator).await);
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    assert!(!browser.get("/environments").await.text().contains("name=\"query\""), "nothing is filtered yet");

    let address = "/environments?status=active&q=%E7%94%B2";
    let save = [("name", "我的训练"), ("do", "save"), ("query", "?status=active&q=%E7%94%B2")];
    let (_, form) = browser.get(address).await.form("/environments/filters");
    assert_eq!(form["query"], save[2].1);
    assert_eq!(browser.post("/environments/filters", &save).await.location(), address);
    let list = browser.get("/environments").await;
    assert_eq!(
        (list.texts(".chips a")[0].as_str(), list.attributes(".chips a", "href")[0].as_str()),
        ("我的训练", address)
    );
    assert!(!other.get("/environments").await.text().contains("我的训练"), "nobody else sees it");

    let again = browser.post("/environments/filters", &save).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.texts(".form-errors")[0].contains("You have a filter \"我的训练\" already"));
    for (query, name) in [("", "空"), ("?status=gone", "错"), ("?project=x", "错"), ("?status=active", "  ")] {
        let fields = [("name", name), ("do", "save"), ("query", query)];
        let answer = browser.post("/environments/filters", &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query} {name}");
    }

    let (_, form) = browser.get("/environments/filters").await.form("/environments/filters");
    let (id, version) = (form["id"].as_str(), form["version"].as_str());
    let rename = [("id", id), ("version", version), ("name", "训练"), ("do", "rename")];
    assert_eq!(other.post("/environments/filters", &rename).await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.post("/environments/filters", &rename).await.status, StatusCode::SEE_OTHER);
    let late = browser.post("/environments/filters", &[("id", id), ("version", version), ("do", "end")]).await;
    assert_eq!(late.status, StatusCode::CONFLICT, "it was renamed meanwhile");
    let end = [("id", id), ("version", "2"), ("do", "end")];
    assert_eq!(browser.post("/environments/filters", &end).await.status, StatusCode::SEE_OTHER);
    assert!(browser.get("/environments").await.texts(".chips a").is_empty());
    let actions = app.actions().await;
    let kept: Vec<_> = actions.iter().filter(|action| action.starts_with("saved_filter.")).collect();
    assert_eq!(kept, ["saved_filter.added", "saved_filter.changed", "saved_filter.ended"]);
}
