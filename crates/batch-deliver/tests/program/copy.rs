//! Copies of tables.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use aws_batch_simulator::{Capacity, Faults, InjectedFault, KeyType, TableOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::bucket::Bucket;
use crate::program::{Folder, Run, interrupt, items};
use crate::served::Served;

/// A table with these items, an empty one, and a folder.
struct Tables {
    folder: Folder,
    from: Served,
    to: Served,
}

impl Tables {
    fn new(ids: std::ops::Range<u32>, rate: f64) -> Self {
        let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(rate));
        folder.write("items.jsonl", items(ids));
        folder
            .run(&format!("load --table items {} items.jsonl", from.arguments()))
            .expect(0, "delivered");
        Self { folder, from, to }
    }

    fn arguments(&self, more: &str) -> String {
        let (from, to) = (self.from.endpoint(), self.to.endpoint());
        format!("copy --from items --to items --from-endpoint-url {from} --to-endpoint-url {to} {more}")
    }

    fn copy(&self, more: &str) -> Run {
        self.folder.run(&self.arguments(more))
    }
}

#[test]
fn every_item_is_in_the_copy_as_it_was() {
    let tables = Tables::new(0..2_000, 1e6);
    let faults = Faults::none().calls(0.1, InjectedFault::Dropped { applied: false });
    tables
        .from
        .table
        .set_read_faults(faults.calls(0.1, InjectedFault::Throttle));
    tables
        .copy("")
        .expect(0, "2,000 delivered to items")
        .expect(0, "reading items");
    assert_eq!(tables.to.items(), tables.from.items());
}

#[test]
fn a_table_with_items_is_not_overwritten_unless_that_is_asked_for() {
    let tables = Tables::new(0..10, 1e6);
    let other = json!({"id": 3, "name": "another"}).to_string();
    tables.folder.write("other.jsonl", other);
    let load = format!("load --table items {} other.jsonl", tables.to.arguments());
    tables.folder.run(&load).expect(0, "1 delivered");
    tables.copy("").expect(
        2,
        "items has items: --if-absent leaves them as they are, --overwrite replaces",
    );
    assert_eq!(tables.to.ids(), [3]);
    tables.copy("--overwrite").expect(0, "10 delivered");
    assert_eq!(tables.to.items(), tables.from.items());
}

#[test]
fn only_the_attributes_of_a_projection_and_the_key_are_copied() {
    let tables = Tables::new(0..10, 1e6);
    tables.copy("--project #n --name #n=name").expect(0, "10 delivered");
    assert_eq!(tables.to.items()[1], json!({"id": {"N": "1"}, "name": {"S": "item 1"}}));
}

#[test]
fn tables_that_cannot_be_copied_are_refused() {
    let tables = Tables::new(0..10, 1e6);
    let endpoint = tables.from.arguments();
    let run = |arguments: &str| tables.folder.run(arguments);
    run(&format!("copy --from items --to items {endpoint}")).expect(2, "items and items are the same table");
    run(&format!("copy --from items --to missing {endpoint}")).expect(2, "there is no table missing");
    let other = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
    let (from, to) = (tables.from.endpoint(), other.endpoint());
    run(&format!(
        "copy --from items --to items --from-endpoint-url {from} --to-endpoint-url {to}"
    ))
    .expect(2, "the key of items is id:N, but that of items is id");
    tables
        .copy("--resume same --dead-letter same")
        .expect(2, "name another one");
    assert!(tables.to.table.is_empty());
}

#[test]
fn a_dry_run_says_what_it_is_about() {
    let tables = Tables::new(0..100, 1e6);
    tables
        .copy("--dry-run")
        .expect(0, "items has about 100 items")
        .expect(0, "1 read units, 100 write units; nothing was copied");
    assert_eq!(tables.from.table.read_statistics().calls, 0);
    assert!(tables.to.table.is_empty());
}

#[test]
fn a_copy_into_a_simulated_table_needs_no_other() {
    let tables = Tables::new(0..500, 1e6);
    let from = tables.from.endpoint();
    let copy = format!("copy --from items --to copied --from-endpoint-url {from} --simulate 100000");
    tables
        .folder
        .run(&copy)
        .expect(0, "the simulator stored what was delivered: 500 writes");
}

#[test]
fn what_the_target_refuses_is_a_dead_letter_that_can_be_loaded() {
    let tables = Tables::new(0..100, 1e6);
    tables.to.table.poison(|item| item["id"]["N"] == "7");
    tables
        .copy("--dead-letter dead")
        .expect(1, "1 dead letter in dead")
        .expect(1, "99 delivered to items");
    let letter: Value = serde_json::from_str(&tables.folder.read("dead")).unwrap();
    assert_eq!(letter["name"]["S"], "item 7");
    tables.to.table.poison(|_| false);
    let load = format!("load --table items {} dead", tables.to.arguments());
    tables.folder.run(&load).expect(0, "1 delivered");
    assert_eq!(tables.to.items(), tables.from.items());
}

