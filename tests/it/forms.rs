//! Who may send a form may open it, and nobody else: a page offers exactly what its reader may do.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use rentroll::access::membership;
use rentroll::actor::{ProjectRole, Role};
use rentroll::app;
use rentroll::catalog::contact::{self, ContactFacts};
use rentroll::catalog::contract::{self, ContractFacts};
use rentroll::catalog::incident::{self, IncidentFacts};
use rentroll::catalog::price::{self, NewPrice};
use rentroll::dates::{Zone, parse_date};
use rentroll::document::{self, Holder, NewDocument, Place};
use rentroll::ids::ProviderId;
use rentroll::ledger::output::{self, NewOutput};
use rentroll::ledger::spend::{self, NewSpend};
use rentroll::ledger::{bill_import, exchange_rate_import};
use rentroll::text::Line;
use rentroll::tx::Tx;
use rentroll::web::routes::{Needs, Route};
use sha2::{Digest as _, Sha256};

use crate::harness::{Answer, TestApp};

const BILL: &str = "BillingAccountId,BillingAccountName,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,\
    ChargeDescription,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,\
    InvoiceIssuerName,ProviderName,PricingQuantity,PricingUnit,ServiceCategory,ServiceName,ResourceId\n\
    a,A,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,Usage,,,2026-03-05T00:00:00Z,2026-03-06T00:00:00Z,1,1,1,1,USD,R,R,1,h,Compute,GPU,i-1\n";
const RATES: &str = "base,quote,date,rate\nUSD,CNY,2026-03-02,7.2\n";

/// What everybody who signed in may do: the language, the own password, sessions and filters.
const OWN: [&str; 6] =
    ["/language", "/sign-out", "/account/password", "/account/sessions", "/account/sessions/others", "/filters"];

/// One of everything that has a page of its own, and an unplaced bill line; gives the hashes of the two uploaded files.
async fn furnish(app: &TestApp) -> [String; 2] {
    // The first has no ledger rows, so that it can still be voided.
    app.open_environment("竹简-微调", "2026-01-01", Some("2026-03-31")).await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", None).await;
    let member = app.add_user("member@palmfan.example", Role::Member).await;
    let day = parse_date("2026-03-02").unwrap();
    let mut tx = app.write().await;
    let amount = 8.into();
    let new = NewSpend::of_days(environment.id, day, day, amount, "CNY".parse().unwrap(), Zone::default());
    spend::record(&mut tx, new).await.unwrap();
    let new = NewOutput {
        environment: environment.id,
        scenario: None,
        period: "2026-03".parse().unwrap(),
        unit: "次".parse().unwrap(),
        quantity: 3.into(),
        value: None,
        description: Line::default(),
    };
    output::record(&mut tx, &new).await.unwrap();
    membership::add(&mut tx, environment.project_id, member, ProjectRole::Viewer).await.unwrap();
    furnish_provider(&mut tx, environment.provider_id).await;
    let said = |name: &str| match name {
        "billing_mode" => "monthly",
        "unit" => "instance_month",
        "currency" => "CNY",
        "amount" => "10",
        _ => "2026-01-01",
    };
    price::add(&mut tx, environment.tier_id, &NewPrice::parse(&said).unwrap()).await.unwrap();
    tx.commit().await.unwrap();
    exchange_rate_import::run(&app.app, &app.operator(), RATES.as_bytes(), "rates.csv", false).await.unwrap();
    let file = bill_import::BillFile {
        name: "bill.csv".to_owned(),
        source: bill_import::Source::Bytes(Bytes::from_static(BILL.as_bytes())),
    };
    let progress = std::sync::Arc::new(|_| ());
    bill_import::run(&app.app, &app.operator(), file, "苇塘云", false, progress).await.unwrap();
    assert!(app.remind().await.done > 0, "a mail about the term's end");
    // Files that bring something new, so that their previews can be confirmed.
    let store = async |text: String| {
        let stored = app.app.documents.put_bytes(text.into(), 1 << 20).await.unwrap();
        hex::encode(stored.sha256)
    };
    [store(BILL.replace("USD", "EUR")).await, store(RATES.replace("USD", "EUR")).await]
}

