//! Output entries: the list, one entry, recording, correcting, voiding.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::access::project::{self, Project};
use crate::actor::{Actor, Permission};
use crate::app::App;
use crate::audit::{self, Entry};
use crate::dates::Period;
use crate::document::Holder;
use crate::environments::choice::{self, EnvironmentChoice};
use crate::environments::scenario::Scenario;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::OutputId;
use crate::ledger::output::{self, NewOutput, OutputEntry, OutputFilter, UnitTotal};
use crate::limits;
use crate::locale::Message;
use crate::money;
use crate::table::Format;
use crate::tx::{Read, Tx};
use crate::web::documents::Section;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

/// The pages of output entries.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/ledger/outputs", Needs::SignIn, list)
        .get("/ledger/outputs.csv", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Csv).await)
        .get("/ledger/outputs.xlsx", Needs::SignIn, async |app, shell, query| {
            file(app, shell, query, Format::Xlsx).await
        })
        .get("/ledger/outputs.json", Needs::SignIn, async |app, shell, query| {
            file(app, shell, query, Format::Json).await
        })
        .get("/ledger/outputs/new", super::RECORD, new)
        .post("/ledger/outputs", super::RECORD, record)
        .get("/ledger/outputs/{id}", super::READ, show)
        .get("/ledger/outputs/{id}/correct", super::OPERATE, correct_form)
        .post("/ledger/outputs/{id}/correct", super::OPERATE, correct)
        .get("/ledger/outputs/{id}/void", super::OPERATE, void_form)
        .post("/ledger/outputs/{id}/void", super::OPERATE, void)
}

fn address(id: OutputId) -> String {
    format!("/ledger/outputs/{id}")
}

// ---- the list -------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/output_list.html")]
struct OutputList {
    shell: Shell,
    filter: OutputFilter,
    projects: Vec<Project>,
    entries: Vec<OutputEntry>,
    totals: Vec<UnitTotal>,
    next: Option<String>,
}

impl OutputList {
    fn is_project(&self, project: &Project) -> bool {
        let chosen = self.filter.project.as_deref();
        chosen.is_some_and(|chosen| chosen == project.id.to_string() || chosen == project.name.as_str())
    }

    fn scenarios(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.scenario.as_deref();
        let choice = |scenario: &Scenario| {
            let code = scenario.as_str();
            (code, self.shell.say(&scenario.words()), chosen == Some(code))
        };
        Scenario::ALL.iter().map(choice).collect()
    }

    fn environment_link(&self, entry: &OutputEntry) -> String {
        self.shell.href(&format!("/environments/{}", entry.environment_id))
    }

    fn link(&self, entry: &OutputEntry) -> String {
        self.shell.href(&address(entry.id))
    }

    fn state(&self, entry: &OutputEntry) -> String {
        state(&self.shell, entry)
    }
}

/// Whether an entry was taken back, or takes another one back.
fn state(shell: &Shell, entry: &OutputEntry) -> String {
    match (entry.reverses_id, entry.reversed_by) {
        (Some(id), _) => shell.with("outputs-state-reversal", "id", id.to_string()),
        (None, Some(id)) => shell.with("outputs-state-reversed", "id", id.to_string()),
        (None, None) => String::new(),
    }
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<OutputFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let rows = limits::PAGE_ROWS;
    let mut entries = output::list(&mut read, &filter, i64::try_from(rows).unwrap_or(i64::MAX) + 1).await?;
    let totals = output::totals(&mut read, &filter).await?;
    let projects = project::list(&mut read).await?;
    read.end().await?;
    let more = entries.len() > rows;
    entries.truncate(rows);
    let next = entries.last().filter(|_| more).map(|last| shell.onward("before", last.place()));
    page(&OutputList { shell, filter, projects, entries, totals, next })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<OutputFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &output::TABLE, format, |read| output::batches(read, filter)).await
}

// ---- one entry ------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/output_show.html")]
struct OutputPage {
    shell: Shell,
    entry: OutputEntry,
    /// What it corrects, where the reader may see that.
    corrects: Option<OutputId>,
    /// What proves it.
    documents: Section,
    entries: Vec<Entry>,
}

impl OutputPage {
    fn title(&self) -> String {
        title(&self.shell, &self.entry)
    }

