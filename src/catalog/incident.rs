//! What went wrong at a provider: what, how badly, from when to when, where. What proves it is a link, or a document of the provider.

use chrono::{DateTime, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::catalog::provider::{self, parse_link, wants_voided};
use crate::dates::{self, Zone};
use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{IncidentId, ProjectId, ProviderId, TierId};
use crate::locale::Message;
use crate::table::{Cell, Column, Table};
use crate::text::{Line, Name, Note, word_set};
use crate::tx::{Read, Tx};

word_set! {
    /// How bad it was for whoever worked there.
    Severity, "error-severity", {
        /// Noticed, and work went on.
        Minor = "minor", "severity-minor", ["轻微"];
        /// Work was slowed, or a part of it stopped.
        Major = "major", "severity-major", ["严重"];
        /// Nothing ran.
        Outage = "outage", "severity-outage", ["中断"];
    }
}

/// What went wrong at a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Incident {
    /// Its id.
    pub id: IncidentId,
    /// At which provider.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// What happened, in a line.
    pub title: Name,
    /// How bad it was.
    pub severity: Severity,
    /// The tier, where it was one tier's.
    pub tier_id: Option<TierId>,
    /// The tier's name.
    pub tier: Option<String>,
    /// The region, as the provider writes it.
    pub region: Line,
    /// When it began.
    pub starts_at: DateTime<Utc>,
    /// When it was over; nothing while it goes on.
    pub ends_at: Option<DateTime<Utc>>,
    /// Where the provider tells of it.
    pub link: Option<String>,
    /// What else there is to know.
    pub note: Note,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when the ledger knows it.
    pub created_at: DateTime<Utc>,
    /// Since when it counts no more; nothing where it does.
    pub voided_at: Option<DateTime<Utc>>,
    /// Who voided it, by the name of that time.
    pub voided_by: Option<String>,
    /// Why.
    pub void_reason: Option<Line>,
}

impl Audited for Incident {
    const KIND: &'static str = "provider_incident";
    const SHARED: bool = true;

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        format!("{} {}", self.provider, self.title)
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

macro_rules! select_incident {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Incident,
            r#"select i.id as "id: IncidentId", i.provider_id as "provider_id: ProviderId", p.name as provider,
                      i.title as "title: Name", i.severity as "severity: Severity", i.tier_id as "tier_id: TierId",
                      t.name as "tier?", i.region as "region: Line", i.starts_at, i.ends_at, i.link, i.note as "note: Note",
                      i.version, i.created_at, i.voided_at, i.voided_by, i.void_reason as "void_reason: Line"
               from provider_incident i join provider p on p.id = i.provider_id left join tier t on t.id = i.tier_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The incident with this id.
pub async fn get(connection: &mut PgConnection, id: IncidentId) -> Result<Incident> {
    Ok(select_incident!("where i.id = $1", id.0).fetch_one(connection).await?)
}

/// Which incidents a reader wants to see.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IncidentFilter {
    /// Those of one provider.
    pub provider: Option<i64>,
    /// `yes`: those that were voided too.
    pub voided: Option<String>,
}

/// The incidents that match: by provider, the newest first.
pub async fn matching(read: &mut Read, filter: &IncidentFilter) -> Result<Vec<Incident>> {
    let incidents = select_incident!(
        "where ($1::bigint is null or i.provider_id = $1) and ($2 or i.voided_at is null)
         order by p.name, i.starts_at desc, i.id desc",
        filter.provider,
        wants_voided(filter.voided.as_deref())?
    );
    Ok(incidents.fetch_all(read.connection()).await?)
}

/// What a form says of an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentFacts {
    /// See [`Incident::title`].
    pub title: Name,
    /// See [`Incident::severity`].
    pub severity: Severity,
    /// See [`Incident::tier_id`].
    pub tier_id: Option<TierId>,
    /// See [`Incident::region`].
    pub region: Line,
    /// See [`Incident::starts_at`].
    pub starts_at: DateTime<Utc>,
    /// See [`Incident::ends_at`].
    pub ends_at: Option<DateTime<Utc>>,
    /// See [`Incident::link`].
    pub link: Option<String>,
    /// See [`Incident::note`].
    pub note: Note,
}

