//! Bytes by content hash in an object store: a folder of the data directory, or a bucket.
//!
//! An object's key is the SHA-256 of its bytes (`sha256/ab/cdef…`), so the same bytes are one object, and what is stored
//! never changes. Names, types and versions are rows of ours; the bytes are written **before** the row that names them, so
//! a row never names bytes that are not there.
//!
//! What is [`put`](Documents::put) waits under `waiting/` until it is [kept](Documents::keep), which whoever writes the row does
//! just before it is committed. Previews that nobody confirms and files that are refused are never kept, and
//! [`Documents::sweep`] takes them away some days later; it never looks at what was kept. What a crash leaves is at most an
//! object that no row names, and pieces under `incoming/`, which are swept a day later. Parts of an upload that a bucket holds
//! back are not among its objects: its own rule for unfinished uploads takes those.
//!
//! Bytes are hashed again as they are read: damage in the store breaks the download instead of passing for the document.

mod bucket;
mod incoming;

use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::prefix::PrefixStore;
use object_store::{
    Certificate, Error as StoreError, GetResult, ObjectStore, ObjectStoreExt as _, PutPayload, RetryConfig,
};
use sha2::{Digest as _, Sha256};
use url::Url;
use uuid::Uuid;

use self::incoming::Incoming;
use crate::error::{Error, Result};
use crate::limits;
use crate::locale::Message;

/// What is longer goes up in parts of this size (S3 takes no smaller ones); what is shorter in one request.
const PART: usize = 5 * 1024 * 1024;
/// Parts on their way beside the one that is being filled; with it they bound the memory of one upload.
const PARTS_UNDERWAY: usize = 1;
/// A store that is away is reported while a person still waits for the page.
const RETRIES: usize = 3;
const RETRY_FOR: Duration = Duration::from_secs(15);
/// Where bytes wait whose name is not known yet.
const INCOMING: &str = "incoming";
/// Where bytes wait that no row names yet.
const WAITING: &str = "waiting";

/// The object store. Cheap to clone.
#[derive(Clone)]
pub struct Documents {
    store: Arc<dyn ObjectStore>,
    /// The folder or the bucket, for messages.
    place: Arc<str>,
    /// The folder, where it is one.
    folder: Option<Arc<Path>>,
}

/// What was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The name of the bytes: their SHA-256.
    pub sha256: [u8; 32],
    /// How many bytes.
    pub size: u64,
}

/// What was found.
pub struct Found {
    /// How many bytes the stream gives.
    pub size: u64,
    /// The bytes; the last item is an error where they are not the ones that were stored.
    pub bytes: BoxStream<'static, Result<Bytes>>,
}

impl Documents {
    /// Opens the store: `s3://bucket/prefix` with the usual `AWS_*` variables (each secret also as `NAME_FILE`), else the
    /// folder `documents` in the data directory, made where it is missing. Sends nothing yet; [`Documents::check`] does.
    ///
    /// # Errors
    /// What is wrong with the address, the variables or the folder.
    pub fn open(url: Option<&str>, data_dir: &Path, extra_ca: Option<&Path>) -> Result<Self, Message> {
        // A variable that is not UTF-8 is none of ours.
        let variables = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        match url {
            Some(url) => Self::in_bucket(url, variables, &bucket::authorities(extra_ca)?),
            None => Self::in_folder(&data_dir.join("documents")),
        }
    }

    fn in_folder(folder: &Path) -> Result<Self, Message> {
        let place = folder.display().to_string();
        let refused = |error: &dyn fmt::Display| {
            Message::new("documents-folder").with("folder", place.as_str()).with("reason", error.to_string())
        };
        make_private(folder).map_err(|error| refused(&error))?;
        let store = LocalFileSystem::new_with_prefix(folder).map_err(|error| refused(&error))?;
        Ok(Self { store: Arc::new(store.with_fsync(true)), place: place.into(), folder: Some(folder.into()) })
    }

