//! A custom target without an SDK: documents for an index with a `_bulk` API, such as Elasticsearch's.
//!
//! A target defines what fits into a call, checks and measures an entry, and makes one call. The delivery does the rest: splitting,
//! pace, retries and order. The index is part of this program: it rejects a document with 429 now and then, as a full write
//! queue does, and refuses one whose field does not fit the mapping.
//!
//! ```text
//! cargo run --example bulk_index
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use serde_json::{Value, json};

struct Document {
    id: String,
    source: Value,
}

/// An index that is written to by `_bulk`.
struct BulkIndex {
    cluster: Arc<Cluster>,
}

/// A call of 5 to 15 MB is what the documentation of Elasticsearch recommends; `http.max_content_length` is 100 MB.
const CALL_BYTES: usize = 10 << 20;

impl BatchTarget for BulkIndex {
    type Entry = Document;

    fn limits(&self) -> Limits {
        Limits::new(1_000, CALL_BYTES)
    }

    fn check(&self, document: &Document) -> Result<usize, InvalidEntry> {
        if document.id.is_empty() {
            return Err(InvalidEntry::Missing { part: "document id" });
        }
        let actual = lines(document).len();
        if actual > CALL_BYTES {
            let (part, limit) = ("document", CALL_BYTES);
            return Err(InvalidEntry::TooLarge { part, limit, actual });
        }
        Ok(actual)
    }

    /// A document that is written twice ends as it was written last.
    fn lane(&self, document: &Document) -> Option<Lane> {
        Some(Lane::exclusive(&document.id))
    }

    async fn send(&self, chunk: &[Document]) -> Answer {
        let body: String = chunk.iter().map(lines).collect();
        let (status, answer) = self.cluster.post_bulk(&body).await;
        match answer["items"].as_array() {
            Some(items) => Answer::Each(items.iter().map(|item| verdict(&item["index"])).collect()),
            None if matches!(status, 401 | 403 | 404) => Answer::Stop(Fault::new(format!("HTTP {status}"))),
            None => Answer::Whole(verdict(&answer)),
        }
    }
}

/// What the answer says of a document or of the whole call. The reason may quote the document: it is the source of the fault, which
/// no message shows.
fn verdict(answer: &Value) -> Verdict {
    let code = answer["error"]["type"].as_str().unwrap_or("no answer").to_owned();
    let fault = Fault::new(code).caused_by(answer["error"]["reason"].as_str().unwrap_or_default());
    match answer["status"].as_u64() {
        Some(200..=299) => Verdict::Accepted,
        Some(429) => Verdict::Rejected(Rejection::Throttled, fault),
        Some(400..=499) => Verdict::Refused(fault),
        _ => Verdict::Rejected(Rejection::Transient, fault.may_have_been_applied()),
    }
}

fn lines(document: &Document) -> String {
    format!("{}\n{}\n", json!({"index": {"_id": document.id}}), document.source)
}

/// Stands for the cluster. A program has an HTTP client here, and posts to `https://…/orders/_bulk`.
#[derive(Default)]
struct Cluster {
    documents: Mutex<HashMap<String, Value>>,
    asked: AtomicUsize,
}

impl Cluster {
    async fn post_bulk(&self, body: &str) -> (u16, Value) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let lines = body.lines().filter_map(|line| serde_json::from_str(line).ok());
        let lines: Vec<Value> = lines.collect();
        let items = lines
            .chunks_exact(2)
            .map(|pair| json!({"index": self.write(&pair[0], &pair[1])}));
        (200, json!({"items": items.collect::<Vec<_>>()}))
    }

    fn write(&self, action: &Value, source: &Value) -> Value {
        if self.asked.fetch_add(1, Relaxed).is_multiple_of(50) {
            return json!({"status": 429, "error": {"type": "es_rejected_execution_exception"}});
        }
        if !source["cents"].is_u64() {
            return json!({"status": 400, "error": {"type": "document_parsing_exception"}});
        }
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.insert(action["index"]["_id"].to_string(), source.clone());
        json!({"status": 201})
    }
}

#[tokio::main]
async fn main() {
    let cluster = Arc::new(Cluster::default());
    let index = Delivery::new(BulkIndex {
        cluster: Arc::clone(&cluster),
    });
    let documents = (0..5_000).map(|number| Document {
        id: format!("order-{number}"),
        source: match number {
            1_234 => json!({"cents": "a lot"}),
            _ => json!({"cents": number * 37}),
        },
    });
    match index.deliver(documents).await {
        Ok(report) => println!("{report}"),
        Err(error) => {
            println!("{}", error.report);
            for undelivered in error.undelivered() {
                println!("{}: {}", undelivered.entry.id, undelivered.cause);
            }
        }
    }
    let documents = cluster.documents.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{} documents in the index", documents.len());
}
