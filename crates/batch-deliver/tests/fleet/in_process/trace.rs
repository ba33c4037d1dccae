//! What happens in a fleet, line by line: all that its services are asked and answer, and all that its programs say.

use std::cell::RefCell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;

use super::clock::Clock;

thread_local! {
    /// Of the fleet of this thread.
    static TRACE: RefCell<Option<Trace>> = const { RefCell::new(None) };
}

struct Trace {
    clock: Clock,
    lines: Vec<String>,
    has_panicked: bool,
}

/// Begins the trace of the fleet of this thread.
pub(super) fn begin() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let other = panic::take_hook();
        panic::set_hook(Box::new(move |panicked| {
            note_panic(panicked);
            other(panicked);
        }));
    });
    let trace = Trace {
        clock: Clock::start(),
        lines: Vec::new(),
        has_panicked: false,
    };
    TRACE.set(Some(trace));
}

/// The lines so far, behind which nothing is noted.
pub(super) fn end() -> Vec<String> {
    TRACE.take().map(|trace| trace.lines).unwrap_or_default()
}

/// Notes what happens now. `false` if this thread has no fleet.
pub(super) fn note(line: impl FnOnce() -> String) -> bool {
    TRACE.with_borrow_mut(|trace| {
        let Some(trace) = trace else { return false };
        let line = format!("{:>9} {}", trace.clock.now().as_millis(), line());
        trace.lines.push(line);
        true
    })
}

/// Before what a task says, of whichever program.
pub(super) const SAID: &str = "a task says ";

/// What tasks have said.
pub(super) fn said() -> String {
    TRACE.with_borrow(|trace| {
        let lines = trace.iter().flat_map(|trace| &trace.lines);
        let said = lines.filter_map(|line| line.split_once(SAID));
        said.flat_map(|(_, words)| [words, "\n"]).collect()
    })
}

pub(super) fn has_panicked() -> bool {
    TRACE.with_borrow(|trace| trace.as_ref().is_some_and(|trace| trace.has_panicked))
}

fn note_panic(panicked: &PanicHookInfo<'_>) {
    // The panic may be one of a line that is being noted.
    TRACE.with(|trace| {
        if let Ok(mut trace) = trace.try_borrow_mut()
            && let Some(trace) = &mut *trace
        {
            trace.lines.push(panicked.to_string());
            trace.has_panicked = true;
        }
    });
}
