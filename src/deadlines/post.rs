//! Sends what is due. Three hands work at once: one claims and writes the next batch, one sends, one books what was sent.
//!
//! Booking goes on beside the sending, so that a mail waits for its entry for as long as two bookings take at most: little is in
//! doubt when the program is killed, however large the batches are. What cannot be booked is not sent: at the first booking that
//! fails no further mail is begun.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, NaiveDate, Utc};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::attempt::{self, Attempt, Booked, Ending};
use super::claim::{self, Claim, Claimed};
use super::delivery;
use super::reminder_mail::{self, Facts, Written};
use crate::error::{Error, Result};
use crate::jobs::{Run, RunReport};
use crate::limits;
use crate::mail::{Conversation, Mailer, Outcome, Outgoing};
use crate::tx::Tx;

/// How often booking is tried while the database is away, with longer and longer waits: about three minutes, which is within the
/// lease. What was sent must not be forgotten.
const BOOKING_TRIES: u32 = 10;
const BOOKING_WAIT: Duration = Duration::from_secs(30);

/// Sends until nothing is due any more, the mail server lets nothing more through, or the run is stopped.
pub async fn deliver(run: &Run, report: &mut RunReport) -> Result<()> {
    let until = run.as_of.is_none().then(|| Instant::now() + limits::MAIL_ROUND_TIME);
    let post = Post { run, until, unbooked: CancellationToken::new() };
    if run.as_of.is_none() {
        let mut read = run.app.read(&run.actor).await?;
        let waiting = delivery::waiting(&mut read).await?;
        read.end().await?;
        // A server that refused the settings is left alone for a while, so that no account gets locked.
        if waiting.refused {
            report.skip("settings", waiting.ready);
            return Ok(());
        }
    }
    loop {
        let (ended, endings) = mpsc::channel(limits::MAIL_UNBOOKED_COUNT);
        let (sent, booked) = tokio::join!(post.send(ended), post.book(endings));
        // Without a booking nothing more was sent: its error is the cause.
        let booked = booked?;
        report.done += booked.sent;
        report.failed += booked.failed;
        let sent = sent?;
        report.skip("withdrawn", sent.cancelled);
        // What bounced led to deliveries to somebody else.
        if sent.channel == Channel::Closed || sent.batches == 0 || post.is_over() {
            return Ok(());
        }
    }
}

/// A message to be sent, or why there is none.
type Letter = Result<Outgoing, Ending>;

/// Whether more can be sent in this round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Open,
    /// The server cannot be reached or refuses the settings.
    Closed,
}

/// What one pass over the waiting deliveries came to.
struct Sent {
    batches: u32,
    /// Deliveries that had nothing to say any more.
    cancelled: i64,
    channel: Channel,
}

/// The hands. See the module's text.
struct Post<'a> {
    run: &'a Run,
    /// A tick ends here; a person's call goes on until nothing more can go.
    until: Option<Instant>,
    /// Set when a booking fails.
    unbooked: CancellationToken,
}

