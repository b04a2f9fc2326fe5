//! What the overview tells: read-only sums and short lists, one query each.

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};

use crate::actor::Actor;
use crate::dates::{Period, Renewal};
use crate::deadline::Kind;
use crate::error::Result;
use crate::ids::{EnvironmentId, ProjectId};
use crate::money::{self, Currency, Sum};
use crate::tx::Read;

/// How many days ahead the overview looks.
const AHEAD: i64 = 15;
/// How many deadlines it shows; the list of all is one click away.
const SHOWN: usize = 30;
/// How many names stand in a sentence.
const NAMED: i64 = 5;
/// How long a failed mail is today's concern.
const FAILED_DAYS: i64 = 30;

/// A date with a consequence that nobody has settled yet.
pub(super) struct Due {
    /// What happens on it.
    pub kind: Kind,
    /// The date.
    pub on: NaiveDate,
    /// Days from today; negative are days ago.
    pub days_left: i64,
    /// The environment, where it belongs to one.
    pub environment: Option<(EnvironmentId, String)>,
    /// The project, where it belongs to one.
    pub project: Option<(ProjectId, String)>,
    /// Who decides.
    pub owner: Option<String>,
    /// Whether its term can be renewed.
    pub may_renew: bool,
}

/// What is due: overdue and within the next days, and the first date after those.
pub(super) struct Deadlines {
    /// The soonest, at most so many.
    pub due: Vec<Due>,
    /// Whether there are more than are shown.
    pub more: bool,
    /// The first one that is not due yet.
    pub next: Option<Due>,
}

/// Reads what is due; `mine` keeps what the reader decides or checks.
pub(super) async fn deadlines(read: &mut Read, actor: &Actor, mine: bool) -> Result<Deadlines> {
    let today = read.today();
    let person = actor.person.filter(|_| mine).map(|person| person.0);
    let rows = sqlx::query!(
        r#"select d.kind as "kind: Kind", d.due_on, d.environment_id as "environment_id: EnvironmentId", e.name as "environment?",
                  d.project_id as "project_id: ProjectId", p.name as "project?", owner.name as "owner?",
                  t.renewal as "renewal?: Renewal"
           from deadline d
           left join term t on t.id = d.term_id
           left join environment e on e.id = d.environment_id
           left join project p on p.id = d.project_id
           left join person owner on owner.id = e.owner_id
           where d.closed is null and ($1::bigint is null or e.owner_id = $1 or e.checker_id = $1)
           order by d.due_on, d.id limit $2"#,
        person,
        i64::try_from(SHOWN).unwrap_or(i64::MAX) + 1,
    )
    .fetch_all(read.connection())
    .await?;
    let all = rows.into_iter().map(|row| Due {
        kind: row.kind,
        on: row.due_on,
        days_left: (row.due_on - today).num_days(),
        environment: row.environment_id.zip(row.environment),
        project: row.project_id.zip(row.project),
        owner: row.owner,
        may_renew: row.renewal.is_some_and(|renewal| renewal.can_follow(true)),
    });
    let (mut due, later): (Vec<_>, Vec<_>) = all.partition(|one| one.days_left <= AHEAD);
    let more = due.len() > SHOWN;
    due.truncate(SHOWN);
    Ok(Deadlines { due, more, next: later.into_iter().next() })
}

/// Environments whose reminders would reach nobody: neither owner nor checker nor anybody copied has an address.
pub(super) struct Unreached {
    /// How many.
    pub count: i64,
    /// The first few, by name.
    pub first: Vec<(EnvironmentId, String)>,
}

/// Reads which environments with an open date have nobody to remind.
pub(super) async fn unreached(read: &mut Read) -> Result<Unreached> {
    let rows = sqlx::query!(
        r#"select e.id as "id: EnvironmentId", e.name, count(*) over () as "count!"
           from environment e
           where e.status = 'active'
             and exists (select 1 from deadline d where d.environment_id = e.id and d.closed is null)
             and not exists (
                 select 1 from person p
                 where p.email is not null
                   and (p.id = e.owner_id or p.id = e.checker_id
                        or p.id in (select w.person_id from environment_watcher w
                                    where w.environment_id = e.id and w.ended_at is null)))
           order by e.name, e.id limit $1"#,
        NAMED,
    )
    .fetch_all(read.connection())
    .await?;
    let count = rows.first().map_or(0, |row| row.count);
    Ok(Unreached { count, first: rows.into_iter().map(|row| (row.id, row.name)).collect() })
}

/// How the mails are doing.
pub(super) struct Mails {
    /// Refused for good, or given up, lately.
    pub failed: i64,
    /// Failed for now; they go out again by themselves.
    pub retrying: i64,
    /// Not sent yet, these included.
    pub waiting: i64,
}

