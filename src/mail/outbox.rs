//! The outbox: a folder in which messages wait as `.eml` files while no mail server is set up.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::{Mailbox, Outcome, Outgoing, Phase};
use crate::locale::Message;

/// A folder for messages, and who they come from.
#[derive(Debug, Clone)]
pub struct Outbox {
    /// The folder; made when the first message comes.
    pub path: PathBuf,
    /// The sender.
    pub from: Mailbox,
}

impl Outbox {
    /// Writes `<Message-ID>.eml`, whole or not at all. The same message again is the same file.
    pub(super) async fn keep(&self, outgoing: &Outgoing) -> Outcome {
        let name = file_name(&outgoing.id());
        let bytes = outgoing.eml(&self.from);
        let path = self.path.clone();
        let kept = name.clone();
        let written = tokio::task::spawn_blocking(move || write_whole(&path, &kept, &bytes)).await;
        let error = match written {
            Ok(Ok(())) => return Outcome::Sent { reply: name },
            Ok(Err(error)) => error,
            Err(panicked) => io::Error::other(panicked),
        };
        let message =
            Message::new("mail-outbox").with("path", self.path.display().to_string()).with("reason", error.to_string());
        match error.kind() {
            // Waiting does not cure these.
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory | io::ErrorKind::ReadOnlyFilesystem => {
                Outcome::Configuration { phase: Phase::Connect, reply: None, message }
            }
            _ => Outcome::Retry { phase: Phase::Body, reply: None, message },
        }
    }

    /// The names of the messages that lie there: `<Message-ID>.eml`.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn names(&self) -> io::Result<Vec<String>> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || names(&path)).await.map_err(io::Error::other)?
    }

    /// Removes messages by the names that [`Outbox::names`] gave.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub async fn remove(&self, names: Vec<String>) -> io::Result<()> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || remove(&path, &names)).await.map_err(io::Error::other)?
    }
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        // Nothing was ever written.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "eml") {
            names.extend(entry.file_name().into_string());
        }
    }
    Ok(names)
}

/// One that is gone already is as it should be.
fn remove(folder: &Path, names: &[String]) -> io::Result<()> {
    for name in names {
        match std::fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// The files hold one-time links, so nobody else may read them.
fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // A name of its own, so that two writers of one message cannot cut each other's file short.
    let draft = folder.join(format!(".{}.tmp", Uuid::new_v4()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&draft, folder.join(name)))
        .and_then(|()| File::open(folder)?.sync_all());
    if written.is_err() {
        // Best effort: the first error is the one to tell.
        let _ = std::fs::remove_file(&draft);
    }
    written
}

/// The id with everything but plain characters replaced, so that it names a file in this folder and nowhere else.
fn file_name(id: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "@._+-".contains(c);
    let name: String = id.chars().map(|c| if safe(c) { c } else { '_' }).collect();
    format!("{}.eml", name.trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    fn outgoing(message_id: &str) -> Outgoing {
        Outgoing {
            to: "li@example.com".parse().unwrap(),
            subject: "还有 13 天到期".to_owned(),
            text: "text".to_owned(),
            html: "<p>text</p>".to_owned(),
            message_id: message_id.to_owned(),
            date: DateTime::UNIX_EPOCH,
            list_id: None,
        }
    }

    #[tokio::test]
    async fn the_same_message_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox { path: folder.path().join("outbox"), from: "ledger@example.com".parse().unwrap() };
        for id in ["a@example.com", "b@example.com", "a@example.com", "../../c"] {
            assert!(matches!(outbox.keep(&outgoing(id)).await, Outcome::Sent { .. }));
        }
        let mut names = outbox.names().await.unwrap();
        names.sort();
        assert_eq!(names, ["_.._c.eml", "a@example.com.eml", "b@example.com.eml"]);
        let bytes = std::fs::read(outbox.path.join("a@example.com.eml")).unwrap();
        assert_eq!(bytes, outgoing("a@example.com").eml(&outbox.from));
        for _ in 0..2 {
            outbox.remove(vec!["a@example.com.eml".to_owned()]).await.unwrap();
            assert_eq!(outbox.names().await.unwrap().len(), 2);
        }
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_is_a_fault_of_the_settings() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let outbox = Outbox { path: file.path().join("outbox"), from: "ledger@example.com".parse().unwrap() };
        let outcome = outbox.keep(&outgoing("a@example.com")).await;
        assert!(matches!(outcome, Outcome::Configuration { .. }), "{outcome:?}");
    }
}
