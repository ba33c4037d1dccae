//! What could not be read or delivered, and is kept.

use aws_batch_simulator::{IndexOptions, KeyType, TableOptions};
use serde_json::Value;

use crate::bucket::Bucket;
use crate::program::{Folder, items};
use crate::served::Served;

/// The lines of a file, each as JSON.
fn lines(folder: &Folder, name: &str) -> Vec<Value> {
    let text = folder.read(name);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// With the key, the table is not asked for its indexes.
#[test]
fn the_service_says_why_it_refused_an_entry() {
    const WORDS: &str = "The AttributeValue for a key attribute cannot contain an empty string value. IndexName: by_email, IndexKey: email";
    let folder = Folder::new();
    let index = IndexOptions::key("email", KeyType::S);
    let served = Served::with_table(TableOptions::key("id", KeyType::S).index("by_email", index), 1e6);
    folder.write(
        "a.jsonl",
        "{\"id\":\"0\",\"email\":\"a\"}\n{\"id\":\"1\",\"email\":\"\"}\n{\"id\":\"2\",\"email\":null}\n",
    );
    folder
        .run(&format!("load --table items --key id:S {} --dead-letter dead a.jsonl", served.arguments()))
        .expect(1, &format!("a.jsonl:2: refused: ValidationException: One or more parameter values are not valid. A value specified for a secondary index key is not supported. {WORDS}"))
        .expect(1, "a.jsonl:3: refused: ValidationException: One or more parameter values were invalid: Type mismatch for Index Key email");
    let mut causes = lines(&folder, "dead.causes.jsonl");
    causes.sort_by_key(|cause| cause["line"].as_u64());
    assert_eq!(causes[0]["cause"], "refused: ValidationException");
    assert_eq!(causes[0]["code"], "ValidationException");
    assert!(causes[0]["message"].as_str().unwrap().ends_with(WORDS), "{causes:?}");
    let report = folder
        .run(&format!(
            "load --json --table items --key id:S {} a.jsonl",
            served.arguments()
        ))
        .report();
    assert_eq!(report["causes"].as_array().unwrap().len(), 2);
    assert!(report["causes"].to_string().contains("IndexKey: email"), "{report}");
}

#[test]
fn bad_lines_are_kept_as_they_are_with_their_reasons_and_can_be_corrected_and_loaded() {
    let folder = Folder::new();
    let served = Served::with_table(TableOptions::key("id", KeyType::S), 1e6);
    let bad = ["{\"id\":\"1\",}", "  oops \u{7}", "{\"name\":\"no key\"}"];
    folder.write(
        "a.jsonl",
        format!(
            "{{\"id\":\"0\"}}\r\n{}\r\n{}\n\n{{\"id\":\"2\"}}\n{}",
            bad[0], bad[1], bad[2]
        ),
    );
    let load = format!("load --table items {}", served.arguments());
    folder
        .run(&format!("{load} --dead-letter dead --keep-going 3 a.jsonl"))
        .expect(1, "2 delivered")
        .expect(1, "3 bad lines in dead.bad, with reasons in dead.bad.causes.jsonl: correct them there, and load them with the same options, but another --dead-letter\n");
    assert_eq!(folder.read("dead.bad"), bad.map(|line| format!("{line}\n")).concat());
    assert!(!folder.path("dead").exists());
    let causes = lines(&folder, "dead.bad.causes.jsonl");
    let places: Vec<_> = causes.iter().map(|cause| cause["line"].as_u64()).collect();
    assert_eq!(places, [Some(2), Some(3), Some(6)]);
    assert!(causes.iter().all(|cause| cause["file"] == "a.jsonl"));
    assert!(causes[0]["column"].is_u64() && causes[0]["reason"].as_str().unwrap().contains("this is not JSON"));
    assert!(causes[2]["reason"].as_str().unwrap().contains("id"), "{causes:?}");

    folder
        .run(&format!("{load} --dead-letter dead dead.bad"))
        .expect(2, "dead.bad is an input and the file of bad lines");
    folder.write("dead.bad", "{\"id\":\"1\"}\n{\"id\":\"3\"}\n{\"id\":\"4\"}\n");
    folder.run(&format!("{load} dead.bad")).expect(0, "3 delivered");
    assert_eq!(served.table.items().len(), 5);
}

#[test]
fn a_bad_line_that_is_kept_is_settled_and_one_that_is_not_is_met_again() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        items(0..3) + "oops\n" + &items(4..7) + "oops again\n" + &items(8..9),
    );
    let load = "--dead-letter dead --resume state a.jsonl";
    folder
        .load(load)
        .expect(1, "3 delivered")
        .expect(1, "1 bad line in dead.bad")
        .expect(1, "but another --dead-letter and another --resume\n");
    folder.write("b.jsonl", items(9..10));
    folder
        .load("--dead-letter other --resume state b.jsonl")
        .expect(2, "a load of something else needs another --resume");
    folder
        .load(load)
        .expect(1, "4 lines are settled by earlier runs")
        .expect(1, "3 delivered");
    folder
        .load(load)
        .expect(1, "8 lines are settled by earlier runs")
        .expect(1, "1 delivered")
        .expect(1, "earlier runs skipped 2 bad lines")
        .expect(1, "a.jsonl:4 and 1 more: ");
    folder.load(load).expect(0, "9 lines are settled by earlier runs");
    assert_eq!(folder.read("dead.bad"), "oops\noops again\n");
    folder.load("--resume other a.jsonl").expect(1, "3 delivered");
    folder
        .load("--resume other a.jsonl")
        .expect(1, "a.jsonl:4: ")
        .expect(1, "0 delivered");
}

