//! What the program is made of: whose licences, one TLS provider, one copy of the SQL library.

use std::collections::BTreeSet;
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand, Package};

/// Licences that let the program be given away under its own.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Licences that ask something of who changes the file itself, allowed one package at a time.
///
/// These four come with `scraper`, which reads pages in the tests and is no part of the program.
const ALLOWED_FOR: &[(&str, &str)] =
    &[("MPL-2.0", "cssparser"), ("MPL-2.0", "cssparser-macros"), ("MPL-2.0", "dtoa-short"), ("MPL-2.0", "selectors")];

/// The tree that this machine builds, development dependencies included. Asks no registry.
fn metadata() -> Metadata {
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(rustc.stdout).expect("rustc writes UTF-8");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host");
    let options = ["--locked", "--offline", "--filter-platform", host].map(str::to_owned);
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .other_options(options)
        .exec()
        .expect("cargo metadata works without a network")
}

/// The packages that are really in the tree.
fn packages(metadata: &Metadata) -> Vec<&Package> {
    let resolve = metadata.resolve.as_ref().expect("cargo resolved the tree");
    let used: BTreeSet<_> = resolve.nodes.iter().map(|node| &node.id).collect();
    metadata.packages.iter().filter(|package| used.contains(&package.id)).collect()
}

/// Whether an SPDX expression can be met with the licences that are allowed. `/` is how older packages write OR.
fn satisfied(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any_of(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any_of(words: &mut Words, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = all_of(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all_of(words, allowed);
    }
    met
}

fn all_of(words: &mut Words, allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words, allowed: &dyn Fn(&str) -> bool) -> bool {
    match words.next() {
        Some("(") => any_of(words, allowed) & words.next_if_eq(&")").is_some(),
        Some(licence) if words.next_if_eq(&"WITH").is_some() => {
            allowed(&format!("{licence} WITH {}", words.next().unwrap_or_default()))
        }
        Some(licence) => allowed(licence),
        None => false,
    }
}

#[test]
fn every_licence_is_allowed() {
    let metadata = metadata();
    let mut findings = Vec::new();
    for package in packages(&metadata) {
        let name = package.name.as_str();
        let allowed = |licence: &str| ALLOWED.contains(&licence) || ALLOWED_FOR.contains(&(licence, name));
        let expression = package.license.as_deref().unwrap_or("no licence expression");
        if !satisfied(expression, &allowed) {
            findings.push(format!("{name} {}: {expression}", package.version));
        }
    }
    assert!(
        findings.is_empty(),
        "\n{}\n\nChoose another crate, or name it in ALLOWED_FOR with a line why.\n",
        findings.join("\n")
    );
}

#[test]
fn there_is_one_provider_of_cryptography_for_tls() {
    let metadata = metadata();
    let names: BTreeSet<_> = packages(&metadata).into_iter().map(|package| package.name.as_str()).collect();
    assert!(names.contains("ring"), "rustls takes its cryptography from ring");
    for other in
        ["aws-lc-rs", "aws-lc-sys", "aws-lc-fips-sys", "openssl", "openssl-sys", "native-tls", "boring", "boring-sys"]
    {
        assert!(
            !names.contains(other),
            "{other} is in the tree: with two providers rustls panics at the first connection. `cargo tree -i {other}` says who asks for it; turn off that crate's default features."
        );
    }
}

#[test]
fn what_must_agree_with_itself_is_there_once() {
    let metadata = metadata();
    let packages = packages(&metadata);
    for name in ["sqlx", "sqlx-core", "sqlx-postgres", "rustls", "ring", "chrono", "rust_decimal"] {
        let versions: Vec<_> =
            packages.iter().filter(|package| package.name.as_str() == name).map(|package| &package.version).collect();
        assert_eq!(versions.len(), 1, "{name} is there as {versions:?}: `cargo tree -d` says who asks for which");
    }
}

#[test]
fn an_expression_is_met_by_what_is_allowed() {
    let allowed = |licence: &str| ALLOWED.contains(&licence);
    for good in
        ["MIT", "MIT OR GPL-3.0-only", "GPL-2.0/MIT", "(MIT OR GPL-3.0-only) AND ISC", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(satisfied(good, &allowed), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "MIT AND (GPL-3.0-only OR AGPL-3.0-only)",
        "MIT WITH something",
        "(MIT",
        "MIT ISC",
    ] {
        assert!(!satisfied(bad, &allowed), "{bad}");
    }
}
