//! A new link for whoever forgot the password and asks for it at the door.
//!
//! To a stranger, an address that is known, unknown or ended looks and lasts the same: what is done about it is done apart
//! from the answer.
//!
//! Nobody waits for the mail, so one that did not go out must not be lost in silence: what fails for now is tried again while the
//! link works, and what fails for good stands in the history and in the log.

use serde_json::json;

use super::letter::{self, Letter};
use super::one_time_link;
use super::person;
use super::session::Client;
use super::sign_in::act;
use super::sign_in_failure as failure;
use super::token::Token;
use super::user::{self, User};
use crate::actor::Actor;
use crate::app::App;
use crate::audit::Change;
use crate::error::{Error, Result};
use crate::limits;
use crate::mail::{Outcome, Outgoing, without_addresses};
use crate::text::Email;

/// Whether links can be mailed: a mail server and the public address are set.
pub fn is_possible(app: &App) -> bool {
    letter::leaves(&app.mailer) && app.public_url.is_some()
}

/// Asks for a link. Where somebody with this address may sign in, it is on its way soon after.
///
/// # Errors
/// [`Error::NotFound`] where no link can be mailed, [`Error::Invalid`] where the address is none or was asked for too often.
pub async fn ask(app: &App, client: &Client, address: &str) -> Result<()> {
    if !is_possible(app) {
        return Err(Error::NotFound);
    }
    let email: Email = address.parse().map_err(|message| Error::invalid("email", message))?;
    let mut tx = app.machine(&Actor::visitor().within(client.request_id)).await?;
    failure::count_asked(&mut tx, email.as_str(), client).await?;
    tx.commit().await?;
    let (background, app, client) = (app.background.clone(), app.clone(), client.clone());
    background.start(async move {
        if let Err(error) = answer(&app, &client, &email).await {
            tracing::warn!(%error, "a link to choose a password was asked for and could not be mailed");
        }
    });
    Ok(())
}

/// Makes and mails the link. The history tells of every wish, the person learns only of one that concerns them.
async fn answer(app: &App, client: &Client, email: &Email) -> Result<()> {
    let visitor = Actor::visitor().within(client.request_id);
    let mut read = app.read(&visitor).await?;
    let known = user::find_credentials(read.connection(), email).await?.map(|known| known.user);
    read.end().await?;
    let actor = known.as_ref().map_or(visitor, |user| user.oneself().within(client.request_id));
    let mut tx = app.write(&actor).await?;
    tx.record_change(act("user.link_asked", known.as_ref(), client)).await?;
    let Some(user) = known.filter(|user| user.disabled_at.is_none()) else { return tx.commit().await };
    let token = one_time_link::issue_forgotten(&mut tx, user.id).await?;
    let person = person::get(tx.connection(), user.person_id).await?;
    let organisation = tx.organisation().clone();
    tx.commit().await?;
    let link = app.public_link(&format!("/choose-password/{}", token.reveal()));
    // To the address that the ledger knows, never to the one that was typed.
    let (Some(link), Some(email)) = (link, &person.email) else { return Ok(()) };
    let locale = person.locale.as_deref().and_then(|tag| tag.parse().ok()).unwrap_or(organisation.locale);
    let letter = Letter::forgotten(locale, person.name.as_str(), &organisation.name, link);
    let failed = match letter.to(app, person.name.as_str(), email.as_str()) {
        Ok(outgoing) => mail(app, &outgoing, &token).await?,
        Err(Error::Invalid(errors)) => Some(("bounced", without_addresses(&Error::Invalid(errors).to_string()))),
        Err(error) => return Err(error),
    };
    match failed {
        Some((outcome, reason)) => record_failure(app, client, &user, outcome, &reason).await,
        None => Ok(()),
    }
}

/// Why a mail did not go out: the outcome's word, and what was said.
type Failure = (&'static str, String);

/// Sends the mail, and again what failed for now, as long as the link works. Gives why it did not go out.
async fn mail(app: &App, outgoing: &Outgoing, token: &Token) -> Result<Option<Failure>> {
    let mut waits = limits::FORGOTTEN_MAIL_WAITS.into_iter();
    loop {
        let Some(outcome) = app.background.step(app.mailer.send(outgoing)).await else {
            return Ok(Some(("ambiguous", "the program ended before the mail server answered".to_owned())));
        };
        if matches!(outcome, Outcome::Sent { .. }) {
            return Ok(None);
        }
        if let (Outcome::Retry { .. }, Some(wait)) = (&outcome, waits.next())
            && app.background.rest_until(&app.clock, app.clock.now() + wait).await
        {
            if works(app, token).await? {
                continue;
            }
            // It was used, or taken back: nobody waits for the mail any more.
            return Ok(None);
        }
        let reason = outcome.message().map(ToString::to_string).unwrap_or_default();
        return Ok(Some((outcome.class(), reason)));
    }
}

/// Whether the link can still be used.
async fn works(app: &App, token: &Token) -> Result<bool> {
    let mut read = app.read(&Actor::visitor()).await?;
    let link = one_time_link::look_up(read.connection(), token.reveal()).await?;
    read.end().await?;
    Ok(link.is_some_and(|link| link.is_open(app.clock.now())))
}

/// Says where an administrator looks that somebody waits for a mail that does not come.
async fn record_failure(app: &App, client: &Client, user: &User, outcome: &str, reason: &str) -> Result<()> {
    tracing::warn!(user = user.id.0, outcome, "a link to choose a password could not be mailed: {reason}");
    let actor = Actor::job("mail").within(client.request_id).because(reason);
    let mut tx = app.write(&actor).await?;
    let object = act("user.link_not_mailed", Some(user), client).object;
    let after = json!({ "outcome": outcome });
    tx.record_change(Change { action: "user.link_not_mailed", object, before: None, after }).await?;
    tx.commit().await
}
