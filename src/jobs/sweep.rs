//! Clears away what has had its time.

use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};

use super::{Run, RunReport};
use crate::access;
use crate::error::{Error, Result};
use crate::limits;
use crate::mail::Mailer;

/// Ended sessions and links, counted failures, forms that were sent, old job runs, old mails in the outbox, what killed uploads
/// left, files that nobody confirmed.
pub(super) async fn sweep(run: Run) -> Result<RunReport> {
    let mut tx = run.app.machine(&run.actor).await?;
    let now = tx.now();
    let mut swept = access::sweep::expired(&mut tx).await?.total();
    swept += sqlx::query!("delete from job_run where started_at <= $1", now - TimeDelta::days(limits::JOB_RUN_DAYS))
        .execute(tx.connection())
        .await?
        .rows_affected();
    tx.commit().await?;
    if let Mailer::Directory(outbox) = &run.app.mailer {
        swept += sweep_outbox(outbox.path.clone(), now - TimeDelta::days(limits::OUTBOX_DAYS)).await?;
    }
    swept += run.app.documents.sweep(now).await?;
    let swept = i64::try_from(swept).unwrap_or(i64::MAX);
    Ok(RunReport { matched: swept, done: swept, ..RunReport::default() })
}

async fn sweep_outbox(folder: PathBuf, before: DateTime<Utc>) -> Result<u64> {
    tokio::task::spawn_blocking(move || remove_mails(&folder, before))
        .await
        .map_err(|panicked| Error::Internal(panicked.into()))?
        .map_err(|cause| Error::Internal(cause.into()))
}

fn remove_mails(folder: &Path, before: DateTime<Utc>) -> std::io::Result<u64> {
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        // Nothing was ever written.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry?;
        let is_mail = entry.path().extension().is_some_and(|extension| extension == "eml");
        if is_mail && DateTime::<Utc>::from(entry.metadata()?.modified()?) < before {
            std::fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn only_mails_that_are_old_leave_the_outbox() {
        let folder = tempfile::tempdir().unwrap();
        for (name, days) in [("old.eml", 91), ("new.eml", 89), ("old.txt", 91)] {
            let file = File::create(folder.path().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs((1000 - days) * 86_400)).unwrap();
        }
        let now = DateTime::UNIX_EPOCH + TimeDelta::days(1000);
        assert_eq!(remove_mails(folder.path(), now - TimeDelta::days(limits::OUTBOX_DAYS)).unwrap(), 1);
        assert!(!folder.path().join("old.eml").exists());
        assert_eq!(remove_mails(&folder.path().join("none"), now).unwrap(), 0);
    }
}
