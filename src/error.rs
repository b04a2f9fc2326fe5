//! What can go wrong, and what a person is told.
//!
//! Rules and commands return [`Error`]. The router's layer (`web::errors`) turns it into a page or into problem JSON, the
//! command line into a sentence and an exit code. Which variant to use:
//!
//! * [`Error::Invalid`]: a person typed something that cannot be; each message names its field (422).
//! * [`Error::NotFound`]: it does not exist, or it belongs to a project the reader may not see: the same answer (404).
//! * [`Error::Forbidden`]: the reader may see it but not do this (403).
//! * [`Error::Conflict`]: somebody else was faster, or the state does not allow it any more (409).
//! * [`Error::Unavailable`]: the database or another part is away; trying again later helps (503).
//! * [`Error::Internal`]: a fault of ours; the chain is logged once, the person sees the request's id (500).

use std::borrow::Cow;
use std::fmt;

use crate::locale::Message;

/// The result of every rule and command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// See the module's text for which variant to use.
#[derive(Debug)]
pub enum Error {
    /// It does not exist for this reader.
    NotFound,
    /// The reader may not do this; the message says who may.
    Forbidden(Message),
    /// What was typed cannot be, field by field.
    Invalid(FieldErrors),
    /// The state of the thing does not allow it (any more).
    Conflict(Message),
    /// A part that we need is away for now.
    Unavailable(anyhow::Error),
    /// A fault of ours.
    Internal(anyhow::Error),
}

/// One thing that is wrong with what a person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The form field or the file's column; empty for the whole form.
    pub field: Cow<'static, str>,
    /// What was expected there.
    pub message: Message,
}

/// All that is wrong with what a person typed, in the order of the form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldErrors(pub Vec<FieldError>);

impl FieldErrors {
    /// No errors yet.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a message to a field.
    pub fn add(&mut self, field: impl Into<Cow<'static, str>>, message: Message) {
        self.0.push(FieldError { field: field.into(), message });
    }

    /// Keeps the value, or notes the message under the field and gives nothing.
    pub fn take<T>(&mut self, field: &'static str, result: std::result::Result<T, Message>) -> Option<T> {
        result.map_err(|message| self.add(field, message)).ok()
    }

    /// The messages of one field.
    pub fn of<'a>(&'a self, field: &'a str) -> impl Iterator<Item = &'a Message> {
        self.0.iter().filter(move |error| error.field == field).map(|error| &error.message)
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `Ok` where nothing is wrong.
    pub fn check(self) -> std::result::Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl Error {
    /// An error about one field.
    pub fn invalid(field: impl Into<Cow<'static, str>>, message: Message) -> Self {
        Self::Invalid(FieldErrors(vec![FieldError { field: field.into(), message }]))
    }

    /// A fault of ours, said in words for the log.
    pub fn internal(what: impl fmt::Display + fmt::Debug + Send + Sync + 'static) -> Self {
        Self::Internal(anyhow::Error::msg(what))
    }
}

/// For logs only: people get words in their own language from the fronts.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::Forbidden(message) | Self::Conflict(message) => message.fmt(f),
            Self::Invalid(errors) => {
                for (i, error) in errors.0.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "; " };
                    write!(f, "{separator}{}: {}", error.field, error.message)?;
                }
                Ok(())
            }
            Self::Unavailable(cause) | Self::Internal(cause) => write!(f, "{cause:#}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<FieldErrors> for Error {
    fn from(errors: FieldErrors) -> Self {
        Self::Invalid(errors)
    }
}

impl From<anyhow::Error> for Error {
    fn from(cause: anyhow::Error) -> Self {
        Self::Internal(cause)
    }
}

impl From<serde_json::Error> for Error {
    fn from(cause: serde_json::Error) -> Self {
        Self::Internal(cause.into())
    }
}

impl From<sqlx::Error> for Error {
    fn from(cause: sqlx::Error) -> Self {
        match &cause {
            sqlx::Error::RowNotFound => Self::NotFound,
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                Self::Unavailable(cause.into())
            }
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => Self::Unavailable(cause.into()),
            sqlx::Error::Database(database) => match database.code().as_deref() {
                // serialization failure, deadlock, lock not available, statement cancelled by a time limit
                Some("40001" | "40P01" | "55P03" | "57014") => Self::Unavailable(cause.into()),
                // disk full, out of memory, too many connections; shutting down, crashed, starting; a read-only standby
                Some(code) if code.starts_with("53") || code.starts_with("57P") || code.starts_with("08") => {
                    Self::Unavailable(cause.into())
                }
                Some("25006" | "58030") => Self::Unavailable(cause.into()),
                // text that PostgreSQL cannot store, a day or a number beyond its type
                Some("22021" | "22P05") => Self::invalid("", Message::new("error-text-unstorable")),
                Some("22008") => Self::invalid("", Message::new("error-date-unstorable")),
                Some("22003") => Self::invalid("", Message::new("error-number-too-large")),
                _ => Self::Internal(cause.into()),
            },
            _ => Self::Internal(cause.into()),
        }
    }
}

/// Turns the refusal of a named constraint into a field's message: the database is the referee, so there is no
/// "select, then insert" race and no rule written twice.
pub trait OnConstraint<T> {
    /// Says `message` at `field` where the constraint `name` refused.
    fn on_constraint(self, name: &str, field: &'static str, message: impl FnOnce() -> Message) -> Result<T>;
}

impl<T, E: Into<Error> + AsSqlx> OnConstraint<T> for std::result::Result<T, E> {
    fn on_constraint(self, name: &str, field: &'static str, message: impl FnOnce() -> Message) -> Result<T> {
        self.map_err(|error| match error.as_sqlx() {
            Some(sqlx::Error::Database(database)) if database.constraint() == Some(name) => {
                Error::invalid(field, message())
            }
            _ => error.into(),
        })
    }
}

/// Errors that may hold a database's answer; lets `on_constraint` be called twice in a row.
pub trait AsSqlx {
    /// The database's answer, where there is one.
    fn as_sqlx(&self) -> Option<&sqlx::Error>;
}

impl AsSqlx for sqlx::Error {
    fn as_sqlx(&self) -> Option<&sqlx::Error> {
        Some(self)
    }
}

impl AsSqlx for Error {
    fn as_sqlx(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Internal(cause) => cause.downcast_ref(),
            _ => None,
        }
    }
}
