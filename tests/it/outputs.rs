//! Output entries: recorded, corrected, voided, filtered, taken as a file.

use axum::http::StatusCode;
use rentroll::actor::Role;
use rentroll::error::Error;
use rentroll::ids::OutputId;
use rentroll::ledger::output::{self, NewOutput, OutputFilter};
use rentroll::locale::Locale;
use rentroll::text::Line;

use crate::harness::{Browser, TestApp};

fn new(environment: rentroll::ids::EnvironmentId, period: &str, quantity: &str, unit: &str) -> NewOutput {
    NewOutput {
        environment,
        scenario: None,
        period: period.parse().unwrap(),
        unit: unit.parse().unwrap(),
        quantity: quantity.parse().unwrap(),
        value: None,
        description: Line::default(),
    }
}

async fn totals(app: &TestApp, filter: OutputFilter) -> Vec<(String, String)> {
    let mut read = app.read().await;
    let totals = output::totals(&mut read, &filter).await.unwrap();
    totals.into_iter().map(|total| (total.unit, total.quantity.to_string())).collect()
}

fn total(unit: &str, quantity: &str) -> (String, String) {
    (unit.to_owned(), quantity.to_owned())
}

#[tokio::test]
async fn units_never_add_up_and_a_reversal_counts() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let mut tx = app.write().await;
    let wrong = output::record(&mut tx, &new(environment.id, "2026-02", "551", "十亿 token")).await.unwrap();
    output::record(&mut tx, &new(environment.id, "2026-02", "3", "次")).await.unwrap();
    output::record(&mut tx, &new(environment.id, "2026-03", "0.5", "十亿 token")).await.unwrap();
    output::correct(&mut tx, wrong.id, &new(environment.id, "2026-02", "515", "十亿 token")).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(totals(&app, OutputFilter::default()).await, [total("十亿 token", "515.5"), total("次", "3")]);
    let march = OutputFilter { from: Some("2026-03".to_owned()), ..OutputFilter::default() };
    assert_eq!(totals(&app, march).await, [total("十亿 token", "0.5")]);
    let named =
        OutputFilter {
            project: Some("竹简大模型".to_owned()), unit: Some("次".to_owned()), ..Default::default()
        };
    assert_eq!(totals(&app, named).await, [total("次", "3")]);
    let mut read = app.read().await;
    assert_eq!(output::list(&mut read, &OutputFilter::default(), 50).await.unwrap().len(), 5, "nothing is deleted");
}

#[tokio::test]
async fn an_entry_is_taken_back_once_and_a_reversal_never() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let mut tx = app.write().await;
    let entry = output::record(&mut tx, &new(environment.id, "2026-02", "551", "token")).await.unwrap();
    tx.commit().await.unwrap();
    let mut tx = app.app.write(&app.operator().because("typed twice")).await.unwrap();
    let reversal = output::void(&mut tx, entry.id).await.unwrap();
    assert_eq!((reversal.quantity.to_string().as_str(), reversal.period), ("-551", entry.period));
    tx.commit().await.unwrap();
    for id in [entry.id, reversal.id] {
        let mut tx = app.write().await;
        assert!(matches!(output::void(&mut tx, id).await, Err(Error::Conflict(_))), "{id}");
    }
    let last = &app.history().await[0];
    assert_eq!((last.action.as_str(), last.object_id), ("output.reversed", Some(entry.id.0)));
    let sentence = last.sentence(&Locale::En);
    assert!(sentence.contains("551 token") && sentence.contains("typed twice"), "{sentence}");
}

async fn fill_in(browser: &Browser, environment: i64, quantity: &str) -> String {
    let environment = environment.to_string();
    let fields = [
        ("environment", environment.as_str()),
        ("period", "2026-02"),
        ("quantity", quantity),
        ("unit", "十亿 token"),
        ("value", "1200"),
        ("currency", "CNY"),
    ];
    let answer = browser.submit("/ledger/outputs/new", "/ledger/outputs", &fields).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    answer.location()
}

