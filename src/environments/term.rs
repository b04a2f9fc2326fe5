//! One period of an environment's rent. Renewals chain terms.
//!
//! The rules of the chain (`docs/model.md` 6). Days are dates in the organisation's zone, the last day is included. The chain keeps
//! its anchor day, so that the 31st comes back after February. Only the **last** term of a chain has open deadlines: its last
//! day, and the last day on which notice can be given, where there is a notice. A term's quantity is what it began with;
//! changes of quantity are told by the scale history.

use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use serde::Serialize;
use sqlx::PgConnection;

use crate::actor::Permission;
use crate::audit::Audited;
use crate::dates::{self, Cycle, Notice, Renewal};
use crate::deadline::{self, Closed, Kind};
use crate::environments::environment::{self, Status};
use crate::environments::scale;
use crate::error::{Error, FieldErrors, OnConstraint as _, Result};
use crate::ids::{EnvironmentId, ProjectId, TermId};
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::tx::Tx;

/// One period of an environment's rent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Term {
    /// Its id.
    pub id: TermId,
    /// The project.
    pub project_id: ProjectId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The environment's name.
    pub environment: String,
    /// 1 for the first of the chain.
    pub number: i32,
    /// The first day.
    pub starts_on: NaiveDate,
    /// The last day, included; open-ended without one.
    pub ends_on: Option<NaiveDate>,
    /// The rhythm in which it is paid and renewed.
    pub cycle: Cycle,
    /// What happens at its end if nobody does anything.
    pub renewal: Renewal,
    /// Months of the notice.
    pub notice_months: i32,
    /// Days of the notice beside the months.
    pub notice_days: i32,
    /// Units of the tier with which the term began.
    pub quantity: Decimal,
    /// For one unit and one cycle; unknown without one.
    pub price: Option<Decimal>,
    /// The currency of the price.
    pub currency: Option<Currency>,
    /// The version an edit starts from.
    pub version: i32,
    /// Since when the ledger knows the term.
    pub created_at: DateTime<Utc>,
}

impl Term {
    /// How long before the last day notice must be given.
    pub fn notice(&self) -> Option<Notice> {
        let part = |number: i32| u16::try_from(number).unwrap_or_default();
        Notice::new(part(self.notice_months), part(self.notice_days))
    }

    /// The last day on which notice can be given, where there is an end and a notice.
    pub fn cancel_by_on(&self) -> Option<NaiveDate> {
        Some(dates::cancel_by(self.ends_on?, self.notice()?))
    }

    /// The quantity with which it began, for people.
    pub fn shown_quantity(&self) -> String {
        money::grouped(&self.quantity.into(), 0)
    }

    /// Whether the day lies in the term.
    pub fn contains(&self, day: NaiveDate) -> bool {
        self.starts_on <= day && self.ends_on.is_none_or(|ends_on| day <= ends_on)
    }

    /// What an edit may change, as it is now.
    pub fn facts(&self) -> NewTerm {
        NewTerm {
            starts_on: self.starts_on,
            ends_on: self.ends_on,
            cycle: self.cycle,
            renewal: self.renewal,
            notice: self.notice(),
            quantity: self.quantity,
            price: self.price,
            currency: self.currency.clone(),
        }
    }
}

impl Audited for Term {
    const KIND: &'static str = "term";

    fn audit_id(&self) -> i64 {
        self.id.0
    }

    fn audit_name(&self) -> String {
        self.environment.clone()
    }

    fn audit_project(&self) -> Option<ProjectId> {
        Some(self.project_id)
    }
}

/// A term to be written: what a form, a file's row or a renewal says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTerm {
    /// See [`Term::starts_on`].
    pub starts_on: NaiveDate,
    /// See [`Term::ends_on`].
    pub ends_on: Option<NaiveDate>,
    /// See [`Term::cycle`].
    pub cycle: Cycle,
    /// See [`Term::renewal`].
    pub renewal: Renewal,
    /// See [`Term::notice`].
    pub notice: Option<Notice>,
    /// See [`Term::quantity`].
    pub quantity: Decimal,
    /// See [`Term::price`].
    pub price: Option<Decimal>,
    /// See [`Term::currency`].
    pub currency: Option<Currency>,
}

