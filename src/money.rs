//! Exact decimals, currencies, largest remainder.
//!
//! The rules (`docs/model.md` 4). A number of a row is a [`Decimal`]: read exactly from its text or refused, at most 28
//! significant digits and 28 after the point. Whatever is computed from rows is a [`Sum`], which has no limit and
//! therefore never rounds; [`Sum::to_decimal`] goes back and refuses a number that would lose digits. Nothing passes
//! through a float. Amounts are **not rounded for display**: [`display`] writes at least the minor units of the
//! currency and all further digits that the amount really has. Only [`Sum::rounded`], [`Sum::ratio`] and
//! [`largest_remainder`] round, and each says how.

mod currency;

use std::cmp::Reverse;
use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub};

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, Zero};
use rust_decimal::Decimal;
use serde::{Serialize, Serializer};

use crate::limits;
use crate::locale::Message;
use crate::text::{excerpt, filled};

pub use currency::Currency;

/// The largest amount or quantity that a person may type, either sign.
pub fn max_amount() -> Decimal {
    Decimal::new(limits::AMOUNT_CENTS, 2)
}

/// The same for people.
pub fn max_shown() -> String {
    grouped(&max_amount().into(), 2)
}

/// Reads a number that a person wrote, exactly: an optional sign, digits with at most one point. Space around it does not
/// count, nor do zeros that change nothing; the result has none of them.
///
/// # Errors
/// Anything else: an exponent, currency signs, separators of thousands, a comma, NaN; more than 28 significant digits or
/// digits after the point.
pub fn parse_decimal(text: &str) -> Result<Decimal, Message> {
    let text = filled(text)?;
    // Only a program or a spreadsheet that shortened it writes one; typed, it is a slip of the finger.
    if text.contains(['e', 'E']) {
        return Err(Message::new("error-decimal").with("value", excerpt(text)));
    }
    parse_scientific(text)
}

