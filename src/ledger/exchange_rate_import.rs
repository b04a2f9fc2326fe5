//! Files of exchange rates: the European Central Bank's daily file and its history, and a plain `base,quote,date,rate`.
//!
//! A **row** of the counts is a row of the file: a day of the European Central Bank's files with all its currencies, one rate of
//! a plain file. A row is new if it brings at least one rate that the ledger does not have, else known. `rates_new` counts
//! the rates themselves. An equal rate met again is known; one that differs from the ledger's, or from an earlier row of the
//! file, is an error of its row and column. All or nothing; one entry in the history.

use std::collections::{BTreeMap, HashMap};

use chrono::NaiveDate;
use csv::{ByteRecord, ReaderBuilder, Trim};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;

use crate::actor::{Actor, Permission, Source as Path};
use crate::app::App;
use crate::audit::{Change, Object};
use crate::dates;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::ledger::exchange_rate::{self, EURO, Source};
use crate::limits;
use crate::locale::{Locale, Message};
use crate::money::{self, Currency};
use crate::row_error::{RowError, RowErrors};
use crate::text::excerpt;

/// What an import did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows of the file without its header; the sum of the next three.
    pub rows_read: u64,
    /// Rows with at least one rate that the ledger does not have.
    pub rows_new: u64,
    /// Rows whose rates the ledger has just so.
    pub rows_known: u64,
    /// Rows with something wrong. If there are any, nothing at all is written.
    pub rows_rejected: u64,
    /// Rates that the ledger does not have.
    pub rates_new: u64,
    /// What is wrong.
    pub errors: RowErrors,
}

impl Summary {
    /// Whether nothing is wrong.
    pub fn is_right(&self) -> bool {
        self.errors.is_empty()
    }

    /// As the contract's JSON, messages in this language.
    pub fn json(&self, locale: Locale) -> Value {
        json!({
            "rows_read": self.rows_read,
            "rows_new": self.rows_new,
            "rows_known": self.rows_known,
            "rows_rejected": self.rows_rejected,
            "rates_new": self.rates_new,
            "errors": self.errors.said(locale),
        })
    }
}

/// One rate of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "a rate is what both the line and its number are called")]
struct Rate {
    row: u64,
    base: Currency,
    quote: Currency,
    rated_on: NaiveDate,
    rate: Decimal,
}

/// Parallel lists: place, base, quote, day, rate.
type Lists = (Vec<i64>, Vec<String>, Vec<String>, Vec<NaiveDate>, Vec<Decimal>);

/// A file that was read, whether everything in it is right or not.
#[derive(Debug)]
pub struct Parsed {
    source: Source,
    /// Whether each rate stands in a column of its currency.
    by_column: bool,
    rates: Vec<Rate>,
    /// Rows by number, with what is wrong in them.
    rows: BTreeMap<u64, Vec<RowError>>,
    /// What is wrong with the file as a whole.
    whole: Option<RowError>,
}

/// Reads a file, in whichever encoding it is. It knows nothing of the ledger.
pub fn parse(bytes: &[u8]) -> Parsed {
    let text = Encoding::of(bytes).decode(bytes);
    let bytes = text.as_ref().map_or(bytes, String::as_bytes);
    let mut parsed =
        Parsed { source: Source::Manual, by_column: false, rates: Vec::new(), rows: BTreeMap::new(), whole: None };
    if let Err(error) = parsed.read(bytes) {
        parsed.whole = Some(error);
    }
    parsed
}

/// The columns of a plain file.
const PLAIN: [&str; 4] = ["base", "quote", "date", "rate"];

/// How the columns are to be read.
enum Columns {
    /// Where the columns of a plain file stand.
    Plain([usize; 4]),
    /// The European Central Bank's: the day first, then a currency a column; nothing for a column without a name.
    Ecb(Vec<Option<Currency>>),
}

