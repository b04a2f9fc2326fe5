//! Somebody named in the ledger: owner, checker, watcher. A log-in is optional (`user`).

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use super::one_time_link;
use crate::actor::Permission;
use crate::audit::Audited;
use crate::error::{Error, OnConstraint as _, Result};
use crate::ids::{PersonId, ProjectId, UserId};
use crate::locale::{Locale, Message};
use crate::text::{Email, Name};
use crate::tx::{Read, Tx};

/// Somebody named in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Person {
    /// Its id.
    pub id: PersonId,
    /// What the person is called.
    pub name: Name,
    /// Where mails go; the history holds only a digest of it.
    pub email: Option<Email>,
    /// The person's own language; the organisation's where none was chosen.
    pub locale: Option<String>,
    /// The person's own zone; the organisation's where none was chosen.
    pub zone: Option<String>,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when the ledger knows the person.
    pub created_at: DateTime<Utc>,
}

/// A person to be added.
#[derive(Debug, Clone)]
pub struct NewPerson {
    /// See [`Person::name`].
    pub name: Name,
    /// See [`Person::email`].
    pub email: Option<Email>,
    /// See [`Person::locale`].
    pub locale: Option<Locale>,
}

impl NewPerson {
    /// A person with a name and perhaps an address.
    pub fn named(name: &str, email: Option<&str>) -> Result<Self, Message> {
        Ok(Self { name: name.parse()?, email: email.map(str::parse).transpose()?, locale: None })
    }

    /// A person of whom only the address is known: the part before the @ stands for the name until somebody corrects it.
    pub fn addressed(email: &Email) -> Result<Self, Message> {
        let local = email.as_str().split('@').next().unwrap_or(email.as_str());
        Ok(Self { name: local.parse()?, email: Some(email.clone()), locale: None })
    }
}

/// What an administrator may change of a person.
#[derive(Debug, Clone)]
pub struct ChangedPerson {
    /// See [`Person::name`].
    pub name: Name,
    /// See [`Person::email`]; needed by whoever has a log-in.
    pub email: Option<Email>,
    /// See [`Person::locale`].
    pub locale: Option<Locale>,
}

impl Audited for Person {
    const KIND: &'static str = "person";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.name.to_string()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

macro_rules! select_person {
    ($where:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Person,
            r#"select id as "id: PersonId", name as "name: Name", email as "email: Email", locale, zone, version, created_at
               from person "# + $where
            $(, $argument)*
        )
    };
}

/// The person with this id.
pub async fn get(connection: &mut PgConnection, id: PersonId) -> Result<Person> {
    Ok(select_person!("where id = $1", id.0).fetch_one(connection).await?)
}

/// The person with this address, whatever its capitals.
pub async fn find_by_email(connection: &mut PgConnection, email: &Email) -> Result<Option<Person>> {
    Ok(select_person!("where lower(email) = lower($1)", email.as_str()).fetch_optional(connection).await?)
}

/// Refuses an address that is somebody's: who it is, so that they get a log-in on their own page. Who signs in with an
/// address already is not named.
pub async fn refuse_known(connection: &mut PgConnection, email: &Email) -> Result<()> {
    let Some(person) = find_by_email(connection, email).await? else { return Ok(()) };
    let has_log_in = super::user::find_by_person(connection, person.id).await?.is_some();
    let message = if has_log_in {
        Message::new("error-email-taken")
    } else {
        Message::new("error-email-known").with("name", person.name.as_str())
    };
    Err(Error::invalid("email", message))
}

/// The people with exactly this name.
pub async fn with_name(connection: &mut PgConnection, name: &Name) -> Result<Vec<Person>> {
    Ok(select_person!("where name = $1 order by id", name.as_str()).fetch_all(connection).await?)
}

/// Everybody, by name: for choices and lists.
pub async fn list(read: &mut Read) -> Result<Vec<Person>> {
    Ok(select_person!("order by name, id").fetch_all(read.connection()).await?)
}