/// Reads a number as a provider's bill writes it, exactly: as [`parse_decimal`], and with `E` and an exponent too.
///
/// # Errors
/// As [`parse_decimal`], but for the exponent.
pub fn parse_scientific(text: &str) -> Result<Decimal, Message> {
    let text = filled(text)?;
    let refuse = || Message::new("error-decimal").with("value", excerpt(text));
    let too_long =
        || Message::new("error-decimal-digits").with("value", excerpt(text)).with("most", limits::DECIMAL_DIGITS);
    let (negative, unsigned) = split_sign(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(split_sign(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return Err(refuse());
    }
    let digits = [whole, fraction].concat();
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    let exponent: i64 = match exponent {
        Some((_, digits)) if digits.is_empty() || !is_digits(digits) => return Err(refuse()),
        _ if significant.is_empty() => return Ok(Decimal::ZERO),
        Some((negative, digits)) => {
            let exponent: i64 = digits.parse::<i32>().map_err(|_| too_long())?.into();
            if negative { -exponent } else { exponent }
        }
        None => 0,
    };
    let trailing_zeros = digits.len() - digits.trim_end_matches('0').len();
    let length = |text: &str| i64::try_from(text.len()).map_err(|_| too_long());
    // The number is `significant` × 10^-places.
    let places = length(fraction)? - i64::try_from(trailing_zeros).map_err(|_| too_long())? - exponent;
    let zeros = usize::try_from(-places.min(0)).map_err(|_| too_long())?;
    let places = u32::try_from(places.max(0)).map_err(|_| too_long())?;
    if significant.len() + zeros > limits::DECIMAL_DIGITS || places > limits::DECIMAL_PLACES {
        return Err(too_long());
    }
    let mantissa: i128 = [significant, &"0".repeat(zeros)].concat().parse().map_err(|_| too_long())?;
    Decimal::try_from_i128_with_scale(if negative { -mantissa } else { mantissa }, places).map_err(|_| too_long())
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// Reads an amount that a person typed: a number within ± 99,999,999,999.99.
///
/// # Errors
/// As [`parse_decimal`]; beyond the limit.
pub fn parse_amount(text: &str) -> Result<Decimal, Message> {
    within(text, "error-amount-limit")
}

/// Reads a number that is not larger than a person's slip of the hand, or refuses it in these words.
fn within(text: &str, refusal: &'static str) -> Result<Decimal, Message> {
    let number = parse_decimal(text)?;
    if number.abs() > max_amount() {
        return Err(Message::new(refusal).with("value", plain(number)).with("most", max_shown()));
    }
    Ok(number)
}

/// Reads a quantity, which may be given back: a number within ± 99,999,999,999.99.
///
/// # Errors
/// As [`parse_decimal`]; beyond the limit.
pub fn parse_quantity(text: &str) -> Result<Decimal, Message> {
    within(text, "error-quantity-limit")
}

/// Reads a price that a person typed: an amount that is not negative. Zero is a price (a free trial), and not the same as
/// no price.
///
/// # Errors
/// As [`parse_amount`]; below zero.
pub fn parse_price(text: &str) -> Result<Decimal, Message> {
    let price = parse_amount(text)?;
    if price < Decimal::ZERO {
        return Err(Message::new("error-price-negative").with("value", plain(price)));
    }
    Ok(price)
}

/// The number in plain digits: no exponent, no zeros that change nothing, no minus before zero.
pub fn plain(number: Decimal) -> String {
    if number.is_zero() { "0".to_owned() } else { number.normalize().to_string() }
}

/// An exact number of any length: a total of the database, or what was computed from rows.
///
/// Two sums are equal when the numbers are, however they were written. As JSON it is a string of plain digits.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct Sum(BigDecimal);

impl Sum {
    /// Nothing, which is not the same as unknown.
    pub fn zero() -> Self {
        Self::default()
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.0.sign() == Sign::Minus
    }

    /// This many times (or: converted at this rate), exactly.
    #[must_use]
    pub fn times(&self, factor: impl Into<Self>) -> Self {
        Self(&self.0 * factor.into().0)
    }

    /// The number as one of a row.
    ///
    /// # Errors
    /// It has more than 28 significant digits or digits after the point, so that a row could not hold it unchanged.
    pub fn to_decimal(&self) -> Result<Decimal, Message> {
        parse_decimal(&self.plain())
    }

    /// The number in plain digits: no exponent, no zeros that change nothing.
    pub fn plain(&self) -> String {
        let number = self.0.normalized();
        if number.fractional_digit_count() < 0 {
            number.with_scale(0).to_plain_string()
        } else {
            number.to_plain_string()
        }
    }

    /// Rounded to `places` after the point, halves away from zero (四舍五入), as a person would check it by hand.
    #[must_use]
    pub fn rounded(&self, places: u32) -> Self {
        self.ratio(&Self(BigDecimal::from(1)), places).expect("one is not zero")
    }

    /// This divided by `divisor`, to `places` after the point, halves away from zero. Nothing where the divisor is zero.
    pub fn ratio(&self, divisor: &Self, places: u32) -> Option<Self> {
        let common = self.0.fractional_digit_count().max(divisor.0.fractional_digit_count());
        let (over, under) = (self.units(common), divisor.units(common));
        if under.is_zero() {
            return None;
        }
        let negative = (over.sign() == Sign::Minus) != (under.sign() == Sign::Minus);
        let doubled = BigInt::from(over.magnitude().clone()) * BigInt::from(10).pow(places) * 2;
        let under = BigInt::from(under.magnitude().clone());
        let nearest: BigInt = (doubled + &under) / (under * 2);
        Some(Self(BigDecimal::new(if negative { -nearest } else { nearest }, places.into())))
    }

    /// The number in units of 10^-scale; `scale` must not be less than the number's own.
    fn units(&self, scale: i64) -> BigInt {
        self.0.with_scale(scale).into_bigint_and_scale().0
    }
}

impl From<Decimal> for Sum {
    fn from(number: Decimal) -> Self {
        Self(BigDecimal::new(BigInt::from(number.mantissa()), number.scale().into()))
    }
}

impl From<&Decimal> for Sum {
    fn from(number: &Decimal) -> Self {
        Self::from(*number)
    }
}

impl From<&Self> for Sum {
    fn from(number: &Self) -> Self {
        number.clone()
    }
}

impl<T: Into<Self>> Add<T> for Sum {
    type Output = Self;

    fn add(self, other: T) -> Self {
        Self(self.0 + other.into().0)
    }
}

impl<T: Into<Self>> AddAssign<T> for Sum {
    fn add_assign(&mut self, other: T) {
        self.0 += other.into().0;
    }
}

impl<T: Into<Self>> Sub<T> for Sum {
    type Output = Self;

    fn sub(self, other: T) -> Self {
        Self(self.0 - other.into().0)
    }
}

impl Neg for Sum {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl<T: Into<Self>> std::iter::Sum<T> for Sum {
    fn sum<I: Iterator<Item = T>>(numbers: I) -> Self {
        numbers.fold(Self::zero(), |sum, number| sum + number)
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plain())
    }
}

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.plain())
    }
}

