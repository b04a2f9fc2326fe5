//! What ends when, and whether people were told: the list behind the renewals page.

use chrono::{DateTime, NaiveDate, Utc};
use futures_util::{Stream, stream};
use serde::Deserialize;

use super::reminder::parse_cursor;
use crate::actor::Actor;
use crate::dates::{Renewal, days_left};
use crate::deadline::Kind;
use crate::error::Result;
use crate::filter::{Whose, one_of};
use crate::ids::{DeadlineId, EnvironmentId, ProjectId};
use crate::locale::Message;
use crate::table::{Cell, Column, Table};
use crate::tx::Read;

/// Which dates are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Window {
    /// The date has passed and nobody recorded what came of it.
    Overdue,
    /// From today, within so many days.
    Within(i32),
    /// Overdue and within 30 days: what the page shows first.
    #[default]
    Present,
    /// Every open date.
    All,
    /// In use without an end date.
    OpenEnded,
}

impl Window {
    /// All that the page offers, in its order.
    pub const ALL: [Self; 7] =
        [Self::Present, Self::Overdue, Self::Within(7), Self::Within(15), Self::Within(30), Self::All, Self::OpenEnded];

    /// As the address writes it.
    pub fn as_str(self) -> String {
        match self {
            Self::Overdue => "overdue".to_owned(),
            Self::Within(days) => days.to_string(),
            Self::Present => "present".to_owned(),
            Self::All => "all".to_owned(),
            Self::OpenEnded => "open-ended".to_owned(),
        }
    }

    /// How the page calls it.
    pub fn words(self) -> Message {
        match self {
            Self::Overdue => Message::new("due-overdue"),
            Self::Within(days) => Message::new("due-within").with("n", days),
            Self::Present => Message::new("due-present"),
            Self::All => Message::new("due-all"),
            Self::OpenEnded => Message::new("due-open-ended"),
        }
    }

    /// From which day to which, both included, as days from today.
    const fn days(self) -> (Option<i32>, Option<i32>) {
        match self {
            Self::Overdue => (None, Some(-1)),
            Self::Within(days) => (Some(0), Some(days)),
            Self::Present => (None, Some(30)),
            Self::All | Self::OpenEnded => (None, None),
        }
    }
}

/// Which dates a reader wants to see; the same for the page and its files.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DueFilter {
    /// One of [`Window`]'s words.
    pub within: Option<String>,
    /// Whose they are.
    pub whose: Whose,
    /// One project.
    pub project: Option<i64>,
    /// The page after this place.
    pub after: Option<String>,
}

impl DueFilter {
    /// The window that is asked for.
    pub fn window(&self) -> Result<Window> {
        let words = Window::ALL.map(Window::as_str);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let asked = one_of("within", self.within.as_deref(), &words)?;
        let window = asked.and_then(|asked| Window::ALL.into_iter().find(|window| window.as_str() == asked));
        Ok(window.unwrap_or_default())
    }

    /// Whether only the reader's own are shown.
    pub fn mine(&self) -> bool {
        self.whose == Whose::Mine
    }
}

/// A date with a consequence, or an environment that has none.
#[derive(Debug, Clone)]
pub struct DueRow {
    /// The deadline; none for an environment without an end date.
    pub id: Option<DeadlineId>,
    /// What happens on the date.
    pub kind: Option<Kind>,
    /// The date.
    pub due_on: Option<NaiveDate>,
    /// Days from today to the date.
    pub days_left: Option<i64>,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// Its name.
    pub environment: String,
    /// Its project.
    pub project_id: ProjectId,
    /// The project's name.
    pub project: String,
    /// Who answers for it.
    pub owner: Option<String>,
    /// What happens at the end of its term.
    pub renewal: Renewal,
    /// Mails that went out about this date.
    pub sent: i64,
    /// When the last one did.
    pub sent_at: Option<DateTime<Utc>>,
    /// The next one, if nothing happens.
    pub next_on: Option<NaiveDate>,
    /// A mail about this date was refused or given up.
    pub failed: bool,
}

impl DueRow {
    /// Where the next page begins.
    pub fn cursor(&self) -> String {
        let place = |day: NaiveDate, id: i64| format!("{day}:{id}");
        match (self.due_on, self.id) {
            (Some(day), Some(id)) => place(day, id.0),
            _ => place(NaiveDate::default(), self.environment_id.0),
        }
    }

    /// Whether its term can be renewed.
    pub fn may_renew(&self) -> bool {
        self.renewal.can_follow(self.due_on.is_some())
    }

    /// What happens if nobody does anything.
    pub fn if_nothing(&self) -> Message {
        let past = self.days_left.is_some_and(|days| days < 0);
        let automatic = self.renewal == Renewal::Automatic;
        Message::new(match (self.kind, past, automatic) {
            (None, ..) => "due-runs-on",
            (Some(Kind::Expiry), false, false) => "due-stops",
            (Some(Kind::Expiry), false, true) => "due-renews",
            (Some(Kind::Expiry), true, false) => "due-may-be-gone",
            (Some(Kind::Expiry), true, true) => "due-may-be-renewed",
            (Some(Kind::CancelBy), false, true) => "due-renews-without-notice",
            (Some(Kind::CancelBy), true, true) => "due-will-renew",
            (Some(Kind::CancelBy), _, false) => "due-notice-lapses",
        })
    }
}

