//! A browser without a window: cookies, forms with all their hidden fields, pages read by CSS selectors.

use std::collections::BTreeMap;
use std::sync::Mutex;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt as _;
use scraper::{ElementRef, Html, Selector};
use tower::ServiceExt as _;

use super::program::PASSWORD;

/// A browser; keeps its cookies.
pub struct Browser {
    router: Router,
    base: String,
    cookies: Mutex<BTreeMap<String, String>>,
}

/// An answer, read whole.
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: axum::http::HeaderMap,
    /// The body's bytes.
    pub bytes: Vec<u8>,
}

impl Browser {
    /// A browser for this router.
    pub fn new(router: Router, base: &str) -> Self {
        Self { router, base: base.to_owned(), cookies: Mutex::default() }
    }

    /// A cookie's value.
    pub fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().expect("the jar").get(name).cloned()
    }

    /// Sets a cookie, as a thief would.
    pub fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().expect("the jar").insert(name.to_owned(), value.to_owned());
    }

    /// Opens a page or file.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    /// Sends a form with exactly these fields.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send(Method::POST, path, Some(("application/x-www-form-urlencoded", body.into_bytes()))).await
    }

    /// Sends a file (and fields) as a form with `multipart/form-data`.
    pub async fn upload(&self, path: &str, fields: &[(&str, &str)], file: (&str, &str, &[u8])) -> Answer {
        let boundary = "----rentroll-test-boundary";
        let mut body = Vec::new();
        for (name, value) in fields {
            body.extend_from_slice(
                format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                    .as_bytes(),
            );
        }
        let (name, file_name, bytes) = file;
        let head = format!(
            "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{file_name}\"\r\n\
             content-type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        self.send(Method::POST, path, Some((&kind, body))).await
    }

    /// Opens the page at `path`, fills in the form whose action ends with `action`, and sends it: hidden fields, chosen options
    /// and values already there go with it, as from a real browser. Fails where a field is not on the form.
    pub async fn submit(&self, path: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let page = self.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path} opens: {}", page.text());
        let (action, mut values) = page.form(action);
        for (name, value) in fields {
            assert!(values.contains_key(*name), "the form has no field {name}; it has {:?}", values.keys());
            values.insert((*name).to_owned(), (*value).to_owned());
        }
        let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let action = action.strip_prefix(&self.base).unwrap_or(&action).to_owned();
        self.post(&action, &values).await
    }

    /// Signs in with the password of all stories.
    pub async fn sign_in(&self, email: &str) {
        let answer = self.submit("/sign-in", "/sign-in", &[("email", email), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "signing in: {}", answer.text());
    }

    /// Any request, with the headers that a browser sends.
    pub async fn send(&self, method: Method, path: &str, body: Option<(&str, Vec<u8>)>) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header(header::HOST, "localhost")
            .header(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
            .header("sec-fetch-site", "same-origin")
            .header("sec-fetch-mode", "navigate");
        let cookies: Vec<String> =
            self.cookies.lock().expect("the jar").iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        let request = match body {
            Some((kind, bytes)) => request.header(header::CONTENT_TYPE, kind).body(Body::from(bytes)),
            None => request.body(Body::empty()),
        };
        self.exchange(request.expect("a request")).await
    }

    /// A request made by hand.
    pub async fn exchange(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        for value in response.headers().get_all(header::SET_COOKIE) {
            let cookie = value.to_str().expect("a cookie");
            let (pair, attributes) = cookie.split_once(';').unwrap_or((cookie, ""));
            let (name, value) = pair.split_once('=').expect("a cookie's value");
            let mut jar = self.cookies.lock().expect("the jar");
            if attributes.to_ascii_lowercase().contains("max-age=0") || value.is_empty() {
                jar.remove(name);
            } else {
                jar.insert(name.to_owned(), value.to_owned());
            }
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.map(|body| body.to_bytes().to_vec()).unwrap_or_default();
        Answer { status, headers, bytes }
    }
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Where a redirect leads.
    pub fn location(&self) -> String {
        let location = self.headers.get(header::LOCATION).unwrap_or_else(|| panic!("no redirect: {}", self.text()));
        location.to_str().expect("an address").to_owned()
    }

    /// The text of every element that a CSS selector finds, white space folded.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        let html = Html::parse_document(&self.text());
        html.select(&Selector::parse(selector).expect("a selector")).map(folded).collect()
    }

    /// An attribute of every element that a CSS selector finds.
    pub fn attributes(&self, selector: &str, name: &str) -> Vec<String> {
        let html = Html::parse_document(&self.text());
        html.select(&Selector::parse(selector).expect("a selector"))
            .filter_map(|element| element.value().attr(name).map(str::to_owned))
            .collect()
    }

    /// The rows of a table, cell by cell.
    pub fn rows(&self, table: &str) -> Vec<Vec<String>> {
        let html = Html::parse_document(&self.text());
        let rows = Selector::parse(&format!("{table} tbody tr")).expect("a selector");
        let cells = Selector::parse("td, th").expect("a selector");
        html.select(&rows).map(|row| row.select(&cells).map(folded).collect()).collect()
    }

    /// The action and fields of the form whose action ends with this.
    pub fn form(&self, action: &str) -> (String, BTreeMap<String, String>) {
        let html = Html::parse_document(&self.text());
        let forms = Selector::parse("form").expect("a selector");
        let inputs = Selector::parse("input, select, textarea").expect("a selector");
        let options = Selector::parse("option").expect("a selector");
        let leads_there = |form: &ElementRef<'_>| {
            form.value().attr("action").is_some_and(|it| it.split('?').next().unwrap_or(it).ends_with(action))
        };
        let posts = |form: &ElementRef<'_>| form.value().attr("method").is_some_and(|it| it == "post");
        // A list's filter often has the same address as the form that adds to the list.
        let form = html
            .select(&forms)
            .filter(leads_there)
            .find(posts)
            .or_else(|| html.select(&forms).find(leads_there))
            .unwrap_or_else(|| panic!("no form to {action} on the page: {}", self.text()));
        let mut values = BTreeMap::new();
        for input in form.select(&inputs) {
            let Some(name) = input.value().attr("name") else { continue };
            let value = match input.value().name() {
                "textarea" => input.text().collect::<String>(),
                "select" => {
                    let chosen = input.select(&options).find(|option| option.value().attr("selected").is_some());
                    let chosen = chosen.or_else(|| input.select(&options).next());
                    chosen.and_then(|option| option.value().attr("value")).unwrap_or_default().to_owned()
                }
                _ => {
                    let kind = input.value().attr("type").unwrap_or("text");
                    if matches!(kind, "checkbox" | "radio") && input.value().attr("checked").is_none() {
                        continue;
                    }
                    input.value().attr("value").unwrap_or_default().to_owned()
                }
            };
            values.insert(name.to_owned(), value);
        }
        (form.value().attr("action").expect("an action").to_owned(), values)
    }
}

fn folded(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}