impl Post<'_> {
    /// No mail server is set up: mails wait in a folder.
    fn outbox(&self) -> bool {
        matches!(self.run.app.mailer, Mailer::Directory(_))
    }

    /// Whether nothing more may be begun.
    fn is_over(&self) -> bool {
        self.run.stop.is_cancelled()
            || self.unbooked.is_cancelled()
            || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Sends batch after batch until nothing is left to claim. What was claimed and not begun is given back, however it ends.
    async fn send(&self, ended: mpsc::Sender<Attempt>) -> Result<Sent> {
        let mut ready = None;
        let sent = self.send_all(&ended, &mut ready).await;
        if let Some(batch) = ready {
            self.release(&batch.into_claims()).await?;
        }
        sent
    }

    async fn send_all<'b>(&'b self, ended: &mpsc::Sender<Attempt>, ready: &mut Option<Batch<'b>>) -> Result<Sent> {
        let mut sent = Sent { batches: 0, cancelled: 0, channel: Channel::Open };
        let mut quick = false;
        while sent.channel == Channel::Open && !self.is_over() {
            let batch = match ready.take() {
                Some(batch) => batch,
                None => self.prepare().await?,
            };
            sent.cancelled += batch.cancelled;
            if batch.is_empty() {
                break;
            }
            sent.batches += 1;
            let begun = Instant::now();
            // Only where batches are quick: a lease must not run out while its batch waits for a slow one.
            let ahead = async { if quick { Some(self.prepare().await) } else { None } };
            let (channel, next) = tokio::join!(batch.send(ended), ahead);
            *ready = next.transpose()?.filter(|batch| !batch.is_empty());
            sent.channel = channel?;
            quick = begun.elapsed() < limits::MAIL_QUICK_TIME;
        }
        Ok(sent)
    }

    /// Claims a batch and writes its messages. They are kept before any of them goes out.
    async fn prepare(&self) -> Result<Batch<'_>> {
        let since = Instant::now();
        let mut tx = self.run.app.write(&self.run.actor).await?.as_of(self.run.as_of);
        trust_plans(&mut tx).await?;
        let Claimed { claims, cancelled } = claim::claim(&mut tx, self.outbox(), &self.run.worker).await?;
        let letters = self.write(&mut tx, claims).await?;
        tx.unchanged();
        tx.commit().await?;
        Ok(Batch { post: self, letters, cancelled, since, conversation: None, released: Vec::new() })
    }

    /// Gives back what was claimed and not begun.
    async fn release(&self, claims: &[Claim]) -> Result<()> {
        if claims.is_empty() {
            return Ok(());
        }
        let mut tx = self.run.app.machine(&self.run.actor).await?;
        claim::release(&mut tx, claims).await?;
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
        claim::keep(tx, &fresh).await?;
        Ok(letters)
    }

    /// Books what ended, as long as anything can end: some at once, but none waits long.
    async fn book(&self, mut endings: mpsc::Receiver<Attempt>) -> Result<Booked> {
        let mut booked = Booked::default();
        let mut ended = Vec::new();
        while let Some(first) = endings.recv().await {
            ended.push(first);
            let until = tokio::time::Instant::now() + limits::MAIL_BOOK_TIME;
            while ended.len() < limits::MAIL_BOOK_COUNT
                && let Ok(Some(next)) = timeout_at(until, endings.recv()).await
            {
                ended.push(next);
            }
            booked += self.book_some(&ended).await?;
            ended.clear();
        }
        Ok(booked)
    }

    /// Books these; where one of them spoils it for all, each by itself.
    async fn book_some(&self, ended: &[Attempt]) -> Result<Booked> {
        let error = match self.book_in_time(ended).await {
            Err(error) if ended.len() > 1 && !matches!(error, Error::Unavailable(_)) => error,
            result => return result,
        };
        tracing::warn!("will book one by one what was sent: {error}");
        let (mut booked, mut spoilt) = (Booked::default(), None);
        for attempt in ended {
            match self.book_in_time(std::slice::from_ref(attempt)).await {
                Ok(more) => booked += more,
                Err(error) => {
                    tracing::error!(delivery = %attempt.claim.id, "what came of a mail cannot be written down: {error}");
                    spoilt = Some(error);
                }
            }
        }
        spoilt.map_or(Ok(booked), Err)
    }

    /// Books these, and tries it again while the database is away.
    async fn book_in_time(&self, ended: &[Attempt]) -> Result<Booked> {
        let mut tries = 1;
        loop {
            let error = match self.book_once(ended).await {
                Ok(booked) => return Ok(booked),
                Err(error) => error,
            };
            self.unbooked.cancel();
            match error {
                Error::Unavailable(cause) if tries < BOOKING_TRIES => {
                    tracing::warn!("will book what was sent once more: {cause:#}");
                    sleep(Duration::from_secs(1 << tries).min(BOOKING_WAIT)).await;
                    tries += 1;
                }
                // The lease ends in some minutes; then others send it again.
                error => return Err(error),
            }
        }
    }

    async fn book_once(&self, ended: &[Attempt]) -> Result<Booked> {
        let mut tx = self.run.app.write(&self.run.actor).await?.as_of(self.run.as_of);
        trust_plans(&mut tx).await?;
        let booked = attempt::book(&mut tx, ended, &self.run.worker).await?;
        tx.commit().await?;
        Ok(booked)
    }
}

/// All statements of delivery find their rows by an index, a batch at a time. One plan fits all batches, and to plan each time
/// costs as much as to run; without statistics, as of a queue that was just filled, the planner would read and sort whole tables.
async fn trust_plans(tx: &mut Tx) -> Result<()> {
    let settings = "set local plan_cache_mode = force_generic_plan; set local enable_seqscan = off; set local enable_bitmapscan = off";
    sqlx::raw_sql(settings).execute(tx.connection()).await?;
    Ok(())
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
    released: Vec<Claim>,
}

impl Batch<'_> {
    /// Whether there was nothing at all to claim.
    const fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.cancelled == 0
    }

    fn into_claims(self) -> Vec<Claim> {
        self.letters.into_iter().map(|(claim, _)| claim).collect()
    }

    /// Sends, hands over what ended, gives back what was not begun, says goodbye.
    async fn send(mut self, ended: &mpsc::Sender<Attempt>) -> Result<Channel> {
        let mut channel = Channel::Open;
        // The server's word about the whole channel, which holds for the rest of the batch.
        let mut down: Option<Outcome> = None;
        for (claim, letter) in std::mem::take(&mut self.letters) {
            let app = &self.post.run.app;
            if self.post.is_over() || ended.is_closed() || self.since.elapsed() > limits::MAIL_BEGIN_TIME {
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
            let attempt = Attempt { claim, started_at, finished_at: app.clock.now(), ending };
            ended.send(attempt).await.ok();
        }
        self.post.release(&self.released).await?;
        if let Some(conversation) = self.conversation.filter(Conversation::is_alive) {
            conversation.quit().await;
        }
        Ok(channel)
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
