//! One change of many environments: only what is filled in is changed, all of them or none, one entry in the history each.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use crate::access::person::Person;
use crate::actor::{Actor, Permission};
use crate::audit::Change;
use crate::dates::Steps;
use crate::environments::description::{self, Somebody};
use crate::environments::environment::{self, Environment, Priority, Status};
use crate::environments::roll::EnvironmentFilter;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::EnvironmentId;
use crate::labels::Labels;
use crate::limits;
use crate::locale::Message;
use crate::tx::{Read, Tx};

/// The fields of a change of many: an empty one leaves what is there.
pub const FIELDS: &[&str] = &["owner", "checker", "priority", "labels_add", "labels_remove", "steps"];

/// The environments of a change, each with the version that was looked at.
pub type Picks = BTreeMap<EnvironmentId, i32>;

/// What is to be changed of many environments, as people write it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    owner: Option<Somebody>,
    checker: Option<Somebody>,
    priority: Option<Priority>,
    add: Labels,
    remove: BTreeSet<String>,
    steps: Option<Steps>,
}

impl Wanted {
    /// Reads it from the fields of a form.
    ///
    /// # Errors
    /// Everything that is wrong, under its field; a form in which nothing is filled in.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let keys = text("labels_remove").split([';', '；']).map(str::trim).filter(|key| !key.is_empty());
        let wanted = Self {
            owner: filled("owner").and_then(|value| errors.take("owner", value.parse())),
            checker: filled("checker").and_then(|value| errors.take("checker", value.parse())),
            priority: filled("priority").and_then(|value| errors.take("priority", value.parse())),
            add: errors.take("labels_add", text("labels_add").parse()).unwrap_or_default(),
            remove: keys.map(str::to_owned).collect(),
            steps: filled("steps").and_then(|value| errors.take("steps", value.parse())),
        };
        if FIELDS.iter().all(|name| filled(name).is_none()) {
            errors.add("", Message::new("error-bulk-nothing"));
        }
        errors.check()?;
        Ok(wanted)
    }

    /// The same with the people whom it names. Nobody is made here: a slip of the hand would be in charge of all of them.
    async fn resolve(&self, connection: &mut PgConnection) -> Result<Resolved> {
        let (mut people, mut errors) = ([None, None], FieldErrors::new());
        let named = [("owner", &self.owner), ("checker", &self.checker)];
        for (place, (field, somebody)) in people.iter_mut().zip(named) {
            let Some(somebody) = somebody else { continue };
            match description::find(connection, somebody).await {
                Ok(Some(person)) => *place = Some(person),
                Ok(None) => errors.add(field, Message::new("error-bulk-person").with("address", somebody.to_string())),
                Err(Error::Invalid(more)) => more.0.into_iter().for_each(|error| errors.add(field, error.message)),
                Err(error) => return Err(error),
            }
        }
        errors.check()?;
        let [owner, checker] = people;
        Ok(Resolved { owner, checker, wanted: self.clone() })
    }
}

struct Resolved {
    owner: Option<Person>,
    checker: Option<Person>,
    wanted: Wanted,
}

impl Resolved {
    /// What an environment would become.
    fn outcome(&self, actor: &Actor, environment: &Environment) -> Outcome {
        if !actor.may(Permission::Operate, Some(environment.project_id)) {
            return Outcome::Refused(Message::new("bulk-refused-right").with("project", &environment.project));
        }
        match environment.status {
            Status::Active => {}
            Status::Ended => return Outcome::Refused(Message::new("bulk-refused-ended")),
            Status::Voided => return Outcome::Refused(Message::new("error-environment-voided")),
        }
        let labels = match environment.labels.changed(&self.wanted.remove, &self.wanted.add) {
            Ok(labels) => labels,
            Err(message) => return Outcome::Refused(message),
        };
        let mut after = Environment { labels, ..environment.clone() };
        if let Some(owner) = &self.owner {
            (after.owner_id, after.owner) = (Some(owner.id), Some(owner.name.to_string()));
        }
        if let Some(checker) = &self.checker {
            (after.checker_id, after.checker) = (Some(checker.id), Some(checker.name.to_string()));
        }
        if let Some(priority) = self.wanted.priority {
            after.priority = priority;
        }
        if let Some(steps) = &self.wanted.steps {
            after.reminder_steps = Some(steps.clone());
        }
        if after == *environment { Outcome::Same } else { Outcome::Changes(Box::new(after)) }
    }
}

/// What a change of many would do to one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It becomes this.
    Changes(Box<Environment>),
    /// It is so already.
    Same,
    /// It is left out, and why.
    Refused(Message),
}

/// One environment of a change of many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// As it is.
    pub before: Environment,
    /// What would become of it.
    pub outcome: Outcome,
}

