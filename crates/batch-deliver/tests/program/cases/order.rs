//! Several inputs with the same keys.

use std::fmt::Write;
use std::time::Instant;

use aws_batch_simulator::{KeyType, TableOptions, Throughput};
use serde_json::json;

use super::{load, run};
use crate::program::Folder;
use crate::served::Served;

#[test]
fn what_is_named_later_wins() {
    let old = b"{\"id\":\"a\",\"n\":1}\n{\"id\":\"b\",\"n\":1}\n{\"id\":\"c\",\"n\":1}\n";
    let new = b"{\"id\":\"c\",\"n\":2}\n";
    let files: [(&str, &[u8]); 2] = [("1-full.jsonl", old), ("2-change.jsonl", new)];
    let item = |id: &str, n: &str| json!({"id": {"S": id}, "n": {"N": n}});
    load(&files, "1-full.jsonl 2-change.jsonl").stored(&[item("a", "1"), item("b", "1"), item("c", "2")]);
    load(&files, "2-change.jsonl 1-full.jsonl").stored(&[item("a", "1"), item("b", "1"), item("c", "1")]);
    load(&files, "--order turns 1-full.jsonl 2-change.jsonl").said(0, "4 delivered");
}

#[test]
fn deletes_take_turns_because_their_order_changes_nothing() {
    let files: [(&str, &[u8]); 2] = [
        ("a.jsonl", b"{\"id\":\"a\"}\n{\"id\":\"b\"}\n"),
        ("b.jsonl", b"{\"id\":\"c\"}\noops\n"),
    ];
    // The flaw is the fourth line in turn, so that both lines of the first file are before it.
    run("delete", &files, "a.jsonl b.jsonl").said(1, "3 delivered");
    run("delete", &files, "--order file b.jsonl a.jsonl").said(1, "1 delivered");
}

/// How long eight inputs of one partition key each take, in turns and one after another, on a table of eight partitions. For
/// `docs/figures.md`: `cargo test --release --package batch-deliver --test program -- --ignored --nocapture inputs_of_one_key`
#[test]
#[ignore = "takes 8 min, and prints figures"]
fn inputs_of_one_key_each_take_longer_one_after_the_other() {
    const PARTITIONS: u32 = 8;
    const RATE: u32 = 8_000;
    for items in [3_000, 30_000] {
        let folder = Folder::new();
        for key in 0..PARTITIONS {
            let mut lines = String::new();
            for id in 0..items {
                writeln!(lines, "{{\"key\":{key},\"id\":{id}}}").unwrap();
            }
            folder.write(&format!("{key}.jsonl"), lines);
        }
        for order in ["turns", "file"] {
            let table = TableOptions::key("key", KeyType::N).sort_key("id", KeyType::N);
            let table = table.throughput(Throughput::provisioned(f64::from(RATE)).partitions(8));
            let served = Served::with_table(table, 1.0);
            let begun = Instant::now();
            let run = folder.run(&format!(
                "load --table items --order {order} {} *.jsonl",
                served.arguments()
            ));
            let least = f64::from(items * PARTITIONS / RATE);
            let took = begun.elapsed().as_secs_f64() / least;
            println!(
                "{items} items a key, --order {order}: {took:.2} of the least possible time; {}",
                run.stderr
            );
        }
    }
}
