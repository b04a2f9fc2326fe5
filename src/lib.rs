//! Rentroll: a rental ledger and renewal tracker for GPU compute.
//!
//! The map of the house. The **kernel** holds what every act needs; the **contexts** are the parts of the business, one
//! folder each, one file a noun; the **fronts** (`web`, `cli`, and each context's `pages.rs`) parse, call one command
//! and answer. Dependencies run one way: kernel ← access ← catalog ← environments ← {deadlines, ledger}.

// ---- kernel ---------------------------------------------------------------------------------------------------------
pub mod actor; // who acts, from where, with which rights
pub mod audit; // the one insert of an audit entry, its canonical bytes, and how it reads as a sentence
pub mod background; // work that goes on after the page that began it was answered
pub mod clock; // what time it is: the system's or a fixed one
pub mod config; // every option and environment variable
pub mod dates; // days, cycles, notices, periods: calendar arithmetic
pub mod deadline; // a date with a consequence, set by every context
pub mod document; // a file attached to a thing, in versions
pub mod documents; // bytes by content hash in an object store
pub mod encoding; // in which encoding a file of text is
pub mod error; // what can go wrong, and what a person is told
pub mod filter; // what the filters of all lists share
pub mod ids; // typed ids
pub mod jobs; // periodic work and its records
pub mod labels; // key=value labels
pub mod limits; // every limit, with its reason
pub mod locale; // the two languages
pub mod mail; // messages out: the SMTP conversation, the outbox folder, memory for tests
pub mod money; // exact decimals, currencies, largest remainder
pub mod postgres; // the embedded server, roles, pools, migrations, the start-up self-check
pub mod row_error; // what is wrong with a cell of an imported file
pub mod saved_filter; // a filter of a list that a person keeps under a name
pub mod setting; // the organisation: its zone, currency, language, reminder rule
pub mod table; // a list's columns declared once: CSV, XLSX, JSON
pub mod text; // text that is safe to keep
pub mod tx; // one unit of work, and a scoped snapshot to read from

// ---- contexts -------------------------------------------------------------------------------------------------------
pub mod access; // people, users, sessions, projects, memberships
pub mod catalog; // providers, their contacts and contracts, tiers, prices
pub mod deadlines; // reminders: planned, delivered, recorded
pub mod environments; // what is rented: environments, terms, renewals, scale
pub mod ledger; // what it cost and what came of it: spend, output, resources, imports, rates

// ---- fronts ---------------------------------------------------------------------------------------------------------
pub mod app; // the assembled program: write, read, the router
pub mod cli; // one file per command
pub mod web; // what all pages share
