//! A table whose calls fail at random, before and after they were applied.

use std::time::Duration;

use aws_batch_delivery::targets::dynamo::DynamoWrites;
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Latency, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use proptest::prelude::*;

/// The shares of calls that fail, by kind, and the pace of their retries.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    pub(crate) seed: u64,
    shares: [f64; 8],
    concurrency: usize,
}

/// Fewer than all calls fail, so that every delivery ends.
pub(crate) fn any_mix() -> impl Strategy<Value = Mix> {
    let shares = prop::array::uniform8(prop_oneof![Just(0.0), 0.0..0.12]);
    (any::<u64>(), shares, 1..12_usize).prop_map(|(seed, shares, concurrency)| Mix {
        seed,
        shares,
        concurrency,
    })
}

impl Mix {
    /// A mix of which every tenth call is lost after it was applied, and as many before.
    pub(crate) fn of_lost_answers(seed: u64) -> Self {
        Self {
            seed,
            shares: [0.05, 0.05, 0.05, 0.05, 0.02, 0.02, 0.02, 0.02],
            concurrency: 8,
        }
    }

    /// No call fails.
    pub(crate) fn without_faults(seed: u64) -> Self {
        Self {
            seed,
            shares: [0.0; 8],
            concurrency: 8,
        }
    }

    /// A simulator with the empty table `orders`, whose calls fail from now on.
    pub(crate) fn table(&self) -> (Simulator, Table) {
        let simulator = Simulator::new(self.seed);
        simulator.set_latency(Latency::lognormal(Duration::from_millis(8), 0.4).slow(0.01, 8.0));
        let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
        table.keep_journal();
        table.set_faults(self.faults());
        (simulator, table)
    }

    pub(crate) fn faults(&self) -> Faults {
        let [
            error,
            error_after,
            dropped,
            dropped_after,
            garbage_after,
            hung,
            throttle,
            conflict,
        ] = self.shares;
        Faults::none()
            .calls(error, InjectedFault::internal_error(false))
            .calls(error_after, InjectedFault::internal_error(true))
            .calls(dropped, InjectedFault::Dropped { applied: false })
            .calls(dropped_after, InjectedFault::Dropped { applied: true })
            .calls(garbage_after, InjectedFault::Garbage { applied: true })
            .calls(
                hung,
                InjectedFault::Hung {
                    applied: self.seed.is_multiple_of(2),
                },
            )
            .calls(throttle, InjectedFault::Throttle)
            .calls(conflict, InjectedFault::Conflict(1))
    }

    /// Retries as long as it takes.
    pub(crate) fn options(&self) -> DeliveryOptions {
        DeliveryOptions::default()
            .backoff(|_: u32| Duration::from_millis(5))
            .give_up_after(Duration::MAX)
            .concurrency(self.concurrency)
    }

    pub(crate) fn writes(&self, simulator: &Simulator) -> Delivery<DynamoWrites> {
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").map_target(|table| table.key("id"));
        delivery.options(self.options()).item_writes()
    }
}

/// A client that makes each call once.
pub(crate) fn without_retries(simulator: &Simulator) -> Client {
    let config = simulator.dynamo_client().config().to_builder();
    Client::from_conf(config.retry_config(RetryConfig::disabled()).build())
}
