//! Counters of a spool: each delivery of it goes on where the one before it has stopped.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::spool::{Spool, SpoolFolder, SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::dynamo::{DynamoWrites, ItemWrite};
use aws_batch_delivery::{Delivery, DeliveryOptions, Values};
use aws_batch_simulator::{Faults, InjectedFault, KeyType, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use tempfile::tempdir;
use tokio::time::sleep;

#[derive(Serialize, Deserialize)]
struct Key {
    id: String,
}

#[derive(Serialize, Deserialize)]
struct Arrival {
    more: u64,
}

const INCREMENTS: usize = 5;

fn error(status: u16, code: &'static str, applied: bool) -> InjectedFault {
    InjectedFault::Error {
        status,
        code: code.into(),
        message: "".into(),
        applied,
    }
}

fn stopped() -> InjectedFault {
    error(400, "ResourceNotFoundException", false)
}

fn stock() -> (Simulator, Table) {
    let simulator = Simulator::new(5);
    let table = simulator.table("stock", TableOptions::key("id", KeyType::S));
    (simulator, table)
}

fn updates(simulator: &Simulator) -> Delivery<DynamoWrites, Values<(Key, Arrival)>> {
    Delivery::to_dynamo(simulator.dynamo_client(), "stock")
        .update::<Key, Arrival>("ADD pieces :more")
        .options(DeliveryOptions::default().concurrency(1))
}

async fn spooled(simulator: &Simulator, folder: &Path) -> Spool<(Key, Arrival)> {
    let updates = updates(simulator);
    updates.spooled(SpoolOptions::at(folder)).await.unwrap()
}

async fn enqueue(spool: &Spool<(Key, Arrival)>) {
    for _ in 0..INCREMENTS {
        let arrival = (Key { id: "a".to_owned() }, Arrival { more: 1 });
        spool.enqueue(&arrival).await.unwrap();
    }
}

fn counted(table: &Table) -> String {
    table.items()[0]["pieces"]["N"].as_str().unwrap().to_owned()
}

/// Each answer is lost, by a connection or an error, and then the delivery stops. It goes on, or the spool is closed and opened again.
#[tokio::test(start_paused = true)]
async fn an_increment_of_a_spool_counts_once_whatever_delivers_it() {
    for lost in [
        InjectedFault::Dropped { applied: true },
        InjectedFault::Dropped { applied: false },
        error(500, "InternalServerError", true),
    ] {
        for closes in [false, true] {
            let (simulator, table) = stock();
            let folder = tempdir().unwrap();
            table.script((0..INCREMENTS).flat_map(|_| [lost.clone(), stopped(), stopped()]));
            let mut spool = spooled(&simulator, folder.path()).await;
            enqueue(&spool).await;
            sleep(Duration::from_secs(3)).await;
            if closes {
                spool.close().await.unwrap();
                spool = spooled(&simulator, folder.path()).await;
            }
            spool.flush().await.unwrap();
            assert_eq!(counted(&table), INCREMENTS.to_string(), "{lost:?}, closes: {closes}");
            let report = spool.close().await.unwrap();
            assert_eq!((report.left, report.refused), (0, 0));
        }
    }
}

/// A process that is killed leaves the file as it is.
#[tokio::test(start_paused = true)]
async fn an_increment_that_was_applied_before_a_kill_counts_once() {
    let (simulator, table) = stock();
    let (folder, killed) = (tempdir().unwrap(), tempdir().unwrap());
    table.script([InjectedFault::Dropped { applied: true }, stopped()]);
    let spool = spooled(&simulator, folder.path()).await;
    enqueue(&spool).await;
    copy_of_a_kill(folder.path(), killed.path());
    spool.flush().await.unwrap();
    assert_eq!(counted(&table), INCREMENTS.to_string());
    let again = spooled(&simulator, killed.path()).await;
    again.flush().await.unwrap();
    assert_eq!(again.close().await.unwrap().report.delivered, INCREMENTS as u64);
    assert_eq!(counted(&table), INCREMENTS.to_string());
}

/// A process that is killed while several calls have no answer.
#[tokio::test(start_paused = true)]
async fn each_increment_in_doubt_is_known_on_disk_within_two_seconds() {
    let (simulator, table) = stock();
    let (folder, killed) = (tempdir().unwrap(), tempdir().unwrap());
    let updates = updates(&simulator).options(DeliveryOptions::default().concurrency(3));
    // Nothing else than the doubts wakes what writes then.
    let options = SpoolOptions::at(folder.path()).sync(SyncPolicy::EachGroup);
    let spool = updates.spooled(options).await.unwrap();
    enqueue(&spool).await;
    spool.flush().await.unwrap();
    table.set_faults(Faults::none().calls(1.0, InjectedFault::Hung { applied: true }));
    for id in ["b", "c"] {
        let arrival = (Key { id: id.to_owned() }, Arrival { more: 1 });
        spool.enqueue(&arrival).await.unwrap();
        sleep(Duration::from_secs(3)).await;
    }
    copy_of_a_kill(folder.path(), killed.path());
    age_doubts(killed.path(), 2);
    table.set_faults(Faults::none());
    let again = spooled(&simulator, killed.path()).await;
    again.flush().await.unwrap();
    let report = again.close().await.unwrap();
    assert_eq!((report.report.delivered, report.refused), (0, 2));
}

/// After nine minutes another request might count twice: it is kept apart with the doubt, also by the next process.
#[tokio::test(start_paused = true)]
async fn an_increment_in_doubt_for_too_long_is_kept_apart_and_all_others_count() {
    for closes in [false, true] {
        let (simulator, table) = stock();
        let folder = tempdir().unwrap();
        table.script(
            [InjectedFault::Dropped { applied: false }]
                .into_iter()
                .chain((0..14).map(|_| stopped())),
        );
        let mut spool = spooled(&simulator, folder.path()).await;
        enqueue(&spool).await;
        sleep(Duration::from_mins(5)).await;
        if closes {
            spool.close().await.unwrap();
            // The clock of the system does not go on with that of the test: the time of the doubt is on disk.
            age_doubts(folder.path(), 1);
            spool = spooled(&simulator, folder.path()).await;
        }
        spool.flush().await.unwrap();
        let report = spool.close().await.unwrap();
        assert_eq!((report.left, report.refused), (0, 1), "closes: {closes}");
        assert_eq!(counted(&table), (INCREMENTS - 1).to_string());
        let refused = SpoolFolder::open(folder.path()).unwrap().refused(10).unwrap();
        let cause = refused[0].cause.as_deref().unwrap();
        assert!(
            cause.contains("token expired") && cause.ends_with("; it may have been delivered"),
            "{cause}"
        );
    }
}

/// Nothing can tell whether it was applied, and the program knows what is worse: that it counts twice, or not at all.
#[tokio::test(start_paused = true)]
async fn the_program_decides_what_becomes_of_an_increment_in_doubt_for_too_long() {
    let lost = || {
        let (simulator, table) = stock();
        // It is applied, and no answer says so for ten minutes.
        let faults = std::iter::once(InjectedFault::Dropped { applied: true });
        table.script(faults.chain((0..14).map(|_| stopped())));
        (simulator, table)
    };
    // A handler has it, with the doubt.
    let ((simulator, table), folder) = (lost(), tempdir().unwrap());
    let taken = Arc::new(Mutex::new(Vec::new()));
    let handler_takes = Arc::clone(&taken);
    let delivery = updates(&simulator).on_undelivered(move |undelivered| {
        let doubt = undelivered.may_have_been_delivered;
        handler_takes.lock().unwrap().push((undelivered.entry.1.more, doubt));
        async {}
    });
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    enqueue(&spool).await;
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.left, report.refused, report.report.undelivered), (0, 0, 1));
    assert_eq!(*taken.lock().unwrap(), [(1, true)]);
    assert_eq!(counted(&table), INCREMENTS.to_string());

    // One that may count twice is sent until it is answered.
    let ((simulator, table), folder) = (lost(), tempdir().unwrap());
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "stock")
        .item_writes()
        .try_map_entries(|(key, arrival): &(Key, Arrival)| {
            let update = ItemWrite::update(
                [("id".to_owned(), AttributeValue::S(key.id.clone()))].into(),
                "ADD pieces :more",
            );
            let more = AttributeValue::N(arrival.more.to_string());
            Ok::<_, Infallible>(update.value(":more", more).idempotent())
        })
        .options(DeliveryOptions::default().concurrency(1));
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    enqueue(&spool).await;
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.left, report.refused, report.report.undelivered), (0, 0, 0));
    assert_eq!(counted(&table), (INCREMENTS + 1).to_string());
}

