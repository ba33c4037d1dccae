//! The result of a delivery.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::console::{Console, NOT_THERE, counted, grouped, rate, time};
use crate::keeping::{
    BadLines, CauseTally, DeadLetter, Failures, InputEnd, LettersWritten, Location, Reason, Settlement,
};
use crate::outcome::{CommandOutcome, Failure};
use crate::sink::{DuplicateFigures, Report, SimulatedService, VectorFigures};
use crate::source::{LineBreaks, STANDARD_INPUT};

/// The most ranges of undelivered lines that are printed.
const RUNS_SHOWN: usize = 20;

/// The most inputs whose last line is printed.
const PLACES_SHOWN: usize = 10;

pub(crate) struct Summary {
    pub(crate) destination: String,
    pub(crate) report: Report,
    pub(crate) ended: Option<InputEnd>,
    pub(crate) stopped: Option<String>,
    pub(crate) journal_error: Option<io::Error>,
    pub(crate) settling: Arc<Settlement>,
    pub(crate) bad_lines: BadLines,
    pub(crate) resumes: Option<Location>,
    /// How many lines or items earlier runs have settled.
    pub(crate) settled_before: u64,
    /// How many entries or items the last run may have delivered that this one was given again.
    pub(crate) doubtful: u64,
    /// Entries that the service has accepted and dropped.
    pub(crate) duplicates: DuplicateFigures,
    pub(crate) simulated: Option<Arc<SimulatedService>>,
    /// What the vector indexes of a table made of the items, if it has any.
    pub(crate) vectors: Option<VectorFigures>,
    /// Whether an encoding was given for the inputs, which is not that of what is kept of them.
    pub(crate) is_decoded: bool,
    /// The values of rows that have line breaks, if there are any.
    pub(crate) line_breaks: Option<LineBreaks>,
}

impl Summary {
    /// Prints the summary.
    pub(crate) async fn print(&self, console: &Console) -> Result<CommandOutcome, Failure> {
        console.info(&self.figures());
        if let Some(line_breaks) = &self.line_breaks {
            console.info(&line_breaks.to_string());
        }
        self.more_bad_lines().iter().for_each(|words| console.warn(words));
        for words in self.throttled() {
            console.info(&words);
        }
        if let Some(simulated) = &self.simulated {
            console.info(&simulated.compare(self.report.delivered));
        }
        if let Some(words) = self.vectors.as_ref().and_then(unindexed) {
            console.warn(&words);
        }
        if let Some(words) = self.dropped() {
            console.warn(&words);
        }
        let undelivered = self.undelivered();
        for words in &undelivered {
            console.warn(words);
        }
        for words in self.earlier().into_iter().chain(self.gone(&undelivered)) {
            console.warn(&words);
        }
        if let Some(stopped) = &self.stopped {
            console.warn(&format!("the delivery stopped: {stopped}"));
        }
        if let Some(ended) = &self.ended {
            console.warn(&ended.to_string());
        }
        for words in self.dead_letters().into_iter().chain(self.failed_conditions()) {
            console.warn(&words);
        }
        let outcome = self.outcome();
        if outcome != CommandOutcome::Delivered {
            self.how_to_continue().iter().for_each(|words| console.warn(words));
        }
        console.report(&self.event())?;
        self.reported(outcome).await?;
        Ok(outcome)
    }

    /// Notes in the journal that all failures are reported, if the whole is done. Otherwise the run that does the rest reports them once more.
    async fn reported(&self, outcome: CommandOutcome) -> Result<(), Failure> {
        let Some(journal) = &self.settling.journal else {
            return Ok(());
        };
        if outcome == CommandOutcome::Interrupted || self.is_unfinished() {
            return Ok(());
        }
        let reported = journal.reported().await;
        reported.map_err(|error| Failure::Failed(format!("the journal cannot record that this was reported: {error}")))
    }

