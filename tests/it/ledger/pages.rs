//! The ledger as a person uses it.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::environments::environment::Environment;
use rentroll::ledger::filter::SpendFilter;

use super::{BillLine, assert_sums, bill, bill_line, import, sums};
use crate::harness::{Answer, Browser, TestApp};

async fn story() -> (TestApp, Browser, Environment) {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let browser = app.sign_in(Role::Administrator).await;
    (app, browser, environment)
}

/// A file, read by a standard reader.
pub(super) fn csv_rows(answer: &Answer) -> Vec<Vec<String>> {
    let bytes = answer.bytes.strip_prefix("\u{FEFF}".as_bytes()).expect("a byte order mark for Excel");
    let mut csv = csv::Reader::from_reader(bytes);
    csv.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

// case S07
#[tokio::test]
async fn the_ledger_takes_the_same_few_queries_for_one_entry_and_for_many() {
    let (app, browser, _) = story().await;
    import(&app, bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "1")])).await;
    let (page, one) = app.queries_of(browser.get("/ledger")).await;
    assert_eq!(page.rows("table.spend").len(), 1);
    let lines: Vec<_> = (1..60).map(|n| bill_line("i-1", &format!("2026-03-06T00:{n:02}:00Z"), "1")).collect();
    import(&app, bill(&lines)).await;
    let (page, many) = app.queries_of(browser.get("/ledger")).await;
    assert_eq!(page.rows("table.spend").len(), 50);
    assert_eq!(one.len(), many.len(), "{one:?} {many:?}");
    assert!((5..=9).contains(&many.len()), "{many:?}");
}

#[tokio::test]
async fn a_bill_is_looked_at_imported_and_placed() {
    let (app, browser, environment) = story().await;
    let text = bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "1.10"), bill_line("i-1", "2026-03-06T00:00:00Z", "2")]);
    let form = browser.get("/imports/bill").await;
    let (_, fields) = form.form("/imports/bill");
    let sent = browser
        .upload(
            "/imports/bill",
            &[("submit_id", &fields["submit_id"]), ("provider", "苇塘云")],
            ("file", "march.csv", text.as_bytes()),
        )
        .await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER, "{}", sent.text());
    let preview = browser.get(&sent.location()).await;
    assert_eq!(preview.texts(".lead"), ["读到 2 行，新增 2 行，已有 0 行，有问题 0 行"]);
    assert_eq!(preview.rows(".file-totals"), [["USD", "3.1", "3.1", "0"]]);
    assert_eq!(sums(&app, &SpendFilter::default()).await, Vec::<String>::new(), "nothing is saved yet");

    let done = browser.submit(&sent.location(), sent.location().split('?').next().unwrap(), &[]).await;
    assert_eq!(done.location(), "/imports");
    let imports = browser.get("/imports").await;
    let rows = imports.rows(".imports");
    assert_eq!(
        (rows.len(), rows[0][1].as_str(), rows[0][3].as_str(), rows[0][7].as_str()),
        (1, "苇塘云", "2026-03", "USD 3.10")
    );
    assert_eq!(browser.get(&sent.location()).await.texts(".notice"), ["这些行都已经有了。"]);

    let list = browser.get("/ledger/unplaced").await;
    assert_eq!(list.rows(".unplaced-sums"), [["USD", "3.10", "2 行"]]);
    let action = list.attributes("table.unplaced form", "action").remove(0);
    let (_, fields) = list.form(action.split('?').next().unwrap());
    assert_eq!(fields["starts_on"], "2026-03-05", "a binding begins on the first day of charge");
    let environment_id = environment.id.to_string();
    let bound = browser
        .post(
            &action,
            &[("submit_id", &fields["submit_id"]), ("environment", &environment_id), ("starts_on", "2026-03-05")],
        )
        .await;
    assert_eq!(bound.location(), "/ledger/unplaced");
    assert!(browser.get("/ledger/unplaced").await.rows("table.unplaced").is_empty());
    let placed = browser.get(&format!("/ledger?environment={environment_id}")).await;
    assert_eq!(placed.rows(".currency-totals")[0][..2], ["USD", "3.10"]);
    assert_eq!(placed.rows("table.spend").len(), 2);

    let resource = placed.attributes("table.spend td:nth-child(5) a", "href").remove(0);
    let shown = browser.get(&resource).await;
    assert_eq!(shown.rows("table.months"), [["2026-03", "竹简-预训练", "2", "3.10", "3.10", "USD"]]);
    let taken = browser.submit(&resource, "/withdraw", &[]).await;
    assert_eq!(taken.status, StatusCode::SEE_OTHER, "{}", taken.text());
    assert_eq!(browser.get("/ledger/unplaced").await.rows("table.unplaced").len(), 1);
    assert_sums(&app).await;
}

