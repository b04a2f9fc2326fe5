//! A list's columns, declared once. CSV, plain CSV, XLSX and JSON are generic; the page has its own template over the
//! same rows.
//!
//! A noun declares a `static` [`Table`] beside its row type. A front picks a [`Format`] and hands over the rows as they
//! come from the database; [`Table::stream`] gives the bytes of the file in chunks of about 64 KiB, so memory stays flat
//! whatever the number of rows. A row stream that breaks breaks the file too: it never ends as if it were complete. Lists of
//! millions of rows come by `copy … to stdout` as [`CopyRows`], which costs a fraction of typed rows.
//!
//! What each format promises:
//!
//! | | `csv`: for people with Excel | `csv-plain`: for programs | `xlsx`: for people | `json`: for programs |
//! |---|---|---|---|---|
//! | heading | in the reader's language | [`Column::name`], never translated | in the reader's language | [`Column::name`] |
//! | bytes | UTF-8 with byte order mark, CRLF | UTF-8, LF (as `psql \copy` writes it) | one sheet, header frozen | one array, an object a row |
//! | text | formula guard, digits kept whole (below) | untouched | untouched, always a text cell | string |
//! | exact number | plain digits | plain digits | a number up to 15 digits, else text | string, so that no reader rounds it |
//! | whole number | plain digits | plain digits | a number up to 15 digits, else text | number |
//! | date | `2026-03-18` | `2026-03-18` | a date | `"2026-03-18"` |
//! | instant | `2026-03-18T09:00:00+08:00` | the same, with microseconds where there are any | a date and time, its offset shown | as csv-plain |
//! | yes or no | words | `true`, `false` | words | `true`, `false` |
//! | word of a fixed set | in the reader's language | its code | in the reader's language | its code |
//! | nothing | empty | empty | no cell | `null` |
//!
//! **Formula guard** (`csv` only). A *text* cell that a spreadsheet could run gets a leading apostrophe: its first visible
//! character is `=`, `+`, `-`, `@` or one of their full-width forms, or a control character (tab, CR, LF, NUL) comes before
//! the first visible one; spaces, no-break spaces and invisible characters are looked through. Number cells are never
//! touched: `-70.00` stays a number. Line breaks and commas inside a cell are quoted, so they cannot open a new cell.
//!
//! **Digits kept whole** (`csv` only). A *text* cell that Excel would read as a number or a date and show otherwise
//! (leading zeros, more than 11 digits, `1.10`, `2026-03`, `12E45`) gets one **tab at its end**: Excel then keeps it as
//! text and shows every character. Payment bills in China are written the same way. The other ways are worse: `="00123"` is
//! a formula, an apostrophe is shown. Readers that trim get the value back; [`unguarded`] undoes both.

mod copy;
mod file_name;
mod stream;
mod text_file;
mod words;
mod workbook;

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;

use crate::dates::Zone;
use crate::error::Result;
use crate::locale::{Locale, Message};

pub use copy::{CopyRow, CopyRows};
pub use file_name::content_disposition;
pub use stream::begin;
pub use text_file::unguarded;

use text_file::TextFile;
use workbook::Book;

/// The kind of file that a list is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// For people with Excel: byte order mark, CRLF, headings in their language, formula guard.
    Csv,
    /// For programs: no mark, LF, English names, every byte of the text.
    CsvPlain,
    /// For people: one sheet with typed cells.
    Xlsx,
    /// For programs: an array of objects.
    Json,
}

impl Format {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Self; 4] = [Self::Csv, Self::CsvPlain, Self::Xlsx, Self::Json];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::CsvPlain => "csv-plain",
            Self::Xlsx => "xlsx",
            Self::Json => "json",
        }
    }

    /// The end of the file's name, without the dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Csv | Self::CsvPlain => "csv",
            Self::Xlsx => "xlsx",
            Self::Json => "json",
        }
    }

    /// The value of the `Content-Type` header.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Csv | Self::CsvPlain => "text/csv; charset=utf-8",
            Self::Xlsx => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            Self::Json => "application/json",
        }
    }

    /// Whether the file speaks the reader's language (`csv`, `xlsx`) or the program's names.
    pub const fn is_for_people(self) -> bool {
        matches!(self, Self::Csv | Self::Xlsx)
    }
}

impl FromStr for Format {
    type Err = Message;

