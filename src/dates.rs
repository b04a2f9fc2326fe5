//! Days, cycles, notices, periods: calendar arithmetic.
//!
//! The rules (`docs/model.md` 6). Terms and deadlines are plain dates in the organisation's zone, the last day **included**;
//! events are instants in UTC; billing and charge periods are half-open, as in FOCUS. Days left are calendar days, never
//! hours. Months are counted from an anchor day, so that the 31st comes back after February.

mod cycle;
mod steps;

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Datelike, MappedLocalTime, NaiveDate, NaiveTime, TimeDelta, TimeZone, Utc};
use chrono_tz::Tz;

pub use self::cycle::{
    Cycle, Notice, Renewal, SameAgain, anchor_day, anchored, cancel_by, cycles_of, month_after, months_before,
    same_again, term_end,
};
pub use self::steps::Steps;
use crate::limits;
use crate::locale::{Locale, Message};
use crate::text::{excerpt, filled, stored_as_text};

/// Reads a date: `2026-03-31`, or `2026/3/31` as spreadsheets in China write it.
///
/// # Errors
/// Nothing at all; another form; a day that does not exist; a year outside 1990 to 2199.
pub fn parse_date(text: &str) -> Result<NaiveDate, Message> {
    let text = filled(text)?;
    let refuse = |key| Message::new(key).with("value", excerpt(text));
    let separator = if text.contains('/') { '/' } else { '-' };
    let parts: Vec<&str> = text.split(separator).collect();
    let [year, month, day] = parts[..] else { return Err(refuse("error-date")) };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4..=4), digits(month, 1..=2), digits(day, 1..=2)) else {
        return Err(refuse("error-date"));
    };
    let year = i32::try_from(year).map_err(|_| refuse("error-date"))?;
    let date = NaiveDate::from_ymd_opt(year, month, day).ok_or_else(|| refuse("error-date-unreal"))?;
    if (limits::FIRST_YEAR..=limits::LAST_YEAR).contains(&year) {
        Ok(date)
    } else {
        Err(refuse("error-date-year")
            .with("first", limits::FIRST_YEAR.to_string())
            .with("last", limits::LAST_YEAR.to_string()))
    }
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let plain = length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Days from today to the last day: 0 on the last day itself, negative after it. The one number that lists, mails and
/// files show.
pub fn days_left(today: NaiveDate, ends_on: NaiveDate) -> i64 {
    (ends_on - today).num_days()
}

/// A date as it is written where one decides: `12月16日（周三）`, with the year when it is not this one; in English always
/// `Wed 16 Dec 2026`.
pub fn in_words(date: NaiveDate, locale: Locale, today: NaiveDate) -> String {
    locale.say(&words(date, today))
}

/// [`in_words`] as an argument for another message.
pub fn words(date: NaiveDate, today: NaiveDate) -> Message {
    let key = if date.year() == today.year() { "date-words" } else { "date-words-year" };
    Message::new(key)
        .with("year", date.year().to_string())
        .with("month", date.month())
        .with("day", date.day().to_string())
        .with("weekday", date.weekday().number_from_monday())
}

/// A time zone of the IANA database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(pub Tz);

impl Zone {
    /// The name, as it is stored: `Asia/Shanghai`.
    pub fn as_str(&self) -> &'static str {
        self.0.name()
    }

    /// A moment as this zone's clocks show it, with their offset.
    pub fn moment(self, at: chrono::DateTime<chrono::Utc>) -> String {
        at.with_timezone(&self.0).format("%Y-%m-%d %H:%M %:z").to_string()
    }

    /// A moment as this zone's clocks show it, as a form's field for moments wants it.
    pub fn field(self, at: DateTime<Utc>) -> String {
        at.with_timezone(&self.0).format("%Y-%m-%dT%H:%M").to_string()
    }
}

impl Default for Zone {
    fn default() -> Self {
        Self(Tz::Asia__Shanghai)
    }
}

