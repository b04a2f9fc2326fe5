//! One round of the reminder job: plan, gather, deliver.
//!
//! Any number of rounds may run at once, on any number of instances: one of them plans, all of them deliver.

use super::{delivery, outbox, post, reminder};
use crate::error::Result;
use crate::jobs::{Run, RunReport};
use crate::tx::Tx;

/// A number of our own: at most one round plans at a time.
const PLANNING: i64 = 0x7265_6d69_6e64;

/// Runs one round. With a pretended date it acts after that day's hour of sending, tries again at once what failed for now in
/// an earlier call, and returns when nothing more can go.
pub async fn run(run: Run) -> Result<RunReport> {
    let mut report = RunReport::default();
    plan(&run, &mut report).await?;
    // Boxed: three hands at work make a large future.
    Box::pin(post::deliver(&run, &mut report)).await?;
    outbox::clear(&run).await?;
    let mut read = run.app.read(&run.actor).await?;
    let waiting = delivery::waiting(&mut read).await?;
    report.skip("later", waiting.later);
    report.skip("outbox", waiting.outbox);
    read.end().await?;
    Ok(report)
}

/// Plans, withdraws, gathers: one transaction.
async fn plan(run: &Run, report: &mut RunReport) -> Result<()> {
    let mut tx = run.app.write(&run.actor).await?.as_of(run.as_of);
    if !plans_alone(&mut tx, run.as_of.is_some()).await? {
        return Ok(());
    }
    let waiting = delivery::hold_waiting(&mut tx).await?;
    let planned = reminder::plan(&mut tx).await?;
    report.checked = planned.deadlines;
    report.skip("nobody", planned.unreachable);
    let withdrawn = delivery::withdraw(&mut tx, &waiting, &run.worker).await?;
    report.skip("withdrawn", withdrawn);
    let is_time = reminder::is_time(&tx);
    let gathered = delivery::gather(&mut tx, &waiting, is_time, &run.worker).await?;
    report.matched = gathered.due;
    report.skip("before_hour", gathered.held);
    report.skip("superseded", gathered.superseded);
    if run.as_of.is_some() {
        delivery::retry_now(&mut tx, &waiting).await?;
    }
    // Planning is bookkeeping: the history tells what was sent.
    tx.unchanged();
    tx.commit().await
}

/// Takes the planner's place until the transaction ends. Where another round holds it, a person's call waits, a tick does not:
/// the other one does the work.
async fn plans_alone(tx: &mut Tx, waits: bool) -> Result<bool> {
    tx.take_time().await?;
    if waits {
        sqlx::query("set local lock_timeout = '60s'").execute(tx.connection()).await?;
        sqlx::query!("select pg_advisory_xact_lock($1)", PLANNING).execute(tx.connection()).await?;
        return Ok(true);
    }
    let got = sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock($1) as "got!""#, PLANNING)
        .fetch_one(tx.connection())
        .await?;
    Ok(got)
}
