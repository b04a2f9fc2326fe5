//! Prices as a file, and what is done about one that was typed wrong.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::catalog::price::{self, NewPrice, Price, PriceFilter, Unit};
use crate::catalog::tier::BillingMode;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::PriceId;
use crate::locale::Message;
use crate::money;
use crate::table::Format;
use crate::web::edit::{self, Edit};
use crate::web::export;
use crate::web::forms::Fields;
use crate::web::page::{page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

use super::{EDIT, VoidForm};

/// The pages of prices.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/prices.csv", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Csv).await)
        .get("/prices.xlsx", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Xlsx).await)
        .get("/prices.json", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Json).await)
        .get("/prices/{id}/correct", EDIT, correct_form)
        .post("/prices/{id}/correct", EDIT, correct)
        .get("/prices/{id}/void", EDIT, void_form)
        .post("/prices/{id}/void", EDIT, void)
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<PriceFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &price::TABLE, format, |read| price::batches(read, filter)).await
}

/// The plans, for a choice.
pub(super) fn billing_modes(shell: &Shell) -> Vec<(&'static str, String)> {
    BillingMode::ALL.iter().map(|mode| (mode.as_str(), shell.say(&mode.words()))).collect()
}

/// The units of a price, for a choice.
pub(super) fn units(shell: &Shell) -> Vec<(&'static str, String)> {
    Unit::ALL.iter().map(|unit| (unit.as_str(), shell.say(&unit.words()))).collect()
}

/// The page of its tier, which shows the whole history of its prices.
fn address(price: &Price) -> String {
    format!("/tiers/{}", price.tier_id)
}

/// A price that still counts.
async fn open_price(app: &App, shell: &Shell, id: PriceId) -> Result<Price> {
    let mut read = app.read(&shell.actor).await?;
    let price = price::get(read.connection(), id).await?;
    read.end().await?;
    if price.is_open() { Ok(price) } else { Err(Error::Conflict(Message::new("error-price-voided"))) }
}

// ---- correcting -----------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "catalog/price_form.html")]
struct PriceForm {
    shell: Shell,
    edit: Edit,
    price: Price,
}

impl PriceForm {
    fn billing_modes(&self) -> Vec<(&'static str, String)> {
        billing_modes(&self.shell)
    }

    fn units(&self) -> Vec<(&'static str, String)> {
        units(&self.shell)
    }
}

fn fields_of(price: &Price) -> Fields {
    Fields::new()
        .with("billing_mode", price.billing_mode)
        .with("unit", price.unit)
        .with("amount", money::plain(price.amount))
        .with("currency", &price.currency)
        .with("valid_from", price.valid_from)
}

fn form_page(shell: Shell, edit: Edit, price: Price) -> Result<Response> {
    page_with(edit.status, &PriceForm { shell, edit, price })
}

async fn correct_form(State(app): State<App>, shell: Shell, Path(id): Path<PriceId>) -> Result<Response> {
    let price = open_price(&app, &shell, id).await?;
    form_page(shell, Edit::fresh(fields_of(&price)), price)
}

async fn correct(State(app): State<App>, shell: Shell, Path(id): Path<PriceId>, fields: Fields) -> Result<Response> {
    let corrected = async {
        let (new, reason) = match (NewPrice::parse(&|name| fields.get(name)), fields.needed_reason()) {
            (Ok(new), Ok(reason)) => (new, reason),
            (new, reason) => {
                let wrong = [new.err(), reason.err()].into_iter().flatten().flat_map(|errors| errors.0);
                return Err(FieldErrors(wrong.collect()).into());
            }
        };
        let actor = shell.actor.clone().because(reason.as_str());
        edit::once(&app, &actor, &fields, async |tx| Ok(address(&price::correct(tx, id, &new, &reason).await?))).await
    };
    match corrected.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let edit = Edit::refused(fields, error)?;
            let price = open_price(&app, &shell, id).await?;
            form_page(shell, edit, price)
        }
    }
}

// ---- voiding --------------------------------------------------------------------------------------------------------

fn void_page(shell: Shell, edit: Edit, price: &Price) -> Result<Response> {
    let facts = vec![
        ("catalog-amount", format!("{} {}", price.shown(), price.currency)),
        ("catalog-unit", shell.say(&price.unit.words())),
        ("catalog-billing-mode", shell.say(&price.billing_mode.words())),
        ("catalog-valid-from", price.valid_from.to_string()),
    ];
    let status = edit.status;
    let template = VoidForm {
        title: shell.text("catalog-void-price"),
        lead: "catalog-void-price-lead",
        facts,
        action: shell.href(&format!("/prices/{}/void", price.id)),
        back: shell.href(&address(price)),
        above: format!("{} · {}", price.provider, price.tier),
        shell,
        edit,
    };
    page_with(status, &template)
}

async fn void_form(State(app): State<App>, shell: Shell, Path(id): Path<PriceId>) -> Result<Response> {
    let price = open_price(&app, &shell, id).await?;
    void_page(shell, Edit::fresh(Fields::new()), &price)
}

async fn void(State(app): State<App>, shell: Shell, Path(id): Path<PriceId>, fields: Fields) -> Result<Response> {
    let voided = async {
        let reason = fields.needed_reason()?;
        let actor = shell.actor.clone().because(reason.as_str());
        edit::once(&app, &actor, &fields, async |tx| Ok(address(&price::void(tx, id, &reason).await?))).await
    };
    match voided.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let edit = Edit::refused(fields, error)?;
            let price = open_price(&app, &shell, id).await?;
            void_page(shell, edit, &price)
        }
    }
}
