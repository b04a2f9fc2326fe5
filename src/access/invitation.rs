//! A log-in for somebody, and the one-time link with which they choose their password.

use uuid::Uuid;

use super::letter::{self, Letter};
use super::one_time_link::{self, Purpose};
use super::password::NewPassword;
use super::person::{self, NewPerson, Person};
use super::user::{self, Right, User};
use crate::actor::{Actor, Permission, Role};
use crate::app::App;
use crate::audit::Change;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{PersonId, UserId};
use crate::locale::{Locale, Message};
use crate::mail::Outcome;
use crate::text::Email;
use crate::tx::Tx;

/// A log-in that was made, and how its owner gets in.
#[derive(Debug)]
pub struct AddedUser {
    /// The log-in.
    pub user: User,
    /// The path of the link to choose a password (`/choose-password/…`); `None` where a password was given.
    pub link: Option<String>,
    /// What became of the mail with the link; `None` where none was sent: no mail server, no public address.
    pub mail: Option<Outcome>,
}

impl AddedUser {
    /// Whether the link is on its way, so that nobody needs to hand it over.
    pub const fn is_mailed(&self) -> bool {
        matches!(self.mail, Some(Outcome::Sent { .. }))
    }
}

/// Makes a log-in for the person with this address, who is added where nobody has it, and never renamed. Without a password a one-time link is
/// made, and mailed where mail and the public address are set up.
pub async fn add_user(
    app: &App,
    actor: &Actor,
    email: &str,
    name: &str,
    role: Role,
    locale: Option<Locale>,
    password: Option<String>,
) -> Result<AddedUser> {
    actor.allow(Permission::Administer, None)?;
    let mut errors = FieldErrors::new();
    let (parsed_email, parsed_name) = (errors.take("email", email.parse()), errors.take("name", name.parse()));
    let organisation = app.read(actor).await?.organisation().name.clone();
    let password = match password {
        Some(typed) => errors.take("password", NewPassword::new(&typed, &[name, email, &organisation])),
        None => None,
    };
    let (Some(email), Some(name), true) = (parsed_email, parsed_name, errors.is_empty()) else {
        return Err(errors.into());
    };
    let hash = match password {
        Some(password) => Some(user::hash_password(app, password.reveal()).await?),
        None => None,
    };
    let mut tx = app.write(actor).await?;
    if let Some(known) = person::find_by_email(tx.connection(), &email).await?
        && known.name != name
        && user::find_by_person(tx.connection(), known.id).await?.is_none()
    {
        let message = Message::new("error-person-named").with("email", email.as_str());
        return Err(Error::invalid("name", message.with("name", known.name.as_str())));
    }
    let person = person::name_or_add(&mut tx, NewPerson { name, email: Some(email), locale }).await?;
    let with_password = hash.is_some();
    let user = user::add_with(&mut tx, person.id, Right::usual(role), hash).await?;
    if with_password {
        tx.commit().await?;
        return Ok(AddedUser { user, link: None, mail: None });
    }
    hand_over(app, tx, user, &person).await
}

/// Adds a person, with a log-in where a right is given; gives the person's page too. The same form again only gives that.
/// An address that is somebody's already is refused: whoever is known gets a log-in on their own page.
pub async fn add_person(
    app: &App,
    actor: &Actor,
    new: NewPerson,
    right: Option<Right>,
    submit_id: Uuid,
) -> Result<(String, Option<AddedUser>)> {
    actor.allow(Permission::Administer, None)?;
    let mut tx = app.write(actor).await?;
    if let Some(page) = tx.sent_before(submit_id).await? {
        return Ok((page, None));
    }
    if let Some(email) = &new.email {
        person::refuse_known(tx.connection(), email).await?;
    }
    let person = person::add(&mut tx, new).await?;
    let page = format!("/people/{}", person.id);
    tx.sent(submit_id, &page).await?;
    let Some(right) = right else {
        tx.commit().await?;
        return Ok((page, None));
    };
    let user = user::add_with(&mut tx, person.id, right, None).await?;
    Ok((page, Some(hand_over(app, tx, user, &person).await?)))
}

/// Gives a person who is known already a log-in. `None` where the same form did so before.
pub async fn give_log_in(
    app: &App,
    actor: &Actor,
    id: PersonId,
    right: Right,
    submit_id: Uuid,
) -> Result<Option<AddedUser>> {
    let mut tx = app.write(actor).await?;
    if tx.sent_before(submit_id).await?.is_some() {
        return Ok(None);
    }
    let person = person::get(tx.connection(), id).await?;
    if person.email.is_none() {
        return Err(Error::invalid("email", Message::new("error-email-needed")));
    }
    let user = user::add_with(&mut tx, id, right, None).await?;
    tx.sent(submit_id, &format!("/people/{id}")).await?;
    hand_over(app, tx, user, &person).await.map(Some)
}

