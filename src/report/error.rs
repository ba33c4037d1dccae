//! The error of a delivery, with the entries that it hands back.

use std::error::Error;
use std::fmt;

use super::{Cause, Report, Undelivered};
use crate::debug::debug_fields;
use crate::fault::Fault;

/// How many causes an error message names; the others are counted.
const CAUSES_SHOWN: usize = 3;

/// Some entries could not be delivered, or the stream of entries failed or was not read to its end.
///
/// It carries every entry that was not delivered, so that `?` loses none. All ways to deliver return the same error: code
/// that stores its entries works for a batch, a stream and a producer.
///
/// ```
/// # use aws_batch_delivery::DeliveryError;
/// /// Keeps what the service will never take, and returns what may be delivered another time.
/// fn sort<E>(error: &mut DeliveryError<E>, dead_letters: &mut Vec<E>) -> Vec<E> {
///     let (dead, alive): (Vec<_>, Vec<_>) =
///         error.take_undelivered().into_iter().partition(|undelivered| undelivered.cause.is_permanent());
///     dead_letters.extend(dead.into_iter().map(|undelivered| *undelivered.entry));
///     alive.into_iter().map(|undelivered| *undelivered.entry).collect()
/// }
/// ```
///
/// Neither `Display` nor `Debug` shows an entry's content.
#[non_exhaustive]
pub struct DeliveryError<E> {
    /// The figures, including the number of delivered entries.
    pub report: Report,
    /// The error that the stream yielded, if the input ended with one. Entries before it were delivered or are among the
    /// undelivered.
    pub stream_error: Option<Box<dyn Error + Send + Sync>>,
    entries: Box<Entries<E>>,
}

/// A separate type, so that the error stays small.
struct Entries<E> {
    undelivered: Vec<Undelivered<E>>,
    /// The fault that stopped the delivery.
    stopped: Option<Fault>,
    /// Why the rest of the stream was not read.
    interruption: Option<Cause>,
    /// The causes of the entries that were taken out, by a handler or by the caller.
    taken: Causes,
}

/// Each cause that reads differently, with the number of its entries, in the order of their first entry.
#[derive(Debug, Clone, Default)]
pub(crate) struct Causes {
    shown: Vec<CountedCause>,
    others: u64,
}

/// A cause, its text, and the number of its entries.
#[derive(Debug, Clone)]
struct CountedCause {
    cause: Cause,
    words: String,
    entries: u64,
}

impl<E> DeliveryError<E> {
    pub(crate) fn new(report: Report, undelivered: Vec<Undelivered<E>>, taken: Causes, stopped: Option<Fault>) -> Self {
        Self {
            report,
            stream_error: None,
            entries: Box::new(Entries {
                undelivered,
                stopped,
                interruption: None,
                taken,
            }),
        }
    }

    /// The rest of the stream was not read, for this reason.
    pub(crate) fn interrupted_by(mut self, cause: Option<Cause>) -> Self {
        self.entries.interruption = cause;
        self
    }

    /// Why the stream was not read to its end, if the delivery ended before it: it was [cancelled](Cause::Cancelled), the
    /// [deadline](Cause::DeadlineReached) was reached, or it [stopped](Cause::Stopped). `None` for a batch, whose entries
    /// are all handed back, and for a stream that has ended or [failed](Self::stream_error).
    ///
    /// The unread entries are still in the stream, and [`Report::next_position`] says where to continue. If nothing was
    /// handed back, this is the only reason for the error:
    ///
    /// ```
    /// # use aws_batch_delivery::{Cause, DeliveryError};
    /// /// Whether the load was cancelled, and nothing is missing but what was not read.
    /// fn is_clean_stop<E>(error: &DeliveryError<E>) -> bool {
    ///     matches!(error.interruption(), Some(Cause::Cancelled(_))) && error.undelivered().is_empty()
    /// }
    /// ```
    pub fn interruption(&self) -> Option<&Cause> {
        self.entries.interruption.as_ref()
    }

    /// The fault that stopped the delivery before the end of the input, if one did: a reason that every later call shares,
    /// calls that could not be made for as long as an entry may be tried, or a panic of the input, the target or the
    /// backoff strategy.
    pub fn stopped(&self) -> Option<&Fault> {
        self.entries.stopped.as_ref()
    }

    /// Every entry that was not delivered, in the order of the input.
    pub fn undelivered(&self) -> &[Undelivered<E>] {
        &self.entries.undelivered
    }

    /// Takes the entries out, in the order of the input. The error keeps its figures and its causes.
    pub fn take_undelivered(&mut self) -> Vec<Undelivered<E>> {
        self.entries.taken = self.causes();
        std::mem::take(&mut self.entries.undelivered)
    }

    /// Converts the error into its entries, in the order of the input.
    pub fn into_undelivered(self) -> Vec<Undelivered<E>> {
        self.entries.undelivered
    }

    fn causes(&self) -> Causes {
        let mut causes = self.entries.taken.clone();
        for undelivered in &self.entries.undelivered {
            causes.add(&undelivered.cause);
        }
        causes
    }
}

impl Causes {
    /// Counts an entry with this cause.
    pub(crate) fn add(&mut self, cause: &Cause) {
        // How long nothing had been accepted differs from entry to entry.
        let words = match cause {
            Cause::Outage { fault, .. } => format!("nothing was accepted: {fault}"),
            cause => cause.to_string(),
        };
        self.count(CountedCause {
            cause: cause.clone(),
            words,
            entries: 1,
        });
    }

