//! Who gets a copy of an environment's reminders.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::audit::Audited;
use crate::error::Result;
use crate::ids::{EnvironmentId, PersonId, ProjectId};
use crate::text::Email;
use crate::tx::Tx;

/// One person who gets copies of one environment's reminders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Watcher {
    /// Its id.
    pub id: i64,
    /// The project.
    pub project_id: ProjectId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The environment's name.
    pub environment: String,
    /// The person.
    pub person_id: PersonId,
    /// The person's name.
    pub person: String,
    /// The person's address; not part of the history.
    #[serde(skip)]
    pub address: Option<Email>,
    /// Since when no copies go any more.
    pub ended_at: Option<DateTime<Utc>>,
}

impl Audited for Watcher {
    const KIND: &'static str = "environment_watcher";

    fn audit_id(&self) -> i64 {
        self.id
    }

    fn audit_name(&self) -> String {
        self.environment.clone()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        Some(self.project_id)
    }
}

macro_rules! select_watcher {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Watcher,
            r#"select w.id, w.project_id as "project_id: ProjectId", w.environment_id as "environment_id: EnvironmentId",
                      e.name as environment, w.person_id as "person_id: PersonId", p.name as person,
                      p.email as "address: Email", w.ended_at
               from environment_watcher w join environment e on e.id = w.environment_id join person p on p.id = w.person_id "#
                + $rest
            $(, $argument)*
        )
    };
}

/// The watchers of an environment, by name.
pub async fn of_environment(connection: &mut PgConnection, id: EnvironmentId) -> Result<Vec<Watcher>> {
    let watchers = select_watcher!("where w.environment_id = $1 and w.ended_at is null order by p.name, w.id", id.0);
    Ok(watchers.fetch_all(connection).await?)
}

/// Makes these people the watchers of an environment: adds who is missing, takes off who is not among them. Says whether
/// anything changed.
pub async fn set(tx: &mut Tx, project: ProjectId, environment: EnvironmentId, people: &[PersonId]) -> Result<bool> {
    let present = of_environment(tx.connection(), environment).await?;
    let mut changed = false;
    for watcher in present.iter().filter(|watcher| !people.contains(&watcher.person_id)) {
        take_off(tx, watcher).await?;
        changed = true;
    }
    let mut watching: Vec<PersonId> = present.iter().map(|watcher| watcher.person_id).collect();
    for person in people {
        if !watching.contains(person) {
            watching.push(*person);
            add(tx, project, environment, *person).await?;
            changed = true;
        }
    }
    Ok(changed)
}

async fn add(tx: &mut Tx, project: ProjectId, environment: EnvironmentId, person: PersonId) -> Result<()> {
    // Two people may add the same watcher at once: the second finds it there.
    let id = sqlx::query_scalar!(
        "insert into environment_watcher (project_id, environment_id, person_id) values ($1, $2, $3)
         on conflict (environment_id, person_id) where ended_at is null do nothing returning id",
        project.0,
        environment.0,
        person.0,
    )
    .fetch_optional(tx.connection())
    .await?;
    let Some(id) = id else { return Ok(()) };
    let watcher = select_watcher!("where w.id = $1", id).fetch_one(tx.connection()).await?;
    tx.record("watcher.added", None, &watcher).await
}

async fn take_off(tx: &mut Tx, before: &Watcher) -> Result<()> {
    let now = tx.now();
    sqlx::query!("update environment_watcher set ended_at = $2 where id = $1", before.id, now)
        .execute(tx.connection())
        .await?;
    let after = Watcher { ended_at: Some(now), ..before.clone() };
    tx.record("watcher.ended", Some(before), &after).await
}
