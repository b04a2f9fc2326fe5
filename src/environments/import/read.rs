//! From the bytes of a file to rows that are each right in themselves, and to everything that is wrong, by row and column.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest as _, Sha256};

use super::columns::Column;
use super::{Reading, RowError, cells};
use crate::encoding::Encoding;
use crate::environments::description::{Description, Somebody};
use crate::environments::environment::Status;
use crate::environments::term::NewTerm;
use crate::error::FieldErrors;
use crate::limits;
use crate::locale::Message;
use crate::money;
use crate::table::unguarded;
use crate::text::{excerpt, name_key};

/// One row that is right in itself.
#[derive(Debug, Clone)]
pub struct Line {
    /// The row as a person counts: the headings are row 1.
    pub row: usize,
    /// The environment.
    pub description: Description,
    /// Whether it is in use.
    pub status: Status,
    /// The term.
    pub term: NewTerm,
}

impl Line {
    /// The value of a column in the form that files for programs have.
    pub fn value(&self, column: Column) -> String {
        let (it, term) = (&self.description, &self.term);
        let somebody = |somebody: &Option<Somebody>| somebody.as_ref().map(ToString::to_string).unwrap_or_default();
        match column {
            Column::Project => it.project.to_string(),
            Column::Name => it.name.to_string(),
            Column::Provider => it.provider.to_string(),
            Column::Tier => it.tier.to_string(),
            Column::Scenario => it.scenario.map(|it| it.to_string()).unwrap_or_default(),
            Column::Owner => somebody(&it.owner),
            Column::Checker => somebody(&it.checker),
            Column::StartsOn => term.starts_on.to_string(),
            Column::EndsOn => term.ends_on.map(|day| day.to_string()).unwrap_or_default(),
            Column::Cycle => term.cycle.to_string(),
            Column::Renewal => term.renewal.to_string(),
            Column::Notice => term.notice.map(|notice| notice.to_string()).unwrap_or_default(),
            Column::Quantity => money::plain(term.quantity),
            Column::Price => term.price.map(money::plain).unwrap_or_default(),
            Column::Currency => term.currency.as_ref().map(ToString::to_string).unwrap_or_default(),
            Column::Labels => it.labels.to_string(),
            Column::Status => self.status.to_string(),
            Column::Priority => it.priority.to_string(),
            Column::Watchers => it.watchers.iter().map(ToString::to_string).collect::<Vec<_>>().join(";"),
            Column::Steps => it.steps.as_ref().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// The environment that the row belongs to: the key of the project's name, and its own name.
    pub fn key(&self) -> (String, String) {
        (name_key(self.description.project.as_str()), self.description.name.to_string())
    }
}

/// Two values of a column say the same: addresses without regard to case, names of what several environments share without
/// regard to width either.
pub fn same(column: Column, one: &str, other: &str) -> bool {
    match column {
        Column::Owner | Column::Checker | Column::Watchers => one.to_lowercase() == other.to_lowercase(),
        Column::Project | Column::Provider | Column::Tier => name_key(one) == name_key(other),
        _ => one == other,
    }
}

/// A column whose heading does not tell which it is: nobody knows it, or two say the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its place, from 1.
    pub at: usize,
    /// Its heading.
    pub heading: String,
}

/// A file that was read.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// What the file is called, where that is known; see [`Parsed::named`].
    pub file_name: String,
    /// The hash of its bytes.
    pub sha256: [u8; 32],
    /// Rows that are not blank, without the headings.
    pub rows_read: usize,
    /// The rows that are right in themselves.
    pub lines: Vec<Line>,
    /// The headings as the file writes them, by column.
    pub headings: BTreeMap<Column, String>,
    /// The encoding that it was read in.
    pub encoding: Encoding,
    /// What was said of it.
    pub reading: Reading,
    /// The columns of which somebody must say, or said, which they are.
    pub questions: Vec<Question>,
    /// What is wrong, by row.
    pub errors: Vec<RowError>,
}

impl Parsed {
    /// The same, with the name of the file for the history.
    #[must_use]
    pub fn named(mut self, file_name: &str) -> Self {
        self.file_name = excerpt(file_name);
        self
    }

