//! A person's log-in: a role and a password, of which only an Argon2id hash is kept.

use argon2::{Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version};
use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use super::{device, one_time_link, session};
use crate::actor::{Actor, Permission, Role};
use crate::app::App;
use crate::audit::{Audited, Change};
use crate::error::{Error, OnConstraint as _, Result};
use crate::ids::{PersonId, ProjectId, UserId};
use crate::locale::Message;
use crate::text::Email;
use crate::tx::Tx;

/// A person's log-in. The hash is not part of it, so that no page, log or history can show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    /// Its id.
    pub id: UserId,
    /// Whose it is.
    pub person_id: PersonId,
    /// The person's name.
    pub name: String,
    /// `administrator`, `auditor` or `member`.
    pub role: String,
    /// Whether it reaches every project.
    pub all_projects: bool,
    /// Whether a password was chosen.
    pub has_password: bool,
    /// When it was disabled.
    pub disabled_at: Option<DateTime<Utc>>,
    /// The version an edit starts from.
    pub version: i32,
}

/// What a log-in may do in the whole installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// The role.
    pub role: Role,
    /// Whether it reaches every project: an administrator always, an auditor reading, a member as an operator.
    pub all_projects: bool,
}

impl Right {
    /// What can be chosen in a form: the code, the key of its words, the right.
    pub const CHOICES: [(&'static str, &'static str, Self); 5] = [
        ("member", "right-member", Self::new(Role::Member, false)),
        ("member_all", "right-member-all", Self::new(Role::Member, true)),
        ("auditor_listed", "right-auditor-listed", Self::new(Role::Auditor, false)),
        ("auditor", "right-auditor", Self::new(Role::Auditor, true)),
        ("administrator", "right-administrator", Self::new(Role::Administrator, true)),
    ];

    /// The right of a code of [`Right::CHOICES`].
    pub fn from_code(code: &str) -> Result<Self, Message> {
        let found = Self::CHOICES.into_iter().find(|(known, ..)| *known == code);
        found.map(|(.., right)| right).ok_or_else(|| Message::new("error-right"))
    }

    /// What a role usually reaches: an auditor reads everything, an administrator does everything, and a member gets projects
    /// one by one.
    pub const fn usual(role: Role) -> Self {
        Self { role, all_projects: !matches!(role, Role::Member) }
    }

    /// A role with every project or with listed ones. An administrator always has them all.
    pub const fn new(role: Role, all_projects: bool) -> Self {
        Self { role, all_projects: all_projects || matches!(role, Role::Administrator) }
    }
}

/// The code and the key of the words of a right, as in [`Right::CHOICES`].
pub fn right_words(right: Right) -> (&'static str, &'static str) {
    let found = Right::CHOICES.into_iter().find(|(.., known)| *known == right);
    found.map_or(("member", "right-member"), |(code, key, _)| (code, key))
}

/// A log-in with the hash to check a password against. It is not serialised and not shown.
pub struct Credentials {
    /// The log-in.
    pub user: User,
    /// The Argon2id hash; `None` until a password was chosen.
    pub password_hash: Option<String>,
}

impl User {
    /// What the log-in may do.
    pub fn right(&self) -> Right {
        Right::new(self.role.parse().unwrap_or(Role::Member), self.all_projects)
    }

    /// The code and the key of the words of [`User::right`], as in [`Right::CHOICES`].
    pub fn right_words(&self) -> (&'static str, &'static str) {
        right_words(self.right())
    }

    /// The person in the matter of this log-in.
    pub fn oneself(&self) -> Actor {
        Actor::oneself(self.id, self.person_id, &self.name)
    }
}

impl Audited for User {
    const KIND: &'static str = "user_account";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.name.clone()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        None
    }
}

macro_rules! select_user {
    ($where:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            User,
            r#"select u.id as "id: UserId", u.person_id as "person_id: PersonId", p.name, u.role, u.all_projects,
                      u.password_hash is not null as "has_password!", u.disabled_at, u.version
               from user_account u join person p on p.id = u.person_id "# + $where
            $(, $argument)*
        )
    };
}

/// The log-in with this id.
pub async fn get(connection: &mut PgConnection, id: UserId) -> Result<User> {
    Ok(select_user!("where u.id = $1", id.0).fetch_one(connection).await?)
}