/// A contact, a contract, an incident and a document of a provider.
async fn furnish_provider(tx: &mut Tx, id: ProviderId) {
    let facts = |name: &str| {
        if name == "starts_on" {
            "2026-01-01"
        } else if name == "former" {
            ""
        } else {
            "甲"
        }
    };
    let person = ContactFacts::parse(&|name| if name == "email" { "" } else { facts(name) }).unwrap();
    contact::add(tx, id, &person).await.unwrap();
    let agreed = ContractFacts::parse(&|name| if name == "ends_on" { "" } else { facts(name) }).unwrap();
    contract::add(tx, id, &agreed).await.unwrap();
    let went_wrong = |name: &str| match name {
        "title" => "掉卡",
        "severity" => "minor",
        "starts_at" => "2026-01-01 08:00",
        _ => "",
    };
    let facts = IncidentFacts::parse(&went_wrong, Zone::default()).unwrap();
    incident::record(tx, id, &facts).await.unwrap();
    let place = Place { holder: Holder::Provider(id), name: "苇塘云".to_owned(), project: None };
    let new = NewDocument {
        name: "bill.csv".parse().unwrap(),
        media_type: "text/csv; charset=utf-8",
        size: i64::try_from(BILL.len()).unwrap(),
        sha256: Sha256::digest(BILL).into(),
        note: Line::default(),
        version_of: None,
    };
    document::attach(tx, &place, &new).await.unwrap();
}

/// The address of a route, with the things that are there.
async fn address(app: &TestApp, route: &Route, [bill, rates]: &[String; 2]) -> String {
    let table = match route.path.trim_start_matches('/').split('/').collect::<Vec<_>>()[..] {
        ["providers", ..] => "provider",
        ["contacts", ..] => "provider_contact",
        ["contracts", ..] => "contract",
        ["incidents", ..] => "provider_incident",
        ["prices", ..] => "price",
        ["documents", ..] => "document",
        ["tiers", ..] => "tier",
        ["environments", ..] => "environment",
        ["terms", ..] => "term",
        ["projects", ..] => "project",
        ["people", ..] => "person",
        ["ledger", "outputs", ..] => "output_entry",
        ["ledger", ..] => "spend",
        ["resources", ..] => "resource",
        ["deliveries", ..] => "delivery",
        _ => "organisation",
    };
    let sql = format!("select min(id::text) from {table}");
    let mut superuser = app.database.superuser().await;
    let id: String = sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut superuser).await.unwrap();
    // A preview is asked for with the name of the file.
    let hash = if route.path.contains("rates") { rates } else { bill };
    let of = if route.path.contains("rates") { "" } else { "&provider=R" };
    let path = route.path.replace("{id}", &id).replace("{sha256}", &format!("{hash}?name=f.csv{of}"));
    path.replace("{binding}", "1").replace("{member}", "1")
}

/// Where the forms of a page lead, but for what everybody may send.
fn targets(page: &Answer) -> BTreeSet<String> {
    let actions = page.attributes("form[method=post]", "action").into_iter();
    let paths = actions.map(|action| action.split('?').next().unwrap_or_default().to_owned());
    paths.filter(|path| !OWN.contains(&path.as_str())).collect()
}

/// Whether a page is nothing but a form.
fn is_form(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or_default();
    path.starts_with("/imports/") || matches!(last, "new" | "edit" | "correct" | "void" | "end" | "scale-changes")
}

fn is_file(path: &str) -> bool {
    [".csv", ".xlsx", ".json"].iter().any(|ending| path.ends_with(ending))
}

// case P01: an auditor reads everything, is offered nothing to change, and cannot open or send what would change it.
#[tokio::test]
async fn an_auditor_is_shown_no_form_that_would_be_refused() {
    let app = TestApp::new().await;
    let hashes = furnish(&app).await;
    let (administrator, auditor) = (app.sign_in(Role::Administrator).await, app.sign_in(Role::Auditor).await);
    let id = uuid::Uuid::now_v7().to_string();
    let typed =
        [("submit_id", &*id), ("version", "1"), ("reason", "r"), ("name", "n"), ("user", "1"), ("role", "viewer")];
    let (mut forms, mut links) = (0, BTreeSet::new());
    for route in app::routes().finish().1.into_iter().filter(|it| it.needs != Needs::Nothing && !is_file(it.path)) {
        let path = address(&app, &route, &hashes).await;
        if route.method == Method::POST {
            if !OWN.contains(&route.path) {
                let answer = auditor.post(&path, &typed).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "POST {path}: {}", answer.text());
            }
            continue;
        }
        let whole = administrator.get(&path).await;
        assert_eq!(whole.status, StatusCode::OK, "{path}: {}", whole.text());
        let page = auditor.get(&path).await;
        if is_form(route.path) {
            assert!(!targets(&whole).is_empty(), "{path} is a form");
            assert_eq!((page.status, page.texts("h1")), (StatusCode::FORBIDDEN, vec!["没有权限".to_owned()]), "{path}");
            forms += 1;
        } else {
            assert_eq!(page.status, StatusCode::OK, "{path}: {}", page.text());
            assert_eq!(targets(&page), BTreeSet::new(), "{path}");
            links.extend(page.attributes("main a", "href").into_iter().filter(|href| href.starts_with('/')));
        }
    }
    assert!(forms >= 20, "{forms} forms");
    for link in links.iter().filter(|link| !is_file(link.split('?').next().unwrap_or_default())) {
        assert_eq!(auditor.get(link).await.status, StatusCode::OK, "the page offers {link}");
    }
}
