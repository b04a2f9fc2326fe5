//! Which reminders exist, and which one is sent now. Values in, decisions out; no SQL, no clock.
//!
//! The rules (`docs/model.md` 7):
//!
//! * A reminder is one message due to one person: the key is (deadline, its date, step, person). A **step** is days
//!   before the date; after it, negative: once on the day after (-1), then weekly (-8, -15, …), eight weeks at most.
//! * [`planned`] is run for every deadline whenever it may have changed, and again by every run of the job: it says
//!   what must be inserted, withdrawn and armed again so that the stored reminders are the right ones. Twice is once.
//! * [`choose`] says which reminder of one person is sent today: the latest due step only, and only if no later one that was
//!   due is settled. What was due before it is superseded; nothing stores that. A step of a day to come, which a run with a
//!   pretended date has told, takes nobody's place before its day.
//! * A deadline that is made or moved **inside** its window is told at once: the latest step already past is planned with
//!   the day of planning as its due date, so it is not called late. A step that falls due during downtime keeps its own
//!   due date and is called late.
//! * A term that renews itself is told up to its last day: what comes after it is the next term, which the job `renewals` books.
//! * Nothing goes out for a closed deadline (ended, voided, renewed, decided and done), and nothing after the eight weeks,
//!   except to somebody who never got a single reminder of a planned date: then the last one, once.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Utc};

use crate::dates::{Steps, Zone, days_left, local_instant, today};
use crate::ids::PersonId;
use crate::limits;

/// What the planner has to know of a deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    /// The date itself.
    pub on: NaiveDate,
    /// Nothing has to be done any more: ended, voided, renewed, done.
    pub closed: bool,
    /// The last day of its term, where the term then renews itself: after it there is nothing to tell, whether the next term is
    /// booked yet or not.
    pub renews_after: Option<NaiveDate>,
    /// The rule that holds for it.
    pub steps: Steps,
    /// Who is told.
    pub recipients: BTreeSet<PersonId>,
}

impl Deadline {
    /// Whether there can still be something to tell on this day.
    fn is_told_on(&self, day: NaiveDate) -> bool {
        !self.closed && self.renews_after.is_none_or(|last| day <= last)
    }
}

/// A stored reminder of one deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// The deadline's date that it was planned for; part of the key.
    pub on: NaiveDate,
    /// Days before the date, negative after it; part of the key.
    pub step: i32,
    /// To whom; part of the key.
    pub person: PersonId,
    /// The day from which it may be sent.
    pub due_on: NaiveDate,
    /// It is not wanted any more.
    pub withdrawn: bool,
    /// It was delivered, or given up for good: it is never sent again.
    pub settled: bool,
}

/// The key of a reminder within its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The deadline's date.
    pub on: NaiveDate,
    /// Days before the date, negative after it.
    pub step: i32,
    /// To whom.
    pub person: PersonId,
}

impl Reminder {
    /// Its key.
    pub fn key(&self) -> Key {
        Key { on: self.on, step: self.step, person: self.person }
    }
}

/// What has to change in the stored reminders of a deadline. All three empty: nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// New reminders with the day from which each may be sent.
    pub insert: Vec<(Key, NaiveDate)>,
    /// Reminders that are not wanted any more and were not settled.
    pub withdraw: Vec<Key>,
    /// Withdrawn reminders that are wanted again, with the day from which each may be sent (`withdrawn_at = null`).
    pub rearm: Vec<(Key, NaiveDate)>,
}

impl Plan {
    /// Whether nothing has to change.
    pub fn is_empty(&self) -> bool {
        self.insert.is_empty() && self.withdraw.is_empty() && self.rearm.is_empty()
    }
}

/// The last day of the eight weeks in which an overdue deadline is still told.
pub fn told_until(deadline_on: NaiveDate) -> NaiveDate {
    day(deadline_on, -7 * limits::OVERDUE_WEEKS)
}

