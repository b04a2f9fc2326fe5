//! How many statements something sends to the database.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlx::ConnectOptions as _;
use tracing::field::{Field, Visit};
use tracing::log::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use super::TestApp;

/// Hears every statement that sqlx tells of.
#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Listener {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "sqlx::query" {
            let mut summary = Summary::default();
            event.record(&mut summary);
            self.0.lock().expect("no test panics while it holds the statements").push(summary.0);
        }
    }
}

#[derive(Default)]
struct Summary(String);

impl Visit for Summary {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "summary" {
            self.0 = format!("{value:?}");
        }
    }
}

impl TestApp {
    /// Does something on this thread and tells which statements it sent, each by its first words.
    pub async fn queries_of<T>(&self, work: impl Future<Output = T>) -> (T, Vec<String>) {
        let heard = Listener::default();
        let listening = tracing::subscriber::set_default(tracing_subscriber::registry().with(heard.clone()));
        // Connections of the program tell nothing: the pool makes new ones that do.
        let telling = self.database.options().log_statements(LevelFilter::Debug);
        let telling = telling.log_slow_statements(LevelFilter::Debug, Duration::from_mins(10));
        self.app.db.set_connect_options(telling);
        let mut connections = Vec::new();
        for _ in 0..self.app.db.options().get_max_connections() {
            connections.push(self.app.db.acquire().await.expect("a connection"));
        }
        for connection in connections {
            connection.close().await.expect("closing");
        }
        drop(self.app.db.acquire().await.expect("a connection that tells"));
        heard.0.lock().expect("the statements").clear();
        let result = work.await;
        drop(listening);
        let statements = std::mem::take(&mut *heard.0.lock().expect("the statements"));
        (result, statements)
    }
}
