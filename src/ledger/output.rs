//! One line of what came of the machines: so many of a unit, in a month, in an environment.
//!
//! An entry's facts never change. To correct it is to take it back and to record what is right; to void it is to take it back.
//! An entry is taken back once, and what takes it back is never taken back itself.

use chrono::{DateTime, Utc};
use futures_util::{Stream, stream};
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::{Audited, Change, Object};
use crate::dates::Period;
use crate::environments::environment;
use crate::environments::scenario::Scenario;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{EnvironmentId, OutputId, ProjectId};
use crate::locale::Message;
use crate::money::{self, Currency, Sum};
use crate::table::{Cell, Column, Table};
use crate::text::{self, Line, excerpt};
use crate::tx::{Read, Tx};

/// One line of what was produced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputEntry {
    /// Its id.
    pub id: OutputId,
    /// The project of its environment.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// What produced it.
    pub environment_id: EnvironmentId,
    /// The environment's name.
    pub environment: String,
    /// What the environment was used for then.
    pub scenario: Option<Scenario>,
    /// The month.
    pub period: Period,
    /// What is counted: `billion tokens`, `runs`, `images`.
    pub unit: String,
    /// How many.
    pub quantity: Decimal,
    /// What it was worth, where somebody can say.
    pub value: Option<Decimal>,
    /// Of the value.
    pub currency: Option<Currency>,
    /// In words.
    pub description: String,
    /// The entry that it takes back.
    pub reverses_id: Option<OutputId>,
    /// The entry in whose place it was recorded.
    pub corrects_id: Option<OutputId>,
    /// The entry that takes it back.
    #[serde(skip)]
    pub reversed_by: Option<OutputId>,
    /// When.
    pub recorded_at: DateTime<Utc>,
}

impl OutputEntry {
    /// Whether it can still be corrected and voided.
    pub const fn is_open(&self) -> bool {
        self.reverses_id.is_none() && self.reversed_by.is_none()
    }

    /// The quantity for people.
    pub fn shown_quantity(&self) -> String {
        money::grouped(&self.quantity.into(), 0)
    }

    /// The value for people, where it is known.
    pub fn shown_value(&self) -> Option<String> {
        Some(money::display(self.value?, self.currency.as_ref()?))
    }

    /// Its place in the list, for [`OutputFilter::before`].
    pub fn place(&self) -> String {
        format!("{}.{}", self.period, self.id)
    }
}

impl Audited for OutputEntry {
    const KIND: &'static str = "output_entry";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        format!("{} {}", self.environment, self.period)
    }

    fn audit_project(&self) -> Option<ProjectId> {
        Some(self.project_id)
    }
}

/// An entry to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOutput {
    /// See [`OutputEntry::environment_id`].
    pub environment: EnvironmentId,
    /// See [`OutputEntry::scenario`]; the environment's own where nothing is said.
    pub scenario: Option<Scenario>,
    /// See [`OutputEntry::period`].
    pub period: Period,
    /// See [`OutputEntry::unit`].
    pub unit: Line,
    /// See [`OutputEntry::quantity`].
    pub quantity: Decimal,
    /// See [`OutputEntry::value`].
    pub value: Option<(Decimal, Currency)>,
    /// See [`OutputEntry::description`].
    pub description: Line,
}

impl NewOutput {
    /// Reads what a person typed; `text` gives a field's value.
    ///
    /// # Errors
    /// Field by field.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let chosen = text("environment").parse().map_err(|_| Message::new("error-output-environment"));
        let environment = errors.take("environment", chosen);
        let scenario = filled("scenario").and_then(|word| errors.take("scenario", word.parse()));
        let period = errors.take("period", text("period").parse());
        let unit = errors.take("unit", text::filled(text("unit")).and_then(str::parse));
        let quantity = errors.take("quantity", text::filled(text("quantity")).and_then(parse_quantity));
        let value = filled("value").and_then(|value| {
            let amount = errors.take("value", money::parse_amount(value));
            amount.zip(errors.take("currency", text("currency").parse()))
        });
        let description = errors.take("description", text("description").parse());
        match (environment, period, unit, quantity, description, errors.is_empty()) {
            (Some(environment), Some(period), Some(unit), Some(quantity), Some(description), true) => {
                Ok(Self { environment, scenario, period, unit, quantity, value, description })
            }
            _ => Err(errors),
        }
    }
}

