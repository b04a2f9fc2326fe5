//! Contracts with a provider: one contract with its documents, adding and changing one.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::contract::{self, Contract, ContractFacts};
use crate::catalog::provider::{self, Provider, ProviderFilter};
use crate::document::Holder;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{ContractId, ProviderId};
use crate::table::Format;
use crate::web::documents::Section;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

use super::{EDIT, HISTORY, last_editor};

/// The pages of contracts.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/contracts.csv", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Csv).await)
        .get("/contracts.xlsx", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Xlsx).await)
        .get("/contracts.json", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Json).await)
        .get("/providers/{id}/contracts/new", EDIT, new)
        .post("/providers/{id}/contracts", EDIT, add)
        .get("/contracts/{id}", Needs::SignIn, show)
        .get("/contracts/{id}/edit", EDIT, edit)
        .post("/contracts/{id}", EDIT, change)
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<ProviderFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &contract::TABLE, format, |read| contract::batches(read, filter)).await
}

#[derive(Template)]
#[template(path = "catalog/contract_form.html")]
struct ContractForm {
    shell: Shell,
    form: FormState,
    stale: Option<Stale>,
    provider: Provider,
    /// The one that is changed; nothing for a new one.
    contract: Option<Contract>,
}

impl ContractForm {
    fn title(&self) -> String {
        self.contract.as_ref().map_or_else(|| self.shell.text("catalog-add-contract"), |it| it.number.to_string())
    }

    fn action(&self) -> String {
        self.shell.href(&match &self.contract {
            Some(contract) => own_address(contract.id),
            None => format!("{}/contracts", address(self.provider.id)),
        })
    }

    fn back(&self) -> String {
        self.shell.href(&self.contract.as_ref().map_or_else(|| address(self.provider.id), |it| own_address(it.id)))
    }
}

fn address(provider: ProviderId) -> String {
    format!("/providers/{provider}")
}

fn own_address(id: ContractId) -> String {
    format!("/contracts/{id}")
}

#[derive(Template)]
#[template(path = "catalog/contract_show.html")]
struct ContractPage {
    shell: Shell,
    contract: Contract,
    documents: Section,
    entries: Vec<Entry>,
}

async fn show(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let contract = contract::get(read.connection(), ContractId(id)).await?;
    let documents = Section::of(&mut read, &shell, Holder::Contract(contract.id)).await?;
    let mut records = vec![("contract", id)];
    records.extend(documents.records());
    let entries = audit::of_records(&mut read, &records, HISTORY).await?;
    read.end().await?;
    page(&ContractPage { shell, contract, documents, entries })
}

/// The fields of the form, with their labels.
const FIELDS: &[(&str, &str)] = &[
    ("number", "catalog-number"),
    ("title", "catalog-title"),
    ("starts_on", "catalog-starts-on"),
    ("ends_on", "catalog-ends-on"),
    ("note", "catalog-note"),
];

fn fields_of(contract: &Contract) -> Fields {
    Fields::new()
        .with("version", contract.version)
        .with("number", &contract.number)
        .with("title", &contract.title)
        .with("starts_on", contract.starts_on)
        .with("ends_on", contract.ends_on.map(|day| day.to_string()).unwrap_or_default())
        .with("note", &contract.note)
}

async fn new_page(app: &App, shell: Shell, id: i64, form: FormState) -> Result<ContractForm> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), ProviderId(id)).await?;
    read.end().await?;
    Ok(ContractForm { shell, form, stale: None, provider, contract: None })
}

async fn new(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&new_page(&app, shell, id, FormState::new(Fields::new())).await?)
}

async fn add(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = ContractFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if let Some(location) = tx.sent_before(fields.submit_id()?).await? {
            return Ok(location);
        }
        let location = own_address(contract::add(&mut tx, ProviderId(id), &facts).await?.id);
        tx.sent(fields.submit_id()?, &location).await?;
        tx.commit().await?;
        Ok(location)
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => {
            let template = new_page(&app, shell, id, FormState::again(fields, errors)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let contract = contract::get(read.connection(), ContractId(id)).await?;
    let provider = provider::get(read.connection(), contract.provider_id).await?;
    read.end().await?;
    let form = FormState::new(fields_of(&contract));
    page(&ContractForm { shell, form, stale: None, provider, contract: Some(contract) })
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = ContractFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            contract::change(&mut tx, ContractId(id), fields.version()?, &facts).await?;
        }
        tx.commit().await
    };
    let (status, errors) = match changed.await {
        Ok(()) => return Ok(see(&shell.base, &own_address(ContractId(id)))),
        Err(Error::Invalid(errors)) => (StatusCode::UNPROCESSABLE_ENTITY, errors),
        Err(Error::Conflict(_)) => (StatusCode::CONFLICT, FieldErrors::new()),
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let contract = contract::get(read.connection(), ContractId(id)).await?;
    let provider = provider::get(read.connection(), contract.provider_id).await?;
    let who = last_editor(&mut read, "contract", id).await?;
    let stale = (status == StatusCode::CONFLICT).then(|| Stale::new(who, &fields_of(&contract), &fields, FIELDS));
    let fields = if stale.is_some() { fields.with("version", contract.version) } else { fields };
    let form = FormState::again(fields, errors);
    page_with(status, &ContractForm { shell, form, stale, provider, contract: Some(contract) })
}
