//! An environment as people write it, in a form or a file: names and addresses in the place of ids. What it names and the
//! ledger does not know yet is made with it, and said before.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::PgConnection;

use crate::access::person::{self, NewPerson, Person};
use crate::access::project;
use crate::actor::Permission;
use crate::catalog::{provider, tier};
use crate::dates::Steps;
use crate::environments::environment::{Facts, Kind, Priority};
use crate::environments::scenario::Scenario;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::{PersonId, ProjectId};
use crate::labels::Labels;
use crate::locale::Message;
use crate::text::{Email, Name, Note, excerpt, name_key};
use crate::tx::Tx;

/// A person as a form names one: by address, or by a name that only one person has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Somebody {
    /// By address: unknown ones become persons without a log-in.
    Address(Email),
    /// By name: must be known, and only once.
    Named(Name),
}

impl std::str::FromStr for Somebody {
    type Err = Message;

    fn from_str(text: &str) -> Result<Self, Message> {
        if text.contains(['@', '＠']) { text.parse().map(Self::Address) } else { text.parse().map(Self::Named) }
    }
}

impl std::fmt::Display for Somebody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Named(name) => name.fmt(f),
        }
    }
}

/// An environment in names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The project's name.
    pub project: Name,
    /// What it is called.
    pub name: Name,
    /// The provider's name.
    pub provider: Name,
    /// The tier's name.
    pub tier: Name,
    /// What kind of thing it is.
    pub kind: Kind,
    /// What it is used for.
    pub scenario: Option<Scenario>,
    /// Who answers for it.
    pub owner: Option<Somebody>,
    /// Who confirms the key points.
    pub checker: Option<Somebody>,
    /// Who gets copies.
    pub watchers: BTreeSet<Somebody>,
    /// How much hangs on it.
    pub priority: Priority,
    /// Its labels.
    pub labels: Labels,
    /// Its own reminder steps.
    pub steps: Option<Steps>,
    /// What else there is to know.
    pub note: Note,
}

