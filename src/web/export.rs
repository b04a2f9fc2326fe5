//! A list as a file: the same filter as the page, the language of the organisation, streamed from a snapshot of its own.
//! The command line writes the same files.

use std::pin::pin;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::mpsc;

use crate::actor::Actor;
use crate::app::App;
use crate::error::{Error, Result};
use crate::table::{self, Format, Table, content_disposition};
use crate::tx::Read;
use crate::web::shell::Shell;

/// What the task that reads the list tells the one that writes the file.
enum Told<Batch> {
    Batch(Result<Batch>),
    /// All rows were told; without it the file must not end as if it were complete.
    End,
}

/// A list on its way into a file.
pub struct Export {
    /// What the file is called.
    pub name: String,
    /// Its kind.
    pub format: Format,
    /// Its bytes. An error is the last item, and what came before is no file.
    pub bytes: BoxStream<'static, Result<Bytes>>,
}

/// Answers with the list as a file.
///
/// # Errors
/// Those of the first rows; a later one breaks the download off.
pub async fn file<Row, Batch, S>(
    app: &App,
    shell: &Shell,
    list: &'static Table<Row>,
    format: Format,
    batches: impl FnOnce(Read) -> S,
) -> Result<Response>
where
    Row: Send + 'static,
    Batch: IntoIterator<Item = Row, IntoIter: Send> + Send + 'static,
    S: Stream<Item = Result<Batch>> + Send + 'static,
{
    let export = begin(app, &shell.actor, list, format, batches).await?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(format.content_type())),
        (header::CONTENT_DISPOSITION, content_disposition(&export.name)),
    ];
    Ok((headers, Body::from_stream(export.bytes)).into_response())
}

/// Begins a file. `batches` reads the list from the snapshot; at most a few files are written at once.
///
/// # Errors
/// Those of the first rows; a later one is the last item of the bytes.
pub async fn begin<Row, Batch, S>(
    app: &App,
    actor: &Actor,
    list: &'static Table<Row>,
    format: Format,
    batches: impl FnOnce(Read) -> S,
) -> Result<Export>
where
    Row: Send + 'static,
    Batch: IntoIterator<Item = Row, IntoIter: Send> + Send + 'static,
    S: Stream<Item = Result<Batch>> + Send + 'static,
{
    let slot = app.exports.clone().acquire_owned().await.map_err(|closed| Error::Unavailable(closed.into()))?;
    let read = app.read_bulk(actor).await?;
    let (locale, zone) = (read.organisation().locale, read.organisation().zone);
    let name = list.file_name(format, locale, read.today());
    let batches = batches(read);
    let (sender, receiver) = mpsc::channel(2);
    // A task of its own reads: a reader that goes away in mid-file leaves no query half-way on a pooled connection.
    tokio::spawn(async move {
        let _slot = slot;
        let mut batches = pin!(batches);
        while let Some(batch) = batches.next().await {
            if sender.send(Told::Batch(batch)).await.is_err() {
                return;
            }
        }
        sender.send(Told::End).await.ok();
    });
    let rows = stream::unfold(Some(receiver), async |receiver| {
        let mut receiver = receiver?;
        match receiver.recv().await {
            Some(Told::Batch(batch)) => Some((batch, Some(receiver))),
            Some(Told::End) => None,
            None => Some((Err(Error::internal("the task that reads a list ended before the list did")), None)),
        }
    });
    let bytes = table::begin(list.stream_batches(format, locale, zone, rows)).await?;
    Ok(Export { name, format, bytes: bytes.boxed() })
}
