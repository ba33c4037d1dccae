//! Options that make every call predictable.

use std::time::Duration;

use aws_batch_delivery::DeliveryOptions;

/// No delay between attempts.
pub(crate) fn no_delay() -> DeliveryOptions {
    DeliveryOptions::default().backoff(|_: u32| Duration::ZERO)
}

/// No delay between attempts, and one call at a time.
pub(crate) fn one_at_a_time() -> DeliveryOptions {
    no_delay().concurrency(1)
}
