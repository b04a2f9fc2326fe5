//! Terms as files show them: **exactly the columns of the import, in its order**, so that the file goes back in.

use chrono::NaiveDate;
use futures_util::{Stream, stream};
use rust_decimal::Decimal;
use sqlx::PgConnection;

use crate::dates::{Cycle, Notice, Renewal, Steps};
use crate::environments::environment::{Priority, Status};
use crate::environments::import::columns::Column as Name;
use crate::environments::roll::{EnvironmentFilter, filtered};
use crate::environments::scenario::Scenario;
use crate::error::Result;
use crate::ids::{EnvironmentId, TermId};
use crate::labels::Labels;
use crate::locale::Message;
use crate::money::{self, Currency};
use crate::table::{Cell, Column, Table};
use crate::tx::Read;

/// A term with all that the import says of it and its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermRow {
    /// The term.
    pub term_id: TermId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The project's name.
    pub project: String,
    /// The environment's name.
    pub name: String,
    /// The provider's name.
    pub provider: String,
    /// The tier's name.
    pub tier: String,
    /// What it is used for.
    pub scenario: Option<Scenario>,
    /// The owner's address.
    pub owner: Option<String>,
    /// The checker's address.
    pub checker: Option<String>,
    /// The first day.
    pub starts_on: NaiveDate,
    /// The last day, included.
    pub ends_on: Option<NaiveDate>,
    /// The rhythm.
    pub cycle: Cycle,
    /// What happens at its end.
    pub renewal: Renewal,
    /// The notice.
    pub notice: Option<Notice>,
    /// Units of the tier with which the term began.
    pub quantity: Decimal,
    /// For one unit and one cycle.
    pub price: Option<Decimal>,
    /// The currency of the price.
    pub currency: Option<Currency>,
    /// The labels.
    pub labels: Labels,
    /// Whether the environment is in use.
    pub status: Status,
    /// How much hangs on it.
    pub priority: Priority,
    /// The watchers' addresses, in order.
    pub watchers: Vec<String>,
    /// Its own reminder steps.
    pub steps: Option<Steps>,
}

impl TermRow {
    /// The value of a column, as the file for programs has it.
    pub fn value(&self, column: Name) -> String {
        let text = |value: Option<String>| value.unwrap_or_default();
        match column {
            Name::Project => self.project.clone(),
            Name::Name => self.name.clone(),
            Name::Provider => self.provider.clone(),
            Name::Tier => self.tier.clone(),
            Name::Scenario => text(self.scenario.map(|it| it.as_str().to_owned())),
            Name::Owner => text(self.owner.clone()),
            Name::Checker => text(self.checker.clone()),
            Name::StartsOn => self.starts_on.to_string(),
            Name::EndsOn => text(self.ends_on.map(|day| day.to_string())),
            Name::Cycle => self.cycle.to_string(),
            Name::Renewal => self.renewal.to_string(),
            Name::Notice => text(self.notice.map(|notice| notice.to_string())),
            Name::Quantity => money::plain(self.quantity),
            Name::Price => text(self.price.map(money::plain)),
            Name::Currency => text(self.currency.as_ref().map(ToString::to_string)),
            Name::Labels => self.labels.to_string(),
            Name::Status => self.status.to_string(),
            Name::Priority => self.priority.to_string(),
            Name::Watchers => self.watchers.join(";"),
            Name::Steps => text(self.steps.as_ref().map(ToString::to_string)),
        }
    }

