//! Prices that were typed wrong, that are nothing, and of two classes of one GPU.

use axum::http::StatusCode;
use rentroll::catalog::{provider, tier};
use rentroll::dates::{Cycle, parse_date};
use rentroll::environments::environment::{self, Environment, Facts, NewEnvironment};
use rentroll::environments::term::NewTerm;

use super::english;
use crate::harness::{Browser, TestApp};

const MONTHLY: [(&str, &str); 2] = [("billing_mode", "monthly"), ("unit", "instance_month")];

/// An environment that is rented by the month from January on.
async fn rented(app: &TestApp, name: &str) -> Environment {
    let days = (parse_date("2026-01-01").unwrap(), parse_date("2026-12-31").unwrap());
    let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(days.0, Some(days.1)) };
    app.open_environment_with(name, term).await
}

async fn add(browser: &Browser, tier: &str, amount: &str, from: &str) {
    let fields = [MONTHLY[0], MONTHLY[1], ("amount", amount), ("valid_from", from)];
    assert_eq!(browser.submit(tier, "/prices", &fields).await.status, StatusCode::SEE_OTHER);
}

/// The addresses of the corrections that a tier's page offers, newest price first.
async fn corrections(browser: &Browser, tier: &str) -> Vec<String> {
    browser.get(tier).await.attributes("table.prices a[href$='/correct']", "href")
}

/// What an environment's page says of the expected cost.
async fn expected(browser: &Browser, environment: &Environment) -> Option<String> {
    let facts = browser.get(&format!("/environments/{}", environment.id)).await.texts("dd");
    facts.into_iter().find(|fact| fact.contains("CNY"))
}

