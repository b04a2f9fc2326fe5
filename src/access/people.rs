//! The list of people with their log-ins, as a page and as files.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use sqlx::PgConnection;

use super::user::{self, Right};
use crate::actor::Role;
use crate::error::Result;
use crate::filter::one_of;
use crate::ids::{PersonId, UserId};
use crate::limits;
use crate::table::{Cell, Column, Table};
use crate::tx::Read;

/// A person with the log-in, where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonRow {
    /// The person's id.
    pub id: PersonId,
    /// What the person is called.
    pub name: String,
    /// Where mails go, and what the person signs in with.
    pub email: Option<String>,
    /// The person's own language.
    pub locale: Option<String>,
    /// The person's own zone.
    pub zone: Option<String>,
    /// Since when the ledger knows the person.
    pub created_at: DateTime<Utc>,
    /// The log-in.
    pub user_id: Option<UserId>,
    /// Its role.
    pub role: Option<String>,
    /// Whether it reaches every project.
    pub all_projects: Option<bool>,
    /// Whether a password was chosen.
    pub has_password: Option<bool>,
    /// When it was disabled.
    pub disabled_at: Option<DateTime<Utc>>,
}

impl PersonRow {
    /// The key of the role's name, where the person has a log-in.
    pub fn role_key(&self) -> Option<&'static str> {
        self.role.as_deref().map(role_key)
    }

    /// The key of the words for what the log-in may do.
    pub fn right_key(&self) -> Option<&'static str> {
        let role = self.role.as_deref()?.parse().ok()?;
        Some(user::right_words(Right::new(role, self.all_projects == Some(true))).1)
    }

    /// The key of the word for the state of the log-in.
    pub fn state_key(&self) -> &'static str {
        match (self.user_id, self.disabled_at, self.has_password) {
            (None, ..) => "user-state-none",
            (Some(_), Some(_), _) => "user-state-disabled",
            (Some(_), None, Some(true)) => "user-state-open",
            (Some(_), None, _) => "user-state-invited",
        }
    }
}

/// The key of a role's name.
pub fn role_key(code: &str) -> &'static str {
    match code.parse() {
        Ok(Role::Administrator) => "role-administrator",
        Ok(Role::Auditor) => "role-auditor",
        _ => "role-member",
    }
}

/// Which people are listed; the same for the page, its files and the command line.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PeopleFilter {
    /// Words in the name or the address.
    pub q: Option<String>,
    /// A role, or `none` for people without a log-in.
    pub role: Option<String>,
    /// People after this one, by name: the next page.
    pub after: Option<i64>,
}

/// The list's columns.
pub static PEOPLE: Table<PersonRow> = Table {
    name: "people",
    title: "people-title",
    columns: &[
        Column::new("id", "people-id", |row: &PersonRow| row.id.0.into()),
        Column::new("name", "people-name", |row| (&row.name).into()),
        Column::new("email", "field-email", |row| row.email.as_ref().map(Cell::from).into()),
        Column::new("role", "people-role", |row| match (&row.role, row.role_key()) {
            (Some(code), Some(key)) => Cell::word(code.as_str(), key),
            _ => Cell::Empty,
        }),
        Column::new("all_projects", "people-all-projects", |row| row.all_projects.into()),
        Column::new("locale", "people-locale", |row| row.locale.as_ref().map(Cell::from).into()),
        Column::new("zone", "people-zone", |row| row.zone.as_ref().map(Cell::from).into()),
        Column::new("has_password", "people-has-password", |row| row.has_password.into()),
        Column::new("created_at", "people-created-at", |row| row.created_at.into()),
        Column::new("disabled_at", "people-disabled-at", |row| row.disabled_at.into()),
    ],
};

/// One page of the people that match, by name; one more than a page holds says that there is another.
pub async fn page(read: &mut Read, filter: &PeopleFilter) -> Result<Vec<PersonRow>> {
    let rows = i64::try_from(limits::PAGE_ROWS).unwrap_or(i64::MAX) + 1;
    select(read.connection(), filter, Some(rows)).await
}

/// All people that match, by name. An organisation has some thousands of them at most.
pub async fn people_rows(read: &mut Read, filter: &PeopleFilter) -> Result<Vec<PersonRow>> {
    let whole = PeopleFilter { after: None, ..filter.clone() };
    select(read.connection(), &whole, None).await
}

/// How many people the ledger knows, and how many of them can sign in.
pub async fn counts(read: &mut Read) -> Result<(i64, i64)> {
    let row = sqlx::query!(
        r#"select (select count(*) from person) as "people!", (select count(*) from user_account where disabled_at is null) as "users!""#
    )
    .fetch_one(read.connection())
    .await?;
    Ok((row.people, row.users))
}

async fn select(connection: &mut PgConnection, filter: &PeopleFilter, most: Option<i64>) -> Result<Vec<PersonRow>> {
    let words = filter.q.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let roles: Vec<&str> = Role::ALL.into_iter().map(Role::code).chain(["none"]).collect();
    let role = one_of("role", filter.role.as_deref(), &roles)?;
    Ok(sqlx::query_as!(
        PersonRow,
        r#"select p.id as "id: PersonId", p.name, p.email, p.locale, p.zone, p.created_at, u.id as "user_id?: UserId",
                  u.role as "role?", u.all_projects as "all_projects?", u.password_hash is not null as has_password, u.disabled_at as "disabled_at?"
           from person p left join user_account u on u.person_id = p.id
           where ($1::text is null or strpos(lower(p.name), lower($1)) > 0 or strpos(lower(p.email), lower($1)) > 0)
             and ($2::text is null or u.role = $2 or ($2 = 'none' and u.id is null))
             and ($3::bigint is null or (p.name, p.id) > (select name, id from person where id = $3))
           order by p.name, p.id limit $4"#,
        words,
        role,
        filter.after,
        most,
    )
    .fetch_all(connection)
    .await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Programs read these names.
    #[test]
    fn the_columns_keep_their_names() {
        PEOPLE.assert_is_sound();
        assert_eq!(
            PEOPLE.names(),
            [
                "id",
                "name",
                "email",
                "role",
                "all_projects",
                "locale",
                "zone",
                "has_password",
                "created_at",
                "disabled_at"
            ]
        );
    }
}
