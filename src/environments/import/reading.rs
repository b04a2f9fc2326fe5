//! What a person says of a file besides its bytes, where it cannot be known or was found wrongly.

use std::collections::BTreeMap;

use super::cells::NumberFormat;
use super::columns::Column;
use crate::encoding::Encoding;
use crate::error::FieldErrors;
use crate::limits;
use crate::locale::Message;
use crate::text::excerpt;

/// How a file is to be read. Nothing said: as it is found, and what can be read in two ways is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// The encoding; else the one that is found.
    pub encoding: Option<Encoding>,
    /// How its numbers are written.
    pub numbers: Option<NumberFormat>,
    /// By the place of a column, from 1: which one it is, or nothing where it is left out.
    pub columns: BTreeMap<usize, Option<Column>>,
}

/// What a form says of a column that is left out.
pub const LEFT_OUT: &str = "left_out";

impl Reading {
    /// Reads it from the fields of a form: `encoding`, `numbers`, and `column-3` for the third column.
    ///
    /// # Errors
    /// A word that none of them can be.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let mut reading = Self::default();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        reading.encoding = filled("encoding").and_then(|word| errors.take("encoding", word.parse()));
        reading.numbers = filled("numbers").and_then(|word| errors.take("numbers", word.parse()));
        for at in 1..=limits::IMPORT_COLUMNS {
            let field = field(at);
            let Some(word) = filled(&field) else { continue };
            match (word, Column::find(word)) {
                (LEFT_OUT, _) => _ = reading.columns.insert(at, None),
                (_, Some(column)) => _ = reading.columns.insert(at, Some(column)),
                (_, None) => errors.add(field, Message::new("import-heading-unknown").with("heading", excerpt(word))),
            }
        }
        if errors.is_empty() { Ok(reading) } else { Err(errors) }
    }

    /// The same as fields of a form.
    pub fn fields(&self) -> Vec<(String, String)> {
        let encoding = self.encoding.map(|it| ("encoding".to_owned(), it.to_string()));
        let numbers = self.numbers.map(|it| ("numbers".to_owned(), it.to_string()));
        let column =
            |(at, column): (&usize, &Option<Column>)| (field(*at), column.map_or(LEFT_OUT, Column::name).to_owned());
        encoding.into_iter().chain(numbers).chain(self.columns.iter().map(column)).collect()
    }
}

/// The field of a form that says which column stands at a place.
pub fn field(at: usize) -> String {
    format!("column-{at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_comes_back_from_its_fields() {
        let reading = Reading {
            encoding: Some(Encoding::Gb18030),
            numbers: Some(NumberFormat::Comma),
            columns: [(3, Some(Column::Price)), (7, None)].into(),
        };
        let fields: BTreeMap<String, String> = reading.fields().into_iter().collect();
        let text = |name: &str| fields.get(name).map_or("", String::as_str);
        assert_eq!(Reading::parse(&text).unwrap(), reading);
        assert_eq!(Reading::parse(&|_| "").unwrap(), Reading::default());
        let errors = Reading::parse(&|name| if name == "column-2" { "colour" } else { "" }).unwrap_err();
        assert_eq!((errors.0.len(), &*errors.0[0].field), (1, "column-2"));
        assert_eq!(Reading::parse(&|name| if name == "encoding" { "ebcdic" } else { "" }).unwrap_err().0.len(), 1);
    }
}