    /// The value of a column that is a word of a fixed set, or plain text, number or date.
    fn cell(&self, column: Name) -> Cell<'_> {
        let word = |words: Message| Cell::Word { code: self.value(column).into(), words };
        match column {
            Name::Scenario => self.scenario.map_or(Cell::Empty, |it| word(it.words())),
            Name::Cycle => match self.cycle {
                Cycle::Once | Cycle::MONTHLY | Cycle::QUARTERLY | Cycle::YEARLY => word(self.cycle.words()),
                Cycle::Months(months) => word(Message::new("env-cycle-months").with("n", i32::from(months))),
            },
            Name::Renewal => word(self.renewal.words()),
            Name::Notice => self.notice.map_or(Cell::Empty, |notice| word(notice.words())),
            Name::Status => word(self.status.words()),
            Name::Priority => word(self.priority.words()),
            Name::StartsOn => self.starts_on.into(),
            Name::EndsOn => self.ends_on.into(),
            Name::Quantity => clear(self.quantity).into(),
            Name::Price => self.price.map(clear).into(),
            _ => Some(self.value(column)).filter(|value| !value.is_empty()).into(),
        }
    }
}

/// A number as the import reads it without a question: 2.125 could be two thousand too, 2.1250 cannot.
fn clear(number: Decimal) -> Decimal {
    let mut number = number.normalize();
    if number.scale() == 3 {
        number.rescale(4);
    }
    number
}

macro_rules! select_term_row {
    ($rest:literal, $filter:expr $(, $argument:expr)*) => {
        filtered!(
            r#"select t.id as "term_id: TermId", e.id as "environment_id: EnvironmentId", j.name as project, e.name,
                      p.name as provider, g.name as tier, e.scenario as "scenario: Scenario", o.email as "owner?",
                      c.email as "checker?", t.starts_on, t.ends_on, t.cycle_months as "cycle!: Cycle",
                      t.renewal as "renewal: Renewal", t.notice_months, t.notice_days, t.quantity as "quantity: Decimal",
                      t.price as "price: Decimal", t.currency as "currency: Currency", e.labels as "labels: Labels",
                      e.status as "status: Status", e.priority as "priority: Priority", e.reminder_steps as "reminder_steps: Steps",
                      array(select w.email from environment_watcher ew join person w on w.id = ew.person_id
                            where ew.environment_id = e.id and ew.ended_at is null and w.email is not null
                            order by lower(w.email) collate "C") as "watchers!: Vec<String>"
               from term t
               join environment e on e.id = t.environment_id
               join project j on j.id = e.project_id
               join provider p on p.id = e.provider_id
               join tier g on g.id = e.tier_id
               left join person o on o.id = e.owner_id
               left join person c on c.id = e.checker_id
               "#,
            $rest,
            $filter
            $(, $argument)*
        )
        .map(|row| TermRow {
            term_id: row.term_id,
            environment_id: row.environment_id,
            project: row.project,
            name: row.name,
            provider: row.provider,
            tier: row.tier,
            scenario: row.scenario,
            owner: row.owner,
            checker: row.checker,
            starts_on: row.starts_on,
            ends_on: row.ends_on,
            cycle: row.cycle,
            renewal: row.renewal,
            notice: Notice::new(
                u16::try_from(row.notice_months).unwrap_or_default(),
                u16::try_from(row.notice_days).unwrap_or_default(),
            ),
            quantity: row.quantity.normalize(),
            price: row.price.map(|price| price.normalize()),
            currency: row.currency,
            labels: row.labels,
            status: row.status,
            priority: row.priority,
            watchers: row.watchers,
            steps: row.reminder_steps,
        })
    };
}

/// Terms that match, by environment and first day; `after` is the last one of the chunk before. At most `limit`.
pub async fn list(
    read: &mut Read,
    filter: &EnvironmentFilter,
    after: Option<(EnvironmentId, NaiveDate)>,
    limit: i64,
) -> Result<Vec<TermRow>> {
    let words = filter.words()?;
    let rows = select_term_row!(
        " and ($8::bigint is null or (e.id, t.starts_on) > ($8, $9::date)) order by e.id, t.starts_on limit $10",
        (filter, &words),
        after.map(|(id, _)| id.0),
        after.map(|(_, day)| day),
        limit
    );
    Ok(rows.fetch_all(read.connection()).await?)
}

