//! Changes of quantity: the list of them, and the form for the next.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::actor::Permission;
use crate::app::App;
use crate::dates;
use crate::environments::environment::{self, Environment, Status};
use crate::environments::scale::{self, NewScaleChange, ScaleChange};
use crate::environments::term;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::EnvironmentId;
use crate::text::Line;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::shell::Shell;

#[derive(Template)]
#[template(path = "environments/scale_change_list.html")]
struct ScaleChangeList {
    shell: Shell,
    form: FormState,
    environment: Environment,
    changes: Vec<ScaleChange>,
}

impl ScaleChangeList {
    fn is_active(&self) -> bool {
        self.environment.status == Status::Active
    }
}

async fn template(app: &App, shell: Shell, id: EnvironmentId, form: Option<FormState>) -> Result<ScaleChangeList> {
    let mut read = app.read(&shell.actor).await?;
    let environment = environment::get(read.connection(), id).await?;
    shell.actor.allow(Permission::Operate, Some(environment.project_id))?;
    let changes = scale::of_environment(read.connection(), id).await?;
    let form = form.unwrap_or_else(|| FormState::new(Fields::new().with("changes_on", read.today())));
    read.end().await?;
    Ok(ScaleChangeList { shell, form, environment, changes })
}

pub(super) async fn list(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&template(&app, shell, EnvironmentId(id), None).await?)
}

fn parse(fields: &Fields) -> Result<NewScaleChange, FieldErrors> {
    let mut errors = FieldErrors::new();
    let quantity = errors.take("quantity", term::parse_quantity(fields.get("quantity")));
    let changes_on = errors.take("changes_on", dates::parse_date(fields.get("changes_on")));
    let reason = errors.take("reason", fields.get("reason").parse::<Line>());
    match (quantity, changes_on, reason) {
        (Some(quantity), Some(changes_on), Some(reason)) => Ok(NewScaleChange { changes_on, quantity, reason }),
        _ => Err(errors),
    }
}

pub(super) async fn record(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let recorded = async {
        let new = parse(&fields)?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            scale::record(&mut tx, EnvironmentId(id), &new).await?;
            tx.commit().await?;
        }
        Ok(())
    };
    match recorded.await {
        Ok(()) => Ok(see(&shell.base, &format!("/environments/{id}"))),
        Err(Error::Invalid(errors)) => {
            let template = template(&app, shell, EnvironmentId(id), Some(FormState::again(fields, errors))).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}
