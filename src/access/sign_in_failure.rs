//! Failed sign-ins, counted per account and per network in the database, so that all instances count together. Those of a
//! browser in which the person has signed in before are counted apart from all others: a stranger who tries the same address
//! makes strangers wait, not its owner.
//!
//! A try is counted before the password is looked at and taken back when it was right: a thousand tries at once are
//! counted as a thousand. Accounts that do not exist are counted like those that do.

use chrono::{DateTime, TimeDelta, Utc};

use super::device;
use super::session::Client;
use super::token;
use crate::error::{Error, Result};
use crate::limits;
use crate::locale::Message;
use crate::tx::Tx;

/// A try that counts as failed until it is forgiven.
#[derive(Debug, Clone)]
pub struct Try {
    /// The account, or the person's own browser.
    who: String,
    network: Option<String>,
    at: DateTime<Utc>,
}

/// Counts a try, or refuses it where there were too many. What is typed as an address may be a password, so only a hash of
/// it is kept. In a machine unit of work; commit it before the password is checked.
pub async fn count(tx: &mut Tx, address: &str, client: &Client) -> Result<Try> {
    let (who, network) = match own_device(tx, address, client).await? {
        Some(device) => (format!("device:{}", hex::encode(&device[..16])), None),
        None => (
            format!("account:{}", hex::encode(&token::hash_of(&address.trim().to_lowercase())[..16])),
            client.network().map(|network| format!("network:{network}")),
        ),
    };
    let at = tx.now();
    within(tx, &who, limits::SIGN_IN_FAILURES_OF_ACCOUNT).await?;
    if let Some(network) = &network {
        within(tx, network, limits::SIGN_IN_FAILURES_OF_NETWORK).await?;
    }
    for subject in [Some(&who), network.as_ref()].into_iter().flatten() {
        sqlx::query!("insert into sign_in_failure (subject, at) values ($1, $2)", subject, at)
            .execute(tx.connection())
            .await?;
    }
    Ok(Try { who, network, at })
}

/// Counts a wish for a link to choose another password, or refuses it where there were too many of one address or network.
pub async fn count_asked(tx: &mut Tx, address: &str, client: &Client) -> Result<()> {
    let hash = token::hash_of(&address.trim().to_lowercase());
    let account = (format!("forgotten:{}", hex::encode(&hash[..16])), limits::FORGOTTEN_OF_ACCOUNT);
    let network = client.network().map(|it| (format!("forgotten-network:{it}"), limits::FORGOTTEN_OF_NETWORK));
    let at = tx.now();
    for (subject, most) in [Some(account), network].into_iter().flatten() {
        within(tx, &subject, most).await?;
        sqlx::query!("insert into sign_in_failure (subject, at) values ($1, $2)", subject, at)
            .execute(tx.connection())
            .await?;
    }
    Ok(())
}

/// The browser's token, where the person whose address it is has signed in there before.
async fn own_device<'a>(tx: &mut Tx, address: &str, client: &'a Client) -> Result<Option<&'a [u8]>> {
    let (Some(device), Ok(email)) = (&client.device, address.parse()) else { return Ok(None) };
    Ok(device::is_known(tx, device, &email).await?.then_some(device.as_slice()))
}

/// Refuses where a subject has failed too often, and says how long to wait. Tries of one subject wait for each other here:
/// the accounts' locks are always taken before the networks'.
async fn within(tx: &mut Tx, subject: &str, most: i64) -> Result<()> {
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended($1, 0))", subject).execute(tx.connection()).await?;
    let now = tx.now();
    // The failure that must grow old before the next try.
    let oldest = sqlx::query_scalar!(
        "select min(at) from (select at from sign_in_failure where subject = $1 and at > $2 order by at desc limit $3) last
         having count(*) >= $3",
        subject,
        now - limits::SIGN_IN_WINDOW,
        most,
    )
    .fetch_optional(tx.connection())
    .await?
    .flatten();
    let Some(oldest) = oldest else { return Ok(()) };
    let wait = oldest + limits::SIGN_IN_WINDOW - now;
    let minutes = (wait + TimeDelta::seconds(59)).num_minutes().max(1);
    Err(Error::invalid("", Message::new("error-sign-in-too-often").with("minutes", minutes)))
}

/// Takes a try back that was right, and forgets the earlier failures of the account, or of the person's own browser.
pub async fn forgive(tx: &mut Tx, right: &Try) -> Result<()> {
    sqlx::query!(
        "delete from sign_in_failure where subject = $1 or (subject = $2 and at = $3)",
        right.who,
        right.network,
        right.at,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}
