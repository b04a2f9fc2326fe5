//! Pages of the catalogue: providers, tiers, prices.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::actor::Permission;
use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::price::{self, NewPrice, Price, Unit};
use crate::catalog::provider::{self, Provider, ProviderFacts};
use crate::catalog::tier::{self, BillingMode, Form, Tier, TierFacts, TierFilter};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{ProviderId, TierId};
use crate::locale::Locale;
use crate::table::Format;
use crate::tx::Read;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

const EDIT: Needs = Needs::May(Permission::Catalogue);

/// The pages of the catalogue.
pub fn routes() -> Routes {
    Routes::new()
        .get("/providers", Needs::SignIn, list_providers)
        .get("/providers.csv", Needs::SignIn, async |s, h| providers_file(s, h, Format::Csv).await)
        .get("/providers.xlsx", Needs::SignIn, async |s, h| providers_file(s, h, Format::Xlsx).await)
        .get("/providers.json", Needs::SignIn, async |s, h| providers_file(s, h, Format::Json).await)
        .get("/tiers.csv", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Csv).await)
        .get("/tiers.xlsx", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Xlsx).await)
        .get("/tiers.json", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Json).await)
        .post("/providers", EDIT, add_provider)
        .get("/providers/{id}", Needs::SignIn, show_provider)
        .get("/providers/{id}/edit", EDIT, edit_provider)
        .post("/providers/{id}", EDIT, change_provider)
        .post("/providers/{id}/tiers", EDIT, add_tier)
        .get("/tiers/{id}", Needs::SignIn, show_tier)
        .get("/tiers/{id}/edit", EDIT, edit_tier)
        .post("/tiers/{id}", EDIT, change_tier)
        .post("/tiers/{id}/prices", EDIT, add_price)
}

/// How many entries of a thing's history its page shows.
const HISTORY: i64 = 20;

async fn last_editor(read: &mut Read, kind: &str, id: i64) -> Result<String> {
    let entries = audit::of(read, kind, id, 1).await?;
    Ok(entries.into_iter().next().map(|entry| entry.actor_name).unwrap_or_default())
}

// ---- providers ------------------------------------------------------------------------------------------------------

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

async fn tiers_file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<TierFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &tier::TABLE, format, |read| tier::batches(read, filter)).await
}

async fn add_provider(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = ProviderFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.actor).await?;
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
    tiers: Vec<Tier>,
    entries: Vec<Entry>,
}

async fn provider_page(app: &App, shell: Shell, id: i64, form: FormState) -> Result<ProviderPage> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), ProviderId(id)).await?;
    let tiers = tier::matching(&mut read, &TierFilter { provider: Some(id) }).await?;
    let entries = audit::of(&mut read, "provider", id, HISTORY).await?;
    read.end().await?;
    Ok(ProviderPage { shell, form, provider, tiers, entries })
}

async fn show_provider(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&provider_page(&app, shell, id, FormState::new(Fields::new())).await?)
}

/// The fields of the form, with their labels.
const PROVIDER_FIELDS: &[(&str, &str)] =
    &[("name", "catalog-name"), ("website", "catalog-website"), ("note", "catalog-note")];

fn provider_fields(provider: &Provider) -> Fields {
    Fields::new()
        .with("version", provider.version)
        .with("name", &provider.name)
        .with("website", provider.website.as_deref().unwrap_or_default())
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
        let mut tx = app.write(&shell.actor).await?;
        provider::change(&mut tx, ProviderId(id), fields.version()?, &facts).await?;
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
        let mut tx = app.write(&shell.actor).await?;
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

// ---- tiers and prices -----------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "catalog/tier_show.html")]
struct TierPage {
    shell: Shell,
    form: FormState,
    tier: Tier,
    prices: Vec<Price>,
    /// The ids of the prices that hold today.
    valid: Vec<i64>,
    entries: Vec<Entry>,
}

impl TierPage {
    fn holds(&self, price: &Price) -> bool {
        self.valid.contains(&price.id.0)
    }

    fn billing_modes(&self) -> Vec<(&'static str, String)> {
        billing_modes(self.shell.locale)
    }

    fn units(&self) -> Vec<(&'static str, String)> {
        Unit::ALL.iter().map(|unit| (unit.as_str(), self.shell.say(&unit.words()))).collect()
    }
}

fn billing_modes(locale: Locale) -> Vec<(&'static str, String)> {
    BillingMode::ALL.iter().map(|mode| (mode.as_str(), locale.say(&mode.words()))).collect()
}

async fn tier_page(app: &App, shell: Shell, id: i64, form: Option<FormState>) -> Result<TierPage> {
    let mut read = app.read(&shell.actor).await?;
    let tier = tier::get(read.connection(), TierId(id)).await?;
    let prices = price::of_tier(read.connection(), tier.id).await?;
    let valid = price::valid(&prices, read.today()).iter().map(|price| price.id.0).collect();
    let entries = audit::of(&mut read, "tier", id, HISTORY).await?;
    let first = || {
        let mode = tier.billing_mode.map_or("", BillingMode::as_str);
        let currency = &read.organisation().currency;
        Fields::new().with("billing_mode", mode).with("currency", currency).with("valid_from", read.today())
    };
    let form = form.unwrap_or_else(|| FormState::new(first()));
    read.end().await?;
    Ok(TierPage { shell, form, tier, prices, valid, entries })
}

async fn show_tier(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&tier_page(&app, shell, id, None).await?)
}

