//! What another project does cannot be noticed: every page, list, file, search and total answers a member of an empty project
//! as if the other project were not there.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use calamine::{Reader as _, Xlsx};
use rentroll::access::membership;
use rentroll::access::person::{self, NewPerson};
use rentroll::access::project::{self, NewProject};
use rentroll::actor::{Actor, ProjectRole, Role, Scope};
use rentroll::app;
use rentroll::catalog::{provider, tier};
use rentroll::dates::{Zone, parse_date};
use rentroll::document::{self, Holder, NewDocument, Place};
use rentroll::environments::environment::{self, Facts, NewEnvironment};
use rentroll::environments::scale::{self, NewScaleChange};
use rentroll::environments::term::NewTerm;
use rentroll::ids::{ProjectId, ResourceId, SpendId, UserId};
use rentroll::ledger::binding::{self, NewBinding};
use rentroll::ledger::output::{self, NewOutput};
use rentroll::ledger::spend::{self, NewSpend};
use rentroll::ledger::{bill_import, exchange_rate_import};
use rentroll::postgres::tables::TABLES;
use rust_decimal::Decimal;
use sqlx::AssertSqlSafe;

use crate::harness::{Answer, Browser, TestApp};

/// Every text of the secret project begins with this.
const SECRET: &str = "密探·";
/// Its amounts and quantities.
const NUMBERS: [&str; 3] = ["7351937", "918273", "46464"];

const BILL: &str = "BillingAccountId,BillingAccountName,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,\
    ChargeDescription,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,\
    InvoiceIssuerName,ProviderName,PricingQuantity,PricingUnit,ServiceCategory,ServiceName,ResourceId\n\
    a,A,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,Usage,,密探·账单,2026-03-05T00:00:00Z,2026-03-06T00:00:00Z,46464,46464,\
    46464,46464,CNY,R,R,1,h,Compute,GPU,密探·机器\n";

/// Whether the program works is everybody's to see, without signing in.
const OF_THE_PROGRAM: [&str; 2] = ["/healthz", "/readyz"];

