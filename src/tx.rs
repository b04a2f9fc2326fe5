//! One unit of work, and a scoped snapshot to read from. There is no other way to a connection.
//!
//! ```text
//! let mut tx = app.write(&actor).await?;
//! let term = renewal::renew(&mut tx, id, new).await?;
//! tx.commit().await?;
//! ```
//!
//! A [`Tx`] carries who acts, what time it is and the organisation; `commit` refuses when nothing was recorded in the history
//! ([`Tx::unchanged`] says a true no-op). Dropping it rolls back. A [`Read`] is a read-only snapshot: the numbers on one page
//! agree. Both set the actor's scope, without which row-level security shows nothing.

use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::actor::{Actor, Permission, Scope};
use crate::audit::{self, Audited, Change};
use crate::dates;
use crate::error::{Error, Result};
use crate::ids::ProjectId;
use crate::locale::Message;
use crate::setting::{self, Organisation};

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Changes records: must leave an entry in the history.
    Write,
    /// Changes only the program's own bookkeeping. It is not marked as the program's, so a record changed here by mistake would
    /// show in the history as a change from outside.
    Machine,
}

/// One unit of work. See the module's text.
pub struct Tx {
    transaction: Transaction<'static, Postgres>,
    mode: Mode,
    actor: Actor,
    now: DateTime<Utc>,
    as_of: Option<NaiveDate>,
    organisation: Organisation,
    recorded: bool,
}

/// A read-only snapshot with the reader's scope. See the module's text.
pub struct Read {
    transaction: Transaction<'static, Postgres>,
    scope: Scope,
    now: DateTime<Utc>,
    organisation: Organisation,
}

fn scope_settings(scope: &Scope) -> String {
    let mut settings = String::from("set local app.projects = '{");
    for (i, project) in scope.projects.keys().enumerate() {
        let separator = if i == 0 { "" } else { "," };
        write!(settings, "{separator}{project}").expect("writing to a string cannot fail");
    }
    let all = if scope.all.is_some() { "yes" } else { "no" };
    write!(settings, "}}'; set local app.all_projects = '{all}'").expect("writing to a string cannot fail");
    settings
}

impl Tx {
    /// Begins a unit of work that changes records.
    pub async fn write(pool: &PgPool, actor: &Actor, now: DateTime<Utc>) -> Result<Self> {
        Self::begin(pool, actor, now, Mode::Write).await
    }

    /// Begins a unit of work that changes only the program's own bookkeeping.
    pub async fn machine(pool: &PgPool, actor: &Actor, now: DateTime<Utc>) -> Result<Self> {
        Self::begin(pool, actor, now, Mode::Machine).await
    }

    async fn begin(pool: &PgPool, actor: &Actor, now: DateTime<Utc>, mode: Mode) -> Result<Self> {
        let mark = match mode {
            Mode::Write => "; set local app.marked = 'yes'",
            Mode::Machine => "",
        };
        // One round trip. The scope is a list of numbers, so nothing a person typed is in this text.
        let begin = format!("begin; {}{mark}", scope_settings(&actor.scope));
        let mut transaction = pool.begin_with(AssertSqlSafe(begin)).await?;
        let organisation = setting::get(&mut transaction).await?;
        Ok(Self { transaction, mode, actor: actor.clone(), now, as_of: None, organisation, recorded: false })
    }

    /// The connection, for the SQL of the noun files.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// Who acts.
    pub const fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The true time, once for the whole unit of work.
    pub const fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The organisation, as this unit of work found it.
    pub const fn organisation(&self) -> &Organisation {
        &self.organisation
    }

    /// The calendar date in the organisation's zone, or the date a job was told to take for today.
    pub fn today(&self) -> NaiveDate {
        self.as_of.unwrap_or_else(|| self.true_day())
    }

    /// The calendar date in the organisation's zone, whatever date a job was told to take for today.
    pub fn true_day(&self) -> NaiveDate {
        dates::today(self.now, self.organisation.zone)
    }

    /// Takes a date for today: `jobs run … --as-of`. The history keeps both the true time and this date.
    #[must_use]
    pub fn as_of(mut self, date: Option<NaiveDate>) -> Self {
        self.as_of = date;
        self
    }

    /// The date set by [`Tx::as_of`].
    pub const fn pretended_date(&self) -> Option<NaiveDate> {
        self.as_of
    }

    /// Refuses what the actor may not do.
    pub fn allow(&self, permission: Permission, project: Option<ProjectId>) -> Result<()> {
        self.actor.allow(permission, project)
    }

    /// Refuses an edit that started from a version which is not the present one any more.
    pub fn same_version(&self, present: i32, started_from: i32) -> Result<()> {
        if present == started_from { Ok(()) } else { Err(Error::Conflict(Message::new("error-stale"))) }
    }

