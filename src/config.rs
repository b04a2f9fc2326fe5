//! Every option; each is also an environment variable (`docs/operations.md` lists them, `.env.example` shows them).
//!
//! Every secret can also be given as `NAME_FILE`, the path of a file that holds it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use ipnet::IpNet;
use url::Url;

use crate::dates::Zone;
use crate::locale::{Locale, Message};
use crate::mail::Mailbox;
use crate::money::Currency;

/// The options that every command takes.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// PostgreSQL 15 or newer; without it, Rentroll runs a server of its own in the data directory.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, global = true)]
    pub database_url: Option<Secret>,
    /// A file that holds the database's address.
    #[arg(long, env = "DATABASE_URL_FILE", global = true, conflicts_with = "database_url", hide = true)]
    pub database_url_file: Option<PathBuf>,
    /// Where the embedded database, documents, outbox and keys live.
    #[arg(long, env = "RENTROLL_DATA_DIR", global = true)]
    pub data_dir: Option<PathBuf>,
    /// Address and port of the pages.
    #[arg(long, env = "RENTROLL_LISTEN", default_value = "127.0.0.1:8080", global = true, value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// The address people type; links in mails begin with it. It may hold a path.
    #[arg(long, env = "RENTROLL_PUBLIC_URL", global = true, value_parser = parse_public_url)]
    pub public_url: Option<Url>,
    /// First value of the organisation's zone; afterwards the settings page rules.
    #[arg(long, env = "RENTROLL_TIMEZONE", default_value = "Asia/Shanghai", global = true)]
    pub timezone: Zone,
    /// First value of the house currency; afterwards the settings page rules.
    #[arg(long, env = "RENTROLL_CURRENCY", default_value = "CNY", global = true)]
    pub currency: Currency,
    /// First value of the organisation's language, and the language of this command's messages.
    #[arg(long = "organisation-locale", env = "RENTROLL_LOCALE", global = true)]
    pub locale: Option<Locale>,
    /// smtp://, smtp+starttls:// or smtps://user:password@host:port; without it mails wait in the outbox.
    #[arg(long, env = "RENTROLL_SMTP_URL", hide_env_values = true, global = true)]
    pub smtp_url: Option<Secret>,
    /// A file that holds the mail server's address.
    #[arg(long, env = "RENTROLL_SMTP_URL_FILE", global = true, conflicts_with = "smtp_url", hide = true)]
    pub smtp_url_file: Option<PathBuf>,
    /// The sender of all mails, for example `Rentroll <ledger@example.com>`.
    #[arg(long, env = "RENTROLL_MAIL_FROM", global = true)]
    pub mail_from: Option<Mailbox>,
    /// Where documents are kept: a folder in the data directory, or s3://bucket/prefix with the usual AWS_* variables.
    #[arg(long, env = "RENTROLL_DOCUMENTS_URL", global = true)]
    pub documents_url: Option<String>,
    /// Certificates (PEM) to trust besides the usual ones, for a company's own mail server.
    #[arg(long, env = "RENTROLL_EXTRA_CA_FILE", global = true)]
    pub extra_ca_file: Option<PathBuf>,
    /// Networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
    #[arg(long, env = "RENTROLL_TRUSTED_PROXIES", value_delimiter = ',', global = true, value_parser = parse_network)]
    pub trusted_proxies: Vec<IpNet>,
    /// What is logged, as tracing directives.
    #[arg(long, env = "RENTROLL_LOG", default_value = "info", global = true)]
    pub log: String,
    /// The folder of PostgreSQL's programs (postgres, initdb) for the embedded server.
    #[arg(long, env = "PG_BINDIR", global = true)]
    pub pg_bindir: Option<PathBuf>,
}

/// A text that no log, page or error may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one place that needs it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(text.to_owned()))
    }
}

