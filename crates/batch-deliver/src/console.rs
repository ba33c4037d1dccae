//! The output of the program: text on the standard error, JSON on the standard output.

use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use crate::escaped::escaped;

/// Characters of the bar, on a wide terminal and on a narrow one.
const BAR: usize = 20;
const SHORT_BAR: usize = 5;

/// Columns of a terminal that is not narrow.
const WIDE: usize = 60;

/// Characters of the percentage after the bar, and of the spinner.
const PERCENTAGE: usize = 7;
const SPINNER: usize = 3;

/// The output of the program.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    bar: Option<ProgressBar>,
    is_json: bool,
    is_quiet: bool,
}

impl Console {
    /// A console with a bar if the standard error is a terminal and neither JSON nor silence is wanted.
    pub(crate) fn new(is_json: bool, is_quiet: bool) -> Self {
        let has_bar = !is_json && !is_quiet && stderr().is_terminal();
        Self {
            bar: has_bar.then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())),
            is_json,
            is_quiet,
        }
    }

    /// The same without a bar, for a worker, whose end is not known.
    #[cfg(feature = "distributed")]
    pub(crate) fn without_bar(self) -> Self {
        Self { bar: None, ..self }
    }

    pub(crate) fn bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Characters that fit beside the bar, if there is one.
    pub(crate) fn room(&self, total: Option<u64>) -> usize {
        if self.bar.is_none() {
            return usize::MAX;
        }
        let width = usize::from(Term::stderr().size().1);
        width.saturating_sub(match total {
            Some(_) => length(width) + PERCENTAGE,
            None => SPINNER,
        })
    }

    /// Shows the bar, for a total in bytes, or a spinner.
    pub(crate) fn show_bar(&self, total: Option<u64>) {
        let Some(bar) = &self.bar else { return };
        let template = match total {
            Some(_) => {
                let width = length(usize::from(Term::stderr().size().1));
                format!("{{bar:{width}.cyan/dim}} {{percent:>3}}%  {{wide_msg}}")
            }
            None => "{spinner:.cyan}  {wide_msg}".to_owned(),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.reset();
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
    }

    pub(crate) fn clear_bar(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Prints one line, unless the program is quiet.
    pub(crate) fn tell(&self, words: &str) {
        if !self.is_quiet {
            self.warn(words);
        }
    }

    /// Prints one line, even if the program is quiet.
    pub(crate) fn warn(&self, words: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| print(words)),
            None => print(words),
        }
    }

    /// Prints an event as JSON, with `--json`.
    pub(crate) fn emit(&self, event: &Value) -> io::Result<()> {
        if !self.is_json {
            return Ok(());
        }
        let mut output = stdout().lock();
        writeln!(output, "{event}")?;
        output.flush()
    }
}

/// Prints one line. Everything that the program says on the standard error goes through here, so that no name and no answer of a
/// service is obeyed by the terminal.
pub(crate) fn print(words: &str) {
    // A standard error that is closed or full cannot be reported anywhere.
    let _ = writeln!(stderr(), "{}", escaped(words));
}

/// Characters of the bar on a terminal with this many columns.
fn length(columns: usize) -> usize {
    if columns < WIDE { SHORT_BAR } else { BAR }
}

/// A count with separators: 4,609.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count with its noun: 1 call, 4,609 calls.
pub(crate) fn counted(count: u64, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {what}{ending}", grouped(count))
}

/// A rate, rounded: 1,002 or 0.5.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is for the eye"
)]
pub(crate) fn rate(rate: f64) -> String {
    if rate < 10.0 {
        format!("{rate:.1}")
    } else {
        grouped(rate.round() as u64)
    }
}

/// A time, rounded: 4.6 s, 3 min 20 s, 2 h 5 min.
pub(crate) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A size, rounded: 812 B, 2.4 MB.
#[expect(clippy::cast_precision_loss, reason = "a size is for the eye")]
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / 1e3;
    let mut unit = 0;
    while size >= 999.95 && unit < UNITS.len() - 1 {
        size /= 1e3;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_rounded_for_reading() {
        assert_eq!(
            [0, 1, 2_000].map(|count| counted(count, "call")),
            ["0 calls", "1 call", "2,000 calls"]
        );
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([0.04, 9.96, 1_002.4].map(rate), ["0.0", "10.0", "1,002"]);
        let seconds = [4.64, 59.9, 200.0, 7_500.0].map(Duration::from_secs_f64);
        let sizes = [999, 1_000, 999_999, 2_356_947];
        assert_eq!(sizes.map(size), ["999 B", "1.0 kB", "1.0 MB", "2.4 MB"]);
        assert_eq!(seconds.map(time), ["4.6 s", "59 s", "3 min 20 s", "2 h 5 min"]);
    }
}
