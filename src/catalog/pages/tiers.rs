//! Tiers and their prices.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::price::{self, NewPrice, Price};
use crate::catalog::provider::ProviderFilter;
use crate::catalog::tier::{self, BillingMode, Form, Tier, TierFacts};
use crate::error::Result;
use crate::ids::TierId;
use crate::table::Format;
use crate::web::edit::{self, Edit, Present};
use crate::web::export;
use crate::web::forms::Fields;
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

use super::prices::{billing_modes, units};
use super::{EDIT, HISTORY, voided};

/// The pages of tiers.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/tiers.csv", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Csv).await)
        .get("/tiers.xlsx", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Xlsx).await)
        .get("/tiers.json", Needs::SignIn, async |s, h, q| tiers_file(s, h, q, Format::Json).await)
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

#[derive(Template)]
#[template(path = "catalog/tier_show.html")]
struct TierPage {
    shell: Shell,
    edit: Edit,
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

    /// Who voided a price, when and why; nothing where it counts.
    fn voided(&self, price: &Price) -> Option<String> {
        voided(&self.shell, price.voided_at, price.voided_by.as_deref(), price.void_reason.as_ref())
    }

    fn billing_modes(&self) -> Vec<(&'static str, String)> {
        billing_modes(&self.shell)
    }

    fn units(&self) -> Vec<(&'static str, String)> {
        units(&self.shell)
    }
}

fn address(id: TierId) -> String {
    format!("/tiers/{id}")
}

async fn tier_page(app: &App, shell: Shell, id: TierId, edit: Option<Edit>) -> Result<TierPage> {
    let mut read = app.read(&shell.actor).await?;
    let tier = tier::get(read.connection(), id).await?;
    let prices = price::of_tier(read.connection(), tier.id).await?;
    let valid = price::valid(&prices, read.today()).iter().map(|price| price.id.0).collect();
    let mut records = vec![("tier", id.0)];
    records.extend(prices.iter().map(|price| ("price", price.id.0)));
    let entries = audit::of_records(&mut read, &records, HISTORY).await?;
    let first = || {
        let mode = tier.billing_mode.map_or("", BillingMode::as_str);
        let currency = &read.organisation().currency;
        Fields::new().with("billing_mode", mode).with("currency", currency).with("valid_from", read.today())
    };
    let edit = edit.unwrap_or_else(|| Edit::fresh(first()));
    read.end().await?;
    Ok(TierPage { shell, edit, tier, prices, valid, entries })
}

async fn show_tier(State(app): State<App>, shell: Shell, Path(id): Path<TierId>) -> Result<Response> {
    page(&tier_page(&app, shell, id, None).await?)
}

async fn add_price(State(app): State<App>, shell: Shell, Path(id): Path<TierId>, fields: Fields) -> Result<Response> {
    let added = async {
        let new = NewPrice::parse(&|name| fields.get(name))?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            price::add(tx, id, &new).await?;
            Ok(address(id))
        })
        .await
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let edit = Edit::refused(fields, error)?;
            page_with(edit.status, &tier_page(&app, shell, id, Some(edit)).await?)
        }
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
    edit: Edit,
    tier: Tier,
}

impl TierForm {
    fn forms(&self) -> Vec<(&'static str, String)> {
        Form::ALL.iter().map(|form| (form.as_str(), self.shell.say(&form.words()))).collect()
    }

    fn billing_modes(&self) -> Vec<(&'static str, String)> {
        billing_modes(&self.shell)
    }
}

fn form_page(shell: Shell, edit: Edit, tier: Tier) -> Result<Response> {
    page_with(edit.status, &TierForm { shell, edit, tier })
}

async fn edit_tier(State(app): State<App>, shell: Shell, Path(id): Path<TierId>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let tier = tier::get(read.connection(), id).await?;
    read.end().await?;
    form_page(shell, Edit::fresh(tier_fields(&tier)), tier)
}

async fn change_tier(State(app): State<App>, shell: Shell, Path(id): Path<TierId>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = TierFacts::parse(&|name| fields.get(name))?;
        let version = fields.version()?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            tier::change(tx, id, version, &facts).await?;
            Ok(address(id))
        })
        .await
    };
    let error = match changed.await {
        Ok(location) => return Ok(see(&shell.base, &location)),
        Err(error) => error,
    };
    let mut read = app.read(&shell.actor).await?;
    let tier = tier::get(read.connection(), id).await?;
    let present = Present { kind: "tier", id: id.0, fields: tier_fields(&tier), labels: TIER_FIELDS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    read.end().await?;
    form_page(shell, edit, tier)
}
