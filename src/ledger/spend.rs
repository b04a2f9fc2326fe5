//! One line of cost. Its facts never change: a correction is a reversal and a new entry, a voided entry is reversed alone.
//!
//! Where a line is placed may change, but only by a binding (`binding.rs`).

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};
use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::{Audited, Change, Object};
use crate::dates::{self, Period, Zone};
use crate::environments::environment;
use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{BillImportId, EnvironmentId, ProjectId, ProviderId, ResourceId, SpendId};
use crate::ledger::charge::{Category, Class, CostKind};
use crate::ledger::{resource, rollup};
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::text::Line;
use crate::tx::Tx;

/// One line of cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spend {
    /// Its id.
    pub id: SpendId,
    /// The ledger's month.
    pub period: Period,
    /// Who charges.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// The account that pays; empty for what a person recorded.
    pub account: String,
    /// The account that used it.
    pub sub_account: String,
    /// What the line charges for.
    pub resource_id: Option<ResourceId>,
    /// The resource's name, or its id where it has none.
    pub resource: Option<String>,
    /// The project of its environment.
    pub project_id: Option<ProjectId>,
    /// The project's name.
    pub project: Option<String>,
    /// Where it is placed; nothing for a line that found no environment yet.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// The service, as the provider calls it.
    pub service: String,
    /// How the cost came about.
    pub category: Category,
    /// Whether it corrects a period that was invoiced before.
    pub class: Option<Class>,
    /// What the money went for.
    pub cost_kind: Option<CostKind>,
    /// The first instant that it charges for.
    pub charge_start: DateTime<Utc>,
    /// The first instant after it.
    pub charge_end: DateTime<Utc>,
    /// The day of `charge_start` in the organisation's zone: dated rates and bindings go by it.
    pub charged_on: NaiveDate,
    /// How much of it.
    pub quantity: Option<Decimal>,
    /// Of what.
    pub unit: String,
    /// At the public price; nothing is unknown.
    pub list: Option<Decimal>,
    /// At the agreed price.
    pub contracted: Option<Decimal>,
    /// What is to be paid.
    pub billed: Option<Decimal>,
    /// What it cost, prepayments spread over their time.
    pub effective: Option<Decimal>,
    /// Of all four.
    pub currency: Currency,
    /// Whether tax is in the amounts, where that is known.
    pub tax_included: Option<bool>,
    /// The rate of the tax, as a share: 0.06.
    pub tax_rate: Option<Decimal>,
    /// In words.
    pub description: String,
    /// The provider's tags, as a JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<String>,
    /// The file that it came in.
    pub import_id: Option<BillImportId>,
    /// Its line in that file.
    pub import_row: Option<i32>,
    /// The entry that it takes back.
    pub reverses_id: Option<SpendId>,
    /// The entry in whose place it was recorded.
    pub corrects_id: Option<SpendId>,
    /// The entry that takes it back.
    #[serde(skip)]
    pub reversed_by: Option<SpendId>,
    /// When.
    pub recorded_at: DateTime<Utc>,
}

impl Spend {
    /// The currency and the first amount that is known.
    pub fn amount(&self) -> Option<Decimal> {
        self.billed.or(self.effective).or(self.contracted).or(self.list)
    }

    /// Whether it can still be corrected and voided.
    pub const fn is_open(&self) -> bool {
        self.reverses_id.is_none() && self.reversed_by.is_none()
    }

    /// The last day that it charges for, in the organisation's zone.
    pub fn last_day(&self, zone: Zone) -> NaiveDate {
        dates::today(self.charge_end - chrono::TimeDelta::microseconds(1), zone)
    }
}

impl Audited for Spend {
    const KIND: &'static str = "spend";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        let amount = self.amount().map(money::plain).unwrap_or_default();
        format!("{} {} {amount}", self.period, self.currency).trim_end().to_owned()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        self.project_id
    }
}

