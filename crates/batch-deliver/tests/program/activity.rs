//! An activity over HTTP: hands out shards, and hears what becomes of them.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// The beginning of the input of a shard that is given to another worker at its first heartbeat.
pub(crate) const LOST: &str = "lost";

/// The beginning of the input of a shard whose heartbeats have no answer.
pub(crate) const SILENT: &str = "silent";

/// The beginning of the input of a shard whose answer has no answer itself.
pub(crate) const HELD: &str = "held";

/// What a worker has said: the operation, and what was sent.
pub(crate) type Said = (String, Value);

pub(crate) struct Activity {
    pub(crate) endpoint: String,
    said: Receiver<Said>,
}

impl Activity {
    /// Hands out shards of these inputs.
    pub(crate) fn new(shards: impl IntoIterator<Item = Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let shards: VecDeque<Value> = shards.into_iter().collect();
        let shards = Arc::new(Mutex::new(shards));
        let (sender, said) = channel();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (shards, sender) = (Arc::clone(&shards), sender.clone());
                thread::spawn(move || answer(&stream.unwrap(), &shards, &sender));
            }
        });
        Self { endpoint, said }
    }

    /// The next answer of the worker, which is no heartbeat: its operation, and the counts or the name of the error.
    pub(crate) fn answer(&self) -> (String, Value) {
        loop {
            let (operation, body) = self.said.recv().unwrap();
            if let Some(output) = body["output"].as_str() {
                return (operation, serde_json::from_str(output).unwrap());
            }
            if operation == "SendTaskFailure" {
                return (operation, body["error"].clone());
            }
        }
    }

    pub(crate) fn wait_for_heartbeat(&self) {
        self.wait_for("SendTaskHeartbeat");
    }

    pub(crate) fn wait_for(&self, operation: &str) {
        while self.said.recv().unwrap().0 != operation {}
    }
}

fn answer(mut stream: &TcpStream, shards: &Mutex<VecDeque<Value>>, said: &Sender<Said>) {
    let mut reader = BufReader::new(stream);
    let (mut operation, mut length) = (String::new(), 0);
    for line in reader
        .by_ref()
        .lines()
        .map(Result::unwrap)
        .take_while(|line| !line.is_empty())
    {
        match line.split_once(": ") {
            Some(("x-amz-target", target)) => operation = target.replace("AWSStepFunctions.", ""),
            Some(("content-length", bytes)) => length = bytes.parse().unwrap(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let of_shard = |name: &str| body["taskToken"].as_str().unwrap().contains(name);
    let answer = match operation.as_str() {
        "GetActivityTask" => {
            let shard = shards.lock().unwrap().pop_front();
            shard.map(|shard| (200, json!({"taskToken": shard.to_string(), "input": shard.to_string()})))
        }
        "SendTaskHeartbeat" if of_shard(LOST) => Some((400, json!({"__type": "TaskTimedOut", "message": "too late"}))),
        "SendTaskHeartbeat" if of_shard(SILENT) => None,
        "SendTaskSuccess" if of_shard(HELD) => None,
        _ => Some((200, json!({}))),
    };
    // A test that has heard enough is over.
    let _ = said.send((operation, body));
    let Some((status, answer)) = answer else {
        // The connection stays open until the test is over.
        loop {
            thread::park();
        }
    };
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status} -\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.len()
    );
    let _ = stream.write_all((head + &answer).as_bytes());
}