/// Reads how much came out: nothing or more.
fn parse_quantity(text: &str) -> Result<Decimal, Message> {
    let quantity = money::parse_decimal(text)?;
    if quantity < Decimal::ZERO || quantity > money::max_amount() {
        let message = Message::new("error-output-quantity").with("value", money::plain(quantity));
        return Err(message.with("most", money::max_shown()));
    }
    Ok(quantity)
}

macro_rules! select_output {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            OutputEntry,
            r#"select o.id as "id: OutputId", o.project_id as "project_id: ProjectId", p.name as project,
                      o.environment_id as "environment_id: EnvironmentId", e.name as environment,
                      o.scenario as "scenario: Scenario", o.period as "period: Period", o.unit,
                      o.quantity as "quantity: Decimal", o.value as "value: Decimal", o.currency as "currency: Currency",
                      o.description, o.reverses_id as "reverses_id: OutputId", o.corrects_id as "corrects_id: OutputId",
                      r.id as "reversed_by?: OutputId", o.recorded_at
               from output_entry o
               join project p on p.id = o.project_id
               join environment e on e.id = o.environment_id
               left join output_entry r on r.reverses_id = o.id "# + $rest
            $(, $argument)*
        )
    };
}

/// The entry with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: OutputId) -> Result<OutputEntry> {
    Ok(select_output!("where o.id = $1", id.0).fetch_one(connection).await?)
}

/// Records an entry.
pub async fn record(tx: &mut Tx, new: &NewOutput) -> Result<OutputEntry> {
    insert(tx, new, None).await
}

async fn insert(tx: &mut Tx, new: &NewOutput, corrects: Option<OutputId>) -> Result<OutputEntry> {
    let environment = environment::hold(tx, new.environment, "error-output-environment").await?;
    tx.allow(Permission::Operate, Some(environment.project_id))?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into output_entry (project_id, environment_id, scenario, period, unit, quantity, value, currency,
                                     description, corrects_id, recorded_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id as "id: OutputId""#,
        environment.project_id.0,
        environment.id.0,
        new.scenario.or(environment.scenario).map(Scenario::as_str),
        new.period as _,
        new.unit.as_str(),
        new.quantity as _,
        new.value.as_ref().map(|(amount, _)| *amount) as _,
        new.value.as_ref().map(|(_, currency)| currency.as_str()),
        new.description.as_str(),
        corrects.map(|id| id.0),
        now,
    )
    .fetch_one(tx.connection())
    .await?;
    let entry = get(tx.connection(), id).await?;
    tx.record("output.recorded", None, &entry).await?;
    Ok(entry)
}

/// Corrects an entry: takes it back and records what is right. Gives the new entry.
pub async fn correct(tx: &mut Tx, id: OutputId, new: &NewOutput) -> Result<OutputEntry> {
    void(tx, id).await?;
    insert(tx, new, Some(id)).await
}

/// Takes an entry back; the actor says why. Gives the reversal: the same line with the opposite numbers, in the same month.
///
/// # Errors
/// [`Error::Conflict`] where it was taken back before, or takes another one back.
pub async fn void(tx: &mut Tx, id: OutputId) -> Result<OutputEntry> {
    let original = get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(original.project_id))?;
    if original.reverses_id.is_some() {
        return Err(Error::Conflict(Message::new("error-output-is-reversal")));
    }
    let now = tx.now();
    let reversal = sqlx::query_scalar!(
        r#"insert into output_entry (project_id, environment_id, scenario, period, unit, quantity, value, currency,
                                     description, reverses_id, recorded_at)
           select project_id, environment_id, scenario, period, unit, -quantity, -value, currency, description, id, $2
           from output_entry where id = $1 returning id as "id: OutputId""#,
        id.0,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .map_err(|cause| match &cause {
        sqlx::Error::Database(database) if database.constraint() == Some("output_entry_one_reversal") => {
            Error::Conflict(Message::new("error-output-reversed"))
        }
        _ => cause.into(),
    })?;
    let reversal = get(tx.connection(), reversal).await?;
    let object = Object {
        kind: OutputEntry::KIND,
        id: Some(id.0),
        name: original.audit_name(),
        project: original.audit_project(),
        shared: false,
    };
    let after = json!({
        "reversal": serde_json::to_value(&reversal)?,
        "quantity": money::plain(original.quantity),
        "unit": original.unit,
        "environment": original.environment,
    });
    tx.record_change(Change { action: "output.reversed", object, before: None, after }).await?;
    Ok(reversal)
}

