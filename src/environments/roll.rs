//! The rent roll: environments as lists and files show them, each with its present term, its last day and what it should cost.
//!
//! Two dates, which are mostly the same: the last day of the **present** term, and the last day of the **chain**, up to which
//! the environment is rented. Days left count to the latter, as reminders do; they are computed from the reader's today.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use futures_util::{Stream, stream};
use rust_decimal::Decimal;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization as _;

use crate::catalog::price;
use crate::catalog::tier::BillingMode;
use crate::dates::{self, Cycle, Renewal};
use crate::environments::cost::{Cost, Rent};
use crate::environments::environment::{Priority, Status};
use crate::environments::scenario::Scenario;
use crate::environments::term::cycle_days;
use crate::error::{Error, Result};
use crate::ids::{EnvironmentId, ProjectId, TierId};
use crate::labels::Labels;
use crate::limits;
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::table::{Cell, Column, Table};
use crate::tx::Read;

/// Which environments a reader wants to see; the same for the page, its files and the files of their terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct EnvironmentFilter {
    /// One project.
    pub project: Option<i64>,
    /// One provider.
    pub provider: Option<i64>,
    /// One tier.
    pub tier: Option<i64>,
    /// `active`, `ended` or `voided`; nothing for all but the voided.
    pub status: Option<Status>,
    /// One owner.
    pub owner: Option<i64>,
    /// One scenario.
    pub scenario: Option<Scenario>,
    /// Words in any order, each somewhere in the name, the labels, the project, the provider, the tier or the note. Small and
    /// capital letters, full-width and half-width forms are the same.
    pub q: Option<String>,
    /// The last environment of the page before.
    pub after: Option<i64>,
}

impl EnvironmentFilter {
    /// The words to look for, in small letters and plain forms, as the statement writes what it looks in.
    pub fn words(&self) -> Result<Vec<String>> {
        let q = self.q.as_deref().unwrap_or_default();
        if q.chars().count() > limits::SEARCH_CHARS {
            let message = Message::new("error-text-length").with("most", limits::SEARCH_CHARS);
            return Err(Error::invalid("q", message.with("length", q.chars().count())));
        }
        if q.contains('\0') {
            return Err(Error::invalid("q", Message::new("error-text-nul")));
        }
        let plain: String = q.nfkc().collect();
        Ok(plain.split_whitespace().map(str::to_lowercase).collect())
    }

    /// What is filtered, as name and value, without the place in the list.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs = Vec::new();
        let ids = [("project", self.project), ("provider", self.provider), ("tier", self.tier), ("owner", self.owner)];
        for (name, id) in ids {
            if let Some(id) = id {
                pairs.push((name, id.to_string()));
            }
        }
        if let Some(status) = self.status {
            pairs.push(("status", status.as_str().to_owned()));
        }
        if let Some(scenario) = self.scenario {
            pairs.push(("scenario", scenario.as_str().to_owned()));
        }
        if let Some(q) = self.q.as_deref().filter(|q| !q.trim().is_empty()) {
            pairs.push(("q", q.trim().to_owned()));
        }
        pairs
    }

    /// The filter as it stands in an address, without the place in the list: empty, or `?…`.
    pub fn query(&self) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(self.pairs()).finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }
}

/// The conditions of a filter over `environment e`; the first six arguments of the statement are the filter's, the seventh are
/// its words.
macro_rules! filtered {
    ($head:literal, $rest:literal, $filter:expr $(, $argument:expr)*) => {{
        let (filter, words) = $filter;
        sqlx::query!(
            $head + "where ($1::bigint is null or e.project_id = $1)
               and ($2::bigint is null or e.provider_id = $2)
               and ($3::bigint is null or e.tier_id = $3)
               and (case when $4::text is null then e.status <> 'voided' else e.status = $4 end)
               and ($5::bigint is null or e.owner_id = $5)
               and ($6::text is null or e.scenario = $6)
               and not exists (
                   select 1 from unnest($7::text[]) word
                   where strpos(lower(normalize(concat_ws(' ', e.name, e.note,
                       (select name from project where id = e.project_id),
                       (select name from provider where id = e.provider_id),
                       (select name from tier where id = e.tier_id),
                       (select string_agg(key || '=' || value, ' ') from jsonb_each_text(e.labels))), nfkc)), word) = 0)" + $rest,
            filter.project,
            filter.provider,
            filter.tier,
            filter.status.map(Status::as_str),
            filter.owner,
            filter.scenario.map(Scenario::as_str),
            words
            $(, $argument)*
        )
    }};
}
pub(super) use filtered;