/// The list as a file.
pub static TABLE: Table<DueRow> = Table {
    name: "renewals",
    title: "nav-renewals",
    columns: &[
        Column::new("environment_id", "due-environment-id", |row| row.environment_id.0.into()),
        Column::new("environment", "due-environment", |row| (&row.environment).into()),
        Column::new("project", "due-project", |row| (&row.project).into()),
        Column::new("kind", "due-kind", |row| {
            row.kind.map_or(Cell::Empty, |kind| Cell::Word { code: kind.as_str().into(), words: kind.words() })
        }),
        Column::new("due_on", "due-date", |row| row.due_on.into()),
        Column::new("days_left", "due-days-left", |row| row.days_left.into()),
        Column::new("owner", "due-owner", |row| row.owner.as_ref().into()),
        Column::new("renewal", "due-renewal", |row| Cell::Word {
            code: row.renewal.as_str().into(),
            words: row.renewal.words(),
        }),
        Column::new("mails_sent", "due-mails-sent", |row| row.sent.into()),
        Column::new("last_sent_at", "due-last-sent-at", |row| row.sent_at.into()),
        Column::new("next_mail_on", "due-next-mail-on", |row| row.next_on.into()),
    ],
};

/// How many dates lie in each window, for the page's chips, in the order of [`Window::ALL`].
pub async fn counts(read: &mut Read, actor: &Actor, filter: &DueFilter) -> Result<Vec<(Window, i64)>> {
    let (today, person) = (read.today(), actor.person.map(|person| person.0));
    let row = sqlx::query!(
        r#"with own as (
               select e.id, e.project_id from environment e
               where e.status = 'active' and ($2::bigint is null or e.project_id = $2)
                 and (not $3 or e.owner_id = $4 or e.checker_id = $4 or exists (
                     select 1 from environment_watcher w
                     where w.environment_id = e.id and w.person_id = $4 and w.ended_at is null))
           ), open as (
               select d.due_on - $1::date as days from deadline d join own on own.id = d.environment_id where d.closed is null
           )
           select count(*) filter (where days < 0) as "overdue!", count(*) filter (where days between 0 and 7) as "week!",
                  count(*) filter (where days between 0 and 15) as "fortnight!",
                  count(*) filter (where days between 0 and 30) as "month!", count(*) as "all!",
                  (select count(*) from own
                   where not exists (select 1 from deadline d where d.environment_id = own.id and d.closed is null)
                     and exists (select 1 from term t where t.environment_id = own.id and t.ends_on is null)) as "open_ended!"
           from open"#,
        today,
        filter.project,
        filter.mine(),
        person,
    )
    .fetch_one(read.connection())
    .await?;
    let count = |window| match window {
        Window::Overdue => row.overdue,
        Window::Within(7) => row.week,
        Window::Within(15) => row.fortnight,
        Window::Within(_) => row.month,
        Window::Present => row.overdue + row.month,
        Window::All => row.all,
        Window::OpenEnded => row.open_ended,
    };
    Ok(Window::ALL.into_iter().map(|window| (window, count(window))).collect())
}

/// The dates that match, soonest first, at most `limit`; without end dates, by environment.
pub async fn list(read: &mut Read, actor: &Actor, filter: &DueFilter, limit: i64) -> Result<Vec<DueRow>> {
    let after = filter.after.as_deref().map(parse_cursor).transpose()?;
    match filter.window()? {
        Window::OpenEnded => open_ended(read, actor, filter, after.map_or(0, |(_, id)| id), limit).await,
        window => dated(read, actor, filter, window, after, limit).await,
    }
}

