//! Cycles, notices, kinds of renewal, and the arithmetic of a chain of terms.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike, Days, NaiveDate};
use sqlx::Postgres;
use sqlx::postgres::{PgArgumentBuffer, PgTypeInfo, PgValueRef};

use crate::limits;
use crate::locale::Message;
use crate::text::{excerpt, stored_as_text};

/// The rhythm of an environment's terms. In the database the number of months, null for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cycle {
    /// One term, paid once.
    Once,
    /// Every so many months, 1 to 120.
    Months(u16),
}

impl Cycle {
    /// Every month.
    pub const MONTHLY: Self = Self::Months(1);
    /// Every three months.
    pub const QUARTERLY: Self = Self::Months(3);
    /// Every year.
    pub const YEARLY: Self = Self::Months(12);

    /// The number of months, as it is stored.
    pub fn months(self) -> Option<i32> {
        match self {
            Self::Once => None,
            Self::Months(months) => Some(months.into()),
        }
    }

    /// How a page calls it.
    pub fn words(self) -> Message {
        match self {
            Self::Once => Message::new("cycle-once"),
            Self::MONTHLY => Message::new("cycle-monthly"),
            Self::QUARTERLY => Message::new("cycle-quarterly"),
            Self::YEARLY => Message::new("cycle-yearly"),
            Self::Months(months) => Message::new("cycle-months").with("n", i32::from(months)),
        }
    }
}

impl TryFrom<Option<i32>> for Cycle {
    type Error = Message;

    fn try_from(months: Option<i32>) -> Result<Self, Message> {
        let Some(months) = months else { return Ok(Self::Once) };
        match u16::try_from(months) {
            Ok(months @ 1..=limits::CYCLE_MONTHS) => Ok(Self::Months(months)),
            _ => Err(cycle_refused(&months.to_string())),
        }
    }
}

/// `monthly`, `quarterly`, `half-yearly`, `yearly`, `once`, `14 months`, `every 14 months`; 每月, 每季, 半年, 每年, 一次性, 14个月,
/// 每 14 个月.
impl FromStr for Cycle {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        match text.trim().to_lowercase().as_str() {
            "once" | "一次性" => Ok(Self::Once),
            "monthly" | "每月" => Ok(Self::MONTHLY),
            "quarterly" | "每季" | "每季度" => Ok(Self::QUARTERLY),
            "yearly" | "每年" => Ok(Self::YEARLY),
            "half-yearly" | "半年" | "每半年" => Ok(Self::Months(6)),
            counted => match spans(counted.trim_start_matches("every ").trim_start_matches('每')).as_deref() {
                Some([(n @ 1..=limits::CYCLE_MONTHS, Unit::Month)]) => Ok(Self::Months(*n)),
                _ => Err(cycle_refused(text)),
            },
        }
    }
}

fn cycle_refused(text: &str) -> Message {
    Message::new("error-cycle").with("value", excerpt(text.trim())).with("most", u32::from(limits::CYCLE_MONTHS))
}

/// The form that files use, which reads back as the same cycle.
impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Once => f.write_str("once"),
            Self::MONTHLY => f.write_str("monthly"),
            Self::QUARTERLY => f.write_str("quarterly"),
            Self::YEARLY => f.write_str("yearly"),
            Self::Months(months) => write!(f, "{months} months"),
        }
    }
}

impl serde::Serialize for Cycle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Cycle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl sqlx::Type<Postgres> for Cycle {
    fn type_info() -> PgTypeInfo {
        <i32 as sqlx::Type<Postgres>>::type_info()
    }
}

impl sqlx::Encode<'_, Postgres> for Cycle {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        self.months().encode_by_ref(buffer)
    }
}

impl<'r> sqlx::Decode<'r, Postgres> for Cycle {
    fn decode(value: PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        Ok(Self::try_from(<Option<i32> as sqlx::Decode<Postgres>>::decode(value)?)?)
    }
}

/// What happens at the end of a term if nobody does anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// It renews itself, unless notice was given in time.
    Automatic,
    /// It ends unless it is renewed.
    OnRequest,
    /// It ends and cannot be renewed.
    Never,
}

impl Renewal {
    /// All kinds, in the order in which forms offer them.
    pub const ALL: [Self; 3] = [Self::Automatic, Self::OnRequest, Self::Never];

