//! The published picture of responsive exponential backoff.

use std::path::Path;
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Outcome, Pace, Responsive};
use plotters::prelude::{BLUE, RED};

use crate::Failure;
use crate::canvas::{Chart, Series};

/// How many requests are made.
const REQUESTS: u32 = 120;

/// Requests fail until the delay reaches this for the first time …
const RECOVERY: Duration = Duration::from_micros(291_900);

/// … and later whenever it is not above this.
const NEEDED: Duration = Duration::from_millis(60);

/// Draws the delay before each request, failures and successes in two colours.
pub(crate) fn draw(into: &Path) -> Result<(), Failure> {
    let strategy = Responsive::published()
        .initial_interval(Duration::from_millis(1))
        .down_multiplier(0.6)
        .down_threshold(5)
        .randomization_factor(0.0);
    let now = Instant::now();
    let (mut failures, mut successes) = (Vec::new(), Vec::new());
    let mut recovered = false;
    for request in 0..REQUESTS {
        let delay = strategy.cooldown();
        recovered |= delay >= RECOVERY;
        let point = (f64::from(request), delay.as_secs_f64() * 1_000.0);
        let outcome = Outcome::new(now, now);
        if recovered && delay > NEEDED {
            successes.push(point);
            strategy.observe(&outcome.with_accepted(1));
        } else {
            failures.push(point);
            strategy.observe(&outcome.with_throttled(1));
        }
    }
    let dots = |name, colour, points| Series {
        name,
        colour,
        points,
        is_line: false,
    };
    let chart = Chart {
        title: "Responsive exponential backoff".to_owned(),
        x: ("request", 0.0..f64::from(REQUESTS)),
        y: ("delay before it, ms", 0.0..310.0),
        series: vec![dots("failed", RED, failures), dots("succeeded", BLUE, successes)],
    };
    chart.write(into, "responsive")
}
