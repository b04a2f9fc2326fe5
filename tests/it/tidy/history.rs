//! Every action that the program records reads as a sentence, and every sentence tells of one.

use std::collections::BTreeSet;

use rentroll::audit::{self, Entry};
use rentroll::ids::AuditEntryId;
use rentroll::locale::Locale;

use super::{files_of, is_tests, none, rust};

/// The file of the sentences; what it names is not thereby recorded.
const WORDS: &str = "src/audit/words.rs";

/// `noun.verb`, in the letters of a noun's own name.
fn is_action(text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    text.split_once('.').is_some_and(|(noun, verb)| is_word(noun) && is_word(verb))
}

/// Every text of the program in the form of an action whose noun begins one that is surely recorded.
fn actions() -> BTreeSet<String> {
    let mut surely = BTreeSet::new();
    let mut maybe = BTreeSet::new();
    for file in files_of("src", "rs").into_iter().filter(|file| !is_tests(file) && file.path != WORDS) {
        let mut before = "";
        for piece in rust::pieces(rust::product(&file.text)) {
            match piece {
                rust::Piece::Code(code) => before = code.trim_end(),
                rust::Piece::Text(text) if is_action(text) => {
                    let recorded = before.ends_with("record(") || before.ends_with("action:");
                    if recorded { &mut surely } else { &mut maybe }.insert(text.to_owned());
                }
                _ => {}
            }
        }
    }
    // An action chosen by a condition stands apart from its `record(…)`.
    let noun = |action: &str| action.split('.').next().unwrap_or_default().to_owned();
    let nouns: BTreeSet<String> = surely.iter().map(|action| noun(action)).collect();
    surely.extend(maybe.into_iter().filter(|action| nouns.contains(&noun(action))));
    surely
}

fn entry(action: &str) -> Entry {
    Entry {
        id: AuditEntryId(1),
        at: chrono::DateTime::UNIX_EPOCH,
        as_of: None,
        source: "page".into(),
        actor_kind: "person".into(),
        actor_name: "陈白露".into(),
        action: action.into(),
        object_kind: String::new(),
        object_id: None,
        object_name: String::new(),
        project_name: None,
        reason: None,
        request_id: uuid::Uuid::nil(),
        bytes: b"{}".to_vec(),
        changes: Vec::new(),
        first: false,
    }
}

#[test]
fn every_action_has_a_sentence_of_its_verb() {
    let findings: Vec<_> = actions()
        .into_iter()
        .filter(|action| {
            let general = entry(action).message().key == "hist-changed" && !action.ends_with(".changed");
            general || Locale::ALL.iter().any(|locale| entry(action).sentence(locale).starts_with("hist-"))
        })
        .collect();
    none(
        &findings,
        "Give these actions a sentence: the key in src/audit/words.rs, the words in locales/*/history.ftl.",
    );
}

#[test]
fn every_kind_of_record_has_a_name() {
    let named: BTreeSet<&str> = audit::nouns().iter().map(|(kind, _)| *kind).collect();
    let mut findings = Vec::new();
    for file in files_of("src", "rs").into_iter().filter(|file| !is_tests(file)) {
        let mut before = "";
        for piece in rust::pieces(rust::product(&file.text)) {
            match piece {
                rust::Piece::Code(code) => before = code.trim_end(),
                rust::Piece::Text(text) if before.ends_with("const KIND: &'static str =") && !named.contains(text) => {
                    findings.push(format!("{}: {text}", file.path));
                }
                _ => {}
            }
        }
    }
    none(&findings, "Name these nouns in src/audit/words.rs and locales/*/history.ftl.");
}
