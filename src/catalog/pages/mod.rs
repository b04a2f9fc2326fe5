//! Pages of the catalogue: providers with their contacts, contracts and incidents, tiers, prices.

mod contacts;
mod contracts;
mod incidents;
mod prices;
mod providers;
mod tiers;

use askama::Template;
use chrono::{DateTime, Utc};

use crate::actor::Permission;
use crate::locale::Message;
use crate::text::Line;
use crate::web::edit::Edit;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

const EDIT: Needs = Needs::May(Permission::Catalogue);

/// The pages of the catalogue.
pub fn routes() -> Routes {
    providers::routes()
        .merge(contacts::routes())
        .merge(contracts::routes())
        .merge(incidents::routes())
        .merge(tiers::routes())
        .merge(prices::routes())
}

/// How many entries of a thing's history its page shows.
const HISTORY: i64 = 20;

/// The choices of a question that is answered by yes or no.
fn yes_no(shell: &Shell) -> Vec<(&'static str, String)> {
    vec![("no", shell.text("table-no")), ("yes", shell.text("table-yes"))]
}

/// How such a form answers it.
const fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}

/// The page that asks why something is voided.
#[derive(Template)]
#[template(path = "catalog/void_form.html")]
struct VoidForm {
    shell: Shell,
    edit: Edit,
    title: String,
    /// The key of what becomes of it.
    lead: &'static str,
    /// What it is: the keys of labels, and values.
    facts: Vec<(&'static str, String)>,
    action: String,
    /// The address and the name of the page to which it belongs.
    back: String,
    above: String,
}

/// Who voided something, when and why; nothing where it counts.
fn voided(shell: &Shell, at: Option<DateTime<Utc>>, by: Option<&str>, reason: Option<&Line>) -> Option<String> {
    let message =
        Message::new("catalog-voided").with("when", shell.instant(&at?)).with("who", by?).with("why", reason?);
    Some(shell.say(&message))
}
