//! Spend beside output, month by month; and what the ledger's own totals and marks say.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::environments::environment::Environment;
use rentroll::error::Error;
use rentroll::ledger::charge::Category;
use rentroll::ledger::exchange_rate::{self, NewRate};
use rentroll::ledger::filter::SpendFilter;
use rentroll::ledger::output::{self, NewOutput};
use rentroll::ledger::spend::{self, NewSpend, Spend};
use rentroll::ledger::unit_cost_list::{self, Asked, UnitCostFilter, UnitCostRow};
use rentroll::text::Line;

use super::pages::csv_rows;
use super::{assert_sums, day, number, totals};
use crate::harness::{Browser, TestApp};

async fn spent(app: &TestApp, of: &Environment, on: &str, billed: &str, currency: &str) -> Spend {
    let zone = rentroll::dates::Zone::default();
    let new = NewSpend::of_days(of.id, day(on), day(on), number(billed), currency.parse().unwrap(), zone);
    let mut tx = app.write().await;
    let spend = spend::record(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
    spend
}

fn produced(of: &Environment, period: &str, quantity: &str, unit: &str) -> NewOutput {
    NewOutput {
        environment: of.id,
        scenario: None,
        period: period.parse().unwrap(),
        unit: unit.parse().unwrap(),
        quantity: number(quantity),
        value: None,
        description: Line::default(),
    }
}

async fn produce(app: &TestApp, new: &NewOutput) {
    let mut tx = app.write().await;
    output::record(&mut tx, new).await.unwrap();
    tx.commit().await.unwrap();
}

async fn rate(app: &TestApp, on: &str, rate: &str) {
    let mut tx = app.write().await;
    let (base, quote) = ("USD".parse().unwrap(), "CNY".parse().unwrap());
    exchange_rate::add(&mut tx, &NewRate { base, quote, rated_on: day(on), rate: number(rate) }).await.unwrap();
    tx.commit().await.unwrap();
}

async fn story() -> (TestApp, Browser, Environment) {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let browser = app.sign_in(Role::Administrator).await;
    (app, browser, environment)
}

/// Month, billed per unit and its change, or why there is none.
fn shown(rows: &[UnitCostRow]) -> Vec<String> {
    let one = |row: &UnitCostRow| match &row.cost {
        Ok(cost) => {
            let change = row.billed_change.as_ref().map_or("-".to_owned(), ToString::to_string);
            let billed = cost.billed.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("{} {} {billed}/{} {change}", row.period, cost.currency, cost.unit)
        }
        Err(missing) => format!("{} {}", row.period, missing.code()),
    };
    rows.iter().map(one).collect()
}

async fn rows(app: &TestApp, filter: UnitCostFilter) -> Vec<UnitCostRow> {
    let mut read = app.read().await;
    let asked = Asked::of(&mut read, &filter).await.unwrap();
    unit_cost_list::page(&mut read, &asked).await.unwrap().0
}

async fn by(app: &TestApp, by: &str) -> Vec<String> {
    shown(&rows(app, UnitCostFilter { by: Some(by.to_owned()), ..UnitCostFilter::default() }).await)
}

// case M13: a month without output, or with output of nothing, is told and divides by nothing.
// case M05: a rate that is booked for today changes no month before it.
#[tokio::test]
async fn each_month_has_its_unit_cost_and_how_it_moved() {
    let (app, _, environment) = story().await;
    for (on, billed, currency) in [
        ("2025-11-03", "60", "USD"),
        ("2025-12-03", "50", "USD"),
        ("2026-01-05", "1000", "CNY"),
        ("2026-02-05", "300", "CNY"),
        ("2026-02-06", "100", "USD"),
        ("2026-03-05", "900", "CNY"),
    ] {
        spent(&app, &environment, on, billed, currency).await;
    }
    for (period, quantity) in
        [("2025-11", "3"), ("2025-12", "2"), ("2026-01", "8"), ("2026-02", "10"), ("2026-03", "0")]
    {
        produce(&app, &produced(&environment, period, quantity, "次")).await;
    }
    let without =
        ["2026-03 output", "2026-02 rate", "2026-01 CNY 125/次 -", "2025-12 USD 25/次 25", "2025-11 USD 20/次 -"];
    assert_eq!(by(&app, "environment").await, without);
    rate(&app, "2026-02-01", "7").await;
    let with = ["2026-03 output", "2026-02 CNY 100/次 -20", "2026-01 CNY 125/次 -", without[3], without[4]];
    for group in ["environment", "scenario", "project", "项目"] {
        assert_eq!(by(&app, group).await, with, "{group}");
    }
    rate(&app, "2026-03-16", "9").await;
    assert_eq!(by(&app, "environment").await, with);

    produce(&app, &produced(&environment, "2026-01", "5", "张")).await;
    assert_eq!(by(&app, "project").await[2], "2026-01 one_unit");
    assert_eq!(by(&app, "project").await[1], "2026-02 CNY 100/次 -", "nothing to compare with");
    let february = UnitCostFilter { from: Some("2026-02".into()), to: Some("2026-02".into()), ..Default::default() };
    assert_eq!(rows(&app, february).await.len(), 1);
    assert_sums(&app).await;
}

// A wrong month is taken back on both sides, and what is left is what is divided.
#[tokio::test]
async fn what_was_taken_back_counts_on_neither_side() {
    let (app, _, environment) = story().await;
    let wrong = spent(&app, &environment, "2026-03-05", "900", "CNY").await;
    spent(&app, &environment, "2026-03-06", "50", "CNY").await;
    let mut tx = app.write().await;
    spend::void(&mut tx, wrong.id).await.unwrap();
    let entry = output::record(&mut tx, &produced(&environment, "2026-03", "551", "token")).await.unwrap();
    output::correct(&mut tx, entry.id, &produced(&environment, "2026-03", "4", "十亿 token")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(by(&app, "environment").await, ["2026-03 CNY 12.5/十亿 token -"]);
}

// case M19: what costs nothing has a unit cost of nothing, on every page.
#[tokio::test]
async fn the_list_its_file_and_the_page_of_the_environment_say_the_same() {
    let (app, browser, environment) = story().await;
    spent(&app, &environment, "2026-01-05", "0", "CNY").await;
    spent(&app, &environment, "2026-02-05", "400", "CNY").await;
    spent(&app, &environment, "2026-03-05", "300", "CNY").await;
    for (period, quantity) in [("2026-01", "4"), ("2026-02", "4"), ("2026-03", "4")] {
        produce(&app, &produced(&environment, period, quantity, "次")).await;
    }
    let page = browser.get("/ledger/unit-costs").await;
    let listed = page.rows(".unit-costs");
    let cost = |row: &Vec<String>| (row[0].clone(), row[6].clone());
    let per_unit: Vec<_> = listed.iter().map(cost).collect();
    let expected = [
        ("2026-03".to_owned(), "CNY 75.00 (环比降 25.0%)".to_owned()),
        ("2026-02".to_owned(), "CNY 100.00".to_owned()),
        ("2026-01".to_owned(), "CNY 0.00".to_owned()),
    ];
    assert_eq!(per_unit, expected);
    assert_eq!(listed[0][1..6].join("|"), "竹简-预训练|CNY 300.00|CNY 未知|CNY 300.00|4 次");

    let files = page.attributes(".exports a", "href");
    let file = csv_rows(&browser.get(&files[0]).await);
    let told: Vec<_> = file.iter().map(|row| (row[0].trim(), row[12].as_str(), row[13].as_str())).collect();
    assert_eq!(told, [("2026-03", "75", "-25"), ("2026-02", "100", ""), ("2026-01", "0", "")]);
    for file in &files[1..] {
        assert_eq!(browser.get(file).await.status, StatusCode::OK, "{file}");
    }
    let own = browser.get(&format!("/environments/{}", environment.id)).await.rows(".unit-costs");
    assert_eq!(own.iter().map(|row| row[5].clone()).collect::<Vec<_>>(), expected.map(|it| it.1));
    let refused = browser.get("/ledger/unit-costs?by=week").await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.get("/ledger/unit-costs?before=x").await.status, StatusCode::UNPROCESSABLE_ENTITY);

    // Somebody without a project finds nothing of it.
    let member = app.sign_in(Role::Member).await;
    assert!(member.get("/ledger/unit-costs").await.rows(".unit-costs").is_empty());
    assert!(csv_rows(&member.get("/ledger/unit-costs.csv").await).is_empty());
}

#[tokio::test]
async fn many_rows_come_by_pages_and_whole_in_the_file() {
    let (app, browser, _) = story().await;
    for n in 0..20 {
        let environment = app.open_environment(&format!("环境 {n}"), "2026-01-01", None).await;
        for month in ["2026-01", "2026-02", "2026-03"] {
            produce(&app, &produced(&environment, month, "1", "次")).await;
        }
    }
    let first = browser.get("/ledger/unit-costs").await;
    let mut seen = first.rows(".unit-costs");
    assert_eq!(seen.len(), 50);
    seen.extend(browser.get(&first.attributes(".pager a", "href")[0]).await.rows(".unit-costs"));
    let seen: Vec<_> = seen.iter().map(|row| format!("{} {}", row[0], row[1])).collect();
    let file = csv_rows(&browser.get("/ledger/unit-costs.csv").await);
    assert_eq!(seen, file.iter().map(|row| format!("{} {}", row[0].trim(), row[1])).collect::<Vec<_>>());
    assert_eq!(seen.len(), 60);
}

// case M20: seven entries with four decimals: the page, the file and the sum of the rows say one number.
#[tokio::test]
async fn the_total_of_the_page_is_the_total_of_the_file() {
    let (app, browser, environment) = story().await;
    for n in 1..=7 {
        spent(&app, &environment, &format!("2026-03-0{n}"), &format!("10.00{n}5"), "CNY").await;
    }
    let page = browser.get("/ledger?period=2026-03").await;
    let file = csv_rows(&browser.get("/ledger.csv?period=2026-03").await);
    let of_file: rust_decimal::Decimal = file.iter().map(|row| number(&row[17])).sum();
    let of_rows: rust_decimal::Decimal = page.rows("table.spend").iter().map(|row| number(&row[8])).sum();
    assert_eq!(of_file, of_rows);
    assert_eq!(page.rows(".currency-totals")[0][1], of_file.normalize().to_string());
    assert_eq!(of_file, number("70.0315"));
}

// case M05: the months of the ledger stay as they are when today's rate changes.
#[tokio::test]
async fn todays_rate_leaves_earlier_months_alone() {
    let (app, _, environment) = story().await;
    rate(&app, "2026-01-01", "7.1").await;
    spent(&app, &environment, "2026-01-20", "33.33", "USD").await;
    let january = SpendFilter { period: Some("2026-01".to_owned()), ..SpendFilter::default() };
    let before = totals(&app, &january).await;
    rate(&app, "2026-03-16", "9.9").await;
    assert_eq!(totals(&app, &january).await, before);
    assert_eq!(before.total.unwrap().billed.to_string(), "236.64");
}

// A refund, a credit, a tax and a correction are told by words in the list, and an entry leads to its reversal.
#[tokio::test]
async fn what_an_entry_is_stands_beside_it() {
    let (app, browser, environment) = story().await;
    let wrong = spent(&app, &environment, "2026-03-01", "10", "CNY").await;
    spent(&app, &environment, "2026-03-02", "-4", "CNY").await;
    let (on, zone) = (day("2026-03-03"), rentroll::dates::Zone::default());
    let new = NewSpend::of_days(environment.id, on, on, number("-3"), "CNY".parse().unwrap(), zone);
    let mut tx = app.write().await;
    spend::record(&mut tx, NewSpend { category: Category::Credit, ..new.clone() }).await.unwrap();
    spend::correct(&mut tx, wrong.id, NewSpend { billed: Some(number("11")), ..new }).await.unwrap();
    tx.commit().await.unwrap();
    let page = browser.get("/ledger").await;
    let mut marks: Vec<_> = page.rows("table.spend").iter().map(|row| format!("{} {}", row[8], row[11])).collect();
    marks.sort();
    let reversal = page.attributes("table.spend td:last-child a", "href");
    assert_eq!(reversal.len(), 2, "both of a pair lead to the other");
    assert!(reversal.contains(&format!("/ledger/{}", wrong.id)), "{reversal:?}");
    let id = reversal.iter().find(|it| !it.ends_with(&format!("/{}", wrong.id))).unwrap().rsplit('/').next().unwrap();
    assert_eq!(
        marks,
        [
            format!("-10.00 冲销 {} 号", wrong.id),
            "-3.00 ".to_owned(),
            "-4.00 退款".to_owned(),
            format!("10.00 已被 {id} 号冲销"),
            "11.00 更正".to_owned(),
        ]
    );
    // The class is the bill's own word, so what people put right by hand is not in it.
    assert!(browser.get("/ledger?class=correction").await.rows("table.spend").is_empty());
    assert_eq!(browser.get("/ledger?class=mistake").await.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(browser.get("/ledger?category=credit").await.rows("table.spend").len(), 1);
}

// case C01, case C03: two people correct one entry at once: one does it, the other is told, and no sum counts it twice.
#[tokio::test]
async fn an_entry_that_two_correct_at_once_is_corrected_once() {
    let (app, _, environment) = story().await;
    let wrong = spent(&app, &environment, "2026-03-01", "10", "CNY").await;
    let (on, zone) = (day("2026-03-01"), rentroll::dates::Zone::default());
    let correct = async |billed: &str| {
        let new = NewSpend::of_days(environment.id, on, on, number(billed), "CNY".parse().unwrap(), zone);
        let mut tx = app.write().await;
        spend::correct(&mut tx, wrong.id, new).await?;
        tx.commit().await
    };
    let (one, other) = tokio::join!(correct("11"), correct("12"));
    let (done, refused) = if one.is_ok() { ("11", other) } else { ("12", one) };
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert_eq!(super::sums(&app, &SpendFilter::default()).await, [format!("CNY {done}")]);
    assert_sums(&app).await;
}
