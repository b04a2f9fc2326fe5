//! What holds for every list: how many statements it takes, what it makes of the words in its address, how it is sorted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use axum::http::{Method, StatusCode};
use rentroll::actor::Role;
use rentroll::app;
use rentroll::environments::term::{self, NewTerm};
use rentroll::ledger::spend::{self, NewSpend};

use crate::harness::TestApp;

fn day(text: &str) -> chrono::NaiveDate {
    rentroll::dates::parse_date(text).unwrap()
}

// case S07: a list takes as many statements for a full page as for one row, and few of them.
#[tokio::test]
async fn a_full_page_takes_as_many_statements_as_one_row() {
    let app = TestApp::new().await;
    let environment = app.open_environment("环境0", "2026-01-01", Some("2026-03-31")).await;
    let browser = app.sign_in(Role::Administrator).await;
    let record = async || {
        let (on, zone) = (day("2026-03-02"), rentroll::dates::Zone::default());
        let mut tx = app.write().await;
        let new = NewSpend::of_days(environment.id, on, on, 1.into(), "CNY".parse().unwrap(), zone);
        spend::record(&mut tx, new).await.unwrap();
        tx.commit().await.unwrap();
    };
    record().await;
    let lists = [("/environments", "table.environments"), ("/ledger", "table.spend"), ("/renewals", "table.renewals")];
    let mut few = Vec::new();
    for (path, table) in lists {
        let (page, statements) = app.queries_of(browser.get(path)).await;
        assert_eq!(page.rows(table).len(), 1, "{path}");
        few.push(statements);
    }
    for number in 1..100 {
        app.open_environment(&format!("环境{number}"), "2026-01-01", Some("2026-03-31")).await;
    }
    for _ in 1..60 {
        record().await;
    }
    for ((path, table), few) in lists.into_iter().zip(few) {
        let (page, many) = app.queries_of(browser.get(path)).await;
        assert_eq!(page.rows(table).len(), 50, "{path}");
        assert_eq!(few.len(), many.len(), "{path}: {few:?} {many:?}");
        // Who reads, and how much of the ledger, takes some statements on every page.
        let own = |it: &&String| {
            !["begin", "commit", "rollback", "set ", "select set_config"]
                .iter()
                .any(|word| it.to_lowercase().trim_matches('"').starts_with(word))
        };
        assert!(many.iter().filter(own).count() <= 10, "{path}: {many:?}");
    }
}

// case S08: days left are counted from the day of reading, so a filter is right at once after an edit and after midnight.
#[tokio::test]
async fn a_filter_by_days_left_follows_an_edit_and_midnight() {
    let app = TestApp::at("2026-03-16T15:30:00Z").await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-06-30")).await;
    let browser = app.sign_in(Role::Administrator).await;
    let shown = async || browser.get("/renewals?within=15").await.rows("table.renewals").len();
    assert_eq!(shown().await, 0);
    let end = async |on: &str| {
        let mut tx = app.write().await;
        let last = term::last(tx.connection(), environment.id).await.unwrap();
        term::change(&mut tx, last.id, last.version, &NewTerm { ends_on: Some(day(on)), ..last.facts() })
            .await
            .unwrap();
        tx.commit().await.unwrap();
    };
    end("2026-03-31").await;
    assert_eq!(shown().await, 1, "15 days from the 16th");
    end("2026-04-01").await;
    assert_eq!(shown().await, 0, "16 days");
    app.app.clock.set("2026-03-16T16:30:00Z".parse().unwrap());
    assert_eq!(shown().await, 1, "half past midnight in Shanghai: 15 days");
    let file = browser.get("/renewals.csv?within=15").await.text();
    assert_eq!(file.lines().count(), 2, "{file}");
}

// case S10, case S11: whatever stands in the address of a list, it answers with at most a page, or says what it does not know.
#[tokio::test]
async fn no_address_breaks_a_list() {
    let app = TestApp::new().await;
    for number in 0..60 {
        app.open_environment(&format!("环境{number}"), "2026-01-01", Some("2026-03-31")).await;
    }
    let browser = app.sign_in(Role::Administrator).await;
    let (_, table) = app::routes().finish();
    let is_file = |path: &str| [".csv", ".xlsx", ".json"].iter().any(|ending| path.ends_with(ending));
    let is_page = |path: &str| !path.contains('{') && path != "/" && !is_file(path);
    let lists = table.into_iter().filter(|route| route.method == Method::GET && is_page(route.path));
    let places = ["-1", "999999", "abc", "9223372036854775808", "2026-13-01:1", "'", "%00"];
    let asked =
        [("after", &places[..]), ("before", &places), ("sort", &["x", "-1"]), ("page", &["-1"]), ("per", &["abc"])];
    for route in lists {
        for (key, values) in asked {
            for value in values {
                let address = format!("{}?{key}={value}", route.path);
                let answer = browser.get(&address).await;
                assert!(!answer.status.is_server_error(), "{address}: {}", answer.status);
                if answer.status == StatusCode::OK {
                    for table in ["table.environments", "table.renewals", "table.spend"] {
                        assert!(answer.rows(table).len() <= 50, "{address}");
                    }
                }
            }
        }
    }
}
