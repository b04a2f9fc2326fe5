//! Exchange rates: typed by hand, from files, and what a day's rate is.

use std::path::PathBuf;

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::dates::parse_date;
use rentroll::ledger::exchange_rate::{self, NewRate, Source};
use rentroll::ledger::exchange_rate_import::{self as import, Summary};
use rentroll::locale::Locale;

use crate::harness::TestApp;

/// A sample file, or nothing with a printed line where the samples are absent.
fn sample(path: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("RENTROLL_SAMPLES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")), PathBuf::from);
    let found = std::fs::read(folder.join(path)).ok();
    if found.is_none() {
        println!("skipped: the sample {path} is not in {}", folder.display());
    }
    found
}

async fn run(app: &TestApp, bytes: &[u8], dry_run: bool) -> Summary {
    import::run(&app.app, &app.operator(), bytes, "rates.csv", dry_run).await.unwrap()
}

fn counts(summary: &Summary) -> [u64; 5] {
    let Summary { rows_read, rows_new, rows_known, rows_rejected, rates_new, .. } = summary;
    [*rows_read, *rows_new, *rows_known, *rows_rejected, *rates_new]
}

/// A day's rate, and the day it is of.
async fn rate(app: &TestApp, from: &str, to: &str, on: &str) -> Option<(String, String)> {
    let mut read = app.read().await;
    let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
    let found = exchange_rate::find(read.connection(), &from, &to, parse_date(on).unwrap()).await.unwrap();
    found.map(|dated| (dated.rate.to_string(), dated.rated_on.to_string()))
}

#[expect(clippy::unnecessary_wraps, reason = "stands where a look-up's answer is compared")]
fn found(rate: &str, on: &str) -> Option<(String, String)> {
    Some((rate.to_owned(), on.to_owned()))
}

const DAYS: &[u8] = b"Date,USD,CNY,\n2026-03-16,1.25,8,\n2026-03-13,1.2,8.4,\n";

// case M06
#[tokio::test]
async fn a_file_gives_each_day_its_own_rate_and_a_weekend_the_one_before() {
    let app = TestApp::new().await;
    assert_eq!(counts(&run(&app, DAYS, false).await), [2, 2, 0, 0, 4]);
    assert_eq!(rate(&app, "EUR", "CNY", "2026-03-15").await, found("8.4", "2026-03-13"));
    assert_eq!(rate(&app, "USD", "CNY", "2026-03-15").await, found("7", "2026-03-13"));
    assert_eq!(rate(&app, "USD", "CNY", "2026-03-16").await, found("6.4", "2026-03-16"));
    assert_eq!(rate(&app, "CNY", "EUR", "2026-03-16").await, found("0.125", "2026-03-16"));
    // case M02
    assert_eq!(rate(&app, "SGD", "CNY", "2026-03-16").await, None);
    assert_eq!(rate(&app, "USD", "CNY", "2026-03-12").await, None);
}

#[tokio::test]
async fn the_same_file_twice_at_once_goes_in_once() {
    let app = TestApp::new().await;
    let (one, two) = tokio::join!(run(&app, DAYS, false), run(&app, DAYS, false));
    let mut both = [counts(&one), counts(&two)];
    both.sort_unstable();
    assert_eq!(both, [[2, 0, 2, 0, 0], [2, 2, 0, 0, 4]]);
}

// case I08
#[tokio::test]
async fn the_same_file_again_adds_nothing_and_a_dry_run_neither() {
    let app = TestApp::new().await;
    assert_eq!(counts(&run(&app, DAYS, true).await), [2, 2, 0, 0, 4]);
    assert_eq!(rate(&app, "EUR", "CNY", "2026-03-16").await, None, "a dry run saves nothing");
    run(&app, DAYS, false).await;
    assert_eq!(counts(&run(&app, DAYS, false).await), [2, 0, 2, 0, 0]);
    let longer = b"Date,USD,CNY,SGD,\n2026-03-17,1.3,8.1,1.5,\n2026-03-16,1.250,8,1.6,\n2026-03-13,1.2,8.4,N/A,\n";
    assert_eq!(counts(&run(&app, longer, false).await), [3, 2, 1, 0, 4]);
    let imports: Vec<_> = app.history().await.into_iter().filter(|entry| entry.action == "rates.imported").collect();
    assert_eq!(imports.len(), 2, "an import that saved nothing is no entry");
    assert_eq!((imports[1].source.as_str(), imports[1].image()["rows_new"].as_i64()), ("import", Some(2)));
    assert_eq!(imports[1].image()["sha256"].as_str().map(str::len), Some(64));
    let sentence = imports[1].sentence(&Locale::En);
    assert!(sentence.contains("rates.csv") && sentence.contains("2 new"), "{sentence}");
}

// case M05
#[tokio::test]
async fn a_rate_that_is_there_never_changes_and_one_wrong_row_saves_nothing() {
    let app = TestApp::new().await;
    run(&app, DAYS, false).await;
    let summary = run(&app, b"Date,USD,CNY,\n2026-03-17,1.3,8.1,\n2026-03-16,1.25,8.01,\n", false).await;
    assert_eq!(counts(&summary), [2, 1, 0, 1, 2]);
    let json = summary.json(Locale::En);
    assert_eq!(json["errors"][0]["row"], 3);
    assert_eq!((&json["errors"][0]["column"], &json["errors"][0]["value"]), (&"CNY".into(), &"8.01".into()));
    assert_eq!(rate(&app, "EUR", "USD", "2026-03-17").await, found("1.25", "2026-03-16"), "all or nothing");
    let empty = run(&app, b"base,quote,date,rate\n", false).await;
    assert!(!empty.is_right(), "no rows is an error");
}

