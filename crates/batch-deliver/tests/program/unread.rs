//! Outputs that another process has open and does not read: a delivery, its deadline and its signals do not wait for that process.

use std::io::{BufRead, BufReader, ErrorKind, PipeReader, PipeWriter, Read, Write, pipe};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use aws_batch_simulator::{InjectedFault, QueueOptions};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde_json::Value;

use crate::activity::Activity;
use crate::program::{Folder, LONGEST_WAIT, Run, interrupt, items, until_there};
use crate::queues::Queues;
use crate::served::Served;
use crate::worker::{self, shard};

/// What pipes grow by.
const PAGE: usize = 4096;

/// A pipe that is not read until the program has ended.
struct UnreadPipe {
    reader: PipeReader,
    writer: PipeWriter,
}

impl UnreadPipe {
    fn new() -> Self {
        let (reader, writer) = pipe().unwrap();
        Self { reader, writer }
    }

    fn full() -> Self {
        let mut pipe = Self::new();
        pipe.fill();
        pipe
    }

    /// Fills it with empty lines. If the program writes into it at this moment, it cannot.
    fn fill(&mut self) {
        let flags = fcntl_getfl(&self.writer).unwrap();
        fcntl_setfl(&self.writer, flags | OFlags::NONBLOCK).unwrap();
        for size in [PAGE, 1] {
            let error = loop {
                if let Err(error) = self.writer.write_all(&[b'\n'; PAGE][..size]) {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        }
        fcntl_setfl(&self.writer, flags).unwrap();
    }

    /// The output of a program.
    fn output(&self) -> Stdio {
        self.writer.try_clone().unwrap().into()
    }

    /// What the program has written, when it has ended.
    fn written(self) -> String {
        let Self { mut reader, writer } = self;
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.flat_map(|line| [line, "\n"]).collect()
    }
}

/// Starts it with one thread for all of its tasks.
fn started(mut command: Command, output: Stdio, errors: Stdio) -> Child {
    command.env("TOKIO_WORKER_THREADS", "1").stdin(Stdio::null());
    command.stdout(output).stderr(errors).spawn().unwrap()
}

/// The lines that it prints.
fn lines(printed: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    let printed = BufReader::new(printed).lines();
    // A pipe that is not read would hold up the program.
    thread::spawn(move || {
        for line in printed {
            let _ = sender.send(line.unwrap());
        }
    });
    receiver
}

/// Waits for a line with these words.
#[track_caller]
fn wait_for(lines: &Receiver<String>, words: &str) {
    while !lines.recv_timeout(LONGEST_WAIT).expect(words).contains(words) {}
}

fn throttled_for_ever() -> impl Iterator<Item = InjectedFault> {
    std::iter::repeat_n(InjectedFault::Throttle, 1_000_000)
}

/// Its exit code, when it has ended after as many signals as it needs.
fn ended_by_signals(child: &mut Child) -> Option<i32> {
    let status = until_there("the end", || {
        let ended = child.try_wait().unwrap();
        if ended.is_none() {
            interrupt(child);
        }
        ended
    });
    status.code()
}

#[test]
fn a_deadline_ends_a_delivery_whose_standard_output_is_not_read_and_the_report_comes_last() {
    let (folder, served, output) = (Folder::new(), Served::new(1e6), UnreadPipe::full());
    folder.write("a.jsonl", items(0..3));
    served.table.script(throttled_for_ever());
    let load = "load --table items --json --every 1ms --deadline 1s --resume state a.jsonl";
    let command = folder.command(&format!("{load} {}", served.arguments()));
    let mut child = started(command, output.output(), Stdio::piped());
    wait_for(
        &lines(child.stderr.take().unwrap()),
        "to continue, run the same command again",
    );
    let written = output.written();
    let report: Value = serde_json::from_str(written.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&report["event"], &report["report"]["undelivered"]),
        (&"report".into(), &3.into())
    );
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_bad_line_that_cannot_be_printed_does_not_hold_up_the_deadline() {
    let (folder, served, output) = (Folder::new(), Served::new(1e6), UnreadPipe::full());
    folder.write("a.jsonl", format!("{}oops\n{}", items([0]), items(1..3)));
    let load = "load --table items --json --every 1h --keep-going 1 --deadline 5s a.jsonl";
    let command = folder.command(&format!("{load} {}", served.arguments()));
    let mut child = started(command, output.output(), Stdio::piped());
    wait_for(&lines(child.stderr.take().unwrap()), "1 delivered");
    let written = output.written();
    let events: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(names.iter().filter(|name| **name == "bad_line").count(), 1);
    assert_eq!(names.last(), Some(&"report"));
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_delivery_whose_standard_error_is_not_read_is_made_to_its_end() {
    let (folder, served, mut errors) = (Folder::new(), Served::new(1e6), UnreadPipe::new());
    folder.write("a.jsonl", items(0..100));
    served.table.script(throttled_for_ever());
    let command = folder.command(&format!(
        "load --table items --every 1ms a.jsonl {}",
        served.arguments()
    ));
    let mut child = started(command, Stdio::null(), errors.output());
    until_there("a call", || (served.table.calls() > 0).then_some(()));
    errors.fill();
    let calls = served.table.calls();
    until_there("more calls", || (served.table.calls() > calls + 3).then_some(()));
    served.table.script([]);
    until_there("the items", || (served.table.statistics().applied == 100).then_some(()));
    let written = errors.written();
    assert!(written.contains("100 delivered to items"), "{written}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_warning_that_cannot_be_printed_does_not_hold_up_a_delivery() {
    let (folder, served, mut errors) = (Folder::new(), Served::new(1e6), UnreadPipe::new());
    folder.write("a.jsonl", items(0..3));
    served.table.script(throttled_for_ever());
    let load = "load --table items --json --every 10ms a.jsonl";
    let command = folder.command(&format!("{load} {}", served.arguments()));
    let mut child = started(command, Stdio::piped(), errors.output());
    let events = lines(child.stdout.take().unwrap());
    wait_for(&events, "progress");
    errors.fill();
    // After five seconds the library warns that nothing is accepted.
    let is_warned = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["elapsed_seconds"].as_f64() > Some(5.5)
    };
    while !is_warned(&events.recv_timeout(LONGEST_WAIT).unwrap()) {}
    served.table.script([]);
    until_there("the items", || (served.table.statistics().applied == 3).then_some(()));
    let written = errors.written();
    let (warning, delivered) = (written.find("nothing is accepted"), written.find("3 delivered"));
    assert!(warning.is_some() && warning < delivered, "{written}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn messages_are_moved_while_the_standard_output_is_not_read() {
    let (queues, output) = (Queues::new(), UnreadPipe::full());
    queues.filled("a", 500);
    let to = queues.queue("b", QueueOptions::default());
    let command = queues.command("move --from a --to b --json --every 1ms");
    let mut child = started(command, output.output(), Stdio::null());
    until_there("the messages", || (to.len() == 500).then_some(()));
    let written = output.written();
    let report: Value = serde_json::from_str(written.lines().last().unwrap()).unwrap();
    assert_eq!(report["moved"], 500);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_shard_is_answered_for_while_the_outputs_of_its_worker_are_not_read() {
    let (folder, output, errors) = (Folder::new(), UnreadPipe::full(), UnreadPipe::full());
    folder.write("a.jsonl", format!("{}oops\noops\n{}", items(0..3), items(3..4)));
    let activity = Activity::new([shard("a.jsonl", 0, folder.read("a.jsonl").len())]);
    let options = "--json --every 1ms --keep-going 2 --dead-letters dead";
    let command = worker::command(&folder, &activity, 1_000_000, options);
    let mut child = started(command, output.output(), errors.output());
    assert_eq!(activity.answer().1["delivered"], 4);
    assert_eq!(ended_by_signals(&mut child), Some(1));
}

#[test]
fn a_second_signal_ends_a_delivery_whose_outputs_are_not_read() {
    let (folder, served) = (Folder::new(), Served::new(1e6));
    folder.write("a.jsonl", items(0..3));
    served.table.script(throttled_for_ever());
    let command = || {
        let load = "load --table items --json --every 1ms a.jsonl";
        folder.command(&format!("{load} {}", served.arguments()))
    };
    let output = UnreadPipe::full();
    let mut child = started(command(), output.output(), Stdio::piped());
    let lines = lines(child.stderr.take().unwrap());
    until_there("a call", || (served.table.calls() > 0).then_some(()));
    interrupt(&child);
    wait_for(&lines, "stopping: ");
    assert_eq!(ended_by_signals(&mut child), Some(1));
    // The words about the first signal must not hold up the second one.
    let (output, mut errors, calls) = (UnreadPipe::full(), UnreadPipe::new(), served.table.calls());
    let mut child = started(command(), output.output(), errors.output());
    until_there("a call", || (served.table.calls() > calls).then_some(()));
    errors.fill();
    assert_eq!(ended_by_signals(&mut child), Some(1));
}

#[test]
fn what_needs_no_place_among_failed_conditions_is_delivered_while_their_pipe_is_not_read() {
    let (folder, served, output) = (Folder::new(), Served::new(1e6), UnreadPipe::full());
    folder.write("first.jsonl", items(0..1));
    folder
        .run(&format!("load --table items first.jsonl {}", served.arguments()))
        .expect(0, "1 delivered");
    folder.write("a.jsonl", items(0..50));
    let load = "load --table items --if-absent --failed /dev/stdout --concurrency 1 --every 1h a.jsonl";
    let command = folder.command(&format!("{load} {}", served.arguments()));
    let child = started(command, output.output(), Stdio::piped());
    until_there("the items", || (served.table.statistics().applied == 50).then_some(()));
    assert_eq!(output.written(), items(0..1));
    let run = Run::from(child.wait_with_output().unwrap());
    run.expect(0, "49 delivered").expect(0, "1 with a failed condition");
}

#[test]
fn a_second_signal_ends_a_load_whose_failed_conditions_are_not_read() {
    let (folder, served, output) = (Folder::new(), Served::new(1e6), UnreadPipe::full());
    folder.write("a.jsonl", items(0..200));
    folder
        .run(&format!("load --table items a.jsonl {}", served.arguments()))
        .expect(0, "200 delivered");
    let calls = served.table.calls();
    let load = "load --table items --if-absent --failed /dev/stdout a.jsonl";
    let command = folder.command(&format!("{load} {}", served.arguments()));
    let mut child = started(command, output.output(), Stdio::null());
    until_there("all calls", || (served.table.calls() >= calls + 200).then_some(()));
    assert_eq!(ended_by_signals(&mut child), Some(1));
    drop(output);
}
