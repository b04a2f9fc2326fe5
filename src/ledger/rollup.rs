//! Sums beside the lines, kept in the same transaction, so that no page adds up lines it does not show.
//!
//! `spend_month` (by environment and month), `spend_day` (the same by day of charge, for dated rates) and `spend_resource` (by
//! resource and month) are written here; `spend_total` (by day, over everything) and `spend_month_total` (by month) follow
//! `spend_day` by a trigger, because who may add to them may not always read them. A cell counts the unknown, because unknown is not zero; a line that was taken back
//! does not count. [`verify`] proves that the sums are those of the lines.

use serde::Serialize;
use sqlx::{AssertSqlSafe, Postgres, Row as _};

use crate::dates::Period;
use crate::error::Result;
use crate::ids::{EnvironmentId, ProjectId, ResourceId, SpendId};
use crate::tx::{Read, Tx};
use chrono::NaiveDate;

/// What a cell counts and adds up.
const MEASURES: [&str; 9] = [
    "lines",
    "list",
    "contracted",
    "billed",
    "effective",
    "list_unknown",
    "contracted_unknown",
    "billed_unknown",
    "effective_unknown",
];

/// The measures of one line of `spend s`. What takes a line back takes its unknown amounts back too: of the two, nothing is
/// left to be known.
pub(super) const OF_LINE: &str = "1::bigint as lines, coalesce(s.list, 0) as list, coalesce(s.contracted, 0) as contracted,
    coalesce(s.billed, 0) as billed, coalesce(s.effective, 0) as effective,
    case when s.list is not null then 0 when s.reverses_id is null then 1 else -1 end::bigint as list_unknown,
    case when s.contracted is not null then 0 when s.reverses_id is null then 1 else -1 end::bigint as contracted_unknown,
    case when s.billed is not null then 0 when s.reverses_id is null then 1 else -1 end::bigint as billed_unknown,
    case when s.effective is not null then 0 when s.reverses_id is null then 1 else -1 end::bigint as effective_unknown";

/// The keys of a line, except where it is placed.
const KEYS_OF_LINE: &str = "s.period, s.charged_on, s.provider_id, s.resource_id, s.category, s.cost_kind, s.currency";

struct Rollup {
    table: &'static str,
    keys: &'static str,
    /// Which lines it knows.
    of: &'static str,
}

/// In the order in which they are written: two writers that touch the same cells never wait for each other in a circle.
const KEPT: [Rollup; 3] = [
    Rollup {
        table: "spend_month",
        keys: "period, environment_id, provider_id, category, cost_kind, currency, project_id",
        of: "true",
    },
    Rollup {
        table: "spend_day",
        keys: "project_id, environment_id, currency, period, charged_on, provider_id, category, cost_kind",
        of: "true",
    },
    Rollup {
        table: "spend_resource",
        keys: "resource_id, period, environment_id, currency, project_id",
        of: "resource_id is not null",
    },
];

/// Follow `spend_day` by a trigger.
const FOLLOW: [Rollup; 2] = [
    Rollup { table: "spend_total", keys: "period, charged_on, provider_id, currency", of: "true" },
    Rollup { table: "spend_month_total", keys: "period, provider_id, currency", of: "true" },
];

impl Rollup {
    /// Adds the lines of `source`, which has the columns of [`KEYS_OF_LINE`], the placement, and the measures.
    fn add(&self, source: &str) -> String {
        let Self { table, keys, of } = self;
        let measures = MEASURES.join(", ");
        let sums = MEASURES.map(|measure| format!("sum(d.{measure})")).join(", ");
        let added = MEASURES.map(|measure| format!("{measure} = t.{measure} + excluded.{measure}")).join(", ");
        format!(
            "insert into {table} as t ({keys}, {measures}) select {keys}, {sums} from {source} d where {of}
             group by {keys} order by {keys} on conflict on constraint {table}_key do update set {added}"
        )
    }

    /// The cells that the lines make and the rollup lacks, and the other way round.
    fn differences(&self) -> String {
        let Self { table, keys, of } = self;
        let measures = MEASURES.join(", ");
        let sums = MEASURES.map(|measure| format!("sum(d.{measure})")).join(", ");
        let lines = format!(
            "select {keys}, {sums} from (select {KEYS_OF_LINE}, s.project_id, s.environment_id, {OF_LINE} from spend s) d
             where {of} group by {keys}"
        );
        // Cells that everything was moved out of stay, and mean nothing.
        let kept = format!("select {keys}, {measures} from {table} where lines <> 0");
        format!(
            "(select false as kept, to_jsonb(x)::text as cell from (({lines}) except all ({kept})) x limit 100)
             union all
             (select true, to_jsonb(x)::text from (({kept}) except all ({lines})) x limit 100)"
        )
    }
}

