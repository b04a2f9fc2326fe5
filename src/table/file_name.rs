//! The name that a browser gives a download.

use http::HeaderValue;

/// The value of a `Content-Disposition` header (RFC 6266): the name in UTF-8, and one in ASCII for old readers.
///
/// `name` is the whole file name, as in `环境-2026-03-18.csv`. It never leads into a folder and cannot end the header.
pub fn content_disposition(name: &str) -> HeaderValue {
    let name: String = name.chars().map(|c| if c.is_control() || matches!(c, '/' | '\\') { '_' } else { c }).collect();
    let value = format!("attachment; filename=\"{}\"; filename*=UTF-8''{}", in_ascii(&name), percent_encoded(&name));
    HeaderValue::try_from(value).expect("both names are visible ASCII")
}

/// What is left of the name in ASCII, `download` where that is nothing.
fn in_ascii(name: &str) -> String {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.bytes().all(|b| b.is_ascii_alphanumeric()) => (stem, Some(extension)),
        _ => (name, None),
    };
    let ascii: String =
        stem.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').filter(|c| !matches!(c, '"' | '%')).collect();
    let ascii = ascii.trim_matches([' ', '-', '_', '.']);
    let stem = if ascii.is_empty() { "download" } else { ascii };
    extension.map_or_else(|| stem.to_owned(), |extension| format!("{stem}.{extension}"))
}

/// RFC 8187: everything but its `attr-char` as `%XX`.
fn percent_encoded(name: &str) -> String {
    const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(name.len() * 3);
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(UPPER_HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(UPPER_HEX[usize::from(byte & 15)]));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_name_is_given_in_utf8_and_what_is_left_of_it_in_ascii() {
        assert_eq!(
            content_disposition("环境-2026-03-18.csv"),
            "attachment; filename=\"2026-03-18.csv\"; filename*=UTF-8''%E7%8E%AF%E5%A2%83-2026-03-18.csv"
        );
        assert_eq!(
            content_disposition("合同.pdf"),
            "attachment; filename=\"download.pdf\"; filename*=UTF-8''%E5%90%88%E5%90%8C.pdf"
        );
        assert_eq!(
            content_disposition("spend-2026-03-18.xlsx"),
            "attachment; filename=\"spend-2026-03-18.xlsx\"; filename*=UTF-8''spend-2026-03-18.xlsx"
        );
    }

    #[test]
    fn a_name_cannot_end_the_header_or_lead_into_a_folder() {
        assert_eq!(
            content_disposition("../a\"b\r\nSet-Cookie: x.csv"),
            "attachment; filename=\"ab__Set-Cookie: x.csv\"; filename*=UTF-8''.._a%22b__Set-Cookie%3A%20x.csv"
        );
    }
}
