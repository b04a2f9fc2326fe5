//! What it cost and what came of it.
//!
//! A **spend** entry is one line of cost: its facts never change. A person records, corrects and voids entries; bills come in
//! as files (`bill_import`), whose lines name **resources**. A **binding** says which environment a resource belongs to and
//! from when to when, and moves the lines: that placement is the one thing of a line that changes. Sums are kept beside the
//! lines in the same transaction (`rollup`), so that a page of totals costs the same over ten million lines as over ten.
//! Currencies add up only at a dated **exchange rate**. **Output** entries say what came of it, and a month's spend
//! over its output is the **unit cost**.

pub mod bill_import;
pub mod binding;
pub mod by_amount;
pub mod charge;
pub mod exchange_rate;
pub mod exchange_rate_import;
pub mod filter;
pub mod output;
pub mod pages;
pub mod resource;
pub mod rollup;
pub mod spend;
pub mod spend_list;
pub mod total;
pub mod unit_cost;
pub mod unit_cost_list;
