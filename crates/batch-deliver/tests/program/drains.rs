//! Messages that are taken out of a queue into a file or a pipe.

#[cfg(unix)]
use std::fs::File;
#[cfg(unix)]
use std::io::{BufRead, BufReader};
#[cfg(unix)]
use std::process::Command;

use aws_batch_simulator::QueueOptions;
use serde_json::{Value, json};

use crate::http::{Response, serve};
use crate::program::Folder;
#[cfg(unix)]
use crate::program::{Run, until_there};
use crate::queues::Queues;

#[test]
fn a_drain_tells_how_far_it_is() {
    let queues = Queues::new();
    queues.filled("a", 100);
    let run = queues.run("drain --queue a --json --every 50ms out.jsonl");
    let events: Vec<Value> = run
        .expect(0, "")
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // The end comes seconds after the last message.
    let last = &events[events.len() - 2];
    assert_eq!((&last["event"], &last["written"]), (&json!("progress"), &json!(100)));
    assert_eq!(run.report()["written"], json!(100));
}

#[cfg(unix)]
#[test]
fn a_drain_to_a_pipe_ends_with_the_reader_of_the_pipe() {
    let queues = Queues::new();
    queues.filled("a", 2_000);
    let pipe = queues.folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let child = queues.started("drain --queue a pipe");
    let mut line = String::new();
    BufReader::new(File::open(&pipe).unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("body"), "{line}");
    Run::from(child.wait_with_output().unwrap()).expect(1, "Broken pipe");
}

#[test]
fn a_drain_to_a_name_that_promises_gzip_zstd_or_s3_is_refused_before_a_message_is_received() {
    let queues = Queues::new();
    let from = queues.filled("a", 10);
    for (name, words) in [
        ("out.jsonl.gz", "lines are appended as plain text"),
        ("out.zst", "lines are appended as plain text"),
        ("s3://b/out.jsonl", "name a file"),
    ] {
        queues.run(&format!("drain --queue a {name}")).expect(2, words);
        assert!(!queues.folder.path(name).exists());
    }
    assert_eq!((from.len(), from.consumer_statistics().calls), (10, 0));
}

#[test]
fn a_queue_is_drained_to_a_file_that_can_be_sent_again() {
    let queues = Queues::new();
    let from = queues.filled("a", 250);
    let before = from.messages();
    queues
        .run("drain --queue a --max 100 out.jsonl")
        .expect(0, "100 messages of a written to out.jsonl");
    assert_eq!((from.len(), from.in_flight()), (150, 0));
    queues.run("drain --queue a out.jsonl").expect(0, "150 messages");
    assert!(from.is_empty());
    assert_eq!(queues.folder.read("out.jsonl").lines().count(), 250);
    let copy = queues.queue("copy", QueueOptions::default());
    queues
        .run("send --queue copy --format json out.jsonl")
        .expect(0, "250 delivered");
    let contents = |messages: Vec<aws_batch_simulator::Message>| {
        let mut contents: Vec<_> = messages
            .into_iter()
            .map(|message| {
                (
                    message.body,
                    message.attributes.map(|attributes| attributes.to_string()),
                )
            })
            .collect();
        contents.sort();
        contents
    };
    assert_eq!(contents(copy.messages()), contents(before));
}

#[cfg(unix)]
#[test]
fn messages_that_a_killed_drain_has_hidden_are_told_of() {
    let queues = Queues::new();
    let from = queues.filled("a", 100);
    queues.filled("b", 1);
    let pipe = queues.folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // A drain into a pipe, of which the reader reads nothing, holds all messages.
    let _reader = File::options().read(true).write(true).open(&pipe).unwrap();
    let mut child = queues.started("drain --queue a pipe");
    until_there("a receive", || (from.consumer_statistics().calls >= 12).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    for command in ["drain --queue a out.jsonl", "move --from a --to b"] {
        queues
            .run(command)
            .expect(0, "messages of a are not visible")
            .expect(0, "visible again within ");
    }
}

/// Every error was called a missing permission.
#[test]
fn a_drain_says_why_it_is_not_known_how_many_messages_are_hidden() {
    for (code, words) in [
        ("AccessDenied", "is not known: sqs:GetQueueAttributes is not permitted"),
        ("InvalidSecurity", "is not known: InvalidSecurity: simulated"),
    ] {
        let address = serve(move |request| {
            let operation = request.header("x-amz-target").unwrap();
            let (status, answer) = match operation {
                "AmazonSQS.GetQueueAttributes" => (400, json!({"__type": code, "message": "simulated"})),
                _ => (200, json!({})),
            };
            let headers = "content-type: application/x-amz-json-1.0\r\n".to_owned();
            Some(Response(status, headers, answer.to_string().into_bytes()))
        });
        // The user and the password of a URL are not printed.
        let queue = format!("http://user:secret@{address}/000000000000/a");
        let run = Folder::new().run(&format!(
            "drain --endpoint-url http://{address} --queue {queue} out.jsonl"
        ));
        run.expect(0, words);
        assert!(!run.stderr.contains("secret"), "{}", run.stderr);
    }
}
