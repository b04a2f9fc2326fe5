//! Who owns the embedded server and who uses it: three files in `run/`, locked and never deleted.
//!
//! * `serve.lock`: held by the one `serve` of the data directory, from before it has a server until after.
//! * `owner.lock`: held by the process that starts PostgreSQL, until PostgreSQL has ended. It says who that is.
//! * `users.lock`: held shared by every process that uses the server. An owner that can hold it alone is the last user.
//!
//! The operating system releases a lock with the process that held it, however it ended, so nothing here goes stale but
//! the words in `owner.lock`: whoever reads them tries the server before believing them.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::server::User;
use super::server_error::ServerError;

/// How far the owner is with its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is being initialised or started; nobody may rely on it yet.
    Starting,
    /// It may be adopted.
    Ready,
    /// The owner only waits for the others; a newcomer waits for the next server.
    Stopping,
}

/// What the owner says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnerNote {
    pub pid: u32,
    pub user: User,
    pub phase: Phase,
    pub socket: PathBuf,
}

/// `run/owner.lock`, held.
#[derive(Debug)]
pub(super) struct OwnerLock {
    file: File,
    note: OwnerNote,
}

/// `run/users.lock`, held shared.
#[derive(Debug)]
pub(super) struct UsersLock {
    file: File,
    path: PathBuf,
}

/// `run/serve.lock`, held.
#[derive(Debug)]
pub(super) struct ServeLock {
    _file: File,
}

impl ServeLock {
    /// Takes the lock, or says which process serves this data directory.
    pub(super) fn take(run: &Path) -> Result<Self, ServerError> {
        let path = run.join("serve.lock");
        let mut file = open(&path)?;
        if !taken(file.try_lock(), &path)? {
            let mut pid = String::new();
            // The number is a courtesy; without it the refusal still stands.
            file.read_to_string(&mut pid).ok();
            let data_dir = run.parent().unwrap_or(run).to_owned();
            return Err(ServerError::AlreadyServing { data_dir, pid: pid.trim().parse().ok() });
        }
        rewrite(&mut file, format!("{}\n", std::process::id()).as_bytes())
            .map_err(|cause| ServerError::Io { path, cause })?;
        Ok(Self { _file: file })
    }
}

impl OwnerLock {
    /// Takes the lock when nobody owns the server.
    pub(super) fn try_take(run: &Path, user: User) -> Result<Option<Self>, ServerError> {
        let path = run.join("owner.lock");
        let file = open(&path)?;
        if !taken(file.try_lock(), &path)? {
            return Ok(None);
        }
        let note = OwnerNote { pid: std::process::id(), user, phase: Phase::Starting, socket: PathBuf::new() };
        let mut lock = Self { file, note };
        lock.write().map_err(|cause| ServerError::Io { path, cause })?;
        Ok(Some(lock))
    }

    /// Says where the server will listen.
    pub(super) fn set_socket(&mut self, socket: &Path) -> io::Result<()> {
        socket.clone_into(&mut self.note.socket);
        self.write()
    }

    /// Says how far the server is.
    pub(super) fn set_phase(&mut self, phase: Phase) -> io::Result<()> {
        self.note.phase = phase;
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        rewrite(&mut self.file, &self.note.bytes())
    }
}

impl OwnerNote {
    /// What the owner wrote, if it is all there: it may be writing at this moment.
    pub(super) fn read(run: &Path) -> Option<Self> {
        Self::parse(&std::fs::read(run.join("owner.lock")).ok()?)
    }

