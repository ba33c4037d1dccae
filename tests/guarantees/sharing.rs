//! Deliveries that share a strategy are paced together.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aws_batch_delivery::backoff::{Admission, BackoffStrategy, Pace, Responsive, Retry, Waiter};
use aws_batch_delivery::{DeliveryOptions, deliver_batch_to_dynamo};
use aws_batch_simulator::{Capacity, Faults, InjectedFault, KeyType, Simulator, TableOptions};
use tokio::task::JoinSet;

use crate::guarantees::entries::{put, puts, with_table};

const WORKERS: usize = 64;

#[tokio::test(start_paused = true)]
async fn one_wave_of_throttles_is_one_increase() {
    for (strategy, increases) in [(Responsive::default(), 1), (Responsive::published(), WORKERS as u64)] {
        let strategy = Arc::new(strategy);
        let options = DeliveryOptions::default().backoff(Arc::clone(&strategy));
        let (simulator, table) = with_table();
        table.script(vec![InjectedFault::Throttle; WORKERS]);
        let mut workers = JoinSet::new();
        for _ in 0..WORKERS {
            let (client, options) = (simulator.dynamo_client(), options.clone());
            workers.spawn(async move { deliver_batch_to_dynamo(&client, "orders", puts(25), &options).await });
        }
        while let Some(worker) = workers.join_next().await {
            worker.unwrap().unwrap();
        }
        assert_eq!(strategy.metrics().times_up, increases);
    }
}

/// Two deliveries of 1,000 puts to a table that fails for 10 s. Returns how many calls the table rejected.
async fn calls_turned_away(first: DeliveryOptions, second: DeliveryOptions) -> u64 {
    let (simulator, table) = with_table();
    table.set_capacity(Capacity::none());
    let revived = table.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        revived.set_capacity(Capacity::unlimited());
    });
    let client = simulator.dynamo_client();
    let (first, second) = tokio::join!(
        deliver_batch_to_dynamo(&client, "orders", puts(1_000), &first),
        deliver_batch_to_dynamo(&client, "orders", puts(1_000), &second),
    );
    first.unwrap();
    second.unwrap();
    table.statistics().throttled_calls
}

#[tokio::test(start_paused = true)]
async fn two_deliveries_with_one_strategy_are_paced_together_and_with_two_they_are_not() {
    let options = || {
        DeliveryOptions::default()
            .backoff(OneCallPerSecond::default())
            .concurrency(4)
    };
    let shared = options();
    let turned_away = Box::pin(calls_turned_away(shared.clone(), shared));
    assert_eq!(turned_away.await, 10);
    let turned_away = Box::pin(calls_turned_away(options(), options()));
    assert_eq!(turned_away.await, 20);
}

/// Permits one call a second, whichever worker asks.
#[derive(Default)]
struct OneCallPerSecond {
    last: Mutex<Option<Instant>>,
}

impl BackoffStrategy for OneCallPerSecond {
    fn delay(&self, _: Retry) -> Duration {
        Duration::ZERO
    }

    fn pace(&self) -> Option<&dyn Pace> {
        Some(self)
    }
}

impl Pace for OneCallPerSecond {
    fn admit(&self, now: Instant, waiter: &Waiter) -> Admission {
        let next = self.last.lock().unwrap().map(|last| last + Duration::from_secs(1));
        match next {
            Some(next) if next > now => Admission::WaitUntil(next),
            _ => Admission::Go(waiter.entries),
        }
    }

    fn depart(&self, now: Instant, _: usize) {
        *self.last.lock().unwrap() = Some(now);
    }
}

#[tokio::test(start_paused = true)]
async fn throttles_lengthen_the_shared_interval_and_successes_shorten_it_again() {
    let strategy = Arc::new(Responsive::default());
    let options = DeliveryOptions::default().backoff(Arc::clone(&strategy));
    let (simulator, table) = with_table();
    table.set_capacity(Capacity::per_second(500.0).burst(25.0));
    let (table, watched) = (table.clone(), Arc::clone(&strategy));
    let interval_while_slow = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        table.set_capacity(Capacity::unlimited());
        watched.interval()
    });
    let client = simulator.dynamo_client();
    let report = deliver_batch_to_dynamo(&client, "orders", puts(20_000), &options)
        .await
        .unwrap();
    assert!(report.throttled > 0);
    assert!(strategy.interval() < interval_while_slow.await.unwrap() / 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_on_several_threads_that_share_one_strategy_lose_nothing() {
    let simulator = Simulator::new(42);
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S));
    table.set_faults(
        Faults::none()
            .unprocessed(0.01)
            .calls(0.01, InjectedFault::Dropped { applied: true }),
    );
    let options = DeliveryOptions::default();
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (client, options) = (simulator.dynamo_client(), options.clone());
        let writes = (0..100).map(move |number| put(format!("{worker}-{number}")));
        workers.spawn(async move { deliver_batch_to_dynamo(&client, "orders", writes, &options).await });
    }
    let mut delivered = 0;
    while let Some(worker) = workers.join_next().await {
        delivered += worker.unwrap().unwrap().delivered;
    }
    assert_eq!((delivered, table.len()), (6_400, 6_400));
}
