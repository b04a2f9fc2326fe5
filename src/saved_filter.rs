//! A filter of a list that a person keeps under a name. Nobody else sees it on the list.
//!
//! What a filter may hold is the list's own: whoever keeps one has read it as that list reads its address.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::audit::Audited;
use crate::error::{Error, OnConstraint as _, Result};
use crate::ids::{ProjectId, UserId};
use crate::limits;
use crate::locale::Message;
use crate::text::{Name, word_set};
use crate::tx::Tx;

word_set! {
    /// The list that a filter is of.
    List, "error-saved-filter-list", {
        /// The environments.
        Environments = "environments", "nav-environments", [];
        /// The entries of spend.
        Ledger = "ledger", "spend-title", [];
        /// What ends when.
        Renewals = "renewals", "nav-renewals", [];
    }
}

/// One kept filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SavedFilter {
    /// Its id.
    pub id: i64,
    /// Whose it is.
    pub user_id: UserId,
    /// Of which list it is.
    pub of_list: List,
    /// What the person calls it.
    pub name: Name,
    /// The filter as it stands in an address, from the `?` on.
    pub query: String,
    /// Since when it is kept no more.
    pub ended_at: Option<DateTime<Utc>>,
    /// The version an edit starts from.
    pub version: i32,
}

impl Audited for SavedFilter {
    const KIND: &'static str = "saved_filter";

    fn audit_id(&self) -> i64 {
        self.id
    }

    fn audit_name(&self) -> String {
        self.name.to_string()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

macro_rules! select_saved_filter {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            SavedFilter,
            r#"select id, user_id as "user_id: UserId", of_list as "of_list: List", name as "name: Name", query, ended_at, version from saved_filter "#
                + $rest
            $(, $argument)*
        )
    };
}

/// The filters that a person keeps, by name; of one list, or of all.
pub async fn of_user(connection: &mut PgConnection, user: UserId, of: Option<List>) -> Result<Vec<SavedFilter>> {
    let filters = select_saved_filter!(
        "where user_id = $1 and ended_at is null and ($2::text is null or of_list = $2) order by name, id",
        user.0,
        of.map(List::as_str)
    );
    Ok(filters.fetch_all(connection).await?)
}

/// Keeps a filter of a list for whoever acts: `query` as the list writes it in an address.
///
/// # Errors
/// A filter of nothing, a name that the person has given already, more filters than fit above a list.
pub async fn add(tx: &mut Tx, of: List, name: &Name, query: &str) -> Result<()> {
    let user = tx.actor().user.ok_or(Error::NotFound)?;
    if query.is_empty() {
        return Err(Error::invalid("name", Message::new("error-saved-filter-empty")));
    }
    if of_user(tx.connection(), user, Some(of)).await?.len() >= limits::SAVED_FILTERS {
        let message = Message::new("error-saved-filter-count").with("most", limits::SAVED_FILTERS);
        return Err(Error::invalid("name", message));
    }
    let now = tx.now();
    let id = sqlx::query_scalar!(
        "insert into saved_filter (user_id, of_list, name, query, created_at) values ($1, $2, $3, $4, $5) returning id",
        user.0,
        of.as_str(),
        name.as_str(),
        query,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("saved_filter_name_taken", "name", || taken(name))?;
    let filter = get(tx, id).await?;
    tx.record("saved_filter.added", None, &filter).await
}

fn taken(name: &Name) -> Message {
    Message::new("error-saved-filter-taken").with("name", name)
}

/// Gives one of one's own filters another name.
pub async fn rename(tx: &mut Tx, id: i64, version: i32, name: &Name) -> Result<()> {
    let before = for_edit(tx, id, version).await?;
    if before.name == *name {
        tx.unchanged();
        return Ok(());
    }
    sqlx::query!("update saved_filter set name = $2, version = version + 1 where id = $1", id, name.as_str())
        .execute(tx.connection())
        .await
        .on_constraint("saved_filter_name_taken", "name", || taken(name))?;
    let after = get(tx, id).await?;
    tx.record("saved_filter.changed", Some(&before), &after).await
}

/// Keeps one of one's own filters no more.
pub async fn end(tx: &mut Tx, id: i64, version: i32) -> Result<()> {
    let before = for_edit(tx, id, version).await?;
    let now = tx.now();
    sqlx::query!("update saved_filter set ended_at = $2, version = version + 1 where id = $1", id, now)
        .execute(tx.connection())
        .await?;
    let after = get(tx, id).await?;
    tx.record("saved_filter.ended", Some(&before), &after).await
}

/// One of the filters of whoever acts; another's is not there.
async fn get(tx: &mut Tx, id: i64) -> Result<SavedFilter> {
    let user = tx.actor().user.ok_or(Error::NotFound)?;
    Ok(select_saved_filter!("where id = $1 and user_id = $2", id, user.0).fetch_one(tx.connection()).await?)
}

async fn for_edit(tx: &mut Tx, id: i64, version: i32) -> Result<SavedFilter> {
    sqlx::query!("select id from saved_filter where id = $1 for update", id).fetch_one(tx.connection()).await?;
    let filter = get(tx, id).await?;
    if filter.ended_at.is_some() {
        return Err(Error::NotFound);
    }
    tx.same_version(filter.version, version)?;
    Ok(filter)
}