    fn bytes(&self) -> Vec<u8> {
        let user = match self.user {
            User::Serve => "serve",
            User::Command => "command",
        };
        let phase = match self.phase {
            Phase::Starting => "starting",
            Phase::Ready => "ready",
            Phase::Stopping => "stopping",
        };
        let mut bytes = format!("{} {user} {phase} ", self.pid).into_bytes();
        bytes.extend_from_slice(self.socket.as_os_str().as_bytes());
        bytes.push(b'\n');
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let line = bytes.strip_suffix(b"\n")?;
        let mut parts = line.splitn(4, |&byte| byte == b' ');
        let mut word = || parts.next().and_then(|part| std::str::from_utf8(part).ok());
        let pid = word()?.parse().ok()?;
        let user = match word()? {
            "serve" => User::Serve,
            "command" => User::Command,
            _ => return None,
        };
        let phase = match word()? {
            "starting" => Phase::Starting,
            "ready" => Phase::Ready,
            "stopping" => Phase::Stopping,
            _ => return None,
        };
        let socket = PathBuf::from(std::ffi::OsString::from_vec(parts.next()?.to_vec()));
        Some(Self { pid, user, phase, socket })
    }
}

impl UsersLock {
    /// Joins the users, unless the owner is about to stop the server.
    pub(super) fn try_shared(run: &Path) -> Result<Option<Self>, ServerError> {
        let path = run.join("users.lock");
        let file = open(&path)?;
        Ok(taken(file.try_lock_shared(), &path)?.then_some(Self { file, path }))
    }

    /// Gives up the shared lock and tries to be alone; whether that succeeded.
    pub(super) fn try_alone(&self) -> Result<bool, ServerError> {
        self.file.unlock().map_err(|cause| ServerError::Io { path: self.path.clone(), cause })?;
        taken(self.file.try_lock(), &self.path)
    }
}

fn open(path: &Path) -> Result<File, ServerError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|cause| ServerError::Io { path: path.to_owned(), cause })
}

fn taken(result: Result<(), TryLockError>, path: &Path) -> Result<bool, ServerError> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(cause)) => Err(ServerError::Io { path: path.to_owned(), cause }),
    }
}

/// One write after emptying: a reader finds nothing or everything.
fn rewrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_reads_back_and_half_a_note_is_none() {
        let note = OwnerNote {
            pid: 4711,
            user: User::Serve,
            phase: Phase::Ready,
            socket: PathBuf::from("/srv/a folder/数据/socket"),
        };
        let bytes = note.bytes();
        assert_eq!(OwnerNote::parse(&bytes), Some(note));
        for cut in 0..bytes.len() {
            assert_eq!(OwnerNote::parse(&bytes[..cut]), None);
        }
    }

    #[test]
    fn the_owner_is_one_and_says_who_it_is() {
        let run = tempfile::tempdir().unwrap();
        let mut lock = OwnerLock::try_take(run.path(), User::Command).unwrap().expect("nobody else");
        assert!(OwnerLock::try_take(run.path(), User::Serve).unwrap().is_none());
        lock.set_socket(Path::new("/x/socket")).unwrap();
        lock.set_phase(Phase::Ready).unwrap();
        let note = OwnerNote::read(run.path()).expect("written");
        assert_eq!((note.pid, note.user, note.phase), (std::process::id(), User::Command, Phase::Ready));
        drop(lock);
        assert!(OwnerLock::try_take(run.path(), User::Serve).unwrap().is_some());
    }

    #[test]
    fn the_last_user_can_be_alone_and_then_nobody_joins() {
        let run = tempfile::tempdir().unwrap();
        let owner = UsersLock::try_shared(run.path()).unwrap().expect("free");
        let other = UsersLock::try_shared(run.path()).unwrap().expect("shared");
        assert!(!owner.try_alone().unwrap());
        drop(other);
        assert!(owner.try_alone().unwrap());
        assert!(UsersLock::try_shared(run.path()).unwrap().is_none());
    }

    #[test]
    fn a_second_serve_is_told_which_process_serves() {
        let run = tempfile::tempdir().unwrap();
        let _first = ServeLock::take(run.path()).unwrap();
        match ServeLock::take(run.path()) {
            Err(ServerError::AlreadyServing { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
            other => panic!("{other:?}"),
        }
    }
}
