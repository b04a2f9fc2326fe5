//! A file compared with the ledger: what each row would do, what would be made, what is wrong. And the writing of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::columns::Column;
use super::read::{Line, Parsed, same};
use super::{RowError, Summary};
use crate::environments::description::{Description, Missing};
use crate::environments::environment::{self, Status};
use crate::environments::term::{self, NewTerm};
use crate::environments::term_row::{self, TermRow};
use crate::error::{Error, Result};
use crate::ids::{EnvironmentId, ProjectId};
use crate::locale::Message;
use crate::text::{excerpt, name_key};
use crate::tx::Tx;

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The ledger does not have the term yet.
    New,
    /// The ledger has it just so.
    Known,
}

impl State {
    /// How a page calls it.
    pub const fn words(self) -> Message {
        Message::new(match self {
            Self::New => "import-row-new",
            Self::Known => "import-row-known",
        })
    }
}

/// A file compared with the ledger.
pub(super) struct Plan<'a> {
    groups: Vec<Group<'a>>,
    missing: Missing,
    errors: Vec<RowError>,
    states: BTreeMap<usize, State>,
}

/// The new terms of one environment.
struct Group<'a> {
    description: &'a Description,
    status: Status,
    /// The environment, where the ledger has it.
    environment: Option<EnvironmentId>,
    terms: Vec<&'a NewTerm>,
}

/// Compares a file with the ledger. Reads only.
pub(super) async fn make<'a>(tx: &mut Tx, parsed: &'a Parsed) -> Result<Plan<'a>> {
    let ledger = ledger(tx, parsed).await?;
    let mut by_environment: BTreeMap<(String, String), Vec<&Line>> = BTreeMap::new();
    for line in &parsed.lines {
        by_environment.entry(line.key()).or_default().push(line);
    }
    let mut plan = Plan {
        groups: Vec::new(),
        missing: Missing::default(),
        errors: parsed.errors.clone(),
        states: BTreeMap::new(),
    };
    let mut checked = HashMap::new();
    for (key, mut lines) in by_environment {
        lines.sort_by_key(|line| line.term.starts_on);
        let known = ledger.get(&key).map_or(&[][..], Vec::as_slice);
        plan.check_names(tx, parsed, lines[0], &mut checked).await?;
        let terms = plan.compare(parsed, &lines, known);
        if !terms.is_empty() {
            let (description, status) = (&lines[0].description, lines[0].status);
            let environment = known.first().map(|row| row.environment_id);
            plan.groups.push(Group { description, status, environment, terms });
        }
    }
    plan.errors.sort_by_key(|error| error.row);
    Ok(plan)
}

/// What the ledger has of the file's environments.
async fn ledger(tx: &mut Tx, parsed: &Parsed) -> Result<HashMap<(String, String), Vec<TermRow>>> {
    let (projects, names): (Vec<String>, Vec<String>) =
        parsed.lines.iter().map(Line::key).collect::<BTreeSet<_>>().into_iter().unzip();
    let mut ledger: HashMap<_, Vec<TermRow>> = HashMap::new();
    for row in term_row::of_names(tx.connection(), &projects, &names).await? {
        ledger.entry((name_key(&row.project), row.name.clone())).or_default().push(row);
    }
    Ok(ledger)
}

/// What the check of a row's names came to, so that a name that stands in a thousand rows is looked up once.
type Checked = HashMap<Vec<String>, std::result::Result<Missing, Vec<(String, Message)>>>;

