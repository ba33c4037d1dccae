//! A web service that sends events to a queue: each request waits for its own event, and all requests share calls and pace.
//!
//! The queue is simulated, so that it runs without an AWS account. Ctrl-C or SIGTERM shuts it down: within a limited time, and
//! each request that waits gets its answer, also when the queue accepts nothing.
//!
//! ```text
//! cargo run --bin web_service
//! curl -i -H 'content-type: application/json' -d '{"order": 7, "event": "paid"}' http://127.0.0.1:3000/events
//! cargo test --bin web_service
//! ```

use std::fmt;
use std::future::IntoFuture;
use std::time::Duration;

use anyhow::Result;
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions, Producer, Report};
use aws_batch_simulator::{Capacity, QueueOptions, Simulator};
use aws_sdk_sqs::Client;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use axum::serve::Listener;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Serialize, Deserialize)]
struct Event {
    order: u64,
    event: String,
}

/// How long an event is tried while its request waits.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long one call may take; short enough for a second one.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the service continues to deliver after it was told to stop. Calls in flight have the grace period in addition,
/// which is 1 s.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// How long connections may stay open after that, to send and receive the last answers.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> Result<()> {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("events", QueueOptions::default().capacity(Capacity::per_second(300.0)));
    // With AWS: Client::new(&aws_config::load_defaults(BehaviorVersion::latest()).await) and the queue's URL.
    let events = events(simulator.sqs_client(), &queue.url());
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening on http://{}/events", listener.local_addr()?);
    println!("{}", serve(listener, events, told_to_stop()).await?);
    println!("{} messages in the queue", queue.len());
    Ok(())
}

fn events(client: Client, queue_url: &str) -> Producer<Event> {
    let options = DeliveryOptions::default()
        .give_up_after(PATIENCE)
        .attempt_timeout(ATTEMPT_TIMEOUT);
    Delivery::to_sqs(client, queue_url).options(options).json().producer()
}

/// Serves until `stop` completes. Then no more connections are accepted, and the producer is closed at the same time: a server
/// that waits for its handlers first waits for a producer that was never told to end.
async fn serve<L>(
    listener: L,
    events: Producer<Event>,
    stop: impl Future<Output = ()>,
) -> Result<Report, DeliveryError<Event>>
where
    L: Listener<Addr: fmt::Debug>,
{
    let service = Router::new().route("/events", post(accept)).with_state(events.clone());
    let stopping = CancellationToken::new();
    let server = axum::serve(listener, service).with_graceful_shutdown(stopping.clone().cancelled_owned());
    let server = tokio::spawn(server.into_future());
    stop.await;
    stopping.cancel();
    // After this, each request that waited has its event delivered or handed back, and later ones are refused.
    let closed = events.close_within(SHUTDOWN).await;
    // A connection whose client sends or reads nothing does not hold up the end.
    let _ = timeout(LAST_ANSWERS, server).await;
    closed
}

/// Ctrl-C, or the request of an orchestrator to end.
async fn told_to_stop() {
    let interrupted = async { _ = tokio::signal::ctrl_c().await };
    #[cfg(unix)]
    let terminated = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut terminate) => _ = terminate.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}

