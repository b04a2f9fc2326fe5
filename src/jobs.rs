//! Periodic work: the list of jobs, the ticker that runs them beside the pages, and the record that each run leaves.
//!
//! A job is idempotent, takes no input, and may run on every instance at once. It wires contexts, as `app.rs` does.

mod job_run;
mod renewals;
mod sweep;

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::NaiveDate;
use futures_util::future::BoxFuture;
use serde::Serialize;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::actor::Actor;
use crate::app::App;
use crate::deadlines::round;
use crate::error::{Error, Result};
use crate::limits;
use crate::locale::Message;

pub use job_run::{JobRun, RunFilter, What, last, last_good, list};

/// A periodic job.
pub struct Job {
    /// As in `rentroll jobs run NAME`.
    pub name: &'static str,
    /// The key of its name for people.
    pub title: &'static str,
    /// How often it runs beside the pages.
    pub every: Duration,
    /// The key of the line that says what it is for.
    pub why: &'static str,
    work: fn(Run) -> BoxFuture<'static, Result<RunReport>>,
}

/// All of them. Neighbours of the same interval run one after the other: what renewed itself while the program was down is
/// booked before reminders are planned.
pub const JOBS: &[Job] = &[
    Job {
        name: "renewals",
        title: "job-renewals-title",
        every: Duration::from_mins(1),
        why: "job-renewals",
        work: |run| Box::pin(renewals::renew(run)),
    },
    Job {
        name: "reminders",
        title: "job-reminders-title",
        every: Duration::from_mins(1),
        why: "job-reminders",
        work: |run| Box::pin(round::run(run)),
    },
    Job {
        name: "sweep",
        title: "job-sweep-title",
        every: Duration::from_hours(1),
        why: "job-sweep",
        work: |run| Box::pin(sweep::sweep(run)),
    },
];

/// What a job is given.
#[derive(Clone)]
pub struct Run {
    /// The program.
    pub app: App,
    /// Who acts.
    pub actor: Actor,
    /// The date that a person told the job to take for today; it then acts at once and completely.
    pub as_of: Option<NaiveDate>,
    /// Asks to stop between two steps: the program ends.
    pub stop: CancellationToken,
    /// Which process does it, for the records.
    pub worker: String,
}

/// What a run did, in numbers that people can read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RunReport {
    /// How many things were looked at.
    pub checked: i64,
    /// How many of them called for something.
    pub matched: i64,
    /// For how many it was done.
    pub done: i64,
    /// For how many it was tried and failed.
    pub failed: i64,
    /// Why for the others nothing was done: [`SKIPPED`] has the words.
    pub skipped: BTreeMap<String, i64>,
}

/// Why something that called for an act was left: the code of a [`RunReport`], and the key of its words.
pub const SKIPPED: &[(&str, &str)] = &[
    ("before_hour", "skipped-before-hour"),
    ("later", "skipped-later"),
    ("nobody", "skipped-nobody"),
    ("outbox", "skipped-outbox"),
    ("settings", "skipped-settings"),
    ("superseded", "skipped-superseded"),
    ("withdrawn", "skipped-withdrawn"),
];

impl RunReport {
    /// Counts what was left for a reason; nothing for none.
    pub fn skip(&mut self, reason: &'static str, count: i64) {
        debug_assert!(SKIPPED.iter().any(|(code, _)| *code == reason), "{reason} has no words");
        if count > 0 {
            *self.skipped.entry(reason.to_owned()).or_default() += count;
        }
    }

    /// Whether nothing was done and nothing failed.
    pub const fn is_idle(&self) -> bool {
        self.done == 0 && self.failed == 0
    }
}

impl JobRun {
    /// The job's name for people.
    pub fn title(&self) -> Message {
        Message::new(find(&self.job).map_or("job-gone", |job| job.title))
    }
}

/// The job of this name.
pub fn find(name: &str) -> Option<&'static Job> {
    JOBS.iter().find(|job| job.name == name)
}

/// Runs a job once and records the run, also one that fails. With a date, as if it were that day, after the hour of sending.
pub async fn run(app: &App, job: &Job, as_of: Option<NaiveDate>) -> Result<RunReport> {
    run_until(app, job, as_of, CancellationToken::new()).await
}

async fn run_until(app: &App, job: &Job, as_of: Option<NaiveDate>, stop: CancellationToken) -> Result<RunReport> {
    let run = Run { app: app.clone(), actor: Actor::job(job.name), as_of, stop, worker: worker() };
    let started_at = app.clock.now();
    let result = (job.work)(run.clone()).await;
    if let Ok(report) = &result
        && report.failed > 0
    {
        tracing::warn!(job = job.name, failed = report.failed, "a job failed for some of what it had to do");
    }
    // What was done is done: that it could not be written down is for the log.
    if let Err(error) = job_run::add(&run, job.name, started_at, &result).await {
        tracing::warn!(job = job.name, "a job run was not recorded: {error}");
    }
    result
}

/// Runs every job at its time until `stop`. Outlives failures, panics and outages of the database; a late tick comes late
/// and not twice. At `stop` a running job may finish its step.
pub async fn ticker(app: App, stop: CancellationToken) {
    let mut rows = JoinSet::new();
    for row in JOBS.chunk_by(|one, next| one.every == next.every) {
        rows.spawn(tick(app.clone(), row, stop.clone()));
    }
    rows.join_all().await;
}

/// Runs jobs of the same interval at their time, each after the one before it, however that ended.
async fn tick(app: App, row: &'static [Job], stop: CancellationToken) {
    let mut interval = tokio::time::interval(row[0].every);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = interval.tick() => {}
        }
        for job in row {
            if stop.is_cancelled() {
                return;
            }
            // A task of its own, so that a panic ends this run and not the ticker.
            let (app, inner) = (app.clone(), stop.clone());
            let mut task = tokio::spawn(async move { run_until(&app, job, None, inner).await });
            tokio::select! {
                ended = &mut task => log(job, ended),
                () = out_of_time(&stop) => abandon(&task),
            }
        }
    }
}

/// Somewhat before the whole program must have ended.
async fn out_of_time(stop: &CancellationToken) {
    stop.cancelled().await;
    tokio::time::sleep(limits::DRAIN_TIME.mul_f32(0.8)).await;
}

/// What it had claimed comes free when its lease ends.
fn abandon(task: &JoinHandle<Result<RunReport>>) {
    task.abort();
}

fn log(job: &Job, ended: Result<Result<RunReport>, tokio::task::JoinError>) {
    match ended {
        Ok(Ok(report)) if report.is_idle() => tracing::debug!(job = job.name, ?report, "ran"),
        Ok(Ok(report)) => tracing::info!(job = job.name, ?report, "ran"),
        Ok(Err(Error::Unavailable(cause))) => tracing::warn!(job = job.name, "will run again: {cause:#}"),
        Ok(Err(error)) => tracing::error!(job = job.name, "failed: {error}"),
        Err(panicked) => tracing::error!(job = job.name, "broke down: {panicked}"),
    }
}

/// The machine and the process.
fn worker() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}:{}", host.trim(), std::process::id())
}
