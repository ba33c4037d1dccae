//! Several processes that share their inputs.

use std::io::Write;

use aws_batch_simulator::QueueOptions;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::bucket::Bucket;
use crate::program::{Folder, items};
use crate::queues::Queues;
use crate::served::Served;

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn all_shards_together_load_every_line_of_every_input_once() {
    const SHARDS: u32 = 5;
    let folder = Folder::new();
    let served = Served::new(1e6);
    folder.write("a.jsonl", items(0..200));
    folder.write("b.jsonl", items(200..203));
    folder.write("c.jsonl.gz", gzip(&items(203..210)));
    folder.write("d.csv", "id,name\n210,\"two\nlines\"\n211,one\n");
    folder.write("e.zst", zstd::encode_all(items(212..220).as_bytes(), 1).unwrap());
    let load = format!(
        "load --table items {} a.jsonl b.jsonl c.jsonl.gz d.csv e.zst",
        served.arguments()
    );
    for shard in 0..SHARDS {
        let run = folder.run(&format!("{load} --shard {shard}/{SHARDS}"));
        run.expect(0, &format!("shard {shard}/5: 3 inputs are compressed or CSV"));
    }
    assert_eq!(served.ids(), (0..220).collect::<Vec<_>>());
    assert_eq!(served.table.statistics().applied, 220);
}

/// Only at the beginning of the input it is none of the text.
#[test]
fn a_shard_keeps_a_byte_order_mark_within_the_input() {
    let queues = Queues::new();
    let lines = ["aaaaaaaaaaaaaaaa", "\u{feff}marked line"];
    queues.folder.write("a.txt", format!("\u{feff}{}\n", lines.join("\n")));
    let bodies = |name: &str, shards: &[&str]| {
        let queue = queues.queue(name, QueueOptions::default());
        for shard in shards {
            queues
                .run(&format!("send --queue {name} {shard} a.txt"))
                .expect(0, "delivered");
        }
        let mut bodies: Vec<String> = queue.messages().iter().map(|message| message.body.clone()).collect();
        bodies.sort_unstable();
        bodies
    };
    assert_eq!(bodies("whole", &[""]), lines);
    assert_eq!(bodies("shared", &["--shard 0/2", "--shard 1/2"]), lines);
}

#[test]
fn the_environment_tells_the_shard_if_it_is_asked() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..10));
    let run = |shard: &str, variables: &[(&str, &str)]| {
        let mut load = folder.command(&format!(
            "load --simulate 1000 --table items --key id:N a.jsonl {shard}"
        ));
        load.envs(variables.iter().copied()).output().unwrap().into()
    };
    let batch = [("AWS_BATCH_JOB_ARRAY_INDEX", "1"), ("AWS_BATCH_JOB_ARRAY_SIZE", "2")];
    let of_batch: crate::program::Run = run("--shard env", &batch);
    of_batch.expect(0, "shard 1/2").expect(0, "5 delivered");
    run("", &batch).expect(0, "10 delivered");
    run("--shard env", &[("JOB_COMPLETION_INDEX", "0")]).expect(2, "set SHARDS");
}

#[test]
fn objects_are_shared_by_their_bytes() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    // Longer than what is asked for at once.
    bucket.put("in/long", items(0..40_000));
    bucket.put("in/short", items(40_000..40_001));
    let delivered = |shard: u32| {
        let run = folder.load(&format!("{} --json --shard {shard}/3 s3://b/in/", bucket.arguments()));
        run.expect(0, "").report()["report"]["delivered"].as_u64().unwrap()
    };
    let parts: Vec<u64> = (0..3).map(delivered).collect();
    assert_eq!(parts.iter().sum::<u64>(), 40_001);
    assert!(parts.iter().all(|part| *part > 10_000), "{parts:?}");
}

