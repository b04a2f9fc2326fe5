//! A new link for whoever forgot the password and asks for it at the door.
//!
//! To a stranger, an address that is known, unknown or ended looks and lasts the same: what is done about it is done apart
//! from the answer.

use super::letter::{self, Letter};
use super::one_time_link;
use super::person;
use super::session::Client;
use super::sign_in::act;
use super::sign_in_failure as failure;
use super::user;
use crate::actor::Actor;
use crate::app::App;
use crate::error::{Error, Result};
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
    let (app, client) = (app.clone(), client.clone());
    tokio::spawn(async move {
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
    letter::send(app, &letter, person.name.as_str(), email.as_str()).await?;
    Ok(())
}
