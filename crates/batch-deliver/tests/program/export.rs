//! Exports of tables.

use std::io::Read;
use std::process::Stdio;

use aws_batch_simulator::{InjectedFault, KeyType, TableOptions};
use serde_json::{Value, json};

use crate::bucket::Bucket;
use crate::program::{Folder, Run, items};
use crate::served::Served;

/// A table with these items, and a folder.
fn filled(ids: std::ops::Range<u32>) -> (Folder, Served) {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("items.jsonl", items(ids));
    folder
        .run(&format!("load --table items {} items.jsonl", served.arguments()))
        .expect(0, "delivered");
    (folder, served)
}

fn export(folder: &Folder, served: &Served, arguments: &str) -> Run {
    folder.run(&format!("export --table items {} {arguments}", served.arguments()))
}

fn ids(lines: &str) -> Vec<u64> {
    let id = |line: &str| serde_json::from_str::<Value>(line).unwrap()["id"].as_u64().unwrap();
    let mut ids: Vec<u64> = lines.lines().map(id).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn every_item_is_a_line_that_can_be_loaded_again() {
    let (folder, served) = filled(0..1_000);
    export(&folder, &served, "out.jsonl").expect(0, "1,000 items of items written to out.jsonl");
    let first = folder.read("out.jsonl");
    let line: Value = serde_json::from_str(first.lines().next().unwrap()).unwrap();
    assert!(line["id"]["N"].is_string(), "{line}");
    let copy = Served::new(1e6);
    folder
        .run(&format!("load --table items {} out.jsonl", copy.arguments()))
        .expect(0, "1,000 delivered");
    assert_eq!(copy.items(), served.items());
    assert!(!folder.path("out.jsonl.new").exists());
}

#[test]
fn an_export_to_a_name_that_load_would_read_as_csv_is_refused() {
    let (folder, served) = filled(0..10);
    for name in ["out.csv", "out.tsv.gz", "s3://b/out.csv.zst"] {
        export(&folder, &served, name).expect(2, "name it .jsonl instead");
    }
    assert!(!folder.path("out.csv").exists());
    // One of an earlier version is not loaded as rows.
    export(&folder, &served, "out.jsonl").expect(0, "10 items");
    folder.write("out.csv", folder.read("out.jsonl"));
    folder
        .run(&format!("load --table items {} out.csv", served.arguments()))
        .expect(1, "line 1 is JSON and no header of rows: give --format dynamodb");
}

#[test]
fn plain_lines_go_through_a_pipe() {
    let (folder, served) = filled(0..300);
    let run = export(
        &folder,
        &served,
        "- --format json --segments 3 --consistent --max-read-rate 1000",
    );
    run.expect(0, "300 items of items written to the standard output");
    assert_eq!(ids(&run.stdout), (0..300).collect::<Vec<_>>());
    let copy = Served::new(1e6);
    folder
        .run_with(&format!("load --table items {} -", copy.arguments()), &run.stdout)
        .expect(0, "300 delivered");
    assert_eq!(copy.items(), served.items());
}

#[test]
fn a_projection_has_only_its_attributes() {
    let (folder, served) = filled(0..10);
    let run = export(&folder, &served, "- --format json --project #n,id --name #n=name");
    run.expect(0, "10 items");
    let line: Value = serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(line.as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "name"]);
    export(&folder, &served, "- --project id --name #n=name").expect(2, "#n is in no expression");
    export(&folder, &served, "- --filter id=:a").expect(2, "give it as --value :a=");
}

#[test]
fn a_file_is_packed_as_its_name_says() {
    let (folder, served) = filled(0..500);
    export(&folder, &served, "out.jsonl.gz --format json").expect(0, "500 items");
    export(&folder, &served, "out.jsonl.zst --format json").expect(0, "500 items");
    let mut unpacked = String::new();
    let packed = std::fs::read(folder.path("out.jsonl.gz")).unwrap();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut unpacked)
        .unwrap();
    assert_eq!(ids(&unpacked), (0..500).collect::<Vec<_>>());
    let packed = std::fs::read(folder.path("out.jsonl.zst")).unwrap();
    let unpacked = zstd::decode_all(&*packed).unwrap();
    assert_eq!(ids(&String::from_utf8(unpacked).unwrap()).len(), 500);
}

#[test]
fn what_plain_json_loses_is_told() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write(
        "a.jsonl",
        "{\"id\":{\"N\":\"1\"},\"tags\":{\"SS\":[\"a\"]}}\n{\"id\":{\"N\":\"2\"}}\n",
    );
    folder
        .run(&format!("load --table items {} a.jsonl", served.arguments()))
        .expect(0, "2 delivered");
    export(&folder, &served, "- --format json").expect(0, "1 item has sets or binary values");
    let run = export(&folder, &served, "-");
    assert!(!run.stderr.contains("sets"), "{}", run.stderr);
}

