//! The rows of a bill become lines: numbered resources, hashes, and the text that is copied into the database.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};
use rust_decimal::Decimal;
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;

use super::file::{Fingerprint, Hashing};
use super::focus::{self, FocusRow};
use super::{Progress, Summary};
use crate::dates::{self, Zone};
use crate::ids::ProviderId;
use crate::ledger::charge::Class;
use crate::locale::Message;
use crate::money;
use crate::row_error::{RowError, RowErrors};

/// Rows between two tellings of the progress.
const ROWS_BETWEEN_TELLINGS: u64 = 1_000;
/// The size of a chunk on its way into the database.
const CHUNK: usize = 128 * 1024;

/// What was found in the file.
pub(super) struct Read {
    /// Rows, errors, format; the rest is still to be compared.
    pub summary: Summary,
    /// What the lines charge for.
    pub resources: Vec<BilledResource>,
    /// SHA-256 over the hashes of all lines, in the order of the file.
    pub digest: [u8; 32],
    /// The file's own name and size; nothing where it could not be read to its end.
    pub fingerprint: Option<Fingerprint>,
}

/// What a line charges for, as the bill writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BilledResource {
    pub account: String,
    pub external_id: String,
    pub name: String,
    pub kind: String,
    pub region: String,
    /// Only of a stand-in, as the next two.
    pub sub_account: String,
    pub service: String,
    pub category: &'static str,
}

impl BilledResource {
    /// What the row names, or what stands in where it names nothing.
    fn of(row: &FocusRow) -> Self {
        let stand_in = row.resource_id.is_empty();
        let only_then = |text: &str| if stand_in { text.to_owned() } else { String::new() };
        Self {
            account: row.billing_account.clone(),
            external_id: row.resource_id.clone(),
            name: row.resource_name.clone(),
            kind: row.resource_type.clone(),
            region: row.region.clone(),
            sub_account: only_then(&row.sub_account),
            service: only_then(&row.service),
            category: if stand_in { row.category.as_str() } else { "" },
        }
    }

    fn key(&self) -> String {
        [&*self.account, &*self.external_id, &*self.sub_account, &*self.service, self.category].join("\u{1F}")
    }
}

/// Reads the file on a thread of its own, and sends its lines as they are to be copied. Ends early where nobody takes them.
pub(super) fn read(
    bytes: Box<dyn io::Read + Send>,
    provider: ProviderId,
    zone: Zone,
    lines: &mpsc::Sender<Vec<u8>>,
    progress: &Progress,
) -> Read {
    let (bytes, mut told) = Hashing::new(bytes);
    let mut read = Read { summary: Summary::default(), resources: Vec::new(), digest: [0; 32], fingerprint: None };
    let mut reader = match focus::open(bytes) {
        Ok(reader) => reader,
        Err(errors) => {
            read.summary.errors = errors;
            return read;
        }
    };
    read.summary.format = format!("FOCUS {}", reader.version());
    let mut writer = Lines::new(provider, zone);
    let mut good = 0;
    while let Some(row) = reader.next() {
        match row {
            Ok(row) => {
                good += 1;
                writer.add(&row);
                if writer.chunk.len() >= CHUNK && lines.blocking_send(std::mem::take(&mut writer.chunk)).is_err() {
                    // The database refused the lines before; that error is told.
                    return read;
                }
            }
            Err(errors) => read.summary.errors.add(errors),
        }
        if reader.rows_read().is_multiple_of(ROWS_BETWEEN_TELLINGS) {
            progress(reader.rows_read());
        }
    }
    progress(reader.rows_read());
    let _ = lines.blocking_send(writer.chunk);
    read.summary.rows_read = reader.rows_read();
    read.summary.rows_rejected = reader.rows_read() - good;
    read.resources = writer.resources;
    read.digest = writer.digest.finalize().into();
    read.fingerprint = told.try_recv().ok();
    read.summary.file_sha256 = read.fingerprint.map(|it| it.sha256);
    if reader.rows_read() == 0 && read.summary.is_good() {
        read.summary.errors = RowErrors::from(RowError::of_file(Message::new("error-import-no-rows")));
    }
    read
}

