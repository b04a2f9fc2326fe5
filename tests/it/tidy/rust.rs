//! Just enough of Rust's grammar to tell code, text and comments apart, and to follow a `use`.

/// A piece of a source file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Code(&'a str),
    /// What stands between the quotes, escapes as written.
    Text(&'a str),
    Comment(&'a str),
}

/// What is delivered: everything before the file's tests, which come last.
pub(crate) fn product(source: &str) -> &str {
    source.find("\n#[cfg(test)]\nmod ").map_or(source, |at| &source[..=at])
}

/// Cuts a source file into its pieces. Character literals and lifetimes count as code.
pub(crate) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let bytes = source.as_bytes();
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at < bytes.len() {
        let rest = &source[at..];
        // (letters before the text, the text's length, letters after it), or a step over code
        let (open, len, close, comment) = if rest.starts_with("//") {
            (0, rest.find('\n').unwrap_or(rest.len()), 0, true)
        } else if rest.starts_with("/*") {
            (0, block_comment(rest), 0, true)
        } else if let Some(text) = rest.strip_prefix('"') {
            (1, quoted(text), 1, false)
        } else if let Some(hashes) = raw_hashes(source, at) {
            let end = format!("\"{}", "#".repeat(hashes));
            let open = hashes + 2;
            (open, rest[open..].find(&end).unwrap_or(rest.len() - open), end.len(), false)
        } else {
            at += if rest.starts_with('\'') { character(rest) } else { rest.chars().next().map_or(1, char::len_utf8) };
            continue;
        };
        if start < at {
            found.push(Piece::Code(&source[start..at]));
        }
        let inner = &rest[open..open + len];
        found.push(if comment { Piece::Comment(inner) } else { Piece::Text(inner) });
        at = (at + open + len + close).min(bytes.len());
        start = at;
    }
    if start < bytes.len() {
        found.push(Piece::Code(&source[start..]));
    }
    found
}

/// The length of a text up to its closing quote.
fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at,
            _ => {}
        }
    }
    rest.len()
}

/// The number of `#` where a raw text starts here: `r"`, `r#"`.
fn raw_hashes(source: &str, at: usize) -> Option<usize> {
    let rest = source[at..].strip_prefix('r')?;
    let joined = source[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if joined && !source[..at].ends_with('b') {
        return None;
    }
    let hashes = rest.bytes().take_while(|byte| *byte == b'#').count();
    rest[hashes..].starts_with('"').then_some(hashes)
}

/// The length of a comment that may hold others.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a character literal, or 1 for a lifetime's quote.
fn character(rest: &str) -> usize {
    let mut letters = rest.char_indices().skip(1);
    match letters.next() {
        // The escaped letter itself may be a quote.
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |at| at + 4),
        Some(_) => match letters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// All texts of a source.
pub(crate) fn strings(source: &str) -> Vec<String> {
    let text = |piece| if let Piece::Text(text) = piece { Some(text.to_owned()) } else { None };
    pieces(source).into_iter().filter_map(text).collect()
}

/// The source with comments and texts taken out, lines kept.
pub(crate) fn code(source: &str) -> String {
    let mut code = String::new();
    for piece in pieces(source) {
        match piece {
            Piece::Code(piece) => code.push_str(piece),
            Piece::Text(piece) | Piece::Comment(piece) => {
                code.push(' ');
                code.extend(std::iter::repeat_n('\n', piece.matches('\n').count()));
            }
        }
    }
    code
}

/// What a source names below `root::`, groups spread out: `use crate::{a, b::{c, d}}` gives `a`, `b::c`, `b::d`.
pub(crate) fn paths_below(code: &str, root: &str) -> Vec<String> {
    let start = format!("{root}::");
    let starts = code
        .match_indices(&start)
        .filter(|(at, _)| !code[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':'));
    let mut found = Vec::new();
    for (at, _) in starts {
        spread(&code[at + start.len()..], "", &mut found);
    }
    found
}

/// Reads one path or group; gives what follows it.
fn spread<'a>(code: &'a str, above: &str, found: &mut Vec<String>) -> &'a str {
    let code = code.trim_start();
    if let Some(mut rest) = code.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let after = spread(rest, above, found);
            // What follows up to the comma or the end is a renaming.
            let Some(end) = after.find([',', '}']) else { return "" };
            rest = after[end..].strip_prefix(',').unwrap_or(&after[end..]);
        }
    }
    let len = code.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(code.len());
    let name = if above.is_empty() { code[..len].to_owned() } else { format!("{above}::{}", &code[..len]) };
    match code[len..].strip_prefix("::") {
        Some(below) if below.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '{') => {
            spread(below, &name, found)
        }
        _ => {
            found.push(name);
            &code[len..]
        }
    }
}

#[test]
fn code_text_and_comments_are_told_apart() {
    let source = "let a = \"x // \\\" y\"; // \"no\"\nlet b = r#\"q \"in\" q\"#; let c = '\"'; fn f<'a>() {} /* a /* b */ c */ let d = '\\'';";
    assert_eq!(strings(source), ["x // \\\" y", "q \"in\" q"]);
    assert_eq!(code(source), "let a =  ;  \nlet b =  ; let c = '\"'; fn f<'a>() {}   let d = '\\'';");
}

#[test]
fn the_tests_of_a_file_are_not_delivered() {
    assert_eq!(product("fn a() {}\n\n#[cfg(test)]\nmod tests {\n}\n"), "fn a() {}\n\n");
    assert_eq!(product("#[cfg(test)]\nfn b() {}\nfn c() {}\n"), "#[cfg(test)]\nfn b() {}\nfn c() {}\n");
}

#[test]
fn a_group_of_uses_is_spread_out() {
    let code =
        "use crate::{access::{person, user::{self, User}}, money as m, tx::*};\nlet x = crate::ledger::spend::list(1);";
    assert_eq!(
        paths_below(code, "crate"),
        ["access::person", "access::user::self", "access::user::User", "money", "tx", "ledger::spend::list"]
    );
}
