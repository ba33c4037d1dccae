//! A delivery: the records of a source become entries, which go to a destination, kept by a journal and dead letters. Or a dry run,
//! which sends nothing.

mod first_entries;
mod input_job;
mod inputs;
mod opened;
mod reading;
mod table_scan;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::task::TaskTracker;

pub(crate) use self::first_entries::FirstEntriesCheck;
pub(crate) use self::input_job::InputJob;
pub(crate) use self::inputs::InputReads;
pub(crate) use self::opened::OpenedJob;
use self::opened::OpenedSource;
use self::reading::ReaderHandle;
pub(crate) use self::reading::StartFailure;
use self::table_scan::not_compared;
pub(crate) use self::table_scan::{DELIVERED_AGAIN, EntryMaker, TableScan};
use crate::blocking::block_in_place;
use crate::connection::Connection;
use crate::console::{Console, grouped};
use crate::keeping::{
    BadLines, Claim, DeadLetter, FailedConditions, Failures, Identity, InputEnd, Journal, LoadState, Location, ORDER,
    Settlement, Window, entries,
};
use crate::outcome::Failure;
use crate::progress::{Summary, Ticker, WatchedDelivery};
use crate::sink::{self, DeliveryOptions, Destination, Duplicates, Progress, Settings, Target};
use crate::source::Input;
use crate::stop::Stop;

/// A delivery to a destination, wherever its records come from.
pub(crate) struct Job<T: Target> {
    pub(crate) command: &'static str,
    pub(crate) destination: Destination<T>,
    /// The settings that identify the delivery, in addition to the command, the source and the destination.
    pub(crate) settings: Settings,
    /// Bad lines that are skipped.
    pub(crate) keep_going: u64,
    /// The most calls in flight.
    pub(crate) concurrency: u32,
    /// The interval of progress if there is no bar.
    pub(crate) every: Duration,
    /// The connection to the journal and the dead letters.
    pub(crate) connection: Connection,
    pub(crate) console: Console,
}

