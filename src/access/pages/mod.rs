//! The pages of the context: signing in, setting up, the account, settings, people, projects.

mod account;
mod choose_password;
mod forgotten;
mod people;
mod person;
mod projects;
mod set_up;
mod settings;
mod sign_in;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum_extra::extract::CookieJar;
use axum_extra::extract::cookie::{Cookie, SameSite};

use super::session::Client;
use super::sign_in::Entry;
use super::token;
use super::user::Right;
use crate::error::{Error, FieldErrors, Result};
use crate::limits;
use crate::locale::{Locale, Message};
use crate::web::forms::Fields;
use crate::web::routes::Routes;
use crate::web::session::{DEVICE_COOKIE, SESSION_COOKIE, Visitor};
use crate::web::shell::Shell;

/// The routes of the context.
pub fn routes() -> Routes {
    Routes::new()
        .merge(sign_in::routes())
        .merge(set_up::routes())
        .merge(choose_password::routes())
        .merge(forgotten::routes())
        .merge(account::routes())
        .merge(settings::routes())
        .merge(people::routes())
        .merge(person::routes())
        .merge(projects::routes())
}

/// Where a request comes from.
fn client(visitor: &Visitor, headers: &HeaderMap) -> Client {
    let user_agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Client {
        user_agent: user_agent.chars().filter(|c| !c.is_control()).take(limits::LINE_CHARS).collect(),
        address: visitor.address,
        request_id: visitor.request_id,
        session: visitor.signed_in.as_ref().map(|signed_in| signed_in.token_hash.clone()),
        device: CookieJar::from_headers(headers).get(DEVICE_COOKIE).map(|cookie| token::hash_of(cookie.value())),
    }
}

/// A cookie of ours: sent back over https (or loopback) only, to this host only, unseen by scripts.
fn cookie(name: &'static str, value: String) -> Cookie<'static> {
    Cookie::build((name, value)).path("/").secure(true).http_only(true).same_site(SameSite::Lax).build()
}

/// An answer that signs the browser in. The session's cookie ends with the browser; the session itself ends earlier (`limits`).
/// The other stays, so that the browser is known again.
fn signed_in(entry: &Entry, response: Response) -> Response {
    let mut device = cookie(DEVICE_COOKIE, entry.device.reveal().to_owned());
    device.make_permanent();
    let jar = CookieJar::new().add(cookie(SESSION_COOKIE, entry.session.reveal().to_owned())).add(device);
    (jar, response).into_response()
}

/// An answer that takes the session's cookie away.
fn signed_out(response: Response) -> Response {
    let mut gone = cookie(SESSION_COOKIE, String::new());
    gone.make_removal();
    (CookieJar::new().add(gone), response).into_response()
}

/// What is wrong with a form, or the error that is not the form's affair.
fn field_errors(error: Error) -> Result<FieldErrors> {
    match error {
        Error::Invalid(errors) => Ok(errors),
        other => Err(other),
    }
}

/// The languages, for a choice.
fn languages() -> Vec<(&'static str, &'static str)> {
    Locale::ALL.map(|locale| (locale.tag(), locale.own_name())).to_vec()
}

/// What a log-in may do, for a choice.
fn rights(shell: &Shell) -> Vec<(&'static str, String)> {
    Right::CHOICES.map(|(code, key, _)| (code, shell.text(key))).to_vec()
}

/// What a form leaves empty is not said.
fn optional<T: std::str::FromStr<Err = Message>>(
    fields: &Fields,
    errors: &mut FieldErrors,
    name: &'static str,
) -> Option<T> {
    fields.filled(name).and_then(|text| errors.take(name, text.parse()))
}

/// The password that was typed twice.
fn typed_twice<'a>(fields: &'a Fields, errors: &mut FieldErrors) -> &'a str {
    if fields.get("password") != fields.get("password_again") {
        errors.add("password_again", Message::new("error-password-differs"));
    }
    fields.get("password")
}
