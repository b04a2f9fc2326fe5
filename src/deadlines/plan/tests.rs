use std::collections::BTreeSet;

use super::*;
use crate::dates::parse_date;

mod machine;

const ANNA: PersonId = PersonId(1);
const BO: PersonId = PersonId(2);

fn date(text: &str) -> NaiveDate {
    parse_date(text).unwrap()
}

fn steps(text: &str) -> Steps {
    text.parse().unwrap()
}

/// One deadline with its stored reminders and the mails that went out, as the job would keep them.
#[derive(Debug, Clone)]
struct Desk {
    deadline: Deadline,
    reminders: Vec<Reminder>,
    sent: Vec<Sent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    today: NaiveDate,
    key: Key,
    days_left: i64,
    late: bool,
}

impl Desk {
    fn new(on: &str, rule: &str) -> Self {
        let deadline = Deadline {
            on: date(on),
            closed: false,
            renews_after: None,
            steps: steps(rule),
            recipients: BTreeSet::from([ANNA]),
        };
        Self { deadline, reminders: Vec::new(), sent: Vec::new() }
    }

    fn plan(&mut self, today: NaiveDate) {
        let plan = planned(&self.deadline, today, &self.reminders);
        for (Key { on, step, person }, due_on) in plan.insert {
            self.reminders.push(Reminder { on, step, person, due_on, withdrawn: false, settled: false });
        }
        for key in plan.withdraw {
            self.stored(key).withdrawn = true;
        }
        for (key, due_on) in plan.rearm {
            let reminder = self.stored(key);
            reminder.withdrawn = false;
            reminder.due_on = due_on;
        }
        let again = planned(&self.deadline, today, &self.reminders);
        assert!(again.is_empty(), "planning twice is planning once: {again:?}");
    }

    fn stored(&mut self, key: Key) -> &mut Reminder {
        self.reminders.iter_mut().find(|reminder| reminder.key() == key).expect("a planned key is stored")
    }

    /// The reminders of a person for the present date.
    fn of(&self, person: PersonId) -> Vec<Reminder> {
        let on = self.deadline.on;
        self.reminders.iter().filter(|reminder| reminder.person == person && reminder.on == on).cloned().collect()
    }

    /// One run of the job: plans, then sends where mail works.
    fn run(&mut self, today: NaiveDate, mail_works: bool) {
        self.plan(today);
        for person in [ANNA, BO] {
            if let Some(chosen) = choose(&self.deadline, &self.of(person), today)
                && mail_works
            {
                let key = Key { on: self.deadline.on, step: chosen.step, person };
                self.stored(key).settled = true;
                self.sent.push(Sent { today, key, days_left: chosen.days_left, late: chosen.late });
            }
        }
    }

    fn run_on(&mut self, today: &str) {
        self.run(date(today), true);
    }

    fn run_daily(&mut self, from: &str, until: &str) {
        for today in date(from).iter_days().take_while(|today| *today <= date(until)) {
            self.run(today, true);
        }
    }

    /// What went out: day, step, "late".
    fn mails(&self) -> Vec<(String, i32, bool)> {
        self.sent.iter().map(|sent| (sent.today.to_string(), sent.key.step, sent.late)).collect()
    }

    fn days(&self) -> Vec<String> {
        self.sent.iter().map(|sent| sent.today.to_string()).collect()
    }
}

// case R01
#[test]
fn a_day_without_a_run_is_caught_up_with_the_days_that_are_really_left() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_on("2026-03-15");
    assert_eq!(desk.mails(), []);
    desk.run_on("2026-03-18");
    assert_eq!(desk.mails(), [("2026-03-18".to_owned(), 15, true)]);
    assert_eq!(desk.sent[0].days_left, 13);
}