/// A new link for somebody who lost the old one or forgot the password, which works until another is chosen. `None` where
/// the same form made one before.
pub async fn new_link(app: &App, actor: &Actor, id: UserId, submit_id: Uuid) -> Result<Option<AddedUser>> {
    actor.allow(Permission::Administer, None)?;
    let mut tx = app.write(actor).await?;
    if tx.sent_before(submit_id).await?.is_some() {
        return Ok(None);
    }
    let user = user::get(tx.connection(), id).await?;
    if user.disabled_at.is_some() {
        return Err(Error::invalid("", Message::new("error-user-disabled")));
    }
    let person = person::get(tx.connection(), user.person_id).await?;
    tx.sent(submit_id, &format!("/people/{}", person.id)).await?;
    hand_over(app, tx, user, &person).await.map(Some)
}

/// Makes the link, commits, and mails it where it can be. Whoever holds such a link can sign in as that person, so the
/// history says who made it.
async fn hand_over(app: &App, mut tx: Tx, user: User, person: &Person) -> Result<AddedUser> {
    let token = one_time_link::issue_choose_password(&mut tx, user.id).await?;
    tx.record_change(Change::of("user.invited", None, &user)?).await?;
    let organisation = tx.organisation().clone();
    tx.commit().await?;
    let path = format!("/choose-password/{}", token.reveal());
    let mut mail = None;
    if letter::leaves(&app.mailer)
        && let (Some(link), Some(email)) = (app.public_link(&path), &person.email)
    {
        let locale = person.locale.as_deref().and_then(|tag| tag.parse().ok()).unwrap_or(organisation.locale);
        let letter = Letter::choose_password(locale, person.name.as_str(), &organisation.name, link);
        mail = match letter::send(app, &letter, person.name.as_str(), email.as_str()).await {
            Ok(outcome) => outcome,
            // The log-in is made; the link can be handed over in another way.
            Err(Error::Invalid(_)) => None,
            Err(error) => return Err(error),
        };
    }
    Ok(AddedUser { user, link: Some(path), mail })
}

/// Whose password a link chooses.
#[derive(Debug)]
pub struct Holder {
    /// The log-in.
    pub user: User,
    /// The address to sign in with.
    pub email: Option<Email>,
    /// Whether the link was used already.
    pub used: bool,
}

/// Whose password a link chooses; `None` where it opens no more. One that was used is told apart, so that the same form sent
/// twice is one act.
pub async fn holder(app: &App, token: &str) -> Result<Option<Holder>> {
    let mut read = app.read(&Actor::visitor()).await?;
    let Some(link) = one_time_link::look_up(read.connection(), token).await? else { return Ok(None) };
    let Purpose::ChoosePassword(id) = link.purpose else { return Ok(None) };
    let user = user::get(read.connection(), id).await?;
    let email = person::get(read.connection(), user.person_id).await?.email;
    let lives = app.clock.now() < link.expires_at && user.disabled_at.is_none();
    Ok(lives.then(|| Holder { user, email, used: link.used_at.is_some() }))
}

/// What was typed as a password for the holder of a link, or why it cannot be one.
pub async fn new_password(
    app: &App,
    holder: &Holder,
    typed: &str,
) -> Result<std::result::Result<NewPassword, Message>> {
    let organisation = app.read(&Actor::visitor()).await?.organisation().name.clone();
    let email = holder.email.as_ref().map_or("", Email::as_str);
    Ok(NewPassword::new(typed, &[&holder.user.name, email, &organisation]))
}

/// Chooses the password and uses the link up. `false` where the same form did so before; a link that was used needs no
/// password for that. [`Error::NotFound`] where the link opens no more.
pub async fn choose_password(
    app: &App,
    token: &str,
    holder: &Holder,
    password: Option<NewPassword>,
    submit_id: Uuid,
    request_id: Uuid,
) -> Result<bool> {
    // Only whoever holds a link that opens may make us hash.
    let hash = match password.filter(|_| !holder.used) {
        Some(password) => Some(user::hash_password(app, password.reveal()).await?),
        None => None,
    };
    let mut tx = app.write(&holder.user.oneself().within(request_id)).await?;
    if tx.sent_before(submit_id).await?.is_some() {
        return Ok(false);
    }
    let Some(hash) = hash else { return Err(Error::NotFound) };
    if one_time_link::use_up(&mut tx, token).await? != Some(Purpose::ChoosePassword(holder.user.id)) {
        return Err(Error::NotFound);
    }
    user::set_password(&mut tx, holder.user.id, hash).await?;
    tx.sent(submit_id, "/").await?;
    tx.commit().await?;
    Ok(true)
}
