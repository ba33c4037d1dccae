//! An entry that was not delivered, and its cause as text.

use aws_batch_delivery::Cause;
use aws_batch_delivery::targets::Fault;

/// The most characters of a message that are printed.
const LONGEST_MESSAGE: usize = 400;

/// Stands for what a message quotes.
const LEFT_OUT: &str = "…";

/// Pairs of characters between which a message may quote an entry.
const QUOTES: [(char, char); 5] = [('\'', '\''), ('"', '"'), ('[', ']'), ('{', '}'), ('`', '`')];

/// Words of a message behind which it quotes a value without quotes, and the words that end the value; without such, it goes to
/// the end of the sentence.
const UNQUOTED: [(&str, &[&str]); 3] = [
    ("Value ", &[" for parameter ", " at "]),
    ("numeric value: ", &[]),
    ("Parameter value: ", &[]),
];

/// An entry that was not delivered.
pub(crate) struct UndeliveredEntry {
    /// Its position among the entries of the delivery.
    pub(crate) position: u64,
    pub(crate) attempts: u32,
    pub(crate) may_have_been_delivered: bool,
    cause: Cause,
}

impl UndeliveredEntry {
    pub(super) fn of<E>(entry: &aws_batch_delivery::Undelivered<E>) -> Self {
        Self {
            position: entry.position,
            attempts: entry.attempts,
            may_have_been_delivered: entry.may_have_been_delivered,
            cause: entry.cause.clone(),
        }
    }

    /// One that the service has accepted and dropped, or the other one: after lost answers it is not known which of both was kept.
    pub(super) fn dropped(position: u64) -> Self {
        let fault = Fault::new("DuplicateMessage");
        let words = "of two messages with this deduplication id within five minutes one is kept, perhaps this one";
        Self {
            position,
            attempts: 1,
            may_have_been_delivered: true,
            cause: Cause::Refused(fault.with_message(words)),
        }
    }

    /// One that was not attempted, with this position.
    #[cfg(test)]
    pub(crate) fn unattempted(position: u64) -> Self {
        Self {
            position,
            attempts: 0,
            may_have_been_delivered: false,
            cause: Cause::Closed,
        }
    }

    /// Whether its attempts were cut short, by the end of the delivery.
    pub(crate) fn was_cut_short(&self) -> bool {
        matches!(
            self.cause,
            Cause::Cancelled(_) | Cause::DeadlineReached(_) | Cause::Stopped(_)
        )
    }

    /// The cause, without the service's message.
    pub(crate) fn words(&self) -> String {
        words(&self.cause)
    }

    /// The cause for the terminal and for logs: with the service's message, but without what the message quotes, because that may
    /// be content of the entry.
    pub(crate) fn printed(&self) -> String {
        printed(&self.cause)
    }

    /// The service's error code.
    pub(crate) fn code(&self) -> Option<&str> {
        fault(&self.cause).map(Fault::code)
    }

    /// The service's message, which may quote the entry.
    pub(crate) fn message(&self) -> Option<&str> {
        fault(&self.cause).and_then(Fault::message)
    }
}

/// The cause, and the fault of the last attempt before a deadline or a stop, without the service's message.
fn words(cause: &Cause) -> String {
    match cause {
        Cause::DeadlineReached(Some(fault)) | Cause::Cancelled(Some(fault)) => format!("{cause}: {fault}"),
        _ => cause.to_string(),
    }
}

/// The cause for the terminal and for logs, as that of an entry.
pub(super) fn printed(cause: &Cause) -> String {
    with_message(words(cause), fault(cause))
}

/// The fault for the terminal and for logs.
pub(super) fn printed_fault(fault: &Fault) -> String {
    with_message(fault.to_string(), Some(fault))
}

/// What was wrong with the last attempt, if there was one.
fn fault(cause: &Cause) -> Option<&Fault> {
    match cause {
        Cause::Refused(fault)
        | Cause::RetriesUsedUp(fault)
        | Cause::TimeUsedUp(fault)
        | Cause::Outage { fault, .. }
        | Cause::Stopped(fault) => Some(fault),
        Cause::DeadlineReached(fault) | Cause::Cancelled(fault) => fault.as_ref(),
        _ => None,
    }
}

