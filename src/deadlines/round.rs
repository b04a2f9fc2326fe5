//! One round of the reminder job: plan, gather, deliver.
//!
//! Any number of rounds may run at once, on any number of instances: one of them plans, all of them deliver.

use std::collections::BTreeMap;
use std::time::Instant;

use chrono::{DateTime, NaiveDate, Utc};
use uuid::Uuid;

use super::attempt::{self, Attempt, Booked, Ending};
use super::delivery::{self, Claim, Claimed};
use super::reminder;
use super::reminder_mail::{self, Facts, Written};
use crate::error::{Error, Result};
use crate::jobs::{Run, RunReport};
use crate::limits;
use crate::mail::{Conversation, Mailer, Outcome, Outgoing};
use crate::tx::Tx;

/// A number of our own: at most one round plans at a time.
const PLANNING: i64 = 0x7265_6d69_6e64;

/// How often booking is tried again while the database is away: what was sent must not be forgotten.
const BOOKING_TRIES: u32 = 5;

/// Runs one round. With a pretended date it acts after that day's hour of sending, tries again at once what failed for now in
/// an earlier call, and returns when nothing more can go.
pub async fn run(run: Run) -> Result<RunReport> {
    let mut report = RunReport::default();
    plan(&run, &mut report).await?;
    Post { run: &run }.deliver(&mut report).await?;
    let mut read = run.app.read(&run.actor).await?;
    let waiting = delivery::waiting(&mut read).await?;
    report.skip("later", waiting.later);
    report.skip("outbox", waiting.outbox);
    read.end().await?;
    Ok(report)
}

/// Plans, withdraws, gathers: one transaction.
async fn plan(run: &Run, report: &mut RunReport) -> Result<()> {
    let mut tx = run.app.write(&run.actor).await?.as_of(run.as_of);
    if !plans_alone(&mut tx, run.as_of.is_some()).await? {
        return Ok(());
    }
    let planned = reminder::plan(&mut tx).await?;
    report.checked = planned.deadlines;
    report.skip("nobody", planned.unreachable);
    let withdrawn = delivery::withdraw(&mut tx, &run.worker).await?;
    report.skip("withdrawn", withdrawn);
    let is_time = reminder::is_time(&tx);
    let gathered = delivery::gather(&mut tx, is_time, &run.worker).await?;
    report.matched = gathered.due;
    report.skip("before_hour", gathered.held);
    report.skip("superseded", gathered.superseded);
    if run.as_of.is_some() {
        delivery::retry_now(&mut tx).await?;
    }
    // Planning is bookkeeping: the history tells what was sent.
    tx.unchanged();
    tx.commit().await
}

/// Takes the planner's place until the transaction ends. Where another round holds it, a person's call waits, a tick does not:
/// the other one does the work.
async fn plans_alone(tx: &mut Tx, waits: bool) -> Result<bool> {
    tx.take_time().await?;
    if waits {
        sqlx::query("set local lock_timeout = '60s'").execute(tx.connection()).await?;
        sqlx::query!("select pg_advisory_xact_lock($1)", PLANNING).execute(tx.connection()).await?;
        return Ok(true);
    }
    let got = sqlx::query_scalar!(r#"select pg_try_advisory_xact_lock($1) as "got!""#, PLANNING)
        .fetch_one(tx.connection())
        .await?;
    Ok(got)
}

/// A message to be sent, or why there is none.
type Letter = Result<Outgoing, Ending>;

/// Sends what is due.
struct Post<'a> {
    run: &'a Run,
}

/// Whether more can be sent in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Open,
    /// The server cannot be reached or refuses the settings.
    Closed,
}