    /// Lifts the statement time limit for work over many rows (imports).
    pub async fn take_time(&mut self) -> Result<()> {
        sqlx::query("set local statement_timeout = '15min'").execute(self.connection()).await?;
        Ok(())
    }

    /// Lets nobody else do the same work until this unit of work ends, and waits for whoever does it now, as long as work over
    /// many rows may take.
    pub async fn be_alone(&mut self, work: &'static str) -> Result<()> {
        sqlx::query("set local lock_timeout = '15min'").execute(self.connection()).await?;
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended($1, 0))", work).execute(self.connection()).await?;
        Ok(())
    }

    /// Records a change in the history, in this transaction: what it was (nothing, for a new one) and what it is now.
    pub async fn record<T: Audited>(&mut self, action: &'static str, before: Option<&T>, after: &T) -> Result<()> {
        let change = Change::of(action, before, after)?;
        self.record_change(change).await
    }

    /// Records an act that is not a change of one record, such as an import.
    pub async fn record_change(&mut self, change: Change) -> Result<()> {
        self.record_changes(vec![change]).await
    }

    /// Records many acts in their order, in one statement: thousands cost little more than one.
    pub async fn record_changes(&mut self, changes: Vec<Change>) -> Result<()> {
        if self.mode == Mode::Machine {
            return Err(Error::internal("a machine transaction cannot record a change: use App::write"));
        }
        if !changes.is_empty() {
            audit::insert(self, changes).await?;
            self.recorded = true;
        }
        Ok(())
    }

    /// Says that, truly, nothing was changed, so that `commit` does not ask for an entry.
    pub const fn unchanged(&mut self) {
        self.recorded = true;
    }

    /// Where the same form, sent before, led to; `None` the first time. `location` is then kept for the next time.
    pub async fn sent_before(&mut self, submit_id: Uuid) -> Result<Option<String>> {
        let actor = self.submitter();
        // A second sender of the same id waits here for the first to commit.
        let first = sqlx::query!(
            "insert into submission (submit_id, actor, location, at) values ($1, $2, '', $3) on conflict do nothing",
            submit_id,
            actor,
            self.now,
        )
        .execute(self.connection())
        .await?
        .rows_affected()
            == 1;
        if first {
            return Ok(None);
        }
        let row = sqlx::query!("select location from submission where submit_id = $1 and actor = $2", submit_id, actor)
            .fetch_one(self.connection())
            .await?;
        self.unchanged();
        Ok(Some(row.location))
    }

    /// Keeps where a form led to, for [`Tx::sent_before`].
    pub async fn sent(&mut self, submit_id: Uuid, location: &str) -> Result<()> {
        let actor = self.submitter();
        sqlx::query!(
            "update submission set location = $3 where submit_id = $1 and actor = $2",
            submit_id,
            actor,
            location
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    fn submitter(&self) -> String {
        self.actor.user.map_or_else(|| self.actor.name.clone(), |user| user.to_string())
    }

    /// Makes it all true at once.
    pub async fn commit(self) -> Result<()> {
        if self.mode == Mode::Write && !self.recorded {
            return Err(Error::internal("a unit of work changed something and recorded nothing in the history"));
        }
        self.transaction.commit().await?;
        Ok(())
    }
}

impl Read {
    /// Begins a snapshot with the actor's scope.
    pub async fn begin(pool: &PgPool, actor: &Actor, now: DateTime<Utc>) -> Result<Self> {
        let begin = format!("begin isolation level repeatable read read only; {}", scope_settings(&actor.scope));
        let mut transaction = pool.begin_with(AssertSqlSafe(begin)).await?;
        let organisation = setting::get(&mut transaction).await?;
        Ok(Self { transaction, scope: actor.scope.clone(), now, organisation })
    }

    /// Which projects the reader sees.
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The connection, for the SQL of the noun files.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// Whether the reader sees every project, and what belongs to none.
    pub const fn sees_all(&self) -> bool {
        self.scope.all.is_some()
    }

    /// The true time of the snapshot.
    pub const fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// The organisation, in the snapshot.
    pub const fn organisation(&self) -> &Organisation {
        &self.organisation
    }

    /// The calendar date in the organisation's zone.
    pub fn today(&self) -> NaiveDate {
        dates::today(self.now, self.organisation.zone)
    }

    /// Lifts the time limits for an export: whoever downloads over a slow line leaves the snapshot idle between two chunks.
    pub async fn take_time(&mut self) -> Result<()> {
        sqlx::raw_sql("set local statement_timeout = '60s'; set local idle_in_transaction_session_timeout = '10min'")
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Ends the snapshot. There is nothing to wait for: the end is sent while the connection goes back to the pool.
    #[expect(clippy::unused_async, reason = "it reads like the end of a unit of work")]
    pub async fn end(self) -> Result<()> {
        drop(self.transaction);
        Ok(())
    }
}
