//! What a journal knows of its load, and what it carries from one run to the next.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::UNIX_EPOCH;

use aws_batch_simulator::{Capacity, InjectedFault};
use serde_json::{Value, json};

#[cfg(unix)]
use crate::bucket::Bucket;
use crate::http::{Response, serve};
#[cfg(unix)]
use crate::program::interrupt;
use crate::program::{Folder, Run, items, until_there};
use crate::served::Served;

/// Starts it with progress every few milliseconds, and waits until so many are delivered.
fn begun(folder: &Folder, arguments: &str, delivered: u64) -> Child {
    let command = format!("{arguments} --json --every 5ms --concurrency 2 --resume state");
    begun_by(folder.command(&command), delivered)
}

fn begun_by(mut command: Command, delivered: u64) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for line in lines.by_ref() {
        let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if event["figures"]["delivered"].as_u64() >= Some(delivered) {
            break;
        }
    }
    // A pipe that is full would hold up the program.
    thread::spawn(move || lines.for_each(drop));
    child
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A journal of a load of which nothing is left to do.
fn loaded(served: &Served, more: &str) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..50));
    let load = format!("load --table items --resume state a.jsonl {more}");
    folder
        .run(&format!("{load} {}", served.arguments()))
        .expect(0, "50 delivered");
    (folder, load)
}

/// Items, the second of which is too large for any table.
fn with_a_large_one() -> String {
    let large = json!({"id": 1_000_000, "text": "x".repeat(500_000)});
    format!("{}{large}\n{}", items([0]), items(1..2_000))
}

#[test]
fn what_a_killed_run_gave_up_is_named_by_the_run_that_ends_and_by_no_later_one() {
    for letters in ["", "--dead-letter dead"] {
        let (folder, served) = (Folder::new(), Served::new(1_000.0));
        folder.write("a.jsonl", with_a_large_one());
        let load = format!("load --table items {} {letters} a.jsonl", served.arguments());
        kill(begun(&folder, &load, 200));
        kill(begun(&folder, &load, 100));
        served.table.set_capacity(Capacity::unlimited());
        let load = format!("{load} --resume state");
        let last = folder.run(&load);
        last.expect(1, "earlier runs gave up 1 entry").expect(1, "a.jsonl:2: ");
        let is_only_in_input = last.stderr.contains("and only in the input: a.jsonl: 2");
        assert_eq!(is_only_in_input, letters.is_empty(), "{}", last.stderr);
        assert_eq!(served.ids(), (0..2_000).collect::<Vec<_>>());
        let next = folder.run(&load);
        next.expect(0, "0 delivered");
        assert!(!next.stderr.contains("a.jsonl:2"), "{}", next.stderr);
    }
}

#[test]
fn what_a_run_gave_up_before_its_deadline_is_named_by_the_run_that_sends_the_rest() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    let large = json!({"id": 1_000_000, "text": "x".repeat(500_000)});
    folder.write("a.jsonl", format!("{large}\n{}", items(0..3)));
    served
        .table
        .script(std::iter::repeat_n(InjectedFault::Throttle, 1_000_000));
    let load = format!(
        "load --table items {} --json --resume state a.jsonl",
        served.arguments()
    );
    // It has read all, and sends nothing of the rest.
    let first = folder.run(&format!("{load} --deadline 1s"));
    first.expect(1, "a.jsonl:1: ").expect(1, "run the same command again");
    assert_eq!(first.report()["report"]["finished"], false);
    served.table.script([]);
    let last = folder.run(&load);
    last.expect(1, "3 delivered")
        .expect(1, "earlier runs gave up 1 entry")
        .expect(1, "a.jsonl:1: ");
    assert_eq!(last.report()["report"]["finished"], true);
    folder.run(&load).expect(0, "0 delivered");
}

#[test]
fn a_bad_line_that_a_killed_run_kept_is_named_by_the_run_that_ends() {
    let (folder, served) = (Folder::new(), Served::new(1_000.0));
    folder.write("a.jsonl", format!("{}oops\n{}", items([0]), items(1..2_000)));
    let load = format!(
        "load --table items {} --dead-letter dead --keep-going 1 a.jsonl",
        served.arguments()
    );
    let first = begun(&folder, &load, 200);
    // On a busy disk the line is stored long after it is read.
    while !folder.read("state").contains("this is not JSON") {
        thread::yield_now();
    }
    kill(first);
    served.table.set_capacity(Capacity::unlimited());
    let load = format!("{load} --resume state");
    folder
        .run(&load)
        .expect(1, "earlier runs skipped 1 bad line, kept with the dead letters:")
        .expect(1, "a.jsonl:2: ");
    folder.run(&load).expect(0, "0 delivered");
}

