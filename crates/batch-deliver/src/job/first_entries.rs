//! Looks at the first entries before any is sent.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::reading::ReaderHandle;
use crate::outcome::Failure;
use crate::source::RecordBatch;
use crate::stop::Stop;

/// Looks at entries. An error is why none of all entries is to be sent.
pub(crate) type FirstEntriesCheck<E> = Arc<dyn Fn(&[&E]) -> BoxFuture<'static, Result<(), Failure>> + Send + Sync>;

/// The most entries that are looked at.
const LOOKED_AT: usize = 20;

/// How long further ones of a slow input are waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl<E: Send + Sync + 'static> ReaderHandle<E> {
    /// The same records, after a look at the first entries.
    pub(super) async fn looked_at(mut self, look: &FirstEntriesCheck<E>, stop: &Stop) -> Result<Self, Failure> {
        let mut batches = Vec::new();
        let first = tokio::select! {
            batch = self.receiver.recv() => batch,
            // Nothing more is sent.
            () = stop.token.cancelled() => return Ok(self),
        };
        let until = Instant::now() + LONGEST_WAIT;
        let mut next = first;
        while let Some(batch) = next {
            let is_last = batch.last().is_none_or(Result::is_err);
            batches.push(batch);
            if is_last || entries(&batches).nth(LOOKED_AT - 1).is_some() {
                break;
            }
            let Ok(another) = timeout_at(until, self.receiver.recv()).await else {
                break;
            };
            next = another;
        }
        let looking = look(&entries(&batches).take(LOOKED_AT).collect::<Vec<_>>());
        tokio::select! {
            looked_at = looking => looked_at?,
            () = stop.token.cancelled() => {}
        }
        Ok(Self {
            receiver: in_front(batches, self.receiver),
            ..self
        })
    }
}

fn entries<E>(batches: &[RecordBatch<E>]) -> impl Iterator<Item = &E> {
    let taken = batches.iter().flatten().filter_map(|taken| taken.as_ref().ok());
    taken.filter_map(|taken| taken.entry.as_ref().ok())
}

/// These batches, and then the others.
fn in_front<E: Send + 'static>(
    batches: Vec<RecordBatch<E>>,
    mut others: mpsc::Receiver<RecordBatch<E>>,
) -> mpsc::Receiver<RecordBatch<E>> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        for batch in batches {
            if sender.send(batch).await.is_err() {
                return;
            }
        }
        while let Some(batch) = others.recv().await {
            if sender.send(batch).await.is_err() {
                return;
            }
        }
    });
    receiver
}
