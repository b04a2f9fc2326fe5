//! What a bill line charges for: (provider, account, id as the provider writes it). Lines without an id share a stand-in made
//! of their sub-account, service and category, so that every line can be bound.

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::dates::Period;
use crate::error::{Error, Result};
use crate::filter::one_of;
use crate::ids::{EnvironmentId, ProjectId, ProviderId, ResourceId};
use crate::ledger::by_amount::{self, ByAmount};
use crate::ledger::charge::Category;
use crate::limits;
use crate::locale::Message;
use crate::money::{self, Currency, Sum};
use crate::table::{Column, Table};
use crate::tx::{Read, Tx};

/// What a bill line charges for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Resource {
    /// Its id.
    pub id: ResourceId,
    /// Who bills it.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// The account that pays.
    pub account: String,
    /// The id as the provider writes it; empty for a stand-in.
    pub external_id: String,
    /// Its name in the bill that brought it.
    pub name: String,
    /// Its type, as the provider calls it.
    pub kind: String,
    /// Where it stands.
    pub region: String,
    /// Of a stand-in: the account that used it.
    pub sub_account: String,
    /// Of a stand-in: the service.
    pub service: String,
    /// Of a stand-in: the charge category.
    pub category: String,
    /// When a bill first named it.
    pub created_at: DateTime<Utc>,
}

impl Resource {
    /// Its name, its id, or what it stands for.
    pub fn label(&self) -> String {
        label(&self.name, &self.external_id, &self.service, &self.sub_account, &self.category)
    }

    /// Whether it stands for lines that name no resource.
    pub const fn is_stand_in(&self) -> bool {
        self.external_id.is_empty()
    }

    /// The charge category of a stand-in.
    pub fn stands_for(&self) -> Option<Category> {
        self.category.parse().ok()
    }
}

fn label(name: &str, external_id: &str, service: &str, sub_account: &str, category: &str) -> String {
    if !name.is_empty() {
        return name.to_owned();
    }
    if !external_id.is_empty() {
        return external_id.to_owned();
    }
    let parts: Vec<&str> = [service, sub_account, category].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(" · ")
}

macro_rules! select_resource {
    ($where:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Resource,
            r#"select r.id as "id: ResourceId", r.provider_id as "provider_id: ProviderId", p.name as provider, r.account,
                      r.external_id, r.name, r.type as kind, r.region, r.sub_account, r.service, r.category, r.created_at
               from resource r join provider p on p.id = r.provider_id "# + $where
            $(, $argument)*
        )
    };
}

/// The resource with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: ResourceId) -> Result<Resource> {
    Ok(select_resource!("where r.id = $1", id.0).fetch_one(connection).await?)
}

/// One writer at a time places a provider's lines: imports, bindings, reversals. Held until the unit of work ends.
///
/// # Errors
/// [`Error::Conflict`] where another takes longer than this unit of work waits for a lock.
pub(super) async fn lock_provider(tx: &mut Tx, provider: ProviderId) -> Result<()> {
    let locked = sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('lines of provider ' || $1::text, 0))",
        provider.0.to_string(),
    );
    locked.execute(tx.connection()).await.map_err(|cause| match &cause {
        sqlx::Error::Database(database) if database.code().as_deref() == Some("55P03") => {
            Error::Conflict(Message::new("error-provider-busy"))
        }
        _ => cause.into(),
    })?;
    Ok(())
}

/// What a resource costs in one month in one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthRow {
    /// The month.
    pub period: Period,
    /// The project.
    pub project: Option<String>,
    /// The environment's id; nothing where the lines are unplaced.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// The currency.
    pub currency: Currency,
    /// How many lines.
    pub lines: i64,
    /// To be paid.
    pub billed: Sum,
    /// What it cost.
    pub effective: Sum,
}

impl MonthRow {
    /// An amount for people.
    pub fn shown(&self, amount: &Sum) -> String {
        money::display(amount, &self.currency)
    }
}

