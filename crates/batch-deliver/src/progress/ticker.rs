//! Prints the figures at intervals.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::estimate::{self, ProgressEstimate};
use crate::blocking::OwnRuntime;
use crate::console::{Console, grouped, rate, time};
use crate::sink::{Progress, Snapshot};
use crate::source::Counts;
use crate::stop::Stop;

/// The interval at which the bar is drawn.
const BAR: Duration = Duration::from_millis(200);

/// Separates two figures.
const SEPARATOR: &str = " · ";

/// The delivery that is watched.
#[derive(Debug, Clone)]
pub(crate) struct WatchedDelivery {
    pub(crate) progress: Progress,
    pub(crate) read: Counts,
    /// Bytes of all inputs, if known.
    pub(crate) total: Option<u64>,
    /// The interval of lines if there is no bar.
    pub(crate) every: Duration,
}

/// Prints the progress of the delivery until it is dropped, in a thread of its own: while an output is not read, it waits with the newest
/// figures, and the delivery does not.
pub(crate) struct Ticker {
    ticking: JoinHandle<()>,
    has_ended: Arc<AtomicBool>,
    _runtime: OwnRuntime,
}

impl Ticker {
    pub(crate) fn start(watched: WatchedDelivery, console: Console, stop: Stop) -> Self {
        let runtime = OwnRuntime::start().unwrap_or_default();
        let has_ended = Arc::new(AtomicBool::new(false));
        Self {
            ticking: runtime.spawn(tick(watched, console, stop, Arc::clone(&has_ended))),
            has_ended,
            _runtime: runtime,
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.has_ended.store(true, Relaxed);
        self.ticking.abort();
    }
}

async fn tick(watched: WatchedDelivery, console: Console, stop: Stop, has_ended: Arc<AtomicBool>) {
    if console.is_quiet() && !console.is_json() {
        return;
    }
    console.show_bar(watched.total);
    let start = Instant::now();
    let mut ticks = interval(if console.bar().is_some() { BAR } else { watched.every });
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    // The first tick is immediate.
    ticks.tick().await;
    let mut figures = Figures::default();
    loop {
        ticks.tick().await;
        figures.update(&watched, start.elapsed());
        let words = || fitting(&figures.words(watched.total), console.width(watched.total));
        if let Some(bar) = console.bar() {
            bar.set_position(figures.done);
            bar.set_message(words());
        } else if console.is_json() {
            // The report is the last event, even if both have waited for the reader of the others.
            let event = figures.event(watched.total);
            let emitted = console.emit_while(|| !has_ended.load(Relaxed), &event);
            // If the standard output is closed, the delivery stops.
            if emitted.is_err() {
                stop.token.cancel();
                return;
            }
        } else {
            console.info(&words());
        }
    }
}

/// The figures at one time.
#[derive(Default)]
struct Figures {
    estimate: ProgressEstimate,
    elapsed: Duration,
    snapshot: Snapshot,
    rate: f64,
    read: u64,
    read_bytes: u64,
    /// Bytes of the inputs whose records are settled.
    done: u64,
}

impl Figures {
    fn update(&mut self, watched: &WatchedDelivery, elapsed: Duration) {
        self.elapsed = elapsed;
        self.snapshot = watched.progress.snapshot();
        self.read = watched.read.records.load(Relaxed);
        self.read_bytes = watched.read.bytes.stored.get();
        let settled = self.settled();
        self.rate = self.estimate.rate(elapsed, settled);
        self.done = estimate::done(self.read_bytes, self.read, settled);
    }

    fn settled(&self) -> u64 {
        let figures = &self.snapshot;
        figures.delivered + figures.undelivered + figures.superseded + figures.condition_failed
    }

    fn left(&self, total: Option<u64>) -> Option<Duration> {
        estimate::left(self.rate, self.settled(), self.done, total?)
    }

    /// The figures in the order of importance: on a narrow terminal the last ones are left out.
    fn words(&self, total: Option<u64>) -> Vec<String> {
        let figures = &self.snapshot;
        let mut words = vec![format!("{} delivered", grouped(figures.delivered))];
        // They are settled as well, and so part of the rate.
        let settled = [
            (figures.condition_failed, "with a failed condition"),
            (figures.superseded, "superseded"),
        ];
        let settled = settled.iter().filter(|(count, _)| *count > 0);
        words.extend(settled.map(|(count, what)| format!("{} {what}", grouped(*count))));
        words.push(format!("{}/s", rate(self.rate)));
        if let Some(left) = self.left(total) {
            words.push(format!("{} left", time(left)));
        }
        if figures.undelivered > 0 {
            words.push(format!("{} UNDELIVERED", grouped(figures.undelivered)));
        }
        if let Some(pace) = &figures.pace {
            words.push(match pace.capacity {
                Some(capacity) => format!("{} at {}/s", pace.state, rate(capacity)),
                None => pace.state.to_string(),
            });
        }
        words.push(format!("{} in flight", grouped(figures.in_flight)));
        words.push(format!("{} waiting", grouped(figures.waiting)));
        if figures.throttled > 0 {
            words.push(format!("{} throttled", grouped(figures.throttled)));
        }
        words
    }

    fn event(&self, total: Option<u64>) -> Value {
        json!({
            "event": "progress",
            "elapsed_seconds": self.elapsed.as_secs_f64(),
            "rate": self.rate,
            "read": self.read,
            "read_bytes": self.read_bytes,
            "total_bytes": total,
            "seconds_left": self.left(total).map(|left| left.as_secs_f64()),
            "figures": self.snapshot,
        })
    }
}

/// As many figures as fit, from the first one.
fn fitting(words: &[String], width: usize) -> String {
    let mut line = String::new();
    for word in words {
        let separator = if line.is_empty() { "" } else { SEPARATOR };
        if [&line, separator, word]
            .iter()
            .map(|text| text.chars().count())
            .sum::<usize>()
            > width
        {
            break;
        }
        line.push_str(separator);
        line.push_str(word);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_do_not_fit_are_left_out() {
        let words = ["10 delivered", "5/s", "1 s left"].map(str::to_owned);
        assert_eq!(fitting(&words, 99), "10 delivered · 5/s · 1 s left");
        assert_eq!(fitting(&words, 28), "10 delivered · 5/s");
        assert_eq!(fitting(&words, 5), "");
    }

    #[test]
    fn the_most_important_figures_come_first() {
        let mut figures = Figures {
            rate: 1_002.3,
            elapsed: Duration::from_secs(10),
            done: 250,
            ..Figures::default()
        };
        figures.snapshot.delivered = 10_023;
        figures.snapshot.in_flight = 50;
        assert_eq!(
            figures.words(Some(1_000)).join(SEPARATOR),
            "10,023 delivered · 1,002/s · 30 s left · 50 in flight · 0 waiting"
        );
        figures.snapshot.condition_failed = 1_204;
        assert!(
            figures
                .words(None)
                .join(SEPARATOR)
                .starts_with("10,023 delivered · 1,204 with a failed condition · 1,002/s"),
        );
        figures.snapshot.condition_failed = 0;
        figures.snapshot.undelivered = 2;
        figures.snapshot.throttled = 7;
        assert_eq!(
            figures.words(None).join(SEPARATOR),
            "10,023 delivered · 1,002/s · 2 UNDELIVERED · 50 in flight · 0 waiting · 7 throttled"
        );
    }
}