/// An amount for people, without its currency: `272,000.00`. At least the minor units of the currency, and every further
/// digit that the amount has (`0.000125`): nothing is rounded.
pub fn display(amount: impl Into<Sum>, currency: &Currency) -> String {
    grouped(&amount.into(), currency.minor_units())
}

/// A number for people: groups of three, at least `least_places` digits after the point, nothing rounded.
pub fn grouped(number: &Sum, least_places: u32) -> String {
    let plain = number.plain();
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut text = String::with_capacity(plain.len() * 4 / 3 + 4);
    text.push_str(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let places = fraction.len().max(least_places as usize);
    if places > 0 {
        text.push('.');
        text.push_str(fraction);
        text.extend(std::iter::repeat_n('0', places - fraction.len()));
    }
    text
}

/// Divides `total` in proportion to the weights so that the parts **always add up to it**: each part is cut off at
/// `scale` digits after the point (or at the total's own, if it has more), and the units that are left go one each to the
/// largest remainders, the earlier part first among equals.
///
/// Weights count by their size; all zero means equal parts. No weights give no parts.
pub fn largest_remainder(total: Decimal, weights: &[Decimal], scale: u32) -> Vec<Decimal> {
    let total = total.normalize();
    let scale = fitting_scale(total, scale);
    let widest = weights.iter().map(Decimal::scale).max().unwrap_or(0);
    let mut weights: Vec<BigInt> = weights
        .iter()
        .map(|weight| BigInt::from(weight.abs().mantissa()) * BigInt::from(10).pow(widest - weight.scale()))
        .collect();
    if weights.iter().all(Zero::is_zero) {
        weights.fill(BigInt::from(1));
    }
    let whole: BigInt = weights.iter().sum();
    let units = BigInt::from(total.abs().mantissa()) * BigInt::from(10).pow(scale - total.scale());
    let mut parts: Vec<BigInt> = weights.iter().map(|weight| &units * weight / &whole).collect();
    let remainders: Vec<BigInt> = weights.iter().map(|weight| &units * weight % &whole).collect();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| Reverse(&remainders[i]));
    let mut left = units - parts.iter().sum::<BigInt>();
    for i in order {
        if left.is_zero() {
            break;
        }
        parts[i] += 1;
        left -= 1;
    }
    parts
        .into_iter()
        .map(|part| {
            let part = i128::try_from(part).expect("a part is not larger than the total, which fits");
            let part = if total.is_sign_negative() { -part } else { part };
            Decimal::from_i128_with_scale(part, scale).normalize()
        })
        .collect()
}