impl IncidentFacts {
    /// Reads an incident from texts by the names of its fields; moments are those of the zone's clocks.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str, zone: Zone) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let title = errors.take("title", text("title").parse());
        let severity = errors.take("severity", text("severity").parse());
        let starts_at = errors.take("starts_at", dates::parse_moment(text("starts_at"), zone));
        let ends_at = filled("ends_at").map(|value| dates::parse_moment(value, zone)).transpose();
        let ends_at = errors.take("ends_at", ends_at);
        let tier_id = filled("tier").map(|value| value.trim().parse().map_err(|_| unknown_tier())).transpose();
        let tier_id = errors.take("tier", tier_id);
        let region = errors.take("region", text("region").parse());
        let link = errors.take("link", parse_link(text("link"), &["https", "http"], "error-website"));
        let note = errors.take("note", text("note").parse());
        if let (Some(first), Some(Some(last))) = (starts_at, ends_at)
            && last < first
        {
            let message = Message::new("error-incident-order");
            errors.add("ends_at", message.with("first", zone.moment(first)).with("last", zone.moment(last)));
        }
        match (title, severity, starts_at.zip(ends_at), tier_id.zip(region), link, note) {
            (Some(title), Some(severity), Some(times), Some((tier_id, region)), Some(link), Some(note))
                if errors.is_empty() =>
            {
                Ok(Self { title, severity, tier_id, region, starts_at: times.0, ends_at: times.1, link, note })
            }
            _ => Err(errors),
        }
    }
}

fn unknown_tier() -> Message {
    Message::new("error-incident-tier")
}

impl Incident {
    /// Whether it counts.
    pub const fn is_open(&self) -> bool {
        self.voided_at.is_none()
    }

    /// Where it was, as far as one knows: the tier and the region.
    pub fn place(&self) -> String {
        let region = Some(self.region.as_str()).filter(|region| !region.is_empty());
        self.tier.as_deref().into_iter().chain(region).collect::<Vec<_>>().join(" · ")
    }

    /// What a form says of it, as it is now.
    pub fn facts(&self) -> IncidentFacts {
        IncidentFacts {
            title: self.title.clone(),
            severity: self.severity,
            tier_id: self.tier_id,
            region: self.region.clone(),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            link: self.link.clone(),
            note: self.note.clone(),
        }
    }
}

/// Records an incident at a provider.
pub async fn record(tx: &mut Tx, provider: ProviderId, new: &IncidentFacts) -> Result<Incident> {
    tx.allow(Permission::Catalogue, None)?;
    let provider = provider::get(tx.connection(), provider).await?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into provider_incident (provider_id, title, severity, tier_id, region, starts_at, ends_at, link, note, created_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning id as "id: IncidentId""#,
        provider.id.0,
        new.title.as_str(),
        new.severity.as_str(),
        new.tier_id.map(|id| id.0),
        new.region.as_str(),
        new.starts_at,
        new.ends_at,
        new.link,
        new.note.as_str(),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("provider_incident_tier", "tier", unknown_tier)?;
    let incident = get(tx.connection(), id).await?;
    tx.record("provider_incident.recorded", None, &incident).await?;
    Ok(incident)
}

/// The incident, until this transaction ends nobody else's to change.
///
/// # Errors
/// [`Error::Conflict`] where it was voided.
async fn hold(tx: &mut Tx, id: IncidentId) -> Result<Incident> {
    let incident = select_incident!("where i.id = $1 for update of i", id.0).fetch_one(tx.connection()).await?;
    if incident.is_open() { Ok(incident) } else { Err(Error::Conflict(Message::new("error-incident-voided"))) }
}

/// Changes an incident; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: IncidentId, version: i32, new: &IncidentFacts) -> Result<Incident> {
    tx.allow(Permission::Catalogue, None)?;
    let before = hold(tx, id).await?;
    tx.same_version(before.version, version)?;
    if before.facts() == *new {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update provider_incident set title = $2, severity = $3, tier_id = $4, region = $5, starts_at = $6, ends_at = $7, link = $8,
                note = $9, version = version + 1 where id = $1",
        id.0,
        new.title.as_str(),
        new.severity.as_str(),
        new.tier_id.map(|id| id.0),
        new.region.as_str(),
        new.starts_at,
        new.ends_at,
        new.link,
        new.note.as_str(),
    )
    .execute(tx.connection())
    .await
    .on_constraint("provider_incident_tier", "tier", unknown_tier)?;
    let after = get(tx.connection(), id).await?;
    tx.record("provider_incident.changed", Some(&before), &after).await?;
    Ok(after)
}

