//! One try chain to one person about one environment.
//!
//! Due reminders are [`gather`]ed into deliveries; a worker claims some ([`super::claim`]), commits, and only then speaks SMTP
//! ([`super::post`]); what the server said is booked ([`super::attempt`]) on the condition that the lease still holds.
//!
//! Bound: a message reaches the server at most once, and once more for every try that nobody can vouch for (at most two
//! resends) and for every crash inside a try. All copies carry the same Message-ID, and those of one day
//! the same bytes.
//!
//! A delivery's reminders are found by a `case`, not by `coalesce(escalates, id)`: under row-level security PostgreSQL takes
//! `coalesce` for a function that could leak, and then reads the whole table rather than its index.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::reminder::told_days;
use crate::error::Result;
use crate::ids::{EnvironmentId, PersonId, ProjectId};
use crate::limits;
use crate::tx::{Read, Tx};

/// What [`gather`] found and made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gathered {
    /// Reminders that are to be sent now, whether a delivery carried them already or not.
    pub due: i64,
    /// Those that wait for the hour of sending.
    pub held: i64,
    /// Deliveries made.
    pub made: i64,
    /// Deliveries whose reminders a later step replaced.
    pub superseded: i64,
}

/// A reminder that is to be sent now: the latest due step of one person for one deadline.
struct Chosen {
    reminder: i64,
    environment: EnvironmentId,
    project: Option<ProjectId>,
    person: PersonId,
    delivery: Option<Uuid>,
    /// Nothing of its delivery can have arrived.
    untouched: bool,
}

/// Which reminders are to be sent as of today: `plan::choose`, for all at once.
///
/// A run with a pretended date makes reminders whose day lies before they were made. A run of the true day must not take
/// those for mails that were missed in an outage; `honest` leaves them out once the weeks of telling are over.
///
/// What was sent, or given up, takes the place of earlier steps from its own day on: a run with a pretended date ahead must not
/// silence the days before it. Only what a mail that lies in the outbox or is being sent tells is told ahead of its day: it
/// has reached nobody yet, and one mail each waits there.
///
/// `waiting` are the deliveries that nobody can claim while this transaction runs; only they count as untouched.
async fn chosen(tx: &mut Tx, waiting: &[Uuid]) -> Result<Vec<Chosen>> {
    let zone = tx.organisation().zone;
    let honest = tx.pretended_date().is_none().then(|| zone.as_str());
    let today = tx.today();
    let chosen = sqlx::query_as!(
        Chosen,
        r#"with candidate as (
               select r.id, r.project_id, d.environment_id, r.person_id, r.deadline_on, r.due_on, r.created_at, r.delivery_id,
                      coalesce(v.id = any ($4), false) and not exists (
                          select 1 from attempt a where a.delivery_id = v.id and a.outcome in ('ambiguous', 'late_finish'))
                          as untouched,
                      coalesce(v.state in ('sent', 'bounced', 'dead'), false) as settled,
                      row_number() over (partition by r.deadline_id, r.person_id order by r.step) as place,
                      bool_or(coalesce(v.state in ('sent', 'bounced', 'dead'), false))
                          over (partition by r.deadline_id, r.person_id) as told
               from deadline d
               join environment e on e.id = d.environment_id
               join reminder r on r.deadline_id = d.id and r.deadline_on = d.due_on
               left join delivery v on v.id = r.delivery_id
               where d.closed is null and e.status = 'active'
                 and (v.state in ('sent', 'bounced', 'dead') or r.withdrawn_at is null)
                 and (r.due_on <= $1 or v.state = 'leased' or (v.state = 'pending' and v.reply = 'outbox'))
           )
           select id as "reminder!", environment_id as "environment!: EnvironmentId", project_id as "project: ProjectId",
                  person_id as "person!: PersonId", delivery_id as delivery, untouched as "untouched!"
           from candidate
           where place = 1 and not settled
             and ($1 <= deadline_on + $2::integer
                  or (not told and ($3::text is null or due_on >= (created_at at time zone $3)::date)))
           order by deadline_on, environment_id, person_id, id"#,
        today,
        told_days(),
        honest,
        waiting,
    )
    .fetch_all(tx.connection())
    .await?;
    Ok(chosen)
}

