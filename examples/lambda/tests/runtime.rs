//! The program as Lambda starts it, at a runtime API of the test.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use aws_batch_simulator::{KeyType, Simulator, TableOptions};
use axum::Router;
use axum::body::Bytes;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

/// Serves these events as invocations, and returns the address and the answers, each with its kind.
async fn runtime_api(events: Vec<Value>) -> (String, mpsc::UnboundedReceiver<(String, Value)>) {
    let (invoke, invocations) = mpsc::unbounded_channel();
    for event in events {
        invoke.send(event).unwrap();
    }
    let invocations = Arc::new(Mutex::new(invocations));
    let (answer, answers) = mpsc::unbounded_channel();
    let next = async move || {
        // The sender is kept, so that the function waits after the last one.
        let _kept = &invoke;
        let event = invocations.lock().await.recv().await.unwrap();
        let deadline = (UNIX_EPOCH.elapsed().unwrap() + Duration::from_mins(1)).as_millis();
        let headers = [
            ("lambda-runtime-aws-request-id", "1".to_owned()),
            ("lambda-runtime-deadline-ms", deadline.to_string()),
        ];
        (headers, event.to_string()).into_response()
    };
    let answered = async move |Path((_, kind)): Path<(String, String)>, body: Bytes| {
        answer.send((kind, serde_json::from_slice(&body).unwrap())).unwrap();
        StatusCode::ACCEPTED
    };
    let api = Router::new()
        .route("/2018-06-01/runtime/invocation/next", get(next))
        .route("/2018-06-01/runtime/invocation/{id}/{kind}", post(answered));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async { axum::serve(listener, api).await.unwrap() });
    (address, answers)
}

#[tokio::test]
async fn the_program_answers_invocations_at_the_runtime_api() {
    let simulator = Simulator::new(1);
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let mut broken: Value = serde_json::from_str(include_str!("../events/fifo.json")).unwrap();
    broken["Records"][3]["body"] = json!("hello");
    let whole: Value = serde_json::from_str(include_str!("../events/kinesis.json")).unwrap();
    let (api, mut answers) = runtime_api(vec![broken.clone(), json!({"Records": []}), whole]).await;
    let variables = [
        ("AWS_LAMBDA_RUNTIME_API", api.as_str()),
        ("AWS_LAMBDA_FUNCTION_NAME", "orders"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "1"),
        ("AWS_ENDPOINT_URL", &server.endpoint()),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("TABLE", "orders"),
    ];
    let _function = Command::new(env!("CARGO_BIN_EXE_lambda"))
        .envs(variables)
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut answer = async || timeout(Duration::from_mins(1), answers.recv()).await.unwrap().unwrap();
    let identifiers = [3, 5].map(|place| json!({"itemIdentifier": broken["Records"][place]["messageId"]}));
    assert_eq!(
        answer().await,
        ("response".to_owned(), json!({"batchItemFailures": identifiers}))
    );
    let (kind, error) = answer().await;
    assert_eq!(kind, "error");
    assert!(
        error["errorMessage"]
            .as_str()
            .unwrap()
            .contains("no records with a source"),
        "{error}"
    );
    assert_eq!(
        answer().await,
        ("response".to_owned(), json!({"batchItemFailures": []}))
    );
    // The first four of the FIFO queue, of which one is not an order, and the same orders of the stream.
    assert_eq!(table.len(), 5);
}