/// Every log-in, by name.
pub async fn list(connection: &mut PgConnection) -> Result<Vec<User>> {
    Ok(select_user!("order by p.name, u.id").fetch_all(connection).await?)
}

/// Whether there is any log-in at all: while there is none, the set-up link opens.
pub async fn any(connection: &mut PgConnection) -> Result<bool> {
    Ok(sqlx::query_scalar!(r#"select exists (select 1 from user_account) as "any!""#).fetch_one(connection).await?)
}

/// The log-in of a person, where there is one.
pub async fn find_by_person(connection: &mut PgConnection, person: PersonId) -> Result<Option<User>> {
    Ok(select_user!("where u.person_id = $1", person.0).fetch_optional(connection).await?)
}

/// The log-in with this address, with the hash of its password.
pub async fn find_credentials(connection: &mut PgConnection, email: &Email) -> Result<Option<Credentials>> {
    let row = sqlx::query!(
        r#"select u.id as "id: UserId", u.password_hash from user_account u join person p on p.id = u.person_id
           where lower(p.email) = lower($1)"#,
        email.as_str(),
    )
    .fetch_optional(&mut *connection)
    .await?;
    match row {
        Some(row) => Ok(Some(Credentials { user: get(connection, row.id).await?, password_hash: row.password_hash })),
        None => Ok(None),
    }
}

/// Whether the log-in is still open and its password still has this hash. It stays so until the unit of work ends.
pub async fn has_hash(tx: &mut Tx, id: UserId, hash: Option<&str>) -> Result<bool> {
    let row = sqlx::query!("select password_hash, disabled_at from user_account where id = $1 for share", id.0)
        .fetch_one(tx.connection())
        .await?;
    Ok(row.disabled_at.is_none() && row.password_hash.is_some() && row.password_hash.as_deref() == hash)
}

/// Gives a person a log-in with what the role usually reaches. `password_hash` comes from [`hash_password`].
pub async fn add(tx: &mut Tx, person: PersonId, role: Role, password_hash: Option<String>) -> Result<User> {
    add_with(tx, person, Right::usual(role), password_hash).await
}

/// Gives a person a log-in. `password_hash` comes from [`hash_password`].
pub async fn add_with(tx: &mut Tx, person: PersonId, right: Right, password_hash: Option<String>) -> Result<User> {
    tx.allow(Permission::Administer, None)?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into user_account (person_id, role, all_projects, password_hash, created_at) values ($1, $2, $3, $4, $5)
           returning id as "id: UserId""#,
        person.0,
        right.role.code(),
        right.all_projects,
        password_hash,
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("user_account_person", "email", || Message::new("error-user-exists"))?;
    let user = get(tx.connection(), id).await?;
    tx.record("user.added", None, &user).await?;
    Ok(user)
}

/// Changes what a log-in may do. Its sessions end, so that nobody goes on with a right of yesterday (case P07).
pub async fn change_right(tx: &mut Tx, id: UserId, version: i32, right: Right) -> Result<User> {
    tx.allow(Permission::Administer, None)?;
    if right.role != Role::Administrator {
        keep_an_administrator(tx, id).await?;
    }
    let before = get_for_update(tx, id).await?;
    tx.same_version(before.version, version)?;
    if before.role == right.role.code() && before.all_projects == right.all_projects {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update user_account set role = $2, all_projects = $3, version = version + 1 where id = $1",
        id.0,
        right.role.code(),
        right.all_projects,
    )
    .execute(tx.connection())
    .await?;
    session::end_all(tx, id).await?;
    let after = get(tx.connection(), id).await?;
    tx.record("user.changed", Some(&before), &after).await?;
    Ok(after)
}

/// Ends the right to sign in: sessions, known browsers and links end with it. The person and the history stay (case A06).
pub async fn disable(tx: &mut Tx, id: UserId, version: i32) -> Result<User> {
    tx.allow(Permission::Administer, None)?;
    keep_an_administrator(tx, id).await?;
    session::end_all(tx, id).await?;
    device::forget_all(tx, id).await?;
    one_time_link::revoke(tx, id).await?;
    let now = tx.now();
    open_or_close(tx, id, version, Some(now), "user.disabled").await
}

/// Gives the right to sign in back.
pub async fn enable(tx: &mut Tx, id: UserId, version: i32) -> Result<User> {
    tx.allow(Permission::Administer, None)?;
    open_or_close(tx, id, version, None, "user.enabled").await
}

/// The log-in to be changed; nobody else changes it before this unit of work ends.
async fn get_for_update(tx: &mut Tx, id: UserId) -> Result<User> {
    sqlx::query!("select id from user_account where id = $1 for update", id.0).fetch_one(tx.connection()).await?;
    get(tx.connection(), id).await
}

async fn open_or_close(
    tx: &mut Tx,
    id: UserId,
    version: i32,
    disabled_at: Option<DateTime<Utc>>,
    action: &'static str,
) -> Result<User> {
    let before = get_for_update(tx, id).await?;
    tx.same_version(before.version, version)?;
    if before.disabled_at.is_some() == disabled_at.is_some() {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!("update user_account set disabled_at = $2, version = version + 1 where id = $1", id.0, disabled_at)
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), id).await?;
    tx.record(action, Some(&before), &after).await?;
    Ok(after)
}

/// Refuses to take the last administrator away: nobody could give the right back. Locks the administrators, so that two of
/// them cannot take each other away at once.
async fn keep_an_administrator(tx: &mut Tx, but: UserId) -> Result<()> {
    let administrators = sqlx::query_scalar!(
        r#"select id as "id: UserId" from user_account where role = 'administrator' and disabled_at is null order by id for update"#
    )
    .fetch_all(tx.connection())
    .await?;
    if administrators == [but] { Err(Error::invalid("", Message::new("error-last-administrator"))) } else { Ok(()) }
}

/// Sets the actor's own password; every session of theirs ends, and no browser is known any more (case P07). `hash` comes from
/// [`hash_password`]. The history says that it changed, and nothing of what it was or is (case A13).
pub async fn set_password(tx: &mut Tx, id: UserId, hash: String) -> Result<User> {
    if tx.actor().user != Some(id) {
        return Err(Error::Forbidden(Message::new("error-forbidden")));
    }
    let before = get(tx.connection(), id).await?;
    let changed =
        sqlx::query!("update user_account set password_hash = $2 where id = $1 and disabled_at is null", id.0, hash)
            .execute(tx.connection())
            .await?;
    if changed.rows_affected() == 0 {
        return Err(Error::NotFound);
    }
    session::end_all(tx, id).await?;
    device::forget_all(tx, id).await?;
    one_time_link::revoke(tx, id).await?;
    let after = get(tx.connection(), id).await?;
    let mut change = Change::of("user.password_changed", Some(&before), &after)?;
    change.after["credential"] = "changed".into();
    tx.record_change(change).await?;
    Ok(after)
}

/// Argon2id with 64 MiB, two passes: about 130 ms on the machines it was measured on.
fn argon2() -> Argon2<'static> {
    let params = Params::new(64 * 1024, 2, 1, None).expect("these parameters are within Argon2's limits");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Hashes a password, off the threads that answer pages, at most so many at once.
pub async fn hash_password(app: &App, password: String) -> Result<String> {
    let _place = app.hashing.acquire().await.map_err(|cause| Error::Internal(cause.into()))?;
    tokio::task::spawn_blocking(move || {
        argon2()
            .hash_password(password.as_bytes())
            .map(|hash| hash.to_string())
            .map_err(|cause| Error::internal(format!("hashing a password: {cause}")))
    })
    .await
    .map_err(|cause| Error::Internal(cause.into()))?
}

/// Whether the password is the one that was hashed. Takes as long for an unknown account (`None`) as for a known one.
pub async fn check_password(app: &App, password: String, hash: Option<String>) -> Result<bool> {
    let _place = app.hashing.acquire().await.map_err(|cause| Error::Internal(cause.into()))?;
    tokio::task::spawn_blocking(move || {
        let Some(hash) = hash else {
            // The same work, so that the time does not tell that there is no such account.
            argon2().hash_password(password.as_bytes()).ok();
            return false;
        };
        argon2::PasswordHash::new(&hash).is_ok_and(|hash| argon2().verify_password(password.as_bytes(), &hash).is_ok())
    })
    .await
    .map_err(|cause| Error::Internal(cause.into()))
}
