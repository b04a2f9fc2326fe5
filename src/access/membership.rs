//! A user's right in one project: viewer, operator or manager. It ends, and its history stays.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::{Permission, ProjectRole};
use crate::audit::Audited;
use crate::error::{OnConstraint as _, Result};
use crate::ids::{MembershipId, PersonId, ProjectId, UserId};
use crate::locale::Message;
use crate::tx::Tx;

/// A user's right in one project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Membership {
    /// Its id.
    pub id: MembershipId,
    /// In which project.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// Whose.
    pub user_id: UserId,
    /// The person behind the log-in.
    pub person_id: PersonId,
    /// The person's name.
    pub name: String,
    /// `viewer`, `operator` or `manager`.
    pub role: String,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
    /// The version an edit starts from.
    pub version: i32,
}

impl Audited for Membership {
    const KIND: &'static str = "membership";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.name.clone()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        Some(self.project_id)
    }
}

macro_rules! select_membership {
    ($where:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Membership,
            r#"select m.id as "id: MembershipId", m.project_id as "project_id: ProjectId", p.name as project,
                      m.user_id as "user_id: UserId", u.person_id as "person_id: PersonId", h.name, m.role, m.ended_at, m.version
               from membership m join project p on p.id = m.project_id join user_account u on u.id = m.user_id
               join person h on h.id = u.person_id "# + $where
            $(, $argument)*
        )
    };
}

/// The key of a role's name.
pub fn role_key(code: &str) -> &'static str {
    match ProjectRole::from_code(code) {
        Some(ProjectRole::Manager) => "role-manager",
        Some(ProjectRole::Operator) => "role-operator",
        _ => "role-viewer",
    }
}

/// The membership with this id, where the reader may see its project.
pub async fn get(connection: &mut PgConnection, id: MembershipId) -> Result<Membership> {
    Ok(select_membership!("where m.id = $1", id.0).fetch_one(connection).await?)
}

/// Who works on a project now, by name.
pub async fn list(connection: &mut PgConnection, project: ProjectId) -> Result<Vec<Membership>> {
    Ok(select_membership!("where m.project_id = $1 and m.ended_at is null order by h.name, m.id", project.0)
        .fetch_all(connection)
        .await?)
}

/// On which of the projects that the reader sees a person works now, by the projects' names.
pub async fn list_of(connection: &mut PgConnection, person: PersonId) -> Result<Vec<Membership>> {
    Ok(select_membership!("where u.person_id = $1 and m.ended_at is null order by p.name, m.id", person.0)
        .fetch_all(connection)
        .await?)
}

/// Gives a user a right in a project.
pub async fn add(tx: &mut Tx, project: ProjectId, user: UserId, role: ProjectRole) -> Result<Membership> {
    tx.allow(Permission::Manage, Some(project))?;
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into membership (project_id, user_id, role, created_at) values ($1, $2, $3, $4)
           returning id as "id: MembershipId""#,
        project.0,
        user.0,
        role.code(),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("membership_one", "user", || Message::new("error-member-already"))
    .on_constraint("membership_user_id_fkey", "user", || Message::new("error-user-unknown"))?;
    let membership = get(tx.connection(), id).await?;
    tx.record("membership.added", None, &membership).await?;
    Ok(membership)
}

/// Changes a user's right in a project. `version` is the one the edit started from.
pub async fn change(tx: &mut Tx, id: MembershipId, version: i32, role: ProjectRole) -> Result<Membership> {
    let before = open(tx, id, version).await?;
    if before.role == role.code() {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!("update membership set role = $2, version = version + 1 where id = $1", id.0, role.code())
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), id).await?;
    tx.record("membership.changed", Some(&before), &after).await?;
    Ok(after)
}

/// Ends a user's right in a project; it is gone at the user's next request.
pub async fn end(tx: &mut Tx, id: MembershipId, version: i32) -> Result<Membership> {
    let before = open(tx, id, version).await?;
    let now = tx.now();
    sqlx::query!("update membership set ended_at = $2, version = version + 1 where id = $1", id.0, now)
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), id).await?;
    tx.record("membership.ended", Some(&before), &after).await?;
    Ok(after)
}

/// The membership to be changed, where the actor may, it has not ended and nobody was faster.
async fn open(tx: &mut Tx, id: MembershipId, version: i32) -> Result<Membership> {
    sqlx::query!("select id from membership where id = $1 for update", id.0).fetch_one(tx.connection()).await?;
    let membership = get(tx.connection(), id).await?;
    tx.allow(Permission::Manage, Some(membership.project_id))?;
    tx.same_version(membership.version, version)?;
    Ok(membership)
}
