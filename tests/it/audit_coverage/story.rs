//! A ledger with a little of everything, and somebody who sends forms.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::StatusCode;
use bytes::Bytes;
use rentroll::access::person::{self, NewPerson};
use rentroll::access::{membership, project};
use rentroll::actor::{ProjectRole, Role};
use rentroll::catalog::contact::{self, ContactFacts};
use rentroll::catalog::contract::{self, ContractFacts};
use rentroll::catalog::incident::{self, IncidentFacts};
use rentroll::catalog::price::{self, NewPrice};
use rentroll::dates::{Cycle, Zone, parse_date};
use rentroll::document::{self, Holder, NewDocument, Place};
use rentroll::environments::environment::Environment;
use rentroll::environments::term::NewTerm;
use rentroll::ids::{PersonId, ProjectId, TierId, UserId};
use rentroll::ledger::bill_import;
use rentroll::ledger::output::{self, NewOutput};
use rentroll::ledger::spend::{self, NewSpend};
use rentroll::limits;
use rentroll::text::Line;

use super::REASON;
use crate::harness::{Answer, Browser, TestApp};

/// A bill of one line; `i-1` is what it is for.
pub const BILL: &str = "BillingAccountId,BillingAccountName,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,\
    ChargeDescription,ChargePeriodStart,ChargePeriodEnd,BilledCost,EffectiveCost,ListCost,ContractedCost,BillingCurrency,\
    InvoiceIssuerName,ProviderName,PricingQuantity,PricingUnit,ServiceCategory,ServiceName,ResourceId\n\
    a,A,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z,Usage,,,2026-03-05T00:00:00Z,2026-03-06T00:00:00Z,1,1,1,1,USD,R,R,1,h,Compute,GPU,i-1\n";

pub type Fields<'a> = &'a [(&'a str, &'a str)];

/// A form that was sent.
pub struct Sent {
    /// The last entry before.
    pub before: i64,
    /// Who sent it.
    pub actor: String,
    /// Whether the form asks why.
    pub asks: bool,
    /// What came back.
    pub answer: Answer,
}

/// An administrator before a ledger with a little of everything.
pub struct Story {
    pub app: TestApp,
    pub browser: Browser,
}

impl Story {
    pub async fn new() -> Self {
        let app = TestApp::new().await;
        app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
        let browser = app.sign_in(Role::Administrator).await;
        Self { app, browser }
    }

    pub async fn last_entry(&self) -> i64 {
        self.app.history().await.first().map_or(0, |entry| entry.id.0)
    }

    /// Opens the page, fills in its form and the reason, and sends it.
    pub async fn change(&self, page: &str, action: &str, fields: Fields<'_>) -> Option<Sent> {
        let page = self.browser.get(page).await;
        self.change_on(&page, action, fields).await
    }

    pub async fn change_on(&self, page: &Answer, action: &str, fields: Fields<'_>) -> Option<Sent> {
        let before = self.last_entry().await;
        let (action, values) = filled_in(page, action, fields, true);
        for reason in impossible_reasons() {
            let mut values = values.clone();
            values.insert("reason".to_owned(), reason);
            let refused = self.browser.post(&action, &pairs(&values)).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{action}: {}", refused.text());
        }
        let answer = self.browser.post(&action, &pairs(&values)).await;
        Some(Sent { before, actor: "administrator".to_owned(), asks: true, answer })
    }

    /// The same for a form of somebody in their own matter: nobody is asked why.
    pub async fn own(
        &self,
        actor: &str,
        browser: &Browser,
        page: &str,
        action: &str,
        fields: Fields<'_>,
    ) -> Option<Sent> {
        let page = browser.get(page).await;
        let (action, values) = filled_in(&page, action, fields, false);
        let before = self.last_entry().await;
        let answer = browser.post(&action, &pairs(&values)).await;
        Some(Sent { before, actor: actor.to_owned(), asks: false, answer })
    }

