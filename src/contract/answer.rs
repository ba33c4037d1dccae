//! The answer to a call, entry by entry.

use std::time::Duration;

use crate::fault::Fault;

/// The answer to one call.
#[derive(Debug, Clone)]
pub enum Answer {
    /// A verdict for each entry, in the order of the chunk. Entries beyond the last verdict count as
    /// [`Rejection::Unanswered`].
    Each(Vec<Verdict>),
    /// One verdict for every entry of the chunk: the call was accepted, throttled, failed or was refused as a whole. A
    /// refused call is repeated in parts to find the entries at fault.
    Whole(Verdict),
    /// The call was refused, and the answer does not say whether because of its entries or for a reason that all calls share
    /// at the moment: a permission may be missing for one key or for the table, and an unknown code may come from a proxy.
    ///
    /// The call is repeated in parts, as a refused one. An entry that is refused alone is handed back if it is refused again
    /// after another was accepted, or for 5 s without others to compare it with. If entries of three calls are refused and
    /// none is accepted in between, the delivery waits until one is accepted; one that has delivered nothing stops.
    Disputed(Fault),
    /// The call failed for a reason that every later call shares: the table does not exist, the credentials are not known.
    /// The delivery stops if it has delivered nothing. Otherwise its configuration was right, so it waits until a call is
    /// accepted again.
    Stop(Fault),
}

impl Answer {
    /// Whether the service has refused an entry or the call, for what they carry or name.
    #[cfg(any(feature = "dynamodb", feature = "kinesis", feature = "sns", feature = "sqs"))]
    pub(crate) fn has_refusal(&self) -> bool {
        let is_refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused(_));
        match self {
            Self::Each(verdicts) => verdicts.iter().any(is_refused),
            Self::Whole(verdict) => is_refused(verdict),
            Self::Disputed(_) | Self::Stop(_) => true,
        }
    }

    /// How long the service should not be called again, if the call failed as a whole and the service said so.
    pub(crate) fn named_wait(&self) -> Option<Duration> {
        match self {
            Self::Whole(Verdict::Rejected(_, fault)) => fault.named_wait(),
            _ => None,
        }
    }
}

/// The service's verdict on one entry.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The service has it.
    Accepted,
    /// The service has it, and returned this about it.
    Acknowledged(Acknowledgement),
    /// Not accepted now: the entry is sent again.
    Rejected(Rejection, Fault),
    /// Not accepted permanently: sending the entry again cannot help.
    Refused(Fault),
    /// The service has evaluated the condition of the entry, and it does not hold, so nothing was written. This is an answer,
    /// not a fault: the entry is [counted](crate::Report::condition_failed) and not sent again.
    ///
    /// It is certain: an entry whose earlier attempt may have been applied, and may itself be the reason that the condition does not
    /// hold, is [refused](Self::Refused) with a fault that [leaves it in doubt](Fault::ambiguous).
    ConditionFailed,
}

impl Verdict {
    /// Whether the service has the entry.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted | Self::Acknowledged(_))
    }

    /// Whether the service has processed the entry: it has it, or the condition of the entry does not hold.
    pub(crate) fn is_processed(&self) -> bool {
        self.is_accepted() || matches!(self, Self::ConditionFailed)
    }
}

/// What a service returns about an accepted entry: SQS returns ids, DynamoDB nothing.
///
/// ```
/// # use aws_batch_delivery::targets::{Acknowledgement, Verdict};
/// let mut acknowledged = Acknowledgement::default();
/// acknowledged.message_id = Some("5fea7756".to_owned());
/// assert!(Verdict::Acknowledged(acknowledged).is_accepted());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Acknowledgement {
    /// The id that the service gave to the entry, such as the `MessageId` of SQS.
    pub message_id: Option<String>,
    /// The position of the entry in the order of the service, such as the `SequenceNumber` of a FIFO queue.
    pub sequence_number: Option<String>,
}

/// Why an entry is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rejection {
    /// The service said that it has no capacity at the moment.
    Throttled,
    /// The service returned the entry without a reason (`UnprocessedItems`). Usually a throttle.
    Unprocessed,
    /// The service failed: an internal error, a 5xx, an answer that cannot be read.
    Transient,
    /// The connection failed, or the attempt timed out.
    Connection,
    /// The call could not be made at the moment: the credentials could not be fetched, no connection was established, the
    /// clock was wrong. It affects all entries, so single probes test when it is over.
    Setup,
    /// No call can be made with this configuration: no region, no credentials provider, a malformed endpoint. It stops a
    /// delivery that has delivered nothing; otherwise it is treated like [`Setup`](Self::Setup).
    Unconfigured,
    /// The service answered, but not for this entry.
    Unanswered,
}

impl Rejection {
    /// Whether the call could not be made, so that the service has not seen the entry.
    pub(crate) fn is_unsent(self) -> bool {
        matches!(self, Self::Setup | Self::Unconfigured)
    }

    /// Whether it concerns the service's capacity, so that a slower pace may help.
    pub fn is_throttle(self) -> bool {
        matches!(self, Self::Throttled | Self::Unprocessed)
    }
}
