//! Devices that lose their power or fail: what was not synced may be there, missing, or there in part.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use aws_batch_simulator::{Faults, InjectedFault};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tempfile::{TempDir, tempdir};

use crate::child::{GROUPS, Numbered, Running, Sync, Task};
use crate::served::Served;

/// How often the power is lost, unless `SPOOL_LOSSES` says otherwise.
const LOSSES: u64 = 4;

const WINDOW: usize = 200;

/// What a device writes as a whole.
const SECTOR: usize = 512;

/// A device, whose syncs are seen.
struct Device {
    temporary: TempDir,
}

impl Device {
    fn new() -> Self {
        let temporary = tempdir().unwrap();
        for folder in ["spool", "synced"] {
            fs::create_dir(temporary.path().join(folder)).unwrap();
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/spool/device.c");
        let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let built = Command::new(compiler)
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(temporary.path().join("device.so"))
            .arg(source)
            .args(["-ldl", "-lpthread"])
            .status();
        assert!(built.unwrap().success());
        Self { temporary }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temporary.path().join(name)
    }

    fn start(&self, task: &Task) -> Running {
        let mut command = Command::new(env::current_exe().unwrap());
        command
            .env("LD_PRELOAD", self.path("device.so"))
            .env("DEVICE_FOLDER", &task.folder)
            .env("DEVICE_SYNCED", self.path("synced"))
            .env("DEVICE_FAILS", self.path("fails"));
        Running::start_by(command, task)
    }

    /// What the files have after a loss of power: all that was synced, and some sectors of what was written since.
    fn lose_power(&self, random: &mut SmallRng) {
        for name in ["spool.sqlite3", "spool.sqlite3-wal"] {
            let path = self.path("spool").join(name);
            let Ok(written) = fs::read(&path) else { continue };
            let mut left = fs::read(self.path("synced").join(name)).unwrap_or_default();
            let keeps = [0.0, 0.5, 0.95, 1.0][random.random_range(0..4)];
            let length = if random.random_bool(keeps) {
                written.len()
            } else {
                left.len()
            };
            let before = left.len();
            left.resize(length.max(before), 0);
            for (place, sector) in written.chunks(SECTOR).enumerate() {
                let at = place * SECTOR;
                if at + sector.len() <= left.len() && random.random_bool(keeps) {
                    left[at..at + sector.len()].copy_from_slice(sector);
                }
            }
            fs::write(&path, &left).unwrap();
            fs::write(self.path("synced").join(name), &left).unwrap();
        }
        let _ = fs::remove_file(self.path("spool").join("spool.sqlite3-shm"));
    }
}

fn task(device: &Device, served: &Served) -> Task {
    Task {
        folder: device.path("spool"),
        endpoint: served.endpoint.clone(),
        queue_url: served.queue.url(),
        sync: Sync::EachGroup,
        window: WINDOW,
        max_bytes: 64 << 20,
        padding: 20,
        first: None,
    }
}

#[test]
fn what_is_acknowledged_is_delivered_however_often_the_power_is_lost() {
    let losses = env::var("SPOOL_LOSSES").map_or(LOSSES, |losses| losses.parse().unwrap());
    let faults = Faults::none().calls(0.03, InjectedFault::Dropped { applied: true });
    let served = Served::start(1_500.0, faults);
    let device = Device::new();
    let mut task = task(&device, &served);
    let mut random = SmallRng::seed_from_u64(20_261_128);
    let (mut acknowledged, mut all_acknowledged) = (BTreeSet::new(), 0);
    for loss in 0..losses {
        // What may be lost is asked of the entries that are synced each.
        task.sync = if loss % 3 == 2 {
            Sync::Every10Ms
        } else {
            Sync::EachGroup
        };
        task.first = Some(loss * 1_000_000);
        let mut running = device.start(&task);
        let mut of_process = Vec::new();
        if random.random_bool(0.9) {
            running.next("begins").unwrap();
            for _ in 0..random.random_range(0..400) {
                of_process.push(running.next("spooled").unwrap());
            }
        }
        of_process.extend(running.kill("spooled"));
        let numbers: Vec<u64> = of_process.iter().filter_map(|number| number.parse().ok()).collect();
        all_acknowledged += numbers.len();
        if matches!(task.sync, Sync::EachGroup) {
            acknowledged.extend(numbers);
        }
        device.lose_power(&mut random);
    }
    task.first = None;
    let mut running = device.start(&task);
    assert_eq!(running.next("left").as_deref(), Some("0"));
    running.wait();
    let mut arrived = BTreeMap::<u64, Vec<u64>>::new();
    for message in served.queue.messages() {
        let message: Numbered = serde_json::from_str(&message.body).unwrap();
        arrived.entry(message.group).or_default().push(message.number);
    }
    let all: BTreeSet<u64> = arrived.values().flatten().copied().collect();
    let lost: Vec<_> = acknowledged.difference(&all).collect();
    assert!(lost.is_empty(), "of {} were lost: {lost:?}", acknowledged.len());
    let messages: usize = arrived.values().map(Vec::len).sum();
    let twice = (messages - all.len()) as u64;
    assert!(twice <= losses * WINDOW as u64, "{twice} twice after {losses} losses");
    for (group, numbers) in &arrived {
        let again = numbers.windows(2).filter(|pair| pair[0] >= pair[1]).count() as u64;
        assert!(again <= losses, "group {group} went back {again} times");
    }
    println!("{losses} losses of power: {all_acknowledged} acknowledged, {messages} arrived, {twice} of them twice");
}

#[test]
fn a_device_that_does_not_sync_acknowledges_no_more_than_those_of_one_interval() {
    let served = Served::start(1e6, Faults::none());
    let device = Device::new();
    for sync in [Sync::Every10Ms, Sync::EachGroup] {
        let mut task = task(&device, &served);
        (task.sync, task.first) = (sync, Some(0));
        let mut running = device.start(&task);
        for _ in 0..50 {
            running.next("spooled").unwrap();
        }
        fs::write(device.path("fails"), "").unwrap();
        while !running.next("").unwrap().starts_with("failed") {}
        // From the first failure on each entry fails. Other tasks may say only then that one was taken before.
        let later: Vec<_> = (0..50).map(|_| running.next("").unwrap()).collect();
        let taken = later.iter().filter(|line| line.starts_with("spooled")).count() as u64;
        assert!(taken < GROUPS, "{sync:?}: {later:?}");
        fs::remove_file(device.path("fails")).unwrap();
        running.next("spooled").unwrap();
        running.kill("spooled");
        fs::remove_dir_all(device.path("spool")).unwrap();
        fs::create_dir(device.path("spool")).unwrap();
    }
}
