//! Names of inputs: nothing is read, and above all nothing is deleted, but what a name says.

use std::ops::Range;

use serde_json::json;

use crate::program::{Folder, items};
use crate::{bucket::Bucket, program::Run, served::Served};

/// A bucket with objects whose names begin with those of others, and a table with all of their items.
struct World {
    folder: Folder,
    bucket: Bucket,
    served: Served,
}

impl World {
    fn new() -> Self {
        let world = Self {
            folder: Folder::new(),
            bucket: Bucket::new(),
            served: Served::new(1e6),
        };
        for (key, ids) in [
            ("users.json.bak", 0..2),
            ("films/", 0..0),
            ("marked/", 0..0),
            ("films/a.jsonl", 2..4),
            ("films/b.jsonl", 4..6),
            ("films-old/a.jsonl", 6..8),
            ("films.bak", 8..10),
            ("empty.jsonl", 0..0),
            ("a[1].jsonl", 10..12),
            ("a1.jsonl", 12..14),
            ("dir/x/", 14..16),
        ] {
            world.bucket.put(key, items(ids));
        }
        world.run("load", "s3://b/").expect(0, "16 delivered");
        world
    }

    fn run(&self, command: &str, inputs: &str) -> Run {
        let mut run = self.folder.command(&format!("{command} --table items {inputs}"));
        run.env("AWS_ENDPOINT_URL_S3", &self.bucket.endpoint);
        run.env("AWS_ENDPOINT_URL_DYNAMODB", self.served.endpoint());
        Run::from(run.output().unwrap())
    }

    /// That a name deletes exactly these items.
    #[track_caller]
    fn deletes(&self, name: &str, ids: Range<u32>) {
        self.run("delete", name).expect(0, "delivered");
        let left: Vec<u32> = (0..16).filter(|id| !ids.contains(id)).collect();
        assert_eq!(self.served.ids(), left, "{name}");
        self.run("load", "s3://b/").expect(0, "16 delivered");
    }

