//! A dated rate between two currencies: one unit of the base is so many of the quote.
//!
//! A day's rate is the last one on or before that day: there is none on weekends. Of the ways from one currency to another the
//! direct rate is taken first, then the inverse one, then both legs through the euro, which is how the European Central Bank
//! publishes them. Where there is none, nothing is converted: never one to one.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::dates;

use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{ExchangeRateId, ProjectId};
use crate::limits;
use crate::locale::Message;
use crate::money::{self, Currency, Sum};
use crate::table::{Cell, Column, Table};
use crate::text::{excerpt, word_set};
use crate::tx::{Read, Tx};

word_set! {
    /// Where a rate comes from.
    Source, "error-rate-source", {
        /// The European Central Bank's reference rates.
        Ecb = "ecb", "rate-source-ecb", ["欧洲央行"];
        /// Typed by a person, or a file of the organisation's own.
        Manual = "manual", "rate-source-manual", ["手工"];
    }
}

/// A dated rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExchangeRate {
    /// Its id.
    pub id: ExchangeRateId,
    /// One unit of this …
    pub base: Currency,
    /// … is so many of this.
    pub quote: Currency,
    /// On this day.
    pub rated_on: NaiveDate,
    /// How many.
    pub rate: Decimal,
    /// Where it comes from.
    pub source: Source,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
}

impl Audited for ExchangeRate {
    const KIND: &'static str = "exchange_rate";
    const SHARED: bool = true;

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        format!("{}/{} {}", self.base, self.quote, self.rated_on)
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

/// A rate to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRate {
    /// See [`ExchangeRate::base`].
    pub base: Currency,
    /// See [`ExchangeRate::quote`].
    pub quote: Currency,
    /// See [`ExchangeRate::rated_on`].
    pub rated_on: NaiveDate,
    /// See [`ExchangeRate::rate`].
    pub rate: Decimal,
}

impl NewRate {
    /// Reads what a person typed; `text` gives a field's value.
    ///
    /// # Errors
    /// Field by field.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let base = errors.take("base", text("base").parse::<Currency>());
        let quote = errors.take("quote", text("quote").parse::<Currency>());
        let rated_on = errors.take("rated_on", dates::parse_date(text("rated_on")));
        let rate = errors.take("rate", parse_rate(text("rate")));
        if let (Some(base), Some(quote)) = (&base, &quote)
            && base == quote
        {
            errors.add("quote", Message::new("error-rate-pair").with("currency", base));
        }
        match (base, quote, rated_on, rate, errors.is_empty()) {
            (Some(base), Some(quote), Some(rated_on), Some(rate), true) => Ok(Self { base, quote, rated_on, rate }),
            _ => Err(errors),
        }
    }
}

/// Reads a rate: a number above zero.
pub(super) fn parse_rate(text: &str) -> Result<Decimal, Message> {
    let rate = money::parse_decimal(text)?;
    if rate <= Decimal::ZERO {
        return Err(Message::new("error-rate-positive").with("value", money::plain(rate)));
    }
    Ok(rate)
}

macro_rules! select_rate {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            ExchangeRate,
            r#"select id as "id: ExchangeRateId", base as "base: Currency", quote as "quote: Currency", rated_on,
                      rate as "rate: Decimal", source as "source: Source", created_at
               from exchange_rate "# + $rest
            $(, $argument)*
        )
    };
}

/// The rate with this id.
pub async fn get(connection: &mut PgConnection, id: ExchangeRateId) -> Result<ExchangeRate> {
    Ok(select_rate!("where id = $1", id.0).fetch_one(connection).await?)
}

/// Records a rate by hand. One that is there just so is known: it is given back, and nothing changes.
///
/// # Errors
/// At `rate` where the day has another one: what totals were made with stays.
pub async fn add(tx: &mut Tx, new: &NewRate) -> Result<ExchangeRate> {
    tx.allow(Permission::Catalogue, None)?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into exchange_rate (base, quote, rated_on, rate, source, created_at) values ($1, $2, $3, $4, 'manual', $5)
           on conflict on constraint exchange_rate_one do nothing returning id as "id: ExchangeRateId""#,
        new.base.as_str(),
        new.quote.as_str(),
        new.rated_on,
        new.rate as _,
        now,
    )
    .fetch_optional(tx.connection())
    .await
    .on_constraint("exchange_rate_pair", "quote", || Message::new("error-rate-pair").with("currency", &new.base))?;
    if let Some(id) = id {
        let rate = get(tx.connection(), id).await?;
        tx.record("exchange_rate.added", None, &rate).await?;
        return Ok(rate);
    }
    let present = select_rate!(
        "where base = $1 and quote = $2 and rated_on = $3",
        new.base.as_str(),
        new.quote.as_str(),
        new.rated_on
    )
    .fetch_one(tx.connection())
    .await?;
    if present.rate != new.rate {
        return Err(Error::invalid("rate", differs(&new.base, &new.quote, new.rated_on, present.rate)));
    }
    tx.unchanged();
    Ok(present)
}

