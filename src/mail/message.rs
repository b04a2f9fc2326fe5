//! One message: who gets it, what it says, and its bytes.
//!
//! lettre writes the headers and encodes the text. Everything that a person may have typed passes through [`one_line`]
//! first, so a line break in a name can never become a header of its own (cases E06, E07). The bytes depend on nothing
//! but the message: sending it again sends the same bytes.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use lettre::Address;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{MultiPart, SinglePart};
use sha2::{Digest, Sha256};

use crate::locale::Message;

/// Longest display name and subject in characters: with the header's name a line stays below the 998 that RFC 5322
/// (2.1.1) allows, even where there is no space to fold it at.
const MAX_NAME: usize = 200;
const MAX_SUBJECT: usize = 400;

/// A person's mail address with the name that is shown beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    name: String,
    address: Address,
}

impl Mailbox {
    /// A name (may be empty) and an address such as `li.wei@example.com`.
    ///
    /// The part before the `@` must be ASCII: not every relay takes others (RFC 6531), and a reminder must arrive. A
    /// domain in other letters is turned into its ASCII form.
    pub fn new(name: &str, address: &str) -> Result<Self, Message> {
        let refused = || Message::new("error-mail-address").with("value", one_line(address, MAX_NAME));
        let (user, domain) = address.trim().rsplit_once('@').ok_or_else(refused)?;
        if !user.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\",;\\".contains(&byte)) {
            return Err(refused());
        }
        let domain = if domain.is_ascii() {
            domain.to_owned()
        } else {
            url::Host::parse(domain).map_err(|_| refused())?.to_string()
        };
        let address = Address::new(user, domain).map_err(|_| refused())?;
        Ok(Self { name: one_line(name, MAX_NAME), address })
    }

    /// The bare address.
    pub fn address(&self) -> &str {
        self.address.as_ref()
    }

    /// The name beside the address; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The part behind the `@`.
    pub fn domain(&self) -> &str {
        self.address.domain()
    }

    fn for_header(&self) -> lettre::message::Mailbox {
        let name = (!self.name.is_empty()).then(|| self.name.clone());
        lettre::message::Mailbox::new(name, self.address.clone())
    }
}

/// `name@example.com`, `Name <name@example.com>`, or the name in quotation marks.
impl FromStr for Mailbox {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let text = text.trim();
        let Some((name, address)) = text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) else {
            return Self::new("", text);
        };
        let name = name.trim();
        match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(quoted) => Self::new(&unquoted(quoted), address),
            None => Self::new(name, address),
        }
    }
}

impl fmt::Display for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() { f.write_str(self.address()) } else { write!(f, "{} <{}>", self.name, self.address()) }
    }
}

/// One message to one person.
#[derive(Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Who gets it.
    pub to: Mailbox,
    /// The subject, in one line.
    pub subject: String,
    /// What it says, as plain text.
    pub text: String,
    /// The same facts as HTML.
    pub html: String,
    /// Names the message for ever, without `<` and `>`; a copy of it carries the same one.
    pub message_id: String,
    /// When it was written.
    pub date: DateTime<Utc>,
    /// The `List-Id` header, for example `Voice <voice.rentroll.example.com>`.
    pub list_id: Option<String>,
}

impl Outgoing {
    /// The message as it goes over the wire and into the outbox: CRLF line ends, ASCII only.
    pub fn eml(&self, from: &Mailbox) -> Vec<u8> {
        let body = MultiPart::alternative()
            .boundary(self.boundary())
            .singlepart(part(ContentType::TEXT_PLAIN, &self.text))
            .singlepart(part(ContentType::TEXT_HTML, &self.html));
        let mut message = lettre::Message::builder()
            .from(from.for_header())
            .to(self.to.for_header())
            .subject(one_line(&self.subject, MAX_SUBJECT))
            .message_id(Some(format!("<{}>", self.id())))
            .date(self.date.into())
            // No holiday notice shall answer it (RFC 3834); Exchange has a header of its own for that.
            .raw_header(header("Auto-Submitted", "auto-generated"))
            .raw_header(header("X-Auto-Response-Suppress", "All"));
        if let Some(list_id) = &self.list_id {
            message = message.raw_header(header("List-Id", list_id));
        }
        message.multipart(body).expect("a message with From and To can be built").formatted()
    }

    /// The Message-ID with nothing in it that could end the header or the brackets.
    pub(super) fn id(&self) -> String {
        self.message_id.chars().filter(|c| c.is_ascii_graphic() && !"<>".contains(*c)).take(MAX_NAME).collect()
    }

    /// lettre would draw it by lot; a copy of a message must be the same bytes.
    fn boundary(&self) -> String {
        let digest = Sha256::new().chain_update(&self.message_id).chain_update(&self.text).finalize();
        format!("rentroll-{}", hex::encode(&digest[..15]))
    }
}

/// Without the text: it may hold a one-time link, and this goes to logs.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("to", &self.to)
            .field("subject", &self.subject)
            .field("message_id", &self.message_id)
            .field("date", &self.date)
            .finish_non_exhaustive()
    }
}

fn part(content_type: ContentType, text: &str) -> SinglePart {
    SinglePart::builder().header(content_type).body(clean_text(text))
}