    /// The heading of a column as the file writes it.
    pub fn heading(&self, column: Column) -> String {
        self.headings.get(&column).cloned().unwrap_or_else(|| column.name().to_owned())
    }

    fn refuse(mut self, row: usize, column: &str, value: &str, message: Message) -> Self {
        self.errors.push(RowError { row, column: column.to_owned(), value: excerpt(value), message });
        self
    }
}

/// Reads a file of which nothing was said.
pub fn read(bytes: &[u8]) -> Parsed {
    read_as(bytes, &Reading::default())
}

/// What a workbook of a spreadsheet begins with, the new kind and the old.
const WORKBOOKS: [&[u8]; 2] = [b"PK\x03\x04", b"\xD0\xCF\x11\xE0"];

/// Reads a file: UTF-8, UTF-16 or GB18030; commas, semicolons or tabs; headings in English or Chinese.
pub fn read_as(bytes: &[u8], reading: &Reading) -> Parsed {
    let sha256 = Sha256::digest(bytes).into();
    let parsed = Parsed {
        file_name: String::new(),
        sha256,
        rows_read: 0,
        lines: Vec::new(),
        headings: BTreeMap::new(),
        encoding: reading.encoding.unwrap_or_else(|| Encoding::of(bytes)),
        reading: reading.clone(),
        questions: Vec::new(),
        errors: Vec::new(),
    };
    if WORKBOOKS.iter().any(|mark| bytes.starts_with(mark)) {
        return parsed.refuse(1, "", "", Message::new("import-workbook"));
    }
    let text = match parsed.encoding.decode(bytes) {
        Ok(text) => text,
        Err(row) => return parsed.refuse(row, "", "", Message::new("import-not-text")),
    };
    let records = match records(&text, delimiter(&text)) {
        Ok(records) => records,
        Err(row) => return parsed.refuse(row, "", "", Message::new("import-broken").with("row", row)),
    };
    let Some((headings, rows)) = records.split_first() else {
        return parsed.refuse(1, "", "", Message::new("import-empty"));
    };
    let mut parsed = parsed;
    let (columns, left_out) = find_columns(headings, &mut parsed);
    parsed.rows_read = rows.len();
    if !parsed.errors.is_empty() {
        return parsed;
    }
    if rows.is_empty() {
        return parsed.refuse(headings.row, "", "", Message::new("import-no-rows"));
    }
    for record in rows {
        read_row(record, &columns, &left_out, &mut parsed);
    }
    check_agreement(&mut parsed);
    parsed
}

/// A row of cells that is not blank.
struct Record {
    row: usize,
    cells: Vec<String>,
}

/// Cuts the text into rows. Blank rows count as rows, but are none.
fn records(text: &str, delimiter: u8) -> Result<Vec<Record>, usize> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text.as_bytes());
    let (mut records, mut record, mut breaks_inside) = (Vec::new(), csv::StringRecord::new(), 0);
    let mut last = (0, 1);
    while reader.read_record(&mut record).map_err(|_| records.len() + 1)? {
        // The reader says the line on which it began to look; blank lines before the record are passed over.
        let position = record.position().expect("a record that was read has a position");
        let from = usize::try_from(position.byte()).unwrap_or(usize::MAX).min(text.len());
        let blank = text[from..].chars().take_while(|c| matches!(c, '\r' | '\n')).filter(|c| *c == '\n').count();
        let row = usize::try_from(position.line()).unwrap_or(usize::MAX) + blank - breaks_inside;
        breaks_inside += record.iter().map(|cell| cell.matches('\n').count()).sum::<usize>();
        if record.iter().any(|cell| cell.len() > limits::IMPORT_CELL_BYTES) || record.len() > limits::IMPORT_COLUMNS {
            return Err(row);
        }
        last = (from, row);
        if record.iter().any(|cell| !cell.trim().is_empty()) {
            records.push(Record { row, cells: record.iter().map(|cell| unguarded(cell).to_owned()).collect() });
        }
    }
    // The reader takes a quotation mark that is not closed for closed where the file ends.
    let (from, row) = last;
    if text[from..].matches('"').count() % 2 == 1 { Err(row) } else { Ok(records) }
}