/// Words for a day that has another rate already.
pub(super) fn differs(base: &Currency, quote: &Currency, rated_on: NaiveDate, present: Decimal) -> Message {
    Message::new("error-rate-differs")
        .with("base", base)
        .with("quote", quote)
        .with("day", rated_on)
        .with("present", money::plain(present))
}

/// The query keys of the list of rates.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateFilter {
    /// Rates from or to this currency.
    pub currency: Option<String>,
    /// From this day on.
    pub from: Option<NaiveDate>,
    /// Up to this day.
    pub to: Option<NaiveDate>,
    /// The last rate of the page before: `2026-03-18.77`.
    pub before: Option<String>,
}

/// The rates that match, newest day first; at most `limit`.
pub async fn list(read: &mut Read, filter: &RateFilter, limit: i64) -> Result<Vec<ExchangeRate>> {
    let unreadable = |field: &'static str| move |message| Error::invalid(field, message);
    let currency: Option<Currency> =
        filter.currency.as_deref().map(str::parse).transpose().map_err(unreadable("currency"))?;
    let before = filter.before.as_deref().map(place).transpose().map_err(unreadable("before"))?;
    let rates = select_rate!(
        "where ($1::text is null or base = $1 or quote = $1) and ($2::date is null or rated_on >= $2)
           and ($3::date is null or rated_on <= $3) and ($4::date is null or (rated_on, id) < ($4, $5::bigint))
         order by rated_on desc, id desc limit $6",
        currency.as_ref().map(Currency::as_str),
        filter.from,
        filter.to,
        before.map(|key| key.0),
        before.map_or(0, |key| key.1),
        limit
    );
    Ok(rates.fetch_all(read.connection()).await?)
}

/// A place in the list: a day and an id.
fn place(text: &str) -> Result<(NaiveDate, i64), Message> {
    let refuse = || Message::new("error-rates-place").with("value", excerpt(text));
    let (day, id) = text.split_once('.').ok_or_else(refuse)?;
    Ok((dates::parse_date(day)?, id.parse().map_err(|_| refuse())?))
}

impl ExchangeRate {
    /// Its place in the list, for [`RateFilter::before`].
    pub fn place(&self) -> String {
        format!("{}.{}", self.rated_on, self.id)
    }

    /// The rate for people: no zeros that change nothing.
    pub fn shown(&self) -> String {
        money::plain(self.rate)
    }
}

/// All rates that match, newest day first, in batches; `before` is not asked.
pub fn batches(read: Read, filter: RateFilter) -> impl Stream<Item = Result<Vec<ExchangeRate>>> + Send {
    let start = Some((read, RateFilter { before: None, ..filter }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, mut filter)) = state else { return Ok(None) };
        let rates = list(&mut read, &filter, CHUNK).await?;
        let Some(last) = rates.last() else { return Ok(None) };
        filter.before = Some(last.place());
        let more = i64::try_from(rates.len()).unwrap_or(i64::MAX) == CHUNK;
        Ok(Some((rates, more.then_some((read, filter)))))
    })
}

/// Rows that are read at once for a file.
const CHUNK: i64 = 5_000;

/// The list as a file.
pub static TABLE: Table<ExchangeRate> = Table {
    name: "rates",
    title: "rates-title",
    columns: &[
        Column::new("base", "rates-col-base", |row| row.base.as_str().into()),
        Column::new("quote", "rates-col-quote", |row| row.quote.as_str().into()),
        Column::new("date", "rates-col-date", |row| row.rated_on.into()),
        Column::new("rate", "rates-col-rate", |row| row.rate.into()),
        Column::new("source", "rates-col-source", |row| Cell::Word {
            code: row.source.as_str().into(),
            words: row.source.words(),
        }),
    ],
};

