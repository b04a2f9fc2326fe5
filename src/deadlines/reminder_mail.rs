//! What a reminder says: the facts in labelled lines, as text and as HTML, in the language of the person who gets it.

mod facts;

use askama::Template;
use chrono::{DateTime, NaiveDate, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::dates::{self, Cycle, Renewal, Steps, cancel_by, days_left, words};
use crate::deadline::Kind;
use crate::ids::PersonId;
use crate::locale::{Locale, Message};
use crate::mail::{Mailbox, Outgoing};
use crate::money::{self, Currency, Sum};

pub use facts::{DueDate, Facts, Named, TermFacts, read};

/// A message as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The subject.
    pub subject: String,
    /// The text.
    pub text: String,
    /// The same as HTML.
    pub html: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// A labelled line.
struct Line {
    label: String,
    value: String,
}

#[derive(Template)]
#[template(path = "mail/reminder/body.txt")]
struct Text<'a> {
    letter: &'a Letter,
}

#[derive(Template)]
#[template(path = "mail/reminder/body.html")]
struct Html<'a> {
    letter: &'a Letter,
}

/// The parts of the message in its language.
struct Letter {
    locale: Locale,
    greeting: String,
    /// What is due, a sentence a date, and whether it comes late.
    news: Vec<String>,
    lines: Vec<Line>,
    /// What the link is for, and where it leads.
    link: Option<(String, String)>,
    /// The rule, and why this person gets it.
    foot: Vec<String>,
}

impl Letter {
    /// The labelled lines with their values in one column. A Chinese colon brings its own space.
    fn aligned(&self) -> Vec<String> {
        let pad = match self.locale {
            Locale::ZhCn => '\u{3000}',
            Locale::En => ' ',
        };
        let longest = self.lines.iter().map(|line| line.label.chars().count()).max().unwrap_or(0);
        let width = longest + self.gap().len();
        let line = |line: &Line| {
            let blank: String = std::iter::repeat_n(pad, width - line.label.chars().count()).collect();
            format!("{}{blank}{}", line.label, line.value)
        };
        self.lines.iter().map(line).collect()
    }

    /// What follows a colon.
    const fn gap(&self) -> &'static str {
        match self.locale {
            Locale::ZhCn => "",
            Locale::En => " ",
        }
    }
}

/// Writes the message as of `today`. The link leads to the environment; without a public address there is none.
///
/// # Errors
/// What is stored cannot be said: a currency or rule that is none. In words for whoever mends it.
pub fn write(facts: &Facts, today: NaiveDate, at: DateTime<Utc>, link: Option<String>) -> Result<Written, String> {
    let letter = letter(facts, today, link).map_err(|message| message.to_string())?;
    let text = Text { letter: &letter }.render().map_err(|cause| cause.to_string())?;
    let html = Html { letter: &letter }.render().map_err(|cause| cause.to_string())?;
    Ok(Written { subject: facts.locale.say(&subject(facts, today)), text, html, at })
}

/// The message as the mail server gets it.
///
/// # Errors
/// Nothing can be sent to the address.
pub fn outgoing(
    written: &Written,
    delivery: Uuid,
    facts: &Facts,
    address: &str,
    domain: &str,
) -> Result<Outgoing, Message> {
    Ok(Outgoing {
        to: Mailbox::new(&facts.name, address)?,
        subject: written.subject.clone(),
        text: written.text.clone(),
        html: written.html.clone(),
        message_id: format!("{delivery}@{domain}"),
        date: written.at,
        list_id: Some(format!("{} <project-{}.{domain}>", facts.project, facts.project_id)),
    })
}

/// The date that the subject names: the soonest on which something can still be done, else the last one that passed.
fn pressing(facts: &Facts, today: NaiveDate) -> DueDate {
    let ahead = facts.dates.iter().find(|date| date.on >= today);
    *ahead.or(facts.dates.last()).expect("a reminder is about at least one date")
}