    /// That a name deletes nothing, and what is said.
    #[track_caller]
    fn deletes_nothing(&self, name: &str, words: &str) {
        self.run("delete", name).expect(2, words);
        assert_eq!(self.served.ids(), (0..16).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn a_name_deletes_what_it_names_and_nothing_else() {
    let world = World::new();
    for (name, ids) in [
        ("s3://b/users.json.bak", 0..2),
        ("s3://b/films/", 2..6),
        ("s3://b/films/a.jsonl", 2..4),
        ("s3://b/films/*", 2..6),
        ("s3://b/films/**/a.jsonl", 2..4),
        ("s3://b/films?old/*", 6..8),
        ("s3://b/films.b*", 8..10),
        // A key with wildcards names itself, although it matches another one.
        ("s3://b/a[1].jsonl", 10..12),
        ("s3://b/a[1]*", 12..14),
        ("s3://b/dir/", 14..16),
        ("s3://b/empty.jsonl", 0..0),
    ] {
        world.deletes(name, ids);
    }
}

#[test]
fn a_mistyped_name_deletes_nothing_and_names_what_is_near() {
    let world = World::new();
    for (name, words) in [
        (
            "s3://b/users.json",
            "there is no object s3://b/users.json; near it is s3://b/users.json.bak",
        ),
        ("s3://b/Users.json.bak", "near it is s3://b/users.json.bak"),
        (
            "s3://b/users.json.bak/",
            "there is no object in s3://b/users.json.bak/; near it is s3://b/users.json.bak",
        ),
        (
            "s3://b/films",
            "there is no object s3://b/films: a folder ends in /, as in s3://b/films/",
        ),
        ("s3://b/films/a", "near it is s3://b/films/a.jsonl"),
        (
            "s3://b/Films/",
            "there is no object in s3://b/Films/; near it are s3://b/films/",
        ),
        ("s3://b/Films/a.jsonl", "near it are s3://b/films/"),
        ("s3://none/films/", "there is no bucket none: check its name"),
        ("s3://b/marked/", "there is no object in s3://b/marked/"),
        ("s3://b/film/*.jsonl", "no object matches s3://b/film/*.jsonl"),
        ("s3://b/films/*.JSONL", "no object matches"),
        ("s3://b/film*/", "there is no object in s3://b/film*/"),
        ("s3://b//films/a.jsonl", "near it is s3://b/films/a.jsonl"),
        ("s3://b/./films/a.jsonl", "near it is s3://b/films/a.jsonl"),
        ("s3://b/films//a.jsonl", "near it is s3://b/films/a.jsonl"),
        ("s3://b/dir/x", "a folder ends in /, as in s3://b/dir/x/"),
        (
            "s3://b",
            "s3://b is a bucket: name an object in it, or all of them as s3://b/",
        ),
        ("s3:///films/", "has no bucket"),
        ("s3://b/films/[a", "is not a valid pattern"),
    ] {
        world.deletes_nothing(name, words);
    }
    let of_marker = world.run("delete", "s3://b/marked/");
    assert!(!of_marker.stderr.contains("near it"), "{}", of_marker.stderr);
    world.run("delete", "s3://other/films/").expect(1, "AccessDenied");
    // An object that is not there stops before those that are.
    world.deletes_nothing(
        "s3://b/films/ s3://b/users.json",
        "there is no object s3://b/users.json",
    );
    assert_eq!(world.served.ids().len(), 16);
}

/// Lines as an export has them.
fn exported(ids: Range<u32>) -> String {
    ids.map(|id| json!({"Item": {"id": {"N": id.to_string()}}}).to_string() + "\n")
        .collect()
}

fn manifest(names: &[&str]) -> String {
    let line = |name: &&str| json!({"dataFileS3Key": format!("AWSDynamoDB/01/data/{name}")}).to_string() + "\n";
    names.iter().map(line).collect()
}

#[test]
fn an_export_in_a_bucket_is_named_itself_and_may_have_empty_files() {
    let (folder, bucket) = (Folder::new(), Bucket::new());
    let load = |name: &str| folder.load(&format!("{} {name}", bucket.arguments()));
    for export in ["AWSDynamoDB/01-a", "AWSDynamoDB/02-b"] {
        bucket.put(&format!("{export}/_started"), "");
        bucket.put(&format!("{export}/data/one.json"), exported(0..3));
        bucket.put(&format!("{export}/data/two.json"), "");
        bucket.put(&format!("{export}/data/three.json"), exported(3..9));
        bucket.put(
            &format!("{export}/manifest-files.json"),
            manifest(&["one.json", "two.json"]),
        );
        if export.ends_with("01-a") {
            for above in ["s3://b/AWSDynamoDB/", "s3://b/"] {
                load(above).expect(
                    2,
                    "is the folder above an export: name the export, s3://b/AWSDynamoDB/01-a/",
                );
            }
        }
    }
    load("s3://b/AWSDynamoDB/01-a").expect(0, "3 delivered");
    load("s3://b/AWSDynamoDB/01-a/").expect(0, "3 delivered");
    load("s3://b/AWSDynamoDB/").expect(
        2,
        "is the folder above 2 exports: name one, such as s3://b/AWSDynamoDB/01-a/",
    );
    load("s3://b/AWSDynamoDB").expect(2, "a folder ends in /, as in s3://b/AWSDynamoDB/");
    load("s3://b/AWSDynamoDB/01").expect(2, "near it is s3://b/AWSDynamoDB/01-a/");
}

#[test]
fn an_export_on_disk_is_named_itself_and_may_have_empty_files() {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("AWSDynamoDB/01-a/data")).unwrap();
    folder.write("AWSDynamoDB/01-a/data/one.json", exported(0..3));
    folder.write("AWSDynamoDB/01-a/data/two.json", "");
    folder.write(
        "AWSDynamoDB/01-a/manifest-files.json",
        manifest(&["one.json", "two.json"]),
    );
    folder.load("AWSDynamoDB/01-a/").expect(0, "3 delivered");
    for above in ["AWSDynamoDB", "."] {
        folder
            .load(above)
            .expect(2, "is the folder above an export: name the export,");
    }
}

#[test]
fn a_file_that_is_missing_is_told_with_those_near_it() {
    let folder = Folder::new();
    folder.write("users.json.bak", items(0..1));
    std::fs::create_dir(folder.path("films")).unwrap();
    folder.write("films/a.jsonl", items(0..1));
    for (name, words) in [
        ("users.json", "near it is users.json.bak"),
        ("users.json.bak/", "near it is users.json.bak"),
        ("films/a", "near it is films/a.jsonl"),
        ("Films/a.jsonl", "near it is films"),
        (
            "films",
            "films is a folder, but not an export with manifest-files.json: name the files in it",
        ),
        ("./*.JSON", "no file matches"),
        ("nothing", "nothing cannot be read: "),
    ] {
        folder.load(name).expect(2, words);
    }
}
