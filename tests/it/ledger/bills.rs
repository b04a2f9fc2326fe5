//! Bills come in: all or nothing, once.

use std::io::Write as _;
use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _};
use rentroll::actor::ProjectRole;
use rentroll::error::Error;
use rentroll::ledger::bill_import::{self, BillFile, Source, Summary};
use rentroll::ledger::filter::{Chosen, SpendFilter};
use rentroll::ledger::spend_list;
use rentroll::locale::Locale;
use rentroll::table::Format;
use sqlx::Executor as _;

use super::{assert_sums, bill, bill_line, entries, import, member, sample, sums, totals, try_import, unplaced};
use crate::harness::TestApp;

fn counts(summary: &Summary) -> [u64; 5] {
    [summary.rows_read, summary.rows_new, summary.rows_known, summary.rows_missing, summary.rows_rejected]
}

async fn import_sample(app: &TestApp, name: &str, provider: &str, dry_run: bool) -> Option<Summary> {
    let file = BillFile { name: name.to_owned(), source: Source::Path(sample(name)?) };
    Some(bill_import::run(&app.app, &app.operator(), file, provider, dry_run, Arc::new(|_| ())).await.unwrap())
}

/// The whole list as a file for programs, read back by a standard reader.
async fn exported(app: &TestApp, filter: &SpendFilter) -> Vec<Vec<String>> {
    let mut read = app.app.read_bulk(&app.operator()).await.unwrap();
    let chosen = Chosen::of(&mut read, filter).await.unwrap();
    let zone = read.organisation().zone;
    let rows = spend_list::stream(read, chosen);
    let file = spend_list::TABLE.stream_batches(Format::CsvPlain, Locale::En, zone, rows);
    let bytes = file.map_ok(|chunk| chunk.to_vec()).try_concat().await.unwrap();
    let mut csv = csv::Reader::from_reader(bytes.as_slice());
    csv.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
}

// The real sample: 700 anonymised rows of three clouds.
#[tokio::test]
async fn the_real_sample_adds_up_to_the_cent_and_beyond() {
    let app = TestApp::new().await;
    let Some(preview) = import_sample(&app, "focus-1.0-real/focus_1_0_700rows.csv", "X", true).await else { return };
    assert_eq!(counts(&preview), [700, 700, 0, 0, 0]);
    assert_eq!(preview.import_id, None);
    assert_eq!(entries(&app, &SpendFilter::default()).await, [], "a preview saves nothing");
    assert_eq!(app.actions().await, Vec::<String>::new());

    let first = import_sample(&app, "focus-1.0-real/focus_1_0_700rows.csv", "X", false).await.unwrap();
    assert_eq!(first.errors.listed, []);
    assert_eq!(counts(&first), [700, 700, 0, 0, 0]);
    let json = first.json(Locale::En);
    assert_eq!(
        json["totals"],
        serde_json::json!({ "USD": { "billed": "14.92148401015", "effective": "12.60488919342", "list": "15.05296303235" } })
    );
    assert_eq!(json["unknown"], serde_json::json!({ "list": 0, "contracted": 5, "billed": 0, "effective": 0 }));
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "errors",
            "import_id",
            "rows_known",
            "rows_missing",
            "rows_new",
            "rows_read",
            "rows_rejected",
            "totals",
            "unknown"
        ]
    );
    assert_eq!(app.actions().await, ["provider.added", "bill.imported"], "one entry, whatever the number of lines");
    assert_sums(&app).await;

    let again = import_sample(&app, "focus-1.0-real/focus_1_0_700rows.csv", "X", false).await.unwrap();
    assert_eq!(counts(&again), [700, 0, 700, 0, 0]);
    assert_eq!(again.import_id, first.import_id);
    assert_eq!(again.totals, first.totals);

    let rows = exported(&app, &SpendFilter::default()).await;
    assert_eq!(rows.len(), 700);
    for (column, sum) in [(15, "15.05296303235"), (17, "14.92148401015"), (18, "12.60488919342")] {
        let total: rust_decimal::Decimal = rows.iter().map(|row| super::number(&row[column])).sum();
        assert_eq!(total.normalize().to_string(), sum);
    }
    // Keys that differ by a space are two tags.
    assert!(rows.iter().any(|row| row[21].contains(r#"" org": "trey""#) && row[21].contains(r#""org": "trey""#)));
    let total = &totals(&app, &SpendFilter::default()).await;
    assert_eq!((total.lines(), total.currencies[0].billed.plain().as_str()), (700, "14.92148401015"));
    assert_eq!(total.total, None, "there is no rate, so there is no house total");
    assert_eq!(total.unconverted[0].currency.as_str(), "USD");
}

#[tokio::test]
async fn every_version_of_focus_comes_in() {
    let app = TestApp::new().await;
    for (name, rows, format) in [
        ("focus-synthetic/focus_1_2_cost_and_usage_azure_300.csv", 300, "FOCUS 1.2"),
        ("focus-synthetic/focus_1_3_cost_and_usage_gcp_300.csv", 300, "FOCUS 1.3"),
        ("focus-synthetic/focus_1_4_bundle_aws/synthetic_focus_1_4_cost_and_usage.csv", 600, "FOCUS 1.4"),
        ("focus-synthetic/focus_1_2_cost_and_usage_aws_20000.csv.gz", 20_000, "FOCUS 1.2"),
    ] {
        let Some(summary) = import_sample(&app, name, name.split('_').nth(6).unwrap_or("AWS"), false).await else {
            return;
        };
        assert_eq!(summary.errors.listed, [], "{name}");
        assert_eq!(counts(&summary), [rows, rows, 0, 0, 0], "{name}");
        assert_eq!(summary.format, format, "{name}");
    }
    assert_sums(&app).await;
    for (name, dataset) in [
        ("focus-synthetic/focus_1_3_contract_commitment_gcp.csv", "Contract Commitment"),
        ("focus-synthetic/focus_1_4_bundle_aws/synthetic_focus_1_4_billing_period.csv", "Billing Period"),
        ("focus-synthetic/focus_1_4_bundle_aws/synthetic_focus_1_4_invoice_detail.csv", "Invoice Detail"),
    ] {
        let Some(summary) = import_sample(&app, name, "other", false).await else { return };
        let said = Locale::En.say(&summary.errors.listed[0].message);
        assert!(said.contains(dataset), "{name}: {said}");
    }
}

// The worked examples of the specification: none may break the program, whatever they lack.
#[tokio::test]
async fn the_examples_of_the_specification_are_read_or_refused_in_words() {
    let app = TestApp::new().await;
    let Some(folder) = sample("focus-spec-examples") else { return };
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "csv") {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let file = BillFile { name: name.clone(), source: Source::Path(path) };
            let run = bill_import::run(&app.app, &app.operator(), file, "examples", true, Arc::new(|_| ())).await;
            let summary = run.unwrap();
            let sum = summary.rows_new + summary.rows_known + summary.rows_rejected;
            assert_eq!(summary.rows_read, sum, "{name}");
            for error in &summary.errors.listed {
                assert_ne!(Locale::ZhCn.say(&error.message), error.message.key, "{name}");
            }
        }
    }
}

