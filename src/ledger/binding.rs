//! Which environment a resource belongs to, from when to when (last day included). Past lines follow at once: their placement
//! is the one thing of a line that may change, and their sums move in the same transaction.

use std::collections::BTreeSet;

use chrono::{DateTime, NaiveDate, Utc};
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::{Change, Object};
use crate::dates;
use crate::environments::environment;
use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{BindingId, EnvironmentId, ProjectId, ResourceId};
use crate::ledger::resource::{self, Resource};
use crate::ledger::rollup::{self, Move};
use crate::locale::Message;
use crate::tx::Tx;

/// Which environment a resource belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// Its id.
    pub id: BindingId,
    /// The resource.
    pub resource_id: ResourceId,
    /// The environment's project.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The environment's name.
    pub environment: String,
    /// The first day of charge.
    pub starts_on: NaiveDate,
    /// The last day, included; nothing while it goes on.
    pub ends_on: Option<NaiveDate>,
    /// When it was taken back; its dates bind nothing any more.
    pub withdrawn_at: Option<DateTime<Utc>>,
    /// The version that an edit starts from.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

/// A binding to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBinding {
    /// The resource.
    pub resource: ResourceId,
    /// The environment.
    pub environment: EnvironmentId,
    /// The first day of charge.
    pub starts_on: NaiveDate,
    /// The last day, included.
    pub ends_on: Option<NaiveDate>,
}

impl NewBinding {
    /// Reads what a person typed; `text` gives a field's value.
    ///
    /// # Errors
    /// Field by field.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let choose = |key: &'static str| move |_| Message::new(key);
        let resource = errors.take("resource", text("resource").parse().map_err(choose("error-resource-choose")));
        let environment =
            errors.take("environment", text("environment").parse().map_err(choose("error-environment-choose")));
        let starts_on = errors.take("starts_on", dates::parse_date(text("starts_on")));
        let ends_on = filled("ends_on").and_then(|day| errors.take("ends_on", dates::parse_date(day)));
        match (resource, environment, starts_on, errors.is_empty()) {
            (Some(resource), Some(environment), Some(starts_on), true) => {
                Ok(Self { resource, environment, starts_on, ends_on })
            }
            _ => Err(errors),
        }
    }
}

macro_rules! select_binding {
    ($rest:literal $(, $argument:expr)* $(,)?) => {
        sqlx::query_as!(
            Binding,
            r#"select b.id as "id: BindingId", b.resource_id as "resource_id: ResourceId", b.project_id as "project_id: ProjectId",
                      p.name as project, b.environment_id as "environment_id: EnvironmentId", e.name as environment,
                      b.starts_on, b.ends_on, b.withdrawn_at, b.version, b.created_at
               from binding b join project p on p.id = b.project_id join environment e on e.id = b.environment_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The binding with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: BindingId) -> Result<Binding> {
    Ok(select_binding!("where b.id = $1", id.0).fetch_one(connection).await?)
}

/// The bindings of a resource that the reader may see, newest first; those taken back are among them.
pub async fn of_resource(connection: &mut PgConnection, id: ResourceId) -> Result<Vec<Binding>> {
    let bindings = select_binding!("where b.resource_id = $1 order by b.starts_on desc, b.id desc", id.0);
    Ok(bindings.fetch_all(connection).await?)
}

/// Binds a resource to an environment, and moves its lines of these days there.
pub async fn bind(tx: &mut Tx, new: &NewBinding) -> Result<Binding> {
    tx.allow(Permission::Unplaced, None)?;
    let environment = environment::hold(tx, new.environment, "error-environment-choose").await?;
    tx.allow(Permission::Operate, Some(environment.project_id))?;
    tx.take_time().await?;
    let resource = resource::get(tx.connection(), new.resource).await?;
    resource::lock_provider(tx, resource.provider_id).await?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into binding (resource_id, project_id, environment_id, starts_on, ends_on, created_at)
           values ($1, $2, $3, $4, $5, $6) returning id as "id: BindingId""#,
        new.resource.0,
        environment.project_id.0,
        environment.id.0,
        new.starts_on,
        new.ends_on,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("binding_no_overlap", "starts_on", || Message::new("error-binding-overlap"))
    .on_constraint("binding_days", "ends_on", || Message::new("error-binding-days").with("first", new.starts_on))?;
    let binding = get(tx.connection(), id).await?;
    let place = Some((binding.project_id, binding.environment_id));
    let lines = rollup::move_lines(tx, move_of(&binding, None, place)).await?;
    record(tx, "resource.bound", &resource, &binding, lines).await?;
    Ok(binding)
}

/// Binds several resources to one environment. What is locked is locked in one order, so that two who do so at once wait for one
/// another and no more.
pub async fn bind_all(tx: &mut Tx, all: &[NewBinding]) -> Result<()> {
    tx.allow(Permission::Unplaced, None)?;
    let mut providers = BTreeSet::new();
    for new in all {
        environment::hold(tx, new.environment, "error-environment-choose").await?;
        providers.insert(resource::get(tx.connection(), new.resource).await?.provider_id);
    }
    tx.take_time().await?;
    for provider in providers {
        resource::lock_provider(tx, provider).await?;
    }
    for new in all {
        bind(tx, new).await?;
    }
    Ok(())
}

/// Takes a binding back: its lines are unplaced again, and can be bound elsewhere. `version` is the one it was seen in.
pub async fn unbind(tx: &mut Tx, id: BindingId, version: i32) -> Result<Binding> {
    let seen = get(tx.connection(), id).await?;
    tx.allow(Permission::Unplaced, None)?;
    tx.allow(Permission::Operate, Some(seen.project_id))?;
    tx.take_time().await?;
    let resource = resource::get(tx.connection(), seen.resource_id).await?;
    resource::lock_provider(tx, resource.provider_id).await?;
    let before = get(tx.connection(), id).await?;
    tx.same_version(before.version, version)?;
    if before.withdrawn_at.is_some() {
        return Err(Error::Conflict(Message::new("error-binding-withdrawn")));
    }
    let now = tx.now();
    sqlx::query!("update binding set withdrawn_at = $2, version = version + 1 where id = $1", id.0, now)
        .execute(tx.connection())
        .await?;
    let place = Some((before.project_id, before.environment_id));
    let lines = rollup::move_lines(tx, move_of(&before, place, None)).await?;
    let binding = get(tx.connection(), id).await?;
    record(tx, "resource.unbound", &resource, &binding, lines).await?;
    Ok(binding)
}

fn move_of(
    binding: &Binding,
    from: Option<(ProjectId, EnvironmentId)>,
    to: Option<(ProjectId, EnvironmentId)>,
) -> Move {
    Move { resource: binding.resource_id, from, to, starts_on: binding.starts_on, ends_on: binding.ends_on }
}

async fn record(tx: &mut Tx, action: &'static str, resource: &Resource, binding: &Binding, lines: u64) -> Result<()> {
    let object = Object {
        kind: "resource",
        id: Some(resource.id.0),
        name: resource.label(),
        project: Some(binding.project_id),
        shared: false,
    };
    let after = json!({
        "binding": binding.id, "resource": resource, "provider": resource.provider, "project": binding.project,
        "environment": binding.environment, "environment_id": binding.environment_id, "starts_on": binding.starts_on,
        "ends_on": binding.ends_on, "count": lines,
    });
    tx.record_change(Change { action, object, before: None, after }).await
}