    fn outcome(&self) -> CommandOutcome {
        let is_whole = self.report.finished
            && self.report.undelivered == 0
            && self.duplicates.different == 0
            && self.bad_lines.count() == 0
            && self.settling.earlier.is_empty();
        let (entries, bad_lines) = self.written();
        let is_kept = self.journal_error.is_none()
            && entries.error.is_none()
            && bad_lines.error.is_none()
            && self.failed_conditions().is_none();
        match (is_whole, is_kept, self.settling.stop.was_interrupted()) {
            (true, true, _) => CommandOutcome::Delivered,
            (false, true, true) => CommandOutcome::Interrupted,
            _ => CommandOutcome::Undelivered,
        }
    }

    /// How many bad lines were not printed, by their inputs.
    pub(crate) fn more_bad_lines(&self) -> Vec<String> {
        self.bad_lines.others()
    }

    /// Whether there were no entries.
    pub(crate) fn is_empty(&self) -> bool {
        let report = &self.report;
        report.delivered + report.undelivered + report.superseded + report.condition_failed + self.bad_lines.count()
            == 0
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
    pub(crate) fn figures(&self) -> String {
        let report = &self.report;
        let pace = report.delivered as f64 / report.elapsed.as_secs_f64().max(1e-3);
        let first = format!(
            "{} delivered to {} in {} ({}/s)",
            grouped(report.delivered),
            self.destination,
            time(report.elapsed),
            rate(pace),
        );
        let counts = [
            (
                report.undelivered,
                format!("{} undelivered", grouped(report.undelivered)),
            ),
            (report.superseded, format!("{} superseded", grouped(report.superseded))),
            (
                report.condition_failed,
                format!("{} with a failed condition", grouped(report.condition_failed)),
            ),
            (report.calls, counted(report.calls, "call")),
            (
                report.resubmitted,
                format!("{} sent again", grouped(report.resubmitted)),
            ),
            (self.bad_lines.count(), counted(self.bad_lines.count(), "bad line")),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(_, words)| format!(", {words}"));
        std::iter::once(first).chain(counts).collect()
    }

    /// The limits that were exceeded.
    pub(crate) fn throttled(&self) -> impl Iterator<Item = String> {
        self.report.throttled_by.iter().map(|throttled| {
            let calls = counted(throttled.calls, "call");
            format!("throttled by {}: {calls}", throttled.reason)
        })
    }

    /// That the service has dropped entries which it has accepted, if it has.
    pub(crate) fn dropped(&self) -> Option<String> {
        let DuplicateFigures { equal, different } = self.duplicates;
        let all = counted(equal + different, "line");
        let words = format!(
            "accepted and dropped by {}: {all} with the deduplication id of another message of the last five minutes",
            self.destination
        );
        match (equal, different) {
            (0, 0) => None,
            (_, 0) => Some(format!("{words}, and with its content")),
            _ => Some(format!(
                "{words}, {} of them with another content, which is not delivered",
                grouped(different)
            )),
        }
    }

    /// The causes of undelivered entries, each with its first entry.
    pub(crate) fn undelivered(&self) -> Vec<String> {
        self.causes(&self.handed_back())
    }

    /// What earlier runs have not delivered: this run does not send it either.
    fn earlier(&self) -> Vec<String> {
        let Failures { given_up, bad_lines } = &self.settling.earlier;
        let mut words = Vec::new();
        if given_up.count() > 0 {
            let entries = match given_up.count() {
                1 => "1 entry".to_owned(),
                count => format!("{} entries", grouped(count)),
            };
            words.push(format!("earlier runs gave up {entries}, which no run sends again:"));
            words.extend(self.causes(given_up));
            words.extend(
                given_up
                    .lines(&self.settling.names, RUNS_SHOWN)
                    .map(|lines| format!("not delivered by earlier runs, and only in the input: {lines}")),
            );
        }
        if bad_lines.count() > 0 {
            let lines = counted(bad_lines.count(), "bad line");
            words.push(format!("earlier runs skipped {lines}, kept with the dead letters:"));
            words.extend(self.causes(bad_lines));
        }
        words
    }

    /// Each cause with its first entry.
    fn causes(&self, handed_back: &CauseTally) -> Vec<String> {
        let (reasons, others) = handed_back.reasons();
        let shown = reasons.iter().map(|Reason { words, first, entries }| {
            let others = match entries {
                1 => String::new(),
                _ => format!(" and {} more", grouped(entries - 1)),
            };
            format!("{}:{}{others}: {words}", self.settling.names[first.input], first.line)
        });
        let mut lines: Vec<String> = shown.collect();
        if others > 0 {
            lines.push(format!("{} more for other causes", grouped(others)));
        }
        lines
    }

    /// That the destination is gone, if it was there.
    fn gone(&self, undelivered: &[String]) -> Option<String> {
        let mut causes = undelivered.iter().chain(&self.stopped);
        let is_gone = causes.any(|words| NOT_THERE.iter().any(|code| words.contains(code)));
        (is_gone && self.report.delivered > 0).then(|| {
            let name = &self.destination;
            format!("{name} was there when this run began, and has been deleted since")
        })
    }

    fn dead_letters(&self) -> Vec<String> {
        let (entries, bad_lines) = self.written();
        let mut words = Vec::new();
        let LettersWritten {
            letters, place, causes, ..
        } = &entries;
        if *letters > 0 {
            let letters = counted(*letters, "dead letter");
            let load = if self.is_decoded {
                ": they are UTF-8, so load them without --encoding"
            } else {
                ""
            };
            words.push(format!("{letters} in {place}, with causes in {causes}{load}"));
        }
        words.extend(self.bad_lines(&bad_lines));
        let failed = [entries, bad_lines].into_iter();
        words.extend(failed.filter_map(|LettersWritten { place, error, .. }| {
            let error = error?;
            Some(format!(
                "{place} can no longer be written, so the delivery was stopped: {error}"
            ))
        }));
        words
    }

    /// Why records whose condition did not hold are missing in their file, if any are.
    fn failed_conditions(&self) -> Option<String> {
        self.settling.failed.as_ref()?.error()
    }

    /// Where the bad lines are kept, and how they are loaded.
    fn bad_lines(&self, written: &LettersWritten) -> Vec<String> {
        let LettersWritten {
            letters,
            place,
            causes,
            error,
        } = written;
        let mut words = Vec::new();
        if *letters > 0 {
            let lines = counted(*letters, "bad line");
            words.push(format!(
                "{lines} in {place}, with reasons in {causes}: correct them there, and load them with the same options, but {}",
                self.other_options()
            ));
        }
        let others = self.bad_lines.count().saturating_sub(*letters);
        if others > 0 && error.is_none() && self.settling.dead_letter.is_some() {
            let lines = counted(others, "bad line");
            words.push(format!("{lines} too long to be kept, with reasons in {causes}"));
        }
        words
    }

    /// The options of a load of bad lines that differ from those of this one.
    fn other_options(&self) -> &'static str {
        match (self.resumes.is_some(), self.is_decoded) {
            (false, false) => "another --dead-letter",
            (false, true) => "another --dead-letter and no --encoding",
            (true, false) => "another --dead-letter and another --resume",
            (true, true) => "another --dead-letter, another --resume and no --encoding",
        }
    }

