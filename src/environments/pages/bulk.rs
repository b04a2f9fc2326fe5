//! Changing many environments: chosen on the list, looked at, then changed at once.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::fields::{Offers, choices};
use crate::app::App;
use crate::environments::bulk::{self, FIELDS, Line, Outcome, Picks, Wanted};
use crate::environments::environment::{Environment, Priority, Status};
use crate::environments::roll::EnvironmentFilter;
use crate::error::{Error, FieldErrors, Result};
use crate::ids::EnvironmentId;
use crate::limits;
use crate::locale::Message;
use crate::tx::Read;
use crate::web::forms::{Fields, FormState};
use crate::web::page::{own_path, page, page_with, see};
use crate::web::query::{self, Query};
use crate::web::shell::Shell;

/// The form; after the first sending with what it would do to each.
#[derive(Template)]
#[template(path = "environments/bulk_form.html")]
struct BulkForm {
    shell: Shell,
    form: FormState,
    offers: Offers,
    /// What would become of each of those chosen; only the environment where nothing was asked yet.
    lines: Vec<(Environment, Option<Outcome>)>,
    /// Where some were changed meanwhile: which.
    stale: Option<Message>,
}

impl BulkForm {
    async fn of(
        read: &mut Read,
        shell: Shell,
        form: FormState,
        lines: Vec<(Environment, Option<Outcome>)>,
    ) -> Result<Self> {
        let offers = Offers::read(read, &shell).await?;
        Ok(Self { offers, shell, form, lines, stale: None })
    }

    fn priorities(&self) -> Vec<(&'static str, String)> {
        choices(&self.shell, Priority::ALL, Priority::as_str, Priority::words)
    }

    /// Where the list is that it was chosen from.
    fn back(&self) -> String {
        self.shell.href(own_path(self.form.value("back")))
    }

    /// Whether it can be chosen: what is refused is not sent along.
    fn can_be_chosen(&self, environment: &Environment, outcome: Option<&Outcome>) -> bool {
        let fits = self.shell.may_operate(&environment.project_id) && environment.status == Status::Active;
        fits && !matches!(outcome, Some(Outcome::Refused(_)))
    }

    /// How many would change.
    fn changing(&self) -> usize {
        self.lines.iter().filter(|(_, outcome)| matches!(outcome, Some(Outcome::Changes(_)))).count()
    }

    /// One line for each fact that would change.
    fn differences(&self, before: &Environment, after: &Environment) -> Vec<String> {
        let facts = |environment: &Environment| {
            let steps = environment.reminder_steps.as_ref().map(ToString::to_string).unwrap_or_default();
            [
                ("env-col-owner", environment.owner.clone().unwrap_or_default()),
                ("env-col-checker", environment.checker.clone().unwrap_or_default()),
                ("env-col-priority", self.shell.say(&environment.priority.words())),
                ("env-col-labels", environment.labels.to_string()),
                ("env-col-steps", steps),
            ]
        };
        let shown = |value: String| if value.is_empty() { "—".to_owned() } else { value };
        let pairs = facts(before).into_iter().zip(facts(after)).filter(|(before, after)| before != after);
        pairs
            .map(|((label, before), (_, after))| {
                let message = Message::new("bulk-difference").with("field", self.shell.text(label));
                self.shell.say(&message.with("before", shown(before)).with("after", shown(after)))
            })
            .collect()
    }
}

/// What is chosen: fields like `pick-12`, each with the version that was looked at.
fn picks<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Result<Picks> {
    let mut picks = Picks::new();
    for (name, value) in fields {
        let Some(id) = name.strip_prefix("pick-") else { continue };
        let refused = || Error::invalid("", Message::new("error-version"));
        let id = EnvironmentId(id.parse().map_err(|_| refused())?);
        picks.insert(id, value.trim().parse().map_err(|_| refused())?);
    }
    if picks.len() > limits::BULK_ENVIRONMENTS {
        return Err(Error::invalid("", bulk::too_many()));
    }
    Ok(picks)
}

/// What was looked at: the same words in the same fields.
fn mark(fields: &Fields) -> String {
    FIELDS.iter().map(|name| fields.get(name).trim()).collect::<Vec<_>>().join(" | ")
}