#[test]
fn what_renews_itself_is_told_up_to_its_last_day_and_never_as_overdue() {
    let mut desk = Desk::new("2026-03-31", "15;1");
    desk.deadline.renews_after = Some(date("2026-03-31"));
    desk.run_daily("2026-03-01", "2026-04-30");
    assert_eq!(desk.days(), ["2026-03-16", "2026-03-30"]);
    let mut down = Desk::new("2026-03-31", "15;1");
    down.deadline.renews_after = Some(date("2026-03-31"));
    down.plan(date("2026-03-01"));
    down.run_daily("2026-04-07", "2026-04-30");
    assert_eq!(down.days(), Vec::<String>::new(), "nothing is caught up after the end");
    let mut notice = Desk::new("2026-03-10", "3");
    notice.deadline.renews_after = Some(date("2026-03-31"));
    notice.run_daily("2026-03-01", "2026-04-30");
    assert_eq!(notice.days(), ["2026-03-07", "2026-03-11", "2026-03-18", "2026-03-25"]);
}

// case R02, case R30
#[test]
fn the_same_day_again_sends_nothing() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_on("2026-03-01");
    for _ in 0..2880 {
        desk.run_on("2026-03-16");
    }
    assert_eq!(desk.mails(), [("2026-03-16".to_owned(), 15, false)]);
}

// case R04
#[test]
fn a_moved_date_gets_its_own_mail_and_moving_it_back_repeats_nothing() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_daily("2026-03-01", "2026-03-17");
    desk.deadline.on = date("2026-06-30");
    // Before the planner has run, the reminders of the old date are already nobody's.
    assert_eq!(choose(&desk.deadline, &desk.reminders, date("2026-04-01")), None);
    desk.run_daily("2026-03-18", "2026-06-15");
    assert_eq!(desk.days(), ["2026-03-16", "2026-06-15"]);
    desk.deadline.on = date("2026-03-31");
    desk.run_on("2026-03-20");
    assert_eq!(desk.days(), ["2026-03-16", "2026-06-15"]);
}

#[test]
fn a_step_missed_while_the_date_was_elsewhere_is_armed_again() {
    let mut desk = Desk::new("2026-03-31", "15;7;3");
    desk.run_daily("2026-03-01", "2026-03-20");
    desk.deadline.on = date("2027-03-31");
    desk.run_daily("2026-03-21", "2026-03-25");
    desk.deadline.on = date("2026-03-31");
    desk.run_on("2026-03-26");
    desk.run_on("2026-03-27");
    // Step 7 was due on the 24th, when the date was another one: told on the day of the change, and not called late.
    assert_eq!(desk.mails(), [("2026-03-16".to_owned(), 15, false), ("2026-03-26".to_owned(), 7, false)]);
}

// case R05
#[test]
fn nothing_follows_a_renewal_until_the_new_window() {
    let mut desk = Desk::new("2026-05-06", "15");
    desk.run_daily("2026-04-01", "2026-05-07");
    assert_eq!(desk.days(), ["2026-04-21", "2026-05-07"]);
    desk.deadline.on = date("2027-05-06");
    desk.run_daily("2026-05-08", "2027-04-21");
    assert_eq!(desk.days(), ["2026-04-21", "2026-05-07", "2027-04-21"]);
}

// case R16
#[test]
fn after_the_date_it_is_told_once_and_then_weekly_for_eight_weeks() {
    let mut desk = Desk::new("2026-01-31", "0");
    desk.run_daily("2026-01-30", "2026-12-31");
    assert_eq!(
        desk.days(),
        [
            "2026-01-31",
            "2026-02-01",
            "2026-02-08",
            "2026-02-15",
            "2026-02-22",
            "2026-03-01",
            "2026-03-08",
            "2026-03-15",
            "2026-03-22"
        ]
    );
    assert_eq!(desk.sent[2].days_left, -8);
}

// case R16 (until closed)
#[test]
fn closing_ends_the_overdue_mails() {
    let mut desk = Desk::new("2026-01-31", "0");
    desk.run_daily("2026-01-31", "2026-02-09");
    desk.deadline.closed = true;
    desk.run_daily("2026-02-10", "2026-12-31");
    assert_eq!(desk.days(), ["2026-01-31", "2026-02-01", "2026-02-08"]);
    assert!(desk.reminders.iter().all(|reminder| reminder.settled || reminder.withdrawn));
}

// case R17
#[test]
fn four_steps_are_four_mails_on_four_dates() {
    let mut desk = Desk::new("2026-03-31", "15;7;1;0");
    desk.run_daily("2026-01-01", "2026-03-31");
    assert_eq!(desk.days(), ["2026-03-16", "2026-03-24", "2026-03-30", "2026-03-31"]);
    assert!(desk.sent.iter().all(|sent| !sent.late && sent.days_left == i64::from(sent.key.step)));
}

