//! Stops the program on a signal.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use tokio::signal;
use tokio_util::sync::CancellationToken;

use crate::console::Console;

/// The exit code of a program that was interrupted and has stopped cleanly: 128 and the number of the signal.
pub(crate) const INTERRUPTED: u8 = 130;

/// Whether and why the delivery stops before its end. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    pub(crate) token: CancellationToken,
    was_interrupted: Arc<AtomicBool>,
}

impl Stop {
    /// The first Ctrl-C, or a request to terminate, ends the delivery cleanly; the second one ends the program with exit code 1.
    pub(crate) fn on_interrupt(&self, console: Console) {
        let stop = self.clone();
        tokio::spawn(async move {
            interrupt().await;
            stop.was_interrupted.store(true, Relaxed);
            stop.token.cancel();
            console.tell("stopping: waiting for the calls in flight (Ctrl-C again ends at once)");
            interrupt().await;
            console.clear_bar();
            process::exit(1);
        });
    }

    /// A stop that follows this one, and can be triggered alone.
    #[cfg(feature = "distributed")]
    pub(crate) fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            was_interrupted: Arc::clone(&self.was_interrupted),
        }
    }

    pub(crate) fn was_interrupted(&self) -> bool {
        self.was_interrupted.load(Relaxed)
    }
}

async fn interrupt() {
    #[cfg(unix)]
    {
        use signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminate.recv() => return,
                Ok(()) = signal::ctrl_c() => return,
            }
        }
    }
    if signal::ctrl_c().await.is_err() {
        // If signals cannot be received, this never returns.
        std::future::pending::<()>().await;
    }
}