/// The currency that the European Central Bank's rates are based on.
pub const EURO: &str = "EUR";
/// Digits after the point of a quotient of two rates times an amount, before anything is rounded for people.
const QUOTIENT_PLACES: u32 = 18;
/// Digits of a quotient of two rates that is shown as one number.
const QUOTIENT_DIGITS: u32 = 12;

/// The rates of one pair, earliest day first.
type Series = Vec<(NaiveDate, Decimal, Source)>;

/// The rates between some currencies and the house currency, over some days.
#[derive(Debug, Clone, Default)]
pub struct Rates {
    pairs: BTreeMap<(String, String), Series>,
}

/// How one unit of a currency becomes so many of another: multiply by the first, divide by the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    times: Decimal,
    over: Decimal,
    /// The day of the rate, or the earlier one of the two.
    pub rated_on: NaiveDate,
    /// Where it comes from; `manual` where one of the two is.
    pub source: Source,
}

impl Factor {
    /// The rate as one number, where a row can hold it.
    fn dated(&self) -> Option<Dated> {
        let one = Sum::from(self.times);
        let rate = if self.over == Decimal::ONE {
            one
        } else {
            // The smaller the quotient, the more digits after the point.
            let quotient = |places| one.ratio(&Sum::from(self.over), places).filter(|rate| !rate.is_zero());
            let digits = |rate: &Sum| rate.plain().trim_start_matches(['0', '.']).len();
            (QUOTIENT_DIGITS..=limits::DECIMAL_PLACES)
                .filter_map(quotient)
                .find(|rate| digits(rate) >= QUOTIENT_DIGITS as usize)
                .or_else(|| quotient(QUOTIENT_DIGITS))?
        };
        Some(Dated { rate: rate.to_decimal().ok()?, rated_on: self.rated_on, source: self.source })
    }

    /// The amount in the other currency. Exact with a direct rate; else a quotient with 18 digits after the point.
    pub fn convert(&self, amount: &Sum) -> Sum {
        let product = amount.times(self.times);
        if self.over == Decimal::ONE {
            return product;
        }
        product.ratio(&Sum::from(self.over), QUOTIENT_PLACES).expect("a rate is above zero")
    }
}

/// The currencies whose rates can convert these into the house currency.
pub(super) fn codes<'a>(currencies: impl Iterator<Item = &'a Currency>, house: &Currency) -> Vec<String> {
    let mut codes: BTreeSet<String> = currencies.map(|currency| currency.as_str().to_owned()).collect();
    codes.extend([house.as_str().to_owned(), EURO.to_owned()]);
    codes.into_iter().collect()
}

impl Rates {
    /// Reads the rates that days from `first` to `last` can need, between these currencies and the house currency.
    pub async fn load(
        connection: &mut PgConnection,
        currencies: impl Iterator<Item = &Currency>,
        house: &Currency,
        (first, last): (NaiveDate, NaiveDate),
    ) -> Result<Self> {
        let codes = codes(currencies, house);
        // Of each pair: the last rate before the first day, and all from there on.
        let rows = sqlx::query!(
            r#"select r.base as "base!", r.quote as "quote!", r.rated_on as "rated_on!", r.rate as "rate!: Decimal",
                      r.source as "source!: Source"
               from unnest($1::text[]) b (code) cross join unnest($1::text[]) q (code)
               cross join lateral (
                   (select base, quote, rated_on, rate, source from exchange_rate
                    where base = b.code and quote = q.code and rated_on < $2 order by rated_on desc limit 1)
                   union all
                   select base, quote, rated_on, rate, source from exchange_rate
                   where base = b.code and quote = q.code and rated_on between $2 and $3) r
               where b.code <> q.code
               order by r.base, r.quote, r.rated_on"#,
            &codes,
            first,
            last,
        )
        .fetch_all(connection)
        .await?;
        let mut rates = Self::default();
        for row in rows {
            rates.pairs.entry((row.base, row.quote)).or_default().push((row.rated_on, row.rate, row.source));
        }
        Ok(rates)
    }

    /// The last rate of a pair on or before the day.
    fn last(&self, base: &str, quote: &str, day: NaiveDate) -> Option<(NaiveDate, Decimal, Source)> {
        let rates = self.pairs.get(&(base.to_owned(), quote.to_owned()))?;
        let after = rates.partition_point(|(rated_on, ..)| *rated_on <= day);
        rates[..after].last().copied()
    }