#[test]
fn an_export_that_fails_leaves_the_file_as_it_was() {
    let (folder, served) = filled(0..100);
    folder.write("out.jsonl", "before\n");
    let denied = InjectedFault::error(400, "AccessDeniedException", false);
    served.table.script_reads(std::iter::repeat_n(denied, 100));
    export(&folder, &served, "out.jsonl").expect(1, "items cannot be read to the end: refused: AccessDeniedException");
    assert_eq!(folder.read("out.jsonl"), "before\n");
    assert!(!folder.path("out.jsonl.new").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_export_says_that_it_is_not_complete() {
    let (folder, served) = filled(0..100);
    served.table.set_read_capacity(aws_batch_simulator::Capacity::none());
    let mut child = folder
        .command(&format!(
            "export --table items {} out.jsonl --every 50ms",
            served.arguments()
        ))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    crate::program::until_there("a call", || (served.table.read_statistics().calls > 0).then_some(()));
    crate::program::interrupt(&child);
    let code = child.wait().unwrap().code();
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(code, Some(130));
    run.expect(130, "interrupted: the items of items are not complete in out.jsonl");
    assert!(!folder.path("out.jsonl").exists());
}

#[test]
fn wrong_use_is_told_with_what_to_do() {
    let (folder, served) = filled(0..1);
    export(&folder, &served, "- --json").expect(2, "leave out --json");
    export(&folder, &served, "- --simulate 10").expect(2, "has nothing to read: say with --simulate-with");
    export(&folder, &served, ".").expect(2, "cannot be written");
    folder
        .run(&format!("export --table missing {} -", served.arguments()))
        .expect(2, "there is no table missing");
}

#[test]
fn the_report_is_json() {
    let (folder, served) = filled(0..50);
    let run = export(&folder, &served, "out.jsonl --json");
    assert_eq!(run.report()["items"], json!(50));
    assert!(run.report()["read_units"].as_f64() > Some(0.0));
}

/// Items of a table with another key have the shape of their table.
#[test]
fn a_table_with_a_sort_key_is_exported() {
    let folder = Folder::new();
    let served = Served::with_table(TableOptions::key("year", KeyType::N).sort_key("title", KeyType::S), 1e6);
    folder.write(
        "a.jsonl",
        "{\"year\":1999,\"title\":\"b\"}\n{\"year\":1999,\"title\":\"a\"}\n",
    );
    folder
        .run(&format!("load --table items {} a.jsonl", served.arguments()))
        .expect(0, "2 delivered");
    let run = export(&folder, &served, "- --format json");
    let mut lines: Vec<&str> = run.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["{\"title\":\"a\",\"year\":1999}", "{\"title\":\"b\",\"year\":1999}"]
    );
}

fn to_bucket(bucket: &Bucket, folder: &Folder, served: &Served, arguments: &str) -> Run {
    let mut command = folder.command(&format!("export --table items {arguments}"));
    command.env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
    Run::from(command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).output().unwrap())
}

/// An item that has about as many bytes as it may.
fn large(id: u32) -> String {
    json!({"id": id, "text": "x".repeat(380_000)}).to_string() + "\n"
}

#[test]
fn an_export_whose_object_is_complete_although_the_answer_was_lost_succeeds() {
    let bucket = Bucket::losing_an_answer();
    let (folder, served) = filled(0..100);
    folder.write("large.jsonl", (100..150).map(large).collect::<String>());
    folder
        .run(&format!("load --table items {} large.jsonl", served.arguments()))
        .expect(0, "50 delivered");
    bucket.put("out.jsonl", "before");
    to_bucket(&bucket, &folder, &served, "s3://b/out.jsonl --format json").expect(0, "150 items");
    assert_eq!(ids(&bucket.objects("out").pop().unwrap().1).len(), 150);
}

#[test]
fn an_object_is_put_whole_or_in_parts() {
    let bucket = Bucket::new();
    let to_bucket = |folder: &Folder, served: &Served, arguments: &str| to_bucket(&bucket, folder, served, arguments);
    let (folder, served) = filled(0..100);
    to_bucket(&folder, &served, "s3://b/out/small.jsonl --format json").expect(0, "100 items");
    let (_, small) = bucket.objects("out/small").pop().unwrap();
    assert_eq!(ids(&small), (0..100).collect::<Vec<_>>());
    folder.write("large.jsonl", (100..150).map(large).collect::<String>());
    folder
        .run(&format!("load --table items {} large.jsonl", served.arguments()))
        .expect(0, "50 delivered");
    to_bucket(&folder, &served, "s3://b/out/large.jsonl --format json").expect(0, "150 items");
    let objects = bucket.objects("out/large");
    assert_eq!(objects.len(), 1, "no part is left");
    assert_eq!(ids(&objects[0].1), (0..150).collect::<Vec<_>>());
    to_bucket(&folder, &served, "s3://b/out/").expect(2, "give s3://bucket/key");
}
