//! Five thousand reminders that wait to be sent, from the outbox to the mail server by the job itself: claimed, written, sent,
//! booked, recorded. The clock runs from the job's first connection until it has booked everything and ended.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::data::{Database, Wanted};
use crate::program::{self, rentroll};
use crate::ratio::{Bound, Ratio};
use crate::sink::Sink;
use crate::{Bench, bare};

/// Two people each are reminded of this many environments.
const ENVIRONMENTS: u16 = 2_500;
const MAILS: u32 = 5_000;
const DATABASE: &str = "bench_mail";
/// All environments end on the 18th of December 2026; a step is due on each of these days.
const ENDS_ON: &str = "2026-12-18";
const DAYS: [&str; 3] = ["2026-12-03", "2026-12-11", "2026-12-15"];

/// The day before: everything is planned, as in a house in use, and nothing is due yet.
const BEFORE: &str = "2026-12-02";

/// Mails a second of `rentroll jobs run reminders` / of a bare SMTP sender to the same sink.
pub fn rate(bench: &Bench) -> Result<Vec<Ratio>> {
    let set = bench.set("reminders", Wanted { lines: 0, environments: ENVIRONMENTS, ends_on: ENDS_ON })?;
    let database = Database::open(bench.runtime(), &set)?;
    database.copy(DATABASE)?;
    let sink = Sink::start()?;
    let url = database.url(DATABASE)?;
    let remind = |day| {
        let mut job = rentroll();
        job.args(["jobs", "run", "reminders", "--json", "--as-of", day]);
        job.env("DATABASE_URL", &url).env("RENTROLL_DATA_DIR", &set.dir);
        job.env("RENTROLL_SMTP_URL", format!("smtp://{}", sink.address));
        job.env("RENTROLL_MAIL_FROM", "Rentroll <ledger@example.com>");
        job.env("RENTROLL_PUBLIC_URL", "https://ledger.example.com");
        program::run(&mut job)
    };
    let printed = remind(BEFORE)?;
    ensure!(sink.taken().0 == 0, "a mail arrived too early; the job said {printed}");
    database.execute(DATABASE, &["vacuum analyze"])?;
    let mut rounds = Vec::new();
    for day in DAYS {
        sink.called_at();
        let printed = remind(day)?;
        let begun = sink.called_at().context("the job connected")?;
        let ours = f64::from(MAILS) / begun.elapsed().as_secs_f64();
        let (taken, _) = sink.taken();
        ensure!(taken == MAILS, "{taken} mails arrived; the job said {printed}");
        let message = sink.latest();
        // One connection, as the job has.
        let begun = Instant::now();
        bare::send_mails(sink.address, &message, MAILS, 1)?;
        let other = f64::from(MAILS) / begun.elapsed().as_secs_f64();
        let (taken, _) = sink.taken();
        ensure!(taken == MAILS, "{taken} bare mails arrived");
        rounds.push((ours, other));
    }
    database.execute("postgres", &[&format!("drop database {DATABASE}")])?;
    Ok(vec![Ratio {
        name: "mail",
        about: "reminders claimed, written, sent and recorded / bare mails to the same sink",
        bound: Bound::AtLeast { goal: 0.3, guard: 0.05 },
        rounds,
        unit: "a second",
    }])
}
