//! The bytes of a bill on their way to the thread that reads them: hashed as they are, wherever they come from.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};

/// The name and size of the file's own bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// SHA-256 of all of them.
    pub sha256: [u8; 32],
    /// How many.
    pub bytes: u64,
}

/// Counts and hashes what is read through it; tells both when the end is met.
pub(super) struct Hashing<R> {
    inner: R,
    hash: Sha256,
    bytes: u64,
    tell: Option<oneshot::Sender<Fingerprint>>,
}

impl<R: Read> Hashing<R> {
    /// Around a file's bytes; the fingerprint comes when all of them were read.
    pub fn new(inner: R) -> (Self, oneshot::Receiver<Fingerprint>) {
        let (tell, told) = oneshot::channel();
        (Self { inner, hash: Sha256::new(), bytes: 0, tell: Some(tell) }, told)
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(&buffer[..count]);
        self.bytes += count as u64;
        if count == 0
            && !buffer.is_empty()
            && let Some(tell) = self.tell.take()
        {
            let sha256 = self.hash.clone().finalize().into();
            // Whoever does not wait for it does not need it.
            let _ = tell.send(Fingerprint { sha256, bytes: self.bytes });
        }
        Ok(count)
    }
}

/// Bytes that come from elsewhere, chunk by chunk, as a file that a thread reads.
pub(super) struct Incoming {
    /// Where they come from; an error breaks the file off.
    pub chunks: mpsc::Receiver<io::Result<bytes::Bytes>>,
    /// What is left of the chunk at hand.
    pub chunk: bytes::Bytes,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.chunks.blocking_recv() {
                Some(chunk) => self.chunk = chunk?,
                None => return Ok(0),
            }
        }
        let count = self.chunk.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.chunk.split_to(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_of_all_bytes_and_comes_at_their_end() {
        let (mut hashing, mut told) = Hashing::new(&b"abc"[..]);
        let mut two = [0; 2];
        hashing.read_exact(&mut two).unwrap();
        assert!(told.try_recv().is_err(), "not at its end");
        io::copy(&mut hashing, &mut io::sink()).unwrap();
        let fingerprint = told.try_recv().unwrap();
        assert_eq!(fingerprint.bytes, 3);
        assert_eq!(fingerprint.sha256, <[u8; 32]>::from(Sha256::digest(b"abc")));
    }
}
