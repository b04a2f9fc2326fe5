//! Environments as the choices of a form.

use std::fmt;

use crate::error::Result;
use crate::ids::{EnvironmentId, ProjectId};
use crate::tx::Read;

/// An environment in a choice of environments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentChoice {
    /// Its id.
    pub id: EnvironmentId,
    /// Its project.
    pub project_id: ProjectId,
    /// Its name.
    pub name: String,
    /// The project's name.
    pub project: String,
}

impl fmt::Display for EnvironmentChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} · {}", self.project, self.name)
    }
}

/// The environments that the reader may see, without the voided, by project and name: for choices.
pub async fn choices(read: &mut Read) -> Result<Vec<EnvironmentChoice>> {
    let choices = sqlx::query_as!(
        EnvironmentChoice,
        r#"select e.id as "id: EnvironmentId", e.project_id as "project_id: ProjectId", e.name, p.name as project
           from environment e join project p on p.id = e.project_id
           where e.status <> 'voided' order by p.name, e.name, e.id"#
    )
    .fetch_all(read.connection())
    .await?;
    Ok(choices)
}
