//! The user records of a Kinesis record, as readers take them apart.

use aws_sdk_kinesis::primitives::Blob;
use aws_sdk_kinesis::types::PutRecordsRequestEntry;
use md5::{Digest, Md5};

use super::aggregate::{BYTES, DATA, DIGEST, HASH_KEY_INDEX, HASH_KEYS, KEY_INDEX, KEYS, MAGIC, NUMBER, RECORDS};

/// The wire types of numbers of eight and of four bytes, which the format does not use.
const EIGHT_BYTES: u64 = 1;
const FOUR_BYTES: u64 = 5;

/// The user records in the data of a Kinesis record that was [aggregated](super::KinesisStream::aggregated), by this crate or by
/// the Kinesis Producer Library, in the order in which they were put. `None` if the data is not an aggregate, or a damaged one:
/// then it is the data of a record by itself, as the Kinesis Client Library has it.
///
/// Each is as it was put: with its own partition key, and its explicit hash key if it had one.
///
/// ```
/// # use aws_batch_delivery::targets::kinesis::deaggregate;
/// # fn read(record: aws_sdk_kinesis::types::Record) {
/// match deaggregate(record.data().as_ref()) {
///     Some(user_records) => println!("{} user records", user_records.len()),
///     None => println!("a record by itself"),
/// }
/// # }
/// assert_eq!(deaggregate(b"by itself"), None);
/// ```
pub fn deaggregate(data: &[u8]) -> Option<Vec<PutRecordsRequestEntry>> {
    let (message, digest) = data.strip_prefix(&MAGIC)?.split_last_chunk::<DIGEST>()?;
    if message.is_empty() || Md5::digest(message)[..] != digest[..] {
        return None;
    }
    let (mut keys, mut hash_keys, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for field in Fields(message) {
        match field? {
            (KEYS, Value::Bytes(key)) => keys.push(text(key)?),
            (HASH_KEYS, Value::Bytes(key)) => hash_keys.push(text(key)?),
            (RECORDS, Value::Bytes(record)) => records.push(record),
            _ => {}
        }
    }
    let user_record = |record| {
        let mut user_record = PutRecordsRequestEntry::builder();
        for field in Fields(record) {
            user_record = match field? {
                (KEY_INDEX, Value::Number(place)) => user_record.partition_key(at(&keys, place)?),
                (HASH_KEY_INDEX, Value::Number(place)) => user_record.explicit_hash_key(at(&hash_keys, place)?),
                (DATA, Value::Bytes(data)) => user_record.data(Blob::new(data)),
                _ => user_record,
            };
        }
        // It has no key or no data.
        user_record
            .build()
            .ok()
            .filter(|record| record.partition_key().is_some())
    };
    records.into_iter().map(user_record).collect()
}

fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}

fn at<'a>(table: &[&'a str], place: u64) -> Option<&'a str> {
    table.get(usize::try_from(place).ok()?).copied()
}

/// A value of a message. Those of eight and four bytes are passed over.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Other,
}

/// The fields of a message with their numbers. `None` once the rest cannot be read.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn read(&mut self) -> Option<(u64, Value<'a>)> {
        let tag = self.read_number()?;
        let value = match tag & 7 {
            NUMBER => Value::Number(self.read_number()?),
            BYTES => {
                let length = self.read_number()?;
                Value::Bytes(self.take(length)?)
            }
            EIGHT_BYTES => self.take(8).map(|_| Value::Other)?,
            FOUR_BYTES => self.take(4).map(|_| Value::Other)?,
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn read_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<(u64, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field)
    }
}