/// Adds a person. Who may: the callers decide, because naming an owner is part of operating a project.
pub async fn add(tx: &mut Tx, new: NewPerson) -> Result<Person> {
    let (now, locale) = (tx.now(), new.locale.map(Locale::tag));
    let person = sqlx::query_as!(
        Person,
        r#"insert into person (name, email, locale, created_at) values ($1, $2, $3, $4)
           returning id as "id: PersonId", name as "name: Name", email as "email: Email", locale, zone, version, created_at"#,
        new.name.as_str(),
        new.email.as_ref().map(Email::as_str),
        locale,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("person_email", "email", || Message::new("error-email-taken"))?;
    tx.record("person.added", None, &person).await?;
    Ok(person)
}

/// The person with the new one's address, added where nobody has it.
pub async fn find_or_add(tx: &mut Tx, new: NewPerson) -> Result<Person> {
    if let Some(email) = &new.email
        && let Some(person) = find_by_email(tx.connection(), email).await?
    {
        tx.unchanged();
        return Ok(person);
    }
    add(tx, new).await
}

/// The person with the new one's address, under the new one's name and in their language. For whoever acts in their own
/// matter, or gave the name that the person has: nobody is renamed by a form that adds somebody else.
pub async fn name_or_add(tx: &mut Tx, new: NewPerson) -> Result<Person> {
    let Some(email) = &new.email else { return add(tx, new).await };
    let Some(person) = find_by_email(tx.connection(), email).await? else { return add(tx, new).await };
    let locale = new.locale.or_else(|| person.locale.as_deref()?.parse().ok());
    let changed = ChangedPerson { name: new.name, email: person.email.clone(), locale };
    change(tx, person.id, person.version, changed).await
}

/// Changes a person's name, address and language; `version` is the one the edit started from. With the address the links end
/// that were mailed to it: it may be somebody else's mailbox.
pub async fn change(tx: &mut Tx, id: PersonId, version: i32, changed: ChangedPerson) -> Result<Person> {
    tx.allow(Permission::Administer, None)?;
    let log_in = sqlx::query_scalar!(
        r#"select (select u.id from user_account u where u.person_id = p.id) as "log_in: UserId" from person p
           where id = $1 for update"#,
        id.0,
    )
    .fetch_one(tx.connection())
    .await?;
    let before = get(tx.connection(), id).await?;
    tx.same_version(before.version, version)?;
    if log_in.is_some() && changed.email.is_none() {
        return Err(Error::invalid("email", Message::new("error-email-needed")));
    }
    let after = Person {
        name: changed.name,
        email: changed.email,
        locale: changed.locale.map(|locale| locale.tag().to_owned()),
        ..before.clone()
    };
    // Addresses are equal whatever their capitals; a change of those alone is a change all the same.
    let same_address = after.email.as_ref().map(Email::as_str) == before.email.as_ref().map(Email::as_str);
    if after == before && same_address {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update person set name = $2, email = $3, locale = $4, version = version + 1 where id = $1",
        id.0,
        after.name.as_str(),
        after.email.as_ref().map(Email::as_str),
        after.locale,
    )
    .execute(tx.connection())
    .await
    .on_constraint("person_email", "email", || Message::new("error-email-taken"))?;
    if let Some(log_in) = log_in
        && after.email != before.email
    {
        one_time_link::revoke(tx, log_in).await?;
    }
    let after = get(tx.connection(), id).await?;
    tx.record("person.changed", Some(&before), &after).await?;
    Ok(after)
}

/// Chooses the language in which a person reads pages and mails.
pub async fn choose_locale(tx: &mut Tx, id: PersonId, locale: Locale) -> Result<()> {
    let before = get(tx.connection(), id).await?;
    if before.locale.as_deref() == Some(locale.tag()) {
        tx.unchanged();
        return Ok(());
    }
    sqlx::query!("update person set locale = $2, version = version + 1 where id = $1", id.0, locale.tag())
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), id).await?;
    tx.record("person.changed", Some(&before), &after).await
}
