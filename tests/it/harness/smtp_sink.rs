//! A small mail server on 127.0.0.1 that keeps what it gets, and misbehaves on demand.
//!
//! ```ignore
//! let sink = SmtpSink::start().await;                     // plain; or .with_tls(Tls::Start), .with_auth("gpu", "pw")
//! let settings = SmtpSettings::new(sink.url().parse()?, from, sink.ca_file())?;
//! sink.behave(Fault::code(At::Rcpt, 550).for_recipient("li@example.com"));
//! sink.script([Some(Fault::Drop(At::Dot)), None]);        // one entry for each connection, before `behave` counts
//! assert_eq!(sink.messages()[0].subject(), "…");
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::received::Received;

/// Where in the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Greeting,
    Hello,
    StartTls,
    Auth,
    Mail,
    Rcpt,
    Data,
    /// Inside the message.
    Body,
    /// After the final dot: the message counts as kept, unless a code says otherwise.
    Dot,
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// Says nothing any more and keeps the connection.
    Stall(At),
    /// Hangs up.
    Drop(At),
    /// Answers with bytes that are no reply.
    Garbage(At),
    /// Answers with a megabyte.
    LongReply(At),
    /// Answers as it should, and then the same again.
    Twice(At),
    /// Repeats the recipient's address in whatever it says once there is one, as many servers do.
    Echo,
    /// Says 354 to DATA and to whatever comes after it.
    Repeat354,
    /// Answers the TLS handshake with something else.
    TlsFailure,
    /// Answers with this code, for one recipient or for all.
    Code { at: At, code: u16, recipient: Option<String> },
}

impl Fault {
    pub fn code(at: At, code: u16) -> Self {
        Self::Code { at, code, recipient: None }
    }

    pub fn for_recipient(self, recipient: &str) -> Self {
        match self {
            Self::Code { at, code, .. } => Self::Code { at, code, recipient: Some(recipient.to_owned()) },
            other => other,
        }
    }
}

/// How the sink speaks TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    #[default]
    None,
    /// Offers STARTTLS.
    Start,
    /// Offers STARTTLS and takes no mail before it.
    StartRequired,
    /// From the first byte.
    Implicit,
}

/// The certificate the sink shows; all are signed by the authority in [`SmtpSink::ca_file`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificate {
    Good,
    OtherName,
    Expired,
}

pub struct SmtpSink {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    ca: Option<NamedTempFile>,
    task: AbortHandle,
}

#[derive(Default)]
struct State {
    tls: Tls,
    acceptor: Option<TlsAcceptor>,
    credentials: Option<(String, String)>,
    mechanisms: String,
    faults: Vec<Fault>,
    script: VecDeque<Option<Fault>>,
    messages: Vec<Received>,
    commands: Vec<String>,
    connections: usize,
}

