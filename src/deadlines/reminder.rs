//! One message due to one person: planned into rows long before it is sent.
//!
//! [`plan()`] makes the stored reminders those that the deadlines ask for. It is the same rule as [`super::plan::planned`],
//! written for all deadlines at once; a property test compares the two. Running it twice changes nothing, so it runs in
//! every round, and a bug in a hook elsewhere cannot lose a reminder.

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use serde::Deserialize;

use super::plan::{self, told_until};
use crate::dates::parse_date;
use crate::deadline::Kind;
use crate::error::{Error, Result};
use crate::filter::one_of;
use crate::ids::{EnvironmentId, ReminderId};
use crate::limits;
use crate::locale::Message;
use crate::table::{Cell, Column, Table};
use crate::text::excerpt;
use crate::tx::{Read, Tx};

/// What planning found and changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Planned {
    /// Open deadlines of environments in use.
    pub deadlines: i64,
    /// Those of which nobody at all can be told.
    pub unreachable: i64,
    /// Reminders that were made or armed again.
    pub armed: u64,
    /// Reminders that are not wanted any more.
    pub withdrawn: u64,
}

/// The overdue steps, which every rule has.
fn overdue_steps() -> Vec<i32> {
    (0..limits::OVERDUE_WEEKS).map(|week| -1 - 7 * week).collect()
}

/// For how many days after its date a deadline is told.
pub(super) fn told_days() -> i32 {
    let day = NaiveDate::default();
    i32::try_from((told_until(day) - day).num_days()).unwrap_or(i32::MAX)
}

