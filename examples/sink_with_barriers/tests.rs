use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use aws_batch_simulator::{Action, Faults, InjectedFault, Latency, Table};
use serde_json::json;
use tokio::time::Instant;

use super::*;

/// The rows of an epoch.
const ROWS: u64 = 25;

/// A row of the source: the next version of a key, or its deletion.
#[derive(Debug, Clone, Copy)]
struct Row {
    key: u64,
    is_deletion: bool,
}

/// The row with this version, from a fixed sequence: few keys are hot, and some rows are deletions.
fn row(version: u64) -> Row {
    let random = version.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let key = if random.is_multiple_of(3) {
        random % 5
    } else {
        random % 400
    };
    Row {
        key,
        is_deletion: random.is_multiple_of(11),
    }
}

fn id(key: u64) -> String {
    format!("key-{key}")
}

fn write(version: u64) -> WriteRequest {
    let row = row(version);
    if row.is_deletion {
        let delete = aws_sdk_dynamodb::types::DeleteRequest::builder().key("id", AttributeValue::S(id(row.key)));
        return WriteRequest::builder().delete_request(delete.build().unwrap()).build();
    }
    change(&id(row.key), version)
}

/// The version of a key in the table.
fn version_of(table: &Table, key: u64) -> Option<u64> {
    let item = table.item(&json!({"id": {"S": id(key)}}))?;
    Some(item["version"]["N"].as_str().unwrap().parse().unwrap())
}

/// A table behind a round trip, which throttles, leaves entries unprocessed and loses answers.
fn unreliable(simulator: &Simulator) -> Table {
    simulator.set_latency(Latency::fixed(Duration::from_millis(8)));
    let options = TableOptions::key("id", KeyType::S).capacity(Capacity::per_second(1_500.0).burst(100.0));
    let table = simulator.table("rows", options);
    table.keep_journal();
    table.set_faults(
        Faults::none()
            .unprocessed(0.05)
            .calls(0.02, InjectedFault::Dropped { applied: true })
            .calls(0.02, InjectedFault::Dropped { applied: false })
            .calls(0.02, InjectedFault::internal_error(true)),
    );
    table
}

/// What a source is asked for, and what was committed.
#[derive(Default)]
struct Engine {
    /// The version of the last row that was read by the current run.
    read: Cell<u64>,
    committed: Cell<u64>,
}

impl Engine {
    /// The events behind the last epoch that was committed. Versions begin with 1.
    fn events(&self, epochs: u64) -> impl Stream<Item = Event> + '_ {
        let versions = self.committed.get() * ROWS + 1..=epochs * ROWS;
        let events = versions.flat_map(|version| {
            let barrier = version.is_multiple_of(ROWS).then(|| Event::Barrier(version / ROWS));
            [Some(Event::Row(write(version))), barrier].into_iter().flatten()
        });
        stream::iter(events).inspect(|event| {
            if let Event::Row(_) = event {
                self.read.set(self.read.get() + 1);
            }
        })
    }
}

fn rows(simulator: &Simulator) -> Delivery<DynamoTable> {
    Delivery::to_dynamo(simulator.dynamo_client(), "rows")
}

/// 100 kills at random moments: nothing is lost, and no row passes a later one of its key.
#[tokio::test(start_paused = true)]
async fn a_sink_that_is_killed_a_hundred_times_loses_nothing_and_reorders_nothing() {
    const KILLS: u64 = 100;
    const EPOCHS: u64 = 480;
    let simulator = Simulator::new(7);
    let table = unreliable(&simulator);
    let engine = Engine::default();
    // When each run began, and behind which version.
    let mut begun = Vec::new();
    for run in 0..=KILLS {
        let first = engine.committed.get() * ROWS;
        begun.push((Instant::now(), first));
        engine.read.set(first);
        let commit = |epoch: u64| {
            // What is committed is in the table, unless a later row has replaced it.
            for version in (epoch - 1) * ROWS + 1..=epoch * ROWS {
                let Row { key, is_deletion } = row(version);
                let there = version_of(&table, key);
                let is_deleted_later = |later| row(later).key == key && row(later).is_deletion;
                let holds = match there {
                    Some(there) => there > version || (there == version && !is_deletion),
                    None => is_deletion || (version + 1..=engine.read.get()).any(is_deleted_later),
                };
                assert!(holds, "{} has {there:?} after version {version}", id(key));
            }
            assert_eq!(
                epoch,
                engine.committed.get() + 1,
                "epochs are committed one after another"
            );
            engine.committed.set(epoch);
        };
        let sink = run_sink(
            rows(&simulator),
            DeliveryOptions::default(),
            engine.events(EPOCHS),
            commit,
        );
        if run < KILLS {
            let time = Duration::from_millis(1 + run * 7_919 % 193);
            assert!(
                timeout(time, sink).await.is_err(),
                "run {run} has ended before it was killed"
            );
        } else {
            sink.await.unwrap();
        }
    }
    assert_eq!(engine.committed.get(), EPOCHS);

    // Nothing is lost: each key is as its last row leaves it.
    let mut last = HashMap::new();
    for version in 1..=EPOCHS * ROWS {
        last.insert(row(version).key, version);
    }
    for (key, version) in last {
        let expected = (!row(version).is_deletion).then_some(version);
        assert_eq!(version_of(&table, key), expected, "{}", id(key));
    }

    // Nothing is reordered: the versions of a key rise within each run, and no run writes what was committed before it.
    let mut written = HashMap::<(usize, String), u64>::new();
    let applied = table
        .journal()
        .into_iter()
        .filter(|record| record.acknowledgement().is_applied() && record.action == Action::Put);
    let mut applied_count = 0;
    for record in applied {
        applied_count += 1;
        let run = begun.iter().rposition(|(at, _)| *at <= record.at).unwrap();
        let version: u64 = record.entry()["version"]["N"].as_str().unwrap().parse().unwrap();
        assert!(
            version > begun[run].1,
            "run {run} writes version {version}, which was committed before"
        );
        let before = written.insert((run, record.key.to_string()), version);
        assert!(
            before.is_none_or(|before| before <= version),
            "{before:?} before {version}"
        );
    }
    assert!(applied_count > EPOCHS * ROWS * 8 / 10, "{applied_count}");
}

