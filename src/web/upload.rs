//! A form that brings a file.

use axum::body::Bytes;
use axum::extract::multipart::MultipartError;
use axum::extract::{DefaultBodyLimit, FromRequest, Multipart, Request};
use axum::http::header;

use crate::error::{Error, Result};
use crate::limits;
use crate::locale::Message;
use crate::web::forms::Fields;

/// A file that a person chose.
#[derive(Debug, Clone)]
pub struct File {
    /// What it is called there, without folders.
    pub name: String,
    /// Its bytes.
    pub bytes: Bytes,
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
        let limit = format!("{} MiB", limits::UPLOAD_BYTES / 1024 / 1024);
        return Error::invalid("file", Message::new("upload-too-large").with("limit", limit));
    }
    Error::invalid("file", Message::new("upload-broken"))
}

impl<S: Send + Sync> FromRequest<S> for Upload {
    type Rejection = Error;

    async fn from_request(mut request: Request, state: &S) -> Result<Self, Error> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/form-data")) {
            return Ok(Self { fields: Fields::from_request(request, state).await?, file: None });
        }
        let most = usize::try_from(limits::UPLOAD_BYTES).unwrap_or(usize::MAX);
        DefaultBodyLimit::max(most + limits::FORM_BYTES).apply(&mut request);
        let mut parts = Multipart::from_request(request, state)
            .await
            .map_err(|_| Error::invalid("", Message::new("error-form-type")))?;
        let mut upload = Self::default();
        while let Some(part) = parts.next_field().await.map_err(|error| unreadable(&error))? {
            let name = part.name().unwrap_or_default().to_owned();
            if let Some(file_name) = part.file_name() {
                // Some browsers of old sent the whole path.
                let file_name = file_name.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
                let bytes = part.bytes().await.map_err(|error| unreadable(&error))?;
                if bytes.len() > most {
                    let limit = format!("{} MiB", limits::UPLOAD_BYTES / 1024 / 1024);
                    return Err(Error::invalid("file", Message::new("upload-too-large").with("limit", limit)));
                }
                if name == "file" && !(file_name.is_empty() && bytes.is_empty()) {
                    upload.file = Some(File { name: file_name, bytes });
                }
            } else {
                let value = part.text().await.map_err(|error| unreadable(&error))?;
                upload.fields = upload.fields.with(&name, value);
            }
        }
        Ok(upload)
    }
}
