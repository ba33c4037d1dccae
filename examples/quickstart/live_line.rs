//! The line that shows how a load goes on, on a terminal.

use std::pin::pin;
use std::time::Duration;

use aws_batch_delivery::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// How often the line is drawn again.
const INTERVAL: Duration = Duration::from_millis(200);

/// Columns of a terminal from which on there is room for a long bar.
const WIDE: u16 = 100;

/// Awaits the work, and shows its figures meanwhile. The line is gone when this returns, so that a report may follow.
pub(crate) async fn beside<R>(work: impl Future<Output = R>, progress: &Progress, total: usize) -> R {
    let line = ProgressBar::new(total as u64).with_style(style());
    let mut work = pin!(work);
    let mut ticks = tokio::time::interval(INTERVAL);
    let result = loop {
        tokio::select! {
            result = &mut work => break result,
            _ = ticks.tick() => draw(&line, progress),
        }
    };
    line.finish_and_clear();
    result
}

/// The message takes the room that is left, and is cut where the terminal ends.
fn style() -> ProgressStyle {
    let (_, columns) = console::Term::stderr().size();
    let bar = if columns < WIDE { 8 } else { 24 };
    ProgressStyle::with_template(&format!("  {{bar:{bar}}} {{pos}}/{{len}} {{wide_msg}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn draw(line: &ProgressBar, progress: &Progress) {
    let figures = progress.snapshot();
    line.set_position(figures.delivered);
    line.set_message(format!(
        "{:.0}/s · {} in flight · {} waiting · {} calls · pause {} ms",
        figures.rate,
        figures.in_flight,
        figures.waiting,
        figures.calls,
        figures.delay.as_millis()
    ));
}
