//! How long a request may take.

use std::time::Duration;

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
    let documents = request.uri().path().split('/').any(|name| name == "documents");
    let uploading = if documents { limits::UPLOAD_TIME } else { Duration::ZERO };
    limit_to(uploading + limits::REQUEST_TIME, request, next).await
}

async fn limit_to(most: Duration, request: Request, next: Next) -> Response {
    if takes_its_time(request.uri().path()) {
        return next.run(request).await;
    }
    match tokio::time::timeout(most, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Error::Unavailable(Message::new("error-request-time").into()).into_response(),
    }
}

fn takes_its_time(path: &str) -> bool {
    is_data(path) || path.split('/').any(|name| matches!(name, "imports" | "bindings"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::Router;
    use axum::body::Body;
    use axum::http::StatusCode;
    use axum::middleware::from_fn;
    use tokio::sync::Semaphore;
    use tower::ServiceExt as _;

    use super::*;

    /// A program whose answers all wait for a permit, and are cut after a millisecond where they are cut at all.
    fn slow(begun: &Arc<Semaphore>, permits: &Arc<Semaphore>) -> Router {
        let (begun, permits) = (begun.clone(), permits.clone());
        let answer = move || async move {
            begun.add_permits(1);
            permits.acquire().await.unwrap().forget();
            "done"
        };
        Router::new().fallback(answer).layer(from_fn(|request, next| limit_to(Duration::from_millis(1), request, next)))
    }

    async fn ask(router: Router, path: &str) -> StatusCode {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        router.oneshot(request).await.unwrap().status()
    }

    #[tokio::test]
    async fn a_binding_goes_on_after_a_page_that_began_later_was_cut() {
        let (begun, permits) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let router = slow(&begun, &permits);
        let long =
            ["/resources/7/bindings", "/base/resources/7/bindings/3/withdraw", "/imports/bill/ab", "/ledger.csv"];
        let asked = long.map(|path| tokio::spawn(ask(router.clone(), path)));
        begun.acquire_many(4).await.unwrap().forget();
        for path in ["/ledger", "/resources/7", "/environments/7/end"] {
            assert_eq!(ask(router.clone(), path).await, StatusCode::SERVICE_UNAVAILABLE, "{path}");
        }
        permits.add_permits(4);
        for (path, asked) in long.into_iter().zip(asked) {
            assert_eq!(asked.await.unwrap(), StatusCode::OK, "{path}");
        }
    }
}
