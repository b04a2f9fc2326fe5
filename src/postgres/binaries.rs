//! PostgreSQL's programs: where they are, of which major version, and what to do where they do not fit.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::account::{self, Account};
use super::cluster;
use super::server_error::ServerError;

/// The oldest major version whose features the migrations use.
pub(super) const OLDEST_MAJOR: u32 = 15;

/// A folder with `postgres`, `initdb` and `pg_ctl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    /// The folder.
    pub bindir: PathBuf,
    /// The first number of the version.
    pub major: u32,
}

/// Finds the programs: in `pg_bindir` alone where it is given, else the first place that has a fitting version.
///
/// `needed` is the major version that made the data; no other can read them.
pub(super) fn find(
    pg_bindir: Option<&Path>,
    data_dir: &Path,
    needed: Option<u32>,
    account: Option<&Account>,
) -> Result<Binaries, ServerError> {
    if let Some(bindir) = pg_bindir {
        let bindir = std::path::absolute(bindir).unwrap_or_else(|_| bindir.to_owned());
        let found = look_at(&bindir, account)?;
        return choose(std::iter::once(found), needed);
    }
    let mut closed = None;
    let found = places(data_dir).into_iter().filter_map(|bindir| match look_at(&bindir, account) {
        Ok(found) => Some(found),
        Err(error @ ServerError::Closed { .. }) => {
            closed.get_or_insert(error);
            None
        }
        Err(_) => None,
    });
    match choose(found, needed) {
        Err(ServerError::NoBinaries { needed }) => Err(closed.unwrap_or(ServerError::NoBinaries { needed })),
        result => result,
    }
}

fn choose(found: impl Iterator<Item = Binaries>, needed: Option<u32>) -> Result<Binaries, ServerError> {
    let mut best: Option<Binaries> = None;
    for binaries in found {
        let fits = binaries.major >= OLDEST_MAJOR && needed.is_none_or(|needed| needed == binaries.major);
        if fits {
            return Ok(binaries);
        }
        if best.as_ref().is_none_or(|best| best.major < binaries.major) {
            best = Some(binaries);
        }
    }
    Err(match (best, needed) {
        (None, _) => ServerError::NoBinaries { needed },
        (Some(found), _) if found.major < OLDEST_MAJOR => ServerError::TooOld { found, needed },
        (Some(found), Some(made_by)) => ServerError::OtherMajor { made_by, found, steps: None },
        (Some(_), None) => unreachable!("a version that is new enough fits when none is needed"),
    })
}

/// Whether the three programs are there, can be reached by the account, and which version they are.
fn look_at(bindir: &Path, account: Option<&Account>) -> Result<Binaries, ServerError> {
    let unusable = |cause: String| ServerError::BinDir { path: bindir.to_owned(), cause };
    for program in ["postgres", "initdb", "pg_ctl"] {
        let path = bindir.join(program);
        std::fs::metadata(&path).map_err(|cause| unusable(format!("{program}: {cause}")))?;
    }
    if let Some(ancestor) = account::closed_ancestor(bindir, account) {
        let user = account.map_or_else(String::new, |account| account.name.clone());
        return Err(ServerError::Closed { ancestor, below: bindir.to_owned(), user });
    }
    let output = account::command(&bindir.join("postgres"), account)
        .arg("--version")
        .output()
        .map_err(|cause| unusable(format!("postgres --version: {cause}")))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let major = major_of(&said)
        .ok_or_else(|| unusable(format!("postgres --version: {said}{}", String::from_utf8_lossy(&output.stderr))))?;
    Ok(Binaries { bindir: bindir.to_owned(), major })
}

/// `postgres (PostgreSQL) 15.18 (Debian …)` → 15; also `18beta1`.
fn major_of(version: &str) -> Option<u32> {
    let number = version.split("(PostgreSQL)").nth(1)?.trim_start();
    let digits = number.find(|c: char| !c.is_ascii_digit()).map_or(number, |end| &number[..end]);
    digits.parse().ok()
}

/// Where PostgreSQL's programs may be, best first.
fn places(data_dir: &Path) -> Vec<PathBuf> {
    let mut places = Vec::new();
    // The folder beside the program in a release bundle.
    if let Ok(program) = std::env::current_exe()
        && let Some(folder) = program.parent()
    {
        places.push(folder.join("pg/bin"));
    }
    // Debian and Ubuntu; the RPMs of postgresql.org.
    places.extend(versions_in(Path::new("/usr/lib/postgresql"), ""));
    places.extend(versions_in(Path::new("/usr"), "pgsql-"));
    if let Some(path) = std::env::var_os("PATH") {
        // Debian's wrappers are links; only the real folder has all programs.
        let real = |folder: PathBuf| folder.join("postgres").canonicalize().ok()?.parent().map(Path::to_owned);
        places.extend(std::env::split_paths(&path).filter_map(real));
    }
    for homebrew in ["/opt/homebrew/opt", "/usr/local/opt"] {
        places.extend(versions_in(Path::new(homebrew), "postgresql@"));
        places.push(Path::new(homebrew).join("postgresql/bin"));
    }
    // What bin/run unpacked where the machine had none.
    places.extend(versions_in(&data_dir.join("pg"), ""));
    places.push(data_dir.join("pg/bin"));
    let mut seen = HashSet::new();
    places.retain(|place| seen.insert(place.clone()));
    places
}

