//! The output of the program: text on the standard error, JSON on the standard output.

mod figures;
mod waiting;
mod warnings;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;

use self::waiting::WaitingLines;
use crate::outcome::Failure;

pub(crate) use self::figures::{counted, dollars, grouped, lossy_words, rate, size, time};
pub(crate) use self::warnings::{EXPIRED, NOT_THERE, print_warnings};

/// Characters of the bar, on a wide terminal and on a narrow one.
const BAR: usize = 20;
const SHORT_BAR: usize = 5;

/// Columns of a terminal that is not narrow.
const WIDE: usize = 60;

/// Characters of the percentage after the bar, and of the spinner.
const PERCENTAGE: usize = 7;
const SPINNER: usize = 3;

/// The lines of this process that wait.
static WAITING: WaitingLines<Console> = WaitingLines::new();

/// The output of the program.
#[derive(Debug, Clone)]
pub(crate) struct Console {
    bar: Option<ProgressBar>,
    /// Whether the bar is on the terminal.
    is_bar_shown: Arc<AtomicBool>,
    is_json: bool,
    is_quiet: bool,
    /// Whether lines are waited for until they are printed.
    waits: bool,
    /// Whether an event could not be printed.
    is_closed: Arc<AtomicBool>,
}

impl Console {
    /// A console with a bar if the standard error is a terminal and neither JSON nor silence is wanted.
    pub(crate) fn new(is_json: bool, is_quiet: bool) -> Self {
        let has_bar = !is_json && !is_quiet && stderr().is_terminal();
        Self {
            bar: has_bar.then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())),
            is_bar_shown: Arc::default(),
            is_json,
            is_quiet,
            waits: true,
            is_closed: Arc::default(),
        }
    }

    /// The same for a worker: without a bar, because its end is not known, and without waiting for lines, because its heartbeats would keep
    /// a shard meanwhile that others could deliver.
    pub(crate) fn of_worker(self) -> Self {
        Self {
            bar: None,
            waits: false,
            ..self
        }
    }

    pub(crate) fn bar(&self) -> Option<&ProgressBar> {
        self.bar.as_ref()
    }

    pub(crate) fn is_json(&self) -> bool {
        self.is_json
    }

    /// Whether printing waits for the reader.
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Characters that fit next to the bar, if there is one.
    pub(crate) fn width(&self, total: Option<u64>) -> usize {
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
        self.is_bar_shown.store(true, Relaxed);
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
        if let Some(bar) = &self.bar
            && self.is_bar_shown.swap(false, Relaxed)
        {
            bar.finish_and_clear();
        }
    }

    /// Prints one line, unless the program is quiet.
    pub(crate) fn info(&self, words: &str) {
        if !self.is_quiet {
            self.warn(words);
        }
    }

    /// Prints one line, even if the program is quiet. Blocks while the standard error is not read, except in a worker.
    pub(crate) fn warn(&self, words: &str) {
        if !self.waits {
            return self.warn_soon(words);
        }
        let _printing = WAITING.print(Self::print);
        self.print(words);
    }

    /// Prints one line soon, unless the program is quiet.
    pub(crate) fn info_soon(&self, words: &str) {
        if !self.is_quiet {
            self.warn_soon(words);
        }
    }

    /// Prints one line soon, even if the program is quiet: for tasks of which others wait, which a standard error that is not read must
    /// not hold up.
    pub(crate) fn warn_soon(&self, words: &str) {
        #[cfg(test)]
        if crate::fleet::says(words) {
            return;
        }
        if WAITING.add(self, words) && thread::Builder::new().spawn(print_waiting).is_err() {
            // No thread can be made at the moment.
            print_waiting();
        }
    }

    fn print(&self, words: &str) {
        match &self.bar {
            // A bar that is not shown yet would be drawn behind the line.
            Some(bar) if self.is_bar_shown.load(Relaxed) => bar.suspend(|| print(words)),
            _ => print(words),
        }
    }

    /// Shows the progress: next to the bar, as a line, or as an event.
    pub(crate) fn show(&self, words: String, event: &Value) -> Result<(), Failure> {
        match &self.bar {
            Some(bar) => bar.set_message(words),
            None if !self.is_json => self.info(&words),
            None => {}
        }
        self.report(event)
    }

    /// Prints an event as JSON, with `--json`. Blocks while the standard output is not read.
    pub(crate) fn emit(&self, event: &Value) -> io::Result<()> {
        self.emit_while(|| true, event)
    }

    /// Prints an event as JSON, with `--json`, if this holds when no other event is being printed.
    pub(crate) fn emit_while(&self, holds: impl FnOnce() -> bool, event: &Value) -> io::Result<()> {
        if !self.is_json {
            return Ok(());
        }
        let mut output = standard_output();
        if !holds() {
            return Ok(());
        }
        let printed = writeln!(output, "{event}").and_then(|()| output.flush());
        printed.inspect_err(|_| self.is_closed.store(true, Relaxed))
    }

    /// Whether the standard output can no longer be written, with `--json`.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Relaxed)
    }

    /// Prints the event that a command is run for. A program that reads it must know if it is missing.
    pub(crate) fn report(&self, event: &Value) -> Result<(), Failure> {
        let printed = self.emit(event);
        printed.map_err(|error| Failure::Failed(format!("the report cannot be written: {error}")))
    }
}

/// Prints the lines that wait.
pub(crate) fn print_waiting() {
    drop(WAITING.print(Console::print));
}

/// Prints one line. Everything that the program says on the standard error goes through here, so that no name and no answer of a
/// service is obeyed by the terminal.
pub(crate) fn print(words: &str) {
    #[cfg(test)]
    if crate::fleet::says(words) {
        return;
    }
    // A standard error that is closed or full cannot be reported anywhere.
    let _ = writeln!(stderr(), "{}", escaped(words));
}

/// The standard output, for what programs read.
pub(crate) fn standard_output() -> Box<dyn Write> {
    #[cfg(test)]
    if let Some(output) = crate::fleet::standard_output() {
        return output;
    }
    Box::new(stdout().lock())
}

/// Characters of the bar on a terminal with this many columns.
fn length(columns: usize) -> usize {
    if columns < WIDE { SHORT_BAR } else { BAR }
}

/// The text without characters that a terminal obeys or that reorder or hide others: each is printed as Rust writes it, such as
/// `\n` or `\u{1b}`. A name can then neither colour the output nor add lines to it.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unsafe(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Control characters (C0, DEL and C1), line and paragraph separators, marks of direction, and characters without a width.
/// Joiners are left, because some scripts and emoji need them.
fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{200e}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_a_terminal_obeys_or_does_not_show_is_escaped() {
        let table = [
            (
                "films of 2013/Amélie — 東京 👩‍🚀.jsonl",
                "films of 2013/Amélie — 東京 👩‍🚀.jsonl",
            ),
            (r"C:\films", r"C:\films"),
            ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
            ("a\nerror: b\r\t", "a\\nerror: b\\r\\t"),
            ("gpj.\u{202e}exe\u{9b}\u{7f}", "gpj.\\u{202e}exe\\u{9b}\\u{7f}"),
        ];
        for (text, expected) in table {
            assert_eq!(escaped(text), expected);
        }
    }

    proptest! {
        #[test]
        fn no_character_is_lost(text in any::<String>()) {
            let expected: String = text
                .chars()
                .flat_map(|character| if is_unsafe(character) { character.escape_default().collect() } else { vec![character] })
                .collect();
            let printed = escaped(&text);
            prop_assert!(!printed.chars().any(char::is_control));
            prop_assert_eq!(printed, expected);
        }
    }
}
