//! Who rents compute to us. Own hardware is a provider too.

use chrono::{DateTime, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{ProjectId, ProviderId};
use crate::locale::Message;
use crate::table::{Column, Table};
use crate::text::{Line, Name, Note, excerpt};
use crate::tx::{Read, Tx};

/// Who rents compute to us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Provider {
    /// Its id.
    pub id: ProviderId,
    /// What it is called; unique without regard to case and width.
    pub name: Name,
    /// Its home page.
    pub website: Option<String>,
    /// Where orders are placed and machines are managed.
    pub portal: Option<String>,
    /// What it promises, in its words.
    pub sla: Note,
    /// When somebody answers.
    pub support_hours: Line,
    /// Where one asks.
    pub support_channel: Line,
    /// Whether it passes on what it rents itself.
    pub second_hand: bool,
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
            r#"select id as "id: ProviderId", name as "name: Name", website, portal, sla as "sla: Note",
                      support_hours as "support_hours: Line", support_channel as "support_channel: Line", second_hand, note, version,
                      created_at
               from provider "# + $where
            $(, $argument)*
        )
    };
}

/// The provider with this id.
pub async fn get(connection: &mut PgConnection, id: ProviderId) -> Result<Provider> {
    Ok(select_provider!("where id = $1", id.0).fetch_one(connection).await?)
}

/// The provider with this name, without regard to case and width.
pub async fn find_by_name(connection: &mut PgConnection, name: &Name) -> Result<Option<Provider>> {
    Ok(select_provider!("where app_name_key(name) = app_name_key($1)", name.as_str())
        .fetch_optional(connection)
        .await?)
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
    /// See [`Provider::portal`]; an address that begins with `https://`: people sign in there.
    pub portal: Option<String>,
    /// See [`Provider::sla`].
    pub sla: Note,
    /// See [`Provider::support_hours`].
    pub support_hours: Line,
    /// See [`Provider::support_channel`].
    pub support_channel: Line,
    /// See [`Provider::second_hand`].
    pub second_hand: bool,
    /// See [`Provider::note`].
    pub note: String,
}

impl ProviderFacts {
    /// Reads a provider from texts by the names of its fields.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let name = errors.take("name", text("name").parse::<Name>());
        let website = errors.take("website", parse_link(text("website"), &["https", "http"], "error-website"));
        let portal = errors.take("portal", parse_link(text("portal"), &["https"], "error-portal"));
        let sla = errors.take("sla", text("sla").parse());
        let support_hours = errors.take("support_hours", text("support_hours").parse());
        let support_channel = errors.take("support_channel", text("support_channel").parse());
        let second_hand = errors.take("second_hand", parse_yes(text("second_hand")));
        let note = errors.take("note", text("note").parse::<Note>());
        let support = support_hours.zip(support_channel);
        match (name, website.zip(portal), sla, support, second_hand, note) {
            (Some(name), Some((website, portal)), Some(sla), Some(support), Some(second_hand), Some(note)) => {
                Ok(Self {
                    name,
                    website,
                    portal,
                    sla,
                    support_hours: support.0,
                    support_channel: support.1,
                    second_hand,
                    note: note.as_str().to_owned(),
                })
            }
            _ => Err(errors),
        }
    }
}

impl Provider {
    /// What an edit may change, as it is now.
    pub fn facts(&self) -> ProviderFacts {
        ProviderFacts {
            name: self.name.clone(),
            website: self.website.clone(),
            portal: self.portal.clone(),
            sla: self.sla.clone(),
            support_hours: self.support_hours.clone(),
            support_channel: self.support_channel.clone(),
            second_hand: self.second_hand,
            note: self.note.clone(),
        }
    }
}

/// Reads the choice of yes or no; nothing chosen is no.
pub(crate) fn parse_yes(text: &str) -> Result<bool, Message> {
    match text {
        "yes" => Ok(true),
        "" | "no" => Ok(false),
        other => Err(Message::new("error-yes-no").with("value", excerpt(other))),
    }
}

/// A link is shown on a page, so it must be one to a page: never `javascript:`.
pub(super) fn parse_link(text: &str, schemes: &[&str], error: &'static str) -> Result<Option<String>, Message> {
    let line: Line = text.parse()?;
    if line.is_empty() {
        return Ok(None);
    }
    match url::Url::parse(line.as_str()) {
        // As a browser reads it: the scheme in small letters, the host in letters that travel.
        Ok(url) if schemes.contains(&url.scheme()) && url.has_host() => Ok(Some(shown_link(line.as_str(), &url))),
        _ => Err(Message::new(error).with("value", excerpt(line.as_str()))),
    }
}

/// As it was typed, but for a scheme in capitals.
fn shown_link(typed: &str, url: &url::Url) -> String {
    if typed.starts_with(url.scheme()) { typed.to_owned() } else { url.to_string() }
}

/// Changes a provider; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: ProviderId, version: i32, new: &ProviderFacts) -> Result<Provider> {
    tx.allow(Permission::Catalogue, None)?;
    let before = select_provider!("where id = $1 for update", id.0).fetch_one(tx.connection()).await?;
    tx.same_version(before.version, version)?;
    if before.facts() == *new {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update provider set name = $2, website = $3, note = $4, portal = $5, sla = $6, support_hours = $7, support_channel = $8,
                second_hand = $9, version = version + 1 where id = $1",
        id.0,
        new.name.as_str(),
        new.website,
        new.note,
        new.portal,
        new.sla.as_str(),
        new.support_hours.as_str(),
        new.support_channel.as_str(),
        new.second_hand,
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
        Column::new("portal", "catalog-portal", |provider| provider.portal.as_ref().into()),
        Column::new("sla", "catalog-sla", |provider| provider.sla.as_str().into()),
        Column::new("support_hours", "catalog-support-hours", |provider| provider.support_hours.as_str().into()),
        Column::new("support_channel", "catalog-support-channel", |provider| provider.support_channel.as_str().into()),
        Column::new("second_hand", "catalog-second-hand", |provider| provider.second_hand.into()),
    ],
};

/// Which things of the catalogue a reader wants to see.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderFilter {
    /// Those of one provider.
    pub provider: Option<i64>,
}

/// Whether a filter asks for what was voided too.
pub(super) fn wants_voided(text: Option<&str>) -> Result<bool> {
    parse_yes(text.unwrap_or_default()).map_err(|message| Error::invalid("voided", message))
}

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
        let names = "id name website note portal sla support_hours support_channel second_hand";
        assert_eq!(TABLE.names(), names.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn a_website_is_a_link_to_a_page_or_nothing() {
        let website = |text| parse_link(text, &["https", "http"], "error-website");
        assert_eq!(website(" https://weitang.example/ ").unwrap().as_deref(), Some("https://weitang.example/"));
        assert_eq!(website("").unwrap(), None);
        for text in ["javascript:alert(1)", "weitang", "data:text/html,x", "https://"] {
            assert_eq!(website(text).unwrap_err().key, "error-website", "{text}");
        }
    }

    #[test]
    fn a_portal_is_only_reached_encrypted() {
        let portal = |text| parse_link(text, &["https"], "error-portal");
        assert_eq!(
            portal("HTTPS://Console.Weitang.example").unwrap().as_deref(),
            Some("https://console.weitang.example/")
        );
        for text in ["http://console.weitang.example", "ftp://x.example", "//x.example"] {
            assert_eq!(portal(text).unwrap_err().key, "error-portal", "{text}");
        }
    }
}
