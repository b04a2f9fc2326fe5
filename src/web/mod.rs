//! What all pages share: the route table, the signed-in reader, the frame of a page, forms, errors, headers, static files, and the
//! connections themselves.
//!
//! The path of a request: `headers` (outermost) → `errors` (turns an [`crate::error::Error`] into a page or problem JSON) →
//! `origin` (refuses forged forms) → `session` (who is it) → the route's own guard ([`routes::Needs`]) → the handler.

pub mod documents;
pub mod edit;
pub mod errors;
pub mod export;
pub mod forms;
pub mod headers;
pub mod health;
pub mod history;
pub mod origin;
pub mod overview;
pub mod page;
pub mod plain;
pub mod query;
pub mod reminders_ahead;
pub mod routes;
pub mod saved_filters;
pub mod server;
pub mod session;
pub mod shell;
pub mod signed_out;
pub mod stale;
pub mod statics;
pub mod time;
pub mod unit_costs;
pub mod upload;