/// Makes the stored reminders those that the open deadlines ask for as of today: a constant number of statements.
pub async fn plan(tx: &mut Tx) -> Result<Planned> {
    // Both go over whole tables. Where one of them is new the planner guesses a single row and loops: minutes instead of a blink.
    sqlx::raw_sql("set local enable_nestloop = off; set local jit = off").execute(tx.connection()).await?;
    let withdrawn = withdraw(tx).await?;
    let armed = arm(tx).await?;
    sqlx::raw_sql("set local enable_nestloop = on").execute(tx.connection()).await?;
    let row = sqlx::query!(
        r#"select count(*) as "deadlines!",
                  count(*) filter (where not exists (
                      select 1 from environment_recipient c where c.environment_id = d.environment_id)) as "unreachable!"
           from deadline d join environment e on e.id = d.environment_id
           where d.closed is null and e.status = 'active'"#
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(Planned { deadlines: row.deadlines, unreachable: row.unreachable, armed, withdrawn })
}

/// Withdraws what nobody wants any more and was not settled: moved, closed, about to renew itself, another rule, a person no
/// longer named.
async fn withdraw(tx: &mut Tx) -> Result<u64> {
    let (now, today, steps) = (tx.now(), tx.today(), tx.organisation().reminder_steps.days().to_vec());
    let done = sqlx::query!(
        "update reminder r set withdrawn_at = $1
         where r.withdrawn_at is null
           and not exists (select 1 from delivery v where v.id = r.delivery_id and v.state in ('sent', 'bounced', 'dead'))
           and not exists (
               select 1
               from deadline d
               join environment e on e.id = d.environment_id
               join project p on p.id = e.project_id
               join environment_recipient c on c.environment_id = e.id
               left join term t on t.id = d.term_id and t.renewal = 'automatic' and t.cycle_months is not null
               where d.id = r.deadline_id and d.due_on = r.deadline_on and c.person_id = r.person_id
                 and d.closed is null and e.status = 'active'
                 and (t.ends_on is null or greatest(r.deadline_on - r.step, $4) <= t.ends_on)
                 and (r.step = any (coalesce(e.reminder_steps, p.reminder_steps, $2)) or r.step = any ($3)))",
        now,
        &steps as &[i32],
        &overdue_steps(),
        today,
    )
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Inserts what is wanted and missing, and arms again what was withdrawn: steps to come for everybody; of those already
/// past only the latest, and only for somebody who was told nothing of this date yet. What a run with a pretended date has
/// told ahead of its day counts from that day on.
async fn arm(tx: &mut Tx) -> Result<u64> {
    let (now, today, steps) = (tx.now(), tx.today(), tx.organisation().reminder_steps.days().to_vec());
    let done = sqlx::query!(
        "with settled as (
             select r.deadline_id, r.deadline_on, r.step, r.person_id, r.due_on
             from reminder r join delivery v on v.id = r.delivery_id
             where v.state in ('sent', 'bounced', 'dead')
         ), told as (
             select distinct deadline_id, deadline_on, person_id from settled where due_on <= $2
         ), wanted as (
             select d.id, d.project_id, d.environment_id, d.due_on, s.step, d.due_on - s.step as day,
                    min(s.step) filter (where d.due_on - s.step < $2) over (partition by d.id) as latest_past
             from deadline d
             join environment e on e.id = d.environment_id
             join project p on p.id = e.project_id
             cross join lateral (
                 select unnest(coalesce(e.reminder_steps, p.reminder_steps, $3)) union select unnest($4::integer[])
             ) as s (step)
             left join term t on t.id = d.term_id and t.renewal = 'automatic' and t.cycle_months is not null
             where d.closed is null and e.status = 'active' and $2 <= d.due_on + $5::integer
               and (t.ends_on is null or greatest(d.due_on - s.step, $2) <= t.ends_on)
         )
         insert into reminder (project_id, deadline_id, deadline_on, step, person_id, due_on, created_at)
         select w.project_id, w.id, w.due_on, w.step, c.person_id, greatest(w.day, $2), $1
         from wanted w
         join environment_recipient c on c.environment_id = w.environment_id
         left join reminder r
             on r.deadline_id = w.id and r.deadline_on = w.due_on and r.step = w.step and r.person_id = c.person_id
         left join settled s
             on s.deadline_id = w.id and s.deadline_on = w.due_on and s.step = w.step and s.person_id = c.person_id
         left join told t on t.deadline_id = w.id and t.deadline_on = w.due_on and t.person_id = c.person_id
         where (w.day >= $2 or w.step = w.latest_past)
           and case when r.id is null then w.day >= $2 or t.deadline_id is null
                    else r.withdrawn_at is not null and s.deadline_id is null end
         order by w.due_on, w.id, c.person_id, w.step
         on conflict on constraint reminder_key do update set withdrawn_at = null, due_on = excluded.due_on
         where reminder.withdrawn_at is not null",
        now,
        today,
        &steps as &[i32],
        &overdue_steps(),
        told_days(),
    )
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}

/// Where a reminder stands, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Its day has not come.
    Planned,
    /// It is due and not sent yet.
    Due,
    /// The server took it.
    Sent,
    /// The server refused it for good, or it was given up.
    Failed,
    /// A later step took its place.
    Superseded,
    /// It is not wanted any more.
    Withdrawn,
}

impl Standing {
    /// All of them, in the order of a reminder's life.
    pub const ALL: [Self; 6] = [Self::Planned, Self::Due, Self::Sent, Self::Failed, Self::Superseded, Self::Withdrawn];

    /// As files write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Due => "due",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// How a page calls it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::Planned => "reminder-planned",
            Self::Due => "reminder-due",
            Self::Sent => "reminder-sent",
            Self::Failed => "reminder-failed",
            Self::Superseded => "reminder-superseded",
            Self::Withdrawn => "reminder-withdrawn",
        })
    }
}

impl std::str::FromStr for Standing {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let refuse = || Message::new("error-reminder-state").with("value", excerpt(text));
        Self::ALL.into_iter().find(|standing| standing.as_str() == text).ok_or_else(refuse)
    }
}

/// Which reminders a reader wants to see; the same for the page, its files and the command line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ReminderFilter {
    /// One project.
    pub project: Option<i64>,
    /// One environment.
    pub environment: Option<i64>,
    /// One person.
    pub person: Option<i64>,
    /// One of [`Standing`]'s words.
    pub state: Option<String>,
    /// Due from this day.
    pub from: Option<NaiveDate>,
    /// Due to this day, included.
    pub to: Option<NaiveDate>,
    /// The page after this reminder: its due date and id, as `2026-03-16:42`.
    pub after: Option<String>,
}

