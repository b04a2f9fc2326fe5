//! What SQL may not say, and how migrations are kept.

use super::{File, files, files_of, is_tests, none, rust};

/// The database's own clock, which no rule may read: a test could not set it.
const CLOCKS: &[&str] = &[
    "now()",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtimestamp",
    "localtime",
    "clock_timestamp()",
    "statement_timestamp()",
    "transaction_timestamp()",
    "timeofday()",
];

/// Who may ask the database for the time, and why.
const ASKS_THE_DATABASE: &[(&str, &str)] = &[
    ("src/deadlines/claim.rs", "a lease must hold between machines whose clocks differ"),
    ("src/postgres/self_check.rs", "says by how much the database's clock differs from ours"),
];

/// The texts of a source file, or the whole of an SQL file without its comments.
fn statements(file: &File) -> Vec<String> {
    if file.is("sql") {
        let lines = file.text.lines().map(|line| line.split_once("--").map_or(line, |(sql, _)| sql));
        vec![lines.collect::<Vec<_>>().join("\n")]
    } else {
        rust::strings(rust::product(&file.text))
    }
}

fn findings(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    for statement in statements(file) {
        let lower = statement.to_lowercase();
        for clock in CLOCKS {
            if !ASKS_THE_DATABASE.iter().any(|(path, _)| *path == file.path) && has_word(&lower, clock) {
                findings.push(format!("{}: {clock} in SQL: bind the time of the Tx or of the Read", file.path));
            }
        }
        if skips_rows(&lower) {
            findings
                .push(format!("{}: offset in SQL: page by key, where (date, id) < (…) order by … limit 50", file.path));
        }
    }
    findings
}

fn has_word(text: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(joins) && (word.ends_with(')') || !text[at + word.len()..].starts_with(joins))
    })
}

/// `offset $3`, `offset 50`, or a piece of SQL that ends there because a value is pushed next.
fn skips_rows(sql: &str) -> bool {
    sql.match_indices("offset").any(|(at, word)| {
        let after = sql[at + word.len()..].trim_start();
        let apart = at == 0 || sql[..at].ends_with(char::is_whitespace);
        let spaced = sql[at + word.len()..].starts_with(char::is_whitespace);
        apart && spaced && (after.is_empty() || after.starts_with(|c: char| c == '$' || c == '{' || c.is_ascii_digit()))
    })
}

/// `20261201000100_what_it_does.sql`
fn is_migration_name(name: &str) -> bool {
    let Some((version, what)) = name.strip_suffix(".sql").and_then(|stem| stem.split_once('_')) else { return false };
    let digits = version.len() == 14 && version.bytes().all(|byte| byte.is_ascii_digit());
    let words =
        !what.is_empty() && what.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    digits && words && version[4..6] <= *"12" && version[6..8] <= *"31" && version[8..10] <= *"23"
}

#[test]
fn sql_neither_reads_the_clock_nor_skips_rows() {
    let sources = files_of("src", "rs").into_iter().filter(|file| !is_tests(file)).chain(files_of("src", "sql"));
    let findings: Vec<_> = sources.flat_map(|file| findings(&file)).collect();
    none(
        &findings,
        "Time comes from the Clock, so that a test can set it; pages go by key, so that page 1000 costs what page 1 does.",
    );
}

#[test]
fn migrations_are_named_and_written_alike() {
    let mut findings = Vec::new();
    let mut versions: Vec<String> = Vec::new();
    for file in files("migrations") {
        let name = file.path.trim_start_matches("migrations/");
        if name == "README.md" {
            continue;
        }
        if !is_migration_name(name) {
            findings.push(format!("{}: the name is YYYYMMDDHHMMSS_what.sql", file.path));
        }
        if file.text.contains('\r') {
            findings.push(format!("{}: a carriage return changes the checksum from machine to machine", file.path));
        }
        if !file.text.starts_with("-- ") {
            findings.push(format!("{}: starts with a comment that says what it is for", file.path));
        }
        let version = name.chars().take_while(char::is_ascii_digit).collect();
        if versions.contains(&version) {
            findings.push(format!("{}: another migration has the same version", file.path));
        }
        versions.push(version);
    }
    none(&findings, "Migrations go forward only; one that was released is never edited.");
}

#[test]
fn a_clock_and_an_offset_are_found() {
    let count = |path: &str, text: &str| findings(&File { path: path.to_owned(), text: text.to_owned() }).len();
    assert_eq!(count("src/ledger/spend.rs", "query!(\"update a set at = now() where b\")"), 1);
    assert_eq!(count("src/ledger/spend.rs", "query!(r#\"select CURRENT_DATE\"#)"), 1);
    assert_eq!(count("src/ledger/spend.rs", "// never now()\nclock.now(); known(\"the_current_date_of\")"), 0);
    assert_eq!(count("src/deadlines/claim.rs", "query!(\"set lease_until = now() + $1\")"), 0);
    assert_eq!(count("src/ledger/spend.rs", "query!(\"select 1 limit 50 offset $1\"); push(\" offset \")"), 2);
    assert_eq!(count("src/ledger/spend.rs", "say(\"the offset of the zone\")"), 0);
    assert_eq!(count("src/ledger/spend.sql", "-- now()\nselect now()"), 1);
}

#[test]
fn a_migrations_name_is_a_time_and_words() {
    assert!(is_migration_name("20261201000100_classes_of_tables.sql"));
    for wrong in
        ["20261201_a.sql", "20261201000100_A.sql", "20261301000100_a.sql", "20261201000100.sql", "20261201000100_a.txt"]
    {
        assert!(!is_migration_name(wrong), "{wrong}");
    }
}
