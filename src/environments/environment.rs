//! One rented thing in use by a project.

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::dates::Steps;
use crate::environments::scenario::Scenario;
use crate::environments::term::{self, NewTerm};
use crate::environments::watcher;
use crate::error::{Error, OnConstraint as _, Result};
use crate::ids::{EnvironmentId, PersonId, ProjectId, ProviderId, TierId};
use crate::labels::Labels;
use crate::locale::Message;
use crate::money;
use crate::text::{Name, Note, word_set};
use crate::tx::Tx;

word_set! {
    /// What kind of thing is rented.
    Kind, "error-environment-kind", {
        /// One machine, or several alike.
        Instance = "instance", "kind-instance", ["实例"];
        /// Many short instances.
        Pool = "pool", "kind-pool", ["资源池"];
        /// Calls of a service.
        Service = "service", "kind-service", ["服务"];
        /// A network line.
        Line = "line", "kind-line", ["专线"];
        /// Storage.
        Storage = "storage", "kind-storage", ["存储"];
        /// Maintenance of own hardware.
        Maintenance = "maintenance", "kind-maintenance", ["维保"];
        /// A prepaid voucher or pack.
        Voucher = "voucher", "kind-voucher", ["代金券"];
    }
}

word_set! {
    /// How much hangs on an environment.
    Priority, "error-priority", {
        /// Work stops without it.
        Core = "core", "priority-core", ["核心"];
        /// Neither.
        Normal = "normal", "priority-normal", ["普通", "一般"];
        /// Can be missed.
        Low = "low", "priority-low", ["低"];
    }
}

word_set! {
    /// Whether an environment is in use.
    Status, "error-status", {
        /// In use.
        Active = "active", "state-active", ["使用中", "在用"];
        /// No longer rented.
        Ended = "ended", "state-ended", ["已退租", "已结束"];
        /// Opened by mistake.
        Voided = "voided", "state-voided", ["已作废", "作废"];
    }
}

/// One rented thing in use by a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// Its id.
    pub id: EnvironmentId,
    /// The project; never changes.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// What it is called; unique within the project while it is not voided.
    pub name: Name,
    /// What kind of thing it is.
    pub kind: Kind,
    /// Who rents it to us.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// The offer.
    pub tier_id: TierId,
    /// The offer's name.
    pub tier: String,
    /// What it is used for.
    pub scenario: Option<Scenario>,
    /// Who answers for it.
    pub owner_id: Option<PersonId>,
    /// The owner's name.
    pub owner: Option<String>,
    /// Who confirms the key points.
    pub checker_id: Option<PersonId>,
    /// The checker's name.
    pub checker: Option<String>,
    /// How much hangs on it.
    pub priority: Priority,
    /// Its labels.
    pub labels: Labels,
    /// Units of the tier in use now; the scale history tells how it came to be.
    pub quantity: Decimal,
    /// Its own reminder steps; the project's, then the organisation's, where none.
    pub reminder_steps: Option<Steps>,
    /// The day of the month that the chain of terms keeps; follows from the first term.
    #[serde(skip)]
    pub anchor_day: Option<i32>,
    /// What else there is to know.
    pub note: Note,
    /// Whether it is in use.
    pub status: Status,
    /// The last day of use, once it is ended.
    pub ended_on: Option<NaiveDate>,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when the ledger knows it.
    pub created_at: DateTime<Utc>,
}

impl Environment {
    /// The quantity in use now, for people.
    pub fn shown_quantity(&self) -> String {
        money::grouped(&self.quantity.into(), 0)
    }

    /// Whether its owner is its checker too, so that no second person looks at it.
    pub fn checks_themself(&self) -> bool {
        self.checker_id.is_some() && self.checker_id == self.owner_id
    }

    /// The day of the month on which its terms begin.
    pub fn anchor(&self) -> u32 {
        self.anchor_day.and_then(|day| u32::try_from(day).ok()).unwrap_or(1)
    }

    /// Whether an edit to these facts would change nothing of its own row. The watchers are rows of their own.
    fn is(&self, facts: &Facts) -> bool {
        self.name == facts.name
            && (self.kind, self.priority, self.scenario) == (facts.kind, facts.priority, facts.scenario)
            && (self.provider_id, self.tier_id) == (facts.provider_id, facts.tier_id)
            && (self.owner_id, self.checker_id) == (facts.owner_id, facts.checker_id)
            && self.labels == facts.labels
            && self.reminder_steps == facts.steps
            && self.note == facts.note
    }
}

