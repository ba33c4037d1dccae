//! Everything that the program does with files fails once, one operation after another, and it is killed at each of them: what was
//! taken from the input is delivered or kept in the end.
//!
//! A library that is loaded before that of C counts the operations, and lets one of them fail: see `interpose.c`. A plain run tries
//! a sample; `FAILURES=all` tries every operation.

#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[path = "../program/activity.rs"]
#[expect(dead_code, reason = "other tests wait for heartbeats")]
mod activity;
#[path = "../program/http.rs"]
#[expect(dead_code, reason = "other tests serve a bucket")]
mod http;
mod kills;
mod letters;
#[path = "../program/program.rs"]
#[expect(dead_code, reason = "other tests interrupt it")]
mod program;
mod runs;
#[path = "../program/served.rs"]
#[expect(dead_code, reason = "other tests create its table again")]
mod served;
mod tried;

use std::collections::BTreeSet;
use std::fs;

use aws_batch_simulator::Message;
use serde_json::Value;

use self::program::{Folder, items};
use self::runs::Use;
use self::served::Served;
use self::tried::{Calls, Situation, each_call_fails_once, each_operation_fails_once};

const ITEMS: u32 = 120;

/// Items that the service refuses.
const REFUSED: [u32; 2] = [7, 90];

fn number(item: &Value) -> u32 {
    item["id"]["N"].as_str().unwrap().parse().unwrap()
}

/// The ids in lines of items.
fn ids(lines: &str) -> BTreeSet<u32> {
    let id = |line: &str| serde_json::from_str::<Value>(line).ok()?["id"].as_u64();
    let ids = lines.lines().filter_map(id);
    ids.map(|id| u32::try_from(id).unwrap()).collect()
}

fn all() -> BTreeSet<u32> {
    (0..ITEMS).collect()
}

fn all_but_refused() -> BTreeSet<u32> {
    all().into_iter().filter(|id| !REFUSED.contains(id)).collect()
}

/// Fills the table, which refuses some items from then on.
fn fill(folder: &Folder, served: &Served) {
    folder.write("items.jsonl", items(0..ITEMS));
    let load = format!("load --table items {} items.jsonl", served.arguments());
    folder.run(&load).expect(0, "delivered");
}

fn refuse(served: &Served) {
    served.table.poison(|item| REFUSED.contains(&number(item)));
}

fn write_messages(folder: &Folder) {
    let lines: String = (0..ITEMS).map(|number| number.to_string() + "\n").collect();
    folder.write("a.txt", lines);
}

fn messages(served: &Served) -> BTreeSet<u32> {
    let body = |message: Message| message.body.parse::<u32>().unwrap();
    served.queue.messages().into_iter().map(body).collect()
}

const LOAD: Situation = Situation {
    name: "load",
    prepare: |folder, served| {
        refuse(served);
        folder.write("a.jsonl", items(0..ITEMS / 2));
        folder.write("b.jsonl", items(ITEMS / 2..ITEMS) + "oops\n");
    },
    used: Use::Command("load --table items --resume state --dead-letter dead.jsonl --concurrency 2 a.jsonl b.jsonl"),
    waits: false,
    meanwhile: |_, _| {},
    says: |run| {
        // Whichever run gave them up, the last one names them.
        run.expect(1, "a.jsonl:8").expect(1, "b.jsonl:61: ");
        assert!(
            ["a.jsonl:8 and 1 more: ", "b.jsonl:31: "]
                .iter()
                .any(|words| run.stderr.contains(words)),
            "{}",
            run.stderr
        );
    },
    holds: |folder, served| {
        assert_eq!(served.ids().into_iter().collect::<BTreeSet<_>>(), all_but_refused());
        assert_eq!(ids(&folder.read("dead.jsonl")), REFUSED.into());
        // A run that meets the line again may keep it once more.
        let kept = folder.read("dead.jsonl.bad");
        assert!(kept.lines().any(|line| line == "oops"), "{kept:?}");
    },
};

const SEND: Situation = Situation {
    name: "send",
    prepare: |folder, _| write_messages(folder),
    used: Use::Command("send --queue q --resume state --concurrency 2 a.txt"),
    waits: false,
    meanwhile: |_, _| {},
    says: |_| {},
    holds: |_, served| assert_eq!(messages(served), all()),
};

const COPY: Situation = Situation {
    name: "copy",
    prepare: fill,
    used: Use::Command("copy --from items --to copy --resume state --dead-letter dead.jsonl --concurrency 2"),
    waits: false,
    meanwhile: |_, _| {},
    says: |_| {},
    holds: |folder, served| {
        let diff = format!("diff items copy {}", served.arguments());
        folder.run(&diff).expect(0, "120 items equal");
    },
};

