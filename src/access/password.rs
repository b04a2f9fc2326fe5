//! Which passwords may be chosen: long ones that are not easily guessed. No rules about kinds of characters (OWASP ASVS 5.0,
//! 6.2), and every character counts as it was typed.

use std::fmt;

use crate::limits;
use crate::locale::Message;

/// Words that guessers try first, among them the well-known long passwords. Folded, one a line.
const COMMON: &str = include_str!("common_passwords.txt");
/// What the product is called: nobody needs to guess it.
const PRODUCT: &[&str] = &["rentroll", "算力租赁台账", "算力台账"];
/// So much must be left of a password when all that is easily guessed is taken out of it.
const LEAST_OWN: usize = 6;
/// A password of fewer different characters is a key held down.
const LEAST_DIFFERENT: usize = 5;

/// A password that may be used.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPassword(String);

impl NewPassword {
    /// Checks a password. `own` is what anybody knows of the person: name, address, organisation.
    pub fn new(typed: &str, own: &[&str]) -> Result<Self, Message> {
        let length = typed.chars().count();
        if length < limits::PASSWORD_CHARS_LEAST {
            return Err(Message::new("error-password-short")
                .with("least", limits::PASSWORD_CHARS_LEAST)
                .with("length", length));
        }
        if length > limits::PASSWORD_CHARS_MOST {
            return Err(Message::new("error-password-long")
                .with("most", limits::PASSWORD_CHARS_MOST)
                .with("length", length));
        }
        let folded = fold(typed);
        if without(&folded, own.iter().chain(PRODUCT).flat_map(|text| words(text))) < LEAST_OWN {
            return Err(Message::new("error-password-own-words"));
        }
        let different = typed.chars().collect::<std::collections::HashSet<_>>().len();
        if different < LEAST_DIFFERENT || without(&folded, COMMON.lines().map(str::to_owned)) < LEAST_OWN {
            return Err(Message::new("error-password-common"));
        }
        Ok(Self(typed.to_owned()))
    }

    /// The password itself, for hashing.
    pub fn reveal(self) -> String {
        self.0
    }
}

impl fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewPassword(…)")
    }
}

/// Small letters and digits only, so that `Pass-Word` is `password`.
fn fold(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// A text as a whole and its words; not the very short ones, which are in everything.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text.split(|c: char| !c.is_alphanumeric()).map(fold).collect();
    words.push(fold(text));
    words.retain(|word| word.chars().count() >= if word.is_ascii() { 4 } else { 2 });
    words
}

/// How many characters belong to none of these words, at the least: `password12345678` is `password` and `12345678`.
fn without(folded: &str, words: impl Iterator<Item = String>) -> usize {
    let words: Vec<Vec<char>> =
        words.map(|word| word.chars().collect()).filter(|word: &Vec<char>| !word.is_empty()).collect();
    let letters: Vec<char> = folded.chars().collect();
    // The least that is left of the first so many letters.
    let mut least = vec![0; letters.len() + 1];
    for end in 1..=letters.len() {
        let before = words.iter().filter(|word| letters[..end].ends_with(word)).map(|word| least[end - word.len()]);
        least[end] = before.min().unwrap_or(usize::MAX).min(least[end - 1] + 1);
    }
    least[letters.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(typed: &str) -> Option<&'static str> {
        NewPassword::new(typed, &["陈白露", "bailu.chen@palmfan.example", "蒲扇智能"]).err().map(|message| message.key)
    }

    #[test]
    fn a_long_password_of_ones_own_is_taken_as_it_was_typed() {
        for good in [
            "lanterns over seven wet bridges",
            "  keep the spaces  ",
            "七座湿桥上的灯笼和三只不肯睡的猫",
            "xK9#mQ2$vL7!pR4",
        ] {
            assert_eq!(refused(good), None, "{good}");
        }
        assert_eq!(NewPassword::new("  keep the spaces  ", &[]).unwrap().reveal(), "  keep the spaces  ");
    }

    #[test]
    fn short_and_endless_passwords_are_refused() {
        assert_eq!(refused("fourteen chars"), Some("error-password-short"));
        assert_eq!(refused(&"abcdefgh ".repeat(29)), Some("error-password-long"));
    }

    #[test]
    fn what_is_guessed_first_is_refused() {
        for common in [
            "aaaaaaaaaaaaaaaa",
            "123456789012345",
            "password12345678",
            "Pass-Word Pass-Word",
            "qwertyuiopasdfghjkl",
            "Correct Horse Battery Staple",
            "1q2w3e4r5t6y7u8i",
            "woaini1314520woaini",
        ] {
            assert_eq!(refused(common), Some("error-password-common"), "{common}");
        }
    }

    #[test]
    fn names_and_addresses_of_ones_own_are_refused() {
        for own in [
            "Bailu.Chen@palmfan.example",
            "palmfan palmfan 2026",
            "Rentroll-Rentroll-1",
            "蒲扇智能陈白露蒲扇智能陈白露2026",
        ] {
            assert_eq!(refused(own), Some("error-password-own-words"), "{own}");
        }
    }

    #[test]
    fn the_list_is_folded() {
        for line in COMMON.lines() {
            assert_eq!(fold(line), line);
        }
    }
}
