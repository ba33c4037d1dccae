//! Processes that are killed at random moments, and what is delivered in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::{env, fs};

use aws_batch_simulator::{Faults, InjectedFault};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tempfile::tempdir;

use crate::child::{Numbered, Running, Sync, Task};
use crate::served::Served;

/// How often the process is killed, unless `SPOOL_KILLS` says otherwise.
const KILLS: u64 = 6;

const WINDOW: usize = 200;

/// The most entries of one process that are waited for before it is killed.
const ENTRIES: u64 = 400;

/// The first number of the next process is so much larger.
const STEP: u64 = 1_000_000;

/// What arrived, in the order of each group.
fn arrived(served: &Served) -> BTreeMap<u64, Vec<u64>> {
    let mut arrived = BTreeMap::<_, Vec<_>>::new();
    for message in served.queue.messages() {
        let message: Numbered = serde_json::from_str(&message.body).unwrap();
        arrived.entry(message.group).or_default().push(message.number);
    }
    arrived
}

#[test]
fn what_is_acknowledged_is_delivered_in_order_however_often_the_process_is_killed() {
    let kills = env::var("SPOOL_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let faults = Faults::none()
        .unprocessed(0.05)
        .calls(0.03, InjectedFault::Throttle)
        .calls(0.02, InjectedFault::internal_error(false))
        .calls(0.03, InjectedFault::Dropped { applied: true });
    let served = Served::start(1_500.0, faults);
    let folder = tempdir().unwrap();
    let mut random = SmallRng::seed_from_u64(20_261_127);
    let mut acknowledged = BTreeSet::new();
    let mut begun_with = 0;
    let mut task = Task {
        folder: folder.path().to_owned(),
        endpoint: served.endpoint.clone(),
        queue_url: served.queue.url(),
        sync: Sync::EachGroup,
        window: WINDOW,
        max_bytes: 64 << 20,
        padding: 20,
        first: None,
    };
    for kill in 0..kills {
        task.sync = [Sync::EachGroup, Sync::Every10Ms, Sync::Never][usize::try_from(kill % 3).unwrap()];
        task.first = Some(kill * STEP);
        let mut running = Running::start(&task);
        // Some are killed while they start.
        if random.random_bool(0.9) {
            begun_with += running.next("begins").unwrap().parse::<u64>().unwrap();
            for _ in 0..random.random_range(0..ENTRIES) {
                acknowledged.insert(running.next("spooled").unwrap().parse::<u64>().unwrap());
            }
        }
        let last = running.kill("spooled");
        acknowledged.extend(last.iter().filter_map(|number| number.parse::<u64>().ok()));
        // A write that the kill has torn.
        if random.random_bool(0.5)
            && let Ok(mut log) = fs::File::options()
                .append(true)
                .open(folder.path().join("spool.sqlite3-wal"))
        {
            let garbage: Vec<u8> = (0..random.random_range(1..20_000)).map(|_| random.random()).collect();
            log.write_all(&garbage).unwrap();
        }
    }
    task.first = None;
    let mut running = Running::start(&task);
    assert_eq!(running.next("left").as_deref(), Some("0"));
    running.wait();

    let arrived = arrived(&served);
    let all: BTreeSet<u64> = arrived.values().flatten().copied().collect();
    let lost: Vec<_> = acknowledged.difference(&all).collect();
    assert!(lost.is_empty(), "of {} were lost: {lost:?}", acknowledged.len());
    let messages: usize = arrived.values().map(Vec::len).sum();
    let twice = messages as u64 - all.len() as u64;
    assert!(twice <= kills * WINDOW as u64, "{twice} twice after {kills} kills");
    for (group, numbers) in &arrived {
        let again = numbers.windows(2).filter(|pair| pair[0] >= pair[1]).count() as u64;
        assert!(again <= kills, "group {group} went back {again} times");
        // Each time that it goes back it repeats what it had sent, and leaves out nothing.
        let mut newest = 0;
        let mut known = BTreeSet::new();
        let mut before = None;
        for (place, number) in numbers.iter().enumerate() {
            let around = &numbers[place.saturating_sub(8)..numbers.len().min(place + 8)];
            if before.is_some_and(|before| before >= *number) {
                assert!(
                    known.contains(number),
                    "group {group} went back to {number}, which is new: {around:?}"
                );
            } else if let Some(before) = before.filter(|before| *before < newest) {
                let next = known.range(before + 1..).next();
                assert_eq!(next, Some(number), "group {group} went on after {before}: {around:?}");
            }
            known.insert(*number);
            newest = newest.max(*number);
            before = Some(*number);
        }
    }
    println!(
        "{kills} kills: {} acknowledged, {messages} arrived, {twice} of them twice, {begun_with} begun with",
        acknowledged.len()
    );
}
