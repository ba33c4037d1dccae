//! Workers that export the segments of a table.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::PathBuf;
use std::process::Child;

use aws_batch_simulator::Capacity;
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::activity::Activity;
use crate::bucket::Bucket;
use crate::program::{Folder, until_there};
use crate::segments::{ACTIVITY, Tables, sum, terminate, worker_of};
use crate::served::Served;

/// The ids in the parts of an export, and the number of parts.
fn exported(folder: &Folder) -> (Vec<u32>, usize) {
    let parts: Vec<_> = parts(folder).collect();
    let of_part = |path: &PathBuf| {
        let mut lines = String::new();
        GzDecoder::new(File::open(path).unwrap())
            .read_to_string(&mut lines)
            .unwrap();
        let id = |line: &str| {
            let item: Value = serde_json::from_str(line).unwrap();
            item["id"]["N"].as_str().unwrap().parse().unwrap()
        };
        lines.lines().map(id).collect::<Vec<u32>>()
    };
    let mut ids: Vec<u32> = parts.iter().flat_map(of_part).collect();
    ids.sort_unstable();
    (ids, parts.len())
}

/// The complete parts.
fn parts(folder: &Folder) -> impl Iterator<Item = PathBuf> {
    let files = folder.path("out").read_dir().into_iter().flatten();
    let paths = files.map(|file| file.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "gz"))
}

/// A worker that exports into the folder `out`, in parts of some 500 items.
fn exporting(tables: &Tables, activity: &Activity) -> Child {
    let mut command = tables.folder.command(&format!(
        "worker --activity {ACTIVITY} --export out --part-bytes 30kB --checkpoints checkpoints"
    ));
    command.env("AWS_ENDPOINT_URL_DYNAMODB", tables.from.endpoint());
    worker_of(command, activity)
}

#[test]
fn segments_are_exported_in_parts_that_can_be_loaded() {
    let tables = Tables::new(3_000, 1e6);
    let file = json!({"input": "items.jsonl", "begin": 0, "end": 1});
    let activity = Activity::new(tables.plan(2).into_iter().chain([file]));
    let worker = exporting(&tables, &activity);
    assert_eq!(sum(&activity, 2, "exported"), 3_000);
    assert_eq!(activity.answer(), ("SendTaskFailure".to_owned(), json!("Unreadable")));
    terminate(worker).expect(
        130,
        "items.jsonl is not a table: --export is for the segments of tables",
    );
    let (ids, parts) = exported(&tables.folder);
    assert_eq!(ids, (0..3_000).collect::<Vec<_>>());
    assert!((4..20).contains(&parts), "{parts}");
    tables
        .folder
        .run(&format!("load --table items {} out/*.jsonl.gz", tables.to.arguments()))
        .expect(0, "3,000 delivered");
    assert_eq!(tables.to.items(), tables.from.items());
}