impl Description {
    /// Reads an environment from texts by the names of the import's columns; forms use the same names. Everything that is wrong
    /// is noted under its name.
    pub fn parse<'a>(text: &dyn Fn(&str) -> &'a str, errors: &mut FieldErrors) -> Option<Self> {
        let count = errors.0.len();
        let filled = |name: &str| Some(text(name)).filter(|value| !value.trim().is_empty());
        let project = errors.take("project", text("project").parse());
        let name = errors.take("name", text("name").parse());
        let provider = errors.take("provider", text("provider").parse());
        let tier = errors.take("tier", text("tier").parse());
        let kind = filled("kind").map_or(Some(Kind::Instance), |value| errors.take("kind", value.parse()));
        let scenario = filled("scenario").and_then(|value| errors.take("scenario", value.parse()));
        let owner = filled("owner").and_then(|value| errors.take("owner", value.parse()));
        let checker = filled("checker").and_then(|value| errors.take("checker", value.parse()));
        let pieces = text("watchers").split([';', '；', '\n']).filter(|piece| !piece.trim().is_empty());
        let watchers: Result<BTreeSet<Somebody>, Message> = pieces.map(str::parse).collect();
        let watchers = errors.take("watchers", watchers);
        let priority =
            filled("priority").map_or(Some(Priority::Normal), |value| errors.take("priority", value.parse()));
        let labels = errors.take("labels", text("labels").parse());
        let steps = errors.take("steps", filled("steps").map(str::parse::<Steps>).transpose());
        let note = errors.take("note", text("note").parse());
        let description = Self {
            project: project?,
            name: name?,
            provider: provider?,
            tier: tier?,
            kind: kind?,
            scenario,
            owner,
            checker,
            watchers: watchers?,
            priority: priority?,
            labels: labels?,
            steps: steps?,
            note: note?,
        };
        (errors.0.len() == count).then_some(description)
    }

    /// Everybody whom it names, with the field.
    pub fn people(&self) -> impl Iterator<Item = (&'static str, &Somebody)> {
        let watchers = self.watchers.iter().map(|somebody| ("watchers", somebody));
        self.owner.iter().map(|it| ("owner", it)).chain(self.checker.iter().map(|it| ("checker", it))).chain(watchers)
    }

    /// What it names and the ledger does not know: it would be made with it. What cannot be made is an error of its field.
    pub async fn missing(&self, tx: &mut Tx) -> Result<Missing> {
        let (mut missing, mut errors) = (Missing::default(), FieldErrors::new());
        match project::find_by_name(tx.connection(), &self.project).await? {
            Some(project) if tx.actor().may(Permission::Operate, Some(project.id)) => {}
            None if tx.actor().may(Permission::Administer, None) => missing.add_project(&self.project),
            Some(_) => errors.add("project", Message::new("error-forbidden")),
            None => errors.add("project", Message::new("error-project-unknown").with("name", &self.project)),
        }
        match provider::find_by_name(tx.connection(), &self.provider).await? {
            None => {
                missing.add_provider(&self.provider);
                missing.add_tier(&self.provider, &self.tier);
            }
            Some(provider) => {
                if tier::find_by_name(tx.connection(), provider.id, &self.tier).await?.is_none() {
                    missing.add_tier(&self.provider, &self.tier);
                }
            }
        }
        for (field, somebody) in self.people() {
            match find(tx.connection(), somebody).await {
                Ok(Some(_)) => {}
                Ok(None) => missing.add_person(somebody),
                Err(Error::Invalid(more)) => more.0.into_iter().for_each(|error| errors.add(field, error.message)),
                Err(error) => return Err(error),
            }
        }
        errors.check()?;
        Ok(missing)
    }

    /// The same in ids; what is missing is made.
    pub async fn resolve(&self, tx: &mut Tx) -> Result<(ProjectId, Facts)> {
        let project = project::find_or_add(tx, self.project.clone()).await?;
        let provider = provider::find_or_add(tx, self.provider.clone()).await?;
        let tier = tier::find_or_add(tx, provider.id, self.tier.clone()).await?;
        let mut facts = Facts {
            kind: self.kind,
            scenario: self.scenario,
            priority: self.priority,
            labels: self.labels.clone(),
            steps: self.steps.clone(),
            note: self.note.clone(),
            ..Facts::named(self.name.clone(), provider.id, tier.id)
        };
        for (field, somebody) in self.people() {
            let person = find_or_add(tx, somebody).await?;
            match field {
                "owner" => facts.owner_id = Some(person),
                "checker" => facts.checker_id = Some(person),
                _ => facts.watchers.push(person),
            }
        }
        Ok((project.id, facts))
    }
}

/// The person, where the ledger knows one. A name that nobody or more than one has is refused.
pub(super) async fn find(connection: &mut PgConnection, somebody: &Somebody) -> Result<Option<Person>> {
    match somebody {
        Somebody::Address(address) => person::find_by_email(connection, address).await,
        Somebody::Named(name) => {
            let mut people = person::with_name(connection, name).await?;
            if people.len() == 1 {
                return Ok(people.pop());
            }
            let message = Message::new("error-person-name").with("name", excerpt(name.as_str()));
            Err(Error::invalid("", message))
        }
    }
}

async fn find_or_add(tx: &mut Tx, somebody: &Somebody) -> Result<PersonId> {
    if let Some(person) = find(tx.connection(), somebody).await? {
        return Ok(person.id);
    }
    let Somebody::Address(address) = somebody else { return Err(Error::NotFound) };
    let new = NewPerson::addressed(address).map_err(|message| Error::invalid("owner", message))?;
    Ok(person::find_or_add(tx, new).await?.id)
}

