//! Renewing: the form shows the new last day and the cost before anything is saved.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::NaiveDate;

use super::fields::choices;
use crate::actor::Permission;
use crate::app::App;
use crate::catalog::{price, tier};
use crate::dates::{self, Renewal};
use crate::environments::cost::Rent;
use crate::environments::environment::{self, Environment, Status};
use crate::environments::renewal::{self, NewRenewal, Preview, Until};
use crate::environments::scale;
use crate::environments::term::{self, NewTerm, Term};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::EnvironmentId;
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::tx::Read;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query;
use crate::web::reminders_ahead;
use crate::web::shell::Shell;

#[derive(Template)]
#[template(path = "environments/renewal_form.html")]
struct RenewalForm {
    shell: Shell,
    form: FormState,
    environment: Environment,
    last: Term,
    preview: Option<Preview>,
    /// The reminders that it brings, a sentence for each date.
    reminders: Vec<String>,
    today: NaiveDate,
}

impl RenewalForm {
    fn renewals(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, &Renewal::ALL, Renewal::as_str, Renewal::words)
    }

    /// What it comes to, in one sentence.
    fn preview_words(&self, preview: &Preview) -> String {
        let date = dates::words(preview.ends_on, self.today);
        let message = match &preview.cost {
            Some(cost) => Message::new("preview-renew")
                .with("amount", format!("{} {}", money::display(cost.amount.clone(), &cost.currency), cost.currency)),
            None => Message::new("preview-renew-unknown"),
        };
        self.shell.say(&message.with("date", date))
    }
}

/// In the form's place, where there is nothing to renew: why, and what leads on.
#[derive(Template)]
#[template(path = "environments/renewal_refused.html")]
struct Refused {
    shell: Shell,
    environment: Environment,
    last: Term,
    why: Message,
}

impl Refused {
    fn is_active(&self) -> bool {
        self.environment.status == Status::Active
    }

    fn is_ended(&self) -> bool {
        self.environment.status == Status::Ended
    }
}

/// The form; what the address says comes before what the last term says, so that a preview can be asked for.
pub(super) async fn new(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let (environment, last) = subject(&mut read, &shell, EnvironmentId(id)).await?;
    if let Some(why) = renewal::obstacle(environment.status, &last) {
        return page_with(StatusCode::CONFLICT, &Refused { shell, environment, last, why });
    }
    let first = first_values(&last, environment.anchor());
    // A field that was emptied says so: a preview without a notice is one without a notice.
    let asked = query::pairs(&shell.query);
    let is_fresh = asked.is_empty();
    let fields = asked.into_iter().fold(first, |fields, (name, value)| fields.with(&name, value));
    // Of a fresh form nothing can be said yet: without a rhythm the day must be typed first.
    let errors = if is_fresh {
        FieldErrors::new()
    } else {
        NewRenewal::check(&|name| fields.get(name), &last, environment.anchor())
    };
    page(&form(&mut read, shell, environment, last, fields, errors).await?)
}

/// The environment and its last term.
async fn subject(read: &mut Read, shell: &Shell, id: EnvironmentId) -> Result<(Environment, Term)> {
    let environment = environment::get(read.connection(), id).await?;
    shell.actor.allow(Permission::Operate, Some(environment.project_id))?;
    let last = term::last(read.connection(), id).await?;
    Ok((environment, last))
}

fn first_values(last: &Term, anchor: u32) -> Fields {
    let again = NewRenewal::same_again(last, anchor);
    let cycles = if let Until::Cycles(cycles) = again.until { cycles.to_string() } else { String::new() };
    Fields::new()
        .with("follows", last.id)
        .with("cycles", if last.cycle.months().is_some() { cycles } else { String::new() })
        .with("renewal", last.renewal)
        .with("notice", last.notice().map(|notice| notice.to_string()).unwrap_or_default())
        .with("price", last.price.map(money::plain).unwrap_or_default())
        .with("currency", last.currency.as_ref().map_or("", Currency::as_str))
}

/// The form with what is wrong, and with its preview where the values make a term.
async fn form(
    read: &mut Read,
    shell: Shell,
    environment: Environment,
    last: Term,
    fields: Fields,
    errors: FieldErrors,
) -> Result<RenewalForm> {
    let today = read.today();
    let (preview, reminders) = match preview(read, &environment, &last, &fields).await {
        Err(Error::Invalid(_)) => (None, Vec::new()),
        Ok((term, preview)) => (preview, reminders_ahead::of_term(read, &shell, &environment, &term).await?),
        Err(error) => return Err(error),
    };
    Ok(RenewalForm { shell, form: FormState::again(fields, errors), environment, last, preview, reminders, today })
}

/// The term that the fields make, and what it comes to.
async fn preview(
    read: &mut Read,
    environment: &Environment,
    last: &Term,
    fields: &Fields,
) -> Result<(NewTerm, Option<Preview>)> {
    let new = NewRenewal::parse(&|name| fields.get(name))?;
    let quantity = scale::at_end(read.connection(), last).await?;
    let term = new.term(last, environment.anchor(), quantity)?;
    let prices = price::of_tier(read.connection(), environment.tier_id).await?;
    let rent = Rent {
        cycle: term.cycle,
        quantity: term.quantity,
        price: term.price,
        currency: term.currency.as_ref(),
        billing_mode: tier::get(read.connection(), environment.tier_id).await?.billing_mode,
        house: &read.organisation().currency,
    };
    let preview = renewal::preview(&term, environment.anchor(), &rent, &prices);
    Ok((term, preview))
}

pub(super) async fn create(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<i64>,
    fields: Fields,
) -> Result<Response> {
    let error = match created(&app, &shell, EnvironmentId(id), &fields).await {
        Ok(()) => return Ok(see(&shell.base, &format!("/environments/{id}"))),
        Err(error @ (Error::Invalid(_) | Error::Conflict(_))) => error,
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let (environment, last) = subject(&mut read, &shell, EnvironmentId(id)).await?;
    match (renewal::obstacle(environment.status, &last), error) {
        (Some(why), Error::Invalid(_)) => page_with(StatusCode::CONFLICT, &Refused { shell, environment, last, why }),
        (Some(why), Error::Conflict(message)) if message == why => {
            page_with(StatusCode::CONFLICT, &Refused { shell, environment, last, why })
        }
        (None, Error::Invalid(errors)) => {
            let all = NewRenewal::check(&|name| fields.get(name), &last, environment.anchor());
            let errors = if all.is_empty() { errors } else { all };
            let template = form(&mut read, shell, environment, last, fields, errors).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        (_, error) => Err(error),
    }
}

async fn created(app: &App, shell: &Shell, id: EnvironmentId, fields: &Fields) -> Result<()> {
    let new = NewRenewal::parse(&|name| fields.get(name))?;
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(fields.submit_id()?).await?.is_some() {
        return Ok(());
    }
    renewal::renew(&mut tx, id, &new).await?;
    tx.commit().await
}