/// Puts the due reminders of one person and one environment that no delivery carries yet into one new delivery, soonest
/// first. An older one that waits for the same person and environment gives its reminders up to it, unless it may have arrived.
/// Before the hour of sending (`is_time`) nothing is made.
pub async fn gather(tx: &mut Tx, waiting: &[Uuid], is_time: bool, worker: &str) -> Result<Gathered> {
    let chosen = chosen(tx, waiting).await?;
    let due = i64::try_from(chosen.len()).unwrap_or(i64::MAX);
    if !is_time {
        let held = chosen.iter().filter(|reminder| reminder.delivery.is_none()).count();
        return Ok(Gathered { due, held: i64::try_from(held).unwrap_or(i64::MAX), ..Gathered::default() });
    }
    let mut groups: BTreeMap<(EnvironmentId, PersonId), Vec<Chosen>> = BTreeMap::new();
    let mut order = Vec::new();
    for reminder in chosen {
        let key = (reminder.environment, reminder.person);
        let group = groups.entry(key).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(reminder);
    }
    let (mut rows, mut carried, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for key in order {
        let group = groups.remove(&key).unwrap_or_default();
        let (project, needed) = (group[0].project, group.iter().any(|it| it.delivery.is_none()));
        if !needed {
            continue;
        }
        let id = Uuid::now_v7();
        rows.push((id, project, key.0, key.1));
        for reminder in group {
            match reminder.delivery {
                Some(delivery) if !reminder.untouched => kept.push(delivery),
                _ => carried.push((reminder.reminder, id)),
            }
        }
    }
    let made = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    if rows.is_empty() {
        return Ok(Gathered { due, ..Gathered::default() });
    }
    insert(tx, &rows).await?;
    carry(tx, &carried).await?;
    let superseded = supersede(tx, &rows, waiting, &kept, worker).await?;
    Ok(Gathered { due, held: 0, made, superseded })
}

/// Keeps every delivery that waits from being claimed until this transaction ends; one that is being claimed is not among them.
/// Planning begins with it and touches no other delivery: a claim takes deliveries first and reminders then, and who did it the
/// other way round would end in a deadlock with it.
pub async fn hold_waiting(tx: &mut Tx) -> Result<Vec<Uuid>> {
    let waiting =
        sqlx::query_scalar!("select id from delivery where open and state = 'pending' for update skip locked")
            .fetch_all(tx.connection())
            .await?;
    Ok(waiting)
}

async fn insert(tx: &mut Tx, rows: &[(Uuid, Option<ProjectId>, EnvironmentId, PersonId)]) -> Result<()> {
    let (now, today) = (tx.now(), tx.today());
    let ids: Vec<Uuid> = rows.iter().map(|row| row.0).collect();
    let projects: Vec<Option<i64>> = rows.iter().map(|row| row.1.map(|id| id.0)).collect();
    let environments: Vec<i64> = rows.iter().map(|row| row.2.0).collect();
    let persons: Vec<i64> = rows.iter().map(|row| row.3.0).collect();
    sqlx::query!(
        "insert into delivery (id, project_id, environment_id, person_id, run_on, next_at, created_at)
         select r.id, r.project_id, r.environment_id, r.person_id, $5, $6, $6
         from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[]) as r (id, project_id, environment_id, person_id)",
        &ids,
        &projects as &[Option<i64>],
        &environments,
        &persons,
        today,
        now,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

async fn carry(tx: &mut Tx, carried: &[(i64, Uuid)]) -> Result<()> {
    let (reminders, deliveries): (Vec<i64>, Vec<Uuid>) = carried.iter().copied().unzip();
    sqlx::query!(
        "update reminder r set delivery_id = c.delivery_id
         from unnest($1::bigint[], $2::uuid[]) as c (id, delivery_id) where r.id = c.id",
        &reminders,
        &deliveries,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Cancels what waits for the same person and environment and was not kept; its other reminders are nobody's again.
async fn supersede(
    tx: &mut Tx,
    rows: &[(Uuid, Option<ProjectId>, EnvironmentId, PersonId)],
    waiting: &[Uuid],
    kept: &[Uuid],
    worker: &str,
) -> Result<i64> {
    let now = tx.now();
    let environments: Vec<i64> = rows.iter().map(|row| row.2.0).collect();
    let persons: Vec<i64> = rows.iter().map(|row| row.3.0).collect();
    let stay: Vec<Uuid> = rows.iter().map(|row| row.0).chain(kept.iter().copied()).collect();
    let count = sqlx::query_scalar!(
        r#"with old as (
               update delivery v set state = 'cancelled', reply = 'superseded'
               from unnest($1::bigint[], $2::bigint[]) as g (environment_id, person_id)
               where v.environment_id = g.environment_id and v.person_id = g.person_id and v.state = 'pending'
                 and v.escalates is null and v.id <> all ($3) and v.id = any ($6)
               returning v.id, v.project_id
           ), unlinked as (
               update reminder r set delivery_id = null from old where r.delivery_id = old.id
           ), logged as (
               insert into attempt (project_id, delivery_id, worker, started_at, finished_at, phase, outcome, reply)
               select project_id, id, $4, $5, $5, 'gather', 'cancelled', 'superseded' from old
           )
           select count(*) as "count!" from old"#,
        &environments,
        &persons,
        &stay,
        worker,
        now,
        waiting,
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(count)
}

/// Cancels what waits and has nothing to say any more: every date moved, was closed, or lost this person.
pub async fn withdraw(tx: &mut Tx, waiting: &[Uuid], worker: &str) -> Result<i64> {
    let now = tx.now();
    let count = sqlx::query_scalar!(
        r#"with stale as (
               update delivery v set state = 'cancelled', reply = 'withdrawn'
               where v.id = any ($3) and v.state = 'pending' and not exists (
                   select 1
                   from reminder r
                   join deadline d on d.id = r.deadline_id
                   join environment e on e.id = d.environment_id
                   where r.delivery_id = case when v.escalates is null then v.id else v.escalates end
                     and r.withdrawn_at is null
                     and d.closed is null and d.due_on = r.deadline_on and e.status = 'active')
               returning v.id, v.project_id
           ), unlinked as (
               update reminder r set delivery_id = null from stale where r.delivery_id = stale.id
           ), logged as (
               insert into attempt (project_id, delivery_id, worker, started_at, finished_at, phase, outcome, reply)
               select project_id, id, $1, $2, $2, 'plan', 'cancelled', 'withdrawn' from stale
           )
           select count(*) as "count!" from stale"#,
        worker,
        now,
        waiting,
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(count)
}

/// Lets what failed for now be tried again at once. What may have arrived still waits.
pub async fn retry_now(tx: &mut Tx, waiting: &[Uuid]) -> Result<()> {
    let now = tx.now();
    sqlx::query!(
        "update delivery set next_at = $1 where id = any ($2) and state = 'pending' and ambiguous = 0 and next_at > $1",
        now,
        waiting,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// What waits: until its next try, in the outbox, or because the settings were refused a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Those whose next try is later.
    pub later: i64,
    /// Those that were written to the outbox.
    pub outbox: i64,
    /// Those that could be tried now.
    pub ready: i64,
    /// The server refused the settings a moment ago.
    pub refused: bool,
}

/// What waits as of now.
pub async fn waiting(read: &mut Read) -> Result<Waiting> {
    let now = read.now();
    let row = sqlx::query!(
        r#"select count(*) filter (where reply is distinct from 'outbox' and next_at > $1) as "later!",
                  count(*) filter (where reply = 'outbox') as "outbox!",
                  count(*) filter (where reply is distinct from 'outbox' and next_at <= $1) as "ready!",
                  coalesce((select outcome = 'configuration' and finished_at > $2 from attempt
                            where outcome in ('configuration', 'sent', 'retry', 'bounced', 'ambiguous')
                              and phase not in ('write', 'lease')
                            order by id desc limit 1), false) as "refused!"
           from delivery where open and state = 'pending'"#,
        now,
        now - limits::MAIL_REST_TIME,
    )
    .fetch_one(read.connection())
    .await?;
    Ok(Waiting { later: row.later, outbox: row.outbox, ready: row.ready, refused: row.refused })
}

/// Deliveries that should be done by now and are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// How many.
    pub count: i64,
    /// When the oldest of them was made.
    pub since: Option<DateTime<Utc>>,
}

/// What has waited for more than an hour. What waits in the outbox because no mail server is set up is where it should be.
pub async fn late(read: &mut Read) -> Result<Late> {
    let before = read.now() - limits::MAIL_LATE_TIME;
    let row = sqlx::query!(
        r#"select count(*) as "count!", min(created_at) as since from delivery
           where open and created_at < $1 and reply is distinct from 'outbox'"#,
        before,
    )
    .fetch_one(read.connection())
    .await?;
    Ok(Late { count: row.count, since: row.since })
}

/// What was given up while its date still matters: the date is open and where it was, and no later mail about it reached the
/// same person. It counts until somebody tries it again or the date is closed: a mail that nobody sends must not look like one
/// that arrived. What bounced is told to those in charge; it counts where none of them could be told either.
pub async fn given_up(read: &mut Read) -> Result<Late> {
    let row = sqlx::query!(
        r#"select count(*) as "count!", min(v.created_at) as since from delivery v
           where v.state in ('dead', 'bounced')
             and (v.state = 'dead' or (v.escalates is null and not exists (
                 select 1 from delivery x where x.escalates = v.id and x.state in ('pending', 'leased', 'sent'))))
             and exists (
               select 1
               from reminder r
               join deadline d on d.id = r.deadline_id
               join environment e on e.id = d.environment_id
               where r.delivery_id = case when v.escalates is null then v.id else v.escalates end
                 and d.closed is null and d.due_on = r.deadline_on and e.status = 'active'
                 and not exists (
                     select 1 from reminder o join delivery w on w.id = o.delivery_id
                     where o.deadline_id = r.deadline_id and o.deadline_on = r.deadline_on and o.person_id = v.person_id
                       and o.step < r.step and w.state = 'sent'))"#,
    )
    .fetch_one(read.connection())
    .await?;
    Ok(Late { count: row.count, since: row.since })
}
