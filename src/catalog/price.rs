//! A dated price of a tier. It never changes: a new one begins on its day, so that past months keep the old one. One that was
//! typed wrong is voided, with a reason: it stays in the list and counts no more.

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use rust_decimal::Decimal;
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::catalog::provider;
use crate::catalog::tier::{self, BillingMode};
use crate::dates;
use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{PriceId, ProjectId, TierId};
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::table::{Cell, Column, Table};
use crate::text::{Line, word_set};
use crate::tx::{Read, Tx};

word_set! {
    /// What a price is for.
    Unit, "error-price-unit", {
        /// One card for one hour.
        CardHour = "card_hour", "unit-card-hour", ["卡时"];
        /// One unit of the tier for one hour.
        InstanceHour = "instance_hour", "unit-instance-hour", ["台时"];
        /// One unit of the tier for one month.
        InstanceMonth = "instance_month", "unit-instance-month", ["台月"];
        /// One unit of the tier for one year.
        InstanceYear = "instance_year", "unit-instance-year", ["台年"];
        /// Anything else: calls, tokens, volumes.
        Other = "other", "unit-other", ["其他"];
    }
}

/// A dated price of a tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Price {
    /// Its id.
    pub id: PriceId,
    /// The tier.
    pub tier_id: TierId,
    /// The tier's name.
    pub tier: String,
    /// The name of the tier's provider.
    pub provider: String,
    /// The plan it belongs to.
    pub billing_mode: BillingMode,
    /// What it is for.
    pub unit: Unit,
    /// Zero is a price (a free trial); unknown is no price at all.
    pub amount: Decimal,
    /// Its currency.
    pub currency: Currency,
    /// The first day on which it holds.
    pub valid_from: NaiveDate,
    /// Since when the ledger knows it.
    pub created_at: DateTime<Utc>,
    /// Since when it counts no more; nothing where it does.
    pub voided_at: Option<DateTime<Utc>>,
    /// Who voided it, by the name of that time.
    pub voided_by: Option<String>,
    /// Why.
    pub void_reason: Option<Line>,
}

impl Price {
    /// The amount for people, without its currency.
    pub fn shown(&self) -> String {
        money::display(self.amount, &self.currency)
    }

    /// Whether it counts.
    pub const fn is_open(&self) -> bool {
        self.voided_at.is_none()
    }

    /// What a form says of it.
    fn facts(&self) -> NewPrice {
        NewPrice {
            billing_mode: self.billing_mode,
            unit: self.unit,
            amount: self.amount,
            currency: self.currency.clone(),
            valid_from: self.valid_from,
        }
    }

    /// What one price of a series is told apart by: a newer one of the same series takes its place.
    fn series(&self) -> (TierId, BillingMode, Unit, &Currency) {
        (self.tier_id, self.billing_mode, self.unit, &self.currency)
    }
}

impl Audited for Price {
    const KIND: &'static str = "price";
    const SHARED: bool = true;

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        format!("{} {} {} {}", self.tier, self.shown(), self.currency, self.valid_from)
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

/// A price to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPrice {
    /// See [`Price::billing_mode`].
    pub billing_mode: BillingMode,
    /// See [`Price::unit`].
    pub unit: Unit,
    /// See [`Price::amount`].
    pub amount: Decimal,
    /// See [`Price::currency`].
    pub currency: Currency,
    /// See [`Price::valid_from`].
    pub valid_from: NaiveDate,
}

impl NewPrice {
    /// Reads a price from texts by the names of its fields.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let billing_mode = errors.take("billing_mode", text("billing_mode").parse());
        let unit = errors.take("unit", text("unit").parse());
        let amount = errors.take("amount", money::parse_price(text("amount")));
        let currency = errors.take("currency", text("currency").parse());
        let valid_from = errors.take("valid_from", dates::parse_date(text("valid_from")));
        match (billing_mode, unit, amount, currency, valid_from) {
            (Some(billing_mode), Some(unit), Some(amount), Some(currency), Some(valid_from)) => {
                Ok(Self { billing_mode, unit, amount, currency, valid_from })
            }
            _ => Err(errors),
        }
    }
}

/// Of the prices given, those that hold on a day: the newest of each plan, unit and currency. What was voided holds never.
pub fn valid<'a>(prices: impl IntoIterator<Item = &'a Price>, day: NaiveDate) -> Vec<&'a Price> {
    let mut valid: Vec<&Price> = Vec::new();
    for price in prices.into_iter().filter(|price| price.is_open() && price.valid_from <= day) {
        match valid.iter_mut().find(|other| other.series() == price.series()) {
            Some(other) if other.valid_from < price.valid_from => *other = price,
            Some(_) => {}
            None => valid.push(price),
        }
    }
    valid
}

