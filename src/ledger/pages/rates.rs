//! Exchange rates: the list, one typed by hand, a file of many.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use chrono::NaiveDate;
use futures_util::TryStreamExt as _;
use serde::Deserialize;

use crate::actor::Permission;
use crate::app::App;
use crate::error::{Error, FieldErrors, Result};
use crate::ledger::exchange_rate::{self, ExchangeRate, NewRate, RateFilter};
use crate::ledger::exchange_rate_import::{self as import, Summary};
use crate::limits;
use crate::locale::Message;
use crate::row_error::Said;
use crate::table::Format;
use crate::web::export;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use crate::web::upload::Upload;

const EDIT: Needs = Needs::May(Permission::Catalogue);

/// The pages of exchange rates.
pub(super) fn routes() -> Routes {
    Routes::new()
        .get("/rates", Needs::SignIn, list)
        .get("/rates.csv", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Csv).await)
        .get("/rates.xlsx", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Xlsx).await)
        .get("/rates.json", Needs::SignIn, async |app, shell, query| file(app, shell, query, Format::Json).await)
        .post("/rates", EDIT, add)
        .get("/imports/rates", EDIT, choose_file)
        .post("/imports/rates", EDIT, upload)
        .get("/imports/rates/{sha256}", EDIT, preview)
        .post("/imports/rates/{sha256}", EDIT, confirm)
}

#[derive(Template)]
#[template(path = "ledger/rate_list.html")]
struct RateList {
    shell: Shell,
    form: FormState,
    filter: RateFilter,
    rates: Vec<ExchangeRate>,
    next: Option<String>,
}

async fn rate_list(app: &App, shell: Shell, filter: RateFilter, form: Option<FormState>) -> Result<RateList> {
    let mut read = app.read(&shell.actor).await?;
    let rows = limits::PAGE_ROWS;
    let mut rates = exchange_rate::list(&mut read, &filter, i64::try_from(rows).unwrap_or(i64::MAX) + 1).await?;
    let first = Fields::new().with("quote", &read.organisation().currency).with("rated_on", read.today());
    read.end().await?;
    let more = rates.len() > rows;
    rates.truncate(rows);
    let next = rates.last().filter(|_| more).map(|last| shell.onward("before", last.place()));
    Ok(RateList { shell, form: form.unwrap_or_else(|| FormState::new(first)), filter, rates, next })
}

async fn list(State(app): State<App>, shell: Shell, Query(filter): Query<RateFilter>) -> Result<Response> {
    page(&rate_list(&app, shell, filter, None).await?)
}

async fn file(
    State(app): State<App>,
    shell: Shell,
    Query(filter): Query<RateFilter>,
    format: Format,
) -> Result<Response> {
    export::file(&app, &shell, &exchange_rate::TABLE, format, |read| exchange_rate::batches(read, filter)).await
}

async fn add(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let added = async {
        let new = NewRate::parse(&|name| fields.get(name))?;
        let mut tx = app.write(&shell.because(&fields)?).await?;
        if tx.sent_before(fields.submit_id()?).await?.is_none() {
            exchange_rate::add(&mut tx, &new).await?;
        }
        tx.commit().await
    };
    match added.await {
        Ok(()) => Ok(see(&shell.base, "/rates")),
        Err(Error::Invalid(errors)) => {
            let form = FormState::again(fields, errors);
            let template = rate_list(&app, shell, RateFilter::default(), Some(form)).await?;
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        Err(error) => Err(error),
    }
}

// ---- a file of many -------------------------------------------------------------------------------------------------

#[derive(Template)]
#[template(path = "ledger/rate_import.html")]
struct ChooseFile {
    shell: Shell,
    form: FormState,
}

async fn choose_file(shell: Shell) -> Result<Response> {
    page(&ChooseFile { shell, form: FormState::new(Fields::new()) })
}

/// Keeps the file under its hash and shows what it would bring: nothing is saved in the ledger yet.
async fn upload(State(app): State<App>, shell: Shell, upload: Result<Upload>) -> Result<Response> {
    let stored = async {
        let upload = upload?;
        let file = upload.file()?;
        let stored = app.documents.put_bytes(file.bytes.clone(), limits::UPLOAD_BYTES).await?;
        Ok::<_, Error>((hex::encode(stored.sha256), file.name.clone()))
    };
    match stored.await {
        Ok((hash, name)) => {
            let name: String = url::form_urlencoded::byte_serialize(name.as_bytes()).collect();
            Ok(see(&shell.base, &format!("/imports/rates/{hash}?name={name}")))
        }
        Err(Error::Invalid(errors)) => {
            let form = FormState::again(Fields::new(), errors);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &ChooseFile { shell, form })
        }
        Err(error) => Err(error),
    }
}

