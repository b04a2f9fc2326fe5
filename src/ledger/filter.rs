//! Which entries a page, a file or a command shows: one struct of query keys for all of them.
//!
//! Things are named by id or by name, because people type `--filter provider=AWS` and pages link `provider=3`.

use std::fmt::Write as _;

use chrono::NaiveDate;
use serde::Deserialize;
use sqlx::{Postgres, QueryBuilder};

use crate::dates::Period;
use crate::environments::environment;
use crate::error::{Error, Result};
use crate::filter::one_of;
use crate::ids::{BillImportId, EnvironmentId, ProjectId, ProviderId, ResourceId, SpendId};
use crate::ledger::charge::{Category, Class, CostKind};
use crate::ledger::exchange_rate;
use crate::locale::Message;
use crate::money::Currency;
use crate::text::excerpt;
use crate::tx::Read;

/// The query keys of the ledger. An empty one filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpendFilter {
    /// This month alone: `2026-03`.
    pub period: Option<String>,
    /// From this month on.
    pub from: Option<String>,
    /// Up to this month, included.
    pub to: Option<String>,
    /// A project, by id or name.
    pub project: Option<String>,
    /// An environment, by id.
    pub environment: Option<String>,
    /// A provider, by id or name.
    pub provider: Option<String>,
    /// A charge category.
    pub category: Option<String>,
    /// A charge class.
    pub class: Option<String>,
    /// A cost kind.
    pub cost_kind: Option<String>,
    /// A currency.
    pub currency: Option<String>,
    /// A resource, by id or as the provider writes it.
    pub resource: Option<String>,
    /// An import, by id.
    pub import: Option<String>,
    /// `missing`: only what has no rate into the house currency.
    pub rate: Option<String>,
    /// The last entry of the page before: `2026-03.1234`.
    pub before: Option<String>,
}

/// A [`SpendFilter`] whose names were looked up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// From this month on.
    pub from: Option<Period>,
    /// Up to this month.
    pub to: Option<Period>,
    /// A project.
    pub project: Option<ProjectId>,
    /// An environment, with its project.
    pub environment: Option<(ProjectId, EnvironmentId)>,
    /// A provider.
    pub provider: Option<ProviderId>,
    /// A charge category.
    pub category: Option<Category>,
    /// A charge class.
    pub class: Option<Class>,
    /// A cost kind.
    pub cost_kind: Option<CostKind>,
    /// A currency.
    pub currency: Option<Currency>,
    /// Resources.
    pub resources: Option<Vec<ResourceId>>,
    /// An import, with the months and ids of its lines.
    pub import: Option<ImportSpan>,
    /// Only what has no rate.
    pub unrated: Option<Unrated>,
    /// The last entry of the page before.
    pub before: Option<(Period, SpendId)>,
}

/// What has no rate into the house currency: other currencies, on days before their first rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrated {
    /// The house currency, which needs none.
    pub house: Currency,
    /// Since when the others have one; those that never had are not in it.
    pub rated_since: Vec<(Currency, NaiveDate)>,
}

/// Where an import's lines are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportSpan {
    /// The import.
    pub id: BillImportId,
    /// The months.
    pub periods: Vec<Period>,
    /// No smaller id, no greater one.
    pub ids: (i64, i64),
}

/// Reads one key.
pub(super) fn parsed<T: std::str::FromStr<Err = Message>>(
    field: &'static str,
    text: Option<&String>,
) -> Result<Option<T>> {
    text.filter(|text| !text.trim().is_empty())
        .map(|text| text.parse().map_err(|message| Error::invalid(field, message)))
        .transpose()
}

fn id(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}

/// The error of a key that names nothing the reader sees.
pub(super) fn unknown(field: &'static str, text: &str) -> Error {
    let is_named = ["project", "provider", "resource"].contains(&field);
    let key = if is_named { "error-filter-unknown" } else { "error-filter-unknown-number" };
    Error::invalid(field, Message::new(key).with("name", field).with("value", excerpt(text.trim())))
}

