//! The measured promises: each a ratio of two things measured in turns in the same run, against a goal and a guard.
//!
//! `bin/bench` runs all of them, `bin/bench NAME…` some. `RENTROLL_BENCH_LINES` says how many lines the big data set has
//! (1,000,000; the long form is 10,000,000); the small one has a hundredth of them. Data sets are made once, in the
//! folder `bench` below the target folder, and never changed by a benchmark.

#[path = "ref.rs"]
mod bare;
#[path = "measure/bill.rs"]
mod bill;
#[path = "measure/client.rs"]
mod client;
#[path = "measure/data.rs"]
mod data;
#[path = "measure/export.rs"]
mod export;
#[path = "measure/import.rs"]
mod import;
#[path = "measure/mail.rs"]
mod mail;
#[path = "measure/pages.rs"]
mod pages;
#[path = "measure/program.rs"]
mod program;
#[path = "measure/ratio.rs"]
mod ratio;
#[path = "measure/rollup.rs"]
mod rollup;
#[path = "measure/sink.rs"]
mod sink;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result};
use tokio::runtime::{Handle, Runtime};

use data::{DataSet, Wanted};
use ratio::Ratio;

/// A name, what it measures, and how.
type Benchmark = (&'static str, &'static str, fn(&Bench) -> Result<Vec<Ratio>>);

const BENCHMARKS: [Benchmark; 14] = [
    ("growth", "pages over many lines and over few", pages::growth),
    ("page-list", "the list of environments", pages::list),
    ("page-ledger", "the ledger's first page", pages::ledger),
    ("page-environment", "one environment", pages::environment),
    ("keyset-depth", "the ledger in the middle of all lines", pages::depth),
    ("rollup", "month totals from kept sums and from lines", rollup::time),
    ("export", "the ledger as a file", export::time),
    ("export-memory", "memory during an export", export::memory),
    ("export-abort", "exports that are cut off", export::abort),
    ("import", "a bill of 100,000 lines", import::time),
    ("mail", "5,000 reminders", mail::rate),
    ("start", "from starting the process to the first page", pages::start),
    ("memory", "memory after 2,000 requests", pages::memory),
    ("throughput", "the ledger over sixteen connections", pages::throughput),
];

/// What all benchmarks need.
pub struct Bench {
    runtime: Runtime,
    folder: PathBuf,
    /// Lines of the big data set.
    pub lines: u32,
}

impl Bench {
    fn new() -> Result<Self> {
        let lines = match std::env::var("RENTROLL_BENCH_LINES") {
            Ok(lines) => lines.parse().context("RENTROLL_BENCH_LINES is no number of lines")?,
            Err(_) => 1_000_000,
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
        Ok(Self { runtime: Runtime::new()?, folder, lines })
    }

    /// Where what waits runs.
    pub fn runtime(&self) -> &Handle {
        self.runtime.handle()
    }

    /// A data set, made if it is not there.
    pub fn set(&self, name: &str, wanted: Wanted) -> Result<DataSet> {
        DataSet::ready(self.runtime(), &self.folder, name, wanted)
    }

    /// The data set with many lines.
    pub fn big(&self) -> Result<DataSet> {
        self.lines_set(self.lines)
    }

    /// The data set with few.
    pub fn small(&self) -> Result<DataSet> {
        self.lines_set(self.lines / 100)
    }

    fn lines_set(&self, lines: u32) -> Result<DataSet> {
        self.set(&format!("lines-{lines}"), Wanted { lines, environments: 500, ends_on: "" })
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, database] = arguments.as_slice()
        && word == program::BARE
    {
        return serve_bare(database);
    }
    // `cargo test --all-targets` would run it too, in a build that says nothing about speed.
    if !arguments.iter().any(|argument| argument == "--bench") {
        eprintln!("run the benchmarks with bin/bench");
        return ExitCode::SUCCESS;
    }
    let wanted: Vec<&str> = arguments.iter().map(String::as_str).filter(|argument| *argument != "--bench").collect();
    if wanted == ["--list"] {
        list();
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = wanted.iter().find(|name| !BENCHMARKS.iter().any(|(known, ..)| known == *name)) {
        eprintln!("there is no benchmark {unknown}; there are:");
        list();
        return ExitCode::from(2);
    }
    match run(&wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Serves the bare pages until it is killed.
fn serve_bare(database: &str) -> ExitCode {
    let serve = async {
        let address = bare::serve(database.parse()?).await?;
        println!("http://{address}/");
        std::future::pending::<Result<()>>().await
    };
    let ended = Runtime::new().map_err(anyhow::Error::from).and_then(|runtime| runtime.block_on(serve));
    eprintln!("the bare pages ended: {ended:?}");
    ExitCode::FAILURE
}

fn list() {
    for (name, what, _) in BENCHMARKS {
        println!("{name:18}{what}");
    }
}

/// Runs them; says whether all kept within their guards. One that breaks does not keep the others from running.
fn run(wanted: &[&str]) -> Result<bool> {
    let bench = Bench::new()?;
    let mut all_hold = true;
    for (name, _, measure) in BENCHMARKS {
        if !wanted.is_empty() && !wanted.contains(&name) {
            continue;
        }
        let begun = Instant::now();
        match measure(&bench) {
            Ok(ratios) => {
                for ratio in ratios {
                    all_hold &= ratio.print();
                }
            }
            Err(error) => {
                println!("FAILED {name}: {error:#}");
                all_hold = false;
            }
        }
        println!("  {name}: {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(all_hold)
}
