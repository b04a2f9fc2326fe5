//! The SMTP conversation, phase by phase, each phase under a deadline of its own.
//!
//! It is ours rather than lettre's, because three things decide whether a reminder may be booked as sent, and lettre's
//! connection (0.11.23) allows none of them: the final dot is written apart from the message, so that everything before
//! it is known to be safe to repeat; a reply that nobody asked for ends the conversation, so that no later reply is
//! taken for another's; and a reply is read within bounds.
//!
//! The socket has `TCP_NODELAY`: message and dot are two writes, and without it each message waits 40 ms for the other
//! side's delayed acknowledgement.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustls::CertificateError;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::message::one_line;
use super::reply::{Fault, Line, Reply, Wire};
use super::server::{Credentials, Mode, SmtpSettings};
use super::verdict::{misconfigured, retry};
use super::{Outcome, Outgoing, Phase};

/// How long a server that greets nobody is given to show that it waits for TLS. With ten seconds for the greeting, a
/// silent host is given up within 15 s (case E13).
const PROBE: Duration = Duration::from_secs(3);

/// How long we wait for the answer to QUIT, on which nothing depends.
const FAREWELL: Duration = Duration::from_secs(2);

/// An open conversation with the mail server.
pub(super) struct Dialogue {
    settings: SmtpSettings,
    line: Line,
    /// What the server said in its last EHLO.
    offers: Offers,
    /// Our own address, for EHLO.
    local: SocketAddr,
    /// Whether another message may be sent. False while one is on its way, so a send that was dropped half-way ends
    /// the conversation.
    alive: bool,
}

/// What a server offers in its reply to EHLO.
#[derive(Default)]
struct Offers {
    starttls: bool,
    auth_plain: bool,
    auth_login: bool,
}

impl Dialogue {
    fn new(settings: &SmtpSettings, line: Line, local: SocketAddr) -> Self {
        Self { settings: settings.clone(), line, offers: Offers::default(), local, alive: true }
    }

    /// Connects, is greeted, makes the line safe as the mode says, and signs in.
    pub(super) async fn open(settings: &SmtpSettings) -> Result<Self, Outcome> {
        let until = Instant::now() + settings.deadlines.connect;
        let stream = connect(settings, until).await?;
        let (local, peer) = stream
            .local_addr()
            .and_then(|local| Ok((local, stream.peer_addr()?)))
            .map_err(|error| settings.faulted(Phase::Connect, error.into()))?;
        let mode = settings.config.mode();
        if settings.config.credentials().is_some() && overheard(mode, peer) {
            return Err(misconfigured(Phase::Connect, None, settings.say("mail-password-in-clear")));
        }
        let line = if mode == Mode::Tls { settings.handshake(stream, until).await? } else { Line::new(stream) };
        let mut dialogue = Self::new(settings, line, local);
        dialogue.greeting(until).await?;

        let until = Instant::now() + settings.deadlines.hello;
        dialogue.hello(until).await?;
        if mode == Mode::StartTls {
            dialogue = dialogue.start_tls(until).await?;
        }
        if let Some(credentials) = settings.config.credentials() {
            dialogue.sign_in(credentials, until).await?;
        }
        Ok(dialogue)
    }

    /// Whether another message may be sent.
    pub(super) const fn is_alive(&self) -> bool {
        self.alive
    }

    /// Sends one message to its one recipient.
    pub(super) async fn send(&mut self, outgoing: &Outgoing) -> Outcome {
        if !std::mem::replace(&mut self.alive, false) {
            return self.settings.faulted(Phase::Connect, Fault::Closed);
        }
        match self.transact(outgoing).await {
            Ok(reply) => {
                self.alive = true;
                Outcome::Sent { reply: reply.shown() }
            }
            Err(outcome) => {
                if matches!(outcome, Outcome::Bounced { phase: Phase::Mail | Phase::Rcpt, .. }) {
                    let until = Instant::now() + self.settings.deadlines.command;
                    self.alive = self.ask("RSET", until).await.is_ok_and(|reply| reply.class() == 2);
                }
                outcome
            }
        }
    }

    /// Ends the conversation. Whatever was sent has its outcome already.
    pub(super) async fn quit(mut self) {
        let until = Instant::now() + FAREWELL.min(self.settings.deadlines.command);
        if self.alive && self.ask("QUIT", until).await.is_ok() {
            let _ = timeout_at(until, self.line.shutdown()).await;
        }
    }

