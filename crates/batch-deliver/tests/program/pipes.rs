//! A table through a pipe into another one, changed in the middle.

use std::process::Command;
use std::time::Instant;

use serde_json::json;

use crate::program::{Folder, items};
use crate::served::Served;

/// A table with so many items, and a folder.
fn filled(count: u32) -> (Folder, Served) {
    let (folder, from) = (Folder::new(), Served::new(1e6));
    folder.write("items.jsonl", items(0..count));
    folder
        .run(&format!("load --table items {} items.jsonl", from.arguments()))
        .expect(0, "delivered");
    (folder, from)
}

/// Exports the one table, and loads the other one with what `sed` makes of it. Returns the seconds.
fn pipe(folder: &Folder, from: &Served, to: &Served) -> f64 {
    let program = env!("CARGO_BIN_EXE_batch-deliver");
    let (from, to) = (from.endpoint(), to.endpoint());
    let line = format!(
        "{program} export --quiet --table items --endpoint-url {from} - | sed 's/item /film /' \
         | {program} load --quiet --table items --endpoint-url {to} -"
    );
    // It has the environment of the program.
    let of_program = folder.command("");
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]);
    shell.envs(of_program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let begun = Instant::now();
    let output = shell.output().unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    seconds
}

#[test]
fn what_a_pipe_makes_of_items_is_in_the_other_table() {
    let ((folder, from), to) = (filled(2_000), Served::new(1e6));
    pipe(&folder, &from, &to);
    let (before, after) = (from.items(), to.items());
    assert_eq!(after.len(), 2_000);
    for (mut item, film) in before.into_iter().zip(after) {
        item["name"] = json!({"S": item["name"]["S"].as_str().unwrap().replace("item", "film")});
        assert_eq!(film, item);
    }
}

/// For the figures in `docs/figures.md`: `cargo test --test program -- --ignored --nocapture a_pipe_beside_a_copy`
#[test]
#[ignore = "takes 20 s, and prints figures"]
fn a_pipe_beside_a_copy() {
    const ITEMS: u32 = 20_000;
    const RATE: f64 = 2_000.0;
    let (folder, from) = filled(ITEMS);
    let (copied, piped) = (Served::new(RATE), Served::new(RATE));
    let copy = format!(
        "copy --from items --to items --from-endpoint-url {} --to-endpoint-url {}",
        from.endpoint(),
        copied.endpoint()
    );
    let begun = Instant::now();
    folder.run(&copy).expect(0, "20,000 delivered");
    let of_copy = begun.elapsed().as_secs_f64();
    let of_pipe = pipe(&folder, &from, &piped);
    assert_eq!((copied.ids().len(), piped.ids().len()), (20_000, 20_000));
    let least = (f64::from(ITEMS) - RATE / 10.0) / RATE;
    println!(
        "of {least:.1} s that are possible: a copy takes {of_copy:.2} s, export | sed | load {of_pipe:.2} s, {:.3} of that",
        of_pipe / of_copy
    );
}
