//! The page behind the link with which a person chooses a password.

use askama::Template;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::set_up::DeadLink;
use super::{client, field_errors, signed_in, typed_twice};
use crate::access::invitation::{self, Holder};
use crate::access::session::Client;
use crate::access::sign_in::{self, Entry};
use crate::app::App;
use crate::error::{Error, FieldErrors, Result};
use crate::text::Email;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::plain::Plain;
use crate::web::routes::{Needs, Routes};
use crate::web::session::Visitor;

pub fn routes() -> Routes {
    Routes::new().get("/choose-password/{token}", Needs::Nothing, show).post(
        "/choose-password/{token}",
        Needs::Nothing,
        choose,
    )
}

#[derive(Template)]
#[template(path = "access/choose_password.html")]
struct ChoosePasswordPage {
    shell: Plain,
    form: FormState,
    token: String,
    name: String,
}

fn dead(shell: Plain) -> Result<Response> {
    page_with(StatusCode::NOT_FOUND, &DeadLink { shell, advice: "choose-password-link-dead" })
}

/// The form, with the address beside the password so that a password keeper stores both.
fn fields_of(holder: &Holder) -> Fields {
    Fields::new().with("email", holder.email.as_ref().map_or("", Email::as_str))
}

async fn show(State(app): State<App>, shell: Plain, Path(token): Path<String>) -> Result<Response> {
    match invitation::holder(&app, &token).await? {
        Some(holder) if !holder.used => {
            let form = FormState::new(fields_of(&holder));
            page(&ChoosePasswordPage { shell, form, token, name: holder.user.name })
        }
        _ => dead(shell),
    }
}

async fn choose(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    shell: Plain,
    Path(token): Path<String>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    let Some(holder) = invitation::holder(&app, &token).await? else { return dead(shell) };
    let client = client(&visitor, &headers);
    let entry = match choose_and_sign_in(&app, &client, &shell, &token, &holder, &fields).await {
        Ok(entry) => entry,
        Err(Error::NotFound) => return dead(shell),
        Err(error) => {
            let (errors, name) = (field_errors(error)?, holder.user.name.clone());
            let submit_id = fields.get("submit_id").to_owned();
            let form = FormState::again(fields_of(&holder).with("submit_id", submit_id), errors);
            return page_with(StatusCode::UNPROCESSABLE_ENTITY, &ChoosePasswordPage { shell, form, token, name });
        }
    };
    Ok(signed_in(&entry, see(&shell.base, "/")))
}

async fn choose_and_sign_in(
    app: &App,
    client: &Client,
    shell: &Plain,
    token: &str,
    holder: &Holder,
    fields: &Fields,
) -> Result<Entry> {
    let mut errors = FieldErrors::new();
    let typed = typed_twice(fields, &mut errors);
    let submit_id = fields.submit_id();
    if holder.used && (!shell.secure || !errors.is_empty() || submit_id.is_err()) {
        return Err(Error::NotFound);
    }
    // Without Secure cookies signing in would fail in silence; the page says why.
    if !shell.secure {
        return Err(FieldErrors::new().into());
    }
    let password =
        if holder.used { None } else { errors.take("password", invitation::new_password(app, holder, typed).await?) };
    errors.check()?;
    if invitation::choose_password(app, token, holder, password, submit_id?, client.request_id).await? {
        return sign_in::begin_session(app, client, &holder.user).await;
    }
    // The same form again: one act, and both answers sign in.
    let email = holder.email.as_ref().map_or("", Email::as_str);
    sign_in::sign_in(app, client, email, typed.to_owned()).await
}
