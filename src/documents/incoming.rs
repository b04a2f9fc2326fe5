//! Bytes on their way up in parts, under a name of their own: theirs is known only at the end.

use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt as _, WriteMultipart};
use uuid::Uuid;

use super::{Documents, INCOMING, PART, PARTS_UNDERWAY, Stored, key, waiting};
use crate::error::Result;

/// Bytes on their way up in parts. Whatever ends it early takes its parts away, a vanished caller too.
pub(super) struct Incoming {
    store: Arc<dyn ObjectStore>,
    key: Key,
    upload: Option<WriteMultipart>,
}

impl Incoming {
    pub(super) async fn start(documents: &Documents) -> Result<Self> {
        let name = Uuid::new_v4().to_string();
        let key = Key::from_iter([INCOMING, name.as_str()]);
        let store = Arc::clone(&documents.store);
        let upload = store.put_multipart(&key).await.map_err(|error| documents.away(error.into(), "write"))?;
        Ok(Self { store, key, upload: Some(WriteMultipart::new_with_chunk_size(upload, PART)) })
    }

    pub(super) async fn add(&mut self, documents: &Documents, chunk: Bytes) -> Result<()> {
        let upload = self.upload.as_mut().expect("only `finish` and `abort` take it, and they consume this");
        let sent = upload.wait_for_capacity(PARTS_UNDERWAY).await;
        upload.put(chunk);
        sent.map_err(|error| documents.away(error.into(), "write"))
    }

    pub(super) async fn finish(mut self, documents: &Documents, stored: Stored) -> Result<()> {
        let upload = self.upload.take().expect("only `finish` and `abort` take it, and they consume this");
        upload.finish().await.map_err(|error| documents.away(error.into(), "write"))?;
        let named = match documents.has(&key(&stored.sha256), stored.size).await {
            Ok(true) => self.store.delete(&self.key).await,
            Ok(false) => self.store.rename(&self.key, &waiting(&stored.sha256)).await,
            Err(error) => {
                let _ = self.store.delete(&self.key).await;
                return Err(error);
            }
        };
        named.map_err(|error| documents.away(error.into(), "write"))
    }

    pub(super) async fn abort(mut self) {
        if let Some(upload) = self.upload.take() {
            take_away(upload, &self.key).await;
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(upload) = self.upload.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let key = self.key.clone();
            runtime.spawn(async move { take_away(upload, &key).await });
        }
    }
}

async fn take_away(upload: WriteMultipart, key: &Key) {
    if let Err(error) = upload.abort().await {
        tracing::warn!(%key, %error, "the parts of an aborted upload stay in the documents");
    }
}