// case R27
#[test]
fn what_ended_long_ago_is_never_told() {
    let mut desk = Desk::new("2024-01-31", "15;0");
    desk.run_daily("2025-09-22", "2025-10-22");
    assert_eq!(desk.mails(), []);
    assert!(desk.reminders.is_empty());
    let mut closed = Desk::new("2026-03-31", "15;0");
    closed.deadline.closed = true;
    closed.run_daily("2026-03-01", "2026-06-30");
    assert_eq!(closed.mails(), []);
}

// case R28
#[test]
fn a_closed_deadline_is_silent_and_an_open_one_again_is_told() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_on("2026-03-01");
    desk.deadline.closed = true;
    // The job may run before the planner has seen the change: choosing looks at the deadline itself.
    assert_eq!(choose(&desk.deadline, &desk.of(ANNA), date("2026-03-16")), None);
    desk.run_daily("2026-03-16", "2026-03-20");
    desk.deadline.closed = false;
    desk.run_daily("2026-03-21", "2026-03-31");
    assert_eq!(desk.mails(), [("2026-03-21".to_owned(), 15, false)]);
    assert_eq!(desk.sent[0].days_left, 10);
}

// case R29
#[test]
fn one_step_is_one_mail_however_long_the_window() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_daily("2026-03-01", "2026-03-31");
    assert_eq!(desk.days(), ["2026-03-16"]);
}

// case R32
#[test]
fn a_changed_rule_moves_what_is_still_to_come_and_sends_no_burst() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_daily("2026-03-01", "2026-03-20");
    desk.deadline.steps = steps("20;13;10");
    desk.run_daily("2026-03-20", "2026-03-31");
    assert_eq!(desk.days(), ["2026-03-16", "2026-03-21"]);
    assert_eq!(next_due(&desk.deadline, &desk.of(ANNA), date("2026-03-31")), Some((-1, date("2026-04-01"))));
}

// case R42
#[test]
fn fifteen_days_after_the_date_nobody_reads_fifteen_days_left() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_on("2026-03-01");
    desk.run_on("2026-04-15");
    assert_eq!(desk.sent[0].days_left, -15);
    assert_eq!(desk.sent[0].key.step, -15);
    assert_eq!(desk.sent.len(), 1);
}

#[test]
fn only_the_latest_due_step_is_sent_and_the_others_are_superseded() {
    let mut desk = Desk::new("2026-03-31", "15;7;3;1;0");
    desk.run_on("2026-03-01");
    let today = date("2026-03-29");
    let chosen = choose(&desk.deadline, &desk.of(ANNA), today).unwrap();
    assert_eq!((chosen.step, chosen.late, chosen.superseded), (3, true, vec![15, 7]));
    desk.run(today, true);
    let states: Vec<(i32, State)> = desk
        .reminders
        .iter()
        .filter(|reminder| reminder.step >= 0)
        .map(|reminder| (reminder.step, state(&desk.deadline, reminder, &desk.reminders, today)))
        .collect();
    assert_eq!(
        states,
        [
            (15, State::Superseded),
            (7, State::Superseded),
            (3, State::Settled),
            (1, State::Waiting),
            (0, State::Waiting)
        ]
    );
    assert_eq!(next_due(&desk.deadline, &desk.of(ANNA), today), Some((1, date("2026-03-30"))));
}

#[test]
fn a_deadline_made_inside_its_window_is_told_at_once_and_not_called_late() {
    let mut desk = Desk::new("2026-03-31", "30;15;7");
    desk.run_daily("2026-03-21", "2026-03-25");
    assert_eq!(desk.mails(), [("2026-03-21".to_owned(), 15, false), ("2026-03-24".to_owned(), 7, false)]);
    assert_eq!(desk.sent[0].days_left, 10);
}

#[test]
fn whoever_becomes_a_recipient_later_is_told_at_once_and_whoever_leaves_is_not_told_again() {
    let mut desk = Desk::new("2026-03-31", "15;7");
    desk.run_daily("2026-03-16", "2026-03-20");
    desk.deadline.recipients = BTreeSet::from([BO]);
    desk.run_daily("2026-03-21", "2026-03-31");
    let told: Vec<(PersonId, i32)> = desk.sent.iter().map(|sent| (sent.key.person, sent.key.step)).collect();
    assert_eq!(told, [(ANNA, 15), (BO, 15), (BO, 7)]);
}

