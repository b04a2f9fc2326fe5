//! The import of environments: a file goes up, its rows, errors and consequences are shown, and only then it is written. The
//! bytes are kept by their hash in between, and the second form names that hash.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::TryStreamExt as _;

use crate::actor::{Actor, Source};
use crate::app::App;
use crate::environments::import::{self, Line, Parsed, State as RowState, Summary};
use crate::error::{Error, FieldErrors, Result};
use crate::limits;
use crate::locale::Message;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::shell::Shell;
use crate::web::upload::Upload;

#[derive(Template)]
#[template(path = "environments/import_form.html")]
struct ImportForm {
    shell: Shell,
    form: FormState,
}

#[derive(Template)]
#[template(path = "environments/import_preview.html")]
struct ImportPreview {
    shell: Shell,
    form: FormState,
    parsed: Parsed,
    summary: Summary,
}

impl ImportPreview {
    /// The counts in one sentence.
    fn counts(&self) -> String {
        let it = &self.summary;
        self.shell.say(
            &Message::new("import-counts")
                .with("rows", it.rows_read)
                .with("new", it.rows_new)
                .with("known", it.rows_known)
                .with("bad", it.rows_rejected)
                .with("environments", it.environments_new),
        )
    }

    /// The first rows, with what becomes of each; nothing where one has an error.
    fn rows(&self) -> Vec<(&Line, Option<RowState>)> {
        let states: std::collections::HashMap<usize, RowState> = self.summary.rows.iter().copied().collect();
        let lines = self.parsed.lines.iter().take(limits::PAGE_ROWS);
        lines.map(|line| (line, states.get(&line.row).copied())).collect()
    }

    /// How many rows are not shown.
    fn more(&self) -> usize {
        self.parsed.lines.len().saturating_sub(limits::PAGE_ROWS)
    }

    /// How many errors are not shown.
    fn more_errors(&self) -> usize {
        self.summary.errors.len() - self.summary.listed_errors().len()
    }

    /// Whether there is anything to write.
    fn can_write(&self) -> bool {
        self.summary.is_right() && self.summary.rows_new > 0
    }
}

pub(super) async fn form(shell: Shell) -> Result<Response> {
    page(&ImportForm { shell, form: FormState::new(Fields::new()) })
}

pub(super) async fn preview(State(app): State<App>, shell: Shell, upload: Result<Upload>) -> Result<Response> {
    let seen = async {
        let upload = upload?;
        let file = upload.file()?;
        let stored = app.documents.put_bytes(file.bytes.clone(), limits::UPLOAD_BYTES).await?;
        let (parsed, summary) = imported(&app, shell.actor.clone(), file.bytes.to_vec(), &file.name, true).await?;
        let fields = Fields::new().with("sha256", hex::encode(stored.sha256)).with("file_name", &file.name);
        Ok((fields, parsed, summary))
    };
    match seen.await {
        Ok((fields, parsed, summary)) => {
            let status = if summary.is_right() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
            page_with(status, &ImportPreview { shell, form: FormState::new(fields), parsed, summary })
        }
        Err(Error::Invalid(errors)) => refused(shell, errors),
        Err(error) => Err(error),
    }
}

fn refused(shell: Shell, errors: FieldErrors) -> Result<Response> {
    let form = FormState::again(Fields::new(), errors);
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &ImportForm { shell, form })
}

/// Reads the file and compares it with the ledger; unless it is only looked at, writes what is new.
async fn imported(
    app: &App,
    actor: Actor,
    bytes: Vec<u8>,
    file_name: &str,
    dry_run: bool,
) -> Result<(Parsed, Summary)> {
    let _slot = app.imports.acquire().await.map_err(|closed| Error::Unavailable(closed.into()))?;
    let read = tokio::task::spawn_blocking(move || import::read(&bytes));
    let parsed = read.await.map_err(|panicked| Error::Internal(panicked.into()))?.named(file_name);
    let mut tx = app.write_bulk(&actor.through(Source::Import)).await?;
    let summary = import::run(&mut tx, &parsed, dry_run).await?;
    if summary.is_right() && !dry_run {
        tx.commit().await?;
    }
    Ok((parsed, summary))
}

pub(super) async fn confirm(State(app): State<App>, shell: Shell, upload: Upload) -> Result<Response> {
    let fields = upload.fields;
    let Some(bytes) = kept(&app, fields.get("sha256")).await? else {
        let mut errors = FieldErrors::new();
        errors.add("file", Message::new("import-file-gone"));
        return refused(shell, errors);
    };
    let (parsed, summary) = imported(&app, shell.because(&fields)?, bytes, fields.get("file_name"), false).await?;
    if summary.is_right() {
        return Ok(see(&shell.base, "/environments"));
    }
    let form = FormState::again(fields, FieldErrors::new());
    page_with(StatusCode::UNPROCESSABLE_ENTITY, &ImportPreview { shell, form, parsed, summary })
}

/// The bytes of a file that went up before; nothing where no file has this hash.
async fn kept(app: &App, hash: &str) -> Result<Option<Vec<u8>>> {
    let mut sha256 = [0; 32];
    if hex::decode_to_slice(hash, &mut sha256).is_err() {
        return Ok(None);
    }
    let found = match app.documents.get(&sha256).await {
        Ok(found) => found,
        Err(Error::Internal(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let chunks: Vec<axum::body::Bytes> = found.bytes.try_collect().await?;
    Ok(Some(chunks.concat()))
}