    fn count(&mut self, more: CountedCause) {
        let known = self.shown.iter().position(|shown| shown.words == more.words);
        match known {
            Some(known) => self.shown[known].entries += more.entries,
            None if self.shown.len() < CAUSES_SHOWN => self.shown.push(more),
            None => self.others += more.entries,
        }
    }

    /// The number of entries.
    pub(crate) fn entries(&self) -> u64 {
        self.shown.iter().map(|shown| shown.entries).sum::<u64>() + self.others
    }

    /// Adds entries with these causes.
    pub(crate) fn extend(&mut self, more: Self) {
        more.shown.into_iter().for_each(|more| self.count(more));
        self.others += more.others;
    }

    /// The cause of the first entry.
    pub(crate) fn first(&self) -> Option<&Cause> {
        self.shown.first().map(|shown| &shown.cause)
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for CountedCause { words, entries, .. } in &self.shown {
            write!(f, "{separator}{entries} × {words}")?;
            separator = "; ";
        }
        match self.others {
            0 => Ok(()),
            others => write!(f, "{separator}{others} × other causes"),
        }
    }
}

fn counted(entries: u64) -> String {
    match entries {
        1 => "1 entry".to_owned(),
        _ => format!("{entries} entries"),
    }
}

impl<E> fmt::Display for DeliveryError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let undelivered = self.report.undelivered;
        let total = self.report.next_position();
        if self.stream_error.is_some() {
            write!(f, "the stream failed after {}", counted(total))?;
            if undelivered == 0 && self.stopped().is_none() {
                return Ok(());
            }
            f.write_str("; ")?;
        }
        if let Some(cause) = self.interruption().filter(|_| undelivered == 0) {
            write!(f, "{cause}")?;
            return self.report.write_continuation(f);
        }
        let were = if undelivered == 1 { "was" } else { "were" };
        write!(f, "{undelivered} of {} {were} not delivered", counted(total))?;
        let causes = self.causes();
        match self.stopped() {
            _ if !causes.shown.is_empty() => write!(f, ": {causes}")?,
            Some(fault) => write!(f, ": the delivery stopped: {fault}")?,
            None => {}
        }
        match self.stream_error {
            // `report` has already said how many entries there were.
            Some(_) => Ok(()),
            None => self.report.write_continuation(f),
        }
    }
}

debug_fields!(
    error: DeliveryError<E>,
    report = error.report,
    causes = format_args!("{}", error.causes()),
    interruption = error.interruption(),
    stream_error = error.stream_error,
);

impl<E> Error for DeliveryError<E> {
    /// The stream's error, or the error behind the cause of the first entry, behind the reason why the stream was not read to
    /// its end, or behind the fault that stopped the delivery. The cause or the fault itself is in the message.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if let Some(error) = &self.stream_error {
            return Some(&**error);
        }
        let here = self.entries.undelivered.first().map(|undelivered| &undelivered.cause);
        let of_entries = here.or_else(|| self.entries.taken.first());
        match of_entries.or(self.interruption()) {
            Some(cause) => cause.source(),
            None => self.stopped()?.source(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(causes: impl IntoIterator<Item = Cause>) -> DeliveryError<[u64; 64]> {
        let undelivered = (0..)
            .zip(causes)
            .map(|(position, cause)| Undelivered::unsent([7; 64], position, cause));
        let undelivered: Vec<_> = undelivered.collect();
        let report = Report {
            delivered: 5,
            undelivered: undelivered.len() as u64,
            finished: true,
            ..Report::default()
        };
        DeliveryError::new(report, undelivered, Causes::default(), None)
    }

    fn refused(code: &'static str) -> Cause {
        Cause::Refused(Fault::new(code).caused_by(format!("what is behind {code}")))
    }

    fn texts(error: &DeliveryError<[u64; 64]>) -> (String, String, Option<String>) {
        (
            error.to_string(),
            format!("{error:?}"),
            error.source().map(ToString::to_string),
        )
    }

    #[test]
    fn a_message_names_the_causes_and_how_many_entries_have_them() {
        let error = error([
            refused("A"),
            Cause::Closed,
            refused("A"),
            refused("B"),
            refused("C"),
            refused("D"),
        ]);
        assert_eq!(
            error.to_string(),
            "6 of 11 entries were not delivered: 2 × refused: A; 1 × not sent: the producer is closed; 1 × refused: B; 2 × \
             other causes"
        );
        assert_eq!(error.source().unwrap().to_string(), "what is behind A");
    }

    #[test]
    fn taking_the_entries_leaves_the_causes_in_the_message() {
        let mut error = error([refused("A"), Cause::Closed]);
        let before = texts(&error);
        assert_eq!(error.take_undelivered().len(), 2);
        assert_eq!(texts(&error), before);
        assert!(error.take_undelivered().is_empty());
        assert_eq!(texts(&error), before);
        assert!(error.into_undelivered().is_empty());
    }

    #[test]
    fn the_error_of_the_stream_comes_first() {
        let mut error = error([refused("A")]);
        error.stream_error = Some("torn".into());
        assert_eq!(
            error.to_string(),
            "the stream failed after 6 entries; 1 of 6 entries was not delivered: 1 × refused: A"
        );
        assert_eq!(error.source().unwrap().to_string(), "torn");
    }

    /// Clippy's `result_large_err` warns from 128 bytes on.
    #[test]
    fn errors_are_small_whatever_the_entry_is() {
        assert!(size_of::<DeliveryError<[u64; 64]>>() < 128);
        assert!(size_of::<Undelivered<[u64; 64]>>() < 128);
    }
}