/// The name of the uploaded file, for people.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Template)]
#[template(path = "ledger/rate_preview.html")]
struct Preview {
    shell: Shell,
    form: FormState,
    hash: String,
    name: String,
    days: Option<(NaiveDate, NaiveDate)>,
    summary: Summary,
}

impl Preview {
    fn counts(&self) -> String {
        let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let message = Message::new("rates-preview")
            .with("rows", count(self.summary.rows_read))
            .with("new", count(self.summary.rows_new))
            .with("known", count(self.summary.rows_known))
            .with("bad", count(self.summary.rows_rejected))
            .with("rates", count(self.summary.rates_new));
        self.shell.say(&message)
    }

    fn span(&self) -> Option<String> {
        let (first, last) = self.days?;
        Some(self.shell.say(&Message::new("rates-preview-days").with("first", first).with("last", last)))
    }

    fn refusal(&self) -> String {
        match self.summary.rows_rejected {
            0 => self.shell.text("rates-preview-file-bad"),
            bad => self.shell.with("rates-preview-bad", "bad", i64::try_from(bad).unwrap_or(i64::MAX)),
        }
    }

    fn errors(&self) -> Vec<Said> {
        self.summary.errors.said(self.shell.locale)
    }

    fn button(&self) -> String {
        let rates = i64::try_from(self.summary.rates_new).unwrap_or(i64::MAX);
        self.shell.with("rates-import-confirm", "rates", rates)
    }
}

/// The bytes of an uploaded file.
async fn uploaded(app: &App, hash: &str) -> Result<Vec<u8>> {
    let mut sha256 = [0; 32];
    hex::decode_to_slice(hash, &mut sha256).map_err(|_| Error::NotFound)?;
    let found = app.documents.find(&sha256).await?.ok_or(Error::NotFound)?;
    if found.size > limits::UPLOAD_BYTES {
        return Err(Error::NotFound);
    }
    let chunks: Vec<bytes::Bytes> = found.bytes.try_collect().await?;
    Ok(chunks.concat())
}

async fn preview(
    State(app): State<App>,
    shell: Shell,
    Path(hash): Path<String>,
    Query(named): Query<Named>,
) -> Result<Response> {
    let bytes = uploaded(&app, &hash).await?;
    let mut parsed = import::parse(&bytes);
    let mut read = app.read_bulk(&shell.actor).await?;
    let summary = import::compare(read.connection(), &mut parsed).await?;
    read.end().await?;
    let form = FormState::new(Fields::new());
    page(&Preview { shell, form, hash, name: named.name, days: parsed.days(), summary })
}

async fn confirm(State(app): State<App>, shell: Shell, Path(hash): Path<String>, upload: Upload) -> Result<Response> {
    let bytes = uploaded(&app, &hash).await?;
    let name = upload.fields.get("name").to_owned();
    let _slot = app.imports.clone().acquire_owned().await.map_err(|closed| Error::Unavailable(closed.into()))?;
    let summary = import::run(&app, &shell.because(&upload.fields)?, &bytes, &name, false).await?;
    if summary.is_right() {
        return Ok(see(&shell.base, "/rates"));
    }
    let days = import::parse(&bytes).days();
    let form = FormState::again(upload.fields, FieldErrors::new());
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &Preview { shell, form, hash, name, days, summary })
}