/// What a resource costs, month by month, newest first: the last ten years.
pub async fn months(read: &mut Read, id: ResourceId) -> Result<Vec<MonthRow>> {
    let rows = sqlx::query_as!(
        MonthRow,
        r#"select m.period as "period: Period", p.name as "project?", m.environment_id as "environment_id: EnvironmentId",
                  e.name as "environment?", m.currency as "currency: Currency", m.lines, m.billed as "billed: Sum",
                  m.effective as "effective: Sum"
           from spend_resource m
           left join project p on p.id = m.project_id
           left join environment e on e.id = m.environment_id
           where m.resource_id = $1 and m.lines <> 0
           order by m.period desc, e.name, m.currency limit 240"#,
        id.0,
    );
    Ok(rows.fetch_all(read.connection()).await?)
}

/// The query keys of the list of resources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResourceFilter {
    /// A provider, by id or name.
    pub provider: Option<String>,
    /// `no`: only what has unplaced lines.
    pub placed: Option<String>,
    /// Of what is unplaced: `largest` or `smallest` payable amount first, currency by currency, that of the house first. Else the
    /// newest resource comes first.
    pub sort: Option<String>,
    /// The last resource of the page before.
    pub before: Option<i64>,
    /// The same in a list by amount: its currency, amount and number, as `CNY:68000.5:42`.
    pub after: Option<String>,
}

impl ResourceFilter {
    /// What has unplaced lines.
    #[must_use]
    pub fn unplaced(mut self) -> Self {
        self.placed = Some("no".to_owned());
        self
    }

    /// The order by amount, where it is asked for.
    ///
    /// # Errors
    /// Another word; what is placed has no such order.
    pub fn by_amount(&self) -> Result<Option<ByAmount>> {
        let words: &[&str] = if self.placed.is_some() { &["largest", "smallest"] } else { &[] };
        Ok(one_of("sort", self.sort.as_deref(), words)?.map(|word| match word {
            "largest" => ByAmount::Largest,
            _ => ByAmount::Smallest,
        }))
    }

    /// The same filter, going on after these rows.
    fn going_on(mut self, rows: &[ResourceRow], house: &Currency) -> Self {
        let last = rows.last().map(|row| row.id);
        let of_last: Vec<&ResourceRow> = rows.iter().filter(|row| Some(row.id) == last).collect();
        if self.sort.is_some() {
            self.after = by_amount::place(&of_last, house);
        } else {
            self.before = last.map(|id| id.0);
        }
        self
    }
}

/// What a resource costs in one place and one currency: a row of the file, and of the work list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRow {
    /// The resource.
    pub id: ResourceId,
    /// Who bills it.
    pub provider: String,
    /// The account that pays.
    pub account: String,
    /// The id as the provider writes it; empty for a stand-in.
    pub external_id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Where it stands.
    pub region: String,
    /// Of a stand-in: the account that used it.
    pub sub_account: String,
    /// Of a stand-in: the service.
    pub service: String,
    /// Of a stand-in: the charge category.
    pub category: String,
    /// The project of the lines.
    pub project_id: Option<ProjectId>,
    /// Its name.
    pub project: Option<String>,
    /// The environment of the lines.
    pub environment: Option<String>,
    /// The currency.
    pub currency: Currency,
    /// How many lines.
    pub lines: i64,
    /// To be paid.
    pub billed: Sum,
    /// Lines whose payable amount is unknown.
    pub billed_unknown: i64,
    /// The first month.
    pub first: Period,
    /// The last month.
    pub last: Period,
}

impl ResourceRow {
    /// See [`Resource::label`].
    pub fn label(&self) -> String {
        label(&self.name, &self.external_id, &self.service, &self.sub_account, &self.category)
    }

    /// The payable amount, for people.
    pub fn shown(&self) -> String {
        money::display(&self.billed, &self.currency)
    }
}

