//! A secret that only its holder knows: of a session's cookie, of a one-time link. The database keeps its hash.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// 256 random bits as 43 letters that a link and a cookie can hold.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A new one.
    pub fn random() -> Result<Self> {
        let mut bits = [0_u8; 32];
        getrandom::fill(&mut bits).map_err(|cause| Error::internal(format!("no random numbers: {cause}")))?;
        Ok(Self(BASE64_URL_SAFE_NO_PAD.encode(bits)))
    }

    /// The token itself, for the one place that hands it out.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub fn hash(&self) -> Vec<u8> {
        hash_of(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The hash under which a token is stored. A plain one will do: 256 random bits cannot be guessed.
pub fn hash_of(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_new_every_time_and_never_shown_by_accident() {
        let (one, two) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one, two);
        assert_eq!(one.reveal().len(), 43);
        assert_eq!(one.hash().len(), 32);
        assert!(!format!("{one:?}").contains(one.reveal()));
    }
}
