//! Which reminders a date would bring if it were set now: what a form tells before it is sent. Nothing is written.

use std::collections::BTreeSet;

use chrono::NaiveDate;

use super::plan::{self, Deadline};
use crate::dates::Steps;
use crate::error::Result;
use crate::ids::{EnvironmentId, PersonId};
use crate::tx::Read;

/// The rule and the people of an environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foresight {
    /// When reminders are due.
    steps: Steps,
    /// Who is told.
    recipients: BTreeSet<PersonId>,
    /// What they are called, by name; empty where nobody can be told.
    pub people: Vec<String>,
}

/// What holds for the dates of an environment.
pub async fn of_environment(read: &mut Read, id: EnvironmentId) -> Result<Foresight> {
    let steps = sqlx::query_scalar!(
        r#"select coalesce(e.reminder_steps, p.reminder_steps) as "steps: Steps"
           from environment e join project p on p.id = e.project_id where e.id = $1"#,
        id.0
    );
    let steps = steps.fetch_one(read.connection()).await?;
    let people = sqlx::query!(
        r#"select p.id as "id: PersonId", p.name from person p
           where p.id in (select person_id from environment_recipient where environment_id = $1) order by p.name, p.id"#,
        id.0
    );
    let people = people.fetch_all(read.connection()).await?;
    Ok(Foresight {
        steps: steps.unwrap_or_else(|| read.organisation().reminder_steps.clone()),
        recipients: people.iter().map(|person| person.id).collect(),
        people: people.into_iter().map(|person| person.name).collect(),
    })
}

impl Foresight {
    /// The days on which each of the people is told of a date that is set today, up to the date itself. `renews_after` is the
    /// last day of a term that then renews itself.
    pub fn days(&self, on: NaiveDate, renews_after: Option<NaiveDate>, today: NaiveDate) -> Vec<NaiveDate> {
        let deadline = Deadline {
            on,
            closed: false,
            renews_after,
            steps: self.steps.clone(),
            recipients: self.recipients.clone(),
        };
        let plan = plan::planned(&deadline, today, &[]);
        let days: BTreeSet<NaiveDate> =
            plan.insert.into_iter().filter(|(key, _)| key.step >= 0).map(|(_, due_on)| due_on).collect();
        days.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        crate::dates::parse_date(text).unwrap()
    }

    #[test]
    fn the_days_are_those_that_are_planned_up_to_the_date() {
        let foresight = |people: &[i64]| Foresight {
            steps: Steps::default(),
            recipients: people.iter().map(|id| PersonId(*id)).collect(),
            people: Vec::new(),
        };
        let told = |today: &str| {
            let days = foresight(&[1, 2]).days(day("2026-04-30"), None, day(today));
            days.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(told("2026-03-16"), ["2026-04-15", "2026-04-23", "2026-04-27", "2026-04-29", "2026-04-30"]);
        assert_eq!(told("2026-04-28"), ["2026-04-28", "2026-04-29", "2026-04-30"], "inside its window at once");
        assert_eq!(told("2026-05-20"), Vec::<String>::new(), "all that is left to tell is that it has passed");
        assert!(foresight(&[]).days(day("2026-04-30"), None, day("2026-03-16")).is_empty());
    }
}