macro_rules! select_price {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Price,
            r#"select p.id as "id: PriceId", p.tier_id as "tier_id: TierId", t.name as tier, r.name as provider,
                      p.billing_mode as "billing_mode: BillingMode", p.unit as "unit: Unit", p.amount as "amount: Decimal",
                      p.currency as "currency: Currency", p.valid_from, p.created_at, p.voided_at, p.voided_by,
                      p.void_reason as "void_reason: Line"
               from price p join tier t on t.id = p.tier_id join provider r on r.id = t.provider_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The price with this id.
pub async fn get(connection: &mut PgConnection, id: PriceId) -> Result<Price> {
    Ok(select_price!("where p.id = $1", id.0).fetch_one(connection).await?)
}

/// The prices of a tier, newest first; those that were voided too.
pub async fn of_tier(connection: &mut PgConnection, id: TierId) -> Result<Vec<Price>> {
    Ok(select_price!("where p.tier_id = $1 order by p.valid_from desc, p.id desc", id.0).fetch_all(connection).await?)
}

/// The prices of several tiers that count, in one query.
pub async fn of_tiers(connection: &mut PgConnection, ids: impl IntoIterator<Item = TierId>) -> Result<Vec<Price>> {
    let ids: Vec<i64> = ids.into_iter().map(|id| id.0).collect();
    Ok(select_price!("where p.tier_id = any ($1) and p.voided_at is null order by p.valid_from desc, p.id desc", &ids)
        .fetch_all(connection)
        .await?)
}

/// The prices of a tier that hold on a day.
pub async fn valid_on(connection: &mut PgConnection, id: TierId, day: NaiveDate) -> Result<Vec<Price>> {
    let prices = of_tier(connection, id).await?;
    Ok(valid(&prices, day).into_iter().cloned().collect())
}

/// Adds a price that holds from its day on.
pub async fn add(tx: &mut Tx, tier: TierId, new: &NewPrice) -> Result<Price> {
    tx.allow(Permission::Catalogue, None)?;
    let tier = tier::get(tx.connection(), tier).await?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into price (tier_id, billing_mode, unit, amount, currency, valid_from, created_at)
           values ($1, $2, $3, $4, $5, $6, $7) returning id as "id: PriceId""#,
        tier.id.0,
        new.billing_mode.as_str(),
        new.unit.as_str(),
        new.amount as _,
        new.currency.as_str(),
        new.valid_from,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("price_one", "valid_from", || Message::new("error-price-taken").with("day", new.valid_from))?;
    let price = get(tx.connection(), id).await?;
    tx.record("price.added", None, &price).await?;
    Ok(price)
}

/// Voids a price: it stays, and counts no more.
///
/// # Errors
/// [`Error::Conflict`] where it was voided before.
pub async fn void(tx: &mut Tx, id: PriceId, reason: &Line) -> Result<Price> {
    tx.allow(Permission::Catalogue, None)?;
    let before = select_price!("where p.id = $1 for update of p", id.0).fetch_one(tx.connection()).await?;
    if !before.is_open() {
        return Err(Error::Conflict(Message::new("error-price-voided")));
    }
    let (now, name) = (tx.now(), tx.actor().name.clone());
    sqlx::query!(
        "update price set voided_at = $2, voided_by = $3, void_reason = $4 where id = $1",
        id.0,
        now,
        name,
        reason.as_str()
    )
    .execute(tx.connection())
    .await?;
    let after = get(tx.connection(), id).await?;
    tx.record("price.voided", Some(&before), &after).await?;
    Ok(after)
}

/// Corrects a price: voids it and adds what is right. Gives the new one.
///
/// # Errors
/// Nothing is different; [`Error::Conflict`] where it was voided before.
pub async fn correct(tx: &mut Tx, id: PriceId, new: &NewPrice, reason: &Line) -> Result<Price> {
    let wrong = void(tx, id, reason).await?;
    if wrong.facts() == *new {
        return Err(Error::invalid("", Message::new("error-price-same")));
    }
    add(tx, wrong.tier_id, new).await
}

/// Which prices a reader wants to see.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PriceFilter {
    /// Those of one tier.
    pub tier: Option<i64>,
    /// `yes`: those that were voided too.
    pub voided: Option<String>,
}

