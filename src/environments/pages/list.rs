//! The list of environments, and the files of environments and of their terms.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::fields::choices;
use crate::app::App;
use crate::environments::environment::Status;
use crate::environments::roll::{self, Choices, Count, EnvironmentFilter, EnvironmentRow, RollPage};
use crate::environments::scenario::Scenario;
use crate::environments::term_row;
use crate::error::Result;
use crate::limits;
use crate::locale::Message;
use crate::money;
use crate::saved_filter::List;
use crate::table::Format;
use crate::web::export;
use crate::web::page::page;
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::saved_filters::Kept;
use crate::web::shell::Shell;

pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/environments", Needs::SignIn, list)
        .get("/environments.csv", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Csv).await)
        .get("/environments.xlsx", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Xlsx).await)
        .get("/environments.json", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Json).await)
        .get("/terms.csv", Needs::SignIn, async |app, shell, query| terms(app, shell, query, Format::Csv).await)
        .get("/terms.xlsx", Needs::SignIn, async |app, shell, query| terms(app, shell, query, Format::Xlsx).await)
        .get("/terms.json", Needs::SignIn, async |app, shell, query| terms(app, shell, query, Format::Json).await)
}

#[derive(Template)]
#[template(path = "environments/environment_list.html")]
struct EnvironmentList {
    shell: Shell,
    filter: EnvironmentFilter,
    choices: Choices,
    rows: Vec<EnvironmentRow>,
    count: Count,
    next: Option<String>,
    kept: Kept,
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<EnvironmentFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let rows = limits::PAGE_ROWS;
    let RollPage { rows: mut found, count } =
        roll::list(&mut read, &filter, i64::try_from(rows).unwrap_or(i64::MAX) + 1).await?;
    let choices = roll::choices(&mut read).await?;
    let kept = Kept::of(&mut read, &shell, List::Environments).await?;
    read.end().await?;
    let more = found.len() > rows;
    found.truncate(rows);
    let next = found.last().filter(|_| more).map(|last| shell.onward("after", last.id));
    page(&EnvironmentList { shell, filter, choices, rows: found, count, next, kept })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<EnvironmentFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &roll::TABLE, format, |read| roll::batches(read, filter)).await
}

async fn terms(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<EnvironmentFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &term_row::TABLE, format, |read| term_row::batches(read, filter)).await
}

impl EnvironmentList {
    fn scenarios(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, Scenario::ALL, Scenario::as_str, Scenario::words)
    }

    fn statuses(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, Status::ALL, Status::as_str, Status::words)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates hand out references")]
    fn is_project(&self, id: &i64) -> bool {
        self.filter.project == Some(*id)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates hand out references")]
    fn is_provider(&self, id: &i64) -> bool {
        self.filter.provider == Some(*id)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates hand out references")]
    fn is_owner(&self, id: &i64) -> bool {
        self.filter.owner == Some(*id)
    }

    fn is_scenario(&self, code: &str) -> bool {
        self.filter.scenario.is_some_and(|scenario| scenario.as_str() == code)
    }

    fn is_status(&self, code: &str) -> bool {
        self.filter.status.is_some_and(|status| status.as_str() == code)
    }

    /// Whether anything is filtered: an empty list then means something else.
    fn filtered(&self) -> bool {
        !self.shell.filter().is_empty()
    }

    /// The expected cost of the present cycle, or that it is unknown.
    fn expected(&self, row: &EnvironmentRow) -> String {
        match &row.expected {
            Some(cost) => format!("{} {}", money::display(cost.amount.clone(), &cost.currency), cost.currency),
            None => self.shell.text("env-unknown"),
        }
    }

    fn totals(&self) -> String {
        self.shell.say(&Message::new("env-totals").with("all", self.count.all).with("active", self.count.active))
    }
}
