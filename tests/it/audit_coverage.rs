//! Every form of the table, sent once as a person would send it: whatever it changed is in the history, once, as it is in the
//! database, with who, from which request, and why.

mod acts;
mod story;

use std::collections::{BTreeMap, BTreeSet};

use axum::http::{Method, StatusCode};
use rentroll::app;
use rentroll::audit::Entry;
use rentroll::postgres::tables::{Class, TABLES};
use serde_json::Value;
use sqlx::AssertSqlSafe;

use self::story::{Sent, Story};
use crate::harness::TestApp;

/// Why the person does it, in all of these stories.
const REASON: &str = "年中盘点";

/// Forms of the table that are not sent here, and why.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/set-up/{token}", "works only before there is anybody: tests/it/access/set_up.rs"),
    ("/forgotten-password", "recorded after the answer, whose time tells nothing: tests/it/access/forgotten.rs"),
    ("/settings/test-mail", "sends a mail to oneself and changes nothing"),
    ("/imports/environments", "a preview: nothing is changed before the next form"),
    ("/imports/rates", "a preview: nothing is changed before the next form"),
    ("/imports/bill", "keeps the file for the preview: nothing is changed before the next form"),
];

/// Records whose change is told by an entry of another kind: the act on the thing that they belong to, or one import for all.
const TOLD_BY: &[(&str, &[&str])] = &[
    ("binding", &["resource"]),
    ("document_void", &["document"]),
    ("scale_change", &["environment"]),
    ("spend_reversal", &["spend"]),
    ("bill_import", &["bill_import"]),
    // A reversal is told by the entry that it reverses; a binding's entry counts the lines that moved.
    ("spend", &["spend", "resource", "bill_import"]),
    ("output_entry", &["output_entry"]),
    ("resource", &["bill_import"]),
    ("exchange_rate", &["exchange_rate"]),
];

/// Columns that an image does not show as they are: addresses are digests.
const VEILED: [&str; 2] = ["email", "password_hash"];

