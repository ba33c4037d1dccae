//! The answer of a worker for a shard.

use std::fmt::Display;
use std::io::{self, ErrorKind};

use serde_json::{Value, json};

use super::plan::PlannedShard;
use crate::console::counted;
use crate::outcome::Failure;
use crate::progress::Summary;
use crate::stop::Stop;

/// The result of a shard.
#[derive(Debug)]
pub(crate) enum ShardResult {
    /// Every entry was delivered or is among the dead letters.
    Delivered(Value),
    Failed {
        /// The error name, by which a state machine decides what to do.
        error: &'static str,
        cause: String,
        /// Whether this worker would fail other shards as well.
        is_of_worker: bool,
    },
}

/// The services give or accept nothing: no table, no permission, no credentials, no connection, no space.
pub(super) const STOPPED: &str = "Stopped";

/// Dead letters cannot be written.
pub(super) const DEAD_LETTERS: &str = "DeadLetters";

/// The worker had to stop, has lost the shard, or has reached its deadline.
pub(super) const INTERRUPTED: &str = "Interrupted";

/// What was handed out is not a shard that could be delivered.
const NO_SHARD: &str = "NoShard";

/// The input or the table of a shard cannot be read, or has a bad line.
pub(super) const UNREADABLE: &str = "Unreadable";

/// Entries were not delivered, and are not among dead letters.
const UNDELIVERED: &str = "Undelivered";

/// The checkpoint of a shard cannot be read or written.
pub(super) const CHECKPOINT: &str = "Checkpoint";

impl ShardResult {
    /// What this comes to, unless the worker is to stop before: what a shard needs may have no answer for minutes.
    pub(super) fn unless_stopped<T>(
        stop: &Stop,
        opening: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Self>> {
        let opening = Box::pin(opening);
        async {
            tokio::select! {
                biased;
                opened = opening => Ok(opened),
                () = stop.token.cancelled() => {
                    Err(Self::failed(INTERRUPTED, "the worker had to stop before it could begin".to_owned()))
                }
            }
        }
    }

    pub(super) fn failed(error: &'static str, cause: String) -> Self {
        let is_of_worker = [STOPPED, DEAD_LETTERS, CHECKPOINT].contains(&error);
        Self::Failed {
            error,
            cause,
            is_of_worker,
        }
    }

    /// The checkpoint, the dead letters or a part of the shard cannot be opened or written.
    pub(super) fn unopened(error: &'static str, failure: &Failure) -> Self {
        Self::Failed {
            error,
            cause: failure.to_string(),
            // The worker that had the shard before may not know yet that it has lost it, and is at work.
            is_of_worker: !matches!(failure, Failure::InUse(_)),
        }
    }

    /// What was handed out is not a shard.
    pub(super) fn no_shard(words: impl Display) -> Self {
        let words = format!("{words}: a shard needs input, begin and end, as written by `batch-deliver plan`");
        Self::failed(NO_SHARD, words)
    }

    /// A shard of an unknown run, and so with the checkpoints of other runs.
    pub(super) fn without_execution() -> Self {
        let words = "with --checkpoints a shard needs execution, the name of the run that hands it out: without it, another run of the same plan would continue where this one has ended";
        Self::failed(NO_SHARD, words.to_owned())
    }

    /// What is to be read cannot be opened.
    pub(super) fn unread(failure: &Failure) -> Self {
        // What is named wrongly stays so. Anything else may pass, or be a fault of this machine.
        let error = match failure {
            Failure::WrongUse(_) => UNREADABLE,
            Failure::Unequipped(_) | Failure::InUse(_) | Failure::Failed(_) => STOPPED,
        };
        Self::failed(error, failure.to_string())
    }

    /// The checkpoint cannot be written.
    pub(super) fn of_checkpoint(error: &io::Error) -> Self {
        // A worker that has taken over the checkpoint has the shard, too.
        let is_lost = error.kind() == ErrorKind::ResourceBusy;
        Self::failed(if is_lost { INTERRUPTED } else { CHECKPOINT }, error.to_string())
    }

    /// The answer after a delivery of the shard, of which `settled` lines were settled before: it counts what earlier attempts have not
    /// delivered as well.
    pub(super) fn of(shard: &PlannedShard, settled: u64, summary: &Summary) -> Self {
        let report = &summary.report;
        let (entries, bad_lines) = summary.written();
        let (dead_letters, error) = (entries.letters, entries.error.or(bad_lines.error));
        // The last ones may fail to be stored when everything else is delivered.
        if let Some(error) = error {
            return Self::failed(DEAD_LETTERS, error);
        }
        let unkept = summary.bad_lines.count().saturating_sub(bad_lines.letters);
        if report.finished && summary.ended.is_none() && unkept > 0 {
            let words = counted(unkept, "bad line");
            return Self::failed(
                UNREADABLE,
                format!("{words} cannot be kept among the dead letters, being too long"),
            );
        }
        let earlier = &summary.settling.earlier;
        let (letters_before, bad_lines_before) = (earlier.given_up.count(), earlier.bad_lines.count());
        let undelivered = report.undelivered + summary.duplicates.different;
        if report.finished && summary.ended.is_none() && undelivered == dead_letters {
            return Self::Delivered(json!({
                "input": shard.input,
                "begin": shard.part.begin,
                "end": shard.part.end,
                "delivered": report.delivered.saturating_sub(summary.duplicates.different),
                "condition_failed": report.condition_failed,
                "settled_before": settled,
                "doubtful": summary.doubtful,
                "dropped": summary.duplicates.equal,
                "dead_letters": dead_letters + letters_before,
                "bad_lines": summary.bad_lines.count() + bad_lines_before,
                "calls": report.calls,
                "resubmitted": report.resubmitted,
                "seconds": report.elapsed.as_secs_f64(),
            }));
        }
        if let Some(error) = &summary.journal_error {
            return Self::of_checkpoint(error);
        }
        if let Some(stopped) = &summary.stopped {
            return Self::failed(STOPPED, stopped.clone());
        }
        if summary.settling.stop.token.is_cancelled() {
            let words = format!("the worker had to stop: {} were delivered", report.delivered);
            return Self::failed(INTERRUPTED, words);
        }
        match &summary.ended {
            Some(ended) if ended.is_unreachable() => Self::failed(STOPPED, ended.to_string()),
            Some(ended) => Self::failed(UNREADABLE, ended.to_string()),
            // Entries that are not dead letters are left to the next attempt. Without a checkpoint it would start over, and come no further.
            None if summary.settling.journal.is_some() => {
                let words = format!("the deadline was reached: {} were delivered", report.delivered);
                Self::failed(INTERRUPTED, words)
            }
            None => Self::failed(UNDELIVERED, summary.undelivered().join("; ")),
        }
    }

    /// The cause, if this worker would fail other shards as well.
    pub(super) fn fault_of_worker(&self) -> Option<&str> {
        match self {
            Self::Failed {
                cause,
                is_of_worker: true,
                ..
            } => Some(cause),
            _ => None,
        }
    }
}
