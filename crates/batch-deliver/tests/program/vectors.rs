//! Loads into a table with a vector index.

use aws_batch_simulator::{KeyType, TableOptions, VectorIndexOptions};
use serde_json::{Value, json};

use crate::program::Folder;
use crate::served::Served;

/// A table whose index `by_meaning` has vectors of 600 dimensions by tenant.
fn served() -> Served {
    let index = VectorIndexOptions::new("meaning", 600).key("tenant", KeyType::S);
    Served::with_table(
        TableOptions::key("id", KeyType::N).vector_index("by_meaning", index),
        1e6,
    )
}

/// Of 50 items, one has a vector of another model and five have no tenant.
fn inputs(folder: &Folder) {
    let lines = (0..50).map(|id| {
        let dimensions = if id == 30 { 512 } else { 600 };
        let mut item = json!({"id": id, "meaning": vec![0.123_456_789_012; dimensions]});
        if id % 10 != 7 {
            item["tenant"] = Value::from("t");
        }
        item.to_string() + "\n"
    });
    folder.write("items.jsonl", lines.collect::<String>());
}

const LEFT_OUT: &str = "5 items with a vector, but without the partition key of a vector index: the table takes them, and the index \
                        leaves them out; load --refuse-unindexed does not send them";

#[test]
fn a_dry_run_finds_vectors_that_the_index_cannot_take_and_items_that_it_would_leave_out() {
    let (folder, served) = (Folder::new(), served());
    inputs(&folder);
    let load = format!("load --table items --dry-run --json {} items.jsonl", served.arguments());
    let run = folder.run(&load);
    run.expect(
        1,
        "items.jsonl:31: the index `by_meaning` needs `meaning` with 600 dimensions, the item has 512",
    )
    // 600 numbers of 12 digits have 4.8 kB, and 2,400 bytes as 32-bit floats.
    .expect(
        1,
        "49 good lines: 236.2 kB, the largest 4.8 kB, 147 write units; nothing was sent",
    )
    .expect(1, "the vector indexes would be billed for 106.4 kB of writes")
    .expect(1, LEFT_OUT);
    assert_eq!(run.report()["vectors"]["unindexed"], 5);
    assert!(served.table.is_empty());

    let refusing = folder.run(&format!("{load} --refuse-unindexed"));
    refusing
        .expect(
            1,
            "items.jsonl:8: the index `by_meaning` would leave the item out: it has the vector `meaning`, but not the key `tenant`",
        )
        .expect(1, "44 good lines");
    assert_eq!(refusing.report()["vectors"]["unindexed"], 0);
}

#[test]
fn a_load_says_how_many_items_the_index_leaves_out_or_does_not_send_them() {
    let (folder, served) = (Folder::new(), served());
    inputs(&folder);
    let load = format!("load --table items {} items.jsonl", served.arguments());
    let run = folder.run(&format!("{load} --json"));
    run.expect(1, "49 delivered").expect(1, LEFT_OUT);
    assert_eq!(run.report()["vectors"]["unindexed"], 5);
    assert_eq!((served.table.len(), served.table.vectors("by_meaning")), (49, 44));

    let refusing = folder.run(&format!("{load} --refuse-unindexed"));
    refusing.expect(1, "44 delivered").expect(1, "6 undelivered");
}

/// Each of them was written, and the index left five out.
#[test]
fn items_are_refused_by_an_index_only_if_the_table_is_asked_for_its_indexes() {
    let (folder, served) = (Folder::new(), served());
    inputs(&folder);
    let load = format!(
        "load --table items {} --refuse-unindexed items.jsonl",
        served.arguments()
    );
    for how in ["", " --dry-run"] {
        folder
            .run(&format!("{load} --key id:N{how}"))
            .expect(2, "--refuse-unindexed needs the indexes of the table: leave out --key");
    }
    assert!(served.table.is_empty());
}
