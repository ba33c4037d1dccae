//! Deletes and updates of the items of a table.

use aws_batch_simulator::InjectedFault;
use serde_json::json;

#[cfg(target_os = "linux")]
use crate::dead_letters::load_fed_back;
use crate::program::{Folder, Run, items};
use crate::served::Served;

fn filled(ids: std::ops::Range<u32>) -> (Folder, Served) {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("items.jsonl", items(ids));
    folder
        .run(&format!("load --table items {} items.jsonl", served.arguments()))
        .expect(0, "delivered");
    (folder, served)
}

fn run(folder: &Folder, served: &Served, command: &str, arguments: &str) -> Run {
    folder.run(&format!("{command} --table items {} {arguments}", served.arguments()))
}

#[test]
fn a_table_is_emptied() {
    let (folder, served) = filled(0..2_000);
    served
        .table
        .script_reads([InjectedFault::Throttle, InjectedFault::Dropped { applied: false }]);
    run(&folder, &served, "delete", "--all --yes").expect(0, "2,000 delivered to items");
    assert!(served.table.is_empty());
    // Only the keys were read: an item of `items` has more.
    run(&folder, &served, "delete", "--all --yes").expect(0, "0 delivered to items");
}

#[test]
fn without_a_terminal_the_answer_is_an_option() {
    let (folder, served) = filled(0..10);
    run(&folder, &served, "delete", "--all").expect(2, "add --yes; nothing was deleted");
    run(&folder, &served, "update", "--where a=:b --value :b=1 --set c=:b").expect(2, "add --yes; nothing was updated");
    assert_eq!(served.ids().len(), 10);
}

#[test]
fn a_dry_run_counts() {
    let (folder, served) = filled(0..500);
    run(&folder, &served, "delete", "--all --dry-run").expect(0, "500 items of items, counted with");
    assert_eq!(served.ids().len(), 500);
}

#[test]
fn a_table_that_is_emptied_may_be_interrupted() {
    let (folder, served) = filled(0..500);
    run(&folder, &served, "delete", "--all --yes --resume state").expect(0, "500 delivered");
    run(&folder, &served, "delete", "--all --yes --resume state").expect(0, "500 items are settled by earlier runs");
}

#[test]
fn wrong_use_is_told_with_what_to_do() {
    let (folder, served) = filled(0..10);
    for (command, arguments, words) in [
        ("delete", "--all --yes items.jsonl", "leave out inputs"),
        ("delete", "--all --yes --order turns", "leave out --order"),
        ("delete", "--all --where a=:b", "cannot be used with"),
        ("delete", "--where a=:b --condition c=:d", "cannot be used with"),
        ("delete", "--where a=:b --yes", "there is no value for :b"),
        ("delete", "--all --yes --simulate 10", "leave out --simulate"),
        ("delete", "--all --key-condition id=:i", "cannot be used with"),
        ("delete", "--key-condition id=:i --segments 3", "cannot be used with"),
        ("delete", "--key-condition id=:i --yes", "there is no value for :i"),
        (
            "delete",
            "--key-condition id=:i --value :i=1 --condition attribute_not_exists(locked) --yes",
            "give --where",
        ),
        (
            "delete",
            "--key-condition id=:i --value :i=1 --failed kept --yes",
            "give --where",
        ),
        (
            "delete",
            "--key-condition id=:i --value :i=1 --yes items.jsonl",
            "leave out inputs",
        ),
        (
            "update",
            "--key-condition id=:i --value :i=1 --set c=:i",
            "give --where as well",
        ),
        (
            "update",
            "--where a=:b --value :b=1 --set c=:d --yes",
            "there is no value for :d",
        ),
        (
            "update",
            "--where a=:b --value :b=1 --value :x=1 --set c=:b --yes",
            ":x is in no expression",
        ),
    ] {
        run(&folder, &served, command, arguments).expect(2, words);
    }
    assert_eq!(served.ids().len(), 10);
}

#[test]
fn the_items_with_an_attribute_are_deleted() {
    let (folder, served) = filled(0..300);
    let deleted = run(&folder, &served, "delete", "--where #even=:yes --value :yes=true --yes");
    deleted.expect(0, "150 delivered to items");
    assert_eq!(served.ids(), (0..300).filter(|id| id % 2 > 0).collect::<Vec<_>>());
    let dry = "--where #even=:no --value :no=false --dry-run";
    run(&folder, &served, "delete", dry).expect(0, "150 items of items");
}

#[test]
fn an_attribute_is_set_wherever_the_expression_holds() {
    let (folder, served) = filled(0..100);
    let set =
        "--where #even=:yes --value :yes=true --set #checked=:now --value :now=today --remove #n --name #n=name --yes";
    let updated = run(&folder, &served, "update", set);
    updated.expect(0, "50 delivered to items");
    let items = served.items();
    assert_eq!(items.len(), 100);
    let even = json!({"id": {"N": "2"}, "even": {"BOOL": true}, "checked": {"S": "today"}});
    assert_eq!((&items[2], items[3].get("checked")), (&even, None));
}

#[test]
fn the_items_of_one_partition_key_are_meant() {
    let (folder, served) = filled(0..10);
    let seventh = "--key-condition #id=:id --value :id=7 --yes";
    let deleted = run(&folder, &served, "delete", seventh);
    deleted.expect(0, "1 delivered to items");
    // What only the key condition names is in no other expression.
    let odd = "--where #even=:no --value :no=false";
    for (id, deleted) in [(8, 0), (9, 1)] {
        let arguments = format!("--key-condition id=:id --value :id={id} {odd} --yes");
        run(&folder, &served, "delete", &arguments).expect(0, &format!("{deleted} delivered to items"));
    }
    let update = "--key-condition id=:id --value :id=2 --where #even=:yes --value :yes=true --set checked=:now --value :now=today --yes";
    run(&folder, &served, "update", update).expect(0, "1 delivered to items");
    assert_eq!(served.ids(), [0, 1, 2, 3, 4, 5, 6, 8]);
    let checked = served
        .items()
        .iter()
        .filter(|item| item.get("checked").is_some())
        .count();
    assert_eq!(checked, 1);
    let third = "--key-condition id=:id --value :id=3";
    run(&folder, &served, "export", &format!("{third} third.jsonl")).expect(0, "1 item");
    run(&folder, &served, "export", &format!("{third} third.jsonl --dry-run"))
        .expect(0, "1 item of items, counted with");
}

#[cfg(target_os = "linux")]
#[test]
fn failed_conditions_that_come_back_by_a_pipe_end_the_load() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..3));
    let load = format!("load --table items {}", served.arguments());
    folder.run(&format!("{load} a.jsonl")).expect(0, "3 delivered");
    let conditional = format!("{load} --condition attribute_not_exists(id) --failed kept");
    folder
        .run(&format!("{conditional} a.jsonl"))
        .expect(0, "3 with a failed condition");
    load_fed_back(&folder, &format!("{conditional} -"), &["tail -n +1 -f kept"])
        .expect(1, "the input comes from a process that reads this file");
}
