//! [delivery]: https://docs.rs/aws-batch-delivery
#![doc = include_str!("../README.md")]
//!
//! # Where things are
//! | what | where |
//! |---|---|
//! | how much is accepted | [`Capacity`], and the partitions of tables: [`TableOptions`] |
//! | how long calls take | [`Latency`], [`Simulator::set_latency`] |
//! | what goes wrong | [`InjectedFault`] by script, [`Faults`] at random |
//! | what happened | [`Table::items`], [`Queue::messages`], [`Stream::records`], [`Statistics`], [`Record`] |
//! | over HTTP | [`Simulator::serve`] |

// Items show which feature they need.
#![cfg_attr(docsrs, feature(doc_cfg))]
// A test may unwrap.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod admission;
mod bucket;
mod clients;
mod connector;
mod dedup;
mod digest;
mod dynamo;
mod eventbridge;
mod fault;
mod firehose;
mod gate;
mod intake;
mod journal;
mod kinesis;
mod latency;
mod options;
mod percent;
mod predicate;
mod registry;
mod s3;
mod server;
mod sns;
mod sqs;
mod statistics;
mod wire;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::http::SharedHttpClient;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::time::sleep;

pub use serde_json::{Value, json};

pub use self::admission::{
    AdmissionControl, AutoScaling, Demand, IndexDemand, OnDemand, Place, Tenant, Throttle, Throughput, ThroughputLimit,
};
pub use self::bucket::Capacity;
pub use self::dynamo::{IndexOptions, KeyType, Table, TableOptions};
pub use self::eventbridge::{EventBus, EventBusOptions};
pub use self::fault::{Faults, InjectedFault};
pub use self::firehose::{DeliveryStream, DeliveryStreamOptions};
pub use self::journal::{Acknowledgement, Action, Record};
pub use self::kinesis::{Stream, StreamOptions, StreamRecord};
pub use self::latency::Latency;
pub use self::s3::Bucket;
pub use self::server::Server;
pub use self::sns::{Notification, Topic, TopicOptions};
pub use self::sqs::{Message, Queue, QueueOptions};
pub use self::statistics::Statistics;

use self::connector::InProcess;
use self::journal::Heard;
use self::registry::Registry;
use self::wire::{Ending, Request};

/// The region of the simulator's clients and resource names.
const REGION: &str = "us-east-1";
/// The account id in the simulator's resource names.
const ACCOUNT: &str = "000000000000";

/// A simulated AWS. Clones are handles to the same simulator.
///
/// The same seed gives the same faults, the same latencies and the same order of acceptance; on tokio's paused clock and its
/// single-threaded runtime a run can be repeated exactly.
#[derive(Clone)]
pub struct Simulator {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    seed: u64,
    tables: Registry<Table>,
    queues: Registry<Queue>,
    streams: Registry<Stream>,
    delivery_streams: Registry<DeliveryStream>,
    topics: Registry<Topic>,
    buses: Registry<EventBus>,
    buckets: Registry<Bucket>,
    latency: Mutex<(Latency, SmallRng)>,
    query_errors: AtomicBool,
    requests: AtomicU64,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

impl Simulator {
    /// An empty simulator: no tables, queues, streams, topics, buses or buckets, and no latency.
    pub fn new(seed: u64) -> Self {
        Self {
            inner: Arc::new(Inner {
                seed,
                tables: Registry::default(),
                queues: Registry::default(),
                streams: Registry::default(),
                delivery_streams: Registry::default(),
                topics: Registry::default(),
                buses: Registry::default(),
                buckets: Registry::default(),
                latency: Mutex::new((Latency::none(), SmallRng::seed_from_u64(seed))),
                query_errors: AtomicBool::new(true),
                requests: AtomicU64::new(0),
                in_flight: AtomicUsize::new(0),
                most_in_flight: AtomicUsize::new(0),
            }),
        }
    }

    /// Creates a table. Replaces one with the same name.
    pub fn table(&self, name: &str, options: TableOptions) -> Table {
        let table = Table::new(name, options, self.inner.seed_for("table", name));
        self.inner.tables.add(name, table)
    }