/// The query keys of the list. An empty one filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OutputFilter {
    /// A project, by id or name.
    pub project: Option<String>,
    /// An environment, by id or name.
    pub environment: Option<String>,
    /// A scenario.
    pub scenario: Option<String>,
    /// From this month on: `2026-03`.
    pub from: Option<String>,
    /// Up to this month, included.
    pub to: Option<String>,
    /// A unit.
    pub unit: Option<String>,
    /// The last entry of the page before: `2026-03.77`.
    pub before: Option<String>,
}

/// A filter whose words were read.
#[derive(Debug, Clone, Default)]
struct Chosen {
    scenario: Option<Scenario>,
    from: Option<Period>,
    to: Option<Period>,
    before: Option<(Period, i64)>,
}

impl Chosen {
    fn of(filter: &OutputFilter) -> Result<Self> {
        fn read<T: std::str::FromStr<Err = Message>>(field: &'static str, text: Option<&String>) -> Result<Option<T>> {
            text.map(|text| text.parse()).transpose().map_err(|message| Error::invalid(field, message))
        }
        let place = |text: &String| {
            let (period, id) = text.split_once('.')?;
            Some((period.parse().ok()?, id.parse().ok()?))
        };
        let refuse =
            |text: &String| Error::invalid("before", Message::new("error-outputs-place").with("value", excerpt(text)));
        Ok(Self {
            scenario: read("scenario", filter.scenario.as_ref())?,
            from: read("from", filter.from.as_ref())?,
            to: read("to", filter.to.as_ref())?,
            before: filter.before.as_ref().map(|text| place(text).ok_or_else(|| refuse(text))).transpose()?,
        })
    }
}

/// A thing's number, where somebody typed one; a name else.
fn number(text: Option<&String>) -> Option<i64> {
    text.and_then(|text| text.trim().parse().ok())
}

fn trimmed(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim())
}

/// The entries that match, newest month first, at most `limit`; reversals are entries too.
pub async fn list(read: &mut Read, filter: &OutputFilter, limit: i64) -> Result<Vec<OutputEntry>> {
    let chosen = Chosen::of(filter)?;
    let entries = select_output!(
        "where ($1::text is null or app_name_key(p.name) = app_name_key($1) or p.id = $2) and ($3::text is null or e.name = $3 or e.id = $4)
           and ($5::text is null or o.scenario = $5) and ($6::date is null or o.period >= $6)
           and ($7::date is null or o.period <= $7) and ($8::text is null or o.unit = $8)
           and ($9::date is null or (o.period, o.id) < ($9, $10::bigint))
         order by o.period desc, o.id desc limit $11",
        trimmed(filter.project.as_ref()),
        number(filter.project.as_ref()),
        trimmed(filter.environment.as_ref()),
        number(filter.environment.as_ref()),
        chosen.scenario.map(Scenario::as_str),
        chosen.from as _,
        chosen.to as _,
        trimmed(filter.unit.as_ref()),
        chosen.before.map(|place| place.0) as _,
        chosen.before.map_or(0, |place| place.1),
        limit
    );
    Ok(entries.fetch_all(read.connection()).await?)
}

/// How much of one unit came out, reversals counted.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct UnitTotal {
    /// The unit.
    pub unit: String,
    /// How many.
    pub quantity: Sum,
}

impl UnitTotal {
    /// The quantity for people.
    pub fn shown(&self) -> String {
        money::grouped(&self.quantity, 0)
    }
}

/// Totals of everything that matches, a unit each: units never add up.
pub async fn totals(read: &mut Read, filter: &OutputFilter) -> Result<Vec<UnitTotal>> {
    let chosen = Chosen::of(filter)?;
    let totals = sqlx::query_as!(
        UnitTotal,
        r#"select o.unit, sum(o.quantity) as "quantity!: Sum"
           from output_entry o join project p on p.id = o.project_id join environment e on e.id = o.environment_id
           where ($1::text is null or app_name_key(p.name) = app_name_key($1) or p.id = $2) and ($3::text is null or e.name = $3 or e.id = $4)
             and ($5::text is null or o.scenario = $5) and ($6::date is null or o.period >= $6)
             and ($7::date is null or o.period <= $7) and ($8::text is null or o.unit = $8)
           group by o.unit order by o.unit"#,
        trimmed(filter.project.as_ref()),
        number(filter.project.as_ref()),
        trimmed(filter.environment.as_ref()),
        number(filter.environment.as_ref()),
        chosen.scenario.map(Scenario::as_str),
        chosen.from as _,
        chosen.to as _,
        trimmed(filter.unit.as_ref()),
    );
    Ok(totals.fetch_all(read.connection()).await?)
}