#[cfg(unix)]
#[test]
fn what_an_interrupted_run_gave_up_counts_for_the_run_that_ends() {
    let bucket = Bucket::new();
    for journal in ["state", "s3://b/state"] {
        let (folder, served) = (Folder::new(), Served::new(1_000.0));
        folder.write("a.jsonl", with_a_large_one());
        let load = format!("load --table items --json --every 5ms --resume {journal} a.jsonl");
        let command = || {
            let mut command = folder.command(&load);
            command
                .env("AWS_ENDPOINT_URL_DYNAMODB", served.endpoint())
                .env("AWS_ENDPOINT_URL_S3", &bucket.endpoint);
            command
        };
        let child = begun_by(command(), 200);
        interrupt(&child);
        Run::from(child.wait_with_output().unwrap()).expect(130, "a.jsonl:2: ");
        served.table.set_capacity(Capacity::unlimited());
        let run = Run::from(command().output().unwrap());
        run.expect(1, "a.jsonl:2: ");
        let report = run.report();
        assert_eq!(report["earlier_runs"]["undelivered"], 1);
        let settled = report["earlier_runs"]["settled"].as_u64().unwrap();
        let delivered = report["report"]["delivered"].as_u64().unwrap();
        assert_eq!(settled + delivered, 2_001, "{report}");
        Run::from(command().output().unwrap()).expect(0, "0 delivered");
    }
}

#[test]
fn the_failures_of_a_killed_copy_count_for_the_run_that_ends() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..3_000));
    let at = served.arguments();
    folder
        .run(&format!("load --table items {at} a.jsonl"))
        .expect(0, "3,000 delivered");
    let copies = &served.copies;
    // Some are among the first that are read, whatever the order.
    copies.poison(|item| item["id"]["N"].as_str().is_some_and(|id| id.ends_with('7')));
    copies.set_capacity(Capacity::per_second(1_000.0).burst(100.0));
    let copy = format!("copy --from items --to copy {at} --dead-letter dead");
    let child = begun(&folder, &copy, 1);
    let has_letter = || fs::read_to_string(folder.path("dead")).is_ok_and(|letters| !letters.is_empty());
    until_there("a dead letter", || has_letter().then_some(()));
    kill(child);
    copies.set_capacity(Capacity::unlimited());
    // Whether its page was settled or is read again.
    folder
        .run(&format!("{copy} --resume state"))
        .expect(1, "refused: ValidationException");
    folder.run(&format!("{copy} --resume state")).expect(0, "0 delivered");
}

#[test]
fn a_journal_of_another_endpoint_is_refused_with_both_named() {
    let (one, other) = (Served::new(1e6), Served::new(1e6));
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..50));
    folder.write("a.txt", "1\n2\n");
    for (service, command) in [
        ("DYNAMODB", "load --table items --resume state a.jsonl"),
        ("SQS", "send --queue q --resume sent a.txt"),
        ("DYNAMODB", "copy --from items --to copy --resume copied --overwrite"),
        ("DYNAMODB", "delete --table items --all --yes --resume deleted"),
    ] {
        let run = |command: &str, served: &Served| {
            let mut command = folder.command(command);
            let variable = format!("AWS_ENDPOINT_URL_{service}");
            Run::from(command.env(variable, served.endpoint()).output().unwrap())
        };
        run(command, &one).expect(0, "");
        let refused = run(command, &other);
        refused
            .expect(2, &format!("was {}, and is {}", one.endpoint(), other.endpoint()))
            .expect(2, "--trust-journal");
        run(&format!("{command} --trust-journal"), &other).expect(0, "0 delivered");
    }
}

#[test]
fn a_journal_of_a_table_that_was_made_anew_is_refused() {
    for key in ["", "--key id:N"] {
        let served = Served::new(1e6);
        let (folder, load) = loaded(&served, key);
        let load = format!("{load} {}", served.arguments());
        folder.run(&load).expect(0, "0 delivered");
        served.create_again();
        folder
            .run(&load)
            .expect(2, "it is another one, or was created again")
            .expect(2, "--trust-journal");
    }
}

