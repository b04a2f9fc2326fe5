//! Who rents compute to us. Own hardware is a provider too.

use chrono::{DateTime, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::error::{FieldErrors, OnConstraint as _, Result};
use crate::ids::{ProjectId, ProviderId};
use crate::locale::Message;
use crate::table::{Column, Table};
use crate::text::{Line, Name, Note};
use crate::tx::{Read, Tx};

/// Who rents compute to us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provider {
    /// Its id.
    pub id: ProviderId,
    /// What it is called; unique.
    pub name: Name,
    /// Its console or home page.
    pub website: Option<String>,
    /// What else there is to know.
    pub note: String,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

impl Audited for Provider {
    const KIND: &'static str = "provider";
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

macro_rules! select_provider {
    ($where:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Provider,
            r#"select id as "id: ProviderId", name as "name: Name", website, note, version, created_at from provider "# + $where
            $(, $argument)*
        )
    };
}

/// The provider with this id.
pub async fn get(connection: &mut PgConnection, id: ProviderId) -> Result<Provider> {
    Ok(select_provider!("where id = $1", id.0).fetch_one(connection).await?)
}

/// The provider with this name.
pub async fn find_by_name(connection: &mut PgConnection, name: &Name) -> Result<Option<Provider>> {
    Ok(select_provider!("where name = $1", name.as_str()).fetch_optional(connection).await?)
}

/// Every provider, by name.
pub async fn list(read: &mut Read) -> Result<Vec<Provider>> {
    Ok(select_provider!("order by name, id").fetch_all(read.connection()).await?)
}

/// Adds a provider.
pub async fn add(tx: &mut Tx, name: Name) -> Result<Provider> {
    tx.allow(Permission::Catalogue, None)?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into provider (name, created_at) values ($1, $2) returning id as "id: ProviderId""#,
        name.as_str(),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("provider_name", "name", || Message::new("error-provider-taken").with("name", &name))?;
    let provider = get(tx.connection(), id).await?;
    tx.record("provider.added", None, &provider).await?;
    Ok(provider)
}

/// The provider with this name, added where there is none.
pub async fn find_or_add(tx: &mut Tx, name: Name) -> Result<Provider> {
    match find_by_name(tx.connection(), &name).await? {
        Some(provider) => Ok(provider),
        None => add(tx, name).await,
    }
}

/// What an edit may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderFacts {
    /// See [`Provider::name`].
    pub name: Name,
    /// See [`Provider::website`]; an address that begins with `https://` or `http://`.
    pub website: Option<String>,
    /// See [`Provider::note`].
    pub note: String,
}

impl ProviderFacts {
    /// Reads a provider from texts by the names of its fields.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let name = errors.take("name", text("name").parse::<Name>());
        let website = errors.take("website", parse_website(text("website")));
        let note = errors.take("note", text("note").parse::<Note>());
        match (name, website, note) {
            (Some(name), Some(website), Some(note)) => Ok(Self { name, website, note: note.as_str().to_owned() }),
            _ => Err(errors),
        }
    }
}

/// A link is shown on a page, so it must be one to a page: never `javascript:`.
fn parse_website(text: &str) -> Result<Option<String>, Message> {
    let line: Line = text.parse()?;
    if line.is_empty() {
        return Ok(None);
    }
    match url::Url::parse(line.as_str()) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) => Ok(Some(line.as_str().to_owned())),
        _ => Err(Message::new("error-website").with("value", crate::text::excerpt(line.as_str()))),
    }
}

/// Changes a provider; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: ProviderId, version: i32, new: &ProviderFacts) -> Result<Provider> {
    tx.allow(Permission::Catalogue, None)?;
    let before = select_provider!("where id = $1 for update", id.0).fetch_one(tx.connection()).await?;
    tx.same_version(before.version, version)?;
    if (&before.name, &before.website, &before.note) == (&new.name, &new.website, &new.note) {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update provider set name = $2, website = $3, note = $4, version = version + 1 where id = $1",
        id.0,
        new.name.as_str(),
        new.website,
        new.note,
    )
    .execute(tx.connection())
    .await
    .on_constraint("provider_name", "name", || Message::new("error-provider-taken").with("name", &new.name))?;
    let after = get(tx.connection(), id).await?;
    tx.record("provider.changed", Some(&before), &after).await?;
    Ok(after)
}

/// The list as a file.
pub static TABLE: Table<Provider> = Table {
    name: "providers",
    title: "catalog-providers",
    columns: &[
        Column::new("id", "catalog-id", |provider| provider.id.0.into()),
        Column::new("name", "catalog-provider", |provider| provider.name.as_str().into()),
        Column::new("website", "catalog-website", |provider| provider.website.as_ref().into()),
        Column::new("note", "catalog-note", |provider| (&provider.note).into()),
    ],
};

/// All of them, in batches, for a file: there is one, because a catalogue is short.
pub fn batches(mut read: Read) -> impl Stream<Item = Result<Vec<Provider>>> + Send {
    stream::once(async move { list(&mut read).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        assert_eq!(TABLE.names(), ["id", "name", "website", "note"]);
    }

    #[test]
    fn a_website_is_a_link_to_a_page_or_nothing() {
        assert_eq!(parse_website(" https://weitang.example/ ").unwrap().as_deref(), Some("https://weitang.example/"));
        assert_eq!(parse_website("").unwrap(), None);
        for text in ["javascript:alert(1)", "weitang", "data:text/html,x"] {
            assert_eq!(parse_website(text).unwrap_err().key, "error-website", "{text}");
        }
    }
}