    /// One pair, direct or inverse.
    fn pair(&self, from: &str, to: &str, day: NaiveDate) -> Option<Factor> {
        if let Some((rated_on, rate, source)) = self.last(from, to, day) {
            return Some(Factor { times: rate, over: Decimal::ONE, rated_on, source });
        }
        let (rated_on, rate, source) = self.last(to, from, day)?;
        Some(Factor { times: Decimal::ONE, over: rate, rated_on, source })
    }

    /// How an amount of `from` becomes one of `to` on a day; nothing where there is no rate.
    pub fn find(&self, from: &Currency, to: &Currency, day: NaiveDate) -> Option<Factor> {
        let (from, to) = (from.as_str(), to.as_str());
        if let Some(factor) = self.pair(from, to, day) {
            return Some(factor);
        }
        if from == EURO || to == EURO {
            return None;
        }
        let (first, second) = (self.pair(from, EURO, day)?, self.pair(EURO, to, day)?);
        Some(Factor {
            times: first.times.checked_mul(second.times)?,
            over: first.over.checked_mul(second.over)?,
            rated_on: first.rated_on.min(second.rated_on),
            source: first.source.max(second.source),
        })
    }
}

/// A rate as a person checks it: how many of one currency are one unit of another, on which day, according to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dated {
    /// How many; where it is a quotient, with at least 12 significant digits.
    pub rate: Decimal,
    /// The day that it is of: the last on or before the day that was asked for; of two rates the earlier.
    pub rated_on: NaiveDate,
    /// Where it comes from; `manual` where one of two rates is.
    pub source: Source,
}

/// The rate that converts `from` into `to` on a day; nothing where there is none. See the module's text for the rules.
pub async fn find(
    connection: &mut PgConnection,
    from: &Currency,
    to: &Currency,
    on: NaiveDate,
) -> Result<Option<Dated>> {
    let rates = Rates::load(connection, std::iter::once(from), to, (on, on)).await?;
    Ok(rates.find(from, to, on).and_then(|factor| factor.dated()))
}

/// The first day of each pair of currencies.
type FirstDays = BTreeMap<(String, String), NaiveDate>;

/// Since when each currency has a rate into the house currency, by the rules of [`Rates::find`]; those that never had one are not
/// in it. `of` asks for one alone.
pub async fn rated_since(
    connection: &mut PgConnection,
    of: Option<&Currency>,
    house: &Currency,
) -> Result<Vec<(Currency, NaiveDate)>> {
    let codes = of.map(|of| [of.as_str(), house.as_str(), EURO].map(str::to_owned).to_vec());
    let rows = sqlx::query!(
        r#"select base, quote, min(rated_on) as "first!" from exchange_rate
           where $1::text[] is null or (base = any($1) and quote = any($1)) group by base, quote"#,
        codes.as_deref(),
    )
    .fetch_all(connection)
    .await?;
    let first = rows.into_iter().map(|row| ((row.base, row.quote), row.first)).collect();
    since(&first, house).into_iter().map(|(code, day)| Ok((code.parse().map_err(Error::internal)?, day))).collect()
}

