//! The totals of all months out of the sums that are kept, and out of the lines: how much quicker, and that they agree.

use anyhow::{Result, ensure};

use crate::Bench;
use crate::program::Program;
use crate::ratio::{Bound, Ratio};

/// As the ledger's page reads the totals of everything.
const KEPT: &str =
    "select concat_ws(' ', period, currency, sum(lines), trim_scale(sum(billed)), trim_scale(sum(effective)))
     from spend_month_total group by period, currency order by period, currency";
/// As the pages of environments and projects read theirs.
const KEPT_BY_ENVIRONMENT: &str =
    "select concat_ws(' ', period, currency, sum(lines), trim_scale(sum(billed)), trim_scale(sum(effective)))
     from spend_month group by period, currency order by period, currency";
const LINES: &str =
    "select concat_ws(' ', period, currency, count(*), trim_scale(sum(billed)), trim_scale(sum(effective)))
     from spend group by period, currency order by period, currency";

/// Month totals from the sums / from the lines.
pub fn time(bench: &Bench) -> Result<Vec<Ratio>> {
    let program = Program::serve(bench.runtime(), &bench.big()?)?;
    let database = program.database()?;
    let rounds: Result<Vec<_>> = (0..5)
        .map(|_| {
            let ((kept, ours), (lines, other)) = (database.ask(KEPT)?, database.ask(LINES)?);
            ensure!(kept == lines, "the sums that are kept are not those of the lines");
            ensure!(
                database.ask(KEPT_BY_ENVIRONMENT)?.0 == lines,
                "the sums of the environments are not those of the lines"
            );
            Ok((ours, other))
        })
        .collect();
    Ok(vec![Ratio {
        name: "rollup",
        about: "the totals of all months from the sums that are kept / from the lines; they are equal",
        bound: Bound::AtMost { goal: 0.01, guard: 0.05 },
        rounds: rounds?,
        unit: "ms",
    }])
}
