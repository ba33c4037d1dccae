//! One record: its size, its keys, and what the service accepts.

use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use md5::{Digest, Md5};

use crate::invalid::InvalidEntry;
use crate::services::checks::{check_length, check_size};

/// Characters of a partition key. From the API reference of `PutRecords`.
const MAX_KEY_LENGTH: usize = 256;

/// Checks a record of at most this many bytes, and returns how many it has.
pub(super) fn check(record: &PutRecordsRequestEntry, limit: usize) -> Result<usize, InvalidEntry> {
    let key = record.partition_key();
    if key.is_some_and(str::is_empty) {
        return Err(InvalidEntry::Missing { part: "partition key" });
    }
    let key = key.unwrap_or_default();
    check_length("partition key", key, MAX_KEY_LENGTH, "of at most 256 characters")?;
    if record.explicit_hash_key().is_some_and(|key| !is_hash_key(key)) {
        let rule = "a decimal number from 0 to 2^128 - 1 without leading zeros";
        return Err(InvalidEntry::malformed("explicit hash key", rule));
    }
    check_size("record", limit, size(record))
}

/// Bytes of a record as Kinesis counts them: its data and its partition key.
pub(super) fn size(record: &PutRecordsRequestEntry) -> usize {
    record.data().as_ref().len() + record.partition_key().map_or(0, str::len)
}

/// `0|([1-9]\d{0,38})`, and no more than 128 bits. From the API reference of `PutRecords`.
fn is_hash_key(key: &str) -> bool {
    let is_number = key == "0" || !key.starts_with(['0', '+']);
    is_number && key.parse::<u128>().is_ok()
}

/// The hash key of a record: its explicit one, or the MD5 of its partition key. From the API reference of `PutRecords`.
/// `None` if the stream distributes the records itself.
pub(super) fn hash_key(record: &PutRecordsRequestEntry) -> Option<u128> {
    if let Some(explicit) = record.explicit_hash_key() {
        return explicit.parse().ok();
    }
    let digest = Md5::digest(record.partition_key()?);
    Some(u128::from_be_bytes(digest.into()))
}

#[cfg(test)]
mod tests {
    use aws_sdk_kinesis::primitives::Blob;

    use super::*;

    #[test]
    fn the_hash_key_is_the_md5_of_the_partition_key_unless_it_is_given() {
        let record = PutRecordsRequestEntry::builder()
            .data(Blob::new(""))
            .partition_key("abc");
        // The MD5 of `abc` in RFC 1321.
        let expected = 0x9001_5098_3cd2_4fb0_d696_3f7d_28e1_7f72;
        assert_eq!(hash_key(&record.clone().build().unwrap()), Some(expected));
        let explicit = record.explicit_hash_key("340282366920938463463374607431768211455");
        assert_eq!(hash_key(&explicit.build().unwrap()), Some(u128::MAX));
        let spread = PutRecordsRequestEntry::builder().data(Blob::new("")).build().unwrap();
        assert_eq!(hash_key(&spread), None);
    }
}
