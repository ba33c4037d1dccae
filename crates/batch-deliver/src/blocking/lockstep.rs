//! A thread and the only thread of a runtime, of which never both run: which of them does is decided by tasks, and not by the system.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, Waker};
use std::thread;

use futures::future::poll_fn;
use tokio::runtime::Handle;

thread_local! {
    static OWN: RefCell<Option<Lockstep>> = const { RefCell::new(None) };
}

/// The side of the thread.
struct Lockstep {
    /// Lets the thread run, until it waits for what this waker is called for. Closed when the runtime has ended.
    runs: Receiver<Waker>,
    /// The thread waits.
    waits: SyncSender<()>,
    waker: Waker,
}

/// The thread ends because the runtime has.
struct RuntimeEnded;

/// Runs what blocks, while the thread of the runtime waits.
pub(super) fn spawn(blocking: impl FnOnce() + Send + 'static) {
    let (run, runs) = sync_channel(1);
    let (waits, waiting) = sync_channel(1);
    let runtime = Handle::current();
    let name = thread::current().name().unwrap_or_default().to_owned();
    let started = thread::Builder::new().name(name).spawn(move || {
        let _within = runtime.enter();
        let Ok(waker) = runs.recv() else { return };
        OWN.set(Some(Lockstep { runs, waits, waker }));
        blocking();
        // The thread that waits for this one continues when it has ended.
        OWN.set(None);
    });
    started.unwrap();
    tokio::spawn(poll_fn(move |context| {
        let has_ended = run.send(context.waker().clone()).is_err() || waiting.recv().is_err();
        if has_ended { Poll::Ready(()) } else { Poll::Pending }
    }));
}

/// Whether this is such a thread.
pub(super) fn is_running() -> bool {
    OWN.with_borrow(Option::is_some)
}

/// Lets the runtime run until the future is complete.
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        let waker = OWN.with_borrow(|own| own.as_ref().map(|own| own.waker.clone()));
        let waker = waker.unwrap_or_else(|| Waker::noop().clone());
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        OWN.with_borrow_mut(|own| {
            let own = own.as_mut()?;
            own.waits.send(()).ok()?;
            own.waker = own.runs.recv().ok()?;
            Some(())
        })
        .unwrap_or_else(|| resume_unwind(Box::new(RuntimeEnded)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::sync::mpsc;
    use tokio::time::{Instant, sleep};

    use crate::blocking;

    #[tokio::test(start_paused = true)]
    async fn a_thread_and_the_runtime_run_in_an_order_that_time_decides() {
        let (sender, mut receiver) = mpsc::channel(1);
        let events = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&events);
        let started = Instant::now();
        blocking::spawn_thread(move || {
            for number in 0..3 {
                blocking::wait(sleep(Duration::from_secs(10)));
                noted.lock().unwrap().push((number, started.elapsed().as_secs()));
                let _ = blocking::wait(sender.send(number));
            }
        });
        while let Some(number) = receiver.recv().await {
            sleep(Duration::from_secs(15)).await;
            events.lock().unwrap().push((number + 10, started.elapsed().as_secs()));
        }
        let events = events.lock().unwrap();
        assert_eq!(*events, [(0, 10), (1, 20), (10, 25), (2, 30), (11, 40), (12, 55)]);
    }
}
