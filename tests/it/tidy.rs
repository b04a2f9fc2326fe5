//! The rules of the house that no compiler knows. Each test reads the source tree and says what to do instead.
//!
//! A rule is a pure function from a file's text to findings, with an example of what it catches beside it.

mod contexts;
mod history;
mod limits;
mod locales;
mod rust;
mod sql;
mod templates;

pub(crate) use locales::keys_of;

use std::fs;
use std::path::Path;

/// A text file of the project.
pub(super) struct File {
    /// From the top of the project, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    /// Whether it is of that kind: `rs`, `sql`, `ftl`.
    pub fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|own| own == extension)
    }
}

/// The text files below a folder (or one file) of the project, sorted by path. What does not exist holds none.
pub(super) fn files(below: &str) -> Vec<File> {
    let mut found = Vec::new();
    collect(Path::new(env!("CARGO_MANIFEST_DIR")), below, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(top: &Path, path: &str, found: &mut Vec<File>) {
    let full = top.join(path);
    if full.is_dir() {
        for entry in fs::read_dir(&full).expect("the folder can be read") {
            let name = entry.expect("the folder can be read").file_name();
            collect(top, &format!("{path}/{}", name.to_str().expect("file names are ASCII")), found);
        }
    } else if let Ok(text) = fs::read_to_string(&full) {
        found.push(File { path: path.to_owned(), text });
    }
}

/// The files of one kind below a folder.
pub(super) fn files_of(below: &str, extension: &str) -> Vec<File> {
    let mut found = files(below);
    found.retain(|file| file.is(extension));
    found
}

/// Fails with all findings of a rule and what to do about them.
#[track_caller]
pub(super) fn none(findings: &[String], advice: &str) {
    assert!(findings.is_empty(), "\n{}\n\n{advice}\n", findings.join("\n"));
}

/// The folders and files that people write by hand.
const WRITTEN: &[&str] = &[
    "src",
    "tests",
    "benches",
    "migrations",
    "locales",
    "templates",
    "static",
    "docs",
    "bin",
    ".ci",
    "Cargo.toml",
    "Dockerfile",
    "docker-compose.yml",
    ".env.example",
    ".gitignore",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
];

fn written() -> Vec<File> {
    WRITTEN.iter().flat_map(|below| files(below)).collect()
}

/// Whether all of it is tests, moved out of the noun's file.
pub(super) fn is_tests(file: &File) -> bool {
    file.path.ends_with("/tests.rs")
}

/// The lines in which one of the words stands.
fn lines_with(file: &File, words: &[String]) -> Vec<String> {
    let hit = |line: &str| words.iter().any(|word| line.contains(word.as_str()));
    let lines = file.text.lines().enumerate().filter(|(_, line)| hit(line));
    lines.map(|(i, line)| format!("{}:{}: {}", file.path, i + 1, line.trim())).collect()
}

#[test]
fn nothing_is_left_unfinished() {
    // Put together, so that this file is no finding itself.
    let words = [["TO", "DO"], ["FIX", "ME"], ["todo", "!("], ["unimplemented", "!("]].map(|word| word.concat());
    let findings: Vec<_> = written().iter().flat_map(|file| lines_with(file, &words)).collect();
    none(&findings, "Finish it, or leave it out and file an issue: a reader must be able to trust what is here.");
}

#[test]
fn no_path_of_a_developers_machine_is_written_down() {
    let words = [["/wo", "rk/"], ["/ro", "ot/"], ["/tmp", "/wt"], ["/home", "/"]].map(|word| word.concat());
    let findings: Vec<_> = written().iter().flat_map(|file| lines_with(file, &words)).collect();
    none(&findings, "Name the path from the top of the project, or take it from a variable.");
}

#[test]
fn no_file_holds_two_nouns() {
    let mut findings = Vec::new();
    for file in files_of("src", "rs").into_iter().filter(|file| !is_tests(file)) {
        let lines = rust::product(&file.text).lines().count();
        if lines > 500 {
            findings.push(format!("{}: {lines} lines without its tests", file.path));
        }
    }
    none(&findings, "A file of more than 500 lines holds two nouns: give each its own file.");
}

#[test]
fn every_variable_is_explained() {
    let example = files(".env.example").pop().expect(".env.example is there").text;
    let config = files("src/config.rs").pop().expect("src/config.rs is there").text;
    let mut findings = Vec::new();
    for name in rust::strings(rust::product(&config)) {
        let is_variable = name.starts_with("RENTROLL_") && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        // Every secret can also come from a file; the example says so once for all.
        let explained = |name: &str| example.contains(&format!("{name}="));
        if is_variable && !explained(&name) && !explained(name.trim_end_matches("_FILE")) {
            findings.push(name);
        }
    }
    none(&findings, "Explain these variables of src/config.rs in .env.example.");
}

#[test]
fn scripts_stop_at_the_first_error() {
    let scripts =
        ["bin", ".ci"].iter().flat_map(|below| files(below)).filter(|file| !file.path.starts_with("bin/lib/"));
    let mut findings = Vec::new();
    for file in scripts {
        if !file.text.starts_with("#!/usr/bin/env bash\n") || !file.text.contains("\nset -euo pipefail\n") {
            findings.push(file.path);
        }
    }
    none(
        &findings,
        "A script starts with #!/usr/bin/env bash, a comment that says what it does, and set -euo pipefail.",
    );
}