/// What belongs to nobody alone: providers, tiers, people, rates. And a member of a project that owns nothing.
async fn furnish_shared(app: &TestApp) -> (ProjectId, Browser) {
    let rates = "base,quote,date,rate\nUSD,CNY,2026-03-02,7.2\n";
    exchange_rate_import::run(&app.app, &app.operator(), rates.as_bytes(), "rates.csv", false).await.unwrap();
    let user = app.add_user("outsider@palmfan.example", Role::Member).await;
    app.add_user("member@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    let provider = provider::find_or_add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    tier::find_or_add(&mut tx, provider.id, "H800×8".parse().unwrap()).await.unwrap();
    let owner = NewPerson::named("陈白露", Some("owner@palmfan.example")).unwrap();
    person::find_or_add(&mut tx, owner).await.unwrap();
    let empty = project::add(&mut tx, "空项目".parse().unwrap()).await.unwrap();
    membership::add(&mut tx, empty.id, user, ProjectRole::Manager).await.unwrap();
    tx.commit().await.unwrap();
    // When the reminders ran last is everybody's to see; what they did is not.
    app.remind().await;
    let browser = app.browser();
    browser.sign_in("outsider@palmfan.example").await;
    (empty.id, browser)
}

/// The secret project, with rows in every table that belongs to projects.
async fn furnish_secret(app: &TestApp) -> ProjectId {
    let day = |text: &str| parse_date(text).unwrap();
    let word = |what: &str| format!("{SECRET}{what}");
    let mut tx = app.app.write(&app.operator().because(word("原因"))).await.unwrap();
    let new = NewProject {
        cost_centre: Some(word("成本中心").parse().unwrap()),
        ..NewProject::named(word("项目").parse().unwrap())
    };
    let project = project::add_with(&mut tx, new).await.unwrap();
    let provider = provider::find_or_add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    let tier = tier::find_or_add(&mut tx, provider.id, "H800×8".parse().unwrap()).await.unwrap();
    let owner = NewPerson::named("陈白露", Some("owner@palmfan.example")).unwrap();
    let owner = person::find_or_add(&mut tx, owner).await.unwrap().id;
    let mut facts = Facts::named(word("环境").parse().unwrap(), provider.id, tier.id);
    (facts.owner_id, facts.watchers) = (Some(owner), vec![owner]);
    (facts.note, facts.labels) = (word("备注").parse().unwrap(), format!("team={}", word("标签")).parse().unwrap());
    let mut term = NewTerm::between(day("2026-01-01"), Some(day("2026-03-31")));
    (term.price, term.currency) = (Some(Decimal::from(7_351_937)), Some("CNY".parse().unwrap()));
    let new = NewEnvironment { project_id: project.id, facts, term };
    let environment = environment::open(&mut tx, &new).await.unwrap();
    let change = NewScaleChange {
        changes_on: day("2026-03-10"),
        quantity: Decimal::from(918_273),
        reason: word("扩容").parse().unwrap(),
    };
    scale::record(&mut tx, environment.id, &change).await.unwrap();
    for _ in 0..2 {
        let amount = Decimal::from(7_351_937);
        let date = day("2026-03-02");
        let mut new = NewSpend::of_days(environment.id, date, date, amount, "CNY".parse().unwrap(), Zone::default());
        new.description = word("支出").parse().unwrap();
        spend::record(&mut tx, new).await.unwrap();
    }
    let entry = sqlx::query_scalar("select max(id) from spend").fetch_one(tx.connection()).await.unwrap();
    spend::void(&mut tx, SpendId(entry)).await.unwrap();
    let new = NewOutput {
        environment: environment.id,
        scenario: None,
        period: "2026-03".parse().unwrap(),
        unit: word("次").parse().unwrap(),
        quantity: 918_273.into(),
        value: None,
        description: word("产出").parse().unwrap(),
    };
    output::record(&mut tx, &new).await.unwrap();
    let member = sqlx::query_scalar("select max(id) from user_account").fetch_one(tx.connection()).await.unwrap();
    membership::add(&mut tx, project.id, UserId(member), ProjectRole::Viewer).await.unwrap();
    tx.commit().await.unwrap();

    let file = app.app.documents.put_bytes(word("文件").into(), 1 << 20).await.unwrap();
    let place = Place { holder: Holder::Environment(environment.id), name: word("环境"), project: Some(project.id) };
    let new = NewDocument {
        name: format!("{}.txt", word("合同")).parse().unwrap(),
        media_type: "text/plain; charset=utf-8",
        size: 18,
        sha256: file.sha256,
        note: word("说明").parse().unwrap(),
        version_of: None,
    };
    let mut tx = app.write().await;
    document::attach(&mut tx, &place, &new).await.unwrap();
    let file = app.app.documents.put_bytes(word("文件二").into(), 1 << 20).await.unwrap();
    let newer = NewDocument { sha256: file.sha256, size: 21, ..new };
    let newer = document::attach(&mut tx, &place, &newer).await.unwrap();
    document::void(&mut tx, &place, newer.id, &word("作废").parse().unwrap()).await.unwrap();
    tx.commit().await.unwrap();

    let source = bill_import::Source::Bytes(Bytes::from_static(BILL.as_bytes()));
    let bill = bill_import::BillFile { name: format!("{}.csv", word("账单")), source };
    bill_import::run(&app.app, &app.operator(), bill, "苇塘云", false, Arc::new(|_| ())).await.unwrap();
    let resource = ResourceId(
        sqlx::query_scalar("select max(id) from resource")
            .fetch_one(&mut app.database.superuser().await)
            .await
            .unwrap(),
    );
    let new = NewBinding { resource, environment: environment.id, starts_on: day("2026-03-01"), ends_on: None };
    let mut tx = app.write().await;
    binding::bind(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    assert!(app.remind().await.done > 0);
    project.id
}

/// What an answer says: cells of a workbook, and what is made anew for every form left out.
fn said(path: &str, answer: &Answer) -> (StatusCode, String) {
    let text = if path.contains(".xlsx") && answer.status == StatusCode::OK {
        let mut book = Xlsx::new(Cursor::new(answer.bytes.clone())).unwrap();
        let sheets = book.worksheets();
        let cells = sheets.iter().flat_map(|(_, sheet)| sheet.rows()).flatten();
        cells.map(ToString::to_string).collect::<Vec<_>>().join("\n")
    } else {
        answer.text()
    };
    let is_fresh = |word: &str| uuid::Uuid::parse_str(word).is_ok();
    let words = text.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let kept =
        words.filter(|word| !is_fresh(word.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))));
    (answer.status, kept.collect())
}

/// Filters that would find something of the secret project; each list knows some of them.
const FILTERS: [&str; 9] = [
    "environment=1",
    "resource=1",
    "q=%E5%AF%86%E6%8E%A2",
    "label=team",
    "within=all",
    "period=2026-03",
    "group=project",
    "kind=environment&object=1",
    "unit=%E5%AF%86%E6%8E%A2%C2%B7%E6%AC%A1",
];

/// Every GET of the table, bare and with filters that name the secret project; what names a record names the secret one's.
fn addresses(secret: ProjectId) -> BTreeSet<String> {
    let project = secret.to_string();
    let mut addresses = BTreeSet::new();
    for route in app::routes().finish().1.into_iter().filter(|route| route.method == Method::GET) {
        if OF_THE_PROGRAM.contains(&route.path) || route.path.contains("{token}") {
            continue;
        }
        if route.path.contains('{') {
            let id = if route.path.starts_with("/projects/") { project.as_str() } else { "1" };
            let path = route.path.replace("{id}", id).replace("{member}", "1").replace("{binding}", "1");
            addresses.insert(path.replace("{sha256}", &"f".repeat(64)));
            continue;
        }
        // Every format of a list reads the same rows, so the filters need be tried in one file only.
        let bare = [".xlsx", ".json"].iter().any(|ending| route.path.ends_with(ending));
        let filters = if bare { &[][..] } else { &FILTERS[..] };
        addresses.insert(route.path.to_owned());
        addresses.insert(format!("{}?project={project}", route.path));
        addresses.extend(filters.iter().map(|filter| format!("{}?{filter}", route.path)));
    }
    addresses
}

