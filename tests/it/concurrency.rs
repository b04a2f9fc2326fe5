//! Many people at once: one is first, the others are told, and nothing is lost.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use futures_util::future::join_all;
use rentroll::access::project;
use rentroll::actor::Role;
use rentroll::app;
use rentroll::catalog::contact::{self, ContactFacts};
use rentroll::catalog::contract::{self, ContractFacts};
use rentroll::catalog::incident::{self, IncidentFacts};
use rentroll::dates::Zone;
use rentroll::environments::environment::Environment;
use rentroll::environments::term;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::harness::{Answer, Browser, TestApp};

/// As many as act at once.
const MANY: usize = 64;

type Form = BTreeMap<String, String>;

/// A ledger, and somebody who signed in where requests wait for one another.
async fn story() -> (TestApp, Browser, Environment) {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-03-31")).await;
    app.add_user("administrator@palmfan.example", Role::Administrator).await;
    let browser = Browser::new(app::router(&app.patient().await), "");
    browser.sign_in("administrator@palmfan.example").await;
    (app, browser, environment)
}

/// Sends all of these at once.
async fn at_once(browser: &Browser, action: &str, forms: &[Form]) -> Vec<Answer> {
    let pairs: Vec<Vec<(&str, &str)>> =
        forms.iter().map(|form| form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()).collect();
    join_all(pairs.iter().map(|fields| browser.post(action, fields))).await
}

/// A form that edits one record.
struct Edit {
    table: &'static str,
    id: i64,
    page: String,
    action: String,
    /// What each of the many writes, and the label of it.
    field: &'static str,
}

impl Edit {
    fn of(table: &'static str, id: i64, action: &str, field: &'static str) -> Self {
        let action = format!("{action}/{id}");
        Self { table, id, page: format!("{action}/edit"), action, field }
    }

    async fn row(&self, app: &TestApp) -> Value {
        let sql = format!("select to_jsonb(t) from {} t where id = $1", self.table);
        let mut superuser = app.database.superuser().await;
        sqlx::query_scalar(AssertSqlSafe(sql)).bind(self.id).fetch_one(&mut superuser).await.unwrap()
    }

    /// As many edits as said, all from one version: one is saved, and each of the others comes back with what was typed beside
    /// what was saved.
    async fn by(&self, app: &TestApp, browser: &Browser, many: usize) {
        let before = (self.row(app).await, app.history().await.len());
        let (action, form) = browser.get(&self.page).await.form(&self.action);
        let typed: Vec<String> = (0..many).map(|number| format!("第 {number} 人写的")).collect();
        let forms: Vec<Form> = typed
            .iter()
            .map(|words| {
                let mut form = form.clone();
                form.insert(self.field.to_owned(), words.clone());
                form.insert("reason".to_owned(), words.clone());
                form.insert("submit_id".to_owned(), Uuid::now_v7().to_string());
                form
            })
            .collect();
        let answers = at_once(browser, &action, &forms).await;

        let row = self.row(app).await;
        let saved = row[self.field].as_str().unwrap().to_owned();
        assert_eq!(row["version"], before.0["version"].as_i64().unwrap() + 1, "{}", self.table);
        let history = app.history().await;
        assert_eq!(history.len(), before.1 + 1, "{}: one change, one entry", self.table);
        let entry = &history[0];
        assert_eq!((entry.object_kind.as_str(), entry.reason.as_ref()), (self.table, Some(&saved)));
        let mut first = 0;
        for (words, answer) in typed.iter().zip(answers) {
            if answer.status == StatusCode::SEE_OTHER {
                assert_eq!(*words, saved, "{}: whoever was told so was saved", self.table);
                first += 1;
                continue;
            }
            assert_eq!(answer.status, StatusCode::CONFLICT, "{}: {}", self.table, answer.text());
            let differing = answer.rows(".form-errors table");
            assert!(
                differing.iter().any(|row| row[1..] == [saved.clone(), words.clone()]),
                "{}: {words}, {saved}: {differing:?}",
                self.table
            );
            let (_, again) = answer.form(&self.action);
            assert_eq!((&again[self.field], &again["reason"]), (words, words), "{}: nothing typed is lost", self.table);
            assert_eq!(again["version"], row["version"].to_string(), "{}: and it can be sent now", self.table);
        }
        assert_eq!(first, 1, "{}", self.table);
    }
}

// check C31, case C01: 64 edits of one environment, and of one provider, from the same version.
#[tokio::test]
async fn of_many_edits_at_once_one_is_saved_and_nothing_typed_is_lost() {
    let (app, browser, environment) = story().await;
    Edit::of("environment", environment.id.0, "/environments", "note").by(&app, &browser, MANY).await;
    Edit::of("provider", environment.provider_id.0, "/providers", "sla").by(&app, &browser, MANY).await;
}