    /// As it is stored and written in files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::OnRequest => "on_request",
            Self::Never => "never",
        }
    }

    /// Whether a next term can follow one of this kind, with or without a last day: where not, no page offers it.
    pub const fn can_follow(self, ends: bool) -> bool {
        ends && !matches!(self, Self::Never)
    }

    /// How a page calls it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::Automatic => "renewal-automatic",
            Self::OnRequest => "renewal-on-request",
            Self::Never => "renewal-never",
        })
    }
}

/// `automatic`, `on_request`, `never`; 自动续费, 手动续费, 到期不续.
impl FromStr for Renewal {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        match text.trim().to_lowercase().as_str() {
            "automatic" | "自动续费" => Ok(Self::Automatic),
            "on_request" | "on request" | "手动续费" => Ok(Self::OnRequest),
            "never" | "到期不续" => Ok(Self::Never),
            _ => Err(Message::new("error-renewal").with("value", excerpt(text.trim()))),
        }
    }
}

impl fmt::Display for Renewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

stored_as_text!(Renewal, &["automatic", "on_request", "never"]);

/// How long before the last day notice must be given. Never nothing: no notice is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Notice {
    months: u16,
    days: u16,
}

impl Notice {
    /// A notice of so many months and days; none where both are zero.
    pub fn new(months: u16, days: u16) -> Option<Self> {
        (months > 0 || days > 0).then_some(Self { months, days })
    }

    /// The notice of two integer columns, both zero for none.
    pub fn from_columns(months: i32, days: i32) -> Option<Self> {
        let column = |value: i32| u16::try_from(value.max(0)).unwrap_or(u16::MAX);
        Self::new(column(months), column(days))
    }

    /// Whole months of it.
    pub fn months(self) -> u16 {
        self.months
    }

    /// Days of it beside the months.
    pub fn days(self) -> u16 {
        self.days
    }

    /// Reads `30 days`, `2 months`, 30天, 2个月, or both together. Empty or `0` is no notice.
    ///
    /// # Errors
    /// Another form; more than 24 months or 730 days.
    pub fn parse(text: &str) -> Result<Option<Self>, Message> {
        let text = text.trim();
        if text.is_empty() || text == "0" {
            return Ok(None);
        }
        let (months, days) = match spans(&text.to_lowercase()).as_deref() {
            Some([(months, Unit::Month)]) => (*months, 0),
            Some([(days, Unit::Day)]) => (0, *days),
            Some([(months, Unit::Month), (days, Unit::Day)]) => (*months, *days),
            _ => return Err(Message::new("error-notice").with("value", excerpt(text))),
        };
        if months > limits::NOTICE_MONTHS || days > limits::NOTICE_DAYS {
            return Err(Message::new("error-notice-limit")
                .with("value", excerpt(text))
                .with("months", u32::from(limits::NOTICE_MONTHS))
                .with("days", u32::from(limits::NOTICE_DAYS)));
        }
        Ok(Self::new(months, days))
    }

    /// How a page calls it.
    pub fn words(self) -> Message {
        let days = || Message::new("notice-days").with("n", i32::from(self.days));
        let months = || Message::new("notice-months").with("n", i32::from(self.months));
        match (self.months, self.days) {
            (0, _) => days(),
            (_, 0) => months(),
            _ => Message::new("notice-months-days").with("months", months()).with("days", days()),
        }
    }
}

/// The form that files use, which reads back as the same notice.
impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.months, self.days) {
            (0, days) => write!(f, "{days} days"),
            (months, 0) => write!(f, "{months} months"),
            (months, days) => write!(f, "{months} months {days} days"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Month,
}

/// The counted spans of a text in small letters: `2 months 5 days` is (2, month), (5, day). Nothing where a piece is no
/// number or no unit.
fn spans(text: &str) -> Option<Vec<(u16, Unit)>> {
    let mut spans = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit())?);
        let after = after.trim_start();
        let (unit, after) =
            after.split_at(after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len()));
        let unit = match unit {
            "day" | "days" | "天" | "日" => Unit::Day,
            "month" | "months" | "个月" | "月" => Unit::Month,
            _ => return None,
        };
        spans.push((number.parse().ok()?, unit));
        rest = after.trim_start();
    }
    Some(spans)
}

/// The anchor day (1 to 31) in a month (1 to 12): the month's last day where it has no such day.
pub fn anchored(anchor_day: u32, year: i32, month: u32) -> NaiveDate {
    (1..=anchor_day.clamp(1, 31))
        .rev()
        .find_map(|day| NaiveDate::from_ymd_opt(year, month, day))
        .expect("every month of the calendar has a first day")
}

