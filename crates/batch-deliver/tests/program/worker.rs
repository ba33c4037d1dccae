//! Workers, which deliver the shards of an activity.

use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::activity::{Activity, DENIED, HELD, LOST, SILENT};
use crate::bucket::Bucket;
use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;

/// Starts a worker with a simulated table that takes so many writes a second.
pub(crate) fn start(folder: &Folder, activity: &Activity, rate: u32, arguments: &str) -> Child {
    command(folder, activity, rate, arguments).spawn().unwrap()
}

pub(crate) fn command(folder: &Folder, activity: &Activity, rate: u32, arguments: &str) -> Command {
    bare(folder, activity, &format!("--simulate {rate} {arguments}"))
}

/// A worker of the served table.
pub(crate) fn of_served(folder: &Folder, activity: &Activity, served: &Served, arguments: &str) -> Command {
    let mut command = bare(folder, activity, arguments);
    command.env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
    command
}

fn bare(folder: &Folder, activity: &Activity, arguments: &str) -> Command {
    let arn = "arn:aws:states:us-east-1:000000000000:activity:deliver";
    let mut command = folder.command(&format!("worker --activity {arn} --table items --key id:N {arguments}"));
    command.env("AWS_ENDPOINT_URL_SFN", &activity.endpoint);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn terminate(child: Child) -> Run {
    let status = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    Run::from(child.wait_with_output().unwrap())
}

/// What a worker has come to that ends by itself.
fn ended(mut child: Child) -> Run {
    until_there("the end of the worker", || child.try_wait().unwrap());
    Run::from(child.wait_with_output().unwrap())
}

pub(crate) fn shard(input: &str, begin: usize, end: usize) -> Value {
    json!({"input": input, "begin": begin, "end": end})
}

/// A shard as a state machine hands it out.
pub(crate) fn shard_of_run(input: &str, begin: usize, end: usize) -> Value {
    json!({"input": input, "begin": begin, "end": end, "execution": "one"})
}

pub(crate) fn failure(error: &str) -> (String, Value) {
    ("SendTaskFailure".to_owned(), error.into())
}

#[test]
fn every_shard_is_answered_with_its_counts_or_its_error() {
    let folder = Folder::new();
    let lines = items(0..100);
    let (middle, end) = (lines.len() / 2, lines.len());
    folder.write("a.jsonl", &lines);
    folder.write("bad.jsonl", "oops\n");
    let activity = Activity::new([
        shard("a.jsonl", 0, middle),
        shard("a.jsonl", middle, end),
        shard("bad.jsonl", 0, 5),
        shard("a.jsonl", 0, end + 1),
        shard("nowhere", 0, 5),
        // A name of a plan is that of one input, so that no other one is read when that is gone.
        shard("a*", 0, end),
        json!({"file": "a.jsonl"}),
        shard("a.jsonl", 0, end),
    ]);
    let worker = start(&folder, &activity, 1_000_000, "");
    let delivered = || activity.answer().1["delivered"].as_u64().unwrap();
    assert_eq!(delivered() + delivered(), 100);
    for error in ["Unreadable", "Unreadable", "Unreadable", "Unreadable", "NoShard"] {
        assert_eq!(activity.answer(), failure(error));
    }
    assert_eq!(activity.answer().1["delivered"], 100);
    terminate(worker).expect(130, "shard ends at");
}

/// Another worker may reach it. This one would take one shard after another.
#[test]
fn a_worker_that_cannot_reach_its_input_gives_the_shard_back_and_ends() {
    let folder = Folder::new();
    let activity = Activity::new([shard("s3://b/a.jsonl", 0, 10), shard("s3://b/a.jsonl", 10, 20)]);
    let mut worker = command(&folder, &activity, 1_000_000, "");
    // Nothing listens there.
    let worker = worker.env("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1").output();
    Run::from(worker.unwrap()).expect(1, "the worker ends: the bucket b cannot be reached");
    assert_eq!(activity.answer(), failure("Stopped"));
    assert!(activity.said.try_recv().is_err(), "another shard was taken");
}

#[test]
fn an_object_that_no_worker_can_read_fails_its_shard_alone() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    let lines = items(0..5);
    bucket.put("a.jsonl", lines.clone());
    for code in ["InvalidObjectState", "AccessDenied", "ExpiredToken"] {
        bucket.put(&format!("{code}.jsonl"), format!("refused {code}"));
    }
    let own = || shard("s3://b/a.jsonl", 0, lines.len());
    let refused = |code: &str| shard(&format!("s3://b/{code}.jsonl"), 0, format!("refused {code}").len());
    let archived = || refused("InvalidObjectState");
    let activity = Activity::new([
        archived(),
        own(),
        refused("AccessDenied"),
        own(),
        refused("ExpiredToken"),
        own(),
    ]);
    let mut worker = command(&folder, &activity, 1_000_000, "");
    let worker = worker.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).output();
    Run::from(worker.unwrap()).expect(1, "the worker ends: s3://b/ExpiredToken.jsonl cannot be read");
    assert_eq!(activity.answer(), failure("Unreadable"));
    assert_eq!(activity.answer().1["delivered"], 5);
    // It has read another one, so it is not the worker's permissions.
    assert_eq!(activity.answer(), failure("Unreadable"));
    assert_eq!(activity.answer().1["delivered"], 5);
    assert_eq!(activity.answer(), failure("Stopped"));
    // The first one may be denied to this worker alone.
    let activity = Activity::new([refused("AccessDenied"), own()]);
    let mut worker = command(&folder, &activity, 1_000_000, "");
    let worker = worker.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).output();
    Run::from(worker.unwrap()).expect(1, "the worker ends: s3://b/AccessDenied.jsonl cannot be read");
    assert_eq!(activity.answer(), failure("Stopped"));
}

