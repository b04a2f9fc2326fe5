//! Pages of the catalogue: providers with their contacts and contracts, tiers, prices.

mod contacts;
mod contracts;
mod providers;
mod tiers;

use crate::actor::Permission;
use crate::audit;
use crate::error::Result;
use crate::tx::Read;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

const EDIT: Needs = Needs::May(Permission::Catalogue);

/// The pages of the catalogue.
pub fn routes() -> Routes {
    providers::routes().merge(contacts::routes()).merge(contracts::routes()).merge(tiers::routes())
}

/// How many entries of a thing's history its page shows.
const HISTORY: i64 = 20;

async fn last_editor(read: &mut Read, kind: &str, id: i64) -> Result<String> {
    let entries = audit::of(read, kind, id, 1).await?;
    Ok(entries.into_iter().next().map(|entry| entry.actor_name).unwrap_or_default())
}

/// The choices of a question that is answered by yes or no.
fn yes_no(shell: &Shell) -> Vec<(&'static str, String)> {
    vec![("no", shell.text("table-no")), ("yes", shell.text("table-yes"))]
}

/// How such a form answers it.
const fn yes(it: bool) -> &'static str {
    if it { "yes" } else { "no" }
}