#[test]
fn a_journal_of_another_key_is_refused() {
    let folder = Folder::new();
    folder.write("a.jsonl", items(0..50));
    let load = "load --simulate 1000000 --table items --resume state a.jsonl --key";
    folder.run(&format!("{load} id:N")).expect(0, "50 delivered");
    let refused = folder.run(&format!("{load} name:S"));
    refused.expect(2, "the key was id:N, and is name:S: to continue, give it as before");
    assert!(!refused.stderr.contains("--trust-journal"), "{}", refused.stderr);
}

/// As `cp -p` and a file that is written over in place.
#[test]
fn an_input_of_the_same_size_and_time_with_another_content_is_refused() {
    let served = Served::new(1e6);
    let (folder, load) = loaded(&served, "");
    let load = format!("{load} {}", served.arguments());
    let path = folder.path("a.jsonl");
    let modified = path.metadata().unwrap().modified().unwrap();
    folder.write("a.jsonl", items(50..100));
    let write_again = |text: String| {
        fs::write(&path, text).unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(modified)
            .unwrap();
    };
    let text = items(0..50);
    write_again(text.replace("item 33", "ITEM 33"));
    assert!(modified > UNIX_EPOCH);
    folder
        .run(&load)
        .expect(2, "a.jsonl has other content than when it was read")
        .expect(2, "--trust-journal");
    folder
        .run(&format!("{load} --trust-journal"))
        .expect(0, "a.jsonl has other content than when it was read");
    write_again(text);
    folder.run(&load).expect(2, "a.jsonl has other content");
}

/// Its records may be more or fewer, and those of the inputs behind it would have other numbers.
#[test]
fn another_content_of_an_input_can_be_trusted_only_if_no_other_is_read_after_it() {
    let folder = Folder::new();
    for (order, changed, can_be_trusted) in [
        ("file", "b.jsonl", true),
        ("file", "a.jsonl", false),
        ("turns", "b.jsonl", false),
    ] {
        folder.write("a.jsonl", items(0..5));
        folder.write("b.jsonl", items(5..9));
        let load = format!("--order {order} --resume {order}.{changed} a.jsonl b.jsonl");
        folder.load(&load).expect(0, "9 delivered");
        folder.write(changed, items(5..12));
        let refused = folder.load(&load);
        refused.expect(2, &format!("{changed} has changed"));
        assert_eq!(
            refused.stderr.contains("--trust-journal"),
            can_be_trusted,
            "{}",
            refused.stderr
        );
        let code = if can_be_trusted { 0 } else { 2 };
        folder
            .load(&format!("{load} --trust-journal"))
            .expect(code, &format!("{changed} has changed"));
    }
}

#[cfg(unix)]
#[test]
fn a_journal_is_one_file_under_all_of_its_names() {
    use std::os::unix::fs::symlink;

    let (folder, served) = (Folder::new(), Served::new(400.0));
    folder.write("a.jsonl", items(0..2_000));
    fs::create_dir(folder.path("elsewhere")).unwrap();
    symlink("elsewhere/target", folder.path("state")).unwrap();
    let load = format!("load --table items {} a.jsonl", served.arguments());
    let first = begun(&folder, &load, 50);
    assert!(folder.path("state").symlink_metadata().unwrap().is_symlink());
    for name in ["state", "elsewhere/target"] {
        folder
            .run(&format!("{load} --resume {name}"))
            .expect(2, "in use by another load");
    }
    kill(first);
    fs::hard_link(folder.path("elsewhere/target"), folder.path("other")).unwrap();
    for name in ["state", "other"] {
        folder
            .run(&format!("{load} --resume {name}"))
            .expect(2, "has 2 names (hard links)");
    }
    fs::remove_file(folder.path("other")).unwrap();
    served.table.set_capacity(Capacity::unlimited());
    folder
        .run(&format!("{load} --resume elsewhere/target"))
        .expect(0, "are settled by earlier runs");
    assert_eq!(served.ids().len(), 2_000);
}

