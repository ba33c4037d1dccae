//! Inputs in S3.

use serde_json::json;

use crate::bucket::Bucket;
use crate::program::{Folder, Run, items};

fn load(folder: &Folder, bucket: &Bucket, inputs: &str) -> Run {
    folder.load(&format!("{} {inputs}", bucket.arguments()))
}

#[test]
fn an_object_a_prefix_a_pattern_and_an_export_are_inputs() {
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
        .expect(1, "not delivered, and in no other file than the input: s3://b/in: 3");
}