impl FromStr for Zone {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let text = filled(text)?;
        text.parse().map(Self).map_err(|_| Message::new("error-zone").with("value", excerpt(text)))
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

stored_as_text!(Zone);

/// The calendar day of an instant in a zone.
pub fn today(now: DateTime<Utc>, zone: Zone) -> NaiveDate {
    now.with_timezone(&zone.0).date_naive()
}

/// Reads a moment as the clocks of a zone show it: `2026-03-31 14:05`, or with a `T` between, as forms send it.
///
/// # Errors
/// Nothing at all; a date without a time; whatever [`parse_date`] refuses.
pub fn parse_moment(text: &str, zone: Zone) -> Result<DateTime<Utc>, Message> {
    let text = filled(text)?;
    let refuse = || Message::new("error-moment").with("value", excerpt(text));
    let (date, time) = text.split_once(['T', ' ']).ok_or_else(refuse)?;
    let read = |form| NaiveTime::parse_from_str(time.trim(), form);
    let time = read("%H:%M").or_else(|_| read("%H:%M:%S")).map_err(|_| refuse())?;
    Ok(local_instant(parse_date(date)?, time, zone))
}

/// The instant at which clocks in the zone show a date and time. A time that a change of the clocks skips becomes the
/// first instant after the gap; of a time that comes twice, the first is taken.
pub fn local_instant(date: NaiveDate, time: NaiveTime, zone: Zone) -> DateTime<Utc> {
    let wanted = date.and_time(time);
    match zone.0.from_local_datetime(&wanted) {
        MappedLocalTime::Single(instant) | MappedLocalTime::Ambiguous(instant, _) => instant.with_timezone(&Utc),
        MappedLocalTime::None => {
            // Zones are at most 15 hours from UTC and gaps at most a day (Pacific/Apia, 2011-12-30): the first second at
            // which the zone's clocks are past the wanted time lies in between.
            let shows = |seconds: i64| {
                let instant = (wanted + TimeDelta::seconds(seconds)).and_utc();
                (instant, instant.with_timezone(&zone.0).naive_local() >= wanted)
            };
            let (mut before, mut after) = (-40 * 3600, 40 * 3600);
            while after - before > 1 {
                let middle = i64::midpoint(before, after);
                if shows(middle).1 { after = middle } else { before = middle }
            }
            shows(after).0
        }
    }
}

/// A calendar month of the ledger, in the organisation's zone. A `date` in the database: its first day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period {
    first_day: NaiveDate,
}

impl Period {
    /// The month of a date.
    pub fn of_date(date: NaiveDate) -> Self {
        Self { first_day: date.with_day(1).expect("every month has a first day") }
    }

    /// The month of an instant in a zone.
    pub fn of_instant(instant: DateTime<Utc>, zone: Zone) -> Self {
        Self::of_date(today(instant, zone))
    }

    /// The month that a bill is for: the one that holds the middle of its half-open billing period, in UTC. Providers
    /// begin their months at their own midnight: 2024-08-31T16:00Z to 2024-09-30T16:00Z is 2024-09. Where the end is not
    /// after the start, the month of the start.
    pub fn of_billing_period(start: DateTime<Utc>, end: DateTime<Utc>) -> Self {
        let half = (end - start).max(TimeDelta::zero()) / 2;
        Self::of_date((start + half).date_naive())
    }

    /// The year.
    pub fn year(self) -> i32 {
        self.first_day.year()
    }

    /// The month, 1 to 12.
    pub fn month(self) -> u32 {
        self.first_day.month()
    }

    /// Its first day.
    pub fn first_day(self) -> NaiveDate {
        self.first_day
    }

    /// Its last day.
    pub fn last_day(self) -> NaiveDate {
        anchored(31, self.year(), self.month())
    }

    /// How many days it has.
    pub fn days(self) -> u32 {
        self.last_day().day()
    }

    /// The month `months` later, or earlier where that is negative.
    #[must_use]
    pub fn plus(self, months: i32) -> Self {
        Self { first_day: month_after(1, self.first_day, months) }
    }

    /// The month after.
    #[must_use]
    pub fn next(self) -> Self {
        self.plus(1)
    }

    /// The month before.
    #[must_use]
    pub fn previous(self) -> Self {
        self.plus(-1)
    }