/// The list as a file.
pub static TABLE: Table<OutputEntry> = Table {
    name: "output",
    title: "outputs-title",
    columns: &[
        Column::new("id", "outputs-col-id", |row| row.id.0.into()),
        Column::new("project", "outputs-col-project", |row| (&row.project).into()),
        Column::new("environment", "outputs-col-environment", |row| (&row.environment).into()),
        Column::new("scenario", "outputs-col-scenario", |row| match row.scenario {
            Some(scenario) => Cell::Word { code: scenario.as_str().into(), words: scenario.words() },
            None => Cell::Empty,
        }),
        Column::new("period", "outputs-col-period", |row| row.period.to_string().into()),
        Column::new("unit", "outputs-col-unit", |row| (&row.unit).into()),
        Column::new("quantity", "outputs-col-quantity", |row| row.quantity.normalize().into()),
        Column::new("value", "outputs-col-value", |row| row.value.map(|value| value.normalize()).into()),
        Column::new("currency", "outputs-col-currency", |row| row.currency.as_ref().map(Currency::as_str).into()),
        Column::new("description", "outputs-col-description", |row| (&row.description).into()),
        Column::new("reverses_id", "outputs-col-reverses", |row| row.reverses_id.map(|id| id.0).into()),
        Column::new("recorded_at", "outputs-col-recorded-at", |row| row.recorded_at.into()),
    ],
};

/// Rows that are read at once for a file.
const CHUNK: i64 = 1_000;

/// All entries that match, newest month first, in batches; `before` is not asked.
pub fn batches(read: Read, filter: OutputFilter) -> impl Stream<Item = Result<Vec<OutputEntry>>> + Send {
    let start = Some((read, OutputFilter { before: None, ..filter }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, mut filter)) = state else { return Ok(None) };
        let entries = list(&mut read, &filter, CHUNK).await?;
        let Some(last) = entries.last() else { return Ok(None) };
        filter.before = Some(last.place());
        let more = i64::try_from(entries.len()).unwrap_or(i64::MAX) == CHUNK;
        Ok(Some((entries, more.then_some((read, filter)))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(fields: &[(&str, &'static str)]) -> Result<NewOutput, FieldErrors> {
        NewOutput::parse(&|name| fields.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| value))
    }

    const FILLED: [(&str, &str); 4] =
        [("environment", "7"), ("period", "2026-03"), ("unit", "十亿 token"), ("quantity", "551")];

    #[test]
    fn an_entry_needs_an_environment_a_month_a_unit_and_a_quantity() {
        let entry = parse(&FILLED).unwrap();
        assert_eq!((entry.environment, entry.quantity, entry.value), (EnvironmentId(7), Decimal::from(551), None));
        let wrong = parse(&[("quantity", "-1"), ("period", "2026-13")]).unwrap_err();
        let fields: Vec<&str> = wrong.0.iter().map(|error| error.field.as_ref()).collect();
        assert_eq!(fields, ["environment", "period", "unit", "quantity"]);
        let large = parse(&[&[("quantity", "100000000000")], FILLED.as_slice()].concat()).unwrap_err();
        let said = crate::locale::Locale::En.say(&large.0[0].message);
        assert_eq!(said, "100000000000 is not a quantity of output; write 0 or more, at most 99,999,999,999.99.");
    }

    #[test]
    fn a_value_needs_its_currency() {
        let with = |more: &[(&'static str, &'static str)]| parse(&[FILLED.as_slice(), more].concat());
        assert_eq!(with(&[("value", "10")]).unwrap_err().0[0].field, "currency");
        assert_eq!(with(&[("currency", "CNY")]).unwrap().value, None);
        assert_eq!(with(&[("value", "10"), ("currency", "CNY")]).unwrap().value.unwrap().0, Decimal::from(10));
    }

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        assert_eq!(
            TABLE.names(),
            [
                "id",
                "project",
                "environment",
                "scenario",
                "period",
                "unit",
                "quantity",
                "value",
                "currency",
                "description",
                "reverses_id",
                "recorded_at"
            ]
        );
    }
}