/// Voids an incident that was none: it stays in the list, and counts no more.
///
/// # Errors
/// [`Error::Conflict`] where it was voided before.
pub async fn void(tx: &mut Tx, id: IncidentId, reason: &Line) -> Result<Incident> {
    tx.allow(Permission::Catalogue, None)?;
    let before = hold(tx, id).await?;
    let (now, name) = (tx.now(), tx.actor().name.clone());
    sqlx::query!(
        "update provider_incident set voided_at = $2, voided_by = $3, void_reason = $4, version = version + 1 where id = $1",
        id.0,
        now,
        name,
        reason.as_str()
    )
    .execute(tx.connection())
    .await?;
    let after = get(tx.connection(), id).await?;
    tx.record("provider_incident.voided", Some(&before), &after).await?;
    Ok(after)
}

/// The list as a file.
pub static TABLE: Table<Incident> = Table {
    name: "incidents",
    title: "catalog-incidents",
    columns: &[
        Column::new("id", "catalog-id", |incident| incident.id.0.into()),
        Column::new("provider", "catalog-provider", |incident| (&incident.provider).into()),
        Column::new("title", "catalog-incident-title", |incident| incident.title.as_str().into()),
        Column::new("severity", "catalog-severity", |incident| Cell::Word {
            code: incident.severity.as_str().into(),
            words: incident.severity.words(),
        }),
        Column::new("starts_at", "catalog-starts-at", |incident| incident.starts_at.into()),
        Column::new("ends_at", "catalog-ends-at", |incident| incident.ends_at.into()),
        Column::new("tier", "catalog-tier", |incident| incident.tier.as_ref().into()),
        Column::new("region", "catalog-region", |incident| incident.region.as_str().into()),
        Column::new("link", "catalog-link", |incident| incident.link.as_ref().into()),
        Column::new("note", "catalog-note", |incident| incident.note.as_str().into()),
        Column::new("voided_at", "catalog-voided-at", |incident| incident.voided_at.into()),
        Column::new("voided_by", "catalog-voided-by", |incident| incident.voided_by.as_ref().into()),
        Column::new("void_reason", "catalog-void-reason", |incident| {
            incident.void_reason.as_ref().map(Line::as_str).into()
        }),
    ],
};

/// All that match, in batches, for a file: there is one, because a catalogue is short.
pub fn batches(mut read: Read, filter: IncidentFilter) -> impl Stream<Item = Result<Vec<Incident>>> + Send {
    stream::once(async move { matching(&mut read, &filter).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&'static str, &'static str)]) -> Result<IncidentFacts, Vec<(String, &'static str)>> {
        let text = |name: &str| pairs.iter().find(|(field, _)| *field == name).map_or("", |(_, value)| value);
        IncidentFacts::parse(&text, Zone::default())
            .map_err(|errors| errors.0.into_iter().map(|it| (it.field.into_owned(), it.message.key)).collect())
    }

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        let names =
            "id provider title severity starts_at ends_at tier region link note voided_at voided_by void_reason";
        assert_eq!(TABLE.names(), names.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn an_incident_needs_to_be_said_rated_and_begun() {
        let begun = [("title", "掉卡"), ("severity", "outage"), ("starts_at", "2026-03-01T22:10")];
        let facts = parse(&begun).unwrap();
        assert_eq!((facts.severity, facts.ends_at, facts.tier_id), (Severity::Outage, None, None));
        assert_eq!(facts.starts_at.to_rfc3339(), "2026-03-01T14:10:00+00:00");
        let nothing = parse(&[]).unwrap_err();
        assert_eq!(
            nothing.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(),
            ["title", "severity", "starts_at"]
        );
        let mut wrong = begun.to_vec();
        wrong.extend([("ends_at", "2026-03-01T22:09"), ("tier", "x"), ("link", "javascript:alert(1)")]);
        let expected =
            [("tier", "error-incident-tier"), ("link", "error-website"), ("ends_at", "error-incident-order")];
        assert_eq!(parse(&wrong).unwrap_err(), expected.map(|(field, key)| (field.to_owned(), key)));
    }
}
