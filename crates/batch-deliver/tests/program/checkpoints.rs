//! Checkpoints, behind which the next worker goes on.

use aws_batch_simulator::Capacity;
use serde_json::Value;

use crate::activity::Activity;
use crate::bucket::Bucket;
use crate::program::{Folder, items, until_there};
use crate::served::Served;
use crate::worker::{failure, of_served, shard, shard_of_run, start, terminate};

/// A folder with `a.jsonl` of so many items, the whole of it as a shard, and a table that takes so many a second.
fn slow(count: u32, rate: f64) -> (Folder, Served, Value) {
    let (folder, lines) = (Folder::new(), items(0..count));
    folder.write("a.jsonl", &lines);
    (folder, Served::new(rate), shard_of_run("a.jsonl", 0, lines.len()))
}

#[test]
fn a_shard_goes_on_where_a_killed_worker_has_left_it() {
    const ITEMS: u32 = 6_000;
    // For twelve seconds, of which the first two are enough.
    let (folder, served, of_run) = slow(ITEMS, 500.0);
    let bucket = Bucket::new();
    let name = format!("checkpoints/one@a.jsonl@0-{}.state", of_run["end"]);
    let activity = Activity::new([of_run.clone(), of_run.clone(), of_run]);
    let worker = || {
        let arguments = "--dead-letters dead --checkpoints s3://b/checkpoints/";
        let mut command = of_served(&folder, &activity, &served, arguments);
        command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).spawn().unwrap()
    };
    let mut killed = worker();
    // The first ones have nothing, and the next one has what was settled in a second.
    let has_settled = |(_, checkpoint): &(String, String)| checkpoint.contains(r#"{"settled":[["#);
    until_there("a checkpoint", || bucket.objects(&name).pop().filter(has_settled));
    killed.kill().unwrap();
    killed.wait().unwrap();
    served.table.set_capacity(Capacity::unlimited());
    let next = worker();
    let (operation, counts) = activity.answer();
    assert_eq!(operation, "SendTaskSuccess");
    let (delivered, before) = (
        counts["delivered"].as_u64().unwrap(),
        counts["settled_before"].as_u64().unwrap(),
    );
    assert!(before > 0 && delivered + before == u64::from(ITEMS), "{counts}");
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
    // A worker to which the shard is handed out late has nothing to do.
    let (operation, again) = activity.answer();
    assert_eq!(
        (operation.as_str(), &again["delivered"], &again["settled_before"]),
        ("SendTaskSuccess", &0.into(), &ITEMS.into())
    );
    terminate(next).expect(130, "lines are settled by earlier runs");
}

#[test]
fn a_worker_stops_although_its_checkpoint_has_no_answer() {
    let (folder, served, of_run) = slow(10, 1e6);
    let bucket = Bucket::silent("checkpoints/");
    let activity = Activity::new([of_run]);
    let mut command = of_served(
        &folder,
        &activity,
        &served,
        "--dead-letters dead --checkpoints s3://b/checkpoints/ --heartbeat 3s",
    );
    let worker = command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).spawn().unwrap();
    activity.wait_for_heartbeat();
    terminate(worker).expect(130, "Interrupted: the worker had to stop before it could begin");
    assert_eq!(activity.answer(), failure("Interrupted"));
}

#[test]
fn a_worker_that_is_told_to_stop_leaves_a_checkpoint_without_a_doubt() {
    const ITEMS: u32 = 1_000;
    // For ten seconds, of which the first two are enough.
    let (folder, served, of_run) = slow(ITEMS, 100.0);
    let activity = Activity::new([of_run.clone(), of_run]);
    let start = || {
        let arguments = "--dead-letters dead --checkpoints checkpoints --heartbeat 3s";
        of_served(&folder, &activity, &served, arguments).spawn().unwrap()
    };
    let first = start();
    activity.wait_for_heartbeat();
    activity.wait_for_heartbeat();
    terminate(first).expect(130, "Interrupted");
    assert_eq!(activity.answer(), failure("Interrupted"));
    served.table.set_capacity(Capacity::unlimited());
    let second = start();
    let (_, counts) = activity.answer();
    let (delivered, before) = (
        counts["delivered"].as_u64().unwrap(),
        counts["settled_before"].as_u64().unwrap(),
    );
    assert!(before > 0 && delivered + before == u64::from(ITEMS), "{counts}");
    let told = terminate(second);
    assert!(!told.stderr.contains("twice"), "{}", told.stderr);
    assert_eq!(served.table.statistics().applied, u64::from(ITEMS));
}