fn columns(header: &ByteRecord) -> Result<Columns, RowError> {
    let names: Vec<String> = header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let place = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    if let [Some(base), Some(quote), Some(date), Some(rate)] = PLAIN.map(place) {
        return Ok(Columns::Plain([base, quote, date, rate]));
    }
    if !names.first().is_some_and(|name| name.eq_ignore_ascii_case("date")) || place("USD").is_none() {
        return Err(RowError::new(1, "", &names.join(","), Message::new("rates-header")));
    }
    let mut currencies: Vec<Option<Currency>> = vec![None];
    for name in names.iter().skip(1) {
        if name.is_empty() {
            currencies.push(None);
            continue;
        }
        let currency: Currency = name.parse().map_err(|message| RowError::new(1, name.clone(), name, message))?;
        if currency.as_str() == EURO || currencies.contains(&Some(currency.clone())) {
            let message = Message::new("rates-column").with("column", excerpt(name));
            return Err(RowError::new(1, name.clone(), name, message));
        }
        currencies.push(Some(currency));
    }
    Ok(Columns::Ecb(currencies))
}

/// `2026-10-30`, or `30 October 2026` as the European Central Bank's daily file has it.
fn day(text: &str) -> Result<NaiveDate, Message> {
    match NaiveDate::parse_from_str(text, "%d %B %Y") {
        Ok(date) => dates::parse_date(&date.to_string()),
        Err(_) => dates::parse_date(text),
    }
}

