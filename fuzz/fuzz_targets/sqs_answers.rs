#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::sqs_answers(data));
