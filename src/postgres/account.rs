//! As whom PostgreSQL runs: it refuses to run as root, so a root program runs it as somebody else.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::server_error::ServerError;
use crate::config;

/// A user of the operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Account {
    pub uid: u32,
    pub gid: u32,
    pub name: String,
}

/// The accounts of this machine, as `/etc/passwd` lists them. The ones that matter here (`postgres`, `nobody`) are local.
#[derive(Debug, Default)]
pub(super) struct Accounts(Vec<Account>);

impl Accounts {
    /// Reads `/etc/passwd`; a machine without it has no accounts.
    pub(super) fn read() -> Self {
        Self::parse(&String::from_utf8_lossy(&fs::read("/etc/passwd").unwrap_or_default()))
    }

    fn parse(passwd: &str) -> Self {
        let account = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            let uid = fields.nth(1)?.parse().ok()?;
            let gid = fields.next()?.parse().ok()?;
            Some(Account { uid, gid, name })
        };
        Self(passwd.lines().filter_map(account).collect())
    }

    fn named(&self, name: &str) -> Option<Account> {
        self.0.iter().find(|account| account.name == name && account.uid != 0).cloned()
    }

    /// The name of a user, or its number where it has none.
    pub(super) fn name_of(&self, uid: u32) -> String {
        self.0.iter().find(|account| account.uid == uid).map_or_else(|| uid.to_string(), |account| account.name.clone())
    }

    /// As whom a program of user `own_uid` runs the server of this folder; `None` is as itself.
    ///
    /// Root runs it as the folder's owner, so that data made under one account stays usable; without a folder, or with
    /// one of root's (a restored backup), as `postgres`, else as `nobody`.
    pub(super) fn server(&self, own_uid: u32, postgres: &Path) -> Result<Option<Account>, ServerError> {
        let owner = fs::metadata(postgres).ok().map(|metadata| (metadata.uid(), metadata.gid()));
        match (own_uid, owner) {
            (0, Some((uid, gid))) if uid != 0 => {
                let known = self.0.iter().find(|account| account.uid == uid).cloned();
                Ok(Some(known.unwrap_or_else(|| Account { uid, gid, name: uid.to_string() })))
            }
            (0, _) => self.named("postgres").or_else(|| self.named("nobody")).map(Some).ok_or(ServerError::NoAccount),
            (own, Some((uid, _))) if own != uid => {
                Err(ServerError::Foreign { path: postgres.to_owned(), owner: self.name_of(uid) })
            }
            _ => Ok(None),
        }
    }
}

/// The operating system's name of the user as whom this program runs, for the history: what a variable says, anybody can type.
pub fn os_user() -> String {
    config::uid().map_or_else(|| "unknown".into(), |uid| Accounts::read().name_of(uid))
}

/// A command that runs as the account: in a folder it can enter, and without this program's environment, which holds
/// secrets and PostgreSQL's own variables (`PGPORT`, `PGDATA`).
pub(super) fn command(program: &Path, account: Option<&Account>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C").current_dir("/").stdin(Stdio::null());
    for name in ["PATH", "TZ", "LD_LIBRARY_PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    if let Some(account) = account {
        command.uid(account.uid).gid(account.gid);
    }
    command
}

/// The first folder on the way to `path` (itself included) that the account cannot enter.
pub(super) fn closed_ancestor(path: &Path, account: Option<&Account>) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.reverse();
    ancestors.into_iter().find(|folder| !may_enter(folder, account)).map(Path::to_owned)
}

fn may_enter(folder: &Path, account: Option<&Account>) -> bool {
    let Some(account) = account else {
        return !matches!(fs::metadata(folder.join(".")), Err(error) if error.kind() == io::ErrorKind::PermissionDenied);
    };
    let Ok(metadata) = fs::metadata(folder) else { return true };
    let bit = if metadata.uid() == account.uid {
        0o100
    } else if metadata.gid() == account.gid {
        0o010
    } else {
        0o001
    };
    if metadata.mode() & bit != 0 || !metadata.is_dir() {
        return true;
    }
    // The mode says no; an access list may still say yes, which only going there can tell.
    let mut there = command(Path::new("/bin/sh"), Some(account));
    there.args(["-c", ":"]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    !matches!(there.status(), Err(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
        # comment\n\
        nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n\
        postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn root_runs_the_server_as_postgres_else_as_nobody() {
        let nowhere = Path::new("/nonexistent/postgres");
        let account = |passwd: &str| Accounts::parse(passwd).server(0, nowhere);
        assert_eq!(account(PASSWD).unwrap(), Some(Account { uid: 101, gid: 104, name: "postgres".into() }));
        let nobody = PASSWD.lines().take(3).collect::<Vec<_>>().join("\n");
        assert_eq!(account(&nobody).unwrap(), Some(Account { uid: 65534, gid: 65533, name: "nobody".into() }));
        assert!(matches!(account("root:x:0:0::/root:/bin/sh"), Err(ServerError::NoAccount)));
    }

    #[test]
    fn an_ordinary_user_runs_it_as_itself_and_never_on_the_data_of_another() {
        let accounts = Accounts::parse(PASSWD);
        assert_eq!(accounts.server(1000, Path::new("/nonexistent/postgres")).unwrap(), None);
        // "/" is root's on every machine
        match accounts.server(1000, Path::new("/")) {
            Err(ServerError::Foreign { owner, .. }) => assert_eq!(owner, "root"),
            other => panic!("{other:?}"),
        }
    }
}
