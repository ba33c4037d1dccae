//! Firehose: records to one delivery stream by `PutRecordBatch`.

use std::borrow::Cow;

use aws_sdk_firehose::Client;
use aws_sdk_firehose::config::Builder;
use aws_sdk_firehose::types::{PutRecordBatchResponseEntry, Record};

use super::debug::debug_by_name;
use crate::aws::classify;
use crate::aws::correlate::{by_place, entry_verdict};
use crate::aws::renewal::Changes;
use crate::aws::request::{messaging_span, send, single_attempt};
use crate::contract::{Acknowledgement, Answer, BatchTarget, Limits, Rejection, Verdict};
use crate::invalid::InvalidEntry;

/// Records in a call. From the API reference of `PutRecordBatch`.
pub const MAX_RECORDS: usize = 500;

/// Bytes of the data of a call: 4 MiB. From the API reference of `PutRecordBatch`.
pub const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a record's data: 1,000 KiB, before it is encoded. From the API reference of `PutRecordBatch`.
pub const MAX_RECORD_BYTES: usize = 1_024_000;

/// Bytes that a record counts for with the pace.
const UNIT: usize = 1_024;

/// The code of a throttle, of a record and of a call: "If you continue to see the exception, throughput limits for the
/// Firehose stream may have been exceeded". From the API reference of `PutRecordBatch`. In other services it is an outage.
const THROTTLED: &str = "ServiceUnavailableException";

/// A Firehose delivery stream to put records into.
///
/// Firehose keeps no order, and may have a record twice when a call is repeated after a lost answer. The
/// [`message_id`](Acknowledgement::message_id) of an accepted record is its `RecordId`. Which records failed is read from
/// the answer for each record, never from `FailedPutCount`.
///
/// The SDK's retries are off for these calls, because the delivery retries; the rest of the client's configuration applies.
#[derive(Clone)]
pub struct FirehoseStream {
    client: Client,
    changes: Changes<Builder>,
    name: String,
    limits: Limits,
}

impl FirehoseStream {
    /// The delivery stream with this name.
    ///
    /// # Default
    /// | limit | value |
    /// |---|---|
    /// | entries of a call | [`MAX_RECORDS`], 500 |
    /// | bytes of a call | [`MAX_BATCH_BYTES`], 4 MiB |
    /// | bytes of a record | [`MAX_RECORD_BYTES`], 1,024,000 |
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self {
            changes: single_attempt!(aws_sdk_firehose, client),
            client,
            name: name.into(),
            limits: Limits::new(MAX_RECORDS, MAX_BATCH_BYTES).with_entry_bytes(MAX_RECORD_BYTES),
        }
    }

    /// Other limits, for endpoints with lower or higher ones.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

impl BatchTarget for FirehoseStream {
    type Entry = Record;

    fn name(&self) -> Cow<'_, str> {
        format!("firehose/{}", self.name).into()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, record: &Record) -> Result<usize, InvalidEntry> {
        self.limits.check_size("record", record.data().as_ref().len())
    }

    /// KiB of data. By default a stream takes 5,000 records and 5 MB a second, from the API reference of `PutRecord`, so a
    /// smaller record counts as one KiB.
    fn units(&self, record: &Record) -> usize {
        record.data().as_ref().len().div_ceil(UNIT)
    }

    async fn send(&self, records: &[Record]) -> Answer {
        let sent = records.len();
        let span = messaging_span!("Firehose", "aws_firehose", "PutRecordBatch", "send", &*self.name, sent);
        let call = self
            .client
            .put_record_batch()
            .delivery_stream_name(&self.name)
            .set_records(Some(records.to_vec()));
        match send!(aws_sdk_firehose, call, self.changes, span) {
            Ok(output) => {
                let verdicts = output.request_responses.into_iter().map(verdict);
                by_place("Firehose", sent, verdicts)
            }
            Err(error) => match classify(error) {
                Answer::Whole(Verdict::Rejected(_, fault)) if fault.code() == THROTTLED => {
                    Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault))
                }
                answer => answer,
            },
        }
    }
}

