//! Forms: what a person typed, the errors beside it, and the same page again with nothing lost.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use axum::http::header;
use uuid::Uuid;

use crate::error::{Error, FieldErrors};
use crate::limits;
use crate::locale::{Locale, Message};
use crate::text::Line;

/// The fields of a form, as they were typed. An edit form's values start from the record.
#[derive(Debug, Clone, Default)]
pub struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Nothing typed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same fields, with one more value.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a value is given as it is: a number, a date, a text")]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.0.insert(name.to_owned(), value.to_string());
        self
    }

    /// What was typed; empty where nothing was.
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map(String::as_str).unwrap_or_default()
    }

    /// What was typed, where anything but spaces was.
    pub fn filled(&self, name: &str) -> Option<&str> {
        Some(self.get(name)).filter(|value| !value.trim().is_empty())
    }

    /// Every field with what was typed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The id that makes the same form, sent twice, one act.
    pub fn submit_id(&self) -> Result<Uuid, Error> {
        self.get("submit_id").parse().map_err(|_| Error::invalid("", Message::new("error-submit-id")))
    }

    /// The version an edit started from.
    pub fn version(&self) -> Result<i32, Error> {
        self.get("version").parse().map_err(|_| Error::invalid("", Message::new("error-version")))
    }

    /// Why the person does this; empty is no reason.
    pub fn reason(&self) -> &str {
        self.get("reason")
    }

    /// Why the person does this, where something must be said.
    pub fn needed_reason(&self) -> Result<Line, FieldErrors> {
        let mut errors = FieldErrors::new();
        let reason = errors.take("reason", self.reason().parse::<Line>());
        match reason {
            Some(reason) if !reason.is_empty() => Ok(reason),
            Some(_) => {
                errors.add("reason", Message::new("error-reason"));
                Err(errors)
            }
            None => Err(errors),
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = Error;

    async fn from_request(request: Request, _: &S) -> Result<Self, Error> {
        let form = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with("application/x-www-form-urlencoded"));
        if !form {
            return Err(Error::invalid("", Message::new("error-form-type")));
        }
        let bytes = axum::body::to_bytes(request.into_body(), limits::FORM_BYTES)
            .await
            .map_err(|_| Error::invalid("", Message::new("error-form-size")))?;
        let mut fields = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(&bytes) {
            if fields.insert(name.clone().into_owned(), value.into_owned()).is_some() {
                return Err(Error::invalid(
                    name.clone().into_owned(),
                    Message::new("error-repeated-parameter").with("name", name.into_owned()),
                ));
            }
        }
        Ok(Self(fields))
    }
}

/// A form on a page: its values, its errors, and its own id.
#[derive(Debug, Clone)]
pub struct FormState {
    fields: Fields,
    errors: FieldErrors,
    submit_id: Uuid,
}

impl FormState {
    /// A form to be filled in, with its first values.
    pub fn new(fields: Fields) -> Self {
        Self { fields, errors: FieldErrors::new(), submit_id: Uuid::now_v7() }
    }

    /// The same form again, with what was typed and what is wrong. Secrets (`password…`) are not kept.
    pub fn again(mut fields: Fields, errors: FieldErrors) -> Self {
        fields.0.retain(|name, _| !name.starts_with("password"));
        let submit_id = fields.get("submit_id").parse().unwrap_or_else(|_| Uuid::now_v7());
        Self { fields, errors, submit_id }
    }

    /// The same form, with these errors.
    #[must_use]
    pub fn with_errors(mut self, errors: FieldErrors) -> Self {
        self.errors = errors;
        self
    }

    /// The same form, with one more value.
    #[must_use]
    pub fn with_value(mut self, name: &str, value: impl ToString) -> Self {
        self.fields = self.fields.with(name, value);
        self
    }

    /// A field's value.
    pub fn value(&self, name: &str) -> &str {
        self.fields.get(name)
    }

    /// Whether a choice is the field's value.
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.fields.get(name) == value
    }

    /// What is wrong with a field, in words.
    pub fn errors(&self, name: &str, locale: &Locale) -> Vec<String> {
        self.errors.of(name).map(|message| locale.say(message)).collect()
    }

    /// What is wrong with fields that the page does not show, or with the form as a whole.
    pub fn other_errors<'a>(&self, shown: impl AsRef<[&'a str]>, locale: &Locale) -> Vec<String> {
        self.errors
            .0
            .iter()
            .filter(|error| !shown.as_ref().contains(&error.field.as_ref()))
            .map(|error| locale.say(&error.message))
            .collect()
    }

    /// Whether anything is wrong.
    pub fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The id that makes the same form, sent twice, one act.
    pub const fn submit_id(&self) -> &Uuid {
        &self.submit_id
    }
}
