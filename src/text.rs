//! Text that is safe to keep.
//!
//! What people and files write becomes one of these types at the border: trimmed, in Unicode's composed form (NFC),
//! without control characters, invisible ones or such that turn the direction of writing, and not longer than
//! `limits.rs` says. A name with a line break would forge a mail header, one with a direction mark would show as
//! another, one with NUL cannot be stored at all.

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use crate::limits;
use crate::locale::Message;

/// Gives a type with `as_str` and `FromStr<Err = Message>` its place in a text column, in JSON and in a filter. The words are
/// all that there are, where they are a fixed set.
macro_rules! stored_as_text {
    ($name:ty) => {
        $crate::text::stored_as_text!($name, &[]);
    };
    ($name:ty, $words:expr) => {
        impl sqlx::Type<sqlx::Postgres> for $name {
            fn type_info() -> sqlx::postgres::PgTypeInfo {
                <str as sqlx::Type<sqlx::Postgres>>::type_info()
            }

            fn compatible(ty: &sqlx::postgres::PgTypeInfo) -> bool {
                <str as sqlx::Type<sqlx::Postgres>>::compatible(ty)
            }
        }

        impl sqlx::postgres::PgHasArrayType for $name {
            fn array_type_info() -> sqlx::postgres::PgTypeInfo {
                <&str as sqlx::postgres::PgHasArrayType>::array_type_info()
            }
        }

        impl sqlx::Encode<'_, sqlx::Postgres> for $name {
            fn encode_by_ref(
                &self,
                buffer: &mut sqlx::postgres::PgArgumentBuffer,
            ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
                <&str as sqlx::Encode<sqlx::Postgres>>::encode(self.as_str(), buffer)
            }
        }

        impl<'r> sqlx::Decode<'r, sqlx::Postgres> for $name {
            fn decode(value: sqlx::postgres::PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                Ok(<&str as sqlx::Decode<sqlx::Postgres>>::decode(value)?.parse()?)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(|message| $crate::text::unreadable(&text, &message, $words))
            }
        }
    };
}
pub(crate) use stored_as_text;

/// Why a stored text is not one of a type's: it is none of these words, or what the message says.
pub(crate) fn unreadable<E: serde::de::Error>(text: &str, message: &Message, words: &'static [&'static str]) -> E {
    if words.is_empty() { E::custom(message) } else { E::unknown_variant(text, words) }
}

