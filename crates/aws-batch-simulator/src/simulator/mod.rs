//! The simulator: creates the resources of all services, and answers calls.

mod clients;
mod connector;
mod router;
mod server;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::sleep;

use self::router::Services;
pub use self::server::Server;
#[cfg(feature = "cloudwatch")]
use crate::cloudwatch::{MetricNamespace, MetricNamespaceOptions};
use crate::dynamo::{Table, TableOptions};
use crate::eventbridge::{EventBus, EventBusOptions};
use crate::firehose::{DeliveryStream, DeliveryStreamOptions};
use crate::journal::AnswerReceipt;
use crate::kinesis::{Stream, StreamOptions};
use crate::latency::Latency;
use crate::logs::{LogStream, LogStreamOptions, full_name};
use crate::registry::lock;
use crate::s3::Bucket;
use crate::sns::{Topic, TopicOptions};
use crate::sqs::{Queue, QueueOptions};
use crate::wire::{CallEnd, Request, Responder};

/// A simulated AWS. Clones are handles to the same simulator.
///
/// The same seed gives the same faults, the same latencies and the same order of acceptance; on tokio's paused clock and its
/// single-threaded runtime a run can be repeated exactly.
#[derive(Clone)]
pub struct Simulator {
    inner: Arc<Inner>,
}

struct Inner {
    seed: u64,
    services: Services,
    responder: Responder,
    latency: Mutex<(Latency, SmallRng)>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

impl Simulator {
    /// An empty simulator: no tables, queues, streams, topics, buses, buckets, log streams or namespaces, and no latency.
    pub fn new(seed: u64) -> Self {
        Self {
            inner: Arc::new(Inner {
                seed,
                services: Services::new(seed),
                responder: Responder::default(),
                latency: Mutex::new((Latency::none(), SmallRng::seed_from_u64(seed))),
                in_flight: AtomicUsize::new(0),
                most_in_flight: AtomicUsize::new(0),
            }),
        }
    }

    /// Creates a table. Replaces one with the same name.
    pub fn table(&self, name: &str, options: TableOptions) -> Table {
        let tables = &self.inner.services.tables;
        tables.add(name, |seed| Table::new(name, options, seed))
    }

    /// Removes a table, and returns whether there was one. Handles to it still show what it holds.
    pub fn remove_table(&self, name: &str) -> bool {
        self.inner.services.tables.remove(name)
    }

    /// Creates a queue, a FIFO queue if its name ends in `.fifo`. Replaces one with the same name.
    pub fn queue(&self, name: &str, options: QueueOptions) -> Queue {
        let queues = &self.inner.services.queues;
        queues.add(name, |seed| Queue::new(name, options, seed))
    }

    /// Removes a queue, and returns whether there was one. Handles to it still show what it holds.
    pub fn remove_queue(&self, name: &str) -> bool {
        self.inner.services.queues.remove(name)
    }

    /// Creates a data stream of Kinesis. Replaces one with the same name.
    pub fn stream(&self, name: &str, options: StreamOptions) -> Stream {
        let streams = &self.inner.services.streams;
        streams.add(name, |seed| Stream::new(name, options, seed))
    }

    /// Creates a delivery stream of Firehose. Replaces one with the same name.
    pub fn delivery_stream(&self, name: &str, options: DeliveryStreamOptions) -> DeliveryStream {
        let streams = &self.inner.services.delivery_streams;
        streams.add(name, |seed| DeliveryStream::new(name, options, seed))
    }

    /// Creates a topic of SNS, a FIFO topic if its name ends in `.fifo`. Replaces one with the same name.
    pub fn topic(&self, name: &str, options: TopicOptions) -> Topic {
        let topics = &self.inner.services.topics;
        topics.add(name, |seed| Topic::new(name, options, seed))
    }

    /// Creates an event bus of EventBridge. Replaces one with the same name.
    pub fn event_bus(&self, name: &str, options: EventBusOptions) -> EventBus {
        let buses = &self.inner.services.buses;
        buses.add(name, |seed| EventBus::new(name, options, seed))
    }

    /// Creates a bucket of S3: put, get, head and delete of objects, and `DeleteObjects`. Replaces one with the same name.
    pub fn bucket(&self, name: &str) -> Bucket {
        let buckets = &self.inner.services.buckets;
        buckets.add(name, |seed| Bucket::new(name, seed))
    }

    /// Creates a log stream of CloudWatch Logs in a log group. Replaces one with the same names.
    pub fn log_stream(&self, group: &str, stream: &str, options: LogStreamOptions) -> LogStream {
        let streams = &self.inner.services.log_streams;
        let name = full_name(group, stream);
        streams.add(&name, |seed| LogStream::new(&name, options, seed))
    }

    /// Creates a namespace of CloudWatch for metrics. Replaces one with the same name.
    #[cfg(feature = "cloudwatch")]
    pub fn metric_namespace(&self, name: &str, options: MetricNamespaceOptions) -> MetricNamespace {
        let namespaces = &self.inner.services.namespaces;
        namespaces.add(name, |seed| MetricNamespace::new(name, options, seed))
    }

    /// Sets the latency of calls from now on. Default: none, with which loads on a paused clock may take longer than with a few milliseconds:
    /// all calls of a start come at one moment, before the table has any capacity.
    pub fn set_latency(&self, latency: Latency) {
        lock(&self.inner.latency).0 = latency;
    }

    /// Whether errors of SQS have the header `x-amzn-query-error`, as those of AWS do. On by default.
    ///
    /// With it the SDK returns the codes of the older protocol: `AWS.SimpleQueueService.BatchRequestTooLong`. Without it, as
    /// with some emulators and proxies, the codes are short: `BatchRequestTooLong`.
    pub fn set_query_errors(&self, on: bool) {
        self.inner.responder.set_query_errors(on);
    }

    /// The largest number of calls, of all operations, that were in flight at the same time.
    pub fn most_calls_in_flight(&self) -> usize {
        self.inner.most_in_flight.load(Ordering::Relaxed)
    }

    /// Waits half the latency, performs the operation, and waits the other half.
    async fn call(&self, request: Request<'_>) -> CallEnd {
        let Inner {
            services,
            responder,
            latency,
            ..
        } = &*self.inner;
        let _in_flight = CallGuard::new(&self.inner);
        let (before, after) = {
            let mut latency = lock(latency);
            let (latency, random) = &mut *latency;
            latency.halves(random)
        };
        if !before.is_zero() {
            sleep(before).await;
        }
        let answered = AnswerReceipt::default();
        let ending = services.answer(responder, &request, &answered).await;
        let rest = after.saturating_add(answered.delay());
        if !rest.is_zero() {
            sleep(rest).await;
        }
        if matches!(ending, CallEnd::Reply(_)) {
            answered.set();
        }
        ending
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator")
            .field("seed", &self.inner.seed)
            .finish_non_exhaustive()
    }
}

/// Counts a call while it is in flight.
struct CallGuard<'a>(&'a Inner);

impl<'a> CallGuard<'a> {
    fn new(inner: &'a Inner) -> Self {
        let now = inner.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        inner.most_in_flight.fetch_max(now, Ordering::Relaxed);
        Self(inner)
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
