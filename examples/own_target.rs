//! A target of one's own: documents for an index with a `_bulk` API, as Elasticsearch has it.
//!
//! A target says how much a call takes, checks and measures an entry, and makes one call. All else is the delivery's: cutting,
//! pace, retries and order. The index is a part of this program: it rejects documents with 429 now and then, as a full write
//! queue does, and refuses one whose field does not fit the mapping.
//!
//! ```text
//! cargo run --example own_target
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use aws_batch_delivery::target::{Answer, BatchTarget, Fault, Lane, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use serde_json::{Value, json};

struct Document {
    id: String,
    source: Value,
}

/// An index that is written to by `_bulk`.
struct BulkIndex {
    server: Arc<Server>,
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
        let (status, answer) = self
            .server
            .post_bulk(&chunk.iter().map(lines).collect::<String>())
            .await;
        let Some(items) = answer["items"].as_array().filter(|_| status == 200) else {
            return Answer::Whole(verdict(status, &answer["error"]));
        };
        Answer::Each(
            items
                .iter()
                .map(|item| verdict(item["index"]["status"].as_u64().unwrap_or(0), &item["index"]["error"]))
                .collect(),
        )
    }
}

/// What a status says of a document or of the whole call. The reason may quote the document, so that it is only the source.
fn verdict(status: u64, error: &Value) -> Verdict {
    let code = error["type"]
        .as_str()
        .map_or_else(|| format!("HTTP {status}"), ToOwned::to_owned);
    let fault = Fault::new(code).caused_by(error["reason"].as_str().unwrap_or_default());
    match status {
        200..=299 => Verdict::Accepted,
        429 => Verdict::Rejected(Rejection::Throttled, fault),
        400..=499 => Verdict::Refused(fault),
        _ => Verdict::Rejected(Rejection::Transient, fault.may_have_been_applied()),
    }
}

fn lines(document: &Document) -> String {
    format!("{}\n{}\n", json!({"index": {"_id": document.id}}), document.source)
}

/// Stands for the cluster. A program has an HTTP client here, and posts to `https://…/orders/_bulk`.
#[derive(Default)]
struct Server {
    documents: Mutex<HashMap<String, Value>>,
    asked: Mutex<usize>,
}

impl Server {
    async fn post_bulk(&self, body: &str) -> (u64, Value) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let lines: Vec<Value> = body
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let items: Vec<Value> = lines.chunks_exact(2).map(|pair| {
            *asked += 1;
            if asked.is_multiple_of(50) {
                return json!({"index": {"status": 429, "error": {"type": "es_rejected_execution_exception"}}});
            }
            if !pair[1]["cents"].is_u64() {
                return json!({"index": {"status": 400, "error": {"type": "document_parsing_exception", "reason": "cents"}}});
            }
            documents.insert(pair[0]["index"]["_id"].to_string(), pair[1].clone());
            json!({"index": {"status": 201}})
        }).collect();
        (200, json!({"errors": true, "items": items}))
    }
}

#[tokio::main]
async fn main() {
    let server = Arc::new(Server::default());
    let index = Delivery::new(BulkIndex {
        server: Arc::clone(&server),
    });
    let documents = (0..5_000).map(|number| Document {
        id: format!("order-{number}"),
        source: if number == 1_234 {
            json!({"cents": "a lot"})
        } else {
            json!({"cents": number * 37})
        },
    });
    match index.deliver(documents).await {
        Ok(report) => println!("{report}"),
        Err(error) => {
            println!("{}\n{error}", error.report);
            error
                .undelivered()
                .iter()
                .for_each(|one| println!("  {}: {}", one.entry.id, one.cause));
        }
    }
    println!(
        "{} documents in the index",
        server.documents.lock().unwrap_or_else(PoisonError::into_inner).len()
    );
}
