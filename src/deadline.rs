//! A date with a consequence. Every context sets its own; one engine reminds of all kinds (`deadlines/`).
//!
//! A deadline is a row per kind and thing it belongs to: setting it again moves it or opens it again, so that its reminders
//! follow the date. Days left, late and over are never stored: they are computed from the reader's today.

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::audit::Audited;
use crate::error::Result;
use crate::filter::one_of;
use crate::ids::{DeadlineId, EnvironmentId, ProjectId, TermId};
use crate::locale::Message;
use crate::table::{Cell, Column, Table};
use crate::text::{excerpt, stored_as_text};
use crate::tx::{Read, Tx};

/// What happens on the date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The last day of use, unless the term is renewed.
    Expiry,
    /// The last day on which notice can be given.
    CancelBy,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Expiry, Self::CancelBy];

    /// As it is stored and written in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Expiry => "expiry",
            Self::CancelBy => "cancel_by",
        }
    }

    /// Whether it is a day to act by, not the end of a thing.
    pub const fn is_duty(self) -> bool {
        matches!(self, Self::CancelBy)
    }

    /// How a page calls it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::Expiry => "deadline-expiry",
            Self::CancelBy => "deadline-cancel-by",
        })
    }
}

impl std::str::FromStr for Kind {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let refuse = || Message::new("error-deadline-kind").with("value", excerpt(text));
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(refuse)
    }
}

stored_as_text!(Kind, &["expiry", "cancel_by"]);

/// Why nothing is due on the date any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Closed {
    /// The next term follows.
    Renewed,
    /// The environment was ended.
    Ended,
    /// The environment was opened by mistake.
    Voided,
    /// The date does not exist any more: the term has no end, or no notice.
    Withdrawn,
    /// What was to be done is done.
    Done,
}

impl Closed {
    /// All reasons.
    pub const ALL: [Self; 5] = [Self::Renewed, Self::Ended, Self::Voided, Self::Withdrawn, Self::Done];

    /// As it is stored and written in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Renewed => "renewed",
            Self::Ended => "ended",
            Self::Voided => "voided",
            Self::Withdrawn => "withdrawn",
            Self::Done => "done",
        }
    }

    /// How a page calls it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::Renewed => "deadline-renewed",
            Self::Ended => "deadline-ended",
            Self::Voided => "deadline-voided",
            Self::Withdrawn => "deadline-withdrawn",
            Self::Done => "deadline-done",
        })
    }
}

impl std::str::FromStr for Closed {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let refuse = || Message::new("error-deadline-closed").with("value", excerpt(text));
        Self::ALL.into_iter().find(|closed| closed.as_str() == text).ok_or_else(refuse)
    }
}

stored_as_text!(Closed);

/// A date with a consequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Deadline {
    /// Its id.
    pub id: DeadlineId,
    /// What happens on the date.
    pub kind: Kind,
    /// The project; none for the organisation's own.
    pub project_id: Option<ProjectId>,
    /// The environment, where it belongs to one.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// The term, where it belongs to one.
    pub term_id: Option<TermId>,
    /// The date itself: the last day to act, included.
    pub due_on: NaiveDate,
    /// Why nothing is due any more; nothing while it is open.
    pub closed: Option<Closed>,
    /// Counts the changes.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

impl Audited for Deadline {
    const KIND: &'static str = "deadline";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.environment.clone().unwrap_or_else(|| self.kind.as_str().to_owned())
    }

    fn audit_project(&self) -> Option<ProjectId> {
        self.project_id
    }
}

