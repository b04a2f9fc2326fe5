//! Spend beside output, month by month, of every environment, scenario or project. From the kept sums, never from the lines.
//!
//! Spend counts for the scenario that its environment has now, output for the scenario that it was recorded with. What is bound
//! to no environment is in none of the three.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{Stream, stream};
use serde::Deserialize;
use sqlx::{Postgres, QueryBuilder};

use crate::dates::Period;
use crate::environments::scenario::Scenario;
use crate::error::Result;
use crate::ids::{EnvironmentId, ProjectId};
use crate::ledger::exchange_rate::Rates;
use crate::ledger::filter::{self, Chosen, SpendFilter, parsed};
use crate::ledger::output::UnitTotal;
use crate::ledger::total::{self, CurrencyTotal, Stretch, Totals};
use crate::ledger::unit_cost::{self, Missing, UnitCost};
use crate::limits;
use crate::money::{Currency, Sum};
use crate::table::{Cell, Column, Table};
use crate::text::word_set;
use crate::tx::Read;

/// How many months are shown where nobody says from when.
pub const MONTHS: i32 = 12;

/// Rows that are read at once for a file.
const CHUNK: usize = 500;

word_set! {
    /// What a row is of.
    Group, "error-unit-cost-by", {
        /// One environment.
        Environment = "environment", "unit-cost-by-environment", ["环境"];
        /// All environments of one scenario.
        Scenario = "scenario", "unit-cost-by-scenario", ["场景"];
        /// All environments of one project.
        Project = "project", "unit-cost-by-project", ["项目"];
    }
}

impl Group {
    /// The number of a month's sum's group, by its table and that of its environment; the scenario's is bound by the caller.
    fn push_key(self, builder: &mut QueryBuilder<Postgres>, scenario_of: &'static str) {
        match self {
            Self::Environment => _ = builder.push("e.id"),
            Self::Project => _ = builder.push("e.project_id"),
            Self::Scenario => {
                let codes: Vec<&str> = Scenario::ALL.iter().map(|scenario| scenario.as_str()).collect();
                builder.push("coalesce(array_position(").push_bind(codes).push("::text[], ").push(scenario_of);
                builder.push("), 0)::bigint");
            }
        }
    }
}

/// The query keys of the list. An empty one filters nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UnitCostFilter {
    /// `environment`, `scenario` or `project`; the first where nothing is said.
    pub by: Option<String>,
    /// A project, by id or name.
    pub project: Option<String>,
    /// An environment, by id.
    pub environment: Option<String>,
    /// From this month on; the last [`MONTHS`] where neither this nor `to` is said.
    pub from: Option<String>,
    /// Up to this month, included.
    pub to: Option<String>,
    /// The last row of the page before: `2026-03.17`.
    pub before: Option<String>,
}

/// A filter whose words were read.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What a row is of.
    pub by: Group,
    /// Which spend and output.
    chosen: Chosen,
    /// The last row of the page before.
    before: Option<(Period, i64)>,
}

impl Asked {
    /// Looks up what the filter names.
    ///
    /// # Errors
    /// Something that cannot be read, or that the reader does not see.
    pub async fn of(read: &mut Read, filter: &UnitCostFilter) -> Result<Self> {
        let UnitCostFilter { by, project, environment, from, to, before } = filter.clone();
        let by = parsed("by", by.as_ref())?.unwrap_or(Group::Environment);
        let spend = SpendFilter { from, to, project, environment, ..SpendFilter::default() };
        let mut chosen = Chosen::of(read, &spend).await?;
        if chosen.from.is_none() && chosen.to.is_none() {
            chosen.from = Some(first_of_last(read));
        }
        let before = before.as_deref().map(|text| filter::key("before", text)).transpose()?;
        Ok(Self { by, chosen, before })
    }

    /// The first month that is shown, where there is one.
    pub const fn from(&self) -> Option<Period> {
        self.chosen.from
    }
}