/// The list as a file.
pub static TABLE: Table<ResourceRow> = Table {
    name: "resources",
    title: "resources-title",
    columns: &[
        Column::new("id", "spend-col-id", |row| row.id.0.into()),
        Column::new("provider", "spend-col-provider", |row| row.provider.as_str().into()),
        Column::new("account", "spend-col-account", |row| row.account.as_str().into()),
        Column::new("resource", "spend-col-resource", |row| row.external_id.as_str().into()),
        Column::new("name", "resources-col-name", |row| row.name.as_str().into()),
        Column::new("type", "resources-col-type", |row| row.kind.as_str().into()),
        Column::new("region", "resources-col-region", |row| row.region.as_str().into()),
        Column::new("sub_account", "spend-col-sub-account", |row| row.sub_account.as_str().into()),
        Column::new("service", "spend-col-service", |row| row.service.as_str().into()),
        Column::new("project", "spend-col-project", |row| row.project.as_deref().into()),
        Column::new("environment", "spend-col-environment", |row| row.environment.as_deref().into()),
        Column::new("currency", "spend-col-currency", |row| row.currency.as_str().into()),
        Column::new("lines", "resources-col-lines", |row| row.lines.into()),
        Column::new("billed", "spend-col-billed", |row| crate::table::Cell::Number(row.billed.plain().into())),
        Column::new("first_period", "resources-col-first", |row| row.first.to_string().into()),
        Column::new("last_period", "resources-col-last", |row| row.last.to_string().into()),
    ],
};

/// The rows of at most `limit` resources that match, newest resource first.
async fn rows(read: &mut Read, filter: &ResourceFilter, limit: usize) -> Result<Vec<ResourceRow>> {
    let provider = match filter.provider.as_deref() {
        Some(text) => Some(super::filter::provider(read, text).await?),
        None => None,
    };
    let only_unplaced = one_of("placed", filter.placed.as_deref(), &["no"])?.is_some();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let ids = if let Some(order) = filter.by_amount()? {
        by_amount::ids(read, filter, order, provider, limit).await?
    } else if only_unplaced {
        sqlx::query_scalar!(
            "select m.resource_id from spend_resource m
             where m.environment_id is null and m.lines <> 0 and ($1::bigint is null or m.resource_id < $1)
               and ($2::bigint is null or exists (select from resource r where r.id = m.resource_id and r.provider_id = $2))
             group by m.resource_id order by m.resource_id desc limit $3",
            filter.before,
            provider.map(|id| id.0),
            limit,
        )
        .fetch_all(read.connection())
        .await?
    } else {
        sqlx::query_scalar!(
            "select id from resource where ($1::bigint is null or id < $1) and ($2::bigint is null or provider_id = $2)
             order by id desc limit $3",
            filter.before,
            provider.map(|id| id.0),
            limit,
        )
        .fetch_all(read.connection())
        .await?
    };
    let rows = sqlx::query_as!(
        ResourceRow,
        r#"select r.id as "id: ResourceId", p.name as provider, r.account, r.external_id, r.name, r.type as kind, r.region,
                  r.sub_account, r.service, r.category, m.project_id as "project_id: ProjectId", j.name as "project?",
                  e.name as "environment?", m.currency as "currency!: Currency", m.lines as "lines!",
                  m.billed as "billed!: Sum", m.billed_unknown as "billed_unknown!", m.first as "first!: Period",
                  m.last as "last!: Period"
           from resource r
           join provider p on p.id = r.provider_id
           join (select resource_id, project_id, environment_id, currency, sum(lines)::bigint as lines, sum(billed) as billed,
                        sum(billed_unknown)::bigint as billed_unknown, min(period) as first, max(period) as last
                 from spend_resource where resource_id = any($1) and lines <> 0 and (not $2 or environment_id is null)
                 group by 1, 2, 3, 4) m on m.resource_id = r.id
           left join project j on j.id = m.project_id
           left join environment e on e.id = m.environment_id
           where r.id = any($1)
           order by array_position($1, r.id), j.name, e.name, m.currency"#,
        &ids,
        only_unplaced,
    );
    Ok(rows.fetch_all(read.connection()).await?)
}

/// A resource with unplaced lines, as the work list shows it.
#[derive(Debug, Clone)]
pub struct Unplaced {
    /// The resource; one row a currency.
    pub rows: Vec<ResourceRow>,
    /// The first day of charge: where a binding begins unless somebody says otherwise.
    pub first_on: Option<NaiveDate>,
}

impl Unplaced {
    /// The resource's facts, which are the same in each row.
    pub fn resource(&self) -> &ResourceRow {
        &self.rows[0]
    }

    /// How many lines.
    pub fn lines(&self) -> i64 {
        self.rows.iter().map(|row| row.lines).sum()
    }
}

