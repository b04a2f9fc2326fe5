//! One entry of the history, read from its own bytes: what changed, and how that reads as a sentence.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{difference, words};
use crate::actor::UNKNOWN_ACCOUNT;
use crate::dates::Zone;
use crate::ids::AuditEntryId;
use crate::locale::{Arg, Locale, Message};

/// One entry, as the history shows it.
#[derive(Debug, Clone, sqlx::FromRow)]
pub struct Entry {
    /// Its number; greater is later within one writer.
    pub id: AuditEntryId,
    /// When.
    pub at: DateTime<Utc>,
    /// The date a job took for today.
    pub as_of: Option<NaiveDate>,
    /// Through which path: `page`, `import`, `command_line`, `job`, `database` …
    pub source: String,
    /// What kind of actor: `person`, `command_line`, `job` …
    pub actor_kind: String,
    /// Who, by the name of that time.
    pub actor_name: String,
    /// `noun.verb`.
    pub action: String,
    /// The noun.
    pub object_kind: String,
    /// Its id.
    pub object_id: Option<i64>,
    /// Its name at that time.
    pub object_name: String,
    /// The project's name, where it belongs to one.
    pub project_name: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Joins the entries of one request.
    pub request_id: Uuid,
    /// The entry's own bytes.
    pub bytes: Vec<u8>,
    /// What changed; read from the bytes by [`super::list()`].
    #[sqlx(skip)]
    pub changes: Vec<FieldChange>,
    /// Whether the entry has nothing before it: its changes are what was set, or the facts of the act.
    #[sqlx(skip)]
    pub first: bool,
}

/// The parts of an entry's bytes that people read.
#[derive(Debug, Deserialize)]
struct Image {
    #[serde(default)]
    changes: BTreeMap<String, (Value, Value)>,
    #[serde(default)]
    before: Option<Value>,
    #[serde(default)]
    after: Option<Value>,
}

/// One field that an entry changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    /// The field, as the record names it.
    pub field: String,
    /// Before, as the record holds it, in plain text; empty for nothing.
    pub before: String,
    /// After, likewise.
    pub after: String,
    /// What the value before is called, where it is the number of another record.
    pub before_name: Option<String>,
    /// What the value after is called.
    pub after_name: Option<String>,
}

impl FieldChange {
    /// The field's name for people.
    pub fn label(&self, locale: &Locale) -> String {
        locale.say(&words::field_words(&self.field))
    }

    /// The value before, for people; a moment in the reader's zone.
    pub fn was(&self, locale: &Locale, zone: &Zone) -> String {
        self.moment(&self.before).map_or_else(|| locale.say(&self.was_words()), |at| zone.moment(at))
    }

    /// The value after, for people; a moment in the reader's zone.
    pub fn is(&self, locale: &Locale, zone: &Zone) -> String {
        self.moment(&self.after).map_or_else(|| locale.say(&self.is_words()), |at| zone.moment(at))
    }

    /// A value that is a moment; those fields say so by their name.
    pub(super) fn moment(&self, value: &str) -> Option<DateTime<Utc>> {
        if self.field.ends_with("_at") { value.parse().ok() } else { None }
    }

    pub(super) fn was_words(&self) -> Message {
        words::value_words(&self.field, &self.before, self.before_name.as_deref())
    }

    pub(super) fn is_words(&self) -> Message {
        words::value_words(&self.field, &self.after, self.after_name.as_deref())
    }
}

impl Entry {
    /// Reads the fields that changed, with values before and after, out of the bytes; where nothing was before, what was set.
    pub(super) fn read_changes(&mut self) {
        let Ok(image) = serde_json::from_slice::<Image>(&self.bytes) else { return };
        let after = image.after.unwrap_or(Value::Null);
        let mut changes = if image.changes.is_empty() && self.source == "database" {
            difference(image.before.as_ref(), &after)
                .into_iter()
                .filter_map(|(field, pair)| Some((field, serde_json::from_value::<(Value, Value)>(pair).ok()?)))
                .collect()
        } else {
            image.changes
        };
        self.first = changes.is_empty() && image.before.is_none();
        if self.first {
            changes = facts(&self.action, &after);
        }
        self.changes = changes
            .into_iter()
            .map(|(field, (before, after))| FieldChange {
                field,
                before: plain(&before),
                after: plain(&after),
                before_name: None,
                after_name: None,
            })
            .collect();
    }

    /// The fields that changed, with values before and after.
    pub fn changes(&self) -> &[FieldChange] {
        &self.changes
    }

    /// The changes as a page shows them: a record's number is left out where its name stands beside it, and all of what the
    /// sentence of a reminder tells.
    pub fn shown_changes(&self) -> Vec<&FieldChange> {
        if is_reminder(&self.action) {
            return Vec::new();
        }
        let named = |field: &str| {
            field.strip_suffix("_id").is_some_and(|name| self.changes.iter().any(|change| change.field == name))
        };
        self.changes.iter().filter(|change| !named(&change.field)).collect()
    }

