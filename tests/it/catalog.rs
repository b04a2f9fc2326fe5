//! Providers, tiers and prices on the pages.

use axum::http::StatusCode;
use rentroll::actor::Role;

use crate::harness::{Browser, TestApp};

async fn english(app: &TestApp) -> Browser {
    let browser = app.sign_in(Role::Administrator).await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    browser
}

// case M09, case I17, case M16
#[tokio::test]
async fn a_price_begins_on_its_day_and_the_old_one_stays() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let tier = browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await.location();
    let again = browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await;
    assert_eq!(again.status, StatusCode::UNPROCESSABLE_ENTITY);
    let price = async |amount: &str, from: &str| {
        let fields =
            [("billing_mode", "monthly"), ("unit", "instance_month"), ("amount", amount), ("valid_from", from)];
        browser.submit(&tier, "/prices", &fields).await
    };
    assert_eq!(price("10", "2026-01-01").await.status, StatusCode::SEE_OTHER);
    assert_eq!(price("12.50", "2026-07-01").await.status, StatusCode::SEE_OTHER);
    for (amount, from) in [("-1", "2026-08-01"), ("11", "2026-07-01")] {
        let refused = price(amount, from).await;
        assert_eq!((refused.status, refused.texts(".field-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
        assert_eq!(refused.form("/prices").1["amount"], amount);
    }
    let shown = browser.get(&tier).await;
    assert_eq!(
        shown.rows("table.prices"),
        [
            ["2026-07-01", "Monthly", "unit and month", "12.50", "CNY", ""],
            ["2026-01-01", "Monthly", "unit and month", "10.00", "CNY", "today"],
        ]
    );
    let prices = app.actions().await.iter().filter(|action| *action == "price.added").count();
    assert_eq!(prices, 2);
}

// case C01
#[tokio::test]
async fn providers_and_tiers_are_edited_and_a_late_edit_shows_both_versions() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let tier = browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await.location();
    for (path, fields) in [
        (provider.as_str(), [("name", "苇塘算力"), ("note", "电话 1"), ("website", "https://weitang.example")]),
        (tier.as_str(), [("name", "H800×8 整机"), ("note", "电话 1"), ("gpu_count", "8")]),
    ] {
        let early = browser.get(&format!("{path}/edit")).await;
        let saved = browser.submit(&format!("{path}/edit"), path, &fields).await;
        assert_eq!(saved.status, StatusCode::SEE_OTHER, "{}", saved.text());
        let (_, mut late) = early.form(path);
        late.insert("note".to_owned(), "电话 2".to_owned());
        let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = browser.post(path, &late).await;
        assert_eq!(answer.status, StatusCode::CONFLICT);
        assert!(answer.rows(".form-errors table").iter().any(|row| row[1..] == ["电话 1", "电话 2"]));
        assert_eq!(answer.form(path).1["note"], "电话 2");
    }
    let wrong = browser.submit(&format!("{provider}/edit"), &provider, &[("website", "javascript:alert(1)")]).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let file = browser.get("/tiers.json").await.text();
    assert!(file.contains("\"gpu_count\":8"), "{file}");
    assert!(browser.get("/providers.csv").await.text().contains("苇塘算力"));
}

#[tokio::test]
async fn a_reader_sees_the_catalogue_and_changes_nothing() {
    let app = TestApp::new().await;
    let reader = app.sign_in(Role::Auditor).await;
    let page = reader.get("/providers").await;
    assert_eq!((page.status, page.texts("main form").len()), (StatusCode::OK, 0));
    assert_eq!(reader.post("/providers", &[("name", "x")]).await.status, StatusCode::FORBIDDEN);
}
