//! Unit costs: spend beside output, month by month.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use crate::access::project::{self, Project};
use crate::app::App;
use crate::dates::Period;
use crate::error::Result;
use crate::ledger::unit_cost_list::{self, Asked, Group, TABLE, UnitCostFilter};
use crate::table::Format;
use crate::web::export;
use crate::web::page::page;
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::unit_costs::{self, UnitCostLine};

/// The list and its files.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/ledger/unit-costs", Needs::SignIn, list)
        .get("/ledger/unit-costs.csv", Needs::SignIn, async |app, shell, query| {
            file(app, shell, query, Format::Csv).await
        })
        .get("/ledger/unit-costs.xlsx", Needs::SignIn, async |app, shell, query| {
            file(app, shell, query, Format::Xlsx).await
        })
        .get("/ledger/unit-costs.json", Needs::SignIn, async |app, shell, query| {
            file(app, shell, query, Format::Json).await
        })
}

#[derive(Template)]
#[template(path = "ledger/unit_cost_list.html")]
struct UnitCostList {
    shell: Shell,
    filter: UnitCostFilter,
    by: Group,
    /// From which month on, where nothing was said too.
    from: Option<Period>,
    projects: Vec<Project>,
    unit_costs: Vec<UnitCostLine>,
    next: Option<String>,
}

impl UnitCostList {
    fn is_project(&self, project: &Project) -> bool {
        let chosen = self.filter.project.as_deref().map(str::trim);
        chosen.is_some_and(|chosen| chosen == project.id.to_string() || chosen == project.name.as_str())
    }

    fn groups(&self) -> Vec<(&'static str, String, bool)> {
        Group::ALL.iter().map(|group| (group.as_str(), self.shell.say(&group.words()), *group == self.by)).collect()
    }
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<UnitCostFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let asked = Asked::of(&mut read, &filter).await?;
    let (rows, next) = unit_cost_list::page(&mut read, &asked).await?;
    let projects = project::list(&mut read).await?;
    read.end().await?;
    let unit_costs = unit_costs::lines(&shell, &rows);
    let next = next.map(|place| shell.onward("before", place));
    page(&UnitCostList { shell, filter, by: asked.by, from: asked.from(), projects, unit_costs, next })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<UnitCostFilter>,
    format: Format,
) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let asked = Asked::of(&mut read, &filter).await?;
    read.end().await?;
    export::file(&app, &shell, &TABLE, format, |read| unit_cost_list::batches(read, asked)).await
}