fn subject(facts: &Facts, today: NaiveDate) -> Message {
    let date = pressing(facts, today);
    let n = days_left(today, date.on);
    if let Some((name, _)) = &facts.bounced {
        return Message::new("reminder-subject-bounced")
            .with("environment", &facts.environment)
            .with("when", when(date, today))
            .with("name", name);
    }
    if nobody_named(facts) {
        return Message::new("reminder-subject-unnamed")
            .with("environment", &facts.environment)
            .with("when", when(date, today));
    }
    let key = match (date.kind, n) {
        (Kind::Expiry, 1..) => "reminder-subject-expiry",
        (Kind::Expiry, 0) => "reminder-subject-expiry-today",
        (Kind::Expiry, _) => "reminder-subject-expiry-past",
        (Kind::CancelBy, 1..) => "reminder-subject-cancel",
        (Kind::CancelBy, 0) => "reminder-subject-cancel-today",
        (Kind::CancelBy, _) => "reminder-subject-cancel-past",
    };
    Message::new(key)
        .with("environment", &facts.environment)
        .with("n", n.abs())
        .with("date", words(date.on, today))
        .with("renewal", facts.term.renewal.as_str())
}

/// `ends in 3 days`, `ended 2 days ago`, for the middle of a sentence.
fn when(date: DueDate, today: NaiveDate) -> Message {
    let n = days_left(today, date.on);
    let key = match (date.kind, n) {
        (Kind::Expiry, 0..) => "reminder-when-expiry",
        (Kind::Expiry, _) => "reminder-when-past",
        (Kind::CancelBy, 0..) => "reminder-when-cancel",
        (Kind::CancelBy, _) => "reminder-when-cancel-past",
    };
    Message::new(key).with("n", n.abs()).with("date", words(date.on, today))
}

/// Whether this goes to somebody in charge because nobody named on the environment can be reached.
fn nobody_named(facts: &Facts) -> bool {
    facts.named.is_empty()
}

fn letter(facts: &Facts, today: NaiveDate, link: Option<String>) -> Result<Letter, Message> {
    let say = |message: Message| facts.locale.say(&message);
    Ok(Letter {
        locale: facts.locale,
        greeting: say(Message::new("reminder-greeting").with("name", &facts.name)),
        news: news(facts, today).into_iter().map(say).collect(),
        lines: lines(facts, today)?
            .into_iter()
            .map(|(label, value)| Line { label: say(Message::new(label)), value: say(value) })
            .collect(),
        link: link.map(|link| (say(Message::new("reminder-link").with("renewal", facts.term.renewal.as_str())), link)),
        foot: vec![say(rule(facts, today)?), say(why(facts))],
    })
}

/// What is due, a sentence a date; after each that its reminder comes late, where it does; then what there is to do.
fn news(facts: &Facts, today: NaiveDate) -> Vec<Message> {
    let mut news = Vec::new();
    for date in &facts.dates {
        news.push(sentence(facts, *date, today));
        // Whoever stands in for somebody else is told when that one's mail came back, and no later.
        if date.planned_on < today && facts.bounced.is_none() {
            news.push(Message::new("reminder-late").with("date", words(date.planned_on, today)));
        }
    }
    news.extend(to_do(facts, today));
    news
}

/// The sentence about one date.
fn sentence(facts: &Facts, date: DueDate, today: NaiveDate) -> Message {
    let n = days_left(today, date.on);
    let key = match (date.kind, n) {
        (Kind::Expiry, ..0) => "reminder-expiry-past",
        (Kind::Expiry, _) => "reminder-expiry",
        (Kind::CancelBy, ..0) => "reminder-cancel-past",
        (Kind::CancelBy, _) => "reminder-cancel",
    };
    let ended = facts.term.ends_on.is_some_and(|ends_on| ends_on < today);
    // Of a day to give notice nothing follows any more once the term itself is over.
    let renewal = if date.kind == Kind::CancelBy && ended { Renewal::OnRequest } else { facts.term.renewal };
    let day_after = facts.term.ends_on.and_then(|ends_on| ends_on.succ_opt()).unwrap_or(date.on);
    Message::new(key)
        .with("environment", &facts.environment)
        .with("project", &facts.project)
        .with("n", n.abs())
        .with("date", words(date.on, today))
        .with("day_after", words(day_after, today))
        .with("renewal", renewal.as_str())
}

