//! Mail addresses in what others say.

/// What stands where an address stood.
const CUT: char = '…';

/// A text without the mail addresses in it. Many servers repeat the recipient's in their replies, and those are kept for ever,
/// while an address is kept only where it can be taken away again.
pub fn without_addresses(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let (start, end) = (local_part(before), domain(after));
        if start == at && end == 0 {
            // An @ by itself names nobody.
            kept.push_str(&rest[..=at]);
        } else {
            kept.push_str(&before[..start]);
            kept.push(CUT);
        }
        rest = &after[end..];
    }
    kept.push_str(rest);
    kept
}

/// Where the part before the `@` begins.
fn local_part(before: &str) -> usize {
    if let Some(quoted) = before.strip_suffix('"') {
        return quoted.rfind('"').unwrap_or(quoted.len());
    }
    let ends = |c: char| c.is_whitespace() || c.is_control() || "<>\",;\\()".contains(c);
    before.char_indices().rfind(|(_, c)| ends(*c)).map_or(0, |(place, c)| place + c.len_utf8())
}

/// Where the part behind the `@` ends.
fn domain(after: &str) -> usize {
    if after.starts_with('[') {
        return after.find(']').map_or(after.len(), |place| place + 1);
    }
    after.find(|c: char| !c.is_alphanumeric() && !"-._@".contains(c)).unwrap_or(after.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_are_cut_and_the_words_around_them_stay() {
        for (said, kept) in [
            ("250 2.0.0 Ok: accepted for <chen@example.com>", "250 2.0.0 Ok: accepted for <…>"),
            (
                "550 5.1.1 <olga+a.b@mail.example.com>: Recipient address rejected",
                "550 5.1.1 <…>: Recipient address rejected",
            ),
            ("550 olga@example.com: unknown", "550 …: unknown"),
            ("550 (olga@example.com), unknown", "550 (…), unknown"),
            ("553 to=\"olga\"@example.com refused", "553 to=… refused"),
            ("550 olga@[192.0.2.1] refused", "550 … refused"),
            ("550 SRS0=x=example.com=olga@relay.example and 李@例子.公司", "550 … and …"),
            ("450 meet @ nine", "450 meet @ nine"),
            ("250 2.0.0 queued as 4F1", "250 2.0.0 queued as 4F1"),
            ("@", "@"),
        ] {
            assert_eq!(without_addresses(said), kept);
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in ".{0,60}") {
            without_addresses(&text);
        }

        #[test]
        fn no_address_is_left(local in "[a-z0-9.+_-]{3,12}", before in "[ <:,(]", after in "[ >:,)]?") {
            let said = format!("550{before}{local}@example.com{after} no");
            prop_assert!(!without_addresses(&said).contains(&local), "{}", without_addresses(&said));
        }
    }
}
