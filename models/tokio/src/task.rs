//! Tasks of the model.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{FutureExt, StreamExt};
use futures::stream::FuturesUnordered;
pub use shuttle::future::yield_now;

/// One poll has no limit.
pub async fn consume_budget() {}

/// The runtime of the model does not shut down, so that its tasks need no ids.
pub fn try_id() -> Option<u64> {
    None
}

pub fn unconstrained<F: Future>(future: F) -> F {
    future
}

#[derive(Debug)]
pub struct JoinError;

impl JoinError {
    /// A panic ends the execution, so that none is seen here.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, Self> {
        Err(self)
    }

    pub fn is_cancelled(&self) -> bool {
        true
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task was aborted")
    }
}

impl std::error::Error for JoinError {}

#[derive(Debug)]
pub struct JoinHandle<T>(shuttle::future::JoinHandle<T>);

pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    JoinHandle(shuttle::future::spawn(future))
}

impl<T> JoinHandle<T> {
    pub fn abort(&self) {
        self.0.abort();
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map_err(|_| JoinError)
    }
}

#[derive(Debug)]
pub struct JoinSet<T>(FuturesUnordered<JoinHandle<T>>);

impl<T: Send + 'static> JoinSet<T> {
    pub fn new() -> Self {
        Self(FuturesUnordered::new())
    }

    pub fn spawn(&mut self, future: impl Future<Output = T> + Send + 'static) {
        self.0.push(spawn(future));
    }

    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.0.next().await
    }

    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.0.next().now_or_never().flatten()
    }

    pub fn poll_join_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.0.poll_next_unpin(context)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub async fn shutdown(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
        while self.join_next().await.is_some() {}
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}
