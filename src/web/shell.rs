//! The frame of a page: who reads, in which language, where the links lead. Every page struct has one as its field `shell`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chrono::{DateTime, NaiveDate, Utc};

use crate::actor::{Actor, Permission};
use crate::dates::{self, Zone};
use crate::error::{Error, Result};
use crate::ids::ProjectId;
use crate::locale::{Arg, Locale, Message};
use crate::text::Line;
use crate::web::forms::Fields;
use crate::web::session::{SignedIn, Visitor};

/// The signed-in reader of a page. As an extractor it is only used on routes that need a sign-in.
#[derive(Debug, Clone)]
pub struct Shell {
    /// What the reader may do.
    pub actor: Actor,
    /// The language.
    pub locale: Locale,
    /// The path below which all routes lie.
    pub base: String,
    /// The path of this page, for the menu's mark and the language switch.
    pub path: String,
    /// The page's filter, as it stands in the address after `?`.
    pub query: String,
    /// The reader's zone, for instants.
    pub zone: Zone,
    /// The organisation's name.
    pub organisation: String,
    /// The reader's own address.
    pub email: Option<String>,
    /// Hash of the session's token.
    pub token_hash: Vec<u8>,
}

/// One entry of the menu.
pub struct MenuItem {
    /// The key of its word.
    pub key: &'static str,
    /// Where it leads.
    pub path: &'static str,
    /// Whether the page that is shown lies there.
    pub here: bool,
}

/// How many days are left, for a page.
pub struct Days {
    /// The class of its colour; the words say the same.
    pub class: &'static str,
    /// In words.
    pub words: String,
}

const MENU: &[(&str, &str)] = &[
    ("nav-overview", "/"),
    ("nav-renewals", "/renewals"),
    ("nav-environments", "/environments"),
    ("nav-ledger", "/ledger"),
    ("nav-audit", "/history"),
    ("nav-settings", "/settings"),
];

/// Pages that lie below an entry of the menu, though their addresses do not.
const BELOW: &[(&str, &str)] = &[
    ("/reminders", "/renewals"),
    ("/deliveries", "/renewals"),
    ("/jobs", "/renewals"),
    ("/terms", "/environments"),
    ("/providers", "/environments"),
    ("/contracts", "/environments"),
    ("/contacts", "/environments"),
    ("/tiers", "/environments"),
    ("/incidents", "/environments"),
    ("/prices", "/environments"),
    ("/imports/environments", "/environments"),
    ("/imports", "/ledger"),
    ("/rates", "/ledger"),
    ("/resources", "/ledger"),
    ("/people", "/settings"),
    ("/projects", "/settings"),
];

