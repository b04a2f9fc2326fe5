//! Documents: the section of a thing's page, attaching, voiding, downloading.
//!
//! A file is never shown here, only saved: as an attachment, under a type of our list, without a right to run anything
//! ([`crate::web::headers`]).

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::app::App;
use crate::audit::{self, Entry};
use crate::catalog::{contract, provider};
use crate::document::{self, Document, Holder, NewDocument, Place, file_type};
use crate::environments::environment;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{ContractId, DocumentId, EnvironmentId, OutputId, ProjectId, ProviderId};
use crate::ledger::output;
use crate::limits;
use crate::locale::Message;
use crate::table::content_disposition;
use crate::text::{self, Line};
use crate::tx::Read;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::upload::Upload;

/// What hangs on the catalogue.
const CHANGE: Needs = Needs::May(Permission::Catalogue);
/// What hangs on a project's record.
const READ: Needs = Needs::InProject(Permission::Read);
const OPERATE: Needs = Needs::InProject(Permission::Operate);

/// The pages of documents.
pub fn routes() -> Routes {
    Routes::new()
        .post("/providers/{id}/documents", CHANGE, async |app, shell, Path(id), upload| {
            attach(app, shell, Holder::Provider(ProviderId(id)), upload).await
        })
        .post("/contracts/{id}/documents", CHANGE, async |app, shell, Path(id), upload| {
            attach(app, shell, Holder::Contract(ContractId(id)), upload).await
        })
        .post("/environments/{id}/documents", OPERATE, async |app, shell, Path(id), upload| {
            attach(app, shell, Holder::Environment(EnvironmentId(id)), upload).await
        })
        .post("/ledger/outputs/{id}/documents", OPERATE, async |app, shell, Path(id), upload| {
            attach(app, shell, Holder::Output(OutputId(id)), upload).await
        })
        .get("/documents/{id}", READ, download)
        .get("/documents/{id}/void", OPERATE, void_form)
        .post("/documents/{id}/void", OPERATE, void)
}

/// What a thing's page shows of its documents: the field `documents` of `documents_section.html`.
pub struct Section {
    /// Where the form leads.
    pub action: String,
    /// What is attached: by document, the newest version first.
    pub documents: Vec<Document>,
    /// The form that attaches a file.
    pub form: FormState,
    /// Whether the reader may attach and void.
    pub may_change: bool,
}

impl Section {
    /// Reads what is attached to a thing that the reader may see, of this project or of the catalogue.
    pub async fn of(read: &mut Read, shell: &Shell, holder: Holder, project: Option<ProjectId>) -> Result<Self> {
        let place = Place { holder, name: String::new(), project };
        let documents = document::of(read.connection(), holder).await?;
        Ok(Self::new(shell, &place, documents, FormState::new(Fields::new())))
    }

    fn new(shell: &Shell, place: &Place, documents: Vec<Document>, form: FormState) -> Self {
        let action = shell.href(&format!("{}/documents", place.holder.path()));
        Self { action, documents, form, may_change: shell.may(place.permission(), place.project) }
    }

    /// The acts recorded on the documents, for the history of the page.
    pub fn records(&self) -> impl Iterator<Item = (&'static str, i64)> {
        self.documents.iter().map(|document| ("document", document.id.0))
    }

    /// The documents of which a file can be the next version, by their newest name.
    pub fn choices(&self) -> Vec<(String, String)> {
        let mut series = Vec::new();
        let newest = self.documents.iter().filter(|document| {
            let first = !series.contains(&document.series());
            series.push(document.series());
            first
        });
        newest.map(|document| (document.id.to_string(), document.name.to_string())).collect()
    }
}

/// The thing, where the reader may see it.
async fn place(connection: &mut PgConnection, holder: Holder) -> Result<Place> {
    let (name, project) = match holder {
        Holder::Provider(id) => (provider::get(connection, id).await?.name.to_string(), None),
        Holder::Contract(id) => (contract::get(connection, id).await?.to_string(), None),
        Holder::Environment(id) => {
            let environment = environment::get(connection, id).await?;
            (environment.name.to_string(), Some(environment.project_id))
        }
        Holder::Output(id) => {
            let entry = output::get(connection, id).await?;
            (format!("{} {}", entry.environment, entry.period), Some(entry.project_id))
        }
    };
    Ok(Place { holder, name, project })
}

// ---- attaching ------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "documents/document_form.html")]
struct AttachPage {
    shell: Shell,
    place: Place,
    documents: Section,
}

async fn attach(State(app): State<App>, shell: Shell, holder: Holder, upload: Result<Upload>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let place = place(read.connection(), holder).await?;
    read.end().await?;
    shell.actor.allow(place.permission(), place.project)?;
    let (fields, attached) = match upload {
        Ok(upload) => (upload.fields.clone(), store(&app, &shell, &place, &upload).await),
        Err(error) => (Fields::new(), Err(fits_here(error))),
    };
    match attached {
        Ok(()) => Ok(see(&shell.base, &holder.path())),
        Err(Error::Invalid(errors)) => {
            let mut read = app.read(&shell.actor).await?;
            let documents = document::of(read.connection(), holder).await?;
            read.end().await?;
            let documents = Section::new(&shell, &place, documents, FormState::again(fields, errors));
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &AttachPage { shell, place, documents })
        }
        Err(error) => Err(error),
    }
}

