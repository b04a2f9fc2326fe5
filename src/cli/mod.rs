//! The command line: one file per command. Each calls the same functions as the pages do.
//!
//! Standard output belongs to the result: words in the command's language, or with `--json` exactly one object. Progress,
//! logs and what went wrong go to standard error. The exit code is 0 when it is done, 1 when it was refused and nothing
//! was changed, 2 when it was called the wrong way.

mod arguments;
mod console;
mod doctor;
mod export;
mod import;
mod jobs;
mod logging;
mod migrate;
mod open;
mod progress;
mod serve;
mod user;
mod variables;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::runtime;

use crate::config::Config;
use crate::locale::Message;
use console::{Console, Refused, Report};

/// What was typed.
#[derive(Debug, Parser)]
#[command(name = "rentroll", version, about = "A rental ledger and renewal tracker for GPU compute")]
#[command(disable_help_subcommand = true, after_help = "Called without anything, it serves.")]
struct CommandLine {
    #[command(flatten)]
    config: Config,
    /// Print one JSON object; logs and progress go to standard error.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
    /// Why variables cannot be used; only the doctor goes on without them.
    #[arg(skip)]
    unusable: Vec<Message>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the pages and run the jobs.
    Serve,
    /// Bring the database up to this version.
    Migrate,
    /// Make log-ins.
    User(user::Arguments),
    /// Bring in a file: all of it or nothing.
    Import(import::Arguments),
    /// See and run the periodic jobs.
    Jobs(jobs::Arguments),
    /// Write a list as a file: csv, csv-plain, xlsx or json.
    Export(export::Arguments),
    /// Say of variables, database, migrations, roles, mail, clock, documents, keys and disk whether each is well, or what to do.
    Doctor,
}

/// Runs the command; the arguments begin with the program's own name.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let mut line = match arguments::read(arguments) {
        Ok(line) => line,
        Err(code) => return code,
    };
    let console = Console::new(line.config.command_locale(), line.json);
    let logging = match (logging::start(&line.config.log), &line.command) {
        (Err(message), Some(Command::Doctor)) => {
            line.unusable.push(message);
            Ok(())
        }
        (started, _) => started,
    };
    let result = logging.map_err(Refused::Say).and_then(|()| {
        let command = line.command.unwrap_or(Command::Serve);
        // A command does one thing after the other: on one thread it is not woken across threads at every answer of the database
        // and the mail server. The server has as many threads as the machine has processors; more would only cost memory.
        let mut runtime = match command {
            Command::Serve => runtime::Builder::new_multi_thread(),
            _ => runtime::Builder::new_current_thread(),
        };
        let runtime = runtime.enable_all().build().map_err(|cause| Refused::Error(anyhow::Error::new(cause).into()))?;
        let result = runtime.block_on(obey(&line.config, &console, command, &line.unusable));
        // A thread that still blocks on a file must not keep the program.
        runtime.shutdown_background();
        result
    });
    console.end(result)
}

async fn obey(config: &Config, console: &Console, command: Command, unusable: &[Message]) -> Result<Report, Refused> {
    match command {
        Command::Serve => serve::run(config, console).await,
        Command::Migrate => migrate::run(config, console).await,
        Command::User(arguments) => user::run(config, console, arguments).await,
        Command::Import(arguments) => import::run(config, console, arguments).await,
        Command::Jobs(arguments) => jobs::run(config, console, arguments).await,
        Command::Export(arguments) => export::run(config, console, arguments).await,
        Command::Doctor => doctor::run(config, console, unusable).await,
    }
}
