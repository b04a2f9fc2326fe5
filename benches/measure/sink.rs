//! A mail server that takes everything, keeps one message and drops the rest.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;

/// The mail server.
pub struct Sink {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    taken: AtomicU32,
    connections: AtomicU32,
    latest: Mutex<Vec<u8>>,
    called_at: Mutex<Option<Instant>>,
}

impl Sink {
    /// Listens on loopback until the process ends.
    pub fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let keeper = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let keeper = Arc::clone(&keeper);
                keeper.connections.fetch_add(1, Ordering::Relaxed);
                keeper.called_at.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
                // Whoever breaks off is heard of by the count of messages.
                std::thread::spawn(move || converse(stream, &keeper).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Messages since the last call, and connections.
    pub fn taken(&self) -> (u32, u32) {
        (self.shared.taken.swap(0, Ordering::Relaxed), self.shared.connections.swap(0, Ordering::Relaxed))
    }

    /// When somebody connected for the first time since the last call.
    pub fn called_at(&self) -> Option<Instant> {
        self.shared.called_at.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The last message, without its final dot.
    pub fn latest(&self) -> Vec<u8> {
        self.shared.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn converse(stream: TcpStream, shared: &Shared) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::with_capacity(16 * 1024, stream);
    let (mut line, mut message) = (Vec::new(), Vec::new());
    say(&mut stream, b"220 sink ESMTP\r\n")?;
    loop {
        line.clear();
        if stream.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        match line.get(..4).map(<[u8]>::to_ascii_uppercase).as_deref() {
            Some(b"EHLO") => say(&mut stream, b"250-sink\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE 10000000\r\n")?,
            Some(b"DATA") => {
                say(&mut stream, b"354 go on\r\n")?;
                message.clear();
                while !message.ends_with(b"\r\n.\r\n") {
                    if stream.read_until(b'\n', &mut message)? == 0 {
                        return Ok(());
                    }
                }
                message.truncate(message.len() - 3);
                std::mem::swap(&mut message, &mut *shared.latest.lock().unwrap_or_else(PoisonError::into_inner));
                shared.taken.fetch_add(1, Ordering::Relaxed);
                say(&mut stream, b"250 taken\r\n")?;
            }
            Some(b"QUIT") => {
                say(&mut stream, b"221 bye\r\n")?;
                return Ok(());
            }
            _ => say(&mut stream, b"250 ok\r\n")?,
        }
    }
}

fn say(stream: &mut BufReader<TcpStream>, words: &[u8]) -> Result<()> {
    Ok(stream.get_mut().write_all(words)?)
}
