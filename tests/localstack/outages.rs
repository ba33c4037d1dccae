//! An emulator goes away in the middle of a delivery: the delivery goes on or hands back, and what it calls delivered is
//! there.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions, Progress, Report};
use aws_sdk_dynamodb::types::WriteRequest;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::emulators::Emulators;
use crate::process::Process;
use crate::queue::{self, Queue, messages};
use crate::table::{self, Table, id_of, puts};

/// So many that the emulator is stopped long before the end, also when the test is late by a second. It takes some thousands a second.
const WRITES: usize = 12_000;

/// The same for messages, of which LocalStack takes some hundreds a second.
const MESSAGES: usize = 3_000;

/// The emulator is stopped when so many entries are delivered.
const BEFORE: u64 = 500;

/// Long for a call to an emulator on this machine, short for a standstill.
const ATTEMPT: Duration = Duration::from_secs(1);

/// For calls in flight to an emulator that stopped to be heard of.
const SETTLING: Duration = Duration::from_millis(1_500);

/// Longer than an emulator takes to start again on a busy machine: 17 s were seen. The test takes as long.
const RESTART: Duration = Duration::from_mins(1);

/// How long an emulator stands still after that: 5 s in all.
const STANDSTILL: Duration = Duration::from_millis(3_500);

type Outcome<E> = Result<Report, DeliveryError<E>>;

/// A delivery on its way.
struct Underway<E> {
    task: JoinHandle<Outcome<E>>,
    progress: Progress,
}

/// Starts a delivery, and returns when some of it is delivered.
async fn start<T: BatchTarget>(
    delivery: Delivery<T>,
    entries: Vec<T::Entry>,
    options: DeliveryOptions,
) -> Underway<T::Entry> {
    let (count, progress) = (entries.len() as u64, Progress::default());
    let delivery = delivery.options(options.progress(&progress));
    let task = tokio::spawn(async move { delivery.deliver(entries).await });
    let underway = Underway { task, progress };
    while underway.delivered() < BEFORE {
        assert!(!underway.task.is_finished());
        sleep(Duration::from_millis(5)).await;
    }
    assert!(underway.delivered() < count / 2, "too few entries");
    underway
}

impl<E> Underway<E> {
    fn delivered(&self) -> u64 {
        self.progress.snapshot().delivered
    }

    /// Suspends the emulator for a while, in which nothing is delivered.
    async fn stand_still(&self, process: &Process) {
        let suspended = process.suspend();
        sleep(SETTLING).await;
        let before = self.delivered();
        sleep(STANDSTILL).await;
        assert_eq!(self.delivered(), before);
        drop(suspended);
    }
}

fn options() -> DeliveryOptions {
    DeliveryOptions::default().attempt_timeout(ATTEMPT)
}

