//! A form that came after its sender's session had ended: nothing of it is done, and nothing that was typed is lost.

use askama::Template;
use axum::extract::{FromRequest as _, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;

use crate::error::Result;
use crate::web::errors;
use crate::web::forms::Fields;
use crate::web::page::page_with;
use crate::web::plain::Plain;
use crate::web::session::Visitor;

#[derive(Template)]
#[template(path = "signed_out.html")]
struct SignedOutPage {
    shell: Plain,
    /// Where the form was sent.
    action: String,
    /// What was typed; nothing where a file was sent with it.
    fields: Vec<(String, String)>,
}

/// The same form again, to be sent after signing in elsewhere. It goes through the page and not through our memory, so
/// that strangers cannot fill that. A program that sends no form gets the bare status.
pub async fn keep(visitor: &Visitor, request: Request) -> Response {
    if !is_page(request.headers()) {
        return errors::unsigned();
    }
    answer(visitor, request).await.unwrap_or_else(|_| errors::unsigned())
}

fn is_page(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes().windows(9).any(|part| part == b"text/html"))
}

async fn answer(visitor: &Visitor, request: Request) -> Result<Response> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let path = path.strip_prefix(visitor.base.as_str()).unwrap_or(path).to_owned();
    let is_upload = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/form-data"));
    let fields = if is_upload { Fields::new() } else { Fields::from_request(request, &()).await? };
    // A password is typed anew, as everywhere.
    let kept = fields.iter().filter(|(name, _)| !name.starts_with("password"));
    let fields = kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    // The language switch would lead to the form's target, which is no page.
    let shell =
        Plain { locale: visitor.locale, base: visitor.base.clone(), path: "/".to_owned(), secure: visitor.secure };
    let action = shell.href(&path);
    page_with(StatusCode::UNAUTHORIZED, &SignedOutPage { shell, action, fields })
}
