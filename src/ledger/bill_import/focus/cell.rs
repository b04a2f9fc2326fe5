//! What one cell of a FOCUS file says. Written without detours: a big bill has ten million of them.

use std::collections::BTreeMap;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use serde_json::Value;

use crate::ledger::charge::{Category, Class};
use crate::limits;
use crate::locale::Message;
use crate::money;
use crate::text::excerpt;

/// The cell's text, or nothing where the provider says that it knows none: an empty cell, NULL, N/A, - or --.
pub(super) fn known(text: &str) -> Option<&str> {
    let word = text.trim_ascii();
    let null = match word.len() {
        0 => true,
        1 | 2 => word.bytes().all(|b| b == b'-'),
        3 => word.eq_ignore_ascii_case("N/A"),
        4 => word.eq_ignore_ascii_case("NULL"),
        5 => word.eq_ignore_ascii_case("[N/A]"),
        _ => false,
    };
    if null { None } else { Some(text) }
}

/// An exact number in plain or E notation.
pub(super) fn number(text: &str) -> Result<Decimal, Message> {
    let text = text.trim_ascii();
    match short_number(text.as_bytes()) {
        Some(number) => Ok(number),
        None => money::parse_scientific(text),
    }
}

/// The numbers that nearly every cell holds: a minus, up to 18 digits, one point.
fn short_number(text: &[u8]) -> Option<Decimal> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let (mut units, mut count, mut places, mut point) = (0_i64, 0, 0_u32, false);
    for byte in digits {
        match byte {
            b'0'..=b'9' => {
                units = units * 10 + i64::from(byte - b'0');
                count += 1;
                places += u32::from(point);
            }
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if count == 0 || count > 18 {
        return None;
    }
    while places > 0 && units % 10 == 0 {
        units /= 10;
        places -= 1;
    }
    Some(Decimal::new(if negative { -units } else { units }, places))
}

/// An instant: `2026-03-01T00:00:00Z` and what real files write instead: a space for the T, no zone (then UTC), no
/// seconds, no time, an offset.
pub(super) fn time(text: &str) -> Result<DateTime<Utc>, Message> {
    let text = text.trim_ascii();
    let refuse = || Message::new("focus-time").with("value", excerpt(text));
    let instant = instant(text.as_bytes()).ok_or_else(refuse)?;
    if !(limits::FIRST_YEAR..=limits::LAST_YEAR).contains(&instant.year()) {
        return Err(Message::new("error-date-year")
            .with("value", excerpt(text))
            .with("first", limits::FIRST_YEAR.to_string())
            .with("last", limits::LAST_YEAR.to_string()));
    }
    Ok(instant)
}

fn instant(text: &[u8]) -> Option<DateTime<Utc>> {
    let date = text.get(..10)?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    let year = i32::try_from(digits(&date[..4])?).ok()?;
    let date = NaiveDate::from_ymd_opt(year, digits(&date[5..7])?, digits(&date[8..])?)?;
    let mut rest = &text[10..];
    if rest.is_empty() {
        return Some(date.and_time(NaiveTime::MIN).and_utc());
    }
    if !matches!(rest[0], b'T' | b't' | b' ') || rest.len() < 6 || rest[3] != b':' {
        return None;
    }
    let (hour, minute) = (digits(&rest[1..3])?, digits(&rest[4..6])?);
    rest = &rest[6..];
    let (mut second, mut micros) = (0, 0);
    if let Some(seconds) = rest.strip_prefix(b":") {
        second = digits(seconds.get(..2)?)?;
        rest = &seconds[2..];
        if let Some(fraction) = rest.strip_prefix(b".") {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let kept = length.min(6);
            if length == 0 || length > 12 {
                return None;
            }
            // The database keeps microseconds; further digits are cut off.
            micros = digits(&fraction[..kept])? * 10_u32.pow(6 - u32::try_from(kept).ok()?);
            rest = &fraction[length..];
        }
    }
    let time = NaiveTime::from_hms_micro_opt(hour, minute, second, micros)?;
    let local = date.and_time(time).and_utc();
    match rest {
        b"" | b"Z" | b"z" | b" UTC" => Some(local),
        [sign @ (b'+' | b'-'), hours1, hours2, b':', minutes1, minutes2] => {
            let (hours, minutes) = (digits(&[*hours1, *hours2])?, digits(&[*minutes1, *minutes2])?);
            if hours > 15 || minutes > 59 {
                return None;
            }
            let offset = TimeDelta::minutes(i64::from(hours * 60 + minutes));
            Some(if *sign == b'+' { local - offset } else { local + offset })
        }
        _ => None,
    }
}

fn digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0_u32, |number, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

/// FOCUS ChargeCategory, whatever the case.
pub(super) fn category(text: &str) -> Result<Category, Message> {
    let word = text.trim_ascii();
    Category::ALL
        .iter()
        .copied()
        .find(|category| category.as_str().eq_ignore_ascii_case(word))
        .ok_or_else(|| Message::new("focus-category").with("value", excerpt(word)))
}

/// FOCUS ChargeClass, whatever the case.
pub(super) fn class(text: &str) -> Result<Class, Message> {
    let word = text.trim_ascii();
    if word.eq_ignore_ascii_case(Class::Correction.as_str()) {
        Ok(Class::Correction)
    } else {
        Err(Message::new("focus-class").with("value", excerpt(word)))
    }
}

/// A text that is part of a key: not longer than an index can hold, and not made a number by a spreadsheet.
pub(super) fn id(text: &str, most: usize) -> Result<(), Message> {
    if text.len() > most {
        return Err(Message::new("focus-id-length").with("most", most));
    }
    let scientific = text.split_once("E+").is_some_and(|(mantissa, exponent)| {
        let numeric = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        numeric(mantissa) && numeric(exponent)
    });
    if scientific { Err(Message::new("focus-id-number").with("value", excerpt(text))) } else { Ok(()) }
}

/// The tags as JSON text in one form: keys in order, no spaces. Keys stay as they are, so two that differ by a space are
/// two; of a key that is really there twice, the last is kept, as the database would do.
pub(super) fn tags(text: &str) -> Result<String, Message> {
    let refuse = || Message::new("focus-tags").with("value", excerpt(text.trim()));
    let tags: BTreeMap<String, Value> = serde_json::from_str(text).map_err(|_| refuse())?;
    if tags.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)) {
        return Err(Message::new("error-text-nul"));
    }
    serde_json::to_string(&tags).map_err(|_| refuse())
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(values) => values.iter().any(holds_nul),
        Value::Object(map) => map.iter().any(|(key, value)| key.contains('\0') || holds_nul(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_number_reads_as_the_exact_reader_reads_it() {
        for text in ["0", "-0", "1", "-1.50", "0.00000080000", ".5", "5.", "999999999999999999", "0.999999999999999999"]
        {
            let exact = money::parse_decimal(text).unwrap();
            assert_eq!(number(text), Ok(exact), "{text}");
            assert_eq!(money::plain(number(text).unwrap()), money::plain(exact));
        }
        assert_eq!(number("1.81E-8"), Ok(Decimal::new(181, 10)));
        assert_eq!(number("2.323760000E-9"), number("0.00000000232376"));
        for text in ["$10,000.00", "1,000", "", ".", "-", "1.2.3", "NaN", "１"] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_without_zone_are_utc() {
        let at = |text| time(text).unwrap().to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
        assert_eq!(at("2024-09-01 00:00:00"), "2024-09-01T00:00:00Z");
        assert_eq!(at("2024-09-01"), "2024-09-01T00:00:00Z");
        assert_eq!(at("2023-11-13T10:00Z"), "2023-11-13T10:00:00Z");
        assert_eq!(at("2023-11-04T23:00:00.000Z"), "2023-11-04T23:00:00Z");
        assert_eq!(at("2023-11-04T23:00:00.1234567Z"), "2023-11-04T23:00:00.123456Z");
        assert_eq!(at("2024-09-01T00:00:00+08:00"), "2024-08-31T16:00:00Z");
        assert_eq!(at(" 2019-04-17 23:34:22 UTC "), "2019-04-17T23:34:22Z");
        for text in [
            "5/1/25",
            "2024-02-30",
            "2024-09-01T25:00:00Z",
            "2024-09-01T00:00:00+0800",
            "1889-01-01",
            "202409",
            "日期日期日期",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_for_nothing_are_nothing() {
        for word in ["", "  ", "NULL", "null", "N/A", "n/a", "[N/A]", "-", "--"] {
            assert_eq!(known(word), None, "{word:?}");
        }
        for word in ["0", "Nil", "---", " x "] {
            assert_eq!(known(word), Some(word));
        }
    }

    #[test]
    fn tags_have_one_form_and_keep_keys_that_differ_by_a_space() {
        assert_eq!(
            tags(r#"{ "org": "b", " org": "a", "spot": true }"#).unwrap(),
            r#"{" org":"a","org":"b","spot":true}"#
        );
        for text in [r#"["a"]"#, "org:b", r#"{"a":"#, r#"{"a":"\u0000"}"#] {
            assert!(tags(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_id_that_a_spreadsheet_made_a_number_is_refused() {
        assert_eq!(id("1.23457E+15", 600).unwrap_err().key, "focus-id-number");
        assert_eq!(id("i-0E+a1", 600), Ok(()));
        assert_eq!(id("arn:aws:ec2:us-east-1:1234:instance/i-0", 600), Ok(()));
        assert_eq!(id(&"x".repeat(601), 600).unwrap_err().key, "focus-id-length");
    }
}
