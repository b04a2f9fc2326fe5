//! The filters that a person keeps: saved from the list, renamed and taken off on a page of their own.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::app::App;
use crate::environments::roll::EnvironmentFilter;
use crate::environments::saved_filter::{self, SavedFilter};
use crate::error::{Error, FieldErrors, Result};
use crate::locale::Message;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page_with, see};
use crate::web::query;
use crate::web::shell::Shell;

#[derive(Template)]
#[template(path = "environments/saved_filters.html")]
struct SavedFilters {
    shell: Shell,
    form: FormState,
    /// Where the filter to be saved comes from; empty where the form is about none.
    query: String,
    filters: Vec<SavedFilter>,
}

pub(super) async fn list(State(app): State<App>, shell: Shell) -> Result<Response> {
    shown(&app, shell, StatusCode::OK, Fields::new(), FieldErrors::new()).await
}

async fn shown(app: &App, shell: Shell, status: StatusCode, typed: Fields, errors: FieldErrors) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let filters = match shell.actor.user {
        Some(user) => saved_filter::of_user(read.connection(), user).await?,
        None => Vec::new(),
    };
    read.end().await?;
    let query = typed.get("query").to_owned();
    page_with(status, &SavedFilters { shell, form: FormState::again(typed, errors), query, filters })
}

/// Saves, renames or takes off, as the button says.
pub(super) async fn change(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    match changed(&app, &shell, &fields).await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => shown(&app, shell, StatusCode::UNPROCESSABLE_ENTITY, fields, errors).await,
        Err(error) => Err(error),
    }
}

async fn changed(app: &App, shell: &Shell, fields: &Fields) -> Result<String> {
    let id = || fields.get("id").parse::<i64>().map_err(|_| Error::invalid("", Message::new("error-version")));
    let name = || fields.get("name").parse().map_err(|message| Error::invalid("name", message));
    let mut tx = app.write(&shell.actor).await?;
    let location = match fields.get("do") {
        "save" => {
            let pairs = url::form_urlencoded::parse(fields.get("query").trim_start_matches('?').as_bytes());
            let filter: EnvironmentFilter = query::from_pairs(pairs.into_owned().collect())?;
            saved_filter::add(&mut tx, &name()?, &filter).await?;
            format!("/environments{}", filter.query())
        }
        "rename" => {
            saved_filter::rename(&mut tx, id()?, fields.version()?, &name()?).await?;
            "/environments/filters".to_owned()
        }
        "end" => {
            saved_filter::end(&mut tx, id()?, fields.version()?).await?;
            "/environments/filters".to_owned()
        }
        _ => return Err(Error::invalid("", Message::new("error-saved-filter-act"))),
    };
    tx.commit().await?;
    Ok(location)
}
