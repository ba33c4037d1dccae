//! A receipt has what the service returned for the entry.

use aws_batch_delivery::targets::Acknowledgement;
use aws_batch_delivery::{Delivery, Disposition};
use aws_sdk_sqs::types::MessageSystemAttributeName;

use crate::guarantees::entries::{message, put, with_queue, with_table};

#[tokio::test(start_paused = true)]
async fn a_receipt_has_the_ids_of_the_message() {
    let (simulator, queue) = with_queue("orders.fifo");
    let client = simulator.sqs_client();
    let producer = Delivery::to_sqs(client.clone(), queue.url()).producer();
    let mut entry = message("0", "body");
    entry.message_group_id = Some("group".to_owned());
    let Disposition::Delivered(acknowledgement) = producer.send(entry).await.unwrap() else {
        panic!("nothing supersedes a message");
    };
    let received = client
        .receive_message()
        .queue_url(queue.url())
        .message_system_attribute_names(MessageSystemAttributeName::SequenceNumber)
        .send()
        .await
        .unwrap();
    let received = &received.messages()[0];
    assert!(acknowledgement.message_id.is_some());
    assert_eq!(acknowledgement.message_id, received.message_id);
    let attributes = received.attributes().unwrap();
    assert_eq!(
        acknowledgement.sequence_number.as_ref(),
        attributes.get(&MessageSystemAttributeName::SequenceNumber)
    );
}

#[tokio::test(start_paused = true)]
async fn a_receipt_of_a_write_has_no_ids() {
    let (simulator, _) = with_table();
    let producer = Delivery::to_dynamo(simulator.dynamo_client(), "orders").producer();
    let fate = producer.send(put("a")).await.unwrap();
    assert_eq!(fate, Disposition::Delivered(Acknowledgement::default()));
}
