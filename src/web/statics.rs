//! Style, script and icons: inside the binary, served under names that hold their content's hash.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use rust_embed::RustEmbed;

use crate::error::{Error, Result};

#[derive(RustEmbed)]
#[folder = "static/"]
struct Files;

/// File name → name with hash, for example `app.css` → `app.1f3a5f2b.css`.
static NAMES: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    Files::iter()
        .filter_map(|name| {
            let file = Files::get(&name)?;
            let hash = hex::encode(&file.metadata.sha256_hash()[..6]);
            let (stem, ending) = name.rsplit_once('.')?;
            Some((name.to_string(), format!("{stem}.{hash}.{ending}")))
        })
        .collect()
});

/// The address of a file, without the base path; for templates.
pub fn path(name: &str) -> String {
    NAMES.get(name).map_or_else(|| format!("/static/{name}"), |hashed| format!("/static/{hashed}"))
}

/// Serves a file by its hashed name, for ever.
pub async fn serve(Path(hashed): Path<String>) -> Result<Response> {
    let name = NAMES.iter().find(|(_, name)| **name == hashed).map(|(name, _)| name).ok_or(Error::NotFound)?;
    let file = Files::get(name).ok_or(Error::NotFound)?;
    let headers = [
        (header::CONTENT_TYPE, content_type(file.metadata.mimetype())),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable".to_owned()),
    ];
    Ok((headers, file.data).into_response())
}

fn content_type(kind: &str) -> String {
    if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind.to_owned() }
}
