//! Numbers and days as spreadsheets write them, made plain. What can be read in two ways is asked, never guessed.

use unicode_normalization::UnicodeNormalization as _;

use crate::locale::Message;
use crate::text::{excerpt, word_set};

word_set! {
    /// How the numbers of a file are written; said by a person, because `1.000` does not tell.
    NumberFormat, "error-number-format", {
        /// `1,234.56`, also `1 234.56` and `1’234.56`.
        Point = "point", "number-format-point", [];
        /// `1.234,56`, also `1 234,56`.
        Comma = "comma", "number-format-comma", [];
    }
}

impl NumberFormat {
    const fn mark(self) -> char {
        match self {
            Self::Point => '.',
            Self::Comma => ',',
        }
    }
}

/// What stands between groups of three digits besides the mark that the fraction does not have.
const BETWEEN_GROUPS: [char; 3] = [' ', '\'', '’'];

/// Currency signs and words that may stand before or after an amount.
const SIGNS: [&str; 7] = ["¥", "$", "€", "£", "元", "RMB", "CNY"];

/// A number as plain digits with a point.
///
/// # Errors
/// A number that can be read in two ways, where nothing was said of how the file writes them; one that does not fit what was said.
pub fn number(cell: &str, format: Option<NumberFormat>) -> Result<String, Message> {
    let text: String = cell.nfkc().collect();
    let text = text.trim();
    if text.is_empty() {
        return Ok(String::new());
    }
    let Some(format) = format else {
        return if is_doubtful(text) {
            Err(Message::new("import-number-asks").with("value", excerpt(cell.trim())))
        } else {
            Ok(text.to_owned())
        };
    };
    let refuse = || {
        let message = Message::new("import-number-differs").with("value", excerpt(cell.trim()));
        message.with("format", format.as_str())
    };
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let amount = without_sign_of_currency(unsigned);
    let (sign, amount) = amount.strip_prefix('-').map_or((sign, amount), |rest| ("-", rest));
    let (whole, fraction) = amount.split_once(format.mark()).map_or((amount, None), |(one, two)| (one, Some(two)));
    let between = |c: char| BETWEEN_GROUPS.contains(&c) || (c != format.mark() && (c == ',' || c == '.'));
    let groups: Vec<&str> = whole.split(between).collect();
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let grouped = match groups[..] {
        [_] => true,
        [first, ..] => (1..=3).contains(&first.len()) && groups[1..].iter().all(|group| group.len() == 3),
        [] => false,
    };
    let one_mark = whole.matches(between).collect::<std::collections::BTreeSet<_>>().len() <= 1;
    let is_number = grouped && one_mark && groups.iter().all(|group| digits(group)) && fraction.is_none_or(digits);
    if !is_number || (groups.concat().is_empty() && fraction.is_none_or(str::is_empty)) {
        return Err(refuse());
    }
    let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
    Ok(format!("{sign}{}{fraction}", groups.concat()))
}

fn without_sign_of_currency(text: &str) -> &str {
    let text = SIGNS.iter().find_map(|sign| text.strip_prefix(sign)).unwrap_or(text);
    SIGNS.iter().find_map(|sign| text.strip_suffix(sign)).unwrap_or(text).trim()
}

/// Whether somebody must say how it is meant: `1.000`, and all that is grouped or has a sign of a currency.
fn is_doubtful(text: &str) -> bool {
    let amount = without_sign_of_currency(text.trim_start_matches('-'));
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == ',' || BETWEEN_GROUPS.contains(&c);
    if !amount.contains(|c: char| c.is_ascii_digit()) || !amount.chars().all(is_number) {
        // No number at all, which is another error.
        return false;
    }
    let has_sign = amount.len() < text.trim_start_matches('-').len();
    let has_group =
        amount.contains(|c: char| c == ',' || BETWEEN_GROUPS.contains(&c)) || amount.matches('.').count() > 1;
    let thousands = amount.split_once('.').is_some_and(|(whole, fraction)| {
        fraction.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0')
    });
    has_sign || has_group || thousands
}