    /// Chooses a file on a page and sends it with the reason.
    pub async fn attach(&self, page: &str) -> Option<Sent> {
        let shown = self.browser.get(page).await;
        let (action, mut values) = filled_in(&shown, "/documents", &[], true);
        values.remove("file");
        let before = self.last_entry().await;
        let answer = self.browser.upload(&action, &pairs(&values), ("file", "合同.csv", b"a,b\n")).await;
        Some(Sent { before, actor: "administrator".to_owned(), asks: true, answer })
    }

    pub async fn environment(&self, name: &str) -> Environment {
        let term = NewTerm {
            cycle: Cycle::MONTHLY,
            ..NewTerm::between(parse_date("2026-03-01").unwrap(), Some(parse_date("2026-03-31").unwrap()))
        };
        self.app.open_environment_with(name, term).await
    }

    pub async fn person(&self, name: &str) -> PersonId {
        let mut tx = self.app.write().await;
        let new = NewPerson::named(name, Some(&format!("{name}@palmfan.example"))).unwrap();
        let person = person::find_or_add(&mut tx, new).await.unwrap();
        tx.commit().await.unwrap();
        person.id
    }

    /// A log-in of this name; its person's page.
    pub async fn user(&self, name: &str) -> (UserId, String) {
        let user = self.app.add_user(&format!("{name}@palmfan.example"), Role::Member).await;
        let person = self.person(name).await;
        (user, format!("/people/{person}"))
    }

    pub async fn signed_in(&self, name: &str) -> Browser {
        let browser = self.app.browser();
        browser.sign_in(&format!("{name}@palmfan.example")).await;
        browser
    }

