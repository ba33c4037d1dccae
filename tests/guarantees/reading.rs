//! Items that are read by their keys, and messages that a consumer deletes or hides.

use std::collections::HashMap;
use std::time::Duration;

use aws_batch_delivery::targets::sqs::VisibilityChange;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_batch_simulator::{Capacity, Faults, InjectedFault, KeyType, QueueOptions, Simulator, Table, TableOptions};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::{StreamExt, stream};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

type Item = HashMap<String, AttributeValue>;

fn key(id: usize) -> Item {
    HashMap::from([("id".to_owned(), AttributeValue::N(id.to_string()))])
}

fn item(id: usize) -> Item {
    let mut item = key(id);
    item.insert("name".to_owned(), AttributeValue::S(format!("item {id}")));
    item
}

async fn filled(simulator: &Simulator, items: usize) -> Table {
    let table = simulator.table("orders", TableOptions::key("id", KeyType::N));
    let writes = (0..items).map(|id| {
        let put = PutRequest::builder().set_item(Some(item(id)));
        WriteRequest::builder().put_request(put.build().unwrap()).build()
    });
    let options = DeliveryOptions::default();
    deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &options)
        .await
        .unwrap();
    table
}

#[tokio::test(start_paused = true)]
async fn items_come_in_the_order_of_their_keys_whatever_goes_wrong() {
    let simulator = Simulator::new(1);
    let table = filled(&simulator, 1_000).await;
    table.set_read_capacity(Capacity::per_second(500.0));
    let lost = InjectedFault::Dropped { applied: true };
    table.set_read_faults(
        Faults::none()
            .unprocessed(0.02)
            .calls(0.05, lost)
            .calls(0.05, InjectedFault::AccountLimit),
    );
    // Some keys occur twice, and some have no item.
    let asked: Vec<usize> = (0..2_500).map(|number| number * 7 % 1_100).collect();
    let keys = || asked.iter().map(|id| key(*id));
    let expected: Vec<Option<Item>> = asked.iter().map(|id| (*id < 1_000).then(|| item(*id))).collect();
    let client = simulator.dynamo_client();
    let options = DeliveryOptions::default();
    let items = Delivery::reads_from_dynamo(client.clone(), "orders")
        .options(options.clone())
        .get(keys())
        .await
        .unwrap();
    assert!(items == expected, "the items are not those of the keys");

    let reads = Delivery::reads_from_dynamo(client, "orders");
    let streamed: Vec<_> = reads
        .get_stream(stream::iter(keys()))
        .map(Result::unwrap)
        .collect()
        .await;
    assert!(streamed == expected, "the streamed items are not those of the keys");
    let statistics = table.read_statistics();
    assert!(statistics.throttled > 0 && statistics.failed > 0, "{statistics:?}");
}

