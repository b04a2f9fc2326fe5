//! The filters that a person keeps: links above each list, saved from there, renamed and taken off on a page of their own.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use crate::app::App;
use crate::deadlines::due::DueFilter;
use crate::environments::roll::EnvironmentFilter;
use crate::error::{Error, FieldErrors, Result};
use crate::ledger::filter::{Chosen, SpendFilter};
use crate::locale::Message;
use crate::saved_filter::{self, List, SavedFilter};
use crate::tx::Read;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page_with, see};
use crate::web::query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

/// The page of one's own filters.
pub fn routes() -> Routes {
    Routes::new().get("/filters", Needs::SignIn, list).post("/filters", Needs::SignIn, change)
}

/// Where a list is.
const fn path(of: List) -> &'static str {
    match of {
        List::Environments => "/environments",
        List::Ledger => "/ledger",
        List::Renewals => "/renewals",
    }
}

/// A filter as the list writes it in an address.
fn written(of: List, query: &str) -> Result<String> {
    match of {
        List::Environments => query::written::<EnvironmentFilter>(query),
        List::Ledger => query::written::<SpendFilter>(query),
        List::Renewals => query::written::<DueFilter>(query),
    }
}

/// The same for a filter that somebody wants to keep.
///
/// # Errors
/// What the list itself would refuse.
async fn checked(read: &mut Read, of: List, query: &str) -> Result<String> {
    let written = written(of, query)?;
    let pairs = query::pairs(written.trim_start_matches('?'));
    match of {
        List::Environments => _ = query::from_pairs::<EnvironmentFilter>(pairs)?.words()?,
        List::Ledger => _ = Chosen::of(read, &query::from_pairs::<SpendFilter>(pairs)?).await?,
        List::Renewals => _ = query::from_pairs::<DueFilter>(pairs)?.window()?,
    }
    Ok(written)
}

/// What a list shows of the filters that its reader keeps.
pub struct Kept {
    /// The list.
    pub list: List,
    /// The reader's filters of it, by name.
    pub filters: Vec<SavedFilter>,
    /// The present filter; empty where nothing is filtered.
    pub query: String,
}

impl Kept {
    /// Those of the reader of a page that shows this list.
    pub async fn of(read: &mut Read, shell: &Shell, list: List) -> Result<Self> {
        let filters = of_reader(read, shell, Some(list)).await?;
        // A parameter that the list passes over cannot be kept.
        let query = written(list, &shell.query).unwrap_or_default();
        let query = if shell.actor.user.is_some() { query } else { String::new() };
        Ok(Self { list, filters, query })
    }

    /// Where the list is.
    pub const fn path(&self) -> &'static str {
        path(self.list)
    }

    /// Whether the page shows just this filter.
    pub fn is_shown(&self, filter: &SavedFilter) -> bool {
        filter.query == self.query
    }
}

async fn of_reader(read: &mut Read, shell: &Shell, of: Option<List>) -> Result<Vec<SavedFilter>> {
    match shell.actor.user {
        Some(user) => saved_filter::of_user(read.connection(), user, of).await,
        None => Ok(Vec::new()),
    }
}

#[derive(Template)]
#[template(path = "saved_filters.html")]
struct SavedFilters {
    shell: Shell,
    /// Holds the filter to be saved where a list sent one that could not be.
    form: FormState,
    filters: Vec<SavedFilter>,
}

impl SavedFilters {
    /// Each list with its address and what is kept of it.
    fn lists(&self) -> Vec<(List, &'static str, Vec<&SavedFilter>)> {
        let of = |list: List| self.filters.iter().filter(|filter| filter.of_list == list).collect();
        List::ALL.iter().map(|list| (*list, path(*list), of(*list))).collect()
    }
}

async fn list(State(app): State<App>, shell: Shell) -> Result<Response> {
    shown(&app, shell, StatusCode::OK, Fields::new(), FieldErrors::new()).await
}

async fn shown(app: &App, shell: Shell, status: StatusCode, typed: Fields, errors: FieldErrors) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let filters = of_reader(&mut read, &shell, None).await?;
    read.end().await?;
    page_with(status, &SavedFilters { shell, form: FormState::again(typed, errors), filters })
}

/// Saves, renames or takes off, as the button says.
async fn change(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    match changed(&app, &shell, &fields).await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => shown(&app, shell, StatusCode::UNPROCESSABLE_ENTITY, fields, errors).await,
        Err(error) => Err(error),
    }
}

async fn changed(app: &App, shell: &Shell, fields: &Fields) -> Result<String> {
    let id = || fields.get("id").parse::<i64>().map_err(|_| Error::invalid("", Message::new("error-version")));
    let name = || fields.get("name").parse().map_err(|message| Error::invalid("name", message));
    if fields.get("do") == "save" {
        let list: List = fields.get("list").parse().map_err(|message| Error::invalid("list", message))?;
        let mut read = app.read(&shell.actor).await?;
        let query = checked(&mut read, list, fields.get("query")).await?;
        read.end().await?;
        let mut tx = app.write(&shell.actor).await?;
        saved_filter::add(&mut tx, list, &name()?, &query).await?;
        tx.commit().await?;
        return Ok(format!("{}{query}", path(list)));
    }
    let mut tx = app.write(&shell.actor).await?;
    match fields.get("do") {
        "rename" => saved_filter::rename(&mut tx, id()?, fields.version()?, &name()?).await?,
        "end" => saved_filter::end(&mut tx, id()?, fields.version()?).await?,
        _ => return Err(Error::invalid("", Message::new("error-saved-filter-act"))),
    }
    tx.commit().await?;
    Ok("/filters".to_owned())
}
