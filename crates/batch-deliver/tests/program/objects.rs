//! Inputs in S3.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use aws_batch_simulator::{Capacity, Faults, InjectedFault};
use serde_json::json;

use crate::bucket::Bucket;
use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;

fn load(folder: &Folder, bucket: &Bucket, inputs: &str) -> Run {
    folder.load(&format!("{} {inputs}", bucket.arguments()))
}

#[test]
fn a_bucket_with_a_key_that_xml_cannot_hold_is_listed() {
    let (folder, bucket) = (Folder::new(), Bucket::new());
    for (id, key) in [(1, "in/\u{1}"), (2, "in/a b+c%20&é.jsonl"), (3, "in/<d>/e")] {
        bucket.put(key, items([id]));
    }
    let load = |name: &str| folder.load(&format!("{} {name}", bucket.arguments()));
    load("s3://b/in/").expect(0, "3 delivered");
    load("s3://b/in/a*.jsonl").expect(0, "1 delivered");
    load("s3://b/in/<d>").expect(2, "as in s3://b/in/<d>/");
}

#[test]
fn an_object_a_folder_a_pattern_and_an_export_are_inputs() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    bucket.put("in/a", items(0..10));
    bucket.put("in/ab.jsonl", zstd::encode_all(items(10..30).as_bytes(), 1).unwrap());
    bucket.put("in/c.jsonl", items(30..33));
    bucket.put("in/empty/", "");
    load(&folder, &bucket, "s3://b/in/a").expect(0, "10 delivered");
    load(&folder, &bucket, "s3://b/in/").expect(0, "33 delivered");
    load(&folder, &bucket, "s3://b/in/*.jsonl").expect(0, "23 delivered");
    load(&folder, &bucket, "s3://b/in/x").expect(2, "there is no object s3://b/in/x");
    bucket.put(
        "out/manifest-files.json",
        json!({"dataFileS3Key": "out/data/1.json"}).to_string(),
    );
    bucket.put("out/data/1.json", "{\"Item\":{\"id\":{\"N\":\"1\"}}}\n");
    load(&folder, &bucket, "s3://b/out").expect(0, "1 delivered");
    load(&folder, &bucket, "--dry-run s3://b/out/").expect(0, "1 good line");
}

#[test]
fn an_object_of_many_parts_is_read_as_a_whole() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    let long = items(0..60_000);
    assert!(long.len() > 2 << 20);
    bucket.put("long", long);
    load(&folder, &bucket, "s3://b/long").expect(0, "60,000 delivered");
}

#[test]
fn a_flaw_in_an_object_is_told_by_its_name_and_line() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    bucket.put("a", items(0..2) + "oops");
    load(&folder, &bucket, "s3://b/a").expect(1, "s3://b/a:3: column 1: this is not JSON");
}

#[test]
fn an_object_that_has_changed_is_not_read() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    bucket.put_unsteady("a");
    load(&folder, &bucket, "s3://b/a").expect(1, "s3://b/a cannot be read: the object has changed since it was listed");
    bucket.put("a", items(0..10));
    load(&folder, &bucket, "--resume state s3://b/a").expect(0, "10 delivered");
    bucket.put("a", items(10..30));
    load(&folder, &bucket, "--resume state s3://b/a").expect(2, "s3://b/a has changed");
}

/// Two good items, and one that is larger than an item may be.
fn with_a_large_one() -> (String, String) {
    let large = json!({"id": 2, "text": "x".repeat(500_000)}).to_string() + "\n";
    (items(0..2) + &large, large)
}

#[test]
fn dead_letters_in_a_bucket_are_an_input_with_their_causes_beside_them() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    let (lines, large) = with_a_large_one();
    bucket.put("in", lines);
    load(&folder, &bucket, "--dead-letter s3://b/dead s3://b/in")
        .expect(1, "1 dead letter in s3://b/dead/")
        .expect(1, "with causes in s3://b/dead/causes/");
    let objects = bucket.objects("dead/");
    let contents: Vec<_> = objects.iter().map(|(_, content)| content.as_str()).collect();
    assert_eq!(contents[0], large, "{objects:?}");
    assert!(objects[1].0.starts_with("dead/causes/") && objects.len() == 2);
    let cause: serde_json::Value = serde_json::from_str(contents[1]).unwrap();
    assert_eq!((&cause["file"], &cause["line"]), (&"s3://b/in".into(), &3.into()));
    let again = load(&folder, &bucket, "s3://b/dead/*.jsonl");
    again.expect(1, "0 delivered").expect(1, "not delivered");
}

#[test]
fn entries_that_cannot_be_put_as_dead_letters_are_named() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    bucket.put("in", with_a_large_one().0);
    load(&folder, &bucket, "--dead-letter s3://other/dead s3://b/in")
        .expect(1, "AccessDenied: not yours")
        .expect(1, "not delivered, and only in the input: s3://b/in: 3");
}

/// Lets no call have an answer.
fn hang(served: &Served) {
    let hung = InjectedFault::Hung { applied: false };
    served.table.set_faults(Faults::none().calls(1.0, hung));
}

/// A load that keeps its journal in the bucket. Its events fill a pipe from which nothing is read in seconds.
fn resumed(folder: &Folder, bucket: &Bucket, served: &Served) -> Command {
    let mut load = folder.command("load --table items --key id:N --json --every 20ms --resume s3://b/state a.jsonl");
    load.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
    load.env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint());
    load.stdout(Stdio::piped()).stderr(Stdio::piped());
    load
}

