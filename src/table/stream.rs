//! The bytes of a file while its rows come.

use std::io;
use std::mem;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Format, Table, Writer};
use crate::dates::Zone;
use crate::error::{Error, Result};
use crate::locale::Locale;

/// The size of a chunk, more or less: large enough that its overhead vanishes, small enough that memory stays flat.
const CHUNK: usize = 64 * 1024;
/// Room for the row that fills the chunk.
const CHUNK_CAPACITY: usize = CHUNK + 4 * 1024;
/// A workbook gives no chunks while it takes rows, so it lets others run after so many.
const ROWS_BETWEEN_YIELDS: u32 = 500;

impl<Row: Send> Table<Row> {
    /// The file as chunks of bytes: all rows, in the order in which they come.
    ///
    /// Feed it from a task that owns its connection and reads in keyset chunks (see [`Table::stream_batches`]): a reader
    /// that goes away drops this stream, and nothing of the query may be left on a pooled connection then.
    ///
    /// # Errors
    /// An error among the rows is the last item, and the file is broken there: a body made of this stream aborts the
    /// download, it does not end it. A break after the first chunk is logged here, an earlier one is the caller's to tell.
    pub fn stream<S>(
        &'static self,
        format: Format,
        locale: Locale,
        zone: Zone,
        rows: S,
    ) -> impl Stream<Item = Result<Bytes>> + Send + use<Row, S>
    where
        S: Stream<Item = Result<Row>> + Send + 'static,
    {
        self.stream_batches(format, locale, zone, rows.map_ok(|row| [row]))
    }

    /// As [`Table::stream`], for rows that come many at a time.
    pub fn stream_batches<S, Batch>(
        &'static self,
        format: Format,
        locale: Locale,
        zone: Zone,
        batches: S,
    ) -> impl Stream<Item = Result<Bytes>> + Send + use<Row, S, Batch>
    where
        S: Stream<Item = Result<Batch>> + Send + 'static,
        Batch: IntoIterator<Item = Row, IntoIter: Send> + Send,
    {
        let file = File {
            table: self,
            batches: Box::pin(batches),
            batch: None,
            out: Vec::new(),
            part: Part::Start(format, locale, zone),
            chunks: 0,
        };
        stream::try_unfold(file, File::next)
    }
}

/// Waits for the first chunk, so that what fails before anything was sent (the query, a list too long for Excel) can
/// still be answered with a message. The stream given back has everything.
pub async fn begin<S>(stream: S) -> Result<impl Stream<Item = Result<Bytes>> + Send + use<S>>
where
    S: Stream<Item = Result<Bytes>> + Send,
{
    let mut stream = Box::pin(stream);
    let first = stream.try_next().await?;
    Ok(stream::iter(first.map(Ok)).chain(stream))
}

/// A file between two chunks.
struct File<Row: 'static, S, Batch: IntoIterator> {
    table: &'static Table<Row>,
    batches: Pin<Box<S>>,
    /// What is left of the batch at hand.
    batch: Option<Batch::IntoIter>,
    /// What is written and not yet given away.
    out: Vec<u8>,
    part: Part<Row>,
    /// How many chunks were given away.
    chunks: u64,
}

enum Part<Row: 'static> {
    Start(Format, Locale, Zone),
    Rows(Writer<Row>),
    Saving(Saving),
    Ended,
}

impl<Row, S, Batch> File<Row, S, Batch>
where
    S: Stream<Item = Result<Batch>>,
    Batch: IntoIterator<Item = Row>,
{
    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        match self.chunk().await {
            Ok(None) => Ok(None),
            Ok(Some(chunk)) => {
                self.chunks += 1;
                Ok(Some((chunk, self)))
            }
            Err(error) => {
                if self.chunks > 0 {
                    tracing::error!(list = self.table.name, %error, "a file broke off while it was being sent");
                }
                Err(error)
            }
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>> {
        loop {
            // An error leaves the file ended.
            match mem::replace(&mut self.part, Part::Ended) {
                Part::Start(format, locale, zone) => {
                    self.out.reserve(CHUNK_CAPACITY);
                    self.part = Part::Rows(self.table.writer(format, locale, zone, &mut self.out)?);
                }
                Part::Rows(writer) => {
                    self.part = self.rows(writer).await?;
                    if !self.out.is_empty() {
                        let chunk = mem::replace(&mut self.out, Vec::with_capacity(CHUNK_CAPACITY));
                        return Ok(Some(chunk.into()));
                    }
                }
                Part::Saving(mut saving) => {
                    let chunk = saving.next().await?;
                    if chunk.is_some() {
                        self.part = Part::Saving(saving);
                    }
                    return Ok(chunk);
                }
                Part::Ended => return Ok(None),
            }
        }
    }

    /// Writes rows until a chunk is full or no more come, and says what comes after that.
    async fn rows(&mut self, mut writer: Writer<Row>) -> Result<Part<Row>> {
        let mut rows_since_yield = 0;
        loop {
            let mut batch = match self.batch.take() {
                Some(batch) => batch,
                None => match self.batches.try_next().await? {
                    Some(batch) => batch.into_iter(),
                    None if writer.is_workbook() => return Ok(Part::Saving(Saving::start(writer))),
                    None => {
                        writer.finish(&mut self.out)?;
                        return Ok(Part::Ended);
                    }
                },
            };
            while let Some(row) = batch.next() {
                writer.push(&row, &mut self.out)?;
                rows_since_yield += 1;
                if self.out.len() >= CHUNK {
                    self.batch = Some(batch);
                    return Ok(Part::Rows(writer));
                }
                if writer.is_workbook() && rows_since_yield >= ROWS_BETWEEN_YIELDS {
                    rows_since_yield = 0;
                    tokio::task::yield_now().await;
                }
            }
        }
    }
}

/// A workbook that is being compressed on a thread of its own.
struct Saving {
    chunks: mpsc::Receiver<Bytes>,
    task: JoinHandle<Result<()>>,
}

impl Saving {
    fn start<Row>(writer: Writer<Row>) -> Self {
        let (sender, chunks) = mpsc::channel(4);
        let task = tokio::task::spawn_blocking(move || {
            let mut pipe = Pipe { sender, out: Vec::with_capacity(CHUNK_CAPACITY) };
            writer.finish(&mut pipe)?;
            pipe.send().map_err(|error| Error::Internal(error.into()))
        });
        Self { chunks, task }
    }

    async fn next(&mut self) -> Result<Option<Bytes>> {
        if let Some(chunk) = self.chunks.recv().await {
            return Ok(Some(chunk));
        }
        // Only now is it known whether the end is the end.
        (&mut self.task).await.map_err(|panicked| Error::Internal(panicked.into()))??;
        Ok(None)
    }
}

/// Carries chunks from the thread to the stream; fails as soon as nobody reads any more.
struct Pipe {
    sender: mpsc::Sender<Bytes>,
    out: Vec<u8>,
}

impl Pipe {
    fn send(&mut self) -> io::Result<()> {
        let chunk = mem::replace(&mut self.out, Vec::with_capacity(CHUNK_CAPACITY));
        self.sender.blocking_send(chunk.into()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.extend_from_slice(bytes);
        if self.out.len() >= CHUNK {
            self.send()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
