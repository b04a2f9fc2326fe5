//! One person: facts, log-in, projects, history; editing, inviting, ending the log-in.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use super::people::invited;
use super::{field_errors, languages, optional, rights};
use crate::access::invitation;
use crate::access::membership::{self, Membership};
use crate::access::one_time_link;
use crate::access::person::{self, ChangedPerson, Person};
use crate::access::session::{self, Session, Which};
use crate::access::user::{self, Right, User};
use crate::actor::Permission;
use crate::app::App;
use crate::audit::{self, Entry};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::PersonId;
use crate::limits;
use crate::locale::Locale;
use crate::text::Email;
use crate::tx::Read;
use crate::web::edit::{Edit, Present};
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

pub fn routes() -> Routes {
    let administer = Needs::May(Permission::Administer);
    Routes::new()
        .get("/people/{id}", Needs::SignIn, show)
        .get("/people/{id}/edit", administer, edit)
        .post("/people/{id}", administer, change)
        .post("/people/{id}/log-in", administer, give_log_in)
        .post("/people/{id}/right", administer, change_right)
        .post("/people/{id}/link", administer, new_link)
        .post("/people/{id}/disable", administer, disable)
        .post("/people/{id}/enable", administer, enable)
        .post("/people/{id}/sessions", administer, end_session)
        .post("/people/{id}/sessions/all", administer, end_sessions)
}

#[derive(Template)]
#[template(path = "access/person_show.html")]
struct PersonPage {
    shell: Shell,
    person: Person,
    user: Option<User>,
    memberships: Vec<Membership>,
    /// Where the person is signed in; nothing but for an administrator.
    sessions: Vec<Session>,
    entries: Vec<Entry>,
    /// No password was chosen, and no link works with which one could be.
    needs_link: bool,
    form: FormState,
    rights: Vec<(&'static str, String)>,
}

impl PersonPage {
    /// An id for a form of one button: each of the page's forms is an act of its own.
    fn submit_id() -> Uuid {
        Uuid::now_v7()
    }

    /// Where the buttons lead that end a session.
    fn sessions_target(&self) -> String {
        self.shell.href(&format!("/people/{}/sessions", self.person.id))
    }

    /// The person's own language by its own name.
    fn language(&self) -> Option<&'static str> {
        self.person.locale.as_deref().and_then(|tag| tag.parse().ok()).map(Locale::own_name)
    }
}

async fn show(State(app): State<App>, shell: Shell, Path(id): Path<PersonId>) -> Result<Response> {
    one(&app, shell, id, None).await
}

/// The page, perhaps with a form about the log-in that was refused.
async fn one(app: &App, shell: Shell, id: PersonId, refused: Option<(Fields, FieldErrors)>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let person = person::get(read.connection(), id).await?;
    let user = user::find_by_person(read.connection(), id).await?;
    let memberships = membership::list_of(read.connection(), id).await?;
    let sessions = match &user {
        Some(user) if shell.administers() => {
            let now = read.now();
            session::list(read.connection(), user.id, now).await?
        }
        _ => Vec::new(),
    };
    let needs_link = needs_link(&mut read, &shell, user.as_ref()).await?;
    let entries = history(&mut read, id, user.as_ref()).await?;
    read.end().await?;
    let right = user.as_ref().map(|user| user.right_words().0).unwrap_or_default();
    let version = user.as_ref().map_or(0, |user| user.version);
    let (status, form) = match refused {
        None => (StatusCode::OK, FormState::new(Fields::new().with("right", right).with("version", version))),
        Some((fields, errors)) => {
            let fields = if fields.filled("right").is_some() { fields } else { fields.with("right", right) };
            (StatusCode::UNPROCESSABLE_ENTITY, FormState::again(fields, errors))
        }
    };
    let rights = rights(&shell);
    page_with(status, &PersonPage { shell, person, user, memberships, sessions, entries, needs_link, form, rights })
}

/// Whether somebody who may send a link should: no password was chosen, and no link works with which one could be.
async fn needs_link(read: &mut Read, shell: &Shell, user: Option<&User>) -> Result<bool> {
    let Some(user) = user.filter(|user| shell.administers() && !user.has_password) else { return Ok(false) };
    let now = read.now();
    Ok(!one_time_link::any_open(read.connection(), user.id, now).await?)
}

