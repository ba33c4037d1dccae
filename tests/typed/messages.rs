//! Messages of a queue.

use aws_batch_delivery::{Delivery, Values};
use aws_batch_simulator::{InjectedFault, Queue, QueueOptions, Simulator};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use crate::typed::orders::Line;
use crate::typed::queue;

#[tokio::test(start_paused = true)]
async fn texts_and_json_become_the_bodies_of_messages() {
    let (queue, delivery) = queue();
    let bodies = |queue: &Queue| {
        let mut bodies: Vec<String> = queue.messages().into_iter().map(|message| message.body).collect();
        bodies.sort();
        bodies
    };
    let report = delivery.clone().texts().deliver(["b", "a"]).await.unwrap();
    assert_eq!(
        (report.delivered, bodies(&queue)),
        (2, vec!["a".to_owned(), "b".to_owned()])
    );

    let error = delivery.texts().deliver(["", "c"].map(String::from)).await.unwrap_err();
    assert_eq!((&**error.undelivered()[0].entry, bodies(&queue).len()), ("", 3));

    let (queue, delivery) = crate::typed::queue();
    let lines = [Line::Gift, Line::Article { number: 7, count: 2 }];
    delivery.json().deliver(lines.clone()).await.unwrap();
    let read: Vec<Line> = bodies(&queue)
        .iter()
        .map(|body| serde_json::from_str(body).unwrap())
        .collect();
    assert_eq!(read, lines);
}

#[tokio::test(start_paused = true)]
async fn values_become_entries_of_any_kind() {
    let simulator = Simulator::new(7);
    let queue = simulator.queue("events.fifo", QueueOptions::default());
    let events: Delivery<_, Values<(u8, u8)>> = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .map_target(|queue| queue.content_based_deduplication(false))
        .try_map_entries(|(account, number): &(u8, u8)| {
            SendMessageBatchRequestEntry::builder()
                .id("")
                .message_body(number.to_string())
                .message_group_id(account.to_string())
                .build()
        });
    // Throttled and in doubt: the messages keep the ids that they were given.
    queue.script([InjectedFault::Dropped { applied: true }, InjectedFault::Throttle]);
    let sent: Vec<_> = (0..40).map(|number| (number % 4, number)).collect();
    assert_eq!(events.deliver(sent).await.unwrap().delivered, 40);
    assert_eq!(queue.len(), 40, "none is there twice");
}

#[tokio::test(start_paused = true)]
async fn values_name_the_group_the_deduplication_id_and_the_attributes_of_their_messages() {
    let simulator = Simulator::new(7);
    let queue = simulator.queue("events.fifo", QueueOptions::default());
    let events = Delivery::to_sqs(simulator.sqs_client(), queue.url())
        .json::<(u8, u8)>()
        .group(|(account, _)| account.to_string())
        .deduplication_id(|(account, number)| format!("{account}-{}", number / 2))
        .attribute("kind", |(_, number)| if number % 2 == 0 { "even" } else { "odd" });
    let sent: Vec<_> = (0..40).map(|number| (number % 4, number)).collect();
    events.deliver(sent).await.unwrap();

    for message in queue.messages() {
        let (account, number): (u8, u8) = serde_json::from_str(&message.body).unwrap();
        assert_eq!(message.group, Some(account.to_string()));
        let kind = &message.attributes.as_ref().unwrap()["kind"]["StringValue"];
        assert_eq!(*kind, if number % 2 == 0 { "even" } else { "odd" });
    }
    assert_eq!(queue.len(), 40, "ids of 40 messages are all different");
}