#[tokio::test]
async fn a_bad_file_is_told_row_by_row() {
    let (app, browser, _) = story().await;
    let text = bill(&[BillLine { billed: "\"$10,000.00\"", ..bill_line("i-1", "2026-03-05T00:00:00Z", "1") }]);
    let form = browser.get("/imports/bill").await.form("/imports/bill").1;
    let id = form["submit_id"].as_str();
    let none = browser.upload("/imports/bill", &[("submit_id", id), ("provider", "")], ("file", "", b"")).await;
    assert_eq!((none.status, none.texts(".field-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 2));
    let sent = browser
        .upload("/imports/bill", &[("submit_id", id), ("provider", "苇塘云")], ("file", "b.csv", text.as_bytes()))
        .await;
    let preview = browser.get(&sent.location()).await;
    assert_eq!(preview.texts(".form-errors"), ["有 1 行需要改，整份文件都没有写入。"]);
    let rows = preview.rows("table.errors");
    assert_eq!(rows[0][..3], ["2", "BilledCost", "$10,000.00"]);
    assert!(preview.texts("main button").is_empty(), "there is nothing to confirm");
    assert_eq!(
        browser.get(&format!("/imports/bill/{}?name=x&provider=y", "0".repeat(64))).await.status,
        StatusCode::NOT_FOUND
    );
    assert_eq!(sums(&app, &SpendFilter::default()).await, Vec::<String>::new());
}

#[tokio::test]
async fn an_entry_is_recorded_corrected_and_voided() {
    let (app, browser, environment) = story().await;
    let id = environment.id.to_string();
    let fields =
        [("environment", id.as_str()), ("charged_on", "2026-03-02"), ("billed", "1200.5"), ("cost_kind", "power")];
    let recorded = browser.submit("/ledger/new", "/ledger", &fields).await;
    assert_eq!(recorded.status, StatusCode::SEE_OTHER, "{}", recorded.text());
    let entry = recorded.location();
    let shown = browser.get(&entry).await;
    assert_eq!(shown.texts("h1"), ["1,200.50 CNY，2026-03-02"]);
    assert!(shown.texts(".facts dd").contains(&"未知".to_owned()), "what nobody said is unknown, not zero");

    // The same form twice is one act.
    let form = browser.get("/ledger/new").await.form("/ledger").1;
    let values: Vec<(&str, &str)> = form
        .iter()
        .map(|(name, value)| (name.as_str(), fields.iter().find(|it| it.0 == name).map_or(value.as_str(), |it| it.1)))
        .collect();
    let (once, twice) = (browser.post("/ledger", &values).await, browser.post("/ledger", &values).await);
    assert_eq!(once.location(), twice.location());
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["CNY 2401"]);

    let correct = format!("{entry}/correct");
    let silent = browser.submit(&correct, &correct, &[("billed", "1000")]).await;
    assert_eq!(
        (silent.status, silent.texts(".field-error")),
        (StatusCode::UNPROCESSABLE_ENTITY, vec!["写明原因，日后能看懂为什么改。".to_owned()])
    );
    assert_eq!(silent.form(&correct).1["billed"], "1000", "what was typed is kept");
    let corrected = browser.submit(&correct, &correct, &[("billed", "1000"), ("reason", "电表读错")]).await;
    let right = browser.get(&corrected.location()).await;
    assert_eq!(right.texts("h1"), ["1,000.00 CNY，2026-03-02"]);
    let old = browser.get(&entry).await;
    assert!(old.texts(".notice")[0].starts_with("已被"), "{:?}", old.texts(".notice"));
    assert!(old.texts(".actions").is_empty(), "a reversed entry offers nothing");
    for act in ["correct", "void"] {
        let late = browser.get(&format!("{entry}/{act}")).await;
        assert_eq!(late.status, StatusCode::CONFLICT);
        assert_eq!(late.attributes(".notice a", "href"), [entry.clone(), corrected.location()], "the ways on");
    }

    // Each page tells how its entry came about.
    let told = |page: &Answer| page.texts(".history p");
    let reversed = "administrator 冲销了支出 2026-03 CNY 1200.5（竹简-预训练）。原因：电表读错";
    let recorded = "administrator 给 竹简-预训练 记了支出 2026-03 CNY 1200.5";
    assert_eq!(told(&old), [reversed, recorded]);
    let reversal = browser.get(&old.attributes(".notice a", "href")[0]).await;
    assert_eq!(told(&reversal), [reversed, recorded]);
    let again = "administrator 给 竹简-预训练 记了支出 2026-03 CNY 1000。原因：电表读错";
    assert_eq!(told(&right), [again, reversed, recorded]);
    assert_eq!(right.attributes(".notice a", "href"), [entry.as_str()], "the new entry leads to what it corrects");

    let void = format!("{}/void", corrected.location());
    let voided = browser.submit(&void, &void, &[("reason", "重复")]).await;
    assert_eq!(voided.location(), corrected.location());
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["CNY 1200.5"]);
    assert_sums(&app).await;
}

// case X05, case X06, case X10, case X15: the file is what the filter says, all of it, in the order of the page.
#[tokio::test]
async fn the_file_is_the_filtered_list_whole_and_in_order() {
    let (app, browser, environment) = story().await;
    let mut lines: Vec<BillLine> =
        (1..=28).map(|n| bill_line("i-1", &format!("2026-03-{n:02}T00:00:00Z"), "1.5")).collect();
    lines.extend(lines.clone());
    lines.extend(lines.clone());
    lines.push(BillLine { category: "Credit", ..bill_line("i-1", "2026-03-09T00:00:00Z", "-3") });
    import(&app, bill(&lines)).await;
    let id = environment.id.to_string();
    let note = "a,\"b\" =c; 很长";
    let fields =
        [("environment", id.as_str()), ("charged_on", "2026-02-02"), ("billed", "-70.00"), ("description", note)];
    browser.submit("/ledger/new", "/ledger", &fields).await;

    let first = browser.get("/ledger?provider=苇塘云&from=2026-03").await;
    let next = first.attributes(".pager a", "href").remove(0);
    let second = browser.get(&next).await;
    let files = second.attributes(".exports a", "href");
    assert!(files[0].starts_with("/ledger.csv?") && !files[0].contains("before"), "{files:?}");
    let rows = csv_rows(&browser.get(&files[0]).await);
    assert_eq!(rows.len(), 113);
    let shown: Vec<String> = first.attributes("table.spend td:first-child a", "href");
    let listed: Vec<String> = rows.iter().take(50).map(|row| format!("/ledger/{}", row[0])).collect();
    assert_eq!(shown, listed);
    assert!(rows.iter().all(|row| row[1] == "苇塘云" && row[12].trim() == "2026-03"));
    let sum: rust_decimal::Decimal = rows.iter().map(|row| super::number(&row[17])).sum();
    assert_eq!(first.rows(".currency-totals")[0][1], format!("{sum:.2}"), "the file and the page add up alike");

    let february = csv_rows(&browser.get("/ledger.csv?period=2026-02").await);
    assert_eq!((february[0][17].as_str(), february[0][20].as_str()), ("-70", note));
    let json: serde_json::Value =
        serde_json::from_slice(&browser.get("/ledger.json?period=2026-02").await.bytes).unwrap();
    assert_eq!((&json[0]["billed"], &json[0]["environment"]), (&"-70".into(), &"竹简-预训练".into()));
    assert_eq!(browser.get("/ledger?provider=nobody").await.status, StatusCode::UNPROCESSABLE_ENTITY);
}

/// The sums of the one currency on a page of the ledger, and what is said of unknown amounts.
async fn totals_at(browser: &Browser, filter: &str) -> Vec<String> {
    browser.get(&format!("/ledger{filter}")).await.rows(".currency-totals").remove(0)
}

// An entry that was taken back leaves nothing to be known, whatever is summed and wherever it is said.
#[tokio::test]
async fn a_pair_that_cancels_out_is_not_unknown() {
    let (app, browser, environment) = story().await;
    let id = environment.id.to_string();
    let record = async |field: &str, amount: &str| {
        let fields = [("environment", id.as_str()), ("charged_on", "2026-03-02"), (field, amount)];
        browser.submit("/ledger/new", "/ledger", &fields).await.location()
    };
    let (listed, billed) = (record("list", "30").await, record("billed", "50").await);
    let filters = ["", "?period=2026-03", &format!("?environment={id}"), "?category=usage", "?currency=CNY"];
    for filter in filters {
        let shown = ["CNY", "50.00 另有 1 条未知", "另有 2 条未知", "另有 2 条未知", "30.00 另有 1 条未知"];
        assert_eq!(totals_at(&browser, filter).await, shown, "{filter}");
    }
    assert!(browser.get("/").await.rows("table.spend")[0][1].contains("另有 1 行金额未知"));

    let void = format!("{listed}/void");
    browser.submit(&void, &void, &[("reason", "不是我们的")]).await;
    for filter in filters {
        let shown = ["CNY", "50.00", "另有 1 条未知", "另有 1 条未知", "另有 1 条未知"];
        assert_eq!(totals_at(&browser, filter).await, shown, "{filter}");
    }
    assert_eq!(browser.get("/").await.rows("table.spend")[0][1], "50.00");
    let correct = format!("{billed}/correct");
    let full = [("effective", "50"), ("contracted", "50"), ("list", "50"), ("reason", "补全")];
    browser.submit(&correct, &correct, &full).await;
    for filter in filters {
        assert_eq!(totals_at(&browser, filter).await, ["CNY", "50.00", "50.00", "50.00", "50.00"], "{filter}");
    }
    // The file has every entry, and of those that were taken back too what is not known is empty.
    let rows = csv_rows(&browser.get("/ledger.csv").await);
    let amounts: Vec<_> = rows.iter().map(|row| row[15..19].join(" ")).collect();
    assert_eq!(amounts, ["50 50 50 50", "  -50 ", "-30   ", "  50 ", "30   "]);
    assert_sums(&app).await;
}

// The same for a line of a bill, whose sums are moved when its resource is bound and added up line by line when asked for.
#[tokio::test]
async fn a_bill_line_that_was_voided_is_not_unknown() {
    let (app, browser, environment) = story().await;
    import(&app, bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "4"), bill_line("i-1", "2026-03-06T00:00:00Z", "8")]))
        .await;
    let line = browser.get("/ledger").await.attributes("table.spend td:first-child a", "href").remove(0);
    let void = format!("{line}/void");
    assert_eq!(browser.submit(&void, &void, &[("reason", "重复")]).await.status, StatusCode::SEE_OTHER);
    let shown = ["USD", "4.00", "4.00", "另有 1 条未知", "另有 1 条未知"];
    for filter in ["", "?provider=苇塘云", "?resource=i-1"] {
        assert_eq!(totals_at(&browser, filter).await[..5], shown, "{filter}");
    }
    let id = environment.id.to_string();
    let bound = [("environment", id.as_str()), ("starts_on", "2026-03-01")];
    let resource = browser.get(&line).await.attributes(".facts a", "href").remove(0);
    browser.submit(&resource, "/bindings", &bound).await;
    for filter in ["", &format!("?environment={id}"), "?resource=i-1"] {
        assert_eq!(totals_at(&browser, filter).await[..5], shown, "{filter}");
    }
    assert_sums(&app).await;
}