    fn from_str(name: &str) -> Result<Self, Message> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| Message::new("table-format-unknown").with("value", name))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The value of one column in one row. Most values of a row turn into one with `.into()`; `None` is [`Cell::Empty`].
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Nothing is known; not the same as an empty text where the format can tell them apart.
    Empty,
    /// Words that a person or another system wrote.
    Text(Cow<'a, str>),
    /// An exact decimal as plain digits (`-70.00`), for example `numeric::text`. Anything else in here is treated as text.
    Number(Cow<'a, str>),
    /// An exact decimal.
    Decimal(Decimal),
    /// A whole number.
    Integer(i64),
    /// A calendar day.
    Date(NaiveDate),
    /// A moment; written in the zone of the file.
    Instant(DateTime<Utc>),
    /// Yes or no.
    Flag(bool),
    /// A word of a fixed set, or a sentence of ours: programs read the code, people read the words.
    Word {
        /// What the database and the import files call it.
        code: Cow<'a, str>,
        /// What people call it.
        words: Message,
    },
}

impl<'a> Cell<'a> {
    /// A word of a fixed set: its code and the key of its words.
    pub fn word(code: impl Into<Cow<'a, str>>, key: &'static str) -> Self {
        Self::Word { code: code.into(), words: Message::new(key) }
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl<'a> From<&'a String> for Cell<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<Decimal> for Cell<'_> {
    fn from(number: Decimal) -> Self {
        Self::Decimal(number)
    }
}

impl From<&BigDecimal> for Cell<'_> {
    fn from(number: &BigDecimal) -> Self {
        Self::Number(Cow::Owned(number.to_plain_string()))
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<i32> for Cell<'_> {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<i16> for Cell<'_> {
    fn from(number: i16) -> Self {
        Self::Integer(number.into())
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<NaiveDate> for Cell<'_> {
    fn from(day: NaiveDate) -> Self {
        Self::Date(day)
    }
}

impl From<DateTime<Utc>> for Cell<'_> {
    fn from(at: DateTime<Utc>) -> Self {
        Self::Instant(at)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// One column of a list.
pub struct Column<Row> {
    /// English, `snake_case`. Programs rely on it: a change here is a change of the contract, and a test pins it.
    pub name: &'static str,
    /// The key of its heading in `locales/`.
    pub heading: &'static str,
    /// The value in a row.
    pub cell: fn(&Row) -> Cell<'_>,
}

impl<Row> Column<Row> {
    /// A column by its name, the key of its heading and the value in a row.
    pub const fn new(name: &'static str, heading: &'static str, cell: fn(&Row) -> Cell<'_>) -> Self {
        Self { name, heading, cell }
    }
}

/// A list that can leave as a file.
pub struct Table<Row: 'static> {
    /// English, as in `rentroll export NAME`; also the file's name in the formats for programs.
    pub name: &'static str,
    /// The key of the list's name for people: the sheet and the file are called so.
    pub title: &'static str,
    /// The columns in the order of the file.
    pub columns: &'static [Column<Row>],
}

impl<Row> Table<Row> {
    /// The names of the columns in the order of the file, for the test that pins them.
    pub fn names(&self) -> Vec<&'static str> {
        self.columns.iter().map(|column| column.name).collect()
    }

    /// What a downloaded file is called: `环境-2026-03-18.xlsx` for people, `environments-2026-03-18.json` for programs.
    pub fn file_name(&self, format: Format, locale: Locale, on: NaiveDate) -> String {
        let list = if format.is_for_people() { locale.text(self.title) } else { self.name.to_owned() };
        format!("{list}-{on}.{}", format.extension())
    }

    /// Starts a file: what precedes the rows (mark, headings) is appended to `out`. Most callers want [`Table::stream`].
    pub fn writer(&'static self, format: Format, locale: Locale, zone: Zone, out: &mut Vec<u8>) -> Result<Writer<Row>> {
        let body = if format == Format::Xlsx {
            let headings = self.columns.iter().map(|column| locale.text(column.heading));
            Body::Book(Box::new(Book::new(locale, zone.0, &locale.text(self.title), headings)?))
        } else {
            Body::Text(TextFile::new(format, locale, zone.0, self, out))
        };
        Ok(Writer { table: self, body })
    }
}

/// Turns rows into the bytes of a file, as they come.
pub struct Writer<Row: 'static> {
    table: &'static Table<Row>,
    body: Body,
}

enum Body {
    Text(TextFile),
    Book(Box<Book>),
}

impl<Row> Writer<Row> {
    /// Writes a row. CSV and JSON append it to `out`; a workbook keeps it in a temporary file until [`Writer::finish`].
    ///
    /// # Errors
    /// Only a workbook can fail: more rows or a longer text than Excel has room for ([`crate::error::Error::Invalid`] at `format`), or
    /// the temporary folder (`TMPDIR`) is full.
    pub fn push(&mut self, row: &Row, out: &mut Vec<u8>) -> Result<()> {
        match &mut self.body {
            Body::Text(file) => {
                file.row(self.table, row, out);
                Ok(())
            }
            Body::Book(book) => book.row(self.table.columns, row),
        }
    }

    /// Ends the file: what follows the rows goes to `out`, a workbook as a whole. Blocks while it compresses a workbook.
    pub fn finish(self, out: impl Write + Send) -> Result<()> {
        match self.body {
            Body::Text(file) => file.finish(out),
            Body::Book(book) => book.save(out),
        }
    }

    /// Whether the bytes only come at [`Writer::finish`].
    fn is_workbook(&self) -> bool {
        matches!(self.body, Body::Book(_))
    }
}

#[cfg(test)]
impl<Row> Table<Row> {
    /// For the test beside a noun's table: names are unique and `snake_case`, title and headings exist in both languages.
    pub(crate) fn assert_is_sound(&self) {
        let mut seen = std::collections::HashSet::new();
        for column in self.columns {
            let is_snake_case = column.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
            assert!(is_snake_case, "{}: the column name {:?} is not snake_case", self.name, column.name);
            assert!(seen.insert(column.name), "{}: two columns are called {:?}", self.name, column.name);
        }
        for locale in Locale::ALL {
            for key in self.columns.iter().map(|column| column.heading).chain([self.title]) {
                assert_ne!(locale.text(key), key, "{}: {locale} has no words for this key", self.name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
