//! Spend: the list with its sums, and one entry.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::NaiveDate;
use rust_decimal::Decimal;

use crate::actor::Permission;
use crate::app::App;
use crate::audit::Entry;
use crate::error::{Error, Result};
use crate::ids::SpendId;
use crate::ledger::charge::{Category, Class, CostKind};
use crate::ledger::filter::{self, Choices, Chosen, SpendFilter};
use crate::ledger::spend::{self, Spend};
use crate::ledger::spend_list::{self, SpendRow};
use crate::ledger::total::{self, Totals, Unconverted};
use crate::locale::Message;
use crate::money;
use crate::saved_filter::List;
use crate::table::Format;
use crate::web::export;
use crate::web::page::page;
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::saved_filters::Kept;
use crate::web::shell::Shell;

/// The pages of spend that are read.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/ledger", Needs::SignIn, list)
        .get("/ledger.csv", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Csv).await)
        .get("/ledger.xlsx", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Xlsx).await)
        .get("/ledger.json", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Json).await)
        .get("/ledger/{id}", super::READ, show)
}

// ---- the list -------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/spend_list.html")]
struct SpendList {
    shell: Shell,
    filter: SpendFilter,
    choices: Choices,
    rows: Vec<SpendRow>,
    totals: Totals,
    next: Option<String>,
    kept: Kept,
}

impl SpendList {
    /// Whether a filter names this thing, by id or by name.
    fn names(chosen: Option<&String>, id: i64, name: &str) -> bool {
        chosen.is_some_and(|chosen| chosen.trim() == name || chosen.trim() == id.to_string())
    }

    fn is_project(&self, (id, name): &(i64, String)) -> bool {
        Self::names(self.filter.project.as_ref(), *id, name)
    }

    fn is_provider(&self, (id, name): &(i64, String)) -> bool {
        Self::names(self.filter.provider.as_ref(), *id, name)
    }

    fn categories(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.category.as_deref().and_then(|word| word.parse::<Category>().ok());
        let choice = |it: &Category| (it.as_str(), self.shell.say(&it.words()), chosen == Some(*it));
        Category::ALL.iter().map(choice).collect()
    }

    fn classes(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.class.as_deref().and_then(|word| word.parse::<Class>().ok());
        let choice = |it: &Class| (it.as_str(), self.shell.say(&it.words()), chosen == Some(*it));
        Class::ALL.iter().map(choice).collect()
    }

    fn cost_kinds(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = self.filter.cost_kind.as_deref().and_then(|word| word.parse::<CostKind>().ok());
        let choice = |it: &CostKind| (it.as_str(), self.shell.say(&it.words()), chosen == Some(*it));
        CostKind::ALL.iter().map(choice).collect()
    }

    /// Filters that come from a link and have no field of their own: key, value, words.
    fn linked(&self) -> Vec<(&'static str, String, String)> {
        let first = self.rows.first();
        let SpendFilter { environment, resource, import, rate, .. } = &self.filter;
        let environment = environment.as_ref().map(|id| {
            let name = first.and_then(|row| row.environment.clone()).unwrap_or_else(|| id.clone());
            ("environment", id.clone(), self.shell.with("ledger-only-environment", "name", name))
        });
        let resource = resource.as_ref().map(|id| {
            let name = first.and_then(|row| row.resource.clone()).unwrap_or_else(|| id.clone());
            ("resource", id.clone(), self.shell.with("ledger-only-resource", "name", name))
        });
        let import =
            import.as_ref().map(|id| ("import", id.clone(), self.shell.with("ledger-only-import", "name", id.clone())));
        let rate = rate.as_ref().map(|word| ("rate", word.clone(), self.shell.text("ledger-only-unrated")));
        [environment, resource, import, rate].into_iter().flatten().collect()
    }

    fn amount(&self, row: &SpendRow, amount: Option<&Decimal>) -> String {
        row.shown(amount).unwrap_or_else(|| self.shell.text("ledger-unknown"))
    }

    /// What is said of an entry besides its amount, with the entry that it leads to.
    fn marks(&self, row: &SpendRow) -> Vec<(Option<String>, String)> {
        let mut marks = Vec::new();
        if row.is_refund() {
            marks.push((None, self.shell.text("ledger-refund")));
        }
        if row.is_correction() {
            marks.push((None, self.shell.say(&Class::Correction.words())));
        }
        if let Some(id) = row.reverses_id.or(row.reversed_by) {
            let words = state(&self.shell, row.reverses_id, row.reversed_by);
            marks.push((Some(self.shell.href(&format!("/ledger/{id}"))), words));
        }
        marks
    }

    /// A sum, and how many entries do not say theirs.
    fn unknown(&self, count: i64) -> Option<String> {
        (count > 0).then(|| self.shell.with("ledger-and-unknown", "n", count))
    }

    fn unconverted(&self, it: &Unconverted) -> String {
        let message = Message::new("ledger-unconverted")
            .with("currency", &it.currency)
            .with("amount", it.shown())
            .with("lines", it.lines)
            .with("days", it.days)
            .with("first", it.first)
            .with("last", it.last);
        self.shell.say(&message)
    }

