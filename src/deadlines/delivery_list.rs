//! Which mails went out, to whom, and what the mail server said: the list and the page of one delivery.

use chrono::{DateTime, NaiveDate, Utc};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use crate::actor::Permission;
use crate::audit::{Change, Object};
use crate::error::{Error, Result};
use crate::filter::one_of;
use crate::ids::{EnvironmentId, ProjectId};
use crate::locale::Message;
use crate::text::excerpt;
use crate::tx::{Read, Tx};

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was not tried yet, or waits for its next try.
    Pending,
    /// It lies in the outbox because no mail server is set up.
    Outbox,
    /// Somebody is sending it.
    Leased,
    /// The server took it.
    Sent,
    /// The server refused it for good.
    Bounced,
    /// It was given up.
    Dead,
    /// It had nothing to say any more.
    Cancelled,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Pending, Self::Outbox, Self::Leased, Self::Sent, Self::Bounced, Self::Dead, Self::Cancelled];

    /// As addresses and CSS classes write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Outbox => "outbox",
            Self::Leased => "leased",
            Self::Sent => "sent",
            Self::Bounced => "bounced",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
        }
    }

    /// How a page calls it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::Pending => "delivery-pending",
            Self::Outbox => "delivery-outbox",
            Self::Leased => "delivery-leased",
            Self::Sent => "delivery-sent",
            Self::Bounced => "delivery-bounced",
            Self::Dead => "delivery-dead",
            Self::Cancelled => "delivery-cancelled",
        })
    }

    /// Whether a person may let it be tried again.
    pub const fn can_be_retried(self) -> bool {
        matches!(self, Self::Bounced | Self::Dead)
    }
}

impl std::str::FromStr for State {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let refuse = || Message::new("error-delivery-state").with("value", excerpt(text));
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(refuse)
    }
}

/// Which deliveries a reader wants to see.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeliveryFilter {
    /// One of [`State`]'s words, or `failed` for bounced and dead.
    pub state: Option<String>,
    /// One project.
    pub project: Option<i64>,
    /// One environment.
    pub environment: Option<i64>,
    /// One person.
    pub person: Option<i64>,
    /// The page after this delivery.
    pub before: Option<Uuid>,
}

/// A delivery as the list shows it.
#[derive(Debug, Clone)]
pub struct DeliveryRow {
    /// Its id; part of the mail's Message-ID.
    pub id: Uuid,
    /// The project.
    pub project_id: Option<ProjectId>,
    /// The environment.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// To whom.
    pub person: String,
    /// The address of the last try.
    pub address: Option<String>,
    /// The subject, once it was written.
    pub subject: Option<String>,
    /// Where it stands.
    pub state: State,
    /// Tries that count.
    pub attempts: i32,
    /// The next try, where one comes.
    pub next_at: DateTime<Utc>,
    /// What the server said last.
    pub reply: Option<String>,
    /// When the server took it.
    pub sent_at: Option<DateTime<Utc>>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// The day of the run that made it.
    pub run_on: NaiveDate,
    /// It tells somebody in charge that another one bounced.
    pub escalation: bool,
}

macro_rules! select_delivery {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query!(
            r#"select v.id, v.project_id as "project_id: ProjectId", v.environment_id as "environment_id: EnvironmentId",
                      e.name as "environment?", q.name as person, v.address, m.subject as "subject?", v.state, v.attempts, v.next_at, v.reply,
                      v.sent_at, v.created_at, v.run_on, v.escalates is not null as "escalation!"
               from delivery v
               join person q on q.id = v.person_id
               left join environment e on e.id = v.environment_id
               left join delivery_message m on m.delivery_id = v.id "# + $rest
            $(, $argument)*
        )
    };
}

macro_rules! delivery_row {
    ($row:expr) => {{
        let row = $row;
        let waits = row.state == "pending" && row.reply.as_deref() == Some("outbox");
        let state = if waits { Ok(State::Outbox) } else { row.state.parse() };
        DeliveryRow {
            id: row.id,
            project_id: row.project_id,
            environment_id: row.environment_id,
            environment: row.environment,
            person: row.person,
            address: row.address,
            subject: row.subject,
            state: state.map_err(|message: Message| Error::internal(message))?,
            attempts: row.attempts,
            next_at: row.next_at,
            reply: row.reply,
            sent_at: row.sent_at,
            created_at: row.created_at,
            run_on: row.run_on,
            escalation: row.escalation,
        }
    }};
}

