//! Entries that were sent by a delivery that has stopped, and are sent again by the next one.

use std::time::Duration;

use aws_batch_delivery::spool::{Spool, SpoolOptions};
use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_batch_simulator::{InjectedFault, Queue, QueueOptions, Simulator};
use futures::future::join_all;
use tempfile::tempdir;
use tokio::time::sleep;

/// The queue cannot be used for a while, which ends each delivery.
fn stopped() -> InjectedFault {
    InjectedFault::Error {
        status: 400,
        code: "QueueDoesNotExist".into(),
        message: "no such queue".into(),
        applied: false,
    }
}

async fn spooled(simulator: &Simulator, queue: &Queue, folder: &std::path::Path) -> Spool<u64> {
    let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .json::<u64>()
        .group(|number| (number % 3).to_string())
        .options(DeliveryOptions::default().concurrency(1));
    delivery.spooled(SpoolOptions::at(folder)).await.unwrap()
}

/// The answer to the first call is lost, and the next calls end the delivery. Then it goes on, or it is closed and opened again.
#[tokio::test(start_paused = true)]
async fn a_fifo_message_in_doubt_is_in_the_queue_once_whatever_delivers_it() {
    for closes in [false, true] {
        let simulator = Simulator::new(3);
        let queue = simulator.queue("orders.fifo", QueueOptions::default());
        let folder = tempdir().unwrap();
        let lost = InjectedFault::Dropped { applied: true };
        queue.script([lost, stopped(), stopped(), stopped()]);
        let mut spool = spooled(&simulator, &queue, folder.path()).await;
        let numbers = (0..5).collect::<Vec<u64>>();
        let taken = join_all(numbers.iter().map(|number| spool.enqueue(number))).await;
        assert!(taken.iter().all(Result::is_ok));
        sleep(Duration::from_secs(5)).await;
        if closes {
            assert!(spool.close().await.unwrap().left > 0);
            spool = spooled(&simulator, &queue, folder.path()).await;
        }
        spool.flush().await.unwrap();
        assert!(queue.calls() >= 5, "{}", queue.calls());
        assert_eq!(spool.close().await.unwrap().left, 0);
        let mut bodies: Vec<u64> = queue
            .messages()
            .iter()
            .map(|message| message.body.parse().unwrap())
            .collect();
        bodies.sort_unstable();
        assert_eq!(bodies, numbers, "closes: {closes}");
    }
}

/// After a loss of power, another entry has the number of one that was delivered and is lost.
#[tokio::test(start_paused = true)]
async fn an_entry_that_gets_the_number_of_another_one_is_not_taken_for_it() {
    let simulator = Simulator::new(3);
    let queue = simulator.queue("orders.fifo", QueueOptions::default());
    let folder = tempdir().unwrap();
    spooled(&simulator, &queue, folder.path()).await.close().await.unwrap();
    let before = tempdir().unwrap();
    let file = |folder: &tempfile::TempDir| folder.path().join("spool.sqlite3");
    std::fs::copy(file(&folder), file(&before)).unwrap();
    for folder in [&folder, &before] {
        // The clock of the system goes on.
        std::thread::sleep(Duration::from_millis(2));
        let spool = spooled(&simulator, &queue, folder.path()).await;
        spool.enqueue(&7).await.unwrap();
        spool.flush().await.unwrap();
        spool.close().await.unwrap();
    }
    assert_eq!(queue.messages().len(), 2);
}
