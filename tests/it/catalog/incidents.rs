//! What went wrong at a provider.

use axum::http::StatusCode;
use rentroll::actor::Role;
use serde_json::Value;

use super::english;
use crate::harness::TestApp;

#[tokio::test]
async fn a_provider_shows_what_went_wrong_there_newest_first() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let tier = browser.submit(&provider, "/tiers", &[("name", "H800×8")]).await.location();
    let tier = tier.rsplit('/').next().unwrap();
    let new = format!("{provider}/incidents/new");
    let nothing = browser.submit(&new, "/incidents", &[]).await;
    let missing = ["#title-error", "#severity-error", "#starts_at-error"].map(|id| nothing.texts(id).len());
    assert_eq!((nothing.status, missing), (StatusCode::UNPROCESSABLE_ENTITY, [1, 1, 1]));
    let old = [
        ("title", "两张卡掉线"),
        ("severity", "major"),
        ("starts_at", "2026-01-05T22:10"),
        ("ends_at", "2026-01-06T03:40"),
        ("tier", tier),
        ("region", "宁夏一区"),
        ("link", "https://status.weitang.example/1"),
    ];
    assert_eq!(browser.submit(&new, "/incidents", &old).await.location(), provider);
    let young = [("title", "机房断网"), ("severity", "outage"), ("starts_at", "2026-02-20T08:00")];
    assert_eq!(browser.submit(&new, "/incidents", &young).await.location(), provider);
    for (field, value) in
        [("ends_at", "2026-02-20T07:59"), ("starts_at", "yesterday"), ("link", "javascript:alert(1)"), ("title", " ")]
    {
        let typed: Vec<_> = young.into_iter().filter(|(name, _)| *name != field).chain([(field, value)]).collect();
        let refused = browser.submit(&new, "/incidents", &typed).await;
        let errors = refused.texts(&format!("#{field}-error")).len();
        assert_eq!((refused.status, errors), (StatusCode::UNPROCESSABLE_ENTITY, 1), "{field}: {value}");
        assert_eq!(refused.form("/incidents").1[field], value, "nothing typed is lost");
    }

    let shown = browser.get(&provider).await;
    assert_eq!(
        shown.rows("table.incidents"),
        [
            ["2026-02-20 08:00 +08:00", "goes on", "机房断网", "Outage", "", "", "EditVoid"],
            [
                "2026-01-05 22:10 +08:00",
                "2026-01-06 03:40 +08:00",
                "两张卡掉线",
                "Major",
                "H800×8 · 宁夏一区",
                "",
                "EditVoid"
            ],
        ]
    );
    assert_eq!(shown.attributes("table.incidents td a[href^='https:']", "rel"), ["noreferrer"]);
    let file: Vec<Value> = serde_json::from_str(&browser.get("/incidents.json").await.text()).unwrap();
    assert_eq!((&file[0]["severity"], &file[0]["ends_at"]), (&"outage".into(), &Value::Null));
    assert_eq!((&file[1]["starts_at"], &file[1]["tier"]), (&"2026-01-05T22:10:00+08:00".into(), &"H800×8".into()));

    // A tier of somebody else, which only a forged form can name.
    let other = browser.submit("/providers", "/providers", &[("name", "浮木")]).await.location();
    let id = uuid::Uuid::now_v7().to_string();
    let forged = [&young[..], &[("tier", tier), ("submit_id", &*id)]].concat();
    let refused = browser.post(&format!("{other}/incidents"), &forged).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().contains("not one of this provider"), "{}", refused.text());
    assert_eq!(browser.get(&other).await.rows("table.incidents").len(), 0);
}

// case C01: a late edit shows both versions. What was no incident is voided, and stays to be read.
#[tokio::test]
async fn an_incident_is_changed_and_voided_and_its_history_stays() {
    let app = TestApp::new().await;
    let browser = english(&app).await;
    let provider = browser.submit("/providers", "/providers", &[("name", "苇塘云")]).await.location();
    let new = format!("{provider}/incidents/new");
    let fields = [("title", "掉卡"), ("severity", "minor"), ("starts_at", "2026-02-20T08:00")];
    browser.submit(&new, "/incidents", &fields).await;
    let edit = browser.get(&provider).await.attributes("table.incidents a[href$='/edit']", "href").remove(0);
    let own = edit.trim_end_matches("/edit");
    let early = browser.get(&edit).await;
    assert_eq!(early.form(own).1["starts_at"], "2026-02-20T08:00", "as the reader's own clock shows it");
    let over = [("ends_at", "2026-02-20T09:30"), ("severity", "major"), ("note", "已恢复")];
    assert_eq!(browser.submit(&edit, own, &over).await.location(), provider);
    let (_, mut late) = early.form(own);
    late.insert("note".to_owned(), "还在看".to_owned());
    let late: Vec<(&str, &str)> = late.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = browser.post(own, &late).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    assert!(answer.rows(".form-errors table").iter().any(|row| row[1..] == ["已恢复", "还在看"]));
    assert_eq!(answer.form(own).1["note"], "还在看");

    let void = format!("{own}/void");
    let silent = browser.submit(&void, "/void", &[]).await;
    assert_eq!((silent.status, silent.texts("#reason-error").len()), (StatusCode::UNPROCESSABLE_ENTITY, 1));
    assert_eq!(browser.submit(&void, "/void", &[("reason", "it was ours")]).await.location(), provider);
    let page = browser.get(&provider).await;
    let rows = page.rows("table.incidents");
    assert!(rows[0][5].ends_with(": it was ours") && rows[0][6].is_empty(), "{rows:?}");
    assert_eq!(page.texts("table.incidents del").len(), 5);
    assert!(page.texts(".history > li p").iter().any(|told| told.contains("it was ours")));
    for path in [edit.as_str(), &void] {
        assert_eq!(browser.get(path).await.status, StatusCode::CONFLICT, "{path}");
    }
    assert_eq!(browser.get("/incidents.json").await.text().trim(), "[]");
    assert!(browser.get("/incidents.csv?voided=yes").await.text().contains("it was ours"));
    let actions = app.actions().await;
    let ours: Vec<_> = actions.iter().filter(|it| it.starts_with("provider_incident.")).collect();
    assert_eq!(ours, ["provider_incident.recorded", "provider_incident.changed", "provider_incident.voided"]);

    // case P01: who only reads sees it and is offered nothing.
    let reader = app.sign_in(Role::Auditor).await;
    let page = reader.get(&provider).await;
    assert_eq!((page.rows("table.incidents").len(), page.texts("table.incidents .actions").len()), (1, 0));
    assert_eq!(reader.post(&void, &[("reason", "x")]).await.status, StatusCode::FORBIDDEN);
}