const DELETE: Situation = Situation {
    name: "delete",
    prepare: fill,
    used: Use::Command("delete --table items --all --yes --resume state --concurrency 2"),
    waits: false,
    meanwhile: |_, _| {},
    says: |_| {},
    holds: |_, served| assert!(served.table.is_empty()),
};

const EXPORT: Situation = Situation {
    name: "export",
    prepare: |folder, served| {
        fill(folder, served);
        folder.write("out.jsonl", "before\n");
    },
    used: Use::Command("export --table items --format json out.jsonl"),
    waits: false,
    meanwhile: |folder, _| {
        let written = folder.read("out.jsonl");
        assert!(written == "before\n" || ids(&written) == all(), "{written}");
    },
    says: |_| {},
    holds: |folder, _| assert_eq!(ids(&folder.read("out.jsonl")), all()),
};

const DRAIN: Situation = Situation {
    name: "drain",
    prepare: |folder, served| {
        write_messages(folder);
        let send = format!("send --queue q {} a.txt", served.arguments());
        folder.run(&send).expect(0, "delivered");
    },
    used: Use::Command("drain --queue q out.jsonl"),
    waits: true,
    meanwhile: |_, _| {},
    says: |_| {},
    holds: |folder, served| {
        let lines = fs::read_to_string(folder.path("out.jsonl")).unwrap_or_default();
        // The last line may be half of one after a kill.
        let body = |line: &str| serde_json::from_str::<Value>(line).ok()?["body"].as_str()?.parse().ok();
        let mut found: BTreeSet<u32> = lines.lines().filter_map(body).collect();
        found.extend(messages(served));
        assert_eq!(found, all());
    },
};

const WORKER: Situation = Situation {
    name: "worker",
    prepare: |folder, served| {
        refuse(served);
        folder.write("a.jsonl", items(0..ITEMS));
    },
    used: Use::Worker {
        options: "--table items --dead-letters dead --checkpoints checkpoints --concurrency 2",
        file: "a.jsonl",
    },
    waits: false,
    meanwhile: |_, _| {},
    says: |_| {},
    holds: |folder, served| {
        assert_eq!(served.ids().into_iter().collect::<BTreeSet<_>>(), all_but_refused());
        let files = folder.path("dead").read_dir().unwrap().map(|file| file.unwrap().path());
        let dead = files.filter_map(|file| fs::read_to_string(file).ok());
        assert_eq!(
            dead.flat_map(|lines| ids(&lines)).collect::<BTreeSet<_>>(),
            REFUSED.into()
        );
    },
};

#[test]
fn a_load_with_a_journal_and_dead_letters_loses_nothing() {
    each_operation_fails_once(&LOAD);
}

#[test]
fn messages_that_are_sent_with_a_journal_are_all_sent() {
    each_operation_fails_once(&SEND);
}

#[test]
fn a_copy_is_complete_in_the_end() {
    each_operation_fails_once(&COPY);
}

#[test]
fn a_table_is_emptied_in_the_end() {
    each_operation_fails_once(&DELETE);
}

#[test]
fn an_export_is_complete_or_leaves_what_was_there() {
    each_operation_fails_once(&EXPORT);
}

#[test]
fn a_message_that_is_drained_is_in_the_file_or_in_the_queue() {
    each_operation_fails_once(&DRAIN);
}

#[test]
fn a_shard_is_complete_after_its_last_worker() {
    each_operation_fails_once(&WORKER);
}

#[test]
fn no_call_that_fails_loses_an_entry() {
    const WRITES: Calls = Calls {
        script: |served, faults| served.table.script(faults),
        made: |served| served.table.statistics().calls,
    };
    const READS: Calls = Calls {
        script: |served, faults| served.table.script_reads(faults),
        made: |served| served.table.read_statistics().calls,
    };
    const SENDS: Calls = Calls {
        script: |served, faults| served.queue.script(faults),
        made: |served| served.queue.statistics().calls,
    };
    each_call_fails_once(&LOAD, 6, &WRITES);
    each_call_fails_once(&WORKER, 6, &WRITES);
    each_call_fails_once(&DELETE, 5, &WRITES);
    each_call_fails_once(&DELETE, 4, &READS);
    each_call_fails_once(&EXPORT, 4, &READS);
    each_call_fails_once(&COPY, 4, &READS);
    each_call_fails_once(&SEND, 12, &SENDS);
}
