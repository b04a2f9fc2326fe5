//! What one unit of output cost: a month's spend over a month's output, and how it moved against the month before.
//!
//! The spend is taken in the house currency where every day of it has a rate, else in its own currency where there is only one.
//! The quotient is rounded half away from zero, to the currency's minor units, and further until four digits of it count.
//! Where something is missing there is no unit cost, and the reason is said: it is never a division by zero and never a guess.

use crate::ledger::output::UnitTotal;
use crate::ledger::total::{CurrencyTotal, Totals};
use crate::locale::Message;
use crate::money::{Currency, Sum};

/// How many digits of a unit cost count at least; a token costs far less than a cent.
const DIGITS: usize = 4;

/// How far after the point digits are looked for.
const MOST_PLACES: u32 = 12;

/// After the point of a change in per cent.
const CHANGE_PLACES: u32 = 1;

/// What one unit cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitCost {
    /// What is counted.
    pub unit: String,
    /// How many there were.
    pub quantity: Sum,
    /// In which currency one is told.
    pub currency: Currency,
    /// By what is to be paid; nothing where an entry does not say it.
    pub billed: Option<Sum>,
    /// By what it cost, prepayments spread over their time; nothing where an entry does not say it.
    pub effective: Option<Sum>,
}

/// Why there is no unit cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Nothing was spent that we know of.
    Spend,
    /// Nothing came of it that we know of, or nothing is left of it.
    Output,
    /// Several units, and nobody can say which part of the spend belongs to which.
    OneUnit,
    /// Several currencies, and a day without a rate.
    Rate,
    /// Entries do not say their amounts.
    Amounts,
}

impl Missing {
    /// How a file for programs calls it.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Spend => "spend",
            Self::Output => "output",
            Self::OneUnit => "one_unit",
            Self::Rate => "rate",
            Self::Amounts => "amounts",
        }
    }

    /// How a page says it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::Spend => "unit-cost-no-spend",
            Self::Output => "unit-cost-no-output",
            Self::OneUnit => "unit-cost-several-units",
            Self::Rate => "unit-cost-no-rate",
            Self::Amounts => "unit-cost-unknown",
        })
    }
}

/// The spend in one currency: which, to be paid, what it cost.
fn whole(spend: &Totals) -> Option<(&Currency, &Sum, &Sum)> {
    match (&spend.total, spend.currencies.as_slice()) {
        (Some(total), _) if spend.unconverted.is_empty() => Some((&spend.house, &total.billed, &total.effective)),
        (_, [only]) => Some((&only.currency, &only.billed, &only.effective)),
        _ => None,
    }
}

/// What one unit cost.
///
/// # Errors
/// What is missing to say it.
pub fn of(spend: &Totals, outputs: &[UnitTotal]) -> Result<UnitCost, Missing> {
    if spend.currencies.is_empty() {
        return Err(Missing::Spend);
    }
    // A unit of which everything was taken back is no second unit.
    let mut left = outputs.iter().filter(|output| !output.quantity.is_zero() && !output.quantity.is_negative());
    let output = left.next().ok_or(Missing::Output)?;
    if left.next().is_some() {
        return Err(Missing::OneUnit);
    }
    let (currency, billed, effective) = whole(spend).ok_or(Missing::Rate)?;
    let unknown = |count: fn(&CurrencyTotal) -> i64| spend.currencies.iter().map(count).sum::<i64>() > 0;
    let of_one = |sum: &Sum, unknown: bool| if unknown { None } else { quotient(sum, &output.quantity, currency) };
    let billed = of_one(billed, unknown(|total| total.billed_unknown));
    let effective = of_one(effective, unknown(|total| total.effective_unknown));
    if billed.is_none() && effective.is_none() {
        return Err(Missing::Amounts);
    }
    let (unit, quantity) = (output.unit.clone(), output.quantity.clone());
    Ok(UnitCost { unit, quantity, currency: currency.clone(), billed, effective })
}

/// An amount over a quantity, rounded as the module's text says; nothing where the quantity is zero.
fn quotient(amount: &Sum, quantity: &Sum, currency: &Currency) -> Option<Sum> {
    let least = currency.minor_units();
    let digits = |sum: &Sum| sum.plain().replace(['-', '.'], "").trim_start_matches('0').len();
    // What stays the same with all places that may be looked at needs no more of them.
    let exact = amount.ratio(quantity, MOST_PLACES.max(least))?;
    (least..=MOST_PLACES)
        .filter_map(|places| amount.ratio(quantity, places))
        .find(|rounded| *rounded == exact || digits(rounded) >= DIGITS)
        .or(Some(exact))
}

