//! Rows as `copy (select …) to stdout` sends them: the fast way out of the database for long lists.
//!
//! A typed row costs an allocation per text and a decoding per value, and a list only prints them again. Here a whole
//! keyset chunk of PostgreSQL's text format lies in one buffer, and cells borrow from it.
//!
//! The columns of the select are addressed by number. Dates and instants want `DateStyle` ISO, which is the default.

use std::pin::pin;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use bytes::Bytes;
use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};
use futures_util::{Stream, TryStreamExt as _};

use super::Cell;
use crate::error::Result;

/// The length of a field that is null.
const NULL: u32 = u32::MAX;

/// One keyset chunk of rows.
pub struct CopyRows {
    chunk: Arc<Chunk>,
    next: usize,
}

/// One row of a chunk; the chunk stays in memory as long as a row of it does.
pub struct CopyRow {
    chunk: Arc<Chunk>,
    row: usize,
}

struct Chunk {
    /// The unescaped fields, one after the other.
    text: String,
    /// Where each field starts and how long it is.
    fields: Vec<(u32, u32)>,
    columns: usize,
}

impl CopyRows {
    /// Reads the answer to one `copy … to stdout` of so many columns **to its end**, so that the connection can be used
    /// again whatever becomes of the file. Memory holds the chunk: some thousand rows.
    ///
    /// # Errors
    /// The database's own, and [`crate::error::Error::Internal`] where the rows do not have that many columns.
    pub async fn read(answer: impl Stream<Item = Result<Bytes, sqlx::Error>>, columns: usize) -> Result<Self> {
        let mut answer = pin!(answer);
        let mut raw = Vec::new();
        while let Some(bytes) = answer.try_next().await? {
            raw.extend_from_slice(&bytes);
        }
        Ok(Self { chunk: Arc::new(Chunk::decode(raw, columns)?), next: 0 })
    }

    /// How many rows are left in the chunk.
    pub fn len(&self) -> usize {
        self.chunk.rows() - self.next
    }

    /// Whether no row is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last row, for the key where the next chunk starts.
    pub fn last_row(&self) -> Option<CopyRow> {
        let row = self.chunk.rows().checked_sub(1)?;
        Some(CopyRow { chunk: Arc::clone(&self.chunk), row })
    }
}

impl Iterator for CopyRows {
    type Item = CopyRow;

    fn next(&mut self) -> Option<CopyRow> {
        let row = self.next;
        if row >= self.chunk.rows() {
            return None;
        }
        self.next += 1;
        Some(CopyRow { chunk: Arc::clone(&self.chunk), row })
    }
}

impl CopyRow {
    /// The text of a column; `None` for null and for a column that the row does not have.
    pub fn field(&self, column: usize) -> Option<&str> {
        let Chunk { text, fields, columns } = &*self.chunk;
        if column >= *columns {
            return None;
        }
        let (start, length) = fields[self.row * columns + column];
        if length == NULL {
            return None;
        }
        let start = start as usize;
        text.get(start..start + length as usize)
    }

    /// A column of words.
    pub fn text(&self, column: usize) -> Cell<'_> {
        self.field(column).into()
    }

    /// A `numeric` column, digit by digit as the database has it.
    pub fn number(&self, column: usize) -> Cell<'_> {
        self.field(column).map_or(Cell::Empty, |digits| Cell::Number(digits.into()))
    }

    /// A column of whole numbers.
    pub fn integer(&self, column: usize) -> Cell<'_> {
        self.parsed(column, |text| text.parse().ok().map(Cell::Integer))
    }

    /// A `date` column.
    pub fn date(&self, column: usize) -> Cell<'_> {
        self.parsed(column, |text| date(text).map(Cell::Date))
    }

    /// A `timestamptz` column.
    pub fn instant(&self, column: usize) -> Cell<'_> {
        self.parsed(column, |text| instant(text).map(Cell::Instant))
    }

    /// A `boolean` column.
    pub fn flag(&self, column: usize) -> Cell<'_> {
        self.parsed(column, |text| match text {
            "t" => Some(Cell::Flag(true)),
            "f" => Some(Cell::Flag(false)),
            _ => None,
        })
    }

    /// What cannot be read as its kind (`infinity`) is shown as it is rather than lost.
    fn parsed<'a>(&'a self, column: usize, parse: impl FnOnce(&'a str) -> Option<Cell<'a>>) -> Cell<'a> {
        self.field(column).map_or(Cell::Empty, |text| parse(text).unwrap_or_else(|| text.into()))
    }
}