#[test]
fn a_table_that_cannot_be_read_to_its_end_is_an_error() {
    let tables = Tables::new(0..2_000, 1e6);
    let gone = InjectedFault::error(400, "ResourceNotFoundException", false);
    tables
        .from
        .table
        .script_reads([InjectedFault::None].into_iter().chain(std::iter::repeat_n(gone, 50)));
    tables
        .copy("")
        .expect(1, "items cannot be read: refused: ResourceNotFoundException");
    assert!(tables.to.table.len() < 2_000);
}

#[test]
fn a_filter_on_an_attribute_copies_the_items_for_which_it_holds() {
    let tables = Tables::new(0..200, 1e6);
    tables
        .copy("--filter #even=:yes --value :yes=true")
        .expect(0, "100 delivered");
    assert_eq!(tables.to.ids(), (0..200).step_by(2).collect::<Vec<_>>());
}

#[test]
fn an_item_with_other_attributes_stays_if_absent_ones_are_copied() {
    let tables = Tables::new(0..50, 1e6);
    tables
        .folder
        .write("other.jsonl", json!({"id": 3, "name": "another"}).to_string());
    let load = format!("load --table items {} other.jsonl", tables.to.arguments());
    tables.folder.run(&load).expect(0, "1 delivered");
    tables
        .copy("--if-absent")
        .expect(0, "49 delivered to items")
        .expect(0, "1 with a failed condition");
    assert_eq!(tables.to.items()[3]["name"], json!({"S": "another"}));
}

/// Waits until so many are delivered, or for the end.
fn wait_for(child: &mut std::process::Child, delivered: u64) {
    let output = BufReader::new(child.stdout.as_mut().unwrap());
    for line in output.lines() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["figures"]["delivered"].as_u64() >= Some(delivered) {
            return;
        }
    }
}

fn start(tables: &Tables) -> std::process::Child {
    start_with(tables.folder.command(&tables.arguments("--resume state")))
}

