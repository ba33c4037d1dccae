//! Simulated tables and queues as inputs, without an account.

use serde_json::{Value, json};

use crate::program::{Folder, Run, items};

/// Runs it where there is no account, and no region.
fn run(folder: &Folder, arguments: &str) -> Run {
    let mut command = folder.command(arguments);
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"] {
        command.env_remove(name);
    }
    Run::from(command.env("HOME", folder.path("home")).output().unwrap())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_copy_shows_its_pace_without_an_account() {
    let folder = Folder::new();
    // It has to wait for capacity: on a busy machine the calls alone may leave no moment for a line of progress.
    let copy = "copy --from films --to copies --simulate 500 --simulate-with 1000 --json --every 10ms";
    let copied = run(&folder, copy);
    copied
        .expect(0, "films is simulated, with 1,000 items")
        .expect(0, "the simulator stored what was delivered: 1,000 writes");
    let events = lines(&copied.stdout);
    assert!(events.iter().any(|event| event["event"] == "progress"), "{events:?}");
    assert_eq!(copied.report()["report"]["delivered"], 1_000);
}

#[test]
fn a_simulated_table_has_the_items_of_a_file() {
    let folder = Folder::new();
    folder.write("items.jsonl", items(0..300));
    let arguments = "--simulate 10000 --simulate-with items.jsonl --key id:N";
    run(&folder, &format!("export --table films {arguments} --format json -")).expect(0, "300 items of films written");
    let exported = run(&folder, &format!("export --table films {arguments} --format json -")).stdout;
    let mut exported = lines(&exported);
    exported.sort_by_key(|item| item["id"].as_u64());
    assert_eq!(exported, lines(&folder.read("items.jsonl")));
    run(&folder, &format!("diff films copies {arguments}")).expect(0, "300 items equal");
}

#[test]
fn a_simulated_table_is_emptied() {
    let folder = Folder::new();
    let delete = "delete --table films --all --yes --simulate 10000 --simulate-with 500 --key year:N,title:S";
    run(&folder, delete)
        .expect(0, "500 delivered to films")
        .expect(0, "the simulator stored what was delivered: 500 writes");
}

#[test]
fn a_copy_of_a_simulated_table_goes_on() {
    let folder = Folder::new();
    let copy = "copy --from films --to copies --simulate 2000 --simulate-with 500 --resume state";
    run(&folder, copy).expect(0, "500 delivered to copies");
    run(&folder, copy).expect(0, "500 items are settled by earlier runs");
    run(&folder, &copy.replace("500", "600")).expect(2, "state is the journal of another load");
}

#[test]
fn messages_of_a_simulated_queue_are_moved_and_drained() {
    let folder = Folder::new();
    run(&folder, "move --from a --to b --simulate 5000 --simulate-with 200")
        .expect(0, "200 messages moved from a to b");
    run(
        &folder,
        "drain --queue a.fifo --simulate 5000 --simulate-with 200 drained.jsonl",
    )
    .expect(0, "200 messages of a.fifo written");
    let drained = lines(&folder.read("drained.jsonl"));
    let numbers: Vec<Value> = drained
        .iter()
        .filter(|message| message["group_id"] == "7")
        .map(|message| serde_json::from_str::<Value>(message["body"].as_str().unwrap()).unwrap()["number"].clone())
        .collect();
    assert_eq!(numbers, [json!(7), json!(107)]);
    // What was drained is what the next simulated queue has.
    run(
        &folder,
        "move --from c.fifo --to d.fifo --simulate 5000 --simulate-with drained.jsonl",
    )
    .expect(0, "200 messages moved");
}

#[test]
fn what_cannot_be_simulated_is_refused_with_what_to_do() {
    let folder = Folder::new();
    folder.write("items.jsonl", items(0..3) + "oops\n");
    for (arguments, words) in [
        (
            "export --table films --simulate 10 -",
            "say with --simulate-with how many items",
        ),
        ("diff films copies --simulate 10", "or leave out --simulate"),
        (
            "delete --table films --all --yes --simulate 10",
            "or leave out --simulate",
        ),
        ("move --from a --to b --simulate 10", "or leave out --simulate"),
        ("drain --queue a --simulate 10 -", "or leave out --simulate"),
        ("copy --from films --to copies --simulate-with 10", "--simulate <RATE>"),
        (
            "delete --table films --key id:N --simulate 10 --simulate-with 10 -",
            "--simulate-with is for --all",
        ),
        (
            "export --table films --key id:N -",
            "--key is for the table of --simulate-with",
        ),
        (
            "redrive --queue a --simulate 10",
            "a simulated queue has no dead letters of another one: leave out --simulate, or try move --simulate",
        ),
        (
            "export --table films --filter a=:b --value :b=1 --simulate 10 --simulate-with 10 -",
            "a simulated table evaluates no expressions: leave out --filter, --where and --key-condition",
        ),
        (
            "update --table films --where a=:b --value :b=1 --set a=:b --yes --simulate 10 --simulate-with 10",
            "a simulated table evaluates no expressions",
        ),
        (
            "copy --from films --to copies --if-absent --simulate 10 --simulate-with 10",
            "a simulated table keeps no items, so it has nothing to compare",
        ),
        (
            "export --table films --simulate 10 --simulate-with items.jsonl -",
            "a simulated table needs its key: --key year:N,title:S",
        ),
        (
            "export --table films --simulate 10 --simulate-with items.jsonl --key id:N -",
            "the simulator cannot be filled: items.jsonl:4: ",
        ),
        (
            "export --table films --simulate 10 --simulate-with missing --key id:N -",
            "the simulator cannot be filled: missing cannot be read",
        ),
    ] {
        run(&folder, arguments).expect(2, words);
    }
}

#[test]
fn a_small_capacity_is_used_up() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..200));
    let load = "load --simulate 50 --table items --key id:N --json a.jsonl";
    let run = folder.run(load);
    run.expect(0, "200 delivered");
    let seconds = run.report()["report"]["elapsed_seconds"].as_f64().unwrap();
    // 25 at once, and then 50 a second.
    assert!(seconds < 1.7 * 175.0 / 50.0, "{seconds} s");
}
