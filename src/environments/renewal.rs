//! Renewing: the next term of the chain, which begins on the day after the last one ends.
//!
//! A late renewal counts from the old end. The anchor day is kept. What was open for the old term is closed as renewed, and the
//! new term's deadlines are opened. An automatic renewal is written on the day after the end, once; after a pause of the
//! program as many as are missing.

use chrono::NaiveDate;
use rust_decimal::Decimal;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::catalog::price::Price;
use crate::dates::{self, Cycle, Notice, Renewal};
use crate::environments::cost::{Cost, Rent};
use crate::environments::environment::{self, Environment, Status};
use crate::environments::scale;
use crate::environments::term::{self, NewTerm, Term, cycle_days};
use crate::error::{Error, FieldError, FieldErrors, Result};
use crate::ids::{EnvironmentId, TermId};
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::text::excerpt;
use crate::tx::Tx;

/// How far a renewal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// So many cycles.
    Cycles(u16),
    /// To this day, included.
    Day(NaiveDate),
}

/// A renewal to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRenewal {
    /// The term that it follows: another one there means that somebody was faster.
    pub follows: TermId,
    /// How far it goes.
    pub until: Until,
    /// See [`Term::renewal`].
    pub renewal: Renewal,
    /// See [`Term::notice`].
    pub notice: Option<Notice>,
    /// See [`Term::price`].
    pub price: Option<Decimal>,
    /// See [`Term::currency`].
    pub currency: Option<Currency>,
}

impl NewRenewal {
    /// Reads a renewal from texts by the names of its fields: `follows`, `cycles` or `ends_on` (which rules where both are
    /// there), `renewal`, `notice`, `price`, `currency`.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldErrors> {
        let mut errors = FieldErrors::new();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let follows = errors.take("", text("follows").parse().map(TermId).map_err(|_| Message::new("error-version")));
        let until = Until::parse(text).map_err(|error| errors.0.push(error)).ok();
        let renewal = errors.take("renewal", text("renewal").parse());
        let notice = errors.take("notice", Notice::parse(text("notice")));
        let price = filled("price").and_then(|value| errors.take("price", money::parse_price(value)));
        let currency = filled("currency").and_then(|value| errors.take("currency", value.parse::<Currency>()));
        if filled("price").is_some() && filled("currency").is_none() {
            errors.add("currency", Message::new("error-term-currency"));
        }
        match (follows, until, renewal, notice) {
            (Some(follows), Some(until), Some(renewal), Some(notice)) if errors.is_empty() => {
                Ok(Self { follows, until, renewal, notice, price, currency })
            }
            _ => Err(errors),
        }
    }

    /// All that is wrong with a renewal of this term, also where a field cannot be read and another can.
    pub fn check<'a>(text: &dyn Fn(&str) -> &'a str, last: &Term, anchor_day: u32) -> FieldErrors {
        let mut errors = Self::parse(text).err().unwrap_or_default();
        for error in errors.0.iter_mut().filter(|error| error.field == "cycles") {
            error.message = cycles_refused(text("cycles"), most_cycles(last, anchor_day));
        }
        if last.cycle == Cycle::Once && text("ends_on").trim().is_empty() {
            // The form of such a term does not ask for cycles.
            errors.0.retain(|error| error.field != "cycles");
            errors.add("ends_on", Message::new("error-text-empty"));
        } else if let Ok(until) = Until::parse(text)
            && let Err(Error::Invalid(more)) = until.days(last, anchor_day)
        {
            errors.0.extend(more.0);
        }
        errors
    }

    /// The same again: what the last term says, for as many cycles as it had.
    pub fn same_again(last: &Term, anchor_day: u32) -> Self {
        let cycles =
            last.ends_on.map_or(1, |ends_on| dates::cycles_of(last.starts_on, ends_on, anchor_day, last.cycle));
        Self {
            follows: last.id,
            until: Until::Cycles(cycles),
            renewal: last.renewal,
            notice: last.notice(),
            price: last.price,
            currency: last.currency.clone(),
        }
    }

    /// The term that this makes. Pure: what the page shows before saving is what is saved.
    pub fn term(&self, last: &Term, anchor_day: u32, quantity: Decimal) -> Result<NewTerm> {
        let (starts_on, ends_on) = self.until.days(last, anchor_day)?;
        Ok(NewTerm {
            starts_on,
            ends_on: Some(ends_on),
            cycle: last.cycle,
            renewal: self.renewal,
            notice: self.notice,
            quantity,
            price: self.price,
            currency: self.currency.clone(),
        })
    }
}