/// The anchor day in the month that lies `months` after (or before) the month of `from`. At most 2,400 months.
pub fn month_after(anchor_day: u32, from: NaiveDate, months: i32) -> NaiveDate {
    let index = month_index(from) + months.clamp(-2_400, 2_400);
    let zero_based = u32::try_from(index.rem_euclid(12)).expect("a remainder is not negative");
    anchored(anchor_day, index.div_euclid(12), zero_based + 1)
}

fn month_index(date: NaiveDate) -> i32 {
    date.year() * 12 + i32::try_from(date.month0()).expect("a year has twelve months")
}

/// The same day so many months earlier, or that month's last day: 31 January − 2 months is 30 November, and
/// 28 February − 1 month is 28 January (not the 31st: when in doubt, the earlier day).
pub fn months_before(date: NaiveDate, months: u16) -> NaiveDate {
    month_after(date.day(), date, -i32::from(months))
}

/// The day of the month on which the terms of a chain begin: the day of the first `starts_on` where the first term is
/// whole cycles or has no end, else of the day after its `ends_on` (a first term that was cut to fit the calendar).
pub fn anchor_day(first_starts_on: NaiveDate, first_ends_on: Option<NaiveDate>, cycle: Cycle) -> u32 {
    let Some(next) = first_ends_on.and_then(|day| day.succ_opt()) else { return first_starts_on.day() };
    let whole = cycle.months().is_some_and(|months| {
        let apart = month_index(next) - month_index(first_starts_on);
        apart > 0 && apart % months == 0 && anchored(first_starts_on.day(), next.year(), next.month()) == next
    });
    if whole { first_starts_on.day() } else { next.day() }
}

/// The last day of a term of so many cycles: the day before the anchor day nearest to as many months after its first day.
/// Nothing where there is no rhythm, no cycle, or an end beyond the last year that a date may have.
pub fn term_end(starts_on: NaiveDate, anchor_day: u32, cycle: Cycle, cycles: u16) -> Option<NaiveDate> {
    let ahead = cycle.months()? * i32::from(cycles);
    // Less than two hundred years, which no term lasts.
    if !(1..2_400).contains(&ahead) {
        return None;
    }
    let ends_on = month_after(anchor_day, starts_on, ahead + aside(starts_on.day(), anchor_day)).pred_opt()?;
    (ends_on.year() <= limits::LAST_YEAR).then_some(ends_on)
}

/// The month in which the anchor day lies nearest to a day of a month: this one, the next (for the 31st and the 1st) or the
/// last. Decided by the numbers of the days alone, so that it is the same for every cycle of a term.
fn aside(day: u32, anchor_day: u32) -> i32 {
    const HALF: u32 = 15;
    i32::from(day > anchor_day + HALF) - i32::from(anchor_day > day + HALF)
}

/// How many cycles a term has: as many as end nearest to its last day, the fewer where two are as near, at least one. So
/// a day more or less at the end of a month never makes a cycle. A term without rhythm is one cycle.
pub fn cycles_of(starts_on: NaiveDate, ends_on: NaiveDate, anchor_day: u32, cycle: Cycle) -> u16 {
    let Some(months) = cycle.months() else { return 1 };
    // The nearest end lies within a month of the last day, or within half a cycle.
    let about = (month_index(ends_on) - month_index(starts_on)) / months;
    let near = (about - 3..=about + 3).filter_map(|cycles| u16::try_from(cycles).ok());
    let distance = |cycles: &u16| {
        term_end(starts_on, anchor_day, cycle, *cycles)
            .map_or(i64::MAX, |day| day.signed_duration_since(ends_on).num_days().abs())
    };
    near.filter(|cycles| *cycles > 0).min_by_key(distance).unwrap_or(1)
}

/// The term that follows one by itself: as many cycles again. Nothing where there is no rhythm, or no such day.
pub fn same_again(starts_on: NaiveDate, ends_on: NaiveDate, anchor_day: u32, cycle: Cycle) -> Option<SameAgain> {
    let cycles = cycles_of(starts_on, ends_on, anchor_day, cycle);
    let ends_on = term_end(ends_on.succ_opt()?, anchor_day, cycle, cycles)?;
    Some(SameAgain { cycles, ends_on })
}

