//! Stories of environments, their terms, renewals and files.

mod bulk;
mod import;
mod pages;
mod reading;
mod renewals;
mod roll;
mod terms;

use rentroll::dates;
use rentroll::deadline::{self, Closed, Kind};
use rentroll::ids::EnvironmentId;

use crate::harness::TestApp;

fn day(text: &str) -> chrono::NaiveDate {
    dates::parse_date(text).expect("a date")
}

/// The deadlines of an environment: kind, date, why closed.
async fn deadlines(app: &TestApp, id: EnvironmentId) -> Vec<(Kind, String, Option<Closed>)> {
    let mut read = app.read().await;
    let deadlines = deadline::of_environment(read.connection(), id).await.expect("deadlines");
    deadlines.into_iter().map(|it| (it.kind, it.due_on.to_string(), it.closed)).collect()
}