/// How a unit cost moved against the month before, in per cent: of what is to be paid, and of what it cost. Nothing where the two
/// are not of the same unit and currency, where one is missing, or where it was nothing before.
pub fn change(before: &UnitCost, now: &UnitCost) -> (Option<Sum>, Option<Sum>) {
    if before.unit != now.unit || before.currency != now.currency {
        return (None, None);
    }
    let moved = |before: &Option<Sum>, now: &Option<Sum>| {
        let (before, now) = (before.as_ref()?, now.as_ref()?);
        if before.is_negative() {
            return None;
        }
        (now.clone() - before).times(Sum::from(rust_decimal::Decimal::ONE_HUNDRED)).ratio(before, CHANGE_PLACES)
    };
    (moved(&before.billed, &now.billed), moved(&before.effective, &now.effective))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::total::{Converted, Unconverted};
    use crate::money;

    fn sum(text: &str) -> Sum {
        money::parse_decimal(text).unwrap().into()
    }

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn total(code: &str, billed: &str, effective: Option<&str>) -> CurrencyTotal {
        CurrencyTotal {
            currency: currency(code),
            lines: 1,
            list: Sum::zero(),
            contracted: Sum::zero(),
            billed: sum(billed),
            effective: effective.map_or_else(Sum::zero, sum),
            list_unknown: 1,
            contracted_unknown: 1,
            billed_unknown: 0,
            effective_unknown: i64::from(effective.is_none()),
            converted: None,
        }
    }

    /// A month in yuan alone.
    fn yuan(billed: &str, effective: Option<&str>) -> Totals {
        let total = total("CNY", billed, effective);
        let converted = Converted { billed: total.billed.clone(), effective: total.effective.clone() };
        Totals { currencies: vec![total], house: currency("CNY"), total: Some(converted), unconverted: Vec::new() }
    }

    fn output(unit: &str, quantity: &str) -> UnitTotal {
        UnitTotal { unit: unit.to_owned(), quantity: sum(quantity) }
    }

    fn shown(cost: &UnitCost) -> (String, Option<String>, Option<String>) {
        (cost.currency.to_string(), cost.billed.as_ref().map(Sum::plain), cost.effective.as_ref().map(Sum::plain))
    }

    #[test]
    fn a_unit_costs_the_spend_over_the_output() {
        let cost = of(&yuan("272000", Some("266374.53")), &[output("十亿 token", "551")]).unwrap();
        assert_eq!(shown(&cost), ("CNY".into(), Some("493.65".into()), Some("483.44".into())));
        // 0.5 and 0.005 round away from zero; small ones keep four digits that count.
        for (spend, quantity, one) in [
            ("1", "8", "0.125"),
            ("10.005", "1", "10.01"),
            ("-10.005", "1", "-10.01"),
            ("1", "3", "0.3333"),
            ("2", "3000000", "0.0000006667"),
            ("100", "7", "14.29"),
            ("5", "1", "5"),
            ("0", "7", "0"),
        ] {
            let cost = of(&yuan(spend, None), &[output("u", quantity)]).unwrap();
            assert_eq!(shown(&cost), ("CNY".into(), Some(one.into()), None), "{spend} / {quantity}");
        }
    }

    // case M13: nothing divides by zero. case M19: a price of nothing is a price.
    #[test]
    fn what_is_missing_is_said() {
        let spend = yuan("100", Some("100"));
        assert_eq!(of(&spend, &[]), Err(Missing::Output));
        assert_eq!(of(&spend, &[output("runs", "0")]), Err(Missing::Output));
        assert_eq!(of(&spend, &[output("runs", "1"), output("images", "1")]), Err(Missing::OneUnit));
        assert!(of(&spend, &[output("runs", "1"), output("rnus", "0")]).is_ok(), "taken back is not there");
        let nothing = Totals { currencies: Vec::new(), total: None, ..spend };
        assert_eq!(of(&nothing, &[output("runs", "1")]), Err(Missing::Spend));
        let mut unknown = yuan("0", None);
        unknown.currencies[0].billed_unknown = 1;
        assert_eq!(of(&unknown, &[output("runs", "1")]), Err(Missing::Amounts));
        let free = of(&yuan("0", Some("0")), &[output("runs", "4")]).unwrap();
        assert_eq!(shown(&free), ("CNY".into(), Some("0".into()), Some("0".into())));
    }

    #[test]
    fn several_currencies_need_rates_and_one_alone_does_not() {
        let missing = |code: &str, billed: &str| Unconverted {
            currency: currency(code),
            lines: 1,
            days: 1,
            first: chrono::NaiveDate::MIN,
            last: chrono::NaiveDate::MIN,
            billed: sum(billed),
            effective: Sum::zero(),
        };
        let outputs = [output("runs", "10")];
        let dollars = Totals {
            currencies: vec![total("USD", "100", None)],
            house: currency("CNY"),
            total: None,
            unconverted: vec![missing("USD", "100")],
        };
        assert_eq!(shown(&of(&dollars, &outputs).unwrap()).0, "USD");
        let mut both = yuan("700", None);
        both.currencies.push(total("USD", "100", None));
        both.unconverted.push(missing("USD", "100"));
        assert_eq!(of(&both, &outputs), Err(Missing::Rate));
        both.unconverted.clear();
        both.total = Some(Converted { billed: sum("1420"), effective: Sum::zero() });
        assert_eq!(shown(&of(&both, &outputs).unwrap()), ("CNY".into(), Some("142".into()), None));
    }

    #[test]
    fn a_change_compares_like_with_like() {
        let cost = |billed: &str, unit: &str| of(&yuan(billed, None), &[output(unit, "1")]).unwrap();
        let billed = |before: &UnitCost, now: &UnitCost| change(before, now).0.map(|it| it.plain());
        assert_eq!(billed(&cost("100", "runs"), &cost("95.55", "runs")).as_deref(), Some("-4.5"));
        assert_eq!(billed(&cost("100", "runs"), &cost("104.15", "runs")).as_deref(), Some("4.2"));
        assert_eq!(billed(&cost("100", "runs"), &cost("100", "images")), None);
        assert_eq!(billed(&cost("0", "runs"), &cost("100", "runs")), None, "no change is a part of nothing");
        assert_eq!(billed(&cost("-5", "runs"), &cost("100", "runs")), None);
        assert_eq!(change(&cost("100", "runs"), &cost("100", "runs")).1, None, "unknown stays unknown");
    }
}