// check C31: the same for every other edit form, with fewer.
#[tokio::test]
async fn every_edit_form_lets_one_of_many_through() {
    let (app, browser, environment) = story().await;
    let mut tx = app.write().await;
    let provider = environment.provider_id;
    let facts = ContactFacts::parse(&|field| if field == "name" { "宋霜降" } else { "" }).unwrap();
    let contact = contact::add(&mut tx, provider, &facts).await.unwrap().id.0;
    let said = |field: &str| match field {
        "number" | "title" => "WT-7",
        "starts_on" => "2026-01-01",
        _ => "",
    };
    let agreed = contract::add(&mut tx, provider, &ContractFacts::parse(&said).unwrap()).await.unwrap().id.0;
    let said = |field: &str| match field {
        "title" => "掉卡",
        "severity" => "minor",
        "starts_at" => "2026-03-01 08:00",
        _ => "",
    };
    let facts = IncidentFacts::parse(&said, Zone::default()).unwrap();
    let incident = incident::record(&mut tx, provider, &facts).await.unwrap().id.0;
    let project = project::add(&mut tx, "客服语音".parse().unwrap()).await.unwrap().id.0;
    let owner = environment.owner_id.unwrap().0;
    tx.commit().await.unwrap();
    let settings = Edit {
        table: "organisation",
        id: 1,
        page: "/settings".to_owned(),
        action: "/settings".to_owned(),
        field: "name",
    };
    for edit in [
        Edit::of("tier", environment.tier_id.0, "/tiers", "note"),
        Edit::of("provider_contact", contact, "/contacts", "note"),
        Edit::of("contract", agreed, "/contracts", "note"),
        Edit::of("provider_incident", incident, "/incidents", "note"),
        Edit::of("person", owner, "/people", "name"),
        Edit::of("project", project, "/projects", "cost_centre"),
        settings,
    ] {
        edit.by(&app, &browser, 8).await;
    }
}

// check C31: a term has no text to write, so its edits differ in the price.
#[tokio::test]
async fn of_many_edits_of_a_term_one_is_saved() {
    let (app, browser, environment) = story().await;
    let term = term::last(app.read().await.connection(), environment.id).await.unwrap();
    let action = format!("/terms/{}", term.id);
    let (_, form) = browser.get(&format!("{action}/edit")).await.form(&action);
    let forms: Vec<Form> = (1..=8)
        .map(|price| {
            let mut form = form.clone();
            let more =
                [("price", price.to_string()), ("currency", "CNY".into()), ("submit_id", Uuid::now_v7().to_string())];
            form.extend(more.map(|(name, value)| (name.to_owned(), value)));
            form
        })
        .collect();
    let statuses: Vec<StatusCode> = at_once(&browser, &action, &forms).await.iter().map(|it| it.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::SEE_OTHER).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == StatusCode::CONFLICT).count(), 7, "{statuses:?}");
    let changed = app.actions().await.into_iter().filter(|action| action == "term.changed").count();
    assert_eq!(changed, 1);
}

// check C31, case C03: the same form sent 64 times at once is one act, and everybody is led to the same place.
#[tokio::test]
async fn the_same_form_sent_many_times_at_once_is_one_act() {
    let (app, browser, environment) = story().await;
    let id = environment.id.to_string();
    let page = format!("/environments/{id}");
    let edit = format!("{page}/edit");
    for (form, action, typed, entry) in [
        (
            "/environments/new",
            "/environments",
            &[
                ("project", "竹简大模型"),
                ("name", "竹简-评测"),
                ("provider", "苇塘云"),
                ("tier", "H800×8"),
                ("starts_on", "2026-03-17"),
                ("ends_on", "2026-06-30"),
            ][..],
            "environment.opened",
        ),
        (
            "/ledger/new",
            "/ledger",
            &[("environment", id.as_str()), ("charged_on", "2026-03-02"), ("billed", "8"), ("currency", "CNY")],
            "spend.recorded",
        ),
        (
            "/ledger/outputs/new",
            "/ledger/outputs",
            &[("environment", id.as_str()), ("period", "2026-02"), ("quantity", "551"), ("unit", "次")],
            "output.recorded",
        ),
        ("/providers", "/providers", &[("name", "浮木")], "provider.added"),
        (
            "/rates",
            "/rates",
            &[("base", "USD"), ("quote", "CNY"), ("rated_on", "2026-03-02"), ("rate", "7.2")],
            "exchange_rate.added",
        ),
        (edit.as_str(), page.as_str(), &[("note", "写了一次")], "environment.changed"),
    ] {
        let (action, mut values) = browser.get(form).await.form(action);
        values.extend(typed.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let before = app.actions().await.into_iter().filter(|action| action == entry).count();
        let answers = at_once(&browser, &action, &vec![values; MANY]).await;
        for answer in &answers {
            assert_eq!(answer.status, StatusCode::SEE_OTHER, "{action}: {}", answer.text());
            assert_eq!(answer.location(), answers[0].location(), "{action}");
        }
        let after = app.actions().await.into_iter().filter(|action| action == entry).count();
        assert_eq!(after, before + 1, "{action}");
    }
}
