//! A spool that is full.

use std::path::Path;
use std::time::Duration;

use aws_batch_delivery::spool::{Spool, SpoolError, SpoolOptions};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use futures::FutureExt;
use futures::future::join_all;
use tempfile::tempdir;
use tokio::sync::watch;
use tokio::time::sleep;

/// The smallest limit.
const MAX_BYTES: u64 = 4 << 20;

/// An entry of this length takes 1/40 of it.
const LENGTH: usize = 100_000;

/// Takes texts when it is open.
struct Gate(watch::Receiver<bool>);

impl BatchTarget for Gate {
    type Entry = String;

    fn limits(&self) -> Limits {
        Limits::new(10, 10 << 20)
    }

    fn check(&self, text: &String) -> Result<usize, InvalidEntry> {
        Ok(text.len())
    }

    async fn send(&self, texts: &[String]) -> Answer {
        if self.0.clone().wait_for(|is_open| *is_open).await.is_err() {
            return Answer::Stop(Fault::new("gone"));
        }
        Answer::Each(vec![Verdict::Accepted; texts.len()])
    }
}

/// A spool with the smallest limit in front of a gate, and the gate.
async fn gated(folder: &Path) -> (Spool<String>, watch::Sender<bool>) {
    gated_with(spool_in(folder, MAX_BYTES)).await
}

fn spool_in(folder: &Path, max_bytes: u64) -> SpoolOptions {
    SpoolOptions::at(folder).max_bytes(max_bytes).window(20)
}

async fn gated_with(spool: SpoolOptions) -> (Spool<String>, watch::Sender<bool>) {
    let (gate, is_open) = watch::channel(false);
    let options = DeliveryOptions::default()
        .give_up_after(Duration::from_secs(30))
        .attempt_timeout(Duration::from_secs(1_000_000))
        .concurrency(1);
    let delivery = Delivery::new(Gate(is_open)).options(options);
    (delivery.spooled(spool).await.unwrap(), gate)
}

fn text(number: usize) -> String {
    format!("{number} {}", "x".repeat(LENGTH))
}

