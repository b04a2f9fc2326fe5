//! The two languages, and text that is not yet in one of them.
//!
//! Rules and commands speak in [`Message`]s: a key of `locales/` with its arguments. Only a front (page, mail, command
//! line, export) knows who reads, and turns the message into words with [`Locale::say`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use fluent_templates::fluent_bundle::FluentValue;
use fluent_templates::{LanguageIdentifier, static_loader};
use unic_langid::langid;

static_loader! {
    static LOCALES = {
        locales: "./locales",
        fallback_language: "en",
        // Isolation marks are invisible characters around every argument; they break searching and copying.
        customise: |bundle| bundle.set_use_isolating(false),
    };
}

static ZH_CN: LanguageIdentifier = langid!("zh-CN");
static EN: LanguageIdentifier = langid!("en");

/// A language that Rentroll speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Locale {
    /// Simplified Chinese.
    #[default]
    ZhCn,
    /// English.
    En,
}

impl Locale {
    /// Both languages, in the order in which they are offered.
    pub const ALL: [Self; 2] = [Self::ZhCn, Self::En];

    /// The BCP 47 tag, as it is stored and written in `lang="…"`.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::ZhCn => "zh-CN",
            Self::En => "en",
        }
    }

    /// The language's own name, for the switch.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::ZhCn => "中文",
            Self::En => "English",
        }
    }

    /// The other one, for the switch.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::ZhCn => Self::En,
            Self::En => Self::ZhCn,
        }
    }

    /// The first language of an `Accept-Language` header or a `LANG` variable that we speak.
    pub fn negotiate(wanted: &str) -> Option<Self> {
        wanted.split([',', ';', ':']).find_map(|tag| {
            let tag = tag.trim().to_ascii_lowercase();
            if tag.starts_with("zh") {
                Some(Self::ZhCn)
            } else if tag.starts_with("en") {
                Some(Self::En)
            } else {
                None
            }
        })
    }

    /// The text of a key without arguments.
    pub fn text(self, key: &str) -> String {
        self.lookup(key, None)
    }

    /// The text of a key that may not exist, for example the name of a field that has none.
    pub fn find(self, key: &str) -> Option<String> {
        LOCALES.lookup_single_language::<&str>(self.identifier(), key, None).ok()
    }

    /// The words of a message in this language.
    pub fn say(self, message: &Message) -> String {
        let args: HashMap<Cow<'static, str>, FluentValue<'static>> =
            message.args.iter().map(|(name, value)| (Cow::Borrowed(*name), value.fluent(self))).collect();
        self.lookup(message.key, Some(&args))
    }

    fn lookup(self, key: &str, args: Option<&HashMap<Cow<'static, str>, FluentValue<'static>>>) -> String {
        let found = LOCALES.lookup_single_language(self.identifier(), key, args);
        // A missing key or argument is a fault of ours: tests stop at it, a reader sees at least the key.
        debug_assert!(found.is_ok(), "{self} cannot say {key}: {found:?}");
        found.unwrap_or_else(|_| key.to_owned())
    }

    fn identifier(self) -> &'static LanguageIdentifier {
        match self {
            Self::ZhCn => &ZH_CN,
            Self::En => &EN,
        }
    }
}

impl std::str::FromStr for Locale {
    type Err = Message;

    fn from_str(tag: &str) -> Result<Self, Message> {
        match tag {
            "zh-CN" => Ok(Self::ZhCn),
            "en" => Ok(Self::En),
            _ => Err(Message::new("error-locale").with("value", tag)),
        }
    }
}

impl fmt::Display for Locale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.tag())
    }
}

/// Something to be said to a person: a key of `locales/*.ftl` and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The key, for example `error-date`.
    pub key: &'static str,
    /// The named arguments of the key.
    pub args: Vec<(&'static str, Arg)>,
}

/// An argument of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arg {
    /// Words that are the same in every language: a name, a date, an amount.
    Text(String),
    /// A number that the sentence may count with (plural forms).
    Number(i64),
    /// Another message, said in the same language.
    Message(Box<Message>),
}

impl Message {
    /// A message without arguments yet.
    pub const fn new(key: &'static str) -> Self {
        Self { key, args: Vec::new() }
    }

    /// Adds an argument.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Arg>) -> Self {
        self.args.push((name, value.into()));
        self
    }

    /// `a, b and c`; nothing for none.
    pub fn listed(mut items: Vec<Self>) -> Option<Self> {
        let mut said = items.pop()?;
        let mut key = "list-last";
        while let Some(item) = items.pop() {
            said = Self::new(key).with("first", item).with("rest", said);
            key = "list-more";
        }
        Some(said)
    }
}

/// For logs and for errors that pass through `std::error::Error`: the English words.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Locale::En.say(self))
    }
}

impl std::error::Error for Message {}

impl Arg {
    fn fluent(&self, locale: Locale) -> FluentValue<'static> {
        match self {
            Self::Text(text) => FluentValue::String(Cow::Owned(text.clone())),
            Self::Number(number) => FluentValue::from(*number),
            Self::Message(message) => FluentValue::String(Cow::Owned(locale.say(message))),
        }
    }
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Arg {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<String> for Arg {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Arg {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// Templates hand out references.
impl From<&i32> for Arg {
    fn from(number: &i32) -> Self {
        Self::Number((*number).into())
    }
}

impl From<&usize> for Arg {
    fn from(number: &usize) -> Self {
        (*number).into()
    }
}

impl From<&i64> for Arg {
    fn from(number: &i64) -> Self {
        Self::Number(*number)
    }
}

impl From<i32> for Arg {
    fn from(number: i32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u32> for Arg {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<usize> for Arg {
    fn from(number: usize) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<Message> for Arg {
    fn from(message: Message) -> Self {
        Self::Message(Box::new(message))
    }
}

impl From<chrono::NaiveDate> for Arg {
    fn from(date: chrono::NaiveDate) -> Self {
        Self::Text(date.to_string())
    }
}

impl From<&chrono::NaiveDate> for Arg {
    fn from(date: &chrono::NaiveDate) -> Self {
        Self::Text(date.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_said_in_both_languages() {
        let message = Message::new("days-left").with("n", 15);
        assert_eq!(Locale::ZhCn.say(&message), "还有 15 天");
        assert_eq!(Locale::En.say(&message), "15 days left");
    }

    #[test]
    fn the_first_language_that_we_speak_is_taken() {
        assert_eq!(Locale::negotiate("fr-CH, en;q=0.9, zh;q=0.8"), Some(Locale::En));
        assert_eq!(Locale::negotiate("zh_CN.UTF-8"), Some(Locale::ZhCn));
        assert_eq!(Locale::negotiate("C"), None);
    }
}
