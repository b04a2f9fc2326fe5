//! What is wrong with one cell of an imported file: row, column, value, message. Every import lists them the same way.

use std::borrow::Cow;

use serde::Serialize;

use crate::limits;
use crate::locale::{Locale, Message};
use crate::text::excerpt;

/// One cell that cannot be taken.
///
/// Rows count as a person counts: the header is row 1. A row is a record of the file, so a line break inside quotation
/// marks does not count, nor does an empty line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// The row; 0 for the file as a whole.
    pub row: u64,
    /// The column as the file's format calls it; empty for the whole row.
    pub column: Cow<'static, str>,
    /// What stands there, shortened.
    pub value: String,
    /// What was expected.
    pub message: Message,
}

impl RowError {
    /// An error of a cell.
    pub fn new(row: u64, column: impl Into<Cow<'static, str>>, value: &str, message: Message) -> Self {
        Self { row, column: column.into(), value: excerpt(value), message }
    }

    /// An error of the whole file.
    pub fn of_file(message: Message) -> Self {
        Self { row: 0, column: "".into(), value: String::new(), message }
    }

    /// In a language, as the contract's `errors` have it.
    pub fn said(&self, locale: Locale) -> Said {
        Said {
            row: self.row,
            column: self.column.clone().into_owned(),
            value: self.value.clone(),
            message: locale.say(&self.message),
        }
    }
}

/// A [`RowError`] in one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The row; 0 for the file as a whole.
    pub row: u64,
    /// The column; empty for the whole row.
    pub column: String,
    /// What stands there, shortened.
    pub value: String,
    /// What was expected.
    pub message: String,
}

/// All that is wrong with a file: the count of rows is complete, the list is not longer than a person reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowErrors {
    /// The first errors, at most `limits::IMPORT_ERRORS`.
    pub listed: Vec<RowError>,
    /// Rows with at least one error.
    pub rows: u64,
}

impl RowErrors {
    /// Adds the errors of one row.
    pub fn add(&mut self, errors: Vec<RowError>) {
        self.rows += u64::from(!errors.is_empty());
        let room = limits::IMPORT_ERRORS.saturating_sub(self.listed.len());
        self.listed.extend(errors.into_iter().take(room));
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// In a language, as the contract's `errors` have it.
    pub fn said(&self, locale: Locale) -> Vec<Said> {
        self.listed.iter().map(|error| error.said(locale)).collect()
    }
}

impl From<RowError> for RowErrors {
    fn from(error: RowError) -> Self {
        Self::from(vec![error])
    }
}

impl From<Vec<RowError>> for RowErrors {
    fn from(errors: Vec<RowError>) -> Self {
        let mut all = Self::default();
        all.add(errors);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_ends_but_the_count_goes_on() {
        let mut errors = RowErrors::default();
        for row in 0..1_000 {
            let bad = || RowError::new(row, "ListCost", "x", Message::new("error-decimal").with("value", "x"));
            errors.add(vec![bad(), bad()]);
            errors.add(Vec::new());
        }
        assert_eq!((errors.rows, errors.listed.len()), (1_000, limits::IMPORT_ERRORS));
    }
}