/// `folder/<prefix><version>/bin`, highest version first.
fn versions_in(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut versions: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(prefix)?;
            let numbers = version.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()?;
            Some((numbers, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by(|a, b| b.0.cmp(&a.0));
    versions.into_iter().map(|(_, bindir)| bindir).collect()
}

/// The command that installs PostgreSQL, of one major version where that matters: on Debian, on Fedora, on macOS.
pub(super) fn install_commands(major: Option<u32>) -> [String; 3] {
    match major {
        Some(major) => [
            format!("apt-get install postgresql-{major}"),
            format!("dnf install postgresql{major}-server"),
            format!("brew install postgresql@{major}"),
        ],
        None => [
            "apt-get install postgresql".into(),
            "dnf install postgresql-server".into(),
            "brew install postgresql@17".into(),
        ],
    }
}

/// What is needed to write down how data get from one major version to another.
#[derive(Debug)]
pub(super) struct CarryOver<'a> {
    pub data_dir: &'a Path,
    pub socket: &'a Path,
    pub made_by: u32,
    pub new: &'a Binaries,
    pub account: Option<&'a Account>,
}

impl CarryOver<'_> {
    /// The commands for a shell, one a line: install the old version, then [`CarryOver::commands`].
    pub(super) fn steps(&self) -> String {
        let [debian, fedora, macos] = install_commands(Some(self.made_by));
        let (install, old) = if cfg!(target_os = "macos") {
            (macos, format!("/opt/homebrew/opt/postgresql@{}/bin", self.made_by))
        } else if Path::new("/etc/debian_version").exists() {
            (debian, format!("/usr/lib/postgresql/{}/bin", self.made_by))
        } else {
            (fedora, format!("/usr/pgsql-{}/bin", self.made_by))
        };
        format!("{install}\n{}", self.commands(Path::new(&old)))
    }

    /// Dump with the old server, put the old folder aside, fill a new one.
    ///
    /// The new folder is filled before Rentroll sees it, because Rentroll would migrate an empty database first. The
    /// dump is taken by the new version's program, as PostgreSQL's manual recommends (section 19.6.1).
    pub(super) fn commands(&self, old: &Path) -> String {
        let Self { made_by, account, .. } = self;
        let run_as = account.map_or_else(String::new, |account| format!("runuser -u {} -- ", account.name));
        let owner = account.map_or_else(String::new, |account| format!("-o {} ", account.name));
        let start = r#"-l "$SOCKET/carry-over.log" -o "-k '$SOCKET' -p 5432 -c listen_addresses=" -w start"#;
        let client = r#"-h "$SOCKET" -p 5432 -U rentroll"#;
        let initdb = cluster::initdb_arguments(self.new.major).join(" ");
        let [old, new, data, socket] = [old, &self.new.bindir, self.data_dir, self.socket].map(quoted);
        format!(
            r#"OLD={old}
NEW={new}
DATA={data}
SOCKET={socket}
cd / && umask 077
{run_as}"$OLD/pg_ctl" -D "$DATA/postgres" {start}
"$NEW/pg_dumpall" {client} -f "$DATA/carry-over.sql"
{run_as}"$OLD/pg_ctl" -D "$DATA/postgres" -m fast -w stop
mv "$DATA/postgres" "$DATA/postgres-{made_by}"
install -d {owner}-m 0700 "$DATA/postgres"
{run_as}"$NEW/initdb" -D "$DATA/postgres" {initdb}
{run_as}"$NEW/pg_ctl" -D "$DATA/postgres" {start}
sed '/^CREATE ROLE rentroll;$/d' "$DATA/carry-over.sql" | "$NEW/psql" -X -q -v ON_ERROR_STOP=1 {client} -d postgres
{run_as}"$NEW/pg_ctl" -D "$DATA/postgres" -m fast -w stop"#,
        )
    }
}

/// A path as one word of a shell command.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    if path.chars().all(|c| c.is_ascii_alphanumeric() || "/._-@+:".contains(c)) {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn binaries(major: u32) -> Binaries {
        Binaries { bindir: PathBuf::from(format!("/pg/{major}/bin")), major }
    }

    fn chosen(majors: &[u32], needed: Option<u32>) -> Result<u32, ServerError> {
        choose(majors.iter().map(|&major| binaries(major)), needed).map(|found| found.major)
    }

    #[test]
    fn the_first_that_fits_is_taken() {
        assert_eq!(chosen(&[17, 15], None).unwrap(), 17);
        assert_eq!(chosen(&[14, 16, 15], None).unwrap(), 16);
        assert_eq!(chosen(&[17, 15], Some(15)).unwrap(), 15);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        assert!(matches!(chosen(&[], None), Err(ServerError::NoBinaries { needed: None })));
        assert!(matches!(chosen(&[], Some(16)), Err(ServerError::NoBinaries { needed: Some(16) })));
        assert!(matches!(chosen(&[13, 14], None), Err(ServerError::TooOld { found, .. }) if found.major == 14));
        let error = chosen(&[16, 17], Some(15)).unwrap_err();
        assert!(matches!(error, ServerError::OtherMajor { made_by: 15, found, .. } if found.major == 17));
        let error = chosen(&[15], Some(17)).unwrap_err();
        assert!(matches!(error, ServerError::OtherMajor { made_by: 17, found, .. } if found.major == 15));
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n"), Some(15));
        assert_eq!(major_of("postgres (PostgreSQL) 18beta1\n"), Some(18));
        assert_eq!(major_of("postgres (PostgreSQL)\n"), None);
        assert_eq!(major_of("something else 15"), None);
    }

    #[test]
    fn the_highest_version_comes_first_by_number() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["9.6", "15", "17", "17.2", "common"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let names: Vec<_> = versions_in(folder.path(), "")
            .iter()
            .map(|bindir| bindir.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned())
            .collect();
        assert_eq!(names, ["17.2", "17", "15", "9.6"]);
    }

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(quoted(Path::new("/var/lib/rentroll")), "/var/lib/rentroll");
        assert_eq!(quoted(Path::new("/srv/it's here")), r"'/srv/it'\''s here'");
    }
}
