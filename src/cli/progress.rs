//! How far a long command has come: a line that moves on a terminal, a line every few seconds elsewhere.

use std::pin::pin;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::console::Console;
use crate::locale::Message;

/// Between two looks at work that counts by itself.
const LOOKS_EVERY: Duration = Duration::from_millis(200);
/// Between two lines where nobody watches.
const LINES_EVERY: Duration = Duration::from_secs(5);

/// Tells how far a command has come.
pub(super) struct Progress<'a> {
    console: &'a Console,
    bar: Option<ProgressBar>,
    told: Instant,
}

impl<'a> Progress<'a> {
    /// Begins; what is quick says nothing.
    pub fn start(console: &'a Console) -> Self {
        let bar = console.watched.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
            bar.with_style(ProgressStyle::default_spinner())
        });
        Self { console, bar, told: Instant::now() }
    }

    /// Waits for work that counts by itself, and tells now and then how far it has come.
    pub async fn while_working<T>(&mut self, work: impl Future<Output = T>, so_far: impl Fn() -> Message) -> T {
        let mut work = pin!(work);
        let mut looks = tokio::time::interval(LOOKS_EVERY);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = looks.tick() => self.at(&so_far()),
            }
        }
    }

    /// It has come this far.
    pub fn at(&mut self, message: &Message) {
        if let Some(bar) = &self.bar {
            bar.set_message(self.console.locale.say(message));
            bar.tick();
        } else if self.told.elapsed() >= LINES_EVERY {
            self.told = Instant::now();
            self.console.say(message);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
