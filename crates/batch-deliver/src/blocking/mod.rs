//! What blocks, and threads of their own for it.
//!
//! On a runtime with one thread, which only tests have, nothing happens at the same time: the order of everything is that of its tasks.

#[cfg(test)]
mod lockstep;

use std::io;
use std::thread;

use futures::{FutureExt, TryFutureExt};
use tokio::runtime::{Builder, Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::{self, JoinHandle};

/// Runs what blocks. Other tasks of the runtime continue in other threads, if it has more than one.
pub(crate) fn block_in_place<T>(blocking: impl FnOnce() -> T) -> T {
    if has_one_thread() {
        blocking()
    } else {
        task::block_in_place(blocking)
    }
}

/// Runs what blocks in another thread. The task that waits for it can be dropped meanwhile. The error is that it has panicked.
pub(crate) async fn run_blocking<T: Send + 'static>(blocking: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    if has_one_thread() {
        return Ok(blocking());
    }
    task::spawn_blocking(blocking).await.map_err(io::Error::other)
}

/// A runtime with a thread of its own, until it is dropped. It continues when those of the program are blocked, as by a standard output
/// that is not read. On a runtime with one thread it is that one.
///
/// The default is the runtime in which it is used.
#[derive(Debug, Default)]
pub(crate) struct OwnRuntime(Option<OwnThread>);

#[derive(Debug)]
struct OwnThread {
    runtime: Handle,
    /// Ends it when it is dropped.
    _ends: oneshot::Sender<()>,
}

impl OwnRuntime {
    pub(crate) fn start() -> io::Result<Self> {
        if has_one_thread() {
            return Ok(Self(None));
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel();
        thread::spawn(move || runtime.block_on(ended));
        Ok(Self(Some(OwnThread {
            runtime: handle,
            _ends: ends,
        })))
    }

    /// Starts a future in its thread, which it may block.
    pub(crate) fn spawn<T: Send + 'static>(&self, blocking: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        match &self.0 {
            Some(own) => own.runtime.spawn(blocking),
            None => tokio::spawn(blocking),
        }
    }

    /// Runs a future in its thread. The error is that it has panicked.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = io::Result<T>> + Send {
        // What is returned does not have the future in it, which may be large.
        match &self.0 {
            Some(own) => own.runtime.spawn(future).map_err(io::Error::other).left_future(),
            None => Box::pin(future).map(Ok).right_future(),
        }
    }
}

/// Runs what blocks in a thread of its own. It waits by [`wait`] alone.
pub(crate) fn spawn_thread(blocking: impl FnOnce() + Send + 'static) {
    #[cfg(test)]
    if has_one_thread() {
        return lockstep::spawn(blocking);
    }
    thread::spawn(blocking);
}

/// Waits for a future that tasks of the runtime complete. Blocks.
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    #[cfg(test)]
    if lockstep::is_running() {
        return lockstep::wait(future);
    }
    futures::executor::block_on(future)
}

fn has_one_thread() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::CurrentThread)
}