macro_rules! select_deadline {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Deadline,
            r#"select d.id as "id: DeadlineId", d.kind as "kind: Kind", d.project_id as "project_id: ProjectId",
                      d.environment_id as "environment_id: EnvironmentId", e.name as "environment?",
                      d.term_id as "term_id: TermId", d.due_on, d.closed as "closed: Closed", d.version, d.created_at
               from deadline d left join environment e on e.id = d.environment_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The deadline with this id.
pub async fn get(connection: &mut PgConnection, id: DeadlineId) -> Result<Deadline> {
    Ok(select_deadline!("where d.id = $1", id.0).fetch_one(connection).await?)
}

/// The deadlines of an environment, open and closed, by date.
pub async fn of_environment(connection: &mut PgConnection, id: EnvironmentId) -> Result<Vec<Deadline>> {
    Ok(select_deadline!("where d.environment_id = $1 order by d.due_on, d.id", id.0).fetch_all(connection).await?)
}

/// Sets a date: makes the deadline, moves it, or opens it again. Nothing is recorded where nothing changes. Who may: the
/// callers decide, because a deadline follows from something else.
pub async fn set(
    tx: &mut Tx,
    kind: Kind,
    project: Option<ProjectId>,
    environment: Option<EnvironmentId>,
    term: Option<TermId>,
    due_on: NaiveDate,
) -> Result<Deadline> {
    let before = select_deadline!(
        "where d.kind = $1 and d.project_id is not distinct from $2::bigint and d.environment_id is not distinct from $3::bigint
           and d.term_id is not distinct from $4::bigint for update of d",
        kind.as_str(),
        project.map(|id| id.0),
        environment.map(|id| id.0),
        term.map(|id| id.0)
    )
    .fetch_optional(tx.connection())
    .await?;
    match before {
        Some(before) if before.due_on == due_on && before.closed.is_none() => Ok(before),
        Some(before) => {
            sqlx::query!(
                "update deadline set due_on = $2, closed = null, version = version + 1 where id = $1",
                before.id.0,
                due_on
            )
            .execute(tx.connection())
            .await?;
            let after = get(tx.connection(), before.id).await?;
            let action = if before.closed.is_some() { "deadline.reopened" } else { "deadline.moved" };
            tx.record(action, Some(&before), &after).await?;
            Ok(after)
        }
        None => add(tx, kind, project, environment, term, due_on).await,
    }
}

async fn add(
    tx: &mut Tx,
    kind: Kind,
    project: Option<ProjectId>,
    environment: Option<EnvironmentId>,
    term: Option<TermId>,
    due_on: NaiveDate,
) -> Result<Deadline> {
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into deadline (kind, project_id, environment_id, term_id, due_on, created_at)
           values ($1, $2, $3, $4, $5, $6) returning id as "id: DeadlineId""#,
        kind.as_str(),
        project.map(|id| id.0),
        environment.map(|id| id.0),
        term.map(|id| id.0),
        due_on,
        now,
    )
    .fetch_one(tx.connection())
    .await?;
    let deadline = get(tx.connection(), id).await?;
    tx.record("deadline.added", None, &deadline).await?;
    Ok(deadline)
}

/// Closes a deadline: nothing is due on its date any more. One that is closed already keeps its reason.
pub async fn close(tx: &mut Tx, id: DeadlineId, reason: Closed) -> Result<Deadline> {
    let before = select_deadline!("where d.id = $1 for update of d", id.0).fetch_one(tx.connection()).await?;
    if before.closed.is_some() {
        return Ok(before);
    }
    sqlx::query!("update deadline set closed = $2, version = version + 1 where id = $1", id.0, reason.as_str())
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), id).await?;
    tx.record("deadline.closed", Some(&before), &after).await?;
    Ok(after)
}

/// Which deadlines a reader wants to see.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default)]
pub struct DeadlineFilter {
    /// One project.
    pub project: Option<i64>,
    /// One environment.
    pub environment: Option<i64>,
    /// One kind.
    pub kind: Option<Kind>,
    /// `open` or `closed`; `all` or nothing for both.
    pub state: Option<String>,
    /// From this day.
    pub from: Option<NaiveDate>,
    /// To this day, included.
    pub to: Option<NaiveDate>,
}

/// A deadline as lists show it.
#[derive(Debug, Clone)]
pub struct DeadlineRow {
    /// Its id.
    pub id: DeadlineId,
    /// What happens on the date.
    pub kind: Kind,
    /// The project's name.
    pub project: Option<String>,
    /// The environment.
    pub environment_id: Option<EnvironmentId>,
    /// The environment's name.
    pub environment: Option<String>,
    /// The owner's name.
    pub owner: Option<String>,
    /// The date.
    pub due_on: NaiveDate,
    /// Days from today to the date; nothing once it is closed.
    pub days_left: Option<i64>,
    /// Why nothing is due any more.
    pub closed: Option<Closed>,
}

