//! A rendered page as an answer.

use askama::Template;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};

use crate::error::{Error, Result};

/// Renders a page.
pub fn page(template: &impl Template) -> Result<Response> {
    page_with(StatusCode::OK, template)
}

/// Renders a page with another status: 422 for a form that comes back with its errors.
pub fn page_with(status: StatusCode, template: &impl Template) -> Result<Response> {
    let html = template.render().map_err(|cause| Error::Internal(cause.into()))?;
    Ok((status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// After a form: look at the result (303).
pub fn see(base: &str, path: &str) -> Response {
    Redirect::to(&format!("{base}{path}")).into_response()
}

/// The path to go to next, as a form or an address names it: only one of our own, so that nobody can be sent elsewhere.
pub fn own_path(to: &str) -> &str {
    let ours = to.starts_with('/') && !to.starts_with("//") && to.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    if ours { to } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_path_of_our_own_is_followed() {
        for ours in ["/", "/ledger?period=2026-03", "/environments/4"] {
            assert_eq!(own_path(ours), ours);
        }
        for other in ["", "//evil.example", "/\\evil.example", "https://evil.example", "evil", "/a\r\nb", "/环境"] {
            assert_eq!(own_path(other), "/", "{other}");
        }
    }
}
