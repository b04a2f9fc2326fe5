//! Reads the Cost and Usage dataset of FOCUS 1.0 to 1.4: header, cells, what is wrong with them. No SQL.
//!
//! * Columns are found by name, whatever the case and the order; unknown ones and `x_` ones are passed over.
//! * A file must have the columns that FOCUS makes mandatory in **every** version ([`MANDATORY`]), and one that says who
//!   provides: `ProviderName` up to 1.3, `ServiceProviderName` from 1.3 on. `PublisherName` and `HostProviderName` are not
//!   asked for: the versions disagree about them, and nothing here reads them.
//! * A mandatory column may hold no value where the ledger can say "unknown": the four costs, quantity, unit, texts. An
//!   account, a currency, a category and the four instants must be there.
//! * No cost is ever worked out from another: in real files they differ for good reasons.
//! * The cost kind is not guessed.

mod cell;
mod header;
mod source;

use std::io::Read;

use chrono::{DateTime, Utc};
use csv::{ByteRecord, ReaderBuilder};
use rust_decimal::Decimal;

pub use self::header::{MANDATORY, Version};

use self::header::{COLUMNS, Column, missing};
use self::source::{Opened, Source};
use crate::dates::Period;
use crate::ledger::charge::{Category, Class};
use crate::limits;
use crate::locale::Message;
use crate::money::Currency;
use crate::row_error::{RowError, RowErrors};

/// One line of a bill, as the provider wrote it. An unknown text is empty, an unknown number nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FocusRow {
    /// Its row in the file; the header is row 1 (see [`RowError`]).
    pub row: u64,
    /// The account that pays.
    pub billing_account: String,
    /// The account that used it.
    pub sub_account: String,
    /// The service.
    pub service: String,
    /// FOCUS's group of services.
    pub service_category: String,
    /// How the cost came about.
    pub category: Category,
    /// Whether it corrects a period that was invoiced before.
    pub class: Option<Class>,
    /// The first instant that it charges for.
    pub charge_start: DateTime<Utc>,
    /// The first instant that it does not charge for any more.
    pub charge_end: DateTime<Utc>,
    /// The bill's first instant.
    pub billing_start: DateTime<Utc>,
    /// The first instant after the bill.
    pub billing_end: DateTime<Utc>,
    /// The month that the bill is for.
    pub period: Period,
    /// How much was priced.
    pub quantity: Option<Decimal>,
    /// In which unit.
    pub unit: String,
    /// ListCost.
    pub list: Option<Decimal>,
    /// ContractedCost.
    pub contracted: Option<Decimal>,
    /// BilledCost.
    pub billed: Option<Decimal>,
    /// EffectiveCost.
    pub effective: Option<Decimal>,
    /// BillingCurrency.
    pub currency: Currency,
    /// ChargeDescription.
    pub description: String,
    /// The tags as JSON text in one form: keys in order.
    pub tags: Option<String>,
    /// The resource's id; empty for a charge without one.
    pub resource_id: String,
    /// The resource's name.
    pub resource_name: String,
    /// The resource's type.
    pub resource_type: String,
    /// Where it is.
    pub region: String,
    /// Who provides, in the provider's words.
    pub provider_name: String,
}

impl FocusRow {
    /// Appends all that was read of the row in one form, whatever the writing: numbers without zeros that change nothing,
    /// instants in UTC, one way of saying "unknown", tags in order. Two rows are the same line of the bill when these bytes
    /// are. Each part has its length before it, so no two different rows give the same bytes.
    pub fn normalised(&self, bytes: &mut Vec<u8>) {
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend_from_slice(&(text.len() as u64).to_be_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        for part in [
            &self.billing_account,
            &self.sub_account,
            &self.service,
            &self.service_category,
            &self.unit,
            &self.description,
            &self.resource_id,
            &self.resource_name,
            &self.resource_type,
            &self.region,
            &self.provider_name,
        ] {
            text(bytes, part);
        }
        text(bytes, self.currency.as_str());
        text(bytes, self.category.as_str());
        text(bytes, self.class.map_or("", Class::as_str));
        text(bytes, self.tags.as_deref().unwrap_or_default());
        for instant in [self.charge_start, self.charge_end, self.billing_start, self.billing_end] {
            bytes.extend_from_slice(&instant.timestamp_micros().to_be_bytes());
        }
        for number in [self.quantity, self.list, self.contracted, self.billed, self.effective] {
            match number.map(|number| number.normalize()) {
                None => bytes.push(0),
                Some(number) => {
                    bytes.push(1);
                    // Zero has no sign here.
                    bytes.extend_from_slice(&number.mantissa().to_be_bytes());
                    bytes.extend_from_slice(&number.scale().to_be_bytes());
                }
            }
        }
    }
}

/// Opens a file: `.csv` or `.csv.gz` (told by its content), with or without byte order mark, cells apart by `,`, `;` or a
/// tab. It reads the header.
///
/// # Errors
/// It is packed in another way or not UTF-8; it is another dataset of FOCUS; columns are missing (one error each) or
/// stand there twice.
pub fn open(file: impl Read + Send + 'static) -> Result<Reader, RowErrors> {
    let Opened { source, delimiter } = source::open(file).map_err(RowError::of_file)?;
    let csv = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(64 * 1024)
        .from_reader(source);
    let mut reader = Reader {
        csv,
        record: ByteRecord::new(),
        places: [None; COLUMNS.len()],
        width: 0,
        row: 0,
        rows_read: 0,
        version: Version::V1_0,
        ended: false,
    };
    match reader.read_record() {
        Ok(true) => reader.read_header()?,
        Ok(false) => return Err(RowError::of_file(Message::new("focus-empty")).into()),
        Err(error) => return Err(error.into()),
    }
    Ok(reader)
}

/// Reads a file row by row; see [`open`].
pub struct Reader {
    csv: csv::Reader<Source>,
    record: ByteRecord,
    /// Where each of `COLUMNS` stands.
    places: [Option<usize>; COLUMNS.len()],
    /// Columns of the header.
    width: usize,
    /// The row that was read last.
    row: u64,
    rows_read: u64,
    version: Version,
    ended: bool,
}

impl Reader {
    /// The version that the header tells.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Rows read so far, whether they could be read or not; neither the header nor rows of empty cells count.
    pub const fn rows_read(&self) -> u64 {
        self.rows_read
    }