impl Chosen {
    /// Looks up what the filter names.
    ///
    /// # Errors
    /// Something that cannot be read, or that the reader does not see.
    pub async fn of(read: &mut Read, filter: &SpendFilter) -> Result<Self> {
        let period: Option<Period> = parsed("period", filter.period.as_ref())?;
        let mut chosen = Self {
            from: parsed("from", filter.from.as_ref())?.or(period),
            to: parsed("to", filter.to.as_ref())?.or(period),
            category: parsed("category", filter.category.as_ref())?,
            class: parsed("class", filter.class.as_ref())?,
            cost_kind: parsed("cost_kind", filter.cost_kind.as_ref())?,
            currency: parsed("currency", filter.currency.as_ref())?,
            ..Self::default()
        };
        chosen.project = match filter.project.as_deref() {
            Some(text) => Some(project(read, text).await?),
            None => None,
        };
        if let Some(text) = filter.environment.as_deref() {
            let environment = EnvironmentId(id(text).ok_or_else(|| unknown("environment", text))?);
            let found = environment::get(read.connection(), environment).await.map_err(|error| match error {
                Error::NotFound => unknown("environment", text),
                other => other,
            })?;
            chosen.environment = Some((found.project_id, environment));
        }
        chosen.provider = match filter.provider.as_deref() {
            Some(text) => Some(provider(read, text).await?),
            None => None,
        };
        chosen.resources = match filter.resource.as_deref() {
            Some(text) => Some(resources(read, text).await?),
            None => None,
        };
        chosen.import = match filter.import.as_deref() {
            Some(text) => Some(import(read, text).await?),
            None => None,
        };
        if one_of("rate", filter.rate.as_deref(), &["missing"])?.is_some() {
            let house = read.organisation().currency.clone();
            let rated_since = exchange_rate::rated_since(read.connection(), chosen.currency.as_ref(), &house).await?;
            chosen.unrated = Some(Unrated { house, rated_since });
        }
        let before = filter.before.as_deref().map(|text| key("before", text)).transpose()?;
        chosen.before = before.map(|(period, number)| (period, SpendId(number)));
        Ok(chosen)
    }

    /// Whether the sums that are kept know everything that is asked for.
    pub(super) const fn fits_rollups(&self) -> bool {
        self.resources.is_none() && self.import.is_none() && self.class.is_none()
    }

    /// Whether the sums over everything know all that is asked for.
    pub(super) const fn fits_total(&self) -> bool {
        self.fits_rollups()
            && self.project.is_none()
            && self.environment.is_none()
            && self.category.is_none()
            && self.cost_kind.is_none()
    }

    /// What a month's cell or a line must be: the conditions that both have.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        let mut all = Vec::new();
        let mut add = |sql, value: Option<Value>| all.extend(value.map(|value| Condition { sql, value }));
        add("period >= ", self.from.map(|period| Value::Date(period.first_day())));
        add("period <= ", self.to.map(|period| Value::Date(period.first_day())));
        add("project_id = ", self.environment.map(|(project, _)| Value::Id(project.0)));
        add("environment_id = ", self.environment.map(|(_, environment)| Value::Id(environment.0)));
        add("project_id = ", self.project.map(|project| Value::Id(project.0)));
        add("provider_id = ", self.provider.map(|provider| Value::Id(provider.0)));
        add("category = ", self.category.map(|category| Value::Word(category.as_str().to_owned())));
        add("cost_kind = ", self.cost_kind.map(|kind| Value::Word(kind.as_str().to_owned())));
        add("currency = ", self.currency.as_ref().map(|currency| Value::Word(currency.as_str().to_owned())));
        all
    }

    /// The same with what only a sum by day or a line can be asked.
    pub(super) fn day_conditions(&self) -> Vec<Condition> {
        let mut all = self.conditions();
        if let Some(Unrated { house, rated_since }) = &self.unrated {
            all.push(Condition { sql: "currency <> ", value: Value::Word(house.as_str().to_owned()) });
            all.push(Condition { sql: "charged_on < ", value: Value::FirstRate(rated_since.clone()) });
        }
        all
    }

    /// What a line must be.
    pub(super) fn line_conditions(&self) -> Vec<Condition> {
        let mut all = self.day_conditions();
        if let Some(class) = self.class {
            all.push(Condition { sql: "class = ", value: Value::Word(class.as_str().to_owned()) });
        }
        if let Some(resources) = &self.resources {
            let ids = resources.iter().map(|id| id.0).collect();
            all.push(Condition { sql: "resource_id = any", value: Value::Ids(ids) });
        }
        if let Some(import) = &self.import {
            all.push(Condition { sql: "import_id = ", value: Value::Id(import.id.0) });
            all.push(Condition { sql: "id >= ", value: Value::Id(import.ids.0) });
            all.push(Condition { sql: "id <= ", value: Value::Id(import.ids.1) });
            let periods = import.periods.iter().map(|period| period.first_day()).collect();
            all.push(Condition { sql: "period = any", value: Value::Dates(periods) });
        }
        all
    }
}

