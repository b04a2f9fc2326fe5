//! What the server says: read within bounds, and shown only after it has been cleaned.

use std::io;

use bytes::BytesMut;
use futures_util::FutureExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::addresses::without_addresses;
use super::message::one_line;

/// Most bytes of one reply. The longest that is sane, EHLO's, has under 2 kB; a server that goes on is not listened to.
const MAX_REPLY: usize = 16 * 1024;

/// Most characters of a reply that are kept as evidence.
const MAX_SHOWN: usize = 500;

/// One reply: a code and its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    pub(super) lines: Vec<String>,
}

impl Reply {
    /// The first digit: 2 done, 3 go on, 4 not now, 5 never.
    pub(super) const fn class(&self) -> u16 {
        self.code / 100
    }

    /// The code and the text in one line, bounded, without control characters and without the addresses in it. Nothing else of
    /// a reply leaves the conversation.
    pub(super) fn shown(&self) -> String {
        one_line(&without_addresses(&format!("{} {}", self.code, self.lines.join(" "))), MAX_SHOWN)
    }
}

/// Why there was no reply to a command.
#[derive(Debug)]
pub(super) enum Fault {
    /// The deadline passed.
    Timeout,
    /// The server hung up.
    Closed,
    /// The network failed.
    Network(io::Error),
    /// The server said something that is no reply, or talked out of turn, or would not stop.
    Garbled,
    /// The server talked out of turn and said why it ends the conversation.
    Unasked(Reply),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::Closed,
            _ => Self::Network(error),
        }
    }
}

/// A TCP stream, or TLS over one.
pub(super) trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection, and what was read from it but not yet understood.
pub(super) struct Line {
    stream: Box<dyn Wire>,
    unread: BytesMut,
}

impl Line {
    pub(super) fn new(stream: impl Wire + 'static) -> Self {
        Self { stream: Box::new(stream), unread: BytesMut::with_capacity(1024) }
    }

    /// The bare stream, to speak TLS over it. What the server said before is forgotten: nobody vouches for it.
    pub(super) fn into_stream(self) -> Box<dyn Wire> {
        self.stream
    }

    /// Whether the first thing the server said is a record of TLS (alert or handshake) and not text.
    pub(super) fn speaks_tls(&self) -> bool {
        matches!(self.unread.as_ref(), [0x15 | 0x16, 0x03, ..])
    }

