//! Workers that deliver the segments of a table.

use std::process::{Child, Command, Stdio};

use aws_batch_simulator::{Capacity, InjectedFault, KeyType, TableOptions};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::activity::Activity;
use crate::bucket::Bucket;
use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;

pub(crate) const ACTIVITY: &str = "arn:aws:states:us-east-1:000000000000:activity:deliver";

/// A table with these items, another one, and a folder.
pub(crate) struct Tables {
    pub(crate) folder: Folder,
    pub(crate) from: Served,
    pub(crate) to: Served,
}

impl Tables {
    pub(crate) fn new(count: u32, rate: f64) -> Self {
        let (folder, from, to) = (Folder::new(), Served::new(1e6), Served::new(rate));
        folder.write("items.jsonl", items(0..count));
        folder
            .run(&format!("load --table items {} items.jsonl", from.arguments()))
            .expect(0, "delivered");
        Self { folder, from, to }
    }

    /// The shards of a plan of so many segments, as a state machine hands them out.
    pub(crate) fn plan(&self, segments: u32) -> Vec<Value> {
        let plan = format!(
            "plan --from-table items --segments {segments} {}",
            self.from.arguments()
        );
        let mut shards: Vec<Value> = serde_json::from_str(&self.folder.run(&plan).stdout).unwrap();
        for shard in &mut shards {
            shard["execution"] = "one".into();
        }
        shards
    }

    /// A worker that copies from the one table into the other.
    fn copying(&self, activity: &Activity, more: &str) -> Command {
        let (from, to) = (self.from.endpoint(), self.to.endpoint());
        let mut command = self.folder.command(&format!(
            "worker --activity {ACTIVITY} --table items --from-endpoint-url {from} {more}"
        ));
        command.env("AWS_ENDPOINT_URL_DYNAMODB", to);
        worker(command, activity)
    }

    /// A worker that changes the table.
    fn changing(&self, activity: &Activity, more: &[&str]) -> Child {
        let mut command = self
            .folder
            .command(&format!("worker --activity {ACTIVITY} --table items"));
        command
            .args(more)
            .env("AWS_ENDPOINT_URL_DYNAMODB", self.from.endpoint());
        worker(command, activity).spawn().unwrap()
    }
}