// check C28, cases A10 and A11: a route without an example in `acts` fails here.
#[tokio::test]
async fn every_form_leaves_in_the_history_what_it_changed() {
    let story = Story::new().await;
    let mut wrong = Vec::new();
    let mut sent_forms = 0;
    let table = app::routes().finish().1;
    for route in table.iter().filter(|route| route.method == Method::POST) {
        if ELSEWHERE.iter().any(|(path, _)| *path == route.path) {
            continue;
        }
        let Some(sent) = acts::send(&story, route.path).await else {
            wrong.push(format!("{}: no example in tests/it/audit_coverage/acts.rs", route.path));
            continue;
        };
        sent_forms += 1;
        if !matches!(sent.answer.status, StatusCode::SEE_OTHER | StatusCode::OK) {
            wrong.push(format!("{}: {} {}", route.path, sent.answer.status, sent.answer.text()));
            continue;
        }
        let findings = findings(&story.app, &sent).await;
        wrong.extend(findings.into_iter().map(|finding| format!("{}: {finding}", route.path)));
    }
    for (path, _) in ELSEWHERE {
        assert!(table.iter().any(|route| route.path == *path), "{path} is no route any more");
    }
    assert!(sent_forms >= 55, "{sent_forms} forms");
    assert!(wrong.is_empty(), "{} of {sent_forms}:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong with the entries that a form left.
async fn findings(app: &TestApp, sent: &Sent) -> Vec<String> {
    let mut findings = Vec::new();
    let history = app.history().await;
    let entries: Vec<&Entry> = history.iter().filter(|entry| entry.id.0 > sent.before).collect();
    if entries.is_empty() {
        return vec!["left no entry".to_owned()];
    }
    let mut met = BTreeSet::new();
    for entry in &entries {
        let what = format!("{} of {} {:?}", entry.action, entry.object_kind, entry.object_id);
        if (entry.actor_name.as_str(), entry.actor_kind.as_str()) != (sent.actor.as_str(), "person") {
            findings.push(format!("{what} by {} ({})", entry.actor_name, entry.actor_kind));
        }
        if !["page", "import"].contains(&entry.source.as_str()) {
            findings.push(format!("{what} came from {}", entry.source));
        }
        if entry.request_id.is_nil() || entry.request_id != entries[0].request_id {
            findings.push(format!("{what} is of another request"));
        }
        if entry.reason.as_deref() != sent.asks.then_some(REASON) {
            findings.push(format!("{what} has the reason {:?}", entry.reason));
        }
        // A new log-in and the link to it, a new password and signing in with it, are two acts on one thing.
        let one = if entry.object_kind == "user_account" { &entry.action } else { &entry.object_kind };
        if !met.insert((one.to_owned(), entry.object_id)) {
            findings.push(format!("{what} is told twice"));
        }
        findings.extend(differences(app, entry).await.into_iter().map(|difference| format!("{what}: {difference}")));
    }
    findings.extend(untold(app, sent, &entries).await);
    findings
}

/// Records that the same transactions wrote and that no entry tells of.
async fn untold(app: &TestApp, sent: &Sent, entries: &[&Entry]) -> Vec<String> {
    let mut superuser = app.database.superuser().await;
    let transactions: Vec<i64> =
        sqlx::query_scalar("select distinct xid::text::bigint % 4294967296 from audit_entry where id > $1")
            .bind(sent.before)
            .fetch_all(&mut superuser)
            .await
            .unwrap();
    let kinds: BTreeSet<&str> = entries.iter().map(|entry| entry.object_kind.as_str()).collect();
    let mut untold = Vec::new();
    for (table, _, _) in TABLES.iter().filter(|(name, class, _)| *class != Class::Machine && *name != "audit_entry") {
        let sql = format!(
            "select (to_jsonb(t) ->> 'id')::bigint from {table} t where t.xmin::text::bigint = any ($1) order by 1"
        );
        let written: Vec<Option<i64>> =
            sqlx::query_scalar(AssertSqlSafe(sql)).bind(&transactions).fetch_all(&mut superuser).await.unwrap();
        let by_another = TOLD_BY.iter().any(|(of, by)| of == table && by.iter().any(|kind| kinds.contains(kind)));
        for id in written {
            let told = entries.iter().any(|entry| entry.object_kind == *table && entry.object_id == id);
            if !told && !by_another {
                untold.push(format!("{table} {id:?} was written and no entry tells of it: {kinds:?}"));
            }
        }
    }
    untold
}

/// Where the image after the change is not the row: by the names that both have.
async fn differences(app: &TestApp, entry: &Entry) -> Vec<String> {
    let Value::Object(image) = entry.image() else { return vec!["no image".to_owned()] };
    let is_record = TABLES.iter().any(|(name, class, _)| *name == entry.object_kind && *class != Class::Machine);
    // Facts of an act are no image of a record.
    if !is_record || !["id", "version"].iter().any(|name| image.contains_key(*name)) {
        return Vec::new();
    }
    let sql = format!("select to_jsonb(t) from {} t where id = $1", entry.object_kind);
    let row: Value = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(entry.object_id)
        .fetch_one(&mut app.database.superuser().await)
        .await
        .unwrap();
    let Value::Object(row) = row else { return vec!["no row".to_owned()] };
    let shared: BTreeMap<&String, (&Value, &Value)> = image
        .iter()
        .filter(|(name, _)| !VEILED.contains(&name.as_str()))
        .filter_map(|(name, told)| Some((name, (told, row.get(name)?))))
        .collect();
    let mut differences: Vec<String> = shared
        .iter()
        .filter(|(name, (told, is))| plain(name, told) != plain(name, is))
        .map(|(name, (told, is))| format!("{name} is told as {told} and is {is}"))
        .collect();
    if shared.len() < 3 {
        differences.push(format!("the image has only {:?} of the row", shared.keys()));
    }
    if row.contains_key("version") && !image.contains_key("version") {
        differences.push("the image has no version".to_owned());
    }
    differences
}

/// A value however it is written: an instant, a number, a month, bytes.
fn plain(name: &str, value: &Value) -> Value {
    let Some(text) = value.as_str().map(str::to_owned).or_else(|| value.is_number().then(|| value.to_string())) else {
        return value.clone();
    };
    if name == "period" {
        return text.chars().take("2026-03".len()).collect::<String>().into();
    }
    if let Some(bytes) = text.strip_prefix("\\x") {
        return bytes.into();
    }
    if let Ok(instant) = chrono::DateTime::parse_from_rfc3339(&text) {
        return instant.timestamp_micros().into();
    }
    match text.parse::<rust_decimal::Decimal>() {
        Ok(number) => number.normalize().to_string().into(),
        Err(_) => text.into(),
    }
}