/// Answers when the event is in the queue, or will not be.
async fn accept(State(events): State<Producer<Event>>, Json(event): Json<Event>) -> (StatusCode, String) {
    // When the buffer is full, `try_enqueue` fails at once, and the client can retry later.
    let sent = match events.try_enqueue(event) {
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

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::io;

    use aws_batch_simulator::{Faults, InjectedFault, Queue};
    use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
    use futures::future::join_all;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::sync::mpsc;
    use tokio::time::{Instant, sleep};

    use super::*;

    const REQUESTS: u64 = 500;

    /// How long an end may take: a call in flight has the grace period of 1 s.
    const LIMIT: Duration = SHUTDOWN
        .saturating_add(Duration::from_secs(1))
        .saturating_add(LAST_ANSWERS);

    /// Connections without a network, so that the tests run on tokio's paused clock.
    struct InMemory(mpsc::UnboundedReceiver<DuplexStream>);

    impl Listener for InMemory {
        type Io = DuplexStream;
        type Addr = ();

        async fn accept(&mut self) -> (DuplexStream, ()) {
            match self.0.recv().await {
                Some(connection) => (connection, ()),
                None => pending().await,
            }
        }

        fn local_addr(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Sends a request, or only a part of it, and returns all that is answered until the connection is closed.
    async fn request(connections: mpsc::UnboundedSender<DuplexStream>, order: u64, is_complete: bool) -> String {
        let (mut client, server) = duplex(1 << 16);
        connections.send(server).unwrap();
        let event = Event {
            order,
            event: "paid".to_owned(),
        };
        let event = serde_json::to_string(&event).unwrap();
        let length = event.len() + usize::from(!is_complete);
        let head = "POST /events HTTP/1.1\r\nhost: test\r\ncontent-type: application/json";
        let request = format!("{head}\r\ncontent-length: {length}\r\n\r\n{event}");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn simulated() -> (Producer<Event>, Queue) {
        let simulator = Simulator::new(1);
        let queue = simulator.queue("events", QueueOptions::default());
        (events(simulator.sqs_client(), &queue.url()), queue)
    }

    /// Tells the service to stop when its requests wait for the queue. Returns their answers and how long the end took.
    async fn answers_at_the_end(events: Producer<Event>, clients_that_hang: u64) -> (Vec<String>, Duration) {
        let (connections, listener) = mpsc::unbounded_channel();
        let stopping = CancellationToken::new();
        let stop = stopping.clone().cancelled_owned();
        let server = tokio::spawn(async move { _ = serve(InMemory(listener), events, stop).await });
        let requests: Vec<_> = (0..REQUESTS)
            .map(|order| tokio::spawn(request(connections.clone(), order, true)))
            .collect();
        for order in 0..clients_that_hang {
            tokio::spawn(request(connections.clone(), order, false));
        }
        sleep(Duration::from_secs(1)).await;
        let told = Instant::now();
        stopping.cancel();
        server.await.unwrap();
        let took = told.elapsed();
        let answers = join_all(requests).await.into_iter().map(Result::unwrap);
        (answers.collect(), took)
    }

    fn assert_all(answers: &[String], status: &str) {
        let answered = answers
            .iter()
            .filter(|answer| answer.starts_with(&format!("HTTP/1.1 {status} ")));
        assert_eq!(
            answered.count() as u64,
            REQUESTS,
            "with {status}: {:?}",
            answers.first()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_for_a_dead_queue_are_answered_before_the_service_ends() {
        let faults = [
            InjectedFault::Throttle,
            InjectedFault::internal_error(false),
            InjectedFault::Dropped { applied: false },
            InjectedFault::Hung { applied: false },
        ];
        for fault in faults {
            let (events, queue) = simulated();
            queue.set_faults(Faults::none().calls(1.0, fault.clone()));
            let (answers, took) = answers_at_the_end(events, 0).await;
            assert!(took <= LIMIT, "{fault:?}: {took:?}");
            assert_all(&answers, "503");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_for_an_unreachable_queue_are_answered_before_the_service_ends() {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .endpoint_url(format!("http://127.0.0.1:{port}"));
        let queue_url = format!("http://127.0.0.1:{port}/123456789012/events");
        let (answers, took) = answers_at_the_end(events(Client::from_conf(config.build()), &queue_url), 0).await;
        assert!(took <= LIMIT, "{took:?}");
        assert_all(&answers, "503");
    }

    #[tokio::test(start_paused = true)]
    async fn clients_that_send_half_a_request_do_not_hold_up_the_end() {
        let (events, queue) = simulated();
        let (answers, took) = answers_at_the_end(events, 10).await;
        assert!(took <= LAST_ANSWERS, "{took:?}");
        assert_all(&answers, "202");
        assert_eq!(queue.len() as u64, REQUESTS);
    }
}
