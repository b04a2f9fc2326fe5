//! Resources and where they belong: the work list of what is unplaced, one resource, binding and taking back.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::actor::Permission;
use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::provider::{self, Provider};
use crate::error::{Error, Result};
use crate::ids::{BindingId, ResourceId};
use crate::ledger::binding::{self, Binding, NewBinding};
use crate::ledger::by_amount::ByAmount;
use crate::ledger::resource::{self, MonthRow, Resource, ResourceFilter, Unplaced, UnplacedSum};
use crate::locale::Message;
use crate::table::Format;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{own_path, page, page_with, see};
use crate::web::query::{self, Query};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

const PLACE: Needs = Needs::May(Permission::Unplaced);

/// The work list and the resources.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/ledger/unplaced", Needs::AllProjects, list)
        .get("/ledger/unplaced.csv", Needs::AllProjects, async |app, shell, query| {
            file(app, shell, query, Format::Csv).await
        })
        .get("/ledger/unplaced.xlsx", Needs::AllProjects, async |app, shell, query| {
            file(app, shell, query, Format::Xlsx).await
        })
        .get("/ledger/unplaced.json", Needs::AllProjects, async |app, shell, query| {
            file(app, shell, query, Format::Json).await
        })
        .post("/ledger/unplaced/bindings", PLACE, bind_all)
        .get("/resources/{id}", super::READ, show)
        .post("/resources/{id}/bindings", PLACE, bind)
        .post("/resources/{id}/bindings/{binding}/withdraw", PLACE, unbind)
}

#[derive(Template)]
#[template(path = "ledger/unplaced_list.html")]
struct UnplacedList {
    shell: Shell,
    form: FormState,
    filter: ResourceFilter,
    providers: Vec<Provider>,
    environments: Vec<(String, String)>,
    list: Vec<Unplaced>,
    sums: Vec<UnplacedSum>,
    order: Option<ByAmount>,
    next: Option<String>,
}

impl UnplacedList {
    fn is_provider(&self, provider: &Provider) -> bool {
        let chosen = self.filter.provider.as_deref();
        chosen.is_some_and(|chosen| chosen == provider.id.to_string() || chosen == provider.name.as_str())
    }

    fn lines(&self, count: i64) -> String {
        self.shell.with("ledger-lines", "n", count)
    }

    /// Whether it was ticked.
    fn is_ticked(&self, resource: &Unplaced) -> bool {
        !self.form.value(&format!("pick-{}", resource.resource().id)).is_empty()
    }

    /// How the amounts are sorted, for who does not see it; nothing where they are not.
    fn sorted(&self) -> Option<&'static str> {
        self.order.map(|order| match order {
            ByAmount::Largest => "descending",
            ByAmount::Smallest => "ascending",
        })
    }

    /// The list in the other order: the largest amount first, then the smallest, then the newest resource again.
    fn other_order(&self) -> String {
        let filter = self.shell.filter();
        let others = url::form_urlencoded::parse(filter.as_bytes()).filter(|(name, _)| name != "sort");
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others);
        match self.order {
            None => _ = query.append_pair("sort", "largest"),
            Some(ByAmount::Largest) => _ = query.append_pair("sort", "smallest"),
            Some(ByAmount::Smallest) => {}
        }
        self.shell.href(&format!("/ledger/unplaced?{}", query.finish()))
    }
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<ResourceFilter>) -> Result<Response> {
    work_list(&app, shell, filter, StatusCode::OK, FormState::new(Fields::new())).await
}

async fn work_list(
    app: &App,
    shell: Shell,
    filter: ResourceFilter,
    status: StatusCode,
    form: FormState,
) -> Result<Response> {
    super::sees_all(&shell.actor)?;
    let mut read = app.read(&shell.actor).await?;
    let order = filter.clone().unplaced().by_amount()?;
    let (list, next) = resource::unplaced(&mut read, &filter).await?;
    let sums = resource::unplaced_sums(&mut read).await?;
    let providers = provider::list(&mut read).await?;
    let environments = super::environments(&mut read, &shell.actor).await?;
    read.end().await?;
    let next = next.map(|(key, place)| shell.onward(key, place));
    page_with(status, &UnplacedList { shell, form, filter, providers, environments, list, sums, order, next })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<ResourceFilter>,
    format: Format,
) -> Result<Response> {
    super::sees_all(&shell.actor)?;
    let filter = ResourceFilter { before: None, after: None, ..filter.unplaced() };
    export::file(&app, &shell, &resource::TABLE, format, |read| resource::stream(read, filter)).await
}

#[derive(Template)]
#[template(path = "ledger/resource_show.html")]
struct ResourcePage {
    shell: Shell,
    form: FormState,
    resource: Resource,
    environments: Vec<(String, String)>,
    bindings: Vec<Binding>,
    months: Vec<MonthRow>,
    entries: Vec<Entry>,
}