    /// The image after the change, or the facts of the act.
    pub fn image(&self) -> Value {
        serde_json::from_slice::<Image>(&self.bytes).ok().and_then(|image| image.after).unwrap_or(Value::Null)
    }

    /// Who, by the name of that time.
    pub fn actor(&self) -> Arg {
        let name = self.actor_name.as_str();
        let inside = |start: &str, end: &str| Some(name.strip_prefix(start)?.strip_suffix(end)?.to_owned());
        let said = match self.actor_kind.as_str() {
            "command_line" => {
                inside("command line (", ")").map(|user| Message::new("hist-by-command-line").with("user", user))
            }
            "job" => inside("system: ", "").map(|job| Message::new("hist-by-job").with("job", job)),
            "setup" => Some(Message::new("hist-by-set-up")),
            "person" if name == UNKNOWN_ACCOUNT => Some(Message::new("hist-by-unknown")),
            _ => None,
        };
        said.map_or_else(|| name.into(), Into::into)
    }

    /// What happened: who did what to which thing. Without the reason.
    pub fn message(&self) -> Message {
        let outside = self.source == "database";
        let key = if outside { "hist-outside" } else { words::sentence_key(&self.action) };
        let mut message = Message::new(key)
            .with("who", self.actor())
            .with("kind", Message::new(words::noun_key(&self.object_kind)))
            .with("thing", &self.object_name);
        let image = self.image();
        message = message.with("what", words::what_words(&image)).with("dates", words::dates_words(&image));
        for name in words::SENTENCE_FIELDS {
            let value = image.get(name).map(plain).unwrap_or_default();
            message = message.with(name, words::value_words(name, &value, None));
        }
        message
    }

    /// What happened, as one sentence with its reason.
    pub fn sentence(&self, locale: &Locale) -> String {
        let mut sentence = locale.say(&self.message());
        if let Some(reason) = &self.reason {
            sentence.push_str(&locale.say(&Message::new("hist-reason").with("reason", reason)));
        }
        sentence
    }

    /// Through which path it came, for people.
    pub fn source_words(&self, locale: &Locale) -> String {
        locale.say(&words::source_words(&self.source))
    }
}

fn is_reminder(action: &str) -> bool {
    action.starts_with("reminder.")
}