/// Whether an address is this one or lies below it.
fn lies_at(address: &str, path: &str) -> bool {
    address.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Shell {
    /// A shell for a signed-in visitor.
    pub fn new(visitor: &Visitor, signed_in: &SignedIn, path: &str) -> Self {
        Self {
            actor: signed_in.actor.clone(),
            locale: visitor.locale,
            base: visitor.base.clone(),
            path: path.to_owned(),
            query: String::new(),
            zone: signed_in.zone,
            organisation: signed_in.organisation.clone(),
            email: signed_in.email.clone(),
            token_hash: signed_in.token_hash.clone(),
        }
    }

    /// The same on another page, for an answer that shows that page again.
    #[must_use]
    pub fn at(mut self, path: &str, query: &str) -> Self {
        path.clone_into(&mut self.path);
        query.clone_into(&mut self.query);
        self
    }

    /// The address of a page: every link goes through here, so that a sub-path always holds.
    pub fn href(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// This page's own address below the base path, with its filter: where the language switch leads back to.
    pub fn here(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }

    /// This page's filter without the place in the list: what the list's files are asked for with.
    pub fn filter(&self) -> String {
        let pairs = url::form_urlencoded::parse(self.query.as_bytes());
        let filled = pairs.filter(|(name, value)| !matches!(&**name, "before" | "after") && !value.trim().is_empty());
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(filled).finish()
    }

    /// The address of this list from a place on: `key` is `before` or `after`.
    pub fn onward(&self, key: &str, place: impl std::fmt::Display) -> String {
        let filter = self.filter();
        let separator = if filter.is_empty() { "" } else { "&" };
        format!("{}?{filter}{separator}{key}={place}", self.path)
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

    /// An instant in the reader's zone, with its offset.
    pub fn instant(&self, at: &DateTime<Utc>) -> String {
        self.zone.moment(*at)
    }

    /// A day in words, where one decides.
    pub fn day(&self, date: &NaiveDate, today: &NaiveDate) -> String {
        dates::in_words(*date, self.locale, *today)
    }

    /// How many days are left, as everywhere: with the class of its colour. `duty` is something to be done by that day, not
    /// a thing that ends on it.
    pub fn days(&self, days_left: &i64, duty: &bool) -> Days {
        let class = match days_left {
            ..0 => "days-past",
            0..7 => "days-soon",
            7..=30 => "days-near",
            _ => "days-over",
        };
        let key = match (*days_left < 0, *duty) {
            (false, false) => "days-left",
            (true, false) => "days-past",
            (false, true) => "days-left-to-act",
            (true, true) => "days-overdue",
        };
        Days { class, words: self.with(key, "n", days_left.abs()) }
    }

    /// The reader, with the reason that a form gives: its field `reason`, which may be empty.
    pub fn because(&self, fields: &Fields) -> Result<Actor> {
        let reason: Line = fields.reason().parse().map_err(|message| Error::invalid("reason", message))?;
        Ok(self.actor.clone().because(reason.as_str()))
    }

    /// Whether the reader may do it; a button is shown exactly if this holds.
    pub fn may(&self, permission: Permission, project: Option<ProjectId>) -> bool {
        self.actor.may(permission, project)
    }

    /// Whether the reader may change a project's records.
    pub fn may_operate(&self, project: &ProjectId) -> bool {
        self.actor.may(Permission::Operate, Some(*project))
    }

    /// Whether there is anything at all that the reader may change.
    pub fn operates_anything(&self) -> bool {
        self.actor.operates_anything()
    }

    /// Whether the reader is an administrator.
    pub fn administers(&self) -> bool {
        self.actor.may(Permission::Administer, None)
    }

    /// Whether the reader may place bill lines and import bills.
    pub fn may_place(&self) -> bool {
        self.actor.may(Permission::Unplaced, None)
    }

    /// Whether the reader sees bill lines that belong to no environment yet.
    pub fn sees_unplaced(&self) -> bool {
        self.sees_every_project()
    }

    /// Whether the reader sees every project, and what the program did for all of them.
    pub fn sees_every_project(&self) -> bool {
        self.actor.scope.all.is_some()
    }

    /// The menu.
    pub fn menu(&self) -> Vec<MenuItem> {
        let above = BELOW.iter().find(|(below, _)| lies_at(&self.path, below)).map(|(_, path)| *path);
        let here = |path: &str| if path == "/" { self.path == "/" } else { lies_at(&self.path, path) };
        MENU.iter()
            .map(|&(key, path)| MenuItem { key, path, here: above.map_or_else(|| here(path), |above| above == path) })
            .collect()
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Shell {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let visitor = parts.extensions.get::<Visitor>().ok_or_else(|| Error::internal("no visitor in the request"))?;
        let signed_in = visitor
            .signed_in
            .as_ref()
            .ok_or_else(|| Error::internal("a handler that needs a reader stands on a route that needs none"))?;
        let path = parts.uri.path();
        let path = path.strip_prefix(visitor.base.as_str()).unwrap_or(path);
        let query = parts.uri.query().unwrap_or_default().to_owned();
        Ok(Self { query, ..Self::new(visitor, signed_in, path) })
    }
}
