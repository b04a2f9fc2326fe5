//! Changing a term: its dates, cycle, notice, price.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::{self, choices};
use super::is_stale;
use crate::actor::Permission;
use crate::app::App;
use crate::audit;
use crate::dates::Renewal;
use crate::environments::term::{self, NewTerm, Term};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{EnvironmentId, TermId};
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

#[derive(Template)]
#[template(path = "environments/term_form.html")]
struct TermForm {
    shell: Shell,
    form: FormState,
    stale: Option<Stale>,
    term: Term,
}

impl TermForm {
    fn renewals(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, &Renewal::ALL, Renewal::as_str, Renewal::words)
    }
}

pub(super) async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let term = term::get(read.connection(), TermId(id)).await?;
    shell.actor.allow(Permission::Operate, Some(term.project_id))?;
    let form = FormState::new(fields::of_term(&shell, &term));
    page(&TermForm { shell, form, stale: None, term })
}

pub(super) async fn change(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let (status, errors) = match changed(&app, &shell, TermId(id), &fields).await {
        Ok(environment) => return Ok(see(&shell.base, &format!("/environments/{environment}"))),
        Err(Error::Invalid(errors)) => (StatusCode::UNPROCESSABLE_ENTITY, errors),
        Err(error) if is_stale(&error) => (StatusCode::CONFLICT, FieldErrors::new()),
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let term = term::get(read.connection(), TermId(id)).await?;
    let last = audit::of(&mut read, "term", id, 1).await?.into_iter().next();
    let who = last.map(|entry| entry.actor_name).unwrap_or_default();
    let late = status == StatusCode::CONFLICT;
    let stale = late.then(|| Stale::new(who, &fields::of_term(&shell, &term), &fields, fields::TERM));
    let fields = if late { fields.with("version", term.version) } else { fields };
    page_with(status, &TermForm { shell, form: FormState::again(fields, errors), stale, term })
}

async fn changed(app: &App, shell: &Shell, id: TermId, fields: &Fields) -> Result<EnvironmentId> {
    let mut errors = FieldErrors::new();
    let new = NewTerm::parse(&|name| fields.get(name), &mut errors);
    let mut tx = app.write(&shell.because(fields)?).await?;
    let before = term::get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(before.project_id))?;
    let Some(new) = new else { return Err(errors.into()) };
    if tx.sent_before(fields.submit_id()?).await?.is_some() {
        return Ok(before.environment_id);
    }
    let term = term::change(&mut tx, id, fields.version()?, &new).await?;
    tx.commit().await?;
    Ok(term.environment_id)
}
