//! What every run of a job left behind.

use std::collections::BTreeMap;

use chrono::{DateTime, DurationRound as _, NaiveDate, TimeDelta, Utc};
use serde::Deserialize;
use sqlx::PgConnection;

use super::{JOBS, Run, RunReport};
use crate::error::Result;
use crate::filter::one_of;
use crate::ids::JobRunId;
use crate::tx::Read;

/// One run of a job, or several idle ones of an hour that were alike.
#[derive(Debug, Clone)]
pub struct JobRun {
    /// Its id.
    pub id: JobRunId,
    /// The job.
    pub job: String,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The date it took for today, where a person said so.
    pub as_of: Option<NaiveDate>,
    /// Which process did it.
    pub worker: String,
    /// What it did.
    pub report: RunReport,
    /// Why it failed; for people who mend it.
    pub error: Option<String>,
    /// How many runs this row stands for.
    pub runs: i32,
}

/// Records a run. An idle one that is like the one before it, in the same hour, only raises that one's count: the newest row
/// always tells how the last run ended.
pub(super) async fn add(run: &Run, job: &str, started_at: DateTime<Utc>, result: &Result<RunReport>) -> Result<()> {
    let mut tx = run.app.machine(&run.actor).await?;
    let (report, error) = match result {
        Ok(report) => (report.clone(), None),
        Err(error) => (RunReport::default(), Some(error.to_string())),
    };
    let skipped = serde_json::to_value(&report.skipped)?;
    let hour = started_at.duration_trunc(TimeDelta::hours(1)).unwrap_or(started_at);
    let now = tx.now();
    let folded = report.is_idle()
        && run.as_of.is_none()
        && sqlx::query!(
            "update job_run set runs = runs + 1, finished_at = $3, checked = $4, worker = $5
             where id = (select max(id) from job_run where job = $1)
               and started_at >= $2 and as_of is null and matched = $6 and done = 0 and failed = 0
               and skipped = $7 and error is not distinct from $8",
            job,
            hour,
            now,
            report.checked,
            run.worker,
            report.matched,
            skipped,
            error,
        )
        .execute(tx.connection())
        .await?
        .rows_affected()
            == 1;
    if !folded {
        sqlx::query!(
            "insert into job_run (job, started_at, finished_at, as_of, worker, checked, matched, done, failed, skipped, error)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            job,
            started_at,
            now,
            run.as_of,
            run.worker,
            report.checked,
            report.matched,
            report.done,
            report.failed,
            skipped,
            error,
        )
        .execute(tx.connection())
        .await?;
    }
    tx.commit().await
}

/// Which runs of a job are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Every run.
    #[default]
    All,
    /// Those that did something or failed.
    Busy,
}

/// Which runs a reader wants to see.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct RunFilter {
    /// One job.
    pub job: Option<String>,
    /// All, or those that did something.
    pub what: What,
    /// Runs before this one: the next page.
    pub before: Option<i64>,
}

macro_rules! select_run {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query!(
            r#"select id as "id: JobRunId", job, started_at, finished_at, as_of, worker, checked, matched, done, failed,
                      skipped, error, runs
               from job_run "# + $rest
            $(, $argument)*
        )
    };
}

macro_rules! job_run {
    ($row:expr) => {{
        let row = $row;
        JobRun {
            id: row.id,
            job: row.job,
            started_at: row.started_at,
            finished_at: row.finished_at,
            as_of: row.as_of,
            worker: row.worker,
            report: RunReport {
                checked: row.checked,
                matched: row.matched,
                done: row.done,
                failed: row.failed,
                skipped: serde_json::from_value::<BTreeMap<String, i64>>(row.skipped).unwrap_or_default(),
            },
            error: row.error,
            runs: row.runs,
        }
    }};
}

/// The runs that match, newest first, at most `limit`.
pub async fn list(read: &mut Read, filter: &RunFilter, limit: i64) -> Result<Vec<JobRun>> {
    let names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
    let job = one_of("job", filter.job.as_deref(), &names)?;
    let rows = select_run!(
        "where ($1::text is null or job = $1) and ($2::bigint is null or id < $2)
           and (not $3 or done > 0 or failed > 0 or error is not null)
         order by id desc limit $4",
        job,
        filter.before,
        filter.what == What::Busy,
        limit
    )
    .fetch_all(read.connection())
    .await?;
    Ok(rows.into_iter().map(|row| job_run!(row)).collect())
}

/// The last run of a job at its own time: what a person ran for another day says nothing about the schedule.
pub async fn last(connection: &mut PgConnection, job: &str) -> Result<Option<JobRun>> {
    let row = select_run!("where job = $1 and as_of is null order by id desc limit 1", job);
    Ok(row.fetch_optional(connection).await?.map(|row| job_run!(row)))
}

/// The last run of a job that ended well.
pub async fn last_good(connection: &mut PgConnection, job: &str) -> Result<Option<JobRun>> {
    // A row of idle runs keeps the time of the first, so the last to begin is not always the last to end.
    let row = select_run!(
        "where id in (select id from job_run where job = $1 and as_of is null and error is null and finished_at is not null
                      order by started_at desc limit 5)
         order by finished_at desc, id desc limit 1",
        job
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| job_run!(row)))
}
