//! A custom target without an SDK: documents for an index with a `_bulk` API, such as Elasticsearch's.
//!
//! A target defines the limits of a call, checks and measures an entry, and makes one call. The delivery does everything
//! else: splitting, pace, retries and order. The index is a small server of this program on the loopback interface: it
//! rejects some documents with 429, as a full write queue does, and refuses those with a field that does not fit the
//! mapping.
//!
//! The test below runs the target through the conformance kit, over real connections.
//!
//! ```text
//! cargo run --bin bulk_index
//! cargo test --bin bulk_index
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, header};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;

struct Document {
    id: String,
    source: Value,
}

/// An index that is written to with `_bulk`.
struct BulkIndex {
    client: Client<HttpConnector, Full<Bytes>>,
    url: String,
    limits: Limits,
}

/// A call of 5 to 15 MB is what the documentation of Elasticsearch recommends; `http.max_content_length` is 100 MB.
const CALL_BYTES: usize = 10 << 20;

impl BulkIndex {
    fn new(url: impl Into<String>) -> Self {
        Self {
            client: Client::builder(TokioExecutor::new()).build_http(),
            url: url.into(),
            limits: Limits::new(1_000, CALL_BYTES),
        }
    }

    /// Status and body of the answer.
    async fn post(&self, body: String) -> Result<(StatusCode, Value)> {
        let request = Request::post(&self.url).header(header::CONTENT_TYPE, "application/x-ndjson");
        let response = self.client.request(request.body(Full::from(body))?).await?;
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        Ok((status, serde_json::from_slice(&bytes).unwrap_or_default()))
    }
}

impl BatchTarget for BulkIndex {
    type Entry = Document;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, document: &Document) -> Result<usize, InvalidEntry> {
        if document.id.is_empty() {
            return Err(InvalidEntry::Missing { part: "document id" });
        }
        let actual = lines(document).len();
        let (part, limit) = ("document", self.limits.bytes);
        if actual > limit {
            return Err(InvalidEntry::TooLarge { part, limit, actual });
        }
        Ok(actual)
    }

    /// A document that is written twice has the content of the last write.
    fn lane(&self, document: &Document) -> Option<Lane> {
        Some(Lane::exclusive(&document.id))
    }

    async fn send(&self, chunk: &[Document]) -> Answer {
        let (status, answer) = match self.post(chunk.iter().map(lines).collect()).await {
            Ok(answered) => answered,
            Err(error) => {
                let fault = Fault::new("connection failed").caused_by(error.to_string());
                return Answer::Whole(Verdict::Rejected(Rejection::Connection, fault.ambiguous()));
            }
        };
        match answer["items"].as_array() {
            // The items of an answer have no ids, so a list of another length tells nothing.
            Some(items) if items.len() == chunk.len() => {
                Answer::Each(items.iter().map(|item| verdict(&item["index"])).collect())
            }
            None if matches!(status.as_u16(), 401 | 403 | 404) => Answer::Stop(Fault::new(format!("HTTP {status}"))),
            None if !status.is_success() => Answer::Whole(verdict(&answer)),
            _ => Answer::Whole(verdict(&Value::Null)),
        }
    }
}

/// The verdict on a document or on the whole call. The reason may quote the document, so it is the source of the fault,
/// which no message shows.
fn verdict(answer: &Value) -> Verdict {
    let code = answer["error"]["type"].as_str().unwrap_or("no answer").to_owned();
    let fault = Fault::new(code).caused_by(answer["error"]["reason"].as_str().unwrap_or_default());
    match answer["status"].as_u64() {
        Some(200..=299) => Verdict::Accepted,
        Some(429) => Verdict::Rejected(Rejection::Throttled, fault),
        Some(400..=499) => Verdict::Refused(fault),
        _ => Verdict::Rejected(Rejection::Transient, fault.ambiguous()),
    }
}

fn lines(document: &Document) -> String {
    format!("{}\n{}\n", json!({"index": {"_id": document.id}}), document.source)
}

/// The documents of the index by their ids, and the number of writes.
type Stored = Arc<Mutex<(HashMap<String, Value>, usize)>>;