#[tokio::test]
async fn a_person_records_corrects_and_voids() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let browser = app.sign_in(Role::Administrator).await;
    assert!(!browser.get("/ledger/outputs").await.texts(".empty").is_empty());
    let entry = fill_in(&browser, environment.id.0, "551").await;
    assert!(browser.get(&entry).await.texts("dd").contains(&"1,200.00 CNY".to_owned()));

    let action = format!("{entry}/correct");
    let unreasoned = browser.submit(&action, &action, &[("quantity", "515")]).await;
    assert_eq!(unreasoned.status, StatusCode::UNPROCESSABLE_ENTITY);
    let typed = [("quantity", "five"), ("value", "¥5"), ("currency", "")];
    let wrong = browser.submit(&action, &action, &typed).await;
    for field in ["quantity", "value", "currency", "reason"] {
        assert_eq!(wrong.texts(&format!("#{field}-error")).len(), 1, "{field} is told with all others");
    }
    assert_eq!(unreasoned.form(&action).1["quantity"], "515", "nothing typed is lost");
    let corrected = browser.submit(&action, &action, &[("quantity", "515"), ("reason", "数错了")]).await.location();
    assert_eq!(browser.get(&entry).await.texts(".notice").len(), 1, "the old entry names its reversal");
    for act in ["correct", "void"] {
        let late = browser.get(&format!("{entry}/{act}")).await;
        assert_eq!(late.status, StatusCode::CONFLICT);
        assert_eq!(late.attributes(".notice a", "href"), [entry.clone(), corrected.clone()], "the ways on");
    }
    let right = browser.get(&corrected).await;
    assert_eq!(
        right.texts(".history p"),
        [
            "administrator 给 竹简-预训练 2026-02 记了产出 515 十亿 token。原因：数错了",
            "administrator 冲销了 竹简-预训练 2026-02 的产出 551 十亿 token。原因：数错了",
            "administrator 给 竹简-预训练 2026-02 记了产出 551 十亿 token",
        ]
    );
    assert_eq!(right.attributes(".notice a", "href"), [entry.as_str()]);
    let reversal = browser.get(&entry).await.attributes(".notice a", "href").remove(0);
    assert_eq!(browser.get(&reversal).await.texts(".history p").len(), 2);
    assert_eq!(browser.get("/ledger/outputs").await.rows("table.unit-totals")[0], ["十亿 token", "515"]);

    let action = format!("{corrected}/void");
    assert_eq!(browser.submit(&action, &action, &[]).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    let answer = browser.submit(&action, &action, &[("reason", "记错环境")]).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let list = browser.get("/ledger/outputs").await;
    assert_eq!(list.rows("table.unit-totals")[0], ["十亿 token", "0"]);
    assert_eq!(list.rows("table.outputs").len(), 4);
    let json: serde_json::Value =
        serde_json::from_slice(&browser.get("/ledger/outputs.json?unit=%E5%8D%81%E4%BA%BF+token").await.bytes).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 4);
    assert_eq!((&json[3]["quantity"], &json[3]["period"]), (&"551".into(), &"2026-02".into()));
}

#[tokio::test]
async fn the_same_form_sent_twice_is_one_entry() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let browser = app.sign_in(Role::Administrator).await;
    let (_, mut fields) = browser.get("/ledger/outputs/new").await.form("/ledger/outputs");
    fields.insert("environment".to_owned(), environment.id.to_string());
    fields.extend([("quantity".to_owned(), "1".to_owned()), ("unit".to_owned(), "次".to_owned())]);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let first = browser.post("/ledger/outputs", &fields).await;
    let second = browser.post("/ledger/outputs", &fields).await;
    assert_eq!(first.location(), second.location());
    assert_eq!(totals(&app, OutputFilter::default()).await, [total("次", "1")]);
}

#[tokio::test]
async fn another_project_s_entry_looks_like_none() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let mut tx = app.write().await;
    let entry = output::record(&mut tx, &new(environment.id, "2026-02", "551", "token")).await.unwrap();
    tx.commit().await.unwrap();
    let stranger = app.sign_in(Role::Member).await;
    for path in [format!("/ledger/outputs/{}", entry.id), format!("/ledger/outputs/{}/void", entry.id)] {
        assert_eq!(stranger.get(&path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert!(stranger.get("/ledger/outputs").await.rows("table.outputs").is_empty());
    let auditor = app.sign_in(Role::Auditor).await;
    assert_eq!(auditor.get(&format!("/ledger/outputs/{}", entry.id)).await.texts(".actions").len(), 0);
    assert_eq!(auditor.get(&format!("/ledger/outputs/{}/void", entry.id)).await.status, StatusCode::FORBIDDEN);
    let mut read = app.read().await;
    assert_eq!(output::get(read.connection(), OutputId(entry.id.0)).await.unwrap().reversed_by, None);
}

// case M10
#[tokio::test]
async fn pages_follow_one_another_and_a_wrong_place_is_said() {
    let app = TestApp::new().await;
    let environment = app.open_environment("竹简-预训练", "2026-01-01", Some("2026-12-31")).await;
    let mut tx = app.write().await;
    for _ in 0..60 {
        output::record(&mut tx, &new(environment.id, "2026-02", "99999999999.99", "token")).await.unwrap();
    }
    tx.commit().await.unwrap();
    let browser = app.sign_in(Role::Administrator).await;
    let first = browser.get("/ledger/outputs").await;
    assert_eq!(first.rows("table.outputs").len(), 50);
    assert_eq!(first.rows("table.unit-totals")[0], ["token", "5,999,999,999,999.4"]);
    let next = first.attributes(".pager a", "href").remove(0);
    assert_eq!(browser.get(&next).await.rows("table.outputs").len(), 10);
    for query in ["before=x", "from=2026-13", "scenario=gaming", "colour=red"] {
        let answer = browser.get(&format!("/ledger/outputs?{query}")).await;
        assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY, "{query}");
    }
    let mut read = app.read().await;
    let none = OutputFilter { project: Some("nowhere".to_owned()), ..OutputFilter::default() };
    assert!(output::list(&mut read, &none, 50).await.unwrap().is_empty());
}
