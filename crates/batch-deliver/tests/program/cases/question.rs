//! What is said, and asked, before anything begins.

use crate::program::{Folder, items};
use crate::pseudo_terminal;
use crate::served::Served;

/// Deletes 10 of 12 items on a terminal. Returns the exit code, what is printed, and the number of items that are left.
fn delete(arguments: &str, typed: &str) -> (i32, String, usize) {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("all.jsonl", items(0..12));
    folder.write("a.jsonl", items(0..3));
    folder.write("b.jsonl", items(3..10));
    let load = format!("load --table items {} all.jsonl", served.arguments());
    folder
        .run(&load)
        .expect(0, "reading all.jsonl, ")
        .expect(0, "12 delivered");
    let delete = folder.command(&format!("delete --table items {} {arguments}", served.arguments()));
    let (code, printed) = pseudo_terminal::run(delete, typed);
    (code, printed, served.ids().len())
}

#[test]
fn a_delete_on_a_terminal_names_what_it_reads_and_waits_for_a_yes() {
    for yes in ["y\n", "YES\n"] {
        let (code, printed, left) = delete("a.jsonl b.jsonl", yes);
        assert!(printed.contains("reading 2 inputs, "), "{printed}");
        assert!(printed.contains(": a.jsonl, b.jsonl"), "{printed}");
        assert!(
            printed.contains("delete the items of 10 keys from items? [y/N]"),
            "{printed}"
        );
        assert_eq!((code, left), (0, 2), "{printed}");
    }
    // The last one is the end of the input.
    for no in ["\n", "n\n", "yes please\n", "\u{4}"] {
        let (code, printed, left) = delete("a.jsonl b.jsonl", no);
        assert!(printed.contains("nothing was deleted"), "{printed}");
        assert_eq!((code, left), (2, 12), "{printed}");
    }
}

#[test]
fn values_with_line_breaks_are_counted_once_though_they_are_read_for_the_question() {
    let folder = Folder::new();
    folder.write("a.csv", "id\n\"a\nb\"\n\"c\"\n");
    let delete = folder.command("delete --simulate 1000 --table items --key id:S a.csv");
    let (code, printed) = pseudo_terminal::run(delete, "y\n");
    assert!(printed.contains("1 value has line breaks"), "{printed}");
    assert_eq!(code, 0, "{printed}");
}

#[test]
fn a_table_is_emptied_on_a_terminal_after_a_yes() {
    let (code, printed, left) = delete("--all", "n\n");
    assert!(
        printed.contains("delete all items, about 12, of items? [y/N]"),
        "{printed}"
    );
    assert_eq!((code, left), (2, 12), "{printed}");
    let (code, printed, left) = delete("--all", "y\n");
    assert!(printed.contains("12 delivered"), "{printed}");
    assert_eq!((code, left), (0, 0), "{printed}");
}

#[test]
fn yes_is_said_on_the_command_line_too() {
    let (code, printed, left) = delete("--yes a.jsonl", "");
    assert!(
        !printed.contains("[y/N]") && printed.contains("reading a.jsonl"),
        "{printed}"
    );
    assert_eq!((code, left), (0, 9), "{printed}");
    let (code, printed, left) = delete("-", "{\"id\":1}\n\u{4}");
    assert!(printed.contains("add --yes to delete without a question"), "{printed}");
    assert_eq!((code, left), (2, 12), "{printed}");
    let (code, printed, left) = delete("--quiet a.jsonl", "n\n");
    assert!(
        printed.contains("reading a.jsonl, ") && printed.contains("of 3 keys from items?"),
        "{printed}"
    );
    assert_eq!((code, left), (2, 12), "{printed}");
    let (code, printed, left) = delete("--dry-run a.jsonl", "");
    assert!(printed.contains("3 good lines"), "{printed}");
    assert_eq!((code, left), (0, 12), "{printed}");
}

#[test]
fn a_delete_without_a_person_is_not_asked_but_says_what_it_reads() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..3));
    folder
        .run("delete --simulate 1000000 --table items --key id:N a.jsonl")
        .expect(0, "reading a.jsonl, ")
        .expect(0, "3 delivered");
    let run = folder.run_with("delete --simulate 1000000 --table items --key id:N -", &items(0..3));
    run.expect(0, "reading the standard input").expect(0, "3 delivered");
    let quiet = folder.run("delete --quiet --simulate 1000000 --table items --key id:N a.jsonl");
    assert_eq!(quiet.expect(0, "").stderr, "");
}
