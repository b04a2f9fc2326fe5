//! Writes the automatic renewals that are due, and brings the quantity in use to terms that have begun.

use super::{Run, RunReport};
use crate::environments::{renewal, scale};
use crate::error::Result;
use crate::ids::EnvironmentId;

/// What is done to an environment.
#[derive(Clone, Copy)]
enum Act {
    /// Its last term is over and renews itself.
    Renew,
    /// A term that was written ahead has begun.
    Follow,
}

pub(super) async fn renew(run: Run) -> Result<RunReport> {
    let mut report = RunReport::default();
    let mut read = run.app.read(&run.actor).await?;
    let true_day = read.today();
    let today = run.as_of.unwrap_or(true_day);
    let over = renewal::due_automatically(read.connection(), today).await?;
    read.end().await?;
    each(&run, &mut report, Act::Renew, over).await;
    // What was in use on another day, or will be, is not what is in use.
    if today == true_day {
        let mut read = run.app.read(&run.actor).await?;
        let begun = scale::due(read.connection(), today).await?;
        read.end().await?;
        each(&run, &mut report, Act::Follow, begun).await;
    }
    Ok(report)
}

/// Each environment in a unit of work of its own: one that fails does not hold up the others, and the next run tries it again.
async fn each(run: &Run, report: &mut RunReport, act: Act, due: Vec<EnvironmentId>) {
    let count = i64::try_from(due.len()).unwrap_or(i64::MAX);
    report.checked += count;
    report.matched += count;
    for id in due {
        if run.stop.is_cancelled() {
            break;
        }
        match one(run, act, id).await {
            Ok(()) => report.done += 1,
            Err(error) => {
                tracing::warn!(environment = id.0, "an automatic renewal, or its quantity, failed: {error}");
                report.failed += 1;
            }
        }
    }
}

async fn one(run: &Run, act: Act, id: EnvironmentId) -> Result<()> {
    let mut tx = run.app.write(&run.actor).await?.as_of(run.as_of);
    match act {
        Act::Renew => _ = renewal::renew_automatically(&mut tx, id).await?,
        Act::Follow => scale::follow(&mut tx, id).await?,
    }
    tx.commit().await
}