    fn read_record(&mut self) -> Result<bool, RowError> {
        self.csv.get_mut().record_begins();
        let read = self.csv.read_byte_record(&mut self.record);
        let found = read.map_err(|error| {
            let refusal = self.csv.get_mut().refusal.take();
            let message = refusal.unwrap_or_else(|| Message::new("focus-unreadable").with("reason", error.to_string()));
            RowError::new(self.row + 1, "", "", message)
        })?;
        self.row += u64::from(found);
        Ok(found)
    }

    fn read_header(&mut self) -> Result<(), RowErrors> {
        let mut names = Vec::with_capacity(self.record.len());
        for name in &self.record {
            let Ok(name) = str::from_utf8(name) else {
                return Err(RowError::new(1, "", &String::from_utf8_lossy(name), Message::new("focus-encoding")).into());
            };
            names.push(name.trim());
        }
        self.width = names.len();
        if self.width > limits::IMPORT_COLUMNS {
            let message =
                Message::new("focus-column-count").with("most", limits::IMPORT_COLUMNS).with("count", self.width);
            return Err(RowError::new(1, "", "", message).into());
        }
        let has = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted));
        let mut errors = missing(&names, has);
        for (place, column) in self.places.iter_mut().zip(COLUMNS) {
            let mut found = names.iter().enumerate().filter(|(_, name)| name.eq_ignore_ascii_case(column));
            *place = found.next().map(|(place, _)| place);
            if found.next().is_some() {
                errors.push(RowError::new(
                    1,
                    *column,
                    column,
                    Message::new("focus-column-twice").with("column", *column),
                ));
            }
        }
        self.version = Version::of(has);
        if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
    }

    fn text(&self, column: Column) -> Result<Option<&str>, Box<RowError>> {
        let name = COLUMNS[column as usize];
        let Some(cell) = self.places[column as usize].and_then(|place| self.record.get(place)) else { return Ok(None) };
        let error = |message| Box::new(RowError::new(self.row, name, &String::from_utf8_lossy(cell), message));
        let text = str::from_utf8(cell).map_err(|_| error(Message::new("focus-encoding")))?;
        if cell.len() > limits::IMPORT_CELL_BYTES {
            let most = format!("{} KiB", limits::IMPORT_CELL_BYTES >> 10);
            return Err(error(Message::new("focus-cell-size").with("most", most)));
        }
        if text.contains('\0') {
            return Err(error(Message::new("error-text-nul")));
        }
        Ok(cell::known(text))
    }

    fn read_row(&self) -> Result<FocusRow, Vec<RowError>> {
        self.check_width()?;
        let mut cells = Cells { reader: self, errors: Vec::new() };
        let row = cells.row();
        match row {
            Some(row) if cells.errors.is_empty() => Ok(row),
            _ => Err(cells.errors),
        }
    }

    /// A row with fewer or more cells than the header is a broken line; a mark too many at its end is not.
    fn check_width(&self) -> Result<(), Vec<RowError>> {
        let count = self.record.len();
        let surplus = || self.record.iter().skip(self.width).any(|cell| !cell.is_empty());
        if count == self.width || (count > self.width && !surplus()) {
            return Ok(());
        }
        let message = Message::new("focus-row-width").with("count", count).with("expected", self.width);
        Err(vec![RowError::new(self.row, "", "", message)])
    }
}

