//! What commands that read tables say before they are run.

use aws_batch_simulator::{KeyType, TableOptions};
use serde_json::json;

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

fn run(folder: &Folder, served: &Served, arguments: &str) -> Run {
    folder.run(&format!("{arguments} {}", served.arguments()))
}

#[test]
fn prices_that_are_given_make_dollars() {
    let (folder, served) = filled(0..100);
    let prices = "--read-price 250000 --write-price 1000000";
    let copy = "copy --from items --to copies --dry-run --json";
    let run_with_both = run(&folder, &served, &format!("{copy} {prices}"));
    run_with_both.expect(
        0,
        "1 read units for $0.25, 100 write units for $100.00, $100.25 in all; nothing was copied",
    );
    let report = run_with_both.report();
    assert_eq!(
        (&report["read_dollars"], &report["write_dollars"], &report["dollars"]),
        (&json!(0.25), &json!(100.0), &json!(100.25))
    );
    let half = run(&folder, &served, &format!("{copy} --read-price 0.25"));
    half.expect(
        0,
        "1 read units for less than $0.01, 100 write units; nothing was copied",
    );
    assert!(half.report().get("dollars").is_none(), "{}", half.stdout);
    run(&folder, &served, &format!("{copy} --read-price 0")).expect(2, "a number above 0");
    run(&folder, &served, "copy --from items --to copies --read-price 1").expect(2, "--dry-run");
}

#[test]
fn an_export_and_a_comparison_read_alone() {
    let (folder, served) = filled(0..1_000);
    let export = "export --table items --dry-run --consistent --read-price 100000 out.jsonl";
    run(&folder, &served, export)
        .expect(0, "items has about 1,000 items, ")
        .expect(0, "6 read units for $0.60; nothing was exported");
    assert!(!folder.path("out.jsonl").exists());
    run(&folder, &served, "load --table copy items.jsonl").expect(0, "1,000 delivered");
    let diff = "diff items copy --dry-run --json --read-price 100000";
    let compared = run(&folder, &served, diff);
    compared.expect(0, "6 read units for $0.60; nothing was compared");
    assert_eq!(compared.report()["items"], 2_000);
    assert_eq!(served.table.read_statistics().calls, 0);
}

#[test]
fn a_deletion_counts_the_items_and_takes_the_units_of_their_average_size() {
    let (folder, served) = (
        Folder::new(),
        Served::with_table(TableOptions::key("id", KeyType::N), 1e6),
    );
    let lines = (0..50).map(|id| json!({"id": id, "text": "x".repeat(1_500)}).to_string() + "\n");
    folder.write("items.jsonl", lines.collect::<String>());
    run(&folder, &served, "load --table items items.jsonl").expect(0, "50 delivered");
    let delete = "delete --table items --all --dry-run --json --write-price 10000";
    let counted = run(&folder, &served, delete);
    counted
        .expect(0, "50 items of items, counted with ")
        .expect(0, "100 write units for $1.00; nothing was deleted");
    assert_eq!(
        (&counted.report()["items"], &counted.report()["write_units"]),
        (&json!(50), &json!(100))
    );
    assert_eq!(served.ids().len(), 50);
    run(
        &folder,
        &served,
        "delete --table items --dry-run --write-price 1 items.jsonl",
    )
    .expect(
        2,
        "--read-price and --write-price are for --all, --where and --key-condition",
    );
}

#[test]
fn an_update_that_a_token_recognizes_takes_twice_the_units() {
    let (folder, served) = filled(0..100);
    let update = "update --table items --where #even=:yes --value :yes=true --value :n=1 --dry-run";
    let with = |clause: [&str; 2]| -> Run {
        let mut command = folder.command(&format!("{update} {}", served.arguments()));
        command.args(clause).output().unwrap().into()
    };
    let (added, set) = (with(["--add", "more :n"]), with(["--set", "more = :n"]));
    set.expect(0, "50 items of items")
        .expect(0, "50 write units; nothing was updated");
    added.expect(0, "100 write units; nothing was updated");
}
