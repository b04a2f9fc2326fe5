//! Which entries a reader sees, newest first. Rows leave through row-level security like all others; what is written here
//! lets every case use an index, so that a history of a million entries opens as fast as one of a hundred.

use std::collections::HashMap;

use chrono::NaiveDate;
use serde::Deserialize;
use sqlx::{Postgres, QueryBuilder};
use uuid::Uuid;

use super::entry::{Entry, FieldChange};
use super::words::nouns;
use crate::dates;
use crate::error::Result;
use crate::filter::one_of;
use crate::tx::Read;

/// Which entries a reader wants to see; the same for the page and its exports.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct EntryFilter {
    /// Words in the actor's name.
    pub who: Option<String>,
    /// The noun.
    pub kind: Option<String>,
    /// The record's id, together with `kind`.
    pub object: Option<i64>,
    /// One project.
    pub project: Option<i64>,
    /// One request.
    pub request: Option<Uuid>,
    /// From this day (organisation's zone).
    pub from: Option<NaiveDate>,
    /// To this day, included.
    pub to: Option<NaiveDate>,
    /// Entries before this one: the next page.
    pub before: Option<i64>,
}

/// The history of one record, newest first, at most `limit`.
pub async fn of(read: &mut Read, kind: &str, object: i64, limit: i64) -> Result<Vec<Entry>> {
    let filter = EntryFilter { kind: Some(kind.to_owned()), object: Some(object), ..EntryFilter::default() };
    list(read, &filter, limit).await
}

/// The history of several records together, each as its noun and id, newest first, at most `limit`: what a page shows of a
/// thing that is made of several records.
pub async fn of_records(read: &mut Read, records: &[(&str, i64)], limit: i64) -> Result<Vec<Entry>> {
    let (kinds, ids): (Vec<String>, Vec<i64>) = records.iter().map(|(kind, id)| ((*kind).to_owned(), *id)).unzip();
    // Record by record, so that each is a short walk through the index.
    let entries = sqlx::query_as(
        "select e.id, e.at, e.as_of, e.source, e.actor_kind, e.actor_name, e.action, e.object_kind, e.object_id, e.object_name,
                p.name as project_name, e.reason, e.request_id, e.bytes
         from unnest($1::text[], $2::bigint[]) record (kind, id)
         cross join lateral (select * from audit_entry where object_kind = record.kind and object_id = record.id
                             order by id desc limit $3) e
         left join project p on p.id = e.project_id
         order by e.id desc limit $3",
    )
    .bind(kinds)
    .bind(ids)
    .bind(limit)
    .fetch_all(read.connection())
    .await?;
    named(read, entries).await
}

/// The entries that match, newest first, at most `limit`.
pub async fn list(read: &mut Read, filter: &EntryFilter, limit: i64) -> Result<Vec<Entry>> {
    let Some(conditions) = Conditions::of(read, filter).await? else { return Ok(Vec::new()) };
    let scope = read.scope().clone();
    let mut order = " order by e.id desc limit ";
    let mut sql = QueryBuilder::new("");
    sql.push(
        "select e.id, e.at, e.as_of, e.source, e.actor_kind, e.actor_name, e.action, e.object_kind, e.object_id, e.object_name,
                p.name as project_name, e.reason, e.request_id, e.bytes from ",
    );
    if let Some(actors) = &conditions.actors {
        // Each actor has an own end of an index: the few entries of one are found without going back through everybody's.
        sql.push("unnest(").push_bind(actors.clone());
        sql.push(
            "::text[]) actor (name) cross join lateral (select * from audit_entry e where e.actor_name = actor.name",
        );
        conditions.push(&mut sql);
        sql.push(order).push_bind(limit).push(") e left join project p on p.id = e.project_id");
    } else if scope.all.is_some() {
        sql.push("audit_entry e left join project p on p.id = e.project_id where true");
        conditions.push(&mut sql);
        if conditions.by_time() {
            order = " order by e.at desc, e.id desc limit ";
        }
    } else {
        // Each project has its own end of the index; going back through everybody's entries would be slow for the few.
        let projects: Vec<i64> = scope.projects.keys().map(|project| project.0).collect();
        sql.push("((select e.* from unnest(").push_bind(projects);
        sql.push("::bigint[]) scope(id) cross join lateral (select * from audit_entry e where e.project_id = scope.id");
        conditions.push(&mut sql);
        sql.push(order).push_bind(limit).push(") e)");
        sql.push(" union all (select * from audit_entry e where e.shared and e.project_id is null");
        conditions.push(&mut sql);
        sql.push(order).push_bind(limit).push(")) e");
        sql.push(" left join project p on p.id = e.project_id");
    }
    sql.push(order).push_bind(limit);
    // Not kept prepared: a plan for every filter at once would be a poor plan for each.
    let entries = sql.build_query_as().persistent(false).fetch_all(read.connection()).await?;
    named(read, entries).await
}

/// The entries with their changes read from the bytes, and names in the place of numbers.
async fn named(read: &mut Read, mut entries: Vec<Entry>) -> Result<Vec<Entry>> {
    for entry in &mut entries {
        entry.read_changes();
    }
    name_records(read, &mut entries).await?;
    Ok(entries)
}

/// A filter, ready for SQL.
struct Conditions<'a> {
    filter: &'a EntryFilter,
    /// Whether the reader sees the whole history.
    whole: bool,
    kind: Option<&'a str>,
    actors: Option<Vec<String>>,
    from: Option<chrono::DateTime<chrono::Utc>>,
    to: Option<chrono::DateTime<chrono::Utc>>,
}

