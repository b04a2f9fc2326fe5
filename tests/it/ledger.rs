//! Stories of spend, resources and bills.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bills;
mod entries;
mod pages;
mod places;
mod sums;
mod together;
mod unit_costs;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use rentroll::actor::{Actor, ProjectRole, Role, Scope};
use rentroll::dates::{self, Period};
use rentroll::ids::ProjectId;
use rentroll::ledger::bill_import::{self, BillFile, Source, Summary};
use rentroll::ledger::filter::{Chosen, SpendFilter};
use rentroll::ledger::resource::ResourceFilter;
use rentroll::ledger::spend_list::{self, SpendRow};
use rentroll::ledger::total::{self, Totals};
use rentroll::ledger::{resource, rollup};
use rust_decimal::Decimal;

use crate::harness::TestApp;

fn day(text: &str) -> chrono::NaiveDate {
    dates::parse_date(text).unwrap()
}

fn number(text: &str) -> Decimal {
    rentroll::money::parse_decimal(text).unwrap()
}

fn period(text: &str) -> Period {
    text.parse().unwrap()
}

/// A sample file, or nothing and a printed line.
fn sample(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("RENTROLL_SAMPLES")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    let path = folder.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not here; RENTROLL_SAMPLES names the folder of sample files", path.display());
    None
}

/// Somebody with one right in one project.
fn member(project: ProjectId, role: ProjectRole) -> Actor {
    Actor {
        role: Role::Member,
        scope: Scope { all: None, projects: BTreeMap::from([(project, role)]) },
        ..Actor::command_line("member")
    }
}

/// A line of a bill, as the columns below name it.
#[derive(Clone)]
struct BillLine {
    resource: &'static str,
    start: String,
    billed: &'static str,
    category: &'static str,
    currency: &'static str,
}

/// The columns that FOCUS makes mandatory in every version, and some that are read besides.
const COLUMNS: &str = "BillingAccountId,BillingAccountName,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,\
    ChargeDescription,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,\
    InvoiceIssuerName,ProviderName,PricingQuantity,PricingUnit,ServiceCategory,ServiceName,ResourceId,SubAccountId,Tags";

fn bill_line(resource: &'static str, start: &str, billed: &'static str) -> BillLine {
    BillLine { resource, start: start.to_owned(), billed, category: "Usage", currency: "USD" }
}

/// A FOCUS bill of March 2026.
fn bill(lines: &[BillLine]) -> String {
    let mut text = format!("{COLUMNS}\n");
    for BillLine { resource, start, billed, category, currency } in lines {
        let end = format!("{}T23:30:00Z", &start[..10]);
        writeln!(
            text,
            "acc-1,Main,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,{category},,,{start},{end},{billed},{billed},NULL,,{currency},\
             Reedpond,Reedpond,1,hour,Compute,GPU,{resource},sub-1,"
        )
        .unwrap();
    }
    text
}

/// Imports a bill of 苇塘云.
async fn import(app: &TestApp, text: impl Into<Bytes>) -> Summary {
    try_import(app, text, false).await
}

async fn try_import(app: &TestApp, text: impl Into<Bytes>, dry_run: bool) -> Summary {
    let file = BillFile { name: "bill.csv".to_owned(), source: Source::Bytes(text.into()) };
    bill_import::run(&app.app, &app.operator(), file, "苇塘云", dry_run, Arc::new(|_| ())).await.unwrap()
}

/// The entries that a filter shows on its first page.
async fn entries(app: &TestApp, filter: &SpendFilter) -> Vec<SpendRow> {
    let mut read = app.read().await;
    let chosen = Chosen::of(&mut read, filter).await.unwrap();
    spend_list::list(&mut read, &chosen).await.unwrap().rows
}

async fn totals(app: &TestApp, filter: &SpendFilter) -> Totals {
    let mut read = app.read().await;
    let chosen = Chosen::of(&mut read, filter).await.unwrap();
    total::of(&mut read, &chosen).await.unwrap()
}

/// Currency and payable sum, as `USD 12.5`.
async fn sums(app: &TestApp, filter: &SpendFilter) -> Vec<String> {
    totals(app, filter).await.currencies.iter().map(|it| format!("{} {}", it.currency, it.billed)).collect()
}

/// The work list: resource, currency, lines, sum.
async fn unplaced(app: &TestApp) -> Vec<(String, String, i64, String)> {
    let mut read = app.read().await;
    let (list, _) = resource::unplaced(&mut read, &ResourceFilter::default()).await.unwrap();
    let rows = list.iter().flat_map(|it| &it.rows);
    rows.map(|row| (row.label(), row.currency.to_string(), row.lines, row.billed.plain())).collect()
}

/// Proves that the kept sums are those of the lines.
async fn assert_sums(app: &TestApp) {
    let mut read = app.read().await;
    assert_eq!(rollup::verify(&mut read).await.unwrap(), []);
}