/// What happened to the person and to the log-in, newest first.
async fn history(read: &mut Read, person: PersonId, user: Option<&User>) -> Result<Vec<Entry>> {
    let most = i64::try_from(limits::PAGE_ROWS).unwrap_or(i64::MAX);
    let mut entries = audit::of(read, "person", person.0, most).await?;
    if let Some(user) = user {
        entries.extend(audit::of(read, "user_account", user.id.0, most).await?);
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    entries.truncate(limits::PAGE_ROWS);
    Ok(entries)
}

const LABELS: &[(&str, &str)] = &[("name", "people-name"), ("email", "field-email"), ("locale", "people-locale")];

#[derive(Template)]
#[template(path = "access/person_edit.html")]
struct EditPage {
    shell: Shell,
    edit: Edit,
    person: Person,
    languages: Vec<(&'static str, &'static str)>,
}

fn fields_of(person: &Person) -> Fields {
    Fields::new()
        .with("name", &person.name)
        .with("email", person.email.as_ref().map_or("", Email::as_str))
        .with("locale", person.locale.as_deref().unwrap_or_default())
        .with("version", person.version)
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<PersonId>) -> Result<Response> {
    let person = person::get(app.read(&shell.actor).await?.connection(), id).await?;
    edit_page(shell, Edit::fresh(fields_of(&person)), person)
}

fn edit_page(shell: Shell, edit: Edit, person: Person) -> Result<Response> {
    page_with(edit.status, &EditPage { shell, edit, person, languages: languages() })
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<PersonId>, fields: Fields) -> Result<Response> {
    let Err(error) = save(&app, &shell, id, &fields).await else {
        return Ok(see(&shell.base, &format!("/people/{id}")));
    };
    let mut read = app.read(&shell.actor).await?;
    let person = person::get(read.connection(), id).await?;
    let present = Present { kind: "person", id: id.0, fields: fields_of(&person), labels: LABELS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    edit_page(shell, edit, person)
}

async fn save(app: &App, shell: &Shell, id: PersonId, fields: &Fields) -> Result<()> {
    let mut errors = FieldErrors::new();
    let name = errors.take("name", fields.get("name").parse());
    let email = optional(fields, &mut errors, "email");
    let locale = optional(fields, &mut errors, "locale");
    let (version, submit_id) = (fields.version()?, fields.submit_id()?);
    let Some(name) = name.filter(|_| errors.is_empty()) else { return Err(errors.into()) };
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(submit_id).await?.is_none() {
        person::change(&mut tx, id, version, ChangedPerson { name, email, locale }).await?;
        tx.sent(submit_id, &format!("/people/{id}")).await?;
    }
    tx.commit().await
}

async fn give_log_in(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<PersonId>,
    fields: Fields,
) -> Result<Response> {
    let given = async {
        let right = Right::from_code(fields.get("right")).map_err(|message| Error::invalid("right", message))?;
        invitation::give_log_in(&app, &shell.because(&fields)?, id, right, fields.submit_id()?).await
    };
    match given.await {
        Ok(Some(added)) => invited(&app, shell, added, &format!("/people/{id}")),
        Ok(None) => Ok(see(&shell.base, &format!("/people/{id}"))),
        Err(error) => one(&app, shell, id, Some((fields, field_errors(error)?))).await,
    }
}

async fn new_link(State(app): State<App>, shell: Shell, Path(id): Path<PersonId>, fields: Fields) -> Result<Response> {
    let user = log_in(&app, &shell, id).await?;
    let made = async { invitation::new_link(&app, &shell.because(&fields)?, user.id, fields.submit_id()?).await };
    match made.await {
        Ok(Some(added)) => invited(&app, shell, added, &format!("/people/{id}")),
        Ok(None) => Ok(see(&shell.base, &format!("/people/{id}"))),
        Err(error) => one(&app, shell, id, Some((fields, field_errors(error)?))).await,
    }
}

async fn change_right(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<PersonId>,
    fields: Fields,
) -> Result<Response> {
    let right = Right::from_code(fields.get("right")).map_err(|message| Error::invalid("right", message));
    act(app, shell, id, fields, right.map(Act::Right)).await
}

async fn disable(State(app): State<App>, shell: Shell, Path(id): Path<PersonId>, fields: Fields) -> Result<Response> {
    act(app, shell, id, fields, Ok(Act::Disable)).await
}

async fn enable(State(app): State<App>, shell: Shell, Path(id): Path<PersonId>, fields: Fields) -> Result<Response> {
    act(app, shell, id, fields, Ok(Act::Enable)).await
}

/// What is done to a log-in with one button.
enum Act {
    Right(Right),
    Disable,
    Enable,
}

async fn act(app: App, shell: Shell, id: PersonId, fields: Fields, act: Result<Act>) -> Result<Response> {
    let done = match act {
        Ok(act) => carry_out(&app, &shell, id, &fields, act).await,
        Err(error) => Err(error),
    };
    match done {
        Ok(()) => Ok(see(&shell.base, &format!("/people/{id}"))),
        Err(error) => one(&app, shell, id, Some((fields, field_errors(error)?))).await,
    }
}

async fn carry_out(app: &App, shell: &Shell, id: PersonId, fields: &Fields, act: Act) -> Result<()> {
    let user = log_in(app, shell, id).await?.id;
    let (version, submit_id) = (fields.version()?, fields.submit_id()?);
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(submit_id).await?.is_none() {
        match act {
            Act::Right(right) => user::change_right(&mut tx, user, version, right).await?,
            Act::Disable => user::disable(&mut tx, user, version).await?,
            Act::Enable => user::enable(&mut tx, user, version).await?,
        };
        tx.sent(submit_id, &format!("/people/{id}")).await?;
    }
    tx.commit().await
}

async fn end_session(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<PersonId>,
    fields: Fields,
) -> Result<Response> {
    let token_hash = hex::decode(fields.get("session")).map_err(|_| Error::NotFound)?;
    revoke(&app, &shell, id, &fields, Which::One(&token_hash)).await
}

async fn end_sessions(
    State(app): State<App>,
    shell: Shell,
    Path(id): Path<PersonId>,
    fields: Fields,
) -> Result<Response> {
    // An administrator who means themself stays signed in here.
    revoke(&app, &shell, id, &fields, Which::AllBut(&shell.token_hash)).await
}

async fn revoke(app: &App, shell: &Shell, id: PersonId, fields: &Fields, which: Which<'_>) -> Result<Response> {
    let user = log_in(app, shell, id).await?;
    let mut tx = app.write(&shell.because(fields)?).await?;
    session::revoke(&mut tx, &user, which).await?;
    tx.commit().await?;
    Ok(see(&shell.base, &format!("/people/{id}")))
}

/// The log-in of a person who has one.
async fn log_in(app: &App, shell: &Shell, id: PersonId) -> Result<User> {
    let mut read = app.read(&shell.actor).await?;
    user::find_by_person(read.connection(), id).await?.ok_or(Error::NotFound)
}