    pub async fn project(&self, name: &str) -> ProjectId {
        let mut tx = self.app.write().await;
        let project = project::find_or_add(&mut tx, name.parse().unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        project.id
    }

    /// A member of a project: the project's page and the member's number.
    pub async fn member(&self, name: &str) -> (String, i64) {
        let (project, (user, _)) = (self.project(name).await, self.user(name).await);
        let mut tx = self.app.write().await;
        let member = membership::add(&mut tx, project, user, ProjectRole::Viewer).await.unwrap();
        tx.commit().await.unwrap();
        (format!("/projects/{project}"), member.id.0)
    }

    pub async fn spend(&self, name: &str) -> String {
        let environment = self.environment(name).await;
        let day = parse_date("2026-03-02").unwrap();
        let mut tx = self.app.write().await;
        let new = NewSpend::of_days(environment.id, day, day, 8.into(), "CNY".parse().unwrap(), Zone::default());
        let spend = spend::record(&mut tx, new).await.unwrap();
        tx.commit().await.unwrap();
        format!("/ledger/{}", spend.id)
    }

    pub async fn output(&self, name: &str) -> String {
        let environment = self.environment(name).await;
        let new = NewOutput {
            environment: environment.id,
            scenario: None,
            period: "2026-03".parse().unwrap(),
            unit: "次".parse().unwrap(),
            quantity: 3.into(),
            value: None,
            description: Line::default(),
        };
        let mut tx = self.app.write().await;
        let output = output::record(&mut tx, &new).await.unwrap();
        tx.commit().await.unwrap();
        format!("/ledger/outputs/{}", output.id)
    }

    /// The number of what a table holds last.
    pub async fn last(&self, table: &str) -> i64 {
        let sql = format!("select max(id) from {table}");
        let mut superuser = self.app.database.superuser().await;
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql)).fetch_one(&mut superuser).await.unwrap()
    }

    /// A machine on a bill that belongs to no environment yet.
    pub async fn resource(&self, name: &str) -> i64 {
        let bill = Bytes::from(BILL.replace("i-1", name));
        let file = bill_import::BillFile { name: format!("{name}.csv"), source: bill_import::Source::Bytes(bill) };
        let (app, actor) = (&self.app.app, self.app.operator());
        bill_import::run(app, &actor, file, "苇塘云", false, Arc::new(|_| ())).await.unwrap();
        self.last("resource").await
    }

    pub async fn provider(&self) -> String {
        format!("/providers/{}", self.last("provider").await)
    }

    pub async fn contact(&self) -> String {
        let facts = ContactFacts::parse(&|field| if field == "name" { "宋霜降" } else { "" }).unwrap();
        let mut tx = self.app.write().await;
        let provider = rentroll::catalog::provider::find_or_add(&mut tx, "青芦云".parse().unwrap()).await.unwrap();
        let contact = contact::add(&mut tx, provider.id, &facts).await.unwrap();
        tx.commit().await.unwrap();
        format!("/contacts/{}", contact.id)
    }

    pub async fn incident(&self) -> String {
        let said = |field: &str| match field {
            "title" => "掉卡",
            "severity" => "minor",
            "starts_at" => "2026-03-01 08:00",
            _ => "",
        };
        let facts = IncidentFacts::parse(&said, Zone::default()).unwrap();
        let mut tx = self.app.write().await;
        let provider = rentroll::catalog::provider::find_or_add(&mut tx, "青芦云".parse().unwrap()).await.unwrap();
        let incident = incident::record(&mut tx, provider.id, &facts).await.unwrap();
        tx.commit().await.unwrap();
        format!("/incidents/{}", incident.id)
    }

    /// A price from that day on.
    pub async fn price(&self, valid_from: &str) -> String {
        let said = |field: &str| match field {
            "billing_mode" => "monthly",
            "unit" => "instance_month",
            "currency" => "CNY",
            "amount" => "68000",
            _ => valid_from,
        };
        let tier = TierId(self.last("tier").await);
        let mut tx = self.app.write().await;
        let price = price::add(&mut tx, tier, &NewPrice::parse(&said).unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        format!("/prices/{}", price.id)
    }

    pub async fn contract(&self, number: &str) -> String {
        let said = |field: &str| match field {
            "number" | "title" => number,
            "starts_on" => "2026-01-01",
            _ => "",
        };
        let facts = ContractFacts::parse(&said).unwrap();
        let mut tx = self.app.write().await;
        let provider = rentroll::catalog::provider::find_or_add(&mut tx, "青芦云".parse().unwrap()).await.unwrap();
        let contract = contract::add(&mut tx, provider.id, &facts).await.unwrap();
        tx.commit().await.unwrap();
        format!("/contracts/{}", contract.id)
    }

    pub async fn document(&self) -> String {
        let environment = self.environment("有文件").await;
        let file = self.app.app.documents.put_bytes("a,b\n".into(), 1 << 20).await.unwrap();
        let new = NewDocument {
            name: "合同.csv".parse().unwrap(),
            media_type: "text/csv; charset=utf-8",
            size: 4,
            sha256: file.sha256,
            note: Line::default(),
            version_of: None,
        };
        let holder = Holder::Environment(environment.id);
        let place = Place { holder, name: environment.name.to_string(), project: Some(environment.project_id) };
        let mut tx = self.app.write().await;
        let document = document::attach(&mut tx, &place, &new).await.unwrap();
        tx.commit().await.unwrap();
        format!("/documents/{}", document.id)
    }

    /// A mail that the server refused for good.
    pub async fn refused_mail(&self) -> String {
        self.app.remind().await;
        let mut superuser = self.app.database.superuser().await;
        let refused = "update delivery set state = 'bounced', sent_at = null where id = (select min(id::text)::uuid from delivery) \
                       returning id::text";
        let id: String = sqlx::query_scalar(refused).fetch_one(&mut superuser).await.unwrap();
        format!("/deliveries/{id}")
    }
}

/// What no reason can be: too long, or not a text. It is said, and nothing is changed.
fn impossible_reasons() -> [String; 2] {
    ["长".repeat(limits::LINE_CHARS + 1), "\0".to_owned()]
}

/// The form of a page with these values in it.
pub fn filled_in(page: &Answer, action: &str, fields: Fields<'_>, asks: bool) -> (String, BTreeMap<String, String>) {
    let (action, mut values) = page.form(action);
    assert_eq!(values.contains_key("reason"), asks, "whether the form to {action} asks for a reason: {values:?}");
    for (name, value) in fields.iter().copied().chain(asks.then_some(("reason", REASON))) {
        values.insert(name.to_owned(), value.to_owned());
    }
    (action, values)
}

pub fn pairs(values: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
