//! Messages out: over SMTP, into a folder while no mail server is set up, or into memory for tests.
//!
//! A caller claims its delivery, commits, and only then sends; what it does with the [`Outcome`] is its own affair. No
//! message is ever sent twice inside one call, and only a clear yes of the server counts as sent.

mod addresses;
mod message;
mod outbox;
mod reply;
mod server;
mod smtp;
mod verdict;

use std::sync::{Arc, Mutex, PoisonError};

pub use addresses::without_addresses;
pub use message::{Mailbox, Outgoing};
pub use outbox::Outbox;
pub use server::{Deadlines, Mode, SmtpConfig, SmtpSettings, check_certificates};

use crate::locale::Message;

/// Where messages go.
#[derive(Debug, Clone)]
pub enum Mailer {
    /// To a mail server.
    Smtp(SmtpSettings),
    /// Into a folder, to wait there.
    Directory(Outbox),
    /// Into memory, for tests.
    Memory(Memory),
}

/// The messages that a test would have sent, and who they come from.
#[derive(Debug, Clone)]
pub struct Memory {
    /// What was sent, oldest first; shared by every clone.
    pub sent: Arc<Mutex<Vec<Outgoing>>>,
    /// The sender.
    pub from: Mailbox,
}

/// How far a delivery had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The TCP connection; for the outbox, its folder.
    Connect,
    /// The server's first line.
    Greeting,
    /// EHLO.
    Hello,
    /// STARTTLS, or the handshake.
    Tls,
    /// Signing in.
    Auth,
    /// The sender.
    Mail,
    /// The recipient.
    Rcpt,
    /// Leave to send the message.
    Data,
    /// The message, its final dot and the server's last word; for the outbox, its file.
    Body,
}

/// How one try to deliver one message ended.
///
/// `reply` is the server's own line (with its code, bounded, without control characters and without the addresses in it),
/// `message` the same for people in their language, with what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The server took the message. Its reply, often with a queue id, is evidence.
    Sent {
        /// What it said; for the outbox, the file's name.
        reply: String,
    },
    /// Not delivered for certain, and another try may succeed.
    Retry {
        /// How far it had come.
        phase: Phase,
        /// What the server said.
        reply: Option<String>,
        /// What happened.
        message: Message,
    },
    /// The server will never take this message for this recipient.
    Bounced {
        /// How far it had come.
        phase: Phase,
        /// What the server said.
        reply: Option<String>,
        /// What happened.
        message: Message,
    },
    /// Nothing can be delivered until somebody changes a setting, here or at the server.
    Configuration {
        /// How far it had come.
        phase: Phase,
        /// What the server said.
        reply: Option<String>,
        /// Which setting, and what would fit.
        message: Message,
    },
    /// The whole message was written, but the server did not say clearly whether it took it: it may arrive or not.
    Ambiguous {
        /// How far it had come: always [`Phase::Body`].
        phase: Phase,
        /// What the server said.
        reply: Option<String>,
        /// What happened.
        message: Message,
    },
}

/// Several messages over one connection.
///
/// After an outcome other than [`Outcome::Sent`], or [`Outcome::Bounced`] by the recipient's address, it is over:
/// [`Conversation::is_alive`] says so, and whoever has more to send opens another.
pub struct Conversation(Inner);

enum Inner {
    Smtp(Box<smtp::Dialogue>),
    Directory(Outbox),
    Memory(Memory),
}

impl Mailer {
    /// Sends one message over a connection of its own.
    pub async fn send(&self, outgoing: &Outgoing) -> Outcome {
        let mut conversation = match self.open().await {
            Ok(conversation) => conversation,
            Err(outcome) => return outcome,
        };
        let outcome = conversation.send(outgoing).await;
        conversation.quit().await;
        outcome
    }

    /// Opens a connection for a small batch. The error is never [`Outcome::Sent`], [`Outcome::Bounced`] or
    /// [`Outcome::Ambiguous`]: nothing was sent yet.
    pub async fn open(&self) -> Result<Conversation, Outcome> {
        Ok(Conversation(match self {
            Self::Smtp(settings) => Inner::Smtp(Box::new(smtp::Dialogue::open(settings).await?)),
            Self::Directory(outbox) => Inner::Directory(outbox.clone()),
            Self::Memory(memory) => Inner::Memory(memory.clone()),
        }))
    }

