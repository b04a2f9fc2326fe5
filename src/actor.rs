//! Who acts, from where, and with which rights.
//!
//! An [`Actor`] is made once per request, command or job run, from the database and never from the cookie, so that a right
//! taken away is gone at the next request. Every unit of work carries one.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::ids::{PersonId, ProjectId, UserId};
use crate::locale::Message;

/// The name that the history gives to whoever tried to sign in under an address that nobody has.
pub const UNKNOWN_ACCOUNT: &str = "unknown account";

/// What kind of actor an audit entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    /// A person who signed in.
    Person,
    /// Somebody at the machine's command line.
    CommandLine,
    /// One of the periodic jobs.
    Job,
    /// The one-time link that sets up the first administrator.
    SetUp,
}

impl ActorKind {
    /// As it is stored.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::CommandLine => "command_line",
            Self::Job => "job",
            Self::SetUp => "setup",
        }
    }
}

/// The path through which a change came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A page's form.
    Page,
    /// A file of many records.
    Import,
    /// A command.
    CommandLine,
    /// A periodic job.
    Job,
}

impl Source {
    /// As it is stored.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Import => "import",
            Self::CommandLine => "command_line",
            Self::Job => "job",
        }
    }
}

/// What may be done. Coarse on purpose: `docs/model.md` 3 knows these and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// See a project's records, export them, read their history.
    Read,
    /// Change a project's records.
    Operate,
    /// Change a project's members and reminder steps.
    Manage,
    /// Change what belongs to no project: providers, tiers, prices, rates.
    Catalogue,
    /// See and place bill lines that belong to no environment yet; import bills.
    Unplaced,
    /// People, settings, every project.
    Administer,
}

/// A right within one project. The order is the order of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProjectRole {
    /// Reads and exports.
    Viewer,
    /// All records.
    Operator,
    /// Operator, plus members and reminder steps.
    Manager,
}

impl ProjectRole {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Manager];

    /// As it is stored.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Manager => "manager",
        }
    }

    /// From what is stored.
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.code() == code)
    }
}

/// A right in the whole installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// People, settings, all projects.
    Administrator,
    /// Reads, exports and history of all or of listed projects.
    Auditor,
    /// What the memberships say.
    Member,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Administrator, Self::Auditor, Self::Member];

    /// As it is stored and typed.
    pub const fn code(self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Auditor => "auditor",
            Self::Member => "member",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = Message;

    fn from_str(code: &str) -> Result<Self, Message> {
        Self::ALL
            .into_iter()
            .find(|role| role.code() == code)
            .ok_or_else(|| Message::new("error-role").with("value", code))
    }
}

/// Which projects an actor reaches, and with which right in each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The right in every project, also in those still to come; a setting of its own, not a list.
    pub all: Option<ProjectRole>,
    /// The right in single projects.
    pub projects: BTreeMap<ProjectId, ProjectRole>,
}

impl Scope {
    /// Every project, with every right.
    pub const fn everything() -> Self {
        Self { all: Some(ProjectRole::Manager), projects: BTreeMap::new() }
    }

    /// The right in one project.
    pub fn role_in(&self, project: ProjectId) -> Option<ProjectRole> {
        self.all.max(self.projects.get(&project).copied())
    }
}

/// Who acts. See the module's text.
#[derive(Debug, Clone)]
pub struct Actor {
    /// What kind.
    pub kind: ActorKind,
    /// Through which path.
    pub source: Source,
    /// The log-in, where there is one.
    pub user: Option<UserId>,
    /// The person, where there is one.
    pub person: Option<PersonId>,
    /// The name that the history keeps.
    pub name: String,
    /// The right in the whole installation.
    pub role: Role,
    /// Which projects.
    pub scope: Scope,
    /// Joins all entries of one request, bulk change or import.
    pub request_id: Uuid,
    /// Why, in the actor's own words.
    pub reason: Option<String>,
}

impl Actor {
    /// Somebody at the machine's command line: everything, under the operating system's name of the user.
    pub fn command_line(os_user: &str) -> Self {
        Self::system(ActorKind::CommandLine, Source::CommandLine, format!("command line ({os_user})"))
    }

    /// One of the periodic jobs.
    pub fn job(name: &str) -> Self {
        Self::system(ActorKind::Job, Source::Job, format!("system: {name}"))
    }

