//! Contacts of a provider: adding and changing one.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::catalog::contact::{self, Contact, ContactFacts};
use crate::catalog::provider::{self, Provider, ProviderFilter};
use crate::error::Result;
use crate::ids::{ContactId, ProviderId};
use crate::table::Format;
use crate::text::Email;
use crate::web::edit::{self, Edit, Present};
use crate::web::export;
use crate::web::forms::Fields;
use crate::web::page::{page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

use super::{EDIT, yes};

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
    edit: Edit,
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

fn form_page(shell: Shell, edit: Edit, provider: Provider, contact: Option<Contact>) -> Result<Response> {
    page_with(edit.status, &ContactForm { shell, edit, provider, contact })
}

async fn new_page(app: &App, shell: Shell, id: ProviderId, edit: Edit) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let provider = provider::get(read.connection(), id).await?;
    read.end().await?;
    form_page(shell, edit, provider, None)
}

async fn new(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>) -> Result<Response> {
    new_page(&app, shell, id, Edit::fresh(Fields::new())).await
}

async fn add(State(app): State<App>, shell: Shell, Path(id): Path<ProviderId>, fields: Fields) -> Result<Response> {
    let added = async {
        let facts = ContactFacts::parse(&|name| fields.get(name))?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            contact::add(tx, id, &facts).await?;
            Ok(address(id))
        })
        .await
    };
    match added.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(error) => new_page(&app, shell, id, Edit::refused(fields, error)?).await,
    }
}

async fn edit(State(app): State<App>, shell: Shell, Path(id): Path<ContactId>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let contact = contact::get(read.connection(), id).await?;
    let provider = provider::get(read.connection(), contact.provider_id).await?;
    read.end().await?;
    form_page(shell, Edit::fresh(fields_of(&contact)), provider, Some(contact))
}

async fn change(State(app): State<App>, shell: Shell, Path(id): Path<ContactId>, fields: Fields) -> Result<Response> {
    let changed = async {
        let facts = ContactFacts::parse(&|name| fields.get(name))?;
        let version = fields.version()?;
        edit::once(&app, &shell.because(&fields)?, &fields, async |tx| {
            Ok(address(contact::change(tx, id, version, &facts).await?.provider_id))
        })
        .await
    };
    let error = match changed.await {
        Ok(location) => return Ok(see(&shell.base, &location)),
        Err(error) => error,
    };
    let mut read = app.read(&shell.actor).await?;
    let contact = contact::get(read.connection(), id).await?;
    let provider = provider::get(read.connection(), contact.provider_id).await?;
    let present = Present { kind: "provider_contact", id: id.0, fields: fields_of(&contact), labels: FIELDS };
    let edit = Edit::again(&mut read, fields, error, present).await?;
    read.end().await?;
    form_page(shell, edit, provider, Some(contact))
}
