//! The work of 64 workers: streams to a table, and single messages to a queue and a FIFO queue.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_batch_delivery::backoff::Adaptive;
use aws_batch_delivery::targets::dynamo::DynamoTable;
use aws_batch_delivery::{Delivery, DeliveryOptions, Producer};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{Stream, stream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::service::Remote;
use crate::chaos::client::Access;

/// Workers that stream to the table, and as many that send messages, half of them to the FIFO queue.
const WORKERS: usize = 32;

/// The interval between two entries of a worker.
const PACE: Duration = Duration::from_millis(100);

/// Entries of a stream.
const STREAM: u64 = 300;

/// Keys of a worker.
const KEYS: u64 = 20;

/// The attempt timeout.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// The text of each entry.
const TEXT: usize = 300;

pub(crate) struct Work {
    dynamo: aws_sdk_dynamodb::Client,
    name: String,
    table: Delivery<DynamoTable>,
    queue: Producer<SendMessageBatchRequestEntry>,
    fifo: Producer<SendMessageBatchRequestEntry>,
    /// The number of the last delivered write of each key.
    last: Mutex<HashMap<String, u64>>,
    writes: AtomicU64,
    messages: AtomicU64,
    /// Of the table, the queue and the FIFO queue.
    paces: [Arc<Adaptive>; 3],
    complaints: Mutex<Vec<String>>,
}

fn options(pace: &Arc<Adaptive>) -> DeliveryOptions {
    DeliveryOptions::default()
        .attempt_timeout(ATTEMPT_TIMEOUT)
        .backoff(Arc::clone(pace))
}

impl Work {
    /// Starts the producers, in the current runtime.
    pub(crate) fn new(access: &Access, remote: &Remote) -> Self {
        let [name, queue, fifo] = remote.destinations.clone();
        let dynamo = access.dynamo();
        let paces: [Arc<Adaptive>; 3] = Default::default();
        let producer = |url, pace| Delivery::to_sqs(access.sqs(), url).options(options(pace)).producer();
        Self {
            table: Delivery::to_dynamo(dynamo.clone(), &name).options(options(&paces[0])),
            dynamo,
            name,
            queue: producer(queue, &paces[1]),
            fifo: producer(fifo, &paces[2]),
            paces,
            last: Mutex::default(),
            writes: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            complaints: Mutex::default(),
        }
    }

    /// Until it is stopped.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut workers = JoinSet::new();
        for worker in 0..WORKERS {
            let (streaming, sending) = (Arc::clone(&self), Arc::clone(&self));
            let (one, other) = (stop.clone(), stop.clone());
            workers.spawn(async move { streaming.stream(worker, &one).await });
            workers.spawn(async move { sending.send(worker, &other).await });
        }
        workers.join_all().await;
    }

    /// One stream after another.
    async fn stream(&self, worker: usize, stop: &CancellationToken) {
        let mut first = 0;
        while !stop.is_cancelled() {
            let read = Arc::default();
            let writes = writes(worker, first, &read, stop);
            let delivered = self.table.deliver_stream(writes).await;
            let read = lock(&read).clone();
            first += read.len() as u64;
            self.writes.fetch_add(read.len() as u64, Ordering::Relaxed);
            match delivered {
                Ok(report) if report.delivered == read.len() as u64 => lock(&self.last).extend(read),
                Ok(report) => self.complain(format!("of {} writes: {report}", read.len())),
                Err(error) => self.complain(error.to_string()),
            }
        }
    }

    async fn send(&self, worker: usize, stop: &CancellationToken) {
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let is_fifo = worker.is_multiple_of(2);
        let producer = if is_fifo { &self.fifo } else { &self.queue };
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stop.cancelled() => return,
            }
            let group = is_fifo.then(|| format!("group-{worker}"));
            let message = SendMessageBatchRequestEntry::builder()
                .id("0")
                .message_body("x".repeat(TEXT));
            let message = message.set_message_group_id(group).build().expect("a message");
            self.messages.fetch_add(1, Ordering::Relaxed);
            if let Err(undelivered) = producer.send(message).await {
                self.complain(undelivered.to_string());
            }
        }
    }

    /// Ends the producers, and checks that the table has the last delivered write of each key.
    pub(crate) async fn compare(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for producer in [&self.queue, &self.fifo] {
            complaints.extend(producer.close().await.err().map(|error| error.to_string()));
        }
        let last = lock(&self.last).clone();
        let (keys, numbers): (Vec<String>, Vec<u64>) = last.into_iter().unzip();
        let asked = keys
            .iter()
            .map(|key| HashMap::from([("id".to_owned(), AttributeValue::S(key.clone()))]));
        let items = match Delivery::reads_from_dynamo(self.dynamo.clone(), &self.name)
            .options(DeliveryOptions::default().attempt_timeout(ATTEMPT_TIMEOUT).clone())
            .get(asked)
            .await
        {
            Ok(items) => items,
            Err(error) => {
                complaints.push(error.to_string());
                return complaints;
            }
        };
        for ((key, number), item) in keys.iter().zip(numbers).zip(&items) {
            let stored = item.as_ref().and_then(|item| item["n"].as_n().ok());
            if stored != Some(&number.to_string()) {
                complaints.push(format!(
                    "of key {key}, {stored:?} is stored, and {number} was delivered last"
                ));
            }
        }
        println!("{} keys have the write that was delivered last", items.len());
        complaints
    }

    pub(crate) fn summary(&self) -> String {
        let [writes, messages] = [&self.writes, &self.messages].map(|count| count.load(Ordering::Relaxed));
        format!("{writes} writes and {messages} messages of {} workers", 2 * WORKERS)
    }

    /// What the paces of the table, the queue and the FIFO queue do at the moment.
    pub(crate) fn paces(&self) -> String {
        let paces = self.paces.iter().map(|pace| {
            let pace = pace.snapshot();
            let rate = pace.rate.map_or_else(|| "no".to_owned(), |rate| format!("{rate:.0}/s"));
            format!("{:?} ({}), {rate} pace, {} hot", pace.state, pace.reason, pace.hot_keys)
        });
        paces.collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).clone()
    }

    fn complain(&self, complaint: String) {
        lock(&self.complaints).push(complaint);
    }
}

/// Writes with numbers from `first` on, one after each tick. The delivery's reads are recorded.
fn writes(
    worker: usize,
    first: u64,
    read: &Arc<Mutex<Vec<(String, u64)>>>,
    stop: &CancellationToken,
) -> impl Stream<Item = WriteRequest> + use<> {
    let (read, stop) = (Arc::clone(read), stop.clone());
    let mut ticks = interval(PACE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    stream::unfold((ticks, first), move |(mut ticks, number)| {
        let (read, stop) = (Arc::clone(&read), stop.clone());
        async move {
            if number == first + STREAM {
                return None;
            }
            tokio::select! {
                _ = ticks.tick() => {}
                () = stop.cancelled() => return None,
            }
            let key = format!("{worker}-{}", number % KEYS);
            let write = write(&key, number);
            lock(&read).push((key, number));
            Some((write, (ticks, number + 1)))
        }
    })
}

fn write(key: &str, number: u64) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(key.to_owned()))
        .item("n", AttributeValue::N(number.to_string()))
        .item("text", AttributeValue::S("x".repeat(TEXT)));
    let put = put.build().expect("an item");
    WriteRequest::builder().put_request(put).build()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
