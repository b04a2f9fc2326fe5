//! Changing many environments with one form: chosen on the list, looked at, changed at once or not at all.

use axum::http::StatusCode;
use rentroll::actor::{ProjectRole, Role};
use rentroll::environments::environment::{self, Environment, Priority};
use rentroll::ids::EnvironmentId;

use super::day;
use crate::harness::{Answer, Browser, TestApp};

async fn english(app: &TestApp) -> Browser {
    let browser = app.sign_in(Role::Administrator).await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;
    browser
}

/// Sends the form of a page with these values in it; `do` is the button.
async fn send(browser: &Browser, page: &Answer, button: &str, fields: &[(&str, &str)]) -> Answer {
    let (action, mut values) = page.form("/environments/bulk");
    values.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    values.insert("do".to_owned(), button.to_owned());
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    browser.post(&action, &values).await
}

async fn present(app: &TestApp, id: EnvironmentId) -> Environment {
    environment::get(app.read().await.connection(), id).await.unwrap()
}

// cases A01 and A11: 20 environments, 20 entries, one request, the right person.
#[tokio::test]
async fn twenty_environments_change_with_one_request_and_an_entry_each() {
    let app = TestApp::new().await;
    let mut ids = Vec::new();
    for number in 10..30 {
        ids.push(app.open_environment(&format!("节点{number}"), "2026-01-01", Some("2026-12-31")).await.id);
    }
    let other = app.open_environment("别动", "2026-01-01", None).await;
    let browser = english(&app).await;
    let list = browser.get("/environments?q=%E8%8A%82%E7%82%B9").await;
    assert_eq!(list.attributes("td input, th input[type=checkbox]", "name").len(), 20);
    let page = browser.get("/environments/bulk/edit?q=%E8%8A%82%E7%82%B9").await;
    assert_eq!(page.rows("table.bulk").len(), 20, "nothing ticked: all that match");

    let wanted =
        [("owner", "checker@palmfan.example"), ("priority", "core"), ("labels_add", "team=llm"), ("steps", "30;7;0")];
    let seen = send(&browser, &page, "look", &wanted).await;
    assert_eq!(seen.status, StatusCode::OK, "{}", seen.text());
    let row = &seen.rows("table.bulk")[0];
    for difference in ["Owner: 陈白露 → 宋霜降", "Priority: Normal → Core", "Labels: — → team=llm", "Steps: — → 30;7;0"]
    {
        assert!(row[2].contains(difference), "{row:?}");
    }
    assert!(seen.texts("button").contains(&"Change 20 environments".to_owned()), "{:?}", seen.texts("button"));
    assert_eq!(present(&app, ids[0]).await.priority, Priority::Normal, "a look changes nothing");

    let (history, reason) = (app.history().await.len(), [("reason", "new team")]);
    let done = send(&browser, &seen, "change", &reason).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.text());
    assert_eq!(done.location(), "/environments?q=%E8%8A%82%E7%82%B9", "back to the list with its filter");
    let mut entries = app.history().await;
    assert_eq!(entries.len(), history + 20);
    entries.truncate(20);
    assert!(entries.iter().all(|entry| entry.action == "environment.changed"));
    assert!(entries.iter().all(|entry| entry.request_id == entries[0].request_id));
    assert!(entries.iter().all(|entry| entry.reason.as_deref() == Some("new team") && entry.actor_kind == "person"));
    let changed = present(&app, ids[7]).await;
    assert_eq!((changed.owner.as_deref(), changed.priority), (Some("宋霜降"), Priority::Core));
    assert_eq!((changed.labels.to_string().as_str(), changed.version), ("team=llm", 2));
    assert_eq!(changed.checker.as_deref(), Some("宋霜降"), "an empty field leaves what is there");
    assert_eq!(present(&app, other.id).await, other);

    let again = send(&browser, &seen, "change", &reason).await;
    assert_eq!(again.status, StatusCode::SEE_OTHER, "sent twice is one act");
    assert_eq!(app.history().await.len(), history + 20);
}

// case C01: what somebody else changed meanwhile is named, and nothing is half done.
#[tokio::test]
async fn one_changed_meanwhile_is_named_and_none_is_changed() {
    let app = TestApp::new().await;
    let first = app.open_environment("甲", "2026-01-01", None).await;
    let second = app.open_environment("乙", "2026-01-01", None).await;
    let browser = english(&app).await;
    let page = browser.get(&format!("/environments/bulk/edit?pick-{}=0&pick-{}=0", first.id, second.id)).await;
    let seen = send(&browser, &page, "look", &[("priority", "low")]).await;
    let path = format!("/environments/{}", second.id);
    let other = browser.submit(&format!("{path}/edit"), &path, &[("note", "mine")]).await;
    assert_eq!(other.status, StatusCode::SEE_OTHER);

    let late = send(&browser, &seen, "change", &[]).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    assert!(
        late.texts(".form-errors")[0].contains("looked: 乙. Nothing was saved"),
        "{:?}",
        late.texts(".form-errors")
    );
    assert_eq!(present(&app, first.id).await, first, "nothing is half done");
    assert_eq!(send(&browser, &late, "change", &[]).await.status, StatusCode::SEE_OTHER);
    let second = present(&app, second.id).await;
    assert_eq!((second.priority, second.note.as_str(), second.version), (Priority::Low, "mine", 3));
}

