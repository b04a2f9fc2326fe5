//! The one integration binary: stories over the whole program, and the rules of the house.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod access;
mod audit_coverage;
mod catalog;
mod cli;
mod commit;
mod concurrency;
mod deadlines;
mod documents;
mod environments;
mod forged;
mod forms;
mod harness;
mod history;
mod kernel;
mod ledger;
mod licences;
mod lists;
mod mail;
mod matrix;
mod outputs;
mod pages;
mod rates;
mod saved_filters;
mod scope;
mod server;
mod tidy;
mod values;
