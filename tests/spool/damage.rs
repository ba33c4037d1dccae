//! A device that changes or loses some of what is on it.

use std::collections::BTreeSet;
use std::env;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::spool::{Salvaged, Spool, SpoolError, SpoolFolder, SpoolOptions, SyncPolicy};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use proptest::collection::vec;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tempfile::tempdir;
use tokio::sync::watch;

use crate::cases::cases;
use crate::changed;
use crate::corpus::corpus;

/// How often something is damaged, unless `SPOOL_DAMAGES` says otherwise.
const DAMAGES: u64 = 16;

const ENTRIES: usize = 3_000;

/// Entries of one page, and those that may have a part in it.
const LOST: usize = 140;

const PAGE: u64 = 4_096;

/// Takes texts once it may.
struct Texts {
    may: watch::Receiver<bool>,
    sent: Arc<Mutex<Vec<String>>>,
}

impl BatchTarget for Texts {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(25, 1 << 20)
    }

    fn check(&self, text: &String) -> Result<usize, InvalidEntry> {
        Ok(text.len())
    }

    async fn send(&self, texts: &[String]) -> Answer {
        if self.may.clone().wait_for(|may| *may).await.is_err() {
            return Answer::Stop(Fault::new("gone"));
        }
        self.sent.lock().unwrap().extend_from_slice(texts);
        Answer::Whole(Verdict::Accepted)
    }
}

/// What is sent in which order, and what lets it.
struct Started {
    spool: Spool<String>,
    may: watch::Sender<bool>,
    sent: Arc<Mutex<Vec<String>>>,
}

async fn start(folder: &Path) -> Result<Started, SpoolError> {
    let (may, receiver) = watch::channel(false);
    let sent = Arc::default();
    let target = Texts {
        may: receiver,
        sent: Arc::clone(&sent),
    };
    // One call at a time, so that the order of what is sent is that of the entries.
    let options = DeliveryOptions::default()
        .concurrency(1)
        .attempt_timeout(Duration::from_hours(10));
    let options_of_spool = SpoolOptions::at(folder).sync(SyncPolicy::Never).window(500);
    let spool = Delivery::new(target).options(options).spooled(options_of_spool).await?;
    Ok(Started { spool, may, sent })
}

/// Most are short, and some take several pages.
fn text(number: usize) -> String {
    let length = if number.is_multiple_of(97) {
        9_000
    } else {
        10 + number % 90
    };
    format!("{number} {}", "x".repeat(length))
}

fn number(text: &str) -> usize {
    let number = text.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(text, self::text(number));
    number
}

/// Changes up to 16 bits, or a page.
fn damage(file: &Path, random: &mut SmallRng) -> String {
    let mut file = File::options().read(true).write(true).open(file).unwrap();
    let length = file.metadata().unwrap().len();
    let mut write = |at: u64, bytes: &[u8]| {
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(bytes).unwrap();
    };
    if random.random_bool(0.3) {
        let at = random.random_range(0..length / PAGE) * PAGE;
        let page: Vec<u8> = match random.random_range(0..3) {
            0 => vec![0; 4_096],
            1 => (0..4_096).map(|_| random.random()).collect(),
            // Half of it was not written.
            _ => vec![0xff; 2_048],
        };
        write(at, &page);
        return format!("the page at {at}");
    }
    let bits = random.random_range(1..=16);
    let first = random.random_range(0..length);
    // Beside each other, or anywhere.
    let is_near = random.random_bool(0.5);
    for _ in 0..bits {
        let at = if is_near {
            (first + random.random_range(0..16)).min(length - 1)
        } else {
            random.random_range(0..length)
        };
        let mut byte = [0];
        file.seek(SeekFrom::Start(at)).unwrap();
        file.read_exact(&mut byte).unwrap();
        byte[0] ^= 1 << random.random_range(0..8);
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(&byte).unwrap();
    }
    format!("{bits} bits around {first}, near each other: {is_near}")
}

