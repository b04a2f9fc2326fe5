//! The query of a list: one struct of optional filters, the same for the page and its exports.

use std::fmt;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Expected, IntoDeserializer, Visitor};

use crate::dates::parse_date;
use crate::error::Error;
use crate::filter::unknown_word;
use crate::locale::Message;
use crate::text::excerpt;

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
///
/// # Errors
/// A parameter that is there twice, that the list does not know, or whose value it cannot hold; each by its name.
pub fn from_pairs<T: DeserializeOwned>(pairs: Vec<(String, String)>) -> Result<T, Error> {
    let filled: Vec<(String, String)> = pairs.into_iter().filter(|(_, value)| !value.trim().is_empty()).collect();
    for (i, (name, _)) in filled.iter().enumerate() {
        if filled[..i].iter().any(|(earlier, _)| earlier == name) {
            return Err(Error::invalid(name.clone(), Message::new("error-repeated-parameter").with("name", name)));
        }
    }
    let known = keys::<T>();
    if let Some((name, _)) = filled.iter().find(|(name, _)| !known.is_empty() && !known.contains(&name.as_str())) {
        return Err(Refusal::Name { name: name.clone(), known }.said());
    }
    let parameters = filled.iter().map(|(name, value)| (name.as_str(), Parameter { name, value }));
    T::deserialize(MapDeserializer::new(parameters)).map_err(Refusal::said)
}

/// Where a list goes on is no part of its filter.
const PLACES: [&str; 2] = ["after", "before"];

/// A filter as it stands in an address, in the order of the filter's own fields and without the place in the list: empty, or
/// `?…`. Two addresses that filter alike give the same.
///
/// # Errors
/// A parameter that the list does not know. What a parameter may hold, [`from_pairs`] says.
pub fn written<T: DeserializeOwned>(query: &str) -> Result<String, Error> {
    let keys = keys::<T>();
    let mut filled = pairs(query.trim_start_matches('?'));
    filled.retain(|(name, value)| !value.trim().is_empty() && !PLACES.contains(&name.as_str()));
    if let Some((name, _)) = filled.iter().find(|(name, _)| !keys.contains(&name.as_str())) {
        return Err(Refusal::unknown_field(name, keys).said());
    }
    filled.sort_by_key(|(name, _)| keys.iter().position(|key| key == name));
    let filled = filled.iter().map(|(name, value)| (name.as_str(), value.trim()));
    let written = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(filled).finish();
    Ok(if written.is_empty() { written } else { format!("?{written}") })
}

/// The names and values of an address, as it has them.
pub fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// What a parameter holds, so that a refusal can say how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Day,
    RequestNumber,
    Other,
}

impl Kind {
    /// The kind that a reader of values waits for, by what it says of itself.
    fn of(expected: &dyn Expected) -> Self {
        match expected.to_string().as_str() {
            "a formatted date string" => Self::Day,
            "a formatted UUID string" => Self::RequestNumber,
            _ => Self::Other,
        }
    }

    const fn refusal(self) -> &'static str {
        match self {
            Self::Number => "error-filter-number",
            Self::Day => "error-filter-day",
            Self::RequestNumber => "error-filter-request",
            Self::Other => "error-filter-value",
        }
    }
}

/// Why a parameter cannot be read.
#[derive(Debug)]
enum Refusal {
    /// Its value; the words that it may hold, where it is one of a fixed set, else what kind of value it is. The name and the
    /// value follow from where it was read.
    Value { at: Option<(String, String)>, words: &'static [&'static str], kind: Kind },
    /// The list knows only these parameters.
    Name { name: String, known: &'static [&'static str] },
}

impl Refusal {
    /// Notes which parameter it is about.
    fn at(self, parameter: Parameter<'_>) -> Self {
        match self {
            Self::Value { words, kind, .. } => {
                Self::Value { at: Some((parameter.name.to_owned(), parameter.value.to_owned())), words, kind }
            }
            named @ Self::Name { .. } => named,
        }
    }

    /// Notes what kind of value was waited for.
    fn wanting(self, wanted: Kind) -> Self {
        match self {
            Self::Value { at, words, kind: Kind::Other } => Self::Value { at, words, kind: wanted },
            known => known,
        }
    }

    fn said(self) -> Error {
        match self {
            Self::Value { at: Some((name, value)), words: [], kind } => {
                let message = Message::new(kind.refusal()).with("name", excerpt(&name)).with("value", excerpt(&value));
                Error::invalid(name, message)
            }
            Self::Value { at: Some((name, value)), words, .. } => unknown_word(&name, &value, words),
            Self::Value { at: None, .. } => Error::invalid("", Message::new("error-query")),
            Self::Name { name, known } => {
                let message = Message::new("error-filter-name").with("name", excerpt(&name));
                Error::invalid(name, message.with("known", known.join(", ")))
            }
        }
    }
}

/// For logs; people get [`Refusal::said`].
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Refusal {}