impl Audited for Environment {
    const KIND: &'static str = "environment";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.name.to_string()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        Some(self.project_id)
    }
}

/// What an environment is, apart from its project: what a form or a file may say and an edit may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// See [`Environment::name`].
    pub name: Name,
    /// See [`Environment::kind`].
    pub kind: Kind,
    /// See [`Environment::provider_id`].
    pub provider_id: ProviderId,
    /// See [`Environment::tier_id`].
    pub tier_id: TierId,
    /// See [`Environment::scenario`].
    pub scenario: Option<Scenario>,
    /// See [`Environment::owner_id`].
    pub owner_id: Option<PersonId>,
    /// See [`Environment::checker_id`].
    pub checker_id: Option<PersonId>,
    /// Who gets copies.
    pub watchers: Vec<PersonId>,
    /// See [`Environment::priority`].
    pub priority: Priority,
    /// See [`Environment::labels`].
    pub labels: Labels,
    /// See [`Environment::reminder_steps`].
    pub steps: Option<Steps>,
    /// See [`Environment::note`].
    pub note: Note,
}

impl Facts {
    /// A single instance of which only the name and the offer are known.
    pub fn named(name: Name, provider: ProviderId, tier: TierId) -> Self {
        Self {
            name,
            kind: Kind::Instance,
            provider_id: provider,
            tier_id: tier,
            scenario: None,
            owner_id: None,
            checker_id: None,
            watchers: Vec::new(),
            priority: Priority::Normal,
            labels: Labels::default(),
            steps: None,
            note: Note::default(),
        }
    }
}

/// An environment to be opened.
#[derive(Debug, Clone)]
pub struct NewEnvironment {
    /// The project.
    pub project_id: ProjectId,
    /// What it is.
    pub facts: Facts,
    /// Its first term.
    pub term: NewTerm,
}

macro_rules! select_environment {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Environment,
            r#"select e.id as "id: EnvironmentId", e.project_id as "project_id: ProjectId", j.name as project,
                      e.name as "name: Name", e.kind as "kind: Kind", e.provider_id as "provider_id: ProviderId",
                      p.name as provider, e.tier_id as "tier_id: TierId", t.name as tier, e.scenario as "scenario: Scenario",
                      e.owner_id as "owner_id: PersonId", o.name as "owner?", e.checker_id as "checker_id: PersonId",
                      c.name as "checker?", e.priority as "priority: Priority", e.labels as "labels: Labels",
                      e.quantity as "quantity: Decimal", e.reminder_steps as "reminder_steps: Steps", e.anchor_day, e.note as "note: Note",
                      e.status as "status: Status", e.ended_on, e.version, e.created_at
               from environment e
               join project j on j.id = e.project_id
               join provider p on p.id = e.provider_id
               join tier t on t.id = e.tier_id
               left join person o on o.id = e.owner_id
               left join person c on c.id = e.checker_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The environment with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: EnvironmentId) -> Result<Environment> {
    Ok(select_environment!("where e.id = $1", id.0).fetch_one(connection).await?)
}

/// Those of these environments that the reader may see, by name.
pub(super) async fn of_ids(connection: &mut PgConnection, ids: &[i64]) -> Result<Vec<Environment>> {
    Ok(select_environment!("where e.id = any($1) order by e.name, e.id", ids).fetch_all(connection).await?)
}

/// The project's environment with this name that is not voided.
pub async fn find_by_name(
    connection: &mut PgConnection,
    project: ProjectId,
    name: &Name,
) -> Result<Option<Environment>> {
    let found = select_environment!(
        "where e.project_id = $1 and e.name = $2 and e.status <> 'voided'",
        project.0,
        name.as_str()
    );
    Ok(found.fetch_optional(connection).await?)
}

/// One change of an environment and its chain at a time: holds the row until the unit of work ends, and reads it.
pub(super) async fn lock(tx: &mut Tx, id: EnvironmentId) -> Result<Environment> {
    sqlx::query!("select id from environment where id = $1 for update", id.0).fetch_one(tx.connection()).await?;
    get(tx.connection(), id).await
}

