//! `rentroll serve`: the pages, the jobs, and an orderly end.

use std::io;
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::console::{Console, Refused, Report};
use super::open::{Opened, Purpose};
use crate::access::one_time_link;
use crate::actor::Actor;
use crate::app::{self, App};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::jobs;
use crate::limits;
use crate::locale::Message;
use crate::postgres::os_user;
use crate::web::server;

/// For the requests that run at the end; the rest of the ten seconds is for the jobs, the connections and the database.
const REQUESTS_TIME: Duration = limits::DRAIN_TIME.saturating_sub(Duration::from_secs(1));

/// The signals that end the program in order.
struct Ending {
    terminate: Signal,
    interrupt: Signal,
}

impl Ending {
    fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn wanted(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

pub(super) async fn run(config: &Config, console: &Console) -> Result<Report, Refused> {
    let mut ending = Ending::listen().map_err(|cause| Error::Internal(cause.into()))?;
    let opened = tokio::select! {
        // What was begun ends with the future.
        () = ending.wanted() => return Ok(Report::default()),
        opened = Opened::open(config, Purpose::Serve, console) => opened?,
    };
    let listener = match listen(config, &opened.app, console).await {
        Ok(listener) => listener,
        Err(refused) => {
            opened.close(Some(Duration::ZERO)).await;
            return Err(refused);
        }
    };
    let app = opened.app.clone();
    let (mut until, ended) = (None, CancellationToken::new());
    let jobs = tokio::spawn(jobs::ticker(app.clone(), ended.clone()));
    let stopped = async {
        ending.wanted().await;
        until = Some(Instant::now() + limits::DRAIN_TIME);
        ended.cancel();
        console.say(&Message::new("cli-serve-stops"));
    };
    server::serve(listener, app::router(&app), stopped, REQUESTS_TIME).await;
    let until = until.unwrap_or_else(Instant::now);
    tokio::join!(stop_jobs(jobs, until), app.background.end(until));
    opened.close(Some(until.saturating_duration_since(Instant::now()))).await;
    Ok(Report::default())
}

/// A job that is at work may finish its step; one that takes longer is cut off, and what it had claimed comes free by itself.
async fn stop_jobs(mut jobs: JoinHandle<()>, until: Instant) {
    if tokio::time::timeout_at(until, &mut jobs).await.is_err() {
        jobs.abort();
    }
}

/// Takes the address and tells where the pages are.
async fn listen(config: &Config, app: &App, console: &Console) -> Result<TcpListener, Refused> {
    let listener = TcpListener::bind(config.listen).await.map_err(|cause| not_listening(config, &cause))?;
    let address = listener.local_addr().map_err(|cause| not_listening(config, &cause))?;
    warn(config, console);
    let listening = format!("http://{address}{}/", app.base);
    let mut lines = vec![Message::new("cli-listening").with("url", listening.as_str())];
    let link = set_up_link(config, app, address.port()).await?;
    if let Some(link) = &link {
        lines.push(Message::new("cli-set-up").with("link", link));
    }
    let json = json!({
        "listening": listening,
        "public_url": config.public_url.as_ref().map(Url::as_str),
        "set_up_link": link,
    });
    console.tell(&Report { json: Some(json), lines, refused: false });
    Ok(listener)
}

/// A link with which the first administrator is made, while there is none. Localhost by its name, as cookies need it.
async fn set_up_link(config: &Config, app: &App, port: u16) -> Result<Option<String>> {
    let mut tx = app.machine(&Actor::command_line(&os_user())).await?;
    let token = one_time_link::issue_set_up(&mut tx).await?;
    tx.commit().await?;
    Ok(token.map(|token| link_to(config, app, port, &format!("/set-up/{}", token.reveal()))))
}

/// Below the public address, or on this machine where none is set.
pub(super) fn link_to(config: &Config, app: &App, port: u16, path: &str) -> String {
    let here = || format!("http://localhost:{port}{}{path}", config.base_path());
    app.public_link(path).unwrap_or_else(here)
}

fn not_listening(config: &Config, cause: &io::Error) -> Refused {
    let message = match cause.kind() {
        io::ErrorKind::AddrInUse => Message::new("cli-listen-taken"),
        _ => Message::new("cli-listen").with("cause", cause.to_string()),
    };
    message.with("address", config.listen.to_string()).into()
}

/// What would only be noticed later: cookies that do not come back, mails without a link.
fn warn(config: &Config, console: &Console) {
    for message in address_warnings(config) {
        console.warn(&message);
    }
}

/// What is wrong with the address that people type.
pub(super) fn address_warnings(config: &Config) -> Vec<Message> {
    let mut warnings = Vec::new();
    match &config.public_url {
        Some(url) if url.scheme() == "http" && !is_loopback(url) => {
            warnings.push(Message::new("cli-public-url-http").with("url", url.as_str()));
        }
        Some(_) => {}
        None => {
            if !config.listen.ip().is_loopback() {
                warnings.push(
                    Message::new("cli-public-url-missing-for-sign-in").with("address", config.listen.to_string()),
                );
            }
            if matches!(config.smtp_url(), Ok(Some(_))) {
                warnings.push(Message::new("cli-public-url-missing-for-mail"));
            }
        }
    }
    warnings
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
