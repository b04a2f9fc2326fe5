//! PostgreSQL: the embedded server, roles, pools, migrations, the start-up self-check.

mod account;
mod binaries;
mod cluster;
pub mod database;
mod locks;
mod postmaster;
pub mod roles;
pub mod self_check;
pub mod server;
mod server_error;
pub mod tables;

pub use account::os_user;