/// A rate holds from its day on, so the first day of any way into the house currency is all there is to know.
fn since(first: &FirstDays, house: &Currency) -> BTreeMap<String, NaiveDate> {
    let direct = |one: &str, other: &str| {
        let of = |base: &str, quote: &str| first.get(&(base.to_owned(), quote.to_owned())).copied();
        of(one, other).into_iter().chain(of(other, one)).min()
    };
    let house = house.as_str();
    let through_euro = |code: &str| {
        let is_other = code != EURO && house != EURO;
        if is_other { Some(direct(code, EURO)?.max(direct(EURO, house)?)) } else { None }
    };
    let codes: BTreeSet<&str> = first.keys().flat_map(|(base, quote)| [base.as_str(), quote.as_str()]).collect();
    let others = codes.into_iter().filter(|code| *code != house);
    others
        .filter_map(|code| Some((code.to_owned(), direct(code, house).into_iter().chain(through_euro(code)).min()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        dates::parse_date(text).unwrap()
    }

    fn currency(code: &str) -> Currency {
        code.parse().unwrap()
    }

    fn rates(list: &[(&str, &str, &str, &str)]) -> Rates {
        let mut rates = Rates::default();
        for (base, quote, date, rate) in list {
            let pair = ((*base).to_owned(), (*quote).to_owned());
            rates.pairs.entry(pair).or_default().push((day(date), money::parse_decimal(rate).unwrap(), Source::Ecb));
        }
        rates
    }

    fn converted(rates: &Rates, amount: &str, from: &str, to: &str, on: &str) -> Option<String> {
        let factor = rates.find(&currency(from), &currency(to), day(on))?;
        Some(factor.convert(&Sum::from(money::parse_decimal(amount).unwrap())).rounded(4).plain())
    }

    // case M06
    #[test]
    fn each_day_has_its_own_rate_and_a_weekend_the_one_before() {
        let rates = rates(&[("USD", "CNY", "2026-03-13", "7.10"), ("USD", "CNY", "2026-03-16", "7.20")]);
        assert_eq!(converted(&rates, "10", "USD", "CNY", "2026-03-12"), None);
        assert_eq!(converted(&rates, "10", "USD", "CNY", "2026-03-13").unwrap(), "71");
        assert_eq!(converted(&rates, "10", "USD", "CNY", "2026-03-15").unwrap(), "71");
        assert_eq!(converted(&rates, "10", "USD", "CNY", "2026-03-16").unwrap(), "72");
    }

    // case M02
    #[test]
    fn without_a_rate_nothing_is_converted() {
        let rates = rates(&[("USD", "CNY", "2026-03-13", "7.10")]);
        assert_eq!(converted(&rates, "10", "SGD", "CNY", "2026-03-13"), None);
    }

    #[test]
    fn a_rate_is_taken_direct_then_inverse_then_through_the_euro() {
        let euro = [("EUR", "CNY", "2026-03-13", "8"), ("EUR", "USD", "2026-03-13", "1.25")];
        assert_eq!(converted(&rates(&euro), "10", "USD", "CNY", "2026-03-13").unwrap(), "64");
        assert_eq!(converted(&rates(&euro), "16", "CNY", "EUR", "2026-03-13").unwrap(), "2");
        let mut all = vec![("CNY", "USD", "2026-01-01", "0.125")];
        all.extend(euro);
        assert_eq!(converted(&rates(&all), "10", "USD", "CNY", "2026-03-13").unwrap(), "80");
        all.insert(0, ("USD", "CNY", "2026-01-01", "7"));
        assert_eq!(converted(&rates(&all), "10", "USD", "CNY", "2026-03-13").unwrap(), "70");
    }

    #[test]
    fn since_when_there_is_a_rate_is_what_finding_one_says() {
        let rates = rates(&[
            ("USD", "CNY", "2026-01-09", "7"),
            ("EUR", "USD", "2026-01-05", "1.25"),
            ("EUR", "CNY", "2026-01-07", "8"),
            ("CNY", "SGD", "2026-01-12", "0.2"),
            ("EUR", "CHF", "2026-01-03", "1"),
            ("GBP", "JPY", "2026-01-03", "190"),
        ]);
        let first: FirstDays = rates.pairs.iter().map(|(pair, days)| (pair.clone(), days[0].0)).collect();
        for house in ["CNY", "EUR", "USD"] {
            let since = since(&first, &currency(house));
            for code in ["USD", "CNY", "EUR", "SGD", "CHF", "GBP", "JPY", "KWD"].into_iter().filter(|it| *it != house) {
                for on in day("2026-01-01").iter_days().take(15) {
                    let found = rates.find(&currency(code), &currency(house), on).is_some();
                    assert_eq!(since.get(code).is_some_and(|first| *first <= on), found, "{code} into {house} on {on}");
                }
            }
        }
    }

    #[test]
    fn a_quotient_keeps_its_digits_however_small_it_is() {
        let rates = rates(&[("EUR", "IDR", "2026-10-30", "20275.17"), ("EUR", "CNY", "2026-10-30", "7.4326")]);
        let one = |from, to| {
            let factor = rates.find(&currency(from), &currency(to), day("2026-10-31")).unwrap();
            factor.dated().unwrap()
        };
        let dated = one("IDR", "CNY");
        assert_eq!(dated.rate.to_string(), "0.000366586322088");
        assert_eq!((dated.rated_on, dated.source), (day("2026-10-30"), Source::Ecb));
        assert_eq!(one("CNY", "IDR").rate.to_string(), "2727.870462556844");
        assert_eq!(one("EUR", "CNY").rate.to_string(), "7.4326");
    }

    #[test]
    fn the_file_of_rates_keeps_its_names() {
        TABLE.assert_is_sound();
        assert_eq!(TABLE.names(), ["base", "quote", "date", "rate", "source"]);
    }
}
