//! Every route of the table, asked as everybody, for a record of the own project, of another one, and for one that is not there.
//! What each must answer follows from what the table declares.

use std::collections::BTreeMap;

use axum::http::{Method, StatusCode};
use bytes::Bytes;
use rentroll::access::user::{self, Right};
use rentroll::access::{membership, person, project};
use rentroll::actor::{Actor, Permission, ProjectRole, Role, Scope};
use rentroll::app;
use rentroll::catalog::contact::{self, ContactFacts};
use rentroll::catalog::contract::{self, ContractFacts};
use rentroll::catalog::incident::{self, IncidentFacts};
use rentroll::catalog::price::{self, NewPrice};
use rentroll::catalog::{provider, tier};
use rentroll::dates::{Zone, parse_date};
use rentroll::document::{self, Holder, NewDocument, Place};
use rentroll::environments::environment::{self, Facts, NewEnvironment};
use rentroll::environments::term::NewTerm;
use rentroll::ids::{ProjectId, ProviderId, TierId};
use rentroll::ledger::binding::{self, NewBinding};
use rentroll::ledger::output::{self, NewOutput};
use rentroll::ledger::spend::{self, NewSpend};
use rentroll::ledger::{bill_import, exchange_rate_import};
use rentroll::text::Line;
use rentroll::tx::Tx;
use rentroll::web::routes::{Needs, Route, is_data};

use crate::harness::{Answer, Browser, PASSWORD, TestApp};

const BILL: &str = "BillingAccountId,BillingAccountName,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,\
    ChargeDescription,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,\
    InvoiceIssuerName,ProviderName,PricingQuantity,PricingUnit,ServiceCategory,ServiceName,ResourceId\n\
    a,A,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,Usage,,,2026-03-05T00:00:00Z,2026-03-06T00:00:00Z,1,1,1,1,USD,R,R,1,h,Compute,GPU,i-1\n";
const RATES: &str = "base,quote,date,rate\nUSD,CNY,2026-03-02,7.2\n";

/// One record of each kind, by the first word of its address.
type Records = BTreeMap<&'static str, String>;

