//! What a template may not hold: the content security policy would block it, or it would open a hole.

use super::{File, files, none};

fn findings(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let mut say = |line: usize, what: &str| findings.push(format!("{}:{}: {what}", file.path, line + 1));
    for (i, line) in file.text.lines().enumerate() {
        if line.split('|').skip(1).any(|filter| filter.trim_start().starts_with("safe")) {
            say(i, "|safe turns off escaping: give the template a type that renders itself, or plain text");
        }
    }
    if !file.is("html") {
        return findings;
    }
    let html = without_expressions(&file.text);
    // A mail has no policy and no stylesheet.
    let is_mail = file.path.starts_with("templates/mail/");
    for (i, line) in html.lines().enumerate() {
        let lower = line.to_lowercase();
        for name in attributes(&lower) {
            if name == "style" && !is_mail {
                say(i, "style= is blocked by the policy: use a class");
            } else if name.starts_with("on") && name.len() > 2 || name.starts_with("hx-on") {
                say(
                    i,
                    "a handler in the page is blocked by the policy: use static/, and a data- attribute to find the element",
                );
            }
        }
        if lower.contains("<style") && !is_mail {
            say(i, "<style> is blocked by the policy: use static/");
        }
        if lower.split("<script").skip(1).any(|tag| !attributes(tag).contains(&"src")) {
            say(i, "a script in the page is blocked by the policy: use static/ and src=");
        }
        if lower.contains("javascript:") {
            say(i, "javascript: is blocked by the policy: use a form or a link");
        }
    }
    findings
}

/// The names before `=` that are set apart by white space or begin the line, as attributes do.
fn attributes(line: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == ':';
    let ends = line.match_indices('=').map(|(at, _)| line[..at].trim_end());
    let names = ends.filter_map(|before| {
        let name = before.rsplit(|c: char| !is_name(c)).next().unwrap_or_default();
        let apart = &before[..before.len() - name.len()];
        (apart.is_empty() || apart.ends_with(char::is_whitespace)).then_some(name)
    });
    names.collect()
}

/// The template with `{{ … }}`, `{% … %}` and `{# … #}` taken out, lines kept.
fn without_expressions(text: &str) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some(start) = ["{{", "{%", "{#"].iter().filter_map(|open| rest.find(open)).min() {
        html.push_str(&rest[..start]);
        let close = match &rest[start..start + 2] {
            "{{" => "}}",
            "{%" => "%}",
            _ => "#}",
        };
        let end = rest[start..].find(close).map_or(rest.len(), |at| start + at + 2);
        html.extend(std::iter::repeat_n('\n', rest[start..end].matches('\n').count()));
        rest = &rest[end..];
    }
    html + rest
}

#[test]
fn templates_hold_no_script_no_style_and_nothing_unescaped() {
    let findings: Vec<_> = files("templates").iter().flat_map(findings).collect();
    none(&findings, "Pages obey the strict content security policy and escape everything.");
}

#[test]
fn what_the_policy_would_block_is_found() {
    let count = |path: &str, text: &str| findings(&File { path: path.to_owned(), text: text.to_owned() }).len();
    let page = |text: &str| count("templates/ledger/spend_list.html", text);
    assert_eq!(page("<p>{{ note|safe }}</p>"), 1);
    assert_eq!(page("<p>{{ note | safe }}</p>"), 1);
    assert_eq!(page("<p style=\"color: red\">"), 1);
    assert_eq!(page("<a href=\"/\" onclick=\"go()\">"), 1);
    assert_eq!(page("<a\nonclick=\"go()\">"), 1);
    assert_eq!(page("<script>go()</script>"), 1);
    assert_eq!(page("<script src=\"/static/page.js\" defer></script>"), 0);
    assert_eq!(page("{% call row(a, once=true, style=\"x\") %}<p data-style=\"x\" class=\"on\">based on a = b</p>"), 0);
    assert_eq!(count("templates/mail/reminder/body.html", "<p style=\"color: red\">"), 0);
}
