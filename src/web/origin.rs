//! Forged forms are refused: `tower_http`'s rule on `Sec-Fetch-Site` and `Origin`, and one more.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::web::session::SESSION_COOKIE;

/// An unsafe request that carries the session cookie but neither `Sec-Fetch-Site` nor `Origin` is refused: no browser of
/// the last years sends one, and a script that does has no business with somebody's session.
pub async fn refuse_blind_forms(request: Request, next: Next) -> Response {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let headers = request.headers();
    if !safe
        && carries_session(headers)
        && !headers.contains_key("sec-fetch-site")
        && !headers.contains_key(header::ORIGIN)
    {
        return StatusCode::FORBIDDEN.into_response();
    }
    // Another site may link to a page of ours, and embed nothing of it.
    let embedded = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site")
        && headers.get("sec-fetch-mode").is_some_and(|mode| mode != "navigate");
    if embedded {
        return StatusCode::FORBIDDEN.into_response();
    }
    next.run(request).await
}

fn carries_session(headers: &HeaderMap) -> bool {
    headers.get_all(header::COOKIE).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(SESSION_COOKIE)))
}