#[test]
fn a_line_that_is_too_long_to_be_kept_is_named_and_met_again() {
    let folder = Folder::new();
    folder.write(
        "a.jsonl",
        format!("{}{{\"id\":\"{}\"}}\n{}", items(0..1), "x".repeat(9 << 20), items(2..3)),
    );
    let load = "--dead-letter dead --keep-going 1 --resume state a.jsonl";
    for delivered in ["2 delivered", "0 delivered"] {
        folder.load(load).expect(1, delivered).expect(
            1,
            "1 bad line too long to be kept, with reasons in dead.bad.causes.jsonl",
        );
    }
    assert!(!folder.path("dead.bad").exists());
    let causes = lines(&folder, "dead.bad.causes.jsonl");
    assert_eq!((&causes[0]["line"], &causes[0]["kept"]), (&2.into(), &false.into()));
}

#[test]
fn messages_that_could_not_be_read_are_kept_as_well() {
    let folder = Folder::new();
    folder.write("a.jsonl", "{\"body\":\"a\"}\n{\"text\":\"b\"}\n");
    folder
        .run("send --simulate 1000 --queue q --format json --keep-going 1 --dead-letter dead a.jsonl")
        .expect(1, "1 delivered")
        .expect(1, "1 bad line in dead.bad");
    assert_eq!(folder.read("dead.bad"), "{\"text\":\"b\"}\n");
}

#[test]
fn bad_lines_in_a_bucket_are_objects_below_bad() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    folder.write("a.jsonl", items(0..3) + "oops\n" + &items(4..7) + "oops again\n");
    let load = format!(
        "{} --dead-letter s3://b/dead/ --keep-going 2 a.jsonl",
        bucket.arguments()
    );
    folder
        .load(&load)
        .expect(1, "6 delivered")
        .expect(1, "2 bad lines in s3://b/dead/bad/");
    let objects = bucket.objects("dead/bad/2");
    assert_eq!(
        objects.iter().map(|(_, text)| text.as_str()).collect::<String>(),
        "oops\noops again\n"
    );
    let causes: String = bucket
        .objects("dead/bad/causes/")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    assert_eq!(causes.lines().count(), 2);
    assert_eq!(bucket.objects("dead/2"), []);
    folder
        .load(&load.replace("s3://b/", "s3://other/"))
        .expect(1, "AccessDenied: not yours")
        .expect(1, "not delivered, and only in the input: a.jsonl: 4");
}

/// A load that has stopped at the bad line 4 of the second of three inputs.
fn stopped(folder: &Folder, order: &str) -> String {
    folder.write("a.jsonl", items(0..10));
    folder.write("b.jsonl", items(10..13) + "oops\n" + &items(14..20));
    folder.write("c.jsonl", items(20..30));
    let load = format!("--resume state --order {order} a.jsonl b.jsonl c.jsonl");
    folder
        .load(&load)
        .expect(1, "b.jsonl:4: ")
        .expect(1, "to continue, run the same command again, with that line corrected");
    load
}

#[test]
fn a_line_that_is_corrected_in_its_input_is_loaded_by_the_next_run() {
    for order in ["file", "turns"] {
        let folder = Folder::new();
        let load = stopped(&folder, order);
        let before = if order == "file" { 13 } else { 10 };
        folder.write("b.jsonl", items(10..20) + "oops\n" + &items(20..21));
        folder
            .load(&load)
            .expect(1, &format!("{before} lines are settled by earlier runs"))
            .expect(1, "b.jsonl:11: ");
        folder.write("b.jsonl", items(10..20));
        folder.load(&load).expect(0, "delivered");
        folder.load(&load).expect(0, "0 delivered");
    }
}