/// Counts the mails that did not go out.
pub(super) async fn mails(read: &mut Read) -> Result<Mails> {
    let since = read.now() - TimeDelta::days(FAILED_DAYS);
    let row = sqlx::query!(
        r#"select count(*) filter (where state in ('bounced', 'dead') and created_at >= $1) as "failed!",
                  count(*) filter (where state in ('pending', 'leased') and attempts > 0) as "retrying!",
                  count(*) filter (where state in ('pending', 'leased')) as "waiting!"
           from delivery where open or created_at >= $1"#,
        since,
    )
    .fetch_one(read.connection())
    .await?;
    Ok(Mails { failed: row.failed, retrying: row.retrying, waiting: row.waiting })
}

/// What a currency cost: this month, and the month before.
pub(super) struct Spend {
    /// The currency.
    pub currency: Currency,
    /// Billed this month; the unknown are not in it.
    pub billed: Sum,
    /// Lines of this month whose amount nobody knows.
    pub unknown: i64,
    /// Billed the month before.
    pub before: Sum,
    /// Of this month, what no environment has yet.
    pub unplaced: Sum,
}

impl Spend {
    /// An amount in this currency, rounded to its minor units: the ledger has every digit.
    pub fn shown(&self, amount: &Sum) -> String {
        let places = self.currency.minor_units();
        money::grouped(&amount.rounded(places), places)
    }
}

/// The month's spend, per currency; the currency of the house first.
pub(super) async fn spend(read: &mut Read) -> Result<Vec<Spend>> {
    let period = Period::of_date(read.today());
    let house = read.organisation().currency.to_string();
    let rows = sqlx::query!(
        r#"select currency as "currency: Currency",
                  coalesce(sum(billed) filter (where period = $1), 0) as "billed!: Sum",
                  coalesce(sum(billed_unknown) filter (where period = $1), 0)::bigint as "unknown!",
                  coalesce(sum(billed) filter (where period = $2), 0) as "before!: Sum",
                  coalesce(sum(billed) filter (where period = $1 and environment_id is null), 0) as "unplaced!: Sum"
           from spend_month where period in ($1, $2)
           group by currency order by currency <> $3, currency"#,
        period as Period,
        period.previous() as Period,
        house,
    )
    .fetch_all(read.connection())
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Spend {
            currency: row.currency,
            billed: row.billed,
            unknown: row.unknown,
            before: row.before,
            unplaced: row.unplaced,
        })
        .collect())
}

/// Bill lines, of any month, that belong to no environment yet.
pub(super) async fn unplaced_lines(read: &mut Read) -> Result<i64> {
    Ok(sqlx::query_scalar!(
        r#"select coalesce(sum(lines), 0)::bigint as "lines!" from spend_month where environment_id is null"#
    )
    .fetch_one(read.connection())
    .await?)
}

/// Something that was produced.
pub(super) struct Output {
    /// In which environment.
    pub environment: (EnvironmentId, String),
    /// In which month.
    pub period: Period,
    /// How much.
    pub quantity: String,
    /// Of what.
    pub unit: String,
}

/// The last outputs, without those that were taken back.
pub(super) async fn outputs(read: &mut Read) -> Result<Vec<Output>> {
    let rows = sqlx::query!(
        r#"select o.environment_id as "id: EnvironmentId", e.name, o.period as "period: Period", o.quantity as "quantity: Sum", o.unit
           from output_entry o join environment e on e.id = o.environment_id
           where o.reverses_id is null and not exists (select 1 from output_entry r where r.reverses_id = o.id)
           order by o.period desc, o.id desc limit $1"#,
        NAMED,
    )
    .fetch_all(read.connection())
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Output {
            environment: (row.id, row.name),
            period: row.period,
            quantity: money::grouped(&row.quantity, 0),
            unit: row.unit,
        })
        .collect())
}

/// The strip at the foot, and whether there is anything at all.
pub(super) struct State {
    /// Whether the reader sees any environment.
    pub environments: bool,
    /// Whether the reader sees any spend.
    pub spend: bool,
    /// The last run of the reminders, where there was one.
    pub run: Option<Run>,
}

/// A run of the reminder job.
pub(super) struct Run {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// Deadlines looked at.
    pub checked: i64,
    /// Mails sent.
    pub sent: i64,
    /// Mails that failed.
    pub failed: i64,
    /// Why it did not come to its end.
    pub error: Option<String>,
}

/// Reads what there is, and the last run of the reminders.
pub(super) async fn state(read: &mut Read) -> Result<State> {
    let row = sqlx::query!(
        r#"select exists (select 1 from environment) as "environments!", exists (select 1 from spend_month) as "spend!",
                  coalesce(run.finished_at, run.started_at) as "at?", run.checked as "checked?", run.done as "sent?", run.failed as "failed?", run.error
           from (values (1)) one (row)
           left join lateral (select * from job_run where job = 'reminders' and as_of is null order by id desc limit 1) run on true"#,
    )
    .fetch_one(read.connection())
    .await?;
    let run = row.at.map(|at| Run {
        at,
        checked: row.checked.unwrap_or_default(),
        sent: row.sent.unwrap_or_default(),
        failed: row.failed.unwrap_or_default(),
        error: row.error,
    });
    Ok(State { environments: row.environments, spend: row.spend, run })
}