    /// The entries that this one has to do with: address and words.
    fn others(&self) -> Vec<(String, String)> {
        let link = |id: OutputId, words| (self.shell.href(&address(id)), words);
        let corrected = self.corrects.map(|id| link(id, self.shell.with("ledger-corrects", "id", id.to_string())));
        let other = self.entry.reverses_id.or(self.entry.reversed_by);
        corrected.into_iter().chain(other.map(|id| link(id, state(&self.shell, &self.entry)))).collect()
    }

    fn act(&self, act: &str) -> String {
        self.shell.href(&format!("{}/{act}", address(self.entry.id)))
    }

    fn may_change(&self) -> bool {
        self.entry.is_open() && self.shell.may(Permission::Operate, Some(self.entry.project_id))
    }
}

fn title(shell: &Shell, entry: &OutputEntry) -> String {
    let message = Message::new("outputs-show").with("environment", &entry.environment).with("period", entry.period);
    shell.say(&message)
}

async fn show(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let entry = output::get(read.connection(), OutputId(id)).await?;
    let corrects = match entry.corrects_id {
        Some(id) => match output::get(read.connection(), id).await {
            Err(Error::NotFound) => None,
            found => Some(found?.id),
        },
        None => None,
    };
    let earlier = [entry.reverses_id, entry.corrects_id].map(|it| it.map(|id| id.0));
    let documents = Section::of(&mut read, &shell, Holder::Output(entry.id), Some(entry.project_id)).await?;
    let mut records = vec![("output_entry", id)];
    records.extend(earlier.into_iter().flatten().map(|id| ("output_entry", id)));
    records.extend(documents.records());
    let entries = audit::of_records(&mut read, &records, super::HISTORY).await?;
    read.end().await?;
    page(&OutputPage { shell, entry, corrects, documents, entries })
}

// ---- recording and correcting ---------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/output_form.html")]
struct OutputForm {
    shell: Shell,
    form: FormState,
    environments: Vec<EnvironmentChoice>,
    /// What is corrected; nothing where an entry is recorded.
    corrects: Option<OutputEntry>,
}

impl OutputForm {
    fn choices(&self) -> Vec<(String, String)> {
        self.environments.iter().map(|choice| (choice.id.to_string(), choice.to_string())).collect()
    }

    fn scenarios(&self) -> Vec<(&'static str, String)> {
        Scenario::ALL.iter().map(|scenario| (scenario.as_str(), self.shell.say(&scenario.words()))).collect()
    }

    fn action(&self) -> String {
        match &self.corrects {
            Some(entry) => self.shell.href(&format!("{}/correct", address(entry.id))),
            None => self.shell.href("/ledger/outputs"),
        }
    }

    fn title(&self) -> String {
        self.shell.text(if self.corrects.is_some() { "outputs-correct" } else { "outputs-new" })
    }
}

/// The environments for which the reader may record.
async fn choices(read: &mut Read, actor: &Actor) -> Result<Vec<EnvironmentChoice>> {
    let mut choices = choice::choices(read).await?;
    choices.retain(|choice| actor.may(Permission::Operate, Some(choice.project_id)));
    Ok(choices)
}

/// What a link to the form may fill in.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Preset {
    environment: String,
}

async fn new(State(app): State<App>, shell: Shell, Query(preset): Query<Preset>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let environments = choices(&mut read, &shell.actor).await?;
    let fields = Fields::new()
        .with("environment", preset.environment)
        .with("period", Period::of_date(read.today()))
        .with("currency", &read.organisation().currency);
    read.end().await?;
    page(&OutputForm { shell, form: FormState::new(fields), environments, corrects: None })
}

/// Sends the form once: where the same was sent before, the entry of then is shown.
async fn once<F>(app: &App, actor: &Actor, fields: &Fields, act: F) -> Result<String>
where
    F: AsyncFnOnce(&mut Tx) -> Result<OutputEntry>,
{
    let mut tx = app.write(actor).await?;
    let submit_id = fields.submit_id()?;
    if let Some(location) = tx.sent_before(submit_id).await? {
        return Ok(location);
    }
    let entry = act(&mut tx).await?;
    let location = address(entry.id);
    tx.sent(submit_id, &location).await?;
    tx.commit().await?;
    Ok(location)
}

