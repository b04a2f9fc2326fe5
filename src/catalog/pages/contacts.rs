//! Contacts of a provider: adding and changing one.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::app::App;
use crate::catalog::contact::{self, Contact, ContactFacts};
use crate::catalog::provider::{self, Provider, ProviderFilter};
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{ContactId, ProviderId};
use crate::table::Format;
use crate::text::Email;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::stale::Stale;

use super::{EDIT, last_editor, yes};

/// The pages of contacts.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/contacts.csv", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Csv).await)
        .get("/contacts.xlsx", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Xlsx).await)
        .get("/contacts.json", Needs::SignIn, async |s, h, q| file(s, h, q, Format::Json).await)
        .get("/providers/{id}/contacts/new", EDIT, new)
        .post("/providers/{id}/contacts", EDIT, add)
        .get("/contacts/{id}/edit", EDIT, edit)
        .post("/contacts/{id}", EDIT, change)
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<ProviderFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &contact::TABLE, format, |read| contact::batches(read, filter)).await
}

#[derive(Template)]
#[template(path = "catalog/contact_form.html")]
struct ContactForm {
    shell: Shell,
    form: FormState,
    stale: Option<Stale>,
    provider: Provider,
    /// The one that is changed; nothing for a new one.
    contact: Option<Contact>,
}

impl ContactForm {
    fn title(&self) -> String {
        self.contact.as_ref().map_or_else(|| self.shell.text("catalog-add-contact"), |it| it.name.to_string())
    }

    fn action(&self) -> String {
        self.shell.href(&match &self.contact {
            Some(contact) => format!("/contacts/{}", contact.id),
            None => format!("{}/contacts", address(self.provider.id)),
        })
    }

    fn back(&self) -> String {
        self.shell.href(&address(self.provider.id))
    }

    fn yes_no(&self) -> Vec<(&'static str, String)> {
        super::yes_no(&self.shell)
    }
}

fn address(provider: ProviderId) -> String {
    format!("/providers/{provider}")
}

/// The fields of the form, with their labels.
const FIELDS: &[(&str, &str)] = &[
    ("name", "catalog-name"),
    ("job", "catalog-job"),
    ("email", "catalog-email"),
    ("phone", "catalog-phone"),
    ("former", "catalog-former"),
    ("note", "catalog-note"),
];

fn fields_of(contact: &Contact) -> Fields {
    Fields::new()
        .with("version", contact.version)
        .with("name", &contact.name)
        .with("job", &contact.job)
        .with("email", contact.email.as_ref().map_or("", Email::as_str))
        .with("phone", &contact.phone)
        .with("former", yes(contact.former))
        .with("note", &contact.note)
}

async fn new_page(app: &App, shell: Shell, id: i64, form: FormState) -> Result<ContactForm> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), ProviderId(id)).await?;
    read.end().await?;
    Ok(ContactForm { shell, form, stale: None, provider, contact: None })
}

async fn new(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&new_page(&app, shell, id, FormState::new(Fields::new())).await?)
}

async fn add(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = ContactFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            contact::add(&mut tx, ProviderId(id), &facts).await?;
            tx.commit().await?;
        }
        Ok(())
    };
    match added.await {
        Ok(()) => Ok(see(&shell.base, &address(ProviderId(id)))),
        Err(Error::Invalid(errors)) => {
            let template = new_page(&app, shell, id, FormState::again(fields, errors)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let contact = contact::get(read.connection(), ContactId(id)).await?;
    let provider = provider::get(read.connection(), contact.provider_id).await?;
    read.end().await?;
    let form = FormState::new(fields_of(&contact));
    page(&ContactForm { shell, form, stale: None, provider, contact: Some(contact) })
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = ContactFacts::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_some() {
            return Ok(contact::get(tx.connection(), ContactId(id)).await?.provider_id);
        }
        let contact = contact::change(&mut tx, ContactId(id), fields.version()?, &facts).await?;
        tx.commit().await?;
        Ok(contact.provider_id)
    };
    let (status, errors) = match changed.await {
        Ok(provider) => return Ok(see(&shell.base, &address(provider))),
        Err(Error::Invalid(errors)) => (StatusCode::UNPROCESSABLE_ENTITY, errors),
        Err(Error::Conflict(_)) => (StatusCode::CONFLICT, FieldErrors::new()),
        Err(error) => return Err(error),
    };
    let mut read = app.read(&shell.actor).await?;
    let contact = contact::get(read.connection(), ContactId(id)).await?;
    let provider = provider::get(read.connection(), contact.provider_id).await?;
    let who = last_editor(&mut read, "provider_contact", id).await?;
    let stale = (status == StatusCode::CONFLICT).then(|| Stale::new(who, &fields_of(&contact), &fields, FIELDS));
    let fields = if stale.is_some() { fields.with("version", contact.version) } else { fields };
    let form = FormState::again(fields, errors);
    page_with(status, &ContactForm { shell, form, stale, provider, contact: Some(contact) })
}
