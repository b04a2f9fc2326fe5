//! The list of entries: a page of it by key, and the whole of it as a file.

use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use rust_decimal::Decimal;
use sqlx::{Postgres, QueryBuilder};

use crate::dates::Period;
use crate::error::Result;
use crate::ids::{BillImportId, EnvironmentId, ProjectId, ResourceId, SpendId};
use crate::ledger::charge::{Category, Class, CostKind};
use crate::ledger::filter::{self, Chosen};
use crate::limits;
use crate::money::{self, Currency};
use crate::table::{Cell, Column, CopyRow, CopyRows, Table};
use crate::tx::Read;

/// Rows of one chunk of an export: large enough that a chunk costs more than a round trip, small enough for memory.
const CHUNK_ROWS: usize = 8_000;

/// An entry in the list.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct SpendRow {
    /// Its id.
    pub id: SpendId,
    /// The ledger's month.
    pub period: Period,
    /// The day it charges for, or the first of them.
    pub charged_on: NaiveDate,
    /// Who charges.
    pub provider: String,
    /// The project's id.
    pub project_id: Option<ProjectId>,
    /// The project's name.
    pub project: Option<String>,
    /// The environment's id; nothing where the line is unplaced.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// The resource's id.
    pub resource_id: Option<ResourceId>,
    /// What it is called.
    pub resource: Option<String>,
    /// The service.
    pub service: String,
    /// The charge category.
    pub category: Category,
    /// See [`crate::ledger::spend::Spend::class`].
    pub class: Option<Class>,
    /// The cost kind.
    pub cost_kind: Option<CostKind>,
    /// What is to be paid.
    pub billed: Option<Decimal>,
    /// What it cost.
    pub effective: Option<Decimal>,
    /// Of both.
    pub currency: Currency,
    /// In words.
    pub description: String,
    /// The file that it came in.
    pub import_id: Option<BillImportId>,
    /// The entry that it takes back.
    pub reverses_id: Option<SpendId>,
    /// The entry in whose place it was recorded.
    pub corrects_id: Option<SpendId>,
    /// The entry that takes it back.
    pub reversed_by: Option<SpendId>,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
}

impl SpendRow {
    /// An amount for people, or nothing where it is unknown.
    pub fn shown(&self, amount: Option<&Decimal>) -> Option<String> {
        amount.map(|amount| money::display(*amount, &self.currency))
    }

    /// Whether money comes back that is neither a credit of the provider nor an entry taken back.
    pub fn is_refund(&self) -> bool {
        let amount = self.billed.or(self.effective).unwrap_or_default();
        amount < Decimal::ZERO && self.category != Category::Credit && self.reverses_id.is_none()
    }

    /// Whether it puts something right: a line that the bill calls so, or an entry in another one's place.
    pub const fn is_correction(&self) -> bool {
        self.class.is_some() || self.corrects_id.is_some()
    }

    /// Where the next page begins.
    pub fn key(&self) -> String {
        format!("{}.{}", self.period, self.id)
    }
}

/// A page of the list.
#[derive(Debug, Clone)]
pub struct SpendPage {
    /// At most [`limits::PAGE_ROWS`] entries, newest month first.
    pub rows: Vec<SpendRow>,
    /// The key of the next page, where there is one.
    pub next: Option<String>,
}

