//! XLSX: one sheet, written row by row into a temporary file (`TMPDIR`), compressed at the end. Memory stays flat.

use std::io::Write;

use chrono::{Datelike as _, NaiveDate};
use chrono_tz::Tz;
use rust_xlsxwriter::{Format as Look, Workbook, Worksheet, XlsxError};

use super::text_file::{in_zone, is_plain_number};
use super::words::Words;
use super::{Cell, Column};
use crate::error::{Error, Result};
use crate::locale::{Locale, Message};

/// Excel's number of rows, the heading included.
const ROWS: u32 = 1_048_576;
/// Excel's length of a text, in UTF-16 units.
const TEXT_LENGTH: usize = 32_767;
/// Excel keeps this many digits of a number.
const DIGITS: usize = 15;
/// Excel's longest fraction in a number format.
const FRACTION_DIGITS: usize = 30;
/// Excel's length of a sheet's name.
const NAME_LENGTH: usize = 31;
/// A column is as wide as its widest value among so many first rows, up to a limit.
const ROWS_MEASURED: u32 = 200;
const WIDEST_COLUMN: u16 = 60;

/// A workbook in the making.
pub(super) struct Book {
    workbook: Workbook,
    sheet: Worksheet,
    words: Words,
    zone: Tz,
    /// The next row; the heading is row 0.
    row: u32,
    widths: Vec<u16>,
    looks: Looks,
}

/// How cells look; made once, because the number of styles in a file is limited.
struct Looks {
    whole: Look,
    date: Look,
    /// By the number of digits after the point.
    decimals: Vec<Option<Look>>,
    /// By the offset from UTC in minutes.
    instants: Vec<(i32, Look)>,
}

impl Book {
    pub(super) fn new(locale: Locale, zone: Tz, title: &str, headings: impl Iterator<Item = String>) -> Result<Self> {
        let mut workbook = Workbook::new();
        let mut sheet = workbook.new_worksheet_with_constant_memory().map_err(broken)?;
        sheet.set_name(sheet_name(title)).map_err(broken)?;
        sheet.set_freeze_panes(1, 0).map_err(broken)?;
        let bold = Look::new().set_bold();
        let mut widths = Vec::new();
        for (column, heading) in (0..).zip(headings) {
            sheet.write_string_with_format(0, column, &heading, &bold).map_err(broken)?;
            widths.push(width(&heading));
        }
        let looks = Looks {
            whole: Look::new().set_num_format("0"),
            date: Look::new().set_num_format("yyyy-mm-dd"),
            decimals: vec![None; FRACTION_DIGITS + 1],
            instants: Vec::new(),
        };
        Ok(Self { workbook, sheet, words: Words::new(locale), zone, row: 1, widths, looks })
    }

    pub(super) fn row<Row>(&mut self, columns: &[Column<Row>], row: &Row) -> Result<()> {
        if self.row >= ROWS {
            return Err(Error::invalid("format", Message::new("table-too-many-rows").with("limit", ROWS - 1)));
        }
        for (at, column) in (0..).zip(columns) {
            self.cell(at, (column.cell)(row)).map_err(|error| match error {
                XlsxError::MaxStringLengthExceeded => Error::invalid(
                    "format",
                    Message::new("table-text-too-long")
                        .with("row", self.row)
                        .with("column", column.name)
                        .with("limit", TEXT_LENGTH),
                ),
                other => broken(other),
            })?;
        }
        self.row += 1;
        Ok(())
    }

    fn cell(&mut self, column: u16, cell: Cell<'_>) -> Result<(), XlsxError> {
        match cell {
            Cell::Empty => Ok(()),
            Cell::Number(digits) => self.number(column, &digits, false),
            Cell::Decimal(number) => self.number(column, &number.to_string(), false),
            Cell::Integer(number) => self.number(column, &number.to_string(), true),
            Cell::Text(text) => self.text(column, &text),
            Cell::Date(day) => self.date(column, day),
            Cell::Instant(at) => {
                let (local, offset) = in_zone(at, self.zone);
                if !is_excel_day(local.date()) {
                    return self
                        .text(column, &local.and_local_timezone(offset).single().unwrap_or_default().to_rfc3339());
                }
                self.widen(column, 28);
                let look = self.looks.instant(offset.local_minus_utc() / 60);
                self.sheet.write_datetime_with_format(self.row, column, local, look).map(drop)
            }
            Cell::Flag(flag) => {
                let word = self.words.flag(flag).to_owned();
                self.text(column, &word)
            }
            Cell::Word { words, .. } => {
                let said = self.words.say(&words).into_owned();
                self.text(column, &said)
            }
        }
    }

    /// Always a text cell, so nothing in it can run and no digit of it is lost.
    fn text(&mut self, column: u16, text: &str) -> Result<(), XlsxError> {
        self.widen(column, width(text));
        self.sheet.write_string(self.row, column, text).map(drop)
    }

    fn date(&mut self, column: u16, day: NaiveDate) -> Result<(), XlsxError> {
        if !is_excel_day(day) {
            return self.text(column, &day.to_string());
        }
        self.widen(column, 12);
        self.sheet.write_datetime_with_format(self.row, column, day, &self.looks.date).map(drop)
    }

