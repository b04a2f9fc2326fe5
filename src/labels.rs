//! key=value labels of environments and other records.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sqlx::types::Json;

use crate::limits;
use crate::locale::Message;
use crate::text::{excerpt, one_line};

/// The labels of one thing, by key; at most 20. A value may be empty (`spare=`). A `jsonb` object in the database.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct Labels(BTreeMap<String, String>);

impl Labels {
    /// The labels in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The same labels without these keys and with others, which rule where both have a key.
    ///
    /// # Errors
    /// More labels than a thing can have.
    pub fn changed(&self, remove: &BTreeSet<String>, add: &Self) -> Result<Self, Message> {
        let mut labels = self.0.clone();
        labels.retain(|key, _| !remove.contains(key));
        labels.extend(add.0.clone());
        Self::try_from(labels)
    }

    fn add(&mut self, key: &str, value: &str) -> Result<(), Message> {
        let key = one_line(key, limits::LABEL_KEY_CHARS)?;
        let value = one_line(value, limits::LABEL_VALUE_CHARS)?;
        if key.is_empty() {
            return Err(Message::new("error-label-key").with("value", excerpt(&value)));
        }
        if key.contains(['=', '＝', ';', '；']) || value.contains([';', '；']) {
            return Err(Message::new("error-label-mark").with("key", excerpt(&key)));
        }
        if self.0.insert(key.clone(), value).is_some() {
            return Err(Message::new("error-label-twice").with("key", key));
        }
        if self.0.len() > limits::LABELS {
            return Err(Message::new("error-label-count").with("most", limits::LABELS));
        }
        Ok(())
    }
}

/// `k=v;k=v`, also with the full-width marks ＝ and ；. Empty pieces are skipped.
impl FromStr for Labels {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let mut labels = Self::default();
        for piece in text.split([';', '；']).map(str::trim).filter(|piece| !piece.is_empty()) {
            let parts = piece.split_once(['=', '＝']);
            let (key, value) = parts.ok_or_else(|| Message::new("error-label-equals").with("label", excerpt(piece)))?;
            labels.add(key, value)?;
        }
        Ok(labels)
    }
}

impl TryFrom<BTreeMap<String, String>> for Labels {
    type Error = Message;

    fn try_from(map: BTreeMap<String, String>) -> Result<Self, Message> {
        let mut labels = Self::default();
        for (key, value) in &map {
            labels.add(key, value)?;
        }
        Ok(labels)
    }
}

/// `k=v;k=v`: reads back as the same labels.
impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.iter().enumerate() {
            let separator = if i == 0 { "" } else { ";" };
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}

impl sqlx::Type<sqlx::Postgres> for Labels {
    fn type_info() -> sqlx::postgres::PgTypeInfo {
        <Json<Self> as sqlx::Type<sqlx::Postgres>>::type_info()
    }

    fn compatible(ty: &sqlx::postgres::PgTypeInfo) -> bool {
        <Json<Self> as sqlx::Type<sqlx::Postgres>>::compatible(ty)
    }
}

impl sqlx::Encode<'_, sqlx::Postgres> for Labels {
    fn encode_by_ref(
        &self,
        buffer: &mut sqlx::postgres::PgArgumentBuffer,
    ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        Json(self).encode_by_ref(buffer)
    }
}

impl<'r> sqlx::Decode<'r, sqlx::Postgres> for Labels {
    fn decode(value: sqlx::postgres::PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        Ok(<Json<Self> as sqlx::Decode<sqlx::Postgres>>::decode(value)?.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_are_read_with_plain_and_full_width_marks() {
        let labels: Labels = " team=llm ；用途＝预训练;spare=; ;formula=a=b".parse().unwrap();
        assert_eq!(labels.to_string(), "formula=a=b;spare=;team=llm;用途=预训练");
        assert_eq!(labels.get("用途"), Some("预训练"));
        assert_eq!(labels.get("spare"), Some(""));
        assert!("".parse::<Labels>().unwrap().is_empty());
    }

    #[test]
    fn labels_are_taken_off_and_put_on() {
        let labels: Labels = "team=llm;use=training;spare=".parse().unwrap();
        let (off, on) = (["spare".to_owned(), "none".to_owned()].into(), "use=inference;zone=a".parse().unwrap());
        assert_eq!(labels.changed(&off, &on).unwrap().to_string(), "team=llm;use=inference;zone=a");
        let many: Labels = (0..20).map(|i| format!("k{i}=v")).collect::<Vec<_>>().join(";").parse().unwrap();
        assert_eq!(labels.changed(&BTreeSet::new(), &many).unwrap_err().key, "error-label-count");
    }

    #[test]
    fn labels_that_cannot_be_are_refused() {
        let key = |text: &str| text.parse::<Labels>().unwrap_err().key;
        assert_eq!(key("=x"), "error-label-key");
        assert_eq!(key("team=llm;long-run"), "error-label-equals");
        assert_eq!(key("a=1;a=2"), "error-label-twice");
        assert_eq!(key("a=1\n2"), "error-text-line-break");
        assert_eq!(key(&format!("{}=v", "k".repeat(41))), "error-text-length");
        let many = (0..21).map(|i| format!("k{i}=v")).collect::<Vec<_>>().join(";");
        assert_eq!(key(&many), "error-label-count");
        assert!(serde_json::from_str::<Labels>(r#"{"a;b":"c"}"#).is_err());
    }

    proptest! {
        #[test]
        fn labels_read_back_from_text_and_from_json(
            map in prop::collection::btree_map("[a-z用途]{1,8}", "[a-z0-9=＝ 预训]{0,8}", 0..6)
        ) {
            let labels = Labels::try_from(map).unwrap();
            prop_assert_eq!(&labels.to_string().parse::<Labels>().unwrap(), &labels);
            let json = serde_json::to_string(&labels).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Labels>(&json).unwrap(), &labels);
        }
    }
}
