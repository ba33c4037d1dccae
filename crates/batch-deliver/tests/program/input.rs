//! What the program reads.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::program::{Folder, items};

#[test]
fn files_patterns_and_the_standard_input_are_loaded_whatever_their_compression() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..100));
    folder.write("b-1", zstd::encode_all(items(100..200).as_bytes(), 1).unwrap());
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(items(200..300).as_bytes()).unwrap();
    folder.write("b-2", gzip.finish().unwrap());
    let run = folder.run_with(
        "load --simulate 1000000 --table t --key id:N a.jsonl b-* -",
        &items(300..350),
    );
    run.expect(0, "350 delivered to t")
        .expect(0, "the simulator stored what was delivered: 350 writes");
    assert_eq!(run.stdout, "");
}

#[test]
fn nothing_behind_a_bad_line_is_sent_and_what_stands_before_it_is_delivered() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3) + "{\"id\":oops}\n" + &items(4..9));
    folder
        .load("a.jsonl")
        .expect(1, "a.jsonl:4: column 7: this is not JSON: expected value")
        .expect(1, "3 delivered")
        .expect(1, "--keep-going 1 passes it over");
    folder
        .load("--keep-going 1 a.jsonl")
        .expect(1, "8 delivered")
        .expect(1, "1 bad lines");
}

#[test]
fn a_line_without_the_key_of_the_table_is_a_bad_line() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":\"secret\"}\n");
    let run = folder.load("a.jsonl");
    run.expect(
        1,
        "a.jsonl:2: id is a string, and in the key of the table it is a number",
    );
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn keys_and_items_are_deleted_by_their_keys() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..30) + "{\"id\":{\"N\":\"30\"}}");
    folder
        .run("delete --simulate 1000000 --table t --key id:N a.jsonl")
        .expect(0, "31 delivered to t");
}

#[test]
fn messages_are_lines_of_text_or_of_json() {
    let folder = Folder::new();
    folder.write("a.txt", "one\ntwo\n{\"body\":1}\n");
    folder
        .run("send --simulate 1000000 --queue https://sqs.us-east-1.amazonaws.com/1/orders a.txt")
        .expect(0, "3 delivered");
    folder.write("a.jsonl", r#"{"body":"one","group_id":"a","dedup_id":"1"}"#);
    folder
        .run("send --simulate 1000000 --queue orders.fifo --format json a.jsonl")
        .expect(0, "1 delivered");
    folder
        .run("send --simulate 1000000 --queue orders --format json a.txt")
        .expect(
            1,
            "a.txt:1: column 1: this is not JSON: for a message a line of any text, use --format text",
        );
}
