//! The rent roll: filters, search, paging, days left, expected cost.

use rentroll::actor::{Actor, ProjectRole, Role, Scope};
use rentroll::catalog::price::{self, NewPrice, Unit};
use rentroll::catalog::tier::BillingMode;
use rentroll::dates::Cycle;
use rentroll::environments::environment::{self, Facts, NewEnvironment, Status};
use rentroll::environments::roll::{self, EnvironmentFilter};
use rentroll::environments::term::NewTerm;

use super::day;
use crate::harness::TestApp;

async fn names(app: &TestApp, filter: &EnvironmentFilter) -> Vec<String> {
    let mut read = app.read().await;
    roll::list(&mut read, filter, 100).await.expect("a list").rows.into_iter().map(|row| row.name).collect()
}

async fn found(app: &TestApp, q: &str) -> Vec<String> {
    names(app, &EnvironmentFilter { q: Some(q.to_owned()), ..EnvironmentFilter::default() }).await
}

// case S02, case S04
#[tokio::test]
async fn one_chinese_character_finds_and_every_word_must_match_in_any_order() {
    let app = TestApp::new().await;
    for name in ["上海A100训练集群", "推理_100%", "推理a100"] {
        app.open_environment(name, "2026-01-01", None).await;
    }
    assert_eq!(found(&app, "训").await, ["上海A100训练集群"]);
    assert_eq!(found(&app, "集群 a100").await, ["上海A100训练集群"]);
    assert_eq!(found(&app, "A100").await, ["上海A100训练集群", "推理a100"]);
    assert_eq!(found(&app, "%").await, ["推理_100%"]);
    assert_eq!(found(&app, "_").await, ["推理_100%"]);
    assert_eq!(found(&app, "推理 集群").await, Vec::<String>::new());
}

#[tokio::test]
async fn every_field_is_searched_whatever_the_width_or_the_case_of_the_letters() {
    let app = TestApp::new().await;
    let environment = app.open_environment("上海A100训练集群", "2026-01-01", None).await;
    app.open_environment("推理", "2026-01-01", None).await;
    let labels = "Team=LLM;用途＝预训练".parse().unwrap();
    let note = "机柜 B-07，合同ＨＴ２０２６ 100%".parse().unwrap();
    let facts = Facts { labels, note, ..Facts::named(environment.name, environment.provider_id, environment.tier_id) };
    let mut tx = app.write().await;
    environment::change(&mut tx, environment.id, environment.version, &facts).await.unwrap();
    tx.commit().await.unwrap();
    for q in
        ["Ａ１００", "ａ100　训练", "team=llm", "用途=预训", "b-07", "ht2026", "１００％", "h800 苇 竹简", "柜 LLM"]
    {
        let expected = if q == "h800 苇 竹简" { 2 } else { 1 };
        assert_eq!(found(&app, q).await.len(), expected, "{q}");
    }
    assert_eq!(found(&app, "b-07 推理").await, Vec::<String>::new(), "every word must match");
}

// case S01: 105 that end on the same day, over pages of 20.
#[tokio::test]
async fn pages_by_key_show_every_environment_once_soonest_end_first_and_open_ends_last() {
    let app = TestApp::new().await;
    app.open_environment("无到期日", "2026-01-01", None).await;
    app.open_environment("先到期", "2026-01-01", Some("2026-03-20")).await;
    for number in 0..105 {
        app.open_environment(&format!("同一天{number}"), "2026-01-01", Some("2026-03-31")).await;
    }
    let (mut seen, mut filter) = (Vec::new(), EnvironmentFilter::default());
    loop {
        let mut read = app.read().await;
        let rows = roll::list(&mut read, &filter, 20).await.unwrap().rows;
        let Some(last) = rows.last() else { break };
        filter.after = Some(last.id.0);
        seen.extend(rows.into_iter().map(|row| row.name));
    }
    assert_eq!((seen.len(), seen[0].as_str(), seen[106].as_str()), (107, "先到期", "无到期日"));
    let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
    assert_eq!(distinct.len(), 107);
}

// case R09, case R37, case R39, case S08: computed from the reader's today, in the organisation's zone.
#[tokio::test]
async fn days_left_follow_midnight_in_the_organisations_zone() {
    let app = TestApp::at("2026-04-26T15:30:00Z").await;
    app.open_environment("到期", "2026-01-01", Some("2026-04-26")).await;
    app.open_environment("无到期日", "2026-01-01", None).await;
    let days = async || {
        let mut read = app.read().await;
        let rows = roll::list(&mut read, &EnvironmentFilter::default(), 100).await.unwrap().rows;
        rows.into_iter().map(|row| row.days_left).collect::<Vec<_>>()
    };
    assert_eq!(days().await, [Some(0), None], "23:30 on the last day");
    app.app.clock.set("2026-04-26T16:30:00Z".parse().unwrap());
    assert_eq!(days().await, [Some(-1), None], "00:30 on the day after");
}