/// The list as a file: old prices too, and those that were voided where they are asked for.
pub static TABLE: Table<Price> = Table {
    name: "prices",
    title: "catalog-prices",
    columns: &[
        Column::new("id", "catalog-id", |price| price.id.0.into()),
        Column::new("provider", "catalog-provider", |price| (&price.provider).into()),
        Column::new("tier", "catalog-tier", |price| (&price.tier).into()),
        Column::new("billing_mode", "catalog-billing-mode", |price| Cell::Word {
            code: price.billing_mode.as_str().into(),
            words: price.billing_mode.words(),
        }),
        Column::new("unit", "catalog-unit", |price| Cell::Word {
            code: price.unit.as_str().into(),
            words: price.unit.words(),
        }),
        Column::new("amount", "catalog-amount", |price| price.amount.normalize().into()),
        Column::new("currency", "catalog-currency", |price| price.currency.as_str().into()),
        Column::new("valid_from", "catalog-valid-from", |price| price.valid_from.into()),
        Column::new("voided_at", "catalog-voided-at", |price| price.voided_at.into()),
        Column::new("voided_by", "catalog-voided-by", |price| price.voided_by.as_ref().into()),
        Column::new("void_reason", "catalog-void-reason", |price| price.void_reason.as_ref().map(Line::as_str).into()),
    ],
};

/// The prices that match: by tier, newest first.
pub async fn matching(read: &mut Read, filter: &PriceFilter) -> Result<Vec<Price>> {
    let prices = select_price!(
        "where ($1::bigint is null or p.tier_id = $1) and ($2 or p.voided_at is null)
         order by r.name, t.name, t.id, p.valid_from desc, p.id desc",
        filter.tier,
        provider::wants_voided(filter.voided.as_deref())?
    );
    Ok(prices.fetch_all(read.connection()).await?)
}

/// All that match, in batches, for a file: there is one, because a catalogue is short.
pub fn batches(mut read: Read, filter: PriceFilter) -> impl Stream<Item = Result<Vec<Price>>> + Send {
    stream::once(async move { matching(&mut read, &filter).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(id: i64, unit: Unit, amount: i64, valid_from: &str) -> Price {
        Price {
            id: PriceId(id),
            tier_id: TierId(1),
            tier: "H800".to_owned(),
            provider: "苇塘云".to_owned(),
            billing_mode: BillingMode::Monthly,
            unit,
            amount: amount.into(),
            currency: "CNY".parse().unwrap(),
            valid_from: dates::parse_date(valid_from).unwrap(),
            created_at: DateTime::UNIX_EPOCH,
            voided_at: None,
            voided_by: None,
            void_reason: None,
        }
    }

    // case M09
    #[test]
    fn a_new_price_leaves_the_days_before_it_alone() {
        let prices = [
            price(2, Unit::InstanceMonth, 12, "2026-07-01"),
            price(1, Unit::InstanceMonth, 10, "2026-01-01"),
            price(3, Unit::InstanceYear, 100, "2026-01-01"),
        ];
        let on = |day: &str| {
            let valid = valid(&prices, dates::parse_date(day).unwrap());
            let mut ids: Vec<i64> = valid.iter().map(|price| price.id.0).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(on("2025-12-31"), Vec::<i64>::new());
        assert_eq!(on("2026-06-30"), [1, 3]);
        assert_eq!(on("2026-07-01"), [2, 3]);
    }

    #[test]
    fn a_voided_price_holds_on_no_day() {
        let wrong =
            Price { voided_at: Some(DateTime::UNIX_EPOCH), ..price(2, Unit::InstanceMonth, 1200, "2026-07-01") };
        let prices = [wrong, price(1, Unit::InstanceMonth, 10, "2026-01-01")];
        let valid = valid(&prices, dates::parse_date("2026-07-01").unwrap());
        assert_eq!(valid.iter().map(|price| price.id.0).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        let names = "id provider tier billing_mode unit amount currency valid_from voided_at voided_by void_reason";
        assert_eq!(TABLE.names(), names.split(' ').collect::<Vec<_>>());
    }

    // case I17
    #[test]
    fn a_sentinel_is_no_price_and_zero_is_one() {
        let fields = |amount: &'static str| {
            move |name: &str| match name {
                "billing_mode" => "包月",
                "unit" => "instance_month",
                "amount" => amount,
                "currency" => "CNY",
                _ => "2026-01-01",
            }
        };
        assert_eq!(NewPrice::parse(&fields("0")).unwrap().amount, Decimal::ZERO);
        let errors = NewPrice::parse(&fields("-1")).unwrap_err();
        assert_eq!(errors.of("amount").next().unwrap().key, "error-price-negative");
    }
}