    /// Creates a queue, a FIFO queue if its name ends in `.fifo`. Replaces one with the same name.
    pub fn queue(&self, name: &str, options: QueueOptions) -> Queue {
        let queue = Queue::new(name, options, self.inner.seed_for("queue", name));
        self.inner.queues.add(name, queue)
    }

    /// Creates a data stream of Kinesis. Replaces one with the same name.
    pub fn stream(&self, name: &str, options: StreamOptions) -> Stream {
        let stream = Stream::new(name, options, self.inner.seed_for("stream", name));
        self.inner.streams.add(name, stream)
    }

    /// Creates a delivery stream of Firehose. Replaces one with the same name.
    pub fn delivery_stream(&self, name: &str, options: DeliveryStreamOptions) -> DeliveryStream {
        let stream = DeliveryStream::new(name, options, self.inner.seed_for("delivery stream", name));
        self.inner.delivery_streams.add(name, stream)
    }

    /// Creates a topic of SNS, a FIFO topic if its name ends in `.fifo`. Replaces one with the same name.
    pub fn topic(&self, name: &str, options: TopicOptions) -> Topic {
        let topic = Topic::new(name, options, self.inner.seed_for("topic", name));
        self.inner.topics.add(name, topic)
    }

    /// Creates an event bus of EventBridge. Replaces one with the same name.
    pub fn event_bus(&self, name: &str, options: EventBusOptions) -> EventBus {
        let bus = EventBus::new(name, options, self.inner.seed_for("event bus", name));
        self.inner.buses.add(name, bus)
    }

    /// Creates a bucket of S3 for single objects: put, get and delete. Replaces one with the same name.
    pub fn bucket(&self, name: &str) -> Bucket {
        self.inner.buckets.add(name, Bucket::new(name))
    }

    /// Sets the latency of calls from now on. Default: none.
    pub fn set_latency(&self, latency: Latency) {
        lock(&self.inner.latency).0 = latency;
    }

    /// Whether errors of SQS have the header `x-amzn-query-error`, as those of AWS do. On by default.
    ///
    /// With it the SDK returns the codes of the older protocol: `AWS.SimpleQueueService.BatchRequestTooLong`. Without it, as
    /// with some emulators and proxies, the codes are short: `BatchRequestTooLong`.
    pub fn set_query_errors(&self, on: bool) {
        self.inner.query_errors.store(on, Ordering::Relaxed);
    }

    /// The largest number of calls, of all operations, that were in flight at the same time.
    pub fn most_calls_in_flight(&self) -> usize {
        self.inner.most_in_flight.load(Ordering::Relaxed)
    }

    /// An HTTP client for SDK clients with your own configuration.
    pub fn http_client(&self) -> SharedHttpClient {
        SharedHttpClient::new(InProcess(self.clone()))
    }

    /// Waits half the latency, performs the operation, and waits the other half.
    pub(crate) async fn call(&self, request: Request<'_>) -> Ending {
        let _under_way = UnderWay::new(&self.inner);
        let (there, back) = {
            let mut latency = lock(&self.inner.latency);
            let (latency, random) = &mut *latency;
            latency.halves(random)
        };
        if !there.is_zero() {
            sleep(there).await;
        }
        let heard = Heard::default();
        let (ending, late) = wire::answer(&self.inner, &request, &heard).await;
        let rest = back.saturating_add(late);
        if !rest.is_zero() {
            sleep(rest).await;
        }
        if matches!(ending, Ending::Reply(_)) {
            heard.set();
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

impl Inner {
    fn sends_query_errors(&self) -> bool {
        self.query_errors.load(Ordering::Relaxed)
    }

    fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Each table, queue and other destination has random numbers of its own, so that calls to one do not change another.
    fn seed_for(&self, kind: &str, name: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, kind, name).hash(&mut hasher);
        hasher.finish()
    }
}

/// Counts a call while it is in flight.
struct UnderWay<'a>(&'a Inner);

impl<'a> UnderWay<'a> {
    fn new(inner: &'a Inner) -> Self {
        let now = inner.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        inner.most_in_flight.fetch_max(now, Ordering::Relaxed);
        Self(inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A panic in a caller's predicate must not make the whole simulator fail.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