fn start_with(mut command: std::process::Command) -> std::process::Child {
    command.args(["--json", "--every", "5ms", "--concurrency", "4"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_copy_that_is_killed_again_and_again_is_complete_in_the_end() {
    const KILLS: u64 = 8;
    let tables = Tables::new(0..4_000, 3_000.0);
    let mut random = SmallRng::seed_from_u64(20_261_127);
    let mut kills = 0;
    loop {
        // A run that is killed when all is delivered may have written that it has ended.
        let has_ended = kills > 0 && tables.folder.read("state").contains("\"has_ended\":true");
        let is_in_doubt = kills > 0 && !has_ended;
        let mut child = start(&tables);
        if kills < KILLS {
            wait_for(&mut child, random.random_range(100..900));
            child.kill().unwrap();
        }
        let run = Run::from(child.wait_with_output().unwrap());
        let words = "up to 11,000 items may be written twice";
        assert_eq!(run.stderr.contains(words), is_in_doubt, "{}", run.stderr);
        if run.code == 0 {
            run.expect(0, "items are settled by earlier runs");
            break;
        }
        kills += 1;
    }
    assert!(kills > 1, "a table this slow leaves time for more than {kills} kills");
    assert_eq!(tables.to.items(), tables.from.items());
    let twice = tables.to.table.statistics().applied - 4_000;
    println!("{twice} of 4,000 items were written twice by {kills} kills");
    assert!(twice <= kills * 11_000);
    // All is settled: another run has nothing to do.
    tables
        .copy("--resume state")
        .expect(0, "state says that nothing is left to do: to begin again, remove it")
        .expect(0, "0 delivered to items");
}

/// The items in the other table are its own, also if nothing of them is in the journal yet.
#[test]
fn a_copy_that_is_killed_at_its_first_items_goes_on() {
    let tables = Tables::new(0..400, 500.0);
    let mut child = start_with(tables.folder.command(&tables.arguments("--resume state")));
    while tables.to.table.is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    tables.copy("--resume state").expect(0, "delivered to items");
    assert_eq!(tables.to.items(), tables.from.items());
}

#[test]
fn a_copy_goes_on_by_a_journal_in_a_bucket() {
    let (tables, bucket) = (Tables::new(0..6_000, 1_000.0), Bucket::new());
    let start = || {
        let mut command = tables.folder.command(&tables.arguments("--resume s3://b/state"));
        command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
        start_with(command)
    };
    let mut killed = start();
    // A second or 2,500 items later the journal has a position.
    wait_for(&mut killed, 3_000);
    killed.kill().unwrap();
    killed.wait().unwrap();
    tables.to.table.set_capacity(Capacity::unlimited());
    let run = Run::from(start().wait_with_output().unwrap());
    let journal = &bucket.objects("state")[0].1;
    let (_, journal) = journal.split_once(' ').unwrap();
    let journal: Value = serde_json::from_str(journal).unwrap();
    assert!(journal["position"].is_array(), "{journal}");
    run.expect(0, "up to 11,000 items may be written twice")
        .expect(0, "items are settled by earlier runs");
    assert_eq!(tables.to.items(), tables.from.items());
    assert!(tables.to.table.statistics().applied < 12_000);
    let run = Run::from(start().wait_with_output().unwrap());
    run.expect(0, "items are settled by earlier runs")
        .expect(0, "0 delivered to items");
}

#[test]
fn a_copy_that_was_refused_is_corrected_with_the_same_journal() {
    let tables = Tables::new(0..10, 1e6);
    tables.folder.write("other.jsonl", json!({"id": 3}).to_string());
    let load = format!("load --table items {} other.jsonl", tables.to.arguments());
    tables.folder.run(&load).expect(0, "1 delivered");
    tables.copy("--resume state").expect(2, "items has items");
    let corrected = tables.copy("--resume state --overwrite --segments 3");
    corrected.expect(0, "10 delivered");
    assert!(!corrected.stderr.contains("written twice"), "{}", corrected.stderr);
    tables
        .copy("--resume state --overwrite")
        .expect(2, "the --segments was 3, and is 8");
}

#[test]
fn a_copy_that_does_not_begin_closes_its_journal_in_a_bucket() {
    let (tables, bucket) = (Tables::new(0..10, 1e6), Bucket::new());
    let run = |more: &str| {
        let mut command = tables.folder.command(&tables.arguments(more));
        command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
        Run::from(start_with(command).wait_with_output().unwrap())
    };
    run("--resume s3://b/first").expect(0, "10 delivered");
    run("--resume s3://b/second").expect(2, "items has items: --if-absent leaves them as they are");
    run("--resume s3://b/third --overwrite --dead-letter missing/dead.jsonl").expect(2, "missing/dead.jsonl");
}

#[test]
fn a_journal_in_a_bucket_is_of_one_run_at_a_time() {
    let (tables, bucket) = (Tables::new(0..9_000, 1_000.0), Bucket::new());
    let start = || {
        let mut command = tables.folder.command(&tables.arguments("--resume s3://b/state"));
        command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
        start_with(command)
    };
    let mut first = start();
    wait_for(&mut first, 100);
    let second = Run::from(start().wait_with_output().unwrap());
    second.expect(2, "the journal s3://b/state is in use by another load");
    bucket.remove("state");
    let first = Run::from(first.wait_with_output().unwrap());
    first.expect(1, "s3://b/state can no longer be written, so the delivery was stopped");
}

#[cfg(unix)]
#[test]
fn an_interrupted_copy_goes_on_and_says_how_many_items_it_copies_again() {
    let tables = Tables::new(0..3_000, 600.0);
    let mut child = start(&tables);
    wait_for(&mut child, 300);
    interrupt(&child);
    let run = Run::from(child.wait_with_output().unwrap());
    run.expect(130, "stopping: waiting for the calls in flight")
        .expect(130, "to continue, run the same command again");
    tables.to.table.set_capacity(Capacity::unlimited());
    let run = Run::from(start(&tables).wait_with_output().unwrap());
    // It has stopped in the middle of pages, which are read again.
    let (_, words) = run.stderr.split_once("stopped or killed: up to ").unwrap();
    let (twice, _) = words.split_once(" items may be written twice").unwrap();
    let twice: u64 = twice.replace(',', "").parse().unwrap();
    run.expect(0, "delivered to items");
    assert_eq!(tables.to.items(), tables.from.items());
    let applied = tables.to.table.statistics().applied;
    assert_eq!(applied, 3_000 + twice, "{}", run.stderr);
}

#[test]
fn a_journal_is_of_one_copy() {
    let tables = Tables::new(0..10, 1e6);
    tables.copy("--resume state").expect(0, "10 delivered");
    tables
        .copy("--resume state --segments 3")
        .expect(2, "the --segments was 8, and is 3");
    tables.folder.write("other", "{}\n");
    tables
        .copy("--resume other")
        .expect(2, "other is not a journal of a table that is read");
}

/// The journal of the old table would say that the items of the new one are settled.
#[test]
fn a_journal_is_of_the_tables_that_were_there() {
    for is_target in [false, true] {
        let tables = Tables::new(0..10, 1e6);
        tables.copy("--resume state").expect(0, "10 delivered");
        let again = if is_target { &tables.to } else { &tables.from };
        again.create_again();
        let words = if is_target {
            "the id of the table was"
        } else {
            "the id of the source was"
        };
        tables
            .copy("--resume state")
            .expect(2, "state is the journal of another load")
            .expect(2, words)
            .expect(
                2,
                "it is another one, or was created again; --trust-journal continues anyway. To start over",
            );
    }
}

#[test]
fn reads_have_a_pace_of_their_own() {
    let tables = Tables::new(0..2_000, 1e6);
    tables.from.table.set_read_capacity(Capacity::per_second(1_000.0));
    tables
        .copy("--max-read-rate 500 --max-rate 100000")
        .expect(0, "2,000 delivered");
    assert_eq!(tables.to.ids().len(), 2_000);
}
