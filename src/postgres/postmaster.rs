//! The PostgreSQL process that we own: a thread starts it, waits for it, starts it again when it was killed, and stops it.
//!
//! The kernel is asked to stop PostgreSQL when its parent dies (`PR_SET_PDEATHSIG`), and it takes the *thread* that
//! spawned for the parent. So one thread does nothing but this, and lives exactly as long as the server. It also holds
//! the owner's lock, which is therefore free only after PostgreSQL has ended.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::account::{self, Account};
use super::locks::{OwnerLock, Phase};
use super::server_error::ServerError;

/// How long an earlier server may take to end before starting gives up: writing out its memory takes seconds on a slow
/// disk, and after `kill -9` it is only gone when the system has collected it.
const DYING: Duration = Duration::from_mins(1);
/// Between two tries while an earlier server ends.
const DYING_POLL: Duration = Duration::from_millis(100);
/// The first pause before a killed server is started again; it doubles with each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A server that ran so long did not fail at its start: the pauses begin anew.
const RAN_WELL: Duration = Duration::from_mins(1);
/// What PostgreSQL gets to end in order, then at once.
const STOPPING: [(&str, Duration); 2] = [("INT", Duration::from_mins(1)), ("QUIT", Duration::from_secs(10))];
/// A log beyond this many bytes is put aside at the next start, in place of the one before.
const LOG_BYTES: u64 = 10 * 1024 * 1024;
/// How much of the log an error message shows.
const TAIL_BYTES: u64 = 2000;

/// How the server is started.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    pub bindir: PathBuf,
    pub postgres: PathBuf,
    pub socket: PathBuf,
    pub account: Option<Account>,
    pub log: PathBuf,
}

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum State {
    /// The process runs, or will again in a moment.
    Running,
    /// It cannot start before an earlier one, of this process number, has ended.
    Waiting(Option<u32>),
    /// It did not start: what the log says.
    Failed(String),
    /// An earlier one did not end in time.
    Blocked(Option<u32>),
    /// It has ended, as we wanted.
    Stopped,
}

/// What the thread hears.
#[derive(Debug)]
enum Event {
    Ready,
    Closing,
    Stop,
    Exited(io::Result<ExitStatus>),
}

/// The handle of the thread. Dropping it stops PostgreSQL without waiting for that.
#[derive(Debug)]
pub(super) struct Postmaster {
    events: mpsc::Sender<Event>,
    /// The latest state.
    pub state: watch::Receiver<State>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Postmaster {
    /// Starts the thread, which starts PostgreSQL.
    pub(super) fn start(launch: Launch, lock: OwnerLock) -> Result<Self, ServerError> {
        let (events, inbox) = mpsc::channel();
        let (state, states) = watch::channel(State::Running);
        let program = launch.bindir.join("postgres");
        let supervisor = Supervisor { launch, lock, inbox, events: events.clone(), state, ready: false };
        let thread = thread::Builder::new()
            .name("postgres".into())
            .spawn(move || supervisor.run())
            .map_err(|cause| ServerError::Io { path: program, cause })?;
        Ok(Self { events, state: states, thread: Some(thread) })
    }

    /// It may be adopted from now on, and comes back when it is killed.
    pub(super) fn ready(&self) {
        self.events.send(Event::Ready).ok();
    }

    /// It may not be adopted any more.
    pub(super) fn closing(&self) {
        self.events.send(Event::Closing).ok();
    }

    /// Stops it and waits until it has ended.
    pub(super) async fn stop(mut self) {
        self.events.send(Event::Stop).ok();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; the server ends with its thread.
            tokio::task::spawn_blocking(move || thread.join().ok()).await.ok();
        }
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        // Nobody listens any more where it has ended.
        self.events.send(Event::Stop).ok();
    }
}

struct Supervisor {
    launch: Launch,
    lock: OwnerLock,
    inbox: mpsc::Receiver<Event>,
    events: mpsc::Sender<Event>,
    state: watch::Sender<State>,
    ready: bool,
}

impl Supervisor {
    fn run(mut self) {
        let end = self.supervise();
        let Self { lock, state, launch, .. } = self;
        if launch.socket.parent() != launch.postgres.parent() {
            // A folder outside the data directory is not left behind; a full one stays.
            fs::remove_dir(&launch.socket).ok();
        }
        drop(lock);
        state.send_replace(end);
    }