/// What the list can be filtered by, each with its id, by name.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The projects that the reader may see.
    pub projects: Vec<(i64, String)>,
    /// Every provider.
    pub providers: Vec<(i64, String)>,
}

/// Reads the choices of the filter, all in one round trip.
pub async fn choices(read: &mut Read) -> Result<Choices> {
    let rows = sqlx::query!(
        r#"select true as "is_project!", id as "id!", name as "name!" from project
           union all select false, id, name from provider order by 3, 2"#
    )
    .fetch_all(read.connection())
    .await?;
    let (projects, providers): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.is_project);
    Ok(Choices {
        projects: projects.into_iter().map(|row| (row.id, row.name)).collect(),
        providers: providers.into_iter().map(|row| (row.id, row.name)).collect(),
    })
}

/// The place of an entry in a list: `2026-03.1234`.
pub(super) fn key(field: &'static str, text: &str) -> Result<(Period, i64)> {
    let parts = text.split_once('.').and_then(|(period, number)| Some((period.parse().ok()?, id(number)?)));
    parts.ok_or_else(|| unknown(field, text))
}

/// The project with this id or name.
pub(super) async fn project(read: &mut Read, text: &str) -> Result<ProjectId> {
    let found = sqlx::query_scalar!(
        r#"select id as "id: ProjectId" from project where id = $1 or app_name_key(name) = app_name_key($2)
           order by id = $1 desc nulls last limit 1"#,
        id(text),
        text.trim(),
    );
    found.fetch_optional(read.connection()).await?.ok_or_else(|| unknown("project", text))
}

/// The provider with this id or name.
pub(super) async fn provider(read: &mut Read, text: &str) -> Result<ProviderId> {
    let found = sqlx::query_scalar!(
        r#"select id as "id: ProviderId" from provider where id = $1 or app_name_key(name) = app_name_key($2)
           order by id = $1 desc nulls last limit 1"#,
        id(text),
        text.trim(),
    );
    found.fetch_optional(read.connection()).await?.ok_or_else(|| unknown("provider", text))
}

async fn resources(read: &mut Read, text: &str) -> Result<Vec<ResourceId>> {
    let found = sqlx::query_scalar!(
        r#"select id as "id: ResourceId" from resource where id = $1 or external_id = $2 limit 1000"#,
        id(text),
        text.trim(),
    );
    let found = found.fetch_all(read.connection()).await?;
    if found.is_empty() { Err(unknown("resource", text)) } else { Ok(found) }
}

async fn import(read: &mut Read, text: &str) -> Result<ImportSpan> {
    let number = id(text).ok_or_else(|| unknown("import", text))?;
    let row = sqlx::query!(
        r#"select periods as "periods: Vec<Period>", first_id, last_id from bill_import where id = $1"#,
        number
    )
    .fetch_optional(read.connection())
    .await?
    .ok_or_else(|| unknown("import", text))?;
    let ids = (row.first_id.unwrap_or(0), row.last_id.unwrap_or(-1));
    Ok(ImportSpan { id: BillImportId(number), periods: row.periods, ids })
}

/// One condition on a line or a cell.
pub(super) struct Condition {
    /// The column and the comparison.
    pub sql: &'static str,
    /// With what.
    pub value: Value,
}

