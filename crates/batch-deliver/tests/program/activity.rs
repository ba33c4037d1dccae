//! An activity over HTTP: hands out shards, and hears what becomes of them.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{Request, Response, serve};

/// The beginning of the input of a shard that is given to another worker at its first heartbeat.
pub(crate) const LOST: &str = "lost";

/// The beginning of the input of a shard whose heartbeats have no answer.
pub(crate) const SILENT: &str = "silent";

/// The beginning of the input of a shard whose heartbeats the worker may not send.
pub(crate) const DENIED: &str = "denied";

/// The beginning of the input of a shard whose answer has no answer itself.
pub(crate) const HELD: &str = "held";

/// How long is waited for what a worker is to say.
const LONGEST_WAIT: Duration = Duration::from_mins(3);

/// What a worker has said: the operation, and what was sent.
pub(crate) type Said = (String, Value);

pub(crate) struct Activity {
    pub(crate) endpoint: String,
    pub(crate) said: Receiver<Said>,
}

impl Activity {
    /// Hands out shards of these inputs.
    pub(crate) fn new(shards: impl IntoIterator<Item = Value>) -> Self {
        let shards: Mutex<VecDeque<Value>> = Mutex::new(shards.into_iter().collect());
        let (sender, said) = channel();
        let address = serve(move |request| answer(request, &shards, &sender));
        Self {
            endpoint: format!("http://{address}"),
            said,
        }
    }

    /// The next answer of the worker, which is no heartbeat: its operation, and the counts or the name of the error.
    pub(crate) fn answer(&self) -> (String, Value) {
        let end = Instant::now() + LONGEST_WAIT;
        loop {
            let (operation, body) = self.next("an answer", end);
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
        self.until(operation);
    }

    /// The next operations, up to this one.
    pub(crate) fn until(&self, operation: &str) -> Vec<String> {
        let end = Instant::now() + LONGEST_WAIT;
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != operation) {
            heard.push(self.next(operation, end).0);
        }
        heard
    }

    /// What is said next, until then.
    #[track_caller]
    fn next(&self, name: &str, end: Instant) -> Said {
        let said = self.said.recv_timeout(end.saturating_duration_since(Instant::now()));
        said.unwrap_or_else(|_| panic!("the worker has not said {name} in {LONGEST_WAIT:?}"))
    }
}

fn answer(request: &Request, shards: &Mutex<VecDeque<Value>>, said: &Sender<Said>) -> Option<Response> {
    let operation = request.header("x-amz-target").unwrap().replace("AWSStepFunctions.", "");
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let of_shard = |name: &str| body["taskToken"].as_str().unwrap().contains(name);
    let answer = match operation.as_str() {
        "GetActivityTask" => {
            let shard = shards.lock().unwrap().pop_front();
            shard.map(|shard| (200, json!({"taskToken": shard.to_string(), "input": shard.to_string()})))
        }
        "SendTaskHeartbeat" if of_shard(LOST) => Some((400, json!({"__type": "TaskTimedOut", "message": "too late"}))),
        "SendTaskHeartbeat" if of_shard(DENIED) => Some((400, json!({"__type": "AccessDeniedException"}))),
        "SendTaskHeartbeat" if of_shard(SILENT) => None,
        "SendTaskSuccess" if of_shard(HELD) => None,
        _ => Some((200, json!({}))),
    };
    // A test that has heard enough is over.
    let _ = said.send((operation, body));
    let (status, answer) = answer?;
    let headers = "content-type: application/x-amz-json-1.0\r\n".to_owned();
    Some(Response(status, headers, answer.to_string().into_bytes()))
}
