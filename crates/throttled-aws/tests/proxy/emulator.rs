//! An emulator that accepts everything and says what it was sent.

use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

/// A request that has arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) target: String,
    pub(crate) head: String,
    pub(crate) bytes: Bytes,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap()
    }
}

type Respond = Box<dyn Fn(&str, &Value) -> Option<(u16, String)> + Send + Sync>;

#[derive(Default)]
struct State {
    received: Mutex<Vec<Received>>,
    /// Answers other than the usual ones.
    respond: Mutex<Option<Respond>>,
    /// While it is there, calls wait for it.
    gate: Mutex<Option<Arc<Notify>>>,
    arrived: Notify,
}

pub(crate) struct Emulator {
    address: std::net::SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

impl Emulator {
    pub(crate) async fn start() -> Self {
        Self::listen("127.0.0.1:0".parse().unwrap(), Arc::default()).await
    }

    async fn listen(address: std::net::SocketAddr, state: Arc<State>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        Self {
            address: listener.local_addr().unwrap(),
            state: Arc::clone(&state),
            task: tokio::spawn(accept(listener, state)),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops it, with its connections.
    pub(crate) async fn kill(&mut self) {
        self.task.abort();
        let _ = (&mut self.task).await;
    }

    /// Starts it again at the same address.
    pub(crate) async fn restart(&mut self) {
        *self = Self::listen(self.address, Arc::clone(&self.state)).await;
    }

    /// The next answers are these, unless it is `None`.
    pub(crate) fn answers(&self, respond: impl Fn(&str, &Value) -> Option<(u16, String)> + Send + Sync + 'static) {
        *self.state.respond.lock().unwrap() = Some(Box::new(respond));
    }

    /// Calls wait until this is notified.
    pub(crate) fn gate(&self) -> Arc<Notify> {
        let gate = Arc::new(Notify::new());
        *self.state.gate.lock().unwrap() = Some(Arc::clone(&gate));
        gate
    }

    /// Until the next call arrives.
    pub(crate) async fn arrival(&self) {
        self.state.arrived.notified().await;
    }

    /// What has arrived for this operation.
    pub(crate) fn received(&self, operation: &str) -> Vec<Received> {
        let received = self.state.received.lock().unwrap();
        received
            .iter()
            .filter(|call| call.target.ends_with(operation))
            .cloned()
            .collect()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let state = Arc::clone(&state);
        connections.spawn(async move {
            let service = service_fn(|request| respond(&state, request));
            let _ = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn respond(state: &State, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (parts, mut body) = request.into_parts();
    let target = parts
        .headers
        .get("x-amz-target")
        .map_or("", |target| target.to_str().unwrap())
        .to_owned();
    let gate = state.gate.lock().unwrap().clone();
    if let Some(gate) = gate.filter(|_| !target.contains("Describe")) {
        // The first part of the body, so that a test knows that it has come through.
        let first = body.frame().await;
        state.arrived.notify_one();
        gate.notified().await;
        drop(first);
    }
    let bytes = body.collect().await?.to_bytes();
    let value = serde_json::from_slice(&bytes).unwrap_or_default();
    state.received.lock().unwrap().push(Received {
        target: target.clone(),
        head: format!("{} {} {:?}", parts.method, parts.uri, parts.headers),
        bytes,
    });
    let own = state
        .respond
        .lock()
        .unwrap()
        .as_ref()
        .and_then(|respond| respond(&target, &value));
    let (status, body) = own.unwrap_or_else(|| (200, usual(&target, &value).to_string()));
    let mut response = Response::new(Full::new(body.clone().into()));
    *response.status_mut() = status.try_into().unwrap();
    if target.starts_with("DynamoDB") {
        let checksum = crc32fast::hash(body.as_bytes());
        response.headers_mut().insert("x-amz-crc32", checksum.into());
    }
    Ok(response)
}

/// Tables have the key `id`, streams two shards.
fn usual(target: &str, body: &Value) -> Value {
    match target.rsplit('.').next().unwrap_or_default() {
        "DescribeTable" => json!({"Table": {
            "TableArn": format!("arn:aws:dynamodb:us-east-1:0:table/{}", body["TableName"].as_str().unwrap()),
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "ProvisionedThroughput": {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0},
        }}),
        "DescribeStreamSummary" => json!({"StreamDescriptionSummary": {"OpenShardCount": 2}}),
        "SendMessageBatch" => {
            let entries = body["Entries"].as_array().unwrap().iter();
            let sent: Vec<Value> = entries
                .map(|entry| json!({"Id": entry["Id"], "MessageId": "m"}))
                .collect();
            json!({ "Successful": sent })
        }
        "PutRecords" => {
            let records = body["Records"].as_array().unwrap().iter();
            let records: Vec<Value> = records
                .map(|record| json!({"SequenceNumber": record["PartitionKey"]}))
                .collect();
            json!({"FailedRecordCount": 0, "Records": records})
        }
        _ => json!({}),
    }
}