    fn in_bucket(
        url: &str,
        variables: impl Iterator<Item = (String, String)>,
        authorities: &[Certificate],
    ) -> Result<Self, Message> {
        let unusable = || Message::new("documents-url").with("value", without_password(url));
        let address = Url::parse(url).map_err(|_| unusable())?;
        let bucket = address.host_str().filter(|host| !host.is_empty()).ok_or_else(unusable)?;
        let has_more = !address.username().is_empty()
            || address.password().is_some()
            || address.port().is_some()
            || address.query().is_some()
            || address.fragment().is_some();
        if address.scheme() != "s3" || has_more {
            return Err(unusable());
        }
        let prefix = Key::from_url_path(address.path()).map_err(|_| unusable())?;
        let retry = RetryConfig { max_retries: RETRIES, retry_timeout: RETRY_FOR, ..RetryConfig::default() };
        let store =
            bucket::settings(variables, authorities)?.with_bucket_name(bucket).with_retry(retry).build().map_err(
                |error| Message::new("documents-bucket").with("bucket", url).with("reason", error.to_string()),
            )?;
        Ok(Self { store: Arc::new(PrefixStore::new(store, prefix)), place: url.into(), folder: None })
    }

    /// Stores the bytes, to be read or [kept](Documents::keep) within [`limits::WAITING_TIME`], and gives their name. Those that
    /// were kept before stay as they are. Large ones go up in parts while they come, so memory stays flat.
    ///
    /// # Errors
    /// [`Error::Invalid`] at `file` over `limit` (in bytes); an error of the stream as it is; [`Error::Unavailable`] where the store
    /// does not take them. Nothing is left behind then.
    pub async fn put<S>(&self, bytes: S, limit: u64) -> Result<Stored>
    where
        S: Stream<Item = Result<Bytes>> + Send,
    {
        let mut bytes = std::pin::pin!(bytes);
        let mut measure = Measure { hash: Sha256::new(), size: 0, limit };
        let mut chunks = Vec::new();
        while let Some(chunk) = bytes.try_next().await? {
            measure.add(&chunk)?;
            chunks.push(chunk);
            if measure.size > PART as u64 {
                return self.put_in_parts(chunks, bytes, measure).await;
            }
        }
        let stored = measure.stored();
        self.put_at_once(stored, chunks.into_iter().collect()).await?;
        Ok(stored)
    }

    /// [`Documents::put`] for bytes that are in memory.
    pub async fn put_bytes(&self, bytes: Bytes, limit: u64) -> Result<Stored> {
        self.put(stream::iter([Ok(bytes)]), limit).await
    }

    async fn put_at_once(&self, stored: Stored, payload: PutPayload) -> Result<()> {
        if !self.has(&key(&stored.sha256), stored.size).await? {
            // Where the same bytes wait already, their time begins anew.
            let written = self.store.put(&waiting(&stored.sha256), payload).await;
            written.map_err(|error| self.away(error.into(), "write"))?;
        }
        Ok(())
    }

    /// Keeps what was stored for good; whoever writes a row that names it calls this before the row is committed. Twice is once.
    ///
    /// # Errors
    /// [`Error::Conflict`] where it waited for so long that it was swept.
    pub async fn keep(&self, stored: Stored) -> Result<()> {
        let key = key(&stored.sha256);
        if self.has(&key, stored.size).await? {
            return Ok(());
        }
        match self.store.rename(&waiting(&stored.sha256), &key).await {
            Ok(()) => Ok(()),
            // Somebody else may have kept the same bytes at the same moment.
            Err(StoreError::NotFound { .. }) if self.has(&key, stored.size).await? => Ok(()),
            Err(StoreError::NotFound { .. }) => Err(Error::Conflict(Message::new("import-file-gone"))),
            Err(error) => Err(self.away(error.into(), "write")),
        }
    }

    /// The name of the bytes is known only at their end, so they go up under another one first.
    async fn put_in_parts<S>(&self, first: Vec<Bytes>, mut rest: Pin<&mut S>, mut measure: Measure) -> Result<Stored>
    where
        S: Stream<Item = Result<Bytes>> + Send,
    {
        let mut incoming = Incoming::start(self).await?;
        for chunk in first {
            incoming.add(self, chunk).await?;
        }
        loop {
            let next = match rest.try_next().await {
                Ok(Some(chunk)) => measure.add(&chunk).map(|()| Some(chunk)),
                Ok(None) => Ok(None),
                Err(error) => Err(error),
            };
            match next {
                Ok(Some(chunk)) => incoming.add(self, chunk).await?,
                Ok(None) => break,
                Err(error) => {
                    incoming.abort().await;
                    return Err(error);
                }
            }
        }
        let stored = measure.stored();
        incoming.finish(self, stored).await?;
        Ok(stored)
    }

