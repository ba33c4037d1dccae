//! Retries cost no memory. A binary of its own, since it counts what the whole process allocates.

use std::sync::Mutex;
use std::time::Duration;

use aws_batch_delivery::target::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};
use aws_batch_delivery::{Delivery, DeliveryOptions, InvalidEntry};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

const ROUNDS: usize = 100_001;

/// What was allocated in each round.
static ALLOCATED_BY_ROUND: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Takes nothing before the last round.
struct Stubborn;

impl BatchTarget for Stubborn {
    type Entry = ();

    fn limits(&self) -> Limits {
        Limits {
            entries: 10,
            bytes: 10,
            entry_bytes: 1,
        }
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
