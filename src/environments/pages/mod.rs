//! Pages of environments: the list, one environment and what is done with it, and the import.

mod bulk;
mod close;
mod edit;
mod fields;
mod import;
mod list;
mod renew;
mod scale;
mod show;
mod term;
mod term_bar;

use crate::actor::Permission;
use crate::error::Error;
use crate::web::routes::{Needs, Routes};

/// Somebody who changes records in some project; which one, the command itself checks.
const OPERATOR: Needs = Needs::May(Permission::Catalogue);

/// Reading one.
const READ: Needs = Needs::InProject(Permission::Read);

/// Changing one.
const OPERATE: Needs = Needs::InProject(Permission::Operate);

/// The pages of environments.
pub fn routes() -> Routes {
    list::routes()
        .get("/environments/new", OPERATOR, edit::new)
        .post("/environments", OPERATOR, edit::open)
        .get("/environments/bulk/edit", OPERATOR, bulk::form)
        .post("/environments/bulk", OPERATOR, bulk::change)
        .get("/environments/{id}", READ, show::show)
        .get("/environments/{id}/edit", OPERATE, edit::edit)
        .post("/environments/{id}", OPERATE, edit::change)
        .get("/environments/{id}/renewals/new", OPERATE, renew::new)
        .post("/environments/{id}/renewals", OPERATE, renew::create)
        .get("/environments/{id}/scale-changes", OPERATE, scale::list)
        .post("/environments/{id}/scale-changes", OPERATE, scale::record)
        .get("/environments/{id}/end", OPERATE, close::end_form)
        .post("/environments/{id}/end", OPERATE, close::end)
        .post("/environments/{id}/resume", OPERATE, close::resume)
        .get("/environments/{id}/void", OPERATE, close::void_form)
        .post("/environments/{id}/void", OPERATE, close::void)
        .get("/terms/{id}/edit", OPERATE, term::edit)
        .post("/terms/{id}", OPERATE, term::change)
        .get("/imports/environments", OPERATOR, import::form)
        .post("/imports/environments", OPERATOR, import::preview)
        .post("/imports/environments/confirm", OPERATOR, import::confirm)
}

/// Whether an edit started from a version that is not the present one any more.
fn is_stale(error: &Error) -> bool {
    matches!(error, Error::Conflict(message) if message.key == "error-stale")
}