/// An environment as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct EnvironmentRow {
    /// Its id.
    pub id: EnvironmentId,
    /// The project.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The provider's name.
    pub provider: String,
    /// The tier.
    pub tier_id: TierId,
    /// The tier's name.
    pub tier: String,
    /// What it is used for.
    pub scenario: Option<Scenario>,
    /// Whether it is in use.
    pub status: Status,
    /// The last day of use, once it is ended.
    pub ended_on: Option<NaiveDate>,
    /// Units of the tier in use now.
    pub quantity: Decimal,
    /// The owner's name.
    pub owner: Option<String>,
    /// The checker's name.
    pub checker: Option<String>,
    /// How much hangs on it.
    pub priority: Priority,
    /// Its labels.
    pub labels: Labels,
    /// The first day of the present term.
    pub starts_on: NaiveDate,
    /// The last day of the present term.
    pub ends_on: Option<NaiveDate>,
    /// The present term's rhythm.
    pub cycle: Cycle,
    /// What happens at the present term's end.
    pub renewal: Renewal,
    /// The last day of the chain; nothing where it has no end.
    pub last_on: Option<NaiveDate>,
    /// Days from today to the last day of the chain; nothing without one and once it is ended.
    pub days_left: Option<i64>,
    /// The next open day to give notice by.
    pub cancel_by_on: Option<NaiveDate>,
    /// The present term's price for one unit and one cycle.
    pub price: Option<Decimal>,
    /// The currency of the price.
    pub currency: Option<Currency>,
    /// The expected cost of the present cycle, all units.
    pub expected: Option<Cost>,
}

impl EnvironmentRow {
    /// The quantity for people.
    pub fn shown_quantity(&self) -> String {
        money::grouped(&self.quantity.into(), 0)
    }
}

/// The environments that match: in use first, what ends soonest first, without an end last. At most `limit`, and how many match
/// in all.
pub async fn list(read: &mut Read, filter: &EnvironmentFilter, limit: i64) -> Result<RollPage> {
    let words = filter.words()?;
    // First which environments stand on the page, out of as little as tells their order; then what is known of these few. The
    // terms of an environment do not overlap, so its last day is the greatest of theirs.
    let page = filtered!(
        r#"with matching as materialized (
               select e.id, e.status <> 'active' as ended, l.last_on
               from environment e
               join (select environment_id, max(coalesce(ends_on, '9999-12-31')) as last_on from term
                     group by environment_id) l on l.environment_id = e.id
               "#,
        r#")
           select id as "id!", last_on as "last_on!", (select count(*) from matching) as "all!",
                  (select count(*) from matching where not ended) as "active!"
           from matching
           where $8::bigint is null or (ended, last_on, id) > (
               (select status <> 'active' from environment where id = $8),
               (select max(coalesce(ends_on, '9999-12-31')) from term where environment_id = $8), $8)
           order by ended, last_on, id limit $9"#,
        (filter, &words),
        filter.after,
        limit
    )
    .fetch_all(read.connection())
    .await?;
    let count = page.first().map_or(Count::default(), |row| Count { all: row.all, active: row.active });
    let ids: Vec<i64> = page.iter().map(|row| row.id).collect();
    let last_days: Vec<NaiveDate> = page.iter().map(|row| row.last_on).collect();
    Ok(RollPage { rows: known(read, &ids, &last_days).await?, count })
}

