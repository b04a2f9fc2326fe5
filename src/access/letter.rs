//! The mails of this context: the link to choose a password, for a new log-in or a forgotten password, and the test that an
//! administrator sends to themself.

use askama::Template;
use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::App;
use crate::error::{Error, Result};
use crate::limits;
use crate::locale::{Locale, Message};
use crate::mail::{Mailbox, Mailer, Outcome, Outgoing};

/// A mail in one language: sentences, and perhaps one link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Letter {
    locale: Locale,
    subject: String,
    sentences: Vec<String>,
    link: Option<String>,
    foot: Option<String>,
}

#[derive(Template)]
#[template(path = "mail/choose_password/body.txt")]
struct ChoosePasswordText<'a> {
    letter: &'a Letter,
}

#[derive(Template)]
#[template(path = "mail/choose_password/body.html")]
struct ChoosePasswordHtml<'a> {
    letter: &'a Letter,
}

#[derive(Template)]
#[template(path = "mail/test/body.txt")]
struct TestText<'a> {
    letter: &'a Letter,
}

#[derive(Template)]
#[template(path = "mail/test/body.html")]
struct TestHtml<'a> {
    letter: &'a Letter,
}

impl Letter {
    /// The link with which a person chooses a password.
    pub fn choose_password(locale: Locale, name: &str, organisation: &str, link: String) -> Self {
        let say = |key| {
            let hours = limits::CHOOSE_PASSWORD_LINK_TIME.num_hours();
            locale.say(&Message::new(key).with("name", name).with("organisation", organisation).with("hours", hours))
        };
        Self {
            locale,
            subject: say("mail-choose-password-subject"),
            sentences: vec![say("mail-choose-password-name"), say("mail-choose-password-what")],
            link: Some(link),
            foot: Some(say("mail-choose-password-foot")),
        }
    }

    /// The same link for somebody who forgot the password and asked for it.
    pub fn forgotten(locale: Locale, name: &str, organisation: &str, link: String) -> Self {
        let say = |key| {
            let minutes = limits::FORGOTTEN_LINK_TIME.num_minutes();
            locale
                .say(&Message::new(key).with("name", name).with("organisation", organisation).with("minutes", minutes))
        };
        Self {
            locale,
            subject: say("mail-forgotten-subject"),
            sentences: vec![say("mail-choose-password-name"), say("mail-forgotten-what")],
            link: Some(link),
            foot: Some(say("mail-forgotten-foot")),
        }
    }

    /// A test of the mail server.
    pub fn test(locale: Locale, name: &str, organisation: &str) -> Self {
        let say = |key| locale.say(&Message::new(key).with("name", name).with("organisation", organisation));
        Self {
            locale,
            subject: say("mail-test-subject"),
            sentences: vec![say("mail-test-what")],
            link: None,
            foot: None,
        }
    }

    /// The letter to somebody, ready to be sent by this program.
    ///
    /// # Errors
    /// [`Error::Invalid`] at `email` where nothing can be sent to the address.
    pub fn to(&self, app: &App, name: &str, address: &str) -> Result<Outgoing> {
        let to = Mailbox::new(name, address).map_err(|message| Error::invalid("email", message))?;
        self.outgoing(to, app.mailer.domain(), app.clock.now())
    }

    fn outgoing(&self, to: Mailbox, domain: &str, at: DateTime<Utc>) -> Result<Outgoing> {
        let written = |result: askama::Result<String>| result.map_err(|cause| Error::Internal(cause.into()));
        let (text, html) = match &self.link {
            Some(_) => (ChoosePasswordText { letter: self }.render(), ChoosePasswordHtml { letter: self }.render()),
            None => (TestText { letter: self }.render(), TestHtml { letter: self }.render()),
        };
        Ok(Outgoing {
            to,
            subject: self.subject.clone(),
            text: written(text)?,
            html: written(html)?,
            message_id: format!("{}@{domain}", Uuid::now_v7()),
            date: at,
            list_id: None,
        })
    }
}

/// Whether mails leave the machine: a mail server is set, not only the outbox.
pub fn leaves(mailer: &Mailer) -> bool {
    !matches!(mailer, Mailer::Directory(_))
}

/// Sends a letter now. `None`: the mail server took longer than a page can wait; the mail may arrive or not.
///
/// # Errors
/// [`Error::Invalid`] at `email` where nothing can be sent to the address.
pub async fn send(app: &App, letter: &Letter, name: &str, address: &str) -> Result<Option<Outcome>> {
    let outgoing = letter.to(app, name, address)?;
    Ok(tokio::time::timeout(limits::TEST_MAIL_TIME, app.mailer.send(&outgoing)).await.ok())
}