/// What there is to do before a term ends of which nobody decides: until when it can be cancelled, or what to save.
fn to_do(facts: &Facts, today: NaiveDate) -> Option<Message> {
    let term = &facts.term;
    let ends_on = term.ends_on.filter(|ends_on| *ends_on >= today)?;
    let told = |kind| facts.dates.iter().any(|date| date.kind == kind);
    match term.renewal {
        Renewal::Never if told(Kind::Expiry) => {
            Some(Message::new("reminder-save").with("n", days_left(today, ends_on)))
        }
        // Else the sentence about the notice says it.
        Renewal::Automatic if !told(Kind::CancelBy) => {
            let stop_by = term.notice.map_or(ends_on, |notice| cancel_by(ends_on, notice));
            let key = if stop_by < today { "reminder-stop-over" } else { "reminder-stop-by" };
            Some(Message::new(key).with("date", words(stop_by, today)))
        }
        _ => None,
    }
}

/// Labels and values, in the order of the mail.
fn lines(facts: &Facts, today: NaiveDate) -> Result<Vec<(&'static str, Message)>, Message> {
    let term = &facts.term;
    let text = |value: &str| plain(value.to_owned());
    let cost = cost(facts)?;
    let mut lines = vec![
        ("reminder-line-environment", text(&facts.environment)),
        ("reminder-line-project", text(&facts.project)),
        ("reminder-line-provider", text(&facts.provider)),
        ("reminder-line-tier", text(&facts.tier)),
        ("reminder-line-quantity", plain(money::plain(facts.quantity))),
        ("reminder-line-first-day", words(term.starts_on, today)),
    ];
    if let Some(ends_on) = term.ends_on {
        let n = days_left(today, ends_on);
        let left = if n < 0 { "days-past" } else { "reminder-days" };
        let last_day = Message::new("reminder-included").with("date", words(ends_on, today));
        lines.push(("reminder-line-last-day", last_day));
        lines.push(("reminder-line-left", Message::new(left).with("n", n.abs())));
    }
    let cancel_by = match (term.ends_on, term.notice) {
        (Some(ends_on), Some(notice)) => words(cancel_by(ends_on, notice), today),
        _ => Message::new("reminder-no-notice"),
    };
    lines.push(("reminder-line-cancel-by", cancel_by));
    lines.push(("reminder-line-renewal", term.renewal.words()));
    let cost_words = match &cost {
        Some((total, currency)) => Message::new("reminder-cost")
            .with("total", amount(total, currency))
            .with("price", amount(&term.price.unwrap_or_default().into(), currency))
            .with("quantity", money::plain(facts.quantity))
            .with("cycle", term.cycle.words()),
        None => Message::new("reminder-unknown"),
    };
    lines.push(("reminder-line-cost", cost_words));
    lines.push(("reminder-line-if-nothing", if_nothing(facts, today, cost.as_ref())));
    Ok(lines)
}

/// A value that is the same in every language.
fn plain(value: String) -> Message {
    Message::new("reminder-value").with("value", value)
}

fn amount(total: &Sum, currency: &Currency) -> Message {
    Message::new("reminder-amount").with("amount", money::display(total, currency)).with("currency", currency.as_str())
}

/// What one cycle costs: the term's price times the quantity in use. Unknown is nothing, never zero.
fn cost(facts: &Facts) -> Result<Option<(Sum, Currency)>, Message> {
    let (Some(price), Some(currency)) = (facts.term.price, &facts.term.currency) else { return Ok(None) };
    Ok(Some((Sum::from(price).times(facts.quantity), currency.parse()?)))
}

