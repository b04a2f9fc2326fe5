//! What was typed and what the environment says, with a name for every variable that cannot be read.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, CommandFactory as _, FromArgMatches as _};
use serde_json::{Value, json};

use super::console;
use super::{Command, CommandLine};
use crate::locale::Message;

/// Why what was typed, or what a variable says, cannot be read.
struct Wrong {
    error: clap::Error,
    /// The variables that it came from; none where it was typed.
    variables: Vec<String>,
}

/// Reads them; on wrong usage says so and gives the exit code.
pub(super) fn read(arguments: &[OsString]) -> Result<CommandLine, ExitCode> {
    // `--help` and `--version` come this way too, and are no error.
    parse(arguments).map_err(|wrong| {
        let _ = wrong.error.print();
        if wrong.error.exit_code() == 0 {
            return ExitCode::SUCCESS;
        }
        if arguments.iter().any(|argument| argument == "--json") {
            console::print_json(&json!({ "errors": [wrong.json()] }));
        }
        ExitCode::from(2)
    })
}

/// The doctor goes on without the variables that cannot be used, and tells of each.
fn parse(arguments: &[OsString]) -> Result<CommandLine, Wrong> {
    let mut unusable: Vec<Wrong> = Vec::new();
    let line = loop {
        let left_out: Vec<&str> = unusable.iter().flat_map(|wrong| &wrong.variables).map(String::as_str).collect();
        match parse_without(&left_out, arguments) {
            Ok(line) => break Ok(line),
            Err(wrong) if wrong.variables.is_empty() => break Err(wrong),
            Err(wrong) => unusable.push(wrong),
        }
    };
    match line {
        Ok(mut line) if unusable.is_empty() || matches!(line.command, Some(Command::Doctor)) => {
            line.unusable = unusable.iter().map(Wrong::of_variable).collect();
            Ok(line)
        }
        // The first that was met.
        line => match unusable.into_iter().next() {
            Some(wrong) => Err(wrong),
            None => line,
        },
    }
}

/// The command line as it is declared, without the variables that do not count.
fn declared(is_left_out: impl Fn(&Arg) -> bool) -> clap::Command {
    CommandLine::command()
        .mut_args(|arg| if is_left_out(&arg) { arg.env(None::<&str>) } else { arg })
        // What is missing is said, not the help in its place.
        .mut_subcommands(|command| command.arg_required_else_help(false))
}

fn parse_without(left_out: &[&str], arguments: &[OsString]) -> Result<CommandLine, Wrong> {
    // A variable that is set to nothing is not set: so it stands in many a docker-compose.yml.
    let is_empty = |arg: &Arg| variable(arg).is_some_and(|value| value.is_empty());
    let is_left_out = |arg: &Arg| arg.get_env().is_some_and(|name| left_out.iter().any(|it| name == *it));
    let command = declared(|arg| is_empty(arg) || is_left_out(arg));
    let args: Vec<Arg> = command.get_arguments().cloned().collect();
    let mut for_errors = command.clone();
    let line = command
        .try_get_matches_from(arguments)
        .and_then(|matches| CommandLine::from_arg_matches(&matches))
        .map_err(|error| explain(error, &args, arguments, &mut for_errors))?;
    if line.command.is_none() && arguments.len() > 1 {
        let message = format!("name a command: only a bare `rentroll` serves {}", subcommands(&for_errors, arguments));
        return Err(Wrong::typed(for_errors.error(ErrorKind::MissingSubcommand, message)));
    }
    Ok(line)
}

/// The value of the variable that stands for an option.
fn variable(arg: &Arg) -> Option<OsString> {
    std::env::var_os(arg.get_env()?)
}

