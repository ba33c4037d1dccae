//! The calls that wait for a task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures::future::join_all;
use tokio::task::{spawn, yield_now};

use crate::engine::{CallQueue, Queued};

const TASKS: usize = 2;

/// Each task takes a call, and ends when all tasks have one. In no order is a call left in the queue while a task waits.
pub async fn a_task_wakes_for_each_call_in_the_queue() {
    let call_queue: Arc<CallQueue<()>> = Arc::new(CallQueue::new(1));
    let taken = Arc::new(AtomicUsize::new(0));
    let tasks = (0..TASKS).map(|_| {
        let (call_queue, taken) = (Arc::clone(&call_queue), Arc::clone(&taken));
        spawn(async move {
            let Queued::End = call_queue.next().await else {
                unreachable!("there are no calls");
            };
            taken.fetch_add(1, SeqCst);
        })
    });
    let tasks: Vec<_> = tasks.collect();
    yield_now().await;
    (0..TASKS).for_each(|_| call_queue.push(Queued::End));
    for ended in join_all(tasks).await {
        ended.expect("it is not aborted");
    }
    assert_eq!(taken.load(SeqCst), TASKS);
}

/// A loop that waits for capacity is woken when there is some, even if the tasks take the remaining calls at the same time.
pub async fn a_loop_that_waits_for_capacity_is_woken() {
    let call_queue: Arc<CallQueue<()>> = Arc::new(CallQueue::new(1));
    let mut pushed = 0;
    while call_queue.has_capacity() {
        call_queue.push(Queued::End);
        pushed += 1;
    }
    let tasks = (0..=pushed).map(|_| {
        let call_queue = Arc::clone(&call_queue);
        spawn(async move { drop(call_queue.next().await) })
    });
    let tasks: Vec<_> = tasks.collect();
    let signal = call_queue.capacity_signal();
    while !call_queue.has_capacity() {
        signal.freed().await;
    }
    call_queue.push(Queued::End);
    for ended in join_all(tasks).await {
        ended.expect("it is not aborted");
    }
}
