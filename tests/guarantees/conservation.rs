//! Whatever fails, every entry has one outcome: delivered, or handed back.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::ops::Range;
use std::time::Duration;

use aws_batch_delivery::{DeliveryError, DeliveryOptions, Report, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::{
    Acknowledgement, Capacity, Faults, InjectedFault, KeyType, Latency, QueueOptions, Record, Simulator, TableOptions,
};
use aws_sdk_dynamodb::types::{AttributeValue, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use proptest::prelude::*;

use crate::guarantees::entries::{delete, message, put, put_with};
use crate::support::cases::cases;
use crate::support::paused::paused;

/// The faults, the limits of the delivery, and the number of entries.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    entries: usize,
    shares: [f64; 9],
    capacity: Option<f64>,
    concurrency: usize,
    retries: Option<u32>,
    patience: Duration,
    rest: Duration,
    cancelled_after: Option<Duration>,
}

fn any_case() -> impl Strategy<Value = Case> {
    (
        any::<u64>(),
        0..150_usize,
        // At most 0.9 in all, so that every delivery ends.
        prop::array::uniform9(prop_oneof![3 => Just(0.0), 1 => 0.0..0.1]),
        prop::option::weighted(0.3, 50.0..2_000.0),
        1..20_usize,
        prop::option::weighted(0.3, 0..4_u32),
        prop_oneof![3 => Just(Duration::MAX), 1 => millis(0..200)],
        millis(0..50),
        prop::option::weighted(0.2, millis(0..100)),
    )
        .prop_map(
            |(seed, entries, shares, capacity, concurrency, retries, patience, rest, cancelled_after)| Case {
                seed,
                entries,
                shares,
                capacity,
                concurrency,
                retries,
                patience,
                rest,
                cancelled_after,
            },
        )
}

fn millis(range: Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

impl Case {
    fn simulator(&self) -> Simulator {
        let simulator = Simulator::new(self.seed);
        simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4).slow(0.01, 8.0));
        simulator
    }

    fn capacity(&self) -> Capacity {
        self.capacity
            .map_or_else(Capacity::unlimited, |rate| Capacity::per_second(rate).burst(30.0))
    }

    /// The faults of a queue.
    fn queue_faults(&self) -> Faults {
        let unknown = self.shares[8];
        self.table_faults().calls(unknown, InjectedFault::Unknown(2))
    }

    /// The faults of a table. It never returns a write that was not sent: that would put the whole answer in doubt.
    fn table_faults(&self) -> Faults {
        let [entries, throttle, error, dropped, empty, garbage, omitted, repeated, _] = self.shares;
        // Some faults happen after the call was applied, some before.
        let applied = self.seed.is_multiple_of(2);
        Faults::none()
            .failed(entries, "InternalError", applied)
            .calls(throttle, InjectedFault::Throttle)
            .calls(error, InjectedFault::internal_error(applied))
            .calls(dropped, InjectedFault::Dropped { applied })
            .calls(empty, InjectedFault::Empty { applied: !applied })
            .calls(garbage, InjectedFault::Garbage { applied })
            .calls(omitted, InjectedFault::Omitted { entries: 3, applied })
            .calls(repeated, InjectedFault::Repeated(2))
    }

    fn options(&self) -> DeliveryOptions {
        let rest = self.rest;
        let options = DeliveryOptions::default()
            .backoff(move |_: u32| rest)
            .give_up_after(self.patience)
            .concurrency(self.concurrency);
        match self.retries {
            Some(retries) => options.retries(retries),
            None => options,
        }
    }

    /// Runs a delivery on a paused clock, and cancels it if the case requires it.
    fn run<E, D>(&self, delivery: impl FnOnce(DeliveryOptions) -> D) -> Result<Report, DeliveryError<E>>
    where
        D: Future<Output = Result<Report, DeliveryError<E>>>,
    {
        paused(async {
            let mut options = self.options();
            if let Some(after) = self.cancelled_after {
                let token = tokio_util::sync::CancellationToken::new();
                options = options.cancellation(token.clone());
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    token.cancel();
                });
            }
            delivery(options).await
        })
    }
}