#[test]
fn a_shard_at_its_deadline_is_given_back_and_goes_on_behind_its_checkpoint() {
    const ITEMS: u32 = 300;
    // For six seconds, of which the deadline is one.
    let (folder, served, of_run) = slow(ITEMS, 50.0);
    let activity = Activity::new(vec![of_run; 60]);
    let arguments = "--dead-letters dead --checkpoints checkpoints --deadline 1s";
    let worker = of_served(&folder, &activity, &served, arguments).spawn().unwrap();
    // On a busy machine the first deadline may come before the first call.
    while served.table.statistics().applied == 0 {
        assert_eq!(activity.answer(), failure("Interrupted"));
    }
    served.table.set_capacity(Capacity::unlimited());
    let counts = std::iter::repeat_with(|| activity.answer())
        .inspect(|answer| {
            assert!(
                answer.0 == "SendTaskSuccess" || *answer == failure("Interrupted"),
                "{answer:?}"
            );
        })
        .find_map(|(operation, counts)| (operation == "SendTaskSuccess").then_some(counts));
    let counts = counts.unwrap();
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert!(count("settled_before") > 0, "{counts}");
    assert_eq!(
        count("settled_before") + count("delivered"),
        u64::from(ITEMS),
        "{counts}"
    );
    terminate(worker).expect(130, "the deadline was reached");
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
}

/// It would begin anew, and come no further.
#[test]
fn a_shard_at_its_deadline_fails_without_a_checkpoint() {
    let (folder, served, of_run) = slow(300, 50.0);
    let activity = Activity::new([of_run]);
    let arguments = "--dead-letters dead --deadline 1s";
    let worker = of_served(&folder, &activity, &served, arguments).spawn().unwrap();
    assert_eq!(activity.answer(), failure("Undelivered"));
    terminate(worker);
}

/// A later run of the same plan would find the checkpoint that an aborted one has left, and go on behind it.
#[test]
fn a_shard_with_a_checkpoint_has_the_execution_that_hands_it_out() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..2));
    let end = items(0..2).len();
    let activity = Activity::new([shard("a.jsonl", 0, end), shard_of_run("a.jsonl", 0, end)]);
    let worker = start(
        &folder,
        &activity,
        1_000_000,
        "--dead-letters dead --checkpoints checkpoints",
    );
    assert_eq!(activity.answer(), failure("NoShard"));
    assert_eq!(activity.answer().1["delivered"], 2);
    terminate(worker).expect(130, "with --checkpoints a shard needs execution");
}

#[test]
fn a_checkpoint_of_other_options_is_replaced_with_a_warning() {
    let folder = Folder::new();
    let lines = items(0..10) + "oops\n";
    folder.write("a.jsonl", &lines);
    let whole = || shard_of_run("a.jsonl", 0, lines.len());
    let run = |more: &str, shards: [Value; 1]| {
        let activity = Activity::new(shards);
        let arguments = format!("--dead-letters dead --checkpoints checkpoints {more}");
        let worker = start(&folder, &activity, 1_000_000, &arguments);
        let answer = activity.answer();
        (answer, terminate(worker))
    };
    assert_eq!(run("", [whole()]).0, failure("Unreadable"));
    let (answer, told) = run("--keep-going 1 --format json", [whole()]);
    assert_eq!(answer.1["settled_before"], 0, "{}", told.stderr);
    told.expect(
        130,
        "the checkpoint is replaced, and the shard starts from its beginning: ",
    );
}

#[test]
fn checkpoints_need_a_place_for_what_is_given_up() {
    let folder = Folder::new();
    folder
        .run("worker --activity a --table items --key id:N --simulate 1 --checkpoints c")
        .expect(2, "--dead-letters <DIR>");
}
