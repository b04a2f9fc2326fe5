//! `rentroll user add`: a log-in, with a password from standard input or a link with which its owner chooses one.

use std::io::BufRead as _;

use clap::{Args, Subcommand};
use serde_json::json;

use super::console::{Console, Refused, Report};
use super::open::{Opened, Purpose};
use super::serve::link_to;
use crate::access::invitation;
use crate::actor::{Actor, Role};
use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::locale::{Locale, Message};
use crate::mail::Outcome;
use crate::postgres::os_user;
use crate::text::{Email, Name};

/// What was typed.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Add a log-in.
    Add(Add),
}

#[derive(Debug, Args)]
struct Add {
    /// The address to sign in with.
    #[arg(long)]
    email: Email,
    /// The person's name.
    #[arg(long)]
    name: Name,
    /// administrator, auditor or member.
    #[arg(long)]
    role: Role,
    /// The language of the person's pages and mails: zh-CN or en.
    #[arg(long)]
    locale: Option<Locale>,
    /// Read the password from the first line of standard input; without it, a one-time link is printed.
    #[arg(long)]
    password_stdin: bool,
}

pub(super) async fn run(config: &Config, console: &Console, arguments: Arguments) -> Result<Report, Refused> {
    let Act::Add(add) = arguments.act;
    let password = if add.password_stdin { Some(password()?) } else { None };
    let opened = Opened::open(config, Purpose::Work, console).await?;
    let result = make(config, &opened.app, add, password).await;
    opened.close(None).await;
    Ok(result?)
}

fn password() -> Result<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let line = line.trim_end_matches(['\r', '\n']);
    if read.is_err() || line.is_empty() {
        return Err(Error::invalid("password", Message::new("cli-user-no-password")));
    }
    Ok(line.to_owned())
}

async fn make(config: &Config, app: &App, add: Add, password: Option<String>) -> Result<Report> {
    let actor = Actor::command_line(&os_user());
    let (email, name) = (add.email.as_str(), add.name.as_str());
    let added = invitation::add_user(app, &actor, email, name, add.role, add.locale, password).await?;
    let link = added.link.as_ref().map(|path| link_to(config, app, config.listen.port(), path));
    let told = match &link {
        Some(link) if added.is_mailed() => Message::new("cli-user-mailed").with("link", link).with("email", email),
        Some(link) => Message::new("cli-user-link").with("link", link),
        None => Message::new("cli-user-added"),
    };
    let mut lines = vec![told.with("name", name)];
    // It may come another way, so the log-in stays.
    lines.extend(added.mail.as_ref().and_then(Outcome::message).cloned());
    let json = json!({
        "id": added.user.id.0, "name": name, "email": email, "role": add.role.code(), "link": link,
        "mailed": added.is_mailed(),
    });
    Ok(Report { json: Some(json), lines, refused: false })
}