    /// The bytes of that name.
    ///
    /// # Errors
    /// [`Error::Internal`] where they are missing (a row named them, so this is damage, not a wrong address);
    /// [`Error::Unavailable`] where the store does not answer.
    pub async fn get(&self, sha256: &[u8; 32]) -> Result<Found> {
        let key = key(sha256);
        let missing = || Error::Internal(anyhow!("the object {key} is missing from the documents in {}", self.place));
        self.find(sha256).await?.ok_or_else(missing)
    }

    /// The bytes of a name that nobody may have stored: an address that a person typed.
    pub async fn find(&self, sha256: &[u8; 32]) -> Result<Option<Found>> {
        let Some(found) = self.first(sha256).await? else { return Ok(None) };
        let size = found.meta.size;
        let damaged =
            format!("the object {} in {} is damaged: its bytes do not have its hash", found.meta.location, self.place);
        let this = self.clone();
        let bytes = found.into_stream().map_err(move |error| this.away(error.into(), "read"));
        Ok(Some(Found { size, bytes: verified(bytes, *sha256, damaged).boxed() }))
    }

    /// What is stored under a name: what was kept, else what waits.
    async fn first(&self, sha256: &[u8; 32]) -> Result<Option<GetResult>> {
        // Once more at the first place: it may have been kept between the two looks.
        for key in [key(sha256), waiting(sha256), key(sha256)] {
            match self.store.get(&key).await {
                Ok(found) => return Ok(Some(found)),
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(self.away(error.into(), "read")),
            }
        }
        Ok(None)
    }

    /// Writes, reads and deletes a small object, so that `doctor` can say whether the store works.
    pub async fn check(&self) -> Result<()> {
        let probe = Uuid::new_v4().to_string();
        let key = Key::from_iter(["check", probe.as_str()]);
        let written = PutPayload::from(probe.clone());
        self.store.put(&key, written).await.map_err(|error| self.away(error.into(), "write"))?;
        let read = async { self.store.get(&key).await?.bytes().await }.await;
        let deleted = self.store.delete(&key).await;
        let read = read.map_err(|error| self.away(error.into(), "read"))?;
        deleted.map_err(|error| self.away(error.into(), "delete"))?;
        if read == probe { Ok(()) } else { Err(self.away(anyhow!("it gave other bytes than it was given"), "read")) }
    }

    /// Takes away what uploads left that ended before their bytes had a name, and what waited in vain to be kept; gives how much.
    /// An upload that still goes on writes, and is younger. What is being confirmed just now was read before or is
    /// found gone by [`Documents::keep`]: then nothing is saved.
    pub async fn sweep(&self, now: DateTime<Utc>) -> Result<u64> {
        let incoming = self.sweep_one(INCOMING, now - limits::INCOMING_TIME).await?;
        Ok(incoming + self.sweep_one(WAITING, now - limits::WAITING_TIME).await?)
    }

    async fn sweep_one(&self, place: &'static str, before: DateTime<Utc>) -> Result<u64> {
        let Some(folder) = &self.folder else { return self.sweep_bucket(place, before).await };
        let folder = folder.join(place);
        let swept = tokio::task::spawn_blocking(move || remove_older(&folder, before)).await;
        let swept = swept.map_err(|panicked| Error::Internal(panicked.into()))?;
        swept.map_err(|error| self.away(error.into(), "delete"))
    }

    async fn sweep_bucket(&self, place: &'static str, before: DateTime<Utc>) -> Result<u64> {
        let mut found = self.store.list(Some(&Key::from(place)));
        let mut swept = 0;
        while let Some(object) = found.try_next().await.map_err(|error| self.away(error.into(), "list"))? {
            if object.last_modified < before {
                self.store.delete(&object.location).await.map_err(|error| self.away(error.into(), "delete"))?;
                swept += 1;
            }
        }
        Ok(swept)
    }

    /// Whether the object is there, whole.
    async fn has(&self, key: &Key, size: u64) -> Result<bool> {
        match self.store.head(key).await {
            Ok(found) if found.size == size => Ok(true),
            Ok(found) => Err(Error::Internal(anyhow!(
                "the object {key} in {} is damaged: {} bytes instead of {size}",
                self.place,
                found.size
            ))),
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(self.away(error.into(), "read")),
        }
    }

