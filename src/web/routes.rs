//! The route table: every route with what it needs. The same table feeds the router, the guard and the tests that walk it.

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{MethodFilter, on};

use crate::actor::Permission;
use crate::app::App;
use crate::error::Error;
use crate::web::session::Visitor;

/// What a request must bring. The matrix in the tests asks every route as everybody and compares the answers with this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Anybody.
    Nothing,
    /// A signed-in person.
    SignIn,
    /// A signed-in person with a right that concerns no single project.
    May(Permission),
    /// A signed-in person who reaches every project, if only to read.
    AllProjects,
    /// A signed-in person with this right in the project of the record that the path names. Whoever does not see the project
    /// is told that there is no such record. The handler checks it, because only it knows the record.
    InProject(Permission),
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path, with `{id}` for what varies.
    pub path: &'static str,
    /// What a request must bring.
    pub needs: Needs,
}

/// Routes being gathered, and the table of them.
#[derive(Default)]
pub struct Routes {
    router: Router<App>,
    table: Vec<Route>,
}

impl Routes {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a page or a file.
    #[must_use]
    pub fn get<H, T>(self, path: &'static str, needs: Needs, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.add(Method::GET, MethodFilter::GET, path, needs, handler)
    }

    /// Adds a form's target.
    #[must_use]
    pub fn post<H, T>(self, path: &'static str, needs: Needs, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        self.add(Method::POST, MethodFilter::POST, path, needs, handler)
    }

    fn add<H, T>(mut self, method: Method, filter: MethodFilter, path: &'static str, needs: Needs, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        let guarded = on(filter, handler).layer(middleware::from_fn_with_state(needs, guard));
        self.router = self.router.route(path, guarded);
        self.table.push(Route { method, path, needs });
        self
    }

    /// Takes in another context's routes.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.table.extend(other.table);
        self
    }

    /// The router and the table.
    pub fn finish(self) -> (Router<App>, Vec<Route>) {
        (self.router, self.table)
    }
}

/// Lets through who brings what the route needs. A page sends others to sign in; a file or data request
/// gets 401, and so does a form, which comes back with what was typed.
async fn guard(State(needs): State<Needs>, request: Request, next: Next) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned().unwrap_or_default();
    match (needs, &visitor.signed_in) {
        (Needs::Nothing, _) | (Needs::SignIn | Needs::InProject(_), Some(_)) => next.run(request).await,
        (Needs::May(_) | Needs::AllProjects, Some(signed_in)) => {
            let fits = match needs {
                Needs::May(permission) => signed_in.actor.may(permission, None),
                _ => signed_in.actor.scope.all.is_some(),
            };
            if fits {
                next.run(request).await
            } else {
                Error::Forbidden(crate::locale::Message::new("error-forbidden")).into_response()
            }
        }
        (_, None) => {
            if is_data(request.uri().path()) {
                return crate::web::errors::unsigned();
            }
            if request.method() != Method::GET {
                return crate::web::signed_out::keep(&visitor, request).await;
            }
            // Only a path of our own, so that nobody can be sent elsewhere after signing in.
            let wanted = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let wanted: String = url::form_urlencoded::byte_serialize(wanted.as_bytes()).collect();
            Redirect::to(&format!("{}/sign-in?to={wanted}", visitor.base)).into_response()
        }
    }
}

/// Whether a request is for data rather than for a page.
pub fn is_data(path: &str) -> bool {
    path.contains("/api/") || [".csv", ".json", ".xlsx"].iter().any(|ending| path.ends_with(ending))
}
