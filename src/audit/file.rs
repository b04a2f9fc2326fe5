//! The history as a file: **one row for each field that an entry changed**, as auditors filter by field. An entry with nothing
//! before it has a row for each field that was set, a reminder rows for whom and which dates; an act that is about no field
//! (an import, a sign-in) is one row with those columns empty.

use std::collections::VecDeque;

use futures_util::{Stream, stream};

use super::entry::{Entry, FieldChange};
use super::list::{EntryFilter, list};
use super::words;
use crate::error::Result;
use crate::table::{Cell, Column, Table};
use crate::tx::Read;

/// One row: an entry, and one of the fields that it changed.
pub struct Row {
    /// The entry.
    pub entry: std::sync::Arc<Entry>,
    /// The field, where there is one.
    pub change: Option<FieldChange>,
}

impl Row {
    /// The rows of an entry.
    pub fn of(entry: Entry) -> Vec<Self> {
        let entry = std::sync::Arc::new(entry);
        if entry.changes.is_empty() {
            return vec![Self { entry, change: None }];
        }
        let changes = entry.changes.clone();
        changes.into_iter().map(|change| Self { entry: entry.clone(), change: Some(change) }).collect()
    }
}

/// The list `audit`.
pub static TABLE: Table<Row> = Table {
    name: "audit",
    title: "nav-audit",
    columns: &[
        Column::new("id", "hist-col-id", |row| row.entry.id.0.into()),
        Column::new("at", "hist-col-at", |row| row.entry.at.into()),
        Column::new("as_of", "hist-col-as-of", |row| row.entry.as_of.into()),
        Column::new("actor", "hist-col-actor", |row| (&row.entry.actor_name).into()),
        Column::new("source", "hist-col-source", |row| Cell::Word {
            code: (&row.entry.source).into(),
            words: words::source_words(&row.entry.source),
        }),
        Column::new("project", "hist-col-project", |row| row.entry.project_name.as_ref().into()),
        Column::new("object_kind", "hist-col-kind", |row| {
            Cell::word(&row.entry.object_kind, words::noun_key(&row.entry.object_kind))
        }),
        Column::new("object_id", "hist-col-object-id", |row| row.entry.object_id.into()),
        Column::new("object", "hist-col-object", |row| (&row.entry.object_name).into()),
        Column::new("action", "hist-col-action", |row| Cell::Word {
            code: (&row.entry.action).into(),
            words: row.entry.message(),
        }),
        Column::new("field", "hist-col-field", |row| {
            row.change.as_ref().map_or(Cell::Empty, |change| Cell::Word {
                code: (&change.field).into(),
                words: words::field_words(&change.field),
            })
        }),
        Column::new("before", "hist-col-before", |row| {
            row.change.as_ref().map_or(Cell::Empty, |change| value(change, &change.before, change.was_words()))
        }),
        Column::new("after", "hist-col-after", |row| {
            row.change.as_ref().map_or(Cell::Empty, |change| value(change, &change.after, change.is_words()))
        }),
        Column::new("reason", "hist-col-reason", |row| row.entry.reason.as_ref().into()),
        Column::new("request_id", "hist-col-request", |row| row.entry.request_id.to_string().into()),
    ],
};

fn value<'a>(change: &FieldChange, code: &'a str, words: crate::locale::Message) -> Cell<'a> {
    match change.moment(code) {
        Some(at) => Cell::Instant(at),
        None if code.is_empty() => Cell::Empty,
        None => Cell::Word { code: code.into(), words },
    }
}

/// How many entries are read at once.
const CHUNK: i64 = 1000;

/// All rows that match, newest first, in batches; `before` is not asked.
pub fn batches(read: Read, filter: EntryFilter) -> impl Stream<Item = Result<VecDeque<Row>>> + Send {
    let start = Some((read, EntryFilter { before: None, ..filter }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, mut filter)) = state else { return Ok(None) };
        let entries = list(&mut read, &filter, CHUNK).await?;
        let Some(last) = entries.last() else { return Ok(None) };
        filter.before = Some(last.id.0);
        let more = entries.len() == usize::try_from(CHUNK).unwrap_or(usize::MAX);
        let rows = entries.into_iter().flat_map(Row::of).collect();
        Ok(Some((rows, more.then_some((read, filter)))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_rely_on_these_columns() {
        assert_eq!(
            TABLE.names(),
            [
                "id",
                "at",
                "as_of",
                "actor",
                "source",
                "project",
                "object_kind",
                "object_id",
                "object",
                "action",
                "field",
                "before",
                "after",
                "reason",
                "request_id"
            ]
        );
        TABLE.assert_is_sound();
    }
}
