//! Delivery streams of Firehose.

use aws_batch_simulator::{DeliveryStreamOptions, InjectedFault, Simulator};
use aws_sdk_firehose::Client;
use aws_sdk_firehose::config::retry::RetryConfig;
use aws_sdk_firehose::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_firehose::operation::put_record_batch::{PutRecordBatchError, PutRecordBatchOutput};
use aws_sdk_firehose::primitives::Blob;
use aws_sdk_firehose::types::Record;

fn record(bytes: usize) -> Record {
    Record::builder().data(Blob::new(vec![7; bytes])).build().unwrap()
}

/// One call without the SDK's own retries.
async fn put(
    client: &Client,
    stream: &str,
    records: Vec<Record>,
) -> Result<PutRecordBatchOutput, SdkError<PutRecordBatchError>> {
    let once = aws_sdk_firehose::config::Config::builder().retry_config(RetryConfig::disabled());
    let call = client
        .put_record_batch()
        .delivery_stream_name(stream)
        .set_records(Some(records));
    call.customize().config_override(once).send().await
}

#[tokio::test(start_paused = true)]
async fn records_are_taken_as_far_as_there_is_capacity() {
    let simulator = Simulator::new(1);
    let capacity = aws_batch_simulator::Capacity::per_second(10.0)
        .burst(10.0)
        .starts_full();
    let stream = simulator.delivery_stream("orders", DeliveryStreamOptions::default().capacity(capacity));
    let client = simulator.firehose_client();
    let output = put(&client, "orders", (1..=25).map(record).collect()).await.unwrap();
    assert_eq!((output.failed_put_count(), stream.len()), (15, 10));
    let codes = output
        .request_responses()
        .iter()
        .filter_map(|answer| answer.error_code());
    assert!(codes.eq(["ServiceUnavailableException"; 15]));
    let taken = output
        .request_responses()
        .iter()
        .zip(1..)
        .filter(|(answer, _)| answer.record_id().is_some());
    let bytes: Vec<usize> = stream.records().iter().map(Vec::len).collect();
    assert_eq!(taken.map(|(_, bytes)| bytes).collect::<Vec<_>>(), bytes);
}

#[tokio::test(start_paused = true)]
async fn limits_are_those_of_the_service() {
    let simulator = Simulator::new(1);
    let stream = simulator.delivery_stream("orders", DeliveryStreamOptions::default());
    let client = simulator.firehose_client();
    for (name, records, code) in [
        ("orders", Vec::new(), "ValidationException"),
        ("orders", vec![record(1); 501], "ValidationException"),
        ("orders", vec![record(1_024_001)], "ValidationException"),
        ("orders", vec![record(1_024_000); 5], "InvalidArgumentException"),
        ("missing", vec![record(1)], "ResourceNotFoundException"),
    ] {
        let error = put(&client, name, records).await.unwrap_err();
        assert_eq!(error.code(), Some(code));
    }
    assert!(stream.is_empty());
    put(&client, "orders", vec![record(524_288); 8]).await.unwrap();
    assert_eq!(stream.len(), 8, "exactly 4 MiB");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_call_is_unavailable() {
    let simulator = Simulator::new(1);
    let stream = simulator.delivery_stream("orders", DeliveryStreamOptions::default());
    stream.script([InjectedFault::Throttle, InjectedFault::Unprocessed(1)]);
    let client = simulator.firehose_client();
    let error = put(&client, "orders", vec![record(1)]).await.unwrap_err();
    assert!(error.into_service_error().is_service_unavailable_exception());
    let output = put(&client, "orders", vec![record(1)]).await.unwrap();
    assert_eq!(output.request_responses()[0].error_code(), Some("InternalFailure"));
    assert_eq!((stream.len(), stream.calls()), (0, 2));
}
