//! Forms that another site sends in a person's name.

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use rentroll::actor::Role;
use rentroll::app;

use crate::harness::TestApp;

// check C34: no form's target of the table does anything for another site, nor for what is no form.
#[tokio::test]
async fn no_route_acts_for_another_site() {
    let app = TestApp::new().await;
    app.open_environment("竹简-微调", "2026-01-01", Some("2026-03-31")).await;
    let browser = app.sign_in(Role::Administrator).await;
    let session = format!("__Host-session={}", browser.cookie("__Host-session").unwrap());
    let before = app.history().await.len();
    let id = uuid::Uuid::now_v7();
    let form = format!("submit_id={id}&version=1&reason=r&name=n&role=viewer&right=member&user=1&locale=en");
    let json = format!("{{\"submit_id\":\"{id}\",\"version\":1,\"name\":\"n\",\"locale\":\"en\"}}");
    let urlencoded = "application/x-www-form-urlencoded";
    let mut asked = 0;
    for route in app::routes().finish().1.into_iter().filter(|route| route.method == Method::POST) {
        let mut path = route.path.replace("{sha256}", &"f".repeat(64)).replace("{token}", "x");
        for name in ["{id}", "{member}", "{binding}"] {
            path = path.replace(name, "1");
        }
        for (headers, kind, body, refused) in [
            (&[("origin", "https://evil.example")][..], urlencoded, &form, true),
            (&[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")], urlencoded, &form, true),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://other.localhost")], urlencoded, &form, true),
            (&[("sec-fetch-site", "cross-site"), ("origin", "null")], "text/plain", &json, true),
            (&[], urlencoded, &form, true),
            (&[], "text/plain", &json, true),
            (&[("sec-fetch-site", "same-origin")], "text/plain", &json, false),
        ] {
            // Signing out needs no field, so only another site's wish for it shows anything.
            if !refused && ["/sign-out", "/account/sessions/others"].contains(&route.path) {
                continue;
            }
            let mut request = Request::builder().method(Method::POST).uri(&path).header(header::HOST, "localhost");
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let request = request.header(header::COOKIE, &session).header(header::CONTENT_TYPE, kind);
            let answer = browser.exchange(request.body(Body::from(body.clone())).unwrap()).await;
            asked += 1;
            let what = format!("{path} {headers:?} {kind}: {}", answer.status);
            if refused {
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{what}");
            } else {
                assert!(!answer.status.is_server_error(), "{what}");
            }
        }
    }
    assert!(asked > 200, "{asked} requests");
    assert_eq!(app.history().await.len(), before, "nothing has changed");
    assert_eq!(browser.get("/account").await.status, StatusCode::OK, "still signed in");
}
