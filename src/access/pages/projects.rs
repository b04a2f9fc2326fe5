//! Projects and who works on them.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use super::{field_errors, optional};
use crate::access::membership::{self, Membership};
use crate::access::project::{self, NewProject, Project};
use crate::access::user::{self, User};
use crate::actor::{Permission, ProjectRole};
use crate::app::App;
use crate::audit::{self, Entry, EntryFilter};
use crate::dates::{Steps, parse_date};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{MembershipId, ProjectId, UserId};
use crate::limits;
use crate::locale::Message;
use crate::tx::Read;
use crate::web::edit::{Edit, Present};
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

pub fn routes() -> Routes {
    let administer = Needs::May(Permission::Administer);
    let manage = Needs::InProject(Permission::Manage);
    Routes::new()
        .get("/projects", Needs::SignIn, list)
        .get("/projects/new", administer, new)
        .post("/projects", administer, add)
        .get("/projects/{id}", Needs::InProject(Permission::Read), show)
        .get("/projects/{id}/edit", manage, edit)
        .post("/projects/{id}", manage, change)
        .post("/projects/{id}/members", manage, add_member)
        .post("/projects/{id}/members/{member}", manage, change_member)
        .post("/projects/{id}/members/{member}/end", manage, end_member)
}

#[derive(Template)]
#[template(path = "access/project_list.html")]
struct ProjectsPage {
    shell: Shell,
    projects: Vec<Project>,
}

async fn list(State(app): State<App>, shell: Shell) -> Result<Response> {
    let projects = project::list(&mut app.read(&shell.actor).await?).await?;
    page(&ProjectsPage { shell, projects })
}

const LABELS: &[(&str, &str)] = &[
    ("name", "project-name"),
    ("cost_centre", "project-cost-centre"),
    ("ends_on", "project-ends-on"),
    ("reminder_steps", "project-steps"),
];

/// The form of a new project (without `project`) or of one that is there.
#[derive(Template)]
#[template(path = "access/project_form.html")]
struct ProjectForm {
    shell: Shell,
    edit: Edit,
    project: Option<Project>,
}

impl ProjectForm {
    fn answer(shell: Shell, edit: Edit, project: Option<Project>) -> Result<Response> {
        page_with(edit.status, &Self { shell, edit, project })
    }

    /// Where the form goes.
    fn target(&self) -> String {
        self.project.as_ref().map_or_else(|| "/projects".to_owned(), |project| format!("/projects/{}", project.id))
    }
}

fn fields_of(project: &Project) -> Fields {
    Fields::new()
        .with("name", &project.name)
        .with("cost_centre", project.cost_centre.as_deref().unwrap_or_default())
        .with("ends_on", project.ends_on.map(|day| day.to_string()).unwrap_or_default())
        .with("reminder_steps", project.reminder_steps.as_ref().map(Steps::to_string).unwrap_or_default())
        .with("version", project.version)
}

fn parse(fields: &Fields) -> Result<NewProject, FieldErrors> {
    let mut errors = FieldErrors::new();
    let name = errors.take("name", fields.get("name").parse());
    let cost_centre = optional(fields, &mut errors, "cost_centre");
    let ends_on = fields.filled("ends_on").and_then(|text| errors.take("ends_on", parse_date(text)));
    let reminder_steps = optional(fields, &mut errors, "reminder_steps");
    match name {
        Some(name) if errors.is_empty() => Ok(NewProject { name, cost_centre, ends_on, reminder_steps }),
        _ => Err(errors),
    }
}

async fn new(shell: Shell) -> Result<Response> {
    ProjectForm::answer(shell, Edit::fresh(Fields::new()), None)
}

async fn add(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    match save_new(&app, &shell, &fields).await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let form = FormState::again(fields, field_errors(error)?);
            let edit = Edit { status: StatusCode::UNPROCESSABLE_ENTITY, form, stale: None };
            ProjectForm::answer(shell, edit, None)
        }
    }
}

async fn save_new(app: &App, shell: &Shell, fields: &Fields) -> Result<String> {
    let (new, submit_id) = (parse(fields)?, fields.submit_id()?);
    let mut tx = app.write(&shell.because(fields)?).await?;
    if let Some(location) = tx.sent_before(submit_id).await? {
        return Ok(location);
    }
    let project = project::add_with(&mut tx, new).await?;
    let location = format!("/projects/{}", project.id);
    tx.sent(submit_id, &location).await?;
    tx.commit().await?;
    Ok(location)
}

#[derive(Template)]
#[template(path = "access/project_show.html")]
struct ProjectPage {
    shell: Shell,
    project: Project,
    steps: Steps,
    members: Vec<Membership>,
    /// Who may become a member: log-ins that are open, not yet in, and without every project.
    others: Vec<User>,
    entries: Vec<Entry>,
    form: FormState,
}

impl ProjectPage {
    fn manages(&self) -> bool {
        self.shell.may(Permission::Manage, Some(self.project.id))
    }

    /// The roles for a choice, with the one that holds.
    fn roles(held: &str) -> Vec<(&'static str, &'static str, bool)> {
        ProjectRole::ALL.map(|role| (role.code(), membership::role_key(role.code()), role.code() == held)).to_vec()
    }

    /// Who may become a member, with the one that was chosen.
    fn choices(&self) -> Vec<(i64, &str, bool)> {
        let chosen = self.form.value("user").parse().ok();
        self.others.iter().map(|user| (user.id.0, user.name.as_str(), chosen == Some(user.id))).collect()
    }

    /// An id for a form of one row: each is an act of its own.
    fn submit_id() -> Uuid {
        Uuid::now_v7()
    }
}