    /// Who the messages come from.
    pub const fn from(&self) -> &Mailbox {
        match self {
            Self::Smtp(settings) => &settings.from,
            Self::Directory(outbox) => &outbox.from,
            Self::Memory(memory) => &memory.from,
        }
    }

    /// The domain of the sender's address, for Message-IDs.
    pub fn domain(&self) -> &str {
        self.from().domain()
    }
}

impl Memory {
    /// Nothing sent yet.
    pub fn new(from: Mailbox) -> Self {
        Self { sent: Arc::default(), from }
    }

    /// What was sent so far, oldest first.
    pub fn messages(&self) -> Vec<Outgoing> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, outgoing: &Outgoing) -> Outcome {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(outgoing.clone());
        Outcome::Sent { reply: "250 kept".to_owned() }
    }
}

impl Conversation {
    /// Sends one message.
    pub async fn send(&mut self, outgoing: &Outgoing) -> Outcome {
        match &mut self.0 {
            Inner::Smtp(dialogue) => dialogue.send(outgoing).await,
            Inner::Directory(outbox) => outbox.keep(outgoing).await,
            Inner::Memory(memory) => memory.keep(outgoing),
        }
    }

    /// Whether another message may be sent over it.
    pub const fn is_alive(&self) -> bool {
        match &self.0 {
            Inner::Smtp(dialogue) => dialogue.is_alive(),
            Inner::Directory(_) | Inner::Memory(_) => true,
        }
    }

    /// Says goodbye; waits two seconds at most for the answer.
    pub async fn quit(self) {
        if let Inner::Smtp(dialogue) = self.0 {
            dialogue.quit().await;
        }
    }
}

impl Outcome {
    /// The word by which an attempt is recorded.
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Sent { .. } => "sent",
            Self::Retry { .. } => "retry",
            Self::Bounced { .. } => "bounced",
            Self::Configuration { .. } => "configuration",
            Self::Ambiguous { .. } => "ambiguous",
        }
    }

    /// How far it came.
    pub const fn phase(&self) -> Phase {
        match self {
            Self::Sent { .. } => Phase::Body,
            Self::Retry { phase, .. }
            | Self::Bounced { phase, .. }
            | Self::Configuration { phase, .. }
            | Self::Ambiguous { phase, .. } => *phase,
        }
    }

    /// What the server said, where it said anything.
    pub fn reply(&self) -> Option<&str> {
        match self {
            Self::Sent { reply } => Some(reply),
            Self::Retry { reply, .. }
            | Self::Bounced { reply, .. }
            | Self::Configuration { reply, .. }
            | Self::Ambiguous { reply, .. } => reply.as_deref(),
        }
    }

    /// What went wrong, for people; nothing where the message was sent.
    pub const fn message(&self) -> Option<&Message> {
        match self {
            Self::Sent { .. } => None,
            Self::Retry { message, .. }
            | Self::Bounced { message, .. }
            | Self::Configuration { message, .. }
            | Self::Ambiguous { message, .. } => Some(message),
        }
    }
}

impl Phase {
    /// The word by which an attempt is recorded.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Greeting => "greeting",
            Self::Hello => "hello",
            Self::Tls => "tls",
            Self::Auth => "auth",
            Self::Mail => "mail",
            Self::Rcpt => "rcpt",
            Self::Data => "data",
            Self::Body => "body",
        }
    }

    /// What was being done, for people.
    pub const fn message(self) -> Message {
        Message::new(match self {
            Self::Connect => "mail-phase-connect",
            Self::Greeting => "mail-phase-greeting",
            Self::Hello => "mail-phase-hello",
            Self::Tls => "mail-phase-tls",
            Self::Auth => "mail-phase-auth",
            Self::Mail => "mail-phase-mail",
            Self::Rcpt => "mail-phase-rcpt",
            Self::Data => "mail-phase-data",
            Self::Body => "mail-phase-body",
        })
    }
}
