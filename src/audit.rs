//! The history: the one insert of an audit entry, its canonical bytes, and how it reads as a sentence.
//!
//! An entry is written in the transaction of the change it tells of: they live or die together. Its bytes are canonical
//! JSON (keys sorted, no white space) made once; they hold the full image after the change and the difference. Nothing is
//! ever re-serialised to be checked. Secrets never enter an image; e-mail addresses enter only as salted digests, whose
//! salt lies in `audit_private`, so that a lawful erasure leaves the history provable.

mod entry;
mod file;
mod list;
mod words;

use chrono::SecondsFormat;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::ids::ProjectId;
use crate::tx::Tx;

pub use entry::{Entry, FieldChange};
pub use file::{Row, TABLE, batches};
pub use list::{EntryFilter, list, of, of_records};
pub use words::{field_words, nouns, source_words};

/// A record whose changes are history.
pub trait Audited: Serialize {
    /// The noun, as the table is named.
    const KIND: &'static str;
    /// Whether everybody who signed in may read its history: catalogue things that belong to no project.
    const SHARED: bool = false;

    /// The record's id.
    fn audit_id(&self) -> i64;
    /// The record's name at this time.
    fn audit_name(&self) -> String;
    /// The project it belongs to.
    fn audit_project(&self) -> Option<ProjectId>;
}

/// The thing an entry tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The noun.
    pub kind: &'static str,
    /// Its id, where it has a number.
    pub id: Option<i64>,
    /// Its name at that time.
    pub name: String,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// See [`Audited::SHARED`].
    pub shared: bool,
}

/// One act, ready to be recorded.
#[derive(Debug, Clone)]
pub struct Change {
    /// `noun.verb`, for example `term.renewed`.
    pub action: &'static str,
    /// What it was done to.
    pub object: Object,
    /// The image before, where there was one.
    pub before: Option<Value>,
    /// The image after, or the facts of the act.
    pub after: Value,
}

impl Change {
    /// The change of one record.
    pub fn of<T: Audited>(action: &'static str, before: Option<&T>, after: &T) -> Result<Self> {
        Ok(Self {
            action,
            object: Object {
                kind: T::KIND,
                id: Some(after.audit_id()),
                name: after.audit_name(),
                project: after.audit_project(),
                shared: T::SHARED,
            },
            before: before.map(serde_json::to_value).transpose()?,
            after: serde_json::to_value(after)?,
        })
    }
}

/// Fields that never enter an image. Their types should not serialise them either; this is the second fence.
const SECRET_FIELDS: [&str; 4] = ["password", "password_hash", "token", "token_hash"];

/// Takes secrets out, and puts digests in the place of addresses.
async fn veil(connection: &mut PgConnection, image: &mut Value) -> Result<()> {
    if let Value::Object(fields) = image {
        fields.retain(|name, _| !SECRET_FIELDS.contains(&name.as_str()));
        if let Some(Value::String(address)) = fields.get("email") {
            let digest = address_digest(connection, address).await?;
            fields.insert("email".into(), json!({ "digest": digest }));
        }
    }
    Ok(())
}

/// The salted digest that stands for an address; the same address keeps the same one.
async fn address_digest(connection: &mut PgConnection, address: &str) -> Result<String> {
    let mut salt = [0_u8; 16];
    getrandom::fill(&mut salt).map_err(|cause| Error::internal(format!("no random numbers: {cause}")))?;
    let digest = Sha256::new().chain_update(salt).chain_update(address.as_bytes()).finalize();
    // An update that changes nothing, so that the row that was there first is returned.
    let row = sqlx::query!(
        "insert into audit_private (digest, salt, value) values ($1, $2, $3)
         on conflict (value) do update set value = excluded.value returning digest",
        digest.as_slice(),
        salt.as_slice(),
        address,
    )
    .fetch_one(connection)
    .await?;
    Ok(hex::encode(row.digest))
}

/// The fields that differ, each with its value before and after. The version counts edits and is not itself a change.
fn difference(before: Option<&Value>, after: &Value) -> Map<String, Value> {
    let (Some(Value::Object(before)), Value::Object(after)) = (before, after) else { return Map::new() };
    let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names
        .into_iter()
        .filter(|name| name.as_str() != "version")
        .filter_map(|name| {
            let (was, is) = (before.get(name).unwrap_or(&Value::Null), after.get(name).unwrap_or(&Value::Null));
            (was != is).then(|| (name.clone(), json!([was, is])))
        })
        .collect()
}

/// The one insert of audit entries: those of one unit of work that are ready, in their order, in one statement. Commands call
/// [`Tx::record`] and [`Tx::record_changes`].
pub(crate) async fn insert(tx: &mut Tx, mut changes: Vec<Change>) -> Result<()> {
    let actor = tx.actor().clone();
    let (now, as_of) = (tx.now(), tx.pretended_date());
    let actor_id = actor.user.map(|user| user.0);
    let mut all_bytes = Vec::with_capacity(changes.len());
    for change in &mut changes {
        veil(tx.connection(), &mut change.after).await?;
        if let Some(before) = &mut change.before {
            veil(tx.connection(), before).await?;
        }
        let object = &change.object;
        let image = json!({
            "version": 1,
            "at": now.to_rfc3339_opts(SecondsFormat::Micros, true),
            "as_of": as_of,
            "source": actor.source.code(),
            "actor": { "kind": actor.kind.code(), "id": actor_id, "name": actor.name },
            "action": change.action,
            "object": { "kind": object.kind, "id": object.id, "name": object.name, "project": object.project },
            "reason": actor.reason,
            "request": actor.request_id,
            "changes": difference(change.before.as_ref(), &change.after),
            "after": change.after,
        });
        // serde_json's map is sorted by key, and `to_vec` writes no white space: the canonical form.
        all_bytes.push(serde_json::to_vec(&image)?);
    }
    let text =
        |of: fn(&Change) -> &str| -> Vec<String> { changes.iter().map(|change| of(change).to_owned()).collect() };
    let ids: Vec<Option<i64>> = changes.iter().map(|change| change.object.id).collect();
    let projects: Vec<Option<i64>> =
        changes.iter().map(|change| change.object.project.map(|project| project.0)).collect();
    let shared: Vec<bool> = changes.iter().map(|change| change.object.shared).collect();
    sqlx::query!(
        "insert into audit_entry (at, as_of, source, actor_kind, actor_id, actor_name, reason, request_id, action, object_kind,
                                  object_id, object_name, project_id, shared, bytes)
         select $1, $2, $3, $4, $5, $6, $7, $8, e.action, e.object_kind, e.object_id, e.object_name, e.project_id, e.shared, e.bytes
         from unnest($9::text[], $10::text[], $11::bigint[], $12::text[], $13::bigint[], $14::boolean[], $15::bytea[])
             with ordinality as e (action, object_kind, object_id, object_name, project_id, shared, bytes, number)
         order by e.number",
        now,
        as_of,
        actor.source.code(),
        actor.kind.code(),
        actor_id,
        actor.name,
        actor.reason,
        actor.request_id,
        &text(|change| change.action),
        &text(|change| change.object.kind),
        &ids as &[Option<i64>],
        &text(|change| &change.object.name),
        &projects as &[Option<i64>],
        &shared,
        &all_bytes,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_difference_names_what_changed_and_not_the_version() {
        let before = json!({ "name": "a", "quantity": "1", "version": 1 });
        let after = json!({ "name": "a", "quantity": "2", "version": 2 });
        assert_eq!(difference(Some(&before), &after), *json!({ "quantity": ["1", "2"] }).as_object().unwrap());
        assert!(difference(None, &after).is_empty());
    }
}
