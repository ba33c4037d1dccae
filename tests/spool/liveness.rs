//! After faults a spool is soon empty, within a time that follows from what is left.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::spool::SpoolOptions;
use aws_batch_simulator::Faults;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use proptest::prelude::*;
use tempfile::tempdir;
use tokio::time::sleep;

use crate::cases::cases;
use crate::paused::paused;
use crate::phases::{after, phases, queue, works};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(6), ..ProptestConfig::default() })]

    #[test]
    fn a_spool_is_empty_soon_after_the_faults_of_its_queue(phase in phases(), work in works()) {
        paused(async {
            let (simulator, queue) = queue(&phase, &work);
            let heal = || {
                queue.set_faults(Faults::none());
                queue.set_capacity(work.capacity());
            };
            let folder = tempdir().unwrap();
            let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url())
                .options(work.options())
                .map_entries(|number: &usize| {
                    let entry = SendMessageBatchRequestEntry::builder().id(number.to_string()).message_body("event");
                    entry.build().unwrap()
                });
            let spool = delivery.spooled(SpoolOptions::at(folder.path())).await.unwrap();
            let spooling = async {
                for number in 0..work.entries {
                    spool.enqueue(&number).await.unwrap();
                }
                // A flush would wake what has missed something.
                while spool.figures().await.unwrap().entries > 0 {
                    sleep(Duration::from_millis(100)).await;
                }
                spool.close().await.unwrap()
            };
            let closed = after(&phase, heal, work.bound(), spooling).await?;
            prop_assert_eq!((closed.report.delivered, closed.left), (work.entries as u64, 0));
            Ok(())
        })?;
    }
}