impl NewTerm {
    /// Whether the next term follows by itself.
    pub fn renews_itself(&self) -> bool {
        self.renewal == Renewal::Automatic && self.cycle != Cycle::Once
    }

    /// A term of one unit without price, notice or rhythm.
    pub fn between(starts_on: NaiveDate, ends_on: Option<NaiveDate>) -> Self {
        Self {
            starts_on,
            ends_on,
            cycle: Cycle::Once,
            renewal: Renewal::OnRequest,
            notice: None,
            quantity: Decimal::ONE,
            price: None,
            currency: None,
        }
    }

    /// Reads a term from texts by the names of the import's columns (`starts_on`, `ends_on`, `cycle`, `renewal`, `notice`,
    /// `quantity`, `price`, `currency`); forms use the same names. Everything that is wrong is noted under its name.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str, errors: &mut FieldErrors) -> Option<Self> {
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let count = errors.0.len();
        let starts_on = errors.take("starts_on", dates::parse_date(text("starts_on")));
        let ends_on = filled("ends_on").and_then(|value| errors.take("ends_on", dates::parse_date(value)));
        let cycle = filled("cycle").map_or(Some(Cycle::Once), |value| errors.take("cycle", value.parse()));
        let renewal = filled("renewal").map_or(Some(Renewal::OnRequest), |value| errors.take("renewal", value.parse()));
        let notice = errors.take("notice", Notice::parse(text("notice")));
        let quantity =
            filled("quantity").map_or(Some(Decimal::ONE), |value| errors.take("quantity", parse_quantity(value)));
        let price = filled("price").and_then(|value| errors.take("price", money::parse_price(value)));
        let currency = filled("currency").and_then(|value| errors.take("currency", value.parse::<Currency>()));
        if let (Some(starts_on), Some(ends_on)) = (starts_on, ends_on)
            && ends_on < starts_on
        {
            let message = Message::new("error-term-days").with("starts_on", starts_on).with("ends_on", ends_on);
            errors.add("ends_on", message);
        }
        if filled("price").is_some() && filled("currency").is_none() {
            errors.add("currency", Message::new("error-term-currency"));
        }
        let new = Self {
            starts_on: starts_on?,
            ends_on,
            cycle: cycle?,
            renewal: renewal?,
            notice: notice?,
            quantity: quantity?,
            price,
            currency,
        };
        (errors.0.len() == count).then_some(new)
    }
}

/// Reads a number of units: a number above zero.
pub fn parse_quantity(text: &str) -> Result<Decimal, Message> {
    let quantity = money::parse_decimal(text)?;
    if quantity <= Decimal::ZERO || quantity > money::max_amount() {
        let message = Message::new("error-quantity").with("value", money::plain(quantity));
        return Err(message.with("most", money::max_shown()));
    }
    Ok(quantity)
}

macro_rules! select_term {
    ($rest:literal $(, $argument:expr)*) => {
        sqlx::query_as!(
            Term,
            r#"select t.id as "id: TermId", t.project_id as "project_id: ProjectId",
                      t.environment_id as "environment_id: EnvironmentId", e.name as environment, t.number, t.starts_on, t.ends_on,
                      t.cycle_months as "cycle!: Cycle", t.renewal as "renewal: Renewal", t.notice_months, t.notice_days,
                      t.quantity as "quantity: Decimal", t.price as "price: Decimal", t.currency as "currency: Currency",
                      t.version, t.created_at
               from term t join environment e on e.id = t.environment_id "# + $rest
            $(, $argument)*
        )
    };
}

/// The term with this id, where the reader may see it.
pub async fn get(connection: &mut PgConnection, id: TermId) -> Result<Term> {
    Ok(select_term!("where t.id = $1", id.0).fetch_one(connection).await?)
}

/// The terms of an environment, first to last.
pub async fn of_environment(connection: &mut PgConnection, id: EnvironmentId) -> Result<Vec<Term>> {
    Ok(select_term!("where t.environment_id = $1 order by t.starts_on", id.0).fetch_all(connection).await?)
}

/// The last term of an environment's chain.
pub async fn last(connection: &mut PgConnection, id: EnvironmentId) -> Result<Term> {
    let last = select_term!("where t.environment_id = $1 order by t.starts_on desc limit 1", id.0);
    Ok(last.fetch_one(connection).await?)
}

