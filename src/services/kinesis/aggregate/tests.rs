//! What is written, and what is read of it again.

use aws_sdk_kinesis::primitives::Blob;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::services::kinesis::deaggregate;

fn record(key: &str, hash_key: Option<&str>, data: &[u8]) -> PutRecordsRequestEntry {
    let record = PutRecordsRequestEntry::builder().partition_key(key);
    let record = record.set_explicit_hash_key(hash_key.map(str::to_owned));
    record.data(Blob::new(data)).build().unwrap()
}

fn aggregated(records: &[PutRecordsRequestEntry]) -> Aggregate<'_> {
    let mut aggregate = Aggregate::default();
    for record in records {
        aggregate.push(record);
    }
    aggregate
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits = |place| u8::from_str_radix(&hexadecimal[place..place + 2], 16).unwrap();
    (0..hexadecimal.len()).step_by(2).map(digits).collect()
}

/// Written by `AggRecord` of aws-kinesis-agg 1.2.3 for Python: `add_user_record` for each record, then `get_contents()[2].hex()`.
#[test]
fn what_is_written_is_what_the_library_for_python_writes() {
    let largest = "340282366920938463463374607431768211455";
    for (records, expected) in [
        (
            vec![
                record("a", None, b"one"),
                record("ä", None, b""),
                record("a", None, b"three"),
            ],
            "f3899ac20a01610a02c3a41a0708001a036f6e651a0408011a001a0908001a057468726565c232e392e521013ea3fd0f5d8ac34326",
        ),
        (
            vec![
                record("a", Some("0"), b"x"),
                record("b", Some(largest), b"y"),
                record("c", Some("0"), b"z"),
            ],
            "f3899ac20a01610a01620a01631201301227333430323832333636393230393338343633343633333734363037343331373638323131343535\
             1a07080010001a01781a07080110011a01791a07080210001a017ac051b26d32aa72a2d6bcc7d472a343d5",
        ),
    ] {
        let expected = bytes(expected);
        assert_eq!(aggregated(&records).data(), expected);
        let read = deaggregate(&expected).unwrap();
        assert_eq!(read, records);
    }
}

#[test]
fn a_number_takes_a_byte_for_seven_bits() {
    for (number, bytes) in [
        (0, 1),
        (127, 1),
        (128, 2),
        (16_383, 2),
        (16_384, 3),
        (1 << 21, 4),
        (usize::MAX, 10),
    ] {
        let mut written = Vec::new();
        write_number(&mut written, number as u64);
        assert_eq!((number_len(number), written.len()), (bytes, bytes), "{number}");
    }
}

fn keys() -> impl Strategy<Value = String> {
    // Few, so that they repeat; some of several bytes for a character.
    prop_oneof![
        "[a-c]",
        "[äß€]{1,3}",
        Just("k".repeat(256)),
        Just("é".repeat(256)),
        "[a-z]{1,20}"
    ]
}

fn hash_keys() -> impl Strategy<Value = Option<String>> {
    option::of(prop_oneof![Just(0_u128), Just(u128::MAX), any::<u128>(), (0..3_u128)])
        .prop_map(|key| key.map(|key| key.to_string()))
}

fn records() -> impl Strategy<Value = Vec<PutRecordsRequestEntry>> {
    let data = prop_oneof![
        (any::<u8>(), 0..200_usize).prop_map(|(byte, bytes)| vec![byte; bytes]),
        Just(vec![7; 127]),
        Just(vec![7; 20_000])
    ];
    let record = (keys(), hash_keys(), data).prop_map(|(key, hash_key, data)| record(&key, hash_key.as_deref(), &data));
    vec(record, 1..150)
}

proptest! {
    // Each case has up to 150 records.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_aggregated_is_read_again_in_its_order_and_has_the_computed_size(records in records()) {
        let mut aggregate = Aggregate::default();
        for record in &records {
            let (before, added) = (aggregate.data_len(), aggregate.added_by(record));
            aggregate.push(record);
            prop_assert_eq!(aggregate.data_len(), before + added);
        }
        let data = aggregate.data();
        prop_assert_eq!(data.len(), aggregate.data_len());
        prop_assert_eq!(&deaggregate(&data).unwrap(), &records);
        // Of any of them, so that the bytes that a call is filled by are enough.
        let largest_key = records.iter().map(|record| record.partition_key().unwrap().len()).max().unwrap();
        prop_assert!(data.len() + largest_key <= records.iter().map(len_alone).sum());
    }

    #[test]
    fn anything_is_read_or_is_no_aggregate(records in records(), place in any::<prop::sample::Index>(), bits in 1..=u8::MAX) {
        let mut data = aggregated(&records).data();
        let place = place.index(data.len());
        data[place] ^= bits;
        prop_assert_eq!(deaggregate(&data), None, "a damaged one");
        prop_assert_eq!(deaggregate(&data[..place]), None, "the beginning of one");
        // With the right MD5, whatever it is of.
        let end = data.len() - DIGEST;
        let digest = Md5::digest(&data[MAGIC.len()..end]);
        data[end..].copy_from_slice(&digest);
        let _ = deaggregate(&data);
    }

    #[test]
    fn any_message_is_read_or_is_no_aggregate(message in vec(any::<u8>(), 0..100)) {
        let _ = deaggregate(&framed(&message));
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&MAGIC[..], message, &Md5::digest(message)[..]].concat()
}

#[test]
fn a_reader_passes_over_tags_and_unknown_fields_and_takes_tables_in_any_place() {
    // A record, with a tag, then a field of eight bytes, one of four, and the table.
    let record = b"\x1a\x0f\x08\x00\x1a\x02hi\x22\x07\x0a\x01t\x12\x02ag";
    let message = [&record[..], b"\x29\0\0\0\0\0\0\0\0\x35\0\0\0\0\x0a\x01k"].concat();
    let read = deaggregate(&framed(&message)).unwrap();
    let [only] = &read[..] else {
        panic!("{read:?}");
    };
    assert_eq!((only.partition_key(), only.data().as_ref()), (Some("k"), &b"hi"[..]));
}

#[test]
fn a_message_that_breaks_its_own_rules_is_no_aggregate() {
    for message in [
        // Nothing.
        &b""[..],
        // The key is not in the table.
        b"\x1a\x06\x08\x00\x1a\x02hi",
        b"\x0a\x01k\x1a\x06\x08\x01\x1a\x02hi",
        // Without a key, without data.
        b"\x0a\x01k\x1a\x04\x1a\x02hi",
        b"\x0a\x01k\x1a\x02\x08\x00",
        // The explicit hash key is not in the table.
        b"\x0a\x01k\x1a\x08\x08\x00\x10\x00\x1a\x02hi",
        // A key that is not a text.
        b"\x0a\x01\xff\x1a\x06\x08\x00\x1a\x02hi",
        // Longer than the message.
        b"\x0a\x7fk",
        // A number without an end, and a wire type that does not exist.
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x0f",
    ] {
        assert_eq!(deaggregate(&framed(message)), None, "{message:?}");
    }
}
