//! The forms' fields: their names are those of the import's columns, their first values come from the record.

use chrono::NaiveDate;

use crate::access::person::{self, Person};
use crate::access::project;
use crate::actor::Permission;
use crate::catalog::{provider, tier};
use crate::dates::Cycle;
use crate::environments::environment::{Environment, Kind, Priority};
use crate::environments::scenario::Scenario;
use crate::environments::term::Term;
use crate::environments::watcher::Watcher;
use crate::error::Result;
use crate::ids::PersonId;
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::tx::Read;
use crate::web::forms::Fields;
use crate::web::shell::Shell;

/// Fields of an environment with their labels.
pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    ("name", "env-col-name"),
    ("kind", "env-col-kind"),
    ("provider", "env-col-provider"),
    ("tier", "env-col-tier"),
    ("scenario", "env-col-scenario"),
    ("owner", "env-col-owner"),
    ("checker", "env-col-checker"),
    ("watchers", "env-col-watchers"),
    ("priority", "env-col-priority"),
    ("labels", "env-col-labels"),
    ("steps", "env-col-steps"),
    ("note", "env-col-note"),
];

/// Fields of a term with their labels.
pub(super) const TERM: &[(&str, &str)] = &[
    ("starts_on", "env-col-starts-on"),
    ("ends_on", "env-col-ends-on"),
    ("cycle", "env-col-cycle"),
    ("renewal", "env-col-renewal"),
    ("notice", "env-col-notice"),
    ("quantity", "env-col-quantity"),
    ("price", "env-col-price"),
    ("currency", "env-col-currency"),
];

/// What the form offers to choose from: names that the reader may see.
pub(super) struct Offers {
    pub projects: Vec<String>,
    pub providers: Vec<String>,
    pub tiers: Vec<(String, String)>,
    people: Vec<Person>,
}

impl Offers {
    /// Reads them: the projects in which the reader changes records.
    pub(super) async fn read(read: &mut Read, shell: &Shell) -> Result<Self> {
        let projects = project::list(read).await?.into_iter();
        let projects = projects.filter(|project| shell.may(Permission::Operate, Some(project.id)));
        Ok(Self {
            projects: projects.map(|project| project.name.to_string()).collect(),
            providers: provider::list(read).await?.into_iter().map(|provider| provider.name.to_string()).collect(),
            tiers: tier::list(read).await?.into_iter().map(|tier| (tier.name.to_string(), tier.provider)).collect(),
            people: person::list(read).await?,
        })
    }

    /// What is written for each person, and the name.
    pub(super) fn people(&self) -> Vec<(String, String)> {
        self.people.iter().map(|person| (written(person), person.name.to_string())).collect()
    }

    fn person(&self, id: Option<PersonId>) -> String {
        self.people.iter().find(|person| Some(person.id) == id).map(written).unwrap_or_default()
    }
}

/// How a form writes a person: by address, else by name.
fn written(person: &Person) -> String {
    person.email.as_ref().map_or_else(|| person.name.to_string(), ToString::to_string)
}

/// The values of an edit form.
pub(super) fn of_environment(environment: &Environment, watchers: &[Watcher], offers: &Offers) -> Fields {
    let watchers: Vec<String> = watchers.iter().map(|watcher| offers.person(Some(watcher.person_id))).collect();
    Fields::new()
        .with("version", environment.version)
        .with("name", &environment.name)
        .with("kind", environment.kind)
        .with("provider", &environment.provider)
        .with("tier", &environment.tier)
        .with("scenario", environment.scenario.map_or("", Scenario::as_str))
        .with("owner", offers.person(environment.owner_id))
        .with("checker", offers.person(environment.checker_id))
        .with("watchers", watchers.join("; "))
        .with("priority", environment.priority)
        .with("labels", &environment.labels)
        .with("steps", environment.reminder_steps.as_ref().map(ToString::to_string).unwrap_or_default())
        .with("note", &environment.note)
}

/// The values of a form for a term, in the reader's words, which read back as the same.
pub(super) fn of_term(shell: &Shell, term: &Term) -> Fields {
    Fields::new()
        .with("version", term.version)
        .with("starts_on", term.starts_on)
        .with("ends_on", term.ends_on.map(|day| day.to_string()).unwrap_or_default())
        .with("cycle", shell.say(&term.cycle.words()))
        .with("renewal", term.renewal)
        .with("notice", term.notice().map(|notice| shell.say(&notice.words())).unwrap_or_default())
        .with("quantity", money::plain(term.quantity))
        .with("price", term.price.map(money::plain).unwrap_or_default())
        .with("currency", term.currency.as_ref().map_or("", Currency::as_str))
}

/// The first values of a new environment.
pub(super) fn of_new(shell: &Shell, today: NaiveDate, currency: &Currency) -> Fields {
    Fields::new()
        .with("kind", Kind::Instance)
        .with("priority", Priority::Normal)
        .with("starts_on", today)
        .with("cycle", shell.say(&Cycle::MONTHLY.words()))
        .with("renewal", "on_request")
        .with("quantity", "1")
        .with("currency", currency)
}

/// The choices of a fixed set, for `choice_field`.
pub(super) fn choices<T: Copy>(
    shell: &Shell,
    all: &[T],
    code: fn(T) -> &'static str,
    words: fn(T) -> Message,
) -> Vec<(&'static str, String)> {
    all.iter().map(|one| (code(*one), shell.say(&words(*one)))).collect()
}
