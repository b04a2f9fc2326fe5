//! An [`Error`] becomes a page or problem JSON here, at the router's layer; handlers do not know which.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::app::App;
use crate::error::{Error, FieldErrors};
use crate::locale::Locale;
use crate::web::page;
use crate::web::routes;
use crate::web::session::Visitor;
use crate::web::shell::Shell;

/// Words and numbers of addresses are shorter than tokens.
const LONGEST_WORD: usize = 36;

/// The error of an answer, until the layer renders it.
#[derive(Clone)]
struct Failure(Arc<Error>);

/// A data request without a sign-in.
#[derive(Clone, Copy)]
struct Unsigned;

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut response = status(&self).into_response();
        response.extensions_mut().insert(Failure(Arc::new(self)));
        response
    }
}

/// 401 for a file or data request that brings no sign-in.
pub fn unsigned() -> Response {
    let mut response = StatusCode::UNAUTHORIZED.into_response();
    response.extensions_mut().insert(Unsigned);
    response
}

fn status(error: &Error) -> StatusCode {
    match error {
        Error::NotFound => StatusCode::NOT_FOUND,
        Error::Forbidden(_) => StatusCode::FORBIDDEN,
        Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
        Error::Conflict(_) => StatusCode::CONFLICT,
        Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        Error::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    locale: Locale,
    base: String,
    shell: Option<Shell>,
    title: String,
    details: Vec<String>,
    request_id: Option<String>,
    status: u16,
    /// The list whose filter cannot be read.
    unfiltered: Option<String>,
}

impl ErrorPage {
    fn text(&self, key: &str) -> String {
        self.locale.text(key)
    }
}

/// The layer: renders failures, and gives plain answers of the framework (404, 405, 413 …) the same face.
pub async fn render(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let is_filtered = request.method() == Method::GET && request.uri().query().is_some();
    let wants_json = routes::is_data(&path)
        || request
            .headers()
            .get(header::ACCEPT)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|accept| accept.contains("application/json") && !accept.contains("text/html"));
    let response = next.run(request).await;
    let failure = response.extensions().get::<Failure>().cloned();
    let plain = !response.headers().contains_key(header::CONTENT_TYPE)
        || response
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().starts_with(b"text/plain"));
    let status = match response.status() {
        // An id in the address that is no number names nothing.
        StatusCode::BAD_REQUEST if failure.is_none() && plain => StatusCode::NOT_FOUND,
        status => status,
    };
    if failure.is_none() && !(plain && (status.is_client_error() || status.is_server_error())) {
        return response;
    }
    let visitor = response.extensions().get::<Visitor>().cloned().unwrap_or_default();
    let locale = visitor.locale;
    let (title, details) = match &failure {
        Some(Failure(error)) => words(error, locale),
        None => (plain_title(status, locale), Vec::new()),
    };
    if let Some(Failure(error)) = &failure {
        log(error, &visitor, &path);
    }
    let request_id = status.is_server_error().then(|| visitor.request_id.to_string());
    let mut answer = if wants_json {
        let errors = match failure.as_ref().map(|failure| &*failure.0) {
            Some(Error::Invalid(errors)) => field_list(errors, locale),
            _ => Vec::new(),
        };
        let problem = json!({
            "title": title, "status": status.as_u16(), "detail": details.join(" "), "errors": errors, "request": request_id,
        });
        (status, [(header::CONTENT_TYPE, "application/problem+json")], problem.to_string()).into_response()
    } else {
        let shell = visitor.signed_in.as_ref().map(|signed_in| {
            let path = path.strip_prefix(visitor.base.as_str()).unwrap_or(&path);
            Shell::new(&visitor, signed_in, path)
        });
        let template = ErrorPage {
            locale,
            base: app.base.clone(),
            shell,
            title,
            details,
            request_id,
            status: status.as_u16(),
            unfiltered: (is_filtered && status == StatusCode::UNPROCESSABLE_ENTITY).then_some(path),
        };
        page::page_with(status, &template).unwrap_or_else(|_| status.into_response())
    };
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    }
    if let Some(allow) = response.headers().get(header::ALLOW) {
        answer.headers_mut().insert(header::ALLOW, allow.clone());
    }
    answer
}

