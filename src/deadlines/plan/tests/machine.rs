//! Check C11: a state machine against an oracle.
//!
//! The oracle knows the facts (day, deadline, when the facts last changed, whether a run just worked) and the list of
//! mails, and nothing of how reminders are stored. It says what a person may expect.

use chrono::TimeDelta;
use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

use super::*;

/// The world outside the planner.
#[derive(Debug, Clone)]
struct World {
    today: NaiveDate,
    deadline: Deadline,
    /// The last day on which the deadline, its rule or its recipients changed.
    changed_on: NaiveDate,
    /// The last event ended with a run that could send.
    ran: bool,
}

#[derive(Debug, Clone)]
enum Event {
    /// Days pass with a run on each.
    Days(u8),
    /// The program is down for so many days.
    Outage(u8),
    /// A run; mail may be down.
    Run { mail_works: bool },
    /// The date moves to about so many days from today: renewed, extended, shortened, or back.
    Move(i64),
    /// Ended, renewed elsewhere, voided.
    Close,
    /// The end is taken back.
    Reopen,
    /// Other steps.
    Rule(Steps),
    /// Other people.
    Recipients(BTreeSet<PersonId>),
}

fn first_day() -> NaiveDate {
    date("2026-01-01")
}

fn rules() -> impl Strategy<Value = Steps> {
    prop::collection::vec(0_i32..40, 1..5).prop_map(|days| days.try_into().unwrap())
}

fn people() -> impl Strategy<Value = BTreeSet<PersonId>> {
    prop::sample::select(vec![vec![], vec![ANNA], vec![BO], vec![ANNA, BO]]).prop_map(BTreeSet::from_iter)
}

impl ReferenceStateMachine for World {
    type State = Self;
    type Transition = Event;

    fn init_state() -> BoxedStrategy<Self> {
        (-90_i64..120, rules(), people())
            .prop_map(|(ahead, steps, recipients)| {
                let today = first_day();
                let on = today + TimeDelta::days(ahead);
                let deadline = Deadline { on, closed: false, renews_after: None, steps, recipients };
                Self { today, deadline, changed_on: today, ran: false }
            })
            .boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Event> {
        prop_oneof![
            6 => (1_u8..10).prop_map(Event::Days),
            3 => (1_u8..90).prop_map(Event::Outage),
            3 => any::<bool>().prop_map(|mail_works| Event::Run { mail_works }),
            2 => prop::sample::select(vec![-70, -20, -1, 0, 1, 7, 14, 30, 60]).prop_map(Event::Move),
            1 => Just(Event::Close),
            2 => Just(Event::Reopen),
            1 => rules().prop_map(Event::Rule),
            1 => people().prop_map(Event::Recipients),
        ]
        .boxed()
    }

    fn apply(mut world: Self, event: &Event) -> Self {
        let before = world.deadline.clone();
        world.ran = false;
        match event {
            Event::Days(days) => {
                world.today = world.today + Days::new(u64::from(*days));
                world.ran = true;
            }
            Event::Outage(days) => world.today = world.today + Days::new(u64::from(*days)),
            Event::Run { mail_works } => world.ran = *mail_works,
            Event::Move(ahead) => {
                // Every tenth day only, so that a date often comes back.
                let days = (world.today - first_day()).num_days() + ahead;
                world.deadline.on = first_day() + TimeDelta::days(days.div_euclid(10) * 10);
            }
            Event::Close => world.deadline.closed = true,
            Event::Reopen => world.deadline.closed = false,
            Event::Rule(steps) => world.deadline.steps = steps.clone(),
            Event::Recipients(recipients) => world.deadline.recipients.clone_from(recipients),
        }
        if world.deadline != before {
            world.changed_on = world.today;
        }
        world
    }
}

struct Job;

impl StateMachineTest for Job {
    type SystemUnderTest = (Desk, NaiveDate);
    type Reference = World;

    fn init_test(world: &World) -> Self::SystemUnderTest {
        let mut desk = Desk { deadline: world.deadline.clone(), reminders: Vec::new(), sent: Vec::new() };
        desk.plan(world.today);
        (desk, world.today)
    }