impl Parsed {
    fn read(&mut self, bytes: &[u8]) -> Result<(), RowError> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(&[0x1F, 0x8B]) {
            return Err(RowError::of_file(Message::new("rates-packed")));
        }
        let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let delimiter = [b',', b';', b'\t'].into_iter().find(|mark| first_line.contains(mark)).unwrap_or(b',');
        let mut csv = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .delimiter(delimiter)
            .from_reader(bytes);
        let mut record = ByteRecord::new();
        let mut next = |record: &mut ByteRecord| {
            csv.read_byte_record(record)
                .map_err(|error| RowError::of_file(Message::new("rates-unreadable").with("reason", error.to_string())))
        };
        if !next(&mut record)? {
            return Err(RowError::of_file(Message::new("rates-file-empty")));
        }
        let (columns, width) = (columns(&record)?, record.len());
        self.by_column = matches!(columns, Columns::Ecb(_));
        self.source = if self.by_column { Source::Ecb } else { Source::Manual };
        let mut row = 1;
        while next(&mut record)? {
            row += 1;
            if record.as_slice().is_empty() {
                continue;
            }
            let errors = self.read_row(row, &columns, width, &record);
            self.rows.insert(row, errors);
        }
        if self.rows.is_empty() {
            return Err(RowError::of_file(Message::new("rates-no-rows")));
        }
        self.find_contradictions();
        Ok(())
    }

    fn read_row(&mut self, row: u64, columns: &Columns, width: usize, record: &ByteRecord) -> Vec<RowError> {
        if record.len() != width {
            let message = Message::new("rates-row-width").with("count", record.len()).with("expected", width);
            return vec![RowError::new(row, "", "", message)];
        }
        let cell = |place: usize| String::from_utf8_lossy(record.get(place).unwrap_or_default());
        let mut errors = Vec::new();
        let mut refuse = |column: &str, value: &str, message| {
            errors.push(RowError::new(row, column.to_owned(), value, message));
        };
        match columns {
            Columns::Plain(places) => {
                let [base, quote, date, rate] = places.map(cell);
                let base_read = base.parse::<Currency>().map_err(|message| refuse("base", &base, message)).ok();
                let quote_read = quote.parse::<Currency>().map_err(|message| refuse("quote", &quote, message)).ok();
                let rated_on = day(&date).map_err(|message| refuse("date", &date, message)).ok();
                let number = exchange_rate::parse_rate(&rate).map_err(|message| refuse("rate", &rate, message)).ok();
                if base_read.is_some() && base_read == quote_read {
                    refuse("quote", &quote, Message::new("error-rate-pair").with("currency", excerpt(&base)));
                } else if let (Some(base), Some(quote), Some(rated_on), Some(rate)) =
                    (base_read, quote_read, rated_on, number)
                {
                    self.rates.push(Rate { row, base, quote, rated_on, rate });
                }
            }
            Columns::Ecb(currencies) => {
                let date = cell(0);
                let rated_on = day(&date).map_err(|message| refuse("Date", &date, message)).ok();
                for (place, currency) in currencies.iter().enumerate() {
                    let Some(currency) = currency else { continue };
                    let text = cell(place);
                    if text.is_empty() || text == "N/A" {
                        continue;
                    }
                    let number = exchange_rate::parse_rate(&text);
                    let number = number.map_err(|message| refuse(currency.as_str(), &text, message)).ok();
                    if let (Some(rate), Some(rated_on)) = (number, rated_on) {
                        let base = EURO.parse().expect("EUR is a currency");
                        self.rates.push(Rate { row, base, quote: currency.clone(), rated_on, rate });
                    }
                }
            }
        }
        errors
    }

    /// The same day's rate twice in the file: an equal one is left out, another is an error.
    fn find_contradictions(&mut self) {
        let mut first: HashMap<(Currency, Currency, NaiveDate), (u64, Decimal)> = HashMap::new();
        let mut wrong = Vec::new();
        self.rates.retain(|rate| {
            let key = (rate.base.clone(), rate.quote.clone(), rate.rated_on);
            match first.get(&key) {
                None => {
                    first.insert(key, (rate.row, rate.rate));
                    true
                }
                Some((row, earlier)) => {
                    if *earlier != rate.rate {
                        let message = Message::new("rates-twice")
                            .with("row", i64::try_from(*row).unwrap_or(i64::MAX))
                            .with("earlier", money::plain(*earlier));
                        wrong.push((rate.clone(), message));
                    }
                    false
                }
            }
        });
        for (rate, message) in wrong {
            self.refuse(&rate, message);
        }
    }

    fn refuse(&mut self, rate: &Rate, message: Message) {
        let column = if self.by_column { rate.quote.to_string() } else { "rate".to_owned() };
        let error = RowError::new(rate.row, column, &money::plain(rate.rate), message);
        self.rows.entry(rate.row).or_default().push(error);
    }

    /// The rates as `unnest` takes them.
    fn lists(&self) -> Lists {
        let rates = &self.rates;
        (
            (0..).take(rates.len()).collect(),
            rates.iter().map(|rate| rate.base.to_string()).collect(),
            rates.iter().map(|rate| rate.quote.to_string()).collect(),
            rates.iter().map(|rate| rate.rated_on).collect(),
            rates.iter().map(|rate| rate.rate).collect(),
        )
    }

    /// The first and the last day of its rates.
    pub fn days(&self) -> Option<(NaiveDate, NaiveDate)> {
        let days = || self.rates.iter().map(|rate| rate.rated_on);
        Some((days().min()?, days().max()?))
    }

    /// SHA-256 of the rates in one form, in the order of the file.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for rate in &self.rates {
            let line = format!("{},{},{},{}\n", rate.base, rate.quote, rate.rated_on, money::plain(rate.rate));
            hash.update(line.as_bytes());
        }
        hex::encode(hash.finalize())
    }
}

