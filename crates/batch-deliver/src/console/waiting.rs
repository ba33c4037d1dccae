//! Lines that wait to be printed, because the task that prints them must not wait for the reader of the standard error.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::figures::counted;

/// The most lines that wait. Of those after them only the number is printed, so that a reader that never reads takes no memory.
const MOST: usize = 1_000;

/// Lines that wait, each with the console that prints it.
#[derive(Debug)]
pub(super) struct WaitingLines<C> {
    queue: Mutex<LineQueue<C>>,
    /// Held while lines are printed, so that they stay in their order.
    printing: Mutex<()>,
}

#[derive(Debug)]
struct LineQueue<C> {
    lines: VecDeque<(C, String)>,
    left_out: u64,
    /// Whether a thread has been started to print them, and has not found that none waits.
    has_printer: bool,
}

impl<C: Clone> WaitingLines<C> {
    pub(super) const fn new() -> Self {
        Self {
            queue: Mutex::new(LineQueue {
                lines: VecDeque::new(),
                left_out: 0,
                has_printer: false,
            }),
            printing: Mutex::new(()),
        }
    }

    /// Adds a line of a console. Returns whether a thread must be started to print it.
    pub(super) fn add(&self, console: &C, words: &str) -> bool {
        let mut queue = self.queue();
        if queue.lines.len() < MOST {
            queue.lines.push_back((console.clone(), words.to_owned()));
        } else {
            queue.left_out += 1;
        }
        !std::mem::replace(&mut queue.has_printer, true)
    }

    /// Prints all that wait. Until what is returned is dropped, no other lines are printed.
    pub(super) fn print(&self, print: impl Fn(&C, &str)) -> MutexGuard<'_, ()> {
        let printing = self.printing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = None;
        while let Some((console, words)) = self.next(last.as_ref()) {
            print(&console, &words);
            last = Some(console);
        }
        printing
    }

    /// The next line, or how many lines after the last one were left out.
    fn next(&self, last: Option<&C>) -> Option<(C, String)> {
        let mut queue = self.queue();
        let next = queue.lines.pop_front().or_else(|| {
            let console = last.filter(|_| queue.left_out > 0)?;
            let left_out = counted(std::mem::take(&mut queue.left_out), "more line");
            Some((
                console.clone(),
                format!("{left_out} left out: the standard error was not read"),
            ))
        });
        queue.has_printer = next.is_some();
        next
    }

    fn queue(&self) -> MutexGuard<'_, LineQueue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn lines_wait_in_their_order_and_of_too_many_only_the_number_is_kept() {
        let waiting = WaitingLines::new();
        let needs_printer: Vec<bool> = (0..MOST + 7)
            .map(|number| waiting.add(&(), &number.to_string()))
            .collect();
        assert!(needs_printer[0] && !needs_printer[1..].contains(&true));
        let printed = RefCell::new(Vec::new());
        let print = |(): &(), words: &str| printed.borrow_mut().push(words.to_owned());
        drop(waiting.print(print));
        let expected = (0..MOST)
            .map(|number| number.to_string())
            .chain(["7 more lines left out: the standard error was not read".to_owned()]);
        assert_eq!(printed.take(), expected.collect::<Vec<_>>());
        // The printer has ended.
        assert!(waiting.add(&(), "later"));
        drop(waiting.print(print));
        assert_eq!(printed.take(), ["later"]);
    }
}