    fn supervise(&mut self) -> State {
        let begun = Instant::now();
        let mut next_pause = FIRST_PAUSE;
        if let Err(cause) = self.launch.rotate_log() {
            return State::Failed(format!("{}: {cause}", self.launch.log.display()));
        }
        loop {
            let started = Instant::now();
            let log_before = fs::metadata(&self.launch.log).map_or(0, |metadata| metadata.len());
            let ended = match self.spawn() {
                Ok(pid) => {
                    if self.ready {
                        self.state.send_replace(State::Running);
                    }
                    match self.listen(None) {
                        Heard::Exited(status) => status.map_or_else(|cause| cause.to_string(), |s| s.to_string()),
                        Heard::Stop | Heard::Nothing => {
                            self.end(pid);
                            return State::Stopped;
                        }
                    }
                }
                Err(cause) => format!("{}: {cause}", self.launch.bindir.join("postgres").display()),
            };
            let tail = self.launch.log_from(log_before);
            let pause = if self.ready {
                if started.elapsed() > RAN_WELL {
                    next_pause = FIRST_PAUSE;
                }
                tracing::error!(%ended, log = %self.launch.log.display(), "PostgreSQL ended; starting it again");
                let pause = next_pause;
                next_pause = (pause * 2).min(LONGEST_PAUSE);
                pause
            } else {
                let earlier = tail.contains("lock file \"") || tail.contains("pre-existing shared memory block");
                if !earlier {
                    return State::Failed(if tail.is_empty() { ended } else { tail });
                }
                let pid = self.launch.pid_in_file();
                if begun.elapsed() > DYING {
                    return State::Blocked(pid);
                }
                self.state.send_replace(State::Waiting(pid));
                DYING_POLL
            };
            if let Heard::Stop = self.listen(Some(pause)) {
                return State::Stopped;
            }
        }
    }

    /// Starts PostgreSQL, and a second thread that waits for its end.
    fn spawn(&self) -> io::Result<u32> {
        let mut child = self.launch.command()?.spawn()?;
        let pid = child.id();
        let events = self.events.clone();
        thread::Builder::new().name("postgres-wait".into()).spawn(move || {
            let status = child.wait();
            events.send(Event::Exited(status)).ok();
        })?;
        Ok(pid)
    }

    /// Hears until something has to be done, or until the time is over.
    fn listen(&mut self, time: Option<Duration>) -> Heard {
        let until = time.map(|time| Instant::now() + time);
        loop {
            let event = match until {
                Some(until) => self.inbox.recv_timeout(until.saturating_duration_since(Instant::now())).ok(),
                None => self.inbox.recv().ok(),
            };
            match event {
                Some(Event::Ready) => {
                    self.ready = true;
                    self.note(Phase::Ready);
                }
                Some(Event::Closing) => self.note(Phase::Stopping),
                Some(Event::Stop) => return Heard::Stop,
                Some(Event::Exited(status)) => return Heard::Exited(status),
                None => return Heard::Nothing,
            }
        }
    }

    fn note(&mut self, phase: Phase) {
        if let Err(cause) = self.lock.set_phase(phase) {
            tracing::error!(%cause, "cannot write run/owner.lock");
        }
    }

    /// Asks PostgreSQL to end, then insists.
    fn end(&mut self, pid: u32) {
        for (signal, patience) in STOPPING {
            let mut kill = account::command(&self.launch.bindir.join("pg_ctl"), self.launch.account.as_ref());
            match kill.args(["kill", signal]).arg(pid.to_string()).output() {
                Ok(output) if output.status.success() => {}
                Ok(output) => {
                    tracing::warn!(pid, signal, said = %String::from_utf8_lossy(&output.stderr), "pg_ctl kill");
                }
                Err(cause) => tracing::warn!(pid, signal, %cause, "pg_ctl kill"),
            }
            let until = Instant::now() + patience;
            loop {
                match self.listen(Some(until.saturating_duration_since(Instant::now()))) {
                    Heard::Exited(_) => return,
                    Heard::Stop => {}
                    Heard::Nothing => break,
                }
            }
        }
        tracing::error!(pid, "PostgreSQL does not end");
    }
}

enum Heard {
    Stop,
    Exited(io::Result<ExitStatus>),
    Nothing,
}