/// The mark between cells: the one that makes the most known headings.
fn delimiter(text: &str) -> u8 {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let known = |mark: u8| {
        let headings = first.split(char::from(mark)).filter(|it| Column::find(it.trim_matches(['"', ' '])).is_some());
        headings.count()
    };
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|mark| known(*mark)).unwrap_or(b',')
}

/// Which cell holds which column, and which are left out. Headings that are unknown, doubled or missing are errors, unless
/// somebody said what they are; that comes before what a heading says.
fn find_columns(headings: &Record, parsed: &mut Parsed) -> (HashMap<Column, usize>, BTreeSet<usize>) {
    let heading = |at: usize| headings.cells.get(at).map_or("", |cell| cell.trim().trim_start_matches('\u{FEFF}'));
    let named = (0..headings.cells.len()).filter(|at| !heading(*at).is_empty()).map(|at| (at, heading(at)));
    let said = parsed.reading.columns.clone();
    let (mut columns, mut left_out, mut open) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut errors = Vec::new();
    let mut refuse = |at: usize, message: Message| {
        let text = excerpt(heading(at));
        errors.push(RowError { row: headings.row, column: text.clone(), value: text, message });
    };
    let twice = |at: usize| Message::new("import-heading-twice").with("heading", excerpt(heading(at)));
    for (at, column) in said.iter().map(|(place, column)| (place - 1, *column)) {
        open.insert(at);
        match column {
            None => _ = left_out.insert(at),
            Some(column) if columns.contains_key(&column) => refuse(at, twice(at)),
            Some(column) => _ = columns.insert(column, at),
        }
    }
    for (at, text) in named.filter(|(at, _)| !said.contains_key(&(at + 1))) {
        match Column::find(text) {
            None => {
                open.insert(at);
                refuse(at, Message::new("import-heading-unknown").with("heading", excerpt(text)));
            }
            Some(column) => match columns.get(&column) {
                // Another one was said to be it.
                Some(other) if said.contains_key(&(other + 1)) => _ = left_out.insert(at),
                Some(other) => {
                    open.extend([*other, at]);
                    refuse(at, twice(at));
                }
                None => _ = columns.insert(column, at),
            },
        }
    }
    for column in Column::REQUIRED.into_iter().filter(|column| !columns.contains_key(column)) {
        let message = Message::new("import-heading-missing").with("heading", column.both_names());
        let name = column.name().to_owned();
        errors.push(RowError { row: headings.row, column: name, value: String::new(), message });
    }
    parsed.errors.extend(errors);
    for (column, at) in &columns {
        let name = if heading(*at).is_empty() { column.name() } else { heading(*at) };
        parsed.headings.insert(*column, name.to_owned());
    }
    parsed.questions = open.into_iter().map(|at| Question { at: at + 1, heading: heading(at).to_owned() }).collect();
    (columns, left_out)
}

/// The cells of the columns that spreadsheets write in many ways, made plain; an error where that cannot be done.
fn made_plain(column: Column, cell: &str, reading: &Reading) -> Option<Result<String, Message>> {
    match column {
        Column::Quantity | Column::Price => Some(cells::number(cell, reading.numbers)),
        Column::StartsOn | Column::EndsOn => Some(cells::day(cell)),
        _ => None,
    }
}