/// Which of an environment's terms is the present one: the one that holds the day; before the first, the first; else the last
/// that began.
pub fn present(terms: &[Term], day: NaiveDate) -> Option<&Term> {
    terms.iter().find(|term| term.contains(day)).or_else(|| {
        let begun = terms.iter().filter(|term| term.starts_on <= day).max_by_key(|term| term.starts_on);
        begun.or_else(|| terms.iter().min_by_key(|term| term.starts_on))
    })
}

/// Adds a term to an environment and numbers it by its place among the others. The caller records it, and then calls
/// [`follow`] once.
pub(super) async fn insert(tx: &mut Tx, project: ProjectId, environment: EnvironmentId, new: &NewTerm) -> Result<Term> {
    let now = tx.now();
    let id = sqlx::query_scalar!(
        r#"insert into term (project_id, environment_id, number, starts_on, ends_on, cycle_months, renewal, notice_months,
                             notice_days, quantity, price, currency, created_at)
           values ($1, $2, (select coalesce(max(number), 0) + 1 from term where environment_id = $2),
                   $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id as "id: TermId""#,
        project.0,
        environment.0,
        new.starts_on,
        new.ends_on,
        new.cycle.months(),
        new.renewal.as_str(),
        new.notice.map_or(0, |notice| i32::from(notice.months())),
        new.notice.map_or(0, |notice| i32::from(notice.days())),
        new.quantity as _,
        new.price as _,
        new.currency.as_ref().map(Currency::as_str),
        now,
    )
    .fetch_one(tx.connection())
    .await
    .on_constraint("term_no_overlap", "starts_on", || Message::new("error-term-overlap"))
    .on_constraint("term_number", "", || Message::new("error-stale"))?;
    get(tx.connection(), id).await
}

/// Changes a term; `version` is the one the edit started from. Its deadlines move with it.
pub async fn change(tx: &mut Tx, id: TermId, version: i32, new: &NewTerm) -> Result<Term> {
    let before = get(tx.connection(), id).await?;
    tx.allow(Permission::Operate, Some(before.project_id))?;
    // One change of a chain at a time: the rules below read all of it.
    environment::lock(tx, before.environment_id).await?;
    let before = get(tx.connection(), id).await?;
    tx.same_version(before.version, version)?;
    if before.facts() == *new {
        tx.unchanged();
        return Ok(before);
    }
    sqlx::query!(
        "update term set starts_on = $2, ends_on = $3, cycle_months = $4, renewal = $5, notice_months = $6, notice_days = $7,
                quantity = $8, price = $9, currency = $10, version = version + 1 where id = $1",
        id.0,
        new.starts_on,
        new.ends_on,
        new.cycle.months(),
        new.renewal.as_str(),
        new.notice.map_or(0, |notice| i32::from(notice.months())),
        new.notice.map_or(0, |notice| i32::from(notice.days())),
        new.quantity as _,
        new.price as _,
        new.currency.as_ref().map(Currency::as_str),
    )
    .execute(tx.connection())
    .await
    .on_constraint("term_no_overlap", "ends_on", || Message::new("error-term-overlap"))?;
    let after = get(tx.connection(), id).await?;
    let terms = of_environment(tx.connection(), after.environment_id).await?;
    if terms.iter().zip(terms.iter().skip(1)).any(|(earlier, later)| earlier.number > later.number) {
        return Err(Error::invalid("starts_on", Message::new("error-term-order")));
    }
    tx.record("term.changed", Some(&before), &after).await?;
    follow(tx, after.environment_id).await?;
    Ok(after)
}

/// Gives a term without an end one.
pub(super) async fn cut(tx: &mut Tx, before: &Term, ends_on: NaiveDate) -> Result<()> {
    sqlx::query!("update term set ends_on = $2, version = version + 1 where id = $1", before.id.0, ends_on)
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), before.id).await?;
    tx.record("term.changed", Some(before), &after).await
}

/// Gives a term that has not begun another quantity.
pub(super) async fn resize(tx: &mut Tx, before: &Term, quantity: Decimal) -> Result<()> {
    sqlx::query!("update term set quantity = $2, version = version + 1 where id = $1", before.id.0, quantity as _)
        .execute(tx.connection())
        .await?;
    let after = get(tx.connection(), before.id).await?;
    tx.record("term.changed", Some(before), &after).await
}

