//! The data directory and the database cluster in it: folders, `initdb`, the folder of the socket.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

use super::account::{self, Account, Accounts};
use super::binaries::{self, Binaries, CarryOver};
use super::postmaster::{Launch, tie_to_this_thread};
use super::server_error::ServerError;

/// The name of the socket's file, which PostgreSQL gives it by its port.
const SOCKET_FILE: &str = ".s.PGSQL.5432";
/// A Unix socket's address holds 107 bytes on Linux and 103 on macOS; this leaves a little.
const LONGEST_SOCKET: usize = 100;

/// The data directory, with the program's own folders in it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Absolute and without links.
    pub data_dir: PathBuf,
    /// Who runs this program.
    own_uid: u32,
}

impl Place {
    /// Makes the data directory and the folders that only the program uses.
    pub(super) fn prepare(data_dir: &Path) -> Result<Self, ServerError> {
        let failed = |cause: io::Error| match cause.kind() {
            io::ErrorKind::PermissionDenied => closed_to_us(data_dir, cause),
            _ => ServerError::Io { path: data_dir.to_owned(), cause },
        };
        let absolute = std::path::absolute(data_dir).map_err(failed)?;
        if let Some(parent) = absolute.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        match DirBuilder::new().mode(0o700).create(&absolute) {
            // Root's server runs as another user, who has to pass through.
            Ok(()) if fs::metadata(&absolute).map_err(failed)?.uid() == 0 => {
                fs::set_permissions(&absolute, Permissions::from_mode(0o755)).map_err(failed)?;
            }
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(failed(cause)),
        }
        let data_dir = absolute.canonicalize().map_err(failed)?;
        for name in ["run", "documents", "outbox", "keys"] {
            private_dir(&data_dir.join(name))?;
        }
        let own_uid = own_uid(&data_dir.join("run"))?;
        Ok(Self { data_dir, own_uid })
    }

    /// The folder of the locks and of the server's log.
    pub(super) fn run(&self) -> PathBuf {
        self.data_dir.join("run")
    }

    /// The cluster.
    pub(super) fn postgres(&self) -> PathBuf {
        self.data_dir.join("postgres")
    }
}

/// A cluster, made or still to make, with all that its server needs.
#[derive(Debug)]
pub(super) struct Cluster {
    place: Place,
    account: Option<Account>,
    /// The programs of its version.
    pub binaries: Binaries,
    /// The folder of the socket.
    pub socket: PathBuf,
    /// Whether `initdb` has yet to run.
    pub empty: bool,
}

impl Cluster {
    /// Looks at what is there and decides by whom and with which programs it is served.
    pub(super) fn plan(place: Place, pg_bindir: Option<&Path>) -> Result<Self, ServerError> {
        let postgres = place.postgres();
        let accounts = Accounts::read();
        let account = accounts.server(place.own_uid, &postgres)?;
        if let Some(ancestor) = account::closed_ancestor(&place.data_dir, account.as_ref()) {
            let user = account.map_or_else(|| accounts.name_of(place.own_uid), |account| account.name);
            return Err(ServerError::Closed { ancestor, below: place.data_dir, user });
        }
        let made_by = made_by(&postgres)?;
        let socket = socket_dir(&place, account.as_ref())?;
        let mut binaries = binaries::find(pg_bindir, &place.data_dir, made_by, account.as_ref());
        if let Err(ServerError::OtherMajor { made_by, found, steps }) = &mut binaries
            && found.major > *made_by
        {
            let data_dir = &place.data_dir;
            let over =
                CarryOver { data_dir, socket: &socket, made_by: *made_by, new: found, account: account.as_ref() };
            *steps = Some(over.steps());
        }
        if let Some(account) = &account
            && made_by.is_some()
        {
            give(&postgres, account)?;
        }
        Ok(Self { place, account, binaries: binaries?, socket, empty: made_by.is_none() })
    }

    /// Runs `initdb` in a folder beside, and gives that its name only when all is there: who is killed in the middle
    /// leaves nothing half.
    pub(super) fn initialise(&self) -> Result<(), ServerError> {
        self.sweep()?;
        let folder = self.place.data_dir.join(format!("{UNFINISHED}{}", std::process::id()));
        private_dir(&folder)?;
        if let Some(account) = &self.account {
            give(&folder, account)?;
        }
        let mut output = self.initdb(&folder, self.binaries.major)?;
        if !output.status.success() && String::from_utf8_lossy(&output.stderr).contains("locale") {
            // Old systems have no C.UTF-8. What it would bring, sorting by code point, C brings too.
            output = self.initdb_plain(&folder)?;
        }
        if !output.status.success() {
            fs::remove_dir_all(&folder).ok();
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(ServerError::Init { output: said.trim().to_owned() });
        }
        let postgres = self.place.postgres();
        fs::rename(&folder, &postgres)
            .and_then(|()| File::open(&self.place.data_dir)?.sync_all())
            .map_err(|cause| ServerError::Io { path: postgres, cause })
    }

