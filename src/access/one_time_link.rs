//! A link that works once: to set up the first administrator, to choose a password. Only the hash of its token is kept.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use super::token::{self, Token};
use super::user;
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::limits;
use crate::tx::Tx;

/// What a link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Sets up the first administrator; worthless once any user exists.
    SetUp,
    /// Lets this user choose a password.
    ChoosePassword(UserId),
}

impl Purpose {
    /// As it is stored.
    const fn code(self) -> &'static str {
        match self {
            Self::SetUp => "set_up",
            Self::ChoosePassword(_) => "choose_password",
        }
    }

    const fn user(self) -> Option<UserId> {
        match self {
            Self::SetUp => None,
            Self::ChoosePassword(user) => Some(user),
        }
    }
}

/// A link that was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// What it is for.
    pub purpose: Purpose,
    /// Until when it works.
    pub expires_at: DateTime<Utc>,
    /// When it was used.
    pub used_at: Option<DateTime<Utc>>,
}

impl Link {
    /// Whether it still works.
    pub fn is_open(&self, now: DateTime<Utc>) -> bool {
        self.used_at.is_none() && now < self.expires_at
    }
}

/// A new set-up link; older ones die. `None` once there is a user. In a machine unit of work.
pub async fn issue_set_up(tx: &mut Tx) -> Result<Option<Token>> {
    if user::any(tx.connection()).await? {
        return Ok(None);
    }
    sqlx::query!("delete from one_time_link where purpose = 'set_up'").execute(tx.connection()).await?;
    let time = TimeDelta::from_std(limits::SETUP_LINK_TIME).map_err(Error::internal)?;
    issue(tx, Purpose::SetUp, time).await.map(Some)
}

/// A new link with which a user chooses a password, for 72 hours; the user's older ones die.
pub async fn issue_choose_password(tx: &mut Tx, user: UserId) -> Result<Token> {
    revoke(tx, user).await?;
    issue(tx, Purpose::ChoosePassword(user), limits::CHOOSE_PASSWORD_LINK_TIME).await
}

/// A new link for a user who asked for it at the door; it works for an hour. Whoever asks there has not said who they are, so it
/// stands beside the older ones: all end when one of them is used.
pub async fn issue_forgotten(tx: &mut Tx, user: UserId) -> Result<Token> {
    issue(tx, Purpose::ChoosePassword(user), limits::FORGOTTEN_LINK_TIME).await
}

/// Takes back the links of a user that were not used.
pub async fn revoke(tx: &mut Tx, user: UserId) -> Result<()> {
    sqlx::query!("delete from one_time_link where user_id = $1 and used_at is null", user.0)
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// Whether a link works with which a user can choose a password.
pub async fn any_open(connection: &mut PgConnection, user: UserId, now: DateTime<Utc>) -> Result<bool> {
    let open = sqlx::query_scalar!(
        r#"select exists (select 1 from one_time_link where user_id = $1 and used_at is null and expires_at > $2) as "open!""#,
        user.0,
        now,
    );
    Ok(open.fetch_one(connection).await?)
}

async fn issue(tx: &mut Tx, purpose: Purpose, time: TimeDelta) -> Result<Token> {
    let token = Token::random()?;
    sqlx::query!(
        "insert into one_time_link (token_hash, purpose, user_id, expires_at) values ($1, $2, $3, $4)",
        token.hash(),
        purpose.code(),
        purpose.user().map(|user| user.0),
        tx.now() + time,
    )
    .execute(tx.connection())
    .await?;
    Ok(token)
}

/// The link of a token, whether it still works or not.
pub async fn look_up(connection: &mut PgConnection, token: &str) -> Result<Option<Link>> {
    let row = sqlx::query!(
        r#"select user_id as "user_id: UserId", expires_at, used_at from one_time_link where token_hash = $1"#,
        token::hash_of(token),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| Link {
        purpose: row.user_id.map_or(Purpose::SetUp, Purpose::ChoosePassword),
        expires_at: row.expires_at,
        used_at: row.used_at,
    }))
}

/// Uses a link up: of all who try, exactly one gets its purpose. A set-up link gives nothing once any user exists.
pub async fn use_up(tx: &mut Tx, token: &str) -> Result<Option<Purpose>> {
    let now = tx.now();
    let row = sqlx::query!(
        r#"update one_time_link set used_at = $2
           where token_hash = $1 and used_at is null and expires_at > $2
             and (purpose <> 'set_up' or not exists (select 1 from user_account))
           returning user_id as "user_id: UserId""#,
        token::hash_of(token),
        now,
    )
    .fetch_optional(tx.connection())
    .await?;
    Ok(row.map(|row| row.user_id.map_or(Purpose::SetUp, Purpose::ChoosePassword)))
}