impl<'a> Plan<'a> {
    /// Notes what the environment's names would make, or why they cannot.
    async fn check_names(&mut self, tx: &mut Tx, parsed: &Parsed, line: &Line, checked: &mut Checked) -> Result<()> {
        let names = [Column::Project, Column::Provider, Column::Tier, Column::Owner, Column::Checker, Column::Watchers];
        let key: Vec<String> = names.iter().map(|column| line.value(*column)).collect();
        if !checked.contains_key(&key) {
            let found = match line.description.missing(tx).await {
                Ok(missing) => Ok(missing),
                Err(Error::Invalid(errors)) => {
                    Err(errors.0.into_iter().map(|error| (error.field.into_owned(), error.message)).collect())
                }
                Err(error) => return Err(error),
            };
            checked.insert(key.clone(), found);
        }
        match &checked[&key] {
            Ok(missing) => self.missing.merge(missing),
            Err(errors) => {
                for (field, message) in errors {
                    let column = names.into_iter().find(|column| column.name() == field).unwrap_or(Column::Project);
                    self.refuse(parsed, line, column, message.clone());
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, parsed: &Parsed, line: &Line, column: Column, message: Message) {
        let value = excerpt(&line.value(column));
        self.errors.push(RowError { row: line.row, column: parsed.heading(column), value, message });
    }

    /// The terms of one environment that are new, first to last. `lines` is in the order of the days.
    fn compare(&mut self, parsed: &Parsed, lines: &[&'a Line], known: &[TermRow]) -> Vec<&'a NewTerm> {
        let mut new = Vec::new();
        for line in lines {
            let same_day = known.iter().find(|row| row.starts_on == line.term.starts_on);
            // Against an environment that the ledger has, the row must agree on what is the environment's, and on the term's
            // too where it has one from that day.
            let of_ledger = same_day.or_else(|| known.first());
            let compared = parsed.headings.keys().filter(|column| same_day.is_some() || !column.is_of_term());
            for column in compared {
                let Some(row) = of_ledger else { break };
                let has = row.value(*column);
                if !same(*column, &has, &line.value(*column)) {
                    let message = Message::new("import-differs").with("value", excerpt(&has));
                    self.refuse(parsed, line, *column, message);
                }
            }
            let overlaps = known.iter().find(|row| {
                row.starts_on != line.term.starts_on
                    && row.starts_on <= line.term.ends_on.unwrap_or(row.starts_on)
                    && line.term.starts_on <= row.ends_on.unwrap_or(line.term.starts_on)
            });
            if let Some(row) = overlaps {
                let message = Message::new("import-overlaps").with("starts_on", row.starts_on);
                self.refuse(parsed, line, Column::StartsOn, message);
            }
            let ended = known.first().is_some_and(|row| row.status == Status::Ended);
            if ended && same_day.is_none() {
                self.refuse(parsed, line, Column::StartsOn, Message::new("import-ended"));
            }
            self.states.insert(line.row, if same_day.is_some() { State::Known } else { State::New });
            if same_day.is_none() {
                new.push(&line.term);
            }
        }
        new
    }

    /// What the import would do.
    pub(super) fn summary(&self, parsed: &Parsed) -> Summary {
        let rejected: BTreeSet<usize> = self.errors.iter().map(|error| error.row).collect();
        let rows: Vec<(usize, State)> =
            self.states.iter().filter(|(row, _)| !rejected.contains(row)).map(|(row, state)| (*row, *state)).collect();
        let count = |wanted| rows.iter().filter(|(_, state)| *state == wanted).count();
        let (rows_new, rows_known) = (count(State::New), count(State::Known));
        Summary {
            rows_read: parsed.rows_read,
            rows_new,
            rows_known,
            rows_rejected: parsed.rows_read - rows_new - rows_known,
            errors: self.errors.clone(),
            missing: self.missing.clone(),
            environments_new: self.groups.iter().filter(|group| group.environment.is_none()).count(),
            rows,
        }
    }

    /// Writes what is new.
    pub(super) async fn write(&self, tx: &mut Tx) -> Result<()> {
        for group in &self.groups {
            match group.environment {
                None => group.open(tx).await?,
                Some(id) => group.extend(tx, id).await?,
            }
        }
        Ok(())
    }
}

impl Group<'_> {
    async fn open(&self, tx: &mut Tx) -> Result<()> {
        let (project, facts) = self.description.resolve(tx).await?;
        let terms: Vec<NewTerm> = self.terms.iter().map(|term| (*term).clone()).collect();
        let last_on = terms.last().and_then(|term| term.ends_on);
        let ended_on = last_on.filter(|_| self.status == Status::Ended);
        environment::open_chain(tx, project, &facts, &terms, ended_on).await?;
        Ok(())
    }

    /// Adds terms to an environment that the ledger has.
    async fn extend(&self, tx: &mut Tx, id: EnvironmentId) -> Result<()> {
        let project: ProjectId = environment::lock(tx, id).await?.project_id;
        for new in &self.terms {
            let added = term::insert(tx, project, id, new).await?;
            tx.record("term.added", None, &added).await?;
        }
        term::renumber(tx, id).await?;
        term::follow(tx, id).await
    }
}
