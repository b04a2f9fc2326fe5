//! What came of every try, and what follows from it.
//!
//! The rule is [`follow`]: a failure for now is tried again for three days, a refusal is told to somebody else, wrong
//! settings change nothing about the delivery, and a message of which nobody can say whether it arrived is sent again twice
//! at most.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use uuid::Uuid;

use super::claim::Claim;
use crate::audit::{Change, Object};
use crate::error::Result;
use crate::ids::{EnvironmentId, ProjectId};
use crate::limits;
use crate::mail::{Outcome, without_addresses};
use crate::tx::Tx;

/// One try, ended.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// The delivery and its lease.
    pub claim: Claim,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: DateTime<Utc>,
    /// What came of it.
    pub ending: Ending,
}

/// What came of a try.
#[derive(Debug, Clone)]
pub enum Ending {
    /// The mail server had its say.
    Server(Outcome),
    /// No mail server is set up: the mail was written to the outbox, under this name, or could not be.
    Outbox(Outcome),
    /// The message could not be written, for this reason.
    Unwritable(String),
    /// Nothing can be sent to this address.
    Unusable(String),
}

/// Where a delivery goes from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follow {
    /// As the delivery's `state`.
    pub state: &'static str,
    /// The next try, where there is one.
    pub next_at: DateTime<Utc>,
    /// Tries that count.
    pub attempts: i32,
    /// Tries of which nobody can say whether they arrived.
    pub ambiguous: i32,
    /// The first try that failed for now.
    pub tried_since: Option<DateTime<Utc>>,
    /// As the attempt's `outcome`.
    pub outcome: &'static str,
    /// As the attempt's `phase`.
    pub phase: &'static str,
    /// What the attempt keeps as the reply.
    pub said: String,
    /// What the delivery shows as the reply.
    pub reply: String,
}

/// The wait after so many tries: a minute, four, sixteen, at most four hours.
pub fn retry_after(attempts: i32) -> TimeDelta {
    let fourfold = 4_i32.checked_pow(u32::try_from(attempts - 1).unwrap_or(0)).unwrap_or(i32::MAX);
    limits::MAIL_RETRY_FIRST.checked_mul(fourfold).unwrap_or(limits::MAIL_RETRY_MOST).min(limits::MAIL_RETRY_MOST)
}

/// Decides what follows from a try.
pub fn follow(attempt: &Attempt) -> Follow {
    let (claim, now) = (&attempt.claim, attempt.finished_at);
    let stay = Follow {
        state: "pending",
        next_at: now,
        attempts: claim.attempts,
        ambiguous: claim.ambiguous,
        tried_since: claim.tried_since,
        outcome: "retry",
        phase: "write",
        said: String::new(),
        reply: String::new(),
    };
    let outcome = match &attempt.ending {
        Ending::Server(outcome) | Ending::Outbox(outcome) => outcome,
        Ending::Unwritable(reason) => {
            let state = if claim.attempts >= limits::MAIL_WRITE_TRIES { "dead" } else { "pending" };
            let (next_at, reason) = (now + retry_after(claim.attempts), without_addresses(reason));
            return Follow { state, next_at, said: reason.clone(), reply: reason, ..stay };
        }
        Ending::Unusable(reason) => {
            let reason = without_addresses(reason);
            return Follow { state: "bounced", outcome: "bounced", said: reason.clone(), reply: reason, ..stay };
        }
    };
    let said =
        outcome.reply().map(str::to_owned).or_else(|| outcome.message().map(ToString::to_string)).unwrap_or_default();
    let stay = Follow { outcome: outcome.class(), phase: outcome.phase().word(), reply: said.clone(), said, ..stay };
    let since = claim.tried_since.unwrap_or(attempt.started_at);
    match outcome {
        Outcome::Sent { .. } if matches!(attempt.ending, Ending::Outbox(_)) => {
            Follow { attempts: claim.attempts - 1, outcome: "outbox", reply: "outbox".to_owned(), ..stay }
        }
        Outcome::Sent { .. } => Follow { state: "sent", ..stay },
        Outcome::Retry { .. } => Follow {
            state: if now - since >= limits::MAIL_RETRY_TIME { "dead" } else { "pending" },
            next_at: now + retry_after(claim.attempts),
            tried_since: Some(since),
            ..stay
        },
        Outcome::Bounced { .. } => Follow { state: "bounced", ..stay },
        Outcome::Configuration { .. } => Follow { attempts: claim.attempts - 1, ..stay },
        Outcome::Ambiguous { .. } => Follow {
            state: if claim.ambiguous >= limits::MAIL_RESENDS { "dead" } else { "pending" },
            next_at: now + limits::MAIL_AMBIGUOUS_WAIT,
            ambiguous: claim.ambiguous + 1,
            tried_since: Some(since),
            ..stay
        },
    }
}

