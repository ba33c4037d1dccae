//! The contestants: the engine with a strategy, or a loop as applications write it by hand.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use super::super::strategies::Make;
use super::service::Service;

/// The first upper bound of the wait, and the last one, in milliseconds.
const WAITS: (u64, u64) = (50, 5000);

/// A way to deliver the entries.
#[derive(Clone)]
pub(crate) enum Contestant {
    /// The engine.
    Engine(Make),
    /// Loops around the SDK: a call, then its leftovers after a delay with full jitter, until nothing is left; as `SDK + backon`
    /// among the peers. There are as many loops as calls may be in flight.
    Loop,
}

/// How long an entry that arrives waits for others: as long as in the engine.
const LINGER: f64 = 0.010;

/// Delivers the entries by loops.
pub(crate) async fn by_loops(service: &Service, entries: impl Iterator<Item = u32> + Send + 'static, seed: u64) {
    let entries = Arc::new(Mutex::new(entries.peekable()));
    let mut loops = JoinSet::new();
    for number in 0..service.scenario.workers {
        let (service, entries) = (service.clone(), Arc::clone(&entries));
        let mut random = SmallRng::seed_from_u64(seed ^ number as u64);
        loops.spawn(async move {
            loop {
                // The call leaves when it is full, or when its first entry has waited.
                let mut chunk: Vec<u32> = {
                    let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                    let Some(first) = entries.peek() else { return };
                    let latest = service.item(*first).due + LINGER;
                    let due = |entry: &u32| service.item(*entry).due <= latest;
                    (0..service.scenario.chunk)
                        .map_while(|_| entries.next_if(due))
                        .collect()
                };
                let arrived = chunk.last().map_or(0.0, |last| service.item(*last).due);
                sleep_until(service.started + Duration::from_secs_f64(arrived)).await;
                for entry in &chunk {
                    service.read(*entry);
                }
                let mut most = WAITS.0;
                loop {
                    if let Some(accepted) = service.call(&chunk).await {
                        let mut accepted = accepted.iter();
                        chunk.retain(|_| !accepted.next().is_some_and(|accepted| *accepted));
                    }
                    if chunk.is_empty() {
                        break;
                    }
                    sleep(Duration::from_millis(random.random_range(0..=most))).await;
                    most = (2 * most).min(WAITS.1);
                }
            }
        });
    }
    loops.join_all().await;
}