fn with_message(words: String, fault: Option<&Fault>) -> String {
    match fault.and_then(Fault::message) {
        Some(message) if !message.trim().is_empty() => format!("{words}: {}", without_values(message)),
        _ => words,
    }
}

/// The message without what it quotes. The words of a service put a value between quotes or brackets, or behind a few known words.
fn without_values(message: &str) -> String {
    let mut rest = message.trim();
    let mut shown = String::new();
    while let Some(next) = rest.chars().next() {
        let is_within_a_word = shown.ends_with(char::is_alphanumeric);
        if let Some((begin, ends)) = UNQUOTED.iter().find(|(begin, _)| rest.starts_with(begin))
            && !is_within_a_word
        {
            let value = &rest[begin.len()..];
            let end = ends
                .iter()
                .filter_map(|end| value.rfind(end))
                .max()
                .unwrap_or(value.len());
            shown = shown + begin + LEFT_OUT;
            rest = &value[end..];
            continue;
        }
        let quotes = QUOTES.iter().find(|(open, _)| *open == next);
        if let Some((open, close)) = quotes
            && !(next == '\'' && is_within_a_word)
        {
            // A value may have such characters itself, so it goes to the last one.
            let value = &rest[next.len_utf8()..];
            let end = value.rfind(*close).map_or(value.len(), |end| end + close.len_utf8());
            shown.extend([*open, '…', *close]);
            rest = &value[end..];
            continue;
        }
        shown.push(next);
        rest = &rest[next.len_utf8()..];
    }
    match shown.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}{LEFT_OUT}", &shown[..end]),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_fault_is_named_once() {
        let fault = || Fault::new("no connection").caused_by("a cable");
        assert_eq!(words(&Cause::DeadlineReached(None)), "the deadline was reached");
        assert_eq!(
            words(&Cause::DeadlineReached(Some(fault()))),
            "the deadline was reached: no connection"
        );
        assert_eq!(words(&Cause::TimeUsedUp(fault())), "time used up: no connection");
    }

    #[test]
    fn the_message_of_the_service_is_printed_behind_its_code() {
        let refused = |message: &str| Cause::Refused(Fault::new("ValidationException").with_message(message));
        let index =
            "A value specified for a secondary index key is not supported. IndexName: by_email, IndexKey: email";
        assert_eq!(
            printed(&refused(index)),
            format!("refused: ValidationException: {index}")
        );
        assert_eq!(printed(&refused(" ")), "refused: ValidationException");
        assert!(printed(&refused(&"x".repeat(9_999))).chars().count() < 500);
    }

    #[test]
    fn what_a_message_quotes_is_not_printed() {
        for (message, expected) in [
            (
                "Input collection [secret, secret] contains duplicates.",
                "Input collection […] contains duplicates.",
            ),
            (
                "The parameter cannot be converted to a numeric value: secret",
                "The parameter cannot be converted to a numeric value: …",
            ),
            (
                "Value secret for parameter MessageGroupId is invalid. Reason: it isn't one.",
                "Value … for parameter MessageGroupId is invalid. Reason: it isn't one.",
            ),
            (
                "1 validation error detected: Value 'secret' at 'records.1.partitionKey' failed to satisfy constraint: Member must have length less than 256",
                "1 validation error detected: Value … at '…' failed to satisfy constraint: Member must have length less than 256",
            ),
            ("it's {\"a\":\"secret\"}, isn't it", "it's {…}, isn't it"),
            ("no end: 'secret", "no end: '…'"),
        ] {
            assert_eq!(without_values(message), expected);
        }
    }

    proptest! {
        #[test]
        fn no_value_between_quotes_is_printed(value in "[a-z'\"\\[\\]{}` ]{0,12}", quotes in 0_usize..5) {
            let (open, close) = QUOTES[quotes];
            let message = format!("bad: {open}§{value}§{close} is no name");
            prop_assert!(!without_values(&message).contains('§'));
        }
    }
}
