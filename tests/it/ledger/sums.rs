//! What the list, its sums, its files and what has no rate say of the same entries.

use rentroll::actor::Role;
use rentroll::environments::environment::Environment;
use rentroll::ledger::charge::Category;
use rentroll::ledger::exchange_rate::{self, NewRate};
use rentroll::ledger::filter::SpendFilter;
use rentroll::ledger::spend::{self, NewSpend};
use rust_decimal::Decimal;

use super::pages::csv_rows;
use super::{assert_sums, bill, bill_line, day, import, number, totals};
use crate::harness::{Answer, Browser, TestApp};

async fn story() -> (TestApp, Browser, Environment) {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let browser = app.sign_in(Role::Administrator).await;
    (app, browser, environment)
}

async fn record(app: &TestApp, of: &Environment, entries: &[(&str, &str, &str)]) {
    let mut tx = app.write().await;
    for (on, billed, currency) in entries {
        let (on, zone) = (day(on), rentroll::dates::Zone::default());
        let new = NewSpend::of_days(of.id, on, on, number(billed), currency.parse().unwrap(), zone);
        spend::record(&mut tx, new).await.unwrap();
    }
    tx.commit().await.unwrap();
}

async fn rate(app: &TestApp, base: &str, quote: &str, on: &str) {
    let mut tx = app.write().await;
    let (base, quote) = (base.parse().unwrap(), quote.parse().unwrap());
    exchange_rate::add(&mut tx, &NewRate { base, quote, rated_on: day(on), rate: number("7.2") }).await.unwrap();
    tx.commit().await.unwrap();
}

/// Every page of a list from this address on: its rows' amounts with their currencies.
async fn all_rows(browser: &Browser, address: &str) -> Vec<(Decimal, String)> {
    let (mut rows, mut next) = (Vec::new(), Some(address.to_owned()));
    while let Some(address) = next {
        let page = browser.get(&address).await;
        rows.extend(page.rows("table.spend").iter().map(|row| (number(&row[8].replace(',', "")), row[10].clone())));
        next = page.attributes(".pager a", "href").first().cloned();
    }
    rows
}

fn file_of(page: &Answer) -> String {
    page.attributes(".exports a", "href").remove(0)
}

fn sum(rows: &[(Decimal, String)], currency: &str) -> String {
    rows.iter().filter(|row| row.1 == currency).map(|row| row.0).sum::<Decimal>().normalize().to_string()
}

// case S09, case X10, case X15: whatever the length of the list, its pages, its one file and its sums have the same entries,
// refunds, credits and what was taken back among them.
#[tokio::test]
async fn count_and_sum_agree_for_short_lists_and_for_long_ones() {
    let (app, browser, environment) = story().await;
    let mut there = 0;
    for rows in [9, 10, 11, 101_usize] {
        let entries: Vec<(String, String, &str)> = (there..rows)
            .map(|n| {
                let amount = if n % 4 == 3 { format!("-{n}.25") } else { format!("{n}.1") };
                (format!("2026-0{}-1{}", 1 + n % 3, n % 10), amount, if n % 5 == 4 { "USD" } else { "CNY" })
            })
            .collect();
        let entries: Vec<_> = entries.iter().map(|it| (it.0.as_str(), it.1.as_str(), it.2)).collect();
        record(&app, &environment, &entries).await;
        there = rows;
        let page = browser.get("/ledger").await;
        assert_eq!(page.texts(".totals h2"), [format!("共 {rows} 条")]);
        let shown = all_rows(&browser, "/ledger").await;
        let file = csv_rows(&browser.get(&file_of(&page)).await);
        let in_file: Vec<(Decimal, String)> = file.iter().map(|row| (number(&row[17]), row[19].clone())).collect();
        assert_eq!((shown.len(), &shown), (rows, &in_file), "every row once, in one file");
        let of_page: Vec<_> = page
            .rows(".currency-totals")
            .into_iter()
            .map(|row| (number(&row[1].replace(',', "")), row[0].clone()))
            .collect();
        for currency in ["CNY", "USD"] {
            assert_eq!(sum(&of_page, currency), sum(&in_file, currency), "{rows} rows, {currency}");
        }
    }
    // A refund taken back, and a credit: the pair stays in all three.
    let id =
        csv_rows(&browser.get("/ledger.csv").await).iter().find(|row| row[17].starts_with('-')).unwrap()[0].clone();
    let void = format!("/ledger/{id}/void");
    browser.submit(&void, &void, &[("reason", "重复")]).await;
    let (on, zone) = (day("2026-03-03"), rentroll::dates::Zone::default());
    let credit = NewSpend::of_days(environment.id, on, on, number("-3"), "CNY".parse().unwrap(), zone);
    let mut tx = app.write().await;
    spend::record(&mut tx, NewSpend { category: Category::Credit, ..credit }).await.unwrap();
    tx.commit().await.unwrap();
    let file = csv_rows(&browser.get("/ledger.csv").await);
    let in_file: Vec<(Decimal, String)> = file.iter().map(|row| (number(&row[17]), row[19].clone())).collect();
    assert_eq!((in_file.len(), &in_file), (103, &all_rows(&browser, "/ledger").await));
    let totals = totals(&app, &SpendFilter::default()).await;
    assert_eq!(totals.lines(), 103);
    for total in &totals.currencies {
        assert_eq!(total.billed.plain(), sum(&in_file, total.currency.as_str()));
    }
    assert_sums(&app).await;
}