impl<'a> Conditions<'a> {
    /// `None` where nothing can match.
    async fn of(read: &mut Read, filter: &'a EntryFilter) -> Result<Option<Self>> {
        let kinds: Vec<&str> = nouns().iter().map(|(kind, _)| *kind).collect();
        let kind = one_of("kind", filter.kind.as_deref(), &kinds)?;
        let actors = match filter.who.as_deref().map(str::trim).filter(|who| !who.is_empty()) {
            Some(who) => Some(actors(read, who).await?),
            None => None,
        };
        if actors.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        let zone = read.organisation().zone;
        let day = |date: NaiveDate| dates::local_instant(date, chrono::NaiveTime::MIN, zone);
        Ok(Some(Self {
            filter,
            whole: read.scope().all.is_some(),
            kind,
            actors,
            from: filter.from.map(day),
            to: filter.to.and_then(|date| date.succ_opt()).map(day),
        }))
    }

    /// Whether days alone say where in a reader's whole history to look: then it is walked by its times. Numbers grow with time,
    /// but no condition on one says anything about the other, and all entries since would be gone through.
    fn by_time(&self) -> bool {
        let EntryFilter { object, project, request, .. } = self.filter;
        let days = self.from.is_some() || self.to.is_some();
        self.whole && days && self.actors.is_none() && object.is_none() && project.is_none() && request.is_none()
    }

    fn push(&self, sql: &mut QueryBuilder<Postgres>) {
        if let Some(kind) = self.kind {
            sql.push(" and e.object_kind = ").push_bind(kind.to_owned());
        }
        if let Some(object) = self.filter.object {
            sql.push(" and e.object_id = ").push_bind(object);
        }
        if let Some(project) = self.filter.project {
            sql.push(" and e.project_id = ").push_bind(project);
        }
        if let Some(request) = self.filter.request {
            sql.push(" and e.request_id = ").push_bind(request);
        }
        if let Some(from) = self.from {
            sql.push(" and e.at >= ").push_bind(from);
        }
        if let Some(to) = self.to {
            sql.push(" and e.at < ").push_bind(to);
        }
        if let Some(before) = self.filter.before {
            if self.by_time() {
                sql.push(" and (e.at, e.id) < (select at, id from audit_entry where id = ").push_bind(before).push(")");
            } else {
                sql.push(" and e.id < ").push_bind(before);
            }
        }
    }
}

/// The actors' names that hold these words. Goes from name to name through the index, not from entry to entry.
async fn actors(read: &mut Read, who: &str) -> Result<Vec<String>> {
    let names = sqlx::query_scalar!(
        r#"with recursive actor (name) as (
               (select actor_name from audit_entry order by actor_name limit 1)
               union all
               select (select e.actor_name from audit_entry e where e.actor_name > actor.name order by e.actor_name limit 1)
               from actor where actor.name is not null)
           select name as "name!" from actor where strpos(lower(name), lower($1)) > 0"#,
        who,
    )
    .fetch_all(read.connection())
    .await?;
    Ok(names)
}

/// Fields that hold the number of another record, and what that is.
const REFERENCES: &[(&str, &str)] = &[
    ("owner_id", "person"),
    ("checker_id", "person"),
    ("person_id", "person"),
    ("user_id", "user"),
    ("provider_id", "provider"),
    ("tier_id", "tier"),
    ("project_id", "project"),
    ("environment_id", "environment"),
];

fn referred(change: &FieldChange) -> Option<(&'static str, [Option<i64>; 2])> {
    let (_, kind) = REFERENCES.iter().find(|(field, _)| *field == change.field)?;
    Some((kind, [change.before.parse().ok(), change.after.parse().ok()]))
}

/// Says names where a change holds only numbers of records; one query for all. What the reader may not see stays a number.
async fn name_records(read: &mut Read, entries: &mut [Entry]) -> Result<()> {
    let mut wanted: HashMap<&str, Vec<i64>> = HashMap::new();
    for (kind, ids) in entries.iter().flat_map(|entry| &entry.changes).filter_map(referred) {
        wanted.entry(kind).or_default().extend(ids.into_iter().flatten());
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let ids = |kind: &str| wanted.get(kind).cloned().unwrap_or_default();
    let rows = sqlx::query!(
        r#"select 'person' as "kind!", id as "id!", name as "name!" from person where id = any ($1)
           union all select 'user', u.id, p.name from user_account u join person p on p.id = u.person_id where u.id = any ($2)
           union all select 'provider', id, name from provider where id = any ($3)
           union all select 'tier', id, name from tier where id = any ($4)
           union all select 'project', id, name from project where id = any ($5)
           union all select 'environment', id, name from environment where id = any ($6)"#,
        &ids("person"),
        &ids("user"),
        &ids("provider"),
        &ids("tier"),
        &ids("project"),
        &ids("environment"),
    )
    .fetch_all(read.connection())
    .await?;
    let names: HashMap<(String, i64), String> = rows.into_iter().map(|row| ((row.kind, row.id), row.name)).collect();
    for change in entries.iter_mut().flat_map(|entry| &mut entry.changes) {
        let Some((kind, [before, after])) = referred(change) else { continue };
        let name = |id: Option<i64>| names.get(&(kind.to_owned(), id?)).cloned();
        (change.before_name, change.after_name) = (name(before), name(after));
    }
    Ok(())
}