/// The words of an upload that is too large speak of imports.
fn fits_here(error: Error) -> Error {
    let Error::Invalid(mut errors) = error else { return error };
    for error in &mut errors.0 {
        if error.message.key == "upload-too-large" {
            let limit = format!("{} MiB", limits::UPLOAD_BYTES >> 20);
            error.message = Message::new("documents-too-large").with("limit", limit);
        }
    }
    Error::Invalid(errors)
}

/// Keeps the bytes, then the row that names them.
async fn store(app: &App, shell: &Shell, place: &Place, upload: &Upload) -> Result<()> {
    let mut new = parse(upload)?;
    let submit_id = upload.fields.submit_id()?;
    let bytes = upload.file()?.bytes.clone();
    let stored = app.documents.put_bytes(bytes, limits::UPLOAD_BYTES).await?;
    new.sha256 = stored.sha256;
    let mut tx = app.write(&shell.because(&upload.fields)?).await?;
    if tx.sent_before(submit_id).await?.is_some() {
        return Ok(());
    }
    document::attach(&mut tx, place, &new).await?;
    app.documents.keep(stored).await?;
    tx.commit().await
}

/// Reads the form; the hash of the bytes is not known yet.
fn parse(upload: &Upload) -> Result<NewDocument> {
    let mut errors = FieldErrors::new();
    let note = errors.take("document_note", upload.fields.get("document_note").parse::<Line>());
    let unknown = || Message::new("error-document-version-of");
    let version_of = upload.fields.filled("version_of").map(|id| id.parse::<DocumentId>().map_err(|_| unknown()));
    let version_of = errors.take("version_of", version_of.transpose());
    let file = upload.file.as_ref().ok_or_else(|| Message::new("upload-no-file"));
    let read = file.and_then(|file| {
        let name = document::parse_name(&file.name)?;
        if file.bytes.is_empty() {
            return Err(Message::new("error-document-empty").with("name", name.as_str()));
        }
        let media_type = file_type::media_type(name.as_str(), &file.bytes)?;
        Ok((name, media_type, i64::try_from(file.bytes.len()).unwrap_or(i64::MAX)))
    });
    match (errors.take("file", read), note, version_of) {
        (Some((name, media_type, size)), Some(note), Some(version_of)) => {
            Ok(NewDocument { name, media_type, size, sha256: [0; 32], note, version_of })
        }
        _ => Err(errors.into()),
    }
}

// ---- downloading ----------------------------------------------------------------------------------------------------

async fn download(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let document = document::get(read.connection(), DocumentId(id)).await?;
    read.end().await?;
    let hash = document.sha256.as_slice().try_into();
    let found = app.documents.get(hash.map_err(|_| Error::internal("a document's hash has another length"))?).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(file_type::served(&document.media_type))),
        (header::CONTENT_DISPOSITION, content_disposition(document.name.as_str())),
    ];
    Ok((headers, Body::from_stream(found.bytes)).into_response())
}

// ---- voiding --------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "documents/document_void.html")]
struct VoidPage {
    shell: Shell,
    form: FormState,
    place: Place,
    document: Document,
    entries: Vec<Entry>,
}

impl VoidPage {
    fn hash(&self) -> String {
        hex::encode(&self.document.sha256)
    }
}

async fn void_page(app: &App, shell: Shell, id: DocumentId, form: FormState) -> Result<VoidPage> {
    let mut read = app.read(&shell.actor).await?;
    let document = document::get(read.connection(), id).await?;
    let place = place(read.connection(), document.holder()?).await?;
    shell.actor.allow(place.permission(), place.project)?;
    if !document.is_open() {
        return Err(Error::Conflict(Message::new("error-document-voided")));
    }
    let entries = audit::of(&mut read, "document", id.0, 10).await?;
    read.end().await?;
    Ok(VoidPage { shell, form, place, document, entries })
}

async fn void_form(State(app): State<App>, shell: Shell, Path(id): Path<i64>) -> Result<Response> {
    page(&void_page(&app, shell, DocumentId(id), FormState::new(Fields::new())).await?)
}

async fn void(State(app): State<App>, shell: Shell, Path(id): Path<i64>, fields: Fields) -> Result<Response> {
    let id = DocumentId(id);
    let voided = async {
        let reason = text::filled(fields.reason()).and_then(str::parse::<Line>);
        let reason = reason.map_err(|message| Error::invalid("reason", message))?;
        let mut tx = app.write(&shell.actor.clone().because(reason.as_str())).await?;
        let document = document::get(tx.connection(), id).await?;
        let place = place(tx.connection(), document.holder()?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            document::void(&mut tx, &place, id, &reason).await?;
            tx.commit().await?;
        }
        Ok(place)
    };
    match voided.await {
        Ok(place) => Ok(see(&shell.base, &place.holder.path())),
        Err(Error::Invalid(errors)) => {
            let template = void_page(&app, shell, id, FormState::again(fields, errors)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}