/// Makes a type of a fixed set of words: how it is stored, how both languages write it, how a page calls it.
macro_rules! word_set {
    ($(#[$doc:meta])* $name:ident, $error:literal, { $($(#[$word_doc:meta])* $variant:ident = $code:literal, $key:literal, [$($also:literal),*];)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the order in which forms offer them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As it is stored and written in files.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// How a page calls it.
            pub const fn words(self) -> $crate::locale::Message {
                $crate::locale::Message::new(match self { $(Self::$variant => $key,)* })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::locale::Message;

            fn from_str(text: &str) -> Result<Self, $crate::locale::Message> {
                match text.trim().to_lowercase().replace(['-', ' '], "_").as_str() {
                    $($code $(| $also)* => Ok(Self::$variant),)*
                    _ => Err($crate::locale::Message::new($error).with("value", $crate::text::excerpt(text.trim()))),
                }
            }
        }

        $crate::text::stored_as_text!($name, &[$($code),*]);
    };
}
pub(crate) use word_set;

macro_rules! text_types {
    ($($(#[$doc:meta])* $name:ident = $parse:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, sqlx::Type, Serialize, Deserialize)]
        #[sqlx(transparent)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_traits!($name, $parse);
    )*};
}

macro_rules! text_traits {
    ($name:ident, $parse:path) => {
        impl std::str::FromStr for $name {
            type Err = Message;

            fn from_str(text: &str) -> Result<Self, Message> {
                $parse(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Message;

            fn try_from(text: String) -> Result<Self, Message> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&$name> for crate::locale::Arg {
            fn from(text: &$name) -> Self {
                Self::Text(text.0.clone())
            }
        }
    };
}

text_types! {
    /// What a thing or a person is called: 1 to 120 characters on one line.
    Name = parse_name;
    /// One line of text, possibly empty: up to 300 characters.
    #[derive(Default)]
    Line = parse_line;
    /// Several lines of text, possibly empty: up to 4,000 characters. Line ends are `\n`.
    #[derive(Default)]
    Note = parse_note;
}

/// The form by which two names are the same: without regard to the case of Latin letters and to full or half width;
/// `app_name_key` in SQL.
pub fn name_key(name: &str) -> String {
    name.nfkc().collect::<String>().to_ascii_lowercase()
}

impl Line {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Note {
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An e-mail address: kept as written but for the domain's case, compared without regard to case.
#[derive(Debug, Clone, sqlx::Type, Serialize, Deserialize)]
#[sqlx(transparent)]
#[serde(try_from = "String", into = "String")]
pub struct Email(String);

text_traits!(Email, parse_email);

impl Email {
    /// The address as it is written in a mail's head.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form by which two addresses are the same; `lower(email)` in SQL.
    pub fn key(&self) -> String {
        self.0.to_ascii_lowercase()
    }

    /// What stands behind the `@`, in lower case.
    pub fn domain(&self) -> &str {
        self.0.rsplit_once('@').map_or("", |(_, domain)| domain)
    }
}

impl PartialEq for Email {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for Email {}

impl PartialOrd for Email {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Email {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl std::hash::Hash for Email {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// The beginning of what somebody wrote, fit to be quoted in a message: one line, no control characters, 60 characters.
pub fn excerpt(text: &str) -> String {
    let mut shown: String =
        text.chars().take(limits::EXCERPT_CHARS).map(|c| if problem(c).is_some() { '\u{FFFD}' } else { c }).collect();
    if text.chars().nth(limits::EXCERPT_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// What was written, without the space around it. Nothing at all is refused with the one message that all fields have for it.
pub fn filled(text: &str) -> Result<&str, Message> {
    let text = text.trim();
    if text.is_empty() { Err(Message::new("error-text-empty")) } else { Ok(text) }
}

fn parse_name(text: &str) -> Result<String, Message> {
    let text = one_line(text, limits::NAME_CHARS)?;
    filled(&text)?;
    Ok(text)
}

fn parse_line(text: &str) -> Result<String, Message> {
    one_line(text, limits::LINE_CHARS)
}

fn parse_note(text: &str) -> Result<String, Message> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    clean(&text, limits::NOTE_CHARS, |c| c == '\n' || c == '\t')
}

/// Clean text on one line, within `most` characters; possibly empty. For texts with a limit of their own (labels).
pub(crate) fn one_line(text: &str, most: usize) -> Result<String, Message> {
    clean(text, most, |_| false)
}

fn clean(text: &str, most: usize, allowed: impl Fn(char) -> bool) -> Result<String, Message> {
    let text: String = text.trim_matches(|c: char| c.is_whitespace() || is_invisible(c)).nfc().collect();
    if let Some(message) = text.chars().filter(|c| !allowed(*c)).find_map(problem) {
        return Err(message);
    }
    let length = text.chars().count();
    if length > most {
        return Err(Message::new("error-text-length").with("most", most).with("length", length));
    }
    Ok(text)
}

/// Why a character cannot be kept, if it cannot.
fn problem(c: char) -> Option<Message> {
    let code = || format!("U+{:04X}", u32::from(c));
    match c {
        '\r' | '\n' | '\u{0B}' | '\u{0C}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            Some(Message::new("error-text-line-break").with("code", code()))
        }
        '\0' => Some(Message::new("error-text-nul")),
        _ if c.is_control() => Some(Message::new("error-text-control").with("code", code())),
        // Marks, embeddings, overrides and isolates: what is shown would not be what is stored.
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            Some(Message::new("error-text-direction").with("code", code()))
        }
        _ if is_invisible(c) => Some(Message::new("error-text-invisible").with("code", code())),
        _ => None,
    }
}

/// Characters that show nothing and are not white space; a byte order mark is one. Joiners (U+200C, U+200D) are part of
/// scripts and emoji and stay.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}' | '\u{2060}'..='\u{2064}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Chinese input methods write ＠ and full-width letters: NFKC makes them plain.
fn parse_email(text: &str) -> Result<String, Message> {
    let text: String = filled(&one_line(text, limits::LINE_CHARS)?)?.nfkc().collect();
    let refuse = || Message::new("error-email").with("value", excerpt(&text));
    let (local, domain) = text.rsplit_once('@').ok_or_else(refuse)?;
    if text.len() > limits::EMAIL_CHARS {
        return Err(Message::new("error-text-length").with("most", limits::EMAIL_CHARS).with("length", text.len()));
    }
    let atom = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b))
    };
    let label = |part: &str| {
        (1..=63).contains(&part.len())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    if local.len() > 64 || !local.split('.').all(atom) || !domain.split('.').all(label) {
        return Err(refuse());
    }
    Ok(format!("{local}@{}", domain.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::locale::Locale;

    fn refusal<T: std::str::FromStr<Err = Message> + std::fmt::Debug>(text: &str) -> String {
        Locale::En.say(&text.parse::<T>().unwrap_err())
    }

    // case R08
    #[test]
    fn a_name_of_nothing_or_only_spaces_is_refused() {
        for text in ["", "   ", "\u{3000}\u{200B}", "\u{FEFF}"] {
            assert_eq!(text.parse::<Name>().unwrap_err().key, "error-text-empty", "{text:?}");
            assert!(text.parse::<Line>().unwrap().is_empty());
        }
    }

    // case E07, case I16
    #[test]
    fn a_name_that_would_forge_a_header_or_break_the_database_is_refused_with_the_reason() {
        assert!(refusal::<Name>("a\r\nBcc: x@evil").contains("line break"));
        assert!(refusal::<Name>("a\u{2028}b").contains("line break"));
        assert!(refusal::<Name>("A\0B").contains("NUL"));
        assert!(refusal::<Note>("A\0B").contains("NUL"));
        assert!(refusal::<Name>("a\u{202E}gpj.exe").contains("U+202E"));
        assert!(refusal::<Line>("a\tb").contains("U+0009"));
        assert!(refusal::<Name>("pass\u{200B}word").contains("U+200B"));
    }

    #[test]
    fn text_is_trimmed_and_composed() {
        assert_eq!("  竹简-预训练\u{3000}".parse::<Name>().unwrap().as_str(), "竹简-预训练");
        assert_eq!("Cafe\u{301}".parse::<Name>().unwrap().as_str(), "Café");
        assert_eq!("\r\na\r\nb\rc\n".parse::<Note>().unwrap().as_str(), "a\nb\nc");
    }

    #[test]
    fn names_that_differ_in_case_or_width_have_one_key() {
        assert_eq!(name_key("ＡＷＳ（宁夏）"), name_key("aws(宁夏)"));
        assert_eq!(name_key("H800×8"), "h800×8");
        assert_ne!(name_key("苇塘云"), name_key("苇塘算力"));
    }

    #[test]
    fn a_text_beyond_its_limit_is_refused_with_the_limit() {
        assert!("简".repeat(120).parse::<Name>().is_ok());
        assert_eq!(
            Locale::ZhCn.say(&"简".repeat(121).parse::<Name>().unwrap_err()),
            "最多 120 个字，现在有 121 个，请缩短。"
        );
        assert!("a".repeat(4001).parse::<Note>().is_err());
    }

    #[test]
    fn an_address_is_compared_without_regard_to_case() {
        let email: Email = " Lin.Xiaoman@PalmFan.Example ".parse().unwrap();
        assert_eq!(email.as_str(), "Lin.Xiaoman@palmfan.example");
        assert_eq!(email, "lin.xiaoman@palmfan.example".parse().unwrap());
        assert_eq!(email.domain(), "palmfan.example");
        assert_eq!("lin＠palmfan.example".parse::<Email>().unwrap().as_str(), "lin@palmfan.example");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        assert_eq!("".parse::<Email>().unwrap_err().key, "error-text-empty");
        for text in [
            "lin",
            "@x.example",
            "a@",
            "a b@x.example",
            "a@x..example",
            "<a@x.example>",
            "\"a\"@x.example",
            "李@x.example",
        ] {
            assert_eq!(text.parse::<Email>().unwrap_err().key, "error-email", "{text:?}");
        }
        assert_eq!("a@x.example\r\nBcc: b@x.example".parse::<Email>().unwrap_err().key, "error-text-line-break");
        assert_eq!(format!("{}@x.example", "a".repeat(250)).parse::<Email>().unwrap_err().key, "error-text-length");
    }

    #[test]
    fn json_is_checked_like_a_form() {
        assert!(serde_json::from_str::<Name>(r#""a\nb""#).is_err());
        assert_eq!(serde_json::to_string(&"竹简".parse::<Name>().unwrap()).unwrap(), r#""竹简""#);
    }

    #[test]
    fn an_excerpt_is_short_and_harmless() {
        assert_eq!(excerpt("a\r\nb"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(excerpt(&"x".repeat(61)).chars().count(), 61);
    }

    proptest! {
        #[test]
        fn an_accepted_name_stays_the_same_when_it_is_read_again(text in ".{0,130}") {
            if let Ok(name) = text.parse::<Name>() {
                prop_assert_eq!(name.as_str().parse::<Name>().unwrap(), name.clone());
                prop_assert!(!name.as_str().contains(char::is_control));
            }
        }

        #[test]
        fn the_mailer_takes_every_accepted_address(text in "[A-Za-z0-9.!#+'_-]{1,12}@[A-Za-z0-9.-]{1,20}") {
            if let Ok(email) = text.parse::<Email>() {
                prop_assert!(email.as_str().parse::<lettre::Address>().is_ok(), "{}", email);
            }
        }
    }
}
