//! The log: standard error, plain on a terminal, JSON elsewhere.

use std::io::{self, IsTerminal as _};

use tracing::{Level, Metadata};
use tracing_subscriber::filter::{EnvFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

use crate::locale::Message;

/// Starts the log; `directives` are those of `RENTROLL_LOG`.
pub(super) fn start(directives: &str) -> Result<(), Message> {
    let wanted = EnvFilter::try_new(directives)
        .map_err(|cause| Message::new("cli-log").with("value", directives).with("cause", cause.to_string()))?;
    let layer = fmt::layer().with_writer(io::stderr);
    let layer = if io::stderr().is_terminal() { layer.boxed() } else { layer.json().flatten_event(true).boxed() };
    tracing_subscriber::registry().with(wanted).with(filter_fn(is_fit_for_a_log)).with(layer).init();
    Ok(())
}

/// Statements and conversations hold what people typed, and addresses: they are logged nowhere, whatever `RENTROLL_LOG` says.
/// Notices of the database only say that something is there already.
fn is_fit_for_a_log(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    let most = if target.starts_with("sqlx::postgres::notice") {
        Level::WARN
    } else if ["sqlx", "lettre", "rustls", "hyper"].iter().any(|name| target.starts_with(name)) {
        Level::INFO
    } else {
        Level::TRACE
    };
    *metadata.level() <= most
}