/// While the table accepts nothing, only what a few calls carry is read.
#[tokio::test(start_paused = true)]
async fn a_sink_reads_no_further_than_the_table_accepts() {
    let simulator = Simulator::new(7);
    let table = simulator.table("rows", TableOptions::key("id", KeyType::S));
    table.reject_while(|_| true);
    let engine = Engine::default();
    let options = DeliveryOptions::default().read_ahead(200);
    let sink = run_sink(rows(&simulator), options, engine.events(1_000), |_| {
        panic!("nothing is written")
    });
    assert!(timeout(Duration::from_mins(1), sink).await.is_err());
    assert!(
        engine.read.get() <= 16 * 25 + 200,
        "{} rows were read",
        engine.read.get()
    );
}

/// The rows behind a barrier are sent while those before it have no answer.
#[tokio::test(start_paused = true)]
async fn steps_overlap() {
    let simulator = Simulator::new(7);
    simulator.set_latency(Latency::fixed(Duration::from_secs(1)));
    simulator.table("rows", TableOptions::key("id", KeyType::S));
    let of_epoch = |epoch: u64| {
        let rows = (0..ROWS).map(move |row| Event::Row(change(&id(epoch * ROWS + row), epoch)));
        rows.chain([Event::Barrier(epoch)])
    };
    let committed = Cell::new(0);
    let started = Instant::now();
    let events = stream::iter((1..=40).flat_map(of_epoch));
    let sink = run_sink(rows(&simulator), DeliveryOptions::default(), events, |epoch| {
        committed.set(epoch);
    });
    sink.await.unwrap();
    assert_eq!(committed.get(), 40);
    // One after another they would take 40 s.
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

/// A refused row ends the sink: what is behind it is not committed, and what is before it is.
#[tokio::test(start_paused = true)]
async fn no_epoch_behind_a_refused_row_is_committed() {
    let simulator = Simulator::new(7);
    let table = simulator.table("rows", TableOptions::key("id", KeyType::S));
    let bad = (10 * ROWS - 3).to_string();
    table.poison(move |entry| entry["version"]["N"] == bad.as_str());
    let engine = Engine::default();
    let commit = |epoch| engine.committed.set(epoch);
    let sink = run_sink(rows(&simulator), DeliveryOptions::default(), engine.events(100), commit);
    let error = sink.await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(engine.committed.get() <= 9, "{}", engine.committed.get());
}

/// An epoch without rows is committed without a call.
#[tokio::test(start_paused = true)]
async fn epochs_without_rows_are_committed() {
    let simulator = Simulator::new(7);
    let table = simulator.table("rows", TableOptions::key("id", KeyType::S));
    let committed = RefCell::new(Vec::new());
    let events = [
        Event::Barrier(1),
        Event::Row(write(1)),
        Event::Barrier(2),
        Event::Barrier(3),
    ];
    let commit = |epoch| committed.borrow_mut().push(epoch);
    run_sink(
        rows(&simulator),
        DeliveryOptions::default(),
        stream::iter(events),
        commit,
    )
    .await
    .unwrap();
    assert_eq!(committed.into_inner(), [1, 3]);
    assert_eq!(table.statistics().calls, 1);
}