impl Until {
    /// The day where one is there, else the number of cycles.
    fn parse<'a>(text: &dyn Fn(&str) -> &'a str) -> Result<Self, FieldError> {
        let day = text("ends_on");
        let (field, until) = if day.trim().is_empty() {
            ("cycles", parse_cycles(text("cycles")).map(Self::Cycles))
        } else {
            ("ends_on", dates::parse_date(day).map(Self::Day))
        };
        until.map_err(|message| FieldError { field: field.into(), message })
    }

    /// The first and the last day of the term that follows this one.
    fn days(self, last: &Term, anchor_day: u32) -> Result<(NaiveDate, NaiveDate)> {
        let Some(ended) = last.ends_on else { return Err(Error::Conflict(Message::new("error-renewal-open-ended"))) };
        let starts_on = ended.succ_opt().ok_or_else(|| Error::internal("the calendar ends"))?;
        let ends_on = match self {
            Self::Day(day) if day < starts_on => {
                let message = Message::new("error-renewal-day").with("starts_on", starts_on);
                return Err(Error::invalid("ends_on", message));
            }
            Self::Day(day) => day,
            Self::Cycles(cycles) => dates::term_end(starts_on, anchor_day, last.cycle, cycles).ok_or_else(|| {
                if last.cycle == Cycle::Once {
                    return Error::invalid("ends_on", Message::new("error-renewal-once"));
                }
                Error::invalid("cycles", cycles_refused(&cycles.to_string(), most_cycles(last, anchor_day)))
            })?,
        };
        Ok((starts_on, ends_on))
    }
}

fn parse_cycles(text: &str) -> Result<u16, Message> {
    let cycles = text.trim().parse::<u16>().ok().filter(|cycles| *cycles > 0);
    cycles.ok_or_else(|| cycles_refused(text, u16::MAX))
}

/// The largest number of cycles with which the term after this one ends on a day that can be written; nothing is none.
fn most_cycles(last: &Term, anchor_day: u32) -> u16 {
    let Some(starts_on) = last.ends_on.and_then(|day| day.succ_opt()) else { return 0 };
    let fits = |cycles: &u16| dates::term_end(starts_on, anchor_day, last.cycle, *cycles).is_some();
    (1..=u16::MAX).take_while(fits).last().unwrap_or(0)
}

fn cycles_refused(text: &str, most: u16) -> Message {
    Message::new("error-renewal-cycles").with("value", excerpt(text.trim())).with("most", u32::from(most))
}

/// What a renewal would come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// The first day of the new term.
    pub starts_on: NaiveDate,
    /// Its last day.
    pub ends_on: NaiveDate,
    /// The last day to give notice of it.
    pub cancel_by_on: Option<NaiveDate>,
    /// How many cycles it has; nothing where the last one is not whole.
    pub cycles: Option<usize>,
    /// The expected cost of all of it; nothing where it is unknown.
    pub cost: Option<Cost>,
}

/// What a renewal would come to; `prices` are those of the environment's tier.
pub fn preview(new: &NewTerm, anchor_day: u32, rent: &Rent<'_>, prices: &[Price]) -> Option<Preview> {
    let ends_on = new.ends_on?;
    let days = cycle_days(new.starts_on, Some(ends_on), new.cycle, anchor_day, ends_on);
    let count = u16::try_from(days.len()).ok()?;
    let whole =
        new.cycle == Cycle::Once || dates::term_end(new.starts_on, anchor_day, new.cycle, count) == Some(ends_on);
    Some(Preview {
        starts_on: new.starts_on,
        ends_on,
        cancel_by_on: new.notice.map(|notice| dates::cancel_by(ends_on, notice)),
        cycles: whole.then_some(days.len()),
        cost: if whole { rent.of_cycles(prices, &days) } else { None },
    })
}

/// Why there is nothing to renew; nothing where it can be renewed.
pub fn obstacle(status: Status, last: &Term) -> Option<Message> {
    let key = match (status, last.renewal) {
        (Status::Ended | Status::Voided, _) => "error-environment-not-active",
        (Status::Active, renewal) if renewal.can_follow(last.ends_on.is_some()) => return None,
        (Status::Active, Renewal::Never) => "error-renewal-never",
        (Status::Active, _) => "error-renewal-open-ended",
    };
    Some(Message::new(key))
}

