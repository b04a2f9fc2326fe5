//! What time it is: the system's or a fixed one that a test moves.
//!
//! The only place that asks the system. Everything else takes the time from its `Tx` or from the [`Clock`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Duration, SubsecRound, Utc};

/// Where the time comes from. Clones of a fixed clock share one time.
#[derive(Debug, Clone, Default)]
pub enum Clock {
    /// The machine's own clock.
    #[default]
    System,
    /// A time that stands still until it is moved.
    Fixed(Arc<Mutex<DateTime<Utc>>>),
}

impl Clock {
    /// A clock that stands at `instant`.
    pub fn fixed(instant: DateTime<Utc>) -> Self {
        Self::Fixed(Arc::new(Mutex::new(to_the_microsecond(instant))))
    }

    /// The current instant, to the microsecond: what PostgreSQL keeps, so that a stored time equals the one given.
    pub fn now(&self) -> DateTime<Utc> {
        match self {
            Self::System => to_the_microsecond(system_now()),
            Self::Fixed(time) => *lock(time),
        }
    }

    /// Moves a fixed clock on (or back). The system's clock is not ours to move.
    ///
    /// # Panics
    /// On the system's clock: only a test that made a fixed one calls this.
    pub fn advance(&self, by: Duration) {
        match self {
            Self::System => panic!("the system's clock cannot be moved"),
            Self::Fixed(time) => *lock(time) += by,
        }
    }

    /// Sets a fixed clock.
    ///
    /// # Panics
    /// On the system's clock: only a test that made a fixed one calls this.
    pub fn set(&self, instant: DateTime<Utc>) {
        match self {
            Self::System => panic!("the system's clock cannot be set"),
            Self::Fixed(time) => *lock(time) = to_the_microsecond(instant),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
fn system_now() -> DateTime<Utc> {
    Utc::now()
}

fn to_the_microsecond(instant: DateTime<Utc>) -> DateTime<Utc> {
    instant.trunc_subsecs(6)
}

/// A panic elsewhere cannot leave a time half-written, so a poisoned lock is as good as any.
fn lock(time: &Mutex<DateTime<Utc>>) -> MutexGuard<'_, DateTime<Utc>> {
    time.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_fixed_clock_share_the_time() {
        let start = "2026-03-15T01:00:00Z".parse().unwrap();
        let clock = Clock::fixed(start);
        let other = clock.clone();
        clock.advance(Duration::days(3));
        assert_eq!(other.now().to_rfc3339(), "2026-03-18T01:00:00+00:00");
        other.set(start);
        assert_eq!(clock.now(), start);
    }

    #[test]
    fn the_system_clock_gives_whole_microseconds() {
        assert_eq!(Clock::System.now().timestamp_subsec_nanos() % 1000, 0);
    }
}
