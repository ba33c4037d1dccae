//! Queues by their URLs, ARNs and names, and the groups of FIFO queues.

use std::sync::mpsc::{Receiver, channel};

use aws_batch_simulator::{Queue, QueueOptions, Server, Simulator};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::http::{Response, serve};
use crate::program::{Folder, Run};

const URL: &str = "https://sqs.us-east-1.amazonaws.com/000000000000/orders.fifo";

/// A FIFO queue `orders.fifo`.
struct Fifo {
    folder: Folder,
    queue: Queue,
    server: Server,
    _runtime: Runtime,
}

impl Fifo {
    /// With these messages in a file `a`.
    fn new(options: QueueOptions, lines: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let simulator = Simulator::new(7);
        let within = runtime.enter();
        let queue = simulator.queue("orders.fifo", options);
        let server = runtime.block_on(simulator.serve("127.0.0.1:0")).unwrap();
        drop(within);
        let folder = Folder::new();
        folder.write("a", lines);
        Self {
            folder,
            queue,
            server,
            _runtime: runtime,
        }
    }

    fn send(&self, arguments: &str) -> Run {
        let endpoint = self.server.endpoint();
        self.folder
            .run(&format!("send --endpoint-url {endpoint} {arguments} a"))
    }

    /// The groups and bodies of the messages in the queue, in its order.
    fn messages(&self) -> Vec<(String, String)> {
        let messages = self.queue.messages().into_iter();
        messages.map(|message| (message.group.unwrap(), message.body)).collect()
    }
}

fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(group, body)| (group.to_owned(), body.to_owned())).to_vec()
}

#[test]
fn lines_of_text_go_to_a_fifo_queue_in_one_group_or_not_at_all() {
    let fifo = Fifo::new(
        QueueOptions::default().content_based_deduplication(),
        "one\ntwo\nthree\n",
    );
    for queue in ["orders.fifo", URL, "arn:aws:sqs:us-east-1:000000000000:orders.fifo"] {
        // Nothing is read before, so that no line is undelivered.
        let refused = fifo.send(&format!("--queue {queue}"));
        refused.expect(2, "give them by --format json, or one for all of them by --group-id");
        assert!(!refused.stderr.contains("reading"), "{}", refused.stderr);
        fifo.send(&format!("--dry-run --queue {queue}")).expect(2, "--group-id");
    }
    assert!(fifo.queue.is_empty());
    fifo.send("--queue orders.fifo --group-id all").expect(0, "3 delivered");
    assert_eq!(
        fifo.messages(),
        pairs([("all", "one"), ("all", "two"), ("all", "three")])
    );
    fifo.send("--queue orders.fifo --group-id a\u{e9}")
        .expect(2, "a group has 1 to 128 letters");
}

#[test]
fn a_json_line_without_a_group_is_a_bad_line_of_a_fifo_queue() {
    let lines =
        "{\"body\":\"one\",\"group_id\":\"own\"}\n{\"body\":\"secret\"}\n{\"body\":\"three\",\"group_id\":\"own\"}\n";
    let fifo = Fifo::new(QueueOptions::default().content_based_deduplication(), lines);
    let refused = fifo.send("--queue orders.fifo --format json");
    refused.expect(
        1,
        "a:2: a message of a FIFO queue needs a group_id: give it in the line, or one",
    );
    assert!(!refused.stderr.contains("secret"), "{}", refused.stderr);
    assert_eq!(fifo.messages(), pairs([("own", "one")]));
    fifo.send("--dry-run --queue orders.fifo --format json")
        .expect(1, "1 bad line");
    let given = Fifo::new(QueueOptions::default().content_based_deduplication(), lines);
    given
        .send("--queue orders.fifo --format json --group-id rest")
        .expect(0, "3 delivered");
    let mut messages = given.messages();
    messages.sort();
    assert_eq!(messages, pairs([("own", "one"), ("own", "three"), ("rest", "secret")]));
}

#[test]
fn a_fifo_queue_that_does_not_compare_bodies_takes_lines_of_text_too() {
    let fifo = Fifo::new(QueueOptions::default(), "same\nsame\n");
    fifo.send("--queue orders.fifo --group-id all").expect(0, "2 delivered");
    assert_eq!(fifo.messages(), pairs([("all", "same"), ("all", "same")]));
}

#[test]
fn every_form_of_a_queue_and_a_table_can_be_simulated() {
    let folder = Folder::new();
    folder.write("a", "one\ntwo\n");
    for queue in [
        "orders",
        "https://sqs.eu-west-1.amazonaws.com/1/orders",
        "http://localhost:4566/000000000000/orders",
        "arn:aws:sqs:eu-west-1:1:orders",
        "orders.fifo --group-id g",
        "arn:aws:sqs:eu-west-1:1:orders.fifo --group-id g",
    ] {
        folder
            .run(&format!("send --simulate 1000000 --queue {queue} a"))
            .expect(0, "2 delivered");
    }
    folder.write("a.jsonl", "{\"id\":1}\n");
    folder
        .run("load --simulate 1000 --table arn:aws:dynamodb:eu-west-1:1:table/films --key id:N a.jsonl")
        .expect(0, "the simulator stored what was delivered: 1 write");
    for queue in [
        "https://sqs.eu-west-1.amazonaws.com/orders",
        "arn:aws:sns:eu-west-1:1:orders",
        "a/b",
    ] {
        let refused = folder.run(&format!("send --simulate 1000000 --queue {queue} a"));
        refused.expect(2, "--queue <URL>");
    }
}

