//! Signing in and out. To a stranger, a wrong password, an unknown address and an ended log-in look and last the same.

use serde_json::json;

use super::device;
use super::password::NewPassword;
use super::person;
use super::session::{self, Client};
use super::sign_in_failure as failure;
use super::token::Token;
use super::user::{self, User};
use crate::actor::Actor;
use crate::app::App;
use crate::audit::{Audited as _, Change, Object};
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::locale::Message;
use crate::text::Email;
use crate::tx::Tx;

/// What a browser is given when somebody signs in there.
#[derive(Debug)]
pub struct Entry {
    /// The new session's token.
    pub session: Token,
    /// By which the browser is known again, see [`device`].
    pub device: Token,
}

impl Entry {
    async fn begin(tx: &mut Tx, user: UserId, client: &Client) -> Result<Self> {
        let session = session::begin(tx, user, client).await?;
        Ok(Self { session, device: device::remember(tx, user, client).await? })
    }
}

/// Signs in with an address and a password, or [`Error::Invalid`].
pub async fn sign_in(app: &App, client: &Client, address: &str, password: String) -> Result<Entry> {
    let visitor = Actor::visitor().within(client.request_id);
    let mut tx = app.machine(&visitor).await?;
    let counted = failure::count(&mut tx, address, client).await?;
    let known = match address.parse::<Email>() {
        Ok(email) => user::find_credentials(tx.connection(), &email).await?,
        Err(_) => None,
    };
    tx.commit().await?;
    let hash = known.as_ref().and_then(|known| known.password_hash.clone());
    let right = user::check_password(app, password, hash.clone()).await?;
    let known = known.map(|known| known.user);
    if let Some(user) = known.as_ref().filter(|user| right && user.disabled_at.is_none()) {
        let mut tx = app.write(&user.oneself().within(client.request_id)).await?;
        // The password or the log-in may have ended while it was being checked.
        if user::has_hash(&mut tx, user.id, hash.as_deref()).await? {
            failure::forgive(&mut tx, &counted).await?;
            let entry = Entry::begin(&mut tx, user.id, client).await?;
            tx.record_change(act("user.signed_in", Some(user), client)).await?;
            tx.commit().await?;
            return Ok(entry);
        }
    }
    let actor = known.as_ref().map_or(visitor, |user| user.oneself().within(client.request_id));
    let mut tx = app.write(&actor).await?;
    tx.record_change(act("user.sign_in_failed", known.as_ref(), client)).await?;
    tx.commit().await?;
    Err(Error::invalid("", Message::new("error-sign-in")))
}

/// Begins a session for somebody who has just proved who they are by a one-time link or by the old password.
pub async fn begin_session(app: &App, client: &Client, user: &User) -> Result<Entry> {
    let mut tx = app.write(&user.oneself().within(client.request_id)).await?;
    let entry = Entry::begin(&mut tx, user.id, client).await?;
    tx.record_change(act("user.signed_in", Some(user), client)).await?;
    tx.commit().await?;
    Ok(entry)
}

/// Changes the actor's own password: every session ends and every browser is forgotten; this one gets a new session and is
/// known again. [`Error::Invalid`] at `password_current` where the present password is another: tries count as at the door.
pub async fn change_password(
    app: &App,
    client: &Client,
    actor: &Actor,
    current: String,
    new: NewPassword,
) -> Result<Entry> {
    let id = actor.user.ok_or(Error::NotFound)?;
    let mut tx = app.machine(actor).await?;
    let user = user::get(tx.connection(), id).await?;
    let email = person::get(tx.connection(), user.person_id).await?.email.ok_or(Error::NotFound)?;
    let counted = failure::count(&mut tx, email.as_str(), client).await?;
    let hash = user::find_credentials(tx.connection(), &email).await?.and_then(|known| known.password_hash);
    tx.commit().await?;
    if !user::check_password(app, current, hash.clone()).await? {
        return Err(Error::invalid("password_current", Message::new("error-password-current")));
    }
    let new = user::hash_password(app, new.reveal()).await?;
    let mut tx = app.write(actor).await?;
    if !user::has_hash(&mut tx, id, hash.as_deref()).await? {
        return Err(Error::Conflict(Message::new("error-stale")));
    }
    failure::forgive(&mut tx, &counted).await?;
    user::set_password(&mut tx, id, new).await?;
    let entry = Entry::begin(&mut tx, id, client).await?;
    tx.commit().await?;
    Ok(entry)
}

/// Ends the session that the browser came with.
pub async fn sign_out(app: &App, client: &Client, actor: &Actor) -> Result<()> {
    let (Some(id), Some(token_hash)) = (actor.user, &client.session) else { return Ok(()) };
    let mut tx = app.write(actor).await?;
    let user = user::get(tx.connection(), id).await?;
    session::end(&mut tx, id, token_hash).await?;
    tx.record_change(act("user.signed_out", Some(&user), client)).await?;
    tx.commit().await
}

/// What the history says of it: whose log-in, and from which network.
pub(super) fn act(action: &'static str, user: Option<&User>, client: &Client) -> Change {
    let name = user.map_or_else(|| Actor::visitor().name, |user| user.name.clone());
    let object = Object { kind: User::KIND, id: user.map(|user| user.id.0), name, project: None, shared: false };
    Change { action, object, before: None, after: json!({ "network": client.network() }) }
}