    fn number(&mut self, column: u16, digits: &str, whole: bool) -> Result<(), XlsxError> {
        let Some((number, fraction)) = exact_number(digits) else {
            return self.text(column, digits);
        };
        self.widen(column, width(digits).saturating_add(4));
        let look = if whole { &self.looks.whole } else { self.looks.decimal(fraction) };
        self.sheet.write_number_with_format(self.row, column, number, look).map(drop)
    }

    fn widen(&mut self, column: u16, width: u16) {
        if self.row <= ROWS_MEASURED
            && let Some(widest) = self.widths.get_mut(usize::from(column))
        {
            *widest = (*widest).max(width);
        }
    }

    /// Compresses the sheet into `out`. Blocks.
    pub(super) fn save(mut self, out: impl Write + Send) -> Result<()> {
        for (column, width) in (0..).zip(&self.widths) {
            let width = f64::from((*width).min(WIDEST_COLUMN)) + 2.0;
            self.sheet.set_column_width(column, width).map_err(broken)?;
        }
        if let Ok(columns) = u16::try_from(self.widths.len())
            && columns > 0
        {
            self.sheet.autofilter(0, 0, self.row - 1, columns - 1).map_err(broken)?;
        }
        self.workbook.push_worksheet(self.sheet);
        self.workbook.save_to_writer(out).map_err(broken)
    }
}

impl Looks {
    fn decimal(&mut self, fraction: usize) -> &Look {
        self.decimals[fraction].get_or_insert_with(|| {
            let point = if fraction == 0 { "" } else { "." };
            Look::new().set_num_format(format!("#,##0{point}{}", "0".repeat(fraction)))
        })
    }

    fn instant(&mut self, offset: i32) -> &Look {
        let at = self.instants.iter().position(|(known, _)| *known == offset).unwrap_or_else(|| {
            let sign = if offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            let pattern = format!("yyyy-mm-dd hh:mm:ss \"{sign}{hours:02}:{minutes:02}\"");
            self.instants.push((offset, Look::new().set_num_format(pattern)));
            self.instants.len() - 1
        });
        &self.instants[at].1
    }
}

/// The number and the length of its fraction, where Excel keeps every digit of it.
fn exact_number(digits: &str) -> Option<(f64, usize)> {
    if !is_plain_number(digits) {
        return None;
    }
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: String = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit).map(char::from).collect();
    let significant = all.trim_matches('0').len();
    if significant > DIGITS || fraction.len() > FRACTION_DIGITS {
        return None;
    }
    Some((digits.parse().ok()?, fraction.len()))
}

/// Excel's calendar.
fn is_excel_day(day: NaiveDate) -> bool {
    (1900..=9999).contains(&day.year())
}

/// How many columns of a fixed-width screen the longest line takes; a Chinese character takes two.
fn width(text: &str) -> u16 {
    let line = |line: &str| line.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum();
    text.lines().map(line).max().unwrap_or(0_usize).try_into().unwrap_or(u16::MAX)
}

/// Excel refuses some characters, and the names that its own change log has.
fn sheet_name(title: &str) -> String {
    let name: String = title
        .chars()
        .map(|c| if matches!(c, '[' | ']' | ':' | '*' | '?' | '/' | '\\') { '-' } else { c })
        .take(NAME_LENGTH - 2)
        .collect();
    let name = name.trim_matches('\'').trim();
    match name {
        "" => "Rentroll".to_owned(),
        "历史记录" => format!("{name} 1"),
        _ if name.eq_ignore_ascii_case("history") => format!("{name} 1"),
        _ => name.to_owned(),
    }
}

fn broken(error: XlsxError) -> Error {
    match error {
        XlsxError::IoError(_) | XlsxError::ZipError(_) | XlsxError::TempFileError(..) => Error::Unavailable(
            anyhow::Error::from(error).context("writing an XLSX file through the temporary folder (TMPDIR)"),
        ),
        other => Error::Internal(anyhow::Error::from(other).context("writing an XLSX file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_longer_than_a_sheet_is_refused_with_the_way_out() {
        let columns = [Column::new("n", "table-yes", |row: &i64| (*row).into())];
        let mut book = Book::new(Locale::En, Tz::UTC, "n", ["n".to_owned()].into_iter()).unwrap();
        book.row = ROWS - 1;
        book.row(&columns, &1).unwrap();
        let Err(Error::Invalid(errors)) = book.row(&columns, &2) else { panic!("must be refused") };
        assert_eq!(
            Locale::En.say(&errors.0[0].message),
            "The list has more than 1048575 rows, and an Excel sheet holds no more. Narrow the filter, or take CSV."
        );
    }

    #[test]
    fn a_number_stays_one_as_long_as_excel_keeps_its_digits() {
        assert_eq!(exact_number("-70.00"), Some((-70.0, 2)));
        assert_eq!(exact_number("123456789012345"), Some((123_456_789_012_345.0, 0)));
        assert_eq!(exact_number("1234567890123456"), None);
        assert_eq!(exact_number("0.000000000000000000012"), Some((1.2e-20, 21)));
        assert_eq!(exact_number("1000000000000000000000.0000"), Some((1e21, 4)));
        assert_eq!(exact_number("NaN"), None);
    }

    #[test]
    fn a_sheet_is_called_what_excel_allows() {
        assert_eq!(sheet_name("支出 [2026/03]"), "支出 -2026-03-");
        assert_eq!(sheet_name("History"), "History 1");
        assert_eq!(sheet_name("''"), "Rentroll");
        assert_eq!(sheet_name(&"长".repeat(40)).chars().count(), 29);
    }
}
