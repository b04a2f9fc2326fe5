//! A change of an environment's quantity, with the day, before, after, who and why.
//!
//! The rule: a term's quantity is what it began with, and the scale history tells the rest. The environment's quantity is what
//! is in use now: that of the last change within the present term, else the term's. Changes are told in order and not ahead
//! of their day; a new quantity that comes with the next term is told by that term.

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde_json::json;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Change;
use crate::environments::environment::{self, Environment, Status};
use crate::environments::term;
use crate::error::{Error, Result};
use crate::ids::{EnvironmentId, ScaleChangeId};
use crate::locale::Message;
use crate::money;
use crate::text::Line;
use crate::tx::Tx;

/// A change of quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScaleChange {
    /// Its id.
    pub id: ScaleChangeId,
    /// The first day of the new quantity.
    pub changes_on: NaiveDate,
    /// Units before.
    pub quantity_before: Decimal,
    /// Units after.
    pub quantity_after: Decimal,
    /// Why.
    pub reason: String,
    /// Who recorded it, by the name of that time.
    pub person_name: String,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
}

impl ScaleChange {
    /// The quantities before and after, for people.
    pub fn shown(&self) -> (String, String) {
        let shown = |quantity: Decimal| money::grouped(&quantity.into(), 0);
        (shown(self.quantity_before), shown(self.quantity_after))
    }
}

/// A change of quantity to be recorded.
#[derive(Debug, Clone)]
pub struct NewScaleChange {
    /// See [`ScaleChange::changes_on`].
    pub changes_on: NaiveDate,
    /// See [`ScaleChange::quantity_after`].
    pub quantity: Decimal,
    /// See [`ScaleChange::reason`].
    pub reason: Line,
}

/// The changes of an environment's quantity, newest first.
pub async fn of_environment(connection: &mut PgConnection, id: EnvironmentId) -> Result<Vec<ScaleChange>> {
    let changes = sqlx::query_as!(
        ScaleChange,
        r#"select id as "id: ScaleChangeId", changes_on, quantity_before as "quantity_before: Decimal",
                  quantity_after as "quantity_after: Decimal", reason, person_name, created_at
           from scale_change where environment_id = $1 order by changes_on desc, id desc"#,
        id.0
    )
    .fetch_all(connection)
    .await?;
    Ok(changes)
}

/// Records a change of quantity.
pub async fn record(tx: &mut Tx, id: EnvironmentId, new: &NewScaleChange) -> Result<Environment> {
    let before = environment::get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(before.project_id))?;
    let before = environment::lock(tx, id).await?;
    if before.status != Status::Active {
        return Err(Error::Conflict(Message::new("error-environment-not-active")));
    }
    check(tx, &before, new).await?;
    if before.quantity == new.quantity {
        tx.unchanged();
        return Ok(before);
    }
    let (now, name) = (tx.now(), tx.actor().name.clone());
    sqlx::query!(
        "insert into scale_change (project_id, environment_id, changes_on, quantity_before, quantity_after, reason, person_name,
                                   created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)",
        before.project_id.0,
        id.0,
        new.changes_on,
        before.quantity as _,
        new.quantity as _,
        new.reason.as_str(),
        name,
        now,
    )
    .execute(tx.connection())
    .await?;
    sqlx::query!("update environment set version = version + 1 where id = $1", id.0).execute(tx.connection()).await?;
    term::follow(tx, id).await?;
    let after = environment::get(tx.connection(), id).await?;
    tx.record_change(change(&before, &after, new)?).await?;
    Ok(after)
}

async fn check(tx: &mut Tx, environment: &Environment, new: &NewScaleChange) -> Result<()> {
    let today = tx.today();
    if new.changes_on > today {
        return Err(Error::invalid("changes_on", Message::new("error-scale-ahead").with("today", today)));
    }
    let terms = term::of_environment(tx.connection(), environment.id).await?;
    let last = of_environment(tx.connection(), environment.id).await?.first().map(|change| change.changes_on);
    // Within the present term and not before the last change: what was told of earlier days stays as it was.
    let earliest = term::present(&terms, today).map(|term| term.starts_on).into_iter().chain(last).max();
    match earliest.filter(|earliest| new.changes_on < *earliest) {
        Some(earliest) => Err(Error::invalid("changes_on", Message::new("error-scale-order").with("day", earliest))),
        None => Ok(()),
    }
}

/// One entry: it is the environment's quantity that changed; the numbers of the change stand beside its image.
fn change(before: &Environment, after: &Environment, new: &NewScaleChange) -> Result<Change> {
    let mut change = Change::of("scale.changed", Some(before), after)?;
    let facts = json!({
        "changes_on": new.changes_on, "quantity_before": before.quantity, "quantity_after": after.quantity,
    });
    for image in change.before.iter_mut().chain([&mut change.after]) {
        if let (Some(image), Some(facts)) = (image.as_object_mut(), facts.as_object()) {
            image.extend(facts.clone());
        }
    }
    Ok(change)
}
