use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{Cursor, Write as _};
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::money::Sum;

/// A line of a small bill, by column.
fn line() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        ("BilledCost", "12.50"),
        ("BillingAccountId", "acct-1"),
        ("BillingAccountName", "Research"),
        ("BillingCurrency", "USD"),
        ("BillingPeriodEnd", "2026-04-01T00:00:00Z"),
        ("BillingPeriodStart", "2026-03-01T00:00:00Z"),
        ("ChargeCategory", "Usage"),
        ("ChargeClass", ""),
        ("ChargeDescription", "GPU hours"),
        ("ChargePeriodEnd", "2026-03-02T00:00:00Z"),
        ("ChargePeriodStart", "2026-03-01T00:00:00Z"),
        ("ContractedCost", "12.5"),
        ("EffectiveCost", "1.25E1"),
        ("InvoiceIssuerName", "Reedpond"),
        ("ListCost", "NULL"),
        ("PricingQuantity", "24"),
        ("PricingUnit", "Hours"),
        ("ProviderName", "Reedpond Cloud"),
        ("ServiceCategory", "Compute"),
        ("ServiceName", "Machines"),
        ("Tags", r#"{"team":"a","env":"b"}"#),
        ("ResourceId", "i-1"),
    ])
}

fn file(lines: &[BTreeMap<&'static str, &'static str>]) -> Vec<u8> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(lines[0].keys()).unwrap();
    for line in lines {
        csv.write_record(line.values()).unwrap();
    }
    csv.into_inner().unwrap()
}

fn read(bytes: impl Into<Vec<u8>>) -> Vec<Result<FocusRow, Vec<RowError>>> {
    open(Cursor::new(bytes.into())).unwrap_or_else(|errors| panic!("{errors:?}")).collect()
}

fn one(line: BTreeMap<&'static str, &'static str>) -> Result<FocusRow, Vec<RowError>> {
    read(file(&[line])).pop().unwrap()
}

fn refused(bytes: impl Into<Vec<u8>>) -> Vec<RowError> {
    open(Cursor::new(bytes.into())).err().expect("the file is refused").listed
}

/// The one error of a line in which one cell was changed: its column, its value, its message.
fn error_of(column: &'static str, value: &'static str) -> (String, String, &'static str) {
    let mut line = line();
    line.insert(column, value);
    let errors = one(line).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].row, 2);
    (errors[0].column.clone().into_owned(), errors[0].value.clone(), errors[0].message.key)
}

fn bytes_of(row: &FocusRow) -> Vec<u8> {
    let mut bytes = Vec::new();
    row.normalised(&mut bytes);
    bytes
}