/// Line ends as CRLF, and no control character that a mail program or relay might read as more than text: a lone CR is
/// how one message is smuggled into another.
fn clean_text(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let clean: String = lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    clean.replace('\n', "\r\n")
}

/// The text in one line: every control character becomes a space, and `max` characters are kept.
pub(super) fn one_line(text: &str, max: usize) -> String {
    let spaced: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if spaced.chars().count() <= max {
        return spaced;
    }
    spaced.chars().take(max - 1).chain(['…']).collect()
}

/// Takes the backslashes out of a quoted string (RFC 5322, 3.2.4).
fn unquoted(quoted: &str) -> String {
    let mut chars = quoted.chars();
    let mut text = String::with_capacity(quoted.len());
    while let Some(c) = chars.next() {
        text.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    text
}

fn header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), one_line(value, MAX_NAME))
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone;
    use proptest::prelude::*;

    use super::*;

    fn outgoing(name: &str, subject: &str, text: &str) -> Outgoing {
        Outgoing {
            to: Mailbox::new(name, "li.wei@example.com").unwrap(),
            subject: subject.to_owned(),
            text: text.to_owned(),
            html: format!("<p>{text}</p>"),
            message_id: "0190c5@example.com".to_owned(),
            date: Utc.with_ymd_and_hms(2026, 3, 18, 1, 2, 3).unwrap(),
            list_id: Some("Voice <voice.example.com>".to_owned()),
        }
    }

    fn eml(outgoing: &Outgoing) -> String {
        let from = "算力台账 <ledger@example.com>".parse().unwrap();
        String::from_utf8(outgoing.eml(&from)).unwrap()
    }

    fn header_names(eml: &str) -> Vec<&str> {
        let (head, _) = eml.split_once("\r\n\r\n").unwrap();
        head.split("\r\n").filter(|line| !line.starts_with(' ')).map(|line| line.split(':').next().unwrap()).collect()
    }

    #[test]
    fn a_mailbox_is_read_in_the_ways_people_write_it() {
        for (text, name, address) in [
            ("ledger@example.com", "", "ledger@example.com"),
            (" 算力台账 <ledger@example.com> ", "算力台账", "ledger@example.com"),
            (r#""Li, \"W\" Wei" <li@example.com>"#, r#"Li, "W" Wei"#, "li@example.com"),
            ("Li, Wei <li@example.com>", "Li, Wei", "li@example.com"),
            ("<li@例子.cn>", "", "li@xn--fsqu00a.cn"),
        ] {
            let mailbox: Mailbox = text.parse().unwrap();
            assert_eq!((mailbox.name(), mailbox.address()), (name, address), "{text}");
        }
        for text in ["", "ledger", "a@b@", "李@example.com", "a b@example.com", "x@y>\r\nRCPT TO:<z@y", "<a@b>c"] {
            let message = text.parse::<Mailbox>().unwrap_err();
            assert_eq!(message.key, "error-mail-address", "{text}");
        }
    }

    #[test]
    fn the_same_message_is_the_same_bytes() {
        let message = outgoing("李伟", "还有 13 天到期", "质检-标注 还有 13 天到期。\n");
        assert_eq!(eml(&message), eml(&message));
    }

    #[test]
    fn a_message_says_that_a_machine_wrote_it() {
        let eml = eml(&outgoing("Li Wei", "13 days left", "Thirteen days.\n"));
        for line in [
            "Message-ID: <0190c5@example.com>",
            "Date: Wed, 18 Mar 2026 01:02:03 +0000",
            "Auto-Submitted: auto-generated",
            "X-Auto-Response-Suppress: All",
            "List-Id: Voice <voice.example.com>",
        ] {
            assert!(eml.lines().any(|found| found == line), "{line} is missing in\n{eml}");
        }
    }

    #[test]
    fn a_debug_print_does_not_show_the_text() {
        let shown = format!("{:?}", outgoing("Li Wei", "Sign in", "https://example.com/once/secret-link"));
        assert!(!shown.contains("secret-link"), "{shown}");
    }

    proptest! {
        // case E07, and C38 for the mail headers: whatever a name, subject or text holds, the headers are ours.
        #[test]
        fn nothing_that_is_typed_becomes_a_header(
            name in "(?s).{0,300}", subject in "(?s).{0,600}", text in "(?s).{0,200}",
        ) {
            let eml = eml(&outgoing(&name, &format!("{subject}\r\nBcc: x@evil.example"), &format!("{text}\r.\r\nBcc: y")));
            prop_assert_eq!(
                header_names(&eml),
                ["From", "To", "Subject", "Message-ID", "Date", "Auto-Submitted", "X-Auto-Response-Suppress", "List-Id",
                 "MIME-Version", "Content-Type"]
            );
            prop_assert!(eml.is_ascii() && !eml.contains('\0'));
            prop_assert!(eml.replace("\r\n", "").bytes().all(|byte| byte != b'\r' && byte != b'\n'), "a lone CR or LF");
            prop_assert!(eml.split("\r\n").all(|line| line.len() <= 998), "a line that is too long");
        }
    }
}
