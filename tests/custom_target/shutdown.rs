//! The tasks of a delivery when it is over, and when its runtime is.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::{panic, thread};

use aws_batch_delivery::targets::{Answer, BatchTarget, Limits};
use aws_batch_delivery::{Delivery, InvalidEntry};
use tokio::task::yield_now;

use crate::custom_target::numbers::{LIMITS, accept, no_delay, numbers, one_at_a_time};

/// Signals that a call has arrived, and never answers.
struct Silent(Sender<()>);

impl BatchTarget for Silent {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, _: &[usize]) -> Answer {
        _ = self.0.send(());
        pending().await
    }
}

/// Signals that a call has arrived, and answers when other tasks have had a turn.
struct Busy(Sender<()>);

impl BatchTarget for Busy {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, _: &usize) -> Result<usize, InvalidEntry> {
        Ok(1)
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        _ = self.0.send(());
        yield_now().await;
        accept(chunk)
    }
}

#[test]
fn a_delivery_that_is_awaited_outside_its_runtime_panics_when_the_runtime_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (call, called) = channel();
    let handle = runtime.handle().clone();
    let awaiting = thread::spawn(move || {
        let delivery = Delivery::new(Silent(call)).options(one_at_a_time());
        handle.block_on(delivery.deliver(0..100)).is_ok()
    });
    called.recv().unwrap();
    runtime.shutdown_background();
    assert!(awaiting.join().is_err());
}

#[tokio::test(start_paused = true)]
async fn nobody_holds_the_target_when_a_delivery_is_over() {
    let (numbers, calls) = numbers(|_, chunk| accept(chunk));
    let delivery = Delivery::new(numbers).options(no_delay());
    delivery.deliver(vec![1; 1_000]).await.unwrap();
    drop(delivery);
    assert_eq!(Arc::strong_count(&calls), 1);
}

#[test]
fn nothing_panics_when_the_runtime_ends_before_its_producers() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if thread::current().name() == Some("of-the-producer") {
            PANICS.fetch_add(1, Relaxed);
        }
        usual(panic);
    }));
    for _ in 0..100 {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(4)
            .thread_name("of-the-producer")
            .enable_all()
            .build()
            .unwrap();
        let (call, called) = channel();
        runtime.spawn(async move {
            let producer = Delivery::new(Busy(call)).options(no_delay()).producer();
            for _ in 0..8 {
                let producer = producer.clone();
                tokio::spawn(async move { while producer.send(1).await.is_ok() {} });
            }
            pending::<()>().await;
        });
        (0..50).for_each(|_| called.recv().unwrap());
        drop(runtime);
    }
    assert_eq!(PANICS.load(Relaxed), 0);
}
