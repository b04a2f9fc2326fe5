//! A form that brings a file.
//!
//! While a file arrives it lies on disk, so that slow senders cost no memory; only so many are read into memory at once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::body::Bytes;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::header;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{Error, Result};
use crate::limits;
use crate::locale::Message;
use crate::web::forms::Fields;

/// The places for files in memory.
static IN_MEMORY: Semaphore = Semaphore::const_new(limits::UPLOADS_IN_MEMORY);

/// A file that a person chose.
#[derive(Debug, Clone)]
pub struct File {
    /// What it is called there, without folders.
    pub name: String,
    /// Its bytes.
    pub bytes: Bytes,
    /// Given back when the request is answered.
    _place: Arc<SemaphorePermit<'static>>,
}

/// A file on its way, on disk and without a name there.
struct Arriving {
    name: String,
    content: tokio::fs::File,
    size: u64,
}

/// A form that may bring a file in its field `file`; also reads a form without files.
#[derive(Debug, Clone, Default)]
pub struct Upload {
    /// The other fields.
    pub fields: Fields,
    /// The file, where one was chosen.
    pub file: Option<File>,
}

impl Upload {
    /// The file, or the message that none was chosen.
    pub fn file(&self) -> Result<&File> {
        self.file.as_ref().ok_or_else(|| Error::invalid("file", Message::new("upload-no-file")))
    }
}

fn unreadable(error: &MultipartError) -> Error {
    if error.status() == axum::http::StatusCode::PAYLOAD_TOO_LARGE {
        return too_large();
    }
    Error::invalid("file", Message::new("upload-broken"))
}

fn too_large() -> Error {
    let limit = format!("{} MiB", limits::UPLOAD_BYTES / 1024 / 1024);
    Error::invalid("file", Message::new("upload-too-large").with("limit", limit))
}

impl Arriving {
    async fn new(name: String, mut part: Field<'_>) -> Result<Self> {
        let file = tempfile::tempfile().context("cannot make a temporary file for an upload")?;
        let (mut content, mut size) = (tokio::fs::File::from_std(file), 0);
        while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(&error))? {
            size += chunk.len() as u64;
            if size > limits::UPLOAD_BYTES {
                return Err(too_large());
            }
            content.write_all(&chunk).await.context("cannot write an upload to its temporary file")?;
        }
        // The last write ends in the background: a full disk is told here.
        content.flush().await.context("cannot write an upload to its temporary file")?;
        Ok(Self { name, content, size })
    }

    /// Waits for its place in memory.
    async fn arrived(self) -> Result<File> {
        let place = IN_MEMORY.acquire().await.expect("nobody closes it");
        let bytes = whole(self.content, self.size).await.context("cannot read an upload from its temporary file")?;
        Ok(File { name: self.name, bytes, _place: Arc::new(place) })
    }
}

async fn whole(mut content: tokio::fs::File, size: u64) -> io::Result<Bytes> {
    content.rewind().await?;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    content.read_to_end(&mut bytes).await?;
    if bytes.len() as u64 != size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes.into())
}

impl<S: Send + Sync> FromRequest<S> for Upload {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        read_within(limits::UPLOAD_TIME, request, state).await
    }
}

async fn read_within<S: Send + Sync>(most: Duration, request: Request, state: &S) -> Result<Upload> {
    let Ok(read) = tokio::time::timeout(most, read(request, state)).await else {
        let limit = Message::new("upload-too-slow").with("seconds", most.as_secs().to_string());
        return Err(Error::invalid("file", limit));
    };
    let (mut upload, chosen) = read?;
    // What waits for others is not the sender's time.
    if let Some(file) = chosen {
        upload.file = Some(file.arrived().await?);
    }
    Ok(upload)
}

