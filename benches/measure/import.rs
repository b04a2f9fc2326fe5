//! A bill of 100,000 lines: read, checked, told from what is known, summed up and recorded, in one commit.

use std::fs;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::bill;
use crate::data::Database;
use crate::program::{self, rentroll};
use crate::ratio::{Bound, Ratio};
use crate::{Bench, bare};

const LINES: u32 = 100_000;
/// The database in which it is done: a copy of the big data set.
const DATABASE: &str = "bench_import";

/// `rentroll import bill` of a month of one account / a bare copy of the same file's columns into a table without an index.
pub fn time(bench: &Bench) -> Result<Vec<Ratio>> {
    let set = bench.big()?;
    let database = Database::open(bench.runtime(), &set)?;
    database.copy(DATABASE)?;
    let columns: Vec<String> = bill::COLUMNS.iter().map(|(name, kind)| format!("\"{name}\" {kind}")).collect();
    database.execute(DATABASE, &[&format!("create table bare_bill ({})", columns.join(", "))])?;
    let folder = set.dir.join("import");
    fs::create_dir_all(&folder)?;
    let mut rounds = Vec::new();
    for account in 1..=3 {
        let file = folder.join(format!("bill-{account}.csv"));
        bill::write(&file, account, LINES)?;
        let mut import = rentroll();
        import.args(["import", "bill", "--json", "--provider", "服务商 1"]).arg(&file);
        import.env("DATABASE_URL", database.url(DATABASE)?).env("RENTROLL_DATA_DIR", &folder);
        let begun = Instant::now();
        let printed = program::run(&mut import)?;
        let ours = begun.elapsed().as_secs_f64();
        let report: serde_json::Value = serde_json::from_str(&printed)?;
        ensure!(report["rows_new"] == LINES, "the import said {printed}");
        let mut psql = program::psql(&database, DATABASE)?;
        let begun = Instant::now();
        program::run(bare::copy_in(&mut psql, "bare_bill", &file))?;
        rounds.push((ours, begun.elapsed().as_secs_f64()));
        fs::remove_file(&file)?;
    }
    let sums_agree = "select count(*) from (
        select period, environment_id, currency, count(*), coalesce(sum(billed), 0) from spend group by 1, 2, 3
        except
        select period, environment_id, currency, sum(lines), sum(billed) from spend_month group by 1, 2, 3) differing";
    ensure!(database.number(DATABASE, sums_agree)? == 0, "the sums differ from the lines");
    let copied = database.number(DATABASE, "select count(*) from bare_bill").context("counting")?;
    ensure!(copied == 3 * i64::from(LINES), "the bare copy has {copied} lines");
    database.execute("postgres", &[&format!("drop database {DATABASE}")])?;
    Ok(vec![Ratio {
        name: "import",
        about: "a bill of 100,000 lines imported / psql \\copy of the same file into a bare table",
        bound: Bound::AtMost { goal: 10.0, guard: 20.0 },
        rounds,
        unit: "s",
    }])
}
