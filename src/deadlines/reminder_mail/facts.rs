//! What a reminder tells of, read for many deliveries at once.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDate;
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::dates::{Cycle, Notice, Renewal};
use crate::deadline::Kind;
use crate::error::Result;
use crate::ids::{EnvironmentId, PersonId, ProjectId};
use crate::locale::Locale;
use crate::tx::Tx;

/// What a reminder tells of.
#[derive(Debug, Clone)]
pub struct Facts {
    /// Who gets it.
    pub person: PersonId,
    /// The person's name.
    pub name: String,
    /// The person's language.
    pub locale: Locale,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// Its name.
    pub environment: String,
    /// Its project.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// Who rents it to us.
    pub provider: String,
    /// The offer.
    pub tier: String,
    /// Units of the tier in use; of a term to come, those with which it begins.
    pub quantity: Decimal,
    /// The reminder rule that holds, days before.
    pub steps: Vec<i32>,
    /// Who else is told, and as what.
    pub named: Vec<Named>,
    /// Whether the person manages the project.
    pub manages: bool,
    /// Whose mail bounced, where that is why this is sent, and what the server said.
    pub bounced: Option<(String, String)>,
    /// The dates that are due, soonest first; at least one.
    pub dates: Vec<DueDate>,
    /// The present term.
    pub term: TermFacts,
}

/// Somebody named on the environment who can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The person.
    pub id: PersonId,
    /// The name.
    pub name: String,
    /// `owner`, `checker` or `watcher`.
    pub part: String,
}

/// One date that the reminder is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueDate {
    /// What happens on it.
    pub kind: Kind,
    /// The date.
    pub on: NaiveDate,
    /// The day on which the reminder was due.
    pub planned_on: NaiveDate,
    /// The next reminder of it, if nothing happens.
    pub next_on: Option<NaiveDate>,
}

/// The term that the dates belong to.
#[derive(Debug, Clone)]
pub struct TermFacts {
    /// The first day.
    pub starts_on: NaiveDate,
    /// The last day, where there is one.
    pub ends_on: Option<NaiveDate>,
    /// The rhythm.
    pub cycle: Cycle,
    /// The day of the month on which the terms of its chain begin.
    pub anchor_day: u32,
    /// What happens at its end.
    pub renewal: Renewal,
    /// How long before the last day notice must be given.
    pub notice: Option<Notice>,
    /// For one unit and one cycle.
    pub price: Option<Decimal>,
    /// The currency as it is stored.
    pub currency: Option<String>,
}