// A slip in a currency is told where it was made, and nothing typed is lost.
#[tokio::test]
async fn a_currency_that_is_none_is_refused_in_the_form_and_in_a_bill() {
    let (app, browser, environment) = story().await;
    let id = environment.id.to_string();
    let fields = [("environment", id.as_str()), ("charged_on", "2026-03-02"), ("billed", "7"), ("currency", "CNX")];
    let refused = browser.submit("/ledger/new", "/ledger", &fields).await;
    let said = "“CNX”不是币种：要写 ISO 4217 代码，如 CNY、USD，或自定的 4 到 12 位大写字母、数字、下划线。";
    assert_eq!(
        (refused.status, refused.texts(".field-error")),
        (StatusCode::UNPROCESSABLE_ENTITY, vec![said.to_owned()])
    );
    let form = refused.form("/ledger").1;
    assert_eq!((form["currency"].as_str(), &form["environment"], form["billed"].as_str()), ("CNX", &id, "7"));
    let choices = refused.texts("select[name=environment] option");
    assert!(choices.iter().any(|choice| choice.contains("竹简-预训练")), "the choices are there again: {choices:?}");

    let mut lines = [bill_line("i-1", "2026-03-05T00:00:00Z", "1"), bill_line("i-1", "2026-03-06T00:00:00Z", "2")];
    lines[1].currency = "CNX";
    let summary = import(&app, bill(&lines)).await;
    let errors: Vec<_> = summary.errors.listed.iter().map(|it| (it.row, &*it.column, it.message.key)).collect();
    assert_eq!(errors, [(3, "BillingCurrency", "error-currency")]);
    assert_eq!(sums(&app, &SpendFilter::default()).await, Vec::<String>::new());
}

