//! Providers: the list, one provider with all that belongs to it, its form.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::contact::{self, Contact};
use crate::catalog::contract::{self, Contract};
use crate::catalog::incident::{self, Incident, IncidentFilter};
use crate::catalog::provider::{self, Provider, ProviderFacts, ProviderFilter};
use crate::catalog::tier::{self, Tier, TierFacts};
use crate::document::Holder;
use crate::error::Result;
use crate::ids::ProviderId;
use crate::table::Format;
use crate::web::documents::Section;
use crate::web::edit::{self, Edit, Present};
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

use super::{EDIT, HISTORY, voided, yes};

/// The pages of providers.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/providers", Needs::SignIn, list_providers)
        .get("/providers.csv", Needs::SignIn, async |s, h| providers_file(s, h, Format::Csv).await)
        .get("/providers.xlsx", Needs::SignIn, async |s, h| providers_file(s, h, Format::Xlsx).await)
        .get("/providers.json", Needs::SignIn, async |s, h| providers_file(s, h, Format::Json).await)
        .post("/providers", EDIT, add_provider)
        .get("/providers/{id}", Needs::SignIn, show_provider)
        .get("/providers/{id}/edit", EDIT, edit_provider)
        .post("/providers/{id}", EDIT, change_provider)
        .post("/providers/{id}/tiers", EDIT, add_tier)
}

#[derive(Template)]
#[template(path = "catalog/provider_list.html")]
struct ProviderList {
    shell: Shell,
    form: FormState,
    providers: Vec<Provider>,
    tiers: Vec<Tier>,
}

impl ProviderList {
    fn tiers_of(&self, provider: &Provider) -> usize {
        self.tiers.iter().filter(|tier| tier.provider_id == provider.id).count()
    }
}

async fn provider_list(app: &App, shell: Shell, form: FormState) -> Result<ProviderList> {
    let mut read = app.read(&shell.actor).await?;
    let (providers, tiers) = (provider::list(&mut read).await?, tier::list(&mut read).await?);
    read.end().await?;
    Ok(ProviderList { shell, form, providers, tiers })
}

async fn list_providers(State(app): State<App>, shell: Shell) -> Result<Response> {
    page(&provider_list(&app, shell, FormState::new(Fields::new())).await?)
}

async fn providers_file(State(app): State<App>, shell: Shell, format: Format) -> Result<Response> {
    export::file(&app, &shell, &provider::TABLE, format, provider::batches).await
}

async fn add_provider(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = ProviderFacts::parse(&|name| fields.get(name))?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            Ok(address(provider::add(tx, facts.name).await?.id))
        })
        .await
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let edit = Edit::refused(fields, error)?;
            page_with(edit.status, &provider_list(&app, shell, edit.form).await?)
        }
    }
}

#[derive(Template)]
#[template(path = "catalog/provider_show.html")]
struct ProviderPage {
    shell: Shell,
    form: FormState,
    provider: Provider,
    contacts: Vec<Contact>,
    contracts: Vec<Contract>,
    incidents: Vec<Incident>,
    tiers: Vec<Tier>,
    documents: Section,
    entries: Vec<Entry>,
}

impl ProviderPage {
    /// Who voided an incident, when and why; nothing where it counts.
    fn voided(&self, incident: &Incident) -> Option<String> {
        voided(&self.shell, incident.voided_at, incident.voided_by.as_deref(), incident.void_reason.as_ref())
    }
}

fn address(id: ProviderId) -> String {
    format!("/providers/{id}")
}

async fn provider_page(app: &App, shell: Shell, id: ProviderId, form: FormState) -> Result<ProviderPage> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), id).await?;
    let ours = ProviderFilter { provider: Some(id.0) };
    let people = contact::matching(&mut read, &ours).await?;
    let contracts = contract::matching(&mut read, &ours).await?;
    let all = IncidentFilter { provider: Some(id.0), voided: Some("yes".to_owned()) };
    let incidents = incident::matching(&mut read, &all).await?;
    let tiers = tier::matching(&mut read, &ours).await?;
    let documents = Section::of(&mut read, &shell, Holder::Provider(provider.id), None).await?;
    let mut records = vec![("provider", id.0)];
    records.extend(people.iter().map(|contact| ("provider_contact", contact.id.0)));
    records.extend(contracts.iter().map(|contract| ("contract", contract.id.0)));
    records.extend(incidents.iter().map(|incident| ("provider_incident", incident.id.0)));
    records.extend(documents.records());
    let entries = audit::of_records(&mut read, &records, HISTORY).await?;
    read.end().await?;
    Ok(ProviderPage { shell, form, provider, contacts: people, contracts, incidents, tiers, documents, entries })
}

async fn show_provider(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>) -> Result<Response> {
    page(&provider_page(&app, shell, id, FormState::new(Fields::new())).await?)
}

/// The fields of the form, with their labels.
const PROVIDER_FIELDS: &[(&str, &str)] = &[
    ("name", "catalog-name"),
    ("website", "catalog-website"),
    ("portal", "catalog-portal"),
    ("sla", "catalog-sla"),
    ("support_hours", "catalog-support-hours"),
    ("support_channel", "catalog-support-channel"),
    ("second_hand", "catalog-second-hand"),
    ("note", "catalog-note"),
];

fn provider_fields(provider: &Provider) -> Fields {
    Fields::new()
        .with("version", provider.version)
        .with("name", &provider.name)
        .with("website", provider.website.as_deref().unwrap_or_default())
        .with("portal", provider.portal.as_deref().unwrap_or_default())
        .with("sla", &provider.sla)
        .with("support_hours", &provider.support_hours)
        .with("support_channel", &provider.support_channel)
        .with("second_hand", yes(provider.second_hand))
        .with("note", &provider.note)
}

#[derive(Template)]
#[template(path = "catalog/provider_form.html")]
struct ProviderForm {
    shell: Shell,
    edit: Edit,
    provider: Provider,
}

impl ProviderForm {
    fn yes_no(&self) -> Vec<(&'static str, String)> {
        super::yes_no(&self.shell)
    }
}

fn form_page(shell: Shell, edit: Edit, provider: Provider) -> Result<Response> {
    page_with(edit.status, &ProviderForm { shell, edit, provider })
}

async fn edit_provider(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), id).await?;
    read.end().await?;
    form_page(shell, Edit::fresh(provider_fields(&provider)), provider)
}

async fn change_provider(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<ProviderId>,
    fields: Fields,
) -> Result<Response> {
    let changed = async {
        let facts = ProviderFacts::parse(&|name| fields.get(name))?;
        let version = fields.version()?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            provider::change(tx, id, version, &facts).await?;
            Ok(address(id))
        })
        .await
    };
    let error = match changed.await {
        Ok(location) => return Ok(see(&shell.base, &location)),
        Err(error) => error,
    };
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), id).await?;
    let fields_now = provider_fields(&provider);
    let present = Present { kind: "provider", id: id.0, fields: fields_now, labels: PROVIDER_FIELDS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    read.end().await?;
    form_page(shell, edit, provider)
}

async fn add_tier(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<ProviderId>,
    fields: Fields,
) -> Result<Response> {
    let added = async {
        let facts = TierFacts::parse(&|name| fields.get(name))?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            let provider = provider::get(tx.connection(), id).await?;
            Ok(format!("/tiers/{}", tier::add(tx, provider.id, facts.name).await?.id))
        })
        .await
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let edit = Edit::refused(fields, error)?;
            page_with(edit.status, &provider_page(&app, shell, id, edit.form).await?)
        }
    }
}
