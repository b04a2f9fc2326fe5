//! Ending an environment, taking the end back, voiding one that was opened by mistake.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::actor::Permission;
use crate::app::App;
use crate::dates;
use crate::environments::environment::{self, Environment, Status};
use crate::environments::term::{self, Term};
use crate::error::{Error, Result};
use crate::ids::EnvironmentId;
use crate::text::Line;
use crate::tx::Tx;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::shell::Shell;

#[derive(Template)]
#[template(path = "environments/end_form.html")]
struct EndForm {
    shell: Shell,
    form: FormState,
    environment: Environment,
    last: Term,
}

impl EndForm {
    fn is_active(&self) -> bool {
        self.environment.status == Status::Active
    }

    fn is_ended(&self) -> bool {
        self.environment.status == Status::Ended
    }
}

async fn end_page(app: &App, shell: Shell, id: EnvironmentId, form: Option<FormState>) -> Result<EndForm> {
    let mut read = app.read(&shell.actor).await?;
    let environment = environment::get(read.connection(), id).await?;
    shell.actor.allow(Permission::Operate, Some(environment.project_id))?;
    let last = term::last(read.connection(), id).await?;
    let ended_on = last.ends_on.unwrap_or_else(|| read.today());
    let first = || Fields::new().with("version", environment.version).with("ended_on", ended_on);
    let form = form.unwrap_or_else(|| FormState::new(first()));
    read.end().await?;
    Ok(EndForm { shell, form, environment, last })
}

pub(super) async fn end_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&end_page(&app, shell, EnvironmentId(id), None).await?)
}

pub(super) async fn end(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let ended = async {
        let day = dates::parse_date(fields.get("ended_on")).map_err(|message| Error::invalid("ended_on", message))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            environment::end(&mut tx, EnvironmentId(id), fields.version()?, day).await?;
            tx.commit().await?;
        }
        Ok(())
    };
    let result = ended.await;
    answered(&app, shell, EnvironmentId(id), fields, result).await
}

/// To the environment, or the form again with what was typed.
async fn answered(app: &App, shell: Shell, id: EnvironmentId, fields: Fields, result: Result<()>) -> Result<Response> {
    match result {
        Ok(()) => Ok(see(&shell.base, &format!("/environments/{id}"))),
        Err(Error::Invalid(errors)) => {
            let template = end_page(app, shell, id, Some(FormState::again(fields, errors))).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

/// Refuses who may not change the environment, before anything that was sent is looked at.
async fn operable(tx: &mut Tx, id: EnvironmentId) -> Result<()> {
    let environment = environment::get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(environment.project_id))
}

pub(super) async fn resume(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let resumed = async {
        let mut tx = app.write(&shell.because(&fields)?).await?;
        operable(&mut tx, EnvironmentId(id)).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            environment::resume(&mut tx, EnvironmentId(id), fields.version()?).await?;
            tx.commit().await?;
        }
        Ok(())
    };
    let result = resumed.await;
    answered(&app, shell, EnvironmentId(id), fields, result).await
}

#[derive(Template)]
#[template(path = "environments/void_form.html")]
struct VoidForm {
    shell: Shell,
    form: FormState,
    environment: Environment,
    has_rows: bool,
}

pub(super) async fn void_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&void_page(&app, shell, EnvironmentId(id), None).await?)
}

async fn void_page(app: &App, shell: Shell, id: EnvironmentId, again: Option<FormState>) -> Result<VoidForm> {
    let mut read = app.read(&shell.actor).await?;
    let environment = environment::get(read.connection(), id).await?;
    shell.actor.allow(Permission::Operate, Some(environment.project_id))?;
    let has_rows = environment::has_ledger_rows(read.connection(), environment.id).await?;
    let form = again.unwrap_or_else(|| FormState::new(Fields::new().with("version", environment.version)));
    Ok(VoidForm { shell, form, environment, has_rows })
}

pub(super) async fn void(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let reason = fields.needed_reason();
    let said = reason.as_ref().map(Line::as_str).unwrap_or_default();
    let mut tx = app.write(&shell.actor.clone().because(said)).await?;
    operable(&mut tx, EnvironmentId(id)).await?;
    if let Err(errors) = reason {
        drop(tx);
        let again = Some(FormState::again(fields, errors));
        let template = void_page(&app, shell, EnvironmentId(id), again).await?;
        return page_with(StatusCode::UNPROCESSABLE_ENTITY, &template);
    }
    if tx.sent_before(fields.submit_id()?).await?.is_none() {
        environment::void(&mut tx, EnvironmentId(id), fields.version()?).await?;
        tx.commit().await?;
    }
    Ok(see(&shell.base, &format!("/environments/{id}")))
}