impl Chunk {
    fn rows(&self) -> usize {
        self.fields.len() / self.columns
    }

    /// Takes the escapes and separators out of the text format, in place.
    fn decode(mut raw: Vec<u8>, columns: usize) -> anyhow::Result<Self> {
        if columns == 0 || u32::try_from(raw.len()).is_err() {
            bail!("a chunk of {columns} columns and {} bytes cannot be read", raw.len());
        }
        let mut fields = Vec::new();
        let (mut read, mut write, mut start, mut is_null) = (0, 0, 0, false);
        let mut in_row = 0;
        while read < raw.len() {
            let byte = raw[read];
            read += 1;
            match byte {
                b'\t' | b'\n' => {
                    fields.push((u32::try_from(start)?, if is_null { NULL } else { u32::try_from(write - start)? }));
                    (start, is_null) = (write, false);
                    in_row += 1;
                    if byte == b'\n' {
                        if in_row != columns {
                            bail!("a row of {in_row} columns where {columns} were expected");
                        }
                        in_row = 0;
                    }
                }
                b'\\' => {
                    let escaped = *raw.get(read).ok_or_else(|| anyhow!("the rows end inside a character"))?;
                    read += 1;
                    if escaped == b'N' {
                        is_null = true;
                    } else {
                        raw[write] = match escaped {
                            b'b' => 0x08,
                            b'f' => 0x0C,
                            b'n' => b'\n',
                            b'r' => b'\r',
                            b't' => b'\t',
                            b'v' => 0x0B,
                            other => other,
                        };
                        write += 1;
                    }
                }
                _ => {
                    raw[write] = byte;
                    write += 1;
                }
            }
        }
        if in_row != 0 || start != write {
            bail!("the rows end inside a row");
        }
        raw.truncate(write);
        Ok(Self { text: String::from_utf8(raw)?, fields, columns })
    }
}

/// `2026-03-18`.
fn date(text: &str) -> Option<NaiveDate> {
    let text = text.as_bytes();
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let year = number(&text[..4])?;
    NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, number(&text[5..7])?, number(&text[8..])?)
}

/// `2026-03-18 09:00:00.00025+08`, `…-02:30`.
fn instant(text: &str) -> Option<DateTime<Utc>> {
    let day = date(text.get(..10)?)?;
    let time = text.get(10..19)?.as_bytes();
    if (time[0], time[3], time[6]) != (b' ', b':', b':') {
        return None;
    }
    let (fraction, offset) = match text.get(19..)?.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(['+', '-'])?),
        None => ("", text.get(19..)?),
    };
    let micros = match fraction.len() {
        0 => 0,
        digits @ 1..=6 => number(fraction.as_bytes())? * 10_u32.pow(6 - u32::try_from(digits).ok()?),
        _ => return None,
    };
    let (hour, minute, second) = (number(&time[1..3])?, number(&time[4..6])?, number(&time[7..])?);
    let local = NaiveDateTime::new(day, chrono::NaiveTime::from_hms_micro_opt(hour, minute, second, micros)?);
    let ahead = match offset.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let mut seconds = 0;
    for (part, unit) in offset[1..].splitn(3, ':').zip([3600, 60, 1]) {
        seconds += i64::from(number(part.as_bytes())?) * unit;
    }
    local.checked_sub_signed(TimeDelta::seconds(ahead * seconds)).map(|utc| utc.and_utc())
}

