//! Reminders in the outbox: a mail that was taken back since it was written is not left lying there.

use uuid::Uuid;

use crate::error::Result;
use crate::jobs::Run;
use crate::mail::Mailer;

/// Removes the mails of deliveries that were taken back, or replaced by a later step, or went out by a server meanwhile.
///
/// It asks the folder and not this round, so that what a round left that was cut off, or another instance, is made good too. A
/// folder that cannot be read or written is no fault of the round: what could not be sent has said so.
pub async fn clear(run: &Run) -> Result<()> {
    let Mailer::Directory(outbox) = &run.app.mailer else { return Ok(()) };
    let names = match outbox.names().await {
        Ok(names) => names,
        Err(cause) => {
            tracing::warn!("the outbox cannot be read: {cause}");
            return Ok(());
        }
    };
    let ids: Vec<Uuid> = names.iter().filter_map(|name| delivery(name)).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mut read = run.app.read(&run.actor).await?;
    let gone =
        sqlx::query_scalar!("select id from delivery where id = any ($1) and state in ('cancelled', 'sent')", &ids)
            .fetch_all(read.connection())
            .await?;
    read.end().await?;
    let gone = names.into_iter().filter(|name| delivery(name).is_some_and(|id| gone.contains(&id))).collect();
    if let Err(cause) = outbox.remove(gone).await {
        tracing::warn!("the outbox cannot be tidied: {cause}");
    }
    Ok(())
}

/// The delivery whose mail has this file name: its id stands before the `@`.
fn delivery(name: &str) -> Option<Uuid> {
    name.split_once('@')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_delivery() {
        let id = Uuid::now_v7();
        assert_eq!(delivery(&format!("{id}@rentroll.example.eml")), Some(id));
        assert_eq!(delivery("invitation-7@rentroll.example.eml"), None);
        assert_eq!(delivery("notes.eml"), None);
    }
}
