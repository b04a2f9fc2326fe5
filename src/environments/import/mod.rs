//! The file that brings environments in: one row per **term**; rows that share project and name are one environment.
//!
//! [`read()`] turns bytes into rows and errors, and knows nothing of the ledger. [`run`] compares the rows with the ledger and, if
//! nothing at all is wrong, writes them: all or nothing. A term that the ledger has already is *known*; one that it has
//! otherwise is an error, never overwritten. The same file again adds nothing.

pub mod cells;
pub mod columns;
mod plan;
mod read;
mod reading;

use serde_json::{Value, json};

use crate::audit::{Change, Object};
use crate::environments::description::Missing;
use crate::error::Result;
use crate::limits;
use crate::locale::{Locale, Message};
use crate::tx::Tx;

pub use plan::State;
pub use read::{Line, Parsed, Question, read, read_as};
pub use reading::{LEFT_OUT, Reading};

/// Something that is wrong in a row of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// The row as a person counts: the headings are row 1.
    pub row: usize,
    /// The column's heading as the file writes it; empty for the whole row.
    pub column: String,
    /// The beginning of what stands there.
    pub value: String,
    /// What was expected.
    pub message: Message,
}

/// What an import did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Rows that are not blank, without the headings. The sum of the next three.
    pub rows_read: usize,
    /// Terms that the ledger does not have yet.
    pub rows_new: usize,
    /// Terms that the ledger has just so.
    pub rows_known: usize,
    /// Rows with something wrong. If there are any, nothing at all is written.
    pub rows_rejected: usize,
    /// What is wrong, by row.
    pub errors: Vec<RowError>,
    /// What is made with it: projects, providers, tiers, people.
    pub missing: Missing,
    /// Environments that are new.
    pub environments_new: usize,
    /// The good rows of the file with what becomes of each, in the order of the file.
    pub rows: Vec<(usize, State)>,
}

impl Summary {
    /// Whether nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.errors.is_empty()
    }

    /// The errors that are listed: the first 200; the counts are always complete.
    pub fn listed_errors(&self) -> &[RowError] {
        &self.errors[..self.errors.len().min(limits::IMPORT_ERRORS)]
    }

    /// As the contract's JSON, messages in this language.
    pub fn json(&self, locale: Locale) -> Value {
        let errors = self.listed_errors().iter().map(|error| {
            json!({
                "row": error.row, "column": error.column, "value": error.value, "message": locale.say(&error.message),
            })
        });
        json!({
            "rows_read": self.rows_read,
            "rows_new": self.rows_new,
            "rows_known": self.rows_known,
            "rows_rejected": self.rows_rejected,
            "errors": errors.collect::<Vec<_>>(),
        })
    }
}

/// Compares a file with the ledger and, unless this is a `dry_run` or something is wrong, writes what is new. The caller begins
/// the unit of work with [`crate::actor::Source::Import`], commits it where [`Summary::is_right`] holds and drops it otherwise:
/// a unit of work that met errors or is a dry run has changed nothing.
pub async fn run(tx: &mut Tx, parsed: &Parsed, dry_run: bool) -> Result<Summary> {
    if !dry_run {
        // Another file may bring the same: it is compared with the ledger that this one finds after it.
        tx.be_alone("environments from a file").await?;
    }
    let plan = plan::make(tx, parsed).await?;
    let summary = plan.summary(parsed);
    if dry_run || !summary.is_right() || summary.rows_new == 0 {
        tx.unchanged();
        return Ok(summary);
    }
    plan.write(tx).await?;
    let hash = hex::encode(parsed.sha256);
    let name = if parsed.file_name.is_empty() { hash.clone() } else { parsed.file_name.clone() };
    let change = Change {
        action: "environments.imported",
        object: Object { kind: "environment", id: None, name, project: None, shared: false },
        before: None,
        after: json!({
            "sha256": hash,
            "file_name": parsed.file_name,
            "rows_read": summary.rows_read,
            "rows_new": summary.rows_new,
            "rows_known": summary.rows_known,
            "environments_new": summary.environments_new,
        }),
    };
    tx.record_change(change).await?;
    Ok(summary)
}
