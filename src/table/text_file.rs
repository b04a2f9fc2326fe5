//! CSV for people, CSV for programs, and JSON: rows appended to a buffer, no allocation per cell.
//!
//! The quoting is the `csv` crate's, byte for byte (a property test compares them); its writer would want to own the
//! buffer, and to be told each cell as a finished slice.

use std::io::Write;

use chrono::{DateTime, Datelike, FixedOffset, NaiveDate, NaiveDateTime, Offset, TimeZone, Timelike, Utc};
use chrono_tz::Tz;

use super::words::Words;
use super::{Cell, Format, Table};
use crate::error::Result;
use crate::locale::Locale;

/// Excel shows a number of more digits than this in the scientific form.
const DIGITS_SHOWN: usize = 11;
/// Writing to a `Vec` only fails where memory ends, and that aborts.
const IN_MEMORY: &str = "writing to memory does not fail";

/// A file of text in the making.
pub(super) struct TextFile {
    kind: Kind,
    zone: Tz,
    rows: u64,
}

enum Kind {
    Csv(Words),
    CsvPlain,
    /// What precedes each value: `{"id":`, `,"name":`, …
    Json(Vec<String>),
}

impl TextFile {
    /// Appends what precedes the rows.
    pub(super) fn new<Row>(format: Format, locale: Locale, zone: Tz, table: &Table<Row>, out: &mut Vec<u8>) -> Self {
        let kind = match format {
            Format::Csv | Format::Xlsx => {
                out.extend_from_slice("\u{feff}".as_bytes());
                record(out, b"\r\n", table.columns, |out, column| text_for_people(out, &locale.text(column.heading)));
                Kind::Csv(Words::new(locale))
            }
            Format::CsvPlain => {
                record(out, b"\n", table.columns, |out, column| field(out, column.name));
                Kind::CsvPlain
            }
            Format::Json => {
                out.push(b'[');
                let opening = |(i, name): (usize, &str)| format!("{}\"{name}\":", if i == 0 { '{' } else { ',' });
                Kind::Json(table.columns.iter().map(|column| column.name).enumerate().map(opening).collect())
            }
        };
        Self { kind, zone, rows: 0 }
    }

    /// Appends a row.
    pub(super) fn row<Row>(&mut self, table: &Table<Row>, row: &Row, out: &mut Vec<u8>) {
        let zone = self.zone;
        match &mut self.kind {
            Kind::Csv(words) => record(out, b"\r\n", table.columns, |out, column| {
                cell_for_people(out, (column.cell)(row), zone, words);
            }),
            Kind::CsvPlain => record(out, b"\n", table.columns, |out, column| {
                cell_for_programs(out, (column.cell)(row), zone);
            }),
            Kind::Json(openings) => {
                out.extend_from_slice(if self.rows == 0 { b"\n" } else { b",\n" });
                for (column, opening) in table.columns.iter().zip(openings) {
                    out.extend_from_slice(opening.as_bytes());
                    json_value(out, (column.cell)(row), zone);
                }
                out.push(b'}');
            }
        }
        self.rows += 1;
    }

    /// Writes what follows the rows.
    pub(super) fn finish(self, mut out: impl Write) -> Result<()> {
        if let Kind::Json(_) = self.kind {
            let end: &[u8] = if self.rows == 0 { b"]\n" } else { b"\n]\n" };
            out.write_all(end).map_err(anyhow::Error::from)?;
        }
        Ok(())
    }
}

/// One line of CSV: `write` appends the field of each column.
fn record<C>(out: &mut Vec<u8>, end: &[u8], columns: &[C], mut write: impl FnMut(&mut Vec<u8>, &C)) {
    let start = out.len();
    for (i, column) in columns.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, column);
    }
    if out.len() == start {
        // A list of one column: an empty line would be no row at all.
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(end);
}

fn cell_for_people(out: &mut Vec<u8>, cell: Cell<'_>, zone: Tz, words: &mut Words) {
    match cell {
        Cell::Empty => {}
        Cell::Number(digits) if is_plain_number(&digits) => out.extend_from_slice(digits.as_bytes()),
        Cell::Text(text) | Cell::Number(text) => text_for_people(out, &text),
        Cell::Decimal(number) => write!(out, "{number}").expect(IN_MEMORY),
        Cell::Integer(number) => write!(out, "{number}").expect(IN_MEMORY),
        Cell::Date(day) => date(out, day),
        Cell::Instant(at) => instant(out, at, zone, false),
        Cell::Flag(flag) => text_for_people(out, words.flag(flag)),
        Cell::Word { words: message, .. } => text_for_people(out, &words.say(&message)),
    }
}