/// What was planned would be read half from the old one and half from the new one.
#[test]
fn an_input_that_was_replaced_since_it_was_planned_is_unreadable() {
    let (folder, bucket) = (Folder::new(), Bucket::new());
    folder.write("a.jsonl", items(0..10));
    bucket.put("b.jsonl", items(0..10));
    let plan = folder.run(&format!(
        "plan --shard-bytes 300B {} a.jsonl s3://b/b.jsonl",
        bucket.arguments()
    ));
    let shards: Vec<Value> = serde_json::from_str(&plan.stdout).unwrap();
    let activity = Activity::new(shards.iter().cloned());
    let mut worker = command(&folder, &activity, 1_000_000, "");
    worker.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
    let begun = worker.spawn().unwrap();
    let delivered = |_: &Value| activity.answer().1["delivered"].as_u64().unwrap();
    assert_eq!(shards.iter().map(delivered).sum::<u64>(), 20);
    terminate(begun);
    // A longer file, and an object of the same size.
    folder.write("a.jsonl", items(0..11));
    bucket.put("b.jsonl", items(0..10).replace("item", "ITEM"));
    let activity = Activity::new(shards.iter().cloned());
    worker.env("AWS_ENDPOINT_URL_SFN", &activity.endpoint);
    let begun = worker.spawn().unwrap();
    for _ in &shards {
        assert_eq!(activity.answer(), failure("Unreadable"));
    }
    terminate(begun).expect(130, "s3://b/b.jsonl has changed since it was planned: make a new plan");
}

/// A file system that is not mounted, and one that fails.
#[cfg(target_os = "linux")]
#[test]
fn a_worker_whose_machine_cannot_read_a_file_gives_the_shard_back_and_ends() {
    let folder = Folder::new();
    for name in ["mounted/a.jsonl", "/proc/self/mem"] {
        let activity = Activity::new([shard(name, 0, 0), shard("nowhere", 0, 0)]);
        let worker = command(&folder, &activity, 1_000_000, "").output();
        Run::from(worker.unwrap()).expect(1, &format!("the worker ends: {name} cannot be read"));
        assert_eq!(activity.answer(), failure("Stopped"), "{name}");
        assert!(activity.said.try_recv().is_err(), "another shard was taken");
    }
}

