//! The SQL that plans and gathers for all at once decides what the pure rules of `plan.rs` decide for each.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, NaiveDate};
use rentroll::dates::Steps;
use rentroll::deadlines::plan::{self, Deadline, Reach, Reminder};
use rentroll::deadlines::{delivery, reminder};
use rentroll::ids::PersonId;
use sqlx::PgConnection;

use super::faults::Chance;
use super::{day, sql};
use crate::harness::TestApp;

const ENVIRONMENTS: u64 = 60;

/// A stored reminder, with its id and whether a delivery carries it that is not settled.
#[derive(Debug, Clone)]
struct Stored {
    id: i64,
    rule: Reminder,
    carried: bool,
}

/// As it comes from the table: deadline, id, date, step, person, due date, withdrawn, settled, carried.
type StoredRow = (i64, i64, NaiveDate, i32, i64, NaiveDate, bool, bool, bool);

/// As it comes from the table: id, environment, date, closed, the last day of a term that renews itself, own steps.
type DeadlineRow = (i64, i64, NaiveDate, bool, Option<NaiveDate>, Option<Vec<i32>>);

async fn stored(connection: &mut PgConnection) -> BTreeMap<i64, Vec<Stored>> {
    let rows: Vec<StoredRow> = sqlx::query_as(
        "select r.deadline_id, r.id, r.deadline_on, r.step, r.person_id, r.due_on, r.withdrawn_at is not null,
                coalesce(v.state in ('sent', 'bounced', 'dead'), false), v.state = 'pending' is true
         from reminder r left join delivery v on v.id = r.delivery_id order by r.id",
    )
    .fetch_all(connection)
    .await
    .unwrap();
    let mut all: BTreeMap<i64, Vec<Stored>> = BTreeMap::new();
    for (deadline, id, on, step, person, due_on, withdrawn, settled, carried) in rows {
        let rule = Reminder { on, step, person: PersonId(person), due_on, withdrawn, settled };
        all.entry(deadline).or_default().push(Stored { id, rule, carried });
    }
    all
}