/// Adds entries that were just written.
pub(super) async fn add_entries(tx: &mut Tx, entries: &[(Period, SpendId)]) -> Result<()> {
    let source = format!(
        "(select {KEYS_OF_LINE}, s.project_id, s.environment_id, {OF_LINE} from spend s
          where s.period = any($1) and s.id = any($2))"
    );
    let (periods, ids): (Vec<Period>, Vec<i64>) = entries.iter().map(|(period, id)| (*period, id.0)).unzip();
    for rollup in &KEPT {
        let sql = rollup.add(&source);
        sqlx::query(AssertSqlSafe(sql)).bind(&periods).bind(&ids).execute(tx.connection()).await?;
    }
    Ok(())
}

/// Adds the lines of a temporary table that has the columns of a line's keys, placement and measures.
pub(super) async fn add_table(tx: &mut Tx, table: &'static str) -> Result<()> {
    for rollup in &KEPT {
        sqlx::query(AssertSqlSafe(rollup.add(table))).execute(tx.connection()).await?;
    }
    Ok(())
}

/// The lines of a resource that change their place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Move {
    /// Whose lines.
    pub resource: ResourceId,
    /// Where they are; unplaced where nothing.
    pub from: Option<(ProjectId, EnvironmentId)>,
    /// Where they will be.
    pub to: Option<(ProjectId, EnvironmentId)>,
    /// The first day of charge.
    pub starts_on: NaiveDate,
    /// The last one, included.
    pub ends_on: Option<NaiveDate>,
}

impl Move {
    /// Which lines: `$1` to `$4`.
    const fn lines(&self) -> &'static str {
        // `is not distinct from` would use no index.
        if self.from.is_some() {
            "s.resource_id = $1 and s.environment_id = $2 and s.charged_on >= $3 and ($4::date is null or s.charged_on <= $4)"
        } else {
            "s.resource_id = $1 and $2::bigint is null and s.environment_id is null
             and s.charged_on >= $3 and ($4::date is null or s.charged_on <= $4)"
        }
    }

    fn bind<'q>(
        &self,
        query: sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments>,
    ) -> sqlx::query::Query<'q, Postgres, sqlx::postgres::PgArguments> {
        let environment = self.from.map(|(_, environment)| environment.0);
        query.bind(self.resource.0).bind(environment).bind(self.starts_on).bind(self.ends_on)
    }
}

/// Moves the lines, and their sums with them; gives how many. The caller holds the provider's lock, so nobody adds lines to
/// the resource meanwhile.
pub(super) async fn move_lines(tx: &mut Tx, moved: Move) -> Result<u64> {
    let lines = moved.lines();
    let signed = MEASURES.map(|measure| format!("w.sign * d.{measure} as {measure}")).join(", ");
    let source = format!(
        "(select d.period, d.charged_on, d.provider_id, d.resource_id, d.category, d.cost_kind, d.currency, w.project_id,
                 w.environment_id, {signed}
          from (select {KEYS_OF_LINE}, {OF_LINE} from spend s where {lines}) d
          cross join (values (-1, $5::bigint, $2::bigint), (1, $6::bigint, $7::bigint)) w (sign, project_id, environment_id))"
    );
    let place = |place: Option<(ProjectId, EnvironmentId)>| (place.map(|it| it.0.0), place.map(|it| it.1.0));
    let (from, to) = (place(moved.from), place(moved.to));
    for rollup in &KEPT {
        let query = moved.bind(sqlx::query(AssertSqlSafe(rollup.add(&source)))).bind(from.0).bind(to.0).bind(to.1);
        query.execute(tx.connection()).await?;
    }
    let sql = format!("update spend s set project_id = $5, environment_id = $6 where {lines}");
    let query = moved.bind(sqlx::query(AssertSqlSafe(sql))).bind(to.0).bind(to.1);
    Ok(query.execute(tx.connection()).await?.rows_affected())
}

/// A cell that differs from its lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which rollup.
    pub rollup: &'static str,
    /// Whether the rollup has this cell and the lines do not make it; else the lines make it and the rollup has another.
    pub kept: bool,
    /// The cell's keys and sums, as JSON.
    pub cell: String,
}

/// Adds up every line and gives the cells that differ from what is kept: none, unless something wrote past this program.
/// Takes as long as reading all lines does. Wants a reader of all projects.
pub async fn verify(read: &mut Read) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    for rollup in KEPT.iter().chain(&FOLLOW) {
        let rows = sqlx::query(AssertSqlSafe(rollup.differences())).fetch_all(read.connection()).await?;
        for row in rows {
            found.push(Difference { rollup: rollup.table, kept: row.try_get(0)?, cell: row.try_get(1)? });
        }
    }
    Ok(found)
}