/// A project with one record of every kind.
async fn furnish(app: &TestApp, name: &str, resource: &str) -> (ProjectId, Records) {
    let day = parse_date("2026-03-02").unwrap();
    let mut tx = app.write().await;
    let project = project::find_or_add(&mut tx, name.parse().unwrap()).await.unwrap();
    let provider = provider::find_or_add(&mut tx, "苇塘云".parse().unwrap()).await.unwrap();
    let tier = tier::find_or_add(&mut tx, provider.id, "H800×8".parse().unwrap()).await.unwrap();
    let mut facts = Facts::named(format!("{name}-微调").parse().unwrap(), provider.id, tier.id);
    let owner = person::NewPerson::named("陈白露", Some("owner@palmfan.example")).unwrap();
    let owner = person::find_or_add(&mut tx, owner).await.unwrap().id;
    facts.owner_id = Some(owner);
    let term = NewTerm::between(parse_date("2026-01-01").unwrap(), Some(parse_date("2026-03-31").unwrap()));
    let new = NewEnvironment { project_id: project.id, facts, term };
    let environment = environment::open(&mut tx, &new).await.unwrap();
    let new = NewSpend::of_days(environment.id, day, day, 8.into(), "CNY".parse().unwrap(), Zone::default());
    let spend = spend::record(&mut tx, new).await.unwrap();
    let new = NewOutput {
        environment: environment.id,
        scenario: None,
        period: "2026-03".parse().unwrap(),
        unit: "次".parse().unwrap(),
        quantity: 3.into(),
        value: None,
        description: Line::default(),
    };
    let output = output::record(&mut tx, &new).await.unwrap();
    let new = person::NewPerson::named("白露", Some(&format!("member-{}@palmfan.example", project.id))).unwrap();
    let member = person::find_or_add(&mut tx, new).await.unwrap();
    let user = user::add(&mut tx, member.id, Role::Member, None).await.unwrap();
    let membership = membership::add(&mut tx, project.id, user.id, ProjectRole::Viewer).await.unwrap();
    // Two prices of a tier begin on two days.
    let first = if resource == "i-1" { "2026-01-01" } else { "2026-02-01" };
    let of_catalogue = furnish_catalogue(&mut tx, provider.id, tier.id, (name, first)).await;
    let holder = Holder::Environment(environment.id);
    let place = Place { holder, name: name.to_owned(), project: Some(project.id) };
    let file = app.app.documents.put_bytes(BILL.into(), 1 << 20).await.unwrap();
    let new = NewDocument {
        name: "bill.csv".parse().unwrap(),
        media_type: "text/csv; charset=utf-8",
        size: i64::try_from(BILL.len()).unwrap(),
        sha256: file.sha256,
        note: Line::default(),
        version_of: None,
    };
    let document = document::attach(&mut tx, &place, &new).await.unwrap();
    tx.commit().await.unwrap();

    let bill = BILL.replace("i-1", resource);
    let source = bill_import::Source::Bytes(Bytes::from(bill.clone()));
    let file = bill_import::BillFile { name: format!("{resource}.csv"), source };
    bill_import::run(&app.app, &app.operator(), file, "苇塘云", false, std::sync::Arc::new(|_| ())).await.unwrap();
    let mut superuser = app.database.superuser().await;
    let resource: i64 = sqlx::query_scalar("select max(id) from resource").fetch_one(&mut superuser).await.unwrap();
    let mut tx = app.write().await;
    let new = NewBinding {
        resource: rentroll::ids::ResourceId(resource),
        environment: environment.id,
        starts_on: parse_date("2026-03-01").unwrap(),
        ends_on: None,
    };
    let binding = binding::bind(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    app.remind().await;
    let delivery = sqlx::query_scalar("select id::text from delivery where environment_id = $1 limit 1");
    let delivery: String = delivery.bind(environment.id.0).fetch_one(&mut superuser).await.unwrap();
    let term: i64 = sqlx::query_scalar("select id from term where environment_id = $1")
        .bind(environment.id.0)
        .fetch_one(&mut superuser)
        .await
        .unwrap();
    // Files that bring something new, so that their previews open.
    let store =
        async |text: String| hex::encode(app.app.documents.put_bytes(text.into(), 1 << 20).await.unwrap().sha256);
    let mut records = BTreeMap::from([
        ("projects", project.id.to_string()),
        ("environments", environment.id.to_string()),
        ("terms", term.to_string()),
        ("ledger", spend.id.to_string()),
        ("outputs", output.id.to_string()),
        ("resources", resource.to_string()),
        ("binding", binding.id.to_string()),
        ("member", membership.id.to_string()),
        ("deliveries", delivery),
        ("providers", provider.id.to_string()),
        ("documents", document.id.to_string()),
        ("tiers", tier.id.to_string()),
        ("people", member.id.to_string()),
        ("bill", store(bill.replace("USD", "EUR")).await),
        ("rates", store(RATES.replace("7.2", &format!("7.{}", project.id))).await),
    ]);
    records.extend(of_catalogue);
    (project.id, records)
}

/// One of everything that belongs to a provider.
async fn furnish_catalogue(tx: &mut Tx, provider: ProviderId, tier: TierId, (name, first): (&str, &str)) -> Records {
    let said = |field: &str| match field {
        "name" | "number" | "title" => name,
        "starts_on" | "valid_from" => first,
        "starts_at" => "2026-01-01 08:00",
        "severity" => "minor",
        "billing_mode" => "monthly",
        "unit" => "instance_month",
        "amount" => "10",
        "currency" => "CNY",
        _ => "",
    };
    let who = contact::add(tx, provider, &ContactFacts::parse(&said).unwrap()).await.unwrap();
    let contract = contract::add(tx, provider, &ContractFacts::parse(&said).unwrap()).await.unwrap();
    let facts = IncidentFacts::parse(&said, Zone::default()).unwrap();
    let incident = incident::record(tx, provider, &facts).await.unwrap();
    let price = price::add(tx, tier, &NewPrice::parse(&said).unwrap()).await.unwrap();
    BTreeMap::from([
        ("contacts", who.id.to_string()),
        ("contracts", contract.id.to_string()),
        ("incidents", incident.id.to_string()),
        ("prices", price.id.to_string()),
    ])
}

/// Records that are not there, under ids that are as long as those of the given ones.
fn missing(like: &Records) -> Records {
    let absent = |id: &String| match id.len() {
        64 => "f".repeat(64),
        36 => "01890000-0000-7000-8000-00000000ffff".to_owned(),
        digits => "9".repeat(digits),
    };
    let mut records: Records = like.iter().map(|(kind, id)| (*kind, absent(id))).collect();
    // There are more than nine people.
    records.insert("people", "99999".to_owned());
    records
}

/// The address of a route with these records.
fn address(route: &Route, records: &Records) -> String {
    let kind = match route.path.trim_start_matches('/').split('/').collect::<Vec<_>>()[..] {
        ["ledger", "outputs", ..] => "outputs",
        ["imports", kind, ..] | [kind, ..] => kind,
        [] => "",
    };
    let id = records.get(kind).cloned().unwrap_or_default();
    let path = route.path.replace("{id}", &id).replace("{binding}", &records["binding"]);
    let of = if path.contains("rates") { "" } else { "&provider=R" };
    let path = path.replace("{sha256}", &format!("{id}?name=f.csv{of}")).replace("{member}", &records["member"]);
    assert!(!path.contains('{') && (!route.path.contains('{') || !id.is_empty()), "no record for {}", route.path);
    path
}

/// Somebody who asks: a browser, and what the rules know of its reader.
struct Reader {
    name: &'static str,
    browser: Browser,
    actor: Actor,
}

/// Everybody of the matrix who has a log-in.
async fn readers(app: &TestApp, own: ProjectId) -> Vec<Reader> {
    let hash = user::hash_password(&app.app, PASSWORD.to_owned()).await.unwrap();
    let mut readers = Vec::new();
    for (name, role, all, in_own) in [
        ("administrator", Role::Administrator, true, None),
        ("auditor-of-all", Role::Auditor, true, None),
        ("auditor-of-one", Role::Auditor, false, Some(ProjectRole::Viewer)),
        ("viewer", Role::Member, false, Some(ProjectRole::Viewer)),
        ("operator", Role::Member, false, Some(ProjectRole::Operator)),
        ("manager", Role::Member, false, Some(ProjectRole::Manager)),
        ("member-of-nothing", Role::Member, false, None),
    ] {
        let email = format!("{name}@palmfan.example");
        let mut tx = app.write().await;
        let new = person::NewPerson::named(name, Some(&email)).unwrap();
        let person = person::find_or_add(&mut tx, new).await.unwrap();
        let user = user::add_with(&mut tx, person.id, Right::new(role, all), Some(hash.clone())).await.unwrap();
        if let Some(in_own) = in_own {
            membership::add(&mut tx, own, user.id, in_own).await.unwrap();
        }
        tx.commit().await.unwrap();
        let browser = app.browser();
        browser.sign_in(&email).await;
        let everywhere = match (role, all) {
            (Role::Administrator, _) => Some(ProjectRole::Manager),
            (_, true) => Some(ProjectRole::Viewer),
            _ => None,
        };
        let scope = Scope { all: everywhere, projects: in_own.map(|role| (own, role)).into_iter().collect() };
        readers.push(Reader { name, browser, actor: Actor { role, scope, ..Actor::visitor() } });
    }
    readers
}

/// What a route answers to whoever it refuses, by what the table declares; `None` where it lets them through.
fn refusal(needs: Needs, actor: &Actor, record: Record) -> Option<StatusCode> {
    let refused = match needs {
        Needs::Nothing | Needs::SignIn => None,
        Needs::May(permission) => (!actor.may(permission, None)).then_some(StatusCode::FORBIDDEN),
        Needs::AllProjects => actor.scope.all.is_none().then_some(StatusCode::FORBIDDEN),
        Needs::InProject(permission) => {
            let Record::Of(project) = record else { return Some(StatusCode::NOT_FOUND) };
            match (actor.may(Permission::Read, Some(project)), actor.may(permission, Some(project))) {
                (_, true) => None,
                (true, false) => Some(StatusCode::FORBIDDEN),
                (false, false) => Some(StatusCode::NOT_FOUND),
            }
        }
    };
    refused.or_else(|| matches!(record, Record::Missing).then_some(StatusCode::NOT_FOUND))
}

/// Which record is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Record {
    /// None: the path names none.
    None,
    /// One of this project.
    Of(ProjectId),
    /// One that is not there.
    Missing,
}