/// What [`book`] did, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Booked {
    /// Mails that the server took.
    pub sent: i64,
    /// Tries that failed.
    pub failed: i64,
    /// Mails that wait in the outbox.
    pub outbox: i64,
}

impl std::ops::AddAssign for Booked {
    fn add_assign(&mut self, more: Self) {
        self.sent += more.sent;
        self.failed += more.failed;
        self.outbox += more.outbox;
    }
}

/// Writes down what came of some tries: the delivery's state, on the condition that the lease still holds; the attempt; for
/// what was sent an entry in the history; for what bounced a delivery to those in charge. One statement each for all.
pub async fn book(tx: &mut Tx, attempts: &[Attempt], worker: &str) -> Result<Booked> {
    let follows: Vec<(&Attempt, Follow)> = attempts.iter().map(|attempt| (attempt, follow(attempt))).collect();
    let held = finish(tx, &follows, worker).await?;
    let mut booked = Booked::default();
    for (_, follow) in follows.iter().filter(|(attempt, _)| held.contains(&attempt.claim.id)) {
        match (follow.state, follow.outcome) {
            ("sent", _) => booked.sent += 1,
            (_, "outbox") => booked.outbox += 1,
            _ => booked.failed += 1,
        }
    }
    let of = |state: &str| -> Vec<Uuid> {
        let ids = follows.iter().filter(|(_, follow)| follow.state == state).map(|(attempt, _)| attempt.claim.id);
        ids.filter(|id| held.contains(id)).collect()
    };
    escalate(tx, &of("bounced")).await?;
    record_sent(tx, &of("sent")).await?;
    tx.unchanged();
    Ok(booked)
}

/// Gives back the deliveries whose lease still held. The others were taken over by somebody else, and the attempt says so.
async fn finish(tx: &mut Tx, follows: &[(&Attempt, Follow)], worker: &str) -> Result<Vec<Uuid>> {
    let text =
        |of: fn(&Follow) -> &str| -> Vec<String> { follows.iter().map(|(_, follow)| of(follow).to_owned()).collect() };
    let ids: Vec<Uuid> = follows.iter().map(|(attempt, _)| attempt.claim.id).collect();
    let tokens: Vec<Uuid> = follows.iter().map(|(attempt, _)| attempt.claim.token).collect();
    let next_at: Vec<DateTime<Utc>> = follows.iter().map(|(_, follow)| follow.next_at).collect();
    let tries: Vec<i32> = follows.iter().map(|(_, follow)| follow.attempts).collect();
    let ambiguous: Vec<i32> = follows.iter().map(|(_, follow)| follow.ambiguous).collect();
    let since: Vec<Option<DateTime<Utc>>> = follows.iter().map(|(_, follow)| follow.tried_since).collect();
    let started: Vec<DateTime<Utc>> = follows.iter().map(|(attempt, _)| attempt.started_at).collect();
    let finished: Vec<DateTime<Utc>> = follows.iter().map(|(attempt, _)| attempt.finished_at).collect();
    let held = sqlx::query_scalar!(
        r#"with ended as (
               select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::timestamptz[], $5::integer[], $6::integer[],
                                    $7::timestamptz[], $8::text[], $9::text[], $10::text[], $11::text[], $12::timestamptz[],
                                    $13::timestamptz[])
                   as t (id, token, state, next_at, attempts, ambiguous, tried_since, reply, outcome, phase, said, started_at,
                         finished_at)
           ), held as (
               update delivery v
               set state = t.state, next_at = t.next_at, attempts = t.attempts, ambiguous = t.ambiguous,
                   tried_since = t.tried_since, reply = t.reply, lease_token = null, lease_until = null,
                   sent_at = case when t.state = 'sent' then t.finished_at end
               from ended t
               where v.id = t.id and v.lease_token = t.token
               returning v.id
           ), logged as (
               insert into attempt (project_id, delivery_id, worker, started_at, finished_at, phase, outcome, reply)
               select v.project_id, t.id, $14, t.started_at, t.finished_at, t.phase,
                      case when h.id is null then 'late_finish' else t.outcome end, t.said
               from ended t join delivery v on v.id = t.id left join held h on h.id = t.id
               -- The answer to a commit was lost, and this is the second booking of the same.
               where not exists (select 1 from attempt a
                                 where a.delivery_id = t.id and a.worker = $14 and a.started_at = t.started_at)
               order by t.finished_at
           )
           select id from held"#,
        &ids,
        &tokens,
        &text(|follow| follow.state),
        &next_at,
        &tries,
        &ambiguous,
        &since as &[Option<DateTime<Utc>>],
        &text(|follow| &follow.reply),
        &text(|follow| follow.outcome),
        &text(|follow| follow.phase),
        &text(|follow| &follow.said),
        &started,
        &finished,
        worker,
    )
    .fetch_all(tx.connection())
    .await?;
    Ok(held)
}