/// A day with its year first: `2026年3月31日`, `2026.3.31` and a spreadsheet's `2026/3/31 0:00:00` become plain ones. Whatever is
/// none of these stays, to be read or refused as any day is.
///
/// # Errors
/// A day with its year last, which can be read in two ways.
pub fn day(cell: &str) -> Result<String, Message> {
    let text: String = cell.nfkc().collect();
    let text = text.trim();
    let text = text.strip_suffix(" 0:00:00").or_else(|| text.strip_suffix(" 00:00:00")).unwrap_or(text);
    let text = text.strip_suffix(" 0:00").or_else(|| text.strip_suffix(" 00:00")).unwrap_or(text);
    let digits = |text: &str, least: usize, most: usize| {
        (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
    };
    let chinese = text.strip_suffix(['日', '号']).map(|text| text.replace(['年', '月'], "-"));
    let dotted = chinese.unwrap_or_else(|| text.replace('.', "-"));
    let parts: Vec<&str> = dotted.split(['-', '/']).map(str::trim).collect();
    match parts[..] {
        [year, month, day] if digits(year, 4, 4) && digits(month, 1, 2) && digits(day, 1, 2) => {
            Ok(format!("{year}-{month}-{day}"))
        }
        [one, other, year]
            if digits(one, 1, 2) && digits(other, 1, 2) && (digits(year, 2, 2) || digits(year, 4, 4)) =>
        {
            Err(Message::new("import-day-order").with("value", excerpt(text)))
        }
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &str, format: Option<NumberFormat>) -> Result<String, &'static str> {
        number(cell, format).map_err(|message| message.key)
    }

    // case I06
    #[test]
    fn a_declared_format_reads_every_way_of_writing_it() {
        use NumberFormat::{Comma, Point};
        for (cell, format) in [
            ("1,234.56", Point),
            ("1 234.56", Point),
            ("1\u{a0}234.56", Point),
            ("1\u{202f}234,56", Comma),
            ("1’234.56", Point),
            ("1'234.56", Point),
            ("1234.56", Point),
            ("￥1,234.56", Point),
            ("¥ 1,234.56", Point),
            ("1,234.56元", Point),
            ("１，２３４．５６", Point),
            ("1.234,56", Comma),
            ("1 234,56", Comma),
            ("1234,56", Comma),
            ("€1.234,56", Comma),
        ] {
            assert_eq!(read(cell, Some(format)).unwrap(), "1234.56", "{cell}");
        }
        assert_eq!(read("￥1,234", Some(Point)).unwrap(), "1234");
        assert_eq!(read("1.000", Some(Point)).unwrap(), "1.000");
        assert_eq!(read("1.000", Some(Comma)).unwrap(), "1000");
        assert_eq!(read("-¥1,234.5", Some(Point)).unwrap(), "-1234.5");
        assert_eq!(read("¥-5", Some(Point)).unwrap(), "-5");
        assert_eq!(read("  ", Some(Point)).unwrap(), "");
        assert_eq!(read(",5", Some(Comma)).unwrap(), ".5");
        for (cell, format) in [
            ("1.234,56", Point),
            ("1,234.56", Comma),
            ("1,23.4", Point),
            ("12,34,567", Point),
            ("1,234 567", Point),
            ("1234,567", Point),
            ("1.2.3", Point),
            ("five", Point),
            ("¥", Point),
            (".", Point),
        ] {
            assert_eq!(read(cell, Some(format)), Err("import-number-differs"), "{cell}");
        }
    }

    // case I06
    #[test]
    fn without_one_what_can_be_read_in_two_ways_is_asked() {
        for cell in
            ["1.000", "68.000", "1,234", "1,234.56", "1.234,56", "1 234,56", "1’234.56", "￥1,234", "¥5", "1.000.000"]
        {
            assert_eq!(read(cell, None), Err("import-number-asks"), "{cell}");
        }
        for plain in ["1234.56", "0", "4", "0.125", "68000.5", "1234.567", "1.0000", "-5", "12.5", ""] {
            assert_eq!(read(plain, None).unwrap(), plain);
        }
        assert_eq!(read("soon", None).unwrap(), "soon", "another error tells of it");
    }

    #[test]
    fn a_day_has_its_year_first_or_is_refused() {
        for cell in [
            "2026-3-31",
            "2026/3/31",
            "2026年3月31日",
            "2026年03月31号",
            "2026.3.31",
            "2026/3/31 0:00:00",
            "２０２６/３/３１",
        ] {
            let plain = day(cell).unwrap();
            assert_eq!(crate::dates::parse_date(&plain).unwrap().to_string(), "2026-03-31", "{cell}");
        }
        for cell in ["3/4/2026", "31/3/2026", "3-4-2026", "31.3.2026", "3/4/26"] {
            assert_eq!(day(cell).unwrap_err().key, "import-day-order", "{cell}");
        }
        for cell in ["", "soon", "46112", "2026年3月", "2026-13-01"] {
            assert_eq!(day(cell).unwrap().is_empty(), cell.is_empty());
            assert!(crate::dates::parse_date(&day(cell).unwrap()).is_err(), "{cell}");
        }
    }
}