/// The bytes of all files in the folder.
fn size(folder: &Path) -> u64 {
    let files = folder.read_dir().unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[tokio::test(start_paused = true)]
async fn a_full_spool_lets_entries_wait_and_hands_them_back_in_time() {
    let folder = tempdir().unwrap();
    let (spool, gate) = gated(folder.path()).await;
    let mut taken = 0;
    let error = loop {
        match spool.enqueue(&text(taken)).await {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
    };
    let SpoolError::Full { limit, waited, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((*limit, *waited), (MAX_BYTES, Duration::from_secs(30)));
    assert!(error.to_string().contains("4194304"), "{error}");
    assert!((38..=42).contains(&taken), "{taken}");
    assert!(size(folder.path()) < MAX_BYTES + (32 << 20), "{}", size(folder.path()));
    // What waits gets the room of what is delivered.
    let another = text(taken);
    let mut waiting = Box::pin(spool.enqueue(&another));
    assert!((&mut waiting).now_or_never().is_none());
    gate.send_replace(true);
    waiting.await.unwrap();
    let report = spool.close_within(Duration::from_mins(1)).await.unwrap();
    assert_eq!((report.report.delivered, report.left), (taken as u64 + 1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_full_spool_may_drop_its_oldest_entries_that_were_not_read() {
    const ENTRIES: usize = 200;
    let folder = tempdir().unwrap();
    let (spool, gate) = gated_with(spool_in(folder.path(), MAX_BYTES).drop_oldest()).await;
    for number in 0..ENTRIES {
        spool.enqueue(&text(number)).await.unwrap();
    }
    assert!(size(folder.path()) < MAX_BYTES + (32 << 20), "{}", size(folder.path()));
    gate.send_replace(true);
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!(report.left, 0);
    assert_eq!(report.report.delivered + report.dropped, ENTRIES as u64);
    assert!((30..=42).contains(&report.report.delivered), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_large_shrinks_whether_more_is_handed_over_or_not() {
    for handed_over in [0, 1] {
        let folder = tempdir().unwrap();
        let (spool, gate) = gated_with(spool_in(folder.path(), 32 * MAX_BYTES)).await;
        let texts: Vec<_> = (0..600).map(text).collect();
        let taken = join_all(texts.iter().map(|text| spool.enqueue(text))).await;
        assert!(taken.iter().all(Result::is_ok));
        assert!(size(folder.path()) > 60_000_000);
        gate.send_replace(true);
        spool.flush().await.unwrap();
        // With the reserve of 16 MiB. The paused clock does not wait for the thread that writes, so a minute may not be enough.
        let is_small = || size(folder.path()) < 28 << 20;
        for _ in 0..6_000 {
            sleep(Duration::from_millis(100)).await;
            for _ in 0..handed_over {
                spool.enqueue(&"small".to_owned()).await.unwrap();
            }
            if is_small() {
                break;
            }
        }
        assert!(is_small(), "{handed_over}: {}", size(folder.path()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_never_fits_is_refused_at_once() {
    let folder = tempdir().unwrap();
    let (spool, _gate) = gated(folder.path()).await;
    let error = spool.enqueue(&"x".repeat(5 << 20)).await.unwrap_err();
    assert!(
        matches!(error, SpoolError::TooLarge { limit: MAX_BYTES, .. }),
        "{error}"
    );
    assert_eq!(spool.figures().await.unwrap().entries, 0);
}

/// Leaves 60 entries, half as much again as the limit of later ones.
async fn left_with_too_much(folder: &Path) {
    let (spool, _gate) = gated_with(spool_in(folder, 2 * MAX_BYTES)).await;
    for number in 0..60 {
        spool.enqueue(&text(number)).await.unwrap();
    }
    assert_eq!(spool.close().await.unwrap().left, 60);
}

#[tokio::test(start_paused = true)]
async fn a_spool_that_was_left_with_more_than_its_limit_takes_nothing_until_it_is_below() {
    let folder = tempdir().unwrap();
    left_with_too_much(folder.path()).await;
    let (spool, gate) = gated(folder.path()).await;
    let error = spool.enqueue(&text(60)).await.unwrap_err();
    assert!(matches!(error, SpoolError::Full { .. }), "{error}");
    let another = text(61);
    let mut waiting = Box::pin(spool.enqueue(&another));
    assert!((&mut waiting).now_or_never().is_none());
    gate.send_replace(true);
    waiting.await.unwrap();
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!((report.report.delivered, report.left), (61, 0));
}

#[tokio::test(start_paused = true)]
async fn a_spool_that_was_left_with_more_than_its_limit_drops_the_excess_for_what_is_new() {
    let folder = tempdir().unwrap();
    left_with_too_much(folder.path()).await;
    let (spool, gate) = gated_with(spool_in(folder.path(), MAX_BYTES).drop_oldest()).await;
    // All of them at once.
    let texts: Vec<_> = (60..65).map(text).collect();
    let taken = join_all(texts.iter().map(|text| spool.enqueue(text))).await;
    assert!(taken.iter().all(Result::is_ok), "{taken:?}");
    gate.send_replace(true);
    spool.flush().await.unwrap();
    let report = spool.close().await.unwrap();
    assert_eq!(report.report.delivered + report.dropped, 65);
    // So many take the bytes of the limit.
    assert!((37..=42).contains(&report.report.delivered), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_close_releases_what_waits_for_room() {
    let folder = tempdir().unwrap();
    let (spool, _gate) = gated(folder.path()).await;
    let waiting = {
        let spool = spool.clone();
        tokio::spawn(async move {
            loop {
                if let Err(error) = spool.enqueue(&text(1)).await {
                    return error;
                }
            }
        })
    };
    while spool.figures().await.unwrap().entries < 38 {
        tokio::task::yield_now().await;
    }
    let report = spool.close().await.unwrap();
    assert!(matches!(waiting.await.unwrap(), SpoolError::Closed));
    assert!(report.left >= 38, "{report}");
}
