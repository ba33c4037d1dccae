//! The result of a delivery.

mod cause;
mod error;
mod undelivered;

use std::fmt;
use std::time::Duration;

use crate::fault::ThrottlingReason;

pub use cause::Cause;
pub(crate) use error::Causes;
pub use error::DeliveryError;
pub use undelivered::Undelivered;

/// The figures of a delivery.
///
/// With the feature `serde` it can be serialized and deserialized; the time becomes `elapsed_seconds`, a number.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Entries that the service accepted.
    pub delivered: u64,
    /// Entries that were handed back.
    pub undelivered: u64,
    /// Entries that were dropped because a newer one writes the same key, under
    /// [`last_write_wins`](crate::DeliveryOptions::last_write_wins).
    pub superseded: u64,
    /// Entries whose [condition](crate::targets::Verdict::ConditionFailed) the service has evaluated and found not to hold, so
    /// that nothing was written.
    pub condition_failed: u64,
    /// Calls made, including failed ones.
    pub calls: u64,
    /// How often an entry was sent again.
    pub resubmitted: u64,
    /// How often an entry was rejected for lack of capacity.
    pub throttled: u64,
    /// The limits of the service that calls have exceeded, if the service names them, in the order of their first
    /// occurrence.
    ///
    /// DynamoDB names them when it accepts no entry of a call: table or index, and which limit it is: provisioned
    /// throughput, a key range, the on-demand maximum, or the account. A call may exceed several. For the unprocessed
    /// entries of a call that was accepted in part it names none.
    pub throttled_by: Box<[ThrottledCalls]>,
    /// From the start of the delivery to its end.
    #[cfg_attr(
        feature = "serde",
        serde(rename = "elapsed_seconds", with = "crate::report::seconds")
    )]
    pub elapsed: Duration,
    /// Whether the input was read to its end. Always true for a batch, because its remaining entries are handed back, and
    /// for every report without an error. False for a stream that failed or whose delivery ended early, by a cancellation,
    /// a deadline or a fault; [`next_position`](Self::next_position) then says where to continue.
    pub finished: bool,
}

impl Report {
    /// The position of the first entry of the input that was not read, from 0; the number of entries if all were read.
    ///
    /// Every entry before it was delivered, superseded or handed back, or its condition did not hold. To continue an
    /// interrupted load, send the entries that were handed back, and then the input from this position. Only entries are counted, not the error of a stream
    /// that failed.
    ///
    /// ```
    /// # use aws_batch_delivery::{Delivery, Undelivered, targets::BatchTarget};
    /// /// Delivers the lines from that position on. Returns the position of the next run, and what it has to send again.
    /// async fn load<T>(delivery: Delivery<T>, lines: Vec<String>, from: usize) -> (usize, Vec<Undelivered<String>>)
    /// where
    ///     T: BatchTarget<Entry = String>,
    /// {
    ///     let rest = futures::stream::iter(lines.into_iter().skip(from));
    ///     let (report, undelivered) = match delivery.deliver_stream(rest).await {
    ///         Ok(report) => (report, Vec::new()),
    ///         Err(error) => (error.report.clone(), error.into_undelivered()),
    ///     };
    ///     (from + report.next_position() as usize, undelivered)
    /// }
    /// ```
    pub fn next_position(&self) -> u64 {
        self.delivered + self.undelivered + self.superseded + self.condition_failed
    }

    /// Adds the report of the delivery that followed.
    pub(crate) fn add(&mut self, next: &Self) {
        self.delivered += next.delivered;
        self.undelivered += next.undelivered;
        self.superseded += next.superseded;
        self.condition_failed += next.condition_failed;
        self.calls += next.calls;
        self.resubmitted += next.resubmitted;
        self.throttled += next.throttled;
        let mut throttled_by = std::mem::take(&mut self.throttled_by).into_vec();
        for more in &next.throttled_by {
            ThrottledCalls::add(&mut throttled_by, &more.reason, more.calls);
        }
        self.throttled_by = throttled_by.into();
        self.elapsed += next.elapsed;
        self.finished = next.finished;
    }