#[tokio::test(start_paused = true)]
async fn a_key_that_cannot_be_read_is_handed_back_and_the_others_are_read() {
    let simulator = Simulator::new(1);
    filled(&simulator, 10).await;
    let mut keys: Vec<Item> = (0..10).map(key).collect();
    // The service refuses the call because of it, so a bisection has to find it.
    keys[3] = HashMap::from([("id".to_owned(), AttributeValue::S("3".to_owned()))]);
    let reads = Delivery::reads_from_dynamo(simulator.dynamo_client(), "orders");
    let error = reads.get(keys).await.unwrap_err();
    let [unread] = error.error.undelivered() else {
        panic!("{error:?}");
    };
    assert!(
        unread.position == 3 && matches!(unread.cause, Cause::Refused(_)),
        "{unread:?}"
    );
    assert_eq!(unread.entry.key().len(), 1);
    let read = |id: usize| (id != 3).then(|| item(id));
    assert_eq!(error.items, (0..10).map(read).collect::<Vec<_>>());
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("item "), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn each_key_that_was_not_read_has_its_position_also_after_a_cancellation() {
    let simulator = Simulator::new(1);
    filled(&simulator, 10).await;
    let cancellation = CancellationToken::new();
    let options = DeliveryOptions::default().cancellation(cancellation.clone());
    let reads = Delivery::reads_from_dynamo(simulator.dynamo_client(), "orders").options(options);
    let keys = stream::iter(0..3_000).map(move |id| {
        if id == 2_000 {
            cancellation.cancel();
        }
        key(id)
    });
    let read: Vec<_> = reads.get_stream(keys).collect().await;
    let unread: Vec<_> = (0..).zip(&read).filter(|(_, read)| read.is_err()).collect();
    assert!(unread.len() >= 1_000, "{}", unread.len());
    for (place, read) in unread {
        assert_eq!(read.as_ref().unwrap_err().position, place);
    }
}

/// Receipt handles of `count` messages.
async fn received(simulator: &Simulator, url: &str, messages: usize) -> Vec<String> {
    let client = simulator.sqs_client();
    let entries = (0..messages).map(|number| {
        let entry = SendMessageBatchRequestEntry::builder().id("id");
        let entry = entry.message_body(number.to_string());
        // Each in a group of its own, so that none hides another.
        let group = url.strip_suffix(".fifo").map(|_| number.to_string());
        entry.set_message_group_id(group).build().unwrap()
    });
    deliver_batch_to_sqs(&client, url, entries, &DeliveryOptions::default())
        .await
        .unwrap();
    let mut handles = Vec::new();
    while handles.len() < messages {
        let call = client.receive_message().queue_url(url).max_number_of_messages(10);
        let received = call.send().await.unwrap().messages.unwrap_or_default();
        handles.extend(received.into_iter().filter_map(|message| message.receipt_handle));
    }
    handles
}

#[tokio::test(start_paused = true)]
async fn received_messages_are_deleted_and_an_invalid_handle_is_handed_back_alone() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let mut handles = received(&simulator, &queue.url(), 300).await;
    handles.insert(150, "secret, and no handle".to_owned());
    let options = DeliveryOptions::default();
    let client = simulator.sqs_client();
    let error = Delivery::deletes_from_sqs(client.clone(), queue.url())
        .options(options.clone())
        .deliver(handles)
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered()[0].position), (300, 150));
    assert!(queue.is_empty());
    assert!(!format!("{error} {error:?}").contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn an_expired_receipt_is_refused_alone_and_its_neighbours_are_deleted() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders.fifo", QueueOptions::default().content_based_deduplication());
    let client = simulator.sqs_client();
    let options = DeliveryOptions::default();
    let handles = received(&simulator, &queue.url(), 30).await;
    let expired = [3, 17];
    let shorten = expired.map(|place: usize| VisibilityChange::new(&handles[place], Duration::from_secs(1)));
    Delivery::visibility_changes_in_sqs(client.clone(), queue.url())
        .options(options.clone())
        .deliver(shorten)
        .await
        .unwrap();
    sleep(Duration::from_secs(1)).await;
    let error = Delivery::deletes_from_sqs(client.clone(), queue.url())
        .options(options.clone())
        .deliver(handles)
        .await
        .unwrap_err();
    let mut refused: Vec<_> = error.undelivered().iter().map(|refused| refused.position).collect();
    refused.sort_unstable();
    assert_eq!((error.report.delivered, refused), (28, vec![3, 17]));
    assert!(
        error.undelivered()[0]
            .cause
            .to_string()
            .contains("InvalidParameterValue")
    );
    assert_eq!(queue.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn messages_are_hidden_for_as_long_as_was_said_last() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("orders", QueueOptions::default());
    let handles = received(&simulator, &queue.url(), 25).await;
    // Each is hidden for a while and then visible; in the other order none would be visible.
    let timeouts = [Duration::from_hours(1), Duration::ZERO];
    let changes = timeouts.map(|timeout| handles.iter().map(move |handle| VisibilityChange::new(handle, timeout)));
    let client = simulator.sqs_client();
    let options = DeliveryOptions::default();
    let changes = changes.into_iter().flatten();
    let report = Delivery::visibility_changes_in_sqs(client.clone(), queue.url())
        .options(options.clone())
        .deliver(changes)
        .await
        .unwrap();
    assert_eq!(report.delivered, 50);
    let call = client
        .receive_message()
        .queue_url(queue.url())
        .max_number_of_messages(10);
    assert_eq!(call.send().await.unwrap().messages().len(), 10);
}