/// What was set by an act that has nothing before it, each as a change from nothing. A reminder tells whom and which dates;
/// signing in and imports have no record of their own, and their sentence tells all.
fn facts(action: &str, after: &Value) -> BTreeMap<String, (Value, Value)> {
    let told = |field: &str, value: Value| (field.to_owned(), (Value::Null, value));
    if is_reminder(action) {
        let dates = after["deadlines"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut days: Vec<Value> = dates.iter().map(|date| date["due_on"].clone()).collect();
        days.dedup();
        return [told("person", after["person"].clone()), told("due_on", Value::Array(days))].into();
    }
    let is_act = action.ends_with(".imported") || (action.starts_with("user.") && action != "user.added");
    let Some(fields) = after.as_object().filter(|_| !is_act) else { return BTreeMap::new() };
    let is_told = |field: &str, value: &Value| {
        let is_digest = value.get("digest").is_some();
        let is_nothing = plain(value).is_empty() || *value == Value::Bool(false);
        !["id", "version", "created_at"].contains(&field) && !is_digest && !is_nothing
    };
    fields
        .iter()
        .filter(|(field, value)| is_told(field, value))
        .map(|(field, value)| told(field, value.clone()))
        .collect()
}

/// A value of an image in plain text.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => match fields.get("digest") {
            Some(Value::String(digest)) => format!("#{}", digest.chars().take(12).collect::<String>()),
            _ => fields.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect::<Vec<_>>().join("; "),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(action: &'static str, after: &Value) -> Entry {
        Entry {
            id: AuditEntryId(1),
            at: DateTime::UNIX_EPOCH,
            as_of: None,
            source: "page".into(),
            actor_kind: "person".into(),
            actor_name: "陈白露".into(),
            action: action.into(),
            object_kind: "term".into(),
            object_id: Some(1),
            object_name: "竹简-预训练".into(),
            project_name: None,
            reason: Some("训练还没完".into()),
            request_id: Uuid::nil(),
            bytes: serde_json::to_vec(&json!({ "after": after })).unwrap(),
            changes: Vec::new(),
            first: false,
        }
    }

    fn read(action: &'static str, after: &Value) -> Vec<(String, String, String)> {
        let mut entry = entry(action, after);
        entry.read_changes();
        assert!(entry.first);
        entry.changes.into_iter().map(|change| (change.field, change.before, change.after)).collect()
    }

    #[test]
    fn what_was_set_at_first_is_told_without_digests_and_what_is_empty() {
        let image = json!({ "id": 7, "version": 1, "name": "竹简-预训练", "note": "", "labels": {}, "scenario": null,
                            "quantity": "8", "email": { "digest": "0123456789abcdef" } });
        let set = |field: &str, value: &str| (field.to_owned(), String::new(), value.to_owned());
        assert_eq!(read("environment.opened", &image), [set("name", "竹简-预训练"), set("quantity", "8")]);
        assert!(read("user.signed_in", &image).is_empty());
        let told = json!({ "person": "林小满", "due_on": "2026-03-01", "delivery": 4, "reply": "250 ok", "deadlines": [
            { "kind": "cancel_by", "due_on": "2026-03-01" }, { "kind": "expiry", "due_on": "2026-03-31" }] });
        assert_eq!(read("reminder.sent", &told), [set("due_on", "2026-03-01, 2026-03-31"), set("person", "林小满")]);
    }

    #[test]
    fn a_moment_is_told_in_the_zone_of_the_reader() {
        let change = |field: &str| FieldChange {
            field: field.into(),
            before: String::new(),
            after: "2026-12-01T13:19:42.932035Z".into(),
            before_name: None,
            after_name: None,
        };
        let zone: Zone = "Asia/Shanghai".parse().unwrap();
        let disabled = change("disabled_at");
        assert_eq!(disabled.is(&Locale::En, &zone), "2026-12-01 21:19 +08:00");
        assert_eq!(disabled.was(&Locale::En, &zone), "—");
        assert_eq!(change("note").is(&Locale::En, &zone), "2026-12-01T13:19:42.932035Z", "a text of people stays");
    }

    #[test]
    fn an_address_is_shown_only_as_a_short_digest() {
        assert_eq!(plain(&json!({ "digest": "0123456789abcdef" })), "#0123456789ab");
    }

    #[test]
    fn a_renewal_reads_as_a_sentence_in_both_languages() {
        let entry = entry("term.renewed", &json!({ "ends_on": "2027-12-16" }));
        assert_eq!(entry.sentence(&Locale::ZhCn), "陈白露 把 竹简-预训练 续费到 2027-12-16。原因：训练还没完");
        assert_eq!(entry.sentence(&Locale::En), "陈白露 renewed 竹简-预训练 to 2027-12-16. Reason: 训练还没完");
    }

    #[test]
    fn a_date_and_a_reminder_are_told_by_kind_and_day() {
        let both = |action, image| {
            let mut entry = entry(action, &image);
            (entry.actor_name, entry.reason) = ("陈白露".into(), None);
            (entry.sentence(&Locale::ZhCn), entry.sentence(&Locale::En))
        };
        let expiry = |closed: Option<&str>| json!({ "kind": "expiry", "due_on": "2026-03-31", "closed": closed });
        let (zh, en) = both("deadline.added", expiry(None));
        assert_eq!(zh, "陈白露 给 竹简-预训练 定下到期日 2026-03-31");
        assert_eq!(en, "陈白露 set the expiry of 竹简-预训练: 2026-03-31");
        let (zh, en) = both("deadline.moved", json!({ "kind": "cancel_by", "due_on": "2026-03-01" }));
        assert_eq!(zh, "陈白露 把 竹简-预训练 的通知截止日改为 2026-03-01");
        assert_eq!(en, "陈白露 moved the notice day of 竹简-预训练 to 2026-03-01");
        let (zh, en) = both("deadline.closed", expiry(Some("renewed")));
        assert_eq!(zh, "陈白露 关闭了 竹简-预训练 的到期日 2026-03-31：已续费");
        assert_eq!(en, "陈白露 closed the expiry of 竹简-预训练 on 2026-03-31: renewed");
        let dates = json!([{ "kind": "cancel_by", "due_on": "2026-03-01", "step": 7 },
                           { "kind": "expiry", "due_on": "2026-03-31", "step": 30 }]);
        let told = json!({ "person": "林小满", "due_on": "2026-03-01", "deadlines": dates });
        let (zh, en) = both("reminder.sent", told.clone());
        assert_eq!(zh, "陈白露 提醒了 林小满：竹简-预训练 的通知截止日 2026-03-01、到期日 2026-03-31");
        assert_eq!(
            en,
            "陈白露 reminded 林小满 of the notice day on 2026-03-01 and the expiry on 2026-03-31 of 竹简-预训练"
        );
        let (zh, en) = both("reminder.retried", told);
        assert_eq!(zh, "陈白露 让发给 林小满 的提醒重发：竹简-预训练 的通知截止日 2026-03-01、到期日 2026-03-31");
        assert!(en.starts_with("陈白露 had the reminder to 林小满 tried again: the notice day on 2026-03-01"), "{en}");
    }

    #[test]
    fn the_program_itself_is_named_in_the_readers_language() {
        let mut entry = entry("provider.added", &json!({}));
        (entry.actor_kind, entry.actor_name) = ("command_line".into(), "command line (root)".into());
        assert!(entry.sentence(&Locale::ZhCn).starts_with("命令行（root）"), "{}", entry.sentence(&Locale::ZhCn));
        (entry.actor_kind, entry.actor_name) = ("job".into(), "system: reminders".into());
        assert!(entry.sentence(&Locale::En).starts_with("The job reminders "), "{}", entry.sentence(&Locale::En));
        // A person may be called anything.
        entry.actor_kind = "person".into();
        assert!(entry.sentence(&Locale::En).starts_with("system: reminders "));
    }
}