#[tokio::test]
async fn filters_narrow_by_status_provider_scenario_and_owner() {
    let app = TestApp::new().await;
    let first = app.open_environment("甲", "2026-01-01", Some("2026-03-31")).await;
    let second = app.open_environment("乙", "2026-01-01", Some("2026-03-31")).await;
    let voided = app.open_environment("丙", "2026-01-01", None).await;
    let mut tx = app.write().await;
    environment::end(&mut tx, second.id, second.version, day("2026-03-10")).await.unwrap();
    environment::void(&mut tx, voided.id, voided.version).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(names(&app, &EnvironmentFilter::default()).await, ["甲", "乙"], "ended last, voided not at all");
    let status = async |status| names(&app, &EnvironmentFilter { status, ..EnvironmentFilter::default() }).await;
    assert_eq!(status(Some(Status::Active)).await, ["甲"]);
    assert_eq!(status(Some(Status::Ended)).await, ["乙"]);
    assert_eq!(status(Some(Status::Voided)).await, ["丙"]);
    let other = EnvironmentFilter { provider: Some(first.provider_id.0 + 1), ..EnvironmentFilter::default() };
    assert_eq!(names(&app, &other).await, Vec::<String>::new());
    let mine = EnvironmentFilter { owner: first.owner_id.map(|id| id.0), ..EnvironmentFilter::default() };
    assert_eq!(names(&app, &mine).await.len(), 2);
    let mut read = app.read().await;
    let count = roll::list(&mut read, &EnvironmentFilter::default(), 1).await.unwrap().count;
    assert_eq!((count.all, count.active), (2, 1));
}

// case P03: another project's environments are not there, not even as names of owners.
#[tokio::test]
async fn a_reader_of_another_project_sees_nothing() {
    let app = TestApp::new().await;
    let environment = app.open_environment("甲", "2026-01-01", Some("2026-03-31")).await;
    let scope = Scope {
        all: None,
        projects: [(rentroll::ids::ProjectId(environment.project_id.0 + 1), ProjectRole::Manager)].into(),
    };
    let stranger = Actor { role: Role::Member, scope, ..app.operator() };
    let mut read = app.app.read(&stranger).await.unwrap();
    assert_eq!(roll::list(&mut read, &EnvironmentFilter::default(), 100).await.unwrap().rows, []);
    let choices = roll::choices(&mut read).await.unwrap();
    assert_eq!((choices.projects, choices.owners), (Vec::new(), Vec::new()));
    assert_eq!(rentroll::environments::choice::choices(&mut read).await.unwrap(), []);
    let error = environment::get(read.connection(), environment.id).await.unwrap_err();
    assert!(matches!(error, rentroll::error::Error::NotFound));
}

// case M09, case M19: the tier's price of the cycle's first day; a free term is not unknown.
#[tokio::test]
async fn the_expected_cost_follows_the_price_of_the_cycles_first_day() {
    let app = TestApp::at("2026-06-30T02:00:00Z").await;
    let term = NewTerm { cycle: Cycle::MONTHLY, quantity: 2.into(), ..NewTerm::between(day("2026-01-01"), None) };
    let environment = app.open_environment_with("甲", term.clone()).await;
    let mut tx = app.write().await;
    for (amount, from) in [(10, "2026-01-01"), (12, "2026-07-01")] {
        let new = NewPrice {
            billing_mode: BillingMode::Monthly,
            unit: Unit::InstanceMonth,
            amount: amount.into(),
            currency: "CNY".parse().unwrap(),
            valid_from: day(from),
        };
        price::add(&mut tx, environment.tier_id, &new).await.unwrap();
    }
    let free = NewTerm { price: Some(0.into()), currency: Some("CNY".parse().unwrap()), ..term };
    let facts = Facts::named("乙".parse().unwrap(), environment.provider_id, environment.tier_id);
    let new = NewEnvironment { project_id: environment.project_id, facts, term: free };
    environment::open(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    let costs = async || {
        let mut read = app.read().await;
        let rows = roll::list(&mut read, &EnvironmentFilter::default(), 100).await.unwrap().rows;
        rows.into_iter().map(|row| row.expected.map(|cost| cost.amount.plain())).collect::<Vec<_>>()
    };
    assert_eq!(costs().await, [Some("20".to_owned()), Some("0".to_owned())]);
    app.go_to("2026-07-01");
    assert_eq!(costs().await, [Some("24".to_owned()), Some("0".to_owned())]);
}
