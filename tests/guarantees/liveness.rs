//! After faults everything ends, within a time that follows from what is left: its calls, the capacity, and the longest waits that the guide
//! promises. "It ends some time" is no bound: a wake-up that is lost, and found by chance a minute later, would keep it.

use std::time::Duration;

use aws_batch_delivery::Delivery;
use aws_batch_delivery::sources::{Receive, Scan};
use aws_batch_simulator::{Capacity, Faults, KeyType, Latency, QueueOptions, Simulator, Table, TableOptions};
use futures::StreamExt;
use futures::future::join_all;
use proptest::prelude::*;

use crate::guarantees::entries::{message, put};
use crate::support::cases::cases;
use crate::support::in_flight::InFlight;
use crate::support::paused::paused;
use crate::support::phases::{Phase, ROUND_TRIP, Work, after, phases, queue, works};

/// A table in the phase.
fn table(phase: &Phase, work: &Work) -> (Simulator, Table) {
    let simulator = Simulator::new(5);
    simulator.set_latency(Latency::fixed(ROUND_TRIP));
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(work.capacity()));
    table.set_faults(phase.faults());
    if phase.is_exhausted {
        table.set_capacity(Capacity::per_second(0.0));
    }
    (simulator, table)
}

fn heal(table: &Table, work: &Work) {
    table.set_faults(Faults::none());
    table.set_capacity(work.capacity());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(6), ..ProptestConfig::default() })]

    #[test]
    fn a_delivery_ends_soon_after_the_faults_of_its_table(phase in phases(), work in works()) {
        paused(async {
            let (simulator, table) = table(&phase, &work);
            let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(work.options());
            let heal = || heal(&table, &work);
            let entries = (0..work.entries).map(|number| put(number.to_string()));
            let report = after(&phase, heal, work.bound(), delivery.deliver(entries)).await?;
            prop_assert_eq!(report.unwrap().delivered, work.entries as u64);
            Ok(())
        })?;
    }

    #[test]
    fn deliveries_that_share_a_pace_all_end_soon_after_the_faults_of_their_table(
        phase in phases(),
        work in works(),
        most_in_flight in prop::option::of(1_usize..9),
    ) {
        paused(async {
            let (simulator, table) = table(&phase, &work);
            let options = match most_in_flight {
                Some(most) => work.options().backoff(InFlight::at_most(most)),
                None => work.options(),
            };
            let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").options(options);
            let heal = || heal(&table, &work);
            // Each waits for its permit behind all others.
            let deliveries = (0..work.entries % 60).map(|number| delivery.deliver([put(number.to_string())]));
            let reports = after(&phase, heal, work.bound(), join_all(deliveries)).await?;
            for report in reports {
                prop_assert_eq!(report.unwrap().delivered, 1);
            }
            Ok(())
        })?;
    }

    #[test]
    fn every_sender_of_a_producer_has_its_receipt_soon_after_the_faults_of_its_queue(phase in phases(), work in works()) {
        paused(async {
            let (simulator, queue) = queue(&phase, &work);
            let delivery = Delivery::to_sqs(simulator.sqs_client(), queue.url()).options(work.options());
            let producer = delivery.producer();
            let heal = || {
                queue.set_faults(Faults::none());
                queue.set_capacity(work.capacity());
            };
            let sending = async {
                let sent = (0..work.entries).map(|number| producer.send(message(number.to_string(), "event")));
                let receipts = join_all(sent).await;
                producer.clone().close().await.unwrap();
                receipts.into_iter().flatten().count()
            };
            let accepted = after(&phase, heal, work.bound(), sending).await?;
            prop_assert_eq!(accepted, work.entries);
            Ok(())
        })?;
    }

    #[test]
    fn a_copy_ends_soon_after_the_faults_of_both_tables(phase in phases(), of_reads in phases(), work in works()) {
        paused(async {
            let simulator = Simulator::new(5);
            let options = TableOptions::key("id", KeyType::S);
            let from = simulator.table("from", options.clone());
            let filling = Delivery::to_dynamo(simulator.dynamo_client(), "from");
            filling.deliver((0..work.entries).map(|number| put(number.to_string()))).await.unwrap();
            simulator.set_latency(Latency::fixed(ROUND_TRIP));
            let to = simulator.table("to", options.capacity(work.capacity()));
            from.set_read_faults(of_reads.faults());
            to.set_faults(phase.faults());
            if of_reads.is_exhausted {
                from.set_read_capacity(Capacity::per_second(0.0));
            }
            let items = Scan::new(simulator.dynamo_client(), "from")
                .page_items(20)
                .options(work.options())
                .items();
            let copy = Delivery::to_dynamo(simulator.dynamo_client(), "to")
                .options(work.options())
                .map_entries(|item: &std::collections::HashMap<_, _>| {
                    let put = aws_sdk_dynamodb::types::PutRequest::builder().set_item(Some(item.clone())).build();
                    aws_sdk_dynamodb::types::WriteRequest::builder().put_request(put.unwrap()).build()
                });
            let heal = || {
                from.set_read_faults(Faults::none());
                from.set_read_capacity(Capacity::unlimited());
                to.set_faults(Faults::none());
            };
            // A page may be lost as well as a write, and each of the two waits for the other.
            let report = after(&phase, heal, 2 * work.bound(), copy.try_deliver_stream(items)).await?;
            prop_assert_eq!(report.unwrap().delivered, work.entries as u64);
            Ok(())
        })?;
    }

    #[test]
    fn the_messages_of_a_queue_are_all_received_and_deleted_soon_after_its_faults(phase in phases(), work in works()) {
        /// How long the queue has to be empty, and how long a message is hidden whose receive had no answer.
        const EMPTY: Duration = Duration::from_secs(30);
        const HIDDEN: Duration = Duration::from_secs(20);
        /// How long a receive waits for messages, and one of a group for the deletion of that before it.
        const POLL: Duration = Duration::from_secs(20);
        const DELETED: Duration = Duration::from_secs(1);
        paused(async {
            let simulator = Simulator::new(5);
            let name = if work.groups > 0 { "orders.fifo" } else { "orders" };
            let queue = simulator.queue(name, QueueOptions::default().visibility_timeout(HIDDEN));
            let filling = Delivery::to_sqs(simulator.sqs_client(), queue.url());
            let entries = (0..work.entries).map(|number| {
                let entry = message(number.to_string(), number.to_string());
                let mut entry = aws_sdk_sqs::types::SendMessageBatchRequestEntry::builder()
                    .id(entry.id())
                    .message_body(entry.message_body());
                if work.groups > 0 {
                    entry = entry
                        .message_group_id((number % work.groups).to_string())
                        .message_deduplication_id(number.to_string());
                }
                entry.build().unwrap()
            });
            filling.deliver(entries).await.unwrap();
            simulator.set_latency(Latency::fixed(ROUND_TRIP));
            queue.set_consumer_faults(phase.faults());
            let mut messages = Receive::new(simulator.sqs_client(), queue.url())
                .visibility_timeout(HIDDEN)
                .until_empty_for(EMPTY)
                .options(work.options())
                .messages();
            let progress = messages.progress();
            let heal = || queue.set_consumer_faults(Faults::none());
            let receiving = async {
                while let Some(received) = messages.next().await {
                    received.map_err(|error| TestCaseError::fail(error.to_string()))?.ticket.settle();
                }
                Ok::<_, TestCaseError>(progress.finished().await)
            };
            let in_order = if work.groups > 0 { work.entries } else { 0 };
            let in_order = DELETED * u32::try_from(in_order).unwrap();
            let bound = work.bound() + HIDDEN + EMPTY + 2 * POLL + in_order;
            let figures = after(&phase, heal, bound, receiving).await??;
            // A message that was visible again before it could be deleted was received and deleted again.
            prop_assert_eq!((figures.held, queue.len()), (0, 0));
            Ok(())
        })?;
    }
}