/// An entry that a person records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSpend {
    /// Whose cost it is.
    pub environment: EnvironmentId,
    /// Who charges; the environment's provider where nothing is said.
    pub provider: Option<ProviderId>,
    /// See [`Spend::category`].
    pub category: Category,
    /// See [`Spend::cost_kind`].
    pub cost_kind: Option<CostKind>,
    /// See [`Spend::service`].
    pub service: Line,
    /// The first instant that it charges for; its month in the organisation's zone is the entry's period.
    pub charge_start: DateTime<Utc>,
    /// The first instant after it.
    pub charge_end: DateTime<Utc>,
    /// See [`Spend::quantity`].
    pub quantity: Option<Decimal>,
    /// See [`Spend::unit`].
    pub unit: Line,
    /// See [`Spend::list`].
    pub list: Option<Decimal>,
    /// See [`Spend::contracted`].
    pub contracted: Option<Decimal>,
    /// See [`Spend::billed`].
    pub billed: Option<Decimal>,
    /// See [`Spend::effective`].
    pub effective: Option<Decimal>,
    /// See [`Spend::currency`].
    pub currency: Currency,
    /// See [`Spend::tax_included`].
    pub tax_included: Option<bool>,
    /// See [`Spend::tax_rate`].
    pub tax_rate: Option<Decimal>,
    /// See [`Spend::description`].
    pub description: Line,
}

impl NewSpend {
    /// An entry of whole days, the last one included, of which only the payable amount is known.
    pub fn of_days(
        environment: EnvironmentId,
        first: NaiveDate,
        last: NaiveDate,
        billed: Decimal,
        currency: Currency,
        zone: Zone,
    ) -> Self {
        let (charge_start, charge_end) = instants(first, last, zone);
        Self {
            environment,
            provider: None,
            category: Category::Usage,
            cost_kind: None,
            service: Line::default(),
            charge_start,
            charge_end,
            quantity: None,
            unit: Line::default(),
            list: None,
            contracted: None,
            billed: Some(billed),
            effective: None,
            currency,
            tax_included: None,
            tax_rate: None,
            description: Line::default(),
        }
    }

    /// Reads what a person typed; `text` gives a field's value. The days are of the organisation's zone.
    ///
    /// # Errors
    /// Field by field.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str, zone: Zone) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let missing = || Message::new("error-text-empty");
        let environment = errors
            .take("environment", text("environment").parse().map_err(|_| Message::new("error-environment-choose")));
        let provider = filled("provider")
            .and_then(|id| errors.take("provider", id.parse().map_err(|_| Message::new("error-provider-choose"))));
        let category = errors.take("category", filled("category").ok_or_else(missing).and_then(str::parse));
        let cost_kind = filled("cost_kind").and_then(|word| errors.take("cost_kind", word.parse()));
        let first = errors.take("charged_on", dates::parse_date(text("charged_on")));
        let until = filled("charged_until").map_or(first, |day| errors.take("charged_until", dates::parse_date(day)));
        let mut amount =
            |name: &'static str| filled(name).and_then(|value| errors.take(name, money::parse_amount(value)));
        let (list, contracted) = (amount("list"), amount("contracted"));
        let (billed, effective) = (amount("billed"), amount("effective"));
        let how_much = filled("quantity").and_then(|value| errors.take("quantity", money::parse_quantity(value)));
        let tax_rate = filled("tax_rate").and_then(|value| errors.take("tax_rate", tax_rate(value)));
        let tax_included = filled("tax_included").map(|answer| answer == "yes");
        let currency = errors.take("currency", text("currency").parse::<Currency>());
        let mut line = |name: &'static str| errors.take(name, text(name).parse::<Line>()).unwrap_or_default();
        let (service, unit, description) = (line("service"), line("unit"), line("description"));
        if ["list", "contracted", "billed", "effective"].iter().all(|name| filled(name).is_none()) {
            errors.add("billed", Message::new("error-spend-amount"));
        }
        if let (Some(first), Some(until)) = (first, until)
            && until < first
        {
            errors.add("charged_until", Message::new("error-spend-days").with("first", first));
        }
        let (Some(environment), Some(category), Some(first), Some(until), Some(currency), true) =
            (environment, category, first, until, currency, errors.is_empty())
        else {
            return Err(errors);
        };
        let (charge_start, charge_end) = instants(first, until, zone);
        Ok(Self {
            environment,
            provider,
            category,
            cost_kind,
            service,
            charge_start,
            charge_end,
            quantity: how_much,
            unit,
            list,
            contracted,
            billed,
            effective,
            currency,
            tax_included,
            tax_rate,
            description,
        })
    }
}

