//! Reminder steps: how many days before a deadline people are told.

use std::fmt;
use std::str::FromStr;

use sqlx::Postgres;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueRef};

use crate::limits;
use crate::locale::{Arg, Message};
use crate::text::excerpt;

/// The steps of a reminder rule: whole days before the deadline, the farthest first, each once, at least one. In the
/// database an `int[]`; as text `15;7;3;1;0`.
///
/// What follows after the date is the same for every rule and not part of it: see `deadlines::plan`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Steps(Vec<i32>);

impl Steps {
    /// The days before the deadline, the farthest first.
    pub fn days(&self) -> &[i32] {
        &self.0
    }

    /// The rule that holds: the environment's own, else the project's, else the organisation's.
    pub fn effective<'a>(environment: Option<&'a Self>, project: Option<&'a Self>, organisation: &'a Self) -> &'a Self {
        environment.or(project).unwrap_or(organisation)
    }

    /// The whole rule in words: before the date, and after it until somebody decides.
    pub fn rule(&self) -> Message {
        Message::new("rule-overdue").with("before", self.rule_before()).with("weeks", limits::OVERDUE_WEEKS)
    }

    /// The rule of something that is not renewed: after the date until its end is recorded.
    pub fn rule_until_ended(&self) -> Message {
        Message::new("rule-overdue-ended").with("before", self.rule_before()).with("weeks", limits::OVERDUE_WEEKS)
    }

    /// The part of the rule before the date and on it.
    pub fn rule_before(&self) -> Message {
        let before: Vec<i32> = self.0.iter().copied().filter(|&step| step > 0).collect();
        let key = match (before.is_empty(), self.0.contains(&0)) {
            (false, false) => "rule-steps",
            (false, true) => "rule-steps-and-day",
            (true, _) => "rule-day",
        };
        let single = if let [step] = before[..] { step } else { 0 };
        Message::new(key).with("steps", list(&before)).with("single", single)
    }
}

/// 15, 7, 3, 1 days before and on the day itself.
impl Default for Steps {
    fn default() -> Self {
        Self(vec![15, 7, 3, 1, 0])
    }
}

impl TryFrom<Vec<i32>> for Steps {
    type Error = Message;

    fn try_from(mut days: Vec<i32>) -> Result<Self, Message> {
        days.sort_unstable_by_key(|&step| std::cmp::Reverse(step));
        days.dedup();
        if let Some(step) = days.iter().find(|step| !(0..=limits::STEP_DAYS).contains(*step)) {
            return Err(Message::new("error-steps").with("value", step.to_string()).with("most", limits::STEP_DAYS));
        }
        if days.is_empty() || days.len() > limits::STEPS {
            return Err(Message::new("error-steps-count").with("most", limits::STEPS));
        }
        Ok(Self(days))
    }
}

/// `15;7;3;1;0`, in any order; also with commas, the Chinese marks ；，、 or spaces between.
impl FromStr for Steps {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        text.split(|c: char| c.is_whitespace() || matches!(c, ';' | ',' | '；' | '，' | '、'))
            .filter(|piece| !piece.is_empty())
            .map(|piece| {
                piece.parse::<u16>().map(i32::from).map_err(|_| {
                    Message::new("error-steps").with("value", excerpt(piece)).with("most", limits::STEP_DAYS)
                })
            })
            .collect::<Result<Vec<i32>, Message>>()?
            .try_into()
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ";" };
            write!(f, "{separator}{step}")?;
        }
        Ok(())
    }
}

/// `15, 7 and 3`, 15、7、3.
fn list(days: &[i32]) -> Arg {
    match days {
        [] => Arg::from(""),
        [only] => Arg::from(only.to_string()),
        [first, rest @ ..] => {
            let key = if rest.len() == 1 { "list-last" } else { "list-more" };
            Message::new(key).with("first", first.to_string()).with("rest", list(rest)).into()
        }
    }
}

impl serde::Serialize for Steps {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> serde::Deserialize<'de> for Steps {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<i32>::deserialize(deserializer)?.try_into().map_err(serde::de::Error::custom)
    }
}

impl sqlx::Type<Postgres> for Steps {
    fn type_info() -> PgTypeInfo {
        <Vec<i32> as sqlx::Type<Postgres>>::type_info()
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        <Vec<i32> as sqlx::Type<Postgres>>::compatible(ty)
    }
}

impl sqlx::Encode<'_, Postgres> for Steps {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        self.0.encode_by_ref(buffer)
    }
}

impl<'r> sqlx::Decode<'r, Postgres> for Steps {
    fn decode(value: PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        Ok(<Vec<i32> as sqlx::Decode<Postgres>>::decode(value)?.try_into()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Locale;

    #[test]
    fn steps_are_read_in_any_order_and_kept_in_one() {
        assert_eq!("15;7;3;1;0".parse::<Steps>().unwrap(), Steps::default());
        assert_eq!("0、1，3 7；15;15".parse::<Steps>().unwrap().to_string(), "15;7;3;1;0");
        for (text, key) in
            [("", "error-steps-count"), ("15;-1", "error-steps"), ("soon", "error-steps"), ("367", "error-steps")]
        {
            assert_eq!(text.parse::<Steps>().unwrap_err().key, key, "{text:?}");
        }
        assert_eq!(Steps::try_from((0..13).collect::<Vec<i32>>()).unwrap_err().key, "error-steps-count");
        assert_eq!(serde_json::from_str::<Steps>("[3, 15]").unwrap().to_string(), "15;3");
    }

    // case R32, case R11
    #[test]
    fn where_an_environment_has_no_steps_the_project_and_then_the_organisation_decide() {
        let (own, organisation) = (Steps(vec![3]), Steps::default());
        assert_eq!(Steps::effective(None, None, &organisation).days(), [15, 7, 3, 1, 0]);
        assert_eq!(Steps::effective(None, Some(&own), &organisation).days(), [3]);
        assert_eq!(Steps::effective(Some(&own), Some(&organisation), &organisation).days(), [3]);
    }

    // case R10
    #[test]
    fn the_rule_is_said_in_words() {
        let say = |text: &str| {
            let rule = text.parse::<Steps>().unwrap().rule();
            [Locale::ZhCn.say(&rule), Locale::En.say(&rule)]
        };
        insta::assert_debug_snapshot!(["15;7;3;1;0", "30;15", "1", "0"].map(say), @r#"
        [
            [
                "到期前 15、7、3、1 天和当天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止",
                "One reminder 15, 7, 3 and 1 days before and one on the day; one when overdue, then weekly until decided, 8 weeks at most",
            ],
            [
                "到期前 30、15 天各提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止",
                "One reminder 30 and 15 days before; one when overdue, then weekly until decided, 8 weeks at most",
            ],
            [
                "到期前 1 天提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止",
                "One reminder 1 day before; one when overdue, then weekly until decided, 8 weeks at most",
            ],
            [
                "到期当天提醒一次；逾期当天一次，之后每周一次，最多 8 周，定下来为止",
                "One reminder on the day; one when overdue, then weekly until decided, 8 weeks at most",
            ],
        ]
        "#);
    }
}