fn worker(mut command: Command, activity: &Activity) -> Command {
    command.env("AWS_ENDPOINT_URL_SFN", &activity.endpoint);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn terminate(child: Child) -> Run {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    Run::from(child.wait_with_output().unwrap())
}

/// The sum of a count over so many shards, none of which has failed.
pub(crate) fn sum(activity: &Activity, shards: usize, count: &str) -> u64 {
    let of_shard = |_| {
        let (operation, counts) = activity.answer();
        assert_eq!(operation, "SendTaskSuccess", "{counts}");
        counts[count].as_u64().unwrap()
    };
    (0..shards).map(of_shard).sum()
}

#[test]
fn a_plan_has_every_segment_once() {
    let tables = Tables::new(100, 1e6);
    let shard = |number: u32| {
        let input = "dynamodb://items?segments=3";
        json!({"input": input, "begin": number, "end": number + 1, "version": null, "max_rate": null, "execution": "one"})
    };
    assert_eq!(tables.plan(3), [shard(0), shard(1), shard(2)]);
    let endpoint = tables.from.arguments();
    let run = |arguments: &str| tables.folder.run(&format!("plan {arguments} {endpoint}"));
    run("--from-table items --segments 3 --lines").expect(0, "3 segments of items with about 100 items, ");
    run("--from-table missing --segments 3").expect(2, "there is no table missing");
    for (arguments, words) in [
        ("--from-table items", "--segments <N>"),
        ("--from-table items --segments 10001", "1..=10000"),
        ("--from-table items --segments 3 items.jsonl", "cannot be used with"),
        ("--segments 3 items.jsonl", "cannot be used with"),
        ("--segments 3", "<INPUT>"),
        ("", "<INPUT>"),
    ] {
        run(arguments).expect(2, words);
    }
}

/// More segments than items: most of them are empty, which is no fault.
#[test]
fn all_segments_together_are_the_table() {
    for (count, segments) in [(1_000, 7), (10, 50)] {
        let tables = Tables::new(count, 1e6);
        let faults = [InjectedFault::Throttle, InjectedFault::Dropped { applied: false }];
        let plan = tables.plan(segments);
        tables.from.table.script_reads(faults);
        let shards = plan.len();
        let activity = Activity::new(plan);
        let workers = [0; 2].map(|_| tables.copying(&activity, "").spawn().unwrap());
        assert_eq!(sum(&activity, shards, "delivered"), u64::from(count));
        assert_eq!(tables.to.items(), tables.from.items());
        assert_eq!(tables.to.table.statistics().applied, u64::from(count));
        workers.into_iter().map(terminate).for_each(drop);
    }
}

/// Which segment an item belongs to does not depend on those that were deleted before.
#[test]
fn deletions_in_one_segment_hide_no_item_of_another() {
    let tables = Tables::new(1_000, 1e6);
    let plan = tables.plan(8);
    let activity = Activity::new(plan);
    let worker = tables.changing(&activity, &["--delete"]);
    assert_eq!(sum(&activity, 8, "delivered"), 1_000);
    assert!(tables.from.table.is_empty());
    let told = terminate(worker);
    assert!(told.stderr.contains("items: account "), "{}", told.stderr);
}

#[test]
fn items_for_which_an_expression_holds_are_updated_or_deleted() {
    let tables = Tables::new(200, 1e6);
    let plan = tables.plan(4);
    let update = [
        "--where",
        "#even = :yes",
        "--value",
        ":yes=true",
        "--set",
        "seen = :now",
        "--value",
        ":now=today",
    ];
    let activity = Activity::new(plan.clone());
    let worker = tables.changing(&activity, &update);
    assert_eq!(sum(&activity, 4, "delivered"), 100);
    let items = tables.from.items();
    assert_eq!(
        (&items[2]["seen"], items[3].get("seen")),
        (&json!({"S": "today"}), None)
    );
    terminate(worker);
    let activity = Activity::new(plan);
    let worker = tables.changing(
        &activity,
        &["--where", "#even = :yes", "--value", ":yes=true", "--delete"],
    );
    assert_eq!(sum(&activity, 4, "delivered"), 100);
    assert_eq!(tables.from.ids().len(), 100);
    terminate(worker);
}

#[test]
fn segments_that_are_not_for_the_worker_fail_and_nothing_is_written() {
    let tables = Tables::new(50, 1e6);
    let segment = |input: &str, begin: u32, end: u32| json!({"input": input, "begin": begin, "end": end});
    let failures = |worker: Child, activity: &Activity, expected: &[(&str, &str)]| {
        for (error, _) in expected {
            assert_eq!(activity.answer(), ("SendTaskFailure".to_owned(), json!(error)));
        }
        let told = terminate(worker);
        for (_, words) in expected {
            assert!(told.stderr.contains(words), "{words} is not in {}", told.stderr);
        }
    };
    let activity = Activity::new([
        segment("dynamodb://items?segments=4", 4, 5),
        segment("dynamodb://items", 0, 1),
        segment("dynamodb://missing?segments=4", 0, 1),
        segment("dynamodb://items?segments=4", 0, 1),
    ]);
    let worker = tables.changing(&activity, &[]);
    let expected = [
        ("NoShard", "has segments from 0 to before 4, but not from 4 to before 5"),
        ("NoShard", "dynamodb://items has no number of segments"),
        ("Unreadable", "there is no table missing"),
        ("Unreadable", "items and items are the same table: a copy needs two"),
    ];
    failures(worker, &activity, &expected);

    let activity = Activity::new([segment("dynamodb://others?segments=4", 0, 1)]);
    let worker = tables.changing(&activity, &["--delete"]);
    let expected = [(
        "Unreadable",
        "this worker is for the items of items, and not for those of others",
    )];
    failures(worker, &activity, &expected);

    let activity = Activity::new([
        segment("items.jsonl", 0, 10),
        segment("dynamodb://items?segments=4", 0, 1),
    ]);
    let filter = ["--where", "id > :id", "--value", ":id=5"];
    let worker = tables.changing(&activity, &filter);
    let expected = [
        (
            "Unreadable",
            "this worker is for segments of a table, of which --where chooses the items",
        ),
        ("Unreadable", "are the same table"),
    ];
    failures(worker, &activity, &expected);

    let mut command = tables
        .folder
        .command(&format!("worker --activity {ACTIVITY} --queue q --simulate 10"));
    let activity = Activity::new([segment("dynamodb://items?segments=4", 0, 1)]);
    command.env("AWS_ENDPOINT_URL_DYNAMODB", tables.from.endpoint());
    let worker = worker_of(command, &activity);
    failures(
        worker,
        &activity,
        &[(
            "Unreadable",
            "the items of a table are for another table: this worker has a queue",
        )],
    );
    assert_eq!(tables.from.ids().len(), 50);
}

pub(crate) fn worker_of(command: Command, activity: &Activity) -> Child {
    worker(command, activity).spawn().unwrap()
}

#[test]
fn an_item_that_the_other_table_does_not_take_is_a_dead_letter() {
    let tables = Tables::new(100, 1e6);
    tables.to.table.poison(|item| item["id"]["N"] == "7");
    let activity = Activity::new(tables.plan(1));
    let worker = tables.copying(&activity, "--dead-letters dead").spawn().unwrap();
    let (_, counts) = activity.answer();
    assert_eq!((&counts["delivered"], &counts["dead_letters"]), (&json!(99), &json!(1)));
    terminate(worker);
    let letter = tables.folder.read("dead/dynamodb+++items+segments+1@0-1.jsonl");
    assert_eq!(serde_json::from_str::<Value>(&letter).unwrap()["name"]["S"], "item 7");
}

#[test]
fn wrong_use_of_a_worker_is_told_with_what_to_do() {
    let folder = Folder::new();
    for (arguments, words) in [
        ("--export out --table items", "cannot be used with"),
        (
            "--export out --format csv",
            "--format must be json or dynamodb for an export",
        ),
        ("--export out", "--export needs --checkpoints <DIR>"),
        ("--table items --part-bytes 1MB", "cannot be used with"),
        ("--queue q --max-read-rate 5", "cannot be used with"),
        ("--queue q --name #a=b", "cannot be used with"),
        ("--table items --set a=:b", "--where <EXPRESSION>"),
        ("--table items --where a=:b --add n:c", "need --checkpoints <DIR>"),
        ("--table items --where a=:b --set l[9]=:b", "need --checkpoints <DIR>"),
        ("--table items --where a=:b --remove l[0]", "need --checkpoints <DIR>"),
        (
            "--table items --where a=:b --set c=:c,n=n+:d",
            "need --checkpoints <DIR>",
        ),
        ("--table items --where a=:b --set c=:b --delete", "cannot be used with"),
        ("--queue q --where a=:b", "cannot be used with"),
        (
            "--table items --delete --from-region eu-west-1",
            "--from-endpoint-url are for copies",
        ),
    ] {
        folder
            .run(&format!("worker --activity {ACTIVITY} {arguments}"))
            .expect(2, words);
    }
    for option in [
        "--max-rate 5",
        "--deadline 5m",
        "--retries 5",
        "--key id:N",
        "--types a:N",
        "--keep-going 5",
        "--simulate 5",
    ] {
        folder
            .run(&format!(
                "worker --activity {ACTIVITY} --export out --checkpoints c {option}"
            ))
            .expect(2, "cannot be used with");
    }
}

#[test]
fn a_segment_goes_on_where_a_killed_worker_has_left_it() {
    const ITEMS: u32 = 6_000;
    // Six seconds for each segment. A page of it, of 1,000 items, is settled after two, and in the checkpoint a second later.
    let (tables, bucket) = (Tables::new(ITEMS, 500.0), Bucket::new());
    let mut of_run = tables.plan(2);
    let last = of_run.pop().unwrap();
    // The first segment is handed out again.
    let activity = Activity::new([of_run[0].clone(), of_run[0].clone(), last]);
    let worker = || {
        let more = "--dead-letters dead --checkpoints s3://b/checkpoints/";
        let mut command = tables.copying(&activity, more);
        command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).spawn().unwrap()
    };
    let mut killed = worker();
    let name = "checkpoints/one@dynamodb+++items+segments+2@0-1.state";
    let place = || {
        let (_, text) = bucket.objects(name).pop()?;
        let (_, text) = text.split_once(' ')?;
        let journal: Value = serde_json::from_str(text).unwrap();
        journal["position"]
            .get(0)
            .filter(|place| place["after"].is_object())
            .cloned()
    };
    until_there("a place in the segment", place);
    killed.kill().unwrap();
    killed.wait().unwrap();
    tables.to.table.set_capacity(Capacity::unlimited());
    let next = worker();
    let (operation, counts) = activity.answer();
    assert_eq!(operation, "SendTaskSuccess", "{counts}");
    let of_first = counts["delivered"].as_u64().unwrap();
    assert!(counts["settled_before"].as_u64().unwrap() > 0, "{counts}");
    let of_second = sum(&activity, 1, "delivered");
    assert!(of_first + of_second < u64::from(ITEMS), "{counts}");
    assert_eq!(tables.to.items(), tables.from.items());
    let twice = tables.to.table.statistics().applied - u64::from(ITEMS);
    println!("{twice} of {ITEMS} items were written twice by a kill");
    assert!(twice <= 11_000);
    terminate(next).expect(130, "up to 11,000 items may be written twice");
}

