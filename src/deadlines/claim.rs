//! The lease: deliveries that one worker holds for some minutes, alone, to send them.
//!
//! The lease alone goes by the database's own clock (`now()`), because it must hold between machines whose clocks differ. No
//! transaction holds a delivery while its mail is sent.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::reminder_mail::Written;
use crate::dates;
use crate::error::Result;
use crate::ids::ProjectId;
use crate::limits;
use crate::tx::Tx;

/// A delivery under this worker's lease.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Its id; part of the Message-ID.
    pub id: Uuid,
    /// The lease.
    pub token: Uuid,
    /// The project.
    pub project: Option<ProjectId>,
    /// The address, read at the claim.
    pub address: String,
    /// Tries, this one included.
    pub attempts: i32,
    /// Tries of which nobody can say whether they arrived.
    pub ambiguous: i32,
    /// The first try that failed for now.
    pub tried_since: Option<DateTime<Utc>>,
    /// What may already have arrived: a copy must be the same bytes.
    pub written: Option<Written>,
}

/// What [`claim`] took.
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// What this worker may send.
    pub claims: Vec<Claim>,
    /// What had nothing to say any more.
    pub cancelled: i64,
}

/// Takes what is due to be tried, the longest waiting first, under a new lease, together with what others
/// dropped. What has nothing to say any more, or nobody to go to, is cancelled here.
///
/// `outbox`: the mail would only be written to the folder, so what lies there already is left.
pub async fn claim(tx: &mut Tx, outbox: bool, worker: &str) -> Result<Claimed> {
    let (now, token) = (tx.now(), Uuid::new_v4());
    let rows = sqlx::query!(
        r#"with free as (
               select v.id, v.state = 'leased' as dropped
               from delivery v
               where v.channel = 'mail' and v.open
                 and ((v.state = 'pending' and v.next_at <= $1 and not ($2 and v.reply is not distinct from 'outbox'))
                      or (v.state = 'leased' and v.lease_until < now()))
               order by v.next_at, v.id limit $3 for update of v skip locked
           ), logged as (
               insert into attempt (project_id, delivery_id, worker, started_at, finished_at, phase, outcome, reply)
               select v.project_id, v.id, $5, $1, $1, 'lease', 'ambiguous', 'the worker did not come back'
               from delivery v join free on free.id = v.id where free.dropped
           )
           update delivery v
           set state = 'leased', lease_token = $4, lease_until = now() + interval '5 minutes', attempts = v.attempts + 1,
               address = (select p.email from person p where p.id = v.person_id)
           from free where v.id = free.id
           returning v.id, v.project_id as "project: ProjectId", v.attempts, v.ambiguous, v.tried_since, v.address, v.next_at,
                     free.dropped or exists (
                         select 1 from attempt a where a.delivery_id = v.id and a.outcome in ('ambiguous', 'late_finish'))
                         as "doubtful!""#,
        now,
        outbox,
        limits::MAIL_BATCH,
        token,
        worker,
    )
    .fetch_all(tx.connection())
    .await?;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let gone: BTreeSet<Uuid> = drop_what_is_gone(tx, &ids, outbox, worker).await?.into_iter().collect();
    let mut rows: Vec<_> = rows.into_iter().filter(|row| !gone.contains(&row.id)).collect();
    rows.sort_by_key(|row| (row.next_at, row.id));
    let doubtful: Vec<Uuid> = rows.iter().filter(|row| row.doubtful).map(|row| row.id).collect();
    // A copy has the same bytes, but words of another day would be wrong: days left are counted from today.
    let zone = tx.organisation().zone;
    let is_of_today = |written: &Written| dates::today(written.at, zone) == dates::today(now, zone);
    let mut written = kept(tx, &doubtful).await?;
    written.retain(|_, written| is_of_today(written));
    let claims = rows.into_iter().filter_map(|row| {
        Some(Claim {
            id: row.id,
            token,
            project: row.project,
            address: row.address?,
            attempts: row.attempts,
            ambiguous: row.ambiguous,
            tried_since: row.tried_since,
            written: written.remove(&row.id),
        })
    });
    Ok(Claimed { claims: claims.collect(), cancelled: i64::try_from(gone.len()).unwrap_or(i64::MAX) })
}