fn read_row(record: &Record, columns: &HashMap<Column, usize>, left_out: &BTreeSet<usize>, parsed: &mut Parsed) {
    let mut errors = FieldErrors::new();
    let (mut by_name, mut plain): (HashMap<&str, &str>, HashMap<&str, String>) = (HashMap::new(), HashMap::new());
    for (column, at) in columns {
        let cell = record.cells.get(*at).map_or("", String::as_str);
        by_name.insert(column.name(), cell);
        match made_plain(*column, cell, &parsed.reading) {
            Some(Ok(text)) => _ = plain.insert(column.name(), text),
            Some(Err(message)) => errors.add(column.name(), message),
            None => {}
        }
    }
    let refused: BTreeSet<Cow<'static, str>> = errors.0.iter().map(|error| error.field.clone()).collect();
    let raw = |name: &str| by_name.get(name).copied().unwrap_or_default();
    let text = |name: &str| plain.get(name).map_or_else(|| raw(name), String::as_str);
    let mut more = FieldErrors::new();
    let description = Description::parse(&text, &mut more);
    let term = NewTerm::parse(&text, &mut more);
    // Of a cell that cannot be made plain, that alone is told.
    errors.0.extend(more.0.into_iter().filter(|error| !refused.contains(&error.field)));
    let status = if text("status").trim().is_empty() {
        Some(Status::Active)
    } else {
        errors.take("status", text("status").parse::<Status>())
    };
    if status == Some(Status::Voided) {
        errors.add("status", Message::new("error-status").with("value", excerpt(text("status"))));
    }
    if status == Some(Status::Ended) && text("ends_on").trim().is_empty() {
        errors.add("ends_on", Message::new("import-ended-without-end"));
    }
    for (field, somebody) in description.iter().flat_map(Description::people) {
        if let Somebody::Named(name) = somebody {
            errors.add(field, Message::new("error-email").with("value", excerpt(name.as_str())));
        }
    }
    let known: BTreeSet<usize> = columns.values().chain(left_out).copied().collect();
    let headings = known.last().map_or(0, |last| last + 1);
    if record.cells.len() < headings {
        let message = Message::new("import-row-short").with("cells", record.cells.len()).with("headings", headings);
        errors.add("", message);
    }
    let beyond = record.cells.iter().enumerate().find(|(at, cell)| !known.contains(at) && !cell.trim().is_empty());
    if let Some((at, _)) = beyond {
        errors.add((at + 1).to_string(), Message::new("import-cell-without-heading").with("column", at + 1));
    }
    match (description, term, status) {
        (Some(description), Some(term), Some(status)) if errors.is_empty() => {
            parsed.lines.push(Line { row: record.row, description, status, term });
        }
        _ => {
            for error in errors.0 {
                let column = Column::ALL.into_iter().find(|column| column.name() == error.field);
                let heading = column.map_or_else(|| error.field.to_string(), |column| parsed.heading(column));
                let value = excerpt(raw(&error.field).trim());
                parsed.errors.push(RowError { row: record.row, column: heading, value, message: error.message });
            }
        }
    }
}