    /// Whoever opened the one-time set-up link.
    pub fn set_up() -> Self {
        Self::system(ActorKind::SetUp, Source::Page, "set-up link".to_owned())
    }

    /// Whoever stands before the sign-in page.
    pub fn visitor() -> Self {
        let visitor = Self::system(ActorKind::Person, Source::Page, UNKNOWN_ACCOUNT.to_owned());
        Self { role: Role::Member, scope: Scope::default(), ..visitor }
    }

    /// A person in the matter of their own log-in: signing in and out, the password. It reaches no project.
    pub fn oneself(user: UserId, person: PersonId, name: &str) -> Self {
        Self { user: Some(user), person: Some(person), name: name.to_owned(), ..Self::visitor() }
    }

    /// The same actor, as part of a request that has an id already.
    #[must_use]
    pub const fn within(mut self, request_id: Uuid) -> Self {
        self.request_id = request_id;
        self
    }

    fn system(kind: ActorKind, source: Source, name: String) -> Self {
        Self {
            kind,
            source,
            user: None,
            person: None,
            name,
            role: Role::Administrator,
            scope: Scope::everything(),
            request_id: Uuid::now_v7(),
            reason: None,
        }
    }

    /// The same actor, with a reason in words.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.reason = (!reason.trim().is_empty()).then_some(reason);
        self
    }

    /// The same actor, through another path.
    #[must_use]
    pub fn through(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    /// Whether the actor may do it: in one project, or (with `None`) where no project is concerned.
    pub fn may(&self, permission: Permission, project: Option<ProjectId>) -> bool {
        let role = match project {
            Some(project) => self.scope.role_in(project),
            None => self.scope.all,
        };
        match permission {
            Permission::Read => role.is_some() || project.is_none(),
            Permission::Operate => role >= Some(ProjectRole::Operator),
            Permission::Manage => role >= Some(ProjectRole::Manager),
            Permission::Catalogue => self.operates_anything(),
            Permission::Unplaced => self.scope.all >= Some(ProjectRole::Operator),
            Permission::Administer => self.role == Role::Administrator,
        }
    }

    /// Whether there is any project in which the actor changes records.
    pub fn operates_anything(&self) -> bool {
        self.scope
            .all
            .into_iter()
            .chain(self.scope.projects.values().copied())
            .any(|role| role >= ProjectRole::Operator)
    }

    /// Refuses what the actor may not do. A project that the actor does not see at all looks like one that does not exist.
    pub fn allow(&self, permission: Permission, project: Option<ProjectId>) -> Result<()> {
        if self.may(permission, project) {
            return Ok(());
        }
        if let Some(project) = project
            && self.scope.role_in(project).is_none()
        {
            return Err(Error::NotFound);
        }
        Err(Error::Forbidden(Message::new("error-forbidden")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(project: i64, role: ProjectRole) -> Actor {
        Actor {
            role: Role::Member,
            scope: Scope { all: None, projects: BTreeMap::from([(ProjectId(project), role)]) },
            ..Actor::command_line("test")
        }
    }

    #[test]
    fn a_viewer_reads_and_does_nothing_else() {
        let viewer = member(1, ProjectRole::Viewer);
        assert!(viewer.may(Permission::Read, Some(ProjectId(1))));
        for permission in [Permission::Operate, Permission::Manage, Permission::Catalogue, Permission::Unplaced] {
            assert!(!viewer.may(permission, Some(ProjectId(1))), "{permission:?}");
        }
        assert!(matches!(viewer.allow(Permission::Operate, Some(ProjectId(1))), Err(Error::Forbidden(_))));
    }

    #[test]
    fn another_project_looks_like_one_that_does_not_exist() {
        let operator = member(1, ProjectRole::Operator);
        assert!(matches!(operator.allow(Permission::Operate, Some(ProjectId(2))), Err(Error::NotFound)));
    }

    #[test]
    fn an_auditor_of_everything_sees_what_is_unplaced_but_places_nothing() {
        let auditor = Actor {
            role: Role::Auditor,
            scope: Scope { all: Some(ProjectRole::Viewer), projects: BTreeMap::new() },
            ..Actor::command_line("test")
        };
        assert!(auditor.may(Permission::Read, None));
        assert!(!auditor.may(Permission::Unplaced, None));
        assert!(!auditor.may(Permission::Administer, None));
    }
}
