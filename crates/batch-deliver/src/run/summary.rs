//! What a delivery came to.

use aws_batch_delivery::Report;
use serde_json::json;

use super::handed_back::{HandedBack, Reason};
use super::simulated::Simulated;
use crate::console::{Console, grouped, rate, time};
use crate::failure::Failure;
use crate::input::Place;
use crate::stream::{BadLines, Ended};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything was delivered.
    Delivered,
    /// Something was not delivered, or not read.
    Undelivered,
    /// It was interrupted, and has stopped cleanly.
    Interrupted,
}

pub(super) struct Summary {
    pub(super) destination: String,
    pub(super) report: Report,
    pub(super) ended: Option<Ended>,
    pub(super) stopped: Option<String>,
    pub(super) was_interrupted: bool,
    pub(super) handed_back: HandedBack,
    pub(super) bad_lines: BadLines,
    pub(super) simulated: Option<Simulated>,
}

impl Summary {
    /// Tells all of it.
    pub(super) fn tell(&self, console: &Console) -> Result<Outcome, Failure> {
        console.tell(&self.figures());
        if let Some(simulated) = &self.simulated {
            console.tell(&simulated.compare(self.report.delivered));
        }
        if let Some(words) = self.undelivered() {
            console.warn(&words);
        }
        if let Some(stopped) = &self.stopped {
            console.warn(&format!("the delivery stopped: {stopped}"));
        }
        if let Some(ended) = &self.ended {
            console.warn(&ended.to_string());
        }
        if self.was_interrupted {
            console.tell("interrupted");
        }
        console
            .emit(&self.event())
            .map_err(|error| Failure::Failed(format!("the report cannot be written: {error}")))?;
        Ok(self.outcome())
    }

    fn outcome(&self) -> Outcome {
        let is_whole = self.report.finished && self.report.undelivered == 0 && self.bad_lines.count() == 0;
        match (is_whole, self.was_interrupted) {
            (true, _) => Outcome::Delivered,
            (false, true) => Outcome::Interrupted,
            (false, false) => Outcome::Undelivered,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate is for the eye")]
    fn figures(&self) -> String {
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
            (report.undelivered, "undelivered"),
            (report.superseded, "superseded"),
            (report.calls, "calls"),
            (report.resubmitted, "sent again"),
            (self.bad_lines.count(), "bad lines"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts = counts.map(|(count, what)| format!(", {} {what}", grouped(*count)));
        let throttled = report
            .throttled_by
            .iter()
            .map(|throttled| format!("\nthrottled {} times by {}", grouped(throttled.calls), throttled.reason));
        std::iter::once(first).chain(counts).chain(throttled).collect()
    }

    /// Why entries were not delivered, each cause with its first entry.
    fn undelivered(&self) -> Option<String> {
        let (reasons, others) = self.handed_back.reasons();
        let told = reasons.iter().map(|Reason { words, first, entries }| {
            let more = match entries {
                1 => String::new(),
                _ => format!(" and {} more", grouped(entries - 1)),
            };
            format!("{}{more}: {words}", self.name(*first))
        });
        let mut lines: Vec<String> = told.collect();
        if others > 0 {
            lines.push(format!("{} more for other causes", grouped(others)));
        }
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn name(&self, place: Place) -> String {
        format!("{}:{}", self.bad_lines.names()[place.input], place.line)
    }

    fn event(&self) -> serde_json::Value {
        let (reasons, others) = self.handed_back.reasons();
        let causes: Vec<_> = reasons
            .iter()
            .map(|Reason { words, first, entries }| {
                let file = &self.bad_lines.names()[first.input];
                json!({"cause": words, "entries": entries, "file": file, "line": first.line})
            })
            .collect();
        json!({
            "event": "report",
            "report": self.report,
            "bad_lines": self.bad_lines.count(),
            "interrupted": self.was_interrupted,
            "stopped": self.stopped,
            "input_error": self.ended.as_ref().map(ToString::to_string),
            "causes": causes,
            "other_causes": others,
        })
    }
}
