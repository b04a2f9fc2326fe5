//! Pages of the ledger.

mod bills;
mod outputs;
mod places;
mod rates;
mod spend;
mod spend_form;
mod unit_costs;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::actor::{Actor, Permission};
use crate::app::App;
use crate::audit::{self, Entry, EntryFilter};
use crate::environments::choice::{self, EnvironmentChoice};
use crate::error::{Error, FieldErrors, Result};
use crate::locale::Message;
use crate::tx::Read;
use crate::web::page::page_with;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

/// Recording, for which somebody must have a project to record for; the command asks for the right in the very project.
const RECORD: Needs = Needs::May(Permission::Catalogue);

/// Reading an entry.
const READ: Needs = Needs::InProject(Permission::Read);

/// Taking an entry back.
const OPERATE: Needs = Needs::InProject(Permission::Operate);

/// How many entries of its history a page of the ledger shows.
const HISTORY: i64 = 20;

/// The routes of the ledger.
pub fn routes() -> Routes {
    Routes::new()
        .merge(spend::routes())
        .merge(spend_form::routes())
        .merge(places::routes())
        .merge(bills::routes())
        .merge(rates::routes())
        .merge(outputs::routes())
        .merge(unit_costs::routes())
}

/// The environments for which the reader may record, as the choices of a form.
async fn environments(read: &mut Read, actor: &Actor) -> Result<Vec<(String, String)>> {
    let choices: Vec<EnvironmentChoice> = choice::choices(read).await?;
    let mine = choices.iter().filter(|choice| actor.may(Permission::Operate, Some(choice.project_id)));
    Ok(mine.map(|choice| (choice.id.to_string(), choice.to_string())).collect())
}

/// Both halves of a form, or all that is wrong with either.
fn both<A, B>(one: Result<A, FieldErrors>, other: Result<B, FieldErrors>) -> Result<(A, B), FieldErrors> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(mut errors), Err(more)) => {
            errors.0.extend(more.0);
            Err(errors)
        }
        (Err(errors), _) | (_, Err(errors)) => Err(errors),
    }
}

/// The history of an entry and of those that it takes back or corrects, so that a reader finds out how it came about.
async fn history(read: &mut Read, kind: &str, id: i64, earlier: [Option<i64>; 2]) -> Result<Vec<Entry>> {
    let records: Vec<(&str, i64)> = [Some(id)].into_iter().chain(earlier).flatten().map(|id| (kind, id)).collect();
    audit::of_records(read, &records, HISTORY).await
}

/// An entry that was taken back already: what happened, and the ways on.
#[derive(Template)]
#[template(path = "ledger/closed.html")]
struct ClosedPage {
    shell: Shell,
    told: String,
    /// Address and words.
    links: Vec<(String, String)>,
}

/// Answers that an entry cannot be corrected or voided any more, with links to it and to what stands in its place. `kind` is
/// its noun in the history, `place` the address of its list. Another error stays what it is.
async fn closed(app: &App, shell: Shell, error: Error, kind: &str, place: &str, id: i64) -> Result<Response> {
    let Error::Conflict(message) = error else { return Err(error) };
    let mut read = app.read(&shell.actor).await?;
    let replacement = replacement(&mut read, kind, id).await?;
    read.end().await?;
    let link = |id: i64, key| (shell.href(&format!("{place}/{id}")), shell.with(key, "id", id.to_string()));
    let links = [Some(link(id, "ledger-closed-entry")), replacement.map(|id| link(id, "ledger-closed-replacement"))];
    let template = ClosedPage { told: shell.say(&message), links: links.into_iter().flatten().collect(), shell };
    page_with(StatusCode::CONFLICT, &template)
}

/// The entry that was recorded in the place of this one: in the request that took it back.
async fn replacement(read: &mut Read, kind: &str, id: i64) -> Result<Option<i64>> {
    let entries = audit::of(read, kind, id, HISTORY).await?;
    let Some(reversed) = entries.iter().find(|entry| entry.action.ends_with(".reversed")) else { return Ok(None) };
    let same =
        EntryFilter { request: Some(reversed.request_id), kind: Some(kind.to_owned()), ..EntryFilter::default() };
    let entries = audit::list(read, &same, HISTORY).await?;
    let recorded = entries.into_iter().find(|entry| entry.action.ends_with(".recorded") && entry.object_id != Some(id));
    Ok(recorded.and_then(|entry| entry.object_id))
}

/// Refuses who does not see what belongs to no project: bills and unplaced lines are of the whole organisation.
fn sees_all(actor: &Actor) -> Result<()> {
    if actor.scope.all.is_some() { Ok(()) } else { Err(Error::Forbidden(Message::new("error-forbidden"))) }
}
