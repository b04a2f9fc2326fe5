//! The organisation: one installation serves one, and its zone decides every day.

use chrono::NaiveTime;
use serde::Serialize;
use sqlx::PgConnection;

use crate::audit::Audited;
use crate::dates::{Steps, Zone};
use crate::error::{Error, Result};
use crate::ids::ProjectId;
use crate::locale::{Locale, Message};
use crate::money::Currency;
use crate::text::Name;
use crate::tx::Tx;

/// The organisation's own settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Organisation {
    /// Its name, at the head of mails and exports.
    pub name: String,
    /// The zone of every day: terms, deadlines, months.
    pub zone: Zone,
    /// The house currency of totals.
    pub currency: Currency,
    /// The language of exports, and of people who chose none.
    #[serde(serialize_with = "locale_tag")]
    pub locale: Locale,
    /// Reminders leave at this local time.
    pub send_at: NaiveTime,
    /// Days before a deadline on which one reminder goes out.
    pub reminder_steps: Steps,
    /// The version an edit starts from.
    pub version: i32,
}

/// What an administrator may change.
#[derive(Debug, Clone)]
pub struct NewOrganisation {
    /// See [`Organisation::name`].
    pub name: Name,
    /// See [`Organisation::zone`].
    pub zone: Zone,
    /// See [`Organisation::currency`].
    pub currency: Currency,
    /// See [`Organisation::locale`].
    pub locale: Locale,
    /// See [`Organisation::send_at`].
    pub send_at: NaiveTime,
    /// See [`Organisation::reminder_steps`].
    pub reminder_steps: Steps,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn locale_tag<S: serde::Serializer>(locale: &Locale, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(locale.tag())
}

impl Audited for Organisation {
    const KIND: &'static str = "organisation";
    const SHARED: bool = true;

    fn audit_id(&self) -> i64 {
        1
    }

    fn audit_name(&self) -> String {
        self.name.clone()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

macro_rules! select_organisation {
    ($connection:expr, $rest:literal) => {{
        let row = sqlx::query!(
            r#"select name, zone, currency, locale, send_at, reminder_steps as "reminder_steps: Steps", version
               from organisation where id = 1 "#
                + $rest
        )
        .fetch_optional($connection)
        .await?
        .ok_or_else(|| Error::internal("the organisation's row is missing: run `rentroll migrate`"))?;
        let zone = row.zone.parse();
        Ok(Organisation {
            name: row.name,
            zone: zone.map_err(|_| Error::internal(format!("unknown zone {:?} in organisation", row.zone)))?,
            currency: row.currency.parse().map_err(|message: Message| Error::internal(message))?,
            locale: row.locale.parse().map_err(|message: Message| Error::internal(message))?,
            send_at: row.send_at,
            reminder_steps: row.reminder_steps,
            version: row.version,
        })
    }};
}

/// Reads the settings.
pub async fn get(connection: &mut PgConnection) -> Result<Organisation> {
    select_organisation!(connection, "")
}

/// The settings, which nobody else changes until this transaction ends.
async fn get_for_update(tx: &mut Tx) -> Result<Organisation> {
    select_organisation!(tx.connection(), "for update")
}

/// Makes the organisation's row on an empty database, with the first values of the configuration.
pub async fn ensure(connection: &mut PgConnection, first: &NewOrganisation) -> Result<bool> {
    let made = sqlx::query!(
        "insert into organisation (id, name, zone, currency, locale, send_at, reminder_steps)
         values (1, $1, $2, $3, $4, $5, $6) on conflict do nothing",
        first.name.as_str(),
        first.zone.as_str(),
        first.currency.as_str(),
        first.locale.tag(),
        first.send_at,
        first.reminder_steps.days(),
    )
    .execute(connection)
    .await?;
    Ok(made.rows_affected() == 1)
}

/// Changes the settings; `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, version: i32, new: NewOrganisation) -> Result<Organisation> {
    tx.allow(crate::actor::Permission::Administer, None)?;
    let before = get_for_update(tx).await?;
    tx.same_version(before.version, version)?;
    let after = Organisation {
        name: new.name.to_string(),
        zone: new.zone,
        currency: new.currency,
        locale: new.locale,
        send_at: new.send_at,
        reminder_steps: new.reminder_steps,
        version: before.version + 1,
    };
    if (Organisation { version: before.version, ..after.clone() }) == before {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update organisation set name = $1, zone = $2, currency = $3, locale = $4, send_at = $5, reminder_steps = $6,
         version = version + 1 where id = 1",
        after.name,
        after.zone.as_str(),
        after.currency.as_str(),
        after.locale.tag(),
        after.send_at,
        after.reminder_steps.days(),
    )
    .execute(tx.connection())
    .await?;
    tx.record("organisation.changed", Some(&before), &after).await?;
    Ok(after)
}
