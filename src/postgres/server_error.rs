//! Why there is no embedded server, and the way out.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use super::binaries::Binaries;
use super::binaries::{OLDEST_MAJOR, install_commands};
use crate::locale::Message;

/// Why there is no server. Every message says the way out.
#[derive(Debug)]
pub enum ServerError {
    /// A file or folder of ours cannot be used.
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The user that runs PostgreSQL cannot enter a folder.
    Closed {
        /// The folder that it cannot enter.
        ancestor: PathBuf,
        /// Where it has to get.
        below: PathBuf,
        /// Who cannot; empty for ourselves.
        user: String,
    },
    /// The database belongs to another user, and we are not root.
    Foreign {
        /// The database's folder.
        path: PathBuf,
        /// Whose it is.
        owner: String,
    },
    /// Root has nobody to run PostgreSQL as.
    NoAccount,
    /// PostgreSQL is not installed.
    NoBinaries {
        /// The major version that the data need.
        needed: Option<u32>,
    },
    /// Only versions are installed that are too old for Rentroll.
    TooOld {
        /// The newest of them.
        found: Binaries,
        /// The major version that the data need.
        needed: Option<u32>,
    },
    /// The folder that `PG_BINDIR` names is not usable.
    BinDir {
        /// The folder.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// Another major version made the data.
    OtherMajor {
        /// The one that made them.
        made_by: u32,
        /// The one that is there.
        found: Binaries,
        /// The commands that carry the data over; none to an older version.
        steps: Option<String>,
    },
    /// The database's folder holds something else.
    NotADatabase {
        /// The folder.
        path: PathBuf,
    },
    /// The folder for the socket is somebody else's.
    SocketDir {
        /// The folder.
        path: PathBuf,
    },
    /// `initdb` failed.
    Init {
        /// What it said.
        output: String,
    },
    /// PostgreSQL did not start.
    Start {
        /// Its log.
        log: PathBuf,
        /// What it said last.
        said: String,
    },
    /// An earlier server of these data does not end.
    Blocked {
        /// Its process.
        pid: Option<u32>,
    },
    /// Another `serve` has this data directory.
    AlreadyServing {
        /// The data directory.
        data_dir: PathBuf,
        /// Its process.
        pid: Option<u32>,
    },
    /// The server runs, but does not answer.
    Silent {
        /// Its log.
        log: PathBuf,
    },
    /// The server answers, but not to us.
    Refused(sqlx::Error),
}

impl ServerError {
    /// What happened and what to do about it.
    pub fn message(&self) -> Message {
        let path = |path: &Path| path.display().to_string();
        match self {
            Self::Io { path: which, cause } => {
                Message::new("server-error-io").with("path", path(which)).with("cause", cause.to_string())
            }
            Self::Closed { ancestor, below, user } => {
                let key = if user.is_empty() { "server-error-closed-to-us" } else { "server-error-closed" };
                Message::new(key).with("ancestor", path(ancestor)).with("below", path(below)).with("user", user)
            }
            Self::Foreign { path: which, owner } => {
                Message::new("server-error-foreign").with("path", path(which)).with("owner", owner)
            }
            Self::NoAccount => Message::new("server-error-no-account"),
            Self::NoBinaries { needed: None } => install(Message::new("server-error-no-binaries"), None),
            Self::NoBinaries { needed: Some(major) } => {
                let message = Message::new("server-error-no-binaries-of").with("major", major.to_string());
                install(message, Some(*major))
            }
            Self::TooOld { found, needed } => {
                let message = Message::new("server-error-too-old")
                    .with("oldest", OLDEST_MAJOR.to_string())
                    .with("found", found.major.to_string())
                    .with("bindir", path(&found.bindir));
                install(message, *needed)
            }
            Self::BinDir { path: which, cause } => {
                Message::new("server-error-bindir").with("path", path(which)).with("cause", cause)
            }
            Self::OtherMajor { made_by, found, steps } => {
                let key = if steps.is_some() { "server-error-older-data" } else { "server-error-newer-data" };
                let message = Message::new(key)
                    .with("made_by", made_by.to_string())
                    .with("found", found.major.to_string())
                    .with("bindir", path(&found.bindir))
                    .with("steps", steps.clone().unwrap_or_default());
                install(message, Some(*made_by))
            }
            Self::NotADatabase { path: which } => Message::new("server-error-not-a-database").with("path", path(which)),
            Self::SocketDir { path: which } => Message::new("server-error-socket-dir").with("path", path(which)),
            Self::Init { output } => Message::new("server-error-init").with("output", output),
            Self::Start { log, said } => Message::new("server-error-start").with("log", path(log)).with("said", said),
            Self::Blocked { pid } => Message::new("server-error-blocked").with("pid", named(*pid)),
            Self::AlreadyServing { data_dir, pid } => {
                Message::new("server-error-already-serving").with("data_dir", path(data_dir)).with("pid", named(*pid))
            }
            Self::Silent { log } => Message::new("server-error-silent").with("log", path(log)),
            Self::Refused(cause) => Message::new("server-error-refused").with("cause", cause.to_string()),
        }
    }
}

fn install(message: Message, major: Option<u32>) -> Message {
    let [debian, fedora, macos] = install_commands(major);
    message.with("debian", debian).with("fedora", fedora).with("macos", macos)
}

/// The number of a process for a message; its owner may not have written it yet.
pub(super) fn named(pid: Option<u32>) -> String {
    pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string())
}

