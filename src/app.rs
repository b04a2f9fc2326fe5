//! The assembled program: what a handler, a command and a job are given.

use std::ops::Deref;
use std::sync::Arc;

use axum::routing::get;
use axum::{Router, middleware};
use sqlx::PgPool;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::csrf::CsrfLayer;
use url::Url;

use crate::access;
use crate::actor::Actor;
use crate::background::Background;
use crate::catalog;
use crate::clock::Clock;
use crate::deadlines;
use crate::documents::Documents;
use crate::environments;
use crate::error::Result;
use crate::ledger;
use crate::limits;
use crate::mail::Mailer;
use crate::tx::{Read, Tx};
use crate::web::routes::Routes;
use crate::web::{
    documents, errors, headers, health, history, origin, overview, saved_filters, session, statics, time,
};

/// The assembled program; cheap to clone.
#[derive(Clone)]
pub struct App {
    parts: Arc<Parts>,
    /// What pages began and nobody waits for.
    pub background: Background,
}

/// What the program is made of.
pub struct Parts {
    /// Connections for pages, commands and jobs; every one is `rentroll_app`.
    pub db: PgPool,
    /// A small pool of its own for exports and imports: a download that is cut off never costs a page its connection.
    pub bulk: PgPool,
    /// What time it is.
    pub clock: Clock,
    /// Where mails go: a mail server, or the outbox folder.
    pub mailer: Mailer,
    /// Bytes by content hash.
    pub documents: Documents,
    /// The address people type; links in mails begin with it.
    pub public_url: Option<Url>,
    /// The path below which all routes lie; empty, or without a slash at its end.
    pub base: String,
    /// Proxies whose forwarded headers are believed.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    /// At most so many exports at once.
    pub exports: Arc<Semaphore>,
    /// At most so many imports at once.
    pub imports: Arc<Semaphore>,
    /// At most so many password hashes at once: each takes 64 MiB.
    pub hashing: Arc<Semaphore>,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.parts
    }
}

impl App {
    /// Assembles the program.
    pub fn new(parts: Parts) -> Self {
        Self { parts: Arc::new(parts), background: Background::default() }
    }

    /// The semaphores of [`Parts`], as the limits say: exports, imports, hashing.
    pub fn semaphores() -> (Arc<Semaphore>, Arc<Semaphore>, Arc<Semaphore>) {
        (
            Arc::new(Semaphore::new(limits::EXPORTS)),
            Arc::new(Semaphore::new(limits::IMPORTS)),
            Arc::new(Semaphore::new(limits::HASHES)),
        )
    }

    /// Begins a unit of work that changes records; `commit` it.
    pub async fn write(&self, actor: &Actor) -> Result<Tx> {
        Tx::write(&self.db, actor, self.clock.now()).await
    }

    /// Begins a unit of work that changes only the program's own bookkeeping; `commit` it.
    pub async fn machine(&self, actor: &Actor) -> Result<Tx> {
        Tx::machine(&self.db, actor, self.clock.now()).await
    }

    /// Begins a unit of work over many rows, on the pool for bulk work; `commit` it.
    pub async fn write_bulk(&self, actor: &Actor) -> Result<Tx> {
        let mut tx = Tx::write(&self.bulk, actor, self.clock.now()).await?;
        tx.take_time().await?;
        Ok(tx)
    }

    /// Begins a snapshot with the actor's scope.
    pub async fn read(&self, actor: &Actor) -> Result<Read> {
        Read::begin(&self.db, actor, self.clock.now()).await
    }

    /// Begins a snapshot for an export, on the pool for bulk work.
    pub async fn read_bulk(&self, actor: &Actor) -> Result<Read> {
        let mut read = Read::begin(&self.bulk, actor, self.clock.now()).await?;
        read.take_time().await?;
        Ok(read)
    }

    /// The full address of a path, for mails; `None` while no public address is set (a mail never says localhost).
    pub fn public_link(&self, path: &str) -> Option<String> {
        let url = self.public_url.as_ref()?;
        Some(format!("{}{path}", url.as_str().trim_end_matches('/')))
    }
}

/// The whole of the web: routes, layers, static files, below the base path.
pub fn router(app: &App) -> Router {
    let (routes, _) = routes().finish();
    let site = routes
        .route("/static/{*name}", get(statics::serve))
        .fallback(errors::fallback)
        .method_not_allowed_fallback(errors::wrong_method)
        .layer(middleware::from_fn(time::limit))
        .layer(middleware::from_fn(errors::carry_visitor))
        .layer(middleware::from_fn_with_state(app.clone(), session::identify))
        .layer(middleware::from_fn(origin::refuse_blind_forms))
        .layer(CsrfLayer::new())
        .layer(CatchPanicLayer::new())
        .layer(CompressionLayer::new())
        .layer(middleware::from_fn_with_state(app.clone(), errors::render))
        .layer(middleware::from_fn_with_state(app.clone(), headers::set))
        .with_state(app.clone());
    if app.base.is_empty() { site } else { Router::new().nest(&app.base, site).merge(probes(app)) }
}

/// A supervisor on the same machine asks the program itself, not through the proxy that adds the base path.
fn probes(app: &App) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .layer(middleware::from_fn_with_state(app.clone(), headers::set))
        .with_state(app.clone())
}

/// The routes of all contexts: one table for the router, the guard and the tests that walk it.
pub fn routes() -> Routes {
    Routes::new()
        .merge(health::routes())
        .merge(access::pages::routes())
        .merge(overview::routes())
        .merge(history::routes())
        .merge(documents::routes())
        .merge(saved_filters::routes())
        .merge(ledger::pages::routes())
        .merge(catalog::pages::routes())
        .merge(environments::pages::routes())
        .merge(deadlines::pages::routes())
}
