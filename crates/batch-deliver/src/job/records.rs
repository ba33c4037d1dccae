//! The delivery of records, wherever they come from.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task;
use tokio_util::task::TaskTracker;

use crate::console::Console;
use crate::keeping::{
    BadLines, DeadLetter, Ended, FailedConditions, Failures, Journal, Location, Settling, Window, entries,
};
use crate::progress::{Summary, Ticker, Watched};
use crate::sink::{self, DeliveryOptions, Destination, Progress, Target};
use crate::source::{Counts, Received};
use crate::stop::Stop;

/// Where records go, and how that is watched.
pub(crate) struct Delivering<'a, T: Target> {
    pub(crate) destination: &'a Destination<T>,
    /// Bad lines that are skipped.
    pub(crate) keep_going: u64,
    /// The interval of progress if there is no bar.
    pub(crate) every: Duration,
    pub(crate) console: &'a Console,
}

/// The records that are being read.
pub(crate) struct Reading<E> {
    pub(crate) receiver: mpsc::Receiver<Received<E>>,
    pub(crate) read: Counts,
    /// The names of the inputs.
    pub(crate) names: Arc<[String]>,
    /// Bytes of the inputs, if they are known.
    pub(crate) total: Option<u64>,
}

/// How a delivery is made, and what is kept of it.
pub(crate) struct Kept {
    pub(crate) options: DeliveryOptions,
    pub(crate) journal: Option<Journal>,
    /// What earlier runs with the journal have not delivered, and no run of the whole has reported.
    pub(crate) earlier: Failures,
    pub(crate) dead_letter: Option<DeadLetter>,
    pub(crate) failed: Option<FailedConditions>,
    pub(crate) stop: Stop,
    /// The place of the journal with which the user continues.
    pub(crate) resumes: Option<Location>,
    /// Whether another round delivers everything again if this one does not finish.
    pub(crate) is_repeated: bool,
}

impl<T: Target> Delivering<'_, T> {
    /// Delivers the records.
    pub(crate) async fn deliver(&self, reading: Reading<T::Entry>, kept: Kept) -> Summary {
        let Reading {
            receiver,
            read,
            names,
            total,
        } = reading;
        let (console, stop) = (self.console.clone(), kept.stop);
        let settling = Arc::new(Settling {
            window: Window::default(),
            names,
            journal: kept.journal,
            dead_letter: kept.dead_letter,
            failed: kept.failed.map(Arc::new),
            handed_back: Mutex::default(),
            earlier: kept.earlier,
            stop: stop.clone(),
            under_way: TaskTracker::new(),
            is_repeated: kept.is_repeated,
            left: AtomicU64::new(0),
        });
        let bad_lines = BadLines::new(Arc::clone(&settling), self.keep_going, console.clone());
        let progress = Progress::default();
        let watched = Watched {
            progress: progress.clone(),
            read,
            total,
            every: self.every,
        };
        let options = kept.options.progress(&progress).cancellation(stop.token.clone());
        let ticker = Ticker::start(watched, console.clone(), stop.clone());
        let entries = entries(receiver, settling.window.clone(), bad_lines.clone());
        let (decided, undelivered) = (Arc::clone(&settling), Arc::clone(&settling));
        let delivered = sink::deliver(
            self.destination.target.clone(),
            options,
            entries,
            move |position, disposition| decided.decided(position, disposition),
            move |entry| undelivered.undelivered(entry),
        );
        let delivered = delivered.await;
        drop(ticker);
        console.clear_bar();

        settling.end(delivered.handed_back()).await;
        let (report, stream_error, stopped) = delivered.parts();
        let ended = stream_error.and_then(|error| error.downcast::<Ended>().ok());
        let journal = settling.journal.as_ref();
        let journal_error = task::block_in_place(|| journal.and_then(|journal| journal.close().err()));
        Summary {
            is_decoded: false,
            line_breaks: None,
            destination: self.destination.name.clone(),
            report,
            ended: ended.map(|ended| *ended),
            stopped,
            journal_error,
            settling,
            bad_lines,
            resumes: kept.resumes,
            simulated: self.destination.simulated.clone(),
        }
    }
}
