//! What the stories are told with.

mod browser;
mod database;
mod program;
mod queries;
pub mod received;
pub mod smtp_sink;

pub use browser::{Answer, Browser};
pub use database::TestDatabase;
pub use program::{PASSWORD, TestApp, remind};