/// Numbers the terms of an environment by their days, after one was added before others.
pub(super) async fn renumber(tx: &mut Tx, id: EnvironmentId) -> Result<()> {
    // In two steps, because a number may not be there twice even for a moment.
    sqlx::query!("update term set number = -number where environment_id = $1", id.0).execute(tx.connection()).await?;
    sqlx::query!(
        "update term set number = n.number
         from (select id, row_number() over (order by starts_on)::integer as number from term where environment_id = $1) n
         where term.id = n.id",
        id.0
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Brings what follows from an environment's state and chain up to date: the anchor day, the quantity in use, the deadlines.
pub(super) async fn follow(tx: &mut Tx, id: EnvironmentId) -> Result<()> {
    let terms = of_environment(tx.connection(), id).await?;
    let Some(first) = terms.first() else { return Err(Error::internal("an environment without a term")) };
    let anchor = dates::anchor_day(first.starts_on, first.ends_on, first.cycle);
    // A pretended date changes nothing of what is in use now.
    let present = present(&terms, tx.true_day()).unwrap_or(first);
    let quantity = scale::in_use(tx.connection(), present).await?;
    sqlx::query!(
        "update environment set anchor_day = $2, quantity = $3
         where id = $1 and (anchor_day, quantity) is distinct from ($2, $3)",
        id.0,
        i32::try_from(anchor).unwrap_or(1),
        quantity as _,
    )
    .execute(tx.connection())
    .await?;
    follow_deadlines(tx, id, &terms).await
}

/// Opens, moves and closes the deadlines of a chain.
async fn follow_deadlines(tx: &mut Tx, id: EnvironmentId, terms: &[Term]) -> Result<()> {
    let environment = environment::get(tx.connection(), id).await?;
    let reason = match environment.status {
        Status::Active => Closed::Renewed,
        Status::Ended => Closed::Ended,
        Status::Voided => Closed::Voided,
    };
    let last = terms.last().filter(|_| environment.status == Status::Active);
    let wanted = |kind: Kind| match kind {
        Kind::Expiry => last?.ends_on,
        Kind::CancelBy => last?.cancel_by_on(),
    };
    for open in deadline::of_environment(tx.connection(), id).await?.iter().filter(|it| it.closed.is_none()) {
        if last.is_none_or(|last| open.term_id != Some(last.id)) {
            deadline::close(tx, open.id, reason).await?;
        } else if wanted(open.kind).is_none() {
            deadline::close(tx, open.id, Closed::Withdrawn).await?;
        }
    }
    for kind in Kind::ALL {
        if let (Some(last), Some(due_on)) = (last, wanted(kind)) {
            deadline::set(tx, kind, Some(last.project_id), Some(id), Some(last.id), due_on).await?;
        }
    }
    Ok(())
}

/// The first days of a term's cycles, as far as its end, or as far as `until` where it has none. A term without rhythm is one
/// cycle.
pub fn cycle_days(
    starts_on: NaiveDate,
    ends_on: Option<NaiveDate>,
    cycle: Cycle,
    anchor_day: u32,
    until: NaiveDate,
) -> Vec<NaiveDate> {
    let count = ends_on.map_or(u16::MAX, |ends_on| dates::cycles_of(starts_on, ends_on, anchor_day, cycle));
    let after = |cycles| dates::term_end(starts_on, anchor_day, cycle, cycles)?.succ_opt();
    let further = (1..count).map_while(after).take_while(|day| ends_on.is_some() || *day <= until);
    std::iter::once(starts_on).chain(further).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<NewTerm, FieldErrors> {
        let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut errors = FieldErrors::new();
        let new = NewTerm::parse(&|name| map.get(name).map_or("", String::as_str), &mut errors);
        new.ok_or(errors)
    }

    fn date(text: &str) -> NaiveDate {
        dates::parse_date(text).unwrap()
    }

    fn term(pairs: &[(&str, &str)]) -> Term {
        let new = parse(pairs).unwrap();
        Term {
            id: TermId(1),
            project_id: ProjectId(1),
            environment_id: EnvironmentId(1),
            environment: "e".to_owned(),
            number: 1,
            starts_on: new.starts_on,
            ends_on: new.ends_on,
            cycle: new.cycle,
            renewal: new.renewal,
            notice_months: new.notice.map_or(0, |notice| notice.months().into()),
            notice_days: new.notice.map_or(0, |notice| notice.days().into()),
            quantity: new.quantity,
            price: new.price,
            currency: new.currency,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn only_the_first_day_must_be_there() {
        let new = parse(&[("starts_on", "2026-01-01")]).unwrap();
        assert_eq!(new, NewTerm::between(date("2026-01-01"), None));
    }

    // case R24 (the field error), case I17 (the price)
    #[test]
    fn what_is_wrong_is_noted_under_its_field() {
        let errors = parse(&[
            ("starts_on", "2027-02-29"),
            ("ends_on", "soon"),
            ("cycle", "weekly"),
            ("quantity", "0"),
            ("price", "-1"),
            ("currency", "¥"),
        ])
        .unwrap_err();
        let found: Vec<_> = errors.0.iter().map(|error| (error.field.as_ref(), error.message.key)).collect();
        assert_eq!(
            found,
            [
                ("starts_on", "error-date-unreal"),
                ("ends_on", "error-date"),
                ("cycle", "error-cycle"),
                ("quantity", "error-quantity"),
                ("price", "error-price-negative"),
                ("currency", "error-currency"),
            ]
        );
        let errors = parse(&[("starts_on", "2026-02-01"), ("ends_on", "2026-01-31"), ("price", "5")]).unwrap_err();
        let found: Vec<_> = errors.0.iter().map(|error| (error.field.as_ref(), error.message.key)).collect();
        assert_eq!(found, [("ends_on", "error-term-days"), ("currency", "error-term-currency")]);
    }

    // case R15, case R37
    #[test]
    fn there_is_a_cancel_by_day_only_with_an_end_and_a_notice() {
        let day = |pairs: &[(&str, &str)]| term(pairs).cancel_by_on().map(|day| day.to_string());
        let full =
            [("starts_on", "2024-02-01"), ("ends_on", "2025-01-31"), ("notice", "2 months"), ("renewal", "never")];
        assert_eq!(day(&full), Some("2024-11-30".to_owned()));
        assert_eq!(day(&[("starts_on", "2024-02-01"), ("notice", "2 months")]), None);
        assert_eq!(day(&[("starts_on", "2024-02-01"), ("ends_on", "2025-01-31"), ("notice", "0")]), None);
    }

    #[test]
    fn the_present_term_is_the_one_that_holds_the_day() {
        let terms = [
            term(&[("starts_on", "2026-01-01"), ("ends_on", "2026-01-31")]),
            term(&[("starts_on", "2026-03-01"), ("ends_on", "2026-03-31")]),
        ];
        let starts = |day: &str| present(&terms, date(day)).unwrap().starts_on.to_string();
        assert_eq!(starts("2025-12-01"), "2026-01-01");
        assert_eq!(starts("2026-01-31"), "2026-01-01");
        assert_eq!(starts("2026-02-10"), "2026-01-01");
        assert_eq!(starts("2026-03-01"), "2026-03-01");
        assert_eq!(starts("2026-09-01"), "2026-03-01");
    }

    // case R19, case R21
    #[test]
    fn the_cycles_of_a_term_keep_its_anchor_day() {
        let monthly = term(&[("starts_on", "2026-01-31"), ("ends_on", "2026-06-29"), ("cycle", "monthly")]);
        let cycles =
            |term: &Term, anchor| cycle_days(term.starts_on, term.ends_on, term.cycle, anchor, date("2026-12-31"));
        let days: Vec<String> = cycles(&monthly, 31).iter().map(ToString::to_string).collect();
        assert_eq!(days, ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]);
        let open = term(&[("starts_on", "2026-01-30"), ("cycle", "monthly")]);
        let days = cycles(&open, 30);
        assert_eq!(days.len(), 12);
        assert_eq!(days[1], date("2026-02-28"));
        assert_eq!(cycles(&term(&[("starts_on", "2026-01-30")]), 30).len(), 1);
        let first = |starts_on, ends_on| term(&[("starts_on", starts_on), ("ends_on", ends_on), ("cycle", "monthly")]);
        assert_eq!(cycles(&first("2026-08-31", "2026-09-30"), 1), [date("2026-08-31")], "a stray day is no cycle");
        assert_eq!(cycles(&first("2026-03-01", "2026-04-10"), 1), [date("2026-03-01")]);
    }
}
