//! Which currency an amount is in: a code of ISO 4217, or one of the organisation's own.

use std::fmt;
use std::str::FromStr;

use iso_currency::Currency as Iso;
use serde::{Deserialize, Serialize};

use crate::locale::{Arg, Message};
use crate::text::{excerpt, filled};

/// Currencies that ended and are met in old bills and in files of old rates, with their minor units. The library's table has
/// all that are in force and a few more of these.
const ENDED: &[(&str, u32)] = &[
    ("ANG", 2),
    ("BYR", 0),
    ("CYP", 2),
    ("EEK", 2),
    ("LTL", 2),
    ("LVL", 2),
    ("MRO", 2),
    ("MTL", 2),
    ("ROL", 0),
    ("SIT", 2),
    ("SKK", 2),
    ("STD", 2),
    ("TRL", 0),
    ("VEF", 2),
    ("ZMK", 2),
];

/// Codes of the standard that name no money: for tests, and "no currency".
const NO_MONEY: [&str; 2] = ["XTS", "XXX"];

/// A currency: a code of ISO 4217 in force, one that ended and is still met in bills, or a code of the organisation's own for
/// tokens, cards and credits of a provider (4 to 12 of `A-Z 0-9 _`, beginning with a letter).
///
/// Three letters are always the standard's, so that a slip like CNX does not become a currency that no rate ever converts. Small
/// letters are made capitals; `RMB` and 人民币 are `CNY`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type, Serialize, Deserialize)]
#[sqlx(transparent)]
#[serde(try_from = "String", into = "String")]
pub struct Currency(String);

impl Currency {
    /// The code, as it is stored and shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Digits after the point that an amount always shows: JPY 0, CNY 2, KWD 3. Two where ISO 4217 names none
    /// (gold), and for a code of one's own.
    pub fn minor_units(&self) -> u32 {
        let ended = || ENDED.iter().find(|(code, _)| *code == self.0).map(|(_, units)| *units);
        Iso::from_code(&self.0).and_then(Iso::exponent).map(u32::from).or_else(ended).unwrap_or(2)
    }
}

fn is_known(code: &str) -> bool {
    (Iso::from_code(code).is_some() && !NO_MONEY.contains(&code)) || ENDED.iter().any(|(ended, _)| *ended == code)
}

/// A code of the organisation's own.
fn is_own(code: &str) -> bool {
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (4..=12).contains(&code.len()) && code.chars().all(plain) && code.starts_with(|c: char| c.is_ascii_uppercase())
}

impl FromStr for Currency {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let code = filled(text)?.to_ascii_uppercase();
        let code = if code == "RMB" || code == "人民币" { "CNY".to_owned() } else { code };
        if is_known(&code) || is_own(&code) {
            Ok(Self(code))
        } else {
            Err(Message::new("error-currency").with("value", excerpt(text)))
        }
    }
}

impl TryFrom<String> for Currency {
    type Error = Message;

    fn try_from(text: String) -> Result<Self, Message> {
        text.parse()
    }
}

impl From<Currency> for String {
    fn from(currency: Currency) -> Self {
        currency.0
    }
}

impl From<&Currency> for Arg {
    fn from(currency: &Currency) -> Self {
        Self::Text(currency.0.clone())
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    #[test]
    fn a_currency_is_a_code_of_iso_4217_or_one_of_our_own() {
        assert_eq!(currency(" cny ").as_str(), "CNY");
        assert_eq!(currency("RMB"), currency("CNY"));
        assert_eq!(currency("人民币"), currency("CNY"));
        for own in ["TOKEN", "CARD_HOURS", "credits"] {
            assert_eq!(currency(own).minor_units(), 2, "{own}");
        }
        assert_eq!("".parse::<Currency>().unwrap_err().key, "error-text-empty");
        for code in ["C", "￥", "ABC", "XYZ", "CNH", "XXX", "XTS", "156", "1ABC", "AB-CD", "TOOLONGACODES"] {
            assert_eq!(code.parse::<Currency>().unwrap_err().key, "error-currency", "{code:?}");
        }
        assert_eq!(
            Locale::En.say(&"XYZ".parse::<Currency>().unwrap_err()),
            "\"XYZ\" is not a currency; write a code of ISO 4217 like CNY or USD, or one of your own of 4 to 12 capitals, digits and \
             underscores."
        );
    }

    #[test]
    fn currencies_that_ended_are_still_read() {
        for code in ["BGN", "HRK", "ZWL", "LTL", "TRL"] {
            assert_eq!(currency(code).as_str(), code);
        }
        for (code, _) in ENDED {
            assert_eq!(Iso::from_code(code), None, "{code} is in the library's table already");
        }
    }

    #[test]
    fn minor_units_are_those_of_the_standard() {
        for (code, units) in [("JPY", 0), ("CNY", 2), ("KWD", 3), ("CLF", 4), ("XAU", 2), ("BYR", 0), ("SKK", 2)] {
            assert_eq!(currency(code).minor_units(), units, "{code}");
        }
    }
}
