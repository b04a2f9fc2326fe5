//! Pages about what ends when, which reminders are planned, which mails went out, and what the jobs did.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::NaiveDate;
use uuid::Uuid;

use crate::access::project::{self, Project};
use crate::actor::Permission;
use crate::app::App;
use crate::dates::Steps;
use crate::deadlines::delivery_list::{self, DeliveryDetail, DeliveryFilter, DeliveryRow};
use crate::deadlines::due::{self, DueFilter, DueRow, Window};
use crate::deadlines::reminder::{self, ReminderFilter, ReminderRow, Standing};
use crate::error::{Error, Result};
use crate::jobs::{self, Job, JobRun, RunFilter, RunReport, SKIPPED, What};
use crate::limits;
use crate::locale::Message;
use crate::mail::Mailer;
use crate::saved_filter::List;
use crate::table::Format;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::saved_filters::Kept;
use crate::web::shell::Shell;

/// The routes of this context.
pub fn routes() -> Routes {
    Routes::new()
        .get("/renewals", Needs::SignIn, list_renewals)
        .get("/renewals.csv", Needs::SignIn, async |s, h, q| renewals_file(s, h, q, Format::Csv).await)
        .get("/renewals.xlsx", Needs::SignIn, async |s, h, q| renewals_file(s, h, q, Format::Xlsx).await)
        .get("/renewals.json", Needs::SignIn, async |s, h, q| renewals_file(s, h, q, Format::Json).await)
        .get("/reminders", Needs::SignIn, list_reminders)
        .get("/reminders.csv", Needs::SignIn, async |s, h, q| reminders_file(s, h, q, Format::Csv).await)
        .get("/reminders.xlsx", Needs::SignIn, async |s, h, q| reminders_file(s, h, q, Format::Xlsx).await)
        .get("/reminders.json", Needs::SignIn, async |s, h, q| reminders_file(s, h, q, Format::Json).await)
        .get("/deliveries", Needs::SignIn, list_deliveries)
        .get("/deliveries/{id}", Needs::InProject(Permission::Read), show_delivery)
        .post("/deliveries/{id}/retry", Needs::InProject(Permission::Operate), retry_delivery)
        .get("/jobs", Needs::AllProjects, list_jobs)
}

/// One more row than a page shows, to know whether there is another page.
fn one_more() -> i64 {
    i64::try_from(limits::PAGE_ROWS).unwrap_or(i64::MAX) + 1
}

/// Cuts the list to a page; whether there was more.
fn cut<Row>(rows: &mut Vec<Row>) -> bool {
    let more = rows.len() > limits::PAGE_ROWS;
    rows.truncate(limits::PAGE_ROWS);
    more
}

// ---- renewals -------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "deadlines/renewal_list.html")]
struct RenewalList {
    shell: Shell,
    today: NaiveDate,
    filter: DueFilter,
    window: Window,
    counts: Vec<(Window, i64)>,
    projects: Vec<Project>,
    rows: Vec<DueRow>,
    next: Option<String>,
    steps: Steps,
    kept: Kept,
}

async fn list_renewals(State(app): State<App>, shell: Shell, Query(filter): Query<DueFilter>) -> Result<Response> {
    let window = filter.window()?;
    let mut read = app.read(&shell.actor).await?;
    let mut rows = due::list(&mut read, &shell.actor, &filter, one_more()).await?;
    let counts = due::counts(&mut read, &shell.actor, &filter).await?;
    let projects = project::list(&mut read).await?;
    let kept = Kept::of(&mut read, &shell, List::Renewals).await?;
    let (today, steps) = (read.today(), read.organisation().reminder_steps.clone());
    read.end().await?;
    let more = cut(&mut rows);
    let next = rows.last().filter(|_| more).map(|last| shell.onward("after", last.cursor()));
    page(&RenewalList { shell, today, filter, window, counts, projects, rows, next, steps, kept })
}

async fn renewals_file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<DueFilter>,
    format: Format,
) -> Result<Response> {
    let actor = shell.actor.clone();
    export::file(&app, &shell, &due::TABLE, format, |read| due::batches(read, actor, filter)).await
}

impl RenewalList {
    /// The address of another window or another scope, the rest of the filter kept.
    fn with(&self, within: Option<&Window>, mine: bool) -> String {
        let mut pairs = url::form_urlencoded::Serializer::new(String::new());
        let window = within.copied().unwrap_or(self.window);
        if window != Window::default() {
            pairs.append_pair("within", &window.as_str());
        }
        if mine {
            pairs.append_pair("whose", "mine");
        }
        if let Some(project) = self.filter.project {
            pairs.append_pair("project", &project.to_string());
        }
        let query = pairs.finish();
        let separator = if query.is_empty() { "" } else { "?" };
        self.shell.href(&format!("/renewals{separator}{query}"))
    }

    fn is_project(&self, project: &Project) -> bool {
        self.filter.project == Some(project.id.0)
    }

    /// The rule of reminders that holds where a record has none of its own.
    fn rule(&self) -> String {
        self.shell.with("due-rule", "rule", self.steps.rule())
    }
}

// ---- reminders ------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "deadlines/reminder_list.html")]
struct ReminderList {
    shell: Shell,
    filter: ReminderFilter,
    projects: Vec<Project>,
    rows: Vec<ReminderRow>,
    next: Option<String>,
}

