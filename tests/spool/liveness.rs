//! After faults a spool is soon empty, within a time that follows from what is left.

use aws_batch_delivery::Delivery;
use aws_batch_delivery::spool::SpoolOptions;
use aws_batch_simulator::{Capacity, Faults, Latency, QueueOptions, Simulator};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use proptest::prelude::*;
use tempfile::tempdir;

use crate::cases::cases;
use crate::paused::paused;
use crate::phases::{ROUND_TRIP, after, phases, works};

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(6), ..ProptestConfig::default() })]

    #[test]
    fn a_spool_is_empty_soon_after_the_faults_of_its_queue(phase in phases(), work in works()) {
        paused(async {
            let simulator = Simulator::new(5);
            simulator.set_latency(Latency::fixed(ROUND_TRIP));
            let queue = simulator.queue("orders", QueueOptions::default().capacity(work.capacity()));
            queue.set_faults(phase.faults());
            if phase.is_exhausted {
                queue.set_capacity(Capacity::per_second(0.0));
            }
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
                spool.flush().await.unwrap();
                spool.close().await.unwrap()
            };
            let closed = after(&phase, heal, work.bound(), spooling).await?;
            prop_assert_eq!((closed.report.delivered, closed.left), (work.entries as u64, 0));
            Ok(())
        })?;
    }
}
