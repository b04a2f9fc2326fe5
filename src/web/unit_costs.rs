//! Unit costs as pages show them: the list of its own, and the section of an environment.

use crate::environments::environment::Environment;
use crate::error::Result;
use crate::ledger::total::{CurrencyTotal, Unconverted};
use crate::ledger::unit_cost_list::{self, Group, UnitCostRow};
use crate::locale::Message;
use crate::money::{self, Currency, Sum};
use crate::tx::Read;
use crate::web::shell::Shell;

/// One month of one environment, scenario or project, in words. What has several currencies or units has a text each.
pub struct UnitCostLine {
    /// The month.
    pub period: String,
    /// What the line is of.
    pub name: String,
    /// To be paid, a currency each.
    pub billed: Vec<String>,
    /// What it cost, a currency each.
    pub effective: Vec<String>,
    /// To be paid, in the house currency, as far as there are rates.
    pub house: Option<String>,
    /// What has no rate, in words, with the address of the list of these entries where there is one.
    pub unconverted: Vec<(String, Option<String>)>,
    /// What came of it, a unit each.
    pub outputs: Vec<String>,
    /// What one unit cost, billed, and how that moved.
    pub unit_billed: Option<String>,
    /// What one unit cost, effective, and how that moved.
    pub unit_effective: Option<String>,
    /// Why there is no unit cost.
    pub missing: Option<String>,
}

/// The rows in words.
pub fn lines(shell: &Shell, rows: &[UnitCostRow]) -> Vec<UnitCostLine> {
    rows.iter().map(|row| line(shell, row)).collect()
}

/// The last twelve months of an environment.
pub async fn of_environment(read: &mut Read, shell: &Shell, environment: &Environment) -> Result<Vec<UnitCostLine>> {
    let rows = unit_cost_list::of_environment(read, environment.project_id, environment.id).await?;
    Ok(lines(shell, &rows))
}

fn line(shell: &Shell, row: &UnitCostRow) -> UnitCostLine {
    let spent = |of: fn(&CurrencyTotal) -> (&Sum, i64)| {
        let one = |total: &CurrencyTotal| {
            let (sum, unknown) = of(total);
            let amount = format!("{} {}", total.currency, total.shown(sum));
            match unknown {
                0 => amount,
                // Nothing is known: the sum of nothing is not zero.
                _ if !total.is_known(sum, &unknown) => format!("{} {}", total.currency, shell.text("ledger-unknown")),
                _ => format!("{amount} {}", shell.with("ledger-and-unknown", "n", unknown)),
            }
        };
        row.spend.currencies.iter().map(one).collect()
    };
    let cost = row.cost.as_ref().ok();
    let unit = |amount: Option<&Sum>, change: Option<&Sum>| {
        let amount = format!("{} {}", cost?.currency, money::display(amount?, &cost?.currency));
        Some(match change {
            Some(change) => format!("{amount} ({})", changed(shell, change)),
            None => amount,
        })
    };
    let unconverted = |it: &Unconverted| {
        let amount = format!("{} {}", it.currency, it.shown());
        let message = Message::new("unit-cost-unconverted").with("amount", amount).with("lines", it.lines);
        (shell.say(&message), entries_of(shell, row, it))
    };
    let house: &Currency = &row.spend.house;
    UnitCostLine {
        period: row.period.to_string(),
        name: match row.scenario() {
            Some(scenario) => shell.say(&scenario.words()),
            None if row.name.is_empty() => shell.text("unit-cost-no-scenario"),
            None => row.name.clone(),
        },
        billed: spent(|total| (&total.billed, total.billed_unknown)),
        effective: spent(|total| (&total.effective, total.effective_unknown)),
        house: row.spend.total.as_ref().map(|total| format!("{house} {}", row.spend.in_house(&total.billed))),
        unconverted: row.spend.unconverted.iter().map(unconverted).collect(),
        outputs: row.outputs.iter().map(|output| format!("{} {}", output.shown(), output.unit)).collect(),
        unit_billed: unit(cost.and_then(|cost| cost.billed.as_ref()), row.billed_change.as_ref()),
        unit_effective: unit(cost.and_then(|cost| cost.effective.as_ref()), row.effective_change.as_ref()),
        missing: row.cost.as_ref().err().map(|missing| shell.say(&missing.words())),
    }
}

/// The list of the entries of a row that have no rate. The ledger cannot be asked for a scenario.
fn entries_of(shell: &Shell, row: &UnitCostRow, it: &Unconverted) -> Option<String> {
    let of = match row.by {
        Group::Environment => "environment",
        Group::Project => "project",
        Group::Scenario => return None,
    };
    let (key, period, currency) = (row.key, row.period, &it.currency);
    Some(shell.href(&format!("/ledger?{of}={key}&period={period}&currency={currency}&rate=missing")))
}

/// A change in per cent, said in words, so that nobody must see a colour or an arrow.
fn changed(shell: &Shell, change: &Sum) -> String {
    if change.is_zero() {
        return shell.text("unit-cost-unchanged");
    }
    let (key, size) =
        if change.is_negative() { ("unit-cost-less", -change.clone()) } else { ("unit-cost-more", change.clone()) };
    shell.say(&Message::new(key).with("percent", money::grouped(&size, 1)))
}