/// A share between 0 and 1, or a percentage with its sign.
fn tax_rate(text: &str) -> Result<Decimal, Message> {
    let refuse = || Message::new("error-tax-rate").with("value", text.trim());
    let rate = match text.trim().strip_suffix(['%', '％']) {
        Some(percent) => money::parse_decimal(percent)? / Decimal::ONE_HUNDRED,
        None => money::parse_decimal(text)?,
    };
    if rate < Decimal::ZERO || rate > Decimal::ONE { Err(refuse()) } else { Ok(rate.normalize()) }
}

/// From the first instant of a day to the first after another, in a zone.
fn instants(first: NaiveDate, last: NaiveDate, zone: Zone) -> (DateTime<Utc>, DateTime<Utc>) {
    let start = |day: NaiveDate| dates::local_instant(day, NaiveTime::MIN, zone);
    (start(first), start(last.checked_add_days(Days::new(1)).unwrap_or(last)))
}

macro_rules! select_spend {
    ($where:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Spend,
            r#"select s.id as "id: SpendId", s.period as "period: Period", s.provider_id as "provider_id: ProviderId",
                      p.name as provider, s.account, s.sub_account, s.resource_id as "resource_id: ResourceId",
                      coalesce(nullif(r.name, ''), nullif(r.external_id, ''), r.service) as resource,
                      s.project_id as "project_id: ProjectId", j.name as "project?",
                      s.environment_id as "environment_id: EnvironmentId", e.name as "environment?", s.service,
                      s.category as "category: Category", s.class as "class: Class", s.cost_kind as "cost_kind: CostKind",
                      s.charge_start, s.charge_end, s.charged_on, s.quantity as "quantity: Decimal", s.unit,
                      s.list as "list: Decimal", s.contracted as "contracted: Decimal", s.billed as "billed: Decimal",
                      s.effective as "effective: Decimal", s.currency as "currency: Currency", s.tax_included,
                      s.tax_rate as "tax_rate: Decimal", s.description, s.tags::text as tags,
                      s.import_id as "import_id: BillImportId", s.import_row, s.reverses_id as "reverses_id: SpendId",
                      s.corrects_id as "corrects_id: SpendId", v.reversal_id as "reversed_by?: SpendId", s.recorded_at
               from spend s
               join provider p on p.id = s.provider_id
               left join project j on j.id = s.project_id
               left join environment e on e.id = s.environment_id
               left join resource r on r.id = s.resource_id
               left join spend_reversal v on v.spend_id = s.id "# + $where
            $(, $argument)*
        )
    };
}

/// The entry with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: SpendId) -> Result<Spend> {
    Ok(select_spend!("where s.id = $1", id.0).fetch_one(connection).await?)
}

/// Records an entry. Its period is the month of its first day in the organisation's zone.
pub async fn record(tx: &mut Tx, new: NewSpend) -> Result<Spend> {
    let spend = insert(tx, &new, None).await?;
    rollup::add_entries(tx, &[(spend.period, spend.id)]).await?;
    tx.record("spend.recorded", None, &spend).await?;
    Ok(spend)
}

/// Corrects an entry: takes it back and records what is right. Gives the new entry.
pub async fn correct(tx: &mut Tx, id: SpendId, new: NewSpend) -> Result<Spend> {
    // Both entries write the same sums as an import of their providers would, in another order: one at a time.
    let before = get(tx.connection(), id).await?;
    let mut providers = [before.provider_id, new.provider.unwrap_or(before.provider_id)];
    providers.sort_unstable();
    for provider in providers {
        resource::lock_provider(tx, provider).await?;
    }
    let reversal = reverse(tx, id).await?;
    let spend = insert(tx, &new, Some(id)).await?;
    // Both at once, so that the cells are written in one order.
    rollup::add_entries(tx, &[(reversal.period, reversal.id), (spend.period, spend.id)]).await?;
    tx.record("spend.recorded", None, &spend).await?;
    Ok(spend)
}

/// Takes an entry back; the actor says why. Gives the reversal.
pub async fn void(tx: &mut Tx, id: SpendId) -> Result<Spend> {
    let reversal = reverse(tx, id).await?;
    rollup::add_entries(tx, &[(reversal.period, reversal.id)]).await?;
    Ok(reversal)
}

