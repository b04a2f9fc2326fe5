//! What is rented: environments and the chain of their terms, renewals, changes of quantity, and the file that brings them in.
//!
//! An environment is one rented thing of a project. Its terms follow one another; only the last has open deadlines. Ending an
//! environment closes them. Nothing is deleted.

pub mod bulk;
pub mod choice;
pub mod cost;
pub mod description;
pub mod environment;
pub mod import;
pub mod pages;
pub mod renewal;
pub mod roll;
pub mod scale;
pub mod scenario;
pub mod term;
pub mod term_row;
pub mod watcher;