/// The first of the last [`MONTHS`].
fn first_of_last(read: &Read) -> Period {
    Period::of_date(read.today()).plus(1 - MONTHS)
}

/// One month of one environment, scenario or project.
#[derive(Debug, Clone)]
pub struct UnitCostRow {
    /// The group's number: an environment's or project's id, or the place of a scenario.
    pub key: i64,
    /// What the row is of.
    pub by: Group,
    /// The month.
    pub period: Period,
    /// The environment's or project's name; empty for a scenario.
    pub name: String,
    /// What was spent.
    pub spend: Totals,
    /// What came of it, a unit each.
    pub outputs: Vec<UnitTotal>,
    /// What one unit cost.
    pub cost: Result<UnitCost, Missing>,
    /// How that moved against the month before, in per cent: billed.
    pub billed_change: Option<Sum>,
    /// The same: effective.
    pub effective_change: Option<Sum>,
}

impl UnitCostRow {
    /// The scenario of the row; nothing where it is of something else, or of the environments that have none.
    pub fn scenario(&self) -> Option<Scenario> {
        let place = usize::try_from(self.key).ok()?.checked_sub(1)?;
        Scenario::ALL.get(place).copied().filter(|_| self.by == Group::Scenario)
    }

    /// Where the next page begins.
    pub fn place(&self) -> String {
        format!("{}.{}", self.period, self.key)
    }

    /// The unit, where there is a unit cost.
    fn one(&self) -> Option<&UnitCost> {
        self.cost.as_ref().ok()
    }
}

/// The rows that are asked for, newest month first, at most so many.
pub async fn list(read: &mut Read, asked: &Asked, limit: usize) -> Result<Vec<UnitCostRow>> {
    let keys = keys(read, asked, limit).await?;
    let (Some(last), Some(first)) = (keys.first().map(|key| key.0), keys.last().map(|key| key.0)) else {
        return Ok(Vec::new());
    };
    let ids: BTreeSet<i64> = keys.iter().map(|key| key.1).collect();
    let ids: Vec<i64> = ids.into_iter().collect();
    // One month more at the front: the first is compared, too.
    let chosen = Chosen { from: Some(first.previous()), to: Some(last), ..asked.chosen.clone() };
    let months = months(read, asked.by, &chosen, &ids).await?;
    let names = names(read, asked.by, &ids).await?;
    Ok(rows(asked.by, &keys, &months, &names, &read.organisation().currency.clone()))
}

/// The last [`MONTHS`] of one environment, newest first; months without spend and output are not there.
pub async fn of_environment(read: &mut Read, project: ProjectId, id: EnvironmentId) -> Result<Vec<UnitCostRow>> {
    let first = first_of_last(read);
    let chosen = Chosen { from: Some(first.previous()), environment: Some((project, id)), ..Chosen::default() };
    let months = months(read, Group::Environment, &chosen, &[id.0]).await?;
    let keys: Vec<_> = months.keys().rev().copied().filter(|key| key.0 >= first).collect();
    Ok(rows(Group::Environment, &keys, &months, &BTreeMap::new(), &read.organisation().currency.clone()))
}

/// Month and group of the rows that are asked for.
async fn keys(read: &mut Read, asked: &Asked, limit: usize) -> Result<Vec<(Period, i64)>> {
    let mut builder = QueryBuilder::new("select k.period, k.key from (select ");
    asked.by.push_key(&mut builder, "e.scenario");
    builder
        .push(" as key, t.period from spend_month t join environment e on e.id = t.environment_id where t.lines <> 0");
    filter::push(&mut builder, "t", asked.chosen.conditions(), " and ");
    builder.push(" union select ");
    asked.by.push_key(&mut builder, "t.scenario");
    builder.push(", t.period from output_entry t join environment e on e.id = t.environment_id where true");
    filter::push(&mut builder, "t", asked.chosen.conditions(), " and ");
    builder.push(") k where true");
    if let Some((period, key)) = asked.before {
        builder.push(" and (k.period < ").push_bind(period).push(" or (k.period = ").push_bind(period);
        builder.push(" and k.key > ").push_bind(key).push("))");
    }
    builder.push(" order by k.period desc, k.key limit ").push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
    let found: Vec<(chrono::NaiveDate, i64)> = builder.build_query_as().fetch_all(read.connection()).await?;
    Ok(found.into_iter().map(|(day, key)| (Period::of_date(day), key)).collect())
}

