//! The reminders that a renewal brings, as its form tells them before it is sent.

use chrono::NaiveDate;

use crate::dates;
use crate::deadline::Kind;
use crate::deadlines::foresight;
use crate::environments::environment::Environment;
use crate::environments::term::NewTerm;
use crate::error::Result;
use crate::locale::Message;
use crate::tx::Read;
use crate::web::shell::Shell;

/// One sentence for each date of the term: when is told of it, and who.
pub async fn of_term(read: &mut Read, shell: &Shell, of: &Environment, term: &NewTerm) -> Result<Vec<String>> {
    let Some(ends_on) = term.ends_on else { return Ok(Vec::new()) };
    let ahead = foresight::of_environment(read, of.id).await?;
    let today = read.today();
    let renews_after = term.renews_itself().then_some(ends_on);
    let cancel_by = term.notice.map(|notice| (Kind::CancelBy, dates::cancel_by(ends_on, notice)));
    let dates = cancel_by.into_iter().chain([(Kind::Expiry, ends_on)]);
    Ok(dates.map(|(kind, on)| said(shell, &ahead, kind, on, &ahead.days(on, renews_after, today))).collect())
}

fn said(shell: &Shell, ahead: &foresight::Foresight, kind: Kind, on: NaiveDate, days: &[NaiveDate]) -> String {
    let key = match (ahead.people.is_empty(), days.is_empty()) {
        (true, _) => "preview-reminders-nobody",
        (false, true) => "preview-reminders-none",
        (false, false) => "preview-reminders",
    };
    let comma = shell.text("preview-reminders-comma");
    let days: Vec<String> = days.iter().map(ToString::to_string).collect();
    let message = Message::new(key)
        .with("kind", shell.say(&kind.words()))
        .with("date", on)
        .with("days", days.join(&comma))
        .with("people", ahead.people.join(&comma));
    shell.say(&message)
}
