//! Pages: how they grow with the data, what the house costs over the bare handler, and the memory of the server.

use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::client::Client;
use crate::data::Database;
use crate::program::{self, Program};
use crate::ratio::{Bound, Ratio, median};
use crate::{Bench, bare};

/// The list of environments, one environment, and the ledger.
const LIST: &str = "/environments";
const ENVIRONMENT: &str = "/environments/17";
const LEDGER: &str = "/ledger";
const HISTORY: &str = "/history";
const HISTORY_OF_OLD_DAYS: &str = "/history?to=2024-11-05";
const HISTORY_OF_A_PERSON: &str = "/history?who=%E4%BA%BA%E5%91%98%2017";

const ROUNDS: usize = 5;
/// Requests of each side in one round.
const REQUESTS: usize = 150;
/// Requests of each side before the first round: statements are prepared and pages of the database are cached.
const WARMING: usize = 40;

/// Connections at once for the throughput, and requests of each.
const CALLERS: usize = 16;
const CALLS: usize = 60;

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
    let pages = [
        ("growth-list", LIST),
        ("growth-ledger", LEDGER),
        ("growth-environment", ENVIRONMENT),
        ("growth-history", HISTORY),
        ("growth-history-who", HISTORY_OF_A_PERSON),
        ("growth-history-days", HISTORY_OF_OLD_DAYS),
    ];
    pages
        .into_iter()
        .map(|(name, path)| {
            Ok(Ratio {
                name,
                about: "the page with many lines and entries / with a hundredth of them",
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

/// A page of the ledger in the middle of all lines over the first one.
pub fn depth(bench: &Bench) -> Result<Vec<Ratio>> {
    let program = Program::serve(bench.runtime(), &bench.big()?)?;
    let key = program.database()?.text(
        "select to_char(period, 'YYYY-MM') || '.' || id from spend order by period desc, id desc offset (select count(*) / 2 from spend) limit 1",
    )?;
    let (mut client, deep) = (program.client()?, format!("{LEDGER}?before={key}"));
    for _ in 0..WARMING {
        client.time(LEDGER)?;
        client.time(&deep)?;
    }
    let rounds: Result<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            let (mut there, mut here) = (Vec::new(), Vec::new());
            for _ in 0..REQUESTS {
                there.push(client.time(&deep)?);
                here.push(client.time(LEDGER)?);
            }
            Ok((median(there), median(here)))
        })
        .collect();
    Ok(vec![Ratio {
        name: "keyset-depth",
        about: "the ledger's page in the middle of all lines / its first page",
        bound: Bound::AtMost { goal: 1.3, guard: 2.0 },
        rounds: rounds?,
        unit: "ms",
    }])
}

/// Answers a second of the ledger's first page, over sixteen connections, over those of the bare handler.
pub fn throughput(bench: &Bench) -> Result<Vec<Ratio>> {
    let program = Program::serve(bench.runtime(), &bench.big()?)?;
    let bare = bench.runtime().block_on(bare::serve(program.database()?.options.clone()))?;
    let ours = || program.client();
    let other = || Client::connect(bare);
    answers(&ours)?;
    answers(&other)?;
    let rounds: Result<Vec<_>> = (0..3).map(|_| Ok((answers(&ours)?, answers(&other)?))).collect();
    Ok(vec![Ratio {
        name: "throughput",
        about: "the ledger's first page over sixteen connections / the bare handler's",
        bound: Bound::AtLeast { goal: 0.5, guard: 0.3 },
        rounds: rounds?,
        unit: "a second",
    }])
}

fn answers(connect: &(impl Fn() -> Result<Client> + Sync)) -> Result<f64> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let call = || {
            let mut client = connect()?;
            (0..CALLS).try_for_each(|_| client.whole(LEDGER).map(drop))
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().try_for_each(|caller| caller.join().unwrap_or_else(|_| anyhow::bail!("a client panicked")))
    })?;
    let all = u32::try_from(CALLERS * CALLS).context("a number of requests")?;
    Ok(f64::from(all) / begun.elapsed().as_secs_f64())
}

/// From the start of the process to the first page: of the program, with all its checks, over that of the bare handler. The
/// database runs already.
pub fn start(bench: &Bench) -> Result<Vec<Ratio>> {
    let set = bench.big()?;
    // Keeps the database running, as a service of its own would.
    let keeper = Database::open(bench.runtime(), &set)?;
    keeper.sign_in()?;
    let (socket, dir) = (keeper.url("rentroll")?, tempfile::tempdir()?);
    let rounds: Result<Vec<_>> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            let program = Program::start_on(&socket, dir.path())?;
            program.client()?.whole(LEDGER)?;
            let ours = begun.elapsed().as_secs_f64() * 1000.0;
            drop(program);
            let begun = Instant::now();
            let bare = program::Bare::start(&socket)?;
            Client::connect(bare.address)?.whole(LEDGER)?;
            Ok((ours, begun.elapsed().as_secs_f64() * 1000.0))
        })
        .collect();
    Ok(vec![Ratio {
        name: "start",
        about: "from starting the process to the ledger's first page / the bare handler's",
        bound: Bound::AtMost { goal: 3.0, guard: 5.0 },
        rounds: rounds?,
        unit: "ms",
    }])
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
