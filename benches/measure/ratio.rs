//! What a benchmark says: the ratio of two things measured in turns, against a goal and a guard.

use std::fmt::Write as _;

/// What a ratio has to be. Missing the goal is told, missing the guard is a failure.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// Smaller is better.
    AtMost {
        /// What is aimed at.
        goal: f64,
        /// What must hold.
        guard: f64,
    },
    /// Greater is better.
    AtLeast {
        /// What is aimed at.
        goal: f64,
        /// What must hold.
        guard: f64,
    },
}

/// One promise, measured.
#[derive(Debug)]
pub struct Ratio {
    /// Its name.
    pub name: &'static str,
    /// What was divided by what.
    pub about: &'static str,
    /// What it has to be.
    pub bound: Bound,
    /// Both sides of each round; a plain figure stands over 1.
    pub rounds: Vec<(f64, f64)>,
    /// What both sides are counted in.
    pub unit: &'static str,
}

impl Ratio {
    /// Prints it; says whether it is within its guard.
    pub fn print(&self) -> bool {
        let ratios: Vec<f64> = self.rounds.iter().map(|(ours, other)| ours / other).collect();
        let value = median(ratios.clone());
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        println!("RATIO {} {value:.3} ({least:.3}..{most:.3})", self.name);
        let (meets_goal, holds, wanted) = match self.bound {
            Bound::AtMost { goal, guard } => (value <= goal, value <= guard, format!("at most {goal}, guard {guard}")),
            Bound::AtLeast { goal, guard } => {
                (value >= goal, value >= guard, format!("at least {goal}, guard {guard}"))
            }
        };
        let verdict = match (meets_goal, holds) {
            (true, _) => "met",
            (false, true) => "MISSED",
            (false, false) => "BEYOND ITS GUARD",
        };
        let mut rounds = String::new();
        for (ours, other) in &self.rounds {
            let written = write!(rounds, " {ours:.2}/{other:.2}");
            debug_assert!(written.is_ok(), "writing to a string cannot fail");
        }
        println!("  {}: goal {wanted}: {verdict};{rounds} {}", self.about, self.unit);
        holds
    }
}

/// The value in the middle; of an even number of values, between the two in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}
