//! The frame of a page for somebody who has not signed in: signing in, setting up, choosing a password.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::error::Error;
use crate::locale::{Arg, Locale, Message};
use crate::web::session::Visitor;

/// What a page without a signed-in reader knows. Page structs hold it as their field `shell`, so that the macros fit.
#[derive(Debug, Clone)]
pub struct Plain {
    /// The language.
    pub locale: Locale,
    /// The path below which all routes lie.
    pub base: String,
    /// The path of this page, for the language switch.
    pub path: String,
    /// Whether the cookies that keep somebody signed in will come back.
    pub secure: bool,
}

impl Plain {
    /// The address of a page.
    pub fn href(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The words of a key.
    pub fn text(&self, key: &str) -> String {
        self.locale.text(key)
    }

    /// The words of a message.
    pub fn say(&self, message: &Message) -> String {
        self.locale.say(message)
    }

    /// The words of a key with one argument.
    pub fn with(&self, key: &'static str, name: &'static str, value: impl Into<Arg>) -> String {
        self.locale.say(&Message::new(key).with(name, value))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Plain {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let visitor = parts.extensions.get::<Visitor>().ok_or_else(|| Error::internal("no visitor in the request"))?;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let path = path.strip_prefix(visitor.base.as_str()).unwrap_or(path).to_owned();
        Ok(Self { locale: visitor.locale, base: visitor.base.clone(), path, secure: visitor.secure })
    }
}
