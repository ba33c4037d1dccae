//! Answers that are arbitrary bytes or well-formed nonsense, and entries of any size. The same functions are fuzzed: see
//! `fuzz/README.md`.
//!
//! `ANSWERS_CASES` is the number of random deliveries for each service; 200 unless it is set. A tenth of that is of large entries.

mod bytes;
mod delivering;
mod dynamo;
#[cfg(feature = "kinesis")]
mod kinesis;
mod nonsense;
mod service;
mod sizes;
mod sqs;

use proptest::collection::vec;
use proptest::prelude::*;

fn any_bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

fn cases() -> u32 {
    let set = std::env::var("ANSWERS_CASES").ok();
    set.map_or(200, |cases| cases.parse().expect("ANSWERS_CASES is a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn nothing_is_lost_whatever_dynamodb_answers(data in any_bytes(2_000)) {
        dynamo::answers(&data);
    }

    #[test]
    fn nothing_is_lost_whatever_sqs_answers(data in any_bytes(2_000)) {
        sqs::answers(&data);
    }

    #[cfg(feature = "kinesis")]
    #[test]
    fn nothing_is_lost_whatever_kinesis_answers(data in any_bytes(2_000)) {
        kinesis::answers(&data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases().div_ceil(10)))]

    #[test]
    fn no_call_to_dynamodb_is_too_large(data in any_bytes(600)) {
        sizes::of_writes(&data);
    }

    #[test]
    fn no_call_to_sqs_is_too_large(data in any_bytes(300)) {
        sizes::of_messages(&data);
    }
}
