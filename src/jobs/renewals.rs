//! Writes the automatic renewals that are due.

use super::{Run, RunReport};
use crate::environments::renewal;
use crate::error::Result;
use crate::ids::EnvironmentId;

/// Each environment in a unit of work of its own: one that fails does not hold up the others, and the next run tries it again.
pub(super) async fn renew(run: Run) -> Result<RunReport> {
    let mut read = run.app.read(&run.actor).await?;
    let today = run.as_of.unwrap_or_else(|| read.today());
    let due = renewal::due_automatically(read.connection(), today).await?;
    read.end().await?;
    let mut report = RunReport::default();
    report.checked = i64::try_from(due.len()).unwrap_or(i64::MAX);
    report.matched = report.checked;
    for id in due {
        if run.stop.is_cancelled() {
            break;
        }
        match one(&run, id).await {
            Ok(()) => report.done += 1,
            Err(error) => {
                tracing::warn!(environment = id.0, "an automatic renewal failed: {error}");
                report.failed += 1;
            }
        }
    }
    Ok(report)
}

async fn one(run: &Run, id: EnvironmentId) -> Result<()> {
    let mut tx = run.app.write(&run.actor).await?.as_of(run.as_of);
    renewal::renew_automatically(&mut tx, id).await?;
    tx.commit().await
}