impl Post<'_> {
    /// No mail server is set up: mails wait in a folder.
    fn outbox(&self) -> bool {
        matches!(self.run.app.mailer, Mailer::Directory(_))
    }

    async fn deliver(&self, report: &mut RunReport) -> Result<()> {
        if self.run.as_of.is_none() {
            let mut read = self.run.app.read(&self.run.actor).await?;
            let waiting = delivery::waiting(&mut read).await?;
            read.end().await?;
            // A server that refused the settings is left alone for a while, so that no account gets locked.
            if waiting.refused {
                report.skip("settings", waiting.ready);
                return Ok(());
            }
        }
        let (mut ready, mut quick) = (None, false);
        while !self.run.stop.is_cancelled() {
            let batch = match ready.take() {
                Some(batch) => batch,
                None => self.prepare().await?,
            };
            report.skip("withdrawn", batch.cancelled);
            if batch.is_empty() {
                return Ok(());
            }
            let begun = Instant::now();
            let ahead = async { if quick { Some(self.prepare().await) } else { None } };
            let (ended, next) = tokio::join!(batch.send(), ahead);
            // What this batch leads to (somebody else to tell) may have come after an empty look ahead.
            ready = next.transpose()?.filter(|batch| !batch.is_empty());
            let (booked, channel) = ended?;
            quick = begun.elapsed() < limits::MAIL_QUICK_TIME;
            report.done += booked.sent;
            report.failed += booked.failed;
            if channel == Channel::Closed {
                break;
            }
        }
        match ready {
            Some(batch) => self.release(&batch.into_claims()).await,
            None => Ok(()),
        }
    }

    /// Claims a batch and writes its messages. They are kept before any of them goes out.
    async fn prepare(&self) -> Result<Batch<'_>> {
        let since = Instant::now();
        let mut tx = self.run.app.write(&self.run.actor).await?.as_of(self.run.as_of);
        let Claimed { claims, cancelled } = delivery::claim(&mut tx, self.outbox(), &self.run.worker).await?;
        let letters = self.write(&mut tx, claims).await?;
        tx.unchanged();
        tx.commit().await?;
        Ok(Batch::new(self, since, letters, cancelled))
    }

    /// Gives back what was claimed and not begun.
    async fn release(&self, claims: &[Claim]) -> Result<()> {
        if claims.is_empty() {
            return Ok(());
        }
        let mut tx = self.run.app.machine(&self.run.actor).await?;
        delivery::release(&mut tx, claims).await?;
        tx.commit().await
    }

    /// Reads the facts and writes the messages.
    async fn write(&self, tx: &mut Tx, claims: Vec<Claim>) -> Result<Vec<(Claim, Letter)>> {
        if claims.is_empty() {
            return Ok(Vec::new());
        }
        let (now, today) = (tx.now(), tx.today());
        let ids: Vec<Uuid> = claims.iter().map(|claim| claim.id).collect();
        let facts = facts(tx, &ids, today).await?;
        let app = &self.run.app;
        let mut letters = Vec::with_capacity(claims.len());
        let mut fresh = Vec::with_capacity(claims.len());
        for claim in claims {
            let letter = match facts.get(&claim.id) {
                Some(Ok(facts)) => {
                    let link = app.public_link(&format!("/environments/{}", facts.environment_id));
                    compose(&claim, facts, today, now, link, app.mailer.domain())
                }
                Some(Err(reason)) => Err(Ending::Unwritable(reason.clone())),
                None => Err(Ending::Unwritable("there is nothing to tell any more".to_owned())),
            };
            let letter = letter.map(|(written, outgoing)| {
                if claim.written.is_none() {
                    fresh.push((claim.clone(), written));
                }
                outgoing
            });
            letters.push((claim, letter));
        }
        delivery::keep(tx, &fresh).await?;
        Ok(letters)
    }

    async fn book(&self, ended: &[Attempt]) -> Result<Booked> {
        let mut tx = self.run.app.write(&self.run.actor).await?.as_of(self.run.as_of);
        let booked = attempt::book(&mut tx, ended, &self.run.worker).await?;
        tx.commit().await?;
        Ok(booked)
    }
}

/// The facts of all; where one row spoils the query, of each by itself, so that it spoils only its own mail.
async fn facts(tx: &mut Tx, ids: &[Uuid], today: NaiveDate) -> Result<BTreeMap<Uuid, Result<Facts, String>>> {
    match reminder_mail::read(tx, ids, today).await {
        Ok(facts) => return Ok(facts.into_iter().map(|(id, facts)| (id, Ok(facts))).collect()),
        Err(error @ Error::Unavailable(_)) => return Err(error),
        Err(_) => {}
    }
    let mut all = BTreeMap::new();
    for id in ids {
        match reminder_mail::read(tx, &[*id], today).await {
            Ok(facts) => all.extend(facts.into_iter().map(|(id, facts)| (id, Ok(facts)))),
            Err(error @ Error::Unavailable(_)) => return Err(error),
            Err(error) => {
                all.insert(*id, Err(error.to_string()));
            }
        }
    }
    Ok(all)
}

/// A claimed batch being sent over one conversation.
struct Batch<'a> {
    post: &'a Post<'a>,
    letters: Vec<(Claim, Letter)>,
    /// What had nothing to say any more at the claim.
    cancelled: i64,
    /// Just before the lease began.
    since: Instant,
    conversation: Option<Conversation>,
    ended: Vec<Attempt>,
    /// When the oldest of `ended` ended.
    unbooked: Option<Instant>,
    released: Vec<Claim>,
    booked: Booked,
}

