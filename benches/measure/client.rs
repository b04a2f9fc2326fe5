//! A client of one connection that asks, reads the whole answer, and keeps nothing of it. It costs next to nothing, so
//! that what is measured is the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::data::TOKEN;

/// How long the server may be silent. Long, since a benchmark that waits in vain has failed anyway.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection of the signed-in administrator.
pub struct Client {
    reader: BufReader<TcpStream>,
    address: SocketAddr,
}

/// What came back.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Bytes of the body that were read.
    pub bytes: u64,
    /// Line ends among them.
    pub lines: u64,
}

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::with_capacity(64 * 1024, stream), address })
    }

    /// Asks for a page and times it, in milliseconds. Anything but 200 is an error.
    pub fn time(&mut self, path: &str) -> Result<f64> {
        let begun = Instant::now();
        self.whole(path)?;
        Ok(begun.elapsed().as_secs_f64() * 1000.0)
    }

    /// Asks and reads to the end. Anything but 200 is an error.
    pub fn whole(&mut self, path: &str) -> Result<Answer> {
        let answer = self.ask(path, u64::MAX)?;
        ensure!(answer.status == 200, "{path} answered {}", answer.status);
        Ok(answer)
    }

    /// Asks and reads at most so many bytes of the body; where that is not all, the connection is used up.
    pub fn ask(&mut self, path: &str, most: u64) -> Result<Answer> {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: __Host-session={TOKEN}\r\n\r\n", self.address);
        self.reader.get_mut().write_all(request.as_bytes())?;
        let (mut length, mut chunked) = (None, false);
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no status")?;
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("no header")?;
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = Some(value.trim().parse::<u64>()?),
                "transfer-encoding" => chunked = value.trim() == "chunked",
                _ => {}
            }
        }
        let mut answer = Answer { status, bytes: 0, lines: 0 };
        match length {
            Some(length) => self.body(length.min(most), &mut answer)?,
            None if chunked => self.chunks(most, &mut answer)?,
            None => bail!("{path} answered {status} with a body of unknown length"),
        }
        Ok(answer)
    }

    fn chunks(&mut self, most: u64, answer: &mut Answer) -> Result<()> {
        loop {
            let length = u64::from_str_radix(self.line()?.trim(), 16).context("the answer broke off")?;
            let wanted = length.min(most - answer.bytes);
            self.body(wanted, answer)?;
            if wanted < length {
                return Ok(());
            }
            self.line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn body(&mut self, length: u64, answer: &mut Answer) -> Result<()> {
        let mut body = (&mut self.reader).take(length);
        loop {
            let bytes = body.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            answer.lines += bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
            let taken = bytes.len();
            answer.bytes += taken as u64;
            body.consume(taken);
        }
        ensure!(body.limit() == 0, "the answer broke off");
        Ok(())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        line.truncate(line.trim_end_matches(['\r', '\n']).len());
        Ok(line)
    }
}
