//! A browser in which a person has signed in before. It signs nobody in: its failed sign-ins are only counted apart
//! (`sign_in_failure`), so that whoever hammers at an address does not shut its owner out of it (OWASP: device cookies).

use super::session::Client;
use super::token::Token;
use crate::error::Result;
use crate::ids::UserId;
use crate::limits;
use crate::text::Email;
use crate::tx::Tx;

/// Remembers the browser under a new token, always, as a session does. A person has at most twenty; the one not used for the
/// longest time is forgotten.
pub async fn remember(tx: &mut Tx, user: UserId, client: &Client) -> Result<Token> {
    let (now, token) = (tx.now(), Token::random()?);
    if let Some(before) = &client.device {
        sqlx::query!("delete from device where token_hash = $1 and user_id = $2", before, user.0)
            .execute(tx.connection())
            .await?;
    }
    sqlx::query!("insert into device (token_hash, user_id, used_at) values ($1, $2, $3)", token.hash(), user.0, now)
        .execute(tx.connection())
        .await?;
    sqlx::query!(
        "delete from device where user_id = $1 and token_hash <> $3 and token_hash not in
         (select token_hash from device where user_id = $1 and token_hash <> $3 order by used_at desc, token_hash limit $2)",
        user.0,
        limits::DEVICES - 1,
        token.hash(),
    )
    .execute(tx.connection())
    .await?;
    Ok(token)
}

/// Forgets every browser of a person: after another password or the end of the log-in nobody is known by an earlier sign-in.
pub async fn forget_all(tx: &mut Tx, user: UserId) -> Result<()> {
    sqlx::query!("delete from device where user_id = $1", user.0).execute(tx.connection()).await?;
    Ok(())
}

/// Whether the person with this address has signed in before in the browser that brings this token.
pub async fn is_known(tx: &mut Tx, token_hash: &[u8], email: &Email) -> Result<bool> {
    let since = tx.now() - limits::DEVICE_TIME;
    let known = sqlx::query_scalar!(
        r#"select exists (select from device d join user_account u on u.id = d.user_id join person p on p.id = u.person_id
                          where d.token_hash = $1 and d.used_at > $2 and lower(p.email) = lower($3)) as "known!""#,
        token_hash,
        since,
        email.as_str(),
    )
    .fetch_one(tx.connection())
    .await?;
    Ok(known)
}
