//! The two languages say the same things, every key that is said exists, and none is left over.

use std::collections::{BTreeMap, BTreeSet};

use rentroll::locale::{Locale, Message};

use super::rust::Piece;
use super::{File, files, files_of, is_tests, none, rust};

/// Beginnings of keys that the program puts together, as in `locale.text(&format!("state-{state}"))`. Each is named here
/// with what follows it, because no search finds the whole key. A test asks that the program still holds the beginning.
const PUT_TOGETHER: &[(&str, &str)] = &[];

/// The keys of a language, each with the file that it stands in, and what is wrong with the files themselves.
fn keys(locale: Locale) -> (BTreeMap<String, String>, Vec<String>) {
    let folder = format!("locales/{}", locale.tag());
    let (mut keys, mut findings) = (BTreeMap::new(), Vec::new());
    for file in files_of(&folder, "ftl") {
        let name = file.path.trim_start_matches(&format!("{folder}/")).to_owned();
        for key in keys_of(&file.text) {
            if let Some(other) = keys.insert(key.clone(), name.clone()) {
                findings.push(format!("{}: {key} stands in {other} already", file.path));
            }
        }
    }
    (keys, findings)
}

/// A key begins its line and is followed by `=`.
pub(crate) fn keys_of(ftl: &str) -> Vec<String> {
    let key = |line: &str| {
        let (key, _) = line.split_once('=')?;
        let key = key.trim_end();
        (key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(is_key_letter)).then(|| key.to_owned())
    };
    ftl.lines().filter_map(key).collect()
}

fn is_key_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// The arguments that messages want: `{ $value }`.
fn arguments_of(ftl: &str) -> Vec<String> {
    ftl.split('$').skip(1).map(|rest| rest.chars().take_while(|c| is_key_letter(*c)).collect()).collect()
}

/// The keys that another message includes: `{ app-name }`.
fn included(ftl: &str) -> impl Iterator<Item = String> {
    let inside = ftl.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(inside, _)| inside.trim());
    inside
        .filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(is_key_letter))
        .map(str::to_owned)
}

/// Every text of a template's expressions, and whether it is said: the first argument of `text(…)`, `say(…)` or `t(…)`.
fn template_texts(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for expression in
        text.split("{{").skip(1).map(|rest| (rest, "}}")).chain(text.split("{%").skip(1).map(|rest| (rest, "%}")))
    {
        let (rest, end) = expression;
        found.extend(texts(&rest[..rest.find(end).unwrap_or(rest.len())], &["text(", "say(", "t("]));
    }
    found
}

/// Every text of a source, and whether it directly follows one of those openings.
fn texts(source: &str, openings: &[&str]) -> Vec<(String, bool)> {
    let (mut found, mut before) = (Vec::new(), "");
    for piece in rust::pieces(source) {
        match piece {
            Piece::Code(code) => before = code.trim_end(),
            Piece::Text(text) => {
                let called = openings.iter().any(|opening| before.ends_with(opening) && !joins(before, opening));
                found.push((text.to_owned(), called));
                before = "";
            }
            Piece::Comment(_) => {}
        }
    }
    found
}

