//! Stops the program on a signal.

#[cfg(target_os = "linux")]
use std::fs;
use std::future::pending;
use std::mem;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tokio::signal;
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind};
use tokio_util::sync::CancellationToken;

use crate::blocking::OwnRuntime;
use crate::console::{Console, print_warnings};

/// How long the end of the program waits for a terminal that may be stopped.
const CLEARED_WITHIN: Duration = Duration::from_millis(200);

/// Whether and why the delivery stops before its end. Clones share the state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop {
    pub(crate) token: CancellationToken,
    was_interrupted: Arc<AtomicBool>,
    has_expired: Arc<AtomicBool>,
}

impl Stop {
    /// Of a command: its warnings are printed, and signals end it.
    pub(crate) fn of_command(console: &Console, can_be_renewed: fn() -> bool) -> Self {
        let stop = Self::default();
        stop.print_warnings(console.clone(), can_be_renewed);
        stop.on_interrupt(console.clone());
        stop
    }

    /// Prints the warnings of the library. When the credentials have expired and cannot be renewed, the delivery ends.
    pub(crate) fn print_warnings(&self, console: Console, can_be_renewed: fn() -> bool) {
        let stop = self.clone();
        print_warnings(console, move || {
            let ends = !can_be_renewed();
            if ends {
                stop.has_expired.store(true, Relaxed);
                stop.token.cancel();
            }
            ends
        });
    }

    /// Why it ends if it was not interrupted and nothing else has failed.
    pub(crate) fn failure(&self) -> Option<&'static str> {
        let has_expired = self.has_expired.load(Relaxed);
        has_expired.then_some("the AWS credentials have expired (ExpiredToken)")
    }

    /// The first Ctrl-C, request to terminate, or end of the connection ends the delivery cleanly; a second Ctrl-C or request ends
    /// the program with exit code 1.
    pub(crate) fn on_interrupt(&self, console: Console) {
        #[cfg(test)]
        if crate::fleet::is_told_by(self) {
            return;
        }
        let stop = self.clone();
        let mut signals = Signals::listen();
        // Its thread receives signals even if all others are blocked, and prints nothing itself.
        let runtime = OwnRuntime::start().unwrap_or_default();
        runtime.spawn(async move {
            tokio::select! {
                () = signals.interrupt.received() => {}
                () = signals.hang_up.received() => {}
            }
            stop.interrupt();
            console.info_soon("stopping: waiting for the calls in flight (Ctrl-C again ends at once)");
            // A connection that ends may say so more than once.
            signals.interrupt.received().await;
            let (cleared, is_cleared) = mpsc::channel();
            thread::spawn(move || {
                console.clear_bar();
                let _ = cleared.send(());
            });
            let _ = is_cleared.recv_timeout(CLEARED_WITHIN);
            process::exit(1);
        });
        // It lasts as long as the program.
        mem::forget(runtime);
    }

    /// Ends the delivery cleanly.
    pub(crate) fn interrupt(&self) {
        self.was_interrupted.store(true, Relaxed);
        self.token.cancel();
    }

    /// A stop that follows this one, and can be triggered alone.
    pub(crate) fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            was_interrupted: Arc::clone(&self.was_interrupted),
            has_expired: Arc::clone(&self.has_expired),
        }
    }

    pub(crate) fn was_interrupted(&self) -> bool {
        self.was_interrupted.load(Relaxed)
    }
}

/// The signals that stop the program.
struct Signals {
    interrupt: Interrupt,
    hang_up: HangUp,
}

/// Ctrl-C, or a request to terminate.
struct Interrupt {
    #[cfg(unix)]
    interrupt: Option<Signal>,
    #[cfg(unix)]
    terminate: Option<Signal>,
}

/// The end of the connection or terminal from which the program was started.
struct HangUp {
    #[cfg(unix)]
    signal: Option<Signal>,
}

impl Signals {
    /// From here on they are received. `signal::ctrl_c` alone would receive the first one only after it was polled, and a command that
    /// has begun by then would be killed.
    fn listen() -> Self {
        Self {
            interrupt: Interrupt {
                #[cfg(unix)]
                interrupt: signal::unix::signal(SignalKind::interrupt()).ok(),
                #[cfg(unix)]
                terminate: signal::unix::signal(SignalKind::terminate()).ok(),
            },
            hang_up: HangUp {
                #[cfg(unix)]
                signal: (!is_hang_up_ignored())
                    .then(|| signal::unix::signal(SignalKind::hangup()).ok())
                    .flatten(),
            },
        }
    }
}

impl Interrupt {
    /// If signals cannot be received, this never returns.
    async fn received(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
        #[cfg(not(unix))]
        if signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
    }
}

impl HangUp {
    async fn received(&mut self) {
        #[cfg(unix)]
        one(&mut self.signal).await;
        #[cfg(not(unix))]
        pending::<()>().await;
    }
}

/// Returns when one such signal comes.
#[cfg(unix)]
async fn one(signal: &mut Option<Signal>) {
    match signal {
        // It ends with the program.
        Some(signal) => _ = signal.recv().await,
        None => pending().await,
    }
}

/// Whether the program was started with the end of the connection ignored, as by `nohup`, or may have been: a handler would end
/// that.
#[cfg(target_os = "linux")]
fn is_hang_up_ignored() -> bool {
    // The first bit is the first signal, which is SIGHUP.
    let ignored = fs::read_to_string("/proc/self/status").ok().and_then(|status| {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    ignored.is_none_or(|mask| mask & 1 == 1)
}

/// Other systems do not say it without unsafe code.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_hang_up_ignored() -> bool {
    true
}
