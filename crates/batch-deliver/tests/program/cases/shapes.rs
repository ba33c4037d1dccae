//! Items and messages with what services and their tools put around them.

use aws_batch_simulator::{KeyType, TableOptions};
use serde_json::{Value, json};

use super::{load, run};
use crate::program::Folder;
use crate::served::Served;

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
fn the_answer_to_a_scan_and_a_request_file_are_loaded_on_one_line_or_many() {
    let items = [item("a"), item("b"), item("c")];
    let answer = json!({"Items": items, "Count": 3, "ScannedCount": 3, "ConsumedCapacity": null});
    let requests: Vec<_> = items.iter().map(|item| json!({"PutRequest": {"Item": item}})).collect();
    for document in [answer, json!({"items": requests})] {
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            load(&[("a.json", text.as_bytes())], "a.json").stored(&items);
        }
    }
}

#[test]
fn a_bad_item_of_a_scan_is_skipped_alone_and_a_dead_letter_has_one_line() {
    let answer = "{\n\"Items\": [\n{\"id\": {\"S\": \"a\"}},\n{\"id\": {\"N\": \"1\"}},\n{\n\"id\": {\"S\": \"b\"},\n\"n\": {\"N\": \"x\"}}\n]}\n";
    let loaded = load(
        &[("a.json", answer.as_bytes())],
        "--keep-going 1 --dead-letter dead a.json",
    );
    loaded
        .said(1, "a.json:4: id is a number")
        .said(1, "a.json:5: not sent: `n`: the number must be")
        .said(1, "1 dead letter in dead");
    assert_eq!(loaded.items, [json!({"id": {"S": "a"}})]);
}

#[test]
fn a_scan_continues_after_its_settled_items() {
    let folder = Folder::new();
    let served = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
    let items: Vec<Value> = (0..60).map(|id| item(&format!("{id:02}"))).collect();
    folder.write(
        "a.json",
        serde_json::to_string_pretty(&json!({"Items": items})).unwrap(),
    );
    folder.write(
        "b",
        items
            .iter()
            .map(|item| item.to_string().replace("{\"S\":\"", "{\"S\":\"b"))
            .collect::<String>(),
    );
    served.table.poison(|item| item["id"]["S"] == "07");
    let load = format!("load --table items {} --resume state a.json b", served.arguments());
    folder.run(&load).expect(1, "119 delivered");
    folder.run(&load).expect(0, "120 lines are settled by earlier runs");
}

#[test]
fn an_item_that_has_a_list_of_items_stays_an_item() {
    let lines = b"{\"id\":\"a\",\"Items\":[{\"n\":1}]}\n{\"Items\":[{\"n\":1}],\"id\":\"b\"}\n";
    let stored = |id: &str| json!({"id": {"S": id}, "Items": {"L": [{"M": {"n": {"N": "1"}}}]}});
    load(&[("a.jsonl", lines)], "a.jsonl").stored(&[stored("a"), stored("b")]);
}