    async fn transact(&mut self, outgoing: &Outgoing) -> Result<Reply, Outcome> {
        let message = stuffed(&outgoing.eml(&self.settings.from));
        let from = format!("MAIL FROM:<{}>", self.settings.from.address());
        self.step(Phase::Mail, &from, 2).await?;
        self.step(Phase::Rcpt, &format!("RCPT TO:<{}>", outgoing.to.address()), 2).await?;
        self.step(Phase::Data, "DATA", 3).await?;

        let until = Instant::now() + self.settings.deadlines.body;
        // Up to here the server cannot take the message for complete, so it is safe to send it again.
        match timeout_at(until, self.line.write(&message)).await.unwrap_or(Err(Fault::Timeout)) {
            Ok(()) => match self.line.expect_silence() {
                Ok(()) => {}
                Err(Fault::Unasked(reply)) => return Err(self.settings.refused(Phase::Body, reply)),
                Err(fault) => return Err(self.settings.faulted(Phase::Body, fault)),
            },
            Err(fault) => return Err(self.settings.faulted(Phase::Body, fault)),
        }
        // From here on only the server knows.
        let last_word = async {
            self.line.write(b".\r\n").await?;
            self.line.read().await
        };
        match timeout_at(until, last_word).await.unwrap_or(Err(Fault::Timeout)) {
            Ok(reply) if reply.class() == 2 => Ok(reply),
            Ok(reply) if reply.class() >= 4 => Err(self.settings.refused(Phase::Body, reply)),
            Ok(reply) => Err(self.settings.ambiguous(Some(reply))),
            Err(_) => Err(self.settings.ambiguous(None)),
        }
    }

    /// One command of a message and its reply, which must be of the class that is wanted.
    async fn step(&mut self, phase: Phase, command: &str, class: u16) -> Result<(), Outcome> {
        let until = Instant::now() + self.settings.deadlines.command;
        match self.ask(command, until).await {
            Ok(reply) if reply.class() == class => Ok(()),
            // "Must issue a STARTTLS command first", "Authentication required" (RFC 3207, RFC 4954).
            Ok(reply) if matches!(reply.code, 530 | 538) => {
                let message = if self.settings.config.mode() == Mode::Plain && self.offers.starttls {
                    self.settings.say_fit("mail-wants-starttls", Mode::StartTls)
                } else {
                    self.settings.say("mail-wants-sign-in")
                };
                Err(misconfigured(phase, Some(reply), message))
            }
            Ok(reply) => Err(self.settings.refused(phase, reply)),
            Err(fault) => Err(self.settings.faulted(phase, fault)),
        }
    }

    async fn ask(&mut self, command: &str, until: Instant) -> Result<Reply, Fault> {
        let exchange = async {
            self.line.expect_silence()?;
            self.line.write(format!("{command}\r\n").as_bytes()).await?;
            self.line.read().await
        };
        timeout_at(until, exchange).await.unwrap_or(Err(Fault::Timeout))
    }

    async fn greeting(&mut self, until: Instant) -> Result<(), Outcome> {
        let encrypted = self.settings.config.mode() == Mode::Tls;
        let fault = match timeout_at(until, self.line.read()).await.unwrap_or(Err(Fault::Timeout)) {
            Ok(reply) if reply.class() == 2 => return Ok(()),
            Ok(reply) => return Err(self.settings.not_now(Phase::Greeting, reply)),
            Err(fault) => fault,
        };
        let waits_for_tls = match fault {
            Fault::Timeout if !encrypted => self.probe().await,
            Fault::Garbled => !encrypted && self.line.speaks_tls(),
            _ => false,
        };
        Err(if waits_for_tls {
            let message = self.settings.say_fit("mail-wants-tls", Mode::Tls);
            misconfigured(Phase::Greeting, None, message)
        } else {
            self.settings.faulted(Phase::Greeting, fault)
        })
    }

    /// Whether the server that did not greet us answers to TLS. Nothing but the handshake is sent.
    async fn probe(&mut self) -> bool {
        let silent = std::mem::replace(&mut self.line, Line::new(tokio::io::empty())).into_stream();
        let connector = TlsConnector::from(self.settings.tls());
        let handshake = connector.connect(self.settings.config.server_name(), silent);
        match timeout(PROBE.min(self.settings.deadlines.connect), handshake).await {
            Ok(Ok(_)) => true,
            // It answered, if only with a certificate that we do not know.
            Ok(Err(error)) => tls_error(&error).is_some_and(|error| !matches!(error, rustls::Error::InvalidMessage(_))),
            Err(_) => false,
        }
    }

    async fn hello(&mut self, until: Instant) -> Result<(), Outcome> {
        let name = match &self.settings.hello {
            Some(name) => one_line(name, 255).replace(' ', "-"),
            None => match self.local {
                SocketAddr::V4(address) => format!("[{}]", address.ip()),
                SocketAddr::V6(address) => format!("[IPv6:{}]", address.ip()),
            },
        };
        match self.ask(&format!("EHLO {name}"), until).await {
            Ok(reply) if reply.class() == 2 => {
                self.offers = Offers::read(&reply);
                Ok(())
            }
            Ok(reply) => Err(self.settings.not_now(Phase::Hello, reply)),
            Err(fault) => Err(self.settings.faulted(Phase::Hello, fault)),
        }
    }