/// Whether the opening is only the end of a longer name: `context(` is not `text(`.
fn joins(before: &str, opening: &str) -> bool {
    opening.starts_with(char::is_alphabetic)
        && before[..before.len() - opening.len()].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// Every text of the program and its templates: where it stands, and whether it is surely a key.
fn said() -> Vec<(String, String, bool)> {
    let mut said = Vec::new();
    for File { path, text } in files_of("src", "rs").into_iter().filter(|file| !is_tests(file)) {
        let texts = texts(rust::product(&text), &["Message::new(", ".text("]);
        said.extend(texts.into_iter().map(|(text, called)| (path.clone(), text, called)));
    }
    for File { path, text } in files("templates") {
        said.extend(template_texts(&text).into_iter().map(|(text, called)| (path.clone(), text, called)));
    }
    said
}

#[test]
fn both_languages_have_the_same_keys_in_the_same_files() {
    let (zh, mut findings) = keys(Locale::ZhCn);
    let (en, more) = keys(Locale::En);
    findings.extend(more);
    let said: BTreeSet<String> = said().into_iter().map(|(_, text, _)| text).collect();
    let included: BTreeSet<String> =
        files("locales").iter().flat_map(|file| included(&file.text).collect::<Vec<_>>()).collect();
    // A piece that only other messages include is a matter of its own language: English month names, say.
    let is_shared = |key: &str| said.contains(key) || !included.contains(key);
    for (key, file) in zh.iter().filter(|(key, _)| is_shared(key)) {
        match en.get(key) {
            None => findings.push(format!("locales/en/{file}: {key} is missing")),
            Some(other) if other != file => findings.push(format!("{key} stands in zh-CN/{file} and in en/{other}")),
            Some(_) => {}
        }
    }
    findings.extend(
        en.iter()
            .filter(|(key, _)| is_shared(key) && !zh.contains_key(*key))
            .map(|(key, file)| format!("locales/zh-CN/{file}: {key} is missing")),
    );
    none(&findings, "Every message is in both languages, in files of the same name.");
}

#[test]
fn every_key_can_be_said() {
    let mut findings = Vec::new();
    // A message that lacks an argument is not said either, so each gets every argument that there is.
    let leak = |name: &str| -> &'static str { Box::leak(name.to_owned().into_boxed_str()) };
    let arguments: BTreeSet<_> =
        files("locales").iter().flat_map(|file| arguments_of(&file.text)).map(|name| leak(&name)).collect();
    let message = |key: &str| arguments.iter().fold(Message::new(leak(key)), |message, name| message.with(name, 3));
    for locale in Locale::ALL {
        let written: String = files(&format!("locales/{}", locale.tag())).into_iter().map(|file| file.text).collect();
        // What cannot be said comes back as its key; a few words are their own key.
        let is_said = |key: &str| locale.say(&message(key)) != key || written.contains(&format!("\n{key} = {key}\n"));
        let unsaid = keys(locale).0.into_iter().filter(|(key, _)| !is_said(key));
        findings.extend(unsaid.map(|(key, file)| format!("locales/{}/{file}: {key} cannot be read", locale.tag())));
    }
    none(&findings, "Fluent does not understand these lines: look at the indentation and the braces.");
}

#[test]
fn every_key_that_is_said_exists() {
    let (keys, _) = keys(Locale::En);
    let missing = said().into_iter().filter(|(_, text, is_key)| *is_key && !keys.contains_key(text));
    let findings: Vec<_> = missing.map(|(path, key, _)| format!("{path}: {key}")).collect();
    none(&findings, "Add these keys to locales/en and to locales/zh-CN.");
}

#[test]
fn every_key_is_used() {
    let (keys, _) = keys(Locale::En);
    let mut used: BTreeSet<String> = said().into_iter().map(|(_, text, _)| text).collect();
    used.extend(files("locales").iter().flat_map(|file| included(&file.text).collect::<Vec<_>>()));
    let is_used = |key: &str| used.contains(key) || PUT_TOGETHER.iter().any(|(start, _)| key.starts_with(start));
    let unused = keys.into_iter().filter(|(key, _)| !is_used(key));
    let findings: Vec<_> = unused.map(|(key, file)| format!("{file}: {key}")).collect();
    none(
        &findings,
        "Nothing says these keys: say them or delete them from both languages. Where the program puts the key together, name its beginning in PUT_TOGETHER.",
    );
}

#[test]
fn what_is_put_together_is_still_said() {
    let said = said();
    let is_said =
        |start: &str| said.iter().any(|(_, text, _)| text == start || text.starts_with(&format!("{start}{{")));
    let stale = PUT_TOGETHER.iter().filter(|(start, _)| !is_said(start));
    let findings: Vec<_> = stale.map(|(start, what)| format!("{start} ({what})")).collect();
    none(&findings, "Nothing begins a key so any more: take these out of PUT_TOGETHER.");
}

#[test]
fn keys_and_their_uses_are_found() {
    assert_eq!(
        keys_of(
            "# a = b\napp-name = Rentroll { other-key }\n    .title = x\ndays = { $n ->\n   *[other] { $n } = days\n }\n"
        ),
        ["app-name", "days"]
    );
    assert_eq!(arguments_of("a = { $value } { $n ->"), ["value", "n"]);
    assert_eq!(included("a = { other-key } { $n } { \"text\" }").collect::<Vec<_>>(), ["other-key"]);
    let source = "Message::new(\n    \"error-date\").with(\"value\", v); l.text(\"app-name\"); context(\"no\"); known(\"maybe-key\")";
    let called: Vec<_> = texts(source, &["Message::new(", "text("])
        .into_iter()
        .filter(|(_, called)| *called)
        .map(|(text, _)| text)
        .collect();
    assert_eq!(called, ["error-date", "app-name"]);
    let template = "<p class=\"plain\">{{ shell.text(\"app-name\") }}{% if kind == \"paid\" %}</p>";
    assert_eq!(template_texts(template), [("app-name".to_owned(), true), ("paid".to_owned(), false)]);
}