#[test]
fn what_has_the_items_elsewhere_is_named_with_the_command() {
    for (line, words) in [
        (r#"{"Items":[{"id":"a"}],"Count":1}"#, "`jq -c '.Items[]' FILE`"),
        (
            r#"{"Responses":{"films":[{"id":{"S":"a"}}]}}"#,
            "`jq -c '.Responses[][]' FILE`",
        ),
        (r#"{"RequestItems":{"films":[]}}"#, "`jq -c '.RequestItems[][]' FILE`"),
        (r#"{"TableName":"films","Item":{"id":{"S":"a"}}}"#, "`jq -c .Item FILE`"),
        (
            r#"{"Records":[{"eventName":"INSERT","dynamodb":{}}]}"#,
            "`jq -c '.Records[]' FILE`",
        ),
        (
            r#"{"Messages":[{"MessageId":"m","Body":"{}"}]}"#,
            "`jq -c '.Messages[].Body | fromjson' FILE`",
        ),
        (
            r#"{"MessageId":"m","ReceiptHandle":"r","Body":"{}"}"#,
            "`jq -c '.Body | fromjson' FILE`",
        ),
        ("[{\"id\":\"a\"}]", "`jq -c '.[]' FILE`"),
        ("PAR1\u{15}\u{4}", "this is Parquet"),
        ("{\0\"\0i\0d\0", "--encoding utf-16le"),
    ] {
        load(&[("a", line.as_bytes())], "a").said(1, words).stored_nothing();
    }
}

#[test]
fn incremental_exports_are_repeated_and_not_deleted() {
    let folder = Folder::new();
    let served = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
    let put = |id: &str| json!({"Metadata": {}, "Keys": {"id": {"S": id}}, "NewImage": item(id)}).to_string() + "\n";
    let removed =
        |id: &str| json!({"Metadata": {}, "Keys": {"id": {"S": id}}, "OldImage": item(id)}).to_string() + "\n";
    std::fs::create_dir_all(folder.path("AWSDynamoDB/data")).unwrap();
    for (export, lines) in [("01", put("a") + &put("b")), ("02", removed("a") + &put("c"))] {
        std::fs::create_dir_all(folder.path(&format!("AWSDynamoDB/{export}"))).unwrap();
        folder.write(&format!("AWSDynamoDB/data/{export}.json"), lines);
        let list = json!({"itemCount": 2, "dataFileS3Key": format!("AWSDynamoDB/data/{export}.json")});
        folder.write(&format!("AWSDynamoDB/{export}/manifest-files.json"), list.to_string());
        let summary = json!({"outputFormat": "DYNAMODB_JSON", "exportType": "INCREMENTAL_EXPORT", "outputView": "NEW_AND_OLD_IMAGES"});
        folder.write(
            &format!("AWSDynamoDB/{export}/manifest-summary.json"),
            summary.to_string(),
        );
    }
    let exports = "AWSDynamoDB/01 AWSDynamoDB/02";
    folder
        .run(&format!("load --table items {} {exports}", served.arguments()))
        .expect(0, "4 delivered");
    let mut stored = served.table.items();
    stored.sort_by_key(Value::to_string);
    assert_eq!(stored, [item("b"), item("c")]);
    folder
        .run(&format!("delete --table items {} {exports}", served.arguments()))
        .expect(1, "which items to delete is not clear");
}

#[test]
fn incremental_exports_in_a_bucket_share_the_folder_of_their_data_files() {
    let folder = Folder::new();
    let bucket = crate::bucket::Bucket::new();
    for export in ["01", "02"] {
        let key = format!("prefix/AWSDynamoDB/data/{export}.json");
        bucket.put(&key, json!({"Metadata": {}, "Keys": {"id": {"S": export}}}).to_string());
        let list = json!({"itemCount": 1, "dataFileS3Key": key}).to_string();
        bucket.put(&format!("prefix/AWSDynamoDB/{export}/manifest-files.json"), list);
    }
    let dry_run = format!("load --dry-run --table items --key id {}", bucket.arguments());
    folder
        .run(&format!(
            "{dry_run} s3://b/prefix/AWSDynamoDB/01 s3://b/prefix/AWSDynamoDB/02/"
        ))
        .expect(0, "2 good lines");
    bucket.remove("prefix/AWSDynamoDB/data/02.json");
    folder.run(&format!("{dry_run} s3://b/prefix/AWSDynamoDB/02")).expect(
        2,
        "has no prefix/AWSDynamoDB/data/02.json: copy the whole export, and the folder data next to it",
    );
}

#[test]
fn received_messages_are_sent_by_their_bodies() {
    let folder = Folder::new();
    let message = json!({"MessageId": "m", "ReceiptHandle": "r", "Body": "hello",
        "MessageAttributes": {"kind": {"StringValue": "new", "DataType": "String"}}});
    folder.write("lines", format!("{message}{message}\n{message}\n"));
    folder.write(
        "answer",
        serde_json::to_string_pretty(&json!({"Messages": [message, message, message]})).unwrap(),
    );
    for name in ["lines", "answer"] {
        let send = |arguments: &str| folder.run(&format!("send --queue q --dry-run {arguments} {name}"));
        // The body, and the name, the type and the value of the attribute.
        send("--format json").expect(0, "3 good lines: 54 B, the largest 18 B");
        send("").expect(1, "`batch-deliver send --format json` sends their bodies");
    }
}

#[test]
fn pretty_json_is_not_sent_line_by_line() {
    let folder = Folder::new();
    folder.write("a.json", "[\n  {\n    \"order\": 1\n  }\n]\n");
    folder
        .run("send --queue q --simulate 1000000 --keep-going 99 a.json")
        .expect(1, "a.json cannot be read: this is one JSON value over several lines");
    folder
        .run("send --queue q --simulate 1000000 --format json a.json")
        .expect(
            1,
            "a.json:1: column 1: this is a JSON array, but each line must be an object: `jq -c '.[]' FILE`",
        );
    folder.write("a.txt", "[\nnot JSON\n[INFO] a line\n");
    folder
        .run("send --queue q --simulate 1000000 a.txt")
        .expect(0, "3 delivered");
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
    let line = br#"{"id":{"s":"a"},"z":{"nULLValue":true},"b":{"bOOL":true},"m":{"m":{"t":{"sS":["x"]}}}}"#;
    load(&[("part-0", line)], "part-0").stored(&[
        json!({"id": {"S": "a"}, "z": {"NULL": true}, "b": {"BOOL": true}, "m": {"M": {"t": {"SS": ["x"]}}}}),
    ]);
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

#[test]
fn requests_to_put_are_not_deleted_and_those_of_another_table_are_refused() {
    let put = "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}}";
    let delete = "{\"DeleteRequest\":{\"Key\":{\"id\":{\"S\":\"b\"}}}}";
    let lines = format!("{delete}\n{put}\n");
    run("delete", &[("a", lines.as_bytes())], "a").said(1, "a:2: this is a request to put an item");
    for (command, list) in [("load", put), ("delete", delete)] {
        let other = format!("{{\"other\":[{list}]}}");
        run(command, &[("a", other.as_bytes())], "a")
            .said(1, "a list of another table")
            .said(1, "0 delivered");
        let both = format!("{{\"items\":[{list}],\"other\":[{list}]}}");
        run(command, &[("a", both.as_bytes())], "a").said(1, "a list of another table");
    }
    load(&[("a", format!("{{\"items\":[{put}]}}").as_bytes())], "a").stored(&[json!({"id": {"S": "a"}})]);
}

#[test]
fn a_change_whose_new_image_is_no_item_is_a_flaw() {
    for image in ["null", "7", "[]"] {
        let line = format!("{{\"Metadata\":{{}},\"Keys\":{{\"id\":{{\"S\":\"a\"}}}},\"NewImage\":{image}}}");
        load(&[("a", line.as_bytes())], "a").said(1, "the NewImage of this change is not an item");
    }
}

#[test]
fn changes_and_puts_are_not_deleted_with_a_condition_either() {
    let change = "{\"Metadata\":{},\"Keys\":{\"id\":{\"S\":\"a\"}},\"NewImage\":{\"id\":{\"S\":\"a\"}}}";
    let put = "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}}";
    let key = "{\"Key\":{\"id\":{\"S\":\"a\"}}}";
    let delete = "{\"DeleteRequest\":{\"Key\":{\"id\":{\"S\":\"a\"}}}}";
    for condition in ["--condition attribute_exists(id)", "--failed failed"] {
        let arguments = format!("--dry-run --key id {condition} a");
        let deletion = |line: &str| run("delete", &[("a", line.as_bytes())], &arguments);
        deletion(change).said(
            1,
            "a:1: this is a change of an item, and which items to delete is not clear",
        );
        deletion(put).said(1, "a:1: this is a request to put an item");
        deletion(key).said(0, "1 good line");
        deletion(delete).said(0, "1 good line");
    }
}

#[test]
fn an_update_of_a_deletion_is_a_flaw_and_of_a_key_alone_is_not() {
    let update = |line: &str| {
        let arguments = "--dry-run --key id --set seen=:yes --value :yes=true a";
        run("update", &[("a", line.as_bytes())], arguments)
    };
    for deletion in [
        "{\"Metadata\":{},\"Keys\":{\"id\":{\"S\":\"a\"}},\"OldImage\":{\"id\":{\"S\":\"a\"}}}",
        "{\"DeleteRequest\":{\"Key\":{\"id\":{\"S\":\"a\"}}}}",
    ] {
        update(deletion).said(
            1,
            "a:1: this is the deletion of an item, which an update would create again",
        );
    }
    for record in [
        "{\"Key\":{\"id\":{\"S\":\"a\"}}}",
        "{\"PutRequest\":{\"Item\":{\"id\":{\"S\":\"a\"}}}}",
        "{\"id\":\"a\"}",
    ] {
        update(record).said(0, "1 good line");
    }
}