/// What is delivered in spite of the damage, whether it was noticed, and what could be taken out then.
async fn run(seed: u64, is_open: bool) -> bool {
    let mut random = SmallRng::seed_from_u64(seed);
    let temporary = tempdir().unwrap();
    let folder = temporary.path().join("spool");
    let mut started = start(&folder).await.unwrap();
    for number in 0..ENTRIES {
        started.spool.enqueue(&text(number)).await.unwrap();
    }
    if !is_open {
        started.spool.close().await.unwrap();
    }
    let name = if is_open && random.random_bool(0.5) {
        "spool.sqlite3-wal"
    } else {
        "spool.sqlite3"
    };
    let what = format!(
        "seed {seed}, open: {is_open}, {name}: {}",
        damage(&folder.join(name), &mut random)
    );
    if !is_open {
        match start(&folder).await {
            Ok(again) => started = again,
            Err(error) => {
                assert!(!matches!(error, SpoolError::InUse { .. }), "{what}: {error}");
                let (kept, _) = salvaged(&folder, &what);
                is_whole(&[], &kept, &what);
                return true;
            }
        }
    }
    started.may.send_replace(true);
    let flushed = tokio::time::timeout(Duration::from_hours(1), started.spool.flush()).await;
    let flushed = flushed.unwrap_or_else(|_| panic!("{what}: a flush does not end"));
    // The last answer.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let sent: Vec<_> = started.sent.lock().unwrap().iter().map(|text| number(text)).collect();
    assert_eq!(sent, (0..sent.len()).collect::<Vec<_>>(), "{what}");
    let Err(error) = flushed else {
        assert_eq!(sent.len(), ENTRIES, "{what}");
        let _ = started.spool.close().await;
        return false;
    };
    assert!(matches!(error, SpoolError::Damaged { .. }), "{what}: {error}");
    let words = error.to_string();
    assert!(words.contains("--salvage") && !words.contains("xxx"), "{words}");
    let later = started.spool.enqueue(&text(ENTRIES)).await;
    assert!(matches!(later, Err(SpoolError::Damaged { .. })), "{what}: {later:?}");
    assert!(started.spool.close().await.is_err(), "{what}");
    let (kept, report) = salvaged(&folder, &what);
    is_whole(&sent, &kept, &what);
    if !report.may_have_been_delivered {
        let twice = kept.iter().filter(|number| **number < sent.len()).count();
        assert!(twice <= 500, "{what}: {twice} twice");
    }
    true
}

/// What can be taken out, as it was handed over and in its order. The next spool is empty.
fn salvaged(folder: &Path, what: &str) -> (Vec<usize>, Salvaged) {
    let mut kept = Vec::new();
    let report = SpoolFolder::salvage(folder, |entries| {
        for entry in entries {
            let text: String = serde_json::from_slice(&entry.json).unwrap();
            assert_eq!(number(&text) as u64, entry.number);
            kept.push(number(&text));
        }
        Ok::<_, SpoolError>(())
    });
    let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(kept.is_sorted_by(|one, other| one < other), "{what}");
    assert_eq!(report.entries, kept.len() as u64);
    assert!(
        report.aside.exists() && !folder.join("spool.sqlite3").exists(),
        "{what}"
    );
    (kept, report)
}

/// What was neither delivered nor taken out is no more than a page had.
fn is_whole(sent: &[usize], kept: &[usize], what: &str) {
    let all: BTreeSet<_> = sent.iter().chain(kept).collect();
    assert!(all.len() + LOST >= ENTRIES, "{what}: {} of {ENTRIES}", all.len());
}

#[tokio::test(start_paused = true)]
async fn what_a_device_has_damaged_is_noticed_and_nothing_is_skipped_or_overtaken() {
    let damages = env::var("SPOOL_DAMAGES").map_or(DAMAGES, |damages| damages.parse().unwrap());
    let mut noticed = 0;
    for seed in 0..damages {
        noticed += u64::from(run(seed, seed % 2 == 1).await);
    }
    println!("{damages} damages, {noticed} noticed");
    assert!(noticed > damages / 4, "{noticed} of {damages}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(100)))]

    #[test]
    fn what_is_read_of_any_changed_file_is_what_was_written(data in vec(any::<u8>(), 0..40)) {
        changed::of_bytes(&data);
    }
}

#[test]
fn what_fuzzing_has_kept_of_changed_files_holds() {
    for (name, data) in corpus("spools") {
        println!("{name}");
        changed::of_bytes(&data);
    }
}
