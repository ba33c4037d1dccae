//! Messages that were received too often.

use std::time::Duration;

use aws_batch_simulator::{Queue, QueueOptions, Simulator};
use aws_sdk_sqs::Client as Sqs;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName as System, QueueAttributeName};
use tokio::time::sleep;

use crate::queues::{delete, ordered};
use crate::{messages, send};

const VISIBLE_AGAIN: Duration = Duration::from_secs(30);

/// A queue whose messages are received twice at most, and its dead-letter queue, both with this end of their names.
fn queues(simulator: &Simulator, end: &str) -> (Queue, Queue) {
    let letters = simulator.queue(&format!("letters{end}"), QueueOptions::default());
    let options = QueueOptions::default()
        .dead_letter_queue(letters.name())
        .maximum_receives(2);
    (simulator.queue(&format!("orders{end}"), options), letters)
}

async fn receive(sqs: &Sqs, queue: &Queue) -> Vec<Message> {
    let call = sqs.receive_message().queue_url(queue.url()).max_number_of_messages(10);
    let call = call.message_system_attribute_names(System::All);
    call.send().await.unwrap().messages().to_vec()
}

fn of_system<'a>(message: &'a Message, name: &System) -> &'a str {
    &message.attributes().unwrap()[name]
}

#[tokio::test(start_paused = true)]
async fn the_receive_after_the_last_one_moves_a_message() {
    let simulator = Simulator::new(1);
    let (orders, letters) = queues(&simulator, "");
    let sqs = simulator.sqs_client();
    send(&sqs, &orders.url(), messages(0..3)).await.unwrap();
    let first = receive(&sqs, &orders).await;
    delete(&sqs, &orders.url(), &first[..1]).await;
    sleep(VISIBLE_AGAIN).await;
    assert_eq!(receive(&sqs, &orders).await.len(), 2);
    sleep(VISIBLE_AGAIN).await;
    // They stay until they are to be received once more.
    assert_eq!((orders.len(), letters.len()), (2, 0));
    send(&sqs, &orders.url(), messages(3..4)).await.unwrap();
    let received = receive(&sqs, &orders).await;
    assert_eq!(received.iter().filter_map(Message::body).collect::<Vec<_>>(), ["3"]);
    assert_eq!((orders.len(), letters.len()), (1, 2));
    let dead = receive(&sqs, &letters).await;
    let ids = |messages: &[Message]| {
        let mut ids: Vec<_> = messages
            .iter()
            .map(|message| message.message_id().unwrap().to_owned())
            .collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(ids(&dead), ids(&first[1..]), "a message keeps its id");
    assert!(
        dead.iter()
            .all(|message| of_system(message, &System::DeadLetterQueueSourceArn) == orders.arn())
    );
    let age = |message: &Message| of_system(message, &System::SentTimestamp).parse::<u64>().unwrap();
    let younger = age(&received[0]) - age(&dead[0]);
    assert!((59_000..61_000).contains(&younger), "and its age: {younger}");
    delete(&sqs, &letters.url(), &dead).await;
    assert!(letters.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_moved_holds_up_its_group_no_longer() {
    let simulator = Simulator::new(1);
    let (orders, letters) = queues(&simulator, ".fifo");
    let sqs = simulator.sqs_client();
    send(&sqs, &orders.url(), vec![ordered("g", 1)]).await.unwrap();
    for _ in 0..2 {
        assert_eq!(receive(&sqs, &orders).await.len(), 1);
        sleep(VISIBLE_AGAIN).await;
    }
    send(&sqs, &orders.url(), vec![ordered("g", 2)]).await.unwrap();
    let received = receive(&sqs, &orders).await;
    assert_eq!(received.iter().filter_map(Message::body).collect::<Vec<_>>(), ["2"]);
    let dead = receive(&sqs, &letters).await;
    assert_eq!(of_system(&dead[0], &System::MessageGroupId), "g");
    let age = |message: &Message| of_system(message, &System::SentTimestamp).parse::<u64>().unwrap();
    assert!(age(&dead[0]).abs_diff(age(&received[0])) < 1_000, "its age begins anew");
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_its_queue_moves_nothing() {
    let simulator = Simulator::new(1);
    let options = QueueOptions::default().dead_letter_queue("missing").maximum_receives(1);
    let orders = simulator.queue("orders", options);
    let (_, letters) = queues(&simulator, "-eu");
    let sqs = simulator.sqs_client();
    send(&sqs, &orders.url(), messages(0..1)).await.unwrap();
    for _ in 0..5 {
        assert_eq!(receive(&sqs, &orders).await.len(), 1);
        sleep(VISIBLE_AGAIN).await;
    }
    let policy = async |queue: &Queue| {
        let call = sqs.get_queue_attributes().queue_url(queue.url());
        let output = call.attribute_names(QueueAttributeName::All).send().await.unwrap();
        output
            .attributes()
            .unwrap()
            .get(&QueueAttributeName::RedrivePolicy)
            .cloned()
    };
    assert_eq!(policy(&orders).await, None);
    let of_eu = simulator.queue(
        "orders-eu",
        QueueOptions::default()
            .dead_letter_queue(letters.name())
            .maximum_receives(2),
    );
    let expected = format!(
        "{{\"deadLetterTargetArn\":\"{}\",\"maxReceiveCount\":2}}",
        letters.arn()
    );
    assert_eq!(policy(&of_eu).await, Some(expected));
}
