//! People, log-ins, sessions, projects: what a person sees of them, and what a stranger must not reach.

mod account;
mod forgotten;
mod invitation;
mod people;
mod projects;
mod set_up;
mod settings;
mod signed_out;
mod signing_in;

use axum::body::Body;
use axum::http::{Method, Request, header};

use crate::harness::{Browser, TestApp};

/// A request as a browser sends it, with headers of the test's own in place of the usual ones.
fn request(browser: &Browser, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(token) = browser.cookie("__Host-session") {
        request = request.header(header::COOKIE, format!("__Host-session={token}"));
    }
    if !body.is_empty() {
        request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::from(body.to_owned())).expect("a request")
}

/// Whether the browser is one in which the person with this address has signed in before.
async fn is_known(app: &TestApp, browser: &Browser, email: &str) -> bool {
    let token =
        rentroll::access::token::hash_of(&browser.cookie("__Host-device").expect("a browser that was known once"));
    let mut tx = app.app.machine(&rentroll::actor::Actor::visitor()).await.unwrap();
    rentroll::access::device::is_known(&mut tx, &token, &email.parse().unwrap()).await.unwrap()
}
