//! A browser that is signed in. Who it is, is looked up at every request in `web::session`.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use super::token::Token;
use super::user::User;
use crate::actor::Permission;
use crate::audit::{Audited as _, Change, Object};
use crate::error::Result;
use crate::ids::UserId;
use crate::limits;
use crate::tx::Tx;

/// Where somebody signs in from.
#[derive(Debug, Clone)]
pub struct Client {
    /// What the browser calls itself, in one clean line.
    pub user_agent: String,
    /// The network address, where it is known.
    pub address: Option<IpAddr>,
    /// Joins the entries of this request in the history.
    pub request_id: Uuid,
    /// Hash of the token that the browser came with: that session ends when another begins.
    pub session: Option<Vec<u8>>,
    /// Hash of the token of a browser in which somebody signed in before.
    pub device: Option<Vec<u8>>,
}

impl Client {
    /// The network of the address: /24, or /64. An attacker has the whole of it.
    pub fn network(&self) -> Option<String> {
        let network = match self.address?.to_canonical() {
            IpAddr::V4(address) => ipnet::IpNet::new(address.into(), 24),
            IpAddr::V6(address) => ipnet::IpNet::new(address.into(), 64),
        };
        network.ok().map(|network| network.trunc().to_string())
    }
}

/// One signed-in browser of a person, as the account page lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Hash of its token: names it, and signs nobody in.
    pub token_hash: Vec<u8>,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// Its last request, to five minutes.
    pub seen_at: DateTime<Utc>,
    /// What the browser calls itself.
    pub user_agent: String,
    /// Where it signed in from.
    pub address: String,
}

impl Session {
    /// Its name in forms.
    pub fn name(&self) -> String {
        hex::encode(&self.token_hash)
    }

    /// Browser and system in short: `Firefox, Linux`.
    pub fn device(&self) -> String {
        device(&self.user_agent)
    }
}

/// Browser and system out of what a browser calls itself. All claim to be others too, so the order decides.
fn device(user_agent: &str) -> String {
    const BROWSERS: &[(&str, &str)] = &[
        ("MicroMessenger/", "WeChat"),
        ("Edg/", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
    ];
    const SYSTEMS: &[(&str, &str)] = &[
        ("Windows", "Windows"),
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let find = |names: &[(&'static str, &'static str)]| {
        names.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    match (find(BROWSERS), find(SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser}, {system}"),
        _ => crate::text::excerpt(user_agent),
    }
}

/// Begins a session under a new token, always: a token that was there before signing in dies (case P06). A person has at
/// most ten; the oldest ends.
pub async fn begin(tx: &mut Tx, user: UserId, client: &Client) -> Result<Token> {
    let (now, token) = (tx.now(), Token::random()?);
    if let Some(before) = &client.session {
        sqlx::query!("delete from session where token_hash = $1", before).execute(tx.connection()).await?;
    }
    sqlx::query!(
        "insert into session (token_hash, user_id, created_at, seen_at, user_agent, address) values ($1, $2, $3, $3, $4, $5)",
        token.hash(),
        user.0,
        now,
        client.user_agent,
        client.address.map(|address| address.to_string()).unwrap_or_default(),
    )
    .execute(tx.connection())
    .await?;
    sqlx::query!(
        "delete from session where user_id = $1 and token_hash <> $3 and token_hash not in
         (select token_hash from session where user_id = $1 and token_hash <> $3 order by created_at desc, token_hash limit $2)",
        user.0,
        limits::SESSIONS - 1,
        token.hash(),
    )
    .execute(tx.connection())
    .await?;
    Ok(token)
}

/// The sessions of a person that have not ended, the last used first.
pub async fn list(connection: &mut PgConnection, user: UserId, now: DateTime<Utc>) -> Result<Vec<Session>> {
    Ok(sqlx::query_as!(
        Session,
        "select token_hash, created_at, seen_at, user_agent, address from session
         where user_id = $1 and created_at >= $2 and seen_at >= $3 order by seen_at desc, token_hash",
        user.0,
        now - limits::SESSION_TIME,
        now - limits::SESSION_IDLE_TIME,
    )
    .fetch_all(connection)
    .await?)
}

/// Ends one session of a person. One that has ended already stays so.
pub async fn end(tx: &mut Tx, user: UserId, token_hash: &[u8]) -> Result<()> {
    sqlx::query!("delete from session where token_hash = $1 and user_id = $2", token_hash, user.0)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Which sessions of a person are ended on purpose.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    /// The one with this hash of its token.
    One(&'a [u8]),
    /// All but the one with this hash.
    AllBut(&'a [u8]),
}

/// Ends sessions of a person because the actor wants it: the person, or an administrator. The history says how many.
pub async fn revoke(tx: &mut Tx, user: &User, which: Which<'_>) -> Result<()> {
    if tx.actor().user != Some(user.id) {
        tx.allow(Permission::Administer, None)?;
    }
    let (one, but) = match which {
        Which::One(hash) => (Some(hash), None),
        Which::AllBut(hash) => (None, Some(hash)),
    };
    let ended = sqlx::query!(
        "delete from session where user_id = $1
         and ($2::bytea is null or token_hash = $2) and ($3::bytea is null or token_hash <> $3)",
        user.id.0,
        one,
        but,
    )
    .execute(tx.connection())
    .await?
    .rows_affected();
    if ended == 0 {
        tx.unchanged();
        return Ok(());
    }
    let (id, name) = (Some(user.id.0), user.name.clone());
    let object = Object { kind: User::KIND, id, name, project: None, shared: false };
    let after = json!({ "sessions": ended });
    tx.record_change(Change { action: "user.sessions_ended", object, before: None, after }).await
}

/// Ends every session of a person: after another password, another role, or the end of the log-in (case P07).
pub async fn end_all(tx: &mut Tx, user: UserId) -> Result<()> {
    sqlx::query!("delete from session where user_id = $1", user.0).execute(tx.connection()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_what_one_attacker_has_of_it() {
        let network = |address: &str| {
            let address = Some(address.parse().unwrap());
            Client { user_agent: String::new(), address, request_id: Uuid::nil(), session: None, device: None }
                .network()
                .unwrap()
        };
        assert_eq!(network("203.0.113.77"), "203.0.113.0/24");
        assert_eq!(network("::ffff:203.0.113.9"), "203.0.113.0/24");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    }

    #[test]
    fn a_device_is_named_as_its_owner_would() {
        let chrome =
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36";
        assert_eq!(device(chrome), "Chrome, Linux");
        assert_eq!(device("curl/8.5"), "curl/8.5");
    }
}
