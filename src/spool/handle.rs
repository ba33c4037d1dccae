//! The store, for tasks that must not block.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::{Arc, PoisonError};

use tokio::task::spawn_blocking;

use super::error::SpoolError;
use super::store::Store;
use crate::sync::Mutex;

/// The store, for tasks that must not block. A clone has the same one, until one of them takes it.
#[derive(Debug, Clone)]
pub(super) struct StoreHandle(Arc<Mutex<Option<Store>>>);

impl StoreHandle {
    /// Opens the store on a thread that may block.
    pub(super) async fn open(
        open: impl FnOnce() -> Result<Store, SpoolError> + Send + 'static,
    ) -> Result<Self, SpoolError> {
        let store = blocking(open).await?;
        Ok(Self(Arc::new(Mutex::new(Some(store)))))
    }

    /// Does this with the store on a thread that may block.
    pub(super) async fn with<R: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Store) -> Result<R, SpoolError> + Send + 'static,
    ) -> Result<R, SpoolError> {
        let store = Arc::clone(&self.0);
        blocking(move || {
            let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
            act(store.as_mut().ok_or(SpoolError::Closed)?)
        })
        .await
    }

    /// Closes the store, for all clones.
    pub(super) async fn close(&self) -> Result<(), SpoolError> {
        let store = Arc::clone(&self.0);
        blocking(move || {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner).take();
            store.map_or(Ok(()), Store::close)
        })
        .await
    }
}

/// Runs on a thread that may block.
pub(super) async fn blocking<R: Send + 'static>(act: impl FnOnce() -> R + Send + 'static) -> R {
    match spawn_blocking(act).await {
        Ok(result) => result,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down, and what waits for it is dropped next.
            Err(_) => pending().await,
        },
    }
}