fn verdict(answer: PutRecordBatchResponseEntry) -> Verdict {
    let accepted = answer.record_id.filter(|id| !id.is_empty());
    let accepted = accepted.map(|id| Acknowledgement {
        message_id: Some(id),
        sequence_number: None,
    });
    match entry_verdict(answer.error_code.as_deref(), answer.error_message.as_deref(), accepted) {
        // A record that is throttled was not added to the stream.
        Verdict::Rejected(_, fault) if fault.code() == THROTTLED => {
            Verdict::Rejected(Rejection::Throttled, fault.was_not_applied())
        }
        verdict => verdict,
    }
}

debug_by_name!(FirehoseStream);

#[cfg(test)]
mod tests {
    use aws_sdk_firehose::primitives::Blob;

    use super::*;
    use crate::aws::recording::{Recorder, recorded_config};

    fn client(recorder: &Recorder) -> Client {
        Client::from_conf(recorded_config!(aws_sdk_firehose, recorder.clone()).build())
    }

    fn record(bytes: usize) -> Record {
        Record::builder().data(Blob::new(vec![0; bytes])).build().unwrap()
    }

    #[test]
    fn a_record_has_its_limit() {
        let stream = FirehoseStream::new(client(&Recorder::answering(200, "{}")), "orders");
        assert_eq!(stream.check(&record(MAX_RECORD_BYTES)), Ok(MAX_RECORD_BYTES));
        let error = stream.check(&record(MAX_RECORD_BYTES + 1)).unwrap_err();
        assert_eq!(error.to_string(), "the record has 1024001 bytes, the limit is 1024000");
    }

    #[tokio::test]
    async fn an_accepted_record_has_the_id_that_the_stream_gave_it() {
        let recorder = Recorder::answering(200, r#"{"FailedPutCount":1,"RequestResponses":[{"RecordId":"r"}]}"#);
        let stream = FirehoseStream::new(client(&recorder), "orders");
        let answer = stream.send(&[record(1)]).await;
        let Answer::Each(verdicts) = answer else {
            panic!("{answer:?}");
        };
        let [Verdict::Acknowledged(acknowledgement)] = &verdicts[..] else {
            panic!("{verdicts:?}");
        };
        assert_eq!(acknowledgement.message_id.as_deref(), Some("r"));
    }

    #[test]
    fn a_record_counts_by_its_kibibytes() {
        let stream = FirehoseStream::new(client(&Recorder::answering(200, "{}")), "orders");
        let units = [1, 1_024, 1_025, 10_240].map(|bytes| stream.units(&record(bytes)));
        assert_eq!(units, [1, 1, 2, 10]);
    }

    #[tokio::test]
    async fn a_record_that_is_throttled_was_not_put_and_one_that_failed_may_have_been() {
        let recorder = Recorder::answering(
            200,
            r#"{"FailedPutCount":2,"RequestResponses":[
                {"ErrorCode":"ServiceUnavailableException","ErrorMessage":"Slow down."},
                {"ErrorCode":"InternalFailure","ErrorMessage":"Internal Service Failure"}]}"#,
        );
        let stream = FirehoseStream::new(client(&recorder), "orders");
        let answer = stream.send(&[record(1), record(1)]).await;
        let Answer::Each(verdicts) = answer else {
            panic!("{answer:?}");
        };
        let [throttled, failed] = &verdicts[..] else {
            panic!("{verdicts:?}");
        };
        assert!(matches!(throttled, Verdict::Rejected(Rejection::Throttled, fault) if !fault.is_ambiguous()));
        assert!(matches!(failed, Verdict::Rejected(Rejection::Transient, fault) if fault.is_ambiguous()));
    }

    #[tokio::test]
    async fn a_call_that_is_throttled_may_have_been_made() {
        let recorder = Recorder::answering(503, r#"{"__type":"ServiceUnavailableException"}"#);
        let stream = FirehoseStream::new(client(&recorder), "orders");
        let answer = stream.send(&[record(1)]).await;
        assert!(
            matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault)) if fault.is_ambiguous()),
            "{answer:?}"
        );
    }
}
