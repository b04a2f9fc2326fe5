//! The expected cost of a cycle: what the contract or the price list says, shown apart from what was billed. No spend is ever
//! made from it.
//!
//! A term's own price rules; else the tier's price that holds on the cycle's first day. What cannot be said stays unknown: no
//! price, two prices of which neither is meant, an hourly price (nobody knows the hours in advance).

use chrono::NaiveDate;
use rust_decimal::Decimal;

use crate::catalog::price::{self, Price, Unit};
use crate::catalog::tier::BillingMode;
use crate::dates::Cycle;
use crate::money::{Currency, Sum};

/// An expected cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// For all units.
    pub amount: Sum,
    /// Its currency.
    pub currency: Currency,
    /// Whether the term says so itself; else the tier's price list does.
    pub agreed: bool,
}

/// What the cost of a term's cycle depends on.
#[derive(Debug, Clone, Copy)]
pub struct Rent<'a> {
    /// The term's rhythm.
    pub cycle: Cycle,
    /// Units of the tier.
    pub quantity: Decimal,
    /// The term's own price for one unit and one cycle.
    pub price: Option<Decimal>,
    /// The term's currency.
    pub currency: Option<&'a Currency>,
    /// The tier's plan, where it has one.
    pub billing_mode: Option<BillingMode>,
    /// The organisation's currency: decides between prices of several currencies.
    pub house: &'a Currency,
}

impl Rent<'_> {
    /// The expected cost of the cycle that begins on this day; `prices` are those of the tier.
    pub fn of_cycle(&self, prices: &[Price], first_day: NaiveDate) -> Option<Cost> {
        if let (Some(price), Some(currency)) = (self.price, self.currency) {
            let amount = Sum::from(price).times(self.quantity);
            return Some(Cost { amount, currency: currency.clone(), agreed: true });
        }
        let mut valid: Vec<(&Price, Decimal)> = price::valid(prices, first_day)
            .into_iter()
            .filter_map(|price| Some((price, self.per_cycle(price)?)))
            .collect();
        if let Some(currency) = self.currency {
            valid.retain(|(price, _)| price.currency == *currency);
        }
        for prefer in [
            (|rent: &Self, price: &Price| rent.billing_mode == Some(price.billing_mode)) as fn(&Self, &Price) -> bool,
            |rent, price| price.currency == *rent.house,
        ] {
            if valid.iter().any(|(price, _)| prefer(self, price)) {
                valid.retain(|(price, _)| prefer(self, price));
            }
        }
        let [(price, units)] = valid[..] else { return None };
        let amount = Sum::from(price.amount).times(units).times(self.quantity);
        Some(Cost { amount, currency: price.currency.clone(), agreed: false })
    }

    /// The expected cost of several cycles, each at the price of its first day.
    pub fn of_cycles(&self, prices: &[Price], first_days: &[NaiveDate]) -> Option<Cost> {
        let mut costs = first_days.iter().map(|day| self.of_cycle(prices, *day));
        let mut total = costs.next()??;
        for cost in costs {
            let cost = cost?;
            if cost.currency != total.currency {
                return None;
            }
            total.amount += cost.amount;
        }
        Some(total)
    }

    /// How many of a price's units one unit of the tier takes in a cycle.
    fn per_cycle(&self, price: &Price) -> Option<Decimal> {
        let months = self.cycle.months()?;
        match price.unit {
            Unit::InstanceMonth => Some(months.into()),
            Unit::InstanceYear if months % 12 == 0 => Some((months / 12).into()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::dates::parse_date;
    use crate::environments::term::cycle_days;
    use crate::ids::{PriceId, TierId};

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn price(amount: i64, code: &str, unit: Unit, mode: BillingMode, valid_from: &str) -> Price {
        Price {
            id: PriceId(1),
            tier_id: TierId(1),
            tier: String::new(),
            provider: String::new(),
            billing_mode: mode,
            unit,
            amount: amount.into(),
            currency: currency(code),
            valid_from: parse_date(valid_from).unwrap(),
            created_at: DateTime::UNIX_EPOCH,
            voided_at: None,
            voided_by: None,
            void_reason: None,
        }
    }

    fn rent(house: &Currency) -> Rent<'_> {
        Rent { cycle: Cycle::MONTHLY, quantity: 1.into(), price: None, currency: None, billing_mode: None, house }
    }

    fn day(text: &str) -> NaiveDate {
        parse_date(text).unwrap()
    }

    // case M09
    #[test]
    fn a_price_that_rises_in_july_leaves_the_first_half_alone() {
        let (cny, monthly) = (currency("CNY"), BillingMode::Monthly);
        let prices = [
            price(10, "CNY", Unit::InstanceMonth, monthly, "2026-01-01"),
            price(12, "CNY", Unit::InstanceMonth, monthly, "2026-07-01"),
        ];
        let cycles = cycle_days(day("2026-01-01"), Some(day("2026-12-31")), Cycle::MONTHLY, 1, day("2026-12-31"));
        let half = |days: &[NaiveDate]| rent(&cny).of_cycles(&prices, days).unwrap().amount.plain();
        assert_eq!((half(&cycles[..6]).as_str(), half(&cycles[6..]).as_str()), ("60", "72"));
    }

    #[test]
    fn the_terms_own_price_rules_and_unknown_stays_unknown() {
        let cny = currency("CNY");
        let own = Rent { price: Some(0.into()), currency: Some(&cny), quantity: 4.into(), ..rent(&cny) };
        let cost = own.of_cycle(&[], day("2026-01-01")).unwrap();
        assert!(cost.amount.is_zero() && cost.agreed, "free is a price");
        assert_eq!(rent(&cny).of_cycle(&[], day("2026-01-01")), None);
        let hourly = [price(10, "CNY", Unit::CardHour, BillingMode::Hourly, "2026-01-01")];
        assert_eq!(rent(&cny).of_cycle(&hourly, day("2026-02-01")), None);
        let once = Rent { cycle: Cycle::Once, ..rent(&cny) };
        let monthly = [price(10, "CNY", Unit::InstanceMonth, BillingMode::Monthly, "2026-01-01")];
        assert_eq!(once.of_cycle(&monthly, day("2026-02-01")), None);
    }

    #[test]
    fn of_several_prices_the_tiers_plan_and_the_house_currency_decide_or_nothing_does() {
        let cny = currency("CNY");
        let prices = [
            price(10, "CNY", Unit::InstanceMonth, BillingMode::Monthly, "2026-01-01"),
            price(8, "CNY", Unit::InstanceMonth, BillingMode::Reserved, "2026-01-01"),
            price(2, "USD", Unit::InstanceMonth, BillingMode::Reserved, "2026-01-01"),
        ];
        assert_eq!(rent(&cny).of_cycle(&prices, day("2026-01-01")), None, "two plans, neither is meant");
        let reserved = Rent { billing_mode: Some(BillingMode::Reserved), quantity: 3.into(), ..rent(&cny) };
        assert_eq!(reserved.of_cycle(&prices, day("2026-01-01")).unwrap().amount.plain(), "24");
        let usd = currency("USD");
        let dollars = Rent { currency: Some(&usd), ..reserved };
        assert_eq!(dollars.of_cycle(&prices, day("2026-01-01")).unwrap().amount.plain(), "6");
        let yearly = Rent { cycle: Cycle::YEARLY, ..reserved };
        assert_eq!(yearly.of_cycle(&prices, day("2026-01-01")).unwrap().amount.plain(), "288");
    }
}