impl<'a> Batch<'a> {
    const fn new(post: &'a Post<'a>, since: Instant, letters: Vec<(Claim, Letter)>, cancelled: i64) -> Self {
        Self {
            post,
            letters,
            cancelled,
            since,
            conversation: None,
            ended: Vec::new(),
            unbooked: None,
            released: Vec::new(),
            booked: Booked { sent: 0, failed: 0, outbox: 0 },
        }
    }

    /// Whether there was nothing at all to claim.
    const fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.cancelled == 0
    }

    fn into_claims(self) -> Vec<Claim> {
        self.letters.into_iter().map(|(claim, _)| claim).collect()
    }

    /// Sends, books, gives back what was not begun, says goodbye.
    async fn send(mut self) -> Result<(Booked, Channel)> {
        let mut channel = Channel::Open;
        // The server's word about the whole channel, which holds for the rest of the batch.
        let mut down: Option<Outcome> = None;
        for (claim, letter) in std::mem::take(&mut self.letters) {
            let app = &self.post.run.app;
            if self.post.run.stop.is_cancelled() || self.since.elapsed() > limits::MAIL_BEGIN_TIME {
                self.released.push(claim);
                continue;
            }
            let started_at = app.clock.now();
            let ending = match (letter, &down) {
                (Err(ending), _) => ending,
                // Waiting until somebody changes the settings costs no try.
                (Ok(_), Some(Outcome::Configuration { .. })) => {
                    self.released.push(claim);
                    continue;
                }
                (Ok(_), Some(outcome)) => self.ending(outcome.clone()),
                (Ok(outgoing), None) => {
                    let outcome = match self.converse().await {
                        Ok(conversation) => conversation.send(&outgoing).await,
                        Err(outcome) => {
                            down = Some(outcome.clone());
                            channel = Channel::Closed;
                            outcome
                        }
                    };
                    if matches!(outcome, Outcome::Configuration { .. }) {
                        down = Some(outcome.clone());
                        channel = Channel::Closed;
                    }
                    self.ending(outcome)
                }
            };
            self.ended.push(Attempt { claim, started_at, finished_at: app.clock.now(), ending });
            let unbooked = *self.unbooked.get_or_insert_with(Instant::now);
            if self.ended.len() >= limits::MAIL_BOOK_COUNT || unbooked.elapsed() >= limits::MAIL_BOOK_TIME {
                self.book().await?;
            }
        }
        if !self.ended.is_empty() {
            self.book().await?;
        }
        self.post.release(&self.released).await?;
        if let Some(conversation) = self.conversation.filter(Conversation::is_alive) {
            conversation.quit().await;
        }
        Ok((self.booked, channel))
    }

    fn ending(&self, outcome: Outcome) -> Ending {
        if self.post.outbox() { Ending::Outbox(outcome) } else { Ending::Server(outcome) }
    }

    /// The conversation at hand, or a new one.
    async fn converse(&mut self) -> Result<&mut Conversation, Outcome> {
        if !self.conversation.as_ref().is_some_and(Conversation::is_alive) {
            self.conversation = Some(self.post.run.app.mailer.open().await?);
        }
        Ok(self.conversation.as_mut().expect("it was just opened"))
    }

    /// Writes down what ended so far.
    async fn book(&mut self) -> Result<()> {
        let mut tries = 1;
        loop {
            match self.post.book(&self.ended).await {
                Ok(booked) => {
                    self.booked.sent += booked.sent;
                    self.booked.failed += booked.failed;
                    self.booked.outbox += booked.outbox;
                    self.ended.clear();
                    self.unbooked = None;
                    return Ok(());
                }
                // The lease ends in some minutes; then others send it again.
                Err(Error::Unavailable(cause)) if tries < BOOKING_TRIES => {
                    tracing::warn!("will book what was sent once more: {cause:#}");
                    tokio::time::sleep(std::time::Duration::from_secs(1 << tries)).await;
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The message of one claim: a copy of what may have arrived, or written anew.
fn compose(
    claim: &Claim,
    facts: &Facts,
    today: NaiveDate,
    now: DateTime<Utc>,
    link: Option<String>,
    domain: &str,
) -> Result<(Written, Outgoing), Ending> {
    let written = match &claim.written {
        Some(written) => written.clone(),
        None => reminder_mail::write(facts, today, now, link).map_err(Ending::Unwritable)?,
    };
    let outgoing = reminder_mail::outgoing(&written, claim.id, facts, &claim.address, domain)
        .map_err(|message| Ending::Unusable(message.to_string()))?;
    Ok((written, outgoing))
}