/// What a column is compared with. All of them were parsed into their types, so they can stand in a text of SQL.
pub(super) enum Value {
    /// A number.
    Id(i64),
    /// One of these numbers.
    Ids(Vec<i64>),
    /// A day.
    Date(NaiveDate),
    /// One of these days.
    Dates(Vec<NaiveDate>),
    /// A word of a fixed set, or a currency: letters, digits and underscores.
    Word(String),
    /// The first day with a rate of the currency beside it; never, where it has none.
    FirstRate(Vec<(Currency, NaiveDate)>),
}

/// Adds ` where …` or ` and …` to a query, each column with the name of its table before it.
pub(super) fn push(
    builder: &mut QueryBuilder<Postgres>,
    table: &str,
    conditions: Vec<Condition>,
    mut joiner: &'static str,
) {
    for Condition { sql, value } in conditions {
        builder.push(joiner).push(table).push(".").push(sql);
        match value {
            Value::Id(id) => builder.push_bind(id),
            Value::Ids(ids) => builder.push("(").push_bind(ids).push(")"),
            Value::Date(date) => builder.push_bind(date),
            Value::Dates(dates) => builder.push("(").push_bind(dates).push(")"),
            Value::Word(word) => builder.push_bind(word),
            Value::FirstRate(since) => {
                let (codes, days): (Vec<String>, Vec<NaiveDate>) =
                    since.into_iter().map(|(currency, day)| (currency.as_str().to_owned(), day)).unzip();
                builder.push("coalesce((").push_bind(days).push("::date[])[array_position(").push_bind(codes);
                builder.push("::text[], ").push(table).push(".currency)], 'infinity')")
            }
        };
        joiner = " and ";
    }
}

/// The same as text, for `copy`, which takes no arguments: each begins with ` and `.
pub(super) fn literal(table: &str, conditions: &[Condition]) -> String {
    let mut text = String::new();
    let list = |values: Vec<String>| format!("(array[{}]::bigint[])", values.join(", "));
    for Condition { sql, value } in conditions {
        let value = match value {
            Value::Id(id) => id.to_string(),
            Value::Ids(ids) => list(ids.iter().map(i64::to_string).collect()),
            Value::Date(date) => format!("date '{date}'"),
            Value::Dates(dates) => {
                let dates: Vec<String> = dates.iter().map(|date| format!("'{date}'")).collect();
                format!("(array[{}]::date[])", dates.join(", "))
            }
            Value::Word(word) => {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
                assert!(word.chars().all(plain), "a word of a fixed set holds nothing that SQL could read otherwise");
                format!("'{word}'")
            }
            Value::FirstRate(since) => {
                // A currency's code is capital letters, digits and underscores.
                let codes: Vec<String> = since.iter().map(|(currency, _)| format!("'{}'", currency.as_str())).collect();
                let days: Vec<String> = since.iter().map(|(_, day)| format!("'{day}'")).collect();
                let (codes, days) = (codes.join(", "), days.join(", "));
                format!(
                    "coalesce((array[{days}]::date[])[array_position(array[{codes}]::text[], {table}.currency)], 'infinity')"
                )
            }
        };
        write!(text, " and {table}.{sql}{value}").expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_as_text_are_the_same_as_bound_ones() {
        let chosen = Chosen {
            from: Some("2026-03".parse().unwrap()),
            category: Some(Category::Credit),
            currency: Some("USD".parse().unwrap()),
            resources: Some(vec![ResourceId(1), ResourceId(2)]),
            ..Chosen::default()
        };
        assert_eq!(
            literal("s", &chosen.line_conditions()),
            " and s.period >= date '2026-03-01' and s.category = 'credit' and s.currency = 'USD' and s.resource_id = any(array[1, 2]::bigint[])"
        );
        let mut builder = QueryBuilder::new("select 1 from spend s");
        push(&mut builder, "s", chosen.line_conditions(), " where ");
        assert_eq!(
            builder.sql().as_str(),
            "select 1 from spend s where s.period >= $1 and s.category = $2 and s.currency = $3 and s.resource_id = any($4)"
        );
    }
}
