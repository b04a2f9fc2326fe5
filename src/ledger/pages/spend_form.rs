//! Spend that a person records, corrects and voids.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::actor::{Actor, Permission};
use crate::app::App;
use crate::catalog::provider;
use crate::dates::Zone;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::SpendId;
use crate::ledger::charge::{Category, CostKind};
use crate::ledger::spend::{self, NewSpend, Spend};
use crate::locale::Message;
use crate::money;
use crate::tx::Tx;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::Routes;
use crate::web::shell::Shell;

/// Recording, correcting, voiding.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/ledger/new", super::RECORD, new)
        .post("/ledger", super::RECORD, record)
        .get("/ledger/{id}/correct", super::OPERATE, correct_form)
        .post("/ledger/{id}/correct", super::OPERATE, correct)
        .get("/ledger/{id}/void", super::OPERATE, void_form)
        .post("/ledger/{id}/void", super::OPERATE, void)
}

#[derive(Template)]
#[template(path = "ledger/spend_form.html")]
struct SpendForm {
    shell: Shell,
    form: FormState,
    environments: Vec<(String, String)>,
    providers: Vec<(String, String)>,
    /// What is corrected; nothing where an entry is recorded.
    corrects: Option<Spend>,
}

impl SpendForm {
    fn title(&self) -> String {
        self.shell.text(if self.corrects.is_some() { "ledger-correct" } else { "ledger-record" })
    }

    fn action(&self) -> String {
        match &self.corrects {
            Some(spend) => self.shell.href(&format!("/ledger/{}/correct", spend.id)),
            None => self.shell.href("/ledger"),
        }
    }

    fn corrected(&self) -> String {
        self.corrects.as_ref().map(|spend| super::spend::title(&self.shell, spend)).unwrap_or_default()
    }

    fn categories(&self) -> Vec<(&'static str, String)> {
        Category::ALL.iter().map(|it| (it.as_str(), self.shell.say(&it.words()))).collect()
    }

    fn cost_kinds(&self) -> Vec<(&'static str, String)> {
        CostKind::ALL.iter().map(|it| (it.as_str(), self.shell.say(&it.words()))).collect()
    }

    fn tax_choices(&self) -> Vec<(&'static str, String)> {
        vec![("yes", self.shell.text("ledger-tax-included")), ("no", self.shell.text("ledger-tax-apart"))]
    }
}

/// The form: to be filled in, or what was typed with its errors.
async fn form(app: &App, shell: Shell, form: FormState, corrects: Option<Spend>) -> Result<SpendForm> {
    let mut read = app.read(&shell.actor).await?;
    let environments = super::environments(&mut read, &shell.actor).await?;
    let providers = provider::list(&mut read).await?;
    read.end().await?;
    let providers = providers.iter().map(|it| (it.id.to_string(), it.name.to_string())).collect();
    Ok(SpendForm { shell, form, environments, providers, corrects })
}

/// What a link to the form may fill in.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Preset {
    environment: String,
}

async fn new(State(app): State<App>, shell: Shell, Query(preset): Query<Preset>) -> Result<Response> {
    let read = app.read(&shell.actor).await?;
    let fields = Fields::new()
        .with("environment", preset.environment)
        .with("category", Category::Usage.as_str())
        .with("charged_on", read.today())
        .with("currency", &read.organisation().currency);
    read.end().await?;
    page(&form(&app, shell, FormState::new(fields), None).await?)
}

/// An entry as its form shows it.
fn fields_of(spend: &Spend, zone: Zone) -> Fields {
    let word = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let amount = |amount: Option<rust_decimal::Decimal>| amount.map(money::plain).unwrap_or_default();
    Fields::new()
        .with("environment", spend.environment_id.map(|id| id.to_string()).unwrap_or_default())
        .with("provider", spend.provider_id)
        .with("category", spend.category.as_str())
        .with("cost_kind", word(spend.cost_kind.map(CostKind::as_str)))
        .with("charged_on", spend.charged_on)
        .with("charged_until", spend.last_day(zone))
        .with("billed", amount(spend.billed))
        .with("effective", amount(spend.effective))
        .with("contracted", amount(spend.contracted))
        .with("list", amount(spend.list))
        .with("currency", &spend.currency)
        .with("quantity", amount(spend.quantity))
        .with("unit", &spend.unit)
        .with("service", &spend.service)
        .with("tax_included", spend.tax_included.map_or("", |it| if it { "yes" } else { "no" }))
        .with("tax_rate", amount(spend.tax_rate))
        .with("description", &spend.description)
}