fn tells(text: &str) -> Option<&'static str> {
    let plain: String = text.chars().filter(|c| !matches!(c, ',' | '\u{a0}' | '\u{202f}')).collect();
    [SECRET].into_iter().chain(NUMBERS).find(|secret| plain.contains(secret))
}

// check C30, cases P02, P03 and P15: nothing of another project, neither its names nor its numbers, nor that it is there.
#[tokio::test]
async fn a_member_of_an_empty_project_cannot_notice_another() {
    let app = TestApp::new().await;
    let (empty, outsider) = furnish_shared(&app).await;
    let administrator = app.sign_in(Role::Administrator).await;
    let secret = ProjectId(empty.0 + 1);
    let addresses = addresses(secret);
    let mut before = BTreeMap::new();
    for address in &addresses {
        before.insert(address, said(address, &outsider.get(address).await));
    }
    assert_eq!(furnish_secret(&app).await, secret);
    let (mut noticed, mut told) = (Vec::new(), BTreeSet::new());
    for address in &addresses {
        let now = said(address, &outsider.get(address).await);
        // A word that was asked for is shown again in its field.
        let shown = now.1.replace("密探·次", "");
        if let Some(what) = tells(&shown) {
            noticed.push(format!("{address} tells {what}"));
        } else if now != before[address] {
            let then: BTreeSet<&str> = before[address].1.lines().collect();
            let new: Vec<&str> = now.1.lines().filter(|line| !then.contains(line)).collect();
            noticed.push(format!("{address}: {} and {}, and new is {new:?}", before[address].0, now.0));
        }
        assert!(!now.0.is_server_error(), "{address}");
        if !address.contains('?') && tells(&said(address, &administrator.get(address).await).1).is_some() {
            told.insert(address);
        }
    }
    assert!(told.len() >= 50, "the secrets are there to be told: {told:?}");
    assert!(noticed.is_empty(), "{} of {}:\n{}", noticed.len(), addresses.len(), noticed.join("\n\n"));
}

// check C30: the same below the pages, for every table that belongs to projects.
#[tokio::test]
async fn no_table_of_projects_gives_a_row_to_another_project() {
    let app = TestApp::new().await;
    let (empty, _) = furnish_shared(&app).await;
    furnish_secret(&app).await;
    let scope = Scope { all: None, projects: BTreeMap::from([(empty, ProjectRole::Manager)]) };
    let outsider = Actor { role: Role::Member, scope, ..Actor::command_line("outsider") };
    let mut read = app.app.read(&outsider).await.unwrap();
    let mut superuser = app.database.superuser().await;
    let mut bare = Vec::new();
    for (table, _, of_projects) in TABLES {
        if !of_projects {
            continue;
        }
        let with_project: bool = sqlx::query_scalar(
            "select exists (select 1 from pg_attribute where attrelid = $1::regclass and attname = 'project_id')",
        )
        .bind(*table)
        .fetch_one(&mut superuser)
        .await
        .unwrap();
        let others = match *table {
            "project" => format!("id <> {empty}"),
            _ if with_project => format!("project_id <> {empty}"),
            _ => "true".to_owned(),
        };
        let sql = format!("select count(*) from {table} where {others}");
        let there: i64 = sqlx::query_scalar(AssertSqlSafe(sql.clone())).fetch_one(&mut superuser).await.unwrap();
        let seen: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(read.connection()).await.unwrap();
        assert_eq!(seen, 0, "{table}");
        if there == 0 {
            bare.push(*table);
        }
    }
    assert_eq!(bare, Vec::<&str>::new(), "nothing to be hidden there");
}

/// Every row of every table but what a reader's own session leaves, as one number a table.
async fn rows(app: &TestApp) -> BTreeMap<&'static str, Option<i64>> {
    let mut superuser = app.database.superuser().await;
    let mut rows = BTreeMap::new();
    for (table, _, _) in TABLES.iter().filter(|(table, _, _)| *table != "session") {
        let sql = format!("select sum(hashtextextended(t::text, 0) % 1000000007)::bigint from {table} t");
        rows.insert(*table, sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut superuser).await.unwrap());
    }
    rows
}

// case P08: whatever is opened, nothing is changed by it, not even by somebody who may change everything.
#[tokio::test]
async fn opening_every_address_changes_no_row() {
    let app = TestApp::new().await;
    furnish_shared(&app).await;
    let secret = furnish_secret(&app).await;
    let administrator = app.sign_in(Role::Administrator).await;
    let before = rows(&app).await;
    for address in addresses(secret) {
        administrator.get(&address).await;
    }
    assert_eq!(rows(&app).await, before);
}