    fn apply((mut desk, mut today): Self::SystemUnderTest, world: &World, event: Event) -> Self::SystemUnderTest {
        match event {
            Event::Days(days) => {
                for _ in 0..days {
                    today = today + Days::new(1);
                    desk.run(today, true);
                }
            }
            Event::Outage(days) => today = today + Days::new(u64::from(days)),
            Event::Run { mail_works } => desk.run(today, mail_works),
            Event::Move(_) | Event::Close | Event::Reopen | Event::Rule(_) | Event::Recipients(_) => {
                // Every change of a deadline plans in its own transaction.
                desk.deadline = world.deadline.clone();
                desk.plan(today);
            }
        }
        assert_eq!(today, world.today);
        (desk, today)
    }

    fn check_invariants((desk, _): &Self::SystemUnderTest, world: &World) {
        never_twice_and_in_order(desk);
        never_early_and_never_wrong(desk);
        if world.ran {
            never_silent(desk, world);
        }
    }

    /// However it went: when all is over, every obligation has come to exactly one end.
    fn teardown((mut desk, _): Self::SystemUnderTest, world: World) {
        let end = told_until(world.deadline.on).max(world.today) + Days::new(1);
        desk.run(end, true);
        let count = desk.sent.len();
        desk.run(end, true);
        desk.run(end + Days::new(30), true);
        assert_eq!(desk.sent.len(), count, "nothing follows the end");
        for reminder in &desk.reminders {
            let state = state(&desk.deadline, reminder, &desk.of(reminder.person), end);
            assert!(state.is_final(), "{reminder:?} is {state:?}");
            let sends = desk.sent.iter().filter(|sent| sent.key == reminder.key()).count();
            assert_eq!(sends, usize::from(state == State::Settled), "{reminder:?} is {state:?}");
        }
    }
}

/// No key is sent twice, and to one person about one date the steps only go towards and past the date.
fn never_twice_and_in_order(desk: &Desk) {
    for (i, sent) in desk.sent.iter().enumerate() {
        for earlier in &desk.sent[..i] {
            if (earlier.key.on, earlier.key.person) == (sent.key.on, sent.key.person) {
                assert!(earlier.key.step > sent.key.step, "{earlier:?} before {sent:?}");
            }
        }
    }
}

/// No mail goes out before its step, beyond the eight weeks (but to somebody never told), or with other days left than
/// there are.
fn never_early_and_never_wrong(desk: &Desk) {
    for (i, sent) in desk.sent.iter().enumerate() {
        assert!(sent.today >= day(sent.key.on, sent.key.step), "early: {sent:?}");
        assert_eq!(sent.days_left, (sent.key.on - sent.today).num_days());
        let same = |other: &&Sent| (other.key.on, other.key.person) == (sent.key.on, sent.key.person);
        let told = desk.sent[..i].iter().any(|other| same(&other));
        assert!(sent.today <= told_until(sent.key.on) || !told, "beyond the eight weeks: {sent:?}");
    }
}

/// After a run that could send: the last mails went to recipients of an open deadline; whoever is due has been told; and
/// every step that fell due since the facts last changed was sent, or a later one was.
fn never_silent(desk: &Desk, world: &World) {
    let Deadline { on, closed, steps, recipients, .. } = &world.deadline;
    for sent in desk.sent.iter().filter(|sent| sent.today == world.today && world.today > world.changed_on) {
        assert!(!closed && recipients.contains(&sent.key.person) && sent.key.on == *on, "not wanted: {sent:?}");
        let in_rule = due_dates(*on, steps).iter().any(|(step, _)| *step == sent.key.step);
        assert!(in_rule, "not a step of the rule: {sent:?}");
    }
    if *closed || world.today > told_until(*on) {
        return;
    }
    for person in recipients {
        let told = |until: i32| {
            desk.sent.iter().any(|sent| sent.key.person == *person && sent.key.on == *on && sent.key.step <= until)
        };
        assert_eq!(choose(&world.deadline, &desk.of(*person), world.today), None, "a run leaves nothing due");
        for (step, due_on) in due_dates(*on, steps) {
            if due_on <= world.today {
                assert!(told(limits::STEP_DAYS), "{person} was never told, though step {step} is past");
            }
            if due_on <= world.today && due_on > world.changed_on {
                assert!(told(step), "step {step} for {person} was dropped");
            }
        }
    }
}

prop_state_machine! {
    #![proptest_config(Config { cases: 1000, failure_persistence: None, ..Config::default() })]

    // check C11
    #[test]
    fn every_obligation_comes_to_one_end_and_nobody_is_forgotten_or_told_twice(sequential 1..200 => Job);
}