async fn add_price(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let added = async {
        let new = NewPrice::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.actor).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_some() {
            return Ok(());
        }
        price::add(&mut tx, TierId(id), &new).await?;
        tx.commit().await
    };
    match added.await {
        Ok(()) => Ok(see(&shell.base, &format!("/tiers/{id}"))),
        Err(Error::Invalid(errors)) => {
            let template = tier_page(&app, shell, id, Some(FormState::again(fields, errors))).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

/// The fields of the form, with their labels.
const TIER_FIELDS: &[(&str, &str)] = &[
    ("name", "catalog-name"),
    ("form", "catalog-form"),
    ("billing_mode", "catalog-billing-mode"),
    ("gpu_model", "catalog-gpu-model"),
    ("gpu_count", "catalog-gpu-count"),
    ("gpu_memory_gb", "catalog-gpu-memory"),
    ("interconnect", "catalog-interconnect"),
    ("region", "catalog-region"),
    ("note", "catalog-note"),
];

fn tier_fields(tier: &Tier) -> Fields {
    let number = |number: Option<i32>| number.map(|number| number.to_string()).unwrap_or_default();
    Fields::new()
        .with("version", tier.version)
        .with("name", &tier.name)
        .with("form", tier.form.map_or("", Form::as_str))
        .with("billing_mode", tier.billing_mode.map_or("", BillingMode::as_str))
        .with("gpu_model", tier.gpu_model.as_deref().unwrap_or_default())
        .with("gpu_count", number(tier.gpu_count))
        .with("gpu_memory_gb", number(tier.gpu_memory_gb))
        .with("interconnect", tier.interconnect.as_deref().unwrap_or_default())
        .with("region", tier.region.as_deref().unwrap_or_default())
        .with("note", &tier.note)
}

#[derive(Template)]
#[template(path = "catalog/tier_form.html")]
struct TierForm {
    shell: Shell,
    form: FormState,
    stale: Option<Stale>,
    tier: Tier,
}

impl TierForm {
    fn forms(&self) -> Vec<(&'static str, String)> {
        Form::ALL.iter().map(|form| (form.as_str(), self.shell.say(&form.words()))).collect()
    }

    fn billing_modes(&self) -> Vec<(&'static str, String)> {
        billing_modes(self.shell.locale)
    }
}

async fn edit_tier(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let tier = tier::get(read.connection(), TierId(id)).await?;
    page(&TierForm { shell, form: FormState::new(tier_fields(&tier)), stale: None, tier })
}

async fn change_tier(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = TierFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.actor).await?;
        tier::change(&mut tx, TierId(id), fields.version()?, &facts).await?;
        tx.commit().await
    };
    let (status, errors) = match changed.await {
        Ok(()) => return Ok(see(&shell.base, &format!("/tiers/{id}"))),
        Err(Error::Invalid(errors)) => (StatusCode::UNPROCESSABLE_ENTITY, errors),
        Err(Error::Conflict(_)) => (StatusCode::CONFLICT, FieldErrors::new()),
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let tier = tier::get(read.connection(), TierId(id)).await?;
    let who = last_editor(&mut read, "tier", id).await?;
    let stale = (status == StatusCode::CONFLICT).then(|| Stale::new(who, &tier_fields(&tier), &fields, TIER_FIELDS));
    let fields = if stale.is_some() { fields.with("version", tier.version) } else { fields };
    page_with(status, &TierForm { shell, form: FormState::again(fields, errors), stale, tier })
}