/// Single calls test whether it is over, all with the same entry, as long as its token is known.
#[tokio::test(start_paused = true)]
async fn an_outage_of_hours_leaves_one_increment_in_doubt_for_each_nine_minutes() {
    const HOURS: u64 = 6;
    let (simulator, table) = stock();
    let folder = tempdir().unwrap();
    table.set_faults(Faults::none().calls(1.0, error(500, "InternalServerError", false)));
    let spool = spooled(&simulator, folder.path()).await;
    for _ in 0..20 {
        enqueue(&spool).await;
    }
    sleep(Duration::from_hours(HOURS)).await;
    table.set_faults(Faults::none());
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert!((1..=1 + HOURS * 60 / 9).contains(&report.refused), "{report}");
    assert_eq!((report.left, report.report.delivered), (0, 100 - report.refused));
    assert_eq!(counted(&table), report.report.delivered.to_string());
}

/// What a process leaves that is killed now.
fn copy_of_a_kill(folder: &Path, killed: &Path) {
    for file in ["spool.sqlite3", "spool.sqlite3-wal"] {
        std::fs::copy(folder.join(file), killed.join(file)).unwrap();
    }
}

/// As ten minutes later. There are so many.
fn age_doubts(folder: &Path, doubts: usize) {
    let file = rusqlite::Connection::open(folder.join("spool.sqlite3")).unwrap();
    let aged = file.execute("UPDATE doubts SET since = since - 600000", []);
    assert_eq!(aged.unwrap(), doubts);
}