// case X08: a file takes a few statements, however many rows it has.
#[tokio::test]
async fn a_file_of_many_entries_takes_as_many_statements_as_one_of_few() {
    let (app, browser, environment) = story().await;
    record(&app, &environment, &[("2026-03-02", "1", "CNY")]).await;
    let (file, one) = app.queries_of(browser.get("/ledger.csv")).await;
    assert_eq!(csv_rows(&file).len(), 1);
    record(&app, &environment, &[("2026-03-02", "1", "CNY"); 200]).await;
    let (file, many) = app.queries_of(browser.get("/ledger.csv")).await;
    assert_eq!(csv_rows(&file).len(), 201);
    assert_eq!(one.len(), many.len(), "{one:?} {many:?}");
}

// What has no rate is told by entries and amount per currency, and the link beside it lists exactly these.
#[tokio::test]
async fn what_has_no_rate_is_counted_and_leads_to_its_entries() {
    let (app, browser, environment) = story().await;
    record(
        &app,
        &environment,
        &[
            ("2026-03-02", "100", "USD"),
            ("2026-03-02", "-40", "USD"),
            ("2026-03-04", "7", "USD"),
            ("2026-03-10", "1000", "USD"),
            ("2026-03-03", "5", "SGD"),
            ("2026-03-03", "8", "EUR"),
            ("2026-03-02", "700", "CNY"),
        ],
    )
    .await;
    import(&app, bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "2"), bill_line("i-1", "2026-03-20T00:00:00Z", "4")]))
        .await;
    rate(&app, "USD", "CNY", "2026-03-08").await;
    rate(&app, "EUR", "CNY", "2026-03-01").await;

    let page = browser.get("/ledger?from=2026-01").await;
    let told = page.texts(".unconverted li");
    assert_eq!(
        told,
        [
            "SGD 5.00：1 条，1 天，2026-03-03 至 2026-03-03 查看这些条目",
            "USD 69.00：4 条，3 天，2026-03-02 至 2026-03-05 查看这些条目"
        ]
    );
    let links = page.attributes(".unconverted li a", "href");
    assert_eq!(links[1], "/ledger?from=2026-01&currency=USD&rate=missing");
    let listed = browser.get(&links[1]).await;
    let rows = listed.rows("table.spend");
    let shown: Vec<_> = rows.iter().map(|row| format!("{} {}", row[8], row[11])).collect();
    assert_eq!(shown.len(), 4);
    assert!(shown.contains(&"-40.00 退款".to_owned()), "a refund is told as one: {shown:?}");
    assert_eq!(listed.rows(".currency-totals")[0][..2], ["USD", "69.00"]);
    assert_eq!(listed.texts(".totals h2"), ["共 4 条"]);
    assert_eq!(listed.texts(".chip"), ["缺汇率"]);
    assert_eq!(csv_rows(&browser.get(&file_of(&listed)).await).len(), 4);
    // The link of a list that is narrowed already stays within it.
    let again = listed.attributes(".unconverted li a", "href");
    assert_eq!(again, [links[1].clone()]);

    // Whichever sums are asked, the kept ones or the lines themselves, they say the same.
    let id = environment.id.to_string();
    let project = environment.project_id.to_string();
    for (filter, entries) in [
        (String::new(), 5),
        (format!("&environment={id}"), 4),
        (format!("&project={project}"), 4),
        ("&provider=苇塘云".to_owned(), 5),
        ("&category=usage".to_owned(), 5),
        ("&resource=i-1".to_owned(), 1),
        ("&import=1".to_owned(), 1),
        ("&currency=SGD".to_owned(), 1),
        ("&currency=CNY".to_owned(), 0),
        ("&currency=EUR".to_owned(), 0),
        ("&to=2026-02".to_owned(), 0),
    ] {
        let address = format!("/ledger?rate=missing{filter}");
        let pairs = url::form_urlencoded::parse(address.split_once('?').unwrap().1.as_bytes()).into_owned().collect();
        let asked: SpendFilter = rentroll::web::query::from_pairs(pairs).unwrap();
        let totals = totals(&app, &asked).await;
        let missing: i64 = totals.unconverted.iter().map(|it| it.lines).sum();
        assert_eq!((totals.lines(), missing), (entries, entries), "{address}");
        assert_eq!(i64::try_from(all_rows(&browser, &address).await.len()).unwrap(), entries, "{address}");
    }
    let costs = browser.get(&format!("/ledger/unit-costs?by=project&project={project}")).await;
    let link = costs.attributes("table.unit-costs .muted a", "href").pop().unwrap();
    assert_eq!(link, format!("/ledger?project={project}&period=2026-03&currency=USD&rate=missing"));
    assert_eq!(browser.get(&link).await.rows("table.spend").len(), 3);
    assert!(costs.texts("table.unit-costs .muted").contains(&"不含 USD 67.00（3 条）：缺汇率".to_owned()));
}