/// The wanted digits after the point, as many of them as a row can hold beside the total's whole part, but never fewer
/// than the total has.
fn fitting_scale(total: Decimal, wanted: u32) -> u32 {
    let wanted = wanted.min(limits::DECIMAL_PLACES);
    let fits = |scale: &u32| {
        let factor = 10_i128.checked_pow(scale.saturating_sub(total.scale()));
        factor
            .and_then(|factor| total.mantissa().checked_mul(factor))
            .is_some_and(|units| Decimal::try_from_i128_with_scale(units, *scale).is_ok())
    };
    (total.scale()..=wanted).rev().find(fits).unwrap_or(total.scale())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::locale::Locale;

    fn number(text: &str) -> Decimal {
        parse_scientific(text).unwrap()
    }

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    #[test]
    fn numbers_are_read_exactly() {
        for (text, exact) in [
            ("1234.56", "1234.56"),
            ("-196.84", "-196.84"),
            ("+7", "7"),
            (".5", "0.5"),
            ("5.", "5"),
            (" 0.000001793700000 ", "0.0000017937"),
            ("1.81E-8", "0.0000000181"),
            ("2.323760000E-9", "0.00000000232376"),
            ("1.5e+3", "1500"),
            ("120E-1", "12"),
            ("-0.00", "0"),
            ("0E999999999999", "0"),
            ("1E-28", "0.0000000000000000000000000001"),
            ("9999999999999999999999999999", "9999999999999999999999999999"),
            ("1.0000000000000000000000000000000000000000", "1"),
            ("0000000000000000000000000000000000001", "1"),
        ] {
            assert_eq!(plain(number(text)), exact, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_plain_number_is_refused() {
        assert_eq!(parse_decimal(" ").unwrap_err().key, "error-text-empty");
        for text in [
            "-",
            ".",
            "$10,000.00",
            "1,234.56",
            "1 234",
            "￥5",
            "NaN",
            "Infinity",
            "1e",
            "1e1.5",
            "--1",
            "1.2.3",
            "0x1F",
            "１２",
            "1_000",
        ] {
            assert_eq!(parse_decimal(text).unwrap_err().key, "error-decimal", "{text:?}");
            assert_eq!(parse_scientific(text).unwrap_err().key, "error-decimal", "{text:?}");
        }
    }

    #[test]
    fn what_would_lose_digits_is_refused() {
        for text in
            ["1E28", "1E-29", "1E999999999999", "12345678901234567890123456789", "0.12345678901234567890123456789"]
        {
            assert_eq!(parse_scientific(text).unwrap_err().key, "error-decimal-digits", "{text:?}");
        }
    }

    #[test]
    fn a_person_writes_no_exponent() {
        for text in ["1e3", "1E3", "1.5e+3", "120E-1", "0E0", "1E99"] {
            for read in [parse_decimal, parse_amount, parse_quantity, parse_price] {
                assert_eq!(read(text).unwrap_err().key, "error-decimal", "{text:?}");
            }
        }
        assert_eq!(plain(parse_decimal(" -0012.50 ").unwrap()), "-12.5");
    }

    // case M10
    #[test]
    fn a_typed_amount_has_a_limit_with_a_message() {
        assert_eq!(plain(parse_amount("99999999999.99").unwrap()), "99999999999.99");
        assert!(parse_amount("-99999999999.99").is_ok());
        assert_eq!(
            Locale::En.say(&parse_amount("100000000000").unwrap_err()),
            "100000000000 is beyond the largest amount, 99,999,999,999.99, of either sign."
        );
        let total: Sum = (0..100_000).map(|_| max_amount()).sum();
        assert_eq!(total.plain(), "9999999999999000");
    }

    #[test]
    fn a_quantity_has_the_same_limit_in_its_own_words() {
        assert!(parse_quantity("-99999999999.99").is_ok());
        assert_eq!(
            Locale::En.say(&parse_quantity("100000000000").unwrap_err()),
            "100000000000 is not a quantity that can be kept; it must lie between -99,999,999,999.99 and 99,999,999,999.99."
        );
    }

    // case I17, case M19
    #[test]
    fn a_price_may_be_zero_but_not_negative() {
        assert_eq!(parse_price("0").unwrap(), Decimal::ZERO);
        assert_eq!(parse_price("-1").unwrap_err().key, "error-price-negative");
    }

    // case M04
    #[test]
    fn an_amount_shows_at_least_the_minor_units_of_its_currency() {
        assert_eq!(display(number("500"), &currency("JPY")), "500");
        assert_eq!(display(number("1.5"), &currency("KWD")), "1.500");
        assert_eq!(display(number("272000"), &currency("CNY")), "272,000.00");
        assert_eq!(display(number("-1234567.891"), &currency("USD")), "-1,234,567.891");
        // Not rounded: half a fen is shown as it is.
        assert_eq!(display(number("0.005"), &currency("CNY")), "0.005");
    }

    // case M11
    #[test]
    fn amounts_have_no_long_tails_and_lose_no_digit() {
        assert_eq!(display(Sum::from(number("0.1")) + number("0.2"), &currency("USD")), "0.30");
        assert_eq!(display(number("0.000125"), &currency("USD")), "0.000125");
    }

    #[test]
    fn a_total_that_no_row_can_hold_is_refused_not_cut() {
        let large: Sum = Sum::from(number("9999999999999999999999999999")) + number("0.1");
        assert_eq!(large.plain(), "9999999999999999999999999999.1");
        assert_eq!(large.to_decimal().unwrap_err().key, "error-decimal-digits");
        let product = Sum::from(number("0.123456789012345")).times(number("0.123456789012345"));
        assert_eq!(product.plain(), "0.015241578753238669120562399025");
        assert!(product.to_decimal().is_err());
        assert_eq!(product.rounded(28).to_decimal().unwrap(), number("0.0152415787532386691205623990"));
    }

    #[test]
    fn rounding_is_half_away_from_zero() {
        for (value, rounded) in
            [("0.125", "0.13"), ("-0.125", "-0.13"), ("0.124999", "0.12"), ("2.5", "2.5"), ("1E3", "1000")]
        {
            assert_eq!(Sum::from(number(value)).rounded(2).plain(), rounded);
        }
        let ratio = |a: &str, b: &str| Sum::from(number(a)).ratio(&number(b).into(), 2).map(|ratio| ratio.plain());
        assert_eq!(ratio("295560", "551").as_deref(), Some("536.41"));
        assert_eq!(ratio("-1", "-3").as_deref(), Some("0.33"));
        assert_eq!(ratio("-2", "3").as_deref(), Some("-0.67"));
        assert_eq!(ratio("1", "0"), None);
    }

    #[test]
    fn parts_go_to_the_largest_remainders() {
        let parts = |total: &str, weights: &[&str], scale| {
            let weights: Vec<Decimal> = weights.iter().map(|weight| number(weight)).collect();
            largest_remainder(number(total), &weights, scale).into_iter().map(plain).collect::<Vec<_>>()
        };
        assert_eq!(parts("100", &["1", "1", "1"], 2), ["33.34", "33.33", "33.33"]);
        assert_eq!(parts("-100", &["1", "1", "1"], 2), ["-33.34", "-33.33", "-33.33"]);
        assert_eq!(parts("396000", &["31", "28", "31"], 0), ["136400", "123200", "136400"]);
        assert_eq!(parts("0.001", &["0", "0"], 2), ["0.001", "0"]);
        assert_eq!(parts("10", &[], 2), Vec::<String>::new());
    }

    fn decimals() -> impl Strategy<Value = Decimal> {
        let most = 10_i128.pow(28) - 1;
        (-most..=most, 0_u32..=28).prop_map(|(mantissa, scale)| Decimal::from_i128_with_scale(mantissa, scale))
    }

    proptest! {
        #[test]
        fn a_number_reads_back_from_its_own_text(value in decimals()) {
            prop_assert_eq!(number(&plain(value)), value);
            prop_assert_eq!(Sum::from(value).plain(), plain(value));
            prop_assert_eq!(Sum::from(value).to_decimal().unwrap(), value);
            let scientific = format!("{}E-{}", value.mantissa(), value.scale());
            prop_assert_eq!(number(&scientific), value);
        }

        #[test]
        fn reading_never_panics(text in "[-+0-9.eE ]{0,40}") {
            let _ = parse_decimal(&text);
        }

        #[test]
        fn what_is_shown_is_the_whole_amount(value in decimals()) {
            let shown = display(value, &currency("CNY"));
            prop_assert_eq!(number(&shown.replace(',', "")), value);
            prop_assert!(shown.split_once('.').unwrap().1.len() >= 2);
        }

        #[test]
        fn parts_always_add_up(
            total in decimals(),
            weights in prop::collection::vec((0_i64..1_000_000, 0_u32..8), 1..40),
            scale in 0_u32..10,
        ) {
            let weights: Vec<Decimal> = weights.into_iter().map(|(w, scale)| Decimal::new(w, scale)).collect();
            let parts = largest_remainder(total, &weights, scale);
            prop_assert_eq!(parts.len(), weights.len());
            prop_assert_eq!(parts.iter().sum::<Sum>(), Sum::from(total));
            prop_assert!(parts.iter().all(|part| part.is_zero() || part.is_sign_negative() == total.is_sign_negative()));
        }
    }
}