/// What is known of these environments, in their order; `last_days` are their last days, with 9999-12-31 for none.
async fn known(read: &mut Read, ids: &[i64], last_days: &[NaiveDate]) -> Result<Vec<EnvironmentRow>> {
    let (today, house) = (read.today(), read.organisation().currency.clone());
    let rows = sqlx::query!(
        r#"select e.id as "id: EnvironmentId", e.project_id as "project_id: ProjectId", j.name as project, e.name,
                  p.name as provider, e.tier_id as "tier_id: TierId", g.name as tier,
                  g.billing_mode as "billing_mode: BillingMode", e.scenario as "scenario: Scenario",
                  e.status as "status: Status", e.ended_on, e.quantity as "quantity: Decimal",
                  o.name as "owner?", c.name as "checker?",
                  e.priority as "priority: Priority", e.labels as "labels: Labels", e.anchor_day,
                  t.starts_on as "starts_on!", t.ends_on, t.cycle_months as "cycle!: Cycle", t.renewal as "renewal!: Renewal",
                  t.price as "price: Decimal", t.currency as "currency: Currency",
                  nullif(page.last_on, '9999-12-31') as last_on,
                  (select min(due_on) from deadline d
                   where d.environment_id = e.id and d.kind = 'cancel_by' and d.closed is null) as cancel_by_on
           from unnest($1::bigint[], $2::date[]) with ordinality page (id, last_on, place)
           join environment e on e.id = page.id
           join project j on j.id = e.project_id
           join provider p on p.id = e.provider_id
           join tier g on g.id = e.tier_id
           left join person o on o.id = e.owner_id
           left join person c on c.id = e.checker_id
           join lateral (
               (select * from term where environment_id = e.id and starts_on <= $3 order by starts_on desc limit 1)
               union all
               (select * from term where environment_id = e.id and starts_on > $3 order by starts_on limit 1)
               limit 1) t on true
           order by page.place"#,
        ids,
        last_days,
        today
    )
    .fetch_all(read.connection())
    .await?;
    // The price list counts only where a term says no price of its own.
    let unpriced = rows.iter().filter(|row| row.price.is_none() || row.currency.is_none());
    let tiers: BTreeSet<TierId> = unpriced.map(|row| row.tier_id).collect();
    let prices = if tiers.is_empty() { Vec::new() } else { price::of_tiers(read.connection(), tiers).await? };
    let rows = rows.into_iter().map(|row| {
        let of_tier: Vec<_> = prices.iter().filter(|price| price.tier_id == row.tier_id).cloned().collect();
        let rent = Rent {
            cycle: row.cycle,
            quantity: row.quantity,
            price: row.price,
            currency: row.currency.as_ref(),
            billing_mode: row.billing_mode,
            house: &house,
        };
        let anchor = row.anchor_day.and_then(|day| u32::try_from(day).ok()).unwrap_or(1);
        let cycles = cycle_days(row.starts_on, row.ends_on, row.cycle, anchor, today);
        let cycle = cycles.into_iter().rev().find(|day| *day <= today).unwrap_or(row.starts_on);
        EnvironmentRow {
            expected: rent.of_cycle(&of_tier, cycle),
            days_left: row
                .last_on
                .filter(|_| row.status == Status::Active)
                .map(|last_on| dates::days_left(today, last_on)),
            id: row.id,
            project_id: row.project_id,
            project: row.project,
            name: row.name,
            provider: row.provider,
            tier_id: row.tier_id,
            tier: row.tier,
            scenario: row.scenario,
            status: row.status,
            ended_on: row.ended_on,
            quantity: row.quantity,
            owner: row.owner,
            checker: row.checker,
            priority: row.priority,
            labels: row.labels,
            starts_on: row.starts_on,
            ends_on: row.ends_on,
            cycle: row.cycle,
            renewal: row.renewal,
            last_on: row.last_on,
            cancel_by_on: row.cancel_by_on,
            price: row.price,
            currency: row.currency,
        }
    });
    Ok(rows.collect())
}

/// A page of the list.
#[derive(Debug, Clone)]
pub struct RollPage {
    /// The environments that stand on it.
    pub rows: Vec<EnvironmentRow>,
    /// How many there are on all pages; none behind the last page.
    pub count: Count,
}

/// How many environments match, and of these how many are in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All that match.
    pub all: i64,
    /// Those in use.
    pub active: i64,
}

/// What the list can be filtered by, each with its id, by name.
#[derive(Debug, Clone, Default)]
pub struct Choices {
    /// The projects that the reader may see.
    pub projects: Vec<(i64, String)>,
    /// Every provider.
    pub providers: Vec<(i64, String)>,
    /// Everybody who owns an environment that the reader may see.
    pub owners: Vec<(i64, String)>,
}

/// Reads the choices of the filter, all in one round trip.
pub async fn choices(read: &mut Read) -> Result<Choices> {
    let rows = sqlx::query!(
        r#"select 'project' as "kind!", id as "id!", name as "name!" from project
           union all select 'provider', id, name from provider
           union all select 'owner', id, name from person where id in (select owner_id from environment)
           order by 3, 2"#
    )
    .fetch_all(read.connection())
    .await?;
    let mut choices = Choices::default();
    for row in rows {
        let list = match row.kind.as_str() {
            "project" => &mut choices.projects,
            "provider" => &mut choices.providers,
            _ => &mut choices.owners,
        };
        list.push((row.id, row.name));
    }
    Ok(choices)
}