    /// Whether the date lies in it.
    pub fn contains(self, date: NaiveDate) -> bool {
        Self::of_date(date) == self
    }

    /// The half-open span of instants that it is in a zone: from its first instant up to the next month's, excluded.
    pub fn instants(self, zone: Zone) -> (DateTime<Utc>, DateTime<Utc>) {
        let start = |period: Self| local_instant(period.first_day, NaiveTime::MIN, zone);
        (start(self), start(self.next()))
    }
}

/// `2026-03`; also `2026/3`.
impl FromStr for Period {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        let text = filled(text)?;
        let refuse = || Message::new("error-period").with("value", excerpt(text));
        let (year, month) = text.split_once(['-', '/']).ok_or_else(refuse)?;
        let year = digits(year, 4..=4).and_then(|year| i32::try_from(year).ok());
        let (Some(year), Some(month)) = (year, digits(month, 1..=2)) else { return Err(refuse()) };
        match NaiveDate::from_ymd_opt(year, month, 1) {
            Some(first_day) if (limits::FIRST_YEAR..=limits::LAST_YEAR).contains(&year) => Ok(Self { first_day }),
            _ => Err(refuse()),
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year(), self.month())
    }
}

impl From<Period> for crate::locale::Arg {
    fn from(period: Period) -> Self {
        Self::Text(period.to_string())
    }
}

