//! Signing in and out, and the language of the pages.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum_extra::extract::CookieJar;
use serde::Deserialize;

use super::{client, cookie, field_errors, signed_in, signed_out};
use crate::access::{person, sign_in};
use crate::app::App;
use crate::error::{Error, Result};
use crate::locale::Locale;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{own_path, page, page_with, see};
use crate::web::plain::Plain;
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::session::{LANGUAGE_COOKIE, Visitor};

pub fn routes() -> Routes {
    Routes::new()
        .get("/sign-in", Needs::Nothing, show)
        .post("/sign-in", Needs::Nothing, enter)
        .post("/sign-out", Needs::Nothing, leave)
        .post("/language", Needs::Nothing, choose_language)
}

#[derive(Template)]
#[template(path = "access/sign_in.html")]
struct SignInPage {
    shell: Plain,
    form: FormState,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Wanted {
    /// The page that was asked for before signing in.
    to: String,
}

async fn show(shell: Plain, Query(wanted): Query<Wanted>) -> Result<Response> {
    let form = FormState::new(Fields::new().with("to", own_path(&wanted.to)));
    page(&SignInPage { shell, form })
}

async fn enter(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    shell: Plain,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    // Without Secure cookies signing in would fail in silence; the page says why.
    if !shell.secure {
        return page_with(StatusCode::UNPROCESSABLE_ENTITY, &SignInPage { shell, form: FormState::new(Fields::new()) });
    }
    let client = client(&visitor, &headers);
    match sign_in::sign_in(&app, &client, fields.get("email"), fields.get("password").to_owned()).await {
        Ok(entry) => Ok(signed_in(&entry, see(&shell.base, own_path(fields.get("to"))))),
        Err(error) => {
            let form = FormState::again(fields, field_errors(error)?);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &SignInPage { shell, form })
        }
    }
}

async fn leave(State(app): State<App>, Extension(visitor): Extension<Visitor>, headers: HeaderMap) -> Result<Response> {
    if let Some(signed_in) = &visitor.signed_in {
        sign_in::sign_out(&app, &client(&visitor, &headers), &signed_in.actor).await?;
    }
    // Nothing of what was read stays in the browser. Its cookies stay, but for the session's: one holds the
    // language, one tells that somebody has signed in here before.
    let clear = (HeaderName::from_static("clear-site-data"), "\"cache\", \"storage\"");
    Ok(signed_out(([clear], see(&visitor.base, "/sign-in")).into_response()))
}

async fn choose_language(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    fields: Fields,
) -> Result<Response> {
    let locale: Locale = fields.get("locale").parse().map_err(|message| Error::invalid("locale", message))?;
    if let Some(signed_in) = &visitor.signed_in
        && let Some(person) = signed_in.actor.person
    {
        let mut tx = app.write(&signed_in.actor).await?;
        person::choose_locale(&mut tx, person, locale).await?;
        tx.commit().await?;
    }
    // Also for after signing out.
    let mut chosen = cookie(LANGUAGE_COOKIE, locale.tag().to_owned());
    chosen.make_permanent();
    Ok((CookieJar::new().add(chosen), see(&visitor.base, own_path(fields.get("to")))).into_response())
}