/// Adds to an error of clap's what it leaves out: the variable that an option came from when nobody typed it, and the commands
/// that there are.
fn explain(error: clap::Error, args: &[Arg], arguments: &[OsString], command: &mut clap::Command) -> Wrong {
    if error.kind() == ErrorKind::InvalidSubcommand {
        let message = format!("{} {}", words(&error), subcommands(command, arguments));
        return Wrong::typed(command.error(error.kind(), message));
    }
    let concerned = concerned(&error);
    let unreadable = error.kind() == ErrorKind::InvalidUtf8;
    let mut variables: Vec<String> = args
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
    variables.dedup();
    if variables.is_empty() {
        // No variable has to do with it. Asked once more without any, clap shows the usage without those that are set.
        let alone = declared(|_| true).try_get_matches_from(arguments).err();
        return Wrong::typed(alone.filter(|alone| alone.kind() == error.kind()).unwrap_or(error));
    }
    let message = format!("the variable {} cannot be used: {}", variables.join(" or "), words(&error));
    Wrong { error: command.error(error.kind(), message), variables }
}

/// The options and arguments that an error is about, as clap shows them.
fn concerned(error: &clap::Error) -> Vec<&str> {
    let concerned = error.context().filter(|(kind, _)| matches!(kind, ContextKind::InvalidArg | ContextKind::PriorArg));
    let names = concerned.flat_map(|(_, value)| match value {
        ContextValue::String(one) => vec![one.as_str()],
        ContextValue::Strings(many) => many.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    });
    names.collect()
}

/// The commands that could stand behind those that were typed.
fn subcommands(command: &clap::Command, arguments: &[OsString]) -> String {
    let deepest =
        arguments.iter().skip(1).fold(command, |command, word| command.find_subcommand(word).unwrap_or(command));
    let names: Vec<&str> = deepest.get_subcommands().map(clap::Command::get_name).collect();
    format!("[subcommands: {}]", names.join(", "))
}

impl Wrong {
    const fn typed(error: clap::Error) -> Self {
        Self { error, variables: Vec::new() }
    }

    /// As problem JSON lists it: with the variable, option or argument, where it is one.
    fn json(&self) -> Value {
        let concerned = concerned(&self.error);
        let field = match (&self.variables[..], &concerned[..]) {
            ([variable], _) => Some(variable.as_str()),
            ([], [first, ..]) if self.error.kind() != ErrorKind::MissingRequiredArgument || concerned.len() == 1 => {
                first.split([' ', '=']).next().map(|name| name.trim_matches(['<', '>', '[', ']', '.']))
            }
            _ => None,
        };
        match field {
            Some(field) => json!({ "field": field, "message": words(&self.error) }),
            None => json!({ "message": words(&self.error) }),
        }
    }

    /// For the doctor, who names the variable himself.
    fn of_variable(&self) -> Message {
        let (names, words) = (self.variables.join(", "), words(&self.error));
        let cause = words.split_once("cannot be used: ").map_or(words.as_str(), |(_, cause)| cause);
        Message::new("cli-variable").with("name", names).with("cause", cause)
    }
}

/// `listen` of `--listen <LISTEN>`.
fn option(shown: &str) -> Option<&str> {
    shown.strip_prefix("--").and_then(|rest| rest.split([' ', '=']).next())
}

fn is_typed(arg: &Arg, arguments: &[OsString]) -> bool {
    let Some(long) = arg.get_long() else { return false };
    arguments.iter().filter_map(|argument| argument.to_str()).any(|argument| option(argument) == Some(long))
}

/// What went wrong, the whole of it on one line (which argument, what it may be, what was perhaps meant), without the usage
/// below it.
fn words(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut words = String::new();
    for line in lines.take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information")) {
        let joint = if words.is_empty() {
            ""
        } else if words.ends_with(':') || line.starts_with('[') {
            " "
        } else if line.starts_with("tip:") {
            "; "
        } else {
            ", "
        };
        words.push_str(joint);
        words.push_str(line);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(words: &[&str]) -> Option<ErrorKind> {
        let arguments: Vec<OsString> = words.iter().map(OsString::from).collect();
        parse(&arguments).err().map(|wrong| wrong.error.kind())
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
