//! Contracts with a provider: one contract with its documents, adding and changing one.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::contract::{self, Contract, ContractFacts};
use crate::catalog::provider::{self, Provider, ProviderFilter};
use crate::document::Holder;
use crate::error::Result;
use crate::ids::{ContractId, ProviderId};
use crate::table::Format;
use crate::web::documents::Section;
use crate::web::edit::{self, Edit, Present};
use crate::web::export;
use crate::web::forms::Fields;
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

use super::{EDIT, HISTORY};

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
    edit: Edit,
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
    let documents = Section::of(&mut read, &shell, Holder::Contract(contract.id), None).await?;
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

fn form_page(shell: Shell, edit: Edit, provider: Provider, contract: Option<Contract>) -> Result<Response> {
    page_with(edit.status, &ContractForm { shell, edit, provider, contract })
}

async fn new_page(app: &App, shell: Shell, id: ProviderId, edit: Edit) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), id).await?;
    read.end().await?;
    form_page(shell, edit, provider, None)
}

async fn new(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>) -> Result<Response> {
    new_page(&app, shell, id, Edit::fresh(Fields::new())).await
}

async fn add(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = ContractFacts::parse(&|name| fields.get(name))?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            Ok(own_address(contract::add(tx, id, &facts).await?.id))
        })
        .await
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => new_page(&app, shell, id, Edit::refused(fields, error)?).await,
    }
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<ContractId>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let contract = contract::get(read.connection(), id).await?;
    let provider = provider::get(read.connection(), contract.provider_id).await?;
    read.end().await?;
    form_page(shell, Edit::fresh(fields_of(&contract)), provider, Some(contract))
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<ContractId>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = ContractFacts::parse(&|name| fields.get(name))?;
        let version = fields.version()?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            contract::change(tx, id, version, &facts).await?;
            Ok(own_address(id))
        })
        .await
    };
    let error = match changed.await {
        Ok(location) => return Ok(see(&shell.base, &location)),
        Err(error) => error,
    };
    let mut read = app.read(&shell.actor).await?;
    let contract = contract::get(read.connection(), id).await?;
    let provider = provider::get(read.connection(), contract.provider_id).await?;
    let present = Present { kind: "contract", id: id.0, fields: fields_of(&contract), labels: FIELDS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    read.end().await?;
    form_page(shell, edit, provider, Some(contract))
}
