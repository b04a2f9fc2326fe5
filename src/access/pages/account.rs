//! A person's own log-in: password, language, signed-in browsers.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::{client, field_errors, signed_in, signed_out, typed_twice};
use crate::access::password::NewPassword;
use crate::access::session::{self, Session, Which};
use crate::access::user::{self, User};
use crate::access::{membership, membership::Membership, sign_in};
use crate::app::App;
use crate::error::{Error, FieldErrors, Result};
use crate::locale::{Locale, Message};
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::session::Visitor;
use crate::web::shell::Shell;

pub fn routes() -> Routes {
    Routes::new()
        .get("/account", Needs::SignIn, show)
        .post("/account/password", Needs::SignIn, change_password)
        .post("/account/sessions", Needs::SignIn, end_session)
        .post("/account/sessions/others", Needs::SignIn, end_others)
}

#[derive(Template)]
#[template(path = "access/account.html")]
struct AccountPage {
    shell: Shell,
    form: FormState,
    user: User,
    memberships: Vec<Membership>,
    sessions: Vec<Session>,
}

impl AccountPage {
    fn role(&self) -> String {
        self.shell.text(self.user.right_words().1)
    }

    fn languages(&self) -> [(Locale, bool); 2] {
        Locale::ALL.map(|locale| (locale, locale == self.shell.locale))
    }
}

async fn show(State(app): State<App>, shell: Shell) -> Result<Response> {
    account(&app, shell, StatusCode::OK, FormState::new(Fields::new())).await
}

async fn account(app: &App, shell: Shell, status: StatusCode, form: FormState) -> Result<Response> {
    let (Some(id), Some(person)) = (shell.actor.user, shell.actor.person) else { return Err(Error::NotFound) };
    let mut read = app.read(&shell.actor).await?;
    let user = user::get(read.connection(), id).await?;
    let memberships = membership::list_of(read.connection(), person).await?;
    let now = read.now();
    let sessions = session::list(read.connection(), id, now).await?;
    read.end().await?;
    page_with(status, &AccountPage { shell, form, user, memberships, sessions })
}

async fn change_password(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    shell: Shell,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    let mut errors = FieldErrors::new();
    let typed = typed_twice(&fields, &mut errors);
    let current = fields.get("password_current").to_owned();
    if current.is_empty() {
        errors.add("password_current", Message::new("error-text-empty"));
    }
    // What anybody knows of the person.
    let own = [shell.actor.name.as_str(), shell.email.as_deref().unwrap_or_default(), &shell.organisation];
    let client = client(&visitor, &headers);
    let changed = match errors.take("password", NewPassword::new(typed, &own)) {
        Some(new) if errors.is_empty() => sign_in::change_password(&app, &client, &shell.actor, current, new).await,
        _ => Err(errors.into()),
    };
    match changed {
        Ok(entry) => Ok(signed_in(&entry, see(&shell.base, "/account"))),
        Err(error) => {
            let form = FormState::again(fields, field_errors(error)?);
            account(&app, shell, StatusCode::UNPROCESSABLE_ENTITY, form).await
        }
    }
}

async fn end_session(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let token_hash = hex::decode(fields.get("session")).map_err(|_| Error::NotFound)?;
    revoke(&app, &shell, Which::One(&token_hash)).await?;
    let answer = see(&shell.base, "/account");
    Ok(if token_hash == shell.token_hash { signed_out(answer) } else { answer })
}

async fn end_others(State(app): State<App>, shell: Shell) -> Result<Response> {
    revoke(&app, &shell, Which::AllBut(&shell.token_hash)).await?;
    Ok(see(&shell.base, "/account"))
}

async fn revoke(app: &App, shell: &Shell, which: Which<'_>) -> Result<()> {
    let mut tx = app.write(&shell.actor).await?;
    let user = user::get(tx.connection(), shell.actor.user.ok_or(Error::NotFound)?).await?;
    session::revoke(&mut tx, &user, which).await?;
    tx.commit().await
}
