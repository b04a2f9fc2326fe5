//! One offer of a provider: region, rental form, hardware. Form and class keep two offers of the same GPU apart.

use chrono::{DateTime, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::catalog::provider::ProviderFilter;
use crate::error::{FieldErrors, OnConstraint as _, Result};
use crate::ids::{ProjectId, ProviderId, TierId};
use crate::limits;
use crate::locale::Message;
use crate::table::{Cell, Column, Table};
use crate::text::{Line, Name, Note, excerpt, word_set};
use crate::tx::{Read, Tx};

word_set! {
    /// The form of rent.
    Form, "error-rental-form", {
        /// Whole machines.
        BareMetal = "bare_metal", "form-bare-metal", ["裸金属整机", "整机", "裸金属"];
        /// Single cards.
        Card = "card", "form-card", ["按卡"];
        /// Calls of a service.
        Service = "service", "form-service", ["服务化调用"];
        /// Our own hardware.
        Owned = "owned", "form-owned", ["自有"];
    }
}

word_set! {
    /// How an offer is billed.
    BillingMode, "error-billing-mode", {
        /// By the hour.
        Hourly = "hourly", "billing-hourly", ["按小时"];
        /// By the month.
        Monthly = "monthly", "billing-monthly", ["包月"];
        /// By use.
        Usage = "usage", "billing-usage", ["按用量"];
        /// Reserved for a longer time.
        Reserved = "reserved", "billing-reserved", ["预留"];
        /// What is left, as long as it is left.
        Spot = "spot", "billing-spot", ["竞价"];
    }
}

/// One offer of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tier {
    /// Its id.
    pub id: TierId,
    /// Whose offer it is.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// What the offer is called; unique within the provider, without regard to case and width.
    pub name: Name,
    /// The form of rent; nothing until somebody says.
    pub form: Option<Form>,
    /// How it is billed; nothing until somebody says.
    pub billing_mode: Option<BillingMode>,
    /// For example `H800`.
    pub gpu_model: Option<String>,
    /// GPUs in one unit of the tier.
    pub gpu_count: Option<i32>,
    /// Memory of one GPU.
    pub gpu_memory_gb: Option<i32>,
    /// For example `3,200 Gb/s`.
    pub interconnect: Option<String>,
    /// Where it stands, as the provider writes it.
    pub region: Option<String>,
    /// What more of it costs, and under which conditions.
    pub expansion_terms: Note,
    /// Whom to ask for more, and how.
    pub expansion_procedure: Note,
    /// Days from the order to the first use.
    pub ready_days: Option<i32>,
    /// What else there is to know.
    pub note: String,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

impl Audited for Tier {
    const KIND: &'static str = "tier";
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

macro_rules! select_tier {
    ($where:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Tier,
            r#"select t.id as "id: TierId", t.provider_id as "provider_id: ProviderId", p.name as provider,
                      t.name as "name: Name", t.form as "form: Form", t.billing_mode as "billing_mode: BillingMode", t.gpu_model, t.gpu_count, t.gpu_memory_gb,
                      t.interconnect, t.region, t.expansion_terms as "expansion_terms: Note",
                      t.expansion_procedure as "expansion_procedure: Note", t.ready_days, t.note, t.version, t.created_at
               from tier t join provider p on p.id = t.provider_id "# + $where
            $(, $argument)*
        )
    };
}

/// The tier with this id.
pub async fn get(connection: &mut PgConnection, id: TierId) -> Result<Tier> {
    Ok(select_tier!("where t.id = $1", id.0).fetch_one(connection).await?)
}

/// The provider's tier with this name, without regard to case and width.
pub async fn find_by_name(connection: &mut PgConnection, provider: ProviderId, name: &Name) -> Result<Option<Tier>> {
    let found =
        select_tier!("where t.provider_id = $1 and app_name_key(t.name) = app_name_key($2)", provider.0, name.as_str());
    Ok(found.fetch_optional(connection).await?)
}

/// Every tier, by provider and name.
pub async fn list(read: &mut Read) -> Result<Vec<Tier>> {
    Ok(select_tier!("order by p.name, t.name, t.id").fetch_all(read.connection()).await?)
}

/// Adds a tier of which only the name is known; the rest is edited later.
pub async fn add(tx: &mut Tx, provider: ProviderId, name: Name) -> Result<Tier> {
    tx.allow(Permission::Catalogue, None)?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into tier (provider_id, name, created_at) values ($1, $2, $3) returning id as "id: TierId""#,
        provider.0,
        name.as_str(),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("tier_name", "name", || Message::new("error-tier-taken").with("name", &name))?;
    let tier = get(tx.connection(), id).await?;
    tx.record("tier.added", None, &tier).await?;
    Ok(tier)
}

/// The provider's tier with this name, added where there is none.
pub async fn find_or_add(tx: &mut Tx, provider: ProviderId, name: Name) -> Result<Tier> {
    match find_by_name(tx.connection(), provider, &name).await? {
        Some(tier) => Ok(tier),
        None => add(tx, provider, name).await,
    }
}

/// What an edit may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierFacts {
    /// See [`Tier::name`].
    pub name: Name,
    /// See [`Tier::form`].
    pub form: Option<Form>,
    /// See [`Tier::billing_mode`].
    pub billing_mode: Option<BillingMode>,
    /// See [`Tier::gpu_model`].
    pub gpu_model: Option<String>,
    /// See [`Tier::gpu_count`].
    pub gpu_count: Option<i32>,
    /// See [`Tier::gpu_memory_gb`].
    pub gpu_memory_gb: Option<i32>,
    /// See [`Tier::interconnect`].
    pub interconnect: Option<String>,
    /// See [`Tier::region`].
    pub region: Option<String>,
    /// See [`Tier::expansion_terms`].
    pub expansion_terms: Note,
    /// See [`Tier::expansion_procedure`].
    pub expansion_procedure: Note,
    /// See [`Tier::ready_days`].
    pub ready_days: Option<i32>,
    /// See [`Tier::note`].
    pub note: String,
}