impl SmtpSink {
    /// A plain server without sign-in that takes everything.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let task = tokio::spawn(accept(listener, state.clone())).abort_handle();
        Self { address, state, ca: None, task }
    }

    pub fn with_tls(self, tls: Tls) -> Self {
        self.with_certificate(tls, Certificate::Good)
    }

    pub fn with_certificate(mut self, tls: Tls, certificate: Certificate) -> Self {
        let (acceptor, ca) = acceptor(certificate);
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ca).unwrap();
        self.ca = Some(file);
        let mut state = self.state();
        state.tls = tls;
        state.acceptor = Some(acceptor);
        drop(state);
        self
    }

    /// Wants a sign-in, by `AUTH PLAIN LOGIN`.
    pub fn with_auth(self, user: &str, password: &str) -> Self {
        self.with_auth_by("PLAIN LOGIN", user, password)
    }

    pub fn with_auth_by(self, mechanisms: &str, user: &str, password: &str) -> Self {
        let mut state = self.state();
        state.credentials = Some((user.to_owned(), password.to_owned()));
        mechanisms.clone_into(&mut state.mechanisms);
        drop(state);
        self
    }

    /// From now on, together with what was said before.
    pub fn behave(&self, fault: Fault) {
        self.state().faults.push(fault);
    }

    /// One entry for each of the next connections; `None` is a good one.
    pub fn script(&self, faults: impl IntoIterator<Item = Option<Fault>>) {
        self.state().script.extend(faults);
    }

    /// The value for `RENTROLL_SMTP_URL` that fits.
    pub fn url(&self) -> String {
        let tls = self.state().tls;
        self.url_by(match tls {
            Tls::None => "smtp://",
            Tls::Start | Tls::StartRequired => "smtp+starttls://",
            Tls::Implicit => "smtps://",
        })
    }

    /// The same with another mode.
    pub fn url_by(&self, scheme: &str) -> String {
        match &self.state().credentials {
            Some((user, password)) => format!("{scheme}{user}:{password}@{}", self.address),
            None => format!("{scheme}{}", self.address),
        }
    }

    /// The certificate authority as a PEM file; none without TLS.
    pub fn ca_file(&self) -> Option<&Path> {
        self.ca.as_ref().map(NamedTempFile::path)
    }

    /// What arrived, oldest first.
    pub fn messages(&self) -> Vec<Received> {
        self.state().messages.clone()
    }

    /// Every command line, oldest first.
    pub fn commands(&self) -> Vec<String> {
        self.state().commands.clone()
    }

    pub fn connections(&self) -> usize {
        self.state().connections
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for SmtpSink {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<State>>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(async move {
            // A client that hangs up is no fault of the sink.
            let _ = Session::begin(stream, state).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

struct Session {
    stream: BufReader<Box<dyn Wire>>,
    state: Arc<Mutex<State>>,
    faults: Vec<Fault>,
    encrypted: bool,
    user: Option<String>,
    mail_from: String,
    rcpt_to: Vec<String>,
}

/// The fault has ended the conversation.
fn hung_up() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}

impl Session {
    async fn begin(stream: TcpStream, state: Arc<Mutex<State>>) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (faults, tls) = {
            let mut state = state.lock().unwrap();
            state.connections += 1;
            let faults = match state.script.pop_front() {
                Some(scripted) => scripted.into_iter().collect(),
                None => state.faults.clone(),
            };
            (faults, state.tls)
        };
        let mut session = Self {
            stream: BufReader::new(Box::new(stream)),
            state,
            faults,
            encrypted: false,
            user: None,
            mail_from: String::new(),
            rcpt_to: Vec::new(),
        };
        if tls == Tls::Implicit {
            session = session.handshake().await?;
        }
        session.run().await
    }

    async fn run(mut self) -> io::Result<()> {
        self.answer(At::Greeting, "220 sink.example.com ESMTP").await?;
        loop {
            let line = self.line().await?;
            self.state.lock().unwrap().commands.push(line.clone());
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match verb.to_ascii_uppercase().as_str() {
                "EHLO" => self.hello().await?,
                "STARTTLS" => {
                    self.answer(At::StartTls, "220 go ahead").await?;
                    self = self.handshake().await?;
                }
                "AUTH" => self.auth(rest).await?,
                "MAIL" => self.mail(rest).await?,
                "RCPT" => {
                    self.rcpt_to.push(within_brackets(rest));
                    let refused = self.code(At::Rcpt).is_some();
                    self.answer(At::Rcpt, "250 ok").await?;
                    if refused {
                        self.rcpt_to.pop();
                    }
                }
                "DATA" => self.data().await?,
                "RSET" => {
                    self.rcpt_to.clear();
                    self.write("250 ok\r\n").await?;
                }
                "QUIT" => return self.write("221 bye\r\n").await,
                _ => self.write("500 what?\r\n").await?,
            }
        }
    }

    async fn hello(&mut self) -> io::Result<()> {
        let (tls, mechanisms) = {
            let state = self.state.lock().unwrap();
            (state.tls, state.mechanisms.clone())
        };
        let mut lines = vec!["sink.example.com".to_owned(), "8BITMIME".to_owned()];
        if !self.encrypted && matches!(tls, Tls::Start | Tls::StartRequired) {
            lines.push("STARTTLS".to_owned());
        }
        if !mechanisms.is_empty() {
            lines.push(format!("AUTH {mechanisms}"));
        }
        let last = lines.pop().unwrap();
        let mut reply = lines.iter().fold(String::new(), |reply, line| reply + "250-" + line + "\r\n");
        reply += "250 ";
        reply += &last;
        self.answer(At::Hello, &reply).await
    }

    async fn auth(&mut self, rest: &str) -> io::Result<()> {
        let given = if let Some(("PLAIN", both)) = rest.split_once(' ') {
            let both = String::from_utf8(BASE64.decode(both).unwrap()).unwrap();
            let mut pieces = both.split('\0').skip(1).map(str::to_owned);
            (pieces.next().unwrap(), pieces.next().unwrap())
        } else {
            let user = self.asked("Username:").await?;
            (user, self.asked("Password:").await?)
        };
        let right = self.state.lock().unwrap().credentials.as_ref() == Some(&given);
        if right {
            self.user = Some(given.0);
        }
        self.answer(At::Auth, if right { "235 welcome" } else { "535 5.7.8 wrong user or password" }).await
    }

    async fn asked(&mut self, question: &str) -> io::Result<String> {
        self.write(&format!("334 {}\r\n", BASE64.encode(question))).await?;
        Ok(String::from_utf8(BASE64.decode(self.line().await?).unwrap()).unwrap())
    }

    async fn mail(&mut self, rest: &str) -> io::Result<()> {
        let (tls, wants_user) = {
            let state = self.state.lock().unwrap();
            (state.tls, state.credentials.is_some())
        };
        if tls == Tls::StartRequired && !self.encrypted {
            return self.write("530 5.7.0 Must issue a STARTTLS command first\r\n").await;
        }
        if wants_user && self.user.is_none() {
            return self.write("530 5.7.0 Authentication required\r\n").await;
        }
        self.mail_from = within_brackets(rest);
        self.rcpt_to.clear();
        self.answer(At::Mail, "250 ok").await
    }

    async fn data(&mut self) -> io::Result<()> {
        if self.rcpt_to.is_empty() {
            return self.write("554 no valid recipients\r\n").await;
        }
        if self.code(At::Data).is_some() {
            return self.answer(At::Data, "").await;
        }
        self.answer(At::Data, "354 go on").await?;
        let mut raw = String::new();
        loop {
            if self.faults.iter().any(|fault| matches!(fault, Fault::Stall(At::Body) | Fault::Drop(At::Body))) {
                self.line().await?;
                self.answer(At::Body, "").await?;
            }
            let line = self.line().await?;
            if line == "." {
                break;
            }
            raw.push_str(line.strip_prefix('.').unwrap_or(&line));
            raw.push_str("\r\n");
        }
        if self.code(At::Dot).is_none() {
            let mut received = Received::parse(&raw);
            received.mail_from.clone_from(&self.mail_from);
            received.rcpt_to.clone_from(&self.rcpt_to);
            received.encrypted = self.encrypted;
            received.user.clone_from(&self.user);
            self.state.lock().unwrap().messages.push(received);
        }
        let again = self.faults.iter().any(|fault| matches!(fault, Fault::Repeat354));
        self.answer(At::Dot, if again { "354 go on" } else { "250 2.0.0 queued as 4F1" }).await
    }

    /// The code that a fault puts in place of the right one here.
    fn code(&self, here: At) -> Option<u16> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Code { at, code, recipient }
                if *at == here && recipient.as_ref().is_none_or(|recipient| self.rcpt_to.contains(recipient)) =>
            {
                Some(*code)
            }
            _ => None,
        })
    }

    /// Says the right thing, unless a fault wants otherwise.
    async fn answer(&mut self, here: At, right: &str) -> io::Result<()> {
        for fault in self.faults.clone() {
            match fault {
                Fault::Stall(at) if at == here => return std::future::pending().await,
                Fault::Drop(at) if at == here => return Err(hung_up()),
                Fault::Garbage(at) if at == here => return self.write("\u{1}\u{7f}{\"ok\": 250}\r\n250 ok\r\n").await,
                Fault::LongReply(at) if at == here => {
                    return self.write(&format!("250 {}\r\n", "x".repeat(1024 * 1024))).await;
                }
                Fault::Twice(at) if at == here => return self.write(&format!("{right}\r\n{right}\r\n")).await,
                _ => {}
            }
        }
        let echo = self.faults.iter().any(|fault| matches!(fault, Fault::Echo));
        let repeated = match self.rcpt_to.last() {
            Some(recipient) if echo && here != At::Data => format!(": <{recipient}>"),
            _ => String::new(),
        };
        match self.code(here) {
            Some(code) => self.write(&format!("{code} scripted{repeated}\r\n")).await,
            None => self.write(&format!("{right}{repeated}\r\n")).await,
        }
    }

    async fn handshake(mut self) -> io::Result<Self> {
        if self.faults.iter().any(|fault| matches!(fault, Fault::TlsFailure)) {
            self.stream.read_u8().await?;
            // A fatal alert: handshake failure.
            self.stream.write_all(b"\x15\x03\x03\x00\x02\x02\x28").await?;
            self.stream.flush().await?;
            // Waits until the client has gone, so that it reads the alert first.
            self.stream.read_to_end(&mut Vec::new()).await?;
            return Err(hung_up());
        }
        let acceptor = self.state.lock().unwrap().acceptor.clone().unwrap();
        let stream = acceptor.accept(self.stream.into_inner()).await?;
        self.stream = BufReader::new(Box::new(stream));
        self.encrypted = true;
        Ok(self)
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(hung_up());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    async fn write(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(text.as_bytes()).await?;
        self.stream.flush().await
    }
}

fn within_brackets(argument: &str) -> String {
    let address = argument.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    address.map_or("", |(address, _)| address).to_owned()
}

/// A certificate of its own authority, and that authority as PEM.
fn acceptor(certificate: Certificate) -> (TlsAcceptor, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();

    let names = match certificate {
        Certificate::OtherName => vec!["other.example.com".to_owned()],
        _ => vec!["localhost".to_owned(), "127.0.0.1".to_owned()],
    };
    let mut params = CertificateParams::new(names).unwrap();
    if certificate == Certificate::Expired {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &ca).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), ca.pem())
}
