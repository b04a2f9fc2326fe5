//! Somebody at a provider: whom to ask, whom to call at night.

use chrono::{DateTime, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::catalog::provider::{self, ProviderFilter};
use crate::error::{FieldErrors, OnConstraint as _, Result};
use crate::ids::{ContactId, ProjectId, ProviderId};
use crate::locale::Message;
use crate::table::{Column, Table};
use crate::text::{Email, Line, Name, Note};
use crate::tx::{Read, Tx};

/// Somebody at a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contact {
    /// Its id.
    pub id: ContactId,
    /// Of which provider.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// The person's name; unique among those who are still there.
    pub name: Name,
    /// What for: sales, support, invoices.
    pub job: Line,
    /// The address.
    pub email: Option<Email>,
    /// The telephone, as one dials it.
    pub phone: Line,
    /// What else there is to know.
    pub note: Note,
    /// Whether the person is not there any more.
    pub former: bool,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

impl Audited for Contact {
    const KIND: &'static str = "provider_contact";
    const SHARED: bool = true;

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

macro_rules! select_contact {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Contact,
            r#"select c.id as "id: ContactId", c.provider_id as "provider_id: ProviderId", p.name as provider, c.name as "name: Name",
                      c.job as "job: Line", c.email as "email: Email", c.phone as "phone: Line", c.note as "note: Note", c.former,
                      c.version, c.created_at
               from provider_contact c join provider p on p.id = c.provider_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The contact with this id.
pub async fn get(connection: &mut PgConnection, id: ContactId) -> Result<Contact> {
    Ok(select_contact!("where c.id = $1", id.0).fetch_one(connection).await?)
}

/// The contacts that match: by provider, those who are still there first.
pub async fn matching(read: &mut Read, filter: &ProviderFilter) -> Result<Vec<Contact>> {
    let contacts = select_contact!(
        "where ($1::bigint is null or c.provider_id = $1) order by p.name, c.former, c.name, c.id",
        filter.provider
    );
    Ok(contacts.fetch_all(read.connection()).await?)
}

/// What a form says of a contact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactFacts {
    /// See [`Contact::name`].
    pub name: Name,
    /// See [`Contact::job`].
    pub job: Line,
    /// See [`Contact::email`].
    pub email: Option<Email>,
    /// See [`Contact::phone`].
    pub phone: Line,
    /// See [`Contact::note`].
    pub note: Note,
    /// See [`Contact::former`].
    pub former: bool,
}

impl ContactFacts {
    /// Reads a contact from texts by the names of its fields.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let name = errors.take("name", text("name").parse());
        let job = errors.take("job", text("job").parse());
        let email = Some(text("email")).filter(|email| !email.trim().is_empty()).map(str::parse).transpose();
        let email = errors.take("email", email);
        let phone = errors.take("phone", text("phone").parse());
        let former = errors.take("former", provider::parse_yes(text("former")));
        let note = errors.take("note", text("note").parse());
        match (name, job, email, phone, former, note) {
            (Some(name), Some(job), Some(email), Some(phone), Some(former), Some(note)) => {
                Ok(Self { name, job, email, phone, note, former })
            }
            _ => Err(errors),
        }
    }
}

impl Contact {
    /// What a form says of it, as it is now.
    pub fn facts(&self) -> ContactFacts {
        ContactFacts {
            name: self.name.clone(),
            job: self.job.clone(),
            email: self.email.clone(),
            phone: self.phone.clone(),
            note: self.note.clone(),
            former: self.former,
        }
    }
}

fn taken(name: &Name) -> Message {
    Message::new("error-contact-taken").with("name", name)
}

/// Adds somebody to a provider.
pub async fn add(tx: &mut Tx, provider: ProviderId, new: &ContactFacts) -> Result<Contact> {
    tx.allow(Permission::Catalogue, None)?;
    let provider = provider::get(tx.connection(), provider).await?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into provider_contact (provider_id, name, job, email, phone, note, former, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8) returning id as "id: ContactId""#,
        provider.id.0,
        new.name.as_str(),
        new.job.as_str(),
        new.email.as_ref().map(Email::as_str),
        new.phone.as_str(),
        new.note.as_str(),
        new.former,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("provider_contact_name", "name", || taken(&new.name))?;
    let contact = get(tx.connection(), id).await?;
    tx.record("provider_contact.added", None, &contact).await?;
    Ok(contact)
}

/// Changes a contact; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: ContactId, version: i32, new: &ContactFacts) -> Result<Contact> {
    tx.allow(Permission::Catalogue, None)?;
    let before = select_contact!("where c.id = $1 for update of c", id.0).fetch_one(tx.connection()).await?;
    tx.same_version(before.version, version)?;
    if before.facts() == *new {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update provider_contact set name = $2, job = $3, email = $4, phone = $5, note = $6, former = $7, version = version + 1
         where id = $1",
        id.0,
        new.name.as_str(),
        new.job.as_str(),
        new.email.as_ref().map(Email::as_str),
        new.phone.as_str(),
        new.note.as_str(),
        new.former,
    )
    .execute(tx.connection())
    .await
    .on_constraint("provider_contact_name", "name", || taken(&new.name))?;
    let after = get(tx.connection(), id).await?;
    tx.record("provider_contact.changed", Some(&before), &after).await?;
    Ok(after)
}

/// The list as a file.
pub static TABLE: Table<Contact> = Table {
    name: "contacts",
    title: "catalog-contacts",
    columns: &[
        Column::new("id", "catalog-id", |contact| contact.id.0.into()),
        Column::new("provider", "catalog-provider", |contact| (&contact.provider).into()),
        Column::new("name", "catalog-name", |contact| contact.name.as_str().into()),
        Column::new("job", "catalog-job", |contact| contact.job.as_str().into()),
        Column::new("email", "catalog-email", |contact| contact.email.as_ref().map(Email::as_str).into()),
        Column::new("phone", "catalog-phone", |contact| contact.phone.as_str().into()),
        Column::new("former", "catalog-former", |contact| contact.former.into()),
        Column::new("note", "catalog-note", |contact| contact.note.as_str().into()),
    ],
};

/// All that match, in batches, for a file: there is one, because a catalogue is short.
pub fn batches(mut read: Read, filter: ProviderFilter) -> impl Stream<Item = Result<Vec<Contact>>> + Send {
    stream::once(async move { matching(&mut read, &filter).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        assert_eq!(TABLE.names(), ["id", "provider", "name", "job", "email", "phone", "former", "note"]);
    }

    #[test]
    fn a_contact_needs_no_more_than_a_name() {
        let parse = |name: &'static str, email: &'static str| {
            ContactFacts::parse(&move |field| match field {
                "name" => name,
                "email" => email,
                _ => "",
            })
        };
        assert_eq!(parse("许知远", " ").unwrap().email, None);
        let wrong = parse("", "no address").unwrap_err();
        assert_eq!(wrong.0.iter().map(|error| error.field.as_ref()).collect::<Vec<_>>(), ["name", "email"]);
    }
}
