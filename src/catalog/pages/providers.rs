//! Providers: the list, one provider with all that belongs to it, its form.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::contact::{self, Contact};
use crate::catalog::contract::{self, Contract};
use crate::catalog::provider::{self, Provider, ProviderFacts, ProviderFilter};
use crate::catalog::tier::{self, Tier, TierFacts};
use crate::document::Holder;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::ProviderId;
use crate::table::Format;
use crate::web::documents::Section;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

use super::{EDIT, HISTORY, last_editor, yes};

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
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if let Some(location) = tx.sent_before(fields.submit_id()?).await? {
            return Ok(location);
        }
        let provider = provider::add(&mut tx, facts.name).await?;
        let location = format!("/providers/{}", provider.id);
        tx.sent(fields.submit_id()?, &location).await?;
        tx.commit().await?;
        Ok(location)
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => {
            let template = provider_list(&app, shell, FormState::again(fields, errors)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
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
    tiers: Vec<Tier>,
    documents: Section,
    entries: Vec<Entry>,
}

async fn provider_page(app: &App, shell: Shell, id: i64, form: FormState) -> Result<ProviderPage> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), ProviderId(id)).await?;
    let ours = ProviderFilter { provider: Some(id) };
    let people = contact::matching(&mut read, &ours).await?;
    let contracts = contract::matching(&mut read, &ours).await?;
    let tiers = tier::matching(&mut read, &ours).await?;
    let documents = Section::of(&mut read, &shell, Holder::Provider(provider.id)).await?;
    let mut records = vec![("provider", id)];
    records.extend(people.iter().map(|contact| ("provider_contact", contact.id.0)));
    records.extend(contracts.iter().map(|contract| ("contract", contract.id.0)));
    records.extend(documents.records());
    let entries = audit::of_records(&mut read, &records, HISTORY).await?;
    read.end().await?;
    Ok(ProviderPage { shell, form, provider, contacts: people, contracts, tiers, documents, entries })
}

async fn show_provider(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
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
    form: FormState,
    stale: Option<Stale>,
    provider: Provider,
}

impl ProviderForm {
    fn yes_no(&self) -> Vec<(&'static str, String)> {
        super::yes_no(&self.shell)
    }
}

async fn edit_provider(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), ProviderId(id)).await?;
    let form = FormState::new(provider_fields(&provider));
    page(&ProviderForm { shell, form, stale: None, provider })
}

async fn change_provider(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let changed = async {
        let facts = ProviderFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            provider::change(&mut tx, ProviderId(id), fields.version()?, &facts).await?;
        }
        tx.commit().await
    };
    let (status, errors) = match changed.await {
        Ok(()) => return Ok(see(&shell.base, &format!("/providers/{id}"))),
        Err(Error::Invalid(errors)) => (StatusCode::UNPROCESSABLE_ENTITY, errors),
        Err(Error::Conflict(_)) => (StatusCode::CONFLICT, FieldErrors::new()),
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), ProviderId(id)).await?;
    let who = last_editor(&mut read, "provider", id).await?;
    let stale = (status == StatusCode::CONFLICT)
        .then(|| Stale::new(who, &provider_fields(&provider), &fields, PROVIDER_FIELDS));
    let fields = if stale.is_some() { fields.with("version", provider.version) } else { fields };
    page_with(status, &ProviderForm { shell, form: FormState::again(fields, errors), stale, provider })
}

async fn add_tier(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = TierFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if let Some(location) = tx.sent_before(fields.submit_id()?).await? {
            return Ok(location);
        }
        let provider = provider::get(tx.connection(), ProviderId(id)).await?;
        let tier = tier::add(&mut tx, provider.id, facts.name).await?;
        let location = format!("/tiers/{}", tier.id);
        tx.sent(fields.submit_id()?, &location).await?;
        tx.commit().await?;
        Ok(location)
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => {
            let template = provider_page(&app, shell, id, FormState::again(fields, errors)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}
