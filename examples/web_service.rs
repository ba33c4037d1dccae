//! A web service that sends events to a queue: each request waits for its own event, and all requests share calls and pace.
//!
//! The queue is simulated, so that it runs without an AWS account. Ctrl-C shuts it down gracefully.
//!
//! ```text
//! cargo run --example web_service
//! curl -i -H 'content-type: application/json' -d '{"order": 7, "event": "paid"}' http://127.0.0.1:3000/events
//! ```

use std::time::Duration;

use anyhow::Result;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, Producer};
use aws_batch_simulator::{Capacity, QueueOptions, Simulator};
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Serialize, Deserialize)]
struct Event {
    order: u64,
    event: String,
}

/// How long an event is tried while its request waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long one call may take; short enough for a second one.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the service continues to deliver after it was told to stop.
const SHUTDOWN: Duration = Duration::from_secs(10);

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("events", QueueOptions::default().capacity(Capacity::per_second(300.0)));
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await) and the queue's URL.
    let options = DeliveryOptions::default()
        .give_up_after(PATIENCE)
        .attempt_timeout(ATTEMPT_TIMEOUT);
    let events = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .options(options)
        .json::<Event>()
        .producer();

    let service = Router::new().route("/events", post(accept)).with_state(events.clone());
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}/events", listener.local_addr()?);
    axum::serve(listener, service)
        .with_graceful_shutdown(async { _ = tokio::signal::ctrl_c().await })
        .await?;

    println!("{}", events.close_within(SHUTDOWN).await?);
    println!("{} messages in the queue", queue.len());
    Ok(())
}

/// Answers when the event is in the queue, or will not be.
async fn accept(State(events): State<Producer<Event>>, Json(event): Json<Event>) -> (StatusCode, String) {
    // When the buffer is full, `try_send` fails at once, and the client can retry later.
    let sent = match events.try_send(event) {
        Ok(receipt) => receipt.await,
        Err(refused) => Err(refused),
    };
    match sent {
        Ok(_) => (StatusCode::ACCEPTED, String::new()),
        Err(undelivered) if undelivered.cause.is_permanent() => {
            (StatusCode::UNPROCESSABLE_ENTITY, undelivered.cause.to_string())
        }
        Err(undelivered) => match undelivered.cause {
            Cause::BufferFull => (StatusCode::TOO_MANY_REQUESTS, "come back later".to_owned()),
            cause => (StatusCode::SERVICE_UNAVAILABLE, cause.to_string()),
        },
    }
}