async fn ask(browser: &Browser, method: &Method, path: &str) -> Answer {
    match *method {
        // Nothing is filled in, so that whoever may send the form hears what is wrong, and nothing changes.
        Method::POST => browser.post(path, &[]).await,
        _ => browser.get(path).await,
    }
}

/// An answer without the path that was asked for.
fn without(answer: &Answer, path: &str) -> (StatusCode, String) {
    (answer.status, answer.text().replace(path, ""))
}

// check C29, cases P01 and P02: the right is enforced for every route, and another project's record does not exist.
#[tokio::test]
async fn every_route_answers_everybody_as_the_table_declares() {
    let app = TestApp::new().await;
    exchange_rate_import::run(&app.app, &app.operator(), RATES.as_bytes(), "rates.csv", false).await.unwrap();
    let (own, in_own) = furnish(&app, "竹简大模型", "i-1").await;
    let (other, in_other) = furnish(&app, "客服语音", "i-2").await;
    let not_there = missing(&in_other);
    let readers = readers(&app, own).await;
    let nobody = app.browser();
    let mut wrong = Vec::new();
    let mut asked = 0;
    for route in app::routes().finish().1 {
        if route.needs == Needs::Nothing {
            // Open to anybody: it does not ask to sign in first.
            let answer = ask(&nobody, &route.method, &route.path.replace("{token}", "x")).await;
            if matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                wrong.push(format!("nobody: {} {}: {}", route.method, route.path, answer.status));
            }
            continue;
        }
        let names_a_record = route.path.contains('{');
        let path = address(&route, &in_own);
        let answer = ask(&nobody, &route.method, &path).await;
        let data = route.method != Method::GET || is_data(route.path);
        let expected = if data { StatusCode::UNAUTHORIZED } else { StatusCode::SEE_OTHER };
        let leads_to_the_door = data || answer.location().starts_with("/sign-in?to=");
        if answer.status != expected || !leads_to_the_door {
            wrong.push(format!("nobody: {} {path}: {}", route.method, answer.status));
        }
        for reader in &readers {
            let cases = [(Record::Of(own), &in_own), (Record::Of(other), &in_other), (Record::Missing, &not_there)];
            let cases = if names_a_record { &cases[..] } else { &[(Record::None, &in_own)][..] };
            let mut answers = Vec::new();
            for (record, records) in cases {
                let path = address(&route, records);
                let answer = ask(&reader.browser, &route.method, &path).await;
                asked += 1;
                // A file is asked for with what is typed about it, and that comes first.
                let typed_first = route.path.contains("{sha256}") && answer.status == StatusCode::UNPROCESSABLE_ENTITY;
                let right = match refusal(route.needs, &reader.actor, *record) {
                    Some(refused) if typed_first => refused == StatusCode::NOT_FOUND,
                    Some(refused) => answer.status == refused,
                    None if route.method == Method::GET => answer.status == StatusCode::OK,
                    None => matches!(
                        answer.status,
                        StatusCode::OK
                            | StatusCode::SEE_OTHER
                            | StatusCode::UNPROCESSABLE_ENTITY
                            | StatusCode::CONFLICT
                    ),
                };
                if !right {
                    let expected = refusal(route.needs, &reader.actor, *record);
                    let name = reader.name;
                    wrong.push(format!("{name}: {} {path}: {}, not {expected:?}", route.method, answer.status));
                }
                answers.push(without(&answer, &path));
            }
            let hidden = matches!(route.needs, Needs::InProject(_)) && !reader.actor.may(Permission::Read, Some(other));
            if hidden && answers[1] != answers[2] {
                let (foreign, absent) = (&answers[1].1, &answers[2].1);
                wrong.push(format!("{}: {path} tells another project's record: {foreign}\n{absent}", reader.name));
            }
        }
    }
    assert!(asked > 1000, "{asked} requests");
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is the whole organisation's: everybody who signed in sees every such record.
const SHARED: [&str; 7] =
    ["/people/", "/providers/", "/tiers/", "/contacts/", "/contracts/", "/incidents/", "/prices/"];

#[test]
fn a_route_to_a_record_of_a_project_says_which_right_it_needs_there() {
    for route in app::routes().finish().1 {
        let shared = SHARED.iter().any(|start| route.path.starts_with(start));
        let declared = shared || !matches!(route.needs, Needs::SignIn);
        assert!(declared || !route.path.contains("{id}"), "{} {} declares no right", route.method, route.path);
    }
}