/// Lines on their way into the database.
struct Lines {
    provider: ProviderId,
    zone: Zone,
    /// Every resource that was named, in the order of its first line.
    resources: Vec<BilledResource>,
    numbers: HashMap<String, usize>,
    /// How often a line's content was met; keyed by a part of its hash.
    seen: HashMap<u64, u32>,
    digest: Sha256,
    /// What is not sent yet.
    chunk: Vec<u8>,
    /// The content at hand, kept for its room.
    content: Vec<u8>,
}

impl Lines {
    fn new(provider: ProviderId, zone: Zone) -> Self {
        Self {
            provider,
            zone,
            resources: Vec::new(),
            numbers: HashMap::new(),
            seen: HashMap::new(),
            digest: Sha256::new(),
            chunk: Vec::with_capacity(CHUNK + 4096),
            content: Vec::new(),
        }
    }

    fn add(&mut self, row: &FocusRow) {
        let hash = self.hash(row);
        let resource = self.number(BilledResource::of(row));
        self.digest.update(hash);
        put_line(&mut self.chunk, row, resource, dates::today(row.charge_start, self.zone), &hash);
    }

    /// The number of a resource; a new one for one that was not named before.
    fn number(&mut self, resource: BilledResource) -> usize {
        *self.numbers.entry(resource.key()).or_insert_with(|| {
            self.resources.push(resource);
            self.resources.len() - 1
        })
    }

    /// The hash of the normalised columns, and then of it with the ordinal among equal lines: the file met again gives the same
    /// hashes, and two equal lines in one file give two.
    fn hash(&mut self, row: &FocusRow) -> [u8; 32] {
        self.content.clear();
        self.content.extend_from_slice(&self.provider.0.to_be_bytes());
        row.normalised(&mut self.content);
        let content: [u8; 32] = Sha256::digest(&self.content).into();
        let first: [u8; 8] = content[..8].try_into().expect("a hash has 32 bytes");
        let ordinal = self.seen.entry(u64::from_be_bytes(first)).or_insert(0);
        *ordinal += 1;
        Sha256::new().chain_update(content).chain_update(ordinal.to_be_bytes()).finalize().into()
    }
}

/// A row of `copy … from stdin` in its text format.
pub(super) struct Copied<'a>(pub &'a mut Vec<u8>);

impl Copied<'_> {
    /// A text, escaped.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for byte in text.bytes() {
            match byte {
                b'\\' => self.0.extend_from_slice(b"\\\\"),
                b'\t' => self.0.extend_from_slice(b"\\t"),
                b'\n' => self.0.extend_from_slice(b"\\n"),
                b'\r' => self.0.extend_from_slice(b"\\r"),
                byte => self.0.push(byte),
            }
        }
        self.0.push(b'\t');
        self
    }

    fn maybe(&mut self, text: Option<&str>) -> &mut Self {
        if let Some(text) = text {
            self.text(text)
        } else {
            self.0.extend_from_slice(b"\\N\t");
            self
        }
    }

    fn number(&mut self, number: Option<Decimal>) -> &mut Self {
        self.maybe(number.map(money::plain).as_deref())
    }

    fn instant(&mut self, at: DateTime<Utc>) -> &mut Self {
        self.text(&at.to_rfc3339_opts(SecondsFormat::Micros, true))
    }

    /// Ends the row.
    pub(super) fn end(&mut self) {
        self.0.pop();
        self.0.push(b'\n');
    }
}

