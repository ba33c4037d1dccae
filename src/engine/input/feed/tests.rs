use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures::FutureExt;
use proptest::prelude::*;
use tokio::task::yield_now;

use super::*;

/// Numbers from 0, some of which come only when the task is woken, and the number of those that were read.
struct Numbers {
    /// How often the task waits before each of them.
    waits: Vec<usize>,
    read: Arc<AtomicUsize>,
    is_batch: bool,
    panics_at: usize,
}

impl Numbers {
    fn new(waits: Vec<usize>, is_batch: bool) -> (Self, Arc<AtomicUsize>) {
        let read = Arc::new(AtomicUsize::new(0));
        let numbers = Self {
            waits,
            read: Arc::clone(&read),
            is_batch,
            panics_at: usize::MAX,
        };
        (numbers, read)
    }
}

impl Source for Numbers {
    type Entry = usize;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<usize>> {
        let next = self.read.load(Relaxed);
        assert_ne!(next, self.panics_at, "the source panics");
        let Some(waits) = self.waits.get_mut(next) else {
            return Poll::Ready(None);
        };
        if *waits > 0 {
            *waits -= 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Some(self.read.fetch_add(1, Relaxed)))
    }

    fn known(&self) -> usize {
        self.waits.len() - self.read.load(Relaxed)
    }

    fn is_batch(&self) -> bool {
        self.is_batch
    }
}

async fn next(input: &mut Feed<usize>) -> Option<(u64, usize)> {
    let incoming = poll_fn(|context| input.poll_next(context)).await;
    incoming.map(|incoming| (incoming.position, incoming.entry))
}

proptest! {
    #[test]
    fn all_entries_come_in_their_order_and_no_more_is_read_than_was_wanted(
        waits in proptest::collection::vec(0_usize..3, 0..40),
        wanted in proptest::collection::vec(1_usize..8, 40),
        is_batch: bool,
    ) {
        let count = waits.len();
        let (mut numbers, read) = Numbers::new(waits, is_batch);
        let came = feed(&mut numbers, |mut input| async move {
            let mut came = Vec::new();
            for wanted in wanted {
                input.want(wanted);
                let most = came.len() + wanted;
                for _ in 0..wanted {
                    let Some(next) = next(&mut input).await else {
                        return came;
                    };
                    came.push(next);
                    assert!(read.load(Relaxed) <= most, "more was read than {most}");
                    assert_eq!(input.known(), count - came.len());
                }
            }
            came
        });
        let came = tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(came);
        let all: Vec<_> = (0..count).map(|number| (number as u64, number)).collect();
        prop_assert_eq!(came, all);
    }
}

#[tokio::test]
async fn a_stream_keeps_what_was_asked_for_when_the_delivery_ends_early_and_a_batch_hands_it_back() {
    for is_batch in [false, true] {
        let (mut numbers, read) = Numbers::new(vec![0; 3], is_batch);
        let unread = feed(&mut numbers, |mut input| async move {
            assert!(next(&mut input).await.is_some());
            // The end comes after the next entry was asked for.
            assert!(next(&mut input).now_or_never().is_none());
            input.ends_early();
            yield_now().await;
            let mut unread = 0;
            loop {
                match input.unread() {
                    Poll::Ready(Some(_)) => unread += 1,
                    Poll::Ready(None) => return unread,
                    Poll::Pending if input.poll_answer().is_ready() => return unread,
                    Poll::Pending => poll_fn(|_| input.poll_answer()).await,
                }
            }
        });
        assert_eq!(
            (unread.await, read.load(Relaxed)),
            if is_batch { (2, 3) } else { (0, 1) }
        );
    }
}

#[tokio::test]
async fn a_panic_of_the_source_comes_behind_the_entries_before_it() {
    let (mut numbers, _) = Numbers::new(vec![0; 5], true);
    numbers.panics_at = 3;
    let came = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&came);
    let delivery = feed(&mut numbers, |mut input| async move {
        input.want(5);
        while next(&mut input).await.is_some() {
            counted.fetch_add(1, Relaxed);
        }
    });
    let ended = AssertUnwindSafe(delivery).catch_unwind().await;
    assert_eq!((ended.is_err(), came.load(Relaxed)), (true, 3));
}