/// What was called, in which region, with which body.
type Call = (String, String, Value);

/// A service that permits nothing, and tells what it was asked.
fn refusing() -> (String, Receiver<Call>) {
    let (sender, receiver) = channel();
    let address = serve(move |request| {
        let operation = request.header("x-amz-target").unwrap_or_default();
        let signature = request.header("authorization").unwrap_or_default();
        let region = signature.split('/').nth(2).unwrap_or_default();
        let body = serde_json::from_slice(&request.body).unwrap_or_default();
        let operation = operation.rsplit('.').next().unwrap_or_default();
        let _ = sender.send((operation.to_owned(), region.to_owned(), body));
        let error = json!({"__type": "AccessDeniedException", "message": "no"}).to_string();
        Some(Response(
            400,
            "content-type: application/x-amz-json-1.0\r\n".to_owned(),
            error.into_bytes(),
        ))
    });
    (format!("http://{address}"), receiver)
}

/// The first call of a command, if it makes one. The endpoints are in the environment, so that the names say the region.
fn first_call(command: &str) -> (Run, Option<Call>) {
    let (endpoint, calls) = refusing();
    let folder = Folder::new();
    folder.write("a", "{\"id\":1}\n");
    let mut command = folder.command(command);
    for service in ["SQS", "DYNAMODB", "SFN", "SNS"] {
        command.env(format!("AWS_ENDPOINT_URL_{service}"), &endpoint);
    }
    let run = Run::from(command.output().unwrap());
    (run, calls.try_recv().ok())
}

#[test]
fn a_destination_is_called_in_the_region_that_its_name_says() {
    for (command, operation, region) in [
        (
            "send --queue https://sqs.eu-west-1.amazonaws.com/1/orders a",
            "SendMessageBatch",
            "eu-west-1",
        ),
        (
            "send --queue https://eu-west-1.queue.amazonaws.com/1/orders a",
            "SendMessageBatch",
            "eu-west-1",
        ),
        (
            "send --queue http://localhost:1/1/orders a",
            "SendMessageBatch",
            "us-east-1",
        ),
        (
            "send --queue arn:aws:sqs:eu-west-1:1:orders a",
            "GetQueueUrl",
            "eu-west-1",
        ),
        ("send --queue orders a", "GetQueueUrl", "us-east-1"),
        ("send --queue orders --region eu-west-1 a", "GetQueueUrl", "eu-west-1"),
        (
            "load --table arn:aws:dynamodb:eu-west-1:1:table/films a",
            "DescribeTable",
            "eu-west-1",
        ),
    ] {
        let (run, call) = first_call(command);
        let (called, within, body) = call.unwrap_or_else(|| panic!("{command}: {}", run.stderr));
        // A queue that is given by its URL may be asked for its attributes first.
        let is_expected = called == operation || called == "GetQueueAttributes" && operation == "SendMessageBatch";
        assert!(is_expected, "{command}: {called}");
        assert_eq!(within, region, "{command}");
        if command.contains("arn:aws:sqs") {
            assert_eq!(
                (&body["QueueName"], &body["QueueOwnerAWSAccountId"]),
                (&json!("orders"), &json!("1"))
            );
        }
    }
}

#[test]
fn a_region_that_contradicts_a_name_is_refused_before_any_call() {
    for command in [
        "send --queue https://sqs.eu-west-1.amazonaws.com/1/orders",
        "send --queue arn:aws:sqs:eu-west-1:1:orders",
        "load --table arn:aws:dynamodb:eu-west-1:1:table/films",
    ] {
        let (run, call) = first_call(&format!("{command} --region us-west-2 a"));
        run.expect(2, "is in eu-west-1, but --region is us-west-2: leave out --region");
        assert_eq!(call, None);
    }
}

#[test]
fn a_worker_of_a_fifo_queue_needs_a_group_before_it_asks_for_shards() {
    let (refused, call) = first_call("worker --activity arn:aws:states:us-east-1:1:activity:a --queue orders.fifo");
    refused.expect(2, "one for all of them by --group-id");
    assert_eq!(call, None);
    let (given, call) =
        first_call("worker --activity arn:aws:states:us-east-1:1:activity:a --queue orders.fifo --group-id g");
    given.expect(2, "sqs:GetQueueUrl is not permitted for the queue orders.fifo");
    assert_eq!(call.unwrap().0, "GetQueueUrl");
    let (of_table, _) = first_call("worker --activity a --table films --group-id g");
    of_table.expect(2, "cannot be used with");
}

#[test]
fn an_activity_is_asked_in_its_own_region() {
    let activity = "arn:aws:states:eu-west-1:1:activity:a";
    let (_, call) = first_call(&format!("worker --activity {activity} --table films --key id:N"));
    assert_eq!(
        call.map(|(operation, region, _)| (operation, region)),
        Some(("GetActivityTask".into(), "eu-west-1".into()))
    );
}
