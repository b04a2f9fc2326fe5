//! What was agreed with a provider: its number, its title, its first and last day. The paper itself is a document.

use std::fmt;

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::catalog::provider::{self, ProviderFilter};
use crate::dates;
use crate::error::{FieldErrors, OnConstraint as _, Result};
use crate::ids::{ContractId, ProjectId, ProviderId};
use crate::locale::Message;
use crate::table::{Column, Table};
use crate::text::{Name, Note};
use crate::tx::{Read, Tx};

/// What was agreed with a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contract {
    /// Its id.
    pub id: ContractId,
    /// With which provider.
    pub provider_id: ProviderId,
    /// The provider's name.
    pub provider: String,
    /// The number on the paper; unique within the provider.
    pub number: Name,
    /// What it is about.
    pub title: Name,
    /// Its first day.
    pub starts_on: NaiveDate,
    /// Its last day, included; an open contract has none.
    pub ends_on: Option<NaiveDate>,
    /// What else there is to know.
    pub note: Note,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when.
    pub created_at: DateTime<Utc>,
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.provider, self.number)
    }
}

impl Audited for Contract {
    const KIND: &'static str = "contract";
    const SHARED: bool = true;

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.to_string()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

macro_rules! select_contract {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Contract,
            r#"select c.id as "id: ContractId", c.provider_id as "provider_id: ProviderId", p.name as provider,
                      c.number as "number: Name", c.title as "title: Name", c.starts_on, c.ends_on, c.note as "note: Note",
                      c.version, c.created_at
               from contract c join provider p on p.id = c.provider_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The contract with this id.
pub async fn get(connection: &mut PgConnection, id: ContractId) -> Result<Contract> {
    Ok(select_contract!("where c.id = $1", id.0).fetch_one(connection).await?)
}

/// The contracts that match: by provider, the newest first.
pub async fn matching(read: &mut Read, filter: &ProviderFilter) -> Result<Vec<Contract>> {
    let contracts = select_contract!(
        "where ($1::bigint is null or c.provider_id = $1) order by p.name, c.starts_on desc, c.id desc",
        filter.provider
    );
    Ok(contracts.fetch_all(read.connection()).await?)
}

/// What a form says of a contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContractFacts {
    /// See [`Contract::number`].
    pub number: Name,
    /// See [`Contract::title`].
    pub title: Name,
    /// See [`Contract::starts_on`].
    pub starts_on: NaiveDate,
    /// See [`Contract::ends_on`].
    pub ends_on: Option<NaiveDate>,
    /// See [`Contract::note`].
    pub note: Note,
}

impl ContractFacts {
    /// Reads a contract from texts by the names of its fields.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let number = errors.take("number", text("number").parse());
        let title = errors.take("title", text("title").parse());
        let starts_on = errors.take("starts_on", dates::parse_date(text("starts_on")));
        let ends_on = Some(text("ends_on")).filter(|day| !day.trim().is_empty()).map(dates::parse_date).transpose();
        let ends_on = errors.take("ends_on", ends_on);
        let note = errors.take("note", text("note").parse());
        if let (Some(first), Some(Some(last))) = (starts_on, ends_on)
            && last < first
        {
            errors.add("ends_on", Message::new("error-contract-days").with("first", first).with("last", last));
        }
        match (number, title, starts_on, ends_on, note) {
            (Some(number), Some(title), Some(starts_on), Some(ends_on), Some(note)) if errors.is_empty() => {
                Ok(Self { number, title, starts_on, ends_on, note })
            }
            _ => Err(errors),
        }
    }
}

impl Contract {
    /// What a form says of it, as it is now.
    pub fn facts(&self) -> ContractFacts {
        ContractFacts {
            number: self.number.clone(),
            title: self.title.clone(),
            starts_on: self.starts_on,
            ends_on: self.ends_on,
            note: self.note.clone(),
        }
    }
}

fn taken(number: &Name) -> Message {
    Message::new("error-contract-taken").with("number", number)
}

/// Records a contract with a provider.
pub async fn add(tx: &mut Tx, provider: ProviderId, new: &ContractFacts) -> Result<Contract> {
    tx.allow(Permission::Catalogue, None)?;
    let provider = provider::get(tx.connection(), provider).await?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into contract (provider_id, number, title, starts_on, ends_on, note, created_at)
           values ($1, $2, $3, $4, $5, $6, $7) returning id as "id: ContractId""#,
        provider.id.0,
        new.number.as_str(),
        new.title.as_str(),
        new.starts_on,
        new.ends_on,
        new.note.as_str(),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("contract_number", "number", || taken(&new.number))?;
    let contract = get(tx.connection(), id).await?;
    tx.record("contract.added", None, &contract).await?;
    Ok(contract)
}

/// Changes a contract; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: ContractId, version: i32, new: &ContractFacts) -> Result<Contract> {
    tx.allow(Permission::Catalogue, None)?;
    let before = select_contract!("where c.id = $1 for update of c", id.0).fetch_one(tx.connection()).await?;
    tx.same_version(before.version, version)?;
    if before.facts() == *new {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update contract set number = $2, title = $3, starts_on = $4, ends_on = $5, note = $6, version = version + 1
         where id = $1",
        id.0,
        new.number.as_str(),
        new.title.as_str(),
        new.starts_on,
        new.ends_on,
        new.note.as_str(),
    )
    .execute(tx.connection())
    .await
    .on_constraint("contract_number", "number", || taken(&new.number))?;
    let after = get(tx.connection(), id).await?;
    tx.record("contract.changed", Some(&before), &after).await?;
    Ok(after)
}

/// The list as a file.
pub static TABLE: Table<Contract> = Table {
    name: "contracts",
    title: "catalog-contracts",
    columns: &[
        Column::new("id", "catalog-id", |contract| contract.id.0.into()),
        Column::new("provider", "catalog-provider", |contract| (&contract.provider).into()),
        Column::new("number", "catalog-number", |contract| contract.number.as_str().into()),
        Column::new("title", "catalog-title", |contract| contract.title.as_str().into()),
        Column::new("starts_on", "catalog-starts-on", |contract| contract.starts_on.into()),
        Column::new("ends_on", "catalog-ends-on", |contract| contract.ends_on.into()),
        Column::new("note", "catalog-note", |contract| contract.note.as_str().into()),
    ],
};

/// All that match, in batches, for a file: there is one, because a catalogue is short.
pub fn batches(mut read: Read, filter: ProviderFilter) -> impl Stream<Item = Result<Vec<Contract>>> + Send {
    stream::once(async move { matching(&mut read, &filter).await })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(starts_on: &'static str, ends_on: &'static str) -> Result<ContractFacts, FieldErrors> {
        ContractFacts::parse(&move |field| match field {
            "number" => "WT-2026-07",
            "title" => "H800 整机",
            "starts_on" => starts_on,
            "ends_on" => ends_on,
            _ => "",
        })
    }

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        assert_eq!(TABLE.names(), ["id", "provider", "number", "title", "starts_on", "ends_on", "note"]);
    }

    #[test]
    fn a_contract_ends_on_its_first_day_or_later_or_never() {
        assert_eq!(parse("2026-01-01", "").unwrap().ends_on, None);
        assert!(parse("2026-01-01", "2026-01-01").is_ok(), "both days are included");
        let wrong = parse("2026-01-02", "2026-01-01").unwrap_err();
        assert_eq!((wrong.0.len(), wrong.0[0].field.as_ref()), (1, "ends_on"));
        assert_eq!(parse("", "x").unwrap_err().0.len(), 2);
    }
}