    async fn start_tls(mut self, until: Instant) -> Result<Self, Outcome> {
        if !self.offers.starttls {
            let message = self.settings.say_fit("mail-no-starttls", Mode::Plain);
            return Err(misconfigured(Phase::Tls, None, message));
        }
        match self.ask("STARTTLS", until).await {
            Ok(reply) if reply.class() == 2 => {}
            Ok(reply) if reply.class() == 5 => {
                let message = self.settings.say("mail-starttls-refused").with("reply", reply.shown());
                return Err(misconfigured(Phase::Tls, Some(reply), message));
            }
            Ok(reply) => return Err(self.settings.not_now(Phase::Tls, reply)),
            Err(fault) => return Err(self.settings.faulted(Phase::Tls, fault)),
        }
        // Words that came before the handshake must not be taken for words that came through it.
        self.line.expect_silence().map_err(|fault| self.settings.faulted(Phase::Tls, fault))?;
        self.line = self.settings.handshake(self.line.into_stream(), until).await?;
        self.offers = Offers::default();
        self.hello(until).await?;
        Ok(self)
    }

    /// Only called over TLS or to our own machine.
    async fn sign_in(&mut self, credentials: &Credentials, until: Instant) -> Result<(), Outcome> {
        let Credentials { user, password } = credentials;
        let answer = if self.offers.auth_plain {
            let both = BASE64.encode(format!("\0{user}\0{password}"));
            self.ask(&format!("AUTH PLAIN {both}"), until).await
        } else if self.offers.auth_login {
            self.login(user, password, until).await
        } else {
            let message = if self.settings.config.mode() == Mode::Plain && self.offers.starttls {
                self.settings.say_fit("mail-wants-starttls", Mode::StartTls)
            } else {
                self.settings.say("mail-no-sign-in")
            };
            return Err(misconfigured(Phase::Auth, None, message));
        };
        match answer {
            Ok(reply) if reply.class() == 2 => Ok(()),
            Ok(reply) if reply.class() == 5 => {
                let message = self.settings.say("mail-sign-in-refused").with("user", user).with("reply", reply.shown());
                Err(misconfigured(Phase::Auth, Some(reply), message))
            }
            Ok(reply) => Err(self.settings.not_now(Phase::Auth, reply)),
            Err(fault) => Err(self.settings.faulted(Phase::Auth, fault)),
        }
    }

    async fn login(&mut self, user: &str, password: &str, until: Instant) -> Result<Reply, Fault> {
        let mut reply = self.ask("AUTH LOGIN", until).await?;
        for answer in [user, password] {
            if reply.class() != 3 {
                return Ok(reply);
            }
            reply = self.ask(&BASE64.encode(answer), until).await?;
        }
        Ok(reply)
    }
}

impl Offers {
    fn read(hello: &Reply) -> Self {
        let mut offers = Self::default();
        // The first line is the server's name.
        for line in hello.lines.iter().skip(1) {
            // Old servers write AUTH=LOGIN.
            let line = line.to_ascii_uppercase().replace('=', " ");
            let mut words = line.split_whitespace();
            match words.next() {
                Some("STARTTLS") => offers.starttls = true,
                Some("AUTH") => {
                    for mechanism in words {
                        offers.auth_plain |= mechanism == "PLAIN";
                        offers.auth_login |= mechanism == "LOGIN";
                    }
                }
                _ => {}
            }
        }
        offers
    }
}

/// Whether a password on its way to the server could be read by others.
fn overheard(mode: Mode, peer: SocketAddr) -> bool {
    mode == Mode::Plain && !peer.ip().to_canonical().is_loopback()
}

/// Tries each of the server's addresses; each gets its share of the time that is left.
async fn connect(settings: &SmtpSettings, until: Instant) -> Result<TcpStream, Outcome> {
    let unreachable =
        |reason: String| retry(Phase::Connect, None, settings.say("mail-unreachable").with("reason", reason));
    let late = || settings.faulted(Phase::Connect, Fault::Timeout);
    let host = settings.config.host();
    let addresses: Vec<_> = timeout_at(until, lookup_host((host.as_str(), settings.config.port())))
        .await
        .map_err(|_| late())?
        .map_err(|error| unreachable(error.to_string()))?
        .collect();
    let mut outcome = late();
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(1);
        let share = until.saturating_duration_since(Instant::now()) / left;
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(|error| unreachable(error.to_string()))?;
                return Ok(stream);
            }
            Ok(Err(error)) => outcome = unreachable(error.to_string()),
            Err(_) => outcome = late(),
        }
    }
    Err(outcome)
}