async fn insert(tx: &mut Tx, new: &NewSpend, corrects: Option<SpendId>) -> Result<Spend> {
    let environment = environment::hold(tx, new.environment, "error-environment-choose").await?;
    tx.allow(Permission::Operate, Some(environment.project_id))?;
    let provider = new.provider.unwrap_or(environment.provider_id);
    crate::catalog::provider::get(tx.connection(), provider).await.map_err(|error| match error {
        Error::NotFound => Error::invalid("provider", Message::new("error-provider-choose")),
        other => other,
    })?;
    let zone = tx.organisation().zone;
    let charged_on = dates::today(new.charge_start, zone);
    let period = Period::of_date(charged_on);
    make_partition(tx, period).await?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into spend (period, provider_id, project_id, environment_id, service, category, cost_kind, charge_start,
                              charge_end, charged_on, quantity, unit, list, contracted, billed, effective, currency,
                              tax_included, tax_rate, description, corrects_id, recorded_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)
           returning id as "id: SpendId""#,
        period as _,
        provider.0,
        environment.project_id.0,
        environment.id.0,
        new.service.as_str(),
        new.category.as_str(),
        new.cost_kind.map(CostKind::as_str),
        new.charge_start,
        new.charge_end,
        charged_on,
        new.quantity as _,
        new.unit.as_str(),
        new.list as _,
        new.contracted as _,
        new.billed as _,
        new.effective as _,
        new.currency.as_str(),
        new.tax_included,
        new.tax_rate as _,
        new.description.as_str(),
        corrects.map(|id| id.0),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("spend_charge", "charged_until", || Message::new("error-spend-days").with("first", charged_on))?;
    get(tx.connection(), id).await
}

/// Makes sure that a month has its partition.
pub(super) async fn make_partition(tx: &mut Tx, period: Period) -> Result<()> {
    sqlx::query!("select app_spend_partition($1)", period as _).execute(tx.connection()).await?;
    Ok(())
}

/// Writes the entry that takes another back: the same line with the opposite amounts, in the same period and place.
async fn reverse(tx: &mut Tx, id: SpendId) -> Result<Spend> {
    let mut original = get(tx.connection(), id).await?;
    if original.resource_id.is_some() {
        // A binding may be moving this line; the reversal must lie where it will.
        resource::lock_provider(tx, original.provider_id).await?;
        original = get(tx.connection(), id).await?;
    }
    match original.project_id {
        Some(project) => tx.allow(Permission::Operate, Some(project))?,
        None => tx.allow(Permission::Unplaced, None)?,
    }
    if original.reverses_id.is_some() {
        return Err(Error::Conflict(Message::new("error-spend-is-reversal")));
    }
    let now = tx.now();
    let reversal = sqlx::query_scalar!(
        r#"insert into spend (period, provider_id, account, sub_account, resource_id, project_id, environment_id, service,
                              category, class, cost_kind, charge_start, charge_end, charged_on, quantity, unit, list,
                              contracted, billed, effective, currency, tax_included, tax_rate, description, tags,
                              reverses_id, recorded_at)
           select period, provider_id, account, sub_account, resource_id, project_id, environment_id, service, category, class,
                  cost_kind, charge_start, charge_end, charged_on, -quantity, unit, -list, -contracted, -billed, -effective,
                  currency, tax_included, tax_rate, description, tags, id, $3
           from spend where id = $1 and period = $2
           returning id as "id: SpendId""#,
        id.0,
        original.period as _,
        now,
    )
    .fetch_one(tx.connection())
    .await?;
    let reversal = get(tx.connection(), reversal).await?;
    sqlx::query!(
        "insert into spend_reversal (spend_id, period, reversal_id, project_id) values ($1, $2, $3, $4)",
        id.0,
        reversal.period as _,
        reversal.id.0,
        reversal.project_id.map(|project| project.0),
    )
    .execute(tx.connection())
    .await
    .map_err(|cause| match &cause {
        sqlx::Error::Database(database) if database.constraint() == Some("spend_reversal_pkey") => {
            Error::Conflict(Message::new("error-spend-reversed"))
        }
        _ => cause.into(),
    })?;
    let object = Object {
        kind: Spend::KIND,
        id: Some(id.0),
        name: original.audit_name(),
        project: original.audit_project(),
        shared: false,
    };
    let change = Change {
        action: "spend.reversed",
        object,
        before: None,
        after: json!({ "reversal": serde_json::to_value(&reversal)?, "billed": original.amount().map(money::plain),
                       "currency": original.currency, "environment": original.environment }),
    };
    tx.record_change(change).await?;
    Ok(reversal)
}