/// Compares a file with the ledger: what is new, what is known, what differs.
pub async fn compare(connection: &mut PgConnection, parsed: &mut Parsed) -> Result<Summary> {
    let (places, bases, quotes, days, rates) = parsed.lists();
    let present = sqlx::query!(
        r#"select n.place as "place!", e.rate as "rate!: Decimal"
           from unnest($1::bigint[], $2::text[], $3::text[], $4::date[]) n (place, base, quote, rated_on)
           join exchange_rate e on e.base = n.base and e.quote = n.quote and e.rated_on = n.rated_on"#,
        &places,
        &bases,
        &quotes,
        &days,
    )
    .fetch_all(connection)
    .await?;
    let mut known = vec![false; rates.len()];
    for found in present {
        let place = usize::try_from(found.place).map_err(|_| Error::internal("a place below zero"))?;
        known[place] = true;
        if found.rate != rates[place] {
            let rate = parsed.rates[place].clone();
            let message = exchange_rate::differs(&rate.base, &rate.quote, rate.rated_on, found.rate);
            parsed.refuse(&rate, message);
        }
    }
    let mut brings = BTreeMap::new();
    let mut summary = Summary::default();
    for (rate, known) in parsed.rates.iter().zip(known) {
        *brings.entry(rate.row).or_insert(false) |= !known;
        summary.rates_new += u64::from(!known);
    }
    for (row, errors) in &parsed.rows {
        summary.rows_read += 1;
        if !errors.is_empty() {
            summary.rows_rejected += 1;
            summary.errors.add(errors.clone());
        } else if brings.get(row).copied().unwrap_or_default() {
            summary.rows_new += 1;
        } else {
            summary.rows_known += 1;
        }
    }
    if let Some(error) = &parsed.whole {
        summary.errors.add(vec![error.clone()]);
    }
    Ok(summary)
}

/// Imports a file, unless this is a `dry_run` or something is wrong in it; see the module's text. The history names the
/// actor and this path.
pub async fn run(app: &App, actor: &Actor, bytes: &[u8], file_name: &str, dry_run: bool) -> Result<Summary> {
    if bytes.len() as u64 > limits::UPLOAD_BYTES {
        let most = format!("{} MiB", limits::UPLOAD_BYTES >> 20);
        let errors = RowError::of_file(Message::new("rates-file-size").with("most", most)).into();
        return Ok(Summary { errors, ..Summary::default() });
    }
    let mut parsed = parse(bytes);
    let mut tx = app.write_bulk(&actor.clone().through(Path::Import)).await?;
    tx.allow(Permission::Catalogue, None)?;
    if !dry_run {
        tx.be_alone("rates from a file").await?;
    }
    let summary = compare(tx.connection(), &mut parsed).await?;
    if dry_run || !summary.is_right() || summary.rates_new == 0 {
        return Ok(summary);
    }
    let (_, bases, quotes, days, rates) = parsed.lists();
    let now = tx.now();
    let inserted = sqlx::query!(
        r#"insert into exchange_rate (base, quote, rated_on, rate, source, created_at)
           select n.base, n.quote, n.rated_on, n.rate, $5, $6
           from unnest($1::text[], $2::text[], $3::date[], $4::numeric[]) n (base, quote, rated_on, rate)
           on conflict on constraint exchange_rate_one do nothing"#,
        &bases,
        &quotes,
        &days,
        &rates as _,
        parsed.source.as_str(),
        now,
    )
    .execute(tx.connection())
    .await?
    .rows_affected();
    if inserted != summary.rates_new {
        // Somebody added a rate of these days after they were compared.
        return Err(Error::Conflict(Message::new("rates-race")));
    }
    tx.record_change(fact(&parsed, &summary, bytes, file_name)).await?;
    tx.commit().await?;
    Ok(summary)
}

