//! In which encoding a file of text is, and its text. Chinese spreadsheets still write GBK, of which GB18030 is the whole.

use encoding_rs::{DecoderResult, GB18030, UTF_8, UTF_16BE, UTF_16LE};

use crate::text::word_set;

word_set! {
    /// An encoding that files are read in.
    Encoding, "error-encoding", {
        /// UTF-8, with or without its mark.
        Utf8 = "utf_8", "encoding-utf-8", ["utf8"];
        /// What Windows calls Unicode.
        Utf16Le = "utf_16le", "encoding-utf-16le", ["utf_16"];
        /// The same with its bytes the other way round.
        Utf16Be = "utf_16be", "encoding-utf-16be", [];
        /// GB18030, and with it GBK and GB2312.
        Gb18030 = "gb18030", "encoding-gb18030", ["gbk", "gb2312"];
    }
}

/// Marks at the beginning of a file, and the encoding that each one tells.
const MARKS: [(&[u8], Encoding); 3] =
    [(b"\xEF\xBB\xBF", Encoding::Utf8), (b"\xFF\xFE", Encoding::Utf16Le), (b"\xFE\xFF", Encoding::Utf16Be)];

/// Of so many characters of a UTF-16 file of ours at least one is a comma, a digit, a line break: half of its bytes are zero.
const ONE_PLAIN_OF: usize = 10;

impl Encoding {
    /// The encoding that a file tells by its mark, or that its bytes fit best: UTF-8 wherever all of it is UTF-8.
    pub fn of(bytes: &[u8]) -> Self {
        if let Some((_, encoding)) = MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)) {
            return *encoding;
        }
        // A file of UTF-16 that holds only Latin letters is UTF-8 too, with a zero after each.
        let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
        let (even, odd) = (zeros(0), zeros(1));
        let many = bytes.len() / 2 / ONE_PLAIN_OF;
        // Some Chinese characters have a zero of their own, such as 㐀.
        if odd > many && odd / 4 > even {
            Self::Utf16Le
        } else if even > many && even / 4 > odd {
            Self::Utf16Be
        } else if std::str::from_utf8(bytes).is_err() && Self::Gb18030.decode(bytes).is_ok() {
            Self::Gb18030
        } else {
            Self::Utf8
        }
    }

    /// The text of a file, without its mark.
    ///
    /// # Errors
    /// The row, counted from 1, of the first bytes that are no text in this encoding.
    pub fn decode(self, bytes: &[u8]) -> Result<String, usize> {
        let mark = MARKS.iter().find(|(_, encoding)| *encoding == self).map_or(&b""[..], |(mark, _)| mark);
        let bytes = bytes.strip_prefix(mark).unwrap_or(bytes);
        let encoding = match self {
            Self::Utf8 => UTF_8,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Gb18030 => GB18030,
        };
        let mut decoder = encoding.new_decoder_without_bom_handling();
        let most = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
        let mut text = String::with_capacity(most.unwrap_or(bytes.len()));
        let mut rest = bytes;
        loop {
            let (result, read) = decoder.decode_to_string_without_replacement(rest, &mut text, true);
            rest = &rest[read..];
            match result {
                DecoderResult::InputEmpty => return Ok(text),
                DecoderResult::OutputFull => text.reserve(rest.len().max(16)),
                DecoderResult::Malformed(..) => return Err(text.matches('\n').count() + 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "项目,名称\r\n竹简,㐀与𠮷 2026-03-31\r\n";

    fn utf_16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    // case I01
    #[test]
    fn the_same_text_is_found_in_every_encoding_with_and_without_a_mark() {
        let (gb18030, _, lossy) = GB18030.encode(TEXT);
        assert!(!lossy);
        for (bytes, expected) in [
            (TEXT.as_bytes().to_vec(), Encoding::Utf8),
            (format!("\u{FEFF}{TEXT}").into_bytes(), Encoding::Utf8),
            (utf_16(TEXT, u16::to_le_bytes), Encoding::Utf16Le),
            (utf_16(&format!("\u{FEFF}{TEXT}"), u16::to_le_bytes), Encoding::Utf16Le),
            (utf_16(TEXT, u16::to_be_bytes), Encoding::Utf16Be),
            (utf_16(&format!("\u{FEFF}{TEXT}"), u16::to_be_bytes), Encoding::Utf16Be),
            (utf_16("name,price\nabc,1\n", u16::to_le_bytes), Encoding::Utf16Le),
            (gb18030.to_vec(), Encoding::Gb18030),
        ] {
            let found = Encoding::of(&bytes);
            assert_eq!(found, expected, "{bytes:?}");
            let text = found.decode(&bytes).unwrap();
            assert!(text == TEXT || text == "name,price\nabc,1\n", "{found}: {text}");
        }
        assert_eq!(Encoding::of(b""), Encoding::Utf8);
        assert_eq!(Encoding::of("A\0B,竹简竹简竹简".as_bytes()), Encoding::Utf8, "one zero is a slip, not an encoding");
    }

    #[test]
    fn what_is_no_text_is_told_by_its_row() {
        let mut bytes = GB18030.encode("竹\n简\n").0.into_owned();
        bytes.push(0xFF);
        assert_eq!(Encoding::Gb18030.decode(&bytes), Err(3));
        assert_eq!(Encoding::of(&bytes), Encoding::Utf8, "what fits nothing is refused as what most files are");
        assert_eq!(Encoding::Utf8.decode(&bytes), Err(1));
        assert_eq!(Encoding::Utf16Le.decode(b"a\0\n\0b"), Err(2), "half a character");
        // Another encoding chosen by hand reads other text, or none: never a panic.
        for encoding in Encoding::ALL {
            let _ = encoding.decode(TEXT.as_bytes());
        }
    }
}