async fn record(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let recorded = async {
        let new = NewOutput::parse(&|name| fields.get(name))?;
        once(&app, &shell.because(&fields)?, &fields, async |tx| output::record(tx, &new).await).await
    };
    match recorded.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => again(&app, shell, fields, errors, None).await,
        Err(error) => Err(error),
    }
}

/// The form again, with what was typed and what is wrong.
async fn again(
    app: &App,
    shell: Shell,
    fields: Fields,
    errors: FieldErrors,
    corrects: Option<OutputId>,
) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let environments = choices(&mut read, &shell.actor).await?;
    let corrects = match corrects {
        Some(id) => Some(open_entry(&mut read, &shell, id.0).await?),
        None => None,
    };
    read.end().await?;
    let form = FormState::again(fields, errors);
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &OutputForm { shell, form, environments, corrects })
}

fn fields_of(entry: &OutputEntry) -> Fields {
    Fields::new()
        .with("environment", entry.environment_id)
        .with("scenario", entry.scenario.map_or("", Scenario::as_str))
        .with("period", entry.period)
        .with("unit", &entry.unit)
        .with("quantity", money::plain(entry.quantity))
        .with("value", entry.value.map(money::plain).unwrap_or_default())
        .with("currency", entry.currency.as_ref().map_or("", |currency| currency.as_str()))
        .with("description", &entry.description)
}

async fn correct_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let entry = match open_entry(&mut read, &shell, id).await {
        Ok(entry) => entry,
        Err(error) => return closed(&app, shell, error, id).await,
    };
    let environments = choices(&mut read, &shell.actor).await?;
    read.end().await?;
    page(&OutputForm { shell, form: FormState::new(fields_of(&entry)), environments, corrects: Some(entry) })
}

/// Says that an entry cannot be taken back any more, and where to go on.
async fn closed(app: &App, shell: Shell, error: Error, id: i64) -> Result<Response> {
    super::closed(app, shell, error, "output_entry", "/ledger/outputs", id).await
}

/// An entry that the reader may still correct or void.
async fn open_entry(read: &mut Read, shell: &Shell, id: i64) -> Result<OutputEntry> {
    let entry = output::get(read.connection(), OutputId(id)).await?;
    shell.actor.allow(Permission::Operate, Some(entry.project_id))?;
    if entry.reverses_id.is_some() {
        return Err(Error::Conflict(Message::new("error-output-is-reversal")));
    }
    if entry.reversed_by.is_some() {
        return Err(Error::Conflict(Message::new("error-output-reversed")));
    }
    Ok(entry)
}

async fn correct(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let id = OutputId(id);
    let corrected = async {
        let (new, reason) = super::both(NewOutput::parse(&|name| fields.get(name)), fields.needed_reason())?;
        let actor = shell.actor.clone().because(reason.as_str());
        once(&app, &actor, &fields, async |tx| output::correct(tx, id, &new).await).await
    };
    match corrected.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => again(&app, shell, fields, errors, Some(id)).await,
        Err(error) => closed(&app, shell, error, id.0).await,
    }
}

// ---- voiding --------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/output_void.html")]
struct VoidForm {
    shell: Shell,
    form: FormState,
    entry: OutputEntry,
}

impl VoidForm {
    fn title(&self) -> String {
        title(&self.shell, &self.entry)
    }

    fn link(&self) -> String {
        self.shell.href(&address(self.entry.id))
    }
}

async fn void_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let entry = match open_entry(&mut read, &shell, id).await {
        Ok(entry) => entry,
        Err(error) => return closed(&app, shell, error, id).await,
    };
    read.end().await?;
    page(&VoidForm { shell, form: FormState::new(Fields::new()), entry })
}

async fn void(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let voided = async {
        let actor = shell.actor.clone().because(fields.needed_reason()?.as_str());
        once(&app, &actor, &fields, async |tx| output::void(tx, OutputId(id)).await).await
    };
    match voided.await {
        Ok(_) => Ok(see(&shell.base, &address(OutputId(id)))),
        Err(Error::Invalid(errors)) => {
            let mut read = app.read(&shell.actor).await?;
            let entry = open_entry(&mut read, &shell, id).await?;
            read.end().await?;
            let form = FormState::again(fields, errors);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &VoidForm { shell, form, entry })
        }
        Err(error) => closed(&app, shell, error, id).await,
    }
}
