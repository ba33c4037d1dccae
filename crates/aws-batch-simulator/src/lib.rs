//! [delivery]: https://docs.rs/aws-batch-delivery
#![doc = include_str!("../README.md")]
//!
//! # Where things are
//! | what | where |
//! |---|---|
//! | how much is accepted | [`Capacity`], and the partitions of tables: [`Throughput`] |
//! | how long calls take | [`Latency`], [`Simulator::set_latency`] |
//! | which faults there are | [`InjectedFault`] by script, [`Faults`] at random |
//! | what happened | [`Table::items`], [`Queue::messages`], [`Stream::records`], [`Statistics`], [`Record`] |
//! | over HTTP | [`Simulator::serve`] |

// Items show which feature they need.
#![cfg_attr(docsrs, feature(doc_cfg))]
// A test may unwrap.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used))]

mod admission;
mod calls;
mod capacity;
#[cfg(feature = "cloudwatch")]
mod cloudwatch;
mod dynamo;
mod eventbridge;
mod fault;
mod firehose;
mod gate;
mod handles;
mod intake;
mod journal;
mod kinesis;
mod latency;
mod logs;
mod message;
mod registry;
mod s3;
mod simulator;
mod sns;
mod sqs;
mod wire;

pub use serde_json::{Value, json};

pub use self::admission::{AdmissionControl, AutoScaling, Demand, OnDemand, Place, Tenant, Throttle, Throughput};
pub use self::calls::Statistics;
pub use self::capacity::Capacity;
#[cfg(feature = "cloudwatch")]
pub use self::cloudwatch::{MetricNamespace, MetricNamespaceOptions};
pub use self::dynamo::{IndexOptions, KeyType, Table, TableOptions, VectorIndexOptions, item_size};
pub use self::eventbridge::{EventBus, EventBusOptions};
pub use self::fault::{Faults, InjectedFault};
pub use self::firehose::{DeliveryStream, DeliveryStreamOptions};
pub use self::journal::{Acknowledgement, Action, Record};
pub use self::kinesis::{Stream, StreamOptions, StreamRecord};
pub use self::latency::Latency;
pub use self::logs::{LogEvent, LogStream, LogStreamOptions};
pub use self::s3::Bucket;
pub use self::simulator::{Server, Simulator};
pub use self::sns::{Notification, Topic, TopicOptions};
pub use self::sqs::{Message, Queue, QueueOptions};