fn if_nothing(facts: &Facts, today: NaiveDate, cost: Option<&(Sum, Currency)>) -> Message {
    let Some(ends_on) = facts.term.ends_on else { return Message::new("reminder-unknown") };
    let automatic = facts.term.renewal == Renewal::Automatic;
    if ends_on < today {
        return Message::new(if automatic { "reminder-nothing-renewed" } else { "reminder-nothing-over" });
    }
    let date = words(ends_on.succ_opt().unwrap_or(ends_on), today);
    if !automatic {
        return Message::new("reminder-nothing-stops").with("date", date);
    }
    // What will be booked: as many cycles as the term has. One without rhythm is not booked by itself.
    let next = dates::same_again(facts.term.starts_on, ends_on, facts.term.anchor_day, facts.term.cycle);
    let message = match (next, cost) {
        (Some(next), Some((one, currency))) => Message::new("reminder-nothing-renews-until")
            .with("until", words(next.ends_on, today))
            .with("amount", amount(&one.times(Decimal::from(next.cycles)), currency)),
        (Some(next), None) => {
            Message::new("reminder-nothing-renews-until-unknown").with("until", words(next.ends_on, today))
        }
        (None, Some((total, currency))) => {
            Message::new("reminder-nothing-renews").with("amount", amount(total, currency))
        }
        (None, None) => Message::new("reminder-nothing-renews-unknown"),
    };
    message.with("date", date)
}

/// The rule in words, and when the next mail comes.
fn rule(facts: &Facts, today: NaiveDate) -> Result<Message, Message> {
    let steps = Steps::try_from(facts.steps.clone())?;
    let rule = match facts.term.renewal {
        // Its end is never overdue: the next term is booked by itself.
        Renewal::Automatic
            if facts.term.cycle != Cycle::Once && facts.dates.iter().all(|it| it.kind == Kind::Expiry) =>
        {
            steps.rule_before()
        }
        Renewal::Never => steps.rule_until_ended(),
        _ => steps.rule(),
    };
    let next = match facts.dates.iter().filter_map(|date| date.next_on).min() {
        Some(day) => Message::new("reminder-next").with("date", words(day, today)),
        None => Message::new("reminder-next-none"),
    };
    Ok(Message::new("reminder-rule").with("rule", rule).with("next", next))
}

/// Why this person gets it, and who else does.
fn why(facts: &Facts) -> Message {
    let charge = Message::new(if facts.manages { "reminder-part-manager" } else { "reminder-part-administrator" });
    if let Some((name, reply)) = &facts.bounced {
        return Message::new("reminder-why-bounced").with("name", name).with("reply", reply).with("part", charge);
    }
    let mine: Vec<Message> = facts.named.iter().filter(|named| named.id == facts.person).map(part).collect();
    if mine.is_empty() {
        return Message::new("reminder-why-nobody").with("part", charge);
    }
    let mut others: Vec<(PersonId, &str, Vec<Message>)> = Vec::new();
    for named in facts.named.iter().filter(|named| named.id != facts.person) {
        match others.iter_mut().find(|(id, ..)| *id == named.id) {
            Some((_, _, parts)) => parts.push(part(named)),
            None => others.push((named.id, &named.name, vec![part(named)])),
        }
    }
    let others: Vec<Message> = others
        .into_iter()
        .map(|(_, name, parts)| Message::new("reminder-other").with("name", name).with("part", all(parts)))
        .collect();
    if others.is_empty() {
        Message::new("reminder-why-alone").with("part", all(mine))
    } else {
        Message::new("reminder-why").with("part", all(mine)).with("others", all(others))
    }
}

fn part(named: &Named) -> Message {
    Message::new(match named.part.as_str() {
        "owner" => "reminder-part-owner",
        "checker" => "reminder-part-checker",
        _ => "reminder-part-watcher",
    })
}

/// `a, b and c`.
fn all(items: Vec<Message>) -> Message {
    Message::listed(items).unwrap_or_else(|| plain(String::new()))
}