/// What a month of a group has.
#[derive(Debug, Default)]
struct Month {
    currencies: Vec<CurrencyTotal>,
    days: Vec<Stretch>,
    outputs: Vec<UnitTotal>,
    unconverted: Vec<total::Unconverted>,
}

type Months = BTreeMap<(Period, i64), Month>;

/// A kept sum with its group and month.
#[derive(sqlx::FromRow)]
struct Of<T> {
    key: i64,
    period: chrono::NaiveDate,
    #[sqlx(flatten)]
    it: T,
}

impl<T> Of<T> {
    fn place(&self) -> (Period, i64) {
        (Period::of_date(self.period), self.key)
    }
}

/// Spend and output of these groups, with the spend in the house currency.
async fn months(read: &mut Read, by: Group, chosen: &Chosen, ids: &[i64]) -> Result<Months> {
    let house = read.organisation().currency.clone();
    let mut months = Months::new();
    let mut builder = begin(
        by,
        "e.scenario",
        ", t.currency, sum(t.lines)::bigint as lines, sum(t.list) as list,
        sum(t.contracted) as contracted, sum(t.billed) as billed, sum(t.effective) as effective,
        sum(t.list_unknown)::bigint as list_unknown, sum(t.contracted_unknown)::bigint as contracted_unknown,
        sum(t.billed_unknown)::bigint as billed_unknown, sum(t.effective_unknown)::bigint as effective_unknown
        from spend_month t",
        chosen,
        ids,
    );
    builder.push(" group by 1, 2, 3 having sum(t.lines) <> 0 order by 3");
    let found: Vec<Of<CurrencyTotal>> = builder.build_query_as().fetch_all(read.connection()).await?;
    let foreign = found.iter().any(|row| row.it.currency != house);
    for row in found {
        months.entry(row.place()).or_default().currencies.push(row.it);
    }
    let mut builder = begin(by, "t.scenario", ", t.unit, sum(t.quantity) as quantity from output_entry t", chosen, ids);
    builder.push(" group by 1, 2, 3 order by 3");
    let found: Vec<Of<UnitTotal>> = builder.build_query_as().fetch_all(read.connection()).await?;
    for row in found {
        months.entry(row.place()).or_default().outputs.push(row.it);
    }
    if foreign {
        let what = ", t.currency, t.charged_on as first, t.charged_on as last, 1::bigint as days,
             sum(t.lines)::bigint as lines, sum(t.billed) as billed, sum(t.effective) as effective from spend_day t";
        let mut builder = begin(by, "e.scenario", what, chosen, ids);
        builder.push(" and t.currency <> ").push_bind(house.as_str());
        builder.push(" group by 1, 2, 3, 4 having sum(t.lines) <> 0 order by 3, 4");
        let found: Vec<Of<Stretch>> = builder.build_query_as().fetch_all(read.connection()).await?;
        for row in found {
            months.entry(row.place()).or_default().days.push(row.it);
        }
    }
    convert(read, &mut months, &house).await?;
    Ok(months)
}

/// A query of kept sums by group and month, up to its conditions.
fn begin(
    by: Group,
    scenario_of: &'static str,
    what: &'static str,
    chosen: &Chosen,
    ids: &[i64],
) -> QueryBuilder<Postgres> {
    let mut builder = QueryBuilder::new("select ");
    by.push_key(&mut builder, scenario_of);
    builder.push(" as key, t.period").push(what).push(" join environment e on e.id = t.environment_id where ");
    by.push_key(&mut builder, scenario_of);
    builder.push(" = any(").push_bind(ids.to_vec()).push(")");
    filter::push(&mut builder, "t", chosen.conditions(), " and ");
    builder
}

