//! Headers of every answer: what a browser may do with it.

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;

/// No inline anything, nothing from elsewhere, no frames.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'";
/// A file is nobody's page.
const FILE_POLICY: &str = "default-src 'none'; sandbox; frame-ancestors 'none'";

const ALWAYS: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ("x-frame-options", "DENY"),
];

/// Sets them.
pub async fn set(State(app): State<App>, request: Request, next: Next) -> Response {
    // A base path was taken off by the router.
    let asset = request.uri().path().starts_with("/static/");
    let mut response = next.run(request).await;
    let html =
        response.headers().get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"text/html"));
    let success = response.status().is_success();
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    let policy = if html { PAGE_POLICY } else { FILE_POLICY };
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    if !(asset && success) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if app.public_url.as_ref().is_some_and(|url| url.scheme() == "https") {
        headers
            .insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=63072000; includeSubDomains"));
    }
    response
}
