//! One environment: its state and next dates, what it is, its terms, how its quantity changed, its documents, its history.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::NaiveDate;

use super::term_bar::TermBar;
use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::{price, tier};
use crate::dates;
use crate::deadline::{self, Deadline};
use crate::document::Holder;
use crate::environments::cost::{Cost, Rent};
use crate::environments::environment::{self, Environment, Status};
use crate::environments::renewal;
use crate::environments::scale::{self, ScaleChange};
use crate::environments::term::{self, Term, cycle_days};
use crate::environments::watcher::{self, Watcher};
use crate::error::Result;
use crate::ids::EnvironmentId;
use crate::money;
use crate::tx::Read;
use crate::web::documents::Section;
use crate::web::page::page;
use crate::web::shell::Shell;
use crate::web::unit_costs::{self, UnitCostLine};

/// How many entries of the history the page shows.
const HISTORY: i64 = 50;

#[derive(Template)]
#[template(path = "environments/environment_show.html")]
struct EnvironmentPage {
    shell: Shell,
    today: NaiveDate,
    environment: Environment,
    watchers: Vec<Watcher>,
    terms: Vec<Term>,
    deadlines: Vec<Deadline>,
    changes: Vec<ScaleChange>,
    expected: Option<Cost>,
    has_rows: bool,
    documents: Section,
    unit_costs: Vec<UnitCostLine>,
    entries: Vec<Entry>,
}

pub(super) async fn show(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let id = EnvironmentId(id);
    let mut read = app.read(&shell.actor).await?;
    let environment = environment::get(read.connection(), id).await?;
    let terms = term::of_environment(read.connection(), id).await?;
    let deadlines = deadline::of_environment(read.connection(), id).await?;
    let watchers = watcher::of_environment(read.connection(), id).await?;
    let project = Some(environment.project_id);
    let documents = Section::of(&mut read, &shell, Holder::Environment(id), project).await?;
    let template = EnvironmentPage {
        today: read.today(),
        changes: scale::of_environment(read.connection(), id).await?,
        expected: expected(&mut read, &environment, &terms).await?,
        has_rows: environment::has_ledger_rows(read.connection(), id).await?,
        entries: history(&mut read, &environment, &terms, &deadlines, &watchers, &documents).await?,
        unit_costs: unit_costs::of_environment(&mut read, &shell, &environment).await?,
        shell,
        environment,
        watchers,
        terms,
        deadlines,
        documents,
    };
    read.end().await?;
    page(&template)
}

/// The history of the environment, its terms, deadlines, watchers and documents together.
async fn history(
    read: &mut Read,
    environment: &Environment,
    terms: &[Term],
    deadlines: &[Deadline],
    watchers: &[Watcher],
    documents: &Section,
) -> Result<Vec<Entry>> {
    let mut records = vec![("environment", environment.id.0)];
    records.extend(terms.iter().map(|term| ("term", term.id.0)));
    records.extend(deadlines.iter().map(|deadline| ("deadline", deadline.id.0)));
    records.extend(watchers.iter().map(|watcher| ("environment_watcher", watcher.id)));
    records.extend(documents.records());
    audit::of_records(read, &records, HISTORY).await
}

/// The expected cost of the present cycle.
async fn expected(read: &mut Read, environment: &Environment, terms: &[Term]) -> Result<Option<Cost>> {
    let (today, house) = (read.today(), read.organisation().currency.clone());
    let Some(term) = term::present(terms, today) else { return Ok(None) };
    // The price list counts only where the term says no price of its own.
    let (prices, billing_mode) = if term.price.is_some() && term.currency.is_some() {
        (Vec::new(), None)
    } else {
        let mode = tier::get(read.connection(), environment.tier_id).await?.billing_mode;
        (price::of_tier(read.connection(), environment.tier_id).await?, mode)
    };
    let rent = Rent {
        cycle: term.cycle,
        quantity: environment.quantity,
        price: term.price,
        currency: term.currency.as_ref(),
        billing_mode,
        house: &house,
    };
    let cycles = cycle_days(term.starts_on, term.ends_on, term.cycle, environment.anchor(), today);
    let first_day = cycles.into_iter().rev().find(|day| *day <= today).unwrap_or(term.starts_on);
    Ok(rent.of_cycle(&prices, first_day))
}

impl EnvironmentPage {
    fn is_active(&self) -> bool {
        self.environment.status == Status::Active
    }

    fn may_renew(&self) -> bool {
        self.terms.last().is_some_and(|last| renewal::obstacle(self.environment.status, last).is_none())
    }

    fn is_voided(&self) -> bool {
        self.environment.status == Status::Voided
    }

    fn is_ended(&self) -> bool {
        self.environment.status == Status::Ended
    }

    fn may_operate(&self) -> bool {
        self.shell.may_operate(&self.environment.project_id)
    }

    /// The dates that are still to come or were missed, soonest first.
    fn open_deadlines(&self) -> Vec<&Deadline> {
        self.deadlines.iter().filter(|deadline| deadline.closed.is_none()).collect()
    }

    fn days_left(&self, deadline: &Deadline) -> i64 {
        dates::days_left(self.today, deadline.due_on)
    }

    fn is_present(&self, term: &Term) -> bool {
        term.contains(self.today)
    }

    fn price(&self, term: &Term) -> String {
        match (term.price, &term.currency) {
            (Some(price), Some(currency)) => format!("{} {currency}", money::display(price, currency)),
            _ => self.shell.text("env-unknown"),
        }
    }

    fn expected(&self) -> String {
        match &self.expected {
            Some(cost) => {
                let amount = format!("{} {}", money::display(cost.amount.clone(), &cost.currency), cost.currency);
                let key = if cost.agreed { "env-expected-agreed" } else { "env-expected-listed" };
                self.shell.with(key, "amount", amount)
            }
            None => self.shell.text("env-unknown"),
        }
    }

    fn bar(&self) -> Option<TermBar> {
        TermBar::of(&self.terms, self.today)
    }

    fn watchers(&self) -> String {
        self.watchers.iter().map(|watcher| watcher.person.as_str()).collect::<Vec<_>>().join(", ")
    }
}