    /// What was written of entries and of bad lines.
    pub(crate) fn written(&self) -> (LettersWritten, LettersWritten) {
        self.settling
            .dead_letter
            .as_ref()
            .map(DeadLetter::close)
            .unwrap_or_default()
    }

    /// What is left undone, and how to continue.
    fn how_to_continue(&self) -> Vec<String> {
        let mut words = Vec::new();
        if let Some(journal) = self.resumes.as_ref().filter(|_| self.is_unfinished()) {
            match &self.journal_error {
                None => {
                    let is_bad_line = matches!(self.ended, Some(InputEnd::BadLine(_)));
                    let corrected = if is_bad_line && self.settling.dead_letter.is_none() {
                        ", with that line corrected or skipped"
                    } else {
                        ""
                    };
                    words.push(format!("to continue, run the same command again{corrected}"));
                }
                Some(error) => words.push(format!(
                    "{journal} can no longer be written, so the delivery was stopped: {error}. To continue, fix that and \
                     run the same command again: entries that it does not have may be sent twice"
                )),
            }
        }
        // If the dead letters could not be written, this is the only place where the lines are named.
        let most = if self.settling.dead_letter.is_some() {
            usize::MAX
        } else {
            RUNS_SHOWN
        };
        if let Some(lines) = self.handed_back().lines(&self.settling.names, most) {
            words.push(format!("not delivered, and only in the input: {lines}"));
        }
        if !self.report.finished && self.resumes.is_none() {
            words.push(self.last_read_lines());
        }
        words
    }