/// Checks a delivery against its input and against what the service has. `identity` names an entry as the journal does.
fn check<E: Clone + PartialEq + std::fmt::Debug>(
    input: &[E],
    result: Result<Report, DeliveryError<E>>,
    journal: &[Record],
    identity: impl Fn(&E) -> String,
    identity_of: impl Fn(&Record) -> String,
) -> Result<(), TestCaseError> {
    let (report, undelivered) = match result {
        Ok(report) => (report, Vec::new()),
        Err(error) => (error.report.clone(), error.into_undelivered()),
    };

    // Delivered and undelivered make up the input, entry for entry.
    prop_assert_eq!(report.delivered + report.undelivered, input.len() as u64);
    prop_assert_eq!(undelivered.len() as u64, report.undelivered);
    let positions: HashSet<u64> = undelivered.iter().map(|undelivered| undelivered.position).collect();
    prop_assert_eq!(positions.len(), undelivered.len());
    for undelivered in &undelivered {
        prop_assert_eq!(
            &*undelivered.entry,
            &input[usize::try_from(undelivered.position).unwrap()]
        );
    }

    // What is reported delivered is there; what is handed back without a doubt is not.
    let applied: HashSet<String> = journal
        .iter()
        .filter(|record| record.acknowledgement().is_applied())
        .map(&identity_of)
        .collect();
    for (position, entry) in (0..).zip(input) {
        if !positions.contains(&position) {
            prop_assert!(applied.contains(&identity(entry)), "{} is not there", position);
        }
    }
    for undelivered in &undelivered {
        if !undelivered.may_have_been_delivered {
            prop_assert!(
                !applied.contains(&identity(&undelivered.entry)),
                "{:?} is there",
                undelivered
            );
        }
    }

    // What was accepted beyond doubt was not sent again, and nothing was sent more often than reported.
    let mut accepted = HashSet::new();
    let mut sent: HashMap<String, u32> = HashMap::new();
    for record in journal {
        let entry = identity_of(record);
        prop_assert!(!accepted.contains(&entry), "accepted, and sent again");
        *sent.entry(entry.clone()).or_default() += 1;
        if record.acknowledgement() == Acknowledgement::Accepted {
            accepted.insert(entry);
        }
    }
    for undelivered in &undelivered {
        let arrived = sent.get(&identity(&undelivered.entry)).copied().unwrap_or(0);
        prop_assert!(
            arrived <= undelivered.attempts,
            "arrived {} times: {:?}",
            arrived,
            undelivered
        );
    }
    Ok(())
}

/// Puts and deletes of distinct keys, small and large, some of them too large or malformed.
fn writes(case: &Case) -> Vec<WriteRequest> {
    let write = |number: usize| {
        let id = format!("{number:04}");
        match (number as u64).wrapping_mul(case.seed | 1) % 32 {
            0 => delete(id),
            1 => put_with(id, "blob", AttributeValue::S("x".repeat(300_000))),
            2 => put_with(id, "blob", AttributeValue::S("x".repeat(500_000))),
            3 => put_with(id, "number", AttributeValue::N("one".into())),
            _ => put(id),
        }
    };
    (0..case.entries).map(write).collect()
}

fn id_of(write: &WriteRequest) -> String {
    let key = match (write.put_request(), write.delete_request()) {
        (Some(put), _) => put.item()["id"].as_s(),
        (_, Some(delete)) => delete.key()["id"].as_s(),
        _ => unreachable!("every write is one of the two"),
    };
    key.unwrap().clone()
}

/// Messages with distinct bodies, small and large, some of them too large or malformed.
fn messages(case: &Case) -> Vec<SendMessageBatchRequestEntry> {
    let send = |number: usize| {
        let padding = match (number as u64).wrapping_mul(case.seed | 1) % 32 {
            0 => "x".repeat(300_000),
            1 => "x".repeat(1_100_000),
            2 => "\u{7}".to_owned(),
            _ => String::new(),
        };
        message("same", format!("{number:04}{padding}"))
    };
    (0..case.entries).map(send).collect()
}

fn number_of(message: &SendMessageBatchRequestEntry) -> String {
    message.message_body()[..4].to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(60), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_write_ends_exactly_once(case in any_case()) {
        let simulator = case.simulator();
        let table = simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(case.capacity()));
        table.keep_journal();
        table.set_faults(case.table_faults());
        let input = writes(&case);
        let result = case.run(async |options| {
            deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", input.clone(), &options).await
        });
        prop_assert_eq!(table.statistics().refused_calls, 0);
        let of_record = |record: &Record| record.entry()["id"]["S"].as_str().unwrap().to_owned();
        check(&input, result, &table.journal(), id_of, of_record)?;
    }

    #[test]
    fn every_message_ends_exactly_once(case in any_case()) {
        let simulator = case.simulator();
        let queue = simulator.queue("orders", QueueOptions::default().capacity(case.capacity()));
        queue.keep_journal();
        queue.set_faults(case.queue_faults());
        let input = messages(&case);
        let result = case.run(async |options| {
            deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), input.clone(), &options).await
        });
        prop_assert_eq!(queue.statistics().refused_calls, 0);
        let of_record = |record: &Record| record.entry()["MessageBody"].as_str().unwrap()[..4].to_owned();
        check(&input, result, &queue.journal(), number_of, of_record)?;
    }
}
