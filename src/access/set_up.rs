//! The first administrator, made through the one-time link that `rentroll serve` prints. There is no default account.

use uuid::Uuid;

use super::one_time_link;
use super::password::NewPassword;
use super::person::{self, NewPerson};
use super::user::{self, User};
use crate::actor::{Actor, Role};
use crate::app::App;
use crate::error::{Error, Result};
use crate::locale::Locale;
use crate::setting::{self, NewOrganisation};
use crate::text::{Email, Name};

/// What the set-up form asks for.
#[derive(Debug, Clone)]
pub struct FirstAdministrator {
    /// What the organisation is called.
    pub organisation: Name,
    /// Its language: of exports, and of people who choose none.
    pub locale: Locale,
    /// The administrator's own name.
    pub name: Name,
    /// The address to sign in with.
    pub email: Email,
    /// The password to sign in with.
    pub password: NewPassword,
}

/// Whether a set-up link still opens. Once any user exists, none does (case P12).
pub async fn is_open(app: &App, token: &str) -> Result<bool> {
    let mut read = app.read(&Actor::visitor()).await?;
    let link = one_time_link::look_up(read.connection(), token).await?;
    let open = link.is_some_and(|link| link.purpose == one_time_link::Purpose::SetUp && link.is_open(app.clock.now()));
    Ok(open && !user::any(read.connection()).await?)
}

/// Names the organisation and makes its first administrator. `None` where the same form made them already.
/// [`Error::NotFound`] where the link does not open.
pub async fn first_administrator(
    app: &App,
    token: &str,
    first: FirstAdministrator,
    submit_id: Uuid,
) -> Result<Option<User>> {
    // Only whoever holds a link that opens may make us hash.
    let hash =
        if is_open(app, token).await? { Some(user::hash_password(app, first.password.reveal()).await?) } else { None };
    let mut tx = app.write(&Actor::set_up()).await?;
    if tx.sent_before(submit_id).await?.is_some() {
        return Ok(None);
    }
    if hash.is_none() || one_time_link::use_up(&mut tx, token).await? != Some(one_time_link::Purpose::SetUp) {
        return Err(Error::NotFound);
    }
    let present = tx.organisation().clone();
    let named = NewOrganisation {
        name: first.organisation,
        zone: present.zone,
        currency: present.currency,
        locale: first.locale,
        send_at: present.send_at,
        reminder_steps: present.reminder_steps,
    };
    setting::change(&mut tx, present.version, named).await?;
    let person = NewPerson { name: first.name, email: Some(first.email), locale: None };
    let person = person::name_or_add(&mut tx, person).await?;
    let user = user::add(&mut tx, person.id, Role::Administrator, hash).await?;
    tx.sent(submit_id, "/").await?;
    tx.commit().await?;
    Ok(Some(user))
}