fn all_ids() -> Vec<String> {
    (0..WRITES).map(table::numbered).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn a_table_that_stands_still_gets_every_write_in_the_end() {
    let emulators = Emulators::find_alone().await;
    let process = Process::dynamodb();
    let table = Table::with_id(&emulators, "standstill").await;
    let delivery = Delivery::to_dynamo(table.client.clone(), &table.name);
    let underway = start(delivery, puts(WRITES), options()).await;
    underway.stand_still(&process).await;

    let report = underway.task.await.unwrap().unwrap();
    assert_eq!(report.delivered, WRITES as u64);
    assert!(report.resubmitted > 0);
    assert!(table.ids().await == all_ids());
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn a_queue_that_stands_still_gets_every_message_in_the_end() {
    let emulators = Emulators::find_alone().await;
    let process = Process::localstack();
    let queue = Queue::create(&emulators, "standstill").await;
    let delivery = Delivery::to_sqs(queue.client.clone(), &queue.url);
    let underway = start(delivery, messages(MESSAGES), options()).await;
    underway.stand_still(&process).await;

    let report = underway.task.await.unwrap().unwrap();
    assert_eq!(report.delivered, MESSAGES as u64);
    assert!(report.resubmitted > 0);
    let bodies = queue.bodies().await;
    assert!(bodies.len() as u64 <= MESSAGES as u64 + report.resubmitted);
    let distinct: BTreeSet<String> = bodies.into_iter().collect();
    assert!(distinct == (0..MESSAGES).map(queue::numbered).collect());
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn a_table_that_comes_back_gets_every_write_in_the_end() {
    let emulators = Emulators::find_alone().await;
    let process = Process::lasting_dynamodb();
    let table = Table::with_id(&emulators, "killed").await;
    let delivery = Delivery::to_dynamo(table.client.clone(), &table.name);
    let underway = start(delivery, puts(WRITES), options()).await;
    let killed = process.kill();
    sleep(SETTLING).await;
    let before = underway.delivered();
    assert!(before < WRITES as u64 && !underway.task.is_finished());
    drop(killed);

    let report = underway.task.await.unwrap().unwrap();
    assert_eq!(report.delivered, WRITES as u64);
    assert!(report.resubmitted > 0);
    // Those too that were delivered before it was killed.
    assert!(table.ids().await == all_ids());
    table.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn a_delivery_that_ends_during_an_outage_reports_what_the_table_has() {
    let emulators = Emulators::find_alone().await;
    let process = Process::lasting_dynamodb();
    let table = Table::with_id(&emulators, "cancelled").await;
    let delivery = Delivery::to_dynamo(table.client.clone(), &table.name);
    let token = CancellationToken::new();
    let underway = start(delivery, puts(WRITES), options().cancellation(token.clone())).await;
    let killed = process.kill();
    sleep(SETTLING).await;
    token.cancel();
    let error = underway.task.await.unwrap().unwrap_err();
    drop(killed);

    assert_eq!(error.report.delivered + error.report.undelivered, WRITES as u64);
    assert_eq!(error.undelivered().len() as u64, error.report.undelivered);
    assert_reports_what_is_there(&error, &table.ids().await);

    // What was handed back can be delivered again.
    let entries = error
        .into_undelivered()
        .into_iter()
        .map(|undelivered| *undelivered.entry);
    let delivery = Delivery::to_dynamo(table.client.clone(), &table.name);
    delivery.deliver(entries).await.unwrap();
    assert!(table.ids().await == all_ids());
    table.remove().await;
}

/// What is not handed back is there; what is handed back is not, unless it is marked.
fn assert_reports_what_is_there(error: &DeliveryError<WriteRequest>, stored: &[String]) {
    let stored: BTreeSet<&String> = stored.iter().collect();
    let mut expected: BTreeSet<String> = all_ids().into_iter().collect();
    for undelivered in error.undelivered() {
        let id = id_of(&undelivered.entry);
        let there = stored.contains(&id);
        assert!(undelivered.may_have_been_delivered || !there, "{undelivered:?}");
        expected.remove(&id);
    }
    assert_eq!(expected.len() as u64, error.report.delivered);
    assert!(expected.iter().all(|id| stored.contains(id)));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators without Docker: localstack/test"]
async fn a_queue_that_comes_back_without_its_memory_takes_nothing_more() {
    let emulators = Emulators::find_alone().await;
    let process = Process::localstack();
    let queue = Queue::create(&emulators, "killed").await;
    let delivery = Delivery::to_sqs(queue.client.clone(), &queue.url);
    let options = options().give_up_after(RESTART);
    let underway = start(delivery, messages(MESSAGES), options).await;
    let killed = process.kill();
    sleep(SETTLING).await;
    let before = underway.delivered();
    drop(killed);

    // LocalStack keeps nothing, so that the queue is gone and with it what was delivered. The delivery has delivered
    // something, so it waits for the queue. Nothing is called delivered that came later, and all of that is handed back.
    let error = underway.task.await.unwrap().unwrap_err();
    assert_eq!(error.report.delivered, before);
    assert_eq!(error.undelivered().len() as u64, MESSAGES as u64 - before);
    let faults = error.undelivered().iter().map(|undelivered| match &undelivered.cause {
        Cause::TimeUsedUp(fault) | Cause::Outage { fault, .. } => fault.code(),
        cause => panic!("{cause:?}"),
    });
    // An entry that was not tried since the queue is gone still has the fault of the outage.
    let codes: BTreeSet<&str> = faults.collect();
    assert!(codes.contains("NonExistentQueue"), "{codes:?}");

    let queue = Queue::create(&emulators, "killed").await;
    let entries: Vec<_> = error
        .into_undelivered()
        .into_iter()
        .map(|undelivered| *undelivered.entry)
        .collect();
    let mut bodies: Vec<String> = entries.iter().map(|entry| entry.message_body().to_owned()).collect();
    bodies.sort_unstable();
    let delivery = Delivery::to_sqs(queue.client.clone(), &queue.url);
    delivery.deliver(entries).await.unwrap();
    assert!(queue.bodies().await == bodies);
    queue.remove().await;
}