/// That worker has lost the shard, and does not know it yet.
#[test]
fn a_shard_whose_dead_letters_another_worker_still_has_is_given_back() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..2));
    let end = items(0..2).len();
    let letters = folder.path(&format!("dead/a.jsonl@0-{}.jsonl", end - 1));
    folder.write(&format!("dead/a.jsonl@0-{}.jsonl", end - 1), "");
    let held = std::fs::File::open(letters).unwrap();
    held.lock().unwrap();
    let activity = Activity::new([shard("a.jsonl", 0, end - 1), shard("a.jsonl", 0, end)]);
    let worker = start(&folder, &activity, 1_000_000, "--dead-letters dead");
    assert_eq!(activity.answer(), failure("DeadLetters"));
    assert_eq!(activity.answer().1["delivered"], 2);
    terminate(worker).expect(130, "is in use by another load");
}

#[test]
fn a_worker_that_is_told_to_stop_gives_its_shard_back() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..10_000));
    let activity = Activity::new([shard("a.jsonl", 0, items(0..10_000).len())]);
    let worker = start(&folder, &activity, 10, "--dead-letters dead --heartbeat 1s");
    activity.wait_for_heartbeat();
    terminate(worker).expect(130, "the shard has failed: Interrupted");
    assert_eq!(activity.answer(), failure("Interrupted"));
    // What the next worker delivers is not among the dead letters.
    assert_eq!(folder.path("dead").read_dir().unwrap().count(), 0);
}

#[test]
fn a_worker_whose_standard_output_is_closed_gives_its_shard_back_once_and_ends() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..10_000));
    let whole = || shard("a.jsonl", 0, items(0..10_000).len());
    let activity = Activity::new([whole(), whole()]);
    let mut worker = start(&folder, &activity, 10, "--json");
    drop(worker.stdout.take());
    assert_eq!(activity.answer(), failure("Interrupted"));
    ended(worker).expect(1, "the worker ends: the standard output, which --json needs,");
    assert!(activity.said.try_recv().is_err(), "another shard was taken");
}

/// That a worker gives a shard of this name up while it delivers it, takes the next one, and says this.
fn gives_up(name: &str, words: &str) {
    let folder = Folder::new();
    let name = format!("{name}.jsonl");
    folder.write(&name, items(0..10_000));
    folder.write("a.jsonl", items(0..2));
    let activity = Activity::new([
        shard(&name, 0, items(0..10_000).len()),
        shard("a.jsonl", 0, items(0..2).len()),
    ]);
    // Longer than a busy machine lets the next shard wait.
    let worker = start(&folder, &activity, 10, "--heartbeat 3s");
    assert_eq!(activity.answer(), failure("Interrupted"));
    assert_eq!(activity.answer().1["delivered"], 2);
    terminate(worker).expect(130, words);
}

#[test]
fn a_shard_that_another_worker_has_is_left_to_it() {
    gives_up(LOST, "TaskTimedOut");
}

#[test]
fn a_worker_that_may_not_send_heartbeats_ends_with_its_shard() {
    let folder = Folder::new();
    let name = format!("{DENIED}.jsonl");
    folder.write(&name, items(0..10_000));
    let whole = || shard(&name, 0, items(0..10_000).len());
    let activity = Activity::new([whole(), whole()]);
    let worker = start(&folder, &activity, 10, "--heartbeat 1s");
    assert_eq!(activity.answer(), failure("Stopped"));
    ended(worker).expect(1, "the worker ends: heartbeats are refused: AccessDeniedException");
    assert!(activity.said.try_recv().is_err(), "another shard was taken");
}

#[test]
fn a_shard_that_is_delivered_at_once_has_no_heartbeat() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..2));
    let activity = Activity::new([shard("a.jsonl", 0, items(0..2).len())]);
    let worker = start(&folder, &activity, 1_000_000, "");
    let heard = activity.until("SendTaskSuccess");
    assert_eq!(heard, ["GetActivityTask", "SendTaskSuccess"]);
    terminate(worker).expect(130, "2 delivered");
}

