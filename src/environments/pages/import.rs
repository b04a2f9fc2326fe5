//! The import of environments: a file goes up, its rows, errors and consequences are shown, and only then it is written. The
//! bytes are kept by their hash in between, and the second form names that hash.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::TryStreamExt as _;

use crate::actor::{Actor, Source};
use crate::app::App;
use crate::encoding::Encoding;
use crate::environments::import::cells::NumberFormat;
use crate::environments::import::columns::Column;
use crate::environments::import::{self, Line, Parsed, Question, Reading, State as RowState, Summary};
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

    /// The encodings, with the one that the file was read in.
    fn encodings(&self) -> Vec<(&'static str, String, bool)> {
        let chosen = |it: &Encoding| (it.as_str(), self.shell.say(&it.words()), *it == self.parsed.encoding);
        Encoding::ALL.iter().map(chosen).collect()
    }

    /// In which encoding the file was read.
    fn encoding(&self) -> String {
        let name = self.shell.say(&self.parsed.encoding.words());
        let key =
            if self.parsed.reading.encoding.is_some() { "import-encoding-chosen" } else { "import-encoding-found" };
        self.shell.with(key, "encoding", name)
    }

    /// The ways of writing numbers, with the one that was said.
    fn number_formats(&self) -> Vec<(&'static str, String, bool)> {
        let chosen =
            |it: &NumberFormat| (it.as_str(), self.shell.say(&it.words()), Some(*it) == self.parsed.reading.numbers);
        NumberFormat::ALL.iter().map(chosen).collect()
    }

    /// The columns that a doubtful one can be, with what was said of it.
    fn columns(&self, question: &Question) -> Vec<(&'static str, String, bool)> {
        let said = self.parsed.reading.columns.get(&question.at);
        let column = |it: Column| (it.name(), it.label(self.shell.locale).to_owned(), said == Some(&Some(it)));
        let left_out = (import::LEFT_OUT, self.shell.text("import-left-out"), said == Some(&None));
        std::iter::once(left_out).chain(Column::ALL.into_iter().map(column)).collect()
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
        let reading = Reading::parse(&|name| upload.fields.get(name))?;
        // The same file is looked at again once somebody has said how it is to be read.
        let again = upload.fields.filled("sha256").filter(|_| upload.file.is_none());
        let (bytes, name, hash) = if let Some(hash) = again {
            let gone = || Error::invalid("file", Message::new("import-file-gone"));
            let bytes = kept(&app, hash).await?.ok_or_else(gone)?;
            (bytes, upload.fields.get("file_name").to_owned(), hash.to_owned())
        } else {
            let file = upload.file()?;
            let stored = app.documents.put_bytes(file.bytes.clone(), limits::UPLOAD_BYTES).await?;
            (file.bytes.to_vec(), file.name.clone(), hex::encode(stored.sha256))
        };
        let (parsed, summary) = imported(&app, shell.actor.clone(), bytes, &name, reading, true).await?;
        Ok((Fields::new().with("sha256", hash).with("file_name", name), parsed, summary))
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
    reading: Reading,
    dry_run: bool,
) -> Result<(Parsed, Summary)> {
    let _slot = app.imports.acquire().await.map_err(|closed| Error::Unavailable(closed.into()))?;
    let read = tokio::task::spawn_blocking(move || import::read_as(&bytes, &reading));
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
    let reading = match Reading::parse(&|name| fields.get(name)) {
        Ok(reading) => reading,
        Err(errors) => return refused(shell, errors),
    };
    let actor = shell.because(&fields)?;
    let (parsed, summary) = imported(&app, actor, bytes, fields.get("file_name"), reading, false).await?;
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
