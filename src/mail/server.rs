//! Which mail server, how to reach it, and whose certificates to trust.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde::{Serialize, Serializer};
use url::Host;

use super::Mailbox;
use crate::locale::Message;

/// How the conversation is kept from being overheard: three modes, each with its name. None is tried in place of
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `smtp://`: not at all. STARTTLS is not used even where it is offered.
    Plain,
    /// `smtp+starttls://`: plain greeting, then TLS; never a message or a password before it.
    StartTls,
    /// `smtps://`: TLS from the first byte.
    Tls,
}

impl Mode {
    /// The mode as it stands before the server's name.
    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Plain => "smtp://",
            Self::StartTls => "smtp+starttls://",
            Self::Tls => "smtps://",
        }
    }

    const fn default_port(self) -> u16 {
        match self {
            Self::Plain => 25,
            Self::StartTls => 587,
            Self::Tls => 465,
        }
    }
}

/// The value of `RENTROLL_SMTP_URL`: `smtp://`, `smtp+starttls://` or `smtps://`, then `user:password@host:port`.
///
/// User and password may be missing; `%40` and the like in them are decoded. The port may be missing: 25, 587, 465.
/// Printed, logged or serialized it has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct SmtpConfig {
    mode: Mode,
    host: Host,
    port: u16,
    credentials: Option<Credentials>,
}

/// A user's name and password at the mail server.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) user: String,
    pub(super) password: String,
}

impl SmtpConfig {
    /// The mode.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The server's name or address.
    pub fn host(&self) -> String {
        match &self.host {
            Host::Ipv6(address) => address.to_string(),
            host => host.to_string(),
        }
    }

    /// The server's port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Who signs in there.
    pub fn user(&self) -> Option<&str> {
        self.credentials.as_ref().map(|credentials| credentials.user.as_str())
    }

    pub(super) const fn credentials(&self) -> Option<&Credentials> {
        self.credentials.as_ref()
    }

    /// `host:port`, for messages.
    pub(super) fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn server_name(&self) -> ServerName<'static> {
        ServerName::try_from(self.host()).expect("checked when the address was read")
    }
}

impl FromStr for SmtpConfig {
    type Err = Message;

    /// The messages never repeat the whole value, since it holds a password.
    fn from_str(text: &str) -> Result<Self, Message> {
        let text = text.trim();
        let (mode, rest) = [Mode::StartTls, Mode::Tls, Mode::Plain]
            .into_iter()
            .find_map(|mode| Some((mode, strip_prefix_ignoring_case(text, mode.scheme())?)))
            .ok_or_else(|| Message::new("mail-url-scheme"))?;
        // From the right, so that a password may hold the @, / or # that somebody forgot to encode.
        let (credentials, server) = match rest.rsplit_once('@') {
            Some((credentials, server)) => (Some(Credentials::from_str(credentials)?), server),
            None => (None, rest),
        };
        let server = server.strip_suffix('/').unwrap_or(server);
        if server.contains(['/', '?', '#']) {
            return Err(Message::new("mail-url-extra"));
        }
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, Some(port)),
            _ => (server, None),
        };
        let port = match port {
            None => mode.default_port(),
            Some(port) => port
                .parse()
                .ok()
                .filter(|port| *port != 0)
                // Not said again: with the host left out, it is the password.
                .ok_or_else(|| Message::new("mail-url-port"))?,
        };
        let host = Host::parse(host).map_err(|_| Message::new("mail-url-host").with("value", host))?;
        let config = Self { mode, host, port, credentials };
        match ServerName::try_from(config.host()) {
            Ok(_) => Ok(config),
            Err(_) => Err(Message::new("mail-url-host").with("value", config.host())),
        }
    }
}

impl FromStr for Credentials {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let (user, password) = text.split_once(':').ok_or_else(|| Message::new("mail-url-credentials"))?;
        let (user, password) = (percent_decoded(user)?, percent_decoded(password)?);
        // AUTH PLAIN separates the two by NUL.
        if user.is_empty() || password.is_empty() || user.contains('\0') || password.contains('\0') {
            return Err(Message::new("mail-url-credentials"));
        }
        Ok(Self { user, password })
    }
}

impl fmt::Display for SmtpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mode.scheme())?;
        if let Some(user) = self.user() {
            write!(f, "{user}@")?;
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for SmtpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpConfig({self})")
    }
}

impl Serialize for SmtpConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn percent_decoded(text: &str) -> Result<String, Message> {
    let refused = || Message::new("mail-url-percent");
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || bytes.next().and_then(|byte| char::from(byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else { return Err(refused()) };
        decoded.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits are a byte"));
    }
    String::from_utf8(decoded).map_err(|_| refused())
}

/// How long each part of a conversation may take. The sum of one delivery, 250 s, stays below the five minutes for
/// which a delivery is leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// To connect and be greeted; with `smtps://` the TLS handshake too.
    pub connect: Duration,
    /// For EHLO, STARTTLS with its handshake, and signing in, together.
    pub hello: Duration,
    /// For each of MAIL, RCPT, DATA and RSET.
    pub command: Duration,
    /// For the message and the server's last word. RFC 5321 (4.5.3.2.6) would wait ten minutes; a shorter time only
    /// makes more deliveries ambiguous, never lost.
    pub body: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            hello: Duration::from_secs(30),
            command: Duration::from_secs(30),
            body: Duration::from_mins(2),
        }
    }
}

