//! Exports of DynamoDB, full and incremental, on disk and in a bucket.

use aws_batch_simulator::{KeyType, TableOptions};
use serde_json::{Value, json};

use super::load;
use crate::bucket::Bucket;
use crate::program::{Folder, Run};
use crate::served::Served;

/// The files of an export: its folder, its type, and its data files with their names in the bucket.
fn export(folder: &str, kind: &str, data: &[(&str, String)]) -> Vec<(String, String)> {
    let listed = data.iter().map(|(key, content)| {
        let line = json!({"itemCount": content.lines().count(), "md5Checksum": "x", "etag": "y", "dataFileS3Key": key});
        line.to_string() + "\n"
    });
    let summary = json!({
        "version": "2023-08-01", "outputFormat": "DYNAMODB_JSON", "outputView": "NEW_AND_OLD_IMAGES", "exportType": kind,
    });
    let mut files = vec![
        (format!("{folder}/_started"), String::new()),
        (format!("{folder}/manifest-files.json"), listed.collect()),
        (format!("{folder}/manifest-summary.json"), summary.to_string()),
    ];
    files.extend(data.iter().map(|(key, content)| ((*key).to_owned(), content.clone())));
    files
}

fn image(id: &str, n: u32) -> Value {
    json!({"id": {"S": id}, "n": {"N": n.to_string()}})
}

/// A full export of `a`, `b` and `c`, and two incremental ones: `b` is changed twice, `c` deleted and put again, `a` deleted.
fn exports() -> Vec<(String, String)> {
    let items = |items: &[(&str, u32)]| {
        let lines = items
            .iter()
            .map(|(id, n)| json!({"Item": image(id, *n)}).to_string() + "\n");
        lines.collect::<String>()
    };
    let full = [
        ("AWSDynamoDB/01-full/data/x.json", items(&[("a", 1), ("b", 1)])),
        ("AWSDynamoDB/01-full/data/y.json", String::new()),
        ("AWSDynamoDB/01-full/data/z.json", items(&[("c", 1)])),
    ];
    let first = [
        ("AWSDynamoDB/data/q.json", changed("b", Some(1), Some(2))),
        (
            "AWSDynamoDB/data/p.json",
            changed("c", Some(1), None) + &changed("d", None, Some(2)),
        ),
    ];
    // The name of its data file is before those of the earlier export.
    let second = [(
        "AWSDynamoDB/data/a.json",
        changed("a", Some(1), None) + &changed("b", Some(2), Some(3)) + &changed("c", None, Some(3)),
    )];
    [
        export("AWSDynamoDB/01-full", "FULL_EXPORT", &full),
        export("AWSDynamoDB/02-first", "INCREMENTAL_EXPORT", &first),
        export("AWSDynamoDB/03-second", "INCREMENTAL_EXPORT", &second),
    ]
    .concat()
}

/// A line of an incremental export.
fn changed(id: &str, old: Option<u32>, new: Option<u32>) -> String {
    let mut line = json!({"Metadata": {"WriteTimestampMicros": {"N": "1693685934000000"}}, "Keys": {"id": {"S": id}}});
    if let Some(old) = old {
        line["OldImage"] = image(id, old);
    }
    if let Some(new) = new {
        line["NewImage"] = image(id, new);
    }
    line.to_string() + "\n"
}

/// What is in the table after all three exports.
fn replayed() -> Vec<Value> {
    vec![image("b", 3), image("c", 3), image("d", 2)]
}

struct World {
    folder: Folder,
    served: Served,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        for (name, content) in exports() {
            std::fs::create_dir_all(folder.path(&name).parent().unwrap()).unwrap();
            folder.write(&name, content);
        }
        let served = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
        Self { folder, served }
    }

    fn run(&self, command: &str, inputs: &str) -> Run {
        let arguments = self.served.arguments();
        self.folder
            .run(&format!("{command} --table items {arguments} {inputs}"))
    }

    fn items(&self) -> Vec<Value> {
        let mut items = self.served.table.items();
        items.sort_by_key(Value::to_string);
        items
    }
}

#[test]
fn incremental_exports_are_replayed_in_the_order_in_which_they_are_named() {
    let world = World::new();
    world
        .run(
            "load",
            "AWSDynamoDB/01-full AWSDynamoDB/02-first AWSDynamoDB/03-second/",
        )
        .expect(0, "9 delivered");
    assert_eq!(world.items(), replayed());
    // Replaying them again changes nothing.
    world
        .run("load", "AWSDynamoDB/02-first AWSDynamoDB/03-second")
        .expect(0, "6 delivered");
    assert_eq!(world.items(), replayed());
}

#[test]
fn an_export_is_found_from_within_and_says_which_data_file_is_missing() {
    let world = World::new();
    let load = |folder: &str, name: &str| {
        let arguments = format!("load --table items {} {name}", world.served.arguments());
        let mut command = world.folder.command(&arguments);
        command.current_dir(world.folder.path(folder));
        Run::from(command.output().unwrap())
    };
    load("AWSDynamoDB/02-first", ".").expect(0, "3 delivered");
    load("AWSDynamoDB", "03-second").expect(0, "3 delivered");
    std::fs::remove_file(world.folder.path("AWSDynamoDB/data/p.json")).unwrap();
    load(".", "AWSDynamoDB/02-first").expect(
        2,
        "AWSDynamoDB/data/p.json too: copy the whole folder of the export, and the folder data next to it",
    );
    load(".", "AWSDynamoDB").expect(2, "is the folder above 3 exports: name one");
}