    /// Whether another run would find something to do.
    fn is_unfinished(&self) -> bool {
        !self.report.finished || self.journal_error.is_some() || self.settling.left.load(Relaxed) > 0
    }

    fn last_read_lines(&self) -> String {
        let names = &self.settling.names;
        let mut places = self.settling.window.last_places();
        let shown = places.by_ref().take(PLACES_SHOWN);
        let shown: Vec<_> = shown
            .map(|(input, line)| format!("{} to line {line}", names[input]))
            .collect();
        let others = match places.count() {
            0 => String::new(),
            others => format!(" and {others} more inputs"),
        };
        let advice = if names.iter().any(|name| name == STANDARD_INPUT) {
            ""
        } else {
            "; with --resume STATE a load continues where it stopped"
        };
        match shown.len() {
            0 => "nothing was read".to_owned(),
            _ => format!("read: {}{others}{advice}", shown.join(", ")),
        }
    }

    fn handed_back(&self) -> MutexGuard<'_, CauseTally> {
        self.settling.handed_back.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self) -> Value {
        let causes = |handed_back: &CauseTally| -> Vec<Value> {
            let cause = |Reason { words, first, entries }: &Reason| {
                let file = &self.settling.names[first.input];
                json!({"cause": words, "entries": entries, "file": file, "line": first.line})
            };
            handed_back.reasons().0.iter().map(cause).collect()
        };
        let handed_back = self.handed_back();
        let earlier = &self.settling.earlier;
        let mut report = json!(self.report);
        // To the library an input is finished when it is read.
        report["finished"] = json!(self.report.finished && self.settling.cut_short.load(Relaxed) == 0);
        json!({
            "event": "report",
            "report": report,
            "bad_lines": self.bad_lines.count(),
            "dropped": {"equal": self.duplicates.equal, "different": self.duplicates.different},
            "values_with_line_breaks": self.line_breaks.as_ref().map_or(0, |line_breaks| line_breaks.values),
            "interrupted": self.settling.stop.was_interrupted(),
            "stopped": self.stopped,
            "input_error": self.ended.as_ref().map(ToString::to_string),
            "vectors": self.vectors.map(vectors_json),
            "causes": causes(&handed_back),
            "other_causes": handed_back.reasons().1,
            "earlier_runs": {
                "settled": self.settled_before,
                "doubtful": self.doubtful,
                "undelivered": earlier.given_up.count(),
                "causes": causes(&earlier.given_up),
                "bad_lines": earlier.bad_lines.count(),
                "bad_line_causes": causes(&earlier.bad_lines),
            },
        })
    }
}

/// How many items a vector index leaves out, if it leaves any out.
pub(crate) fn unindexed(figures: &VectorFigures) -> Option<String> {
    let items = counted(figures.unindexed, "item");
    (figures.unindexed > 0).then(|| {
        format!(
            "{items} with a vector, but without the partition key of a vector index: the table takes them, and the index leaves them \
             out; load --refuse-unindexed does not send them"
        )
    })
}

/// The same for programs.
pub(crate) fn vectors_json(figures: VectorFigures) -> Value {
    json!({"unindexed": figures.unindexed, "write_bytes": figures.write_bytes})
}