// case I08
#[tokio::test]
async fn a_file_met_again_adds_nothing_and_equal_lines_both_count() {
    let app = TestApp::new().await;
    let line = bill_line("i-1", "2026-03-05T00:00:00Z", "1.10");
    let text = bill(&[line.clone(), line.clone(), bill_line("i-2", "2026-03-05T00:00:00Z", "2")]);
    let first = import(&app, text.clone()).await;
    assert_eq!(counts(&first), [3, 3, 0, 0, 0]);
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["USD 4.2"]);
    assert_eq!(counts(&import(&app, text.clone()).await), [3, 0, 3, 0, 0]);
    // Other line ends, another order, another name of the file: the same lines.
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1..].reverse();
    assert_eq!(counts(&import(&app, lines.join("\r\n")).await), [3, 0, 3, 0, 0]);
    assert_eq!(app.actions().await, ["provider.added", "bill.imported"]);

    // A longer file adds what is new; a shorter one takes nothing away and says so.
    let longer = bill(&[line.clone(), line.clone(), line, bill_line("i-2", "2026-03-05T00:00:00Z", "2")]);
    assert_eq!(counts(&import(&app, longer).await), [4, 1, 3, 0, 0]);
    let shorter = bill(&[bill_line("i-3", "2026-03-06T00:00:00Z", "5")]);
    assert_eq!(counts(&import(&app, shorter).await), [1, 1, 0, 4, 0]);
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["USD 10.3"]);
    assert_sums(&app).await;
}

