//! Tiers and their prices.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::price::{self, NewPrice, Price, PriceFilter, Unit};
use crate::catalog::provider::ProviderFilter;
use crate::catalog::tier::{self, BillingMode, Form, Tier, TierFacts};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::TierId;
use crate::locale::Locale;
use crate::table::Format;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

use super::{EDIT, HISTORY, last_editor};

/// The pages of tiers.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/tiers.csv", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Csv).await)
        .get("/tiers.xlsx", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Xlsx).await)
        .get("/tiers.json", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Json).await)
        .get("/prices.csv", Needs::SignIn, async |s, h, q| prices_file(s, h, q, Format::Csv).await)
        .get("/prices.xlsx", Needs::SignIn, async |s, h, q| prices_file(s, h, q, Format::Xlsx).await)
        .get("/prices.json", Needs::SignIn, async |s, h, q| prices_file(s, h, q, Format::Json).await)
        .get("/tiers/{id}", Needs::SignIn, show_tier)
        .get("/tiers/{id}/edit", EDIT, edit_tier)
        .post("/tiers/{id}", EDIT, change_tier)
        .post("/tiers/{id}/prices", EDIT, add_price)
}

async fn tiers_file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<ProviderFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &tier::TABLE, format, |read| tier::batches(read, filter)).await
}

async fn prices_file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<PriceFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &price::TABLE, format, |read| price::batches(read, filter)).await
}

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
    let mut records = vec![("tier", id)];
    records.extend(prices.iter().map(|price| ("price", price.id.0)));
    let entries = audit::of_records(&mut read, &records, HISTORY).await?;
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
        let mut tx = app.write(&shell.because(&fields)?).await?;
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
    ("expansion_terms", "catalog-expansion-terms"),
    ("expansion_procedure", "catalog-expansion-procedure"),
    ("ready_days", "catalog-ready-days"),
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
        .with("expansion_terms", &tier.expansion_terms)
        .with("expansion_procedure", &tier.expansion_procedure)
        .with("ready_days", number(tier.ready_days))
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
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            tier::change(&mut tx, TierId(id), fields.version()?, &facts).await?;
        }
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
