//! Answers that are arbitrary bytes or well-formed nonsense, and entries of any size. The same functions are fuzzed: see
//! `fuzz/README.md`.
//!
//! 50 random deliveries for each service, times `CASES`. A tenth of that is of large entries.

mod bytes;
mod delivering;
mod dynamo;
mod expressions;
#[cfg(feature = "kinesis")]
mod kinesis;
mod nonsense;
mod service;
mod sizes;
mod sqs;

use crate::support::cases::cases;
use crate::support::corpus::corpus;
use proptest::collection::vec;
use proptest::prelude::*;

fn any_bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(50)))]

    #[test]
    fn nothing_is_lost_whatever_dynamodb_answers(data in any_bytes(2_000)) {
        dynamo::answers(&data);
    }

    #[test]
    fn nothing_is_lost_whatever_sqs_answers(data in any_bytes(2_000)) {
        sqs::answers(&data);
    }

    #[test]
    fn an_update_of_any_form_changes_an_item_once(data in any_bytes(100)) {
        expressions::of_changes(&data);
    }

    #[cfg(feature = "kinesis")]
    #[test]
    fn nothing_is_lost_whatever_kinesis_answers(data in any_bytes(2_000)) {
        kinesis::answers(&data);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(5)))]

    #[test]
    fn no_call_to_dynamodb_is_too_large(data in any_bytes(600)) {
        sizes::of_writes(&data);
    }

    #[test]
    fn no_call_to_sqs_is_too_large(data in any_bytes(300)) {
        sizes::of_messages(&data);
    }
}

#[test]
fn what_fuzzing_has_kept_holds() {
    let targets = [
        ("dynamo_answers", dynamo::answers as fn(&[u8])),
        ("sqs_answers", sqs::answers),
        ("dynamo_sizes", sizes::of_writes),
        ("sqs_sizes", sizes::of_messages),
        ("expressions", expressions::of_changes),
    ];
    for (target, run) in targets {
        for (name, data) in corpus(target) {
            println!("{target}/{name}");
            run(&data);
        }
    }
}

#[cfg(feature = "kinesis")]
#[test]
fn what_fuzzing_has_kept_of_kinesis_holds() {
    for (name, data) in corpus("kinesis_answers") {
        println!("{name}");
        kinesis::answers(&data);
    }
}