/// Where the records of a delivery come from.
pub(crate) enum Source<'a, E> {
    Inputs(Vec<Input>, &'a InputReads<E>),
    Table(TableScan<'a>, EntryMaker<E>),
}

/// On which occasion records are delivered.
pub(crate) enum Occasion {
    /// A command. The user continues with the journal at this place.
    Command { resumes: Option<Location> },
    /// A shard. Another run delivers all of it if this one does not finish.
    Shard,
}

/// How a delivery is made, and what is kept of it.
pub(crate) struct Run {
    pub(crate) options: DeliveryOptions,
    pub(crate) dead_letter: Option<DeadLetter>,
    pub(crate) failed: Option<FailedConditions>,
    pub(crate) stop: Stop,
    pub(crate) occasion: Occasion,
}

impl<T: Target> Job<T> {
    /// Opens the journal at this place, if there is one, and with it what earlier runs have left of the source.
    pub(crate) async fn open<'a>(
        &self,
        source: Source<'a, T::Entry>,
        location: Option<&Location>,
        claim: Claim,
    ) -> Result<OpenedJob<'a, T::Entry>, Failure> {
        match source {
            Source::Inputs(inputs, reads) => self.open_inputs(inputs, reads, location, claim).await,
            Source::Table(scan, entry) => self.open_table(scan, entry, location, claim).await,
        }
    }

    /// The settings that identify the delivery to its destination.
    fn identity(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.settings.iter().chain(&self.destination.settings).cloned().chain([
            ("command", self.command.to_owned()),
            ("destination", self.destination.name.clone()),
        ])
    }

    /// The inputs, with the journal at this place if there is one.
    async fn open_inputs<'a>(
        &self,
        inputs: Vec<Input>,
        reads: &'a InputReads<T::Entry>,
        location: Option<&Location>,
        claim: Claim,
    ) -> Result<OpenedJob<'a, T::Entry>, Failure> {
        let Some(location) = location else {
            return Ok(OpenedJob {
                source: OpenedSource::Inputs(inputs, reads, None),
                failures: Failures::default(),
                settled: 0,
                doubtful: 0,
                has_begun: false,
            });
        };
        let in_flight = u64::from(self.concurrency) * self.destination.target.limits().entries as u64;
        let settings = self.identity().chain([(ORDER, reads.order().name().to_owned())]);
        let identity = Identity::new(settings, &inputs, in_flight + Journal::unwritten(location))?;
        let identity = match claim {
            Claim::Named | Claim::Trusted => identity,
            Claim::Granted => identity.without_times(),
        };
        let unknown = identity.unknown();
        let state = LoadState::open(location, identity, claim, &self.connection, &self.console).await?;
        let settled = state.kept.settled.len();
        if settled > 0 {
            if let Some(unknown) = unknown {
                self.console.info(&not_compared(&unknown));
            }
            self.console
                .info(&format!("{} lines are settled by earlier runs", grouped(settled)));
        }
        if state.doubtful > 0 {
            let most = grouped(state.doubtful);
            self.console.info(&format!(
                "the last run did not end cleanly: up to {most} entries may be sent twice"
            ));
        }
        Ok(OpenedJob {
            failures: state.kept.failures.clone(),
            settled,
            doubtful: state.doubtful,
            has_begun: state.has_begun(),
            source: OpenedSource::Inputs(inputs, reads, Some(Box::new(state))),
        })
    }

    /// The items of a table, with the journal at this place if there is one.
    async fn open_table<'a>(
        &self,
        scan: TableScan<'a>,
        entry: EntryMaker<T::Entry>,
        location: Option<&Location>,
        claim: Claim,
    ) -> Result<OpenedJob<'a, T::Entry>, Failure> {
        let opened = match location {
            None => None,
            Some(location) => {
                let settings = self.identity().collect();
                let opened = scan.journal(location, settings, claim, &self.connection, &self.console);
                Some(opened.await?)
            }
        };
        let found = opened.as_ref();
        Ok(OpenedJob {
            failures: found.map(|found| found.failures.clone()).unwrap_or_default(),
            settled: found.map_or(0, |found| found.settled),
            doubtful: found.map_or(0, |found| found.doubtful),
            has_begun: found.is_some_and(|found| found.position.is_some()),
            source: OpenedSource::Table(scan, entry, opened.map(Box::new)),
        })
    }

    /// Delivers the records that are not settled.
    pub(crate) async fn deliver(&self, opened: OpenedJob<'_, T::Entry>, run: Run) -> Result<Summary, StartFailure> {
        let Run {
            options,
            dead_letter,
            failed,
            stop,
            occasion,
        } = run;
        let (earlier, settled_before, doubtful) = (opened.failures.clone(), opened.settled, opened.doubtful);
        let begun = opened.begin(dead_letter.is_some(), &stop).await;
        let (reading, journal) = match begun {
            Ok(begun) => begun,
            Err(failure) => {
                if let Some(dead_letter) = &dead_letter {
                    // Removes empty files.
                    block_in_place(|| dead_letter.close());
                }
                return Err(failure);
            }
        };
        let ReaderHandle {
            receiver,
            read,
            names,
            total,
        } = reading;
        let (resumes, is_repeated) = match occasion {
            Occasion::Command { resumes } => (resumes, false),
            Occasion::Shard => (None, true),
        };
        let settling = Arc::new(Settlement {
            window: Window::default(),
            names,
            journal,
            dead_letter,
            failed: failed.map(Arc::new),
            handed_back: Mutex::default(),
            earlier,
            stop: stop.clone(),
            under_way: TaskTracker::new(),
            is_repeated,
            left: AtomicU64::new(0),
            cut_short: AtomicU64::new(0),
        });
        let bad_lines = BadLines::new(Arc::clone(&settling), self.keep_going, self.console.clone());
        let progress = Progress::default();
        let watched = WatchedDelivery {
            progress: progress.clone(),
            read,
            total,
            every: self.every,
        };
        let options = options.progress(&progress).cancellation(stop.token.clone());
        let ticker = Ticker::start(watched, self.console.clone(), stop);
        let entries = entries(receiver, Arc::clone(&settling), bad_lines.clone());
        let (decided, undelivered) = (Arc::clone(&settling), Arc::clone(&settling));
        let duplicates = self
            .destination
            .content
            .map(|content| Arc::new(Duplicates::new(content)));
        let delivered = sink::deliver(
            self.destination.target.clone(),
            options,
            entries,
            duplicates.clone(),
            move |position, disposition| decided.decided(position, disposition),
            move |entry| undelivered.undelivered(entry),
        );
        let delivered = delivered.await;
        drop(ticker);
        self.console.clear_bar();

        settling.end(delivered.handed_back()).await;
        let (report, stream_error, stopped) = delivered.parts();
        let ended = stream_error.and_then(|error| error.downcast::<InputEnd>().ok());
        let journal_error = match &settling.journal {
            None => None,
            Some(journal) => journal.close().await.err(),
        };
        Ok(Summary {
            is_decoded: false,
            line_breaks: None,
            destination: self.destination.name.clone(),
            report,
            ended: ended.map(|ended| *ended),
            stopped,
            journal_error,
            settling,
            bad_lines,
            resumes,
            settled_before,
            doubtful,
            duplicates: duplicates.map(|duplicates| duplicates.figures()).unwrap_or_default(),
            simulated: self.destination.simulated.clone(),
            vectors: self.destination.vector_figures(),
        })
    }
}
