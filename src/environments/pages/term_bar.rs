//! The chain of terms as one bar: a segment a term, the day of today, the days to give notice by. The table beside it says the
//! same in words.

use chrono::{Months, NaiveDate};

use crate::environments::term::Term;

/// How wide the bar is, in the units of the page's drawing.
const WIDTH: i64 = 1000;

/// How much further than today a term without an end is drawn.
const OPEN_MONTHS: Months = Months::new(3);

/// Where everything lies on the bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TermBar {
    pub segments: Vec<Segment>,
    /// Where today lies; nothing before the first term.
    pub today: Option<i64>,
    /// Where the days to give notice by lie.
    pub notices: Vec<(i64, NaiveDate)>,
    /// The first and the last day that are drawn.
    pub days: (NaiveDate, NaiveDate),
}

/// One term on the bar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub x: i64,
    pub width: i64,
    pub class: &'static str,
    pub number: i32,
    pub starts_on: NaiveDate,
    pub ends_on: Option<NaiveDate>,
}

impl TermBar {
    /// The bar of a chain, first term to last; nothing without a term.
    pub(super) fn of(terms: &[Term], today: NaiveDate) -> Option<Self> {
        let (first, last) = (terms.first()?.starts_on, terms.last()?);
        let beyond = |day: NaiveDate| day.checked_add_months(OPEN_MONTHS).unwrap_or(day);
        let end = last.ends_on.unwrap_or_else(|| beyond(today.max(last.starts_on))).max(today);
        let total = (end - first).num_days() + 1;
        let place = |day: NaiveDate| ((day - first).num_days() * WIDTH + total / 2) / total;
        let segments = terms.iter().map(|term| {
            let x = place(term.starts_on);
            let after = term.ends_on.unwrap_or(end).succ_opt().map_or(WIDTH, place);
            let class = match term.ends_on {
                _ if term.starts_on > today => "term-ahead",
                Some(day) if day < today => "term-past",
                _ => "term-now",
            };
            // A gap of one unit tells two terms apart; the shortest one is still seen.
            let width = (after - x - 1).max(2);
            Segment { x, width, class, number: term.number, starts_on: term.starts_on, ends_on: term.ends_on }
        });
        let notices = terms.iter().filter_map(Term::cancel_by_on).filter(|day| *day >= first);
        Some(Self {
            segments: segments.collect(),
            today: (today >= first).then(|| place(today)),
            notices: notices.map(|day| (place(day), day)).collect(),
            days: (first, end),
        })
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::dates::{Cycle, Renewal, parse_date};
    use crate::ids::{EnvironmentId, ProjectId, TermId};

    fn term(number: i32, starts_on: &str, ends_on: Option<&str>, notice_days: i32) -> Term {
        let day = |text: &str| parse_date(text).unwrap();
        Term {
            id: TermId(i64::from(number)),
            project_id: ProjectId(1),
            environment_id: EnvironmentId(1),
            environment: "竹简-预训练".to_owned(),
            number,
            starts_on: day(starts_on),
            ends_on: ends_on.map(day),
            cycle: Cycle::MONTHLY,
            renewal: Renewal::OnRequest,
            notice_months: 0,
            notice_days,
            quantity: 1.into(),
            price: None,
            currency: None,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn terms_today_and_notice_lie_where_their_days_do() {
        let terms = [term(1, "2026-01-01", Some("2026-02-19"), 0), term(2, "2026-02-20", Some("2026-04-10"), 10)];
        let bar = TermBar::of(&terms, parse_date("2026-03-17").unwrap()).unwrap();
        let drawn: Vec<_> = bar.segments.iter().map(|it| (it.number, it.x, it.width, it.class)).collect();
        assert_eq!(drawn, [(1, 0, 499, "term-past"), (2, 500, 499, "term-now")]);
        assert_eq!(bar.today, Some(750));
        assert_eq!(bar.notices, [(890, parse_date("2026-03-31").unwrap())]);
    }

    #[test]
    fn without_an_end_the_bar_goes_on_beyond_today_and_what_is_to_come_has_no_today() {
        let bar = TermBar::of(&[term(1, "2026-01-01", None, 0)], parse_date("2026-03-17").unwrap()).unwrap();
        assert_eq!((bar.days.1.to_string().as_str(), bar.segments[0].class), ("2026-06-17", "term-now"));
        let bar = TermBar::of(&[term(1, "2026-05-01", Some("2026-05-01"), 0)], parse_date("2026-03-17").unwrap());
        let bar = bar.unwrap();
        assert_eq!((bar.today, bar.segments[0].class, bar.segments[0].width), (None, "term-ahead", 999));
        assert_eq!(TermBar::of(&[], parse_date("2026-03-17").unwrap()), None);
    }
}
