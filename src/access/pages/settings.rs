//! The organisation's settings, the state of mail, and the ways to people and projects.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::NaiveTime;

use super::languages;
use crate::access::letter::{self, Letter};
use crate::access::people;
use crate::access::project::{self, Project};
use crate::actor::Permission;
use crate::app::App;
use crate::error::{Error, FieldErrors, Result};
use crate::locale::Message;
use crate::mail::{Mailer, Outcome};
use crate::setting::{self, NewOrganisation, Organisation};
use crate::text;
use crate::web::edit::{Edit, Present};
use crate::web::forms::Fields;
use crate::web::page::{page_with, see};
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;

pub fn routes() -> Routes {
    let administer = Needs::May(Permission::Administer);
    Routes::new().get("/settings", Needs::SignIn, show).post("/settings", administer, change).post(
        "/settings/test-mail",
        administer,
        send_test,
    )
}

const LABELS: &[(&str, &str)] = &[
    ("name", "field-organisation"),
    ("zone", "settings-zone"),
    ("currency", "settings-currency"),
    ("locale", "field-organisation-locale"),
    ("send_at", "settings-send-at"),
    ("reminder_steps", "settings-steps"),
];

#[derive(Template)]
#[template(path = "access/settings.html")]
struct SettingsPage {
    shell: Shell,
    edit: Edit,
    organisation: Organisation,
    languages: Vec<(&'static str, &'static str)>,
    projects: Vec<Project>,
    people: i64,
    users: i64,
    mail: Message,
    public_url: Option<String>,
    /// What became of a test mail.
    test: Option<TestMail>,
}

struct TestMail {
    went_out: bool,
    message: Message,
}

impl SettingsPage {
    /// The reminder rule as a sentence.
    fn rule(&self) -> String {
        self.shell.say(&self.organisation.reminder_steps.rule())
    }

    fn people_words(&self) -> String {
        self.shell.say(&Message::new("settings-people").with("n", self.people).with("users", self.users))
    }

    fn send_at(&self) -> String {
        self.organisation.send_at.format("%H:%M").to_string()
    }
}

fn fields_of(organisation: &Organisation) -> Fields {
    Fields::new()
        .with("name", &organisation.name)
        .with("zone", organisation.zone)
        .with("currency", &organisation.currency)
        .with("locale", organisation.locale)
        .with("send_at", organisation.send_at.format("%H:%M"))
        .with("reminder_steps", &organisation.reminder_steps)
        .with("version", organisation.version)
}

async fn show(State(app): State<App>, shell: Shell) -> Result<Response> {
    settings(&app, shell, None, None).await
}

/// The page: fresh, or with a form that was refused, or with what became of a test mail.
async fn settings(
    app: &App,
    shell: Shell,
    refused: Option<(Fields, Error)>,
    test: Option<TestMail>,
) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let organisation = read.organisation().clone();
    let projects = project::list(&mut read).await?;
    let (people, users) = people::counts(&mut read).await?;
    let fields = fields_of(&organisation);
    let edit = match refused {
        None => Edit::fresh(fields),
        Some((typed, error)) => {
            let present = Present { kind: "organisation", id: 1, fields, labels: LABELS };
            Edit::again(&mut read, typed, error, present).await?
        }
    };
    read.end().await?;
    let public_url = app.public_url.as_ref().map(ToString::to_string);
    let (mail, languages) = (mail_state(&app.mailer), languages());
    let status = edit.status;
    let page = SettingsPage { shell, edit, organisation, languages, projects, people, users, mail, public_url, test };
    page_with(status, &page)
}

/// Where mails go, in words.
fn mail_state(mailer: &Mailer) -> Message {
    let message = match mailer {
        Mailer::Smtp(settings) => Message::new("settings-mail-server").with("server", settings.config.to_string()),
        Mailer::Directory(outbox) => {
            Message::new("settings-mail-outbox").with("path", outbox.path.display().to_string())
        }
        Mailer::Memory(_) => Message::new("settings-mail-memory"),
    };
    message.with("from", mailer.from().to_string())
}

async fn change(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    match save(&app, &shell, &fields).await {
        Ok(()) => Ok(see(&shell.base, "/settings")),
        Err(error) => settings(&app, shell, Some((fields, error)), None).await,
    }
}

async fn save(app: &App, shell: &Shell, fields: &Fields) -> Result<()> {
    let new = parse(fields)?;
    let (version, submit_id) = (fields.version()?, fields.submit_id()?);
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(submit_id).await?.is_none() {
        setting::change(&mut tx, version, new).await?;
        tx.sent(submit_id, "/settings").await?;
    }
    tx.commit().await
}

fn parse(fields: &Fields) -> Result<NewOrganisation, FieldErrors> {
    let mut errors = FieldErrors::new();
    let time = |text: &str| {
        let text = text::filled(text)?;
        let read = NaiveTime::parse_from_str(text, "%H:%M").or_else(|_| NaiveTime::parse_from_str(text, "%H:%M:%S"));
        read.map_err(|_| Message::new("error-time").with("value", text::excerpt(text)))
    };
    let name = errors.take("name", fields.get("name").parse());
    let zone = errors.take("zone", fields.get("zone").parse());
    let currency = errors.take("currency", fields.get("currency").parse());
    let locale = errors.take("locale", fields.get("locale").parse());
    let send_at = errors.take("send_at", time(fields.get("send_at")));
    let reminder_steps = errors.take("reminder_steps", fields.get("reminder_steps").parse());
    match (name, zone, currency, locale, send_at, reminder_steps) {
        (Some(name), Some(zone), Some(currency), Some(locale), Some(send_at), Some(reminder_steps)) => {
            Ok(NewOrganisation { name, zone, currency, locale, send_at, reminder_steps })
        }
        _ => Err(errors),
    }
}

async fn send_test(State(app): State<App>, shell: Shell) -> Result<Response> {
    let Some(address) = shell.email.clone() else {
        return Err(Error::invalid("email", Message::new("error-email-needed")));
    };
    let name = shell.actor.name.clone();
    let letter = Letter::test(shell.locale, &name, &shell.organisation);
    let outcome = letter::send(&app, &letter, &name, &address).await?;
    let test = TestMail {
        went_out: matches!(outcome, Some(Outcome::Sent { .. })),
        message: test_words(&app, outcome, &address),
    };
    settings(&app, shell, None, Some(test)).await
}

/// What became of a test mail, in words.
fn test_words(app: &App, outcome: Option<Outcome>, address: &str) -> Message {
    match outcome {
        None => Message::new("settings-test-slow"),
        Some(Outcome::Sent { reply }) => {
            let key = if letter::leaves(&app.mailer) { "settings-test-sent" } else { "settings-test-kept" };
            Message::new(key).with("address", address).with("reply", reply)
        }
        Some(outcome) => outcome.message().cloned().unwrap_or_else(|| Message::new("settings-test-slow")),
    }
}
