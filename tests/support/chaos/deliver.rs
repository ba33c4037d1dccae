//! Runs the deliveries of a mix, or its producer, and keeps the ledger.

use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Delivery, DeliveryOptions, Progress};
use futures::{Stream, StreamExt, stream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::ledger::{Fate, Ledger};
use super::load::{Entry, Load, Wire};
use super::mix::{Cut, Mix, Way};

/// One of this many entries arrives later than the one before it.
const PAUSE_EVERY: usize = 60;

/// The options of a mix.
fn options(mix: &Mix) -> DeliveryOptions {
    let options = DeliveryOptions::default()
        .concurrency(mix.concurrency)
        .attempt_timeout(mix.attempt_timeout);
    let options = match mix.cut {
        Some(Cut::Deadline(time)) => options.deadline(Instant::now() + time),
        Some(Cut::Retries(retries)) => options.retries(retries),
        Some(Cut::GiveUp(time)) => options.give_up_after(time),
        _ => options,
    };
    if mix.last_write_wins {
        options.last_write_wins()
    } else {
        options
    }
}

/// The parts of a run.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) mix: Arc<Mix>,
    /// The workers of the mix that deliver to this target.
    pub(crate) workers: Range<usize>,
    pub(crate) load: Arc<Load>,
    pub(crate) ledger: Ledger,
    pub(crate) progress: Progress,
    /// How many calls have arrived.
    pub(crate) arrivals: watch::Receiver<u64>,
}

impl Run {
    /// Waits until the delivery is to end early in this way; never returns if it is not.
    pub(crate) async fn cut(mut self, after: impl Fn(Cut) -> Option<u64>) {
        match self.mix.cut.and_then(after) {
            Some(calls) => _ = self.arrivals.wait_for(|arrivals| *arrivals >= calls).await,
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn dropped(self) {
        self.cut(|cut| match cut {
            Cut::Dropped(calls) => Some(calls),
            _ => None,
        })
        .await;
    }

    async fn cancelled(self) {
        self.cut(|cut| match cut {
            Cut::Cancelled(calls) => Some(calls),
            _ => None,
        })
        .await;
    }

    /// Delivers all entries of the load, in the way of the mix.
    pub(crate) async fn deliver<T>(self, delivery: Delivery<T>)
    where
        T: BatchTarget<Entry: Wire>,
    {
        let token = CancellationToken::new();
        let started = Instant::now();
        let options = options(&self.mix).progress(&self.progress);
        let delivery = delivery.options(options.cancellation(token.clone()));
        let canceller = tokio::spawn({
            let cancelled = self.clone().cancelled();
            async move {
                cancelled.await;
                token.cancel();
            }
        });
        match self.mix.way {
            Way::Producer(waiting) => self.produce(&delivery, waiting).await,
            way => {
                let mut deliveries = JoinSet::new();
                for worker in self.workers.clone() {
                    let (run, delivery) = (self.clone(), delivery.clone());
                    let entries = self.load.of_worker(worker);
                    deliveries.spawn(async move {
                        match way {
                            Way::Batch => run.batch(&delivery, &entries).await,
                            _ => run.stream(&delivery, &entries).await,
                        }
                    });
                }
                deliveries.join_all().await;
            }
        }
        canceller.abort();
        if let Some(limit) = self.mix.limit_of_delivery() {
            self.ledger.waited(started, limit);
        }
    }

    /// The same delivery, whose handler keeps the ledger. The numbers are those of its entries.
    fn telling<T>(&self, delivery: &Delivery<T>, numbers: &[usize]) -> Delivery<T>
    where
        T: BatchTarget<Entry: Wire>,
    {
        let (ledger, numbers) = (self.ledger.clone(), numbers.to_vec());
        delivery.clone().on_delivered(move |position, _, disposition| {
            let position = usize::try_from(position).expect("a place in memory");
            match numbers.get(position) {
                Some(number) => ledger.settle(*number, disposition),
                None => ledger.complain(format!("an entry at {position} is said to be delivered")),
            }
        })
    }

    async fn batch<T>(&self, delivery: &Delivery<T>, entries: &[Entry])
    where
        T: BatchTarget<Entry: Wire>,
    {
        let numbers: Vec<usize> = entries.iter().map(|entry| entry.number).collect();
        let delivery = self.telling(delivery, &numbers);
        let batch: Vec<T::Entry> = entries.iter().map(|entry| Wire::of(entry, self.load.service)).collect();
        tokio::select! {
            result = delivery.deliver(batch) => self.ledger.end(&numbers, result, &self.load),
            () = self.clone().dropped() => numbers.iter().for_each(|number| self.ledger.set(*number, Fate::Untold)),
        }
    }

    async fn stream<T>(&self, delivery: &Delivery<T>, entries: &[Entry])
    where
        T: BatchTarget<Entry: Wire>,
    {
        let service = self.load.service;
        let numbers: Vec<usize> = entries.iter().map(|entry| entry.number).collect();
        let delivery = self.telling(delivery, &numbers);
        let mut stream = pin!(paused(entries).map(|entry| T::Entry::of(&entry, service)));
        let result = tokio::select! {
            result = delivery.deliver_stream(&mut stream) => Some(result),
            () = self.clone().dropped() => None,
        };
        // Entries that were not read are still in the stream.
        let rest = stream.count().await;
        let read = &numbers[..numbers.len() - rest];
        match result {
            Some(result) => {
                let finished = result
                    .as_ref()
                    .map_or_else(|error| error.report.finished, |report| report.finished);
                if finished && rest > 0 {
                    self.ledger
                        .complain(format!("the input is said to be finished, and has {rest} more"));
                }
                self.ledger.end(read, result, &self.load);
            }
            None => read.iter().for_each(|number| self.ledger.set(*number, Fate::Untold)),
        }
    }
}

/// Entries, some of which arrive a little later.
fn paused(entries: &[Entry]) -> impl Stream<Item = Entry> {
    stream::iter(entries.to_vec()).then(|entry| async move {
        if entry.number % PAUSE_EVERY == PAUSE_EVERY - 1 {
            sleep(Duration::from_millis(2)).await;
        }
        entry
    })
}