impl SmtpSettings {
    /// Makes the stream a TLS one, or says why that cannot be.
    async fn handshake(&self, stream: impl Wire + 'static, until: Instant) -> Result<Line, Outcome> {
        let connector = TlsConnector::from(self.tls());
        let error = match timeout_at(until, connector.connect(self.config.server_name(), stream)).await {
            Ok(Ok(stream)) => return Ok(Line::new(stream)),
            Ok(Err(error)) => error,
            Err(_) => return Err(self.faulted(Phase::Tls, Fault::Timeout)),
        };
        let message = match tls_error(&error) {
            None => return Err(self.faulted(Phase::Tls, error.into())),
            Some(rustls::Error::InvalidCertificate(error)) => self
                .say(match error {
                    CertificateError::UnknownIssuer => "mail-certificate-issuer",
                    CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                        "mail-certificate-name"
                    }
                    CertificateError::Expired | CertificateError::ExpiredContext { .. } => "mail-certificate-expired",
                    _ => "mail-certificate",
                })
                .with("host", self.config.host())
                .with("reason", error.to_string()),
            // It speaks, but not TLS.
            Some(rustls::Error::InvalidMessage(_)) if self.config.mode() == Mode::Tls => {
                match self.fitting_mode().await {
                    Some(fit) => self.say_fit("mail-speaks-plain", fit),
                    None => self.say("mail-tls").with("reason", error.to_string()),
                }
            }
            Some(error) => self.say("mail-tls").with("reason", error.to_string()),
        };
        Err(misconfigured(Phase::Tls, None, message))
    }

    /// Which mode the server at this port is meant for, where it is not TLS from the first byte: asks it anew, in plain
    /// text, and sends nothing but EHLO.
    async fn fitting_mode(&self) -> Option<Mode> {
        let until = Instant::now() + self.deadlines.connect;
        let stream = connect(self, until).await.ok()?;
        let local = stream.local_addr().ok()?;
        let mut dialogue = Dialogue::new(self, Line::new(stream), local);
        let greeting = timeout_at(until, dialogue.line.read()).await.ok()?.ok()?;
        if greeting.class() != 2 {
            return None;
        }
        dialogue.hello(until).await.ok()?;
        let fit = if dialogue.offers.starttls { Mode::StartTls } else { Mode::Plain };
        dialogue.quit().await;
        Some(fit)
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// The message with the dots at line starts doubled (RFC 5321, 4.5.2) and a line end at its end, ready for the final dot.
fn stuffed(message: &[u8]) -> Vec<u8> {
    let mut stuffed = Vec::with_capacity(message.len() + 16);
    for line in message.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b".") {
            stuffed.push(b'.');
        }
        stuffed.extend_from_slice(line);
    }
    if !stuffed.ends_with(b"\r\n") {
        stuffed.extend_from_slice(b"\r\n");
    }
    stuffed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_alone_does_not_end_the_message() {
        assert_eq!(stuffed(b".\r\n..a\r\nb.\r\n"), b"..\r\n...a\r\nb.\r\n");
        assert_eq!(stuffed(b"a"), b"a\r\n");
    }

    #[test]
    fn old_and_new_ways_to_offer_are_read() {
        let reply = |lines: &[&str]| Reply { code: 250, lines: lines.iter().map(|line| (*line).to_owned()).collect() };
        let offers = Offers::read(&reply(&["STARTTLS", "starttls", "AUTH=LOGIN", "SIZE 1000"]));
        assert!(offers.starttls && offers.auth_login && !offers.auth_plain);
        let offers = Offers::read(&reply(&["mail.example.com", "AUTH CRAM-MD5 PLAIN"]));
        assert!(!offers.starttls && !offers.auth_login && offers.auth_plain);
    }

    #[test]
    fn a_password_travels_in_the_clear_only_inside_the_machine() {
        for (mode, peer, expected) in [
            (Mode::Plain, "192.0.2.7:25", true),
            (Mode::Plain, "[2001:db8::7]:25", true),
            (Mode::Plain, "127.0.0.1:25", false),
            (Mode::Plain, "[::1]:25", false),
            (Mode::Plain, "[::ffff:127.0.0.1]:25", false),
            (Mode::StartTls, "192.0.2.7:587", false),
            (Mode::Tls, "192.0.2.7:465", false),
        ] {
            assert_eq!(overheard(mode, peer.parse().unwrap()), expected, "{mode:?} {peer}");
        }
    }

    // case E13
    #[test]
    fn a_silent_host_is_given_up_within_15_seconds() {
        assert!(super::super::Deadlines::default().connect + PROBE < Duration::from_secs(15));
    }
}
