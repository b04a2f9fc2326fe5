//! Bills: the imports so far, a file to be looked at, and its import.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use crate::actor::{Actor, Permission};
use crate::app::App;
use crate::catalog::provider;
use crate::error::{Error, FieldErrors, Result};
use crate::ledger::bill_import::{self, BillFile, BillImport, Source, Summary};
use crate::limits;
use crate::locale::Message;
use crate::row_error::Said;
use crate::text::Name;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::upload::Upload;

const PLACE: Needs = Needs::May(Permission::Unplaced);

/// The list of imports, and the way of a file in.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/imports", Needs::AllProjects, list)
        .get("/imports/bill", PLACE, choose_file)
        .post("/imports/bill", PLACE, upload)
        .get("/imports/bill/{sha256}", PLACE, preview)
        .post("/imports/bill/{sha256}", PLACE, confirm)
}

#[derive(Template)]
#[template(path = "ledger/bill_list.html")]
struct BillList {
    shell: Shell,
    imports: Vec<BillImport>,
    next: Option<String>,
}

impl BillList {
    fn entries(&self, import: &BillImport) -> String {
        self.shell.href(&format!("/ledger?import={}", import.id))
    }
}

/// A place in the list of imports.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Place {
    before: Option<i64>,
}

async fn list(State(app): State<App>, shell: Shell, Query(place): Query<Place>) -> Result<Response> {
    super::sees_all(&shell.actor)?;
    let mut read = app.read(&shell.actor).await?;
    let mut imports = bill_import::list(&mut read, place.before).await?;
    read.end().await?;
    let more = imports.len() > limits::PAGE_ROWS;
    imports.truncate(limits::PAGE_ROWS);
    let next = imports.last().filter(|_| more).map(|last| shell.onward("before", last.id));
    page(&BillList { shell, imports, next })
}

// ---- a file ---------------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/bill_import.html")]
struct ChooseFile {
    shell: Shell,
    form: FormState,
    providers: Vec<String>,
}

async fn choose(app: &App, shell: Shell, form: FormState) -> Result<ChooseFile> {
    let mut read = app.read(&shell.actor).await?;
    let providers = provider::list(&mut read).await?;
    read.end().await?;
    let providers = providers.iter().map(|it| it.name.to_string()).collect();
    Ok(ChooseFile { shell, form, providers })
}

async fn choose_file(State(app): State<App>, shell: Shell) -> Result<Response> {
    page(&choose(&app, shell, FormState::new(Fields::new())).await?)
}

/// Keeps the file under its hash and leads to the preview: nothing is saved in the ledger yet.
async fn upload(State(app): State<App>, shell: Shell, upload: Upload) -> Result<Response> {
    let stored = async {
        let mut errors = FieldErrors::new();
        let provider = errors.take("provider", upload.fields.get("provider").parse::<Name>());
        let file = errors.take("file", upload.file.as_ref().ok_or_else(|| Message::new("upload-no-file")));
        let (Some(provider), Some(file)) = (provider, file) else { return Err(Error::from(errors)) };
        let hash = bill_import::take_in(&app, &shell.actor, file.bytes.clone()).await?;
        let query = [("name", file.name.as_str()), ("provider", provider.as_str())];
        let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        Ok(format!("/imports/bill/{}?{query}", hex::encode(hash)))
    };
    match stored.await {
        Ok(location) => Ok(see(&shell.base, &location)),
        Err(Error::Invalid(errors)) => {
            let template = choose(&app, shell, FormState::again(upload.fields, errors)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

/// What goes with a file's hash from page to page.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    provider: String,
}

#[derive(Template)]
#[template(path = "ledger/bill_preview.html")]
struct Preview {
    shell: Shell,
    form: FormState,
    hash: String,
    named: Named,
    summary: Summary,
}

impl Preview {
    fn counts(&self) -> String {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let message = Message::new("bill-preview")
            .with("rows", count(self.summary.rows_read))
            .with("new", count(self.summary.rows_new))
            .with("known", count(self.summary.rows_known))
            .with("bad", count(self.summary.rows_rejected));
        self.shell.say(&message)
    }

    fn missing(&self) -> Option<String> {
        let missing = i64::try_from(self.summary.rows_missing).unwrap_or(i64::MAX);
        (missing > 0).then(|| self.shell.with("bill-missing", "n", missing))
    }

    fn unknown(&self) -> Option<String> {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let unknown = &self.summary.unknown;
        let message = Message::new("bill-unknown")
            .with("billed", count(unknown.billed))
            .with("effective", count(unknown.effective))
            .with("list", count(unknown.list));
        (unknown.billed + unknown.effective + unknown.list > 0).then(|| self.shell.say(&message))
    }

    fn refusal(&self) -> String {
        let bad = i64::try_from(self.summary.rows_rejected).unwrap_or(i64::MAX);
        if bad == 0 { self.shell.text("bill-file-bad") } else { self.shell.with("bill-rows-bad", "bad", bad) }
    }

    fn errors(&self) -> Vec<Said> {
        self.summary.errors.said(self.shell.locale)
    }

    fn months(&self) -> String {
        let months: Vec<String> = self.summary.periods.iter().map(ToString::to_string).collect();
        months.join(", ")
    }
}

/// Looks at a file that was taken in, or imports it.
async fn run(app: &App, actor: &Actor, hash: &str, named: &Named, dry_run: bool) -> Result<Summary> {
    let mut sha256 = [0; 32];
    hex::decode_to_slice(hash, &mut sha256).map_err(|_| Error::NotFound)?;
    let file = BillFile { name: named.name.clone(), source: Source::Document(sha256) };
    bill_import::run(app, actor, file, &named.provider, dry_run, Arc::new(|_| ())).await
}

async fn preview(
    State(app): State<App>,
    shell: Shell,
    Path(hash): Path<String>,
    Query(named): Query<Named>,
) -> Result<Response> {
    let summary = run(&app, &shell.actor, &hash, &named, true).await?;
    let form = FormState::new(Fields::new());
    page(&Preview { shell, form, hash, named, summary })
}

/// The same file again adds nothing, so a form that is sent twice needs no further care.
async fn confirm(State(app): State<App>, shell: Shell, Path(hash): Path<String>, upload: Upload) -> Result<Response> {
    let field = |name: &str| upload.fields.get(name).to_owned();
    let named = Named { name: field("name"), provider: field("provider") };
    let summary = run(&app, &shell.because(&upload.fields)?, &hash, &named, false).await?;
    if summary.is_good() {
        return Ok(see(&shell.base, "/imports"));
    }
    let form = FormState::again(upload.fields, FieldErrors::new());
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &Preview { shell, form, hash, named, summary })
}