impl TierFacts {
    /// Reads a tier from texts by the names of its fields.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let mut line = |name: &'static str| {
            let value = errors.take(name, text(name).parse::<Line>());
            value.filter(|line| !line.is_empty()).map(|line| line.as_str().to_owned())
        };
        let (gpu_model, interconnect, region) = (line("gpu_model"), line("interconnect"), line("region"));
        let name = errors.take("name", text("name").parse::<Name>());
        let form = filled("form").and_then(|value| errors.take("form", value.parse()));
        let billing_mode = filled("billing_mode").and_then(|value| errors.take("billing_mode", value.parse()));
        let gpu_count = filled("gpu_count").and_then(|value| errors.take("gpu_count", parse_count(value)));
        let gpu_memory_gb = filled("gpu_memory_gb").and_then(|value| errors.take("gpu_memory_gb", parse_count(value)));
        let terms = errors.take("expansion_terms", text("expansion_terms").parse());
        let procedure = errors.take("expansion_procedure", text("expansion_procedure").parse());
        let ready_days = filled("ready_days").and_then(|value| errors.take("ready_days", parse_days(value)));
        let note = errors.take("note", text("note").parse::<Note>());
        match (name, terms, procedure, note) {
            (Some(name), Some(expansion_terms), Some(expansion_procedure), Some(note)) if errors.is_empty() => {
                Ok(Self {
                    name,
                    form,
                    billing_mode,
                    gpu_model,
                    gpu_count,
                    gpu_memory_gb,
                    interconnect,
                    region,
                    expansion_terms,
                    expansion_procedure,
                    ready_days,
                    note: note.as_str().to_owned(),
                })
            }
            _ => Err(errors),
        }
    }
}

fn parse_count(text: &str) -> Result<i32, Message> {
    let count = text.trim().parse::<i32>().ok().filter(|count| (1..=1_000_000).contains(count));
    count.ok_or_else(|| Message::new("error-count").with("value", excerpt(text.trim())))
}

/// Ready on the same day is zero; nothing takes longer than the notice of a contract.
fn parse_days(text: &str) -> Result<i32, Message> {
    let most = i32::from(limits::NOTICE_DAYS);
    let days = text.trim().parse::<i32>().ok().filter(|days| (0..=most).contains(days));
    days.ok_or_else(|| Message::new("error-ready-days").with("value", excerpt(text.trim())).with("most", most))
}

impl Tier {
    /// What an edit may change, as it is now.
    pub fn facts(&self) -> TierFacts {
        TierFacts {
            name: self.name.clone(),
            form: self.form,
            billing_mode: self.billing_mode,
            gpu_model: self.gpu_model.clone(),
            gpu_count: self.gpu_count,
            gpu_memory_gb: self.gpu_memory_gb,
            interconnect: self.interconnect.clone(),
            region: self.region.clone(),
            expansion_terms: self.expansion_terms.clone(),
            expansion_procedure: self.expansion_procedure.clone(),
            ready_days: self.ready_days,
            note: self.note.clone(),
        }
    }
}