async fn list_reminders(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<ReminderFilter>,
) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let mut rows = reminder::list(&mut read, &filter, one_more()).await?;
    let projects = project::list(&mut read).await?;
    read.end().await?;
    let more = cut(&mut rows);
    let next = rows.last().filter(|_| more).map(|last| shell.onward("after", last.cursor()));
    page(&ReminderList { shell, filter, projects, rows, next })
}

async fn reminders_file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<ReminderFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &reminder::TABLE, format, |read| reminder::batches(read, filter)).await
}

impl ReminderList {
    fn standings(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.state.as_deref();
        let one = |it: Standing| (it.as_str(), self.shell.say(&it.words()), chosen == Some(it.as_str()));
        Standing::ALL.into_iter().map(one).collect()
    }

    fn is_project(&self, project: &Project) -> bool {
        self.filter.project == Some(project.id.0)
    }

    /// A step in words: so many days before or after.
    fn step(&self, row: &ReminderRow) -> String {
        let key = if row.step < 0 { "reminders-days-after" } else { "reminders-days-before" };
        self.shell.with(key, "n", row.step.abs())
    }
}

// ---- deliveries -----------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "deadlines/delivery_list.html")]
struct DeliveryList {
    shell: Shell,
    filter: DeliveryFilter,
    mail_off: bool,
    rows: Vec<DeliveryRow>,
    next: Option<String>,
}

async fn list_deliveries(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<DeliveryFilter>,
) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let mut rows = delivery_list::list(&mut read, &filter, one_more()).await?;
    read.end().await?;
    let more = cut(&mut rows);
    let next = rows.last().filter(|_| more).map(|last| shell.onward("before", last.id));
    let mail_off = matches!(app.mailer, Mailer::Directory(_));
    page(&DeliveryList { shell, filter, mail_off, rows, next })
}

impl DeliveryList {
    fn states(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.state.as_deref();
        let one = |it: delivery_list::State| (it.as_str(), self.shell.say(&it.words()), chosen == Some(it.as_str()));
        let failed = ("failed", self.shell.text("delivery-failed"), chosen == Some("failed"));
        delivery_list::State::ALL.into_iter().map(one).chain([failed]).collect()
    }
}

#[derive(Template)]
#[template(path = "deadlines/delivery_show.html")]
struct DeliveryShow {
    shell: Shell,
    form: FormState,
    delivery: DeliveryDetail,
}

async fn show_delivery(State(app): State<App>, shell: Shell, Path(id): Path<String>) -> Result<Response> {
    let id: Uuid = id.parse().map_err(|_| Error::NotFound)?;
    let mut read = app.read(&shell.actor).await?;
    let delivery = delivery_list::get(&mut read, id).await?;
    read.end().await?;
    page(&DeliveryShow { shell, form: FormState::new(Fields::new()), delivery })
}

async fn retry_delivery(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<String>,
    fields: Fields,
) -> Result<Response> {
    let id: Uuid = id.parse().map_err(|_| Error::NotFound)?;
    let mut read = app.read(&shell.actor).await?;
    shell.actor.allow(Permission::Operate, delivery_list::get(&mut read, id).await?.row.project_id)?;
    read.end().await?;
    let (submit_id, location) = (fields.submit_id()?, format!("/deliveries/{id}"));
    let mut tx = app.write(&shell.because(&fields)?).await?;
    if tx.sent_before(submit_id).await?.is_none() {
        delivery_list::retry(&mut tx, id).await?;
        tx.sent(submit_id, &location).await?;
    }
    tx.commit().await?;
    Ok(see(&shell.base, &location))
}

impl DeliveryShow {
    fn may_retry(&self) -> bool {
        let row = &self.delivery.row;
        row.state.can_be_retried() && self.shell.may(Permission::Operate, row.project_id)
    }
}

// ---- jobs -----------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "deadlines/job_list.html")]
struct JobList {
    shell: Shell,
    filter: RunFilter,
    runs: Vec<JobRun>,
    next: Option<String>,
}

async fn list_jobs(State(app): State<App>, shell: Shell, Query(filter): Query<RunFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let mut runs = jobs::list(&mut read, &filter, one_more()).await?;
    read.end().await?;
    let more = cut(&mut runs);
    let next = runs.last().filter(|_| more).map(|last| shell.onward("before", last.id));
    page(&JobList { shell, filter, runs, next })
}

impl JobList {
    fn is_job(&self, job: &Job) -> bool {
        self.filter.job.as_deref() == Some(job.name)
    }

    fn busy(&self) -> bool {
        self.filter.what == What::Busy
    }

    /// Why what called for an act was left, one reason after the other.
    fn skipped(&self, report: &RunReport) -> Vec<String> {
        let said = |reason: &str, count: i64| {
            let known = SKIPPED.iter().find(|(code, _)| *code == reason);
            let words = known.map_or_else(|| reason.to_owned(), |(_, key)| self.shell.text(key));
            self.shell.say(&Message::new("jobs-skipped-one").with("n", count).with("why", words))
        };
        report.skipped.iter().map(|(reason, count)| said(reason, *count)).collect()
    }
}