/// A reminder as lists show it.
#[derive(Debug, Clone)]
pub struct ReminderRow {
    /// Its id.
    pub id: ReminderId,
    /// The project's name.
    pub project: Option<String>,
    /// The environment.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// What happens on the date.
    pub kind: Kind,
    /// The date it was planned for.
    pub deadline_on: NaiveDate,
    /// Days before it; negative are days after.
    pub step: i32,
    /// To whom.
    pub person: String,
    /// The day from which it may be sent.
    pub due_on: NaiveDate,
    /// Where it stands.
    pub standing: Standing,
    /// When the server took it.
    pub sent_at: Option<DateTime<Utc>>,
    /// What the server said last.
    pub reply: Option<String>,
}

impl ReminderRow {
    /// Where the next page begins.
    pub fn cursor(&self) -> String {
        format!("{}:{}", self.due_on, self.id)
    }
}

/// The list as a file.
pub static TABLE: Table<ReminderRow> = Table {
    name: "reminders",
    title: "reminders-title",
    columns: &[
        Column::new("id", "reminders-id", |row| row.id.0.into()),
        Column::new("project", "reminders-project", |row| row.project.as_deref().into()),
        Column::new("environment_id", "reminders-environment-id", |row| row.environment_id.map(|id| id.0).into()),
        Column::new("environment", "reminders-environment", |row| row.environment.as_deref().into()),
        Column::new("kind", "reminders-kind", |row| Cell::Word {
            code: row.kind.as_str().into(),
            words: row.kind.words(),
        }),
        Column::new("deadline_on", "reminders-deadline-on", |row| row.deadline_on.into()),
        Column::new("step", "reminders-step", |row| row.step.into()),
        Column::new("person", "reminders-person", |row| row.person.as_str().into()),
        Column::new("due_on", "reminders-due-on", |row| row.due_on.into()),
        Column::new("state", "reminders-state", |row| Cell::Word {
            code: row.standing.as_str().into(),
            words: row.standing.words(),
        }),
        Column::new("sent_at", "reminders-sent-at", |row| row.sent_at.into()),
        Column::new("reply", "reminders-reply", |row| row.reply.as_deref().into()),
    ],
};

/// The place in a list: a day and an id.
pub(super) fn parse_cursor(cursor: &str) -> Result<(NaiveDate, i64)> {
    let refuse = || Error::invalid("after", Message::new("error-cursor"));
    let (day, id) = cursor.split_once(':').ok_or_else(refuse)?;
    Ok((parse_date(day).map_err(|_| refuse())?, id.parse().map_err(|_| refuse())?))
}

