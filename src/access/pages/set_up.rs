//! The page behind the set-up link: the organisation and its first administrator.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::{client, field_errors, languages, signed_in, typed_twice};
use crate::access::password::NewPassword;
use crate::access::set_up::{self, FirstAdministrator};
use crate::access::sign_in;
use crate::app::App;
use crate::error::{Error, FieldErrors, Result};
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::plain::Plain;
use crate::web::routes::{Needs, Routes};
use crate::web::session::Visitor;

pub fn routes() -> Routes {
    Routes::new().get("/set-up/{token}", Needs::Nothing, show).post("/set-up/{token}", Needs::Nothing, create)
}

#[derive(Template)]
#[template(path = "access/set_up.html")]
struct SetUpPage {
    shell: Plain,
    form: FormState,
    token: String,
    languages: Vec<(&'static str, &'static str)>,
}

/// A link that does not open any more, whatever the reason.
#[derive(Template)]
#[template(path = "access/dead_link.html")]
pub(super) struct DeadLink {
    pub(super) shell: Plain,
    /// What to do about it.
    pub(super) advice: &'static str,
}

fn dead(shell: Plain) -> Result<Response> {
    page_with(StatusCode::NOT_FOUND, &DeadLink { shell, advice: "set-up-link-dead" })
}

async fn show(State(app): State<App>, shell: Plain, Path(token): Path<String>) -> Result<Response> {
    if !set_up::is_open(&app, &token).await? {
        return dead(shell);
    }
    let form = FormState::new(Fields::new().with("locale", shell.locale));
    page(&SetUpPage { shell, form, token, languages: languages() })
}

async fn create(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    shell: Plain,
    Path(token): Path<String>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    let first = parse(&fields);
    if (first.is_err() || !shell.secure) && !set_up::is_open(&app, &token).await? {
        return dead(shell);
    }
    let client = client(&visitor, &headers);
    let made = match first {
        Ok(first) if shell.secure => set_up::first_administrator(&app, &token, first, fields.submit_id()?).await,
        Ok(_) => Err(FieldErrors::new().into()),
        Err(errors) => Err(errors.into()),
    };
    let entry = match made {
        Ok(Some(user)) => sign_in::begin_session(&app, &client, &user).await?,
        // The same form again: one act, and both answers sign in.
        Ok(None) => sign_in::sign_in(&app, &client, fields.get("email"), fields.get("password").to_owned()).await?,
        Err(Error::NotFound) => return dead(shell),
        Err(error) => {
            let form = FormState::again(fields, field_errors(error)?);
            return page_with(
                StatusCode::UNPROCESSABLE_ENTITY,
                &SetUpPage { shell, form, token, languages: languages() },
            );
        }
    };
    Ok(signed_in(&entry, see(&shell.base, "/")))
}

fn parse(fields: &Fields) -> Result<FirstAdministrator, FieldErrors> {
    let mut errors = FieldErrors::new();
    let organisation = errors.take("organisation", fields.get("organisation").parse());
    let locale = errors.take("locale", fields.get("locale").parse());
    let name = errors.take("name", fields.get("name").parse());
    let email = errors.take("email", fields.get("email").parse());
    let own = [fields.get("organisation"), fields.get("name"), fields.get("email")];
    let typed = typed_twice(fields, &mut errors);
    let password = errors.take("password", NewPassword::new(typed, &own));
    match (organisation, locale, name, email, password) {
        (Some(organisation), Some(locale), Some(name), Some(email), Some(password)) if errors.is_empty() => {
            Ok(FirstAdministrator { organisation, locale, name, email, password })
        }
        _ => Err(errors),
    }
}