/// What follows a term by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameAgain {
    /// How many cycles it has.
    pub cycles: u16,
    /// Its last day.
    pub ends_on: NaiveDate,
}

/// The last day on which notice can be given, months counted first: itself a day to act.
pub fn cancel_by(ends_on: NaiveDate, notice: Notice) -> NaiveDate {
    months_before(ends_on, notice.months) - Days::new(notice.days.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dates::parse_date;
    use crate::locale::Locale;

    fn date(text: &str) -> NaiveDate {
        parse_date(text).unwrap()
    }

    /// The last days of a chain whose first term begins and ends on these days.
    fn last_days(starts_on: &str, ends_on: &str, cycle: Cycle, count: usize) -> Vec<String> {
        let anchor = anchor_day(date(starts_on), Some(date(ends_on)), cycle);
        let ends = std::iter::successors(Some(date(ends_on)), |end| term_end(*end + Days::new(1), anchor, cycle, 1));
        ends.take(count).map(|end| end.to_string()).collect()
    }

    // case R19
    #[test]
    fn the_thirty_first_comes_back_after_february() {
        let days: Vec<String> = (0..5).map(|n| month_after(31, date("2026-01-31"), n).to_string()).collect();
        assert_eq!(days, ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]);
        assert_eq!(
            last_days("2026-01-31", "2026-02-27", Cycle::MONTHLY, 4),
            ["2026-02-27", "2026-03-30", "2026-04-29", "2026-05-30"]
        );
    }

    // case R20
    #[test]
    fn a_month_after_the_end_of_january_is_in_february() {
        assert_eq!(month_after(31, date("2026-01-31"), 1), date("2026-02-28"));
    }

    // case R21, case R23
    #[test]
    fn a_series_on_the_thirtieth_has_twelve_dates_a_year() {
        for (year, february) in [(2026, "2026-02-28"), (2028, "2028-02-29")] {
            let dates: Vec<NaiveDate> = (1..=12).map(|month| anchored(30, year, month)).collect();
            assert_eq!(dates[1], date(february));
            assert!(dates.iter().enumerate().all(|(i, date)| date.month0() as usize == i));
        }
    }

    // case R24
    #[test]
    fn a_leap_day_renews_into_a_common_year() {
        assert_eq!(last_days("2027-03-01", "2028-02-29", Cycle::YEARLY, 3), ["2028-02-29", "2029-02-28", "2030-02-28"]);
        assert_eq!(
            last_days("2028-02-29", "2029-02-27", Cycle::YEARLY, 4),
            ["2029-02-27", "2030-02-27", "2031-02-27", "2032-02-28"]
        );
    }

    #[test]
    fn a_first_term_cut_to_the_calendar_anchors_at_its_end() {
        assert_eq!(
            last_days("2026-01-10", "2026-01-31", Cycle::MONTHLY, 3),
            ["2026-01-31", "2026-02-28", "2026-03-31"]
        );
        assert_eq!(anchor_day(date("2026-01-10"), None, Cycle::MONTHLY), 10);
        assert_eq!(anchor_day(date("2026-01-10"), Some(date("2026-04-09")), Cycle::QUARTERLY), 10);
        assert_eq!(
            anchor_day(date("2026-01-10"), Some(date("2026-05-09")), Cycle::QUARTERLY),
            10,
            "the day after its end"
        );
    }

    #[test]
    fn a_term_of_several_cycles_ends_before_the_anchor_day() {
        assert_eq!(term_end(date("2026-02-28"), 31, Cycle::MONTHLY, 1), Some(date("2026-03-30")));
        assert_eq!(term_end(date("2025-12-17"), 17, Cycle::MONTHLY, 12), Some(date("2026-12-16")));
        assert_eq!(term_end(date("2026-01-01"), 1, Cycle::Once, 1), None);
        assert_eq!(term_end(date("2026-01-01"), 1, Cycle::MONTHLY, 0), None);
        assert_eq!(term_end(date("2199-12-01"), 1, Cycle::YEARLY, 1), None);
        assert_eq!(term_end(date("2026-01-01"), 1, Cycle::Months(120), u16::MAX), None);
    }

    // case R24: a stray day at the end of a month is no cycle.
    #[test]
    fn a_term_to_the_end_of_a_month_is_renewed_for_as_many_cycles() {
        for (starts_on, ends_on, cycles, next) in [
            ("2026-08-31", "2026-09-30", 1, "2026-10-31"),
            ("2026-01-31", "2026-02-28", 1, "2026-03-31"),
            ("2026-06-30", "2026-09-30", 3, "2026-12-31"),
            ("2026-11-30", "2026-12-31", 1, "2027-01-31"),
            ("2026-10-30", "2026-11-30", 1, "2026-12-31"),
            ("2027-01-31", "2027-02-28", 1, "2027-03-31"),
            ("2026-09-01", "2026-10-05", 1, "2026-11-05"),
            ("2026-08-31", "2026-09-29", 1, "2026-10-30"),
            ("2026-10-29", "2026-11-29", 1, "2026-12-29"),
            ("2026-09-01", "2026-09-30", 1, "2026-10-31"),
            ("2026-09-21", "2026-09-30", 1, "2026-10-31"),
            ("2026-01-01", "2026-12-31", 12, "2027-12-31"),
        ] {
            let (first, last) = (date(starts_on), date(ends_on));
            let anchor = anchor_day(first, Some(last), Cycle::MONTHLY);
            assert_eq!(
                same_again(first, last, anchor, Cycle::MONTHLY),
                Some(SameAgain { cycles, ends_on: date(next) }),
                "{starts_on} – {ends_on}"
            );
        }
        assert_eq!(
            last_days("2026-08-31", "2026-09-30", Cycle::MONTHLY, 3),
            ["2026-09-30", "2026-10-31", "2026-11-30"]
        );
        assert_eq!(cycles_of(date("2026-01-01"), date("2027-06-30"), 1, Cycle::YEARLY), 1);
        assert_eq!(cycles_of(date("2026-01-01"), date("2026-05-09"), 1, Cycle::Once), 1);
        assert_eq!(same_again(date("2026-01-01"), date("2026-05-09"), 1, Cycle::Once), None);
        let odd = term_end(date("2026-04-30"), 1, Cycle::MONTHLY, 1);
        assert_eq!(odd, Some(date("2026-05-31")), "a cycle that begins a day before the anchor day is no single day");
    }

    // case R15
    #[test]
    fn the_cancel_by_day_crosses_the_year() {
        let notice = |text: &str| Notice::parse(text).unwrap().unwrap();
        assert_eq!(cancel_by(date("2025-01-31"), notice("2 months")), date("2024-11-30"));
        assert_eq!(cancel_by(date("2026-12-31"), notice("30 days")), date("2026-12-01"));
        assert_eq!(cancel_by(date("2026-02-28"), notice("1 month")), date("2026-01-28"));
        assert_eq!(cancel_by(date("2028-03-31"), notice("1个月5天")), date("2028-02-24"));
    }

    #[test]
    fn a_notice_is_read_in_both_languages() {
        let text = |text: &str| Notice::parse(text).map(|notice| notice.map(|notice| notice.to_string()));
        for none in ["", " ", "0", "0 days", "0个月"] {
            assert_eq!(text(none), Ok(None), "{none:?}");
        }
        for (written, read) in [
            ("30 days", "30 days"),
            ("1 Month", "1 months"),
            ("30天", "30 days"),
            (" 2 个月 ", "2 months"),
            ("2个月15天", "2 months 15 days"),
        ] {
            assert_eq!(text(written), Ok(Some(read.to_owned())), "{written}");
        }
        for refused in ["30", "days", "-5 days", "5 days 1 month", "two months", "99999 days 1", "70000 days"] {
            assert_eq!(Notice::parse(refused).unwrap_err().key, "error-notice", "{refused}");
        }
        assert_eq!(Notice::parse("731 days").unwrap_err().key, "error-notice-limit");
        let both = Notice::new(2, 15).unwrap().words();
        assert_eq!(
            (Locale::ZhCn.say(&both).as_str(), Locale::En.say(&both).as_str()),
            ("2 个月 15 天", "2 months 15 days")
        );
    }

    #[test]
    fn cycles_and_renewals_are_read_in_both_languages() {
        for (english, chinese, cycle) in [
            ("monthly", "每月", Cycle::MONTHLY),
            ("quarterly", "每季", Cycle::QUARTERLY),
            ("yearly", "每年", Cycle::YEARLY),
            ("once", "一次性", Cycle::Once),
            ("14 months", "14个月", Cycle::Months(14)),
            ("12 months", "12 个月", Cycle::YEARLY),
            ("half-yearly", "半年", Cycle::Months(6)),
        ] {
            assert_eq!(english.parse(), Ok(cycle));
            assert_eq!(chinese.parse(), Ok(cycle));
            assert_eq!(cycle.to_string().parse(), Ok(cycle));
            assert_eq!(Cycle::try_from(cycle.months()), Ok(cycle));
            for locale in [Locale::En, Locale::ZhCn] {
                assert_eq!(locale.say(&cycle.words()).parse(), Ok(cycle), "forms show the words, and read them again");
            }
        }
        for refused in ["", "weekly", "0 months", "121 months", "30 days", "months"] {
            assert_eq!(refused.parse::<Cycle>().unwrap_err().key, "error-cycle", "{refused}");
        }
        for (renewal, chinese) in Renewal::ALL.into_iter().zip(["自动续费", "手动续费", "到期不续"]) {
            assert_eq!(renewal.as_str().parse(), Ok(renewal));
            assert_eq!(chinese.parse(), Ok(renewal));
            assert_eq!(Locale::ZhCn.say(&renewal.words()), chinese);
        }
        assert_eq!("maybe".parse::<Renewal>().unwrap_err().key, "error-renewal");
    }

    fn days() -> impl Strategy<Value = NaiveDate> {
        (0_u64..60_000).prop_map(|day| date("1990-01-01") + Days::new(day))
    }

    proptest! {
        #[test]
        fn a_chain_never_skips_or_repeats_a_day_or_a_month_and_keeps_its_anchor(
            start in days(), months in 1_u16..=24, cycles in prop::collection::vec(1_u16..4, 1..30),
        ) {
            let cycle = Cycle::Months(months);
            let anchor = start.day();
            let mut starts_on = start;
            for cycles in cycles {
                let Some(ends_on) = term_end(starts_on, anchor, cycle, cycles) else { break };
                prop_assert_eq!(anchor_day(start, Some(ends_on), cycle), anchor, "every term ends whole cycles on");
                let next = ends_on + Days::new(1);
                prop_assert_eq!(month_index(next) - month_index(starts_on), i32::from(months * cycles));
                prop_assert_eq!(next, anchored(anchor, next.year(), next.month()));
                starts_on = next;
            }
        }

        #[test]
        fn a_term_of_so_many_cycles_is_renewed_for_as_many(
            start in days(), anchor in 1_u32..=31, months in 1_u16..=12, cycles in 1_u16..=24,
        ) {
            let cycle = Cycle::Months(months);
            let Some(end) = term_end(start, anchor, cycle, cycles) else { return Ok(()) };
            prop_assert!(end > start);
            prop_assert_eq!(cycles_of(start, end, anchor, cycle), cycles);
        }

        #[test]
        fn a_first_term_with_a_day_more_or_less_is_renewed_for_as_many_cycles(
            start in days(), months in 1_u16..=12, cycles in 1_u16..=24, aside in -1_i64..=1,
        ) {
            let cycle = Cycle::Months(months);
            let Some(end) = term_end(start, start.day(), cycle, cycles) else { return Ok(()) };
            let (mut first, mut last) = (start, end + chrono::TimeDelta::days(aside));
            let anchor = anchor_day(first, Some(last), cycle);
            for _ in 0..14 {
                let Some(next) = same_again(first, last, anchor, cycle) else { break };
                prop_assert_eq!(next.cycles, cycles);
                (first, last) = (last + Days::new(1), next.ends_on);
                prop_assert_eq!(first, anchored(anchor, first.year(), first.month()), "the anchor day is kept");
            }
        }

        #[test]
        fn an_odd_first_term_is_followed_by_terms_that_begin_on_one_day_of_the_month(
            start in days(), length in 0_u64..800, months in 1_u16..=24,
        ) {
            let (cycle, ends_on) = (Cycle::Months(months), start + Days::new(length));
            let anchor = anchor_day(start, Some(ends_on), cycle);
            let mut next = ends_on + Days::new(1);
            for _ in 0..14 {
                prop_assert_eq!(next, anchored(anchor, next.year(), next.month()));
                let Some(end) = term_end(next, anchor, cycle, 1) else { break };
                next = end + Days::new(1);
            }
        }

        #[test]
        fn notice_can_be_given_no_later_than_the_last_day(end in days(), months in 0_u16..=24, days in 0_u16..=730) {
            if let Some(notice) = Notice::new(months, days) {
                prop_assert!(cancel_by(end, notice) < end);
                prop_assert_eq!(Notice::parse(&notice.to_string()), Ok(Some(notice)));
            }
        }
    }
}