#[test]
fn incremental_exports_in_a_bucket_are_replayed_below_any_prefix() {
    for prefix in ["", "backups/films/"] {
        let (world, bucket) = (World::new(), Bucket::new());
        for (key, content) in exports() {
            bucket.put(&format!("{prefix}{key}"), content);
        }
        let load = |names: &[&str]| {
            let names = names.iter().map(|name| format!(" s3://b/{prefix}AWSDynamoDB/{name}"));
            let mut command = world
                .folder
                .command(&format!("load --table items{}", names.collect::<String>()));
            command.env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
            command.env("AWS_ENDPOINT_URL_DYNAMODB", world.served.endpoint());
            Run::from(command.output().unwrap())
        };
        load(&["01-full", "02-first/", "03-second"]).expect(0, "9 delivered");
        assert_eq!(world.items(), replayed());
        bucket.remove(&format!("{prefix}AWSDynamoDB/data/p.json"));
        load(&["02-first"]).expect(
            2,
            &format!("has no {prefix}AWSDynamoDB/data/p.json: copy the whole export"),
        );
    }
}

#[test]
fn changes_outside_an_export_are_replayed_too_and_only_the_key_is_needed() {
    let lines = changed("a", None, Some(1)) + "{\"id\":\"z\"}\n" + &changed("a", None, None);
    load(&[("changes.jsonl", lines.as_bytes())], "changes.jsonl").stored(&[json!({"id": {"S": "z"}})]);
    load(&[("changes.jsonl", lines.as_bytes())], "--format json changes.jsonl").said(1, "there is no id");
}

#[test]
fn changes_are_not_deleted_and_those_of_another_table_are_flaws() {
    let world = World::new();
    world.run("load", "AWSDynamoDB/01-full").expect(0, "3 delivered");
    for inputs in ["AWSDynamoDB/02-first", "--keep-going 9 AWSDynamoDB/02-first"] {
        world
            .run("delete", inputs)
            .expect(1, "`batch-deliver load` repeats the changes");
        assert_eq!(world.items().len(), 3);
    }
    let line = changed("a", None, None).replace("\"Keys\":{", "\"Keys\":{\"sort\":{\"S\":\"secret\"},");
    let flawed = load(&[("a.jsonl", line.as_bytes())], "a.jsonl");
    flawed.said(1, "this is a key of another table: that of this table is id:S");
    assert!(!flawed.run.stderr.contains("secret"), "{}", flawed.run.stderr);
}

#[test]
fn a_full_export_is_read_in_turns_and_incremental_ones_file_by_file() {
    let world = World::new();
    let with_flaw = |name: &str| world.folder.write(name, "oops\n");
    with_flaw("AWSDynamoDB/01-full/data/z.json");
    // In turns, the flaw is the second line.
    world.run("load", "AWSDynamoDB/01-full").expect(1, "1 delivered");
    world
        .run("load", "--order file AWSDynamoDB/01-full")
        .expect(1, "2 delivered");
    with_flaw("AWSDynamoDB/data/a.json");
    world
        .run("load", "AWSDynamoDB/02-first AWSDynamoDB/03-second")
        .expect(1, "3 delivered");
    // What is named beside an export may have its keys.
    world.folder.write("more.jsonl", "{\"id\":\"e\"}\n");
    world
        .run("load", "AWSDynamoDB/01-full more.jsonl")
        .expect(1, "2 delivered");
    // Copies of an export without its summary are told by the place of their data.
    std::fs::remove_file(world.folder.path("AWSDynamoDB/01-full/manifest-summary.json")).unwrap();
    world.run("load", "AWSDynamoDB/01-full").expect(1, "1 delivered");
}

#[test]
fn changes_that_were_not_delivered_are_kept_as_they_are_and_settled_ones_are_not_repeated() {
    let world = World::new();
    let large = changed("large", None, Some(1)).replace(
        "\"n\":",
        &format!("\"text\":{{\"S\":\"{}\"}},\"n\":", "x".repeat(500_000)),
    );
    let lines =
        changed("a", None, Some(1)) + &large + &changed("a", Some(1), None) + "oops\n" + &changed("b", None, Some(1));
    world.folder.write("a.jsonl", lines);
    let options = "--dead-letter kept --resume state";
    world
        .run("load", &format!("{options} a.jsonl"))
        .expect(1, "2 delivered");
    assert!(world.items().is_empty());
    assert_eq!(world.folder.read("kept"), large);
    let resumed = world.run("load", &format!("{options} --keep-going 1 a.jsonl"));
    // The line that could not be read is kept, too.
    resumed
        .expect(1, "1 delivered")
        .expect(1, "4 lines are settled by earlier runs")
        .expect(1, "earlier runs gave up 1 entry")
        .expect(1, "earlier runs skipped 1 bad line");
    assert_eq!(world.items(), [image("b", 1)]);
}