/// The one entry of an import.
fn fact(parsed: &Parsed, summary: &Summary, bytes: &[u8], file_name: &str) -> Change {
    let days = parsed.days();
    Change {
        action: "rates.imported",
        object: Object { kind: "exchange_rate", id: None, name: excerpt(file_name), project: None, shared: true },
        before: None,
        after: json!({
            "file_name": excerpt(file_name),
            "sha256": hex::encode(Sha256::digest(bytes)),
            "source": parsed.source.as_str(),
            "rows_read": summary.rows_read,
            "rows_new": summary.rows_new,
            "rows_known": summary.rows_known,
            "rates_new": summary.rates_new,
            "first_day": days.map(|days| days.0),
            "last_day": days.map(|days| days.1),
            "rows_digest": parsed.digest(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(parsed: &Parsed) -> Vec<String> {
        let line = |rate: &Rate| format!("{} {}/{} {} {}", rate.row, rate.base, rate.quote, rate.rated_on, rate.rate);
        parsed.rates.iter().map(line).collect()
    }

    fn errors(parsed: &Parsed) -> Vec<(u64, String, String, &'static str)> {
        let all = parsed.rows.values().flatten().chain(&parsed.whole);
        all.map(|e| (e.row, e.column.clone().into_owned(), e.value.clone(), e.message.key)).collect()
    }

    #[test]
    fn the_daily_file_of_the_european_central_bank_is_read() {
        let parsed = parse(b"Date, USD, JPY, \n30 October 2026, 1.1172, 175.68, \n");
        assert_eq!(shown(&parsed), ["2 EUR/USD 2026-10-30 1.1172", "2 EUR/JPY 2026-10-30 175.68"]);
        assert_eq!((errors(&parsed), parsed.source), (vec![], Source::Ecb));
    }

    #[test]
    fn its_history_is_read_without_what_is_not_available() {
        let parsed = parse(b"Date,USD,CYP,\n2025-12-31,1.175,N/A,\n\n2025-12-30,1.1757,N/A,\n");
        assert_eq!(shown(&parsed), ["2 EUR/USD 2025-12-31 1.175", "3 EUR/USD 2025-12-30 1.1757"]);
        assert_eq!((errors(&parsed), parsed.rows.len()), (vec![], 2));
    }

    #[test]
    fn a_plain_file_is_read_in_any_order_of_columns() {
        let parsed = parse("\u{feff}date;rate;quote;base\r\n2026/3/2;7.1;cny;usd\r\n".as_bytes());
        assert_eq!(shown(&parsed), ["2 USD/CNY 2026-03-02 7.1"]);
        assert_eq!(parsed.source, Source::Manual);
    }

    // case I12
    #[test]
    fn each_wrong_cell_is_named_by_row_column_and_value() {
        let parsed = parse(
            b"base,quote,date,rate\nUSD,CNY,2026-03-02,7.1\nUSD,CNY,2026-02-30,7\nUSD,USD,2026-03-02,1\n\
              $,CNY,2026-03-02,0\nUSD,CNY,2026-03-02,7.2\nUSD,CNY,2026-03-02,7.10\nUSD,CNY\n",
        );
        let text = |column: &str, value: &str| (column.to_owned(), value.to_owned());
        let found = errors(&parsed);
        let named = found.iter().map(|(row, column, value, key)| (*row, (column.clone(), value.clone()), *key));
        assert_eq!(
            named.collect::<Vec<_>>(),
            [
                (3, text("date", "2026-02-30"), "error-date-unreal"),
                (4, text("quote", "USD"), "error-rate-pair"),
                (5, text("base", "$"), "error-currency"),
                (5, text("rate", "0"), "error-rate-positive"),
                (6, text("rate", "7.2"), "rates-twice"),
                (8, text("", ""), "rates-row-width"),
            ]
        );
        assert_eq!(parsed.rates.len(), 1, "the equal one in row 7 is not read twice");
    }

    // case I04
    #[test]
    fn a_file_without_rows_or_of_another_kind_is_an_error() {
        let key = |bytes: &[u8]| parse(bytes).whole.unwrap().message.key;
        assert_eq!(key(b""), "rates-file-empty");
        assert_eq!(key(b"base,quote,date,rate\n"), "rates-no-rows");
        assert_eq!(key(b"name,amount\nx,1\n"), "rates-header");
        assert_eq!(key(b"PK\x03\x04"), "rates-packed");
        assert_eq!(key(b"Date,USD,USD\n2026-03-02,1,2\n"), "rates-column");
    }
}