impl Launch {
    fn command(&self) -> io::Result<Command> {
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.log)?;
        let mut command = account::command(&self.bindir.join("postgres"), self.account.as_ref());
        command.arg("-D").arg(&self.postgres);
        command.arg("-k").arg(as_list_item(&self.socket));
        command.args(["-p", "5432"]);
        // What is said here wins over postgresql.conf and over `alter system`.
        for setting in
            ["listen_addresses=", "fsync=on", "full_page_writes=on", "logging_collector=off", "log_destination=stderr"]
        {
            command.arg("-c").arg(setting);
        }
        if let Some(pid) = self.pid_in_file()
            && is_ghost(pid)
        {
            // PostgreSQL takes every living process of that number for an earlier server, even one that is dead and not
            // yet collected, or a stranger that got the number after a restart. This is its own way to say that the
            // number does not count; whether earlier backends still use the data it checks all the same.
            command.env("PG_GRANDPARENT_PID", pid.to_string());
        }
        command.stdout(log.try_clone()?).stderr(log);
        tie_to_this_thread(&mut command);
        Ok(command)
    }

    fn pid_in_file(&self) -> Option<u32> {
        fs::read_to_string(self.postgres.join("postmaster.pid")).ok()?.lines().next()?.trim().parse().ok()
    }

    fn rotate_log(&self) -> io::Result<()> {
        match fs::metadata(&self.log) {
            Ok(metadata) if metadata.len() > LOG_BYTES => fs::rename(&self.log, self.log.with_extension("log.1")),
            _ => Ok(()),
        }
    }

    /// The last lines that were written after this length.
    fn log_from(&self, length: u64) -> String {
        let read = || {
            let mut file = File::open(&self.log)?;
            let end = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.max(end.saturating_sub(TAIL_BYTES))))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            io::Result::Ok(bytes)
        };
        String::from_utf8_lossy(&read().unwrap_or_default()).trim().to_owned()
    }
}

/// PostgreSQL reads the folder as an item of a list, where a comma separates and quotes protect.
fn as_list_item(path: &Path) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut item = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        if byte == b'"' {
            item.push(byte);
        }
        item.push(byte);
    }
    item.push(b'"');
    OsString::from_vec(item)
}

/// Whether the process is certainly no server: dead and not yet collected, or another program. Told by Linux alone.
fn is_ghost(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat_is_ghost(&stat))
}

/// `4711 (postgres) Z 1 …`; the name in parentheses may itself hold parentheses.
fn stat_is_ghost(stat: &str) -> bool {
    let Some((before, after)) = stat.rsplit_once(')') else { return false };
    let Some((_, name)) = before.split_once('(') else { return false };
    let dead = after.trim_start().starts_with(['Z', 'X']);
    dead || !name.starts_with("postgres")
}

/// The command is interrupted when the thread that spawns it ends, and not by what is typed at our terminal.
#[expect(unsafe_code, reason = "std can start a child as another user but knows neither sessions nor death signals")]
pub(super) fn tie_to_this_thread(command: &mut Command) {
    #[cfg(target_os = "linux")]
    let parent = libc::pid_t::try_from(std::process::id()).expect("the system made it from a pid_t");
    // SAFETY: the closure runs between fork and exec, after the change of user (which would clear the signal). There only
    // async-signal-safe calls are allowed: these are plain system calls without pointers, and the errors allocate nothing.
    unsafe {
        command.pre_exec(move || {
            // Fails only for the leader of a group, which a fresh child is not.
            libc::setsid();
            #[cfg(target_os = "linux")]
            {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGINT) == -1 {
                    return Err(io::Error::last_os_error());
                }
                // The parent may have died before the kernel knew whom to tell.
                if libc::getppid() != parent {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
            }
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dead_and_the_strangers_are_told_from_servers() {
        assert!(!stat_is_ghost("4711 (postgres) S 1 4711 4711 0 -1"));
        assert!(stat_is_ghost("4711 (postgres) Z 1 4711 4711 0 -1"));
        assert!(stat_is_ghost("4711 (a) shell) S 1 4711 4711 0 -1"));
        assert!(!stat_is_ghost("nonsense"));
        // a number that nobody has is no ghost: PostgreSQL sees for itself
        assert!(!is_ghost(u32::MAX));
    }

    #[test]
    fn a_comma_in_the_path_separates_nothing() {
        assert_eq!(as_list_item(Path::new("/a, b/\"c\"")), OsString::from("\"/a, b/\"\"c\"\"\""));
    }
}
