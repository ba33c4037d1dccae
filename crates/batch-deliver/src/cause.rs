//! The cause of an undelivered entry as text.

use aws_batch_delivery::Cause;

/// The cause, and the fault of the last attempt before a deadline or a stop.
pub(crate) fn words(cause: &Cause) -> String {
    match cause {
        Cause::DeadlineReached(Some(fault)) | Cause::Cancelled(Some(fault)) => format!("{cause}: {fault}"),
        _ => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use aws_batch_delivery::targets::Fault;

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
}
