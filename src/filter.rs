//! What the filters of all lists share: a parameter of an address, or of `--filter`, that must be one of a fixed set of words.
//! A word that nobody knows is refused by the parameter's name, never passed over: the whole list would look like a part of it.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::locale::Message;
use crate::text::excerpt;

/// Whose things a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// Everybody's.
    #[default]
    All,
    /// What the reader owns, checks or is copied on.
    Mine,
}

/// The word that a parameter asks for, out of those that it may hold; nothing where it is not asked for.
///
/// # Errors
/// Another word.
pub fn one_of<'a>(name: &'static str, asked: Option<&str>, words: &[&'a str]) -> Result<Option<&'a str>> {
    let Some(asked) = asked.map(str::trim).filter(|asked| !asked.is_empty()) else { return Ok(None) };
    let known = words.iter().copied().find(|word| *word == asked);
    known.map(Some).ok_or_else(|| unknown_word(name, asked, words))
}

/// The refusal of a word: which parameter, what it holds, what it may hold.
pub fn unknown_word(name: &str, asked: &str, words: &[&str]) -> Error {
    let message = Message::new("error-filter-word")
        .with("name", name)
        .with("value", excerpt(asked))
        .with("words", words.join(", "));
    Error::invalid(name.to_owned(), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_or_refused_with_the_parameter_and_the_words_it_may_hold() {
        let words = ["open", "closed"];
        assert_eq!(one_of("state", None, &words).unwrap(), None);
        assert_eq!(one_of("state", Some(" "), &words).unwrap(), None);
        assert_eq!(one_of("state", Some("closed"), &words).unwrap(), Some("closed"));
        let refused = one_of("state", Some("shut"), &words).unwrap_err().to_string();
        assert_eq!(refused, "state: The filter state cannot be \"shut\"; write one of: open, closed.");
    }
}
