//! The first page: what needs somebody today, what this month cost, what came of it, and whether the reminders run.

mod today;

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use chrono::NaiveDate;
use serde::Deserialize;

use crate::app::App;
use crate::error::Result;
use crate::filter::Whose;
use crate::locale::Message;
use crate::mail::Mailer;
use crate::web::page::page;
use crate::web::query::Query;
use crate::web::routes::{Needs, Routes};
use crate::web::shell::Shell;
use today::{Deadlines, Due, Mails, Output, Run, Spend, State as Present, Unreached};

/// The routes of the overview.
pub fn routes() -> Routes {
    Routes::new().get("/", Needs::SignIn, overview)
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Filter {
    whose: Whose,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    whose: Whose,
    today: NaiveDate,
    deadlines: Deadlines,
    unreached: Unreached,
    mails: Mails,
    mail_off: bool,
    unplaced: i64,
    spend: Vec<Spend>,
    outputs: Vec<Output>,
    present: Present,
}

async fn overview(State(app): State<App>, shell: Shell, Query(filter): Query<Filter>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let template = OverviewPage {
        whose: filter.whose,
        today: read.today(),
        deadlines: today::deadlines(&mut read, &shell.actor, filter.whose == Whose::Mine).await?,
        unreached: today::unreached(&mut read).await?,
        mails: today::mails(&mut read).await?,
        mail_off: matches!(app.mailer, Mailer::Directory(_)),
        unplaced: today::unplaced_lines(&mut read).await?,
        spend: today::spend(&mut read).await?,
        outputs: today::outputs(&mut read).await?,
        present: today::state(&mut read).await?,
        shell,
    };
    read.end().await?;
    page(&template)
}

impl OverviewPage {
    fn mine(&self) -> bool {
        self.whose == Whose::Mine
    }

    /// What a date belongs to: its environment, or the organisation.
    fn thing(&self, due: &Due) -> String {
        due.environment.as_ref().map_or_else(|| self.shell.text("overview-organisation"), |(_, name)| name.clone())
    }

    /// Why there is nothing to do, and what comes next.
    fn nothing_due(&self) -> String {
        match &self.deadlines.next {
            Some(next) => self.shell.say(
                &Message::new("empty-due")
                    .with("name", self.thing(next))
                    .with("date", self.shell.day(&next.on, &self.today)),
            ),
            None if self.mine() => self.shell.text("empty-due-mine"),
            None => self.shell.text("empty-due-none"),
        }
    }

    /// What the last run of the reminders did: in numbers for those who see every project, because the numbers are of all.
    fn last_run(&self, run: &Run) -> String {
        let key = match (run.error.is_some(), self.shell.sees_every_project()) {
            (true, true) => "strip-scheduler-error",
            (true, false) => "strip-scheduler-broken",
            (false, true) => "strip-scheduler",
            (false, false) => "strip-scheduler-ran",
        };
        self.shell.say(
            &Message::new(key)
                .with("time", self.shell.instant(&run.at))
                .with("checked", run.checked)
                .with("sent", run.sent)
                .with("failed", run.failed)
                .with("error", run.error.clone().unwrap_or_default()),
        )
    }

    /// Whether there is nothing at all yet, so that the page says where to begin.
    fn is_empty(&self) -> bool {
        !self.present.environments && !self.present.spend
    }

    fn may_operate(&self, due: &Due) -> bool {
        due.project.as_ref().is_some_and(|(project, _)| self.shell.may_operate(project))
    }
}
