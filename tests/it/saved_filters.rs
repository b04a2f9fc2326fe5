//! Filters of lists that a person keeps under a name.

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
    let query = "?status=active&q=%E7%94%B2";
    let save = [("name", "我的训练"), ("do", "save"), ("list", "environments"), ("query", query)];
    // However the address is written, the filter is the same.
    let (_, form) = browser.get("/environments?q=%E7%94%B2&project=&status=active").await.form("/filters");
    assert_eq!((form["query"].as_str(), form["list"].as_str()), (query, "environments"));
    assert_eq!(browser.post("/filters", &save).await.location(), address);
    let list = browser.get("/environments").await;
    assert_eq!(
        (list.texts("ul.chips a")[0].as_str(), list.attributes("ul.chips a", "href")[0].as_str()),
        ("我的训练", address)
    );
    assert!(!other.get("/environments").await.text().contains("我的训练"), "nobody else sees it");

    let again = browser.post("/filters", &save).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(again.texts(".form-errors")[0].contains("You have a filter \"我的训练\" already"));
    assert_eq!(again.form("/filters").1["query"], query, "what was to be saved is still there");

    let (_, form) = browser.get("/filters").await.form("/filters");
    let (id, version) = (form["id"].as_str(), form["version"].as_str());
    let rename = [("id", id), ("version", version), ("name", "训练"), ("do", "rename")];
    assert_eq!(other.post("/filters", &rename).await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.post("/filters", &rename).await.status, StatusCode::SEE_OTHER);
    let late = browser.post("/filters", &[("id", id), ("version", version), ("do", "end")]).await;
    assert_eq!(late.status, StatusCode::CONFLICT, "it was renamed meanwhile");
    let end = [("id", id), ("version", "2"), ("do", "end")];
    assert_eq!(browser.post("/filters", &end).await.status, StatusCode::SEE_OTHER);
    assert!(browser.get("/environments").await.texts("ul.chips a").is_empty());
    let actions = app.actions().await;
    let kept: Vec<_> = actions.iter().filter(|action| action.starts_with("saved_filter.")).collect();
    assert_eq!(kept, ["saved_filter.added", "saved_filter.changed", "saved_filter.ended"]);
}

#[tokio::test]
async fn each_list_has_filters_of_its_own_under_the_same_names() {
    let app = TestApp::new().await;
    let environment = app.open_environment("甲", "2026-01-01", Some("2026-03-31")).await;
    let browser = app.sign_in(Role::Auditor).await;
    let project = format!("project={}", environment.project_id);
    let filters = [
        ("environments", "/environments", format!("?{project}&status=active")),
        ("ledger", "/ledger", format!("?from=2026-03&{project}&category=credit&rate=missing")),
        ("renewals", "/renewals", format!("?within=15&{project}")),
    ];
    for (list, path, query) in &filters {
        let form = browser.get(&format!("{path}{query}")).await.form("/filters").1;
        let sent =
            [("name", "竹简"), ("do", "save"), ("list", form["list"].as_str()), ("query", form["query"].as_str())];
        assert_eq!(browser.post("/filters", &sent).await.location(), format!("{path}{query}"), "{list}");
    }
    for (_, path, query) in &filters {
        let page = browser.get(path).await;
        assert_eq!(page.attributes("ul.chips a", "href"), [format!("{path}{query}")], "only its own");
        let shown = browser.get(&format!("{path}{query}")).await;
        assert_eq!(shown.attributes("ul.chips a", "aria-current"), ["page"], "{path}");
    }
    let own = browser.get("/filters").await;
    assert_eq!(own.texts("h2"), ["环境", "支出", "到期续费"]);
    assert_eq!(own.attributes("section input[name=name]", "value"), ["竹简"; 3]);
}

#[tokio::test]
async fn what_a_list_would_refuse_is_not_kept() {
    let app = TestApp::new().await;
    app.open_environment("甲", "2026-01-01", None).await;
    let browser = app.sign_in(Role::Administrator).await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    for (list, query, name, why) in [
        ("environments", "", "空", "Nothing is filtered"),
        ("environments", "?status=gone", "错", "The filter status cannot be \"gone\""),
        ("environments", "?project=x", "错", "write a whole number"),
        ("environments", "?colour=red", "错", "This list has no filter \"colour\""),
        ("environments", "?status=active", "  ", ""),
        ("ledger", "?category=x", "错", "x"),
        ("ledger", "?rate=some", "错", "The filter rate cannot be \"some\"; write one of: missing."),
        ("ledger", "?provider=nobody", "错", "nobody"),
        ("ledger", "?status=active", "错", "This list has no filter \"status\""),
        ("renewals", "?within=8", "错", "The filter within cannot be \"8\""),
        ("renewals", "?whose=yours", "错", "The filter whose cannot be \"yours\""),
        ("people", "?status=active", "错", "\"people\" is not a list with saved filters"),
        ("", "?status=active", "错", "is not a list with saved filters"),
    ] {
        let fields = [("name", name), ("do", "save"), ("list", list), ("query", query)];
        let answer = browser.post("/filters", &fields).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{list} {query} {name}");
        let said = answer.texts(".form-errors").join(" ");
        assert!(said.contains(why), "{list} {query}: {said}");
    }
    let actions = app.actions().await;
    assert!(!actions.iter().any(|action| action.starts_with("saved_filter.")), "{actions:?}");
}