/// Puts the sums in the house currency beside their currencies.
async fn convert(read: &mut Read, months: &mut Months, house: &Currency) -> Result<()> {
    let days = || months.values().flat_map(|month| &month.days);
    let rates = match days().map(|day| day.first).min().zip(days().map(|day| day.last).max()) {
        Some(span) => Rates::load(read.connection(), days().map(|day| &day.currency), house, span).await?,
        None => Rates::default(),
    };
    for month in months.values_mut() {
        month.unconverted = total::convert(&rates, &mut month.currencies, house, std::mem::take(&mut month.days));
    }
    Ok(())
}

/// The names of environments or projects.
async fn names(read: &mut Read, by: Group, ids: &[i64]) -> Result<BTreeMap<i64, String>> {
    let sql = match by {
        Group::Environment => "select id, name from environment where id = any($1)",
        Group::Project => "select id, name from project where id = any($1)",
        Group::Scenario => return Ok(BTreeMap::new()),
    };
    let found: Vec<(i64, String)> = sqlx::query_as(sql).bind(ids).fetch_all(read.connection()).await?;
    Ok(found.into_iter().collect())
}

fn rows(
    by: Group,
    keys: &[(Period, i64)],
    months: &Months,
    names: &BTreeMap<i64, String>,
    house: &Currency,
) -> Vec<UnitCostRow> {
    let spend = |month: &Month| Totals::new(month.currencies.clone(), house.clone(), month.unconverted.clone());
    let cost = |month: &Month| unit_cost::of(&spend(month), &month.outputs);
    let none = Month::default();
    let row = |&(period, key): &(Period, i64)| {
        let month = months.get(&(period, key)).unwrap_or(&none);
        let now = cost(month);
        let before = months.get(&(period.previous(), key)).and_then(|month| cost(month).ok());
        let (billed_change, effective_change) = match (&before, &now) {
            (Some(before), Ok(now)) => unit_cost::change(before, now),
            _ => (None, None),
        };
        UnitCostRow {
            key,
            by,
            period,
            name: names.get(&key).cloned().unwrap_or_default(),
            spend: spend(month),
            outputs: month.outputs.clone(),
            cost: now,
            billed_change,
            effective_change,
        }
    };
    keys.iter().map(row).collect()
}

/// A page of the rows, and where the next one begins.
pub async fn page(read: &mut Read, asked: &Asked) -> Result<(Vec<UnitCostRow>, Option<String>)> {
    let mut rows = list(read, asked, limits::PAGE_ROWS + 1).await?;
    let more = rows.len() > limits::PAGE_ROWS;
    rows.truncate(limits::PAGE_ROWS);
    let next = rows.last().filter(|_| more).map(UnitCostRow::place);
    Ok((rows, next))
}

/// All rows, in the order of the page, in batches.
pub fn batches(read: Read, asked: Asked) -> impl Stream<Item = Result<Vec<UnitCostRow>>> + Send {
    let start = Some((read, Asked { before: None, ..asked }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, mut asked)) = state else { return Ok(None) };
        let rows = list(&mut read, &asked, CHUNK).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        asked.before = Some((last.period, last.key));
        let more = rows.len() == CHUNK;
        Ok(Some((rows, more.then_some((read, asked)))))
    })
}

/// Amounts of several currencies or units in one cell: `USD 12.5; CNY 700`.
fn several<'a>(parts: impl Iterator<Item = (&'a str, &'a Sum)>) -> Cell<'static> {
    let parts: Vec<String> = parts.map(|(name, sum)| format!("{name} {sum}")).collect();
    if parts.is_empty() { Cell::Empty } else { parts.join("; ").into() }
}

