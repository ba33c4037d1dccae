//! Words for the person who has started the run.

/// Writes a line to the standard error. Where that is closed, as when a terminal hangs up, the run and its deletions go on: `eprintln!` would
/// panic.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use tell;