/// What would be made with an environment or a file of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Projects by the key of their names; two rows may write one name in two ways.
    pub projects: BTreeMap<String, Name>,
    /// Providers by the key of their names.
    pub providers: BTreeMap<String, Name>,
    /// Tiers as provider and name, by the keys of both.
    pub tiers: BTreeMap<[String; 2], [Name; 2]>,
    /// People by address.
    pub people: BTreeSet<String>,
}

impl Missing {
    /// Whether everything is known already.
    pub fn is_empty(&self) -> bool {
        self.projects.is_empty() && self.providers.is_empty() && self.tiers.is_empty() && self.people.is_empty()
    }

    /// Takes in what another row would make.
    pub(super) fn merge(&mut self, other: &Self) {
        other.projects.values().for_each(|name| self.add_project(name));
        other.providers.values().for_each(|name| self.add_provider(name));
        other.tiers.values().for_each(|[provider, name]| self.add_tier(provider, name));
        self.people.extend(other.people.iter().cloned());
    }

    fn add_project(&mut self, name: &Name) {
        self.projects.entry(name_key(name.as_str())).or_insert_with(|| name.clone());
    }

    fn add_provider(&mut self, name: &Name) {
        self.providers.entry(name_key(name.as_str())).or_insert_with(|| name.clone());
    }

    fn add_tier(&mut self, provider: &Name, name: &Name) {
        let key = [provider, name].map(|name| name_key(name.as_str()));
        self.tiers.entry(key).or_insert_with(|| [provider.clone(), name.clone()]);
    }

    fn add_person(&mut self, somebody: &Somebody) {
        self.people.insert(somebody.to_string().to_lowercase());
    }

    /// What a person agreed to: the same things, the same mark. Nothing is the empty mark.
    pub fn mark(&self) -> String {
        self.lines().iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    /// One line for each thing, for people.
    pub fn lines(&self) -> Vec<Message> {
        let projects = self.projects.values().map(|name| Message::new("missing-project").with("name", name));
        let providers = self.providers.values().map(|name| Message::new("missing-provider").with("name", name));
        let tiers = self.tiers.values();
        let tiers =
            tiers.map(|[provider, name]| Message::new("missing-tier").with("name", name).with("provider", provider));
        let people = self.people.iter().map(|address| Message::new("missing-person").with("address", address));
        projects.chain(providers).chain(tiers).chain(people).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(pairs: &[(&str, &str)]) -> Result<Description, Vec<(String, &'static str)>> {
        let pairs: Vec<(String, String)> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut errors = FieldErrors::new();
        let text = |name: &str| pairs.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        let description = Description::parse(&text, &mut errors);
        description
            .ok_or_else(|| errors.0.into_iter().map(|error| (error.field.into_owned(), error.message.key)).collect())
    }

    #[test]
    fn four_names_are_enough() {
        let description =
            parse(&[("project", "竹简"), ("name", "预训练"), ("provider", "苇塘云"), ("tier", "H800")]).unwrap();
        assert_eq!((description.kind, description.priority), (Kind::Instance, Priority::Normal));
        assert!(description.owner.is_none() && description.watchers.is_empty() && description.steps.is_none());
    }

    // case R08, case E07, case I16
    #[test]
    fn everything_that_is_wrong_is_noted_at_once() {
        let errors = parse(&[
            ("project", "  "),
            ("name", "a\r\nBcc: x@evil"),
            ("provider", "A\0B"),
            ("tier", "H800"),
            ("scenario", "gaming"),
            ("owner", "x@"),
            ("watchers", "a@b.example; c@"),
            ("labels", "=x"),
            ("steps", "soon"),
        ])
        .unwrap_err();
        let expected = [
            ("project", "error-text-empty"),
            ("name", "error-text-line-break"),
            ("provider", "error-text-nul"),
            ("scenario", "error-scenario"),
            ("owner", "error-email"),
            ("watchers", "error-email"),
            ("labels", "error-label-key"),
            ("steps", "error-steps"),
        ];
        assert_eq!(errors, expected.map(|(field, key)| (field.to_owned(), key)));
    }
}