/// The reminders that match, the earliest due first, at most `limit`; the next chunk begins after `filter.after`.
pub async fn list(read: &mut Read, filter: &ReminderFilter, limit: i64) -> Result<Vec<ReminderRow>> {
    let standing = one_of("state", filter.state.as_deref(), &Standing::ALL.map(Standing::as_str))?;
    let after = filter.after.as_deref().map(parse_cursor).transpose()?;
    let today = read.today();
    let rows = sqlx::query!(
        r#"select r.id as "id!: ReminderId", r.project as "project?", r.environment_id as "environment_id?: EnvironmentId",
                  r.environment as "environment?", r.kind as "kind!: Kind", r.deadline_on as "deadline_on!",
                  r.step as "step!", r.person as "person!", r.due_on as "due_on!", r.standing as "standing!",
                  r.sent_at as "sent_at?", r.reply as "reply?"
           from (
               select r.id, p.name as project, d.environment_id, e.name as environment, d.kind, r.deadline_on, r.step,
                      q.name as person, r.due_on, v.sent_at, v.reply,
                      case when v.state = 'sent' then 'sent'
                           when v.state in ('bounced', 'dead') then 'failed'
                           when r.withdrawn_at is not null or d.closed is not null or d.due_on <> r.deadline_on
                                or e.status <> 'active' then 'withdrawn'
                           when r.due_on > $1 then 'planned'
                           when exists (
                               select 1 from reminder o left join delivery w on w.id = o.delivery_id
                               where o.deadline_id = r.deadline_id and o.deadline_on = r.deadline_on
                                 and o.person_id = r.person_id and o.step < r.step and o.due_on <= $1
                                 and (w.state in ('sent', 'bounced', 'dead') or o.withdrawn_at is null)) then 'superseded'
                           else 'due' end as standing
               from reminder r
               join deadline d on d.id = r.deadline_id
               join person q on q.id = r.person_id
               left join project p on p.id = d.project_id
               left join environment e on e.id = d.environment_id
               left join delivery v on v.id = r.delivery_id
               where ($2::bigint is null or r.project_id = $2)
                 and ($3::bigint is null or d.environment_id = $3)
                 and ($4::bigint is null or r.person_id = $4)
                 and ($5::date is null or r.due_on >= $5)
                 and ($6::date is null or r.due_on <= $6)
                 and ($7::date is null or (r.due_on, r.id) > ($7, $8::bigint))
           ) r
           where $9::text is null or r.standing = $9
           order by r.due_on, r.id limit $10"#,
        today,
        filter.project,
        filter.environment,
        filter.person,
        filter.from,
        filter.to,
        after.map(|(day, _)| day),
        after.map_or(0, |(_, id)| id),
        standing,
        limit,
    )
    .fetch_all(read.connection())
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(ReminderRow {
                id: row.id,
                project: row.project,
                environment_id: row.environment_id,
                environment: row.environment,
                kind: row.kind,
                deadline_on: row.deadline_on,
                step: row.step,
                person: row.person,
                due_on: row.due_on,
                standing: row.standing.parse().map_err(|message: Message| Error::internal(message))?,
                sent_at: row.sent_at,
                reply: row.reply,
            })
        })
        .collect()
}

/// How many are read at once for a file.
const CHUNK: i64 = 500;

/// All that match, in batches, for a file; the place in the list is not asked.
pub fn batches(read: Read, filter: ReminderFilter) -> impl Stream<Item = Result<Vec<ReminderRow>>> + Send {
    let start = Some((read, ReminderFilter { after: None, ..filter }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, mut filter)) = state else { return Ok(None) };
        let rows = list(&mut read, &filter, CHUNK).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        filter.after = Some(last.cursor());
        let more = i64::try_from(rows.len()).is_ok_and(|count| count == CHUNK);
        Ok(Some((rows, more.then_some((read, filter)))))
    })
}

/// Whether the day's reminders may go out: with a pretended date always, else from the organisation's hour on.
pub fn is_time(tx: &Tx) -> bool {
    let organisation = tx.organisation();
    tx.pretended_date().is_some() || plan::is_time(tx.now(), organisation.zone, organisation.send_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_reminders_keeps_its_names() {
        TABLE.assert_is_sound();
        assert_eq!(
            TABLE.names(),
            [
                "id",
                "project",
                "environment_id",
                "environment",
                "kind",
                "deadline_on",
                "step",
                "person",
                "due_on",
                "state",
                "sent_at",
                "reply"
            ]
        );
    }

    #[test]
    fn the_overdue_steps_are_those_of_the_rule() {
        let on = NaiveDate::default();
        let rule = plan::due_dates(on, &crate::dates::Steps::default());
        let negative: Vec<i32> = rule.into_iter().map(|(step, _)| step).filter(|step| *step < 0).collect();
        assert_eq!(overdue_steps(), negative);
        assert_eq!(told_days(), 56);
    }

    #[test]
    fn a_cursor_that_nobody_wrote_is_refused() {
        for wrong in ["", "42", "2026-03-16", "2026-03-16:x", "x:1"] {
            assert!(matches!(parse_cursor(wrong), Err(Error::Invalid(_))), "{wrong}");
        }
        assert_eq!(parse_cursor("2026-03-16:42").unwrap(), (NaiveDate::from_ymd_opt(2026, 3, 16).unwrap(), 42));
    }
}