/// All steps of a deadline with their own due dates, the earliest first: those of the rule, then the overdue ones.
pub fn due_dates(deadline_on: NaiveDate, steps: &Steps) -> Vec<(i32, NaiveDate)> {
    let overdue = (0..limits::OVERDUE_WEEKS).map(|week| -1 - 7 * week);
    steps.days().iter().copied().chain(overdue).map(|step| (step, day(deadline_on, step))).collect()
}

fn day(deadline_on: NaiveDate, step: i32) -> NaiveDate {
    let days = Days::new(step.unsigned_abs().into());
    if step >= 0 { deadline_on - days } else { deadline_on + days }
}

/// Says what must change so that the stored reminders (`existing`, of this deadline, of every date and person) are those
/// that the deadline asks for as of `today`.
///
/// Steps still to come exist for every recipient. Of the steps already past, only the latest is added, and only for
/// somebody who has been told nothing of this date yet, so that a changed rule does not send a burst of mail. A withdrawn
/// one (date moved away and back, end taken back) is armed again. When the eight weeks are over, nothing is added.
pub fn planned(deadline: &Deadline, today: NaiveDate, existing: &[Reminder]) -> Plan {
    let mut wanted = due_dates(deadline.on, &deadline.steps);
    wanted.retain(|(_, due_on)| deadline.is_told_on((*due_on).max(today)));
    let by_key: BTreeMap<Key, &Reminder> = existing.iter().map(|reminder| (reminder.key(), reminder)).collect();
    let is_wanted = |key: &Key| {
        key.on == deadline.on
            && deadline.recipients.contains(&key.person)
            && wanted.iter().any(|(step, _)| *step == key.step)
    };
    let mut plan = Plan {
        withdraw: by_key
            .values()
            .filter(|reminder| !reminder.withdrawn && !reminder.settled)
            .map(|reminder| reminder.key())
            .filter(|key| !is_wanted(key))
            .collect(),
        ..Plan::default()
    };
    if today > told_until(deadline.on) {
        return plan;
    }
    let latest_past = wanted.iter().filter(|(_, due_on)| *due_on < today).map(|(step, _)| *step).min();
    for &person in &deadline.recipients {
        let of_this = |reminder: &Reminder| reminder.on == deadline.on && reminder.person == person;
        let told = by_key.values().any(|reminder| of_this(reminder) && is_told(reminder, today));
        for &(step, due_on) in &wanted {
            let key = Key { on: deadline.on, step, person };
            let stored = by_key.get(&key);
            let ahead = due_on >= today;
            let catch_up = latest_past == Some(step);
            match stored {
                None if ahead || (catch_up && !told) => plan.insert.push((key, due_on.max(today))),
                Some(reminder) if reminder.withdrawn && !reminder.settled && (ahead || catch_up) => {
                    plan.rearm.push((key, due_on.max(today)));
                }
                _ => {}
            }
        }
    }
    plan
}

/// The reminder that one person gets today for one deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Its step.
    pub step: i32,
    /// The day on which it should have gone out.
    pub due_on: NaiveDate,
    /// Days to the date as of today, negative after it: what the mail says. Not the step.
    pub days_left: i64,
    /// It goes out after the day on which it was due, and says so.
    pub late: bool,
    /// Steps that were due before it and will never be sent.
    pub superseded: Vec<i32>,
}

/// Chooses among the reminders of one person for one deadline (those of another date are ignored) the one to send today.
pub fn choose(deadline: &Deadline, reminders: &[Reminder], today: NaiveDate) -> Option<Chosen> {
    let mut due = reminders
        .iter()
        .filter(|reminder| state(deadline, reminder, reminders, today) == State::Due)
        .collect::<Vec<_>>();
    due.sort_by_key(|reminder| reminder.step);
    let latest = due.first()?;
    let superseded = reminders
        .iter()
        .filter(|reminder| reminder.person == latest.person)
        .filter(|reminder| state(deadline, reminder, reminders, today) == State::Superseded)
        .map(|reminder| reminder.step)
        .collect();
    Some(Chosen {
        step: latest.step,
        due_on: latest.due_on,
        days_left: days_left(today, deadline.on),
        late: today > latest.due_on,
        superseded,
    })
}