/// The environment, kept from being voided until this transaction ends: for whatever is booked on it. One that is voided, or
/// that the actor does not see, is refused with the message of this key.
pub async fn hold(tx: &mut Tx, id: EnvironmentId, refusal: &'static str) -> Result<Environment> {
    let refused = || Error::invalid("environment", Message::new(refusal));
    sqlx::query!("select id from environment where id = $1 for key share", id.0)
        .fetch_optional(tx.connection())
        .await?
        .ok_or_else(refused)?;
    let environment = get(tx.connection(), id).await?;
    if environment.status == Status::Voided { Err(refused()) } else { Ok(environment) }
}

/// Opens an environment with its first term.
pub async fn open(tx: &mut Tx, new: &NewEnvironment) -> Result<Environment> {
    open_chain(tx, new.project_id, &new.facts, std::slice::from_ref(&new.term), None).await
}

/// Opens an environment with a whole chain of terms, first to last; one that has ended already comes with its last day.
pub(super) async fn open_chain(
    tx: &mut Tx,
    project: ProjectId,
    facts: &Facts,
    terms: &[NewTerm],
    ended_on: Option<NaiveDate>,
) -> Result<Environment> {
    tx.allow(Permission::Operate, Some(project))?;
    let quantity = terms.first().map_or(Decimal::ONE, |term| term.quantity);
    let id = insert(tx, project, facts, quantity, ended_on).await?;
    let environment = get(tx.connection(), id).await?;
    tx.record("environment.opened", None, &environment).await?;
    for term in terms {
        let term = term::insert(tx, project, id, term).await?;
        tx.record("term.added", None, &term).await?;
    }
    watcher::set(tx, project, id, &facts.watchers).await?;
    term::follow(tx, id).await?;
    get(tx.connection(), id).await
}

async fn insert(
    tx: &mut Tx,
    project: ProjectId,
    facts: &Facts,
    quantity: Decimal,
    ended_on: Option<NaiveDate>,
) -> Result<EnvironmentId> {
    let now = tx.now();
    let status = if ended_on.is_some() { Status::Ended } else { Status::Active };
    let id = sqlx::query_scalar!(
        r#"insert into environment (project_id, name, kind, provider_id, tier_id, scenario, owner_id, checker_id, priority,
                                    labels, quantity, reminder_steps, note, status, ended_on, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) returning id as "id: EnvironmentId""#,
        project.0,
        facts.name.as_str(),
        facts.kind.as_str(),
        facts.provider_id.0,
        facts.tier_id.0,
        facts.scenario.map(Scenario::as_str),
        facts.owner_id.map(|id| id.0),
        facts.checker_id.map(|id| id.0),
        facts.priority.as_str(),
        &facts.labels as _,
        quantity as _,
        facts.steps.as_ref().map(Steps::days),
        facts.note.as_str(),
        status.as_str(),
        ended_on,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("environment_name_taken", "name", || name_taken(&facts.name))
    .on_constraint("environment_tier", "tier", || Message::new("error-environment-tier"))?;
    Ok(id)
}

fn name_taken(name: &Name) -> Message {
    Message::new("error-environment-taken").with("name", name)
}

/// The environment for an edit that started from `version`, held until the unit of work ends.
async fn for_edit(tx: &mut Tx, id: EnvironmentId, version: i32) -> Result<Environment> {
    let before = get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(before.project_id))?;
    let before = lock(tx, id).await?;
    tx.same_version(before.version, version)?;
    Ok(before)
}

/// Changes what an environment is; `version` is the one the edit started from. Its project never changes.
pub async fn change(tx: &mut Tx, id: EnvironmentId, version: i32, new: &Facts) -> Result<Environment> {
    let before = for_edit(tx, id, version).await?;
    if before.status == Status::Voided {
        return Err(Error::Conflict(Message::new("error-environment-voided")));
    }
    let watchers_changed = watcher::set(tx, before.project_id, id, &new.watchers).await?;
    if before.is(new) {
        if !watchers_changed {
            tx.unchanged();
        }
        return Ok(before);
    }
    sqlx::query!(
        "update environment set name = $2, kind = $3, provider_id = $4, tier_id = $5, scenario = $6, owner_id = $7,
                checker_id = $8, priority = $9, labels = $10, reminder_steps = $11, note = $12, version = version + 1
         where id = $1",
        id.0,
        new.name.as_str(),
        new.kind.as_str(),
        new.provider_id.0,
        new.tier_id.0,
        new.scenario.map(Scenario::as_str),
        new.owner_id.map(|id| id.0),
        new.checker_id.map(|id| id.0),
        new.priority.as_str(),
        &new.labels as _,
        new.steps.as_ref().map(Steps::days),
        new.note.as_str(),
    )
    .execute(tx.connection())
    .await
    .on_constraint("environment_name_taken", "name", || name_taken(&new.name))
    .on_constraint("environment_tier", "tier", || Message::new("error-environment-tier"))?;
    let after = get(tx.connection(), id).await?;
    tx.record("environment.changed", Some(&before), &after).await?;
    Ok(after)
}