    /// Adds a note when the input was not read to its end.
    fn write_continuation(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.finished {
            return Ok(());
        }
        write!(
            f,
            "; the input was not read to its end, continue at position {}",
            self.next_position()
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} delivered, {} undelivered, ", self.delivered, self.undelivered)?;
        if self.superseded > 0 {
            write!(f, "{} superseded, ", self.superseded)?;
        }
        if self.condition_failed > 0 {
            write!(f, "{} with a failed condition, ", self.condition_failed)?;
        }
        write!(
            f,
            "{} calls, {} resubmitted, in {:.3} s",
            self.calls,
            self.resubmitted,
            self.elapsed.as_secs_f64()
        )?;
        self.write_continuation(f)
    }
}

/// Durations as seconds, a number that every JSON reader understands.
#[cfg(feature = "serde")]
pub(crate) mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fault::ThrottlingReason;

    proptest! {
        #[test]
        fn a_report_comes_back_as_it_was_serialized(delivered: u64, condition_failed: u64, calls: u64, nanos in 0..u64::from(u32::MAX) * 1_000_000) {
            let elapsed = Duration::from_nanos(nanos);
            let reason = ThrottlingReason {
                reason: "TableWriteKeyRangeThroughputExceeded".to_owned(),
                resource: Some("table/orders".to_owned()),
            };
            let throttled_by = Box::new([ThrottledCalls { reason, calls }]);
            let report = Report { delivered, condition_failed, calls, throttled_by, elapsed, ..Report::default() };
            let text = serde_json::to_string(&report).unwrap();
            prop_assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        }
    }

    #[test]
    fn entries_with_a_failed_condition_are_counted_and_shown() {
        let mut report = Report {
            delivered: 3,
            condition_failed: 2,
            finished: true,
            ..Report::default()
        };
        let shown = report.to_string();
        assert!(
            shown.starts_with("3 delivered, 0 undelivered, 2 with a failed condition, 0 calls"),
            "{shown}"
        );
        assert_eq!(report.next_position(), 5);
        report.add(&report.clone());
        assert_eq!((report.condition_failed, report.next_position()), (4, 10));
        assert!(!Report::default().to_string().contains("condition"));
    }

    #[test]
    fn times_are_numbers_and_figures_that_are_not_there_are_zero() {
        let elapsed = Duration::from_millis(1_500);
        let report = Report {
            delivered: 3,
            elapsed,
            ..Report::default()
        };
        let value = serde_json::to_value(&report).unwrap();
        assert_eq!(
            (&value["delivered"], &value["elapsed_seconds"]),
            (&3.into(), &1.5.into())
        );
        let of_an_older_version = r#"{"delivered":3,"elapsed_seconds":1.5}"#;
        assert_eq!(serde_json::from_str::<Report>(of_an_older_version).unwrap(), report);
        assert!(serde_json::from_str::<Report>(r#"{"elapsed_seconds":-1}"#).is_err());
    }
}

/// The calls that were throttled for one reason.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThrottledCalls {
    /// The limit that they have exceeded, and the resource it belongs to. Serialized as the fields `reason` and `resource`.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub reason: ThrottlingReason,
    /// The number of calls.
    pub calls: u64,
}

impl ThrottledCalls {
    /// Counts calls that were throttled for this reason.
    pub(crate) fn add(counted: &mut Vec<Self>, reason: &ThrottlingReason, calls: u64) {
        match counted.iter_mut().find(|counted| counted.reason == *reason) {
            Some(counted) => counted.calls += calls,
            None => counted.push(Self {
                reason: reason.clone(),
                calls,
            }),
        }
    }
}

impl fmt::Display for ThrottledCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} × {}", self.calls, self.reason)
    }
}