    fn initdb(&self, folder: &Path, major: u32) -> Result<std::process::Output, ServerError> {
        self.run_initdb(folder, initdb_arguments(major))
    }

    fn initdb_plain(&self, folder: &Path) -> Result<std::process::Output, ServerError> {
        let mut arguments = initdb_arguments(0);
        arguments.retain(|argument| !argument.starts_with("--locale"));
        arguments.push("--locale=C");
        self.run_initdb(folder, arguments)
    }

    fn run_initdb(&self, folder: &Path, arguments: Vec<&str>) -> Result<std::process::Output, ServerError> {
        let program = self.binaries.bindir.join("initdb");
        let mut command = account::command(&program, self.account.as_ref());
        command.arg("-D").arg(folder).args(arguments).arg("--no-instructions");
        tie_to_this_thread(&mut command);
        command.output().map_err(|cause| ServerError::Io { path: program, cause })
    }

    /// Removes what an initialisation that was killed left.
    fn sweep(&self) -> Result<(), ServerError> {
        let failed = |cause| ServerError::Io { path: self.place.data_dir.clone(), cause };
        for entry in fs::read_dir(&self.place.data_dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_name().as_bytes().starts_with(UNFINISHED.as_bytes()) {
                fs::remove_dir_all(entry.path()).map_err(|cause| ServerError::Io { path: entry.path(), cause })?;
            }
        }
        Ok(())
    }

    /// Stops a server whose owner is gone without having taken it along.
    pub(super) fn stop_orphan(&self) {
        let mut command = self.pg_ctl();
        command.args(["stop", "-m", "fast", "-w", "-t", "60", "-s", "-D"]).arg(self.place.postgres());
        // If it ended by itself meanwhile there is nothing to stop; if it does not end, starting will say so.
        if let Err(cause) = command.output() {
            tracing::warn!(%cause, "pg_ctl cannot be run");
        }
    }

    fn pg_ctl(&self) -> Command {
        account::command(&self.binaries.bindir.join("pg_ctl"), self.account.as_ref())
    }

    /// How the server is started.
    pub(super) fn launch(&self) -> Launch {
        Launch {
            bindir: self.binaries.bindir.clone(),
            postgres: self.place.postgres(),
            socket: self.socket.clone(),
            account: self.account.clone(),
            log: self.place.run().join("postgres.log"),
        }
    }
}

/// Folders of this name are unfinished clusters.
const UNFINISHED: &str = "postgres.new-";

/// What `initdb` of this major version is told. Text sorts by code point everywhere, so that an update of the system's
/// C library never changes an index's order.
pub(super) fn initdb_arguments(major: u32) -> Vec<&'static str> {
    let mut arguments =
        vec!["-U", "rentroll", "-E", "UTF8", "--auth-local=trust", "--auth-host=scram-sha-256", "--data-checksums"];
    if major >= 17 {
        arguments.extend(["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"]);
    } else {
        arguments.push("--locale=C.UTF-8");
    }
    arguments
}

/// The major version that made the cluster; `None` where there is none yet.
fn made_by(postgres: &Path) -> Result<Option<u32>, ServerError> {
    match fs::read_to_string(postgres.join("PG_VERSION")) {
        Ok(version) => match version.trim().split('.').next().and_then(|major| major.parse().ok()) {
            Some(major) => Ok(Some(major)),
            None => Err(ServerError::NotADatabase { path: postgres.to_owned() }),
        },
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => match fs::read_dir(postgres).map(|mut all| all.next())
        {
            Ok(None) => Ok(None),
            Ok(Some(_)) => Err(ServerError::NotADatabase { path: postgres.to_owned() }),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(ServerError::Io { path: postgres.to_owned(), cause }),
        },
        Err(cause) => Err(ServerError::Io { path: postgres.to_owned(), cause }),
    }
}

