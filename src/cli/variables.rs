//! The variables of the environment that mean something to the program, and those that only look so.

use std::io;
use std::path::Path;

use clap::CommandFactory as _;

use super::CommandLine;
use crate::config::Config;
use crate::locale::Message;
use crate::{mail, postgres};

const PREFIX: &str = "RENTROLL_";
/// Read by tests and benchmarks only.
const OF_DEVELOPMENT: &[&str] = &["RENTROLL_SAMPLES", "RENTROLL_TEST_DATABASE_URL", "RENTROLL_BENCH_LINES"];

/// The names that the program knows: each stands for an option.
fn known() -> Vec<String> {
    let command = CommandLine::command();
    command.get_arguments().filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned)).collect()
}

/// Those that are set.
pub(super) fn set() -> Vec<String> {
    let is_set = |name: &String| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    known().into_iter().filter(is_set).collect()
}

/// What is wrong with the values of those that can be read, whether something needs them at the moment or not.
pub(super) fn unfit(config: &Config) -> Vec<Message> {
    let certificates = config.extra_ca_file.as_deref().and_then(|path| mail::check_certificates(path).err());
    let programs = config.pg_bindir.as_deref().and_then(|bindir| postgres::server::check_bindir(bindir).err());
    let folder = config.data_dir.as_deref().and_then(not_a_folder);
    certificates.into_iter().chain(programs.map(|error| error.message())).chain(folder).collect()
}

/// A data directory that is a file, or would lie in one.
fn not_a_folder(path: &Path) -> Option<Message> {
    let there = path.ancestors().find(|path| path.exists())?;
    let cause = format!("{}: {}", there.display(), io::Error::from(io::ErrorKind::NotADirectory));
    let message = || Message::new("cli-variable").with("name", "RENTROLL_DATA_DIR").with("cause", cause);
    (!there.is_dir()).then(message)
}

/// What is set and looks like one of the program's, with the known name that was perhaps meant.
pub(super) fn unknown() -> Vec<Message> {
    let known = known();
    let set: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let strange = |name: &&String| {
        let name = name.as_str();
        name.starts_with(PREFIX) && !OF_DEVELOPMENT.contains(&name) && !is_of_a_service(name, &set)
    };
    let mut names: Vec<String> = set.iter().filter(strange).filter(|name| !known.contains(name)).cloned().collect();
    names.sort_unstable();
    let message = |name: String| match nearest(&name, &known) {
        Some(nearest) => Message::new("cli-doctor-variable-meant").with("name", name.clone()).with("nearest", nearest),
        None => Message::new("cli-doctor-variable-unknown").with("name", name.clone()),
    };
    names.into_iter().map(message).collect()
}

/// Whether Kubernetes set it: for a Service named `rentroll` (or `rentroll-…`), every container in its namespace is given
/// `RENTROLL_SERVICE_HOST` and, beside that one, `RENTROLL_SERVICE_PORT…` and `RENTROLL_PORT…`.
fn is_of_a_service(name: &str, set: &[String]) -> bool {
    let mut services = set.iter().filter_map(|name| name.strip_suffix("_SERVICE_HOST"));
    services.any(|service| {
        name.strip_prefix(service).is_some_and(|rest| {
            let begins =
                |part: &str| rest.strip_prefix(part).is_some_and(|more| more.is_empty() || more.starts_with('_'));
            rest == "_SERVICE_HOST" || begins("_SERVICE_PORT") || begins("_PORT")
        })
    })
}

/// The known name that is closest, where one is close enough to have been meant.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let typed = bare(name);
    let distances = known.iter().map(|known| {
        // One with more behind it is close, too: RENTROLL_MAIL_FROM_ADDRESS.
        let distance = if typed.starts_with(&bare(known)) { 0 } else { distance(&typed, &bare(known)) };
        (distance, known.as_str())
    });
    let close = distances.filter(|(distance, _)| *distance <= typed.len().div_ceil(3));
    close.min_by_key(|(distance, known)| (*distance, known.len().abs_diff(name.len()))).map(|(_, known)| known)
}

/// How many letters must be put in, taken out or changed to make one text of the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_was_meant_is_found() {
        let known = known();
        for (typed, meant) in [
            ("RENTROLL_SMPT_URL", Some("RENTROLL_SMTP_URL")),
            ("RENTROLL_SMTP_URI", Some("RENTROLL_SMTP_URL")),
            ("RENTROLL_TIME_ZONE", Some("RENTROLL_TIMEZONE")),
            ("RENTROLL_DATABASE_URL", Some("DATABASE_URL")),
            ("RENTROLL_DATABASE_URL_FILE", Some("DATABASE_URL_FILE")),
            ("RENTROLL_MAIL_FROM_FILE", Some("RENTROLL_MAIL_FROM")),
            ("RENTROLL_COLOUR_OF_THE_SKY", None),
        ] {
            assert_eq!(nearest(typed, &known), meant, "{typed}");
        }
    }

    #[test]
    fn what_kubernetes_sets_for_a_service_is_passed_over() {
        let of_services = [
            "RENTROLL_SERVICE_HOST",
            "RENTROLL_SERVICE_PORT",
            "RENTROLL_SERVICE_PORT_HTTP",
            "RENTROLL_PORT",
            "RENTROLL_PORT_8080_TCP",
            "RENTROLL_PORT_8080_TCP_ADDR",
            "RENTROLL_DB_SERVICE_HOST",
            "RENTROLL_DB_PORT_5432_TCP_PORT",
        ];
        let others = ["RENTROLL_PORTS", "RENTROLL_SKY_COLOUR", "RENTROLL_DB_URL"];
        let set: Vec<String> = of_services.iter().chain(&others).map(|name| (*name).to_owned()).collect();
        for name in of_services {
            assert!(is_of_a_service(name, &set), "{name}");
        }
        for name in others {
            assert!(!is_of_a_service(name, &set), "{name}");
        }
        assert!(!is_of_a_service("RENTROLL_PORT", &["RENTROLL_PORT".to_owned()]), "somebody means RENTROLL_LISTEN");
    }

    #[test]
    fn a_distance_counts_letters() {
        assert_eq!(distance("", "URL"), 3);
        assert_eq!(distance("SMPT", "SMTP"), 2);
        assert_eq!(distance("ZONE", "ZONES"), 1);
        assert_eq!(distance("LOG", "LOG"), 0);
    }
}