impl serde::Serialize for Period {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Period {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl sqlx::Type<sqlx::Postgres> for Period {
    fn type_info() -> sqlx::postgres::PgTypeInfo {
        <NaiveDate as sqlx::Type<sqlx::Postgres>>::type_info()
    }
}

impl sqlx::postgres::PgHasArrayType for Period {
    fn array_type_info() -> sqlx::postgres::PgTypeInfo {
        <NaiveDate as sqlx::postgres::PgHasArrayType>::array_type_info()
    }
}

impl sqlx::Encode<'_, sqlx::Postgres> for Period {
    fn encode_by_ref(
        &self,
        buffer: &mut sqlx::postgres::PgArgumentBuffer,
    ) -> Result<sqlx::encode::IsNull, sqlx::error::BoxDynError> {
        self.first_day.encode_by_ref(buffer)
    }
}

impl<'r> sqlx::Decode<'r, sqlx::Postgres> for Period {
    fn decode(value: sqlx::postgres::PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
        Ok(Self::of_date(<NaiveDate as sqlx::Decode<sqlx::Postgres>>::decode(value)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn date(text: &str) -> NaiveDate {
        parse_date(text).unwrap()
    }

    fn instant(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn zone(name: &str) -> Zone {
        name.parse().unwrap()
    }

    fn at(date_text: &str, time: &str, zone_name: &str) -> String {
        local_instant(date(date_text), time.parse().unwrap(), zone(zone_name)).to_rfc3339()
    }

    #[test]
    fn a_date_is_read_in_two_forms() {
        assert_eq!(date("2026-03-31"), NaiveDate::from_ymd_opt(2026, 3, 31).unwrap());
        assert_eq!(date(" 2026/3/1 "), NaiveDate::from_ymd_opt(2026, 3, 1).unwrap());
    }

    // case R24 (the field error)
    #[test]
    fn a_date_that_cannot_be_is_refused_with_the_reason() {
        let key = |text: &str| parse_date(text).unwrap_err().key;
        for text in ["31.03.2026", "2026-03", "26-03-01", "2026-03-01T00:00", "2026/3-1", "+026-03-01", "2026年3月1日"]
        {
            assert_eq!(key(text), "error-date", "{text}");
        }
        for text in ["2026-13-01", "2027-02-29", "2026-04-31", "2026-00-10"] {
            assert_eq!(key(text), "error-date-unreal", "{text}");
        }
        assert_eq!(key(" "), "error-text-empty");
        assert_eq!(key("1989-12-31"), "error-date-year");
        assert_eq!(key("2200-01-01"), "error-date-year");
    }

    // case R09, case R39
    #[test]
    fn today_and_days_left_follow_the_zone_not_utc() {
        let shanghai = Zone::default();
        let now = instant("2026-04-26T17:30:00Z");
        assert_eq!(today(now, shanghai), date("2026-04-27"));
        assert_eq!(days_left(today(now, shanghai), date("2026-04-26")), -1);
        let end = date("2026-04-26");
        assert_eq!(days_left(today(instant("2026-04-26T15:30:00Z"), shanghai), end), 0, "23:30 on the last day");
        assert_eq!(days_left(today(instant("2026-04-26T16:30:00Z"), shanghai), end), -1, "00:30 on the day after");
    }

    // case I15
    #[test]
    fn a_date_stays_itself_in_every_zone() {
        for name in ["Etc/GMT+12", "UTC", "Asia/Shanghai", "Etc/GMT-14"] {
            let instant = local_instant(date("2026-03-31"), NaiveTime::MIN, zone(name));
            assert_eq!(today(instant, zone(name)).to_string(), "2026-03-31", "{name}");
        }
    }

    // case R25
    #[test]
    fn nine_oclock_stays_nine_oclock_when_the_clocks_change() {
        assert_eq!(at("2026-10-24", "09:00:00", "Europe/Berlin"), "2026-10-24T07:00:00+00:00");
        assert_eq!(at("2026-10-25", "09:00:00", "Europe/Berlin"), "2026-10-25T08:00:00+00:00");
    }

    #[test]
    fn a_skipped_time_is_the_first_after_the_gap_and_a_double_one_the_first() {
        assert_eq!(at("2026-03-29", "02:30:00", "Europe/Berlin"), "2026-03-29T01:00:00+00:00");
        assert_eq!(at("2026-10-25", "02:30:00", "Europe/Berlin"), "2026-10-25T00:30:00+00:00");
        assert_eq!(at("2026-04-24", "00:00:00", "Africa/Cairo"), "2026-04-23T22:00:00+00:00");
        // The whole day was skipped.
        assert_eq!(at("2011-12-30", "09:00:00", "Pacific/Apia"), "2011-12-30T10:00:00+00:00");
    }

    #[test]
    fn a_zone_is_an_iana_name() {
        assert_eq!(zone("Europe/Berlin").to_string(), "Europe/Berlin");
        assert_eq!("Beijing".parse::<Zone>().unwrap_err().key, "error-zone");
        assert_eq!(serde_json::to_string(&Zone::default()).unwrap(), "\"Asia/Shanghai\"");
    }

    // case M14 (the border of a month)
    #[test]
    fn a_month_is_half_open_in_its_zone() {
        let january: Period = "2026-01".parse().unwrap();
        let (start, end) = january.instants(Zone::default());
        assert_eq!((start, end), (instant("2025-12-31T16:00:00Z"), instant("2026-01-31T16:00:00Z")));
        let month = |text: &str| Period::of_instant(instant(text), Zone::default()).to_string();
        assert_eq!(month("2026-01-31T15:59:59Z"), "2026-01");
        assert_eq!(month("2026-01-31T16:00:00Z"), "2026-02");
    }

    #[test]
    fn a_period_knows_its_days_and_neighbours() {
        let february: Period = "2028/2".parse().unwrap();
        assert_eq!(february.last_day(), date("2028-02-29"));
        assert_eq!(february.days(), 29);
        assert!(february.contains(date("2028-02-29")) && !february.contains(date("2028-03-01")));
        assert_eq!(february.plus(11).to_string(), "2029-01");
        assert_eq!(february.previous().previous().to_string(), "2027-12");
        assert_eq!("".parse::<Period>().unwrap_err().key, "error-text-empty");
        for text in ["2026", "2026-13", "2026-00", "26-01", "2026-01-01"] {
            assert_eq!(text.parse::<Period>().unwrap_err().key, "error-period", "{text}");
        }
        assert_eq!(serde_json::from_str::<Period>("\"2028-02\"").unwrap(), february);
    }

    #[test]
    fn a_bill_is_for_the_month_that_holds_its_middle() {
        let month = |start: &str, end: &str| Period::of_billing_period(instant(start), instant(end)).to_string();
        assert_eq!(month("2024-08-31T16:00:00Z", "2024-09-30T16:00:00Z"), "2024-09");
        assert_eq!(month("2024-09-01T00:00:00Z", "2024-10-01T00:00:00Z"), "2024-09");
        assert_eq!(month("2024-09-01T08:00:00Z", "2024-10-01T08:00:00Z"), "2024-09");
        assert_eq!(month("2024-09-01T00:00:00Z", "2024-09-01T00:00:00Z"), "2024-09");
    }

    // case N06
    #[test]
    fn a_date_in_words_shows_the_year_when_it_is_another() {
        let today = date("2026-12-01");
        assert_eq!(in_words(date("2026-12-16"), Locale::ZhCn, today), "12月16日（周三）");
        assert_eq!(in_words(date("2027-01-03"), Locale::ZhCn, today), "2027年1月3日（周日）");
        assert_eq!(in_words(date("2026-12-16"), Locale::En, today), "Wed 16 Dec 2026");
        assert_eq!(in_words(date("2027-01-03"), Locale::En, today), "Sun 3 Jan 2027");
    }

    #[test]
    fn every_weekday_and_month_has_words() {
        let mut day = date("2026-01-01");
        while day < date("2027-01-01") {
            let english = in_words(day, Locale::En, day);
            assert_eq!(english, day.format("%a %-d %b %Y").to_string());
            let weekday = ["一", "二", "三", "四", "五", "六", "日"][day.weekday().num_days_from_monday() as usize];
            assert_eq!(in_words(day, Locale::ZhCn, day), format!("{}（周{weekday}）", day.format("%-m月%-d日")));
            day = day.succ_opt().unwrap();
        }
    }

    #[test]
    fn a_moment_is_read_as_the_clocks_of_the_zone_show_it() {
        let zone = Zone::default();
        for text in ["2026-03-02T14:05", " 2026-03-02 14:05 ", "2026/3/2 14:05:00"] {
            assert_eq!(parse_moment(text, zone), Ok(instant("2026-03-02T06:05:00Z")), "{text}");
        }
        assert_eq!(zone.field(instant("2026-03-02T06:05:00Z")), "2026-03-02T14:05");
        let refused = |text| parse_moment(text, zone).unwrap_err().key;
        assert_eq!(refused(" "), "error-text-empty");
        assert_eq!((refused("2026-03-02"), refused("2026-03-02 25:00")), ("error-moment", "error-moment"));
        assert_eq!(refused("2026-02-30 10:00"), "error-date-unreal");
    }

    fn zones() -> impl Strategy<Value = Zone> {
        prop::sample::select(chrono_tz::TZ_VARIANTS.as_slice()).prop_map(Zone)
    }

    proptest! {
        #[test]
        fn a_local_instant_shows_the_wanted_time_or_the_first_after_a_gap(
            zone in zones(), day in 0_i64..40_000, second in 0_u32..86_400,
        ) {
            let date = date("1990-01-01") + TimeDelta::days(day);
            let time = NaiveTime::from_num_seconds_from_midnight_opt(second, 0).unwrap();
            let instant = local_instant(date, time, zone);
            let shown = instant.with_timezone(&zone.0).naive_local();
            let wanted = date.and_time(time);
            prop_assert!(shown >= wanted);
            if shown > wanted {
                let before = (instant - TimeDelta::seconds(1)).with_timezone(&zone.0).naive_local();
                prop_assert!(before < wanted, "{} shows {} one second earlier", zone, before);
            }
        }

        // case R07 (what a form shows and gets back)
        #[test]
        fn a_date_written_and_read_again_is_the_same(day in 0_i64..76_000) {
            let day = date("1990-01-01") + TimeDelta::days(day);
            prop_assert_eq!(parse_date(&day.to_string()), Ok(day));
        }

        #[test]
        fn reading_a_date_never_panics(text in "[-0-9/ 年月日]{0,12}") {
            let _ = parse_date(&text);
            let _ = text.parse::<Period>();
        }
    }
}