/// The facts of these deliveries as of `today`; one that has nothing to tell any more is missing.
pub async fn read(tx: &mut Tx, deliveries: &[Uuid], today: NaiveDate) -> Result<BTreeMap<Uuid, Facts>> {
    let (steps, house) = (tx.organisation().reminder_steps.days().to_vec(), tx.organisation().locale);
    let rows = sqlx::query!(
        r#"select v.id, v.person_id as "person_id: PersonId", q.name, q.locale, e.id as "environment_id: EnvironmentId",
                  e.name as environment, e.project_id as "project_id: ProjectId", p.name as project, o.name as provider,
                  ti.name as tier, case when t.starts_on > $2 then t.quantity else e.quantity end as "quantity!: Decimal",
                  coalesce(e.reminder_steps, p.reminder_steps, $3) as "steps!",
                  bp.name as "bounced_name?", root.reply as "bounced_reply?",
                  d.kind as "kind: Kind", d.due_on, r.due_on as planned_on, next.due_on as "next_on?",
                  t.starts_on, t.ends_on, t.cycle_months as "cycle: Cycle", e.anchor_day, t.renewal as "renewal: Renewal", t.notice_months,
                  t.notice_days, t.price as "price: Decimal", t.currency
           from delivery v
           join person q on q.id = v.person_id
           join reminder r on r.delivery_id = case when v.escalates is null then v.id else v.escalates end
           join deadline d on d.id = r.deadline_id and d.due_on = r.deadline_on and d.closed is null
           join environment e on e.id = d.environment_id and e.status = 'active'
           join project p on p.id = e.project_id
           join provider o on o.id = e.provider_id
           join tier ti on ti.id = e.tier_id
           join lateral (
               select * from term t where t.environment_id = e.id and (d.term_id is null or t.id = d.term_id)
               order by t.number desc limit 1) t on true
           left join delivery root on root.id = v.escalates
           left join person bp on bp.id = root.person_id
           left join lateral (
               select min(n.due_on) as due_on from reminder n
               where n.deadline_id = r.deadline_id and n.deadline_on = r.deadline_on and n.person_id = r.person_id
                 and n.withdrawn_at is null and n.due_on > $2) next on true
           where v.id = any ($1) order by v.id, d.due_on, d.kind desc"#,
        deliveries,
        today,
        &steps as &[i32],
    )
    .fetch_all(tx.connection())
    .await?;
    let environments: BTreeSet<EnvironmentId> = rows.iter().map(|row| row.environment_id).collect();
    let projects: BTreeSet<ProjectId> = rows.iter().map(|row| row.project_id).collect();
    let (named, managers) = (named(tx, &environments).await?, managers(tx, &projects).await?);
    let mut all: BTreeMap<Uuid, Facts> = BTreeMap::new();
    for row in rows {
        let date = DueDate { kind: row.kind, on: row.due_on, planned_on: row.planned_on, next_on: row.next_on };
        if let Some(facts) = all.get_mut(&row.id) {
            facts.dates.push(date);
            continue;
        }
        let facts = Facts {
            person: row.person_id,
            name: row.name,
            locale: row.locale.and_then(|tag| tag.parse().ok()).unwrap_or(house),
            environment_id: row.environment_id,
            environment: row.environment,
            project_id: row.project_id,
            project: row.project,
            provider: row.provider,
            tier: row.tier,
            quantity: row.quantity,
            steps: row.steps,
            named: named.get(&row.environment_id).cloned().unwrap_or_default(),
            manages: managers.contains(&(row.project_id, row.person_id)),
            bounced: row.bounced_name.map(|name| (name, row.bounced_reply.unwrap_or_default())),
            dates: vec![date],
            term: TermFacts {
                starts_on: row.starts_on,
                ends_on: row.ends_on,
                cycle: row.cycle.unwrap_or(Cycle::Once),
                anchor_day: row.anchor_day.and_then(|day| u32::try_from(day).ok()).unwrap_or(1),
                renewal: row.renewal,
                notice: Notice::from_columns(row.notice_months, row.notice_days),
                price: row.price,
                currency: row.currency,
            },
        };
        all.insert(row.id, facts);
    }
    Ok(all)
}

/// Who is named on these environments: owner, checker, watchers by name.
async fn named(tx: &mut Tx, environments: &BTreeSet<EnvironmentId>) -> Result<BTreeMap<EnvironmentId, Vec<Named>>> {
    let ids: Vec<i64> = environments.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select n.environment_id as "environment_id!: EnvironmentId", m.id as "id: PersonId", m.name, n.part as "part!"
           from environment_named n join person m on m.id = n.person_id
           where n.environment_id = any ($1)
           order by array_position(array['owner', 'checker', 'watcher'], n.part), m.name, m.id"#,
        &ids,
    )
    .fetch_all(tx.connection())
    .await?;
    let mut named: BTreeMap<EnvironmentId, Vec<Named>> = BTreeMap::new();
    for row in rows {
        named.entry(row.environment_id).or_default().push(Named { id: row.id, name: row.name, part: row.part });
    }
    Ok(named)
}

/// Who manages these projects and can be reached.
async fn managers(tx: &mut Tx, projects: &BTreeSet<ProjectId>) -> Result<BTreeSet<(ProjectId, PersonId)>> {
    let ids: Vec<i64> = projects.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select project_id as "project!: ProjectId", person_id as "person!: PersonId"
           from person_in_charge where project_id = any ($1) and reach = 'manager'"#,
        &ids,
    )
    .fetch_all(tx.connection())
    .await?;
    Ok(rows.into_iter().map(|row| (row.project, row.person)).collect())
}