/// All environments that match a filter.
///
/// # Errors
/// More than one form can change.
pub async fn matching(read: &mut Read, filter: &EnvironmentFilter) -> Result<Picks> {
    let all = EnvironmentFilter { after: None, ..filter.clone() };
    let most = i64::try_from(limits::BULK_ENVIRONMENTS).unwrap_or(i64::MAX);
    let rows = crate::environments::roll::list(read, &all, most + 1).await?.rows;
    if rows.len() > limits::BULK_ENVIRONMENTS {
        return Err(Error::invalid("", too_many()));
    }
    Ok(rows.into_iter().map(|row| (row.id, 0)).collect())
}

/// More environments than one form can change.
pub fn too_many() -> Message {
    Message::new("error-bulk-many").with("most", limits::BULK_ENVIRONMENTS)
}

/// The chosen environments that the reader may see, by name.
pub async fn chosen(read: &mut Read, picks: &Picks) -> Result<Vec<Environment>> {
    environment::of_ids(read.connection(), &ids(picks)).await
}

fn ids(picks: &Picks) -> Vec<i64> {
    picks.keys().map(|id| id.0).collect()
}

/// What the change would do to each of them; nothing is written.
pub async fn preview(read: &mut Read, actor: &Actor, picks: &Picks, wanted: &Wanted) -> Result<Vec<Line>> {
    let resolved = wanted.resolve(read.connection()).await?;
    let environments = chosen(read, picks).await?;
    let line = |before: Environment| Line { outcome: resolved.outcome(actor, &before), before };
    Ok(environments.into_iter().map(line).collect())
}

/// Changes them all, or none: where one of them is not any more what was looked at, the error names it.
pub async fn apply(tx: &mut Tx, picks: &Picks, wanted: &Wanted) -> Result<()> {
    let (ids, resolved) = (ids(picks), wanted.resolve(tx.connection()).await?);
    // Always in the same order, so that two such changes wait for each other and never both.
    sqlx::query!("select id from environment where id = any($1) order by id for update", &ids)
        .fetch_all(tx.connection())
        .await?;
    let before = environment::of_ids(tx.connection(), &ids).await?;
    if before.len() < ids.len() {
        return Err(Error::NotFound);
    }
    for environment in &before {
        tx.allow(Permission::Operate, Some(environment.project_id))?;
    }
    let late: Vec<&Environment> = before.iter().filter(|it| picks.get(&it.id) != Some(&it.version)).collect();
    if !late.is_empty() {
        let names = late.iter().map(|environment| environment.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(Error::Conflict(Message::new("error-bulk-stale").with("names", names)));
    }
    let mut changed = Vec::new();
    for environment in &before {
        match resolved.outcome(tx.actor(), environment) {
            Outcome::Changes(after) => {
                update(tx, &after).await?;
                changed.push(environment);
            }
            Outcome::Same => {}
            Outcome::Refused(message) => return Err(Error::invalid("", message)),
        }
    }
    if changed.is_empty() {
        tx.unchanged();
    }
    let after = environment::of_ids(tx.connection(), &ids).await?;
    let mut entries = Vec::with_capacity(changed.len());
    for before in changed {
        let after = after.iter().find(|after| after.id == before.id).ok_or(Error::NotFound)?;
        entries.push(Change::of("environment.changed", Some(before), after)?);
    }
    tx.record_changes(entries).await
}

async fn update(tx: &mut Tx, after: &Environment) -> Result<()> {
    sqlx::query!(
        "update environment set owner_id = $2, checker_id = $3, priority = $4, labels = $5, reminder_steps = $6,
                version = version + 1
         where id = $1",
        after.id.0,
        after.owner_id.map(|id| id.0),
        after.checker_id.map(|id| id.0),
        after.priority.as_str(),
        &after.labels as _,
        after.reminder_steps.as_ref().map(Steps::days),
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &'static str)]) -> Result<Wanted, Vec<(String, &'static str)>> {
        let text = |name: &str| pairs.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
        let said =
            |errors: FieldErrors| errors.0.into_iter().map(|it| (it.field.into_owned(), it.message.key)).collect();
        Wanted::parse(&text).map_err(said)
    }

    #[test]
    fn only_what_is_filled_in_is_wanted() {
        let wanted = parse(&[("priority", "core"), ("labels_remove", " team ；use"), ("owner", " ")]).unwrap();
        assert_eq!((wanted.priority, &wanted.owner, &wanted.steps), (Some(Priority::Core), &None, &None));
        assert_eq!(wanted.remove, ["team".to_owned(), "use".to_owned()].into());
    }

    #[test]
    fn an_empty_form_and_wrong_fields_are_refused() {
        assert_eq!(parse(&[("owner", "  ")]).unwrap_err(), [(String::new(), "error-bulk-nothing")]);
        let errors = parse(&[("checker", "x@"), ("labels_add", "team"), ("steps", "soon")]).unwrap_err();
        let expected = [("checker", "error-email"), ("labels_add", "error-label-equals"), ("steps", "error-steps")];
        assert_eq!(errors, expected.map(|(field, key)| (field.to_owned(), key)));
    }
}
