//! One run of a mix, from the start of the service to the comparison.

use std::sync::Arc;
use std::time::Duration;

use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Delivery, Progress};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, timeout};

use super::check::{Seen, check};
use super::client::Access;
use super::deliver::Run;
use super::ledger::Ledger;
use super::load::Load;
use super::mix::{Mix, Service};
use super::served::Served;
use super::witness::Witness;

/// The time limit of a mix.
const LIMIT: Duration = Duration::from_mins(2);

/// How long tasks and connections may take to end after the client was dropped.
const LEFTOVERS: Duration = Duration::from_secs(20);

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The contradictions; none if all is well.
    pub(crate) complaints: Vec<String>,
    /// The time from the start of the delivery to its end.
    pub(crate) time: Duration,
    /// The records, for comparisons that are to fail.
    pub(crate) seen: Seen,
    pub(crate) load: Arc<Load>,
}

/// Runs a mix with deliveries of the crate to the simulator, and compares their results with the state of the service. `progress`
/// has the figures during the run.
pub(crate) fn deliver(mix: &Mix, progress: &Progress) -> Outcome {
    deliver_behind(&Served::start(mix.service, &mix.faults), mix, progress)
}

/// The same with what is served.
pub(crate) fn deliver_behind(served: &Served, mix: &Mix, progress: &Progress) -> Outcome {
    let load = Arc::new(Load::of(mix));
    let runtime = runtime(mix.threads);
    let witness = Witness::new(Arc::clone(&load));
    let access = Access {
        port: served.port,
        conditions: served.conditions.clone(),
        attempt_timeout: None,
        witness: Some(witness.clone()),
    };
    let ledger = Ledger::new(load.entries.len());
    let run = Run {
        mix: Arc::new(mix.clone()),
        workers: 0..mix.workers,
        load: Arc::clone(&load),
        ledger: ledger.clone(),
        progress: progress.clone(),
        arrivals: served.proxy.arrivals(),
    };
    let started = Instant::now();
    let ended = runtime.block_on(async { timeout(LIMIT, deliver_to(served, &access, run)).await });
    let time = started.elapsed();
    if ended.is_err() {
        ledger.complain(format!("it was not through after {LIMIT:?}"));
    }
    let leftovers = leftovers(&runtime, served);
    drop(runtime);
    let mut contents = ledger.contents();
    contents.complaints.extend(leftovers);
    let (attempts, arrived) = (witness.attempts(), served.proxy.attempts());
    let seen = Seen {
        told: contents,
        entered: served.resource.entered(&load, &attempts, &arrived),
        attempts,
        arrived,
        journal: served.resource.journal(),
        stored: served.resource.stored(),
        refused_calls: served.resource.refused_calls(),
    };
    Outcome {
        complaints: check(mix, &load, &seen),
        time,
        seen,
        load,
    }
}

async fn deliver_to(served: &Served, access: &Access, run: Run) {
    let destination = served.resource.destination();
    let mix = Arc::clone(&run.mix);
    match mix.service {
        Service::Table => {
            let delivery = Delivery::to_dynamo(access.dynamo(), destination);
            let delivery = if mix.asks {
                delivery
            } else {
                delivery.map_target(|table| table.key("id"))
            };
            run.deliver(delivery).await;
        }
        Service::Writes => {
            let table = Delivery::to_dynamo(access.dynamo(), destination);
            let table = if mix.asks {
                table
            } else {
                table.map_target(|table| table.key("id"))
            };
            let transactions = Delivery::to_dynamo_transactions(access.dynamo());
            let (all, first) = (mix.workers, mix.workers - mix.transactors);
            let (mut single, mut together) = (run.clone(), run);
            (single.workers, together.workers) = (0..first, first..all);
            tokio::join!(single.deliver(table.item_writes()), together.deliver(transactions));
        }
        Service::Queue | Service::Fifo => {
            let delivery = Delivery::to_sqs(access.sqs(), destination);
            let delivery = if mix.strict_order {
                delivery.map_target(SqsQueue::strict_order)
            } else {
                delivery
            };
            run.deliver(delivery).await;
        }
    }
}

pub(crate) fn runtime(threads: bool) -> Runtime {
    let mut builder = if threads {
        Builder::new_multi_thread()
    } else {
        Builder::new_current_thread()
    };
    builder.worker_threads(2).enable_all().build().expect("a runtime")
}

/// Checks that no task and no connection is left after the clients were dropped.
fn leftovers(runtime: &Runtime, served: &Served) -> Option<String> {
    let tasks = || runtime.metrics().num_alive_tasks();
    let is_over = async {
        while tasks() + served.proxy.open() > 0 {
            sleep(Duration::from_millis(2)).await;
        }
        served.proxy.settle().await;
    };
    let ended = runtime.block_on(async { timeout(LEFTOVERS, is_over).await });
    let left = |_| format!("{} tasks and {} connections are left", tasks(), served.proxy.open());
    ended.err().map(left)
}
