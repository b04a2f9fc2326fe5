//! The list of people, and adding one.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream;

use super::{field_errors, languages, optional};
use crate::access::invitation::{self, AddedUser};
use crate::access::people::{self, PEOPLE, PeopleFilter, PersonRow};
use crate::access::person::{self, NewPerson, Person};
use crate::access::user::Right;
use crate::actor::Permission;
use crate::app::App;
use crate::error::{FieldErrors, Result};
use crate::limits;
use crate::locale::Message;
use crate::table::Format;
use crate::text::Email;
use crate::tx::Read;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

pub fn routes() -> Routes {
    let administer = Needs::May(Permission::Administer);
    Routes::new()
        .get("/people", Needs::SignIn, list)
        .get("/people.csv", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Csv).await)
        .get("/people.xlsx", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Xlsx).await)
        .get("/people.json", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Json).await)
        .get("/people/new", administer, form)
        .post("/people", administer, add)
}

#[derive(Template)]
#[template(path = "access/people.html")]
struct PeoplePage {
    shell: Shell,
    filter: PeopleFilter,
    rows: Vec<PersonRow>,
    next: Option<String>,
}

impl PeoplePage {
    fn roles(&self) -> Vec<(&'static str, &'static str, bool)> {
        let roles = [
            ("administrator", "role-administrator"),
            ("auditor", "role-auditor"),
            ("member", "role-member"),
            ("none", "user-state-none"),
        ];
        roles.map(|(code, key)| (code, key, self.filter.role.as_deref() == Some(code))).to_vec()
    }

    fn filtered(&self) -> bool {
        !self.shell.filter().is_empty()
    }
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<PeopleFilter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let mut rows = people::page(&mut read, &filter).await?;
    read.end().await?;
    let more = rows.len() > limits::PAGE_ROWS;
    rows.truncate(limits::PAGE_ROWS);
    let next = rows.last().filter(|_| more).map(|last| shell.onward("after", last.id));
    page(&PeoplePage { shell, filter, rows, next })
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<PeopleFilter>,
    format: Format,
) -> Result<Response> {
    let rows = |mut read: Read| stream::once(async move { people::people_rows(&mut read, &filter).await });
    export::file(&app, &shell, &PEOPLE, format, rows).await
}

#[derive(Template)]
#[template(path = "access/person_form.html")]
struct NewPersonPage {
    shell: Shell,
    form: FormState,
    languages: Vec<(&'static str, &'static str)>,
    rights: Vec<(&'static str, String)>,
    /// Whose address it is already.
    known: Option<Person>,
}

impl NewPersonPage {
    fn new(shell: Shell, form: FormState, known: Option<Person>) -> Self {
        let rights = super::rights(&shell);
        Self { shell, form, languages: languages(), rights, known }
    }
}

/// The link to choose a password, shown once to whoever has to hand it over.
#[derive(Template)]
#[template(path = "access/invited.html")]
pub(super) struct InvitedPage {
    shell: Shell,
    name: String,
    path: String,
    link: String,
    /// Why it was not mailed, where that was tried.
    trouble: Option<Message>,
}

async fn form(shell: Shell) -> Result<Response> {
    page(&NewPersonPage::new(shell, FormState::new(Fields::new()), None))
}

async fn add(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let added = async {
        let (new, right) = parse(&fields)?;
        invitation::add_person(&app, &shell.because(&fields)?, new, right, fields.submit_id()?).await
    };
    match added.await {
        Ok((location, Some(added))) => invited(&app, shell, added, &location),
        Ok((location, None)) => Ok(see(&shell.base, &location)),
        Err(error) => {
            let errors = field_errors(error)?;
            let known = match fields.get("email").parse::<Email>() {
                Ok(email) => person::find_by_email(app.read(&shell.actor).await?.connection(), &email).await?,
                Err(_) => None,
            };
            let form = FormState::again(fields, errors);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &NewPersonPage::new(shell, form, known))
        }
    }
}

/// After a log-in was made: to the person where the link was mailed, else the link itself.
pub(super) fn invited(app: &App, shell: Shell, added: AddedUser, location: &str) -> Result<Response> {
    let is_mailed = added.is_mailed();
    match added.link {
        Some(link) if !is_mailed => {
            let trouble = added.mail.as_ref().and_then(|outcome| outcome.message().cloned());
            let link = app.public_link(&link).unwrap_or_else(|| shell.href(&link));
            page(&InvitedPage { shell, name: added.user.name, path: location.to_owned(), link, trouble })
        }
        _ => Ok(see(&shell.base, location)),
    }
}

fn parse(fields: &Fields) -> Result<(NewPerson, Option<Right>), FieldErrors> {
    let mut errors = FieldErrors::new();
    let name = errors.take("name", fields.get("name").parse());
    let email = optional(fields, &mut errors, "email");
    let locale = optional(fields, &mut errors, "locale");
    let right = fields.filled("right").and_then(|code| errors.take("right", Right::from_code(code)));
    if right.is_some() && fields.filled("email").is_none() {
        errors.add("email", Message::new("error-email-needed"));
    }
    match name {
        Some(name) if errors.is_empty() => Ok((NewPerson { name, email, locale }, right)),
        _ => Err(errors),
    }
}