/// It has the shard no longer, which is no fault of its own.
#[test]
fn a_worker_that_loses_a_segment_while_it_begins_it_goes_on_with_the_next_one() {
    let (tables, bucket) = (Tables::new(20, 1e6), Bucket::taken_over());
    let plan = tables.plan(2);
    let activity = Activity::new(plan);
    let more = "--dead-letters dead --checkpoints s3://b/checkpoints/";
    let mut command = tables.copying(&activity, more);
    let worker = command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).spawn().unwrap();
    for _ in 0..2 {
        assert_eq!(activity.answer(), ("SendTaskFailure".to_owned(), "Interrupted".into()));
    }
    terminate(worker).expect(130, "another run continues it");
}

/// The worker of each of two segments is killed at random moments, and the next one has the checkpoints of all before.
#[test]
fn segments_whose_workers_are_killed_again_and_again_are_complete_in_the_end() {
    const ITEMS: u32 = 4_000;
    const SUCCESS: &str = "SendTaskSuccess";
    let tables = Tables::new(ITEMS, 1_500.0);
    let mut random = SmallRng::seed_from_u64(20_261_127);
    let mut kills = 0;
    for shard in tables.plan(2) {
        // Four kills of a segment of about 2,000 items, each after 450 more at most, and a fifth attempt that ends.
        for attempt in 0..5 {
            let is_last = attempt == 4;
            let activity = Activity::new([shard.clone()]);
            let more = "--dead-letters dead --checkpoints checkpoints --concurrency 4";
            let mut worker = tables.copying(&activity, more).spawn().unwrap();
            let until = tables.to.table.statistics().applied + random.random_range(20..450);
            // On a busy machine it may have delivered the whole segment before this is seen.
            let mut has_ended = is_last;
            if is_last {
                assert_eq!(sum(&activity, 1, "dead_letters"), 0);
            } else {
                until_there("entries", || {
                    has_ended = activity.said.try_iter().any(|(operation, _)| operation == SUCCESS);
                    (has_ended || tables.to.table.statistics().applied >= until).then_some(())
                });
            }
            if has_ended {
                terminate(worker);
                break;
            }
            worker.kill().unwrap();
            worker.wait().unwrap();
            kills += 1;
        }
    }
    assert!(kills > 2, "a table this slow leaves time for more than {kills} kills");
    assert_eq!(tables.to.items(), tables.from.items());
    let twice = tables.to.table.statistics().applied - u64::from(ITEMS);
    println!("{twice} of {ITEMS} items were written twice by {kills} kills");
    assert!(twice <= kills * 11_000);
}