/// What the rules need to know of every deadline, with its environment.
async fn deadlines(connection: &mut PgConnection, house: &Steps) -> Vec<(i64, i64, Deadline)> {
    let rows: Vec<DeadlineRow> = sqlx::query_as(
        "select d.id, d.environment_id, d.due_on, d.closed is not null or e.status <> 'active',
                case when t.renewal = 'automatic' and t.cycle_months is not null then t.ends_on end, e.reminder_steps
         from deadline d join environment e on e.id = d.environment_id join term t on t.id = d.term_id order by d.id",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let named: Vec<(i64, i64)> = sqlx::query_as(
        "select e.id, p.id from environment e
         join person p on p.email is not null and (p.id in (e.owner_id, e.checker_id) or exists (
             select 1 from environment_watcher w where w.environment_id = e.id and w.person_id = p.id and w.ended_at is null))",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let in_charge = |sql: &'static str| sqlx::query_scalar::<_, i64>(sql);
    let managers = in_charge(
        "select u.person_id from membership m join user_account u on u.id = m.user_id join person p on p.id = u.person_id
         where m.role = 'manager' and m.ended_at is null and u.disabled_at is null and p.email is not null",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let administrators = in_charge(
        "select u.person_id from user_account u join person p on p.id = u.person_id
         where u.role = 'administrator' and u.disabled_at is null and p.email is not null",
    )
    .fetch_all(&mut *connection)
    .await
    .unwrap();
    let persons = |ids: &[i64]| ids.iter().copied().map(PersonId).collect::<Vec<_>>();
    rows.into_iter()
        .map(|(id, environment, on, closed, renews_after, steps)| {
            let steps = steps.map_or_else(|| house.clone(), |days| Steps::try_from(days).unwrap());
            let named = named.iter().filter(|(of, _)| *of == environment).map(|(_, person)| PersonId(*person));
            let (recipients, reach) = plan::recipients(named, persons(&managers), persons(&administrators));
            assert_eq!(recipients.is_empty(), reach == Reach::Nobody);
            (id, environment, Deadline { on, closed, renews_after, steps, recipients })
        })
        .collect()
}

/// Environments, people and a past, drawn by lot.
async fn populate(app: &TestApp, chance: &mut Chance, today: NaiveDate) {
    let persons = 6;
    let mut statements = Vec::new();
    for i in 1..=persons {
        let email = if chance.below(4) == 0 { "null".to_owned() } else { format!("'p{i}@palmfan.example'") };
        statements.push(format!("insert into person (name, email, created_at) values ('人 {i}', {email}, now());\n"));
    }
    for (i, role) in [(5, "administrator"), (6, "member")] {
        if chance.below(3) > 0 {
            statements.push(format!(
                "insert into user_account (person_id, role, all_projects, created_at)
                 select id, '{role}', '{role}' = 'administrator', now() from person where name = '人 {i}';\n"
            ));
        }
    }
    statements.push(
        "insert into membership (project_id, user_id, role, created_at)
         select p.id, u.id, 'manager', now() from project p, user_account u where u.role = 'member';\n"
            .to_owned(),
    );
    let somebody = |chance: &mut Chance| match chance.below(6) {
        0 | 1 => "null".to_owned(),
        n => format!("(select id from person where name = '人 {}')", n - 1),
    };
    for i in 0..ENVIRONMENTS {
        let (owner, checker) = (somebody(chance), somebody(chance));
        let steps = match chance.below(4) {
            0 => "null",
            1 => "'{15}'",
            2 => "'{30,14,2}'",
            _ => "'{0}'",
        };
        let status = if chance.below(12) == 0 { "voided" } else { "active" };
        let on = today + Days::new(90) - Days::new(chance.below(180));
        let closed = if chance.below(8) == 0 { "'done'" } else { "null" };
        statements.push(format!(
            "update environment set owner_id = {owner}, checker_id = {checker}, reminder_steps = {steps}, status = '{status}'
             where name = '环境 {i}';
             update deadline set due_on = '{on}', closed = {closed}
             where environment_id = (select id from environment where name = '环境 {i}');\n"
        ));
        if chance.below(4) == 0 {
            // A notice is days before the last day.
            let ends_on = on + Days::new([0, 0, 10, 30][usize::try_from(chance.below(4)).unwrap()]);
            let cycle = if chance.below(4) == 0 { "null" } else { "1" };
            statements.push(format!(
                "update term set renewal = 'automatic', cycle_months = {cycle}, ends_on = '{ends_on}'
                 where environment_id = (select id from environment where name = '环境 {i}');\n"
            ));
        }
        for _ in 0..chance.below(8) {
            let person = 1 + chance.below(persons);
            let step: i64 = [30, 15, 14, 7, 3, 2, 1, 0, -1, -8, -15, -50][usize::try_from(chance.below(12)).unwrap()];
            let planned_for = if chance.below(4) == 0 { on + Days::new(5) } else { on };
            let due_on = if step >= 0 {
                planned_for - Days::new(step.unsigned_abs())
            } else {
                planned_for + Days::new(step.unsigned_abs())
            };
            let due_on = due_on + Days::new(if chance.below(5) == 0 { chance.below(4) } else { 0 });
            let withdrawn = if chance.below(3) == 0 { "now()" } else { "null" };
            let settled = ["sent", "bounced", "dead"][usize::try_from(chance.below(3)).unwrap()];
            let delivery = if chance.below(3) == 0 {
                format!(
                    "with v as (
                         insert into delivery (id, project_id, environment_id, person_id, run_on, next_at, created_at, state, sent_at)
                         select gen_random_uuid(), e.project_id, e.id, p.id, '{today}', now(), now(), '{settled}',
                                case when '{settled}' = 'sent' then now() end
                         from environment e, person p where e.name = '环境 {i}' and p.name = '人 {person}' returning id)"
                )
            } else {
                "with v as (select null::uuid as id)".to_owned()
            };
            statements.push(format!(
                "{delivery}
                 insert into reminder (project_id, deadline_id, deadline_on, step, person_id, due_on, withdrawn_at, delivery_id, created_at)
                 select d.project_id, d.id, '{planned_for}', {step}, p.id, '{due_on}', {withdrawn}, v.id, now()
                 from v, deadline d join environment e on e.id = d.environment_id, person p
                 where e.name = '环境 {i}' and p.name = '人 {person}'
                 on conflict do nothing;\n"
            ));
        }
    }
    sql(app, &statements.concat()).await;
}