/// Changes a tier; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: TierId, version: i32, new: &TierFacts) -> Result<Tier> {
    tx.allow(Permission::Catalogue, None)?;
    let before = select_tier!("where t.id = $1 for update of t", id.0).fetch_one(tx.connection()).await?;
    tx.same_version(before.version, version)?;
    if before.facts() == *new {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update tier set name = $2, form = $3, billing_mode = $4, gpu_model = $5, gpu_count = $6, gpu_memory_gb = $7,
                interconnect = $8, region = $9, note = $10, expansion_terms = $11, expansion_procedure = $12, ready_days = $13,
                version = version + 1 where id = $1",
        id.0,
        new.name.as_str(),
        new.form.map(Form::as_str),
        new.billing_mode.map(BillingMode::as_str),
        new.gpu_model,
        new.gpu_count,
        new.gpu_memory_gb,
        new.interconnect,
        new.region,
        new.note,
        new.expansion_terms.as_str(),
        new.expansion_procedure.as_str(),
        new.ready_days,
    )
    .execute(tx.connection())
    .await
    .on_constraint("tier_name", "name", || Message::new("error-tier-taken").with("name", &new.name))?;
    let after = get(tx.connection(), id).await?;
    tx.record("tier.changed", Some(&before), &after).await?;
    Ok(after)
}

/// The list as a file.
pub static TABLE: Table<Tier> = Table {
    name: "tiers",
    title: "catalog-tiers",
    columns: &[
        Column::new("id", "catalog-id", |tier| tier.id.0.into()),
        Column::new("provider", "catalog-provider", |tier| (&tier.provider).into()),
        Column::new("name", "catalog-tier", |tier| tier.name.as_str().into()),
        Column::new("form", "catalog-form", |tier| {
            tier.form.map_or(Cell::Empty, |form| Cell::Word { code: form.as_str().into(), words: form.words() })
        }),
        Column::new("billing_mode", "catalog-billing-mode", |tier| {
            tier.billing_mode.map_or(Cell::Empty, |mode| Cell::Word { code: mode.as_str().into(), words: mode.words() })
        }),
        Column::new("gpu_model", "catalog-gpu-model", |tier| tier.gpu_model.as_ref().into()),
        Column::new("gpu_count", "catalog-gpu-count", |tier| tier.gpu_count.into()),
        Column::new("gpu_memory_gb", "catalog-gpu-memory", |tier| tier.gpu_memory_gb.into()),
        Column::new("interconnect", "catalog-interconnect", |tier| tier.interconnect.as_ref().into()),
        Column::new("region", "catalog-region", |tier| tier.region.as_ref().into()),
        Column::new("note", "catalog-note", |tier| (&tier.note).into()),
        Column::new("expansion_terms", "catalog-expansion-terms", |tier| tier.expansion_terms.as_str().into()),
        Column::new("expansion_procedure", "catalog-expansion-procedure", |tier| {
            tier.expansion_procedure.as_str().into()
        }),
        Column::new("ready_days", "catalog-ready-days", |tier| tier.ready_days.into()),
    ],
};

/// The tiers that match, by provider and name.
pub async fn matching(read: &mut Read, filter: &ProviderFilter) -> Result<Vec<Tier>> {
    let tiers =
        select_tier!("where ($1::bigint is null or t.provider_id = $1) order by p.name, t.name, t.id", filter.provider);
    Ok(tiers.fetch_all(read.connection()).await?)
}

/// All that match, in batches, for a file: there is one, because a catalogue is short.
pub fn batches(mut read: Read, filter: ProviderFilter) -> impl Stream<Item = Result<Vec<Tier>>> + Send {
    stream::once(async move { matching(&mut read, &filter).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        let names = "id provider name form billing_mode gpu_model gpu_count gpu_memory_gb interconnect region note \
            expansion_terms expansion_procedure ready_days";
        assert_eq!(TABLE.names(), names.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn a_tier_is_ready_on_the_same_day_or_within_two_years() {
        assert_eq!(parse_days(" 0 "), Ok(0));
        for text in ["-1", "731", "soon", "1.5"] {
            assert_eq!(parse_days(text).unwrap_err().key, "error-ready-days", "{text}");
        }
    }
}