#[test]
fn an_export_whose_worker_is_killed_has_every_item_once_in_the_end() {
    const ITEMS: u32 = 12_000;
    let tables = Tables::new(ITEMS, 1e6);
    // A page of some 1,000 items takes 8 units.
    tables
        .from
        .table
        .set_read_capacity(Capacity::per_second(10.0).burst(10.0));
    let shard = tables.plan(1);
    for kill in 1..4 {
        let activity = Activity::new(shard.clone());
        let mut killed = exporting(&tables, &activity);
        until_there("parts", || (parts(&tables.folder).count() >= 2 * kill).then_some(()));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    tables.from.table.set_read_capacity(Capacity::unlimited());
    let activity = Activity::new(shard);
    let worker = exporting(&tables, &activity);
    let (operation, counts) = activity.answer();
    assert_eq!(operation, "SendTaskSuccess", "{counts}");
    assert!(counts["settled_before"].as_u64() > Some(0), "{counts}");
    terminate(worker);
    let (ids, _) = exported(&tables.folder);
    assert!(ids == (0..ITEMS).collect::<Vec<_>>(), "{} items", ids.len());
}

#[test]
fn a_segment_that_another_worker_has_exported_is_answered_and_its_parts_stay() {
    let tables = Tables::new(2_000, 1e6);
    let shard = tables.plan(1);
    let exported_by_one = || {
        let activity = Activity::new(shard.clone());
        let worker = exporting(&tables, &activity);
        let exported = sum(&activity, 1, "exported");
        terminate(worker);
        exported
    };
    assert_eq!(exported_by_one(), 2_000);
    // A part would end with other items.
    let without = "delete --table items --where id<:some --value :some=100 --yes";
    tables
        .folder
        .run(&format!("{without} {}", tables.from.arguments()))
        .expect(0, "100");
    assert_eq!(exported_by_one(), 0);
    let (ids, _) = exported(&tables.folder);
    assert_eq!(ids, (0..2_000).collect::<Vec<_>>());
}

/// A folder, and a table with these items.
fn with_items(items: impl Iterator<Item = Value>) -> Tables {
    let (folder, from) = (Folder::new(), Served::new(1e6));
    let lines: Vec<String> = items.map(|item| item.to_string()).collect();
    folder.write("items.jsonl", lines.join("\n"));
    let load = format!("load --table items --format dynamodb {} items.jsonl", from.arguments());
    folder.run(&load).expect(0, "delivered");
    Tables {
        folder,
        from,
        to: Served::new(1e6),
    }
}

/// Text of so many bytes that cannot be packed to less than half of them.
fn noise(id: u32, bytes: usize) -> String {
    let words = (0..bytes / 16).map(|word| {
        let mut hasher = DefaultHasher::new();
        (id, word).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    });
    words.collect()
}

/// The worker before it has lost the segment, and its call comes late. A part of more than 8 MiB is uploaded in parts of its own.
#[test]
fn a_part_that_is_put_while_it_is_written_is_not_replaced_but_by_the_next_attempt() {
    for (count, bytes) in [(20, 16), (250, 80_000)] {
        let items = (0..count).map(|id| json!({"id": {"N": id.to_string()}, "text": {"S": noise(id, bytes)}}));
        let (tables, bucket) = (with_items(items), Bucket::shared());
        let shard = tables.plan(1).remove(0);
        let activity = Activity::new([shard.clone(), shard]);
        let mut command = tables.folder.command(&format!(
            "worker --activity {ACTIVITY} --export s3://b/out/ --checkpoints checkpoints"
        ));
        command
            .env("AWS_ENDPOINT_URL_DYNAMODB", tables.from.endpoint())
            .env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
        let worker = worker_of(command, &activity);
        assert_eq!(activity.answer(), ("SendTaskFailure".to_owned(), json!("Stopped")));
        assert_eq!(sum(&activity, 1, "exported"), u64::from(count));
        terminate(worker).expect(130, "was put meanwhile");
        let parts = bucket.objects("out/");
        assert_eq!(parts.len(), 1);
        assert_ne!(parts[0].1, "of another");
    }
}

#[test]
fn values_that_plain_json_does_not_have_are_counted() {
    let item = json!({"id": {"N": "1"}, "tags": {"SS": ["a"]}});
    let tables = with_items([item].into_iter());
    let activity = Activity::new(tables.plan(1));
    let mut command = tables.folder.command(&format!(
        "worker --activity {ACTIVITY} --export out --format json --checkpoints checkpoints"
    ));
    command.env("AWS_ENDPOINT_URL_DYNAMODB", tables.from.endpoint());
    let worker = worker_of(command, &activity);
    assert_eq!(sum(&activity, 1, "lossy"), 1);
    terminate(worker).expect(130, "1 item has sets or binary values");
}

/// The part has the same name as that of the next worker, which has taken the checkpoint over.
#[test]
fn a_worker_that_has_lost_its_segment_does_not_replace_the_part_of_the_next_one() {
    let (tables, bucket) = (Tables::new(6_000, 1e6), Bucket::new());
    let shard = tables.plan(1);
    tables
        .from
        .table
        .set_read_capacity(Capacity::per_second(20.0).burst(20.0));
    let activity = Activity::new(shard);
    let mut command = tables.folder.command(&format!(
        "worker --activity {ACTIVITY} --export out --checkpoints s3://b/checkpoints/"
    ));
    command
        .env("AWS_ENDPOINT_URL_DYNAMODB", tables.from.endpoint())
        .env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
    let worker = worker_of(command, &activity);
    let checkpoint = || bucket.objects("checkpoints/").pop();
    let incomplete = || {
        let mut files = tables.folder.path("out").read_dir().into_iter().flatten();
        files.next().map(|file| file.unwrap().path())
    };
    let begun = || Some((checkpoint()?.0, incomplete()?.with_extension("")));
    let (key, part) = until_there("a checkpoint and a part", begun);
    std::fs::write(&part, "of the next one").unwrap();
    bucket.put(&key, "of the next one");
    tables.from.table.set_read_capacity(Capacity::unlimited());
    assert_eq!(activity.answer(), ("SendTaskFailure".to_owned(), json!("Interrupted")));
    terminate(worker);
    assert_eq!(std::fs::read_to_string(&part).unwrap(), "of the next one");
    assert_eq!(tables.folder.path("out").read_dir().unwrap().count(), 1);
}