/// The entry, for who may take it back.
async fn open(app: &App, shell: &Shell, id: SpendId) -> Result<(Spend, Zone)> {
    let mut read = app.read(&shell.actor).await?;
    let spend = spend::get(read.connection(), id).await?;
    let zone = read.organisation().zone;
    read.end().await?;
    match spend.project_id {
        Some(project) => shell.actor.allow(Permission::Operate, Some(project))?,
        None => shell.actor.allow(Permission::Unplaced, None)?,
    }
    if spend.is_open() {
        Ok((spend, zone))
    } else if spend.reverses_id.is_some() {
        Err(Error::Conflict(Message::new("error-spend-is-reversal")))
    } else {
        Err(Error::Conflict(Message::new("error-spend-reversed")))
    }
}

/// Says that an entry cannot be taken back any more, and where to go on.
async fn closed(app: &App, shell: Shell, error: Error, id: i64) -> Result<Response> {
    super::closed(app, shell, error, "spend", "/ledger", id).await
}

/// Sends the form once: where the same was sent before, the entry of then is shown.
async fn once<F>(app: &App, actor: &Actor, fields: &Fields, act: F) -> Result<String>
where
    F: AsyncFnOnce(&mut Tx) -> Result<Spend>,
{
    let submit_id = fields.submit_id()?;
    let mut tx = app.write(actor).await?;
    if let Some(location) = tx.sent_before(submit_id).await? {
        return Ok(location);
    }
    let spend = act(&mut tx).await?;
    let location = format!("/ledger/{}", spend.id);
    tx.sent(submit_id, &location).await?;
    tx.commit().await?;
    Ok(location)
}

async fn record(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let recorded = async {
        let zone = zone(&app, &shell).await?;
        let new = NewSpend::parse(&|name| fields.get(name), zone)?;
        once(&app, &shell.because(&fields)?, &fields, async |tx| spend::record(tx, new).await).await
    };
    match recorded.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => again(&app, shell, fields, errors, None).await,
        Err(error) => Err(error),
    }
}

async fn zone(app: &App, shell: &Shell) -> Result<Zone> {
    let read = app.read(&shell.actor).await?;
    let zone = read.organisation().zone;
    read.end().await?;
    Ok(zone)
}

async fn again(
    app: &App,
    shell: Shell,
    fields: Fields,
    errors: FieldErrors,
    corrects: Option<Spend>,
) -> Result<Response> {
    let template = form(app, shell, FormState::again(fields, errors), corrects).await?;
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
}

async fn correct_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let (spend, zone) = match open(&app, &shell, SpendId(id)).await {
        Ok(found) => found,
        Err(error) => return closed(&app, shell, error, id).await,
    };
    let fields = FormState::new(fields_of(&spend, zone));
    page(&form(&app, shell, fields, Some(spend)).await?)
}

async fn correct(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let corrected = async {
        let zone = zone(&app, &shell).await?;
        let new = NewSpend::parse(&|name| fields.get(name), zone);
        let (new, reason) = super::both(new, fields.needed_reason())?;
        let actor = shell.actor.clone().because(reason.as_str());
        once(&app, &actor, &fields, async |tx| spend::correct(tx, SpendId(id), new).await).await
    };
    match corrected.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => {
            let spend = match open(&app, &shell, SpendId(id)).await {
                Ok((spend, _)) => spend,
                Err(error) => return closed(&app, shell, error, id).await,
            };
            again(&app, shell, fields, errors, Some(spend)).await
        }
        Err(error) => closed(&app, shell, error, id).await,
    }
}

#[derive(Template)]
#[template(path = "ledger/spend_void.html")]
struct VoidForm {
    shell: Shell,
    form: FormState,
    spend: Spend,
}

impl VoidForm {
    fn title(&self) -> String {
        super::spend::title(&self.shell, &self.spend)
    }
}

async fn void_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let spend = match open(&app, &shell, SpendId(id)).await {
        Ok((spend, _)) => spend,
        Err(error) => return closed(&app, shell, error, id).await,
    };
    page(&VoidForm { shell, form: FormState::new(Fields::new()), spend })
}

async fn void(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let voided = async {
        let actor = shell.actor.clone().because(fields.needed_reason()?.as_str());
        once(&app, &actor, &fields, async |tx| spend::void(tx, SpendId(id)).await).await
    };
    match voided.await {
        Ok(_) => Ok(see(&shell.base, &format!("/ledger/{id}"))),
        Err(Error::Invalid(errors)) => {
            let spend = match open(&app, &shell, SpendId(id)).await {
                Ok((spend, _)) => spend,
                Err(error) => return closed(&app, shell, error, id).await,
            };
            let form = FormState::again(fields, errors);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &VoidForm { shell, form, spend })
        }
        Err(error) => closed(&app, shell, error, id).await,
    }
}