/// Everything that a conversation with the mail server needs to know.
#[derive(Debug, Clone)]
pub struct SmtpSettings {
    /// Which server.
    pub config: SmtpConfig,
    /// Who the messages come from.
    pub from: Mailbox,
    /// How long each part may take.
    pub deadlines: Deadlines,
    /// The name that EHLO gives; without one it is our own address in brackets, as RFC 5321 (4.1.4) has it.
    pub hello: Option<String>,
    tls: Arc<ClientConfig>,
}

impl SmtpSettings {
    /// With the usual deadlines. Trusts Mozilla's certificate authorities and those in the PEM file `extra_ca`
    /// (`RENTROLL_EXTRA_CA_FILE`).
    pub fn new(config: SmtpConfig, from: Mailbox, extra_ca: Option<&Path>) -> Result<Self, Message> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(path) = extra_ca {
            add_certificates(&mut roots, path)?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring speaks TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { config, from, deadlines: Deadlines::default(), hello: None, tls: Arc::new(tls) })
    }

    pub(super) fn tls(&self) -> Arc<ClientConfig> {
        self.tls.clone()
    }
}

/// Whether a file of certificates (`RENTROLL_EXTRA_CA_FILE`) can be used.
pub fn check_certificates(path: &Path) -> Result<(), Message> {
    add_certificates(&mut RootCertStore::empty(), path)
}

fn add_certificates(roots: &mut RootCertStore, path: &Path) -> Result<(), Message> {
    let refused =
        |reason: String| Message::new("mail-ca-file").with("path", path.display().to_string()).with("reason", reason);
    let pem = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    let mut found = false;
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        roots.add(certificate).map_err(|error| refused(error.to_string()))?;
        found = true;
    }
    if found { Ok(()) } else { Err(Message::new("mail-ca-none").with("path", path.display().to_string())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SmtpConfig, Message> {
        text.parse()
    }

    // case E01
    #[test]
    fn the_three_modes_have_their_ports() {
        for (text, mode, port) in [
            ("smtp://mail.example.com", Mode::Plain, 25),
            ("smtp+starttls://mail.example.com", Mode::StartTls, 587),
            ("SMTPS://mail.example.com/", Mode::Tls, 465),
            ("smtps://mail.example.com:2465", Mode::Tls, 2465),
        ] {
            let config = read(text).unwrap();
            assert_eq!((config.mode(), config.port(), config.host().as_str()), (mode, port, "mail.example.com"));
        }
        assert_eq!(read("smtp://[::1]:2525").unwrap().server(), "[::1]:2525");
        assert_eq!(read("smtp://[::1]").unwrap().host(), "::1");
        assert_eq!(read("smtps://邮件.例子.cn").unwrap().host(), "xn--5nq051n.xn--fsqu00a.cn");
    }

    #[test]
    fn a_password_may_hold_anything() {
        for (text, user, password) in [
            ("smtps://gpu:p%40ss%2Fw%25rd@mail.example.com", "gpu", "p@ss/w%rd"),
            ("smtps://gpu%40example.com:%E5%AF%86@mail.example.com", "gpu@example.com", "密"),
            ("smtps://gpu:a@b:c/d#e?f@mail.example.com", "gpu", "a@b:c/d#e?f"),
        ] {
            let config = read(text).unwrap();
            let credentials = config.credentials().unwrap();
            assert_eq!((credentials.user.as_str(), credentials.password.as_str()), (user, password));
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let config = read("smtps://gpu:verysecret@mail.example.com").unwrap();
        let settings = SmtpSettings::new(config.clone(), "ledger@example.com".parse().unwrap(), None).unwrap();
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(json, r#""smtps://gpu@mail.example.com:465""#);
        for shown in [config.to_string(), format!("{config:?}"), format!("{settings:?}"), json] {
            assert!(!shown.contains("verysecret"), "{shown}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_without_repeating_the_password() {
        for (text, key) in [
            ("", "mail-url-scheme"),
            ("mail.example.com:25", "mail-url-scheme"),
            ("https://gpu:verysecret@mail.example.com", "mail-url-scheme"),
            ("smtp://gpu:verysecret@", "mail-url-host"),
            ("smtp://gpu:verysecret@a b", "mail-url-host"),
            ("smtp://gpu:verysecret@mail.example.com:0", "mail-url-port"),
            ("smtp://gpu:verysecret@mail.example.com:smtp", "mail-url-port"),
            // The host is left out: what looks like its port is the password.
            ("smtps://gpu:verysecret", "mail-url-port"),
            ("smtp://gpu@mail.example.com", "mail-url-credentials"),
            ("smtp://:verysecret@mail.example.com", "mail-url-credentials"),
            ("smtp://gpu:very%00secret@mail.example.com", "mail-url-credentials"),
            ("smtp://gpu:100%verysecret@mail.example.com", "mail-url-percent"),
            ("smtp://mail.example.com?tls=required", "mail-url-extra"),
            ("smtp://mail.example.com/path", "mail-url-extra"),
        ] {
            let message = read(text).unwrap_err();
            assert_eq!(message.key, key, "{text}");
            assert!(!message.to_string().contains("secret"), "{message}");
        }
    }

    // case E04
    #[test]
    fn a_file_of_certificate_authorities_must_hold_one() {
        let config = read("smtps://mail.example.com").unwrap();
        let from: Mailbox = "ledger@example.com".parse().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let refusal = |content: &str| {
            std::fs::write(&path, content).unwrap();
            SmtpSettings::new(config.clone(), from.clone(), Some(&path)).unwrap_err().key
        };
        assert_eq!(refusal("nothing of the kind"), "mail-ca-none");
        assert_eq!(refusal("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "mail-ca-file");
        let absent = SmtpSettings::new(config, from, Some(&folder.path().join("absent.pem"))).unwrap_err();
        assert_eq!(absent.key, "mail-ca-file");
    }
}
