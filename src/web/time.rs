//! How long a request may take.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::error::Error;
use crate::limits;
use crate::locale::Message;
use crate::web::routes::is_data;

/// Ends a request that takes too long; what it began is rolled back. Files in and out, and bindings that move many lines, take the
/// time that they need.
pub async fn limit(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if is_data(path) || path.split('/').any(|name| matches!(name, "imports" | "bindings")) {
        return next.run(request).await;
    }
    match tokio::time::timeout(limits::REQUEST_TIME, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Error::Unavailable(Message::new("error-request-time").into()).into_response(),
    }
}
