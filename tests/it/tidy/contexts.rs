//! Dependencies run one way: kernel ← access ← catalog ← environments ← {deadlines, ledger}.

use super::{File, files_of, is_tests, none, rust};

/// A context and those that it may name besides itself and the kernel.
const CONTEXTS: &[(&str, &[&str])] = &[
    ("access", &[]),
    ("catalog", &["access"]),
    ("environments", &["access", "catalog"]),
    ("deadlines", &["access", "catalog", "environments"]),
    ("ledger", &["access", "catalog", "environments"]),
];

/// What wires everything, and may name every context: the assembled program, the list of jobs, the fronts, the tests' own help.
const WIRING: &[&str] = &["app", "cli", "jobs", "lib", "main", "testing", "web"];

/// What speaks to people or to the network: not for the kernel, and in a context only for its fronts.
const FRONTS: &[&str] = &["cli", "web"];

/// The first name of a file's path below `src/`: `money`, `ledger`.
fn room(path: &str) -> &str {
    let below = path.strip_prefix("src/").unwrap_or(path);
    below.split(['/', '.']).next().unwrap_or(below)
}

/// The fixed role names in a context that face people: its pages, its API, and `mod.rs`, which wires their routes.
fn is_front(path: &str) -> bool {
    ["pages", "api", "mod"].iter().any(|role| path.split(['/', '.']).any(|name| name == *role))
}

fn findings(file: &File) -> Vec<String> {
    let room = room(&file.path);
    if WIRING.contains(&room) && room != "web" {
        return Vec::new();
    }
    let own = CONTEXTS.iter().find(|(context, _)| *context == room);
    let code = rust::code(rust::product(&file.text));
    let mut findings = Vec::new();
    let paths = ["crate", "super"].iter().flat_map(|root| rust::paths_below(&code, root));
    for path in paths {
        let mut names = path.split("::").skip_while(|name| *name == "super");
        let (first, second) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
        if first == room {
            continue;
        }
        let is_context = CONTEXTS.iter().any(|(context, _)| *context == first);
        let why = if is_context && ["pages", "api"].contains(&second) {
            "the pages of another context are its own: move what both need into the noun's file, or into web"
        } else if room == "web" {
            continue;
        } else if is_context && own.is_none() {
            "the kernel knows no context: let the context call the kernel, or wire it in app.rs, jobs.rs or cli"
        } else if is_context && own.is_some_and(|(_, below)| !below.contains(&first)) {
            "a context never reaches up or sideways: let the upper one call, or put what both need below them"
        } else if FRONTS.contains(&first) && own.is_none() {
            "the kernel knows nothing of the fronts: return a value or a Message, and let the front say it"
        } else if first == "app" && own.is_none() {
            "the kernel does not know the assembled program: take the part that you need as an argument"
        } else if FRONTS.contains(&first) && !is_front(&file.path) {
            "a noun knows nothing of HTTP or HTML: that belongs into pages.rs or api.rs"
        } else {
            continue;
        };
        findings.push(format!("{} names {path}: {why}", file.path));
    }
    if own.is_some() && !is_front(&file.path) && !rust::paths_below(&code, "axum").is_empty() {
        findings.push(format!(
            "{} names axum: a noun knows nothing of HTTP, that belongs into pages.rs or api.rs",
            file.path
        ));
    }
    findings
}

/// Top-level functions of a front that are longer than the house allows, and SQL in it.
fn front_findings(file: &File) -> Vec<String> {
    let code = rust::code(rust::product(&file.text));
    let mut findings = Vec::new();
    if code.contains("sqlx::")
        || code.contains("query!(")
        || code.contains("query_as!(")
        || code.contains("query_scalar!(")
    {
        findings.push(format!("{}: SQL belongs into the noun's file", file.path));
    }
    // (name, the body's lines so far, whether the body has begun); rustfmt puts the end at the left margin.
    let mut open: Option<(String, usize, bool)> = None;
    for line in code.lines() {
        if let Some((name, lines, begun)) = open.as_mut() {
            if line == "}" {
                if *lines > 25 {
                    findings.push(format!("{}: {name} has {lines} lines", file.path));
                }
                open = None;
            } else if *begun {
                *lines += 1;
            } else {
                *begun = line.ends_with('{');
            }
        } else if let Some((_, after)) = line.split_once("async fn ")
            && !line.starts_with([' ', '\t'])
        {
            let name = after.split(['(', '<']).next().unwrap_or(after).to_owned();
            open = (!line.ends_with('}')).then(|| (name, 0, line.ends_with('{')));
        }
    }
    findings
}

#[test]
fn dependencies_run_one_way() {
    let findings: Vec<_> = files_of("src", "rs").iter().filter(|file| !is_tests(file)).flat_map(findings).collect();
    none(&findings, "Dependencies run one way: kernel <- access <- catalog <- environments <- {deadlines, ledger}.");
}

#[test]
fn handlers_parse_call_and_answer() {
    let fronts = files_of("src", "rs").into_iter().filter(|file| {
        let names: Vec<_> = file.path.split(['/', '.']).collect();
        names.contains(&"pages") || names.contains(&"api")
    });
    let findings: Vec<_> = fronts.flat_map(|file| front_findings(&file)).collect();
    none(&findings, "A handler parses, calls one command or a few reads, and answers: 25 lines at most, no SQL.");
}

#[test]
fn what_reaches_the_wrong_way_is_found() {
    let count = |path: &str, text: &str| findings(&File { path: path.to_owned(), text: text.to_owned() }).len();
    assert_eq!(count("src/money.rs", "use crate::ledger::spend;"), 1);
    assert_eq!(count("src/money.rs", "/// See [`crate::ledger`].\nuse crate::text::Name;"), 0);
    assert_eq!(count("src/money.rs", "use crate::app::App;"), 1);
    assert_eq!(count("src/postgres/mod.rs", "use crate::{error::Result, web};"), 1);
    assert_eq!(count("src/access/person.rs", "use crate::{access::user, environments::term, catalog};"), 2);
    assert_eq!(
        count("src/access/person.rs", "use crate::app::App;\n\n#[cfg(test)]\nmod tests { use crate::ledger; }"),
        0
    );
    assert_eq!(count("src/ledger/spend.rs", "use crate::deadlines::reminder;"), 1);
    assert_eq!(count("src/ledger/spend.rs", "use super::super::deadlines::reminder;"), 1);
    assert_eq!(count("src/ledger/spend.rs", "use crate::environments::term; use crate::access::person;"), 0);
    assert_eq!(count("src/ledger/spend.rs", "use crate::web::shell::Shell; use axum::Json;"), 2);
    assert_eq!(count("src/ledger/pages.rs", "use crate::web::shell::Shell; use axum::Json;"), 0);
    assert_eq!(count("src/ledger/pages.rs", "use crate::environments::pages::Row;"), 1);
    assert_eq!(count("src/app.rs", "use crate::{access, ledger::pages};"), 0);
}

#[test]
fn a_long_handler_and_its_sql_are_found() {
    let count =
        |text: &str| front_findings(&File { path: "src/ledger/pages.rs".to_owned(), text: text.to_owned() }).len();
    let body =
        |lines| format!("pub async fn list(\n    app: App,\n) -> Page {{\n{}}}\n", "    step();\n".repeat(lines));
    assert_eq!(count(&body(25)), 0);
    assert_eq!(count(&body(26)), 1);
    assert_eq!(count(&format!("async fn short() -> Page {{ page() }}\n{}", body(25))), 0);
    assert_eq!(count("async fn list() {\n    sqlx::query!(\"select 1\");\n}\n"), 1);
}