/// A page of the work list: resources with unplaced lines, newest first or by amount, and where the next page begins, as key
/// and place.
pub async fn unplaced(
    read: &mut Read,
    filter: &ResourceFilter,
) -> Result<(Vec<Unplaced>, Option<(&'static str, String)>)> {
    let rows = rows(read, &filter.clone().unplaced(), limits::PAGE_ROWS + 1).await?;
    let house = read.organisation().currency.clone();
    let mut list: Vec<Unplaced> = Vec::new();
    for row in rows {
        match list.last_mut().filter(|it| it.resource().id == row.id) {
            Some(it) => it.rows.push(row),
            None => list.push(Unplaced { rows: vec![row], first_on: None }),
        }
    }
    let more = list.len() > limits::PAGE_ROWS;
    list.truncate(limits::PAGE_ROWS);
    let next = list.last().filter(|_| more).map(|it| {
        let on = filter.clone().going_on(&it.rows, &house);
        on.after.map_or_else(|| ("before", it.resource().id.to_string()), |place| ("after", place))
    });
    let ids: Vec<i64> = list.iter().map(|it| it.resource().id.0).collect();
    let periods: Vec<Period> = list.iter().filter_map(|it| it.rows.iter().map(|row| row.first).min()).collect();
    let days = sqlx::query!(
        r#"select w.id as "id!", d.day from unnest($1::bigint[], $2::date[]) w (id, period)
           cross join lateral (select min(s.charged_on) as day from spend s
                               where s.period = w.period and s.environment_id is null and s.resource_id = w.id) d"#,
        &ids,
        &periods as _,
    )
    .fetch_all(read.connection())
    .await?;
    for it in &mut list {
        it.first_on = days.iter().find(|row| row.id == it.resource().id.0).and_then(|row| row.day);
    }
    Ok((list, next))
}

/// The first day of charge of a resource's unplaced lines.
pub async fn first_unplaced_day(read: &mut Read, id: ResourceId) -> Result<Option<NaiveDate>> {
    let day = sqlx::query_scalar!(
        "select min(charged_on) from spend where environment_id is null and resource_id = $1
           and period = (select min(period) from spend_resource where resource_id = $1 and environment_id is null and lines <> 0)",
        id.0,
    );
    Ok(day.fetch_one(read.connection()).await?)
}

/// What is unplaced, per currency: lines and payable amount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnplacedSum {
    /// The currency.
    pub currency: Currency,
    /// How many lines.
    pub lines: i64,
    /// To be paid.
    pub billed: Sum,
}

impl UnplacedSum {
    /// The payable amount, for people.
    pub fn shown(&self) -> String {
        money::display(&self.billed, &self.currency)
    }
}

/// What is unplaced, currency by currency.
pub async fn unplaced_sums(read: &mut Read) -> Result<Vec<UnplacedSum>> {
    let sums = sqlx::query_as!(
        UnplacedSum,
        r#"select currency as "currency: Currency", sum(lines)::bigint as "lines!", sum(billed) as "billed!: Sum"
           from spend_month where environment_id is null group by currency having sum(lines) <> 0 order by currency"#
    );
    Ok(sums.fetch_all(read.connection()).await?)
}

/// All rows that match, in chunks. Drop it and the snapshot ends.
pub fn stream(read: Read, filter: ResourceFilter) -> impl Stream<Item = Result<Vec<ResourceRow>>> + Send {
    const RESOURCES: usize = 2_000;
    stream::try_unfold((read, filter), |(mut read, filter)| async move {
        let rows = rows(&mut read, &filter, RESOURCES).await?;
        let house = read.organisation().currency.clone();
        let on = filter.going_on(&rows, &house);
        Ok((!rows.is_empty()).then_some((rows, (read, on))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_resources_keeps_its_names() {
        TABLE.assert_is_sound();
        assert_eq!(
            TABLE.names(),
            [
                "id",
                "provider",
                "account",
                "resource",
                "name",
                "type",
                "region",
                "sub_account",
                "service",
                "project",
                "environment",
                "currency",
                "lines",
                "billed",
                "first_period",
                "last_period"
            ]
        );
    }

    #[test]
    fn a_resource_is_called_by_its_name_its_id_or_what_it_stands_for() {
        assert_eq!(label("gpu-1", "i-1", "", "", ""), "gpu-1");
        assert_eq!(label("", "i-1", "", "", ""), "i-1");
        assert_eq!(label("", "", "Compute Engine", "", "tax"), "Compute Engine · tax");
    }
}