impl serde::de::Error for Refusal {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self::Value { at: None, words: &[], kind: Kind::Other }
    }

    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Self {
        Self::Value { at: None, words, kind: Kind::Other }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::Name { name: name.to_owned(), known }
    }
}

/// The value of a parameter, read as whatever the filter's field is.
#[derive(Clone, Copy)]
struct Parameter<'a> {
    name: &'a str,
    value: &'a str,
}

impl<'a> IntoDeserializer<'a, Refusal> for Parameter<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($method:ident: $number:ty, $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            let number = self.value.trim().parse::<$number>();
            let number = number.map_err(|_| Refusal::custom("no number").wanting(Kind::Number).at(self))?;
            visitor.$visit(number)
        }
    )*};
}

impl<'de> Deserializer<'de> for Parameter<'de> {
    type Error = Refusal;

    numbers! {
        deserialize_i32: i32, visit_i32;
        deserialize_i64: i64, visit_i64;
        deserialize_u32: u32, visit_u32;
        deserialize_u64: u64, visit_u64;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let wanted = Kind::of(&visitor);
        if wanted == Kind::Day {
            // As forms read days: also with slashes, and none that the database could not hold.
            let day = parse_date(self.value).map_err(|_| Refusal::custom("no day").wanting(Kind::Day).at(self))?;
            return visitor.visit_string(day.to_string());
        }
        visitor.visit_borrowed_str::<Refusal>(self.value).map_err(|refusal| refusal.wanting(wanted).at(self))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_some(self).map_err(|refusal| refusal.at(self))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self).map_err(|refusal| refusal.at(self))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let word: serde::de::value::BorrowedStrDeserializer<'de, Refusal> =
            serde::de::value::BorrowedStrDeserializer::new(self.value.trim());
        visitor.visit_enum(word).map_err(|refusal| refusal.at(self))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct
        identifier ignored_any
    }
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
    use serde::Deserialize;

    use super::*;
    use crate::dates::Renewal;
    use crate::filter::Whose;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Filter {
        project: Option<i64>,
        #[serde(rename = "q")]
        words: Option<String>,
        from: Option<chrono::NaiveDate>,
        request: Option<uuid::Uuid>,
        whose: Whose,
        renewal: Option<Renewal>,
    }

    fn read(query: &str) -> Result<Filter, String> {
        from_pairs(pairs(query)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_keys_of_a_filter_are_its_fields() {
        assert_eq!(keys::<Filter>(), ["project", "q", "from", "request", "whose", "renewal"]);
    }

    #[test]
    fn filters_that_say_the_same_are_written_alike() {
        let written = |query| written::<Filter>(query).map_err(|error| error.to_string());
        assert_eq!(
            written("?whose=mine&q=+%E7%AB%B9+a%26b&from=&project=4").unwrap(),
            "?project=4&q=%E7%AB%B9+a%26b&whose=mine"
        );
        assert_eq!(written("project=&after=9&before=2026-03.7").unwrap(), "");
        assert_eq!(
            written("project=4&colour=red").unwrap_err(),
            "colour: This list has no filter \"colour\"; it has: project, q, from, request, whose, renewal."
        );
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let id = "018f0000-0000-7000-8000-000000000000";
        let query = format!("project=42&q=%E7%AB%B9+a&from=2026-03-01&request={id}&whose=mine&renewal=never");
        let filter = read(&query).unwrap();
        assert_eq!((filter.project, filter.words.as_deref()), (Some(42), Some("竹 a")));
        assert_eq!(filter.from.unwrap().to_string(), "2026-03-01");
        assert_eq!(filter.request.unwrap().to_string(), id);
        assert_eq!((filter.whose, filter.renewal), (Whose::Mine, Some(Renewal::Never)));
        let empty = read("project=&q=&whose=").unwrap();
        assert_eq!((empty.project, empty.words, empty.whose), (None, None, Whose::All));
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_the_name_of_the_parameter() {
        let refused = |query| read(query).unwrap_err();
        assert_eq!(refused("project=abc"), "project: The filter project cannot be \"abc\"; write a whole number.");
        assert_eq!(
            refused("from=2026-99-99"),
            "from: The filter from cannot be \"2026-99-99\"; write a day like 2026-12-01."
        );
        assert_eq!(
            refused("request=7"),
            "request: The filter request cannot be \"7\"; write the number of a request as the history gives it."
        );
        assert_eq!(refused("whose=x"), "whose: The filter whose cannot be \"x\"; write one of: all, mine.");
        assert_eq!(
            refused("renewal=x"),
            "renewal: The filter renewal cannot be \"x\"; write one of: automatic, on_request, never."
        );
        assert_eq!(
            refused("colour=red"),
            "colour: This list has no filter \"colour\"; it has: project, q, from, request, whose, renewal."
        );
        assert_eq!(refused("q=a&q=b"), "q: \"q\" is there twice; give it once.");
    }
}
