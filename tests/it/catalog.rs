//! Providers, tiers and prices on the pages.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::dates::Cycle;
use rentroll::environments::term::NewTerm;

use crate::harness::{Browser, TestApp};

mod incidents;
mod names;
mod prices;

async fn english(app: &TestApp) -> Browser {
    let browser = app.sign_in(Role::Administrator).await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    browser
}

// case M09, case I17
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
            ["2026-07-01", "Monthly", "unit and month", "12.50", "CNY", "", "CorrectVoid"],
            ["2026-01-01", "Monthly", "unit and month", "10.00", "CNY", "today", "CorrectVoid"],
        ]
    );
    let prices = app.actions().await.iter().filter(|action| *action == "price.added").count();
    assert_eq!(prices, 2);
    let file = browser.get("/prices.json").await.text();
    assert!(file.contains("\"amount\":\"10\"") && file.contains("\"amount\":\"12.5\""), "old prices too: {file}");
}

// case M09: what a past month cost is not told anew because a price is.
#[tokio::test]
async fn the_expected_cost_of_past_months_keeps_the_old_price() {
    let app = TestApp::new().await;
    let day = |text: &str| rentroll::dates::parse_date(text).unwrap();
    let term = NewTerm { cycle: Cycle::MONTHLY, ..NewTerm::between(day("2026-01-01"), Some(day("2026-12-31"))) };
    let environment = app.open_environment_with("竹简-预训练", term).await;
    let browser = english(&app).await;
    let (page, tier) = (format!("/environments/{}", environment.id), format!("/tiers/{}", environment.tier_id));
    let price = async |amount: &str, from: &str| {
        let fields =
            [("billing_mode", "monthly"), ("unit", "instance_month"), ("amount", amount), ("valid_from", from)];
        assert_eq!(browser.submit(&tier, "/prices", &fields).await.status, StatusCode::SEE_OTHER);
    };
    let expected = async |browser: &Browser| {
        let facts = browser.get(&page).await.texts("dd");
        facts.into_iter().find(|fact| fact.contains("CNY")).unwrap_or_default()
    };
    price("10", "2026-01-01").await;
    price("12.50", "2026-04-01").await;
    assert!(expected(&browser).await.contains("10.00 CNY"), "March: {}", expected(&browser).await);
    app.go_to("2026-04-16");
    // The session has ended meanwhile.
    let later = app.browser();
    later.sign_in("administrator@palmfan.example").await;
    later.post("/language", &[("locale", "en"), ("to", "/")]).await;
    assert!(expected(&later).await.contains("12.50 CNY"), "April: {}", expected(&later).await);
    let id = environment.tier_id;
    let mut read = app.read().await;
    let amounts = async |read: &mut rentroll::tx::Read, on: &str| {
        let prices = rentroll::catalog::price::valid_on(read.connection(), id, day(on)).await.unwrap();
        prices.into_iter().map(|price| price.shown()).collect::<Vec<_>>()
    };
    assert_eq!(amounts(&mut read, "2026-03-31").await, ["10.00"]);
    assert_eq!(amounts(&mut read, "2026-04-01").await, ["12.50"]);
    // A price for days that have one already would change the past.
    let again =
        [("billing_mode", "monthly"), ("unit", "instance_month"), ("amount", "9"), ("valid_from", "2026-01-01")];
    assert_eq!(later.submit(&tier, "/prices", &again).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_provider_shows_its_people_its_contracts_and_how_to_reach_it() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let facts = [
        ("portal", "https://console.weitang.example"),
        ("sla", "99.9% a month"),
        ("support_hours", "24×7"),
        ("support_channel", "微信群"),
        ("second_hand", "yes"),
    ];
    let edit = format!("{provider}/edit");
    assert_eq!(browser.submit(&edit, &provider, &facts).await.status, StatusCode::SEE_OTHER);
    let plain = browser.submit(&edit, &provider, &[("portal", "http://console.weitang.example")]).await;
    assert_eq!((plain.status, plain.texts("#portal-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));

    let new = format!("{provider}/contacts/new");
    let person = |name, phone| [("name", name), ("job", "销售"), ("email", "xu@weitang.example"), ("phone", phone)];
    let add = async |name, phone| browser.submit(&new, "/contacts", &person(name, phone)).await;
    assert_eq!(add("许知远", "010-1").await.location(), provider);
    assert_eq!(add("=HYPERLINK(1)", "+86 10 2").await.location(), provider);
    let taken = add("许知远", "010-3").await;
    assert_eq!((taken.status, taken.texts("#name-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    assert_eq!(taken.form("/contacts").1["phone"], "010-3", "nothing typed is lost");

    let form = format!("{provider}/contracts/new");
    let agreed = [("number", "WT-1"), ("title", "整机"), ("starts_on", "2026-01-01"), ("ends_on", "2026-12-31")];
    let contract = browser.submit(&form, "/contracts", &agreed).await.location();
    let twice = browser.submit(&form, "/contracts", &agreed).await;
    assert_eq!((twice.status, twice.texts("#number-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    let early = browser.submit(&format!("{contract}/edit"), &contract, &[("ends_on", "2025-12-31")]).await;
    assert_eq!(early.texts("#ends_on-error"), ["The last day (2025-12-31) lies before the first (2026-01-01)."]);

    let shown = browser.get(&provider).await;
    assert_eq!(shown.attributes("a[href^='https://console']", "rel"), ["noopener noreferrer"]);
    let facts = shown.texts("dd");
    for fact in ["99.9% a month", "24×7", "微信群", "yes"] {
        assert!(facts.contains(&fact.to_owned()), "{fact}: {facts:?}");
    }
    assert_eq!(shown.rows("table.contacts")[1][..4], ["许知远", "销售", "xu@weitang.example", "010-1"]);
    assert_eq!(shown.rows("table.contracts"), [["WT-1", "整机", "2026-01-01", "2026-12-31"]]);
    assert!(!app.history().await.iter().any(|entry| String::from_utf8_lossy(&entry.bytes).contains("xu@weitang")));

    // What a person typed is never a formula in a file for people, and always itself in one for programs.
    let csv = browser.get("/contacts.csv").await.text();
    assert!(csv.contains("'=HYPERLINK(1)") && csv.contains("xu@weitang.example"), "{csv}");
    let json: serde_json::Value = serde_json::from_slice(&browser.get("/contacts.json").await.bytes).unwrap();
    assert_eq!((&json[0]["name"], &json[0]["former"]), (&"=HYPERLINK(1)".into(), &false.into()));
    let json: serde_json::Value = serde_json::from_slice(&browser.get("/providers.json").await.bytes).unwrap();
    assert_eq!((&json[0]["second_hand"], &json[0]["support_channel"]), (&true.into(), &"微信群".into()));
    let json: serde_json::Value = serde_json::from_slice(&browser.get("/contracts.json").await.bytes).unwrap();
    assert_eq!((&json[0]["number"], &json[0]["ends_on"]), (&"WT-1".into(), &"2026-12-31".into()));
}

#[tokio::test]
async fn a_contact_who_left_makes_room_for_a_namesake() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let new = format!("{provider}/contacts/new");
    browser.submit(&new, "/contacts", &[("name", "许知远")]).await;
    let edit = browser.get(&provider).await.attributes("table.contacts td a[href$='/edit']", "href")[0].clone();
    let own = edit.trim_end_matches("/edit");
    assert_eq!(browser.submit(&edit, own, &[("former", "yes")]).await.location(), provider);
    assert_eq!(browser.submit(&new, "/contacts", &[("name", "许知远")]).await.location(), provider);
    let names: Vec<_> =
        browser.get(&provider).await.rows("table.contacts").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(names, ["许知远", "许知远 (No longer there)"]);
    let back = browser.submit(&edit, own, &[("former", "no")]).await;
    assert_eq!((back.status, back.texts("#name-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
}

// case C03: two people add the same thing at once: it is there once, and the other one is told.
#[tokio::test]
async fn the_same_name_added_by_two_people_at_once_is_one_thing() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let add = async || browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await;
    let (one, other) = tokio::join!(add(), add());
    let mut both = [one, other];
    both.sort_by_key(|answer| answer.status);
    assert_eq!(both.each_ref().map(|it| it.status), [StatusCode::SEE_OTHER, StatusCode::UNPROCESSABLE_ENTITY]);
    assert_eq!(both[1].texts("#name-error").len(), 1);
    assert_eq!(browser.get("/providers").await.rows("table.ledger").len(), 1);
    let provider = both[0].location();
    let tier = async || browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await.status;
    let mut both: [StatusCode; 2] = tokio::join!(tier(), tier()).into();
    both.sort();
    assert_eq!(both, [StatusCode::SEE_OTHER, StatusCode::UNPROCESSABLE_ENTITY]);
}

// case C01
#[tokio::test]
async fn providers_and_tiers_are_edited_and_a_late_edit_shows_both_versions() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let tier = browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await.location();
    let agreed = [("number", "WT-1"), ("title", "整机"), ("starts_on", "2026-01-01")];
    let form = format!("{provider}/contracts/new");
    let contract = browser.submit(&form, "/contracts", &agreed).await.location();
    browser.submit(&format!("{provider}/contacts/new"), "/contacts", &[("name", "许知远")]).await;
    let person = browser.get(&provider).await.attributes("table.contacts td a[href$='/edit']", "href").remove(0);
    for (path, fields) in [
        (provider.as_str(), [("name", "苇塘算力"), ("note", "电话 1"), ("website", "https://weitang.example")]),
        (tier.as_str(), [("name", "H800×8 整机"), ("note", "电话 1"), ("gpu_count", "8")]),
        (tier.as_str(), [("ready_days", "14"), ("note", "电话 1"), ("expansion_terms", "满 4 台九五折")]),
        (contract.as_str(), [("number", "WT-2"), ("note", "电话 1"), ("ends_on", "2026-12-31")]),
        (person.trim_end_matches("/edit"), [("name", "许知行"), ("note", "电话 1"), ("job", "销售")]),
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
    assert!(file.contains("\"gpu_count\":8") && file.contains("\"ready_days\":14"), "{file}");
    assert!(file.contains("满 4 台九五折"), "{file}");
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