/// For logs: the English words.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl std::error::Error for ServerError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    #[test]
    fn every_error_says_a_way_out_in_both_languages() {
        let path = || PathBuf::from("/srv/rentroll");
        let found = || Binaries { bindir: "/usr/lib/postgresql/16/bin".into(), major: 16 };
        // The error, and what a person needs from its message.
        let errors = [
            (ServerError::Io { path: path(), cause: io::ErrorKind::PermissionDenied.into() }, "RENTROLL_DATA_DIR"),
            (
                ServerError::Closed { ancestor: path(), below: path(), user: "postgres".into() },
                "chmod o+x /srv/rentroll",
            ),
            (ServerError::Closed { ancestor: path(), below: path(), user: String::new() }, "chmod o+x /srv/rentroll"),
            (ServerError::Foreign { path: path(), owner: "lin".into() }, "lin"),
            (ServerError::NoAccount, "useradd"),
            (ServerError::NoBinaries { needed: None }, "DATABASE_URL"),
            (ServerError::NoBinaries { needed: Some(15) }, "apt-get install postgresql-15"),
            (ServerError::TooOld { found: found(), needed: None }, "dnf install postgresql-server"),
            (ServerError::BinDir { path: path(), cause: "no such file".into() }, "no such file"),
            (
                ServerError::OtherMajor { made_by: 15, found: found(), steps: Some("OLD=/pg\ncd /".into()) },
                "\nOLD=/pg\ncd /\n",
            ),
            (ServerError::OtherMajor { made_by: 17, found: found(), steps: None }, "brew install postgresql@17"),
            (ServerError::NotADatabase { path: path() }, "/srv/rentroll"),
            (ServerError::SocketDir { path: path() }, "/srv/rentroll"),
            (ServerError::Init { output: "disk full".into() }, "disk full"),
            (ServerError::Start { log: path(), said: "FATAL: no".into() }, "FATAL: no"),
            (ServerError::Blocked { pid: Some(4711) }, "kill -INT 4711"),
            (ServerError::AlreadyServing { data_dir: path(), pid: Some(4711) }, "4711"),
            (ServerError::Silent { log: path() }, "/srv/rentroll"),
            (ServerError::Refused(sqlx::Error::PoolClosed), "RENTROLL_DATA_DIR"),
        ];
        for (error, needed) in errors {
            for locale in Locale::ALL {
                let words = locale.say(&error.message());
                assert!(words.contains(needed) && !words.contains('{'), "{error:?}: {words}");
            }
        }
    }
}