async fn compare(seed: u64) {
    println!("seed {seed:#x}");
    let mut chance = Chance(seed);
    let today = day("2026-03-16");
    let app = TestApp::new().await;
    for i in 0..ENVIRONMENTS {
        app.open_environment(&format!("环境 {i}"), "2025-04-01", Some("2026-03-31")).await;
    }
    populate(&app, &mut chance, today).await;
    let mut superuser = app.database.superuser().await;
    let deadlines = deadlines(&mut superuser, &Steps::default()).await;
    let before = stored(&mut superuser).await;

    let mut tx = app.write().await.as_of(Some(today));
    reminder::plan(&mut tx).await.unwrap();
    let again = reminder::plan(&mut tx).await.unwrap();
    assert_eq!((again.armed, again.withdrawn), (0, 0), "planning twice is planning once");
    tx.unchanged();
    tx.commit().await.unwrap();
    let after = stored(&mut superuser).await;
    let (mut changes, mut chosen_count) = (0, 0);
    for (id, environment, deadline) in &deadlines {
        let rules = |all: &BTreeMap<i64, Vec<Stored>>| -> Vec<Reminder> {
            all.get(id).map(|stored| stored.iter().map(|it| it.rule.clone()).collect()).unwrap_or_default()
        };
        let mut expected: BTreeMap<_, Reminder> =
            rules(&before).into_iter().map(|reminder| (reminder.key(), reminder)).collect();
        let plan = plan::planned(deadline, today, &rules(&before));
        changes += plan.insert.len() + plan.withdraw.len() + plan.rearm.len();
        for (key, due_on) in plan.insert {
            let reminder =
                Reminder { on: key.on, step: key.step, person: key.person, due_on, withdrawn: false, settled: false };
            assert!(expected.insert(key, reminder).is_none());
        }
        for key in plan.withdraw {
            expected.get_mut(&key).unwrap().withdrawn = true;
        }
        for (key, due_on) in plan.rearm {
            let reminder = expected.get_mut(&key).unwrap();
            (reminder.withdrawn, reminder.due_on) = (false, due_on);
        }
        let found: BTreeMap<_, Reminder> =
            rules(&after).into_iter().map(|reminder| (reminder.key(), reminder)).collect();
        assert_eq!(found, expected, "environment {environment}: {deadline:?} on {today}");
    }

    let mut tx = app.write().await.as_of(Some(today));
    let waiting = delivery::hold_waiting(&mut tx).await.unwrap();
    delivery::gather(&mut tx, &waiting, true, "test").await.unwrap();
    tx.unchanged();
    tx.commit().await.unwrap();
    let carried: BTreeSet<i64> =
        stored(&mut superuser).await.into_values().flatten().filter(|it| it.carried).map(|it| it.id).collect();
    let mut expected = BTreeSet::new();
    for (id, _, deadline) in &deadlines {
        let all = after.get(id).cloned().unwrap_or_default();
        let people: BTreeSet<PersonId> = all.iter().map(|it| it.rule.person).collect();
        for person in people {
            let own: Vec<Reminder> =
                all.iter().filter(|it| it.rule.person == person).map(|it| it.rule.clone()).collect();
            if let Some(chosen) = plan::choose(deadline, &own, today) {
                chosen_count += 1;
                let is_it =
                    |it: &&Stored| it.rule.person == person && it.rule.step == chosen.step && it.rule.on == deadline.on;
                expected.insert(all.iter().find(is_it).unwrap().id);
            }
        }
    }
    assert_eq!(carried, expected);
    println!("{changes} changes, {chosen_count} chosen");
    assert!(changes > 100 && chosen_count > 10, "the lot drew too little to tell anything");
}

#[tokio::test]
async fn planning_for_all_at_once_is_the_rule_for_each() {
    for seed in [0x1234_5678, 0x9abc_def1, 0x2026_0316] {
        compare(seed).await;
    }
}
