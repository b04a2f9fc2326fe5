//! A change of an environment's quantity, with the day, before, after, who and why.
//!
//! The rule (`docs/model.md` 6): a term's quantity is what it begins with, and the scale history tells the rest. The
//! environment's quantity is what is in use now: that of the last change within the present term, else the term's. Changes are
//! told in order and not ahead of their day. A change also counts for the terms that were written ahead with the quantity that
//! it replaces; one with another quantity tells that itself, and [`follow`] brings it into use on its first day.

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Change;
use crate::environments::environment::{self, Environment, Status};
use crate::environments::term::{self, Term};
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

/// The quantity at the end of a term, with which a renewal goes on: that of the last change within it, else the one that it
/// began with. What came after its last day belongs to the next term, however late that one is written.
pub async fn at_end(connection: &mut PgConnection, term: &Term) -> Result<Decimal> {
    last_of(connection, term, term.ends_on).await
}

/// The quantity in use, where this is the present term: what changed after its last day counts as well, as long as nobody has
/// written the next one.
pub(super) async fn in_use(connection: &mut PgConnection, present: &Term) -> Result<Decimal> {
    last_of(connection, present, None).await
}

/// The quantity after the last change since a term began, up to a day; without a change the one that it began with.
async fn last_of(connection: &mut PgConnection, term: &Term, until: Option<NaiveDate>) -> Result<Decimal> {
    let changed = sqlx::query_scalar!(
        r#"select quantity_after as "quantity: Decimal" from scale_change
           where environment_id = $1 and changes_on >= $2 and ($3::date is null or changes_on <= $3)
           order by changes_on desc, id desc limit 1"#,
        term.environment_id.0,
        term.starts_on,
        until
    )
    .fetch_optional(connection)
    .await?;
    Ok(changed.unwrap_or(term.quantity))
}

/// The terms into which a change is carried on: those that begin after its day and were written with the quantity that it
/// replaces, up to the first that says another. `terms` are the whole chain, first to last.
fn carried_into(terms: &[Term], changes_on: NaiveDate, replaced: Decimal) -> impl Iterator<Item = &Term> {
    terms.iter().filter(move |term| term.starts_on > changes_on).take_while(move |term| term.quantity == replaced)
}

/// Records a change of quantity.
pub async fn record(tx: &mut Tx, id: EnvironmentId, new: &NewScaleChange) -> Result<Environment> {
    let before = environment::get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(before.project_id))?;
    // A term that was written ahead may have begun since the job last ran: its quantity is the one that changes.
    follow(tx, id).await?;
    let before = environment::get(tx.connection(), id).await?;
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
    let terms = term::of_environment(tx.connection(), id).await?;
    for term in carried_into(&terms, new.changes_on, before.quantity) {
        term::resize(tx, term, new.quantity).await?;
    }
    term::follow(tx, id).await?;
    let after = environment::get(tx.connection(), id).await?;
    let change = change("scale.changed", &before, &after, &json!({ "changes_on": new.changes_on }))?;
    tx.record_change(change).await?;
    Ok(after)
}

/// The environments in use whose quantity is not the one that their present term says: a term that was written ahead has begun.
pub async fn due(connection: &mut PgConnection, today: NaiveDate) -> Result<Vec<EnvironmentId>> {
    // The present term is the one that `term::present` finds: terms do not overlap, so it is the last that began, else the first.
    let due = sqlx::query_scalar!(
        r#"select e.id as "id: EnvironmentId" from environment e
           join lateral (select starts_on, quantity from term where environment_id = e.id
                         order by starts_on <= $1 desc, abs(starts_on - $1) limit 1) t on true
           where e.status = 'active' and e.quantity <> coalesce(
               (select quantity_after from scale_change where environment_id = e.id and changes_on >= t.starts_on
                order by changes_on desc, id desc limit 1), t.quantity)
           order by e.id"#,
        today
    )
    .fetch_all(connection)
    .await?;
    Ok(due)
}

/// Brings the quantity in use to the one that the present term says; nothing is recorded where it is that already.
pub async fn follow(tx: &mut Tx, id: EnvironmentId) -> Result<()> {
    let before = environment::lock(tx, id).await?;
    let terms = term::of_environment(tx.connection(), id).await?;
    let Some(present) = term::present(&terms, tx.true_day()).filter(|_| before.status == Status::Active) else {
        tx.unchanged();
        return Ok(());
    };
    let quantity = in_use(tx.connection(), present).await?;
    if quantity == before.quantity {
        tx.unchanged();
        return Ok(());
    }
    sqlx::query!("update environment set quantity = $2 where id = $1", id.0, quantity as _)
        .execute(tx.connection())
        .await?;
    let after = environment::get(tx.connection(), id).await?;
    let change = change("scale.followed", &before, &after, &json!({ "starts_on": present.starts_on }))?;
    tx.record_change(change).await
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
fn change(action: &'static str, before: &Environment, after: &Environment, facts: &Value) -> Result<Change> {
    let mut change = Change::of(action, Some(before), after)?;
    let numbers = json!({ "quantity_before": before.quantity, "quantity_after": after.quantity });
    for image in change.before.iter_mut().chain([&mut change.after]) {
        for more in [facts, &numbers] {
            if let (Some(image), Some(more)) = (image.as_object_mut(), more.as_object()) {
                image.extend(more.clone());
            }
        }
    }
    Ok(change)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::dates::{Cycle, Renewal, parse_date};
    use crate::ids::{ProjectId, TermId};

    fn term(starts_on: &str, quantity: i64) -> Term {
        Term {
            id: TermId(1),
            project_id: ProjectId(1),
            environment_id: EnvironmentId(1),
            environment: String::new(),
            number: 1,
            starts_on: parse_date(starts_on).unwrap(),
            ends_on: None,
            cycle: Cycle::MONTHLY,
            renewal: Renewal::OnRequest,
            notice_months: 0,
            notice_days: 0,
            quantity: quantity.into(),
            price: None,
            currency: None,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_change_goes_on_into_later_terms_up_to_the_first_that_says_another_quantity() {
        let terms = [
            term("2026-01-01", 4),
            term("2026-02-01", 4),
            term("2026-03-01", 4),
            term("2026-04-01", 8),
            term("2026-05-01", 4),
        ];
        let into = |day: &str, replaced: i64| -> Vec<String> {
            let day = parse_date(day).unwrap();
            carried_into(&terms, day, replaced.into()).map(|term| term.starts_on.to_string()).collect()
        };
        assert_eq!(into("2026-01-20", 4), ["2026-02-01", "2026-03-01"]);
        assert_eq!(into("2026-02-01", 4), ["2026-03-01"], "the term of the day itself keeps what it began with");
        assert_eq!(into("2026-01-20", 6), Vec::<String>::new());
        assert_eq!(into("2026-05-09", 4), Vec::<String>::new());
    }
}