#[test]
fn a_shard_goes_on_where_it_was_and_is_not_taken_for_another() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..10));
    folder
        .load("a.jsonl --shard 0/2 --resume state")
        .expect(0, "5 delivered");
    folder
        .load("a.jsonl --shard 0/2 --resume state")
        .expect(0, "0 delivered");
    folder
        .load("a.jsonl --shard 1/2 --resume state")
        .expect(2, "a.jsonl has changed, or was not");
    folder.load("- --shard 1/2").expect(2, "--shard needs files");
}

#[test]
fn a_plan_has_every_byte_of_every_input_once() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..200));
    folder.write("b.jsonl.gz", gzip(&items(0..200)));
    folder.write("c.txt", "one, two\nthree\n");
    let plan = folder.run("plan --shard-bytes 1kB a.jsonl b.jsonl.gz c.txt");
    plan.expect(0, "shards of 3 inputs");
    let shards: Vec<Value> = serde_json::from_str(&plan.stdout).unwrap();
    let of = |input: &str| -> Vec<_> { shards.iter().filter(|shard| shard["input"] == input).collect() };
    let parts = of("a.jsonl");
    assert_eq!(parts.len(), folder.read("a.jsonl").len().div_ceil(1_000));
    assert_eq!((&parts[0]["begin"], &parts[0]["end"]), (&json!(0), &parts[1]["begin"]));
    // What is compressed, and what may be CSV.
    assert_eq!((of("b.jsonl.gz").len(), of("c.txt").len()), (1, 1));

    let lines = folder.run("plan --shard-bytes 5B --format lines --lines c.txt");
    let lines: Vec<Value> = lines
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected = [(0, 5), (5, 10), (10, 15)]
        .map(|(begin, end)| json!({"input": "c.txt", "begin": begin, "end": end, "version": {"bytes": 15}, "max_rate": null}));
    assert_eq!(lines, expected);
    folder.run("plan --shard-bytes 0 c.txt").expect(2, "a size above 0");
}

#[test]
fn a_plan_divides_a_rate_among_the_workers_that_have_a_shard() {
    let folder = Folder::new();
    folder.write("c.txt", "one, two\nthree\n");
    let plan = |options: &str| folder.run(&format!("plan --shard-bytes 5B --format lines {options} c.txt"));
    for (options, part, words) in [
        (
            "--max-rate 8000 --workers 2",
            4_000.0,
            "each shard is delivered with 4,000 units a second at most",
        ),
        // There are three shards.
        ("--max-rate 9000 --workers 64", 3_000.0, "with 3,000 units"),
        ("--max-rate 1 --workers 2", 1.0, "with 1"),
    ] {
        let plan = plan(options);
        plan.expect(0, words);
        let shards: Vec<Value> = serde_json::from_str(&plan.stdout).unwrap();
        assert_eq!(shards.len(), 3);
        assert!(
            shards.iter().all(|shard| shard["max_rate"] == json!(part)),
            "{shards:?}"
        );
    }
    plan("--max-rate 8000").expect(2, "--workers");
    plan("--workers 4").expect(2, "--max-rate");
}

/// Each process lists the inputs itself. Whole inputs were numbered, so that a new one moved all behind it to other shards.
#[test]
fn an_input_that_arrives_between_two_processes_takes_no_other_one_from_its_shard() {
    for count in [2_u32, 3] {
        let folder = Folder::new();
        let served = Served::new(1e6);
        for (name, begin) in [("b", 0), ("c", 10), ("d", 20), ("e", 30), ("f", 40)] {
            folder.write(&format!("{name}.jsonl.gz"), gzip(&items(begin..begin + 10)));
        }
        for shard in 0..count {
            folder
                .run(&format!(
                    "load --table items {} --shard {shard}/{count} *.gz",
                    served.arguments()
                ))
                .expect(0, "are compressed or CSV");
            // Before the others in the next listing.
            folder.write(&format!("a{shard}.jsonl.gz"), gzip(&items([100 + shard])));
        }
        let ids: Vec<u32> = served.ids().into_iter().filter(|id| *id < 100).collect();
        assert_eq!(ids, (0..50).collect::<Vec<_>>());
        assert!(served.table.statistics().applied < 50 + u64::from(count));
    }
}
