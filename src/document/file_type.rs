//! Which files are taken: the name's ending and the bytes must say the same. What a browser claims about a file is not asked, and
//! nothing is ever unpacked.

use crate::locale::Message;
use crate::text::excerpt;

/// What a file may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileType {
    Pdf,
    Png,
    Jpeg,
    Text,
    Csv,
    Word,
    Excel,
}

/// What nobody knows how to read: a browser only saves it.
const BYTES: &str = "application/octet-stream";

const TYPES: &[(&str, FileType)] = &[
    ("pdf", FileType::Pdf),
    ("png", FileType::Png),
    ("jpg", FileType::Jpeg),
    ("jpeg", FileType::Jpeg),
    ("txt", FileType::Text),
    ("csv", FileType::Csv),
    ("docx", FileType::Word),
    ("xlsx", FileType::Excel),
];

impl FileType {
    const fn media_type(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Text => "text/plain; charset=utf-8",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Word => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Excel => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        }
    }

    fn agrees(self, bytes: &[u8]) -> bool {
        match self {
            Self::Pdf => bytes.starts_with(b"%PDF-"),
            Self::Png => bytes.starts_with(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
            Self::Jpeg => bytes.starts_with(b"\xff\xd8\xff"),
            Self::Text | Self::Csv => is_text(bytes),
            Self::Word => is_office(bytes, b"word/document.xml"),
            Self::Excel => is_office(bytes, b"xl/workbook.xml"),
        }
    }
}

/// The media type under which a file is served, where it is taken at all.
///
/// # Errors
/// The name's ending is none of ours, the bytes are something else, or an office file brings programs.
pub fn media_type(name: &str, bytes: &[u8]) -> Result<&'static str, Message> {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let Some((_, file_type)) = TYPES.iter().find(|(known, _)| *known == ending) else {
        return Err(Message::new("error-document-type").with("name", excerpt(name)));
    };
    if !file_type.agrees(bytes) {
        return Err(Message::new("error-document-content").with("name", excerpt(name)));
    }
    let is_plain = matches!(file_type, FileType::Text | FileType::Csv);
    // Text of an old Chinese program is kept as it is; only its letters cannot be promised.
    Ok(if is_plain && std::str::from_utf8(bytes).is_err() { BYTES } else { file_type.media_type() })
}

/// The media type to serve a stored one under: one of ours, or bytes.
pub fn served(stored: &str) -> &'static str {
    TYPES.iter().map(|(_, file_type)| file_type.media_type()).find(|ours| *ours == stored).unwrap_or(BYTES)
}

/// No control characters but those of lines, tabs and pages; whatever the alphabet.
fn is_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f || matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c))
}

/// Whether a file's directory is that of an office file without programs; nothing is unpacked.
fn is_office(bytes: &[u8], main: &[u8]) -> bool {
    let Some(names) = zip_names(bytes) else { return false };
    let has = |name: &[u8]| names.iter().any(|it| it.eq_ignore_ascii_case(name));
    let program =
        |name: &&[u8]| name.to_ascii_lowercase().ends_with(b".bin") && !name.starts_with(b"xl/printerSettings/");
    has(b"[Content_Types].xml") && has(main) && !names.iter().any(program)
}

/// The names in the directory of a zip file; nothing where it is none.
fn zip_names(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    const END: usize = 22;
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    let number = |at: usize, length: usize| {
        let digits = bytes.get(at..at.checked_add(length)?)?;
        Some(digits.iter().rev().fold(0_usize, |number, digit| number << 8 | usize::from(*digit)))
    };
    // A comment of up to 64 KiB may stand behind the directory.
    let tail = bytes.len().saturating_sub(END + usize::from(u16::MAX));
    let end = tail + bytes[tail..].windows(4).rposition(|mark| mark == b"PK\x05\x06")?;
    bytes.get(end..end + END)?;
    let (count, mut at) = (number(end + 10, 2)?, number(end + 16, 4)?);
    let mut names = Vec::new();
    for _ in 0..count {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let (name, extra, comment) = (number(at + 28, 2)?, number(at + 30, 2)?, number(at + 32, 2)?);
        names.push(bytes.get(at + 46..at + 46 + name)?);
        at += 46 + name + extra + comment;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zip file of empty entries.
    fn zip(names: &[&str]) -> Vec<u8> {
        let mut file = b"PK\x03\x04".to_vec();
        let start = u32::try_from(file.len()).unwrap();
        for name in names {
            file.extend(b"PK\x01\x02");
            file.extend([0; 24]);
            file.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            file.extend([0; 16]);
            file.extend(name.as_bytes());
        }
        let count = u16::try_from(names.len()).unwrap().to_le_bytes();
        file.extend(b"PK\x05\x06\0\0\0\0");
        file.extend(count);
        file.extend(count);
        file.extend([0; 4]);
        file.extend(start.to_le_bytes());
        file.extend([0; 2]);
        file
    }

    fn refused(name: &str, bytes: &[u8]) -> &'static str {
        media_type(name, bytes).unwrap_err().key
    }

    #[test]
    fn a_file_is_what_its_name_and_its_bytes_both_say() {
        assert_eq!(media_type("合同.PDF", b"%PDF-1.7\n").unwrap(), "application/pdf");
        assert_eq!(media_type("a.b.jpeg", b"\xff\xd8\xff\xe0").unwrap(), "image/jpeg");
        assert_eq!(media_type("说明.txt", "第一行\n".as_bytes()).unwrap(), "text/plain; charset=utf-8");
        assert_eq!(media_type("old.csv", b"\xb5\xda,1\r\n").unwrap(), BYTES, "letters of another alphabet");
        let book = zip(&["[Content_Types].xml", "xl/workbook.xml", "xl/printerSettings/printerSettings1.bin"]);
        assert_eq!(media_type("a.xlsx", &book).unwrap(), FileType::Excel.media_type());
        assert_eq!(refused("a.docx", &book), "error-document-content", "a workbook is no letter");
        for (name, bytes) in [("a.pdf", &b"<html>"[..]), ("a.png", b"%PDF-"), ("a.txt", b"a\0b"), ("a.pdf", b"")] {
            assert_eq!(refused(name, bytes), "error-document-content", "{name}");
        }
        for name in ["a.svg", "a.html", "a.zip", "a.docm", "a.xls", "pdf", "a.pdf.exe", "a."] {
            assert_eq!(refused(name, b"%PDF-"), "error-document-type", "{name}");
        }
    }

    #[test]
    fn an_office_file_with_a_program_or_a_broken_directory_is_refused() {
        let macros = zip(&["[Content_Types].xml", "xl/workbook.xml", "xl/vbaProject.bin"]);
        assert_eq!(refused("a.xlsx", &macros), "error-document-content");
        assert_eq!(refused("a.xlsx", &zip(&["0.zip", "1.zip"])), "error-document-content");
        let whole = zip(&["[Content_Types].xml", "word/document.xml"]);
        assert!(media_type("a.docx", &whole).is_ok());
        for cut in 0..whole.len() {
            assert!(media_type("a.docx", &whole[..cut]).is_err(), "cut at {cut}");
        }
        // Numbers that lead out of the file.
        let mut wild = whole.clone();
        let at = wild.len() - 6;
        wild[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(refused("a.docx", &wild), "error-document-content");
    }

    #[test]
    fn only_our_own_types_are_served() {
        assert_eq!(served("application/pdf"), "application/pdf");
        assert_eq!(served("text/html"), BYTES);
    }
}
