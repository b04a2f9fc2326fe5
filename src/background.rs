//! Work that goes on after the page that began it was answered. It ends with the program, which waits for it a while.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::Clock;

/// How often the program's clock is looked at.
const GLANCE: Duration = Duration::from_secs(1);

/// How long a step that was begun may go on when the program ends; what follows from it can then still be written down.
const LAST_STEP_TIME: Duration = Duration::from_secs(5);

/// All such work of one program; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Background {
    tasks: TaskTracker,
    ended: CancellationToken,
}

impl Background {
    /// Begins some work.
    pub fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Waits until the program's clock shows this time. `false` where the program ends before.
    pub async fn rest_until(&self, clock: &Clock, time: DateTime<Utc>) -> bool {
        while clock.now() < time {
            if tokio::time::timeout(GLANCE, self.ended.cancelled()).await.is_ok() {
                return false;
            }
        }
        !self.ended.is_cancelled()
    }

    /// Takes one step of the work; nothing where the program ends and cannot wait for it any longer.
    pub async fn step<T>(&self, step: impl Future<Output = T>) -> Option<T> {
        let over = async {
            self.ended.cancelled().await;
            tokio::time::sleep(LAST_STEP_TIME).await;
        };
        tokio::select! {
            done = step => Some(done),
            () = over => None,
        }
    }

    /// Ends all work: who rests is woken, who is at a step may finish it. Waits for them, at most until then.
    pub async fn end(&self, until: tokio::time::Instant) {
        self.ended.cancel();
        self.tasks.close();
        if tokio::time::timeout_at(until, self.tasks.wait()).await.is_err() {
            tracing::warn!(count = self.tasks.len(), "work that a page had begun is cut off");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::time::Instant;

    use super::*;

    #[tokio::test]
    async fn the_end_wakes_who_rests_and_waits_for_a_step() {
        let background = Background::default();
        let done = Arc::new(AtomicBool::new(false));
        let (work, told) = (background.clone(), done.clone());
        let clock = Clock::fixed(DateTime::UNIX_EPOCH);
        background.start(async move {
            let later = clock.now() + chrono::TimeDelta::hours(1);
            assert!(!work.rest_until(&clock, later).await);
            let step = tokio::time::sleep(Duration::from_millis(50));
            told.store(work.step(step).await.is_some(), Ordering::SeqCst);
        });
        let begun = Instant::now();
        background.end(begun + Duration::from_secs(30)).await;
        assert!(done.load(Ordering::SeqCst) && begun.elapsed() < Duration::from_secs(20));
    }

    #[tokio::test]
    async fn a_step_without_an_end_does_not_keep_the_program() {
        let background = Background::default();
        background.start(std::future::pending());
        let begun = Instant::now();
        background.end(begun + Duration::from_millis(50)).await;
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[tokio::test]
    async fn a_rest_ends_when_the_clock_says_so() {
        let clock = Clock::fixed(DateTime::UNIX_EPOCH);
        let until = clock.now() + chrono::TimeDelta::minutes(1);
        clock.advance(chrono::TimeDelta::minutes(2));
        assert!(Background::default().rest_until(&clock, until).await);
    }
}
