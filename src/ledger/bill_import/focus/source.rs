//! The bytes of an imported file: unpacked, without byte order mark, with an end to what one record or one file may be.

use std::io::{self, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::limits;
use crate::locale::Message;

/// How much of a file is looked at to learn what it is.
const PEEK: u64 = 64 * 1024;

/// The text of a file, metered: an unclosed quotation mark or a bomb ends in an error, not in all of the memory.
pub(super) struct Source {
    inner: Box<dyn Read + Send>,
    /// Bytes read since the last record began.
    since_record: usize,
    total: u64,
    /// Why reading stopped, in words for a person.
    pub refusal: Option<Message>,
}

/// What was found out about a file before its text is read.
pub(super) struct Opened {
    /// The text.
    pub source: Source,
    /// The mark between two cells.
    pub delimiter: u8,
}

/// Looks at the first bytes: packed or not, which marks, whether it is a text of cells at all.
pub(super) fn open(mut file: impl Read + Send + 'static) -> Result<Opened, Message> {
    let head = head_of(&mut file, 2)?;
    let packed = head == [0x1F, 0x8B];
    let whole = Cursor::new(head).chain(file);
    let mut text: Box<dyn Read + Send> = if packed {
        Box::new(MultiGzDecoder::new(io::BufReader::with_capacity(64 * 1024, whole)))
    } else {
        Box::new(whole)
    };
    let mut head = head_of(&mut text, PEEK)?;
    if let Some(rest) = head.strip_prefix(b"\xEF\xBB\xBF") {
        head = rest.to_vec();
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PAR1") {
        return Err(Message::new("focus-not-text"));
    }
    if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        return Err(Message::new("focus-encoding"));
    }
    let delimiter = delimiter_of(&head);
    let inner = Box::new(Cursor::new(head).chain(text));
    Ok(Opened { source: Source { inner, since_record: 0, total: 0, refusal: None }, delimiter })
}

fn head_of(reader: &mut impl Read, length: u64) -> Result<Vec<u8>, Message> {
    let mut head = Vec::new();
    reader.take(length).read_to_end(&mut head).map_err(|error| unreadable(&error))?;
    Ok(head)
}

/// The mark that the first line has most often outside quotation marks; a comma where there is none.
fn delimiter_of(head: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let mut quoted = false;
    for byte in head {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => counts.iter_mut().filter(|(mark, _)| mark == byte).for_each(|(_, count)| *count += 1),
        }
    }
    // Of equals the first: `max_by_key` would take the last.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(mark, _)| mark)
}

/// Words for a file that could not be read to its end.
pub(super) fn unreadable(error: &io::Error) -> Message {
    Message::new("focus-unreadable").with("reason", error.to_string())
}

impl Source {
    /// A record begins here.
    pub(super) const fn record_begins(&mut self) {
        self.since_record = 0;
    }

    fn refuse(&mut self, message: Message) -> io::Error {
        self.refusal = Some(message);
        io::Error::other("beyond a limit")
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.inner.read(buffer) {
            Ok(read) => read,
            Err(error) => {
                self.refusal = Some(unreadable(&error));
                return Err(error);
            }
        };
        self.since_record += read;
        self.total += read as u64;
        if self.total > limits::IMPORT_BYTES {
            let most = format!("{} GiB", limits::IMPORT_BYTES >> 30);
            return Err(self.refuse(Message::new("focus-file-size").with("most", most)));
        }
        if self.since_record > limits::IMPORT_RECORD_BYTES {
            let most = format!("{} MiB", limits::IMPORT_RECORD_BYTES >> 20);
            return Err(self.refuse(Message::new("focus-record-size").with("most", most)));
        }
        Ok(read)
    }
}
