//! Events to EventBridge.

use super::Delivery;
use crate::options::DeliveryOptions;
use crate::report::{DeliveryError, Report};
use crate::targets::eventbridge::EventBus;

impl Delivery<EventBus> {
    /// Delivers events to an event bus of EventBridge, given by name or ARN.
    pub fn to_eventbridge(client: aws_sdk_eventbridge::Client, bus: impl Into<String>) -> Self {
        Self::new(EventBus::new(client, bus))
    }
}

/// Delivers any number of events to an event bus of EventBridge.
///
/// They are split by the limits of `PutEvents`, count and bytes; those that fail temporarily are sent again, together with
/// fresh ones, at the pace of the strategy in the options. Nothing is sent to a bus that does not exist, because
/// EventBridge would drop it and report success.
///
/// # Errors
/// When any was not delivered. The error carries all of them, each with its cause.
pub async fn deliver_batch_to_eventbridge<I>(
    client: &aws_sdk_eventbridge::Client,
    bus: impl Into<String>,
    events: I,
    options: &DeliveryOptions,
) -> Result<Report, DeliveryError<aws_sdk_eventbridge::types::PutEventsRequestEntry>>
where
    I: IntoIterator<Item = aws_sdk_eventbridge::types::PutEventsRequestEntry>,
{
    Delivery::to_eventbridge(client.clone(), bus)
        .options(options.clone())
        .deliver(events)
        .await
}