#[test]
fn a_journal_that_is_damaged_or_of_an_older_version_is_refused() {
    let served = Served::new(1e6);
    let (folder, load) = loaded(&served, "");
    let load = format!("{load} {}", served.arguments());
    let text = fs::read(folder.path("state")).unwrap();
    let digit = text.iter().position(u8::is_ascii_digit).unwrap();
    for at in [digit, text.len() / 2, text.len() - 3] {
        let mut damaged = text.clone();
        damaged[at] ^= 0x40;
        folder.write("state", &damaged);
        folder.run(&load).expect(2, "state is damaged");
    }
    folder.write(
        "state",
        "{\"batch_deliver\":2,\"program\":\"0.1.0\",\"inputs\":[],\"unsure\":4}\n",
    );
    folder.run(&load).expect(2, "state is the journal of an older version");
    folder.write("state", "anything\n");
    folder.run(&load).expect(2, "state is not a journal of this program");
}

/// The address of a service whose tables may not be described, and in which STS tells this account.
fn undescribed(account: &Arc<AtomicU64>) -> String {
    let asked = Arc::clone(account);
    serve(move |request| {
        let operation = request.header("x-amz-target").unwrap_or_default();
        let (status, body) = if operation.ends_with("DescribeTable") {
            (
                400,
                r#"{"__type": "AccessDeniedException", "message": "no"}"#.to_owned(),
            )
        } else if operation.ends_with("BatchWriteItem") {
            (200, r#"{"UnprocessedItems": {}}"#.to_owned())
        } else if operation.ends_with("Scan") {
            let page = r#"{"Items": [{"id": {"N": "1"}}], "Count": 1, "ScannedCount": 1}"#;
            (200, page.to_owned())
        } else if request.body.starts_with(b"Action=GetCallerIdentity") {
            let result = format!(
                "<GetCallerIdentityResult><Arn>a</Arn><UserId>u</UserId><Account>{}</Account></GetCallerIdentityResult>",
                asked.load(Relaxed)
            );
            let begin = r#"<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">"#;
            (200, format!("{begin}{result}</GetCallerIdentityResponse>"))
        } else {
            return None;
        };
        Some(Response(status, String::new(), body.into_bytes()))
    })
}

#[test]
fn a_key_that_only_one_run_knows_is_not_compared() {
    let account = Arc::new(AtomicU64::new(111_111_111_111));
    let (address, folder) = (undescribed(&account), Folder::new());
    folder.write("a.jsonl", items(0..9));
    let load = format!("load --table items --resume state a.jsonl --endpoint-url http://{address}");
    folder.run(&load).expect(0, "9 delivered");
    folder.run(&format!("{load} --key id:N")).expect(0, "0 delivered");
    folder.run(&load).expect(0, "0 delivered");
    folder.run(&format!("{load} --key id:N")).expect(0, "0 delivered");
    folder
        .run(&format!("{load} --key name:S"))
        .expect(2, "the key was id:N, and is name:S");
}

#[test]
fn a_journal_of_another_account_is_refused_where_the_table_that_is_read_may_not_be_described() {
    let account = Arc::new(AtomicU64::new(111_111_111_111));
    let address = undescribed(&account);
    for command in [
        "delete --table items --all --yes",
        "copy --from items --to other --overwrite",
    ] {
        let folder = Folder::new();
        let run = || {
            folder.run(&format!(
                "{command} --key id:N --resume state --endpoint-url http://{address}"
            ))
        };
        account.store(111_111_111_111, Relaxed);
        run().expect(0, "delivered");
        run().expect(0, "0 delivered");
        account.store(222_222_222_222, Relaxed);
        run().expect(2, "was 111111111111, and is 222222222222");
    }
}

/// What may not be looked up is said and not compared; STS tells the account then.
#[test]
fn the_account_is_that_of_the_credentials_where_the_table_may_not_be_described() {
    let account = Arc::new(AtomicU64::new(111_111_111_111));
    let (address, folder) = (undescribed(&account), Folder::new());
    folder.write("a.jsonl", items(0..9));
    let load = format!("load --table items --key id:N --resume state a.jsonl --endpoint-url http://{address}");
    let first = folder.run(&load);
    let words = "the id of the table cannot be looked up without the permission, and so is not compared";
    first.expect(0, "9 delivered");
    assert!(!first.stderr.contains(words), "{}", first.stderr);
    folder.run(&load).expect(0, words).expect(0, "0 delivered");
    account.store(222_222_222_222, Relaxed);
    folder
        .run(&load)
        .expect(2, "the account was 111111111111, and is 222222222222")
        .expect(2, "--trust-journal");
}
