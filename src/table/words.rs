//! The words of a file for people, looked up once.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::locale::{Locale, Message};

/// Says flags and words in one language; a word without arguments is looked up only the first time.
pub(super) struct Words {
    locale: Locale,
    yes: String,
    no: String,
    /// Keys are constants of the program, so this stays small.
    said: HashMap<&'static str, String>,
}

impl Words {
    pub(super) fn new(locale: Locale) -> Self {
        let (yes, no) = (locale.text("table-yes"), locale.text("table-no"));
        Self { locale, yes, no, said: HashMap::new() }
    }

    pub(super) fn flag(&self, flag: bool) -> &str {
        if flag { &self.yes } else { &self.no }
    }

    pub(super) fn say(&mut self, message: &Message) -> Cow<'_, str> {
        let locale = self.locale;
        if message.args.is_empty() {
            Cow::Borrowed(self.said.entry(message.key).or_insert_with(|| locale.text(message.key)))
        } else {
            Cow::Owned(locale.say(message))
        }
    }
}
