//! What the entries of a filter add up to: per currency, and in the house currency where there is a rate for the day.
//!
//! The sums come from what `rollup` keeps, and from the lines only where a filter asks for what the sums do not know. What was
//! charged on a day is converted at that day's rate, days of the same rate together; a currency's converted sum is rounded to
//! the house currency's minor units, halves away from zero; the house total is the sum of the shown ones. What has no rate is listed, never added.

use chrono::NaiveDate;
use serde::Serialize;
use sqlx::{Postgres, QueryBuilder};

use crate::error::Result;
use crate::ledger::exchange_rate::{self, Rates};
use crate::ledger::filter::{self, Chosen};
use crate::ledger::rollup;
use crate::money::{self, Currency, Sum};
use crate::tx::Read;

/// The sums of one currency. An unknown amount is not in them; it is counted beside them, unless its entry was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct CurrencyTotal {
    /// The currency.
    pub currency: Currency,
    /// How many entries.
    pub lines: i64,
    /// At public prices.
    pub list: Sum,
    /// At agreed prices.
    pub contracted: Sum,
    /// To be paid.
    pub billed: Sum,
    /// Prepayments spread over their time.
    pub effective: Sum,
    /// Entries whose amount at public prices is unknown.
    pub list_unknown: i64,
    /// Entries whose amount at agreed prices is unknown.
    pub contracted_unknown: i64,
    /// Entries whose payable amount is unknown.
    pub billed_unknown: i64,
    /// Entries whose cost is unknown.
    pub effective_unknown: i64,
    /// The part that has rates, in the house currency, as it is shown.
    #[sqlx(skip)]
    pub converted: Option<Converted>,
}

/// An amount in the house currency.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// To be paid.
    pub billed: Sum,
    /// What it cost.
    pub effective: Sum,
}

/// What has no rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unconverted {
    /// The currency.
    pub currency: Currency,
    /// How many entries.
    pub lines: i64,
    /// How many days of charge have no rate.
    pub days: i64,
    /// The first of them.
    pub first: NaiveDate,
    /// The last of them.
    pub last: NaiveDate,
    /// To be paid, in its own currency.
    pub billed: Sum,
    /// What it cost, in its own currency.
    pub effective: Sum,
}

/// What the entries of a filter add up to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Currency by currency.
    pub currencies: Vec<CurrencyTotal>,
    /// The house currency.
    pub house: Currency,
    /// Everything that has a rate, in the house currency; nothing where nothing has one.
    pub total: Option<Converted>,
    /// What has none.
    pub unconverted: Vec<Unconverted>,
}

impl Totals {
    /// Adds up what was converted.
    pub(super) fn new(currencies: Vec<CurrencyTotal>, house: Currency, unconverted: Vec<Unconverted>) -> Self {
        let shown: Vec<&Converted> = currencies.iter().filter_map(|total| total.converted.as_ref()).collect();
        let total = (!shown.is_empty()).then(|| Converted {
            billed: shown.iter().map(|converted| &converted.billed).sum(),
            effective: shown.iter().map(|converted| &converted.effective).sum(),
        });
        Self { currencies, house, total, unconverted }
    }

    /// How many entries.
    pub fn lines(&self) -> i64 {
        self.currencies.iter().map(|total| total.lines).sum()
    }

    /// Whether more than the house currency is in it, so that a house total says something new.
    pub fn is_mixed(&self) -> bool {
        self.currencies.iter().any(|total| total.currency != self.house)
    }

    /// An amount of the house currency, for people.
    pub fn in_house(&self, amount: &Sum) -> String {
        money::display(amount, &self.house)
    }
}

impl CurrencyTotal {
    /// An amount of this currency, for people.
    pub fn shown(&self, amount: &Sum) -> String {
        money::display(amount, &self.currency)
    }

    /// Whether a sum that lacks so many entries is one: the sum of nothing is not zero, nor is what was entered and taken back.
    pub fn is_known(&self, sum: &Sum, unknown: &i64) -> bool {
        *unknown == 0 || !sum.is_zero()
    }
}

impl Unconverted {
    /// The payable amount, for people.
    pub fn shown(&self) -> String {
        money::display(&self.billed, &self.currency)
    }
}

/// What was charged in one currency on days that have the same rate, or none.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct Stretch {
    pub currency: Currency,
    /// How many entries.
    pub lines: i64,
    /// How many days.
    pub days: i64,
    /// The first of them.
    pub first: NaiveDate,
    /// The last of them.
    pub last: NaiveDate,
    pub billed: Sum,
    pub effective: Sum,
}

/// What the entries add up to.
pub async fn of(read: &mut Read, chosen: &Chosen) -> Result<Totals> {
    let mut builder = QueryBuilder::new(
        "select t.currency, sum(t.lines)::bigint as lines, sum(t.list) as list, sum(t.contracted) as contracted,
                sum(t.billed) as billed, sum(t.effective) as effective, sum(t.list_unknown)::bigint as list_unknown,
                sum(t.contracted_unknown)::bigint as contracted_unknown, sum(t.billed_unknown)::bigint as billed_unknown,
                sum(t.effective_unknown)::bigint as effective_unknown
         from ",
    );
    // Whether a day has a rate is not known of a month.
    let by_day = chosen.unrated.is_some();
    let (whole, kept) = if by_day { ("spend_total", "spend_day") } else { ("spend_month_total", "spend_month") };
    push_source(&mut builder, chosen, read.sees_all(), whole, kept);
    builder.push(" group by t.currency having sum(t.lines) <> 0 order by t.currency");
    let mut currencies: Vec<CurrencyTotal> = builder.build_query_as().fetch_all(read.connection()).await?;
    let house = read.organisation().currency.clone();
    let foreign = currencies.iter().any(|total| total.currency != house);
    let stretches = if foreign { stretches(read, chosen, &currencies, &house).await? } else { Vec::new() };
    let span = stretches.iter().map(|it| it.first).min().zip(stretches.iter().map(|it| it.last).max());
    let rates = match span {
        Some(span) => {
            let foreign = currencies.iter().map(|total| &total.currency);
            Rates::load(read.connection(), foreign, &house, span).await?
        }
        None => Rates::default(),
    };
    let unconverted = convert(&rates, &mut currencies, &house, stretches);
    Ok(Totals::new(currencies, house, unconverted))
}