// case M01 on the page.
#[tokio::test]
async fn the_page_says_what_has_no_rate() {
    let (app, browser, environment) = story().await;
    assert!(browser.get("/ledger").await.texts(".empty")[0].contains("导入一份账单"));
    import(&app, bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "100")])).await;
    let id = environment.id.to_string();
    let fields = [("environment", id.as_str()), ("charged_on", "2026-03-05"), ("billed", "700")];
    browser.submit("/ledger/new", "/ledger", &fields).await;
    let page = browser.get("/ledger").await;
    assert_eq!(
        page.rows(".currency-totals").iter().map(|row| row[5].clone()).collect::<Vec<_>>(),
        ["700.00", "缺汇率"]
    );
    assert_eq!(page.texts(".currency-totals tfoot td"), ["700.00"]);
    assert_eq!(page.texts(".unconverted li"), ["USD 100.00：1 条，1 天，2026-03-05 至 2026-03-05 查看这些条目"]);
}

// check C30 on the pages: a member without a project finds nothing and opens nothing.
#[tokio::test]
async fn a_member_of_nothing_sees_nothing() {
    let (app, browser, environment) = story().await;
    import(&app, bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "100")])).await;
    let id = environment.id.to_string();
    let entry = browser
        .submit("/ledger/new", "/ledger", &[("environment", &id), ("charged_on", "2026-03-05"), ("billed", "7")])
        .await
        .location();
    let member = app.sign_in(Role::Member).await;
    assert_eq!(member.get("/ledger").await.rows("table.spend").len(), 0);
    for (path, status) in [
        (entry.as_str(), StatusCode::NOT_FOUND),
        (&format!("{entry}/void"), StatusCode::NOT_FOUND),
        ("/resources/1", StatusCode::NOT_FOUND),
        ("/ledger/unplaced", StatusCode::FORBIDDEN),
        ("/ledger/unplaced.csv", StatusCode::FORBIDDEN),
        ("/imports", StatusCode::FORBIDDEN),
        ("/imports/bill", StatusCode::FORBIDDEN),
    ] {
        assert_eq!(member.get(path).await.status, status, "{path}");
    }
}
