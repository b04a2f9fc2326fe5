//! A project: what an environment is rented for, and the border of everybody's rights.

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::dates::Steps;
use crate::error::{OnConstraint as _, Result};
use crate::ids::ProjectId;
use crate::locale::Message;
use crate::text::{Line, Name};
use crate::tx::{Read, Tx};

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// What it is called; unique without regard to case and width.
    pub name: Name,
    /// Where its costs are booked.
    pub cost_centre: Option<String>,
    /// Its last day, where it has one.
    pub ends_on: Option<NaiveDate>,
    /// Its own reminder steps; the organisation's where none.
    pub reminder_steps: Option<Steps>,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

/// What can be said of a project, new or changed.
#[derive(Debug, Clone)]
pub struct NewProject {
    /// See [`Project::name`].
    pub name: Name,
    /// See [`Project::cost_centre`].
    pub cost_centre: Option<Line>,
    /// See [`Project::ends_on`].
    pub ends_on: Option<NaiveDate>,
    /// See [`Project::reminder_steps`].
    pub reminder_steps: Option<Steps>,
}

impl NewProject {
    /// A project of which only the name is known.
    pub const fn named(name: Name) -> Self {
        Self { name, cost_centre: None, ends_on: None, reminder_steps: None }
    }
}

impl Audited for Project {
    const KIND: &'static str = "project";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.name.to_string()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        Some(self.id)
    }
}

macro_rules! select_project {
    ($where:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Project,
            r#"select id as "id: ProjectId", name as "name: Name", cost_centre, ends_on,
                      reminder_steps as "reminder_steps: Steps", version, created_at
               from project "# + $where
            $(, $argument)*
        )
    };
}

/// The project with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: ProjectId) -> Result<Project> {
    Ok(select_project!("where id = $1", id.0).fetch_one(connection).await?)
}

/// The project with this name, without regard to case and width, where the reader may see it.
pub async fn find_by_name(connection: &mut PgConnection, name: &Name) -> Result<Option<Project>> {
    Ok(select_project!("where app_name_key(name) = app_name_key($1)", name.as_str()).fetch_optional(connection).await?)
}

/// The projects that the reader may see, by name.
pub async fn list(read: &mut Read) -> Result<Vec<Project>> {
    Ok(select_project!("order by name, id").fetch_all(read.connection()).await?)
}

/// Adds a project of which only the name is known.
pub async fn add(tx: &mut Tx, name: Name) -> Result<Project> {
    add_with(tx, NewProject::named(name)).await
}

/// Adds a project.
pub async fn add_with(tx: &mut Tx, new: NewProject) -> Result<Project> {
    tx.allow(Permission::Administer, None)?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into project (name, cost_centre, ends_on, reminder_steps, created_at) values ($1, $2, $3, $4, $5)
           returning id as "id: ProjectId""#,
        new.name.as_str(),
        new.cost_centre.as_ref().map(Line::as_str),
        new.ends_on,
        new.reminder_steps.as_ref().map(Steps::days),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("project_name", "name", || Message::new("error-project-taken").with("name", &new.name))?;
    let project = get(tx.connection(), id).await?;
    tx.record("project.added", None, &project).await?;
    Ok(project)
}

/// Changes a project; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: ProjectId, version: i32, new: NewProject) -> Result<Project> {
    tx.allow(Permission::Manage, Some(id))?;
    sqlx::query!("select id from project where id = $1 for update", id.0).fetch_one(tx.connection()).await?;
    let before = get(tx.connection(), id).await?;
    tx.same_version(before.version, version)?;
    let after = Project {
        name: new.name.clone(),
        cost_centre: new.cost_centre.as_ref().map(Line::to_string),
        ends_on: new.ends_on,
        reminder_steps: new.reminder_steps,
        ..before.clone()
    };
    if after == before {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update project set name = $2, cost_centre = $3, ends_on = $4, reminder_steps = $5, version = version + 1 where id = $1",
        id.0,
        after.name.as_str(),
        after.cost_centre,
        after.ends_on,
        after.reminder_steps.as_ref().map(Steps::days),
    )
    .execute(tx.connection())
    .await
    .on_constraint("project_name", "name", || Message::new("error-project-taken").with("name", &new.name))?;
    let after = get(tx.connection(), id).await?;
    tx.record("project.changed", Some(&before), &after).await?;
    Ok(after)
}

/// The project with this name, added where there is none (imports; the page asks first).
pub async fn find_or_add(tx: &mut Tx, name: Name) -> Result<Project> {
    match find_by_name(tx.connection(), &name).await? {
        Some(project) => Ok(project),
        None => add(tx, name).await,
    }
}