/// Ends an environment: `ended_on` is its last day of use, at the latest the last day of its last term. Its deadlines are
/// closed. A term without an end gets this one.
pub async fn end(tx: &mut Tx, id: EnvironmentId, version: i32, ended_on: NaiveDate) -> Result<Environment> {
    let before = for_edit(tx, id, version).await?;
    if before.status != Status::Active {
        return Err(Error::Conflict(Message::new("error-environment-not-active")));
    }
    let terms = term::of_environment(tx.connection(), id).await?;
    let (Some(first), Some(last)) = (terms.first(), terms.last()) else {
        return Err(Error::internal("an environment without a term"));
    };
    if ended_on < first.starts_on {
        let message = Message::new("error-end-before-start").with("starts_on", first.starts_on);
        return Err(Error::invalid("ended_on", message));
    }
    match last.ends_on {
        Some(ends_on) if ended_on > ends_on => {
            return Err(Error::invalid("ended_on", Message::new("error-end-after-term").with("ends_on", ends_on)));
        }
        Some(_) => {}
        None if ended_on < last.starts_on => {
            let message = Message::new("error-end-before-start").with("starts_on", last.starts_on);
            return Err(Error::invalid("ended_on", message));
        }
        None => term::cut(tx, last, ended_on).await?,
    }
    set_status(tx, &before, Status::Ended, Some(ended_on), "environment.ended").await
}

/// Takes the end back: the environment is in use again, and its deadlines are open again.
pub async fn resume(tx: &mut Tx, id: EnvironmentId, version: i32) -> Result<Environment> {
    let before = for_edit(tx, id, version).await?;
    if before.status != Status::Ended {
        return Err(Error::Conflict(Message::new("error-environment-not-ended")));
    }
    set_status(tx, &before, Status::Active, None, "environment.resumed").await
}

/// Voids an environment that was opened by mistake. One with spend, output or resources is ended instead.
pub async fn void(tx: &mut Tx, id: EnvironmentId, version: i32) -> Result<Environment> {
    let before = for_edit(tx, id, version).await?;
    if before.status == Status::Voided {
        return Err(Error::Conflict(Message::new("error-environment-voided")));
    }
    if has_ledger_rows(tx.connection(), id).await? {
        return Err(Error::Conflict(Message::new("error-environment-has-rows")));
    }
    set_status(tx, &before, Status::Voided, None, "environment.voided").await
}

/// Whether anything was recorded for the environment, so that it cannot be voided.
pub async fn has_ledger_rows(connection: &mut PgConnection, id: EnvironmentId) -> Result<bool> {
    // The sums of its months know of every line, without a look into the partition of every month.
    let found = sqlx::query_scalar!(
        r#"select exists (select 1 from spend_month where environment_id = $1)
               or exists (select 1 from output_entry where environment_id = $1)
               or exists (select 1 from binding where environment_id = $1) as "found!""#,
        id.0
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

async fn set_status(
    tx: &mut Tx,
    before: &Environment,
    status: Status,
    ended_on: Option<NaiveDate>,
    action: &'static str,
) -> Result<Environment> {
    sqlx::query!(
        "update environment set status = $2, ended_on = $3, version = version + 1 where id = $1",
        before.id.0,
        status.as_str(),
        ended_on,
    )
    .execute(tx.connection())
    .await
    .on_constraint("environment_name_taken", "name", || name_taken(&before.name))?;
    let after = get(tx.connection(), before.id).await?;
    tx.record(action, Some(before), &after).await?;
    term::follow(tx, before.id).await?;
    Ok(after)
}
