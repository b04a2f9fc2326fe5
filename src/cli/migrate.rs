//! `rentroll migrate`: brings the database up to this version.

use serde_json::json;

use super::console::{Console, Refused, Report};
use super::open::{Opened, Purpose};
use crate::config::Config;
use crate::locale::Message;
use crate::postgres::database::MIGRATOR;

pub(super) async fn run(config: &Config, console: &Console) -> Result<Report, Refused> {
    let opened = Opened::open(config, Purpose::Migrate, console).await?;
    let applied = opened.applied;
    opened.close(None).await;
    let newest = MIGRATOR.iter().map(|migration| migration.version).max();
    let line = Message::new("cli-migrated").with("n", applied).with("newest", newest.unwrap_or_default().to_string());
    Ok(Report::done(json!({ "applied": applied, "newest": newest }), line))
}
