//! Workers that die, and a server with every fault: nothing is lost, nothing is booked falsely, and every copy is explained.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use super::delivering::{deliveries, mailer_to};
use super::sql;
use crate::harness::smtp_sink::{At, Fault, SmtpSink};
use crate::harness::{TestApp, remind};

/// A little chance that is the same in every run of a seed.
pub(super) struct Chance(pub u64);

impl Chance {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        // xorshift64*
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % end
    }
}

fn a_fault(chance: &mut Chance) -> Option<Fault> {
    let early = [At::Greeting, At::Hello, At::Mail, At::Rcpt, At::Data][usize::try_from(chance.below(5)).unwrap()];
    match chance.below(10) {
        0 => Some(Fault::Drop(early)),
        1 => Some(Fault::code(early, 421)),
        2 => Some(Fault::code(At::Rcpt, 451)),
        3 => Some(Fault::Garbage(early)),
        4 => Some(Fault::Drop(At::Body)),
        5 => Some(Fault::Drop(At::Dot)),
        6 => Some(Fault::Twice(early)),
        7 => Some(Fault::code(At::Dot, 451)),
        _ => None,
    }
}

// check C12, short form.
#[tokio::test(flavor = "multi_thread")]
async fn with_dying_workers_and_every_fault_nothing_is_lost_and_every_copy_is_explained() {
    let seed = 0x5eed_2026_0316;
    println!("seed {seed:#x}");
    let mut chance = Chance(seed);
    let sink = SmtpSink::start().await;
    let app = TestApp::with_mailer("2026-03-16T02:00:00Z", mailer_to(&sink.url())).await;
    for i in 0..30 {
        app.open_environment(&format!("环境 {i:02}"), "2025-04-01", Some("2026-03-31")).await;
    }
    sql(&app, "update organisation set reminder_steps = '{15}'").await;
    sink.script((0..40).map(|_| a_fault(&mut chance)));
    let mut other = app.another(app.app.mailer.clone(), None).await;
    let mut killed = 0;
    for round in 0.. {
        assert!(round < 200, "still not done: {:?}", deliveries(&app).await);
        let engine = if round % 2 == 0 { app.app.clone() } else { other.clone() };
        let mut worker = tokio::spawn(async move { remind(&engine, None).await });
        let die_after = sink.commands().len() + usize::try_from(chance.below(40)).unwrap();
        if killed < 12 {
            while !worker.is_finished() && sink.commands().len() < die_after {
                tokio::task::yield_now().await;
            }
            if !worker.is_finished() {
                worker.abort();
                killed += 1;
            }
        }
        if let Err(ended) = (&mut worker).await {
            assert!(ended.is_cancelled(), "{ended}");
        }
        // Five minutes pass for the database, some for the program.
        sql(&app, "update delivery set lease_until = now() - interval '1 second' where state = 'leased'").await;
        app.app.clock.advance(TimeDelta::minutes(20));
        if killed >= 12 && deliveries(&app).await.iter().all(|row| row.1 == "sent") {
            break;
        }
        if round % 5 == 4 {
            other = app.another(app.app.mailer.clone(), None).await;
        }
    }
    let mut copies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for message in sink.messages() {
        copies.entry(message.message_id().to_owned()).or_default().push(message.raw);
    }
    let rows: Vec<(uuid::Uuid, i64)> = sqlx::query_as(
        "select v.id, (select count(*) from attempt a where a.delivery_id = v.id and a.outcome in ('ambiguous', 'late_finish'))
         from delivery v",
    )
    .fetch_all(&mut app.database.superuser().await)
    .await
    .unwrap();
    assert_eq!(rows.len(), 60);
    assert_eq!(copies.len(), 60, "one Message-ID each, and none without a delivery");
    let mut more = 0;
    for (id, doubtful) in rows {
        let arrived = copies
            .get(&format!("<{id}@rentroll.example>"))
            .unwrap_or_else(|| panic!("{id} is booked and did not arrive"));
        assert!(
            i64::try_from(arrived.len()).unwrap() <= 1 + doubtful,
            "{id}: {} copies, {doubtful} doubtful tries",
            arrived.len()
        );
        assert!(arrived.iter().all(|raw| *raw == arrived[0]), "{id}: copies differ");
        more += arrived.len() - 1;
    }
    println!("{killed} workers killed, {more} copies, all explained");
}
