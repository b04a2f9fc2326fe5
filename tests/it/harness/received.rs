//! A message as its reader sees it: headers and both parts decoded, by code that shares nothing with what wrote them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;

/// One message that arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// The envelope's sender and recipients.
    pub mail_from: String,
    pub rcpt_to: Vec<String>,
    /// Whether it came through TLS, and who had signed in.
    pub encrypted: bool,
    pub user: Option<String>,
    /// All headers in order, unfolded and decoded.
    pub headers: Vec<(String, String)>,
    /// The content types of the parts, in order.
    pub parts: Vec<String>,
    pub text: String,
    pub html: String,
    /// The bytes as they came, with the doubled dots undone.
    pub raw: String,
}

impl Received {
    pub fn parse(raw: &str) -> Self {
        let (headers, body) = headers_and_body(raw);
        let mut received = Self {
            mail_from: String::new(),
            rcpt_to: Vec::new(),
            encrypted: false,
            user: None,
            headers: headers.iter().map(|(name, value)| (name.clone(), decoded_words(value))).collect(),
            parts: Vec::new(),
            text: String::new(),
            html: String::new(),
            raw: raw.to_owned(),
        };
        let content_type = received.header("Content-Type").unwrap_or_default().to_owned();
        let Some((_, boundary)) = content_type.split_once("boundary=") else { return received };
        let boundary = format!("--{}", boundary.trim_matches('"'));
        for part in body.split(&boundary).skip(1).take_while(|part| !part.starts_with("--")) {
            let (headers, body) = headers_and_body(part.trim_start_matches("\r\n"));
            let of = |wanted: &str| {
                headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map_or("", |(_, value)| value)
            };
            let content = decoded_body(of("Content-Transfer-Encoding"), body.strip_suffix("\r\n").unwrap_or(body));
            let content_type = of("Content-Type").split(';').next().unwrap_or_default().to_owned();
            match content_type.as_str() {
                "text/plain" => received.text = content,
                "text/html" => received.html = content,
                _ => {}
            }
            received.parts.push(content_type);
        }
        received
    }

    /// The value of a header that must not stand there twice.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name));
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} stands there twice:\n{}", self.raw);
        value
    }

    pub fn subject(&self) -> &str {
        self.header("Subject").unwrap_or_default()
    }

    pub fn message_id(&self) -> &str {
        self.header("Message-ID").unwrap_or_default()
    }
}

fn headers_and_body(raw: &str) -> (Vec<(String, String)>, &str) {
    let (head, body) = raw.split_once("\r\n\r\n").unwrap_or((raw, ""));
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let header = |line: &str| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.to_owned(), value.trim().to_owned())
    };
    (unfolded.split("\r\n").map(header).collect(), body)
}

/// RFC 2047: `=?utf-8?b?…?=` and `=?utf-8?q?…?=`; the space between two of them is not part of the text.
fn decoded_words(value: &str) -> String {
    let mut text = String::new();
    let mut rest = value;
    let mut after_word = false;
    while let Some((before, from)) = rest.split_once("=?") {
        let mut pieces = from.splitn(4, '?');
        let (Some(charset), Some(encoding), Some(data), Some(tail)) =
            (pieces.next(), pieces.next(), pieces.next(), pieces.next())
        else {
            break;
        };
        assert!(charset.eq_ignore_ascii_case("utf-8"), "{charset}");
        if !(after_word && before.trim().is_empty()) {
            text.push_str(before);
        }
        let bytes = match encoding.to_ascii_lowercase().as_str() {
            "b" => BASE64.decode(data).unwrap(),
            "q" => quoted_printable(&data.replace('_', " ")),
            other => panic!("unknown encoding {other}"),
        };
        text.push_str(&String::from_utf8(bytes).unwrap());
        after_word = true;
        rest = tail.strip_prefix('=').expect("an encoded word ends with ?=");
    }
    text.push_str(rest);
    text
}

fn decoded_body(encoding: &str, body: &str) -> String {
    let bytes = match encoding.to_ascii_lowercase().as_str() {
        "" | "7bit" | "8bit" => body.as_bytes().to_vec(),
        "base64" => BASE64.decode(body.replace("\r\n", "")).unwrap(),
        "quoted-printable" => quoted_printable(&body.replace("=\r\n", "")),
        other => panic!("unknown encoding {other}"),
    };
    String::from_utf8(bytes).unwrap()
}

fn quoted_printable(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'=' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    bytes
}
