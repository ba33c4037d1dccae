//! Entries that make code of the program panic.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_batch_delivery::spool::{Spool, SpoolError, SpoolFolder, SpoolOptions, SpooledEntry};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, InvalidEntry};
use serde::{Deserialize, Deserializer, Serialize};
use tempfile::{TempDir, tempdir};

use crate::numbers::{accept, numbers, sent};
use crate::options::one_at_a_time;

/// The entry that no code can take.
const BAD: usize = 13;

/// Hands over some numbers, of which one makes the program panic, and returns what is kept of it.
async fn kept<V: Serialize + for<'a> Deserialize<'a> + Send + Sync + 'static>(
    spool: Spool<V>,
    folder: &TempDir,
    value: impl Fn(usize) -> V,
) -> SpooledEntry {
    for number in 0..20 {
        spool.enqueue(&value(number)).await.unwrap();
    }
    spool.flush().await.unwrap();
    let report = spool.close_within(Duration::from_mins(1)).await.unwrap();
    assert_eq!((report.report.delivered, report.report.undelivered), (19, 1));
    assert_eq!((report.left, report.refused), (0, 1));
    let opened = SpoolFolder::open(folder.path()).unwrap();
    let entry = opened.refused(10).unwrap().remove(0);
    assert_eq!((entry.number, &*entry.json), (BAD as u64, &b"13"[..]));
    entry
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_conversion_holds_nothing_up() {
    let folder = tempdir().unwrap();
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target)
        .options(one_at_a_time())
        .map_entries(|number: &usize| {
            assert_ne!(*number, BAD, "secret");
            *number
        });
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    let cause = kept(spool, &folder, |number| number).await.cause.unwrap();
    assert!(cause.contains("panicked") && !cause.contains("secret"), "{cause}");
    let mut sent = sent(&calls);
    sent.sort_unstable();
    assert_eq!(sent, (0..20).filter(|number| *number != BAD).collect::<Vec<_>>());
}

/// Panics at one entry, as often as this says.
struct Panics(Arc<Mutex<u32>>);

impl BatchTarget for Panics {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(10, 1_000)
    }

    fn check(&self, number: &usize) -> Result<usize, InvalidEntry> {
        if *number == BAD {
            let left = *self.0.lock().unwrap();
            *self.0.lock().unwrap() = left.saturating_sub(1);
            assert_eq!(left, 0, "secret");
        }
        Ok(8)
    }

    async fn send(&self, numbers: &[usize]) -> Answer {
        Answer::Each(vec![Verdict::Accepted; numbers.len()])
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_target_holds_nothing_up() {
    let folder = tempdir().unwrap();
    let target = Panics(Arc::new(Mutex::new(u32::MAX)));
    let delivery = Delivery::new(target).options(one_at_a_time());
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    let cause = kept(spool, &folder, |number| number).await.cause.unwrap();
    assert!(cause.contains("panicked") && !cause.contains("secret"), "{cause}");
}

#[tokio::test(start_paused = true)]
async fn an_entry_at_which_the_target_panics_once_is_delivered() {
    let folder = tempdir().unwrap();
    let target = Panics(Arc::new(Mutex::new(1)));
    let delivery = Delivery::new(target).options(one_at_a_time());
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    spool.enqueue(&BAD).await.unwrap();
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.refused, report.left), (1, 0, 0));
}

/// A number that cannot be read again.
#[derive(Serialize)]
#[serde(transparent)]
struct Unreadable(usize);

impl<'de> Deserialize<'de> for Unreadable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = usize::deserialize(deserializer)?;
        assert_ne!(number, BAD, "secret");
        Ok(Self(number))
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_deserialization_holds_nothing_up() {
    let folder = tempdir().unwrap();
    let (target, _) = numbers(|_, _| Answer::Stop(Fault::new("no such queue")));
    let earlier = crate::numbers::spooled(target, one_at_a_time(), folder.path()).await;
    for number in 0..20 {
        earlier.enqueue(&number).await.unwrap();
    }
    earlier.close().await.unwrap();
    let (target, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(target).map_entries(|number: &Unreadable| number.0);
    let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
    // A new one is not taken.
    let error = spool.enqueue(&Unreadable(BAD)).await.unwrap_err();
    assert!(matches!(error, SpoolError::Unreadable { .. }), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    spool.flush().await.unwrap();
    assert_eq!(spool.close().await.unwrap().refused, 1);
    assert_eq!(sent(&calls).len(), 19);
    let opened = SpoolFolder::open(folder.path()).unwrap();
    let cause = opened.refused(10).unwrap().remove(0).cause.unwrap();
    assert!(cause.contains("Unreadable") && cause.contains("panicked"), "{cause}");
    assert!(!cause.contains("secret"), "{cause}");
}