/// The sums of the foreign currencies, from one day on which any of their rates changes to the next.
async fn stretches(
    read: &mut Read,
    chosen: &Chosen,
    currencies: &[CurrencyTotal],
    house: &Currency,
) -> Result<Vec<Stretch>> {
    let mut builder = QueryBuilder::new(
        "with day as materialized (
              select t.currency, t.charged_on, sum(t.lines)::bigint as lines, sum(t.billed) as billed,
                     sum(t.effective) as effective
              from ",
    );
    push_source(&mut builder, chosen, read.sees_all(), "spend_total", "spend_day");
    builder.push(" and t.currency <> ").push_bind(house.as_str());
    builder.push(
        " group by t.currency, t.charged_on having sum(t.lines) <> 0
         ), step as (
             select array_agg(distinct rated_on order by rated_on) as days from exchange_rate where base = any(",
    );
    let codes = exchange_rate::codes(currencies.iter().map(|total| &total.currency), house);
    builder.push_bind(codes.clone()).push(") and quote = any(").push_bind(codes);
    builder.push(
        ") and rated_on between (select min(charged_on) from day) and (select max(charged_on) from day)
         )
         select day.currency, sum(lines)::bigint as lines, count(*) as days, min(charged_on) as first,
                max(charged_on) as last, sum(billed) as billed, sum(effective) as effective
         from day cross join step
         group by day.currency, width_bucket(charged_on, coalesce(step.days, '{}')) order by day.currency, first",
    );
    Ok(builder.build_query_as().fetch_all(read.connection()).await?)
}

/// The smallest of the kept sums that knows all that is asked for, over everything or by environment, else the lines; ends in a
/// condition.
fn push_source(
    builder: &mut QueryBuilder<Postgres>,
    chosen: &Chosen,
    sees_all: bool,
    whole: &'static str,
    kept: &'static str,
) {
    if chosen.fits_total() && sees_all {
        builder.push(whole).push(" t where true");
        filter::push(builder, "t", chosen.day_conditions(), " and ");
    } else if chosen.fits_rollups() {
        builder.push(kept).push(" t where true");
        filter::push(builder, "t", chosen.day_conditions(), " and ");
    } else if let Some(resources) = &chosen.resources {
        let ids: Vec<i64> = resources.iter().map(|id| id.0).collect();
        builder.push("(");
        push_lines(builder, chosen, "s.environment_id is null", None);
        builder.push(" union all ");
        push_lines(
            builder,
            chosen,
            "s.environment_id = any(array(select m.environment_id from spend_resource m where m.environment_id is not null and m.lines <> 0 and m.resource_id = any(",
            Some(ids),
        );
        builder.push(") t where true");
    } else {
        builder.push("(");
        push_lines(builder, chosen, "true", None);
        builder.push(") t where true");
    }
}

/// The lines that match; where there are `ids`, `of` is open for them and is closed here.
fn push_lines(builder: &mut QueryBuilder<Postgres>, chosen: &Chosen, of: &str, ids: Option<Vec<i64>>) {
    builder.push("select s.currency, s.charged_on, ").push(rollup::OF_LINE).push(" from spend s where ");
    builder.push(of);
    if let Some(ids) = ids {
        builder.push_bind(ids).push(")))");
    }
    filter::push(builder, "s", chosen.line_conditions(), " and ");
}

/// Puts the converted sums beside their currencies, and gives what has no rate. The stretches come currency by currency, each in
/// the order of its days.
pub(super) fn convert(
    rates: &Rates,
    currencies: &mut [CurrencyTotal],
    house: &Currency,
    stretches: Vec<Stretch>,
) -> Vec<Unconverted> {
    let mut unconverted: Vec<Unconverted> = Vec::new();
    for Stretch { currency, lines, days, first, last, billed, effective } in stretches {
        let Some(total) = currencies.iter_mut().find(|total| total.currency == currency) else { continue };
        if let Some(factor) = rates.find(&currency, house, first) {
            let converted = total.converted.get_or_insert_default();
            converted.billed += factor.convert(&billed);
            converted.effective += factor.convert(&effective);
        } else {
            match unconverted.last_mut().filter(|it| it.currency == currency) {
                Some(it) => {
                    it.lines += lines;
                    it.days += days;
                    it.last = last;
                    it.billed += &billed;
                    it.effective += &effective;
                }
                None => unconverted.push(Unconverted { currency, lines, days, first, last, billed, effective }),
            }
        }
    }
    for total in currencies.iter_mut() {
        if total.currency == *house {
            total.converted = Some(Converted { billed: total.billed.clone(), effective: total.effective.clone() });
        } else if let Some(converted) = &mut total.converted {
            converted.billed = converted.billed.rounded(house.minor_units());
            converted.effective = converted.effective.rounded(house.minor_units());
        }
    }
    unconverted
}