/// Checks again, under the lease: takes reminders that no longer hold, or whose next step is due, out of these deliveries, and
/// cancels the deliveries that hold nothing any more or whose person has no address. Another instance may be giving the next
/// step to a delivery of its own just now.
///
/// A server gets nothing ahead of its day: a run with a pretended date may have left such a mail in the outbox.
async fn drop_what_is_gone(tx: &mut Tx, ids: &[Uuid], outbox: bool, worker: &str) -> Result<Vec<Uuid>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let (now, today) = (tx.now(), tx.today());
    sqlx::query!(
        "update reminder r set delivery_id = null
         from deadline d left join environment e on e.id = d.environment_id
         where r.delivery_id = any ($1) and d.id = r.deadline_id
           and (r.withdrawn_at is not null or d.closed is not null or d.due_on <> r.deadline_on or e.status <> 'active'
                or (r.due_on > $2 and not $3)
                or exists (select 1 from reminder o
                           where o.deadline_id = r.deadline_id and o.deadline_on = r.deadline_on and o.person_id = r.person_id
                             and o.step < r.step and o.withdrawn_at is null and o.due_on <= $2))",
        ids,
        today,
        outbox,
    )
    .execute(tx.connection())
    .await?;
    let gone = sqlx::query_scalar!(
        "with gone as (
             update delivery v set state = 'cancelled', reply = 'withdrawn', lease_token = null, lease_until = null
             where v.id = any ($1) and (v.address is null or not exists (
                 select 1
                 from reminder r
                 join deadline d on d.id = r.deadline_id
                 join environment e on e.id = d.environment_id
                 where r.delivery_id = case when v.escalates is null then v.id else v.escalates end
                   and d.closed is null and d.due_on = r.deadline_on
                   and e.status = 'active'))
             returning v.id, v.project_id
         ), unlinked as (
             update reminder r set delivery_id = null from gone where r.delivery_id = gone.id
         ), logged as (
             insert into attempt (project_id, delivery_id, worker, started_at, finished_at, phase, outcome, reply)
             select project_id, id, $2, $3, $3, 'claim', 'cancelled', 'withdrawn' from gone
         )
         select id from gone",
        ids,
        worker,
        now,
    )
    .fetch_all(tx.connection())
    .await?;
    Ok(gone)
}

/// Keeps what is about to be sent: evidence, and the same bytes where a copy has to follow.
pub async fn keep(tx: &mut Tx, written: &[(Claim, Written)]) -> Result<()> {
    let ids: Vec<Uuid> = written.iter().map(|(claim, _)| claim.id).collect();
    let projects: Vec<Option<i64>> = written.iter().map(|(claim, _)| claim.project.map(|id| id.0)).collect();
    let subjects: Vec<String> = written.iter().map(|(_, it)| it.subject.clone()).collect();
    let texts: Vec<String> = written.iter().map(|(_, it)| it.text.clone()).collect();
    let htmls: Vec<String> = written.iter().map(|(_, it)| it.html.clone()).collect();
    let times: Vec<DateTime<Utc>> = written.iter().map(|(_, it)| it.at).collect();
    sqlx::query!(
        "insert into delivery_message (delivery_id, project_id, subject, body_text, body_html, written_at)
         select * from unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::timestamptz[])
         on conflict (delivery_id) do update
         set subject = excluded.subject, body_text = excluded.body_text, body_html = excluded.body_html,
             written_at = excluded.written_at",
        &ids,
        &projects as &[Option<i64>],
        &subjects,
        &texts,
        &htmls,
        &times,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// What was kept of these deliveries.
async fn kept(tx: &mut Tx, ids: &[Uuid]) -> Result<BTreeMap<Uuid, Written>> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = sqlx::query!(
        "select delivery_id, subject, body_text, body_html, written_at from delivery_message where delivery_id = any ($1)",
        ids,
    )
    .fetch_all(tx.connection())
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let written =
                Written { subject: row.subject, text: row.body_text, html: row.body_html, at: row.written_at };
            (row.delivery_id, written)
        })
        .collect())
}

/// Gives back what was claimed and not begun.
pub async fn release(tx: &mut Tx, claims: &[Claim]) -> Result<()> {
    let ids: Vec<Uuid> = claims.iter().map(|claim| claim.id).collect();
    let tokens: Vec<Uuid> = claims.iter().map(|claim| claim.token).collect();
    sqlx::query!(
        "update delivery v set state = 'pending', lease_token = null, lease_until = null, attempts = v.attempts - 1
         from unnest($1::uuid[], $2::uuid[]) as r (id, token) where v.id = r.id and v.lease_token = r.token",
        &ids,
        &tokens,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