/// The folder of the socket, made and given to the account: in the data directory, or elsewhere where its path would be
/// too long for a socket.
fn socket_dir(place: &Place, account: Option<&Account>) -> Result<PathBuf, ServerError> {
    let plain = place.data_dir.join("socket");
    private_dir(&plain)?;
    if let Some(account) = account {
        give(&plain, account)?;
    }
    if fits(&plain) {
        return Ok(plain);
    }
    let hash = hex::encode(&Sha256::digest(place.data_dir.as_os_str().as_bytes())[..8]);
    let name = format!("rentroll-{hash}");
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|base| base.is_absolute() && base.is_dir());
    let short = match own {
        // Nobody but its user enters that folder.
        Some(base) if account.is_none() && fits(&base.join(&name)) => base.join(&name),
        _ => Path::new("/tmp").join(&name),
    };
    private_dir(&short)?;
    // Everybody can make folders in /tmp: only a folder that is really ours is taken.
    let metadata = fs::symlink_metadata(&short).map_err(|cause| ServerError::Io { path: short.clone(), cause })?;
    let ours = metadata.uid() == place.own_uid || account.is_some_and(|account| account.uid == metadata.uid());
    if !metadata.is_dir() || !ours || metadata.mode() & 0o077 != 0 {
        return Err(ServerError::SocketDir { path: short });
    }
    if let Some(account) = account {
        give(&short, account)?;
    }
    Ok(short)
}

fn fits(socket: &Path) -> bool {
    socket.join(SOCKET_FILE).as_os_str().len() <= LONGEST_SOCKET
}

/// Makes a folder that only its owner enters, unless it is there.
fn private_dir(path: &Path) -> Result<(), ServerError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
            Err(ServerError::Io { path: path.to_owned(), cause })
        }
        _ => Ok(()),
    }
}

/// Makes the account the owner of the folder and of all in it. A folder that is the account's already is left as it is.
fn give(path: &Path, account: &Account) -> Result<(), ServerError> {
    let failed = |cause| ServerError::Io { path: path.to_owned(), cause };
    let metadata = fs::symlink_metadata(path).map_err(failed)?;
    if metadata.uid() == account.uid {
        return Ok(());
    }
    if metadata.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            give(&entry.map_err(failed)?.path(), account)?;
        }
    }
    // Last, so that a folder which is the account's is wholly the account's.
    lchown(path, Some(account.uid), Some(account.gid)).map_err(failed)
}

/// Who we are, as the owner of a file that we make.
fn own_uid(run: &Path) -> Result<u32, ServerError> {
    let path = run.join(format!("who-{}-{}", std::process::id(), uuid::Uuid::new_v4()));
    let uid = File::create_new(&path).and_then(|file| Ok(file.metadata()?.uid()));
    fs::remove_file(&path).ok();
    uid.map_err(|cause| ServerError::Io { path: run.to_owned(), cause })
}

/// The program itself was refused: by a closed folder on the way, which is then named, or by the folder itself.
fn closed_to_us(data_dir: &Path, cause: io::Error) -> ServerError {
    match account::closed_ancestor(data_dir, None) {
        Some(ancestor) => ServerError::Closed { ancestor, below: data_dir.to_owned(), user: String::new() },
        None => ServerError::Io { path: data_dir.to_owned(), cause },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folders_are_made_and_closed_to_others() {
        let temporary = tempfile::tempdir().unwrap();
        let place = Place::prepare(&temporary.path().join("a/b")).unwrap();
        for name in ["run", "documents", "outbox", "keys"] {
            let metadata = fs::metadata(place.data_dir.join(name)).unwrap();
            assert_eq!(metadata.mode() & 0o777, 0o700, "{name}");
        }
        assert_eq!(place.own_uid, fs::metadata(temporary.path()).unwrap().uid());
        assert_eq!(fs::read_dir(place.run()).unwrap().count(), 0);
    }

    #[test]
    fn a_long_path_gets_a_short_socket_and_always_the_same() {
        let temporary = tempfile::tempdir().unwrap();
        let place = Place::prepare(&temporary.path().join("x".repeat(90))).unwrap();
        let socket = socket_dir(&place, None).unwrap();
        assert!(fits(&socket), "{}", socket.display());
        assert_eq!(socket_dir(&place, None).unwrap(), socket);
        // What others could enter is not taken.
        fs::set_permissions(&socket, Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(socket_dir(&place, None), Err(ServerError::SocketDir { .. })));
        fs::remove_dir(&socket).unwrap();
    }

    #[test]
    fn a_folder_that_is_no_cluster_is_left_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let postgres = temporary.path().join("postgres");
        assert_eq!(made_by(&postgres).unwrap(), None);
        fs::create_dir(&postgres).unwrap();
        assert_eq!(made_by(&postgres).unwrap(), None);
        fs::write(postgres.join("letter.txt"), "dear").unwrap();
        assert!(matches!(made_by(&postgres), Err(ServerError::NotADatabase { .. })));
        fs::write(postgres.join("PG_VERSION"), "15\n").unwrap();
        assert_eq!(made_by(&postgres).unwrap(), Some(15));
    }

    #[test]
    fn the_builtin_provider_is_taken_where_there_is_one() {
        assert!(initdb_arguments(16).contains(&"--locale=C.UTF-8"));
        assert!(initdb_arguments(17).contains(&"--builtin-locale=C.UTF-8"));
    }
}