fn put_line(chunk: &mut Vec<u8>, row: &FocusRow, resource: usize, charged_on: NaiveDate, hash: &[u8; 32]) {
    let mut key = String::with_capacity(32);
    for byte in &hash[..16] {
        write!(key, "{byte:02x}").expect("writing to a string cannot fail");
    }
    Copied(chunk)
        .text(&row.row.to_string())
        .text(&resource.to_string())
        .text(&row.period.first_day().to_string())
        .text(&row.billing_account)
        .text(&row.sub_account)
        .text(&row.service)
        .text(row.category.as_str())
        .maybe(row.class.map(Class::as_str))
        .instant(row.charge_start)
        .instant(row.charge_end)
        .text(&charged_on.to_string())
        .number(row.quantity)
        .text(&row.unit)
        .number(row.list)
        .number(row.contracted)
        .number(row.billed)
        .number(row.effective)
        .text(row.currency.as_str())
        .text(&row.description)
        .maybe(row.tags.as_deref())
        .text(&key)
        .end();
}

#[cfg(test)]
mod tests {
    use super::*;

    const BILL: &str = "BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,BillingPeriodEnd,BillingPeriodStart,\
        ChargeCategory,ChargeClass,ChargeDescription,ChargePeriodEnd,ChargePeriodStart,ContractedCost,EffectiveCost,\
        InvoiceIssuerName,ListCost,PricingQuantity,PricingUnit,ServiceCategory,ServiceName,ProviderName,ResourceId\n";

    fn rows(costs: &[(&str, &str)]) -> Vec<FocusRow> {
        let mut text = BILL.to_owned();
        for (cost, resource) in costs {
            writeln!(
                text,
                "{cost},a-1,,USD,2024-10-01,2024-09-01,Usage,,one\ttab,2024-09-18 23:00:00,2024-09-18 22:00:00,,,X,,,,,VM,X,{resource}"
            )
            .unwrap();
        }
        focus::open(io::Cursor::new(text)).unwrap().map(|row| row.unwrap()).collect()
    }

    fn hashes(provider: i64, rows: &[FocusRow]) -> Vec<[u8; 32]> {
        let mut lines = Lines::new(ProviderId(provider), Zone::default());
        rows.iter().map(|row| lines.hash(row)).collect()
    }

    #[test]
    fn equal_lines_count_and_the_same_file_gives_the_same_hashes() {
        let rows = rows(&[("1.5", "i-1"), ("1.5", "i-1"), ("1.50", "i-1"), ("1.5", "i-2")]);
        let once = hashes(1, &rows);
        let distinct: std::collections::HashSet<_> = once.iter().collect();
        assert_eq!(distinct.len(), 4, "the same number written otherwise is the same line, met a third time");
        assert_eq!(hashes(1, &rows), once);
        assert_ne!(hashes(2, &rows)[0], once[0], "another provider's line is another line");
        let mut reversed = rows.clone();
        reversed.reverse();
        let again: std::collections::HashSet<_> = hashes(1, &reversed).into_iter().collect();
        assert_eq!(again, once.into_iter().collect(), "the order of the rows does not matter");
    }

    #[test]
    fn lines_are_written_for_copy_and_resources_are_numbered() {
        let mut lines = Lines::new(ProviderId(1), Zone::default());
        for row in rows(&[("1.5", "i-1"), ("2", ""), ("3", "i-1")]) {
            lines.add(&row);
        }
        let text = String::from_utf8(lines.chunk).unwrap();
        let fields: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(fields.iter().map(|row| row[1]).collect::<Vec<_>>(), ["0", "1", "0"]);
        assert_eq!(fields[0][10], "2024-09-19", "22:00 UTC is the next day in Shanghai");
        assert_eq!((fields[0][13], fields[0][15]), ("\\N", "1.5"), "what is not known is null");
        assert_eq!(fields[0][18], "one\\ttab");
        assert_eq!(lines.resources.len(), 2);
        assert_eq!((lines.resources[0].service.as_str(), lines.resources[1].service.as_str()), ("", "VM"));
        assert_eq!(lines.resources[1].category, "usage");
    }
}