async fn show(State(app): State<App>, shell: Shell, Path(id): Path<ProjectId>) -> Result<Response> {
    one(&app, shell, id, None).await
}

/// The page, perhaps with a form about members that was refused.
async fn one(app: &App, shell: Shell, id: ProjectId, refused: Option<(Fields, FieldErrors)>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let project = project::get(read.connection(), id).await?;
    let members = membership::list(read.connection(), id).await?;
    let mut others =
        if shell.may(Permission::Manage, Some(id)) { user::list(read.connection()).await? } else { Vec::new() };
    others.retain(|user| {
        user.disabled_at.is_none() && !user.all_projects && !members.iter().any(|member| member.user_id == user.id)
    });
    let entries = history(&mut read, id).await?;
    let steps = Steps::effective(None, project.reminder_steps.as_ref(), &read.organisation().reminder_steps).clone();
    read.end().await?;
    let (status, form) = match refused {
        None => (StatusCode::OK, FormState::new(Fields::new().with("role", ProjectRole::Operator.code()))),
        Some((fields, errors)) => (StatusCode::UNPROCESSABLE_ENTITY, FormState::again(fields, errors)),
    };
    page_with(status, &ProjectPage { shell, project, steps, members, others, entries, form })
}

/// What happened to the project and its members, newest first.
async fn history(read: &mut Read, id: ProjectId) -> Result<Vec<Entry>> {
    let most = i64::try_from(limits::PAGE_ROWS).unwrap_or(i64::MAX);
    let mut entries = audit::of(read, "project", id.0, most).await?;
    let members = EntryFilter { kind: Some("membership".to_owned()), project: Some(id.0), ..EntryFilter::default() };
    entries.extend(audit::list(read, &members, most).await?);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    entries.truncate(limits::PAGE_ROWS);
    Ok(entries)
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<ProjectId>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let project = project::get(read.connection(), id).await?;
    shell.actor.allow(Permission::Manage, Some(id))?;
    ProjectForm::answer(shell, Edit::fresh(fields_of(&project)), Some(project))
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<ProjectId>, fields: Fields) -> Result<Response> {
    let Err(error) = save(&app, &shell, id, &fields).await else {
        return Ok(see(&shell.base, &format!("/projects/{id}")));
    };
    let mut read = app.read(&shell.actor).await?;
    let project = project::get(read.connection(), id).await?;
    shell.actor.allow(Permission::Manage, Some(id))?;
    let present = Present { kind: "project", id: id.0, fields: fields_of(&project), labels: LABELS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    ProjectForm::answer(shell, edit, Some(project))
}

async fn save(app: &App, shell: &Shell, id: ProjectId, fields: &Fields) -> Result<()> {
    let new = parse(fields)?;
    let (version, submit_id) = (fields.version()?, fields.submit_id()?);
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(submit_id).await?.is_none() {
        project::change(&mut tx, id, version, new).await?;
        tx.sent(submit_id, &format!("/projects/{id}")).await?;
    }
    tx.commit().await
}

/// What is done about a member.
enum Act {
    Add(UserId, ProjectRole),
    Change(MembershipId, i32, ProjectRole),
    End(MembershipId, i32),
}

async fn add_member(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<ProjectId>,
    fields: Fields,
) -> Result<Response> {
    let user = fields.get("user").parse().map_err(|_| Error::invalid("user", Message::new("error-user-unknown")));
    let act = user.and_then(|user| Ok(Act::Add(user, role(&fields)?)));
    members(app, shell, id, fields, act).await
}

async fn change_member(
    State(app): State<App>,
    shell: Shell,
    Path((id, member)): Path<(ProjectId, MembershipId)>,
    fields: Fields,
) -> Result<Response> {
    let act = fields.version().and_then(|version| Ok(Act::Change(member, version, role(&fields)?)));
    members(app, shell, id, fields, act).await
}

async fn end_member(
    State(app): State<App>,
    shell: Shell,
    Path((id, member)): Path<(ProjectId, MembershipId)>,
    fields: Fields,
) -> Result<Response> {
    let act = fields.version().map(|version| Act::End(member, version));
    members(app, shell, id, fields, act).await
}

fn role(fields: &Fields) -> Result<ProjectRole> {
    ProjectRole::from_code(fields.get("role")).ok_or_else(|| Error::invalid("role", Message::new("error-project-role")))
}

async fn members(app: App, shell: Shell, id: ProjectId, fields: Fields, act: Result<Act>) -> Result<Response> {
    project::get(app.read(&shell.actor).await?.connection(), id).await?;
    shell.actor.allow(Permission::Manage, Some(id))?;
    let done = match act {
        Ok(act) => carry_out(&app, &shell, id, &fields, act).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => Ok(see(&shell.base, &format!("/projects/{id}"))),
        Err(error) => one(&app, shell, id, Some((fields, field_errors(error)?))).await,
    }
}

async fn carry_out(app: &App, shell: &Shell, id: ProjectId, fields: &Fields, act: Act) -> Result<()> {
    let submit_id = fields.submit_id()?;
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(submit_id).await?.is_none() {
        let member = match act {
            Act::Add(user, role) => membership::add(&mut tx, id, user, role).await?,
            Act::Change(member, version, role) => membership::change(&mut tx, member, version, role).await?,
            Act::End(member, version) => membership::end(&mut tx, member, version).await?,
        };
        if member.project_id != id {
            return Err(Error::NotFound);
        }
        tx.sent(submit_id, &format!("/projects/{id}")).await?;
    }
    tx.commit().await
}