/// Rows that share project and name are one environment: they must agree on all that is not the term's, and their terms may
/// not overlap. A row that says the same as another is met twice, which is an error too: one of the two is a slip.
fn check_agreement(parsed: &mut Parsed) {
    let mut groups: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (at, line) in parsed.lines.iter().enumerate() {
        groups.entry(line.key()).or_default().push(at);
    }
    let mut errors = Vec::new();
    for group in groups.into_values() {
        let first = &parsed.lines[group[0]];
        for at in group.iter().skip(1) {
            let line = &parsed.lines[*at];
            for column in parsed.headings.keys().copied().filter(|column| !column.is_of_term()) {
                let (is, was) = (line.value(column), first.value(column));
                if !same(column, &is, &was) {
                    let message =
                        Message::new("import-rows-disagree").with("row", first.row).with("value", excerpt(&was));
                    errors.push((line.row, column, is, message));
                }
            }
        }
        let mut by_day: Vec<&Line> = group.iter().map(|at| &parsed.lines[*at]).collect();
        by_day.sort_by_key(|line| (line.term.starts_on, line.row));
        for pair in by_day.windows(2) {
            if pair[0].term.ends_on.is_none_or(|ends_on| ends_on >= pair[1].term.starts_on) {
                let message = Message::new("import-rows-overlap").with("row", pair[0].row);
                errors.push((pair[1].row, Column::StartsOn, pair[1].term.starts_on.to_string(), message));
            }
        }
    }
    let wrong: BTreeSet<usize> = errors.iter().map(|error| error.0).collect();
    parsed.lines.retain(|line| !wrong.contains(&line.row));
    for (row, column, value, message) in errors {
        let error = RowError { row, column: parsed.heading(column), value: excerpt(&value), message };
        parsed.errors.push(error);
    }
    parsed.errors.sort_by_key(|error| error.row);
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const HEAD: &str = "project,name,provider,tier,starts_on";

    fn errors(text: &str) -> Vec<(usize, String, &'static str)> {
        read(text.as_bytes()).errors.into_iter().map(|error| (error.row, error.column, error.message.key)).collect()
    }

    // case I02
    #[test]
    fn a_byte_order_mark_does_not_hide_the_first_column() {
        let parsed = read(format!("\u{FEFF}{HEAD}\r\n竹简,预训练,苇塘云,H800,2026-01-01\r\n").as_bytes());
        assert_eq!((parsed.errors.len(), parsed.lines.len(), parsed.rows_read), (0, 1, 1));
        assert_eq!(parsed.lines[0].description.project.as_str(), "竹简");
        assert_eq!(
            errors("project,name,provider,tier,starts_on,金额\na,b,c,d,2026-01-01,5\n"),
            [(1, "金额".to_owned(), "import-heading-unknown")]
        );
    }

    // case I04
    #[test]
    fn semicolons_and_tabs_are_found_and_no_rows_are_an_error() {
        for mark in [",", ";", "\t"] {
            let text = format!("{HEAD}\n竹简,预训练,苇塘云,H800,2026-01-01\n").replace(',', mark);
            let parsed = read(text.as_bytes());
            assert_eq!((parsed.errors.len(), parsed.lines.len()), (0, 1), "{mark:?}");
        }
        assert_eq!(errors(HEAD), [(1, String::new(), "import-no-rows")]);
        assert_eq!(errors(""), [(1, String::new(), "import-empty")]);
        assert_eq!(errors("  \n\n"), [(1, String::new(), "import-empty")]);
    }

    #[test]
    fn a_file_that_ends_inside_quotation_marks_is_broken() {
        let text =
            format!("{HEAD},labels\n竹简,甲,苇塘云,H800,2026-01-01,\n竹简,乙,苇塘云,H800,2026-01-01,\"team=llm;use=tr");
        assert_eq!(errors(&text), [(3, String::new(), "import-broken")]);
        assert_eq!(errors(&format!("{text}\"\n")), []);
    }

    // What a row lost at its end is not read as empty.
    #[test]
    fn a_row_that_is_cut_off_is_an_error() {
        let text =
            format!("{HEAD},quantity,notice,,\n竹简,甲,苇塘云,H800,2026-01-01,4,0\n竹简,乙,苇塘云,H800,2026-01-01,4\n");
        assert_eq!(errors(&text), [(3, String::new(), "import-row-short")]);
    }

    // case I12
    #[test]
    fn an_error_names_its_row_as_a_person_counts() {
        let mut text = format!("{HEAD},labels\n");
        text.push_str("竹简,有换行,苇塘云,H800,2026-01-01,\n\n,,,,,\n");
        for row in 5..=811 {
            writeln!(text, "竹简,环境{row},苇塘云,H800,2026-01-01,").unwrap();
        }
        text.push_str("竹简,坏的,苇塘云,H800,2026-13-01,\n");
        let parsed = read(text.as_bytes());
        assert_eq!(parsed.rows_read, 809);
        assert_eq!(parsed.lines.len(), 808);
        let error = &parsed.errors[0];
        assert_eq!((error.row, error.column.as_str(), error.value.as_str()), (812, "starts_on", "2026-13-01"));
        assert_eq!(parsed.errors.len(), 1);
    }

    #[test]
    fn a_line_break_inside_a_cell_is_no_row() {
        let text = format!("{HEAD}\n竹简,\"两\n行\",苇塘云,H800,2026-01-01\n竹简,坏的,苇塘云,H800,soon\n");
        assert_eq!(
            errors(&text),
            [(2, "name".to_owned(), "error-text-line-break"), (3, "starts_on".to_owned(), "error-date")]
        );
    }

    // case I16
    #[test]
    fn a_nul_in_a_name_is_an_error_of_its_cell() {
        assert_eq!(
            errors(&format!("{HEAD}\n竹简,A\0B,苇塘云,H800,2026-01-01\n")),
            [(2, "name".to_owned(), "error-text-nul")]
        );
    }

    #[test]
    fn a_file_that_is_no_text_is_told_by_row() {
        let mut bytes = format!("{HEAD}\n竹简,").into_bytes();
        bytes.extend([0xC3, 0xFF]);
        let parsed = read(&bytes);
        assert_eq!((parsed.errors[0].row, parsed.errors[0].message.key), (2, "import-not-text"));
    }

    // case I01
    #[test]
    fn one_file_reads_alike_in_every_encoding() {
        let text = format!("{HEAD}\n竹简,㐀与𠮷,苇塘云,H800,2026-01-01\n");
        let utf_16: Vec<u8> = format!("\u{FEFF}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect();
        for (bytes, encoding) in [
            (text.clone().into_bytes(), Encoding::Utf8),
            (format!("\u{FEFF}{text}").into_bytes(), Encoding::Utf8),
            (utf_16, Encoding::Utf16Le),
            (encoding_rs::GB18030.encode(&text).0.into_owned(), Encoding::Gb18030),
        ] {
            let parsed = read(&bytes);
            assert_eq!((parsed.encoding, &parsed.errors), (encoding, &Vec::new()));
            assert_eq!(parsed.lines[0].description.name.as_str(), "㐀与𠮷");
            let wrong = Reading { encoding: Some(Encoding::Utf16Be), ..Reading::default() };
            assert!(!read_as(&bytes, &wrong).errors.is_empty(), "what somebody chooses is done");
        }
        for workbook in WORKBOOKS {
            assert_eq!(read(workbook).errors[0].message.key, "import-workbook");
        }
    }

    // case I07
    #[test]
    fn blank_columns_are_passed_over_and_doubled_or_unknown_ones_are_asked_by_name() {
        let text = "项目,名称,服务商,档位,开始日,单价,币种,金额,单价,金额,,,\na,b,c,d,2026-01-01,5,CNY,6,7,8,,,\n";
        let parsed = read(text.as_bytes());
        let named: Vec<_> = parsed.errors.iter().map(|error| (error.column.as_str(), error.message.key)).collect();
        let unknown = ("金额", "import-heading-unknown");
        assert_eq!(named, [unknown, ("单价", "import-heading-twice"), unknown]);
        let asked: Vec<_> = parsed.questions.iter().map(|it| (it.at, it.heading.as_str())).collect();
        assert_eq!(asked, [(6, "单价"), (8, "金额"), (9, "单价"), (10, "金额")]);

        let columns = [(8, None), (9, Some(Column::Price)), (10, None)].into();
        let said = read_as(text.as_bytes(), &Reading { columns, ..Reading::default() });
        assert_eq!((&said.errors, said.questions.len()), (&Vec::new(), 3));
        assert_eq!(said.lines[0].value(Column::Price), "7", "what was said comes before the other heading");
        let columns = [(6, None), (8, Some(Column::Price)), (9, None), (10, Some(Column::Price))].into();
        let twice = read_as(text.as_bytes(), &Reading { columns, ..Reading::default() });
        assert_eq!(twice.errors[0].message.key, "import-heading-twice");
    }

    // case I06
    #[test]
    fn numbers_and_days_of_spreadsheets_are_read_as_was_said_or_asked() {
        let file =
            |price: &str, day: &str| format!("{HEAD},单价,币种\n竹简,预训练,苇塘云,H800,{day},\"{price}\",CNY\n");
        let asked = read(file("1.000", "2026年3月31日").as_bytes());
        let error = &asked.errors[0];
        assert_eq!(
            (asked.errors.len(), error.row, error.column.as_str(), error.value.as_str(), error.message.key),
            (1, 2, "单价", "1.000", "import-number-asks")
        );
        let said = |price: &str, numbers| {
            let reading = Reading { numbers: Some(numbers), ..Reading::default() };
            let parsed = read_as(file(price, "2026/3/31").as_bytes(), &reading);
            assert_eq!(parsed.errors, []);
            (parsed.lines[0].value(Column::Price), parsed.lines[0].value(Column::StartsOn))
        };
        let day = || "2026-03-31".to_owned();
        assert_eq!(said("￥1,234.56", cells::NumberFormat::Point), ("1234.56".to_owned(), day()));
        assert_eq!(said("1.000", cells::NumberFormat::Comma), ("1000".to_owned(), day()));
        let last = read(file("5", "3/4/2026").as_bytes());
        assert_eq!((last.errors.len(), last.errors[0].message.key), (1, "import-day-order"));
    }

    #[test]
    fn headings_that_are_doubled_or_missing_are_named() {
        assert_eq!(
            errors("项目,名称,服务商,档位,开始日,核对人,复核人\na,b,c,d,2026-01-01,,\n"),
            [(1, "复核人".to_owned(), "import-heading-twice")]
        );
        assert_eq!(
            errors("项目,名称,服务商,档位,,\na,b,c,d,,\n"),
            [(1, "starts_on".to_owned(), "import-heading-missing")]
        );
        assert_eq!(
            errors(&format!("{HEAD}\na,b,c,d,2026-01-01,more\n")),
            [(2, "6".to_owned(), "import-cell-without-heading")]
        );
    }

    #[test]
    fn values_in_both_languages_mean_the_same() {
        let head = "项目,名称,服务商,档位,场景,负责人,核对人,开始日,结束日,周期,续租,提前通知,数量,单价,币种,标签,状态,优先级,抄送人,提醒天数";
        let zh = "竹简,预训练,苇塘云,H800,微调,a@x.example,b@x.example,2026/1/1,2026-12-31,每月,自动续费,2个月,4,9800.00,RMB,用途＝训练,已退租,核心,c@x.example；d@x.example,15;7、3";
        let en = "竹简,预训练,苇塘云,H800,Fine-tuning,A@x.example,b@x.example,2026-01-01,2026-12-31,monthly,automatic,2 months,4.0,9800,CNY,用途=训练,ended,core,d@x.example;c@x.example,7;3;15";
        let parsed = read(format!("{head}\n{zh}\n").as_bytes());
        let other = read(format!("{}\n{en}\n", Column::ALL.map(Column::name).join(",")).as_bytes());
        assert_eq!((parsed.errors.len(), other.errors.len()), (0, 0), "{:?} {:?}", parsed.errors, other.errors);
        for column in Column::ALL {
            let (zh, en) = (parsed.lines[0].value(column), other.lines[0].value(column));
            assert!(same(column, &zh, &en), "{}: {zh} {en}", column.name());
        }
    }

    #[test]
    fn rows_of_one_environment_agree_and_do_not_overlap() {
        let head = format!("{HEAD},ends_on,owner\n");
        let found = errors(&format!(
            "{head}竹简,预训练,苇塘云,H800,2026-01-01,2026-01-31,a@x.example\n\
             竹简,预训练,浮木,H800,2026-02-01,2026-02-28,A@X.example\n\
             竹简,预训练,苇塘云,H800,2026-01-31,2026-02-05,a@x.example\n"
        ));
        assert_eq!(
            found,
            [
                (3, "provider".to_owned(), "import-rows-disagree"),
                (3, "starts_on".to_owned(), "import-rows-overlap"),
                (4, "starts_on".to_owned(), "import-rows-overlap"),
            ]
        );
    }

    #[test]
    fn what_the_guard_of_our_own_files_added_is_taken_off() {
        let parsed = read(format!("{HEAD}\n竹简,'=训练,苇塘云,00123\t,2026-01-01\n").as_bytes());
        assert_eq!(parsed.lines[0].description.name.as_str(), "=训练");
        assert_eq!(parsed.lines[0].description.tier.as_str(), "00123");
    }

    #[test]
    fn a_label_needs_its_equals_sign_and_a_quantity_has_limits() {
        let rows =
            "竹简,预训练,苇塘云,H800,2026-01-01,team=llm;spot,4\n竹简,微调,苇塘云,H800,2026-01-01,,100000000000\n";
        let parsed = read(format!("{HEAD},标签,数量\n{rows}").as_bytes());
        let said = parsed.errors.iter().map(|it| {
            let message = crate::locale::Locale::En.say(&it.message);
            (it.row, it.column.as_str(), it.value.as_str(), message)
        });
        let labels = "The label \"spot\" has no equals sign; write labels like team=llm;use=training.";
        let quantity = "100000000000 is not a quantity; write a number above zero, at most 99,999,999,999.99.";
        assert_eq!(
            said.collect::<Vec<_>>(),
            [(2, "标签", "team=llm;spot", labels.to_owned()), (3, "数量", "100000000000", quantity.to_owned())]
        );
    }

    #[test]
    fn an_ended_environment_needs_its_last_day_and_people_their_addresses() {
        assert_eq!(
            errors(&format!("{HEAD},status,owner\n竹简,预训练,苇塘云,H800,2026-01-01,ended,陈白露\n")),
            [(2, "ends_on".to_owned(), "import-ended-without-end"), (2, "owner".to_owned(), "error-email")]
        );
    }
}