// case C07: two people add the same label at once: it is there once, and nobody meets an error that is not their own.
#[tokio::test]
async fn the_same_label_added_by_two_people_is_there_once() {
    let app = TestApp::new().await;
    let it = app.open_environment("甲", "2026-01-01", None).await;
    let (one, other) = (english(&app).await, app.browser());
    other.sign_in("administrator@palmfan.example").await;
    let pick = format!("/environments/bulk/edit?pick-{}=0", it.id);
    let label = [("labels_add", "team=llm")];
    let seen = [
        send(&one, &one.get(&pick).await, "look", &label).await,
        send(&other, &other.get(&pick).await, "look", &label).await,
    ];
    let sent = tokio::join!(send(&one, &seen[0], "change", &[]), send(&other, &seen[1], "change", &[]));
    let mut both = [&sent.0, &sent.1];
    both.sort_by_key(|answer| answer.status);
    assert_eq!(both.map(|it| it.status), [StatusCode::SEE_OTHER, StatusCode::CONFLICT], "the later one looks again");
    let again = send(&other, both[1], "change", &[]).await;
    assert!(again.status.is_redirection() || again.status == StatusCode::OK, "{}", again.text());
    let present = present(&app, it.id).await;
    assert_eq!((present.labels.to_string().as_str(), present.version), ("team=llm", it.version + 1));
    let changed = app.actions().await.iter().filter(|action| *action == "environment.changed").count();
    assert_eq!(changed, 1, "and the history tells of it once");
}

// case P01: another's project and what has ended are left out, and the page says why.
#[tokio::test]
async fn who_may_not_and_what_has_ended_are_left_out_and_said() {
    let app = TestApp::new().await;
    let mine = app.open_environment("甲", "2026-01-01", None).await;
    let ended = app.open_environment("乙", "2026-01-01", Some("2026-12-31")).await;
    let mut tx = app.write().await;
    environment::end(&mut tx, ended.id, ended.version, day("2026-03-01")).await.unwrap();
    let read_only = rentroll::access::project::find_or_add(&mut tx, "只读".parse().unwrap()).await.unwrap();
    let facts = environment::Facts::named("丙".parse().unwrap(), mine.provider_id, mine.tier_id);
    let term = rentroll::environments::term::NewTerm::between(day("2026-01-01"), None);
    let new = environment::NewEnvironment { project_id: read_only.id, facts, term };
    let theirs = environment::open(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    let user = app.add_user("member@palmfan.example", Role::Member).await;
    let mut tx = app.write().await;
    rentroll::access::membership::add(&mut tx, mine.project_id, user, ProjectRole::Operator).await.unwrap();
    rentroll::access::membership::add(&mut tx, read_only.id, user, ProjectRole::Viewer).await.unwrap();
    tx.commit().await.unwrap();
    let browser = app.browser();
    browser.sign_in("member@palmfan.example").await;
    browser.post("/language", &[("locale", "en"), ("to", "/")]).await;

    let page = browser.get("/environments/bulk/edit").await;
    let all = [mine.id, ended.id, theirs.id].map(|id| (format!("pick-{id}"), "1"));
    let all: Vec<(&str, &str)> = all.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    let mut asked = vec![("priority", "core")];
    asked.extend(&all);
    let seen = send(&browser, &page, "look", &asked).await;
    let mut outcomes: Vec<String> = seen.rows("table.bulk").into_iter().map(|mut row| row.remove(2)).collect();
    outcomes.sort();
    assert_eq!(
        outcomes,
        ["Left out: it has ended.", "Left out: you may not change records in 只读.", "Priority: Normal → Core"]
    );
    let ticked: Vec<String> =
        seen.form("/environments/bulk").1.into_keys().filter(|it| it.starts_with("pick-")).collect();
    assert_eq!(ticked, [format!("pick-{}", mine.id)]);

    // Who sends the others along all the same changes none of them.
    let theirs_too = send(&browser, &seen, "change", &[(&format!("pick-{}", theirs.id), "1")]).await;
    assert_eq!(theirs_too.status, StatusCode::FORBIDDEN);
    assert_eq!(present(&app, mine.id).await, mine);
    assert_eq!(send(&browser, &seen, "change", &[]).await.status, StatusCode::SEE_OTHER);
    assert_eq!(present(&app, mine.id).await.priority, Priority::Core);
    assert_eq!(present(&app, theirs.id).await, theirs);
}

#[tokio::test]
async fn an_empty_form_unknown_people_and_another_form_than_was_looked_at_change_nothing() {
    let app = TestApp::new().await;
    let environment = app.open_environment("甲", "2026-01-01", None).await;
    let browser = english(&app).await;
    let page = browser.get("/environments/bulk/edit").await;
    let empty = send(&browser, &page, "look", &[("reason", "why")]).await;
    assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(empty.texts(".form-errors")[0].contains("Fill in at least one field"));
    assert_eq!(empty.form("/environments/bulk").1["reason"], "why");
    let unknown = send(&browser, &page, "look", &[("owner", "nobody@palmfan.example")]).await;
    assert_eq!(
        unknown.texts(".field-error"),
        ["Nobody here has the address nobody@palmfan.example; add the person first."]
    );
    let seen = send(&browser, &page, "look", &[("priority", "core")]).await;
    let other = send(&browser, &seen, "change", &[("priority", "low")]).await;
    assert_eq!(other.status, StatusCode::OK, "it is shown first");
    assert!(other.rows("table.bulk")[0][2].contains("Normal → Low"));
    assert_eq!(present(&app, environment.id).await, environment);
    for path in ["/environments/bulk/edit?pick-x=1", "/environments/bulk/edit?pick-1=soon"] {
        assert_eq!(browser.get(path).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
}