#[tokio::test]
async fn a_price_typed_wrong_is_corrected_and_stays_to_be_read() {
    let app = TestApp::new().await;
    let environment = rented(&app, "竹简-微调").await;
    let tier = format!("/tiers/{}", environment.tier_id);
    let browser = english(&app).await;
    add(&browser, &tier, "125000", "2026-01-01").await;
    assert!(expected(&browser, &environment).await.unwrap().contains("125,000.00 CNY"));
    let form = corrections(&browser, &tier).await.remove(0);

    let silent = browser.submit(&form, "/correct", &[("amount", "12500")]).await;
    assert_eq!((silent.status, silent.texts("#reason-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    assert_eq!(silent.form("/correct").1["amount"], "12500", "nothing typed is lost");
    let wrong = browser.submit(&form, "/correct", &[("amount", "-1"), ("currency", "?")]).await;
    let errors = ["#amount-error", "#currency-error", "#reason-error"].map(|id| wrong.texts(id).len());
    assert_eq!((wrong.status, errors), (StatusCode::UNPROCESSABLE_ENTITY, [1, 1, 1]));
    let same = browser.submit(&form, "/correct", &[("reason", "typo")]).await;
    assert_eq!(same.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(same.texts(".form-errors")[0].contains("Nothing is different"), "{:?}", same.texts(".form-errors"));
    assert!(expected(&browser, &environment).await.unwrap().contains("125,000.00 CNY"), "nothing is half done");

    let fields = [("amount", "12500"), ("reason", "a zero too many")];
    assert_eq!(browser.submit(&form, "/correct", &fields).await.location(), tier);
    assert!(expected(&browser, &environment).await.unwrap().contains("12,500.00 CNY"));
    let page = browser.get(&tier).await;
    let rows = page.rows("table.prices");
    assert_eq!(rows[0][3..], ["12,500.00", "CNY", "today", "CorrectVoid"]);
    assert_eq!((&*rows[1][3], &*rows[1][6]), ("125,000.00", ""));
    assert!(rows[1][5].starts_with("Voided by ") && rows[1][5].ends_with(": a zero too many"), "{}", rows[1][5]);
    assert_eq!(page.texts("table.prices del").len(), 5, "the wrong one is struck through");
    let told = page.texts(".history > li p");
    assert!(told.iter().any(|it| it.contains("125,000.00 CNY") && it.contains("a zero too many")), "{told:?}");

    // It is done: neither form opens again, nor does what was opened before go through.
    for act in [form.clone(), form.replace("correct", "void")] {
        assert_eq!(browser.get(&act).await.status, StatusCode::CONFLICT, "{act}");
        let id = uuid::Uuid::now_v7().to_string();
        let fields = [MONTHLY[0], MONTHLY[1], ("amount", "1"), ("currency", "CNY"), ("valid_from", "2026-01-01")];
        let late = [&fields[..], &[("reason", "late"), ("submit_id", &*id)]].concat();
        assert_eq!(browser.post(&act, &late).await.status, StatusCode::CONFLICT, "{act}");
    }
    let json = |text: String| serde_json::from_str::<Vec<serde_json::Value>>(&text).unwrap();
    let counted = json(browser.get("/prices.json").await.text());
    assert_eq!((counted.len(), &counted[0]["amount"]), (1, &"12500".into()));
    let all = json(browser.get("/prices.json?voided=yes").await.text());
    assert_eq!((all.len(), &all[1]["void_reason"]), (2, &"a zero too many".into()));
    assert_eq!(browser.get("/prices.json?voided=maybe").await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_voided_price_counts_nowhere_and_gives_its_day_back() {
    let app = TestApp::new().await;
    let environment = rented(&app, "竹简-微调").await;
    let tier = format!("/tiers/{}", environment.tier_id);
    let browser = english(&app).await;
    add(&browser, &tier, "100", "2026-01-01").await;
    add(&browser, &tier, "90", "2026-02-01").await;
    assert!(expected(&browser, &environment).await.unwrap().contains("90.00 CNY"));
    let void = corrections(&browser, &tier).await.remove(0).replace("correct", "void");
    let silent = browser.submit(&void, "/void", &[("reason", " ")]).await;
    assert_eq!((silent.status, silent.texts("#reason-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    assert_eq!(browser.submit(&void, "/void", &[("reason", "another tier's")]).await.location(), tier);
    assert!(expected(&browser, &environment).await.unwrap().contains("100.00 CNY"), "the one before holds again");
    let list = browser.get("/environments.json").await.text();
    assert!(list.contains("100") && !list.contains("\"90"), "{list}");
    add(&browser, &tier, "95", "2026-02-01").await;
    assert!(expected(&browser, &environment).await.unwrap().contains("95.00 CNY"));
    assert_eq!(browser.get(&tier).await.rows("table.prices").len(), 3);
    let voided = app.actions().await.iter().filter(|action| *action == "price.voided").count();
    assert_eq!(voided, 1);

    // What a price said stays as it was said, whatever the program tries.
    let mut tx = app.write().await;
    let refused = sqlx::query("update price set amount = 1").execute(tx.connection()).await.unwrap_err();
    assert!(refused.to_string().contains("permission denied"), "{refused}");
}

// case C03: two people correct one price at once: it is corrected once, and the other one is told.
#[tokio::test]
async fn two_people_correct_one_price_at_once() {
    let app = TestApp::new().await;
    let environment = rented(&app, "竹简-微调").await;
    let tier = format!("/tiers/{}", environment.tier_id);
    let browser = english(&app).await;
    add(&browser, &tier, "125000", "2026-01-01").await;
    let form = corrections(&browser, &tier).await.remove(0);
    let pages = tokio::join!(browser.get(&form), browser.get(&form));
    assert_eq!((pages.0.status, pages.1.status), (StatusCode::OK, StatusCode::OK));
    let send = async |page: &crate::harness::Answer, amount: &'static str| {
        let (action, mut values) = page.form("/correct");
        values
            .extend([("amount", amount), ("reason", "typo")].map(|(name, value)| (name.to_owned(), value.to_owned())));
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        browser.post(&action, &values).await.status
    };
    let mut both: [StatusCode; 2] = tokio::join!(send(&pages.0, "12500"), send(&pages.1, "12600")).into();
    both.sort();
    assert_eq!(both, [StatusCode::SEE_OTHER, StatusCode::CONFLICT]);
    assert_eq!(browser.get(&tier).await.rows("table.prices").len(), 2);
    // The same form sent twice is one correction.
    let form = corrections(&browser, &tier).await.remove(0);
    let page = browser.get(&form).await;
    let twice = [send(&page, "1").await, send(&page, "1").await];
    assert_eq!(twice, [StatusCode::SEE_OTHER; 2]);
    assert_eq!(browser.get(&tier).await.rows("table.prices").len(), 3);
}

// case M19: a price of nothing is a price: every page shows it, and none says that there is no price.
#[tokio::test]
async fn what_costs_nothing_is_not_without_a_price() {
    let app = TestApp::new().await;
    let environment = rented(&app, "试用").await;
    let (page, tier) = (format!("/environments/{}", environment.id), format!("/tiers/{}", environment.tier_id));
    let browser = english(&app).await;
    assert_eq!(expected(&browser, &environment).await, None);
    add(&browser, &tier, "0", "2026-01-01").await;
    let shown = browser.get(&tier).await;
    assert_eq!(shown.rows("table.prices")[0][3..6], ["0.00", "CNY", "today"]);
    assert!(!shown.text().contains("No price yet"));
    assert!(expected(&browser, &environment).await.unwrap().starts_with("0.00 CNY"));
    let list = browser.get("/environments").await;
    assert!(list.texts("table.ledger td").iter().any(|cell| cell.contains("0.00")), "{:?}", list.texts("td"));
    let provider = format!("/providers/{}", environment.provider_id);
    let pages = ["/", "/renewals", "/ledger/unit-costs", &provider, &format!("{page}/renewals/new")].map(str::to_owned);
    for path in pages.into_iter().chain(["/prices.csv", "/environments.csv", "/terms.csv"].map(str::to_owned)) {
        assert_eq!(browser.get(&path).await.status, StatusCode::OK, "{path}");
    }
    let row: serde_json::Value = serde_json::from_str(&browser.get("/prices.json").await.text()).unwrap();
    assert_eq!(row[0]["amount"], "0");
}

// case M16: two classes of one GPU are two tiers, and each shows what it costs, never what the other one costs.
#[tokio::test]
async fn two_classes_of_one_gpu_are_two_tiers_with_a_price_each() {
    let app = TestApp::new().await;
    let secure = rented(&app, "正式").await;
    let browser = english(&app).await;
    let provider = format!("/providers/{}", secure.provider_id);
    let community = browser.submit(&provider, "/tiers", &[("name", "H800×8 社区")]).await.location();
    let tiers = [format!("/tiers/{}", secure.tier_id), community.clone()];
    for (tier, form, mode) in [(&tiers[0], "bare_metal", "monthly"), (&tiers[1], "card", "spot")] {
        let fields = [("form", form), ("billing_mode", mode), ("gpu_model", "H800")];
        assert_eq!(browser.submit(&format!("{tier}/edit"), tier, &fields).await.status, StatusCode::SEE_OTHER);
    }
    add(&browser, &tiers[0], "152", "2026-01-01").await;
    let spot = [("billing_mode", "spot"), ("unit", "instance_month"), ("amount", "98"), ("valid_from", "2026-01-01")];
    assert_eq!(browser.submit(&community, "/prices", &spot).await.status, StatusCode::SEE_OTHER);
    // The same class is offered by the hour and as spot: the tier's own plan is the one that is meant.
    let cheap = [("billing_mode", "spot"), ("unit", "instance_month"), ("amount", "99"), ("valid_from", "2026-01-01")];
    assert_eq!(browser.submit(&tiers[0], "/prices", &cheap).await.status, StatusCode::SEE_OTHER);

    let mut tx = app.write().await;
    let provider = provider::get(tx.connection(), secure.provider_id).await.unwrap();
    let id = community.rsplit('/').next().unwrap().parse().unwrap();
    let tier = tier::get(tx.connection(), id).await.unwrap();
    let first = parse_date("2026-01-01").unwrap();
    let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(first, None) };
    let facts = Facts::named("试跑".parse().unwrap(), provider.id, tier.id);
    let new = NewEnvironment { project_id: secure.project_id, facts, term };
    let spot = environment::open(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    assert!(expected(&browser, &secure).await.unwrap().contains("152.00 CNY"));
    assert!(expected(&browser, &spot).await.unwrap().contains("98.00 CNY"));
    let file: Vec<serde_json::Value> = serde_json::from_str(&browser.get("/tiers.json").await.text()).unwrap();
    let told: Vec<_> = file.iter().map(|row| (row["gpu_model"].as_str(), row["billing_mode"].as_str())).collect();
    assert_eq!(told, [(Some("H800"), Some("monthly")), (Some("H800"), Some("spot"))]);
}