fn parse_public_url(text: &str) -> Result<Url, String> {
    let url: Url = text.parse().map_err(|cause| format!("{cause}; write for example https://ledger.example.com"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("write an http or https address, for example https://ledger.example.com".into());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("write it without ? and #: paths are added at its end".into());
    }
    Ok(url)
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.trim().parse().map_err(|cause| format!("{cause}; write an address and a port, for example 127.0.0.1:8080"))
}

/// A network, or one address. One of IPv4 that is written in IPv6 is taken as what it is: so are the addresses that it is
/// compared with.
fn parse_network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    let network = network.map_err(|_| "write a network like 10.0.0.0/8 or an address like 10.0.0.7".to_owned())?;
    let IpAddr::V4(address) = network.addr().to_canonical() else { return Ok(network) };
    let length =
        if network.addr().is_ipv4() { Some(network.prefix_len()) } else { network.prefix_len().checked_sub(96) };
    let plain = length.and_then(|length| IpNet::new(address.into(), length).ok());
    plain.ok_or_else(|| format!("it reaches beyond IPv4; write the network that is meant, like {address}/24"))
}

impl Config {
    /// The database's address, also out of `DATABASE_URL_FILE`.
    pub fn database_url(&self) -> Result<Option<Secret>, Message> {
        or_file(self.database_url.as_ref(), self.database_url_file.as_ref(), "DATABASE_URL_FILE")
    }

    /// The mail server's address, also out of `RENTROLL_SMTP_URL_FILE`.
    pub fn smtp_url(&self) -> Result<Option<Secret>, Message> {
        or_file(self.smtp_url.as_ref(), self.smtp_url_file.as_ref(), "RENTROLL_SMTP_URL_FILE")
    }

    /// The data directory: what is set, `/var/lib/rentroll` for root, else `$XDG_DATA_HOME/rentroll`.
    pub fn data_dir(&self) -> Result<PathBuf, Message> {
        if let Some(dir) = &self.data_dir {
            return std::path::absolute(dir).map_err(|cause| {
                Message::new("error-data-dir").with("path", dir.display().to_string()).with("cause", cause.to_string())
            });
        }
        if is_root() {
            return Ok(PathBuf::from("/var/lib/rentroll"));
        }
        if let Some(home) = std::env::var_os("XDG_DATA_HOME").filter(|home| !home.is_empty()) {
            return Ok(PathBuf::from(home).join("rentroll"));
        }
        std::env::home_dir().map(|home| home.join(".local/share/rentroll")).ok_or_else(|| Message::new("error-no-home"))
    }

    /// The path below which all routes lie: empty, or `/ledger` without a slash at its end.
    pub fn base_path(&self) -> String {
        self.public_url.as_ref().map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default()
    }

    /// The language of this command's messages: what is set, else the terminal's, else English.
    pub fn command_locale(&self) -> Locale {
        let terminal = || {
            ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()))
        };
        self.locale.or_else(|| Locale::negotiate(&terminal()?)).unwrap_or(Locale::En)
    }
}

fn or_file(value: Option<&Secret>, file: Option<&PathBuf>, name: &'static str) -> Result<Option<Secret>, Message> {
    if let Some(value) = value {
        return Ok(Some(value.clone()).filter(|secret| !secret.0.trim().is_empty()));
    }
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|cause| {
        Message::new("error-secret-file")
            .with("name", name)
            .with("path", path.display().to_string())
            .with("cause", cause.to_string())
    })?;
    // Somebody named it, so going on without (with another database, say) would be a bad surprise.
    match text.trim() {
        "" => Err(Message::new("error-secret-file-empty").with("name", name).with("path", path.display().to_string())),
        secret => Ok(Some(Secret(secret.to_owned()))),
    }
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    uid() == Some(0)
}

/// The user as whom this process runs, by number.
pub fn uid() -> Option<u32> {
    // The owner of our own process directory, without a system call of our own.
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").ok().map(|me| me.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxys_network_is_read_as_the_addresses_are_that_it_is_compared_with() {
        for (text, read) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            (" 10.0.0.7", "10.0.0.7/32"),
            ("fd00::/8", "fd00::/8"),
            ("::1", "::1/128"),
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:10.0.0.7", "10.0.0.7/32"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
        ] {
            assert_eq!(parse_network(text).map(|network| network.to_string()), Ok(read.to_owned()), "{text}");
        }
        for wrong in ["10.0.0.0/33", "proxy", "", "::ffff:10.0.0.0/90"] {
            assert!(parse_network(wrong).is_err(), "{wrong}");
        }
    }
}
