//! The query of a list: one struct of optional filters, the same for the page and its exports.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::locale::Message;

/// A filter out of the address. An empty field is no filter; what cannot be read is said, never guessed.
#[derive(Debug, Clone, Default)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let pairs: Vec<(String, String)> = pairs(parts.uri.query().unwrap_or_default());
        from_pairs(pairs).map(Self)
    }
}

/// Reads a filter from `key=value` pairs: the query of a page, or `--filter` of the command line.
pub fn from_pairs<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    let filled: Vec<(String, String)> = pairs.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect();
    for (i, (name, _)) in filled.iter().enumerate() {
        if filled[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(Error::invalid(name.clone(), Message::new("error-repeated-parameter").with("name", name)));
        }
    }
    let query: String = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&filled).finish();
    serde_urlencoded_from(&query)
}

fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn serde_urlencoded_from<T: DeserializeOwned>(query: &str) -> Result<T, Error> {
    let uri: axum::http::Uri =
        format!("/?{query}").parse().map_err(|_| Error::invalid("", Message::new("error-query")))?;
    axum::extract::Query::<T>::try_from_uri(&uri)
        .map(|query| query.0)
        .map_err(|_| Error::invalid("", Message::new("error-query")))
}

/// The keys that a filter knows: the names of its fields.
pub fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut keys: &'static [&'static str] = &[];
    // It only asks for the fields and gives up.
    let _ = T::deserialize(Fields(&mut keys));
    keys
}

/// Hears which fields a struct wants, and has none to give.
struct Fields<'a>(&'a mut &'static [&'static str]);

impl<'de> serde::Deserializer<'de> for Fields<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("nothing to give"))
    }

    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Filter {
        project: Option<i64>,
        #[serde(rename = "q")]
        words: Option<String>,
    }

    #[test]
    fn the_keys_of_a_filter_are_its_fields() {
        assert_eq!(keys::<Filter>(), ["project", "q"]);
    }
}
