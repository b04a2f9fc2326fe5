//! The page of the history: everything that was done, newest first, and the same as a file.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use crate::access::project::{self, Project};
use crate::app::App;
use crate::audit::{self, Entry, EntryFilter};
use crate::error::Result;
use crate::limits;
use crate::table::Format;
use crate::web::export;
use crate::web::page::page;
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

/// The routes of the history.
pub fn routes() -> Routes {
    Routes::new()
        .get("/history", Needs::SignIn, list)
        .get("/history.csv", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Csv).await)
        .get("/history.xlsx", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Xlsx).await)
        .get("/history.json", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Json).await)
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    shell: Shell,
    filter: EntryFilter,
    projects: Vec<Project>,
    entries: Vec<Entry>,
    next: Option<String>,
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<EntryFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let projects = project::list(&mut read).await?;
    let rows = limits::PAGE_ROWS;
    let mut entries = audit::list(&mut read, &filter, i64::try_from(rows).unwrap_or(i64::MAX) + 1).await?;
    read.end().await?;
    let more = entries.len() > rows;
    entries.truncate(rows);
    let next = entries.last().filter(|_| more).map(|last| shell.onward("before", last.id));
    page(&HistoryPage { shell, filter, projects, entries, next })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<EntryFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &audit::TABLE, format, |read| audit::batches(read, filter)).await
}

impl HistoryPage {
    fn kinds(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.kind.as_deref();
        audit::nouns().iter().map(|(kind, key)| (*kind, self.shell.text(key), chosen == Some(*kind))).collect()
    }

    fn is_project(&self, project: &Project) -> bool {
        self.filter.project == Some(project.id.0)
    }

    /// Whether anything is filtered: an empty list then means something else.
    fn filtered(&self) -> bool {
        !self.shell.filter().is_empty()
    }
}