impl ResourcePage {
    fn stands_for(&self) -> Option<String> {
        self.resource.is_stand_in().then(|| self.shell.text("resource-stand-in"))
    }

    fn may_take_back(&self, binding: &Binding) -> bool {
        binding.withdrawn_at.is_none() && self.shell.may_place() && self.shell.may_operate(&binding.project_id)
    }
}

/// The page of a resource, with the form as it was typed or with its first values.
async fn resource_page(app: &App, shell: Shell, id: ResourceId, form: Option<FormState>) -> Result<ResourcePage> {
    let mut read = app.read(&shell.actor).await?;
    let resource = resource::get(read.connection(), id).await?;
    let bindings = binding::of_resource(read.connection(), id).await?;
    let months = resource::months(&mut read, id).await?;
    let entries = audit::of(&mut read, "resource", id.0, super::HISTORY).await?;
    let environments = super::environments(&mut read, &shell.actor).await?;
    let first = resource::first_unplaced_day(&mut read, id).await?.unwrap_or_else(|| read.today());
    read.end().await?;
    let form = form.unwrap_or_else(|| FormState::new(Fields::new().with("starts_on", first)));
    Ok(ResourcePage { shell, form, resource, environments, bindings, months, entries })
}

async fn show(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&resource_page(&app, shell, ResourceId(id), None).await?)
}

/// Where to go after a binding: `list` is the work list.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct After {
    to: String,
}

async fn bind(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    Query(after): Query<After>,
    fields: Fields,
) -> Result<Response> {
    let fields = fields.with("resource", id);
    let bound = async {
        let new = NewBinding::parse(&|name| fields.get(name))?;
        let submit_id = fields.submit_id()?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(submit_id).await?.is_none() {
            binding::bind(&mut tx, &new).await?;
            tx.sent(submit_id, &format!("/resources/{id}")).await?;
            tx.commit().await?;
        }
        Ok(())
    };
    match bound.await {
        Ok(()) if after.to == "list" => Ok(see(&shell.base, "/ledger/unplaced")),
        Ok(()) => Ok(see(&shell.base, &format!("/resources/{id}"))),
        Err(Error::Invalid(errors)) => {
            let template = resource_page(&app, shell, ResourceId(id), Some(FormState::again(fields, errors))).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

/// Binds the resources that are ticked to one environment, each from the day that its field holds.
async fn bind_all(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let bound = async {
        let all = picked(&fields)?;
        let submit_id = fields.submit_id()?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(submit_id).await?.is_none() {
            binding::bind_all(&mut tx, &all).await?;
            tx.sent(submit_id, "/ledger/unplaced").await?;
            tx.commit().await?;
        }
        Ok(())
    };
    match bound.await {
        Ok(()) => Ok(see(&shell.base, own_path(fields.get("back")))),
        Err(Error::Invalid(errors)) => {
            // The list as it was, with what was ticked.
            let asked = own_path(fields.get("back")).split_once('?').map_or("", |(_, query)| query).to_owned();
            let pairs = url::form_urlencoded::parse(asked.as_bytes()).into_owned().collect();
            let (filter, shell) = (query::from_pairs(pairs)?, shell.at("/ledger/unplaced", &asked));
            let form = FormState::again(fields, errors);
            work_list(&app, shell, filter, StatusCode::UNPROCESSABLE_ENTITY, form).await
        }
        Err(error) => Err(error),
    }
}

/// What is ticked: fields like `pick-12`, each with the first day.
fn picked(fields: &Fields) -> Result<Vec<NewBinding>> {
    let ticked = fields.iter().filter_map(|(name, day)| Some((name.strip_prefix("pick-")?, day)));
    let all: std::result::Result<Vec<NewBinding>, _> = ticked
        .map(|(resource, day)| {
            NewBinding::parse(&|name| match name {
                "resource" => resource,
                "starts_on" => day,
                name => fields.get(name),
            })
        })
        .collect();
    match all {
        Ok(all) if all.is_empty() => Err(Error::invalid("", Message::new("unplaced-none-ticked"))),
        all => Ok(all?),
    }
}

async fn unbind(
    State(app): State<App>,
    shell: Shell,
    Path((id, binding)): Path<(i64, i64)>,
    fields: Fields,
) -> Result<Response> {
    let mut tx = app.write(&shell.because(&fields)?).await?;
    let seen = binding::get(tx.connection(), BindingId(binding)).await?;
    if seen.resource_id != ResourceId(id) {
        return Err(Error::NotFound);
    }
    let (version, submit_id) = (fields.version()?, fields.submit_id()?);
    if tx.sent_before(submit_id).await?.is_none() {
        binding::unbind(&mut tx, BindingId(binding), version).await?;
        tx.sent(submit_id, &format!("/resources/{id}")).await?;
        tx.commit().await?;
    }
    Ok(see(&shell.base, &format!("/resources/{id}")))
}
