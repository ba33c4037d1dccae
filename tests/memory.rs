//! Neither retries nor long streams cost memory. A binary of its own, since it counts what the whole process allocates.

use std::sync::Mutex;
use std::time::Duration;

use aws_batch_delivery::target::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use futures::stream;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// One test at a time, since each counts what the whole process allocates.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

const ROUNDS: usize = 100_001;

/// What was allocated in each round.
static ALLOCATED_BY_ROUND: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Takes nothing before the last round.
struct Stubborn;

impl BatchTarget for Stubborn {
    type Entry = ();

    fn limits(&self) -> Limits {
        Limits::new(10, 10).with_entry_bytes(1)
    }

    fn check(&self, (): &()) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, _: &[()]) -> Answer {
        let mut allocated = ALLOCATED_BY_ROUND.lock().unwrap();
        allocated.push(ALLOCATED.current_usage());
        if allocated.len() < ROUNDS {
            Answer::Whole(Verdict::Rejected(Rejection::Throttled, Fault::new("Throttled")))
        } else {
            Answer::Whole(Verdict::Accepted)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_resubmissions_cost_no_memory() {
    let _alone = ALONE.lock().await;
    ALLOCATED_BY_ROUND.lock().unwrap().reserve_exact(ROUNDS);
    let options = DeliveryOptions::default()
        .backoff(|_: u32| Duration::ZERO)
        .give_up_after(Duration::MAX);
    let report = Delivery::new(Stubborn).options(options).deliver([()]).await.unwrap();
    assert_eq!(report.resubmitted, 100_000);

    let allocated = ALLOCATED_BY_ROUND.lock().unwrap();
    let (early, late) = allocated.split_at(ROUNDS / 10);
    let (early, late) = (early.iter().max().unwrap(), late.iter().max().unwrap());
    assert!(
        late <= &(early + 4096),
        "{early} bytes in the first tenth, {late} bytes later"
    );
}

/// Takes everything, and notes the most that was allocated while the first tenth of a stream was delivered.
struct Greedy;

impl BatchTarget for Greedy {
    type Entry = Vec<u8>;

    fn limits(&self) -> Limits {
        Limits::new(500, usize::MAX)
    }

    fn check(&self, entry: &Vec<u8>) -> Result<usize, InvalidEntry> {
        Ok(entry.len())
    }

    async fn send(&self, chunk: &[Vec<u8>]) -> Answer {
        Answer::Each(vec![Verdict::Accepted; chunk.len()])
    }
}

#[tokio::test(start_paused = true)]
async fn the_length_of_a_stream_costs_no_memory() {
    const ENTRIES: usize = 1_000_000;
    let _alone = ALONE.lock().await;
    let mut early = 0;
    let entries = (0..ENTRIES).map(|number| {
        if number == ENTRIES / 10 {
            early = ALLOCATED.peak_usage();
        }
        vec![0; 100]
    });
    ALLOCATED.reset_peak_usage();
    // All calls are in flight from the start.
    let options = DeliveryOptions::default().backoff(|_: u32| Duration::ZERO);
    let delivery = Delivery::new(Greedy).options(options);
    let report = delivery.deliver_stream(stream::iter(entries)).await.unwrap();
    assert_eq!(report.delivered, ENTRIES as u64);
    let peak = ALLOCATED.peak_usage();
    assert!(
        peak <= early + early / 10,
        "{peak} bytes at the end, {early} after a tenth"
    );
}
