//! Stories of reminders: when they go, to whom, what they say, and what happens when the mail server or we misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claims;
mod delivering;
mod faults;
mod letters;
mod pages;
mod planning;
mod rounds;
mod rules;

pub(crate) use delivering::mailer_to;

use chrono::NaiveDate;
use sqlx::{AssertSqlSafe, Executor as _};

use crate::harness::TestApp;

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// What `psql` in an administrator's hands could do: a short way to a state.
async fn sql(app: &TestApp, statements: &str) {
    app.database.superuser().await.execute(AssertSqlSafe(statements.to_owned())).await.unwrap();
}