    /// Refuses to go on where the server has said something that nobody asked for. Without this, one reply too many
    /// would be taken as the answer to the next command, and in the end a "go on" as the receipt for a message.
    pub(super) fn expect_silence(&mut self) -> Result<(), Fault> {
        if self.unread.is_empty() {
            // Looks once, without waiting.
            match self.stream.read_buf(&mut self.unread).now_or_never() {
                None => return Ok(()),
                Some(Ok(0)) => return Err(Fault::Closed),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
        match parse(&self.unread) {
            Parsed::Reply(reply, _) if reply.class() >= 4 => Err(Fault::Unasked(reply)),
            _ => Err(Fault::Garbled),
        }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.stream.write_all(bytes).await?;
        Ok(self.stream.flush().await?)
    }

    pub(super) async fn read(&mut self) -> Result<Reply, Fault> {
        loop {
            match parse(&self.unread) {
                Parsed::Reply(reply, length) => {
                    drop(self.unread.split_to(length));
                    return Ok(reply);
                }
                Parsed::Garbled => return Err(Fault::Garbled),
                Parsed::Incomplete if self.unread.len() > MAX_REPLY => return Err(Fault::Garbled),
                Parsed::Incomplete => {}
            }
            self.unread.reserve(512);
            if self.stream.read_buf(&mut self.unread).await? == 0 {
                return Err(Fault::Closed);
            }
        }
    }

    /// Says goodbye at the level below; whether the server hears it does not matter any more.
    pub(super) async fn shutdown(&mut self) {
        let _ = self.stream.shutdown().await;
    }
}

enum Parsed {
    /// A whole reply, and how many bytes it had.
    Reply(Reply, usize),
    Incomplete,
    Garbled,
}

/// `250-text` lines and a last `250 text` (RFC 5321, 4.2.1), all with the same code. A bare LF ends a line too.
fn parse(bytes: &[u8]) -> Parsed {
    let mut lines = Vec::new();
    let mut code = None;
    let mut start = 0;
    while let Some(length) = bytes[start..].iter().position(|byte| *byte == b'\n') {
        let line = bytes[start..start + length].strip_suffix(b"\r").unwrap_or(&bytes[start..start + length]);
        start += length + 1;
        let (digits, rest) = line.split_at_checked(3).unwrap_or((line, b""));
        let [b'2'..=b'5', b'0'..=b'9', b'0'..=b'9'] = digits else { return Parsed::Garbled };
        let number = digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
        if *code.get_or_insert(number) != number {
            return Parsed::Garbled;
        }
        let (last, text) = match rest {
            [] => (true, rest),
            [b' ', text @ ..] => (true, text),
            [b'-', text @ ..] => (false, text),
            _ => return Parsed::Garbled,
        };
        lines.push(String::from_utf8_lossy(text).into_owned());
        if last {
            return Parsed::Reply(Reply { code: number, lines }, start);
        }
    }
    // Not a whole line yet, but it already cannot become one.
    match bytes[start..].first() {
        Some(byte) if !(b'2'..=b'5').contains(byte) => Parsed::Garbled,
        _ => Parsed::Incomplete,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Reply, Fault> {
        let (ours, mut theirs) = tokio::io::duplex(2 * 1024 * 1024);
        futures_util::FutureExt::now_or_never(async {
            theirs.write_all(bytes).await.unwrap();
            drop(theirs);
            Line::new(ours).read().await
        })
        .unwrap()
    }

    #[test]
    fn a_reply_may_have_several_lines() {
        let reply = read(b"250-mail.example.com\r\n250-STARTTLS\r\n250 8BITMIME\r\n").unwrap();
        assert_eq!(reply.lines, ["mail.example.com", "STARTTLS", "8BITMIME"]);
        assert_eq!(read(b"250\r\n").unwrap().shown(), "250");
        assert_eq!(read(b"250 ok\n").unwrap().shown(), "250 ok");
    }

    #[test]
    fn what_is_shown_is_one_bounded_line() {
        let reply = read(format!("550-no\x1b[31m\r\n550 \u{0}{}\r\n", "x".repeat(10_000)).as_bytes()).unwrap();
        assert_eq!(reply.shown().chars().count(), MAX_SHOWN);
        assert!(reply.shown().starts_with("550 no [31m  xxx"), "{}", reply.shown());
        assert_eq!(read(b"250 \xff\xfe ok\r\n").unwrap().shown(), "250 \u{fffd}\u{fffd} ok");
        assert_eq!(read(b"550-5.1.1\r\n550 <li@example.com> unknown\r\n").unwrap().shown(), "550 5.1.1 <…> unknown");
    }

    #[test]
    fn anything_else_is_no_reply() {
        let endless = [b"250 ".to_vec(), vec![b'x'; 1024 * 1024]].concat();
        let endless_lines = b"250-x\r\n".repeat(150_000);
        for bytes in [
            b"hello\r\n".as_slice(),
            b"2x0 ok\r\n",
            b"25\r\n",
            b"\r\n",
            b"150 ok\r\n",
            b"250-a\r\n251 b\r\n",
            b"250+a\r\n",
            b"\x15\x03\x03\x00\x02\x02\x28",
            &endless,
            &endless_lines,
        ] {
            let fault = read(bytes).unwrap_err();
            assert!(matches!(fault, Fault::Garbled), "{fault:?}");
        }
        assert!(matches!(read(b"250 ok").unwrap_err(), Fault::Closed));
        assert!(matches!(read(b"").unwrap_err(), Fault::Closed));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(reply) = read(&bytes) {
                prop_assert!((200..600).contains(&reply.code));
                prop_assert!(!reply.shown().contains(char::is_control));
            }
        }
    }
}
