//! The report of a load.

use std::io::{self, Write, stdout};

use crate::Failure;
use crate::load::{Loaded, Plan};

/// How many reasons a failure names; the others are counted.
const REASONS: usize = 3;

pub(crate) fn title(what: &str, plan: &Plan) -> io::Result<()> {
    let workers = match (plan.busy(), plan.workers) {
        (1, 1) => "1 worker".to_owned(),
        (busy, all) if busy == all => format!("{all} workers"),
        (busy, all) => format!("{busy} of {all} workers, as a call carries {}", plan.chunk),
    };
    writeln!(stdout(), "{} {what}, by {workers}", plan.total)
}

/// The figures, and `least`, the minimal time.
#[expect(clippy::cast_precision_loss, reason = "figures for the eye")]
pub(crate) fn figures(loaded: &Loaded, plan: &Plan, least: Option<String>) -> io::Result<()> {
    let (figures, seconds) = (&loaded.figures, loaded.took.as_secs_f64());
    let least = least.map(|least| format!(", {least}")).unwrap_or_default();
    let lines = [
        (
            "delivered",
            format!(
                "{} of {}, undelivered {}",
                figures.delivered, plan.total, figures.undelivered
            ),
        ),
        (
            "calls",
            format!("{}, at least {} are needed", figures.calls, plan.fewest_calls()),
        ),
        (
            "sent again",
            format!("{} entries, {} throttled", figures.resubmitted, figures.throttled),
        ),
        ("rate", format!("{:.0} entries/s", figures.delivered as f64 / seconds)),
        ("took", format!("{seconds:.2} s{least}")),
    ];
    lines.iter().try_for_each(|(name, value)| line(name, value))
}

pub(crate) fn line(name: &str, value: &str) -> io::Result<()> {
    writeln!(stdout(), "  {name:<16} {value}")
}

pub(crate) fn blank() -> io::Result<()> {
    writeln!(stdout())
}

/// One failure for all undelivered entries, if there are any: each reason with its first entry.
pub(crate) fn failure(
    loaded: &Loaded,
    plan: &Plan,
    what: &str,
    place: impl Fn(usize) -> String,
) -> Result<(), Failure> {
    let mut reasons: Vec<(&str, usize, usize)> = Vec::new();
    for (number, reason) in &loaded.undelivered {
        match reasons.iter_mut().find(|(known, ..)| known == reason) {
            Some((_, _, count)) => *count += 1,
            None => reasons.push((reason, *number, 1)),
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    let told = reasons.iter().take(REASONS).map(|(reason, first, count)| match count {
        1 => format!("\n  {}: {reason}", place(*first)),
        _ => format!("\n  {} and {} more: {reason}", place(*first), count - 1),
    });
    let told: String = told.collect();
    let others = match reasons.len().saturating_sub(REASONS) {
        0 => String::new(),
        others => format!("\n  and {others} other reasons"),
    };
    let undelivered = loaded.undelivered.len();
    Err(format!(
        "{undelivered} of {} {what} were not delivered:{told}{others}",
        plan.total
    )
    .into())
}
