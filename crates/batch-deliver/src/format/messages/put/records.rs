//! Records of Kinesis and Firehose.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hasher};

use aws_sdk_firehose::types::Record;
use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::attribute::{text, unreadable};
use crate::format::line_records::LineParser;
use crate::source::Flaw;

/// Records for a data stream: each line is the data, or a JSON object that contains it.
#[derive(Debug, Clone)]
pub(crate) struct StreamRecords {
    pub(crate) is_json: bool,
    /// The partition key of records that have none. `None`: a hash of the data, so that a record goes to the same shard when it
    /// is sent by another run.
    pub(crate) partition_key: Option<String>,
}

/// Records for a delivery stream: each line is the data, or a JSON object that contains it. Each record ends in a line feed,
/// because Firehose joins records.
#[derive(Debug, Clone)]
pub(crate) struct DeliveryRecords {
    pub(crate) is_json: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamFields<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    partition_key: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveryFields<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
}

const SYNTAX: &str = "this is not JSON: if each line is the data of a record, use --format text";

impl LineParser<PutRecordsRequestEntry> for StreamRecords {
    fn parse(&mut self, line: &[u8]) -> Result<PutRecordsRequestEntry, Flaw> {
        let (data, key) = if self.is_json {
            let data = "a record is a JSON object with `data` and optionally `partition_key`: if each line is the data of a \
                        record, use --format text";
            let read = serde_json::from_slice(line);
            let fields: StreamFields<'_> = read.map_err(|error| unreadable(&error, line, data, SYNTAX))?;
            (Cow::Owned(text(fields.data)?.into_bytes()), fields.partition_key)
        } else {
            (Cow::Borrowed(line), None)
        };
        let key = key
            .or_else(|| self.partition_key.clone())
            .unwrap_or_else(|| hash_of(&data));
        let record = PutRecordsRequestEntry::builder()
            .data(Blob::new(data))
            .partition_key(key);
        record.build().map_err(|_| Flaw::new("a record needs data"))
    }
}

impl LineParser<Record> for DeliveryRecords {
    fn parse(&mut self, line: &[u8]) -> Result<Record, Flaw> {
        let mut bytes = if self.is_json {
            let data = "a record is a JSON object with `data`: if each line is the data of a record, use --format text";
            let read = serde_json::from_slice(line);
            let fields: DeliveryFields<'_> = read.map_err(|error| unreadable(&error, line, data, SYNTAX))?;
            text(fields.data)?.into_bytes()
        } else {
            line.to_vec()
        };
        bytes.push(b'\n');
        let record = Record::builder().data(Blob::new(bytes));
        record.build().map_err(|_| Flaw::new("a record needs data"))
    }
}

fn hash_of(data: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(is_json: bool, partition_key: Option<&str>) -> StreamRecords {
        StreamRecords {
            is_json,
            partition_key: partition_key.map(str::to_owned),
        }
    }

    #[test]
    fn a_line_is_the_data_whatever_its_bytes() {
        let record = records(false, None).parse(b"ab\xFFc").unwrap();
        assert_eq!(record.data().as_ref(), b"ab\xFFc");
        let record = DeliveryRecords { is_json: false }.parse(b"ab\xFFc").unwrap();
        assert_eq!(record.data().as_ref(), b"ab\xFFc\n");
    }

    #[test]
    fn the_partition_key_is_the_lines_own_or_the_given_one_or_a_hash() {
        let key = |mut records: StreamRecords, line: &str| {
            let record = records.parse(line.as_bytes()).unwrap();
            record.partition_key().unwrap().to_owned()
        };
        let line = r#"{"data":"a","partition_key":"own"}"#;
        assert_eq!(key(records(true, Some("given")), line), "own");
        assert_eq!(key(records(true, Some("given")), r#"{"data":"a"}"#), "given");
        let [one, same, other] = ["a", "a", "b"].map(|line| key(records(false, None), line));
        assert_eq!((one.len(), one == same, one == other), (16, true, false));
        assert_eq!(key(records(true, None), r#"{"data":"a"}"#), one);
    }

    #[test]
    fn data_that_is_no_string_is_the_json_that_it_is() {
        let record = records(true, None).parse(br#"{"data":{"id": 1.0}}"#).unwrap();
        assert_eq!(record.data().as_ref(), br#"{"id": 1.0}"#);
        let record = DeliveryRecords { is_json: true }.parse(br#"{"data":"a\nb"}"#).unwrap();
        assert_eq!(record.data().as_ref(), b"a\nb\n");
    }

    #[test]
    fn a_flaw_says_what_to_do_and_does_not_quote() {
        for line in [
            r#"{"text":"secret"}"#,
            r#"{"data":"a","partition_key":["secret"]}"#,
            "secret",
        ] {
            let flaw = records(true, None).parse(line.as_bytes()).unwrap_err().to_string();
            assert!(flaw.contains("--format text") && !flaw.contains("secret"), "{flaw}");
        }
    }
}