/// Renews an environment.
pub async fn renew(tx: &mut Tx, id: EnvironmentId, new: &NewRenewal) -> Result<Term> {
    let environment = environment::get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(environment.project_id))?;
    let environment = environment::lock(tx, id).await?;
    let last = term::last(tx.connection(), id).await?;
    if last.id != new.follows {
        return Err(Error::Conflict(Message::new("error-renewal-done").with("number", last.number)));
    }
    if let Some(message) = obstacle(environment.status, &last) {
        return Err(Error::Conflict(message));
    }
    let quantity = scale::at_end(tx.connection(), &last).await?;
    let next = new.term(&last, environment.anchor(), quantity)?;
    add(tx, &environment, &next).await
}

async fn add(tx: &mut Tx, environment: &Environment, next: &NewTerm) -> Result<Term> {
    let term = term::insert(tx, environment.project_id, environment.id, next).await?;
    tx.record("term.renewed", None, &term).await?;
    term::follow(tx, environment.id).await?;
    Ok(term)
}

/// The environments whose last term renews itself and is over.
pub async fn due_automatically(connection: &mut PgConnection, today: NaiveDate) -> Result<Vec<EnvironmentId>> {
    let due = sqlx::query_scalar!(
        r#"select e.id as "id: EnvironmentId" from environment e
           join lateral (select renewal, ends_on, cycle_months from term where environment_id = e.id
                         order by starts_on desc limit 1) t on true
           where e.status = 'active' and t.renewal = 'automatic' and t.ends_on < $1 and t.cycle_months is not null
           order by e.id"#,
        today
    )
    .fetch_all(connection)
    .await?;
    Ok(due)
}