#[test]
fn an_input_that_has_changed_elsewhere_is_refused() {
    let folder = Folder::new();
    let load = stopped(&folder, "file");
    let good = items(10..20);
    folder.write("b.jsonl", good.replacen("item 11", "item XX", 1));
    folder
        .load(&load)
        .expect(2, "b.jsonl has changed before line 4, at which the last run stopped");
    folder.write("b.jsonl", &good);
    folder.write("a.jsonl", items(0..11));
    folder.load(&load).expect(2, "a.jsonl has changed");
}

#[test]
fn a_corrected_input_is_refused_if_the_bad_line_is_kept_or_the_run_was_not_stopped_by_it() {
    let folder = Folder::new();
    let lines = |third: &str| items(0..2) + third + "\n" + &items(3..5);
    folder.write("a.jsonl", lines("oops"));
    folder
        .load("--resume kept --dead-letter dead a.jsonl")
        .expect(1, "2 delivered");
    folder
        .load("--resume skipped --keep-going 1 a.jsonl")
        .expect(1, "4 delivered");
    folder.write("a.jsonl", lines("{\"id\":2}"));
    folder
        .load("--resume kept --dead-letter dead a.jsonl")
        .expect(2, "a.jsonl has changed");
    folder
        .load("--resume skipped --keep-going 1 a.jsonl")
        .expect(2, "a.jsonl has changed");
}

#[test]
fn a_corrected_input_is_refused_if_a_later_line_of_it_is_settled() {
    let folder = Folder::new();
    let lines = |third: &str| items(0..2) + third + "\n" + &items(3..5);
    folder.write("a.jsonl", lines("oops"));
    folder
        .load("--resume state --keep-going 1 a.jsonl")
        .expect(1, "4 delivered");
    folder.load("--resume state a.jsonl").expect(1, "0 delivered");
    // The last line would be taken for one that is settled.
    folder.write("a.jsonl", lines("{\"id\":2}\n{\"id\":9}"));
    folder.load("--resume state a.jsonl").expect(2, "a.jsonl has changed");
}

#[test]
fn a_corrected_object_is_compared_as_it_is_unpacked() {
    let folder = Folder::new();
    let bucket = Bucket::new();
    let put = |text: String, level: i32| bucket.put("a.zst", zstd::encode_all(text.as_bytes(), level).unwrap());
    let load = format!("{} --resume s3://b/state s3://b/a.zst", bucket.arguments());
    put(items(0..3) + "oops\n" + &items(4..7), 1);
    folder.load(&load).expect(1, "3 delivered");
    put(items(0..7), 9);
    folder
        .load(&load)
        .expect(0, "3 lines are settled by earlier runs")
        .expect(0, "4 delivered");
}

#[test]
fn bad_rows_are_kept_below_their_header() {
    let folder = Folder::new();
    folder.write("a.csv", "id,name\r\n1,a\r\n2\r\n3,c\r\n4,\"d\" e\r\n");
    folder.write("b.csv", "id;size\n5;d;e\n");
    let load = "load --simulate 1000000 --table items --key id:S --dead-letter dead";
    folder
        .run(&format!("{load} --keep-going 3 a.csv b.csv"))
        .expect(1, "2 delivered")
        .expect(1, "a.csv:5: column 7: text follows the closing quote");
    assert_eq!(folder.read("dead.bad"), "id,name\n2\n4,\"d\" e\n");
    assert_eq!(folder.read("dead.bad.2"), "id;size\n5;d;e\n");
    folder.write("dead.bad", "id,name\n2,b\n4,\"d e\"\n");
    folder
        .run("load --simulate 1000000 --table items --key id:S --dead-letter again dead.bad")
        .expect(0, "2 delivered");
}

#[test]
fn a_bad_row_of_tsv_keeps_its_empty_cells() {
    let folder = Folder::new();
    folder.write("a.tsv", "id\tn\tnote\r\n1\t2\tx\r\n\t\t\r\n3\ty\t\r\n");
    let load = "load --simulate 1000000 --table items --key id:N --types n:N --dead-letter dead --keep-going 2";
    folder.run(&format!("{load} a.tsv")).expect(1, "2 bad lines");
    assert_eq!(folder.read("dead.bad"), "id\tn\tnote\n\t\t\n3\ty\t\n");
}
