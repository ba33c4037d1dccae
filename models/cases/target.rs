//! A service whose calls take several steps.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use tokio::task::yield_now;

use crate::contract::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use crate::invalid::InvalidEntry;

/// Accepts entries after some steps, and counts how often it accepted each. Clones share the state.
#[derive(Clone)]
pub(super) struct Slow {
    entries_of_a_call: usize,
    steps: usize,
    /// How often each entry is throttled before it is accepted.
    throttles: usize,
    /// Whether every entry is refused.
    refuses: bool,
    /// No call ends before this many have arrived.
    together: usize,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    calls: usize,
    waiting: Vec<Waker>,
    taken: BTreeMap<u32, usize>,
    throttled: BTreeMap<u32, usize>,
}

impl Slow {
    pub(super) fn with_calls_of(entries: usize) -> Self {
        Self {
            entries_of_a_call: entries,
            steps: 1,
            throttles: 0,
            refuses: false,
            together: 1,
            state: Arc::default(),
        }
    }

    pub(super) fn throttling(mut self, times: usize) -> Self {
        self.throttles = times;
        self
    }

    pub(super) fn refusing(mut self) -> Self {
        self.refuses = true;
        self
    }

    pub(super) fn waiting_for(mut self, calls: usize) -> Self {
        self.together = calls;
        self
    }

    /// Waits for the other calls.
    async fn meet(&self) {
        let round = {
            let mut state = self.state.lock().unwrap();
            state.calls += 1;
            state.calls.div_ceil(self.together)
        };
        poll_fn(|context| {
            let mut state = self.state.lock().unwrap();
            if state.calls < round * self.together {
                state.waiting.push(context.waker().clone());
                return Poll::Pending;
            }
            let waiting = std::mem::take(&mut state.waiting);
            drop(state);
            waiting.into_iter().for_each(Waker::wake);
            Poll::Ready(())
        })
        .await;
    }

    pub(super) fn taken(&self) -> BTreeMap<u32, usize> {
        self.state.lock().unwrap().taken.clone()
    }

    /// Verdicts that were throttles.
    pub(super) fn throttled(&self) -> usize {
        self.state.lock().unwrap().throttled.values().sum()
    }

    fn verdict(&self, entry: u32) -> Verdict {
        if self.refuses {
            return Verdict::Refused(Fault::new("refused"));
        }
        let mut state = self.state.lock().unwrap();
        let throttled = state.throttled.entry(entry).or_default();
        if *throttled < self.throttles {
            *throttled += 1;
            return Verdict::Rejected(Rejection::Throttled, Fault::new("throttled"));
        }
        *state.taken.entry(entry).or_default() += 1;
        Verdict::Accepted
    }
}

impl BatchTarget for Slow {
    type Entry = u32;

    fn limits(&self) -> Limits {
        Limits::new(self.entries_of_a_call, 1_000)
    }

    fn check(&self, _: &u32) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[u32]) -> Answer {
        self.meet().await;
        for _ in 0..self.steps {
            yield_now().await;
        }
        Answer::Each(chunk.iter().map(|entry| self.verdict(*entry)).collect())
    }
}