/// How many environments are read at once for a file.
const CHUNK: i64 = 500;

/// All environments that match, in batches, for a file; the place in the list is not asked.
pub fn batches(read: Read, filter: EnvironmentFilter) -> impl Stream<Item = Result<Vec<EnvironmentRow>>> + Send {
    let start = Some((read, EnvironmentFilter { after: None, ..filter }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, mut filter)) = state else { return Ok(None) };
        let rows = list(&mut read, &filter, CHUNK).await?.rows;
        let Some(last) = rows.last() else { return Ok(None) };
        filter.after = Some(last.id.0);
        let more = i64::try_from(rows.len()).is_ok_and(|count| count == CHUNK);
        Ok(Some((rows, more.then_some((read, filter)))))
    })
}

/// The list as a file.
pub static TABLE: Table<EnvironmentRow> = Table {
    name: "environments",
    title: "nav-environments",
    columns: &[
        Column::new("id", "env-col-id", |row| row.id.0.into()),
        Column::new("project", "env-col-project", |row| (&row.project).into()),
        Column::new("name", "env-col-environment", |row| (&row.name).into()),
        Column::new("provider", "env-col-provider", |row| (&row.provider).into()),
        Column::new("tier", "env-col-tier", |row| (&row.tier).into()),
        Column::new("scenario", "env-col-scenario", |row| {
            row.scenario.map_or(Cell::Empty, |it| Cell::Word { code: it.as_str().into(), words: it.words() })
        }),
        Column::new("status", "env-col-status", |row| Cell::Word {
            code: row.status.as_str().into(),
            words: row.status.words(),
        }),
        Column::new("ended_on", "env-col-ended-on", |row| row.ended_on.into()),
        Column::new("quantity", "env-col-quantity", |row| row.quantity.into()),
        Column::new("owner", "env-col-owner", |row| row.owner.as_ref().into()),
        Column::new("checker", "env-col-checker", |row| row.checker.as_ref().into()),
        Column::new("priority", "env-col-priority", |row| Cell::Word {
            code: row.priority.as_str().into(),
            words: row.priority.words(),
        }),
        Column::new("labels", "env-col-labels", |row| row.labels.to_string().into()),
        Column::new("term_starts_on", "env-col-term-starts-on", |row| row.starts_on.into()),
        Column::new("term_ends_on", "env-col-term-ends-on", |row| row.ends_on.into()),
        Column::new("cycle", "env-col-cycle", |row| Cell::Word {
            code: row.cycle.to_string().into(),
            words: row.cycle.words(),
        }),
        Column::new("renewal", "env-col-renewal", |row| Cell::Word {
            code: row.renewal.as_str().into(),
            words: row.renewal.words(),
        }),
        Column::new("last_on", "env-col-last-on", |row| row.last_on.into()),
        Column::new("days_left", "env-col-days-left", |row| row.days_left.into()),
        Column::new("cancel_by_on", "env-col-cancel-by", |row| row.cancel_by_on.into()),
        Column::new("price", "env-col-price", |row| row.price.into()),
        Column::new("currency", "env-col-currency", |row| row.currency.as_ref().map(Currency::as_str).into()),
        Column::new("expected_cost", "env-col-expected", |row| {
            row.expected.as_ref().map_or(Cell::Empty, |cost| Cell::Number(cost.amount.plain().into()))
        }),
        Column::new("expected_currency", "env-col-expected-currency", |row| {
            row.expected.as_ref().map(|cost| cost.currency.as_str()).into()
        }),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        let names = "id project name provider tier scenario status ended_on quantity owner checker priority labels \
                     term_starts_on term_ends_on cycle renewal last_on days_left cancel_by_on price currency expected_cost \
                     expected_currency";
        assert_eq!(TABLE.names(), names.split_whitespace().collect::<Vec<_>>());
    }

    #[test]
    fn a_filter_reads_back_from_its_address() {
        let filter = EnvironmentFilter {
            provider: Some(3),
            status: Some(Status::Ended),
            q: Some(" 训练 a&b ".to_owned()),
            after: Some(9),
            ..EnvironmentFilter::default()
        };
        assert_eq!(filter.query(), "?provider=3&status=ended&q=%E8%AE%AD%E7%BB%83+a%26b");
        assert_eq!(EnvironmentFilter::default().query(), "");
    }
}