/// One of the sums in each currency, where something of it is known.
fn known(row: &UnitCostRow, of: fn(&CurrencyTotal) -> (&Sum, i64)) -> impl Iterator<Item = (&str, &Sum)> {
    row.spend.currencies.iter().filter_map(move |total| {
        let (sum, unknown) = of(total);
        total.is_known(sum, &unknown).then_some((total.currency.as_str(), sum))
    })
}

fn number(sum: Option<&Sum>) -> Cell<'static> {
    sum.map_or(Cell::Empty, |sum| Cell::Number(sum.plain().into()))
}

/// The list as a file: one row per month and environment, scenario or project.
pub static TABLE: Table<UnitCostRow> = Table {
    name: "unit-cost",
    title: "unit-cost-title",
    columns: &[
        Column::new("period", "outputs-col-period", |row| row.period.to_string().into()),
        Column::new("group", "unit-cost-col-group", |row| match (row.by, row.scenario()) {
            (_, Some(scenario)) => Cell::Word { code: scenario.as_str().into(), words: scenario.words() },
            (Group::Scenario, None) => Cell::Empty,
            _ => (&row.name).into(),
        }),
        Column::new("billed", "spend-col-billed", |row| several(known(row, |it| (&it.billed, it.billed_unknown)))),
        Column::new("effective", "spend-col-effective", |row| {
            several(known(row, |it| (&it.effective, it.effective_unknown)))
        }),
        Column::new("house_currency", "unit-cost-col-house", |row| row.spend.house.as_str().into()),
        Column::new("house_billed", "unit-cost-col-house-billed", |row| {
            let total = row.spend.total.as_ref().map(|total| &total.billed);
            number(total.filter(|_| known(row, |it| (&it.billed, it.billed_unknown)).next().is_some()))
        }),
        Column::new("house_effective", "unit-cost-col-house-effective", |row| {
            let total = row.spend.total.as_ref().map(|total| &total.effective);
            number(total.filter(|_| known(row, |it| (&it.effective, it.effective_unknown)).next().is_some()))
        }),
        Column::new("unconverted", "unit-cost-col-unconverted", |row| {
            several(row.spend.unconverted.iter().map(|it| (it.currency.as_str(), &it.billed)))
        }),
        Column::new("output", "outputs-title", |row| {
            several(row.outputs.iter().map(|it| (it.unit.as_str(), &it.quantity)))
        }),
        Column::new("unit", "outputs-col-unit", |row| row.one().map(|cost| &cost.unit).into()),
        Column::new("quantity", "outputs-col-quantity", |row| number(row.one().map(|cost| &cost.quantity))),
        Column::new("unit_cost_currency", "unit-cost-col-currency", |row| {
            row.one().map(|cost| cost.currency.as_str()).into()
        }),
        Column::new("unit_cost_billed", "unit-cost-col-billed", |row| {
            number(row.one().and_then(|cost| cost.billed.as_ref()))
        }),
        Column::new("change_billed", "unit-cost-col-billed-change", |row| number(row.billed_change.as_ref())),
        Column::new("unit_cost_effective", "unit-cost-col-effective", |row| {
            number(row.one().and_then(|cost| cost.effective.as_ref()))
        }),
        Column::new("change_effective", "unit-cost-col-effective-change", |row| number(row.effective_change.as_ref())),
        Column::new("missing", "unit-cost-col-missing", |row| match row.cost {
            Ok(_) => Cell::Empty,
            Err(missing) => Cell::Word { code: missing.code().into(), words: missing.words() },
        }),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        let names = TABLE.names().join(" ");
        assert_eq!(
            names,
            "period group billed effective house_currency house_billed house_effective unconverted output unit quantity \
             unit_cost_currency unit_cost_billed change_billed unit_cost_effective change_effective missing"
        );
    }

    #[test]
    fn a_group_reads_back_from_both_languages() {
        for group in Group::ALL.iter().copied() {
            assert_eq!(group.as_str().parse(), Ok(group));
            for locale in crate::locale::Locale::ALL {
                assert_eq!(locale.say(&group.words()).parse(), Ok(group), "{locale}");
            }
        }
    }
}