/// Alternating actions and sources.
fn parsed(body: &str) -> Vec<(Value, Value)> {
    let lines = body.lines().map(|line| serde_json::from_str(line).unwrap_or_default());
    let lines: Vec<Value> = lines.collect();
    let pairs = lines.chunks_exact(2);
    pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

async fn bulk(State(stored): State<Stored>, body: String) -> Json<Value> {
    let mut stored = stored.lock().unwrap_or_else(PoisonError::into_inner);
    let mut write = |(action, source): (Value, Value)| {
        stored.1 += 1;
        if stored.1.is_multiple_of(50) {
            return json!({"status": 429, "error": {"type": "es_rejected_execution_exception"}});
        }
        if !source["cents"].is_u64() {
            return json!({"status": 400, "error": {"type": "document_parsing_exception"}});
        }
        stored.0.insert(action["index"]["_id"].to_string(), source);
        json!({"status": 201})
    };
    let items = parsed(&body).into_iter().map(|pair| json!({"index": write(pair)}));
    Json(json!({"items": items.collect::<Vec<_>>()}))
}

/// Serves on the loopback interface, for as long as the program runs. Returns the URL of the index's `_bulk`.
async fn serve(routes: Router) -> Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/orders/_bulk", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, routes.layer(DefaultBodyLimit::disable())).await });
    Ok(url)
}

#[tokio::main]
async fn main() -> Result<()> {
    let stored = Stored::default();
    let url = serve(
        Router::new()
            .route("/orders/_bulk", post(bulk))
            .with_state(Arc::clone(&stored)),
    )
    .await?;
    let documents = (0..5_000).map(|number| Document {
        id: format!("order-{number}"),
        source: match number {
            1_234 => json!({"cents": "a lot"}),
            _ => json!({"cents": number * 37}),
        },
    });
    match Delivery::new(BulkIndex::new(url)).deliver(documents).await {
        Ok(report) => println!("{report}"),
        Err(error) => {
            println!("{}", error.report);
            for undelivered in error.undelivered() {
                println!("{}: {}", undelivered.entry.id, undelivered.cause);
            }
        }
    }
    let stored = stored.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{} documents in the index", stored.0.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use aws_batch_delivery::conformance::{self, Fixture, Reply, Service, Statement};
    use axum::response::{IntoResponse, Response};
    use tokio::runtime::Runtime;

    use super::*;

    struct Index;

    /// The result for a document or for a call.
    fn told(said: Statement) -> Value {
        let (status, code) = match said {
            Statement::Accepted => return json!({"status": 201}),
            Statement::Throttled => (429, "es_rejected_execution_exception"),
            Statement::Refused => (400, "document_parsing_exception"),
            _ => (500, "never_heard_of_exception"),
        };
        json!({"status": status, "error": {"type": code}})
    }

    async fn answer(State(service): State<Service>, body: String) -> Response {
        let number = |(action, _): &(Value, Value)| action["index"]["_id"].as_str().and_then(|id| id.parse().ok());
        let numbers: Vec<usize> = parsed(&body).iter().filter_map(number).collect();
        match service.call(&numbers) {
            Reply::Each { said, strangers } => {
                let answered = said.into_iter().filter(|said| *said != Statement::Nothing);
                let answered = answered.chain(std::iter::repeat_n(Statement::Accepted, strangers));
                let items: Vec<Value> = answered.map(|said| json!({"index": told(said)})).collect();
                Json(json!({"items": items})).into_response()
            }
            Reply::Whole(Statement::Nothing) => "<html>".into_response(),
            Reply::Whole(said) => {
                let body = told(said);
                let status = body["status"].as_u64().and_then(|status| u16::try_from(status).ok());
                let status = StatusCode::from_u16(status.unwrap_or(500)).unwrap();
                (status, Json(body)).into_response()
            }
        }
    }

    impl Fixture for Index {
        type Target = BulkIndex;

        /// The server has a thread of its own, so that it accepts connections at once.
        fn target(&self, service: Service, limits: Option<Limits>) -> BulkIndex {
            let routes = Router::new().route("/orders/_bulk", post(answer)).with_state(service);
            let (sender, receiver) = std::sync::mpsc::channel();
            thread::spawn(move || {
                Runtime::new().unwrap().block_on(async {
                    sender.send(serve(routes).await.unwrap()).unwrap();
                    std::future::pending::<()>().await;
                });
            });
            let mut index = BulkIndex::new(receiver.recv().unwrap());
            index.limits = limits.unwrap_or(index.limits);
            index
        }

        fn entry(&self, number: usize, bytes: usize) -> Document {
            Document {
                id: number.to_string(),
                source: json!({"text": "x".repeat(bytes)}),
            }
        }

        fn number(&self, document: &Document) -> usize {
            document.id.parse().unwrap()
        }

        fn entry_replies(&self) -> &[Statement] {
            &[
                Statement::Accepted,
                Statement::Throttled,
                Statement::Failed,
                Statement::Refused,
                Statement::Unknown,
                Statement::Nothing,
            ]
        }

        fn answers_for_unsent_entries(&self) -> bool {
            true
        }
    }

    #[tokio::test]
    async fn the_index_keeps_the_contract_over_real_connections() {
        conformance::check(Index, 25).await;
    }
}
