//! `rentroll jobs`: what runs periodically, and one run by hand.

use chrono::{NaiveDate, SecondsFormat};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::console::{Console, Refused, Report};
use super::open::{Opened, Purpose};
use crate::actor::Actor;
use crate::app::App;
use crate::config::Config;
use crate::dates::{self, Zone};
use crate::error::{Error, Result};
use crate::jobs::{self, Job, JobRun, RunFilter, RunReport, SKIPPED};
use crate::locale::Message;
use crate::postgres::os_user;

/// What was typed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// What each job is for, how often it runs, and how its last run ended.
    List,
    /// Run a job once, beside its usual time.
    Run {
        /// Which.
        #[arg(value_parser = PossibleValuesParser::new(jobs::JOBS.iter().map(|job| job.name)))]
        name: String,
        /// As if it were that day, after the hour of sending. What is due by then is really done: mails leave, renewals are booked.
        #[arg(long, value_name = "DATE", value_parser = dates::parse_date)]
        as_of: Option<NaiveDate>,
    },
}

pub(super) async fn run(config: &Config, console: &Console, arguments: Arguments) -> Result<Report, Refused> {
    let opened = Opened::open(config, Purpose::Work, console).await?;
    let result = match arguments.act {
        Act::List => list(&opened.app).await,
        Act::Run { name, as_of } => run_job(&opened.app, &name, as_of).await,
    };
    opened.close(None).await;
    Ok(result?)
}

async fn list(app: &App) -> Result<Report> {
    let mut read = app.read(&Actor::command_line(&os_user())).await?;
    let zone = read.organisation().zone;
    let (mut listed, mut lines) = (Vec::new(), Vec::new());
    for job in jobs::JOBS {
        let filter = RunFilter { job: Some(job.name.to_owned()), ..RunFilter::default() };
        let last = jobs::list(&mut read, &filter, 1).await?.pop();
        lines.push(
            Message::new("cli-job")
                .with("name", job.name)
                .with("minutes", i64::try_from(job.every.as_secs() / 60).unwrap_or(i64::MAX))
                .with("why", Message::new(job.why))
                .with("last", last_words(last.as_ref(), zone)),
        );
        listed.push(json!({
            "name": job.name, "every_seconds": job.every.as_secs(), "last": last.as_ref().map(last_json),
        }));
    }
    read.end().await?;
    Ok(Report { json: Some(json!({ "jobs": listed })), lines, refused: false })
}

fn last_words(last: Option<&JobRun>, zone: Zone) -> Message {
    let Some(run) = last else { return Message::new("cli-job-never") };
    let result = match &run.error {
        Some(cause) => Message::new("cli-job-failed").with("cause", cause),
        None => report_words(&run.report),
    };
    let last = match run.as_of {
        Some(day) => Message::new("cli-job-last-as-of").with("date", day),
        None => Message::new("cli-job-last"),
    };
    last.with(
        "at",
        run.finished_at.unwrap_or(run.started_at).with_timezone(&zone.0).to_rfc3339_opts(SecondsFormat::Secs, false),
    )
    .with("result", result)
}

fn last_json(run: &JobRun) -> Value {
    let mut json = report_json(&run.job, run.as_of, &run.report);
    json["started_at"] = json!(run.started_at);
    json["finished_at"] = json!(run.finished_at);
    json["error"] = json!(run.error);
    json
}

fn report_words(report: &RunReport) -> Message {
    Message::new("cli-job-report")
        .with("checked", report.checked)
        .with("matched", report.matched)
        .with("done", report.done)
        .with("failed", report.failed)
}

fn report_json(job: &str, as_of: Option<NaiveDate>, report: &RunReport) -> Value {
    json!({
        "job": job, "as_of": as_of, "checked": report.checked, "matched": report.matched, "done": report.done,
        "failed": report.failed, "skipped": report.skipped,
    })
}

async fn run_job(app: &App, name: &str, as_of: Option<NaiveDate>) -> Result<Report> {
    let job: &Job = jobs::find(name).ok_or(Error::NotFound)?;
    let report = jobs::run(app, job, as_of).await?;
    let mut lines = vec![Message::new("cli-job-ran").with("name", name).with("result", report_words(&report))];
    lines.extend(report.skipped.iter().filter_map(|(reason, n)| {
        let (_, words) = SKIPPED.iter().find(|(code, _)| code == reason)?;
        Some(Message::new("cli-job-skipped").with("n", *n).with("why", Message::new(words)))
    }));
    Ok(Report { json: Some(report_json(name, as_of, &report)), lines, refused: false })
}
