//! Comparisons of two tables.

use aws_batch_simulator::{InjectedFault, KeyType, TableOptions};
use serde_json::{Value, json};

use crate::program::{Folder, Run, items};
use crate::served::Served;

fn load(folder: &Folder, served: &Served, lines: &str) {
    folder.write("lines.jsonl", lines);
    folder
        .run(&format!("load --table items {} lines.jsonl", served.arguments()))
        .expect(0, "delivered");
}

fn diff(folder: &Folder, from: &Served, to: &Served, more: &str) -> Run {
    let (from, to) = (from.endpoint(), to.endpoint());
    folder.run(&format!(
        "diff items items --from-endpoint-url {from} --to-endpoint-url {to} {more}"
    ))
}

#[test]
fn equal_tables_are_equal_however_they_are_read() {
    let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(1e6));
    load(&folder, &from, &items(0..3_000));
    let backwards: String = (0..3_000).rev().map(|id| items([id])).collect();
    load(&folder, &to, &backwards);
    from.table
        .script_reads([InjectedFault::Throttle, InjectedFault::Dropped { applied: false }]);
    let run = diff(&folder, &from, &to, "--segments 5");
    run.expect(0, "3,000 items equal in");
    assert_eq!(run.stdout, "");
}

#[test]
fn each_difference_is_a_line_with_its_key() {
    let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(1e6));
    load(&folder, &from, &items(0..100));
    load(&folder, &to, &items(1..101));
    load(
        &folder,
        &to,
        &json!({"id": 50, "name": "another", "even": true}).to_string(),
    );
    let run = diff(&folder, &from, &to, "");
    run.expect(
        1,
        "98 items equal, 1 different, 1 only in items, the first table, 1 only in items, the second table",
    );
    let mut lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    lines.sort_by_key(|line| line["difference"].to_string());
    let expected = [("different", "50"), ("only_in_first", "0"), ("only_in_second", "100")];
    assert_eq!(
        lines,
        expected.map(|(difference, id)| json!({"difference": difference, "key": {"id": {"N": id}}}))
    );
    // What is not compared does not differ.
    diff(&folder, &from, &to, "--project even").expect(1, "99 items equal, 1 only in items, the first table");
    let run = diff(&folder, &from, &to, "--json --every 1ms");
    let first: Value = serde_json::from_str(run.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(first["event"], "progress");
    assert_eq!((run.code, run.report()["different"].as_u64()), (1, Some(1)));
}

/// The pages of all segments of both tables are in memory, where a page of 1 MB of small items takes ten times as much.
#[test]
fn a_page_has_no_more_than_a_thousand_items() {
    let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(1e6));
    for served in [&from, &to] {
        load(&folder, served, &items(0..15_000));
    }
    diff(&folder, &from, &to, "--segments 1").expect(0, "15,000 items equal");
    for served in [&from, &to] {
        let calls = served.table.read_statistics().calls;
        assert!(calls >= 15, "{calls} pages");
    }
}

#[test]
fn the_members_of_sets_have_no_order() {
    let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(1e6));
    load(
        &folder,
        &from,
        "{\"id\":{\"N\":\"1\"},\"l\":{\"L\":[{\"SS\":[\"a\",\"b\"]}]}}\n",
    );
    load(
        &folder,
        &to,
        "{\"id\":{\"N\":\"1\"},\"l\":{\"L\":[{\"SS\":[\"b\",\"a\"]}]}}\n",
    );
    diff(&folder, &from, &to, "").expect(0, "1 item equal");
}

#[test]
fn tables_that_cannot_be_compared_are_refused() {
    let (folder, from) = (Folder::new(), Served::new(1e6));
    let other = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
    diff(&folder, &from, &other, "").expect(2, "the key of items is id:N, but that of items is id");
    diff(&folder, &from, &from, "--simulate 10").expect(2, "leave out --simulate");
    let denied = InjectedFault::error(400, "AccessDeniedException", false);
    from.table.script_reads(std::iter::repeat_n(denied, 100));
    diff(&folder, &from, &Served::new(1e6), "")
        .expect(1, "items cannot be read to the end: refused: AccessDeniedException");
}