// A bill that was looked at waits some days to be confirmed; one that was booked is kept for ever.
#[tokio::test]
async fn a_booked_bill_stays_in_the_store_and_one_that_nobody_confirms_does_not() {
    let app = TestApp::new().await;
    let take_in = async |resource: &'static str| {
        let text = bill(&[bill_line(resource, "2026-03-01T00:00:00Z", "1")]);
        bill_import::take_in(&app.app, &app.operator(), text.into()).await.unwrap()
    };
    let (booked, in_vain) = (take_in("i-1").await, take_in("i-2").await);
    for (sha256, dry_run) in [(booked, true), (booked, false), (in_vain, true)] {
        let file = BillFile { name: "b".to_owned(), source: Source::Document(sha256) };
        let run = bill_import::run(&app.app, &app.operator(), file, "苇塘云", dry_run, Arc::new(|_| ())).await;
        assert_eq!(run.unwrap().rows_new, 1);
    }
    app.app.clock.set(rentroll::clock::Clock::System.now() + chrono::TimeDelta::days(400));
    rentroll::jobs::run(&app.app, rentroll::jobs::find("sweep").unwrap(), None).await.unwrap();
    assert!(app.app.documents.find(&booked).await.unwrap().is_some());
    assert!(app.app.documents.find(&in_vain).await.unwrap().is_none());
}

// case I08: broken off halfway, nothing is there; then it goes through as if nothing had been.
#[tokio::test]
async fn an_import_that_fails_halfway_leaves_nothing() {
    let app = TestApp::new().await;
    let mut superuser = app.database.superuser().await;
    let fault = "create function fault() returns trigger language plpgsql as 'begin raise exception ''fault''; end';
                 create trigger fault before insert on bill_import for each row execute function fault()";
    superuser.execute(fault).await.unwrap();
    let lines: Vec<_> = (1..=9).map(|n| bill_line("i-1", &format!("2026-03-0{n}T00:00:00Z"), "1")).collect();
    let file = BillFile { name: "b".to_owned(), source: Source::Bytes(bill(&lines).into()) };
    let run = bill_import::run(&app.app, &app.operator(), file, "苇塘云", false, Arc::new(|_| ())).await;
    assert!(matches!(run, Err(Error::Internal(_))), "{run:?}");
    let tables = [
        "spend",
        "spend_month",
        "spend_day",
        "spend_total",
        "spend_month_total",
        "spend_resource",
        "resource",
        "bill_import",
        "provider",
        "audit_entry",
    ];
    for table in tables {
        let sql = format!("select count(*) from {table}");
        let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut superuser).await.unwrap();
        assert_eq!(count, 0, "{table}");
    }
    superuser.execute("drop trigger fault on bill_import").await.unwrap();
    assert_eq!(counts(&import(&app, bill(&lines)).await), [9, 9, 0, 0, 0]);
    assert_sums(&app).await;
}

#[tokio::test]
async fn two_imports_of_one_file_at_once_book_it_once() {
    let app = TestApp::new().await;
    let lines: Vec<_> = (10..30).map(|n| bill_line("i-1", &format!("2026-03-{n}T00:00:00Z"), "1.5")).collect();
    let text = bill(&lines);
    // As two instances of the program would: the slot of one instance is not what keeps them apart.
    app.app.imports.add_permits(3);
    let runs = (0..4).map(|_| import(&app, text.clone()));
    let summaries = futures_util::stream::iter(runs).buffer_unordered(2).collect::<Vec<_>>().await;
    assert_eq!(summaries.iter().map(|summary| summary.rows_new).sum::<u64>(), 20);
    assert_eq!(sums(&app, &SpendFilter::default()).await, ["USD 30"]);
    let imported = app.actions().await.iter().filter(|action| *action == "bill.imported").count();
    assert_eq!(imported, 1);
    assert_sums(&app).await;
}

// case I02, case I04
#[tokio::test]
async fn a_byte_order_mark_a_semicolon_and_a_packed_file_are_read_alike() {
    let app = TestApp::new().await;
    let text = bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "1.10")]);
    let marked = format!("\u{FEFF}{text}");
    assert_eq!(counts(&try_import(&app, marked, true).await), [1, 1, 0, 0, 0]);
    assert_eq!(counts(&try_import(&app, text.replace(',', ";"), true).await), [1, 1, 0, 0, 0]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    assert_eq!(counts(&import(&app, packed.finish().unwrap()).await), [1, 1, 0, 0, 0]);
    assert_eq!(counts(&import(&app, text).await), [1, 0, 1, 0, 0]);

    let header = super::COLUMNS.to_owned() + "\n";
    let empty = import(&app, header).await;
    assert_eq!(empty.errors.listed[0].message.key, "error-import-no-rows");
    assert_eq!(import(&app, "").await.errors.listed[0].message.key, "focus-empty");
    let other = import(&app, "a,b\n1,2\n").await;
    assert_eq!((other.errors.listed[0].row, other.errors.listed[0].message.key), (1, "focus-no-header"));
}