/// The form for what is ticked on the list; where nothing is, for all that match its filter.
pub(super) async fn form(
    State(app): State<App>,
    shell: Shell,
    Query(asked): Query<BTreeMap<String, String>>,
) -> Result<Response> {
    let (ticked, rest): (Vec<_>, Vec<_>) = asked.into_iter().partition(|(name, _)| name.starts_with("pick-"));
    let filter: EnvironmentFilter = query::from_pairs(rest)?;
    let mut read = app.read(&shell.actor).await?;
    let mut picks = picks(ticked.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
    if picks.is_empty() {
        picks = bulk::matching(&mut read, &filter).await?;
    }
    let lines = bulk::chosen(&mut read, &picks).await?.into_iter().map(|environment| (environment, None)).collect();
    let form = FormState::new(Fields::new().with("back", format!("/environments{}", filter.query())));
    let template = BulkForm::of(&mut read, shell, form, lines).await?;
    read.end().await?;
    page(&template)
}

/// Looks at what the form would do, or, where exactly this was looked at and confirmed, does it.
pub(super) async fn change(State(app): State<App>, shell: Shell, fields: Fields) -> Result<Response> {
    let picks = picks(fields.iter())?;
    let confirmed = fields.get("do") == "change" && fields.get("seen") == mark(&fields);
    let refused = if confirmed {
        match changed(&app, &shell, &fields, &picks).await {
            Ok(()) => return Ok(see(&shell.base, own_path(fields.get("back")))),
            Err(error @ (Error::Invalid(_) | Error::Conflict(_))) => Some(error),
            Err(error) => return Err(error),
        }
    } else {
        None
    };
    looked_at(&app, shell, fields, &picks, refused).await
}

/// The form with what it would do to each, and why it was refused, where it was.
async fn looked_at(app: &App, shell: Shell, fields: Fields, picks: &Picks, refused: Option<Error>) -> Result<Response> {
    let mut read = app.read(&shell.actor).await?;
    let (lines, errors) = match looked(&mut read, &shell, &fields, picks).await {
        Ok(lines) => (lines.into_iter().map(|line| (line.before, Some(line.outcome))).collect(), FieldErrors::new()),
        Err(Error::Invalid(errors)) => {
            (bulk::chosen(&mut read, picks).await?.into_iter().map(|it| (it, None)).collect(), errors)
        }
        Err(error) => return Err(error),
    };
    let wrong = !errors.is_empty();
    let seen = if wrong { String::new() } else { mark(&fields) };
    let form = FormState::again(fields.with("seen", seen), errors);
    let mut template = BulkForm::of(&mut read, shell, form, lines).await?;
    read.end().await?;
    match refused {
        Some(Error::Conflict(message)) => {
            template.stale = Some(message);
            page_with(StatusCode::CONFLICT, &template)
        }
        Some(Error::Invalid(errors)) => {
            template.form = template.form.with_errors(errors);
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &template)
        }
        _ if wrong => page_with(StatusCode::UNPROCESSABLE_ENTITY, &template),
        _ => page(&template),
    }
}

/// What the form would do to each.
async fn looked(read: &mut Read, shell: &Shell, fields: &Fields, picks: &Picks) -> Result<Vec<Line>> {
    if picks.is_empty() {
        return Err(Error::invalid("", Message::new("error-bulk-none")));
    }
    let wanted = Wanted::parse(&|name| fields.get(name))?;
    bulk::preview(read, &shell.actor, picks, &wanted).await
}

async fn changed(app: &App, shell: &Shell, fields: &Fields, picks: &Picks) -> Result<()> {
    if picks.is_empty() {
        return Err(Error::invalid("", Message::new("error-bulk-none")));
    }
    let wanted = Wanted::parse(&|name| fields.get(name))?;
    let mut tx = app.write(&shell.because(fields)?).await?;
    if tx.sent_before(fields.submit_id()?).await?.is_none() {
        bulk::apply(&mut tx, picks, &wanted).await?;
        tx.sent(fields.submit_id()?, own_path(fields.get("back"))).await?;
    }
    tx.commit().await
}
