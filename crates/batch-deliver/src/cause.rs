//! The cause of an undelivered entry as text.

use std::error::Error;

use aws_batch_delivery::Cause;

/// The cause, and the fault behind it unless the text of the cause has it already.
pub(crate) fn words(cause: &Cause) -> String {
    let words = cause.to_string();
    match cause.source().map(ToString::to_string) {
        Some(source) if !words.contains(&source) => format!("{words}: {source}"),
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use aws_batch_delivery::targets::Fault;

    use super::*;

    #[test]
    fn the_fault_is_named_once() {
        let fault = || Fault::new("no connection");
        assert_eq!(words(&Cause::DeadlineReached(None)), "the deadline was reached");
        assert_eq!(
            words(&Cause::DeadlineReached(Some(fault()))),
            "the deadline was reached: no connection"
        );
        assert_eq!(words(&Cause::TimeUsedUp(fault())), "time used up: no connection");
    }
}