/// Hands the visitor on to [`render`], which lies outside the layer that knows who it is.
pub async fn carry_visitor(request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    let mut response = next.run(request).await;
    if let Some(visitor) = visitor {
        response.extensions_mut().insert(visitor);
    }
    response
}

/// Logs what is ours to mend, once, with the whole chain. The token of a one-time link stays out: whoever reads the log could
/// use it.
fn log(error: &Error, visitor: &Visitor, path: &str) {
    let path = without_tokens(path);
    match error {
        Error::Internal(cause) => tracing::error!(request = %visitor.request_id, path, "request failed: {cause:#}"),
        Error::Unavailable(cause) => tracing::warn!(request = %visitor.request_id, path, "not available: {cause:#}"),
        _ => {}
    }
}

/// The path with a mark in place of each part that is too long for a word or a number.
fn without_tokens(path: &str) -> String {
    let shown = |part: &str| if part.len() > LONGEST_WORD { "…".to_owned() } else { part.to_owned() };
    path.split('/').map(shown).collect::<Vec<_>>().join("/")
}

/// A title, and what is wrong in detail.
fn words(error: &Error, locale: Locale) -> (String, Vec<String>) {
    match error {
        Error::NotFound => (locale.text("error-not-found"), vec![locale.text("error-not-found-detail")]),
        Error::Forbidden(message) => (locale.text("error-forbidden-title"), vec![locale.say(message)]),
        Error::Invalid(errors) => {
            (locale.text("error-invalid"), errors.0.iter().map(|error| locale.say(&error.message)).collect())
        }
        Error::Conflict(message) => (locale.text("error-conflict"), vec![locale.say(message)]),
        Error::Unavailable(_) => (locale.text("error-unavailable"), vec![locale.text("error-unavailable-detail")]),
        Error::Internal(_) => (locale.text("error-internal"), vec![locale.text("error-internal-detail")]),
    }
}

fn plain_title(status: StatusCode, locale: Locale) -> String {
    match status {
        StatusCode::NOT_FOUND => locale.text("error-not-found"),
        StatusCode::METHOD_NOT_ALLOWED => locale.text("error-method"),
        StatusCode::UNAUTHORIZED => locale.text("error-unsigned"),
        StatusCode::FORBIDDEN => locale.text("error-origin"),
        StatusCode::PAYLOAD_TOO_LARGE => locale.text("error-form-size"),
        StatusCode::REQUEST_TIMEOUT | StatusCode::GATEWAY_TIMEOUT | StatusCode::SERVICE_UNAVAILABLE => {
            locale.text("error-unavailable")
        }
        status if status.is_server_error() => locale.text("error-internal"),
        _ => locale.text("error-invalid"),
    }
}

/// Field errors as problem JSON and the command line show them.
pub fn field_list(errors: &FieldErrors, locale: Locale) -> Vec<serde_json::Value> {
    errors.0.iter().map(|error| json!({ "field": error.field, "message": locale.say(&error.message) })).collect()
}

/// What the fallback route answers: a data request without a sign-in learns nothing of what exists.
pub async fn fallback(request: Request) -> Response {
    let signed_in = request.extensions().get::<Visitor>().is_some_and(|visitor| visitor.signed_in.is_some());
    if !signed_in && routes::is_data(request.uri().path()) { unsigned() } else { Error::NotFound.into_response() }
}

/// What a known path answers to another method: state changes only by POST.
pub async fn wrong_method() -> Response {
    StatusCode::METHOD_NOT_ALLOWED.into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Message;

    #[test]
    fn another_projects_thing_and_a_missing_thing_read_the_same() {
        let (title, details) = words(&Error::NotFound, Locale::En);
        assert_eq!(title, "Not found");
        assert_eq!(details.len(), 1);
        assert_eq!(status(&Error::NotFound), StatusCode::NOT_FOUND);
    }

    #[test]
    fn a_fault_of_ours_shows_nothing_of_its_inside() {
        let (title, details) = words(&Error::internal("secret column missing"), Locale::En);
        assert!(!format!("{title}{details:?}").contains("secret"));
    }

    #[test]
    fn a_field_error_names_its_field() {
        let errors = FieldErrors(vec![crate::error::FieldError {
            field: "zone".into(),
            message: Message::new("error-locale").with("value", "xx"),
        }]);
        assert_eq!(field_list(&errors, Locale::En)[0]["field"], "zone");
    }
}
