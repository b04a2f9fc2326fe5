//! What a command says: its result on standard output, everything else on standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::error::Error;
use crate::locale::{Locale, Message};
use crate::postgres::server::ServerError;
use crate::web::errors;

/// Where a command speaks, and in which language.
#[derive(Debug)]
pub(super) struct Console {
    /// The language of the words.
    pub locale: Locale,
    /// Whether the result is one JSON object.
    pub json: bool,
    /// Whether somebody watches standard error.
    pub watched: bool,
}

/// How a command ended, in both of the ways in which it may be told.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// For programs; nothing where the result was told already.
    pub json: Option<Value>,
    /// For people, a line each.
    pub lines: Vec<Message>,
    /// Whether it was refused, so that nothing was changed.
    pub refused: bool,
}

/// Why a command did nothing.
#[derive(Debug)]
pub(super) enum Refused {
    /// As pages would have it.
    Error(Error),
    /// A setting, or the state of the machine.
    Say(Message),
    /// It was called the wrong way.
    Usage(Message),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Message> for Refused {
    fn from(message: Message) -> Self {
        Self::Say(message)
    }
}

impl From<ServerError> for Refused {
    fn from(error: ServerError) -> Self {
        Self::Say(error.message())
    }
}

impl Report {
    /// Done, with a line for people.
    pub fn done(json: Value, line: Message) -> Self {
        Self { json: Some(json), lines: vec![line], refused: false }
    }
}

impl Console {
    /// A console in that language.
    pub fn new(locale: Locale, json: bool) -> Self {
        Self { locale, json, watched: io::stderr().is_terminal() }
    }

    /// Says what is being done. Where nobody watches, it is a line of the log like all others, so that one reader reads both.
    pub fn say(&self, message: &Message) {
        if self.watched {
            write_error(&self.locale.say(message));
        } else {
            tracing::info!("{message}");
        }
    }

    /// Says what somebody should do something about.
    pub fn warn(&self, message: &Message) {
        if self.watched {
            write_error(&self.locale.say(message));
        } else {
            tracing::warn!("{message}");
        }
    }

    /// Tells the result.
    pub fn tell(&self, report: &Report) {
        if self.json {
            if let Some(json) = &report.json {
                print_json(json);
            }
            return;
        }
        let words = report.lines.iter().map(|line| self.locale.say(line)).collect::<Vec<_>>().join("\n");
        match (words.is_empty(), report.refused) {
            (true, _) => {}
            (false, true) => write_error(&words),
            (false, false) => print(words.as_bytes()),
        }
    }

    /// Tells how it ended, and gives the program's exit code.
    pub fn end(&self, result: Result<Report, Refused>) -> ExitCode {
        let refused = match result {
            Ok(report) => {
                self.tell(&report);
                return if report.refused { ExitCode::FAILURE } else { ExitCode::SUCCESS };
            }
            Err(refused) => refused,
        };
        let errors = self.errors(&refused);
        if self.json {
            print_json(&json!({ "errors": errors }));
        }
        for error in &errors {
            let message = error["message"].as_str().unwrap_or_default();
            match error["field"].as_str().filter(|field| !field.is_empty()) {
                Some(field) => write_error(&format!("{field}: {message}")),
                None => write_error(message),
            }
        }
        if matches!(refused, Refused::Usage(_)) { ExitCode::from(2) } else { ExitCode::FAILURE }
    }

    /// As problem JSON lists them.
    fn errors(&self, refused: &Refused) -> Vec<Value> {
        match refused {
            Refused::Error(Error::Invalid(fields)) => errors::field_list(fields, self.locale),
            refused => vec![json!({ "message": self.locale.say(&refused.message()) })],
        }
    }
}

impl Refused {
    /// Why, in one message.
    pub fn message(&self) -> Message {
        match self {
            Self::Error(error) => message(error),
            Self::Say(message) | Self::Usage(message) => message.clone(),
        }
    }
}

/// An error in words. Whoever types commands may read causes, too.
fn message(error: &Error) -> Message {
    let (key, cause) = match error {
        Error::NotFound => return Message::new("error-not-found"),
        Error::Forbidden(message) | Error::Conflict(message) => return message.clone(),
        Error::Invalid(fields) => match fields.0.first() {
            Some(error) => return error.message.clone(),
            None => return Message::new("error-invalid"),
        },
        Error::Unavailable(cause) => ("error-unavailable", cause),
        Error::Internal(cause) => ("error-internal", cause),
    };
    match cause.downcast_ref::<Message>() {
        Some(message) => message.clone(),
        None => Message::new("cli-cause").with("what", Message::new(key)).with("cause", chain(cause)),
    }
}

/// The causes from the outermost on. Some say those below them too, and these are not said twice.
fn chain(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |mut said, cause| {
        let cause = cause.to_string();
        if !said.contains(&cause) {
            if !said.is_empty() {
                said.push_str(": ");
            }
            said.push_str(&cause);
        }
        said
    })
}

/// Writes an object and a line break. A reader who has gone is no fault of ours.
pub(super) fn print_json(json: &Value) {
    print(json.to_string().as_bytes());
}

fn print(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
}

fn write_error(words: &str) {
    let _ = writeln!(io::stderr().lock(), "{words}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let cause =
            anyhow::anyhow!("canceled at line 7").context("the database: canceled at line 7").context("cannot import");
        assert_eq!(chain(&cause), "cannot import: the database: canceled at line 7");
    }
}