/// Writes the automatic renewals of an environment that are due: the same again, until a term holds today. Gives the new
/// terms; none where another instance was faster.
pub async fn renew_automatically(tx: &mut Tx, id: EnvironmentId) -> Result<Vec<Term>> {
    let environment = environment::lock(tx, id).await?;
    let mut added = Vec::new();
    loop {
        let last = term::last(tx.connection(), id).await?;
        let over = last.ends_on.is_some_and(|ends_on| ends_on < tx.today());
        let renews = last.renewal == Renewal::Automatic && last.cycle != Cycle::Once;
        if environment.status != Status::Active || !over || !renews {
            break;
        }
        let next = NewRenewal::same_again(&last, environment.anchor());
        let quantity = scale::at_end(tx.connection(), &last).await?;
        let next = next.term(&last, environment.anchor(), quantity)?;
        added.push(add(tx, &environment, &next).await?);
    }
    if added.is_empty() {
        tx.unchanged();
    }
    Ok(added)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;
    use crate::dates::parse_date;
    use crate::ids::ProjectId;
    use crate::locale::Locale;

    fn day(text: &str) -> NaiveDate {
        parse_date(text).unwrap()
    }

    fn term(starts_on: &str, ends_on: Option<&str>, cycle: Cycle) -> Term {
        Term {
            id: TermId(7),
            project_id: ProjectId(1),
            environment_id: EnvironmentId(1),
            environment: String::new(),
            number: 1,
            starts_on: day(starts_on),
            ends_on: ends_on.map(day),
            cycle,
            renewal: Renewal::OnRequest,
            notice_months: 0,
            notice_days: 0,
            quantity: 1.into(),
            price: Some(100.into()),
            currency: Some("CNY".parse().unwrap()),
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    fn next(last: &Term, until: Until) -> Result<(String, String)> {
        let anchor = dates::anchor_day(last.starts_on, last.ends_on, last.cycle);
        let new = NewRenewal { until, ..NewRenewal::same_again(last, anchor) };
        let term = new.term(last, anchor, 2.into())?;
        Ok((term.starts_on.to_string(), term.ends_on.unwrap().to_string()))
    }

    // case R24
    #[test]
    fn a_year_after_a_leap_day_ends_on_the_last_of_february() {
        let last = term("2027-03-01", Some("2028-02-29"), Cycle::YEARLY);
        let renewed = next(&last, Until::Cycles(1)).unwrap();
        assert_eq!(renewed, ("2028-03-01".to_owned(), "2029-02-28".to_owned()));
    }

    #[test]
    fn the_same_again_has_as_many_cycles_as_before() {
        let until =
            |last: &Term| NewRenewal::same_again(last, last.starts_on.format("%d").to_string().parse().unwrap()).until;
        assert_eq!(until(&term("2025-12-17", Some("2026-12-16"), Cycle::MONTHLY)), Until::Cycles(12));
        assert_eq!(until(&term("2025-12-17", Some("2026-01-16"), Cycle::MONTHLY)), Until::Cycles(1));
        assert_eq!(until(&term("2025-12-17", Some("2026-03-01"), Cycle::MONTHLY)), Until::Cycles(2), "the nearest");
        assert_eq!(until(&term("2025-12-17", Some("2026-01-20"), Cycle::MONTHLY)), Until::Cycles(1));
    }

    #[test]
    fn what_cannot_be_renewed_is_refused_with_the_reason() {
        let key = |result: Result<(String, String)>| match result.unwrap_err() {
            Error::Invalid(errors) => format!("{}: {}", errors.0[0].field, errors.0[0].message.key),
            Error::Conflict(message) => message.key.to_owned(),
            other => panic!("{other}"),
        };
        let once = term("2026-01-01", Some("2026-03-31"), Cycle::Once);
        assert_eq!(key(next(&once, Until::Cycles(1))), "ends_on: error-renewal-once");
        assert_eq!(key(next(&once, Until::Day(day("2026-03-31")))), "ends_on: error-renewal-day");
        assert_eq!(next(&once, Until::Day(day("2026-04-01"))).unwrap().1, "2026-04-01");
        assert_eq!(key(next(&term("2026-01-01", None, Cycle::MONTHLY), Until::Cycles(1))), "error-renewal-open-ended");
        let far = term("2196-01-01", Some("2196-12-31"), Cycle::YEARLY);
        assert_eq!(key(next(&far, Until::Cycles(9))), "cycles: error-renewal-cycles");
        let text = |name: &str| if name == "cycles" { "9999" } else { "" };
        let errors = NewRenewal::check(&text, &far, 1).0;
        let said = errors.iter().find(|error| error.field == "cycles").map(|error| Locale::En.say(&error.message));
        let expected = "\"9999\" is not a number of cycles that this term can have; write a whole number from 1 to 3.";
        assert_eq!(said.as_deref(), Some(expected));
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let last = term("2026-03-01", Some("2026-03-31"), Cycle::MONTHLY);
        let wrong = |last: &Term, typed: &[(&str, &str)]| {
            let text = |name: &str| typed.iter().find(|(key, _)| *key == name).map_or("", |(_, value)| *value);
            let errors = NewRenewal::check(&text, last, 1).0.into_iter();
            errors.map(|error| (error.field.into_owned(), error.message.key)).collect::<Vec<_>>()
        };
        let valid = [("follows", "7"), ("renewal", "on_request")];
        let typed = [("ends_on", "2026-03-31"), ("notice", "soon"), ("price", "¥1"), ("follows", "7"), ("renewal", "")];
        let expected = [
            ("renewal", "error-renewal"),
            ("notice", "error-notice"),
            ("price", "error-decimal"),
            ("currency", "error-term-currency"),
            ("ends_on", "error-renewal-day"),
        ];
        assert_eq!(wrong(&last, &typed), expected.map(|(field, key)| (field.to_owned(), key)));
        assert_eq!(wrong(&last, &valid), [("cycles".to_owned(), "error-renewal-cycles")]);
        let once = term("2026-03-01", Some("2026-03-31"), Cycle::Once);
        assert_eq!(wrong(&once, &valid), [("ends_on".to_owned(), "error-text-empty")]);
    }

    #[test]
    fn a_preview_counts_cycles_and_money() {
        let (last, cny) = (term("2026-01-31", Some("2026-02-27"), Cycle::MONTHLY), "CNY".parse().unwrap());
        let shown = |until| {
            let new = NewRenewal { until, ..NewRenewal::same_again(&last, 31) }.term(&last, 31, 2.into()).unwrap();
            let rent = Rent {
                cycle: new.cycle,
                quantity: new.quantity,
                price: new.price,
                currency: new.currency.as_ref(),
                billing_mode: None,
                house: &cny,
            };
            preview(&new, 31, &rent, &[]).unwrap()
        };
        let three = shown(Until::Cycles(3));
        assert_eq!((three.ends_on, three.cycles), (day("2026-05-30"), Some(3)));
        assert_eq!(three.cost.unwrap().amount.plain(), "600");
        let odd = shown(Until::Day(day("2026-04-10")));
        assert_eq!((odd.cycles, odd.cost), (None, None), "nobody knows what part of a cycle costs");
    }
}
