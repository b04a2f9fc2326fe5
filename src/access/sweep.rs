//! Clears away what has had its time: sessions, known browsers, one-time links, counted failures, forms that were sent.

use crate::error::Result;
use crate::limits;
use crate::tx::Tx;

/// How much was cleared away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Sessions that had ended.
    pub sessions: u64,
    /// Browsers in which nobody signed in any more.
    pub devices: u64,
    /// One-time links whose time was over.
    pub links: u64,
    /// Failed sign-ins that count no more.
    pub failures: u64,
    /// Forms that nobody will send again.
    pub submissions: u64,
}

impl Swept {
    /// All together.
    pub const fn total(self) -> u64 {
        self.sessions + self.devices + self.links + self.failures + self.submissions
    }
}

/// Clears away what has had its time. In a machine unit of work.
pub async fn expired(tx: &mut Tx) -> Result<Swept> {
    let now = tx.now();
    let sessions = sqlx::query!(
        "delete from session where created_at < $1 or seen_at < $2",
        now - limits::SESSION_TIME,
        now - limits::SESSION_IDLE_TIME,
    )
    .execute(tx.connection())
    .await?
    .rows_affected();
    let devices = sqlx::query!("delete from device where used_at <= $1", now - limits::DEVICE_TIME)
        .execute(tx.connection())
        .await?
        .rows_affected();
    let links = sqlx::query!("delete from one_time_link where expires_at <= $1", now)
        .execute(tx.connection())
        .await?
        .rows_affected();
    let failures = sqlx::query!("delete from sign_in_failure where at <= $1", now - limits::SIGN_IN_WINDOW)
        .execute(tx.connection())
        .await?
        .rows_affected();
    let submissions = sqlx::query!("delete from submission where at <= $1", now - limits::SUBMISSION_TIME)
        .execute(tx.connection())
        .await?
        .rows_affected();
    Ok(Swept { sessions, devices, links, failures, submissions })
}