// case I12, case I16
#[tokio::test]
async fn what_is_wrong_is_told_by_row_and_nothing_is_saved() {
    let app = TestApp::new().await;
    let mut lines: Vec<_> = (0..1000).map(|_| bill_line("i-1", "2026-03-05T00:00:00Z", "1")).collect();
    lines[810].start = "2026-13-01T00:00:00Z".to_owned();
    lines[811].billed = "\"$10,000.00\"";
    lines[900].resource = "A\0B";
    let summary = import(&app, bill(&lines)).await;
    assert_eq!(counts(&summary), [1000, 997, 0, 0, 3]);
    assert_eq!(summary.import_id, None);
    let errors: Vec<_> = summary.errors.listed.iter().map(|it| (it.row, &*it.column, it.value.as_str())).collect();
    assert_eq!(
        errors,
        [
            (812, "ChargePeriodStart", "2026-13-01T00:00:00Z"),
            (812, "ChargePeriodEnd", "2026-13-01T23:30:00Z"),
            (813, "BilledCost", "$10,000.00"),
            (813, "EffectiveCost", "$10,000.00"),
            (902, "ResourceId", "A\u{FFFD}B"),
        ]
    );
    assert_eq!(entries(&app, &SpendFilter::default()).await, []);
    assert_eq!(app.actions().await, Vec::<String>::new());

    // The list of errors has an end; the counts do not.
    let bad: Vec<_> = (0..500).map(|_| bill_line("i-1", "2026-03-05T00:00:00Z", "x")).collect();
    let summary = import(&app, bill(&bad)).await;
    assert_eq!((summary.rows_rejected, summary.errors.listed.len()), (500, 200));
}

// case I13
#[tokio::test]
async fn a_credit_lowers_the_month() {
    let app = TestApp::new().await;
    let credit = super::BillLine { category: "Credit", ..bill_line("i-1", "2026-03-06T00:00:00Z", "-196.84") };
    import(&app, bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "200"), credit])).await;
    let march = SpendFilter { period: Some("2026-03".to_owned()), ..SpendFilter::default() };
    assert_eq!(sums(&app, &march).await, ["USD 3.16"]);
    let credits = SpendFilter { category: Some("credit".to_owned()), ..march };
    assert_eq!(sums(&app, &credits).await, ["USD -196.84"]);
}

#[tokio::test]
async fn lines_without_a_resource_share_a_stand_in() {
    let app = TestApp::new().await;
    let tax = super::BillLine { category: "Tax", ..bill_line("", "2026-03-06T00:00:00Z", "6") };
    let lines = [bill_line("", "2026-03-05T00:00:00Z", "1"), bill_line("", "2026-03-06T00:00:00Z", "2"), tax];
    import(&app, bill(&lines)).await;
    let mut list = unplaced(&app).await;
    list.sort();
    assert_eq!(
        list,
        [
            ("GPU · sub-1 · tax".to_owned(), "USD".to_owned(), 1, "6".to_owned()),
            ("GPU · sub-1 · usage".to_owned(), "USD".to_owned(), 2, "3".to_owned()),
        ]
    );
}

#[tokio::test]
async fn only_who_sees_everything_imports() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let file = BillFile { name: "b".to_owned(), source: Source::Bytes(bill(&[]).into()) };
    let actor = member(environment.project_id, ProjectRole::Manager);
    let run = bill_import::run(&app.app, &actor, file, "苇塘云", true, Arc::new(|_| ())).await;
    assert!(matches!(run, Err(Error::Forbidden(_))));
}

// The bytes themselves are kept, under their hash.
// case A11: an import of a bill is one entry, with its sums.
#[tokio::test]
async fn the_file_is_kept_and_the_history_names_it() {
    let app = TestApp::new().await;
    let text = bill(&[bill_line("i-1", "2026-03-05T00:00:00Z", "1.10")]);
    let summary = import(&app, text.clone()).await;
    let kept = app.app.documents.get(&summary.file_sha256.unwrap()).await.unwrap();
    let bytes: Vec<u8> = kept.bytes.map_ok(|chunk| chunk.to_vec()).try_concat().await.unwrap();
    assert_eq!(bytes, text.as_bytes());
    let entry = app.history().await.into_iter().find(|entry| entry.action == "bill.imported").unwrap();
    let image = entry.image();
    assert_eq!(image["file_sha256"], hex::encode(summary.file_sha256.unwrap()));
    assert_eq!((&image["rows_new"], &image["totals"]["USD"]["billed"]), (&1.into(), &"1.1".into()));
    assert_eq!(image["rows_digest"].as_str().unwrap().len(), 64);
    assert_eq!(entry.source, "import");
}
