//! The guide to operations shows every limit as the program has it.

use std::fs;

use super::files;

const PAGE: &str = "docs/limits.md";

/// `Duration::from_mins(5)` as `5 min`, `20 * 1024 * 1024` as `20 MiB`.
fn in_words(expression: &str) -> String {
    for (before, unit) in [("from_millis(", "ms"), ("from_secs(", "s"), ("from_mins(", "min"), ("from_hours(", "h")] {
        if let Some((_, number)) = expression.split_once(before) {
            return format!("{} {unit}", number.trim_end_matches(')'));
        }
    }
    if let Some(call) = expression.strip_prefix("TimeDelta::") {
        let (unit, number) = call.trim_end_matches(')').split_once('(').expect("a call");
        return format!("{number} {unit}");
    }
    for (factor, unit) in [(" * 1024 * 1024 * 1024", "GiB"), (" * 1024 * 1024", "MiB"), (" * 1024", "KiB")] {
        if let Some(number) = expression.strip_suffix(factor) {
            return format!("{number} {unit}");
        }
    }
    expression.replace('_', ",")
}

/// The table: each limit with its value and its reason, in the order and under the headings of the source.
fn page(source: &str) -> String {
    let mut page = String::from(
        "# Limits\n\nEvery limit of the program, from `src/limits.rs`. A test keeps this page as it is there: change it \
         there, run\n`cargo test --test it limits` and copy what it prints.\n",
    );
    let mut reason = Vec::new();
    for line in source.lines() {
        if let Some(heading) = line.strip_prefix("// ---- ") {
            let heading = heading.trim_end_matches('-').trim();
            page.extend(["\n## ", heading, "\n\n| limit | value | what and why |\n|---|---|---|\n"]);
        } else if let Some(words) = line.strip_prefix("/// ") {
            reason.push(words);
        } else if let Some((name, value)) = line.strip_prefix("pub const ").and_then(|rest| rest.split_once(" = ")) {
            let name = name.split_once(':').expect("a type").0;
            let value = in_words(value.trim_end_matches(';'));
            page.extend(["| `", name, "` | ", &value, " | ", &reason.join(" "), " |\n"]);
            reason.clear();
        }
    }
    page
}

#[test]
fn the_guide_shows_every_limit_as_it_is() {
    let source = files("src/limits.rs").remove(0).text;
    let expected = page(&source);
    let found = fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap_or_default();
    assert!(found == expected, "{PAGE} is not as src/limits.rs has it. It should read:\n\n{expected}");
}

#[test]
fn values_are_written_for_people() {
    for (expression, words) in [
        ("Duration::from_mins(5)", "5 min"),
        ("TimeDelta::hours(72)", "72 hours"),
        ("20 * 1024 * 1024", "20 MiB"),
        ("4_000", "4,000"),
        ("8", "8"),
    ] {
        assert_eq!(in_words(expression), words);
    }
}