/// A page of the entries that match.
pub async fn list(read: &mut Read, chosen: &Chosen) -> Result<SpendPage> {
    let mut builder = QueryBuilder::new(
        "select s.id, s.period, s.charged_on, p.name as provider, s.project_id, j.name as project, s.environment_id,
                e.name as environment, s.resource_id,
                coalesce(nullif(r.name, ''), nullif(r.external_id, ''), r.service) as resource, s.service, s.category,
                s.class, s.cost_kind, s.billed, s.effective, s.currency, s.description, s.import_id, s.reverses_id, s.corrects_id,
                v.reversal_id as reversed_by, s.recorded_at
         from (",
    );
    push_page(&mut builder, chosen, read.sees_all());
    builder.push(
        ") s
         join provider p on p.id = s.provider_id
         left join project j on j.id = s.project_id
         left join environment e on e.id = s.environment_id
         left join resource r on r.id = s.resource_id
         left join spend_reversal v on v.spend_id = s.id
         order by s.period desc, s.id desc",
    );
    let mut rows: Vec<SpendRow> = builder.build_query_as().fetch_all(read.connection()).await?;
    let more = rows.len() > limits::PAGE_ROWS;
    rows.truncate(limits::PAGE_ROWS);
    let next = rows.last().filter(|_| more).map(SpendRow::key);
    Ok(SpendPage { rows, next })
}

/// The columns that a page shows of the line itself.
const SHOWN: &str = "s.id, s.period, s.charged_on, s.provider_id, s.project_id, s.environment_id, s.resource_id, s.service, \
    s.category, s.class, s.cost_kind, s.billed, s.effective, s.currency, s.description, s.import_id, s.reverses_id, s.corrects_id, \
    s.recorded_at";

/// The lines of one page and one more, newest first, along an index whatever is asked for: the sums that are kept say in
/// which environments there is anything, so that a project's entries are found without reading those of others.
fn push_page(builder: &mut QueryBuilder<Postgres>, chosen: &Chosen, sees_all: bool) {
    if let Some(resources) = &chosen.resources {
        let ids: Vec<i64> = resources.iter().map(|id| id.0).collect();
        builder.push(
            "select u.* from (
                 select x.* from (select distinct m.environment_id from spend_resource m
                                  where m.environment_id is not null and m.lines <> 0 and m.resource_id = any(",
        );
        builder.push_bind(ids).push(")) g cross join lateral (");
        push_some(builder, chosen, "s.environment_id = g.environment_id");
        builder.push(") x union all select x.* from (");
        push_some(builder, chosen, "s.environment_id is null");
        builder.push(") x) u order by u.period desc, u.id desc limit ").push(PAGE_AND_ONE);
    } else if chosen.environment.is_none() && (chosen.project.is_some() || !sees_all) {
        builder.push(
            "select x.* from (select distinct m.environment_id from spend_month m
                              where m.environment_id is not null and m.lines <> 0",
        );
        filter::push(builder, "m", chosen.conditions(), " and ");
        builder.push(") g cross join lateral (");
        push_some(builder, chosen, "s.environment_id = g.environment_id");
        builder.push(") x order by x.period desc, x.id desc limit ").push(PAGE_AND_ONE);
    } else {
        push_some(builder, chosen, "true");
    }
}

fn push_some(builder: &mut QueryBuilder<Postgres>, chosen: &Chosen, of: &str) {
    builder.push("select ").push(SHOWN).push(" from spend s where ").push(of);
    filter::push(builder, "s", chosen.line_conditions(), " and ");
    if let Some((period, id)) = chosen.before {
        // The first condition is for the planner: it leaves out later months.
        builder.push(" and s.period <= ").push_bind(period).push(" and (s.period, s.id) < (");
        builder.push_bind(period).push(", ").push_bind(id.0).push(")");
    }
    builder.push(" order by s.period desc, s.id desc limit ").push(PAGE_AND_ONE);
}

/// Part of the text, not an argument: a plan that does not know how few rows are wanted is a poor one, so that PostgreSQL would
/// make a new one at every request, and over many months that takes longer than reading the page.
const PAGE_AND_ONE: usize = limits::PAGE_ROWS + 1;

/// The list as a file: one row per entry, reversals included. The columns are the contract's.
pub static TABLE: Table<CopyRow> = Table {
    name: "spend",
    title: "spend-title",
    columns: &[
        Column::new("id", "spend-col-id", |row| row.integer(0)),
        Column::new("provider", "spend-col-provider", |row| row.text(1)),
        Column::new("account", "spend-col-account", |row| row.text(2)),
        Column::new("sub_account", "spend-col-sub-account", |row| row.text(3)),
        Column::new("project", "spend-col-project", |row| row.text(4)),
        Column::new("environment", "spend-col-environment", |row| row.text(5)),
        Column::new("resource", "spend-col-resource", |row| row.text(6)),
        Column::new("service", "spend-col-service", |row| row.text(7)),
        Column::new("category", "spend-col-category", |row| {
            word(row, 8, |code| code.parse::<Category>().ok().map(Category::words))
        }),
        Column::new("class", "spend-col-class", |row| {
            word(row, 9, |code| code.parse::<Class>().ok().map(Class::words))
        }),
        Column::new("charge_start", "spend-col-charge-start", |row| row.instant(10)),
        Column::new("charge_end", "spend-col-charge-end", |row| row.instant(11)),
        Column::new("period", "spend-col-period", |row| row.field(12).map_or(Cell::Empty, |day| day[..7].into())),
        Column::new("quantity", "spend-col-quantity", |row| row.number(13)),
        Column::new("unit", "spend-col-unit", |row| row.text(14)),
        Column::new("list", "spend-col-list", |row| row.number(15)),
        Column::new("contracted", "spend-col-contracted", |row| row.number(16)),
        Column::new("billed", "spend-col-billed", |row| row.number(17)),
        Column::new("effective", "spend-col-effective", |row| row.number(18)),
        Column::new("currency", "spend-col-currency", |row| row.text(19)),
        Column::new("description", "spend-col-description", |row| row.text(20)),
        Column::new("tags", "spend-col-tags", |row| row.text(21)),
        Column::new("import_id", "spend-col-import-id", |row| row.integer(22)),
        Column::new("reverses_id", "spend-col-reverses-id", |row| row.integer(23)),
    ],
};

/// A code of a fixed set, with its words.
pub(super) fn word(
    row: &CopyRow,
    column: usize,
    words: impl FnOnce(&str) -> Option<crate::locale::Message>,
) -> Cell<'_> {
    match row.field(column) {
        None => Cell::Empty,
        Some(code) => match words(code) {
            Some(words) => Cell::Word { code: code.into(), words },
            None => code.into(),
        },
    }
}

/// How many columns [`chunk`] selects.
const COPIED: usize = TABLE.columns.len();

/// All entries that match, in the order of the page, in chunks. Drop it and the snapshot ends.
pub fn stream(read: Read, chosen: Chosen) -> impl Stream<Item = Result<CopyRows>> + Send {
    stream::try_unfold((Some(read), chosen), |(read, mut chosen)| async move {
        let Some(mut read) = read else { return Ok(None) };
        let rows = chunk(&mut read, &chosen).await?;
        let more = rows.len() == CHUNK_ROWS;
        chosen.before = rows.last_row().and_then(|row| {
            let period = Period::of_date(row.field(12)?.parse().ok()?);
            Some((period, SpendId(row.field(0)?.parse().ok()?)))
        });
        Ok((!rows.is_empty()).then_some((rows, (more.then_some(read), chosen))))
    })
}

async fn chunk(read: &mut Read, chosen: &Chosen) -> Result<CopyRows> {
    let mut of = filter::literal("s", &chosen.line_conditions());
    if let Some((period, id)) = chosen.before {
        let day = period.first_day();
        write!(of, " and s.period <= date '{day}' and (s.period, s.id) < (date '{day}', {id})")
            .expect("writing to a string cannot fail");
    }
    let sql = format!(
        "copy (
             select s.id, p.name, s.account, s.sub_account, j.name, e.name, coalesce(nullif(r.external_id, ''), r.name),
                    s.service, s.category, s.class, s.charge_start, s.charge_end, s.period, s.quantity, s.unit, s.list,
                    s.contracted, s.billed, s.effective, s.currency, s.description, s.tags, s.import_id, s.reverses_id
             from (select * from spend s where true{of} order by s.period desc, s.id desc limit {CHUNK_ROWS}) s
             join provider p on p.id = s.provider_id
             left join project j on j.id = s.project_id
             left join environment e on e.id = s.environment_id
             left join resource r on r.id = s.resource_id
             order by s.period desc, s.id desc
         ) to stdout"
    );
    let answer = read.connection().copy_out_raw(&sql).await?;
    CopyRows::read(answer, COPIED).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_entries_keeps_the_names_of_the_contract() {
        TABLE.assert_is_sound();
        assert_eq!(
            TABLE.names(),
            [
                "id",
                "provider",
                "account",
                "sub_account",
                "project",
                "environment",
                "resource",
                "service",
                "category",
                "class",
                "charge_start",
                "charge_end",
                "period",
                "quantity",
                "unit",
                "list",
                "contracted",
                "billed",
                "effective",
                "currency",
                "description",
                "tags",
                "import_id",
                "reverses_id"
            ]
        );
    }
}