fn cell_for_programs(out: &mut Vec<u8>, cell: Cell<'_>, zone: Tz) {
    match cell {
        Cell::Empty => {}
        Cell::Text(text) | Cell::Number(text) | Cell::Word { code: text, .. } => field(out, &text),
        Cell::Decimal(number) => write!(out, "{number}").expect(IN_MEMORY),
        Cell::Integer(number) => write!(out, "{number}").expect(IN_MEMORY),
        Cell::Date(day) => date(out, day),
        Cell::Instant(at) => instant(out, at, zone, true),
        Cell::Flag(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
    }
}

fn json_value(out: &mut Vec<u8>, cell: Cell<'_>, zone: Tz) {
    match cell {
        Cell::Empty => out.extend_from_slice(b"null"),
        Cell::Text(text) | Cell::Number(text) | Cell::Word { code: text, .. } => {
            serde_json::to_writer(out, &*text).expect(IN_MEMORY);
        }
        Cell::Decimal(number) => write!(out, "\"{number}\"").expect(IN_MEMORY),
        Cell::Integer(number) => write!(out, "{number}").expect(IN_MEMORY),
        Cell::Date(day) => {
            out.push(b'"');
            date(out, day);
            out.push(b'"');
        }
        Cell::Instant(at) => {
            out.push(b'"');
            instant(out, at, zone, true);
            out.push(b'"');
        }
        Cell::Flag(flag) => out.extend_from_slice(if flag { b"true" } else { b"false" }),
    }
}

// ---- text -----------------------------------------------------------------------------------------------------------

/// A text in CSV as it is, quoted where it must be.
fn field(out: &mut Vec<u8>, text: &str) {
    if needs_quotes(text) {
        quoted(out, "", text, "");
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// A text in CSV that a spreadsheet shows and does not run; the module `table` says how.
fn text_for_people(out: &mut Vec<u8>, text: &str) {
    let apostrophe = if could_run(text) { "'" } else { "" };
    let tab = if apostrophe.is_empty() && would_be_reshaped(text) { "\t" } else { "" };
    if needs_quotes(text) {
        quoted(out, apostrophe, text, tab);
    } else {
        out.extend_from_slice(apostrophe.as_bytes());
        out.extend_from_slice(text.as_bytes());
        out.extend_from_slice(tab.as_bytes());
    }
}

fn needs_quotes(text: &str) -> bool {
    text.bytes().any(|b| matches!(b, b'"' | b',' | b'\n' | b'\r'))
}

fn quoted(out: &mut Vec<u8>, before: &str, text: &str, after: &str) {
    out.push(b'"');
    out.extend_from_slice(before.as_bytes());
    for (i, part) in text.split('"').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(after.as_bytes());
    out.push(b'"');
}

/// Whether a spreadsheet could take the text for a formula: see the module `table`.
fn could_run(text: &str) -> bool {
    for c in text.chars() {
        match c {
            '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠' => return true,
            _ if c.is_control() => return true,
            _ if c.is_whitespace() || is_invisible(c) => {}
            _ => return false,
        }
    }
    false
}

/// Soft hyphen, zero-width characters, direction marks, byte order mark.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether Excel would read the text as a number or a date and then show something else.
fn would_be_reshaped(text: &str) -> bool {
    let visible = text.trim_start_matches(' ');
    if !visible.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '(')) {
        return false;
    }
    let looks_numeric = text.bytes().all(|b| {
        b.is_ascii_digit()
            || matches!(b, b' ' | b'.' | b',' | b':' | b'/' | b'-' | b'+' | b'%' | b'(' | b')' | b'e' | b'E')
    });
    looks_numeric && text.bytes().any(|b| b.is_ascii_digit()) && !is_shown_as_it_is(text)
}

/// A whole number short enough for Excel, without leading zeros.
fn is_shown_as_it_is(text: &str) -> bool {
    text.len() <= DIGITS_SHOWN && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
}

/// The text of a cell of our own `csv`, read back: without the apostrophe of the guard and without the tab that keeps
/// digits whole. Any other text comes back as it is.
pub fn unguarded(cell: &str) -> &str {
    if let Some(text) = cell.strip_prefix('\'')
        && could_run(text)
    {
        return text;
    }
    match cell.strip_suffix('\t') {
        Some(text) if would_be_reshaped(text) => text,
        _ => cell,
    }
}

// ---- numbers and time -----------------------------------------------------------------------------------------------

/// `12`, `-70.00`: what may stand in a file for people without a guard.
pub(super) fn is_plain_number(digits: &str) -> bool {
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    all_digits(whole) && all_digits(fraction)
}

fn date(out: &mut Vec<u8>, day: NaiveDate) {
    match u32::try_from(day.year()) {
        Ok(year @ 0..=9999) => {
            two_digits(out, year / 100);
            two_digits(out, year % 100);
            out.push(b'-');
            two_digits(out, day.month());
            out.push(b'-');
            two_digits(out, day.day());
        }
        _ => write!(out, "{day}").expect(IN_MEMORY),
    }
}

fn instant(out: &mut Vec<u8>, at: DateTime<Utc>, zone: Tz, with_fraction: bool) {
    let (local, offset) = in_zone(at, zone);
    date(out, local.date());
    for (separator, part) in [(b'T', local.hour()), (b':', local.minute()), (b':', local.second())] {
        out.push(separator);
        two_digits(out, part);
    }
    let micros = local.nanosecond() % 1_000_000_000 / 1000;
    if with_fraction && micros != 0 {
        out.push(b'.');
        two_digits(out, micros / 10_000);
        two_digits(out, micros / 100 % 100);
        two_digits(out, micros % 100);
    }
    let minutes = offset.local_minus_utc() / 60;
    out.push(if minutes < 0 { b'-' } else { b'+' });
    two_digits(out, minutes.unsigned_abs() / 60);
    out.push(b':');
    two_digits(out, minutes.unsigned_abs() % 60);
}

/// The local time and its offset; UTC where the offset is not in whole minutes (before time zones) or the calendar ends.
pub(super) fn in_zone(at: DateTime<Utc>, zone: Tz) -> (NaiveDateTime, FixedOffset) {
    let utc = at.naive_utc();
    let offset = zone.offset_from_utc_datetime(&utc).fix();
    match utc.checked_add_offset(offset) {
        Some(local) if offset.local_minus_utc() % 60 == 0 => (local, offset),
        _ => (utc, Utc.fix()),
    }
}

/// `number` is below 100.
fn two_digits(out: &mut Vec<u8>, number: u32) {
    const PAIRS: &[u8; 200] = b"00010203040506070809101112131415161718192021222324\
        25262728293031323334353637383940414243444546474849\
        50515253545556575859606162636465666768697071727374\
        75767778798081828384858687888990919293949596979899";
    let at = number as usize * 2;
    out.extend_from_slice(&PAIRS[at..at + 2]);
}