/// All terms of the environments with these names, each in the project of which the key of the name stands in the same place; the voided are not asked.
pub(super) async fn of_names(
    connection: &mut PgConnection,
    projects: &[String],
    names: &[String],
) -> Result<Vec<TermRow>> {
    let rows = select_term_row!(
        " and (app_name_key(j.name), e.name) in (select * from unnest($8::text[], $9::text[])) order by e.id, t.starts_on",
        (&EnvironmentFilter::default(), &Vec::new()),
        projects,
        names
    );
    Ok(rows.fetch_all(connection).await?)
}

/// How many terms are read at once for a file.
const CHUNK: i64 = 1000;

/// All terms of the environments that match, in batches, for a file; the place in the list is not asked.
pub fn batches(read: Read, filter: EnvironmentFilter) -> impl Stream<Item = Result<Vec<TermRow>>> + Send {
    stream::try_unfold(Some((read, filter, None)), async |state| {
        let Some((mut read, filter, after)) = state else { return Ok(None) };
        let rows = list(&mut read, &filter, after, CHUNK).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        let place = Some((last.environment_id, last.starts_on));
        let more = i64::try_from(rows.len()).is_ok_and(|count| count == CHUNK);
        Ok(Some((rows, more.then_some((read, filter, place)))))
    })
}

/// The list as a file.
pub static TABLE: Table<TermRow> = Table {
    name: "terms",
    title: "env-terms",
    columns: &[
        Column::new("project", "env-col-project", |row| row.cell(Name::Project)),
        Column::new("name", "env-col-name", |row| row.cell(Name::Name)),
        Column::new("provider", "env-col-provider", |row| row.cell(Name::Provider)),
        Column::new("tier", "env-col-tier", |row| row.cell(Name::Tier)),
        Column::new("scenario", "env-col-scenario", |row| row.cell(Name::Scenario)),
        Column::new("owner", "env-col-owner", |row| row.cell(Name::Owner)),
        Column::new("checker", "env-col-checker", |row| row.cell(Name::Checker)),
        Column::new("starts_on", "env-col-starts-on", |row| row.cell(Name::StartsOn)),
        Column::new("ends_on", "env-col-ends-on", |row| row.cell(Name::EndsOn)),
        Column::new("cycle", "env-col-cycle", |row| row.cell(Name::Cycle)),
        Column::new("renewal", "env-col-renewal", |row| row.cell(Name::Renewal)),
        Column::new("notice", "env-col-notice", |row| row.cell(Name::Notice)),
        Column::new("quantity", "env-col-quantity", |row| row.cell(Name::Quantity)),
        Column::new("price", "env-col-price", |row| row.cell(Name::Price)),
        Column::new("currency", "env-col-currency", |row| row.cell(Name::Currency)),
        Column::new("labels", "env-col-labels", |row| row.cell(Name::Labels)),
        Column::new("status", "env-col-status", |row| row.cell(Name::Status)),
        Column::new("priority", "env-col-priority", |row| row.cell(Name::Priority)),
        Column::new("watchers", "env-col-watchers", |row| row.cell(Name::Watchers)),
        Column::new("steps", "env-col-steps", |row| row.cell(Name::Steps)),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environments::import::columns;
    use crate::locale::Locale;

    #[test]
    fn the_file_has_the_imports_columns_in_its_order() {
        TABLE.assert_is_sound();
        let names: Vec<&str> = columns::Column::ALL.iter().map(|column| column.name()).collect();
        assert_eq!(TABLE.names(), names);
        assert_eq!(
            names.join(","),
            "project,name,provider,tier,scenario,owner,checker,starts_on,ends_on,cycle,renewal,notice,quantity,price,\
             currency,labels,status,priority,watchers,steps"
        );
    }

    #[test]
    fn the_headings_of_people_go_back_in_too() {
        for locale in Locale::ALL {
            for (column, heading) in columns::Column::ALL.iter().zip(TABLE.columns) {
                let heading = locale.text(heading.heading);
                assert_eq!(columns::Column::find(&heading), Some(*column), "{heading}");
            }
        }
    }
}
