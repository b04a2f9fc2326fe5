//! Asking for a link to choose another password.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use super::{client, field_errors};
use crate::access::forgotten;
use crate::app::App;
use crate::error::Result;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{page, page_with, see};
use crate::web::plain::Plain;
use crate::web::routes::{Needs, Routes};
use crate::web::session::Visitor;

pub fn routes() -> Routes {
    Routes::new().get("/forgotten-password", Needs::Nothing, show).post("/forgotten-password", Needs::Nothing, ask).get(
        "/forgotten-password/asked",
        Needs::Nothing,
        asked,
    )
}

#[derive(Template)]
#[template(path = "access/forgotten.html")]
struct ForgottenPage {
    shell: Plain,
    form: FormState,
    /// Whether a link can be mailed.
    possible: bool,
}

async fn show(State(app): State<App>, shell: Plain) -> Result<Response> {
    let possible = forgotten::is_possible(&app);
    page(&ForgottenPage { shell, form: FormState::new(Fields::new()), possible })
}

async fn ask(
    State(app): State<App>,
    Extension(visitor): Extension<Visitor>,
    shell: Plain,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response> {
    match forgotten::ask(&app, &client(&visitor, &headers), fields.get("email")).await {
        Ok(()) => Ok(see(&shell.base, "/forgotten-password/asked")),
        Err(error) => {
            let form = FormState::again(fields, field_errors(error)?);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &ForgottenPage { shell, form, possible: true })
        }
    }
}

#[derive(Template)]
#[template(path = "access/forgotten_asked.html")]
struct AskedPage {
    shell: Plain,
}

async fn asked(shell: Plain) -> Result<Response> {
    page(&AskedPage { shell })
}