/// The list as a file.
pub static TABLE: Table<DeadlineRow> = Table {
    name: "deadlines",
    title: "env-deadlines-title",
    columns: &[
        Column::new("id", "env-col-id", |row| row.id.0.into()),
        Column::new("kind", "env-col-kind", |row| Cell::Word {
            code: row.kind.as_str().into(),
            words: row.kind.words(),
        }),
        Column::new("project", "env-col-project", |row| row.project.as_deref().into()),
        Column::new("environment_id", "env-col-environment-id", |row| row.environment_id.map(|id| id.0).into()),
        Column::new("environment", "env-col-environment", |row| row.environment.as_deref().into()),
        Column::new("owner", "env-col-owner", |row| row.owner.as_deref().into()),
        Column::new("due_on", "env-col-due-on", |row| row.due_on.into()),
        Column::new("days_left", "env-col-days-left", |row| row.days_left.into()),
        Column::new("closed", "env-col-closed", |row| {
            row.closed.map_or(Cell::Empty, |closed| Cell::Word { code: closed.as_str().into(), words: closed.words() })
        }),
    ],
};

/// The deadlines that match, soonest first. `after` is the last one of the chunk before; at most `limit`.
pub async fn list(
    read: &mut Read,
    filter: &DeadlineFilter,
    after: Option<&DeadlineRow>,
    limit: i64,
) -> Result<Vec<DeadlineRow>> {
    let open = match one_of("state", filter.state.as_deref(), &["open", "closed", "all"])? {
        Some("open") => Some(true),
        Some("closed") => Some(false),
        _ => None,
    };
    let today = read.today();
    let rows = sqlx::query!(
        r#"select d.id as "id: DeadlineId", d.kind as "kind: Kind", p.name as "project?",
                  d.environment_id as "environment_id: EnvironmentId", e.name as "environment?", o.name as "owner?",
                  d.due_on, d.closed as "closed: Closed"
           from deadline d
           left join project p on p.id = d.project_id
           left join environment e on e.id = d.environment_id
           left join person o on o.id = e.owner_id
           where ($1::bigint is null or d.project_id = $1)
             and ($2::bigint is null or d.environment_id = $2)
             and ($3::text is null or d.kind = $3)
             and ($4::boolean is null or (d.closed is null) = $4)
             and ($5::date is null or d.due_on >= $5)
             and ($6::date is null or d.due_on <= $6)
             and ($7::date is null or (d.due_on, d.id) > ($7, $8::bigint))
           order by d.due_on, d.id limit $9"#,
        filter.project,
        filter.environment,
        filter.kind.map(Kind::as_str),
        open,
        filter.from,
        filter.to,
        after.map(|row| row.due_on),
        after.map_or(0, |row| row.id.0),
        limit,
    )
    .fetch_all(read.connection())
    .await?;
    let rows = rows.into_iter().map(|row| DeadlineRow {
        id: row.id,
        kind: row.kind,
        project: row.project,
        environment_id: row.environment_id,
        environment: row.environment,
        owner: row.owner,
        due_on: row.due_on,
        days_left: row.closed.is_none().then(|| crate::dates::days_left(today, row.due_on)),
        closed: row.closed,
    });
    Ok(rows.collect())
}

/// How many are read at once for a file.
const CHUNK: i64 = 1000;

/// All that match, soonest first, in batches, for a file.
pub fn batches(read: Read, filter: DeadlineFilter) -> impl Stream<Item = Result<Vec<DeadlineRow>>> + Send {
    stream::try_unfold(Some((read, filter, None)), async |state| {
        let Some((mut read, filter, after)) = state else { return Ok(None) };
        let rows: Vec<DeadlineRow> = list(&mut read, &filter, after.as_ref(), CHUNK).await?;
        let Some(last) = rows.last().cloned() else { return Ok(None) };
        Ok(Some((rows, Some((read, filter, Some(last))))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_deadlines_keeps_its_names() {
        TABLE.assert_is_sound();
        assert_eq!(
            TABLE.names(),
            ["id", "kind", "project", "environment_id", "environment", "owner", "due_on", "days_left", "closed"]
        );
    }

    #[test]
    fn kinds_and_reasons_read_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.as_str().parse(), Ok(kind));
        }
        for closed in Closed::ALL {
            assert_eq!(closed.as_str().parse(), Ok(closed));
        }
        assert_eq!("birthday".parse::<Kind>().unwrap_err().key, "error-deadline-kind");
    }
}