    fn away(&self, error: anyhow::Error, act: &str) -> Error {
        Error::Unavailable(error.context(format!("cannot {act} documents in {}", self.place)))
    }
}

/// The folder or the bucket.
impl fmt::Display for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

impl fmt::Debug for Documents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Documents").field(&self.place).finish()
    }
}

/// Counts and hashes bytes as they come.
struct Measure {
    hash: Sha256,
    size: u64,
    limit: u64,
}

impl Measure {
    fn add(&mut self, chunk: &Bytes) -> Result<()> {
        self.size += chunk.len() as u64;
        if self.size > self.limit {
            return Err(Error::invalid(
                "file",
                Message::new("documents-too-large").with("limit", size_text(self.limit)),
            ));
        }
        self.hash.update(chunk);
        Ok(())
    }

    fn stored(self) -> Stored {
        Stored { sha256: self.hash.finalize().into(), size: self.size }
    }
}

/// The same bytes; each is given only when more have come or all are known to be right.
fn verified<S>(bytes: S, sha256: [u8; 32], damaged: String) -> impl Stream<Item = Result<Bytes>> + Send
where
    S: Stream<Item = Result<Bytes>> + Send + 'static,
{
    let start = (Box::pin(bytes), Sha256::new(), Bytes::new(), damaged, false);
    stream::try_unfold(start, move |(mut bytes, mut hash, mut held, damaged, ended)| async move {
        if ended {
            return Ok(None);
        }
        while let Some(chunk) = bytes.try_next().await? {
            hash.update(&chunk);
            let given = std::mem::replace(&mut held, chunk);
            if !given.is_empty() {
                return Ok(Some((given, (bytes, hash, held, damaged, false))));
            }
        }
        if <[u8; 32]>::from(hash.finalize_reset()) != sha256 {
            return Err(Error::Internal(anyhow!(damaged)));
        }
        let last = std::mem::take(&mut held);
        Ok((!last.is_empty()).then_some((last, (bytes, hash, held, damaged, true))))
    })
}

fn key(sha256: &[u8; 32]) -> Key {
    let name = hex::encode(sha256);
    let (folder, rest) = name.split_at(2);
    Key::from_iter(["sha256", folder, rest])
}

fn waiting(sha256: &[u8; 32]) -> Key {
    Key::from_iter([WAITING, hex::encode(sha256).as_str()])
}

/// Removes the files that were last written before this. The store's own list passes over files that are not finished.
fn remove_older(folder: &Path, before: DateTime<Utc>) -> std::io::Result<u64> {
    let Some(files) = if_there(folder.read_dir())? else { return Ok(0) };
    let mut removed = 0;
    for file in files {
        let path = file?.path();
        let Some(found) = if_there(path.metadata())? else { continue };
        if found.is_file() && DateTime::<Utc>::from(found.modified()?) < before {
            removed += u64::from(if_there(std::fs::remove_file(&path))?.is_some());
        }
    }
    Ok(removed)
}

/// Nothing where it is not there: another instance may finish or remove a file meanwhile.
fn if_there<T>(result: std::io::Result<T>) -> std::io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Makes the folder for its owner alone: what is in contracts is nobody else's business on this machine.
fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The address without what may be a secret in it.
fn without_password(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => url.to_owned(),
    }
}

