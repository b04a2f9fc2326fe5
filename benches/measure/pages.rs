//! Pages: how they grow with the data, what the house costs over the bare handler, and the memory of the server.

use anyhow::Result;

use crate::client::Client;
use crate::program::Program;
use crate::ratio::{Bound, Ratio, median};
use crate::{Bench, bare};

/// The list of environments, one environment, and the ledger.
const LIST: &str = "/environments";
const ENVIRONMENT: &str = "/environments/17";
const LEDGER: &str = "/ledger";

const ROUNDS: usize = 5;
/// Requests of each side in one round.
const REQUESTS: usize = 150;
/// Requests of each side before the first round: statements are prepared and pages of the database are cached.
const WARMING: usize = 40;

/// Asks both sides in turns; gives the medians of each round, in milliseconds.
fn in_turns(ours: &mut Client, other: &mut Client, path: &str) -> Result<Vec<(f64, f64)>> {
    for _ in 0..WARMING {
        ours.time(path)?;
        other.time(path)?;
    }
    (0..ROUNDS)
        .map(|_| {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..REQUESTS {
                a.push(ours.time(path)?);
                b.push(other.time(path)?);
            }
            Ok((median(a), median(b)))
        })
        .collect()
}

/// The same pages of the program over the big and over the small data set.
pub fn growth(bench: &Bench) -> Result<Vec<Ratio>> {
    let (big, small) = (bench.big()?, bench.small()?);
    let (big, small) = (Program::serve(bench.runtime(), &big)?, Program::serve(bench.runtime(), &small)?);
    let (mut big, mut small) = (big.client()?, small.client()?);
    [("growth-list", LIST), ("growth-ledger", LEDGER), ("growth-environment", ENVIRONMENT)]
        .into_iter()
        .map(|(name, path)| {
            Ok(Ratio {
                name,
                about: "the page with many lines / with a hundredth of them",
                bound: Bound::AtMost { goal: 1.2, guard: 1.5 },
                rounds: in_turns(&mut big, &mut small, path)?,
                unit: "ms",
            })
        })
        .collect()
}

/// A page of the program over the bare handler's.
fn page(bench: &Bench, name: &'static str, path: &str, goal: f64, guard: f64) -> Result<Vec<Ratio>> {
    let program = Program::serve(bench.runtime(), &bench.big()?)?;
    let bare = bench.runtime().block_on(bare::serve(program.database()?.options.clone()))?;
    let rounds = in_turns(&mut program.client()?, &mut Client::connect(bare)?, path)?;
    let bound = Bound::AtMost { goal, guard };
    Ok(vec![Ratio { name, about: "the page / the bare handler's", bound, rounds, unit: "ms" }])
}

/// The list of environments.
pub fn list(bench: &Bench) -> Result<Vec<Ratio>> {
    page(bench, "page-list", LIST, 2.0, 3.0)
}

/// The ledger's first page, with its totals.
pub fn ledger(bench: &Bench) -> Result<Vec<Ratio>> {
    page(bench, "page-ledger", LEDGER, 2.5, 4.0)
}

/// One environment: its terms and what it cost.
pub fn environment(bench: &Bench) -> Result<Vec<Ratio>> {
    page(bench, "page-environment", ENVIRONMENT, 3.0, 5.0)
}

/// The memory of a server that has answered 2,000 requests over eight connections.
pub fn memory(bench: &Bench) -> Result<Vec<Ratio>> {
    let set = bench.small()?;
    let rounds: Result<Vec<_>> = (0..3)
        .map(|_| {
            let program = Program::serve(bench.runtime(), &set)?;
            std::thread::scope(|scope| {
                let clients: Vec<_> = (0..8).map(|_| scope.spawn(|| visit(&program, 250))).collect();
                clients
                    .into_iter()
                    .try_for_each(|client| client.join().unwrap_or_else(|_| anyhow::bail!("a client panicked")))
            })?;
            Ok((program.memory()?, 1.0))
        })
        .collect();
    Ok(vec![Ratio {
        name: "memory",
        about: "the server's own memory (PSS) after 2,000 requests, without PostgreSQL",
        bound: Bound::AtMost { goal: 40.0, guard: 80.0 },
        rounds: rounds?,
        unit: "MiB",
    }])
}

fn visit(program: &Program, times: usize) -> Result<()> {
    let mut client = program.client()?;
    for i in 0..times {
        client.whole([LIST, LEDGER, ENVIRONMENT][i % 3])?;
    }
    Ok(())
}

/// The median of so many requests for the ledger, in milliseconds.
pub fn ledger_time(client: &mut Client, times: usize) -> Result<f64> {
    let times: Result<Vec<f64>> = (0..times).map(|_| client.time(LEDGER)).collect();
    Ok(median(times?))
}
