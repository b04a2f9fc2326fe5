//! The whole ledger as a CSV file over HTTP: how long, with how much memory, and what becomes of an export that is cut off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};

use crate::pages::ledger_time;
use crate::program::{self, Program};
use crate::ratio::{Bound, Ratio, median};
use crate::{Bench, bare};

const EXPORT: &str = "/ledger.csv";
const ROUNDS: usize = 3;

/// The whole export; gives the seconds that it took.
fn export(bench: &Bench, program: &Program) -> Result<f64> {
    let mut client = program.client()?;
    let begun = Instant::now();
    let answer = client.whole(EXPORT)?;
    let seconds = begun.elapsed().as_secs_f64();
    ensure!(answer.lines == u64::from(bench.lines) + 1, "the file has {} lines", answer.lines);
    Ok(seconds)
}

/// The formula-safe file for people over a loopback socket / `psql \copy` of the same lines.
pub fn time(bench: &Bench) -> Result<Vec<Ratio>> {
    let program = Program::serve(bench.runtime(), &bench.big()?)?;
    let rounds: Result<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            let ours = export(bench, &program)?;
            let mut psql = program::psql(program.database()?, "rentroll")?;
            let begun = Instant::now();
            program::run(bare::copy_out(&mut psql))?;
            Ok((ours, begun.elapsed().as_secs_f64()))
        })
        .collect();
    Ok(vec![Ratio {
        name: "export",
        about: "the ledger as CSV over HTTP / psql \\copy",
        bound: Bound::AtMost { goal: 1.5, guard: 2.5 },
        rounds: rounds?,
        unit: "s",
    }])
}

/// What an export takes in memory over the idle server, and what it does to those who look at a page meanwhile.
pub fn memory(bench: &Bench) -> Result<Vec<Ratio>> {
    let set = bench.big()?;
    let (mut memory, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let program = Program::serve(bench.runtime(), &set)?;
        let mut client = program.client()?;
        ledger_time(&mut client, 40)?;
        let quiet = ledger_time(&mut client, 150)?;
        program.forget_peak()?;
        let (idle, _) = program.resident()?;
        let ended = AtomicBool::new(false);
        let busy = std::thread::scope(|scope| {
            let exporting = scope.spawn(|| {
                let result = export(bench, &program);
                ended.store(true, Ordering::Release);
                result
            });
            let mut times = Vec::new();
            while !ended.load(Ordering::Acquire) {
                times.push(ledger_time(&mut client, 1)?);
            }
            exporting.join().unwrap_or_else(|_| anyhow::bail!("the export panicked"))?;
            anyhow::Ok(median(times))
        })?;
        let (_, peak) = program.resident()?;
        memory.push((peak - idle, 1.0));
        pages.push((busy, quiet));
    }
    Ok(vec![
        Ratio {
            name: "export-memory",
            about: "the server's most memory in an export, over the idle server",
            bound: Bound::AtMost { goal: 16.0, guard: 64.0 },
            rounds: memory,
            unit: "MiB",
        },
        Ratio {
            name: "export-page",
            about: "the ledger page during an export / without one",
            bound: Bound::AtMost { goal: 5.0, guard: 10.0 },
            rounds: pages,
            unit: "ms",
        },
    ])
}

/// A page after twenty exports that were cut off / before them. Any answer but 200 is an error.
pub fn abort(bench: &Bench) -> Result<Vec<Ratio>> {
    let program = Program::serve(bench.runtime(), &bench.big()?)?;
    let mut client = program.client()?;
    ledger_time(&mut client, 40)?;
    let rounds: Result<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            let before = ledger_time(&mut client, 150)?;
            for _ in 0..20 {
                let answer = program.client()?.ask(EXPORT, 1_000_000)?;
                ensure!(answer.status == 200, "an export answered {}", answer.status);
                ensure!(answer.bytes == 1_000_000, "an export had only {} bytes", answer.bytes);
            }
            Ok((ledger_time(&mut client, 150)?, before))
        })
        .collect();
    Ok(vec![Ratio {
        name: "export-abort",
        about: "the ledger page after 20 exports cut off at 1 MB / before, no error",
        bound: Bound::AtMost { goal: 1.2, guard: 2.0 },
        rounds: rounds?,
        unit: "ms",
    }])
}
