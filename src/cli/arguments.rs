//! What was typed and what the environment says, with a name for every variable that cannot be read.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory as _, FromArgMatches as _};

use super::CommandLine;
use super::console;

/// Reads them; on wrong usage says so and gives the exit code.
pub(super) fn read(arguments: &[OsString]) -> Result<CommandLine, ExitCode> {
    // `--help` and `--version` come this way too, and are no error.
    parse(arguments).map_err(|error| {
        let _ = error.print();
        if error.exit_code() == 0 {
            return ExitCode::SUCCESS;
        }
        if arguments.iter().any(|argument| argument == "--json") {
            console::print_json(&serde_json::json!({ "errors": [{ "message": first_line(&error) }] }));
        }
        ExitCode::from(2)
    })
}

fn parse(arguments: &[OsString]) -> clap::error::Result<CommandLine> {
    // A variable that is set to nothing is not set: so it stands in many a docker-compose.yml.
    let is_empty = |arg: &Arg| variable(arg).is_some_and(|value| value.is_empty());
    let command = CommandLine::command().mut_args(|arg| if is_empty(&arg) { arg.env(None::<&str>) } else { arg });
    let args: Vec<Arg> = command.get_arguments().cloned().collect();
    let mut for_errors = command.clone();
    let line = command
        .try_get_matches_from(arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches))
        .map_err(|error| name_variables(error, &args, arguments, &mut for_errors))?;
    if line.command.is_none() && arguments.len() > 1 {
        let message = "name a command: only a bare `rentroll` serves";
        return Err(for_errors.error(ErrorKind::MissingSubcommand, message));
    }
    Ok(line)
}

/// The value of the variable that stands for an option.
fn variable(arg: &Arg) -> Option<OsString> {
    std::env::var_os(arg.get_env()?)
}

/// An option that nobody typed came out of its variable, so the message must name that.
fn name_variables(
    error: clap::Error,
    args: &[Arg],
    arguments: &[OsString],
    command: &mut clap::Command,
) -> clap::Error {
    let concerned: Vec<&str> = error
        .context()
        .filter(|(kind, _)| matches!(kind, ContextKind::InvalidArg | ContextKind::PriorArg))
        .flat_map(|(_, value)| match value {
            ContextValue::String(one) => vec![one.as_str()],
            ContextValue::Strings(many) => many.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        })
        .collect();
    let unreadable = error.kind() == ErrorKind::InvalidUtf8;
    let mut names: Vec<String> = args
        .iter()
        .filter(|arg| !is_typed(arg, arguments))
        .filter(|arg| {
            variable(arg).is_some_and(|value| {
                if unreadable {
                    value.to_str().is_none()
                } else {
                    concerned.iter().any(|shown| option(shown) == arg.get_long())
                }
            })
        })
        .filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned))
        .collect();
    names.dedup();
    if names.is_empty() {
        return error;
    }
    let message = format!("the variable {} cannot be used: {}", names.join(" or "), first_line(&error));
    command.error(error.kind(), message)
}

/// `listen` of `--listen <LISTEN>`.
fn option(shown: &str) -> Option<&str> {
    shown.strip_prefix("--").and_then(|rest| rest.split([' ', '=']).next())
}

fn is_typed(arg: &Arg, arguments: &[OsString]) -> bool {
    let Some(long) = arg.get_long() else { return false };
    arguments.iter().filter_map(|argument| argument.to_str()).any(|argument| option(argument) == Some(long))
}

/// What went wrong, without the usage below it.
fn first_line(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(words: &[&str]) -> Option<ErrorKind> {
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&arguments).err().map(|error| error.kind())
    }

    #[test]
    fn the_command_line_is_sound() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn only_a_bare_call_serves_without_naming_the_command() {
        assert_eq!(kind(&["rentroll"]), None);
        assert_eq!(kind(&["rentroll", "serve", "--json"]), None);
        assert_eq!(kind(&["rentroll", "--json"]), Some(ErrorKind::MissingSubcommand));
        assert_eq!(kind(&["rentroll", "sreve"]), Some(ErrorKind::InvalidSubcommand));
    }

    #[test]
    fn an_option_is_found_in_what_is_shown_of_it() {
        assert_eq!(option("--listen <LISTEN>"), Some("listen"));
        assert_eq!(option("--listen=1"), Some("listen"));
        assert_eq!(option("serve"), None);
    }
}
