//! What the program reads.

#[cfg(unix)]
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
#[cfg(unix)]
use std::process::Command;
use std::process::{Child, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use serde_json::json;

use crate::program::{Folder, items};
use crate::served::Served;

#[test]
fn files_patterns_and_the_standard_input_are_loaded_whatever_their_compression() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..100));
    folder.write("b-1", zstd::encode_all(items(100..200).as_bytes(), 1).unwrap());
    folder.write("b-2", gzip(&items(200..300)));
    let run = folder.run_with(
        "load --simulate 1000000 --table items --key id:N a.jsonl b-* -",
        &items(300..350),
    );
    run.expect(0, "350 delivered to items")
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
        .expect(1, "--keep-going 1 skips it; --dry-run shows all of them");
    folder
        .load("--keep-going 1 a.jsonl")
        .expect(1, "8 delivered")
        .expect(1, "1 bad line");
}

#[test]
fn a_line_without_the_key_of_the_table_is_a_bad_line() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"id\":1}\n{\"id\":\"secret\"}\n");
    let run = folder.load("a.jsonl");
    run.expect(1, "a.jsonl:2: id is a string, but in the table's key it is a number");
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn keys_and_items_are_deleted_by_their_keys() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..30) + "{\"id\":{\"N\":\"30\"}}");
    folder
        .run("delete --simulate 1000000 --table items --key id:N a.jsonl")
        .expect(0, "31 delivered to items");
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
            "a.txt:1: column 1: this is not JSON: if each line is the text of a message, use --format text",
        );
}

#[test]
fn rows_become_the_same_items_as_json() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    folder.write("a.csv", "id;name;even\n1;item 1;false\n2;item 2;true\n3;item 3;false\n");
    folder.write("b.tsv", "even\tname\tid\ntrue\titem 4\t4\n");
    folder
        .run(&format!(
            "load --table items {} --types even:BOOL a.csv b.tsv",
            served.arguments()
        ))
        .expect(0, "columns: id:N,name:S,even:BOOL")
        .expect(0, "4 delivered");
    let of_rows = served.items();
    let served = Served::new(1e6);
    folder
        .run_with(&format!("load --table items {}", served.arguments()), &items(1..5))
        .expect(0, "4 delivered");
    assert_eq!(of_rows, served.items());
}

#[test]
fn a_row_that_is_refused_is_a_dead_letter_with_its_types() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    served.table.poison(|item| item["id"]["N"] == "2");
    folder.write("a.csv", "id,even\n1,true\n2,false\n3,true\n");
    let load = format!("load --table items {}", served.arguments());
    folder
        .run(&format!("{load} --types even:BOOL --dead-letter dead a.csv"))
        .expect(1, "1 dead letter in dead");
    served.table.poison(|_| false);
    folder.run(&format!("{load} dead")).expect(0, "1 delivered");
    assert_eq!(served.items()[1], json!({"id": {"N": "2"}, "even": {"BOOL": false}}));
}

#[test]
fn a_dry_run_checks_every_line_and_needs_no_account() {
    let folder = Folder::new();
    let large = |bytes: usize| format!("{{\"id\":1,\"large\":\"{}\"}}\n", "x".repeat(bytes));
    folder.write("a.jsonl", items(0..10) + "oops\n{}\n" + &large(409_600) + &large(1_100));
    let dry = "load --table items --key id:N --dry-run --json";
    let run = folder.run(&format!("{dry} a.jsonl"));
    run.expect(1, "a.jsonl:11: column 1: this is not JSON")
        .expect(1, "a.jsonl:12: there is no id, which is part of the table's key")
        .expect(1, "a.jsonl:13: the item has 409609 bytes, the limit is 409600")
        .expect(1, "11 good lines: ")
        .expect(1, "3 bad lines");
    let report = run.report();
    assert_eq!((&report["units"], &report["largest"]), (&12.into(), &1_109.into()));
    folder.write("b.txt", "one\ntwo\n");
    folder.run("send --queue q --dry-run b.txt").expect(
        0,
        "2 good lines: 6 B, the largest 3 B, 2 requests' worth of 64 KiB; nothing was sent",
    );
}

#[test]
fn the_folder_of_an_export_is_an_input() {
    let folder = Folder::new();
    let served = Served::new(1e6);
    std::fs::create_dir_all(folder.path("export/data")).unwrap();
    let of_export = |ids: std::ops::Range<u32>| {
        let lines =
            ids.map(|id| json!({"Item": {"id": {"N": id.to_string()}, "tags": {"SS": ["a", "b"]}}}).to_string() + "\n");
        gzip(&lines.collect::<String>())
    };
    folder.write("export/data/one.json.gz", of_export(0..60));
    folder.write("export/data/two.json.gz", of_export(60..100));
    folder.write("export/data/other.json.gz", of_export(100..101));
    let list =
        ["one", "two"].map(|name| json!({"dataFileS3Key": format!("AWSDynamoDB/01/data/{name}.json.gz")}).to_string());
    folder.write("export/manifest-files.json", list.join("\n"));
    folder
        .run(&format!("load --table items {} export", served.arguments()))
        .expect(0, "100 delivered");
    assert_eq!(served.ids(), (0..100).collect::<Vec<_>>());
    assert_eq!(served.items()[7], json!({"id": {"N": "7"}, "tags": {"SS": ["a", "b"]}}));
}

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

#[test]
fn inputs_are_read_file_by_file_or_in_turn() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..5));
    folder.write("b.jsonl", "oops\n");
    folder.load("a.jsonl b.jsonl").expect(1, "5 delivered");
    folder.load("--order turns a.jsonl b.jsonl").expect(1, "1 delivered");
}

#[test]
fn what_comes_slowly_is_delivered_as_it_comes() {
    let folder = Folder::new();
    for (first, second) in [("{\"id\":1}\n", "{\"id\":2}\n"), ("id,name\n1,a\n", "2,b\n")] {
        let mut child = folder
            .command("load --simulate 1000000 --table items --key id:N --json --every 5ms --deadline 60s -")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take().unwrap();
        is_delivered_as_it_comes(child, input, first, second);
    }
}

#[cfg(unix)]
#[test]
fn rows_of_a_named_pipe_are_delivered_as_they_come() {
    let folder = Folder::new();
    let pipe = folder.path("rows.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = folder
        .command("load --simulate 1000000 --table items --key id:N --json --every 5ms --deadline 60s rows.csv")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = OpenOptions::new().write(true).open(&pipe).unwrap();
    is_delivered_as_it_comes(child, input, "id,name\n1,a\n", "2,b\n");
}

/// That the first record has been delivered before the second one is written.
#[track_caller]
fn is_delivered_as_it_comes(mut child: Child, mut input: impl Write, first: &str, second: &str) {
    input.write_all(first.as_bytes()).unwrap();
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(events.any(|event| event.contains("\"delivered\":1,")), "{first}");
    input.write_all(second.as_bytes()).unwrap();
    drop(input);
    assert!(events.last().unwrap().contains("\"delivered\":2,"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