async fn dated(
    read: &mut Read,
    actor: &Actor,
    filter: &DueFilter,
    window: Window,
    after: Option<(NaiveDate, i64)>,
    limit: i64,
) -> Result<Vec<DueRow>> {
    let (today, person) = (read.today(), actor.person.map(|person| person.0));
    let (from, to) = window.days();
    let rows = sqlx::query!(
        r#"select d.id as "id: DeadlineId", d.kind as "kind: Kind", d.due_on, e.id as "environment_id: EnvironmentId",
                  e.name as environment, e.project_id as "project_id: ProjectId", p.name as project, o.name as "owner?",
                  t.renewal as "renewal: Renewal", m.sent as "sent!", m.sent_at as "sent_at?", m.next_on as "next_on?",
                  m.failed as "failed!"
           from deadline d
           join environment e on e.id = d.environment_id
           join project p on p.id = e.project_id
           join lateral (
               select t.renewal from term t where t.environment_id = e.id and (d.term_id is null or t.id = d.term_id)
               order by t.number desc limit 1) t on true
           left join person o on o.id = e.owner_id
           cross join lateral (
               select count(distinct v.id) filter (where v.state = 'sent') as sent, max(v.sent_at) as sent_at,
                      min(r.due_on) filter (where r.withdrawn_at is null and r.delivery_id is null and r.due_on > $1) as next_on,
                      coalesce(bool_or(v.state in ('bounced', 'dead')), false) as failed
               from reminder r left join delivery v on v.id = r.delivery_id
               where r.deadline_id = d.id and r.deadline_on = d.due_on) m
           where d.closed is null and e.status = 'active'
             and ($2::integer is null or d.due_on >= $1::date + $2)
             and ($3::integer is null or d.due_on <= $1::date + $3)
             and ($4::bigint is null or e.project_id = $4)
             and (not $5 or e.owner_id = $6 or e.checker_id = $6 or exists (
                 select 1 from environment_watcher w
                 where w.environment_id = e.id and w.person_id = $6 and w.ended_at is null))
             and ($7::date is null or (d.due_on, d.id) > ($7, $8::bigint))
           order by d.due_on, d.id limit $9"#,
        today,
        from,
        to,
        filter.project,
        filter.mine(),
        person,
        after.map(|(day, _)| day),
        after.map_or(0, |(_, id)| id),
        limit,
    )
    .fetch_all(read.connection())
    .await?;
    let rows = rows.into_iter().map(|row| DueRow {
        id: Some(row.id),
        kind: Some(row.kind),
        due_on: Some(row.due_on),
        days_left: Some(days_left(today, row.due_on)),
        environment_id: row.environment_id,
        environment: row.environment,
        project_id: row.project_id,
        project: row.project,
        owner: row.owner,
        renewal: row.renewal,
        sent: row.sent,
        sent_at: row.sent_at,
        next_on: row.next_on,
        failed: row.failed,
    });
    Ok(rows.collect())
}

async fn open_ended(read: &mut Read, actor: &Actor, filter: &DueFilter, after: i64, limit: i64) -> Result<Vec<DueRow>> {
    let person = actor.person.map(|person| person.0);
    let rows = sqlx::query!(
        r#"select e.id as "id: EnvironmentId", e.name, e.project_id as "project_id: ProjectId", p.name as project,
                  o.name as "owner?", t.renewal as "renewal: Renewal"
           from environment e
           join project p on p.id = e.project_id
           join lateral (select * from term t where t.environment_id = e.id order by t.number desc limit 1) t on true
           left join person o on o.id = e.owner_id
           where e.status = 'active' and t.ends_on is null
             and not exists (select 1 from deadline d where d.environment_id = e.id and d.closed is null)
             and ($1::bigint is null or e.project_id = $1)
             and (not $2 or e.owner_id = $3 or e.checker_id = $3 or exists (
                 select 1 from environment_watcher w
                 where w.environment_id = e.id and w.person_id = $3 and w.ended_at is null))
             and e.id > $4
           order by e.id limit $5"#,
        filter.project,
        filter.mine(),
        person,
        after,
        limit,
    )
    .fetch_all(read.connection())
    .await?;
    let rows = rows.into_iter().map(|row| DueRow {
        id: None,
        kind: None,
        due_on: None,
        days_left: None,
        environment_id: row.id,
        environment: row.name,
        project_id: row.project_id,
        project: row.project,
        owner: row.owner,
        renewal: row.renewal,
        sent: 0,
        sent_at: None,
        next_on: None,
        failed: false,
    });
    Ok(rows.collect())
}

/// How many are read at once for a file.
const CHUNK: i64 = 500;

/// All that match, in batches, for a file; the place in the list is not asked.
pub fn batches(read: Read, actor: Actor, filter: DueFilter) -> impl Stream<Item = Result<Vec<DueRow>>> + Send {
    let start = Some((read, actor, DueFilter { after: None, ..filter }));
    stream::try_unfold(start, async |state| {
        let Some((mut read, actor, mut filter)) = state else { return Ok(None) };
        let rows = list(&mut read, &actor, &filter, CHUNK).await?;
        let Some(last) = rows.last() else { return Ok(None) };
        filter.after = Some(last.cursor());
        let more = i64::try_from(rows.len()).is_ok_and(|count| count == CHUNK);
        Ok(Some((rows, more.then_some((read, actor, filter)))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn programs_rely_on_these_columns() {
        TABLE.assert_is_sound();
        let names = "environment_id environment project kind due_on days_left owner renewal mails_sent last_sent_at next_mail_on";
        assert_eq!(TABLE.names(), names.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn a_window_is_found_by_its_word() {
        for window in Window::ALL {
            let filter = DueFilter { within: Some(window.as_str()), ..DueFilter::default() };
            assert_eq!(filter.window().unwrap(), window);
        }
        assert_eq!(DueFilter::default().window().unwrap(), Window::Present);
        let wrong = DueFilter { within: Some("8".to_owned()), ..DueFilter::default() };
        assert!(matches!(wrong.window(), Err(Error::Invalid(_))));
    }
}