#[test]
fn a_mail_that_went_out_while_it_was_being_withdrawn_is_not_sent_again() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_on("2026-03-01");
    desk.deadline.closed = true;
    desk.plan(date("2026-03-16"));
    desk.reminders[0].settled = true;
    desk.deadline.closed = false;
    desk.run_daily("2026-03-16", "2026-03-31");
    assert_eq!(desk.mails(), []);
}

// A run of a later day has told that day's step alone: what falls due before it is told all the same, each step once.
#[test]
fn a_run_as_of_a_later_day_silences_no_earlier_step() {
    let mut desk = Desk::new("2026-03-31", "15;1");
    desk.run_on("2026-03-01");
    desk.run_on("2026-04-22");
    desk.run_daily("2026-03-16", "2026-04-30");
    assert_eq!(
        desk.days(),
        ["2026-04-22", "2026-03-16", "2026-03-30", "2026-04-01", "2026-04-08", "2026-04-15", "2026-04-29"]
    );
    assert!(desk.sent.iter().all(|sent| !sent.late && sent.days_left == i64::from(sent.key.step)));
}

#[test]
fn a_run_as_of_an_earlier_day_repeats_nothing() {
    let mut desk = Desk::new("2026-03-31", "15;1");
    desk.run_daily("2026-03-01", "2026-03-30");
    desk.run_daily("2026-03-01", "2026-03-30");
    assert_eq!(desk.days(), ["2026-03-16", "2026-03-30"]);
}

// The date was made known by a run of a later day: what is past on the true day is caught up as for any new date.
#[test]
fn what_a_run_as_of_a_later_day_made_is_caught_up_on_the_true_day() {
    let mut desk = Desk::new("2026-03-31", "15;1");
    desk.run_on("2026-04-23");
    desk.run_daily("2026-03-20", "2026-04-02");
    assert_eq!(desk.days(), ["2026-04-23", "2026-03-20", "2026-03-30", "2026-04-01"]);
}

#[test]
fn after_a_long_outage_somebody_never_told_gets_one_last_mail_and_others_none() {
    let mut desk = Desk::new("2026-03-31", "15");
    desk.run_on("2026-03-01");
    let mut told = desk.clone();
    told.run_on("2026-03-16");
    for desk in [&mut desk, &mut told] {
        desk.run_daily("2026-06-15", "2026-06-30");
    }
    assert_eq!(desk.days(), ["2026-06-15"]);
    assert_eq!(told.days(), ["2026-03-16"]);
}

// case R09, case R25
#[test]
fn the_send_hour_is_an_hour_of_the_organisations_clocks() {
    let berlin: Zone = "Europe/Berlin".parse().unwrap();
    let at = |text: &str| is_time(text.parse().unwrap(), berlin, "09:00:00".parse().unwrap());
    assert!(!at("2026-10-24T06:59:59Z") && at("2026-10-24T07:00:00Z"));
    assert!(!at("2026-10-25T07:59:59Z") && at("2026-10-25T08:00:00Z"));
    assert!(at("2026-10-25T22:59:59Z"), "until midnight");
    assert!(!at("2026-10-25T23:00:00Z"), "the next day has begun, its hour has not");
}

#[test]
fn the_search_for_somebody_to_tell_goes_up_step_by_step() {
    let nobody = || std::iter::empty::<PersonId>();
    assert_eq!(recipients([ANNA, BO, ANNA], [PersonId(3)], nobody()), (BTreeSet::from([ANNA, BO]), Reach::Named));
    assert_eq!(recipients(nobody(), [BO], [ANNA]), (BTreeSet::from([BO]), Reach::Managers));
    assert_eq!(recipients(nobody(), nobody(), [ANNA]), (BTreeSet::from([ANNA]), Reach::Administrators));
    assert_eq!(recipients(nobody(), nobody(), nobody()).1, Reach::Nobody);
    assert!(Reach::Managers.is_alarm() && !Reach::Named.is_alarm());
}