#[tokio::test]
async fn a_rate_by_hand_comes_before_one_through_the_euro() {
    let app = TestApp::new().await;
    run(&app, DAYS, false).await;
    let new = |rate: &str| NewRate {
        base: "USD".parse().unwrap(),
        quote: "CNY".parse().unwrap(),
        rated_on: parse_date("2026-03-01").unwrap(),
        rate: rate.parse().unwrap(),
    };
    for _ in 0..2 {
        let mut tx = app.write().await;
        let rate = exchange_rate::add(&mut tx, &new("7.1000")).await.unwrap();
        assert_eq!(rate.source, Source::Manual);
        tx.commit().await.unwrap();
    }
    assert_eq!(rate(&app, "USD", "CNY", "2026-03-16").await, found("7.1", "2026-03-01"));
    let mut tx = app.write().await;
    let refused = exchange_rate::add(&mut tx, &new("7.2")).await.unwrap_err().to_string();
    assert!(refused.contains("rate") && refused.contains("7.1"), "{refused}");
    drop(tx);
    assert_eq!(app.actions().await.iter().filter(|action| *action == "exchange_rate.added").count(), 1);
}

#[tokio::test]
async fn the_files_of_the_european_central_bank_are_imported_whole() {
    let app = TestApp::new().await;
    let Some(history) = sample("ecb-fx/eurofxref-hist_2024-2025.csv") else { return };
    let summary = run(&app, &history, false).await;
    assert!(summary.is_right(), "{:?}", summary.errors);
    assert_eq!((summary.rows_read, summary.rows_new), (511, 511));
    assert_eq!(rate(&app, "EUR", "CNY", "2025-12-31").await, found("8.2262", "2025-12-31"));
    let again = run(&app, &history, false).await;
    assert_eq!((again.rows_new, again.rows_known, again.rates_new), (0, 511, 0));
    let Some(daily) = sample("ecb-fx/eurofxref.csv") else { return };
    assert_eq!(counts(&run(&app, &daily, false).await), [1, 1, 0, 0, 29]);
    let (rate, on) = rate(&app, "USD", "CNY", "2026-11-01").await.unwrap();
    assert_eq!((&rate[..8], on.as_str()), ("6.652882", "2026-10-30"));
}

#[tokio::test]
async fn a_person_adds_a_rate_filters_and_takes_the_list_as_a_file() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    assert!(!browser.get("/rates").await.texts(".empty").is_empty());
    let fields = [("base", "usd"), ("quote", "CNY"), ("rated_on", "2026-03-13"), ("rate", "7.10")];
    let answer = browser.submit("/rates", "/rates", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    assert_eq!(browser.get("/rates").await.rows("table.rates")[0][..4], ["2026-03-13", "USD", "CNY", "7.1"]);
    assert!(browser.get("/rates?currency=SGD").await.rows("table.rates").is_empty());
    let fields = [("base", "USD"), ("quote", "CNY"), ("rated_on", "2026-03-13"), ("rate", "7.2")];
    let answer = browser.submit("/rates", "/rates", &fields).await;
    assert_eq!((answer.status, answer.texts("#rate-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    let json: serde_json::Value = serde_json::from_slice(&browser.get("/rates.json?currency=USD").await.bytes).unwrap();
    assert_eq!((&json[0]["rate"], &json[0]["source"]), (&"7.1".into(), &"manual".into()));
}

#[tokio::test]
async fn a_file_is_looked_at_before_it_is_imported() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Administrator).await;
    let answer = browser.upload("/imports/rates", &[], ("file", "ecb.csv", DAYS)).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let preview = answer.location();
    let page = browser.get(&preview).await;
    assert!(page.texts("h1")[0].contains("ecb.csv"));
    assert_eq!(rate(&app, "EUR", "CNY", "2026-03-16").await, None, "looking saves nothing");
    let answer = browser.submit(&preview, preview.split('?').next().unwrap(), &[]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    assert_eq!(browser.get("/rates").await.rows("table.rates").len(), 4);
    let entry = &app.history().await[0];
    assert_eq!((entry.action.as_str(), entry.object_name.as_str()), ("rates.imported", "ecb.csv"));

    let answer =
        browser.upload("/imports/rates", &[], ("file", "bad.csv", b"base,quote,date,rate\nUSD,CNY,soon,7\n")).await;
    let rows = browser.get(&answer.location()).await.rows("table.errors");
    assert_eq!(rows[0][..3], ["2", "date", "soon"]);
    let nobody = browser.get(&format!("/imports/rates/{}", "0".repeat(64))).await;
    assert_eq!(nobody.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.upload("/imports/rates", &[], ("file", "", b"")).await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn an_auditor_reads_rates_and_changes_none() {
    let app = TestApp::new().await;
    let browser = app.sign_in(Role::Auditor).await;
    let page = browser.get("/rates").await;
    assert_eq!((page.status, page.texts("main form[method=post]").len()), (StatusCode::OK, 0));
    assert_eq!(browser.get("/imports/rates").await.status, StatusCode::FORBIDDEN);
    let fields = [("base", "USD"), ("quote", "CNY"), ("rated_on", "2026-03-13"), ("rate", "7")];
    assert_eq!(browser.post("/rates", &fields).await.status, StatusCode::FORBIDDEN);
}