/// A few digits, and nothing but digits.
fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use proptest::prelude::*;

    use super::*;

    /// What PostgreSQL writes for these fields (its manual, `COPY`, "Text Format").
    fn encoded(rows: &[Vec<Option<String>>]) -> Vec<u8> {
        let field = |field: &Option<String>| match field {
            None => "\\N".to_owned(),
            Some(text) => text
                .chars()
                .map(|c| match c {
                    '\\' => "\\\\".to_owned(),
                    '\u{8}' => "\\b".to_owned(),
                    '\u{c}' => "\\f".to_owned(),
                    '\n' => "\\n".to_owned(),
                    '\r' => "\\r".to_owned(),
                    '\t' => "\\t".to_owned(),
                    '\u{b}' => "\\v".to_owned(),
                    other => other.to_string(),
                })
                .collect(),
        };
        let line = |row: &Vec<Option<String>>| row.iter().map(field).collect::<Vec<_>>().join("\t") + "\n";
        rows.iter().map(line).collect::<String>().into_bytes()
    }

    async fn read(raw: Vec<u8>, columns: usize) -> Result<CopyRows> {
        // In pieces that end anywhere.
        let pieces: Vec<_> = raw.chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        CopyRows::read(stream::iter(pieces), columns).await
    }

    fn any_field() -> impl Strategy<Value = Option<String>> {
        let special = prop::sample::select("\\N\t\n\r\u{8}\u{b}\u{c}.训".chars().collect::<Vec<_>>());
        prop::option::of(prop::collection::vec(prop_oneof![special, any::<char>()], 0..8).prop_map(String::from_iter))
    }

    proptest! {
        #[test]
        fn any_fields_come_back(rows in prop::collection::vec(prop::collection::vec(any_field(), 3), 0..6)) {
            let back = futures_util::FutureExt::now_or_never(read(encoded(&rows), 3)).unwrap().unwrap();
            prop_assert_eq!(back.len(), rows.len());
            let fields = |row: CopyRow| (0..3).map(|column| row.field(column).map(str::to_owned)).collect::<Vec<_>>();
            prop_assert_eq!(back.last_row().map(fields), rows.last().cloned());
            prop_assert_eq!(back.map(fields).collect::<Vec<_>>(), rows);
        }
    }

    #[tokio::test]
    async fn each_kind_of_column_becomes_its_kind_of_cell() {
        let raw = "7\t-70.00\t2026-03-18\t2026-03-18 09:00:00.00025+08\tt\t训练\t\\N\n\
                   8\tNaN\tinfinity\t1890-01-01 08:05:43+08:05:43\tf\t\t2026-03-17 21:00:00-02:30\n";
        let mut rows = read(raw.as_bytes().to_vec(), 7).await.unwrap();
        let at = |text: &str| Cell::Instant(text.parse().unwrap());
        let row = rows.next().unwrap();
        assert_eq!(row.integer(0), Cell::Integer(7));
        assert_eq!(row.number(1), Cell::Number("-70.00".into()));
        assert_eq!(row.date(2), Cell::Date(NaiveDate::from_ymd_opt(2026, 3, 18).unwrap()));
        assert_eq!(row.instant(3), at("2026-03-18T01:00:00.00025Z"));
        assert_eq!(row.flag(4), Cell::Flag(true));
        assert_eq!(row.text(5), Cell::Text("训练".into()));
        assert_eq!(row.instant(6), Cell::Empty);
        assert_eq!(row.text(7), Cell::Empty, "there is no such column");
        let row = rows.next().unwrap();
        assert_eq!(row.date(2), Cell::Text("infinity".into()), "shown, not lost");
        assert_eq!(row.instant(3), at("1890-01-01T00:00:00Z"));
        assert_eq!(row.text(5), Cell::Text("".into()));
        assert_eq!(row.instant(6), at("2026-03-17T23:30:00Z"));
        assert!(rows.next().is_none());
    }

    #[tokio::test]
    async fn rows_that_are_not_whole_are_an_error() {
        for raw in ["1\t2", "1\n", "1\t2\t3\n", "1\t\\", "1\t2\n3"] {
            assert!(read(raw.as_bytes().to_vec(), 2).await.is_err(), "{raw:?}");
        }
        assert!(read(b"\xff\t1\n".to_vec(), 2).await.is_err(), "not UTF-8");
    }
}