/// The next reminder of this person after today, as the foot of a mail announces it.
pub fn next_due(deadline: &Deadline, reminders: &[Reminder], today: NaiveDate) -> Option<(i32, NaiveDate)> {
    reminders
        .iter()
        .filter(|reminder| reminder.due_on > today)
        .filter(|reminder| state(deadline, reminder, reminders, today) == State::Waiting)
        .map(|reminder| (reminder.step, reminder.due_on))
        .min_by_key(|&(_, due_on)| due_on)
}

/// Where a reminder stands. Never stored: it follows from the deadline, the person's reminders and the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its day has not come.
    Waiting,
    /// It is to be sent now.
    Due,
    /// Delivered, or given up for good.
    Settled,
    /// A later step has taken its place.
    Superseded,
    /// Not wanted any more: the date, the rule or the recipients changed, or the deadline is closed.
    Withdrawn,
    /// Its eight weeks are over, and the person had been told.
    Lapsed,
}

impl State {
    /// Whether nothing more will happen to it while the deadline stays as it is.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Due)
    }
}

/// Whether it was settled, and its day has come: a run with a pretended date ahead has told nothing of the days before it.
fn is_told(reminder: &Reminder, today: NaiveDate) -> bool {
    reminder.settled && reminder.due_on <= today
}

/// Where one reminder stands among all those of the same person and deadline.
pub fn state(deadline: &Deadline, reminder: &Reminder, all: &[Reminder], today: NaiveDate) -> State {
    if reminder.settled {
        return State::Settled;
    }
    let stands = |reminder: &Reminder| {
        reminder.on == deadline.on && deadline.is_told_on(today) && deadline.recipients.contains(&reminder.person)
    };
    if reminder.withdrawn || !stands(reminder) {
        return State::Withdrawn;
    }
    if reminder.due_on > today {
        return State::Waiting;
    }
    let others = || all.iter().filter(|other| other.on == reminder.on && other.person == reminder.person);
    let takes_its_place = |other: &Reminder| is_told(other, today) || (!other.withdrawn && other.due_on <= today);
    if others().any(|other| other.step < reminder.step && takes_its_place(other)) {
        State::Superseded
    } else if today > told_until(deadline.on) && others().any(|other| is_told(other, today)) {
        State::Lapsed
    } else {
        State::Due
    }
}

/// Whether the day's reminders may go out: the organisation's clocks have reached the time of sending.
pub fn is_time(now: DateTime<Utc>, zone: Zone, send_at: NaiveTime) -> bool {
    now >= due_at(today(now, zone), zone, send_at)
}

/// The instant from which a reminder of that day may be sent.
pub fn due_at(due_on: NaiveDate, zone: Zone, send_at: NaiveTime) -> DateTime<Utc> {
    local_instant(due_on, send_at, zone)
}

/// How far the search for somebody to tell had to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Those named on the record.
    Named,
    /// Nobody is named who can be reached: the project's managers.
    Managers,
    /// Not even managers: the administrators.
    Administrators,
    /// Nobody at all.
    Nobody,
}

impl Reach {
    /// Whether the overview shows a red line: nobody named on the record is told.
    pub const fn is_alarm(self) -> bool {
        !matches!(self, Self::Named)
    }
}

/// Who is told: everybody named on the record (owner, checker, watchers; the same person once), else the project's
/// managers, else the administrators. Each list holds those who can be reached.
pub fn recipients(
    named: impl IntoIterator<Item = PersonId>,
    managers: impl IntoIterator<Item = PersonId>,
    administrators: impl IntoIterator<Item = PersonId>,
) -> (BTreeSet<PersonId>, Reach) {
    let named: BTreeSet<PersonId> = named.into_iter().collect();
    if !named.is_empty() {
        return (named, Reach::Named);
    }
    let managers: BTreeSet<PersonId> = managers.into_iter().collect();
    if !managers.is_empty() {
        return (managers, Reach::Managers);
    }
    let administrators: BTreeSet<PersonId> = administrators.into_iter().collect();
    let reach = if administrators.is_empty() { Reach::Nobody } else { Reach::Administrators };
    (administrators, reach)
}

#[cfg(test)]
mod tests;