    /// The list of exactly these entries: what is filtered already, in this currency, without a rate.
    fn entries_of(&self, it: &Unconverted) -> String {
        let filter = self.shell.filter();
        let others =
            url::form_urlencoded::parse(filter.as_bytes()).filter(|(name, _)| !matches!(&**name, "currency" | "rate"));
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(others).append_pair("currency", it.currency.as_str()).append_pair("rate", "missing");
        self.shell.href(&format!("/ledger?{}", query.finish()))
    }
}

/// Whether an entry was taken back, or takes another one back.
fn state(shell: &Shell, reverses: Option<SpendId>, reversed_by: Option<SpendId>) -> String {
    match (reverses, reversed_by) {
        (Some(id), _) => shell.with("ledger-reverses", "id", id.to_string()),
        (None, Some(id)) => shell.with("ledger-reversed", "id", id.to_string()),
        (None, None) => String::new(),
    }
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<SpendFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let chosen = Chosen::of(&mut read, &filter).await?;
    let found = spend_list::list(&mut read, &chosen).await?;
    let totals = total::of(&mut read, &chosen).await?;
    let choices = filter::choices(&mut read).await?;
    let kept = Kept::of(&mut read, &shell, List::Ledger).await?;
    read.end().await?;
    let next = found.next.map(|place| shell.onward("before", place));
    page(&SpendList { shell, filter, choices, rows: found.rows, totals, next, kept })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<SpendFilter>,
    format: Format,
) -> Result<Response> {
    let filter = SpendFilter { before: None, ..filter };
    let mut read = app.read(&shell.actor).await?;
    let chosen = Chosen::of(&mut read, &filter).await?;
    read.end().await?;
    export::file(&app, &shell, &spend_list::TABLE, format, |read| spend_list::stream(read, chosen)).await
}

// ---- one entry ------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/spend_show.html")]
struct SpendPage {
    shell: Shell,
    spend: Spend,
    /// What it corrects, where the reader may see that.
    corrects: Option<SpendId>,
    last_day: NaiveDate,
    entries: Vec<Entry>,
}

impl SpendPage {
    fn title(&self) -> String {
        title(&self.shell, &self.spend)
    }

    /// The entries that this one has to do with: address and words.
    fn others(&self) -> Vec<(String, String)> {
        let Spend { reverses_id, reversed_by, .. } = self.spend;
        let link = |id: SpendId, words| (self.shell.href(&format!("/ledger/{id}")), words);
        let corrected = self.corrects.map(|id| link(id, self.shell.with("ledger-corrects", "id", id.to_string())));
        let other = reverses_id.or(reversed_by).map(|id| link(id, state(&self.shell, reverses_id, reversed_by)));
        corrected.into_iter().chain(other).collect()
    }

    /// The four costs: the key of the name, and the amount.
    fn amounts(&self) -> Vec<(&'static str, String)> {
        let Spend { list, contracted, billed, effective, currency, .. } = &self.spend;
        let shown = |amount: &Option<Decimal>| match amount {
            Some(amount) => format!("{} {currency}", money::display(*amount, currency)),
            None => self.shell.text("ledger-unknown"),
        };
        vec![
            ("spend-col-billed", shown(billed)),
            ("spend-col-effective", shown(effective)),
            ("spend-col-contracted", shown(contracted)),
            ("spend-col-list", shown(list)),
        ]
    }

    fn quantity(&self) -> Option<String> {
        let quantity = money::plain(self.spend.quantity?);
        Some(format!("{quantity} {}", self.spend.unit).trim_end().to_owned())
    }

    fn tax(&self) -> Option<String> {
        let included =
            self.shell.text(if self.spend.tax_included? { "ledger-tax-included" } else { "ledger-tax-apart" });
        let rate = self.spend.tax_rate.map(|rate| format!(" · {} %", money::plain(rate * Decimal::ONE_HUNDRED)));
        Some(included + &rate.unwrap_or_default())
    }

    fn may_change(&self) -> bool {
        let may = match self.spend.project_id {
            Some(project) => self.shell.may(Permission::Operate, Some(project)),
            None => self.shell.may_place(),
        };
        may && self.spend.is_open()
    }
}

/// What an entry is called at the head of its pages.
pub(super) fn title(shell: &Shell, spend: &Spend) -> String {
    let amount = spend.amount().map_or_else(|| shell.text("ledger-unknown"), |it| money::display(it, &spend.currency));
    let message = Message::new("ledger-entry").with("amount", amount).with("currency", &spend.currency);
    shell.say(&message.with("day", spend.charged_on))
}

async fn show(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let spend = spend::get(read.connection(), SpendId(id)).await?;
    let last_day = spend.last_day(read.organisation().zone);
    let corrects = match spend.corrects_id {
        Some(id) => match spend::get(read.connection(), id).await {
            Err(Error::NotFound) => None,
            found => Some(found?.id),
        },
        None => None,
    };
    let earlier = [spend.reverses_id, spend.corrects_id].map(|it| it.map(|id| id.0));
    let entries = super::history(&mut read, "spend", id, earlier).await?;
    read.end().await?;
    page(&SpendPage { shell, spend, corrects, last_day, entries })
}