#[test]
fn a_line_is_read_with_its_four_costs() {
    let row = one(line()).unwrap();
    assert_eq!((row.row, row.billing_account.as_str(), row.service.as_str()), (2, "acct-1", "Machines"));
    assert_eq!((row.billed, row.effective), (Some(Decimal::new(125, 1)), Some(Decimal::new(125, 1))));
    assert_eq!(row.list, None, "NULL is unknown, not zero");
    assert_eq!((row.period.to_string().as_str(), row.category, row.class), ("2026-03", Category::Usage, None));
    assert_eq!(row.tags.as_deref(), Some(r#"{"env":"b","team":"a"}"#));
    assert_eq!((row.resource_id.as_str(), row.provider_name.as_str()), ("i-1", "Reedpond Cloud"));
}

#[test]
fn packing_marks_and_separators_do_not_change_what_is_read() {
    let plain = file(&[line()]);
    let expected = read(plain.clone());
    // case I02
    assert_eq!(read([b"\xEF\xBB\xBF", plain.as_slice()].concat()), expected);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&plain).unwrap();
    assert_eq!(read(packed.finish().unwrap()), expected);
    // case I04
    let semicolons = csv::WriterBuilder::new().delimiter(b';').from_writer(Vec::new());
    let tabs = csv::WriterBuilder::new().delimiter(b'\t').from_writer(Vec::new());
    for mut writer in [semicolons, tabs] {
        writer.write_record(line().keys()).unwrap();
        writer.write_record(line().values()).unwrap();
        assert_eq!(read(writer.into_inner().unwrap()), expected);
    }
    let crlf = String::from_utf8(plain).unwrap().replace('\n', "\r\n");
    assert_eq!(read(crlf), expected);
}

#[test]
fn columns_are_found_by_name_in_any_case_and_unknown_ones_are_passed_over() {
    let text = String::from_utf8(file(&[line()])).unwrap();
    let (header, rest) = text.split_once('\n').unwrap();
    let changed = format!("Id,{},x_Own,\n7,{},own,\n", header.to_lowercase(), rest.trim_end());
    assert_eq!(read(changed), read(text));
}

// case I07
#[test]
fn a_column_that_is_read_may_not_stand_there_twice_but_others_may() {
    let text = String::from_utf8(file(&[line()])).unwrap();
    let twice = |name: &str| text.replacen('\n', &format!(",{name}\n"), 1).replace("Machines", "Machines,1");
    let errors = refused(twice("billedcost"));
    assert_eq!(
        (errors.len(), errors[0].message.key, errors[0].column.as_ref()),
        (1, "focus-column-twice", "BilledCost")
    );
    let text = String::from_utf8(file(&[line()])).unwrap();
    assert_eq!(read(text.replacen('\n', ",,,\n", 1).replace("Machines\n", "Machines,,,\n")).len(), 1);
}

#[test]
fn a_missing_mandatory_column_is_named() {
    for column in MANDATORY.into_iter().chain(["ProviderName"]) {
        let mut line = line();
        line.remove(column);
        let errors = refused(file(&[line]));
        assert_eq!(errors.len(), 1);
        assert_eq!(
            (errors[0].row, errors[0].column.as_ref(), errors[0].message.key),
            (1, column, "focus-column-missing")
        );
    }
    assert_eq!(refused("name,amount\nx,1\n")[0].message.key, "focus-no-header");
    assert_eq!(refused("")[0].message.key, "focus-empty");
    assert_eq!(refused(b"PK\x03\x04....".to_vec())[0].message.key, "focus-not-text");
}

#[test]
fn the_header_tells_the_version() {
    let version = |add: &[&'static str], remove: &[&'static str]| {
        let mut line = line();
        line.extend(add.iter().map(|column| (*column, "")));
        for column in remove {
            line.remove(column);
        }
        open(Cursor::new(file(&[line]))).unwrap_or_else(|errors| panic!("{errors:?}")).version()
    };
    assert_eq!(version(&[], &[]), Version::V1_0);
    assert_eq!(version(&["SkuMeter"], &[]), Version::V1_1);
    assert_eq!(version(&["SkuMeter", "InvoiceId"], &[]), Version::V1_2);
    assert_eq!(version(&["InvoiceId", "ServiceProviderName", "HostProviderName"], &[]), Version::V1_3);
    assert_eq!(version(&["InvoiceId", "ServiceProviderName"], &["ProviderName"]), Version::V1_4);
}

// case I12
#[test]
fn each_wrong_cell_is_named_by_row_column_and_value() {
    let error = |column: &str, value: &str, key| (column.to_owned(), value.to_owned(), key);
    assert_eq!(error_of("BilledCost", "$10,000.00"), error("BilledCost", "$10,000.00", "error-decimal"));
    assert_eq!(error_of("ChargePeriodStart", "5/1/25"), error("ChargePeriodStart", "5/1/25", "focus-time"));
    assert_eq!(error_of("BillingCurrency", ""), error("BillingCurrency", "", "focus-value-missing"));
    assert_eq!(error_of("BillingAccountId", "NULL").2, "focus-value-missing");
    assert_eq!(error_of("ChargeCategory", "Refund").2, "focus-category");
    assert_eq!(error_of("ChargeClass", "Regular").2, "focus-class");
    assert_eq!(error_of("ChargePeriodEnd", "2026-03-01T00:00:00Z").2, "focus-span", "the end is excluded");
    assert_eq!(error_of("BillingPeriodEnd", "2026-02-01T00:00:00Z").2, "focus-span");
    assert_eq!(error_of("Tags", "team=a").2, "focus-tags");
    assert_eq!(error_of("ResourceId", "1.23E+15").2, "focus-id-number");
    // case I16
    assert_eq!(error_of("ResourceName", "A\0B").2, "error-text-nul");
    let errors = {
        let mut line = line();
        line.extend([("BilledCost", "1,5"), ("ListCost", "¥1"), ("ChargePeriodEnd", "soon")]);
        one(line).unwrap_err()
    };
    assert_eq!(errors.len(), 3, "all of a row's errors are found");
}

#[test]
fn a_row_is_counted_as_a_person_counts_it() {
    let mut broken = line();
    broken.insert("ChargeDescription", "two\nlines");
    let mut wrong = line();
    wrong.insert("BilledCost", "x");
    let mut bytes = file(&[broken, line()]);
    bytes.extend_from_slice(b"\n,,,,,\n");
    bytes.extend(file(&[wrong]).split(|byte| *byte == b'\n').nth(1).unwrap());
    let mut reader = open(Cursor::new(bytes)).unwrap_or_else(|errors| panic!("{errors:?}"));
    let rows: Vec<_> = reader.by_ref().collect();
    assert_eq!(rows[0].as_ref().unwrap().description, "two\nlines");
    // Header, two lines, a row of separators (the empty line before it is none), the wrong one.
    assert_eq!((rows.len(), rows[2].as_ref().unwrap_err()[0].row, reader.rows_read()), (3, 5, 3));
}

#[test]
fn a_row_with_too_few_cells_is_refused() {
    let mut bytes = file(&[line()]);
    bytes.extend_from_slice(b"1,2,3\n");
    let errors = read(bytes).pop().unwrap().unwrap_err();
    assert_eq!((errors[0].row, errors[0].message.key), (3, "focus-row-width"));
}

#[test]
fn an_unclosed_quotation_mark_and_a_broken_archive_end_in_an_error() {
    let mut bytes = file(&[line()]);
    bytes.push(b'"');
    bytes.resize(bytes.len() + limits::IMPORT_RECORD_BYTES + 100_000, b'x');
    let rows = read(bytes);
    assert_eq!((rows.len(), rows[1].as_ref().unwrap_err()[0].message.key), (2, "focus-record-size"));

    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    let lines: Vec<_> = std::iter::repeat_with(line).take(2_000).collect();
    packed.write_all(&file(&lines)).unwrap();
    let mut packed = packed.finish().unwrap();
    packed.truncate(packed.len() / 2);
    match open(Cursor::new(packed)) {
        Ok(reader) => assert_eq!(reader.last().unwrap().unwrap_err()[0].message.key, "focus-unreadable"),
        Err(errors) => assert_eq!(errors.listed[0].message.key, "focus-unreadable"),
    }
}

#[test]
fn the_normalised_form_knows_the_same_line_in_other_writing() {
    let row = one(line()).unwrap();
    let mut other = line();
    other.extend([
        ("BilledCost", "1250E-2"),
        ("ListCost", ""),
        ("ChargePeriodStart", "2026-03-01 00:00:00"),
        ("ChargePeriodEnd", "2026-03-02T08:00:00+08:00"),
        ("ChargeCategory", "usage"),
        ("ChargeClass", "NULL"),
        ("BillingCurrency", "usd"),
        ("Tags", r#"{ "env": "b", "team": "a" }"#),
    ]);
    assert_eq!(bytes_of(&one(other).unwrap()), bytes_of(&row));
    for (column, value) in [("BilledCost", "12.51"), ("ListCost", "0"), ("ResourceId", "i-2"), ("Tags", "{}")] {
        let mut other = line();
        other.insert(column, value);
        assert_ne!(bytes_of(&one(other).unwrap()), bytes_of(&row), "{column}");
    }
}

/// A sample file, or nothing with a printed line where the samples are absent.
fn sample(path: &str) -> Option<File> {
    let samples = std::env::var_os("RENTROLL_SAMPLES")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data")), PathBuf::from);
    let found = File::open(samples.join(path)).ok();
    if found.is_none() {
        println!("skipped: the sample {path} is not in {}", samples.display());
    }
    found
}

fn read_sample(path: &str) -> Option<(Version, Vec<FocusRow>)> {
    let reader = open(sample(path)?).unwrap_or_else(|errors| panic!("{path}: {errors:?}"));
    let version = reader.version();
    Some((version, reader.map(|row| row.unwrap_or_else(|errors| panic!("{path}: {errors:?}"))).collect()))
}

#[test]
fn the_real_bill_reads_whole_and_adds_up() {
    let Some((version, rows)) = read_sample("focus-1.0-real/focus_1_0_700rows.csv") else { return };
    assert_eq!((version, rows.len()), (Version::V1_0, 700));
    let total = |cost: fn(&FocusRow) -> Option<Decimal>| rows.iter().filter_map(cost).sum::<Sum>().plain();
    assert_eq!(total(|row| row.billed), "14.92148401015");
    assert_eq!(total(|row| row.list), "15.05296303235");
    assert_eq!(total(|row| row.effective), "12.60488919342");
    assert_eq!(rows.iter().filter(|row| row.contracted.is_none()).count(), 5);
    // case I13
    assert_eq!(rows.iter().filter(|row| row.billed.is_some_and(|cost| cost.is_sign_negative())).count(), 7);
}

#[test]
fn the_newer_versions_read_whole() {
    let bundle = "focus-synthetic/focus_1_4_bundle_aws/synthetic_focus_1_4_cost_and_usage.csv";
    for (path, version, count) in [
        ("focus-synthetic/focus_1_2_cost_and_usage_azure_300.csv", Version::V1_2, 300),
        ("focus-synthetic/focus_1_2_cost_and_usage_aws_20000.csv.gz", Version::V1_2, 20_000),
        ("focus-synthetic/focus_1_3_cost_and_usage_gcp_300.csv", Version::V1_3, 300),
        (bundle, Version::V1_4, 600),
    ] {
        let Some((found, rows)) = read_sample(path) else { continue };
        assert_eq!((found, rows.len()), (version, count), "{path}");
        let distinct: HashSet<_> = rows.iter().map(bytes_of).collect();
        assert!(distinct.len() > count / 2, "{path}: {} rows differ", distinct.len());
    }
}

#[test]
fn another_dataset_is_named() {
    let folder = "focus-synthetic/focus_1_4_bundle_aws/synthetic_focus_1_4_";
    for (path, dataset) in [
        ("focus-synthetic/focus_1_3_contract_commitment_gcp.csv".to_owned(), "Contract Commitment"),
        (format!("{folder}contract_commitment.csv"), "Contract Commitment"),
        (format!("{folder}billing_period.csv"), "Billing Period"),
        (format!("{folder}invoice_detail.csv"), "Invoice Detail"),
    ] {
        let Some(file) = sample(&path) else { continue };
        let errors = open(file).err().expect("it is refused").listed;
        assert_eq!((errors.len(), errors[0].message.key), (1, "focus-other-dataset"), "{path}");
        assert!(errors[0].message.to_string().contains(dataset), "{path}");
    }
}