async fn read<S: Send + Sync>(mut request: Request, state: &S) -> Result<(Upload, Option<Arriving>)> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/form-data")) {
        return Ok((Upload { fields: Fields::from_request(request, state).await?, file: None }, None));
    }
    let most = usize::try_from(limits::UPLOAD_BYTES).unwrap_or(usize::MAX);
    DefaultBodyLimit::max(most + limits::FORM_BYTES).apply(&mut request);
    let mut parts = Multipart::from_request(request, state)
        .await
        .map_err(|_| Error::invalid("", Message::new("error-form-type")))?;
    let (mut upload, mut chosen, mut room) = (Upload::default(), None, limits::FORM_BYTES);
    while let Some(part) = parts.next_field().await.map_err(|error| unreadable(&error))? {
        let name = part.name().unwrap_or_default().to_owned();
        if let Some(file_name) = part.file_name() {
            // Some browsers of old sent the whole path.
            let file_name = file_name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
            let file = Arriving::new(file_name, part).await?;
            if name == "file" && !(file.name.is_empty() && file.size == 0) {
                chosen = Some(file);
            }
        } else {
            let value = text(part, &mut room).await?;
            upload.fields = upload.fields.with(&name, value);
        }
    }
    Ok((upload, chosen))
}

/// A field that is no file; all of a form's together are as long as a form without files may be.
async fn text(mut part: Field<'_>, room: &mut usize) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = part.chunk().await.map_err(|error| unreadable(&error))? {
        *room = room.checked_sub(chunk.len()).ok_or_else(|| Error::invalid("", Message::new("error-form-large")))?;
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid("", Message::new("error-form-type")))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use futures_util::{StreamExt as _, stream};

    use super::*;

    /// A form with a file whose bytes never end, or end after the first ones.
    fn form(bytes: &[&'static [u8]], ends: bool) -> Request {
        let head =
            b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\a\\b.csv\"\r\n\r\n".as_slice();
        let mut pieces = vec![head];
        pieces.extend(bytes);
        if ends {
            pieces.push(b"\r\n--x--\r\n");
        }
        let pieces = stream::iter(pieces).map(|piece| Ok::<_, io::Error>(Bytes::from_static(piece)));
        let body = if ends { Body::from_stream(pieces) } else { Body::from_stream(pieces.chain(stream::pending())) };
        Request::builder()
            .method("POST")
            .header(header::CONTENT_TYPE, "multipart/form-data; boundary=x")
            .body(body)
            .unwrap()
    }

    #[tokio::test]
    async fn a_file_arrives_in_pieces_and_is_whole() {
        let upload = read_within(limits::UPLOAD_TIME, form(&[b"a,b\r\n", b"1,2\r\n"], true), &()).await.unwrap();
        let file = upload.file().unwrap();
        assert_eq!((file.name.as_str(), file.bytes.as_ref()), ("b.csv", b"a,b\r\n1,2\r\n".as_slice()));
    }

    #[tokio::test]
    async fn a_field_that_is_no_file_is_as_short_as_in_any_form() {
        static LONG: [u8; limits::FORM_BYTES + 1] = [b'a'; limits::FORM_BYTES + 1];
        let head = b"--x\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n".as_slice();
        let pieces = stream::iter([head, &LONG, b"\r\n--x--\r\n"]).map(|it| Ok::<_, io::Error>(Bytes::from_static(it)));
        let request = Request::builder()
            .header(header::CONTENT_TYPE, "multipart/form-data; boundary=x")
            .body(Body::from_stream(pieces))
            .unwrap();
        let refused = read_within(limits::UPLOAD_TIME, request, &()).await.unwrap_err();
        assert!(format!("{refused:?}").contains("error-form-large"), "{refused:?}");
    }

    // Check C41: whoever sends a file slower than can be waited for is told so.
    #[tokio::test]
    async fn a_file_that_does_not_end_is_cut() {
        let cut = read_within(Duration::from_millis(1), form(&[b"a"], false), &()).await.unwrap_err();
        assert!(format!("{cut:?}").contains("upload-too-slow"), "{cut:?}");
    }

    #[tokio::test]
    async fn many_files_at_once_wait_for_their_place() {
        let uploads = (0..20).map(|_| read_within(limits::UPLOAD_TIME, form(&[b"a"], true), &()));
        let mut uploads = Box::pin(stream::iter(uploads).buffer_unordered(20));
        let mut read = 0;
        while let Some(upload) = uploads.next().await {
            assert_eq!(upload.unwrap().file().unwrap().bytes, b"a".as_slice());
            read += 1;
        }
        assert_eq!(read, 20);
    }
}