#[test]
fn keys_that_differ_make_bad_lines() {
    let folder = Folder::new();
    let from = Served::with_table(TableOptions::key("name", KeyType::S), 1e6);
    folder.write("items.jsonl", json!({"name": "a"}).to_string());
    folder
        .run(&format!("load --table items {} items.jsonl", from.arguments()))
        .expect(0, "1 delivered");
    let tables = Tables {
        folder,
        from,
        to: Served::new(1e6),
    };
    let activity = Activity::new(tables.plan(1));
    let worker = tables.copying(&activity, "").spawn().unwrap();
    assert_eq!(activity.answer(), ("SendTaskFailure".to_owned(), json!("Unreadable")));
    terminate(worker).expect(130, "there is no id, which is part of the table's key");
}

/// The answer of the one that has done the rest says how many items may have been counted twice.
#[test]
fn a_counter_whose_worker_is_told_to_stop_counts_on_and_says_what_is_doubtful() {
    const ITEMS: u32 = 3_000;
    let tables = Tables::new(ITEMS, 1e6);
    let options = [
        "--where",
        "id >= :zero",
        "--value",
        ":zero=0",
        "--add",
        "n :one",
        "--value",
        ":one=1",
        "--heartbeat",
        "1s",
        "--dead-letters",
        "dead",
        "--checkpoints",
        "checkpoints",
    ];
    tables
        .from
        .table
        .set_capacity(Capacity::per_second(1_000.0).burst(100.0));
    let mut shards = tables.plan(1);
    shards.push(shards[0].clone());
    let activity = Activity::new(shards);
    let first = tables.changing(&activity, &options);
    // Each update takes two units.
    let counted = |items: &[Value]| items.iter().filter(|item| item.get("n").is_some()).count();
    until_there("more than a page of updates", || {
        (counted(&tables.from.items()) > 1_200).then_some(())
    });
    terminate(first);
    assert_eq!(activity.answer().1, "Interrupted");
    tables.from.table.set_capacity(Capacity::unlimited());
    let next = tables.changing(&activity, &options);
    let (_, counts) = activity.answer();
    terminate(next);
    let items = tables.from.items();
    let twice = items.iter().filter(|item| item["n"]["N"] != "1").count() as u64;
    assert_eq!(counted(&items), ITEMS as usize);
    let doubtful = counts["doubtful"].as_u64().unwrap();
    assert!(
        twice <= doubtful && doubtful < 2_000,
        "{twice} were counted twice: {counts}"
    );
}
