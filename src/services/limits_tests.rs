//! Every limit of the targets, with the words of AWS, a recording of it, or the reason of this crate. A limit that is added or changed
//! needs its row.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The file, the constant, its value in the file, and where that is from.
///
/// Words in quotes are from AWS's API references or service quotas.
const LIMITS: &[(&str, &str, &str, &str)] = &[
    // DynamoDB
    (
        "dynamo/table.rs",
        "MAX_REQUESTS",
        "25",
        "BatchWriteItem: \"up to 25 item put or delete operations\"",
    ),
    (
        "dynamo/table.rs",
        "MAX_BODY_BYTES",
        "16 * 1024 * 1024",
        "BatchWriteItem: \"up to 16MB of data over the network\"; recorded: one byte more is 413",
    ),
    (
        "dynamo/table.rs",
        "MAX_ITEM_BYTES",
        "400 * 1024",
        "quotas: \"maximum item size in DynamoDB is 400 KB\"; recorded: 409,600 is accepted, 409,601 is not",
    ),
    (
        "dynamo/key.rs",
        "MAX_PARTITION_KEY_BYTES",
        "2_048",
        "recorded: \"Size of hashkey has exceeded the maximum size limit of2048 bytes\"",
    ),
    (
        "dynamo/key.rs",
        "MAX_SORT_KEY_BYTES",
        "1_024",
        "recorded: \"Aggregated size of all range keys has exceeded the size limit of 1024 bytes\"",
    ),
    (
        "dynamo/number.rs",
        "MAX_DIGITS",
        "38",
        "data types: \"up to 38 digits of precision\"",
    ),
    (
        "dynamo/number.rs",
        "MAX_SIZE",
        "21",
        "size guide: \"approximately one byte per two significant digits\", of which there are 38",
    ),
    (
        "dynamo/reads.rs",
        "MAX_KEYS",
        "100",
        "BatchGetItem: \"If you request more than 100 items\" it is refused",
    ),
    (
        "dynamo/reads.rs",
        "MAX_ANSWER_BYTES",
        "16 * 1024 * 1024",
        "BatchGetItem: \"so as not to exceed the 16 MB limit\"",
    ),
    (
        "dynamo/reads.rs",
        "MAX_PARTITION_BYTES",
        "1024 * 1024",
        "BatchGetItem: \"more than 1MB per partition is requested\"",
    ),
    (
        "dynamo/transaction.rs",
        "MAX_ACTIONS",
        "100",
        "TransactWriteItems: \"up to 100 action requests\"",
    ),
    (
        "dynamo/transaction.rs",
        "MAX_TRANSACTION_BYTES",
        "4 * 1024 * 1024",
        "TransactWriteItems: \"aggregate size of the items in the transaction cannot exceed 4 MB\"",
    ),
    (
        "dynamo/check.rs",
        "MAX_LEVELS",
        "32",
        "quotas: \"nested attributes up to 32 levels deep\"; recorded: 31 maps around a string are accepted",
    ),
    (
        "dynamo/check.rs",
        "MAX_NAME_BYTES",
        "65_535",
        "quotas: attribute names are at most \"64 KB long\"; recorded: 65,536 is refused",
    ),
    (
        "dynamo/check.rs",
        "MAX_EXPRESSION_BYTES",
        "4 * 1024",
        "quotas: \"maximum length of any expression string is 4 KB\"",
    ),
    (
        "dynamo/check.rs",
        "MAX_PLACEHOLDER_BYTES",
        "2 * 1024 * 1024",
        "quotas: \"maximum length of all substitution variables in an expression is 2 MB\"",
    ),
    (
        "dynamo/check.rs",
        "MAX_KEY_ATTRIBUTES",
        "2",
        "a partition key, and a sort key",
    ),
    // SQS
    (
        "sqs/queue.rs",
        "MAX_MESSAGES",
        "10",
        "SendMessageBatch: \"up to 10 messages\"",
    ),
    (
        "sqs/queue.rs",
        "MAX_BATCH_BYTES",
        "1024 * 1024",
        "SendMessageBatch: \"the maximum total payload size\" is \"1 MiB 1,048,576 bytes\"",
    ),
    (
        "sqs/queue.rs",
        "MAX_MESSAGE_BYTES",
        "1024 * 1024",
        "SendMessageBatch: \"The maximum allowed individual message size\" is \"1 MiB 1,048,576 bytes\"",
    ),
    (
        "sqs/check.rs",
        "MAX_ATTRIBUTES",
        "10",
        "quotas: \"A message can contain up to 10 metadata attributes\"",
    ),
    (
        "sqs/check.rs",
        "MAX_NAME_LENGTH",
        "256",
        "user guide: a name, and a data type, \"can be up to 256 characters long\"",
    ),
    (
        "sqs/check.rs",
        "MAX_DELAY",
        "900",
        "SendMessageBatchRequestEntry: \"Valid values: 0 to 900\"",
    ),
    (
        "sqs/visibility.rs",
        "MAX_VISIBILITY_TIMEOUT",
        "Duration::from_secs(12 * 60 * 60)",
        "ChangeMessageVisibility: \"Maximum: 12 hours\"",
    ),
    (
        "sqs/offload/mod.rs",
        "MAX_PREFIX_BYTES",
        "1_024 - 36",
        "what a key of S3 has beside the UUID",
    ),
    (
        "described.rs",
        "MAX_ID_LENGTH",
        "128",
        "SendMessageBatchRequestEntry, PublishBatchRequestEntry: the length of an id \"is 128 characters\"",
    ),
    // Kinesis and Firehose
    (
        "kinesis/stream.rs",
        "MAX_RECORDS",
        "500",
        "PutRecords: \"can support up to 500 records\"",
    ),
    (
        "kinesis/stream.rs",
        "MAX_BATCH_BYTES",
        "10 * 1024 * 1024",
        "PutRecords: \"10 MiB for the entire request, including partition keys\"",
    ),
    (
        "kinesis/stream.rs",
        "MAX_RECORD_BYTES",
        "10 * 1024 * 1024",
        "PutRecords: \"The record size limit applies to the total size of the partition key and data blob\"",
    ),
    (
        "kinesis/stream/aggregation.rs",
        "MAX_USER_RECORDS",
        "10_000",
        "this crate: memory",
    ),
    (
        "kinesis/stream/aggregation.rs",
        "MAX_AGGREGATE_BYTES",
        "1024 * 1024",
        "UpdateMaxRecordSize: \"between 1024 and 10240 KiB\", so that every stream takes it",
    ),
    (
        "kinesis/record.rs",
        "MAX_KEY_LENGTH",
        "256",
        "PutRecordsRequestEntry: \"a maximum length limit of 256 characters for each key\"",
    ),
    (
        "firehose.rs",
        "MAX_RECORDS",
        "500",
        "PutRecordBatch: \"supports up to 500 records\"",
    ),
    (
        "firehose.rs",
        "MAX_BATCH_BYTES",
        "4 * 1024 * 1024",
        "PutRecordBatch: \"up to a limit of 4 MB for the entire request\"",
    ),
    (
        "firehose.rs",
        "MAX_RECORD_BYTES",
        "1_024_000",
        "Record: \"maximum size of the data blob, before base64-encoding, is 1,000 KiB\"",
    ),
    // SNS and EventBridge
    (
        "sns.rs",
        "MAX_MESSAGES",
        "10",
        "PublishBatch: \"no more than 10 messages\"",
    ),
    (
        "sns.rs",
        "MAX_BATCH_BYTES",
        "256 * 1024",
        "PublishBatch: \"are both 256 KiB (262,144 bytes)\", of \"each message's body and attributes\"",
    ),
    (
        "sns.rs",
        "MAX_SUBJECT_LENGTH",
        "100",
        "Publish: \"less than 100 characters long\"; 100 are left to SNS",
    ),
    (
        "eventbridge.rs",
        "MAX_EVENTS",
        "10",
        "PutEvents: \"Maximum number of 10 items\"",
    ),
    (
        "eventbridge.rs",
        "MAX_BATCH_BYTES",
        "999_999",
        "PutEvents: \"the total entry size must be less than 1MB\"",
    ),
    (
        "eventbridge.rs",
        "MAX_DETAIL_TYPE_LENGTH",
        "128",
        "PutEventsRequestEntry: \"with a maximum of 128 characters\"",
    ),
    // S3
    (
        "s3.rs",
        "MAX_KEYS",
        "1_000",
        "DeleteObjects: \"a list of up to 1,000 keys\"",
    ),
    (
        "s3.rs",
        "MAX_KEY_BYTES",
        "1_024",
        "user guide: a key is \"at most 1,024 bytes\" of UTF-8",
    ),
    (
        "s3.rs",
        "MAX_VERSION_ID_BYTES",
        "1_024",
        "user guide: version ids \"are no more than 1,024 bytes long\"",
    ),
    (
        "s3.rs",
        "MAX_BATCH_BYTES",
        "MAX_KEYS * (MAX_KEY_BYTES + MAX_VERSION_ID_BYTES)",
        "S3 documents no other limit",
    ),
    // CloudWatch
    (
        "cloudwatch.rs",
        "MAX_METRICS",
        "1_000",
        "PutMetricData: \"no more than 1000 different metrics\"",
    ),
    (
        "cloudwatch.rs",
        "MAX_REQUEST_BYTES",
        "1_000_000",
        "PutMetricData: \"limited to 1 MB in size for HTTP POST requests\"",
    ),
    (
        "cloudwatch/check.rs",
        "MAX_DIMENSIONS",
        "30",
        "PutMetricData: \"up to 30 dimensions per metric\"",
    ),
    (
        "cloudwatch/check.rs",
        "MAX_VALUES",
        "150",
        "PutMetricData: \"up to 150 values per metric\"",
    ),
    (
        "cloudwatch/check.rs",
        "MAX_METRIC_BYTES",
        "42 * 1_024",
        "this crate: more than a metric within all other limits has",
    ),
    (
        "cloudwatch/check.rs",
        "MAX_NAME_LENGTH",
        "255",
        "MetricDatum, Dimension, PutMetricData: \"Maximum length of 255\"",
    ),
    (
        "cloudwatch/check.rs",
        "MAX_DIMENSION_VALUE_BYTES",
        "1_024",
        "Dimension: \"Maximum length of 1024\", of ASCII characters",
    ),
    (
        "cloudwatch_logs.rs",
        "MAX_EVENTS",
        "10_000",
        "PutLogEvents: \"The maximum number of log events in a batch is 10,000\"",
    ),
    (
        "cloudwatch_logs.rs",
        "MAX_BATCH_BYTES",
        "1_048_576",
        "PutLogEvents: \"The maximum batch size is 1,048,576 bytes\"",
    ),
];

/// The limits that a file declares, with their values.
fn declared(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let declaration = line.split_once("const ")?.1;
        let (name, rest) = declaration.split_once(": ").filter(|_| !line.starts_with([' ', '/']))?;
        let (_, value) = rest.split_once(" = ")?;
        name.starts_with("MAX_").then_some((name, value.trim_end_matches(';')))
    })
}

fn collect(folder: &Path, root: &Path, found: &mut BTreeMap<(String, String), String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, root, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let file = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            for (name, value) in declared(&text) {
                found.insert((file.clone(), name.to_owned()), value.to_owned());
            }
        }
    }
}

#[test]
fn every_limit_has_its_source() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    for folder in ["aws", "contract", "services"].map(|folder| src.join(folder)) {
        collect(&folder, &folder, &mut found);
    }
    let listed = LIMITS.iter().map(|(file, name, value, source)| {
        assert!(!source.is_empty(), "{file}: {name}");
        (((*file).to_owned(), (*name).to_owned()), (*value).to_owned())
    });
    assert_eq!(found, listed.collect::<BTreeMap<_, _>>());
}