#[test]
fn a_heartbeat_without_an_answer_does_not_hold_up_the_next_ones() {
    let folder = Folder::new();
    let name = format!("{SILENT}.jsonl");
    folder.write(&name, items(0..10_000));
    let activity = Activity::new([shard(&name, 0, items(0..10_000).len())]);
    let worker = start(&folder, &activity, 10, "--heartbeat 3s");
    for _ in 0..3 {
        activity.wait_for_heartbeat();
    }
    terminate(worker).expect(130, "a heartbeat has failed: no answer in 1.0s");
}

/// Step Functions has heard nothing in the time of a heartbeat, so another worker may have the shard.
#[test]
fn a_worker_whose_heartbeats_have_no_answer_gives_the_shard_up() {
    gives_up(SILENT, "a heartbeat has failed: no answer in 1.0s");
}

#[test]
fn a_shard_has_heartbeats_until_its_answer_has_arrived() {
    let folder = Folder::new();
    let name = format!("{HELD}.jsonl");
    folder.write(&name, items(0..2));
    let activity = Activity::new([shard(&name, 0, items(0..2).len())]);
    let mut worker = start(&folder, &activity, 1_000_000, "--heartbeat 3s");
    activity.wait_for("SendTaskSuccess");
    activity.wait_for_heartbeat();
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn what_is_not_delivered_is_a_dead_letter_or_fails_its_shard() {
    let folder = Folder::new();
    let large = json!({"id": 2, "text": "x".repeat(500_000)}).to_string() + "\n";
    let lines = items(0..2) + &large;
    folder.write("a.jsonl", &lines);
    for (arguments, expected) in [
        ("", failure("Undelivered")),
        ("--dead-letters dead", ("SendTaskSuccess".to_owned(), json!(1))),
    ] {
        let activity = Activity::new([shard("a.jsonl", 0, lines.len())]);
        let worker = start(&folder, &activity, 1_000_000, arguments);
        let (operation, answer) = activity.answer();
        let answer = answer.get("dead_letters").cloned().unwrap_or(answer);
        assert_eq!((operation, answer), expected);
        terminate(worker).expect(130, "2 delivered");
    }
    assert_eq!(folder.read(&format!("dead/a.jsonl@0-{}.jsonl", lines.len())), large);
}

#[test]
fn a_shard_is_answered_when_its_dead_letters_are_in_their_bucket() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    let large = json!({"id": 2, "text": "x".repeat(500_000)}).to_string() + "\n";
    folder.write("a.jsonl", items(0..2) + &large);
    let end = (items(0..2) + &large).len();
    let activity = Activity::new([shard("a.jsonl", 0, end)]);
    let mut worker = command(&folder, &activity, 1_000_000, "--dead-letters s3://b/dead/");
    let worker = worker.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).spawn().unwrap();
    assert_eq!(activity.answer().1["dead_letters"], 1);
    let objects = bucket.objects(&format!("dead/a.jsonl@0-{end}/2"));
    assert_eq!(objects.iter().map(|(_, content)| content).collect::<Vec<_>>(), [&large]);
    terminate(worker).expect(130, "2 delivered");
}

/// It is put a second after all entries are delivered.
#[test]
fn a_shard_whose_last_bad_line_cannot_be_put_fails_as_dead_letters_and_keeps_its_checkpoint() {
    let folder = Folder::new();
    let bucket = Bucket::refusing("dead/");
    let lines = items(0..2) + "oops\n";
    folder.write("a.jsonl", &lines);
    let of_run = shard_of_run("a.jsonl", 0, lines.len());
    let activity = Activity::new([of_run]);
    let arguments = "--keep-going 5 --dead-letters s3://b/dead/ --checkpoints s3://b/checkpoints/";
    let mut worker = command(&folder, &activity, 1_000_000, arguments);
    let worker = worker.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint).spawn().unwrap();
    assert_eq!(activity.answer(), failure("DeadLetters"));
    ended(worker).expect(1, "the worker ends: AccessDenied");
    assert_eq!(bucket.objects("checkpoints/").len(), 1);
}

