//! What a consumer does with the messages that it received.

use std::time::Duration;

use aws_batch_delivery::targets::sqs::VisibilityChange;
use aws_batch_delivery::{Delivery, DeliveryOptions, deliver_batch_to_sqs};

use crate::emulators::Emulators;
use crate::queue::{Queue, messages};

const MESSAGES: usize = 500;

/// Sends messages and receives all of them. The receipt handles.
async fn receive_all(queue: &Queue) -> Vec<String> {
    let options = DeliveryOptions::default();
    deliver_batch_to_sqs(&queue.client, &queue.url, messages(MESSAGES), &options)
        .await
        .unwrap();
    let mut handles = Vec::new();
    while handles.len() < MESSAGES {
        let call = queue.client.receive_message().queue_url(&queue.url);
        let received = call.max_number_of_messages(10).send().await.unwrap();
        let received = received.messages.unwrap_or_default();
        handles.extend(received.into_iter().filter_map(|message| message.receipt_handle));
    }
    handles
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn received_messages_are_deleted_and_an_invalid_handle_is_handed_back_alone() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "deletions").await;
    let mut handles = receive_all(&queue).await;
    // Were a message left, it would be seen again.
    let show = handles
        .iter()
        .map(|handle| VisibilityChange::new(handle, Duration::ZERO));
    let show: Vec<_> = show.collect();
    handles.insert(250, "no handle".to_owned());
    let options = DeliveryOptions::default();
    let error = Delivery::deletes_from_sqs(queue.client.clone(), &queue.url)
        .options(options.clone())
        .deliver(handles)
        .await
        .unwrap_err();
    assert_eq!(error.report.delivered, MESSAGES as u64);
    let [refused] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert!(refused.position == 250 && refused.cause.is_permanent(), "{refused:?}");
    // Of messages that are gone the visibility cannot be changed; whatever is said of them, none comes back.
    let _ = Delivery::visibility_changes_in_sqs(queue.client.clone(), &queue.url)
        .options(options.clone())
        .deliver(show)
        .await;
    assert_eq!(queue.bodies().await, [""; 0]);
    queue.remove().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the emulators: localstack/test"]
async fn messages_that_are_shown_again_are_received_again() {
    let emulators = Emulators::find().await;
    let queue = Queue::create(&emulators, "visibility").await;
    let handles = receive_all(&queue).await;
    let show = handles
        .iter()
        .map(|handle| VisibilityChange::new(handle, Duration::ZERO));
    let options = DeliveryOptions::default();
    let report = Delivery::visibility_changes_in_sqs(queue.client.clone(), &queue.url)
        .options(options.clone())
        .deliver(show)
        .await
        .unwrap();
    assert_eq!(report.delivered, MESSAGES as u64);
    assert_eq!(queue.bodies().await.len(), MESSAGES);
    queue.remove().await;
}