/// `20 MiB`, `500 bytes`: the largest unit that says it exactly.
fn size_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    UNITS
        .into_iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .map_or_else(|| format!("{bytes} B"), |(name, unit)| format!("{} {name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Stdio;

    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

    use super::*;
    use crate::locale::Locale;

    const NO_LIMIT: u64 = u64::MAX;

    fn in_temporary_folder() -> (Documents, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (Documents::open(None, folder.path(), None).unwrap(), folder)
    }

    /// Every file below the folder, with its path from there.
    fn files(folder: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut open: Vec<PathBuf> = vec![folder.to_owned()];
        while let Some(path) = open.pop() {
            for entry in std::fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found
    }

    async fn read(documents: &Documents, sha256: &[u8; 32]) -> Result<Vec<u8>> {
        let found = documents.get(sha256).await?;
        let bytes = found.bytes.map_ok(|chunk| chunk.to_vec()).try_concat().await?;
        assert_eq!(found.size, bytes.len() as u64);
        Ok(bytes)
    }

    /// Twelve megabytes in pieces of 1 MB, each different.
    fn large() -> Vec<Bytes> {
        (0..12_u8).map(|n| Bytes::from(vec![n; 1_000_000])).collect()
    }

    fn pieces(bytes: Vec<Bytes>) -> impl Stream<Item = Result<Bytes>> + Send {
        stream::iter(bytes.into_iter().map(Ok))
    }

    #[tokio::test]
    async fn bytes_come_back_under_their_hash() {
        let (documents, folder) = in_temporary_folder();
        let stored = documents.put_bytes(Bytes::from_static(b"abc"), 3).await.unwrap();
        assert_eq!(stored.size, 3);
        let name = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hex::encode(stored.sha256), name);
        assert_eq!(files(folder.path()), [format!("documents/waiting/{name}")]);
        assert_eq!(read(&documents, &stored.sha256).await.unwrap(), b"abc");
        for _ in 0..2 {
            documents.keep(stored).await.unwrap();
            assert_eq!(files(folder.path()), [format!("documents/sha256/{}/{}", &name[..2], &name[2..])]);
        }
        assert_eq!(read(&documents, &stored.sha256).await.unwrap(), b"abc");
        let empty = documents.put_bytes(Bytes::new(), 0).await.unwrap();
        assert_eq!(read(&documents, &empty.sha256).await.unwrap(), b"");
    }

    #[tokio::test]
    async fn the_same_bytes_are_one_object_that_is_never_written_again() {
        let (documents, folder) = in_temporary_folder();
        let once = documents.put(pieces(large()), NO_LIMIT).await.unwrap();
        let small = documents.put_bytes(Bytes::from_static(b"small"), NO_LIMIT).await.unwrap();
        for stored in [once, small] {
            documents.keep(stored).await.unwrap();
        }
        let written = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().modified().unwrap();
        let before: Vec<_> = files(folder.path()).into_iter().map(|name| (written(&name), name)).collect();
        assert_eq!(before.len(), 2);
        assert_eq!(documents.put(pieces(large()), NO_LIMIT).await.unwrap(), once);
        assert_eq!(documents.put_bytes(Bytes::from_static(b"small"), NO_LIMIT).await.unwrap(), small);
        let after: Vec<_> = files(folder.path()).into_iter().map(|name| (written(&name), name)).collect();
        assert_eq!(after, before);
        assert!(read(&documents, &once.sha256).await.unwrap() == large().concat());
    }

    #[tokio::test]
    async fn bytes_over_the_limit_are_refused_and_leave_nothing() {
        let (documents, folder) = in_temporary_folder();
        for bytes in [vec![Bytes::from(vec![0; 2 * 1024 * 1024 + 1])], large()] {
            let limit = if bytes.len() == 1 { 2 * 1024 * 1024 } else { 11_999_999 };
            let Err(Error::Invalid(errors)) = documents.put(pieces(bytes), limit).await else { panic!("refuse") };
            assert_eq!(errors.0[0].field, "file");
            let said = Locale::En.say(&errors.0[0].message);
            assert!(said.contains(if limit == 11_999_999 { "11999999 B" } else { "2 MiB" }), "{said}");
            assert_eq!(files(folder.path()), Vec::<String>::new());
        }
    }

    #[tokio::test]
    async fn an_upload_that_breaks_off_leaves_nothing() {
        let (documents, folder) = in_temporary_folder();
        let broken = pieces(large()).chain(stream::iter([Err(Error::internal("the connection broke"))]));
        let error = documents.put(broken, NO_LIMIT).await.unwrap_err();
        assert_eq!(error.to_string(), "the connection broke");
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }

    #[tokio::test]
    async fn what_killed_uploads_left_is_swept_after_a_day() {
        let (documents, folder) = in_temporary_folder();
        let now = DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000);
        assert_eq!(documents.sweep(now).await.unwrap(), 0, "nothing was ever uploaded");
        let kept = documents.put(pieces(large()), NO_LIMIT).await.unwrap();
        documents.keep(kept).await.unwrap();
        let incoming = folder.path().join("documents/incoming");
        for (name, hours) in [("a#1", 25), ("b", 25), ("c#1", 23)] {
            let file = std::fs::File::create(incoming.join(name)).unwrap();
            file.set_modified((now - chrono::TimeDelta::hours(hours)).into()).unwrap();
        }
        assert_eq!(documents.sweep(now).await.unwrap(), 2);
        assert!(!incoming.join("a#1").exists() && !incoming.join("b").exists() && incoming.join("c#1").exists());
        assert!(read(&documents, &kept.sha256).await.is_ok(), "a document is never swept");
    }

    #[tokio::test]
    async fn what_nobody_kept_is_swept_after_some_days_and_what_was_kept_never() {
        let (documents, folder) = in_temporary_folder();
        let put = async |bytes: &'static [u8]| documents.put_bytes(Bytes::from_static(bytes), NO_LIMIT).await.unwrap();
        let (kept, in_vain, again, young) =
            (put(b"kept").await, put(b"vain").await, put(b"again").await, put(b"young").await);
        documents.keep(kept).await.unwrap();
        let now = DateTime::UNIX_EPOCH + chrono::TimeDelta::days(20_000);
        for (name, old) in
            files(folder.path()).into_iter().map(|name| (name.clone(), !name.ends_with(&hex::encode(young.sha256))))
        {
            let days = if old { 400 } else { 6 };
            let file = std::fs::File::options().append(true).open(folder.path().join(name)).unwrap();
            file.set_modified((now - chrono::TimeDelta::days(days)).into()).unwrap();
        }
        // Uploaded once more just now: its time begins anew.
        put(b"again").await;
        assert_eq!(documents.sweep(now).await.unwrap(), 1);
        assert!(documents.find(&in_vain.sha256).await.unwrap().is_none());
        for there in [kept, again, young] {
            assert!(read(&documents, &there.sha256).await.is_ok());
        }
        let Err(Error::Conflict(gone)) = documents.keep(in_vain).await else { panic!("must be gone") };
        assert_eq!(gone.key, "import-file-gone");
    }

    #[tokio::test]
    async fn whoever_keeps_the_same_bytes_at_once_keeps_them() {
        let (documents, _folder) = in_temporary_folder();
        let stored = documents.put_bytes(Bytes::from_static(b"both"), NO_LIMIT).await.unwrap();
        let (one, two) = tokio::join!(documents.keep(stored), documents.keep(stored));
        assert!(one.is_ok() && two.is_ok());
        assert_eq!(read(&documents, &stored.sha256).await.unwrap(), b"both");
    }

    #[tokio::test]
    async fn damaged_bytes_do_not_pass_for_the_document() {
        let (documents, folder) = in_temporary_folder();
        let stored = documents.put_bytes(Bytes::from_static(b"contract"), NO_LIMIT).await.unwrap();
        documents.keep(stored).await.unwrap();
        let file = folder.path().join(&files(folder.path())[0]);
        std::fs::write(&file, b"forgery!").unwrap();
        let mut bytes = documents.get(&stored.sha256).await.unwrap().bytes;
        let first = bytes.next().await.unwrap().unwrap_err();
        assert!(first.to_string().contains("is damaged"), "{first}");

        std::fs::write(&file, b"short").unwrap();
        let again = documents.put_bytes(Bytes::from_static(b"contract"), NO_LIMIT).await.unwrap_err();
        assert!(again.to_string().contains("5 bytes instead of 8"), "{again}");

        std::fs::remove_file(&file).unwrap();
        let Err(Error::Internal(missing)) = documents.get(&stored.sha256).await else { panic!("must be missing") };
        assert!(missing.to_string().contains("is missing from the documents in"), "{missing}");
    }

    #[tokio::test]
    async fn the_check_leaves_no_trace_and_says_what_fails() {
        let (documents, folder) = in_temporary_folder();
        documents.check().await.unwrap();
        assert_eq!(files(folder.path()), Vec::<String>::new());
        std::fs::remove_dir_all(folder.path().join("documents")).unwrap();
        std::fs::write(folder.path().join("documents"), "not a folder").unwrap();
        let Err(Error::Unavailable(away)) = documents.check().await else { panic!("must fail") };
        assert!(away.to_string().starts_with("cannot write documents in /"), "{away:#}");
    }

    #[test]
    fn an_address_that_cannot_be_used_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for url in
            ["", "contracts", "https://bucket/x", "s3://", "s3:///x", "s3://k:secret@bucket/x", "s3://bucket?x=1"]
        {
            let message = Documents::open(Some(url), folder.path(), None).unwrap_err();
            assert_eq!(message.key, "documents-url", "{url}");
            assert!(!Locale::En.say(&message).contains("secret"));
        }
        std::fs::write(folder.path().join("file"), "").unwrap();
        let message = Documents::open(None, &folder.path().join("file"), None).unwrap_err();
        assert_eq!(message.key, "documents-folder");
    }

    /// A stand-in for S3 where the Python package `moto` is installed.
    async fn moto() -> Option<(tokio::process::Child, String)> {
        let mut server = tokio::process::Command::new("python3")
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        let mut lines = BufReader::new(server.stderr.take()?).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Some((_, address)) = line.split_once("Running on http://") {
                let address = address.trim().to_owned();
                // Its log must not fill the pipe.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Some((server, address));
            }
        }
        None
    }

    async fn make_bucket(address: &str, bucket: &str) {
        let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
        let request =
            format!("PUT /{bucket} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    #[tokio::test]
    async fn a_bucket_keeps_documents_as_a_folder_does() {
        let Some((_server, address)) = moto().await else {
            println!("skipped: the Python package moto, which stands in for S3, is not installed");
            return;
        };
        let _ = rustls::crypto::ring::default_provider().install_default();
        make_bucket(&address, "contracts").await;
        let endpoint = format!("http://{address}");
        let variables = || {
            [("AWS_ENDPOINT_URL", endpoint.as_str()), ("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")]
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let documents = Documents::in_bucket("s3://contracts/of/rentroll", variables(), &[]).unwrap();
        documents.check().await.unwrap();

        let small = documents.put_bytes(Bytes::from_static(b"abc"), NO_LIMIT).await.unwrap();
        assert_eq!(documents.put_bytes(Bytes::from_static(b"abc"), NO_LIMIT).await.unwrap(), small);
        assert_eq!(read(&documents, &small.sha256).await.unwrap(), b"abc");
        let stored = documents.put(pieces(large()), NO_LIMIT).await.unwrap();
        assert_eq!(documents.put(pieces(large()), NO_LIMIT).await.unwrap(), stored);
        assert!(read(&documents, &stored.sha256).await.unwrap() == large().concat());
        assert!(documents.put(pieces(large()), 11_000_000).await.is_err());
        for kept in [small, stored, small] {
            documents.keep(kept).await.unwrap();
        }
        assert_eq!(documents.put(pieces(large()), NO_LIMIT).await.unwrap(), stored);
        assert!(read(&documents, &stored.sha256).await.unwrap() == large().concat());

        let bucket = Documents::in_bucket("s3://contracts", variables(), &[]).unwrap();
        let mut keys: Vec<_> =
            bucket.store.list(None).map_ok(|found| found.location.to_string()).try_collect().await.unwrap();
        keys.sort();
        assert_eq!(keys.len(), 2, "{keys:?}");
        assert!(keys.iter().all(|key| key.starts_with("of/rentroll/sha256/")), "{keys:?}");

        let left = Key::from("incoming/left");
        documents.store.put(&left, PutPayload::from("half")).await.unwrap();
        let waits = documents.put_bytes(Bytes::from_static(b"waits"), NO_LIMIT).await.unwrap();
        let written = documents.store.head(&left).await.unwrap().last_modified;
        let a_second = chrono::TimeDelta::seconds(1);
        assert_eq!(documents.sweep(written + limits::INCOMING_TIME).await.unwrap(), 0);
        assert_eq!(documents.sweep(written + limits::INCOMING_TIME + a_second).await.unwrap(), 1);
        assert!(documents.store.head(&left).await.is_err());
        assert_eq!(read(&documents, &waits.sha256).await.unwrap(), b"waits");
        assert_eq!(documents.sweep(written + limits::WAITING_TIME + a_second * 10).await.unwrap(), 1);
        assert!(documents.find(&waits.sha256).await.unwrap().is_none());
        assert!(read(&documents, &stored.sha256).await.is_ok(), "a document is never swept");

        let nowhere = Documents::in_bucket("s3://missing", variables(), &[]).unwrap();
        let Err(Error::Unavailable(away)) = nowhere.check().await else { panic!("must fail") };
        assert_eq!(away.to_string(), "cannot write documents in s3://missing");
    }
}