/// For the figures in `docs/figures.md`: `cargo test --release --package batch-deliver --test program -- --ignored --nocapture four_workers`
#[test]
#[ignore = "takes 20 s, and prints figures"]
fn four_workers_share_what_a_table_takes() {
    const ITEMS: u32 = 20_000;
    const RATE: f64 = 1_000.0;
    const SHARDS: usize = 100;
    let folder = Folder::new();
    let served = Served::new(RATE);
    let lines = items(0..ITEMS);
    folder.write("a.jsonl", &lines);
    let cut = |index: usize| lines.len() * index / SHARDS;
    let activity = Activity::new((0..SHARDS).map(|index| shard("a.jsonl", cut(index), cut(index + 1))));
    let begun = Instant::now();
    let workers = [0; 4].map(|_| of_served(&folder, &activity, &served, "--json").spawn().unwrap());
    for _ in 0..SHARDS {
        assert_eq!(activity.answer().0, "SendTaskSuccess");
    }
    let seconds = begun.elapsed().as_secs_f64();
    let of_worker = |worker| {
        let events = terminate(worker).stdout;
        let events = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        events
            .filter_map(|event| event["counts"]["delivered"].as_f64())
            .sum::<f64>()
    };
    let shares = workers.map(of_worker);
    assert_eq!(served.ids().len(), ITEMS as usize);
    let least = (f64::from(ITEMS) - RATE / 10.0) / RATE;
    let sum: f64 = shares.iter().sum();
    let jain = sum * sum / (4.0 * shares.iter().map(|share| share * share).sum::<f64>());
    println!(
        "{seconds:.2} s, {:.3} of the possible minimum; shares {shares:?}, Jain's index {jain:.4}",
        seconds / least
    );
}

#[test]
fn a_bad_line_of_a_shard_is_kept_beside_its_dead_letters() {
    let folder = Folder::new();
    let lines = items(0..2) + "oops\n" + &items(3..5);
    folder.write("a.jsonl", &lines);
    let whole = || shard_of_run("a.jsonl", 0, lines.len());
    let activity = Activity::new([whole(), whole()]);
    let arguments = "--dead-letters dead --checkpoints checkpoints";
    let worker = start(&folder, &activity, 1_000_000, arguments);
    assert_eq!(activity.answer(), failure("Unreadable"));
    // The next attempt goes on after the line, which is kept.
    let (_, counts) = activity.answer();
    assert_eq!(
        (&counts["delivered"], &counts["settled_before"]),
        (&2.into(), &3.into())
    );
    terminate(worker).expect(130, "2 delivered");
    assert_eq!(
        folder.read(&format!("dead/a.jsonl@0-{}.jsonl.bad", lines.len())),
        "oops\n"
    );
}

/// It was answered as delivered, and the line was nowhere.
#[test]
fn a_shard_with_a_bad_line_that_is_too_long_to_be_kept_fails() {
    let folder = Folder::new();
    let lines = items(0..2) + &"x".repeat(9 << 20) + "\n" + &items(3..5);
    folder.write("a.jsonl", &lines);
    let activity = Activity::new([shard_of_run("a.jsonl", 0, lines.len())]);
    let arguments = "--keep-going 5 --dead-letters dead --checkpoints checkpoints";
    let worker = start(&folder, &activity, 1_000_000, arguments);
    assert_eq!(activity.answer(), failure("Unreadable"));
    terminate(worker).expect(130, "4 delivered");
}

/// The shard was answered as delivered, and the lines were nowhere.
#[test]
fn a_worker_skips_bad_lines_only_where_it_keeps_them() {
    Folder::new()
        .run("worker --activity a --table items --key id:N --simulate 1 --keep-going 5")
        .expect(2, "--dead-letters <DIR>");
}