/// The deliveries that match, newest first, at most `limit`.
pub async fn list(read: &mut Read, filter: &DeliveryFilter, limit: i64) -> Result<Vec<DeliveryRow>> {
    let words: Vec<&str> = State::ALL.into_iter().map(State::as_str).chain(["failed"]).collect();
    let asked = one_of("state", filter.state.as_deref(), &words)?;
    let (state, failed) = (asked.filter(|state| *state != "failed"), asked == Some("failed"));
    let rows = select_delivery!(
        "where ($1::text is null or case when v.state = 'pending' and v.reply = 'outbox' then 'outbox' else v.state end = $1)
           and (not $2 or v.state in ('bounced', 'dead'))
           and ($3::bigint is null or v.project_id = $3)
           and ($4::bigint is null or v.environment_id = $4)
           and ($5::bigint is null or v.person_id = $5)
           and ($6::uuid is null or (v.created_at, v.id) < ((select b.created_at from delivery b where b.id = $6), $6))
         order by v.created_at desc, v.id desc limit $7",
        state,
        failed,
        filter.project,
        filter.environment,
        filter.person,
        filter.before,
        limit
    )
    .fetch_all(read.connection())
    .await?;
    rows.into_iter().map(|row| Ok(delivery_row!(row))).collect()
}

/// A try, as the page of a delivery shows it.
#[derive(Debug, Clone)]
pub struct AttemptRow {
    /// When it ended.
    pub finished_at: DateTime<Utc>,
    /// How far it came.
    pub phase: String,
    /// What came of it.
    pub outcome: String,
    /// What the server said.
    pub reply: String,
    /// Which process made it.
    pub worker: String,
}

impl AttemptRow {
    /// How a page calls the outcome.
    pub fn words(&self) -> Message {
        let known = OUTCOMES.iter().find(|(code, _)| *code == self.outcome);
        Message::new(known.map_or("attempt-retry", |(_, key)| key))
    }
}

const OUTCOMES: &[(&str, &str)] = &[
    ("sent", "attempt-sent"),
    ("retry", "attempt-retry"),
    ("bounced", "attempt-bounced"),
    ("configuration", "attempt-configuration"),
    ("ambiguous", "attempt-ambiguous"),
    ("late_finish", "attempt-late-finish"),
    ("cancelled", "attempt-cancelled"),
    ("outbox", "attempt-outbox"),
];

/// A delivery with its message and its tries.
#[derive(Debug, Clone)]
pub struct DeliveryDetail {
    /// The delivery.
    pub row: DeliveryRow,
    /// What it said last, as text.
    pub text: Option<String>,
    /// Every try, newest first.
    pub attempts: Vec<AttemptRow>,
}

/// The delivery with this id, where the reader may see it.
pub async fn get(read: &mut Read, id: Uuid) -> Result<DeliveryDetail> {
    let row = select_delivery!("where v.id = $1", id).fetch_one(read.connection()).await?;
    let text = sqlx::query_scalar!("select body_text from delivery_message where delivery_id = $1", id)
        .fetch_optional(read.connection())
        .await?;
    let attempts = sqlx::query_as!(
        AttemptRow,
        "select finished_at, phase, outcome, reply, worker from attempt where delivery_id = $1 order by id desc limit 200",
        id
    )
    .fetch_all(read.connection())
    .await?;
    Ok(DeliveryDetail { row: delivery_row!(row), text, attempts })
}

/// Lets a refused or given-up delivery be tried again at once, as if it were new.
pub async fn retry(tx: &mut Tx, id: Uuid) -> Result<()> {
    let row = select_delivery!("where v.id = $1 for update of v", id).fetch_one(tx.connection()).await?;
    let row = delivery_row!(row);
    tx.allow(Permission::Operate, row.project_id)?;
    if !row.state.can_be_retried() {
        return Err(Error::Conflict(Message::new("error-delivery-not-failed")));
    }
    let deadlines = sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(jsonb_build_object('kind', d.kind, 'due_on', r.deadline_on, 'step', r.step)
                                     order by r.deadline_on, d.kind), '[]') as "deadlines!"
           from delivery v
           join reminder r on r.delivery_id = case when v.escalates is null then v.id else v.escalates end
           join deadline d on d.id = r.deadline_id
           where v.id = $1"#,
        id
    )
    .fetch_one(tx.connection())
    .await?;
    let now = tx.now();
    sqlx::query!(
        "update delivery set state = 'pending', next_at = $2, attempts = 0, ambiguous = 0, tried_since = null where id = $1",
        id,
        now,
    )
    .execute(tx.connection())
    .await?;
    let object = Object {
        kind: "environment",
        id: row.environment_id.map(|id| id.0),
        name: row.environment.unwrap_or_default(),
        project: row.project_id,
        shared: false,
    };
    let after = json!({
        "delivery": id, "person": row.person, "was": row.state.as_str(), "reply": row.reply, "deadlines": deadlines,
    });
    tx.record_change(Change { action: "reminder.retried", object, before: None, after }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_reads_back() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert_eq!("gone".parse::<State>().unwrap_err().key, "error-delivery-state");
    }
}
