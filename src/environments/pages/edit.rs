//! Opening an environment, and changing what it is.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::{self, Offers, choices};
use super::is_stale;
use crate::actor::Permission;
use crate::app::App;
use crate::audit;
use crate::dates::Renewal;
use crate::environments::description::{Description, Missing};
use crate::environments::environment::{self, Environment, Kind, NewEnvironment, Priority};
use crate::environments::scenario::Scenario;
use crate::environments::term::NewTerm;
use crate::environments::watcher;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::EnvironmentId;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

/// The form of a new environment (with its first term) and of an edit (without).
#[derive(Template)]
#[template(path = "environments/environment_form.html")]
struct EnvironmentForm {
    shell: Shell,
    form: FormState,
    stale: Option<Stale>,
    missing: Missing,
    offers: Offers,
    environment: Option<Environment>,
}

impl EnvironmentForm {
    fn kinds(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, Kind::ALL, Kind::as_str, Kind::words)
    }

    fn scenarios(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, Scenario::ALL, Scenario::as_str, Scenario::words)
    }

    fn priorities(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, Priority::ALL, Priority::as_str, Priority::words)
    }

    fn renewals(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, &Renewal::ALL, Renewal::as_str, Renewal::words)
    }
}

/// What came of a form that was sent.
enum Sent {
    /// It is done; look here.
    Done(String),
    /// It would make other things too, and nobody has agreed to that yet.
    Asks(Missing),
}

pub(super) async fn new(State(app): State<App>, shell: Shell) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let first = fields::of_new(&shell, read.today(), &read.organisation().currency);
    let offers = Offers::read(&mut read, &shell).await?;
    let form = FormState::new(first);
    page(&EnvironmentForm { shell, form, stale: None, missing: Missing::default(), offers, environment: None })
}

pub(super) async fn open(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let (missing, errors) = match opened(&app, &shell, &fields).await {
        Ok(Sent::Done(location)) => return Ok(see(&shell.base, &location)),
        Ok(Sent::Asks(missing)) => (missing, FieldErrors::new()),
        Err(Error::Invalid(errors)) => (Missing::default(), errors),
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let offers = Offers::read(&mut read, &shell).await?;
    let form = FormState::again(fields.with("confirm", missing.mark()), errors);
    let template = EnvironmentForm { shell, form, stale: None, missing, offers, environment: None };
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
}

async fn opened(app: &App, shell: &Shell, fields: &Fields) -> Result<Sent> {
    let mut errors = FieldErrors::new();
    let description = Description::parse(&|name| fields.get(name), &mut errors);
    let term = NewTerm::parse(&|name| fields.get(name), &mut errors);
    let (Some(description), Some(term)) = (description, term) else { return Err(errors.into()) };
    let mut tx = app.write(&shell.because(fields)?).await?;
    if let Some(location) = tx.sent_before(fields.submit_id()?).await? {
        return Ok(Sent::Done(location));
    }
    let missing = description.missing(&mut tx).await?;
    if missing.mark() != fields.get("confirm") && !missing.is_empty() {
        return Ok(Sent::Asks(missing));
    }
    let (project_id, facts) = description.resolve(&mut tx).await?;
    let environment = environment::open(&mut tx, &NewEnvironment { project_id, facts, term }).await?;
    let location = format!("/environments/{}", environment.id);
    tx.sent(fields.submit_id()?, &location).await?;
    tx.commit().await?;
    Ok(Sent::Done(location))
}

pub(super) async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let environment = environment::get(read.connection(), EnvironmentId(id)).await?;
    shell.actor.allow(Permission::Operate, Some(environment.project_id))?;
    let offers = Offers::read(&mut read, &shell).await?;
    let watchers = watcher::of_environment(read.connection(), environment.id).await?;
    let form = FormState::new(fields::of_environment(&environment, &watchers, &offers));
    let environment = Some(environment);
    page(&EnvironmentForm { shell, form, stale: None, missing: Missing::default(), offers, environment })
}

pub(super) async fn change(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let (status, missing, errors) = match changed(&app, &shell, EnvironmentId(id), &fields).await {
        Ok(Sent::Done(location)) => return Ok(see(&shell.base, &location)),
        Ok(Sent::Asks(missing)) => (StatusCode::UNPROCESSABLE_ENTITY, missing, FieldErrors::new()),
        Err(Error::Invalid(errors)) => (StatusCode::UNPROCESSABLE_ENTITY, Missing::default(), errors),
        Err(error) if is_stale(&error) => (StatusCode::CONFLICT, Missing::default(), FieldErrors::new()),
        Err(error) => return Err(error),
    };
    let mut template = again(&app, shell, EnvironmentId(id), fields, status == StatusCode::CONFLICT).await?;
    template.form = template.form.with_errors(errors);
    template.form = template.form.with_value("confirm", missing.mark());
    template.missing = missing;
    page_with(status, &template)
}

async fn changed(app: &App, shell: &Shell, id: EnvironmentId, fields: &Fields) -> Result<Sent> {
    let mut tx = app.write(&shell.because(fields)?).await?;
    let environment = environment::get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(environment.project_id))?;
    let location = format!("/environments/{id}");
    if tx.sent_before(fields.submit_id()?).await?.is_some() {
        return Ok(Sent::Done(location));
    }
    tx.same_version(environment.version, fields.version()?)?;
    let text = |name: &str| if name == "project" { environment.project.as_str() } else { fields.get(name) };
    let mut errors = FieldErrors::new();
    let Some(description) = Description::parse(&text, &mut errors) else { return Err(errors.into()) };
    let missing = description.missing(&mut tx).await?;
    if missing.mark() != fields.get("confirm") && !missing.is_empty() {
        return Ok(Sent::Asks(missing));
    }
    let (_, facts) = description.resolve(&mut tx).await?;
    environment::change(&mut tx, id, fields.version()?, &facts).await?;
    tx.commit().await?;
    Ok(Sent::Done(location))
}

/// The edit form again, with what was typed; where somebody else was faster, with both versions, and from the present one on.
async fn again(app: &App, shell: Shell, id: EnvironmentId, typed: Fields, late: bool) -> Result<EnvironmentForm> {
    let mut read = app.read(&shell.actor).await?;
    let environment = environment::get(read.connection(), id).await?;
    let offers = Offers::read(&mut read, &shell).await?;
    let watchers = watcher::of_environment(read.connection(), id).await?;
    let present = fields::of_environment(&environment, &watchers, &offers);
    let last = audit::of(&mut read, "environment", id.0, 1).await?.into_iter().next();
    let who = last.map(|entry| entry.actor_name).unwrap_or_default();
    let stale = late.then(|| Stale::new(who, &present, &typed, fields::ENVIRONMENT));
    let typed = if late { typed.with("version", environment.version) } else { typed };
    let form = FormState::again(typed, FieldErrors::new());
    Ok(EnvironmentForm { shell, form, stale, missing: Missing::default(), offers, environment: Some(environment) })
}
