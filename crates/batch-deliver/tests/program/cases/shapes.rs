//! Items and messages with what services and their tools put around them.

use serde_json::{Value, json};

use super::{load, run};

fn item(id: &str) -> Value {
    json!({"id": {"S": id}, "n": {"N": "1"}})
}

#[test]
fn requests_to_write_items_are_loaded() {
    let lines = br#"{"PutRequest":{"Item":{"id":{"S":"a"},"n":{"N":"1"}}}}
{"PutRequest":{"Item":{"id":{"S":"b"},"n":{"N":"1"}}}}
{"PutRequest":{"Item":{"id":"c","n":1}}}
{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}
"#;
    load(&[("a.jsonl", lines)], "a.jsonl").stored(&[item("b"), item("c")]);
}

#[test]
fn keys_alone_are_deleted_and_not_loaded() {
    let keys: [(&str, &[u8]); 1] = [("a.jsonl", b"{\"Key\":{\"id\":{\"S\":\"a\"}}}\n")];
    run("delete", &keys, "a.jsonl").said(0, "1 delivered");
    load(&keys, "a.jsonl")
        .said(1, "a.jsonl:1: this is a key alone")
        .stored_nothing();
}

#[test]
fn changes_are_repeated_in_their_order() {
    let lines = br#"{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"id":{"S":"a"}},"NewImage":{"id":{"S":"a"},"n":{"N":"1"}}}
{"Metadata":{"WriteTimestampMicros":{"N":"2"}},"Keys":{"id":{"S":"b"}},"NewImage":{"id":{"S":"b"},"n":{"N":"0"}}}
{"Metadata":{"WriteTimestampMicros":{"N":"3"}},"Keys":{"id":{"S":"a"}},"OldImage":{"id":{"S":"a"},"n":{"N":"1"}}}
{"eventName":"MODIFY","dynamodb":{"Keys":{"id":{"S":"b"}},"NewImage":{"id":{"S":"b"},"n":{"N":"1"}}}}
"#;
    let files: [(&str, &[u8]); 1] = [("a.jsonl", lines)];
    load(&files, "a.jsonl").stored(&[item("b")]);
    run("delete", &files, "a.jsonl").said(1, "a.jsonl:1: this is a change of an item");
}

#[test]
fn joined_objects_are_lines() {
    let lines = b"{\"id\":\"a\",\"n\":1}{\"id\":\"b\",\"n\":1} {\"id\":\"c\",\"n\":oops}{\"id\":\"d\",\"n\":1}";
    let loaded = load(&[("a", lines)], "--keep-going 1 a");
    loaded
        .said(1, "a:1: column 48: this is not JSON")
        .said(1, "3 delivered");
    assert_eq!(loaded.items, [item("a"), item("b"), item("d")]);
}

#[test]
fn a_typed_part_of_a_plain_item_is_a_flaw_unless_it_is_meant() {
    let files: [(&str, &[u8]); 1] = [("a.jsonl", b"{\"id\":\"a\",\"zones\":[{\"S\":\"east\"}]}\n")];
    load(&files, "a.jsonl")
        .said(1, "a.jsonl:1: zones[0]: this value is written as in DynamoDB JSON")
        .stored_nothing();
    let zones = json!({"id": {"S": "a"}, "zones": {"L": [{"M": {"S": {"S": "east"}}}]}});
    load(&files, "--format json a.jsonl").stored(&[zones]);
}

#[test]
fn types_in_the_case_of_data_pipeline_are_loaded() {
    load(&[("part-0", b"{\"id\":{\"s\":\"a\"},\"n\":{\"n\":\"1\"}}\n")], "part-0").stored(&[item("a")]);
}

#[test]
fn a_flaw_of_a_typed_value_names_its_attribute() {
    for (value, words) in [
        (r#"{"N":5}"#, "a.b[0]: a value of the type N is written as a string"),
        (
            r#"{"BOOL":"true"}"#,
            "a.b[0]: a value of the type BOOL is true or false",
        ),
        (r#"{"B":"AAE"}"#, "a.b[0]: a binary value is not base64"),
        (r#"{"N":"1,5"}"#, "`a.b[0]`: the number must be a decimal number"),
    ] {
        let line = format!(r#"{{"id":{{"S":"a"}},"a":{{"M":{{"b":{{"L":[{value}]}}}}}}}}"#);
        let loaded = load(&[("a.jsonl", line.as_bytes())], "a.jsonl");
        assert!(loaded.run.stderr.contains(words), "{words}: {}", loaded.run.stderr);
    }
}
