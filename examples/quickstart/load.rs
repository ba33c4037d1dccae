//! Many workers that share one pace.

use std::time::{Duration, Instant};

use aws_batch_delivery::{DeliveryError, DeliveryOptions, Progress, Report, Snapshot};
use tokio::task::JoinSet;

use crate::{Failure, live_line};

/// What is loaded, and by how many workers.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// How many entries there are.
    pub(crate) total: usize,
    /// How many entries a call carries.
    pub(crate) chunk: usize,
    /// How many workers there are.
    pub(crate) workers: usize,
}

/// The result of a load.
pub(crate) struct Loaded {
    pub(crate) figures: Snapshot,
    pub(crate) took: Duration,
    /// The number of each undelivered entry, and its cause.
    pub(crate) undelivered: Vec<(usize, String)>,
}

impl Plan {
    /// How many workers have something to do: a worker with less than a call would only make more calls.
    pub(crate) fn busy(&self) -> usize {
        self.workers.min(self.fewest_calls())
    }

    pub(crate) fn fewest_calls(&self) -> usize {
        self.total.div_ceil(self.chunk)
    }

    /// How many entries each worker gets: full calls, except for the last worker.
    fn shares(self) -> impl Iterator<Item = usize> {
        let (each, more) = (self.fewest_calls() / self.busy(), self.fewest_calls() % self.busy());
        let mut left = self.total;
        (0..self.busy()).map(move |worker| {
            let share = ((each + usize::from(worker < more)) * self.chunk).min(left);
            left -= share;
            share
        })
    }
}

/// Distributes the entries among the workers, and shows a live line while they deliver.
pub(crate) async fn share<E, D, F>(entries: Vec<E>, plan: Plan, deliver: D) -> Result<Loaded, Failure>
where
    E: Send + Sync + 'static,
    D: Fn(Vec<E>, DeliveryOptions) -> F,
    F: Future<Output = Result<Report, DeliveryError<E>>> + Send + 'static,
{
    let progress = Progress::default();
    // Every worker clones these options, and so shares their strategy.
    let options = DeliveryOptions::default().concurrency(1).progress(&progress);
    let started = Instant::now();
    let mut entries = entries.into_iter();
    let mut deliveries = JoinSet::new();
    let mut first = 0;
    for share in plan.shares() {
        let delivery = deliver(entries.by_ref().take(share).collect(), options.clone());
        deliveries.spawn(async move { (first, delivery.await) });
        first += share;
    }
    let ended = live_line::beside(deliveries.join_all(), &progress, plan.total).await;
    let took = started.elapsed();
    let mut undelivered = Vec::new();
    for (first, delivery) in ended {
        let Err(error) = delivery else { continue };
        for entry in error.into_undelivered() {
            undelivered.push((first + usize::try_from(entry.position)?, entry.cause.to_string()));
        }
    }
    undelivered.sort_unstable();
    Ok(Loaded {
        figures: progress.snapshot(),
        took,
        undelivered,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(total: usize, chunk: usize, workers: usize) -> Vec<usize> {
        Plan { total, chunk, workers }.shares().collect()
    }

    #[test]
    fn each_worker_gets_full_calls_and_none_gets_nothing() {
        assert_eq!(shares(64, 25, 64), [25, 25, 14]);
        assert_eq!(shares(1, 25, 64), [1]);
        assert_eq!(shares(110, 25, 2), [75, 35]);
        for total in [19, 625, 1_600, 20_000] {
            let shares = shares(total, 25, 64);
            assert_eq!(shares.iter().sum::<usize>(), total);
            assert_eq!(
                shares.iter().map(|share| share.div_ceil(25)).sum::<usize>(),
                total.div_ceil(25)
            );
            assert!(!shares.contains(&0), "{shares:?}");
        }
    }
}