/// The rows, each read or with all that is wrong in it. A file that cannot be read on ends in an error.
impl Iterator for Reader {
    type Item = Result<FocusRow, Vec<RowError>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        loop {
            match self.read_record() {
                // Spreadsheets leave rows of nothing but separators behind.
                Ok(true) if self.record.as_slice().is_empty() => {}
                Ok(true) => {
                    self.rows_read += 1;
                    return Some(self.read_row());
                }
                Ok(false) => {
                    self.ended = true;
                    return None;
                }
                Err(error) => {
                    self.ended = true;
                    return Some(Err(vec![error]));
                }
            }
        }
    }
}

/// The cells of one row, with what is wrong in them.
struct Cells<'a> {
    reader: &'a Reader,
    errors: Vec<RowError>,
}

impl<'a> Cells<'a> {
    fn cell(&mut self, column: Column) -> Option<&'a str> {
        self.reader.text(column).map_err(|error| self.errors.push(*error)).ok().flatten()
    }

    fn refuse(&mut self, column: Column, value: &str, message: Message) {
        self.errors.push(RowError::new(self.reader.row, COLUMNS[column as usize], value, message));
    }

    fn text(&mut self, column: Column) -> String {
        self.cell(column).unwrap_or_default().to_owned()
    }

    fn id(&mut self, column: Column, most: usize) -> String {
        let text = self.cell(column).unwrap_or_default();
        if let Err(message) = cell::id(text, most) {
            self.refuse(column, text, message);
        }
        text.to_owned()
    }

    /// Reads a cell that may be without value.
    fn maybe<T>(&mut self, column: Column, read: impl Fn(&str) -> Result<T, Message>) -> Option<T> {
        let text = self.cell(column)?;
        read(text).map_err(|message| self.refuse(column, text, message)).ok()
    }

    /// Reads a cell that must have a value.
    fn must<T>(&mut self, column: Column, read: impl Fn(&str) -> Result<T, Message>) -> Option<T> {
        let before = self.errors.len();
        let value = self.maybe(column, read);
        if value.is_none() && self.errors.len() == before {
            let place = self.reader.places[column as usize];
            let shown = place.and_then(|place| self.reader.record.get(place)).unwrap_or_default();
            self.refuse(column, &String::from_utf8_lossy(shown), Message::new("focus-value-missing"));
        }
        value
    }

    /// A half-open span: both ends must be there, the end after the start.
    fn span(&mut self, start: Column, end: Column) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        let (from, to) = (self.must(start, cell::time), self.must(end, cell::time));
        let (from, to) = (from?, to?);
        if from < to {
            return Some((from, to));
        }
        let shown = self.cell(end).unwrap_or_default();
        self.refuse(end, shown, Message::new("focus-span").with("start", COLUMNS[start as usize]));
        None
    }

    /// Reads all cells, so that all errors of the row are found; nothing where one that must be there is not.
    fn row(&mut self) -> Option<FocusRow> {
        let most = limits::IMPORT_ID_BYTES;
        let before = self.errors.len();
        let billing_account = self.id(Column::BillingAccount, most);
        if billing_account.is_empty() && self.errors.len() == before {
            self.refuse(Column::BillingAccount, "", Message::new("focus-value-missing"));
        }
        let sub_account = self.id(Column::SubAccount, most);
        let service = self.id(Column::Service, most);
        let category = self.must(Column::Category, cell::category);
        let class = self.maybe(Column::Class, cell::class);
        let charge = self.span(Column::ChargeStart, Column::ChargeEnd);
        let billing = self.span(Column::BillingStart, Column::BillingEnd);
        let [quantity, list, contracted, billed, effective] =
            [Column::Quantity, Column::List, Column::Contracted, Column::Billed, Column::Effective]
                .map(|column| self.maybe(column, cell::number));
        let currency = self.must(Column::Currency, str::parse::<Currency>);
        let tags = self.maybe(Column::Tags, cell::tags);
        let resource_id = self.id(Column::ResourceId, limits::IMPORT_RESOURCE_BYTES);
        let [unit, description, resource_name, resource_type, region, service_category] = [
            Column::Unit,
            Column::Description,
            Column::ResourceName,
            Column::ResourceType,
            Column::Region,
            Column::ServiceCategory,
        ]
        .map(|column| self.text(column));
        let provider = self.text(Column::ServiceProvider);
        let provider_name = if provider.is_empty() { self.text(Column::Provider) } else { provider };
        let ((charge_start, charge_end), (billing_start, billing_end)) = (charge?, billing?);
        Some(FocusRow {
            row: self.reader.row,
            billing_account,
            sub_account,
            service,
            service_category,
            category: category?,
            class,
            charge_start,
            charge_end,
            billing_start,
            billing_end,
            period: Period::of_billing_period(billing_start, billing_end),
            quantity,
            unit,
            list,
            contracted,
            billed,
            effective,
            currency: currency?,
            description,
            tags,
            resource_id,
            resource_name,
            resource_type,
            region,
            provider_name,
        })
    }
}

#[cfg(test)]
mod tests;
