//! The program itself, as people run it: a process of `rentroll serve`, and its other commands.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::runtime::Handle;

use crate::client::Client;
use crate::data::{DataSet, Database};

/// A command of the program, with nothing of the caller's own settings.
pub fn rentroll() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rentroll"));
    command.env_clear().env("RENTROLL_LOCALE", "en").env("RENTROLL_LOG", "warn");
    for name in ["PATH", "HOME", "TMPDIR", "LANG", "PG_BINDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

/// `psql` on a database of this server; the connection is the superuser's.
pub fn psql(database: &Database, name: &str) -> Result<Command> {
    let program = std::env::var_os("PG_BINDIR").map_or("psql".into(), |folder| PathBuf::from(folder).join("psql"));
    let mut command = Command::new(program);
    command.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-p", "5432", "-U", "rentroll", "-d", name, "-h"]);
    command.arg(database.socket()?);
    Ok(command)
}

/// Runs a command to its end; gives what it printed.
pub fn run(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success(), "{command:?}: {}\n{printed}", output.status);
    Ok(printed)
}

/// A running `rentroll serve` over a data set, with a signed-in administrator.
pub struct Program {
    /// Its own server, adopted; left before the program ends, which would wait for it.
    database: Option<Database>,
    address: SocketAddr,
    child: Child,
    _printed: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it and waits until it listens; the administrator is signed in.
    pub fn serve(runtime: &Handle, set: &DataSet) -> Result<Self> {
        let mut program = Self::start(set)?;
        let database = Database::open(runtime, set)?;
        database.sign_in()?;
        program.database = Some(database);
        Ok(program)
    }

    /// Starts it and waits until it listens.
    pub fn start(set: &DataSet) -> Result<Self> {
        let mut command = rentroll();
        command.arg("serve").env("RENTROLL_DATA_DIR", &set.dir).env("RENTROLL_LISTEN", "127.0.0.1:0");
        let (child, printed, address) = spawn(&mut command)?;
        Ok(Self { database: None, address, child, _printed: printed })
    }

    /// Starts it on a database that runs already and is not its own, and waits until it listens; `dir` is for all else.
    pub fn start_on(database: &str, dir: &Path) -> Result<Self> {
        let mut command = rentroll();
        command
            .arg("serve")
            .env("DATABASE_URL", database)
            .env("RENTROLL_DATA_DIR", dir)
            .env("RENTROLL_LISTEN", "127.0.0.1:0");
        let (child, printed, address) = spawn(&mut command)?;
        Ok(Self { database: None, address, child, _printed: printed })
    }

    /// Its server.
    pub fn database(&self) -> Result<&Database> {
        self.database.as_ref().context("it is adopted")
    }

    /// A new connection of the administrator.
    pub fn client(&self) -> Result<Client> {
        Client::connect(self.address)
    }

    /// Memory that is its own (PSS), in MiB.
    pub fn memory(&self) -> Result<f64> {
        mebibytes(&self.proc("smaps_rollup"), "Pss:")
    }

    /// Memory in use (RSS), in MiB, now and at most since [`Program::forget_peak`].
    pub fn resident(&self) -> Result<(f64, f64)> {
        let status = self.proc("status");
        Ok((mebibytes(&status, "VmRSS:")?, mebibytes(&status, "VmHWM:")?))
    }

    /// Makes the most memory in use the memory in use now.
    pub fn forget_peak(&self) -> Result<()> {
        Ok(fs::write(self.proc("clear_refs"), "5")?)
    }

    fn proc(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join(name)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.database = None;
        end(&mut self.child);
    }
}

/// The bare handlers in a process of their own.
pub struct Bare {
    /// Where it listens.
    pub address: SocketAddr,
    child: Child,
    _printed: BufReader<ChildStdout>,
}

impl Bare {
    /// Starts this very program with the word that makes it serve the bare pages, and waits until it listens.
    pub fn start(database: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([BARE, database]);
        let (child, printed, address) = spawn(&mut command)?;
        Ok(Self { address, child, _printed: printed })
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What this program is called with to serve the bare pages; the next word is the database's address.
pub const BARE: &str = "--serve-bare-pages";

fn spawn(command: &mut Command) -> Result<(Child, BufReader<ChildStdout>, SocketAddr)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut printed = BufReader::new(child.stdout.take().context("it is piped")?);
    match listening(&mut printed) {
        Ok(address) => Ok((child, printed, address)),
        Err(error) => {
            end(&mut child);
            Err(error)
        }
    }
}

/// Ends it in order, so that its database has nothing to recover from.
fn end(child: &mut Child) {
    let told = Command::new("kill").arg(child.id().to_string()).status();
    if !told.is_ok_and(|status| status.success()) {
        child.kill().ok();
    }
    child.wait().ok();
}

/// Reads the address out of what it prints when it is ready.
fn listening(printed: &mut BufReader<ChildStdout>) -> Result<SocketAddr> {
    let mut line = String::new();
    while printed.read_line(&mut line)? > 0 {
        if let Some((_, rest)) = line.split_once("http://")
            && let Some(address) = rest.split('/').next().and_then(|address| address.parse().ok())
        {
            return Ok(address);
        }
        line.clear();
    }
    bail!("the program ended without listening")
}

/// A line such as `Pss:   28123 kB`.
fn mebibytes(file: &Path, name: &str) -> Result<f64> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let value = text.lines().find_map(|line| line.strip_prefix(name)).context("no such line")?;
    let kibibytes: u32 = value.trim().trim_end_matches(" kB").parse()?;
    Ok(f64::from(kibibytes) / 1024.0)
}