/// Tells those in charge of what bounced: the project's managers; where there are none, or where their own mail bounced, the
/// administrators. Each once.
async fn escalate(tx: &mut Tx, bounced: &[Uuid]) -> Result<()> {
    if bounced.is_empty() {
        return Ok(());
    }
    let (now, today) = (tx.now(), tx.today());
    sqlx::query!(
        "insert into delivery (id, project_id, environment_id, person_id, escalates, run_on, next_at, created_at)
         select gen_random_uuid(), v.project_id, v.environment_id, c.person_id, root.id, $2, $3, $3
         from delivery v
         join delivery root on root.id = coalesce(v.escalates, v.id)
         cross join lateral (
             select distinct c.person_id
             from person_in_charge c
             where c.project_id = v.project_id and c.person_id not in (v.person_id, root.person_id)
               and c.reach = case when v.escalates is null and exists (
                                       select 1 from person_in_charge m
                                       where m.project_id = v.project_id and m.reach = 'manager' and m.person_id <> v.person_id)
                                  then 'manager' else 'administrator' end
         ) c
         where v.id = any ($1)
         on conflict (escalates, person_id) where escalates is not null do nothing",
        bounced,
        today,
        now,
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// One entry a mail, on its environment: to whom, about which dates. A failure is no history: its attempt tells it.
async fn record_sent(tx: &mut Tx, sent: &[Uuid]) -> Result<()> {
    if sent.is_empty() {
        return Ok(());
    }
    let rows = sqlx::query!(
        r#"select v.id, v.project_id as "project_id: ProjectId", v.environment_id as "environment_id: EnvironmentId",
                  e.name as "environment?", q.name as person, q.id as person_id, v.reply, v.escalates is not null as "escalated!",
                  coalesce((select jsonb_agg(jsonb_build_object('kind', d.kind, 'due_on', r.deadline_on, 'step', r.step)
                                             order by r.deadline_on, d.kind)
                            from reminder r join deadline d on d.id = r.deadline_id
                            where r.delivery_id = case when v.escalates is null then v.id else v.escalates end),
                           '[]') as "deadlines!"
           from delivery v
           join person q on q.id = v.person_id
           left join environment e on e.id = v.environment_id
           where v.id = any ($1) order by v.sent_at, v.id"#,
        sent,
    )
    .fetch_all(tx.connection())
    .await?;
    let mut changes = Vec::with_capacity(rows.len());
    for row in rows {
        let first = row.deadlines.get(0).cloned().unwrap_or(Value::Null);
        changes.push(Change {
            action: "reminder.sent",
            object: Object {
                kind: "environment",
                id: row.environment_id.map(|id| id.0),
                name: row.environment.clone().unwrap_or_default(),
                project: row.project_id,
                shared: false,
            },
            before: None,
            after: json!({
                "delivery": row.id, "person": row.person, "person_id": row.person_id, "escalated": row.escalated,
                "due_on": first["due_on"], "step": first["step"], "count": row.deadlines.as_array().map_or(0, Vec::len),
                "deadlines": row.deadlines, "reply": row.reply,
            }),
        });
    }
    tx.record_changes(changes).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locale::Message;
    use crate::mail::Phase;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes)
    }

    fn attempt(attempts: i32, since: Option<i64>, now: i64, ending: Ending) -> Attempt {
        let claim = Claim {
            id: Uuid::nil(),
            token: Uuid::nil(),
            project: None,
            address: "li@example.com".to_owned(),
            attempts,
            ambiguous: 0,
            tried_since: since.map(at),
            written: None,
        };
        Attempt { claim, started_at: at(now), finished_at: at(now), ending }
    }

    fn retry() -> Ending {
        Ending::Server(Outcome::Retry {
            phase: Phase::Rcpt,
            reply: Some("451 later".to_owned()),
            message: Message::new("mail-not-now"),
        })
    }

    #[test]
    fn the_wait_grows_fourfold_to_four_hours() {
        let minutes: Vec<i64> = (1..=7).map(|attempts| retry_after(attempts).num_minutes()).collect();
        assert_eq!(minutes, [1, 4, 16, 64, 240, 240, 240]);
        assert_eq!(retry_after(i32::MAX), limits::MAIL_RETRY_MOST);
    }

    // check C15: a server that says "later" for three days is tried once more after them.
    #[test]
    fn a_failure_for_now_is_tried_for_three_days() {
        let (mut now, mut attempts, mut since) = (0, 1, None);
        loop {
            let follow = follow(&attempt(attempts, since, now, retry()));
            assert_eq!((follow.outcome, follow.phase, follow.reply.as_str()), ("retry", "rcpt", "451 later"));
            if follow.state == "dead" {
                break;
            }
            since = Some(0);
            assert_eq!(follow.tried_since, Some(at(0)));
            now = (follow.next_at - at(0)).num_minutes();
            attempts += 1;
        }
        assert!((72 * 60..77 * 60).contains(&now), "given up after {now} minutes");
    }

    #[test]
    fn a_message_that_may_have_arrived_is_sent_again_twice_at_most() {
        let ambiguous = || {
            Ending::Server(Outcome::Ambiguous {
                phase: Phase::Body,
                reply: None,
                message: Message::new("mail-ambiguous").with("server", "mail.palmfan.example"),
            })
        };
        let mut states = Vec::new();
        for before in 0..3 {
            let mut attempt = attempt(before + 1, None, 0, ambiguous());
            attempt.claim.ambiguous = before;
            let follow = follow(&attempt);
            assert_eq!((follow.ambiguous, follow.next_at), (before + 1, at(10)));
            states.push(follow.state);
        }
        assert_eq!(states, ["pending", "pending", "dead"]);
    }

    #[test]
    fn wrong_settings_and_the_outbox_cost_no_try() {
        let settings = Ending::Server(Outcome::Configuration {
            phase: Phase::Auth,
            reply: Some("535 no".to_owned()),
            message: Message::new("mail-sign-in-refused"),
        });
        let refused = follow(&attempt(1, None, 0, settings));
        assert_eq!((refused.state, refused.outcome, refused.attempts), ("pending", "configuration", 0));
        let kept = follow(&attempt(1, None, 0, Ending::Outbox(Outcome::Sent { reply: "a.eml".to_owned() })));
        assert_eq!((kept.state, kept.outcome, kept.attempts), ("pending", "outbox", 0));
        assert_eq!((kept.reply.as_str(), kept.said.as_str()), ("outbox", "a.eml"));
    }

    #[test]
    fn what_cannot_be_written_is_given_up_after_ten_tries() {
        let unwritable = |attempts| follow(&attempt(attempts, None, 0, Ending::Unwritable("why".to_owned())));
        assert_eq!(unwritable(9).state, "pending");
        assert_eq!((unwritable(10).state, unwritable(10).reply.as_str()), ("dead", "why"));
    }
}
