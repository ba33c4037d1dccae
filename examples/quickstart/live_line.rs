//! The line that shows the progress of a load on a terminal.

use std::pin::pin;
use std::time::Duration;

use aws_batch_delivery::{Progress, Snapshot};
use indicatif::{ProgressBar, ProgressStyle};

/// How often the line is drawn again.
const INTERVAL: Duration = Duration::from_millis(200);

/// The number of columns from which the terminal has room for a long bar.
const WIDE: u16 = 100;

/// Awaits the work, and shows its figures meanwhile. The line is removed when this returns, so that a report may follow.
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

/// The message takes the remaining width, and is cut at the end of the terminal.
fn style() -> ProgressStyle {
    let (_, columns) = console::Term::stderr().size();
    let bar = if columns < WIDE { 8 } else { 24 };
    ProgressStyle::with_template(&format!("  {{bar:{bar}}} {{pos}}/{{len}} {{wide_msg}}"))
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn draw(line: &ProgressBar, progress: &Progress) {
    let figures = progress.snapshot();
    line.set_position(figures.delivered);
    line.set_message(told(&figures));
}

/// The most important figures come first, because a narrow terminal cuts off the others.
fn told(figures: &Snapshot) -> String {
    let rate = with_thousands(figures.rate);
    let (mut state, mut capacity) = (String::new(), String::new());
    if let Some(pace) = figures.pace {
        state = format!(" {}", pace.state);
        if let Some(measured) = pace.capacity {
            capacity = format!(" · capacity {}/s", with_thousands(measured));
        }
    }
    format!(
        "{rate}/s{state}{capacity} · {} in flight · {} waiting · {} calls",
        figures.in_flight, figures.waiting, figures.calls
    )
}

fn with_thousands(figure: f64) -> String {
    let digits = format!("{figure:.0}");
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_kept_apart() {
        let figures = [0.4, 999.6, 12_345.0, 1_234_567.0].map(with_thousands);
        assert_eq!(figures, ["0", "1,000", "12,345", "1,234,567"]);
    }
}