fn run(mut command: Command) -> Run {
    Run::from(command.output().unwrap())
}

/// Starts it, and waits until this stands in an event.
fn start_until(mut command: Command, words: &str) -> Child {
    let mut child = command.spawn().unwrap();
    let mut events = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(events.any(|event| event.unwrap().contains(words)), "{words}");
    child
}

#[test]
fn a_journal_in_a_bucket_tells_the_next_run_what_is_settled() {
    let folder = Folder::new();
    let (bucket, served) = (Bucket::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..100) + "oops\n" + &items(100..110));
    let load = || run(resumed(&folder, &bucket, &served));
    load()
        .expect(1, "100 delivered")
        .expect(1, "to continue, run the same command again");
    let again = load();
    again
        .expect(1, "100 lines are settled by earlier runs")
        .expect(1, "0 delivered");
    // A run that has ended by itself is not waited for, and leaves no doubt.
    assert!(
        !again.stderr.contains("watching") && !again.stderr.contains("twice"),
        "{}",
        again.stderr
    );
    bucket.put("state", "oops");
    load().expect(2, "s3://b/state is not a journal of this program");
    folder.write("a.jsonl", items(0..9));
    bucket.remove("state");
    load().expect(0, "9 delivered");
    folder.write("a.jsonl", items(0..10));
    load()
        .expect(2, "s3://b/state is the journal of another load")
        .expect(2, "a.jsonl has changed");
}

#[test]
fn a_load_that_is_killed_goes_on_by_the_journal_in_its_bucket() {
    const ITEMS: u32 = 6_000;
    let folder = Folder::new();
    let (bucket, served) = (Bucket::new(), Served::new(500.0));
    folder.write("a.jsonl", items(0..ITEMS));
    let mut child = start_until(resumed(&folder, &bucket, &served), "\"delivered\":3");
    // Until what is settled has been put.
    let begun = bucket.objects("state");
    until_there("another put", || (bucket.objects("state") != begun).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    served.table.set_capacity(Capacity::unlimited());
    let rest = run(resumed(&folder, &bucket, &served));
    rest.expect(0, "s3://b/state has not ended cleanly: watching it")
        .expect(0, "lines are settled by earlier runs")
        .expect(0, "up to 4,496 entries may be sent twice");
    assert_eq!(served.ids(), (0..ITEMS).collect::<Vec<_>>());
    let twice = served.table.statistics().applied - u64::from(ITEMS);
    assert!(twice <= 4_496, "{twice} were written twice");
}

#[test]
fn a_journal_in_a_bucket_is_of_one_run_at_a_time() {
    let folder = Folder::new();
    let (bucket, served) = (Bucket::new(), Served::new(1e6));
    hang(&served);
    folder.write("a.jsonl", items(0..10));
    let child = start_until(resumed(&folder, &bucket, &served), "\"in_flight\":10");
    let other = run(resumed(&folder, &bucket, &served));
    other.expect(
        2,
        "the journal s3://b/state is in use by another load: wait until it ends",
    );
    // It stops as soon as another run has its journal, and leaves that as it is.
    bucket.put("state", "of another run");
    let output = child.wait_with_output().unwrap();
    Run::from(output)
        .expect(1, "it was removed, or another run continues it")
        .expect(1, "the delivery was cancelled");
    assert_eq!(bucket.objects("state")[0].1, "of another run");
}

#[test]
fn a_place_where_no_journal_can_be_is_refused_before_anything_is_sent() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    folder.write("a.jsonl", items(0..3));
    for (arguments, words) in [
        (
            "--resume s3://other/state a.jsonl",
            "the journal s3://other/state cannot be read: AccessDenied",
        ),
        ("--resume s3://other/state a.jsonl", "or s3:ListBucket, without which"),
        ("--resume s3://b/ a.jsonl", "names none: add a name to it"),
        ("--resume s3:// a.jsonl", "a bucket is needed"),
    ] {
        let refused = load(&folder, &bucket, arguments);
        refused.expect(2, words);
        assert!(!refused.stderr.contains("delivered"), "{}", refused.stderr);
    }
}

#[test]
fn a_bucket_in_another_region_is_read_and_written_there() {
    let folder = Folder::new();
    let bucket = Bucket::elsewhere();
    bucket.put("in/a", with_a_large_one().0);
    let kept = "--dead-letter s3://b/dead/ --resume s3://b/state";
    load(&folder, &bucket, &format!("{kept} s3://b/in/"))
        .expect(1, "2 delivered")
        .expect(1, "1 dead letter");
    assert_eq!((bucket.objects("dead/").len(), bucket.objects("state").len()), (2, 1));
    load(&folder, &bucket, "--s3-region eu-west-1 --region us-west-2 s3://b/in/").expect(1, "2 delivered");
    load(&folder, &bucket, "--s3-region us-east-1 s3://b/in/").expect(1, "PermanentRedirect");
}

#[test]
fn requests_are_paid_for_if_that_is_said() {
    let folder = Folder::new();
    let bucket = Bucket::with_requester_pays();
    bucket.put("in/a", items(0..3));
    load(&folder, &bucket, "s3://b/in/").expect(1, "AccessDenied");
    load(&folder, &bucket, "--request-payer s3://b/in/ --resume s3://b/state").expect(0, "3 delivered");
}
