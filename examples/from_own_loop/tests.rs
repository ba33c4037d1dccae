use aws_batch_delivery::Delivery;
use aws_batch_delivery::backoff::Exponential;
use aws_batch_simulator::{InjectedFault, Table};
use serde_json::json;

use super::*;

/// A table with this capacity, and its client.
fn orders(capacity: Capacity) -> (Table, Client) {
    let simulator = Simulator::new(1);
    simulator.set_latency(Latency::fixed(Duration::from_millis(20)));
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S).capacity(capacity));
    (table, simulator.dynamo_client())
}

fn version(table: &Table, id: u32) -> Option<String> {
    let item = table.item(&json!({"id": {"S": format!("order-{id}")}}))?;
    Some(item["version"]["N"].as_str().unwrap().to_owned())
}

/// risingwavelabs/risingwave#25985: what is not processed counts as written, or its loop gives up after some tries.
#[tokio::test(start_paused = true)]
async fn the_loop_gives_items_up_and_does_not_say_which() {
    let writes = || (0..2_000).map(|id| put(id, 1)).collect::<Vec<_>>();
    let slow = || Capacity::per_second(200.0).burst(25.0);
    let (table, client) = orders(slow());
    let error = write_by_hand(&client, writes(), 3).await.unwrap_err();
    // It ends with the first chunk that is given up, with a number.
    assert!(error.to_string().ends_with("items are left over"), "{error}");
    assert!(table.len() < 1_000, "{}", table.len());

    let (table, client) = orders(slow());
    write(&client, writes()).await.unwrap();
    assert_eq!(table.len(), 2_000);

    // With as few tries, each item that is missing comes back.
    let (table, client) = orders(slow());
    let options = DeliveryOptions::default()
        .backoff(Exponential::full_jitter())
        .retries(2);
    let error = Delivery::to_dynamo(client, "orders")
        .options(options)
        .deliver(writes())
        .await
        .unwrap_err();
    assert_eq!(table.len() + error.undelivered().len(), 2_000);
    for undelivered in error.undelivered() {
        let item = undelivered.entry.put_request().unwrap().item();
        let key = json!({"id": {"S": item["id"].as_s().unwrap()}});
        assert!(table.item(&key).is_none(), "{key} is in the table");
    }
}

/// The review of risingwavelabs/risingwave#25985: an older write is sent again behind a newer one of its key.
#[tokio::test(start_paused = true)]
async fn the_loop_writes_an_older_version_over_a_newer_one() {
    // The same 25 orders twice, in two calls; the first leaves some of its entries unprocessed.
    let writes = || {
        (0..50)
            .map(|number| put(number % 25, 1 + number / 25))
            .collect::<Vec<_>>()
    };
    let newest = async |by_hand: bool| {
        let (table, client) = orders(Capacity::unlimited());
        table.script([InjectedFault::Unprocessed(5)]);
        if by_hand {
            write_by_hand(&client, writes(), 10).await.unwrap();
        } else {
            write(&client, writes()).await.unwrap();
        }
        (0..25)
            .filter(|id| version(&table, *id).as_deref() == Some("2"))
            .count()
    };
    assert_eq!((newest(true).await, newest(false).await), (20, 25));
}

/// boto/boto3#605 and others: two writes of a key in a call, or one item that is too large, and none of the 25 is written.
#[tokio::test(start_paused = true)]
async fn one_bad_item_or_a_repeated_key_refuses_its_whole_call() {
    let mut repeated: Vec<_> = (0..24).map(|id| put(id, 1)).collect();
    repeated.push(put(7, 2));
    let mut large = repeated[..24].to_vec();
    let text = AttributeValue::S("x".repeat(410_000));
    let item = PutRequest::builder()
        .item("id", AttributeValue::S("large".to_owned()))
        .item("text", text);
    large.push(WriteRequest::builder().put_request(item.build().unwrap()).build());
    for (writes, written) in [(repeated, 24), (large, 24)] {
        let (table, client) = orders(Capacity::unlimited());
        write_by_hand(&client, writes.clone(), 10).await.unwrap_err();
        assert_eq!(table.len(), 0);

        let (table, client) = orders(Capacity::unlimited());
        let delivered = deliver_batch_to_dynamo(&client, "orders", writes, &DeliveryOptions::default()).await;
        let refused = delivered.err().map_or(0, |error| error.undelivered().len());
        assert_eq!((table.len(), refused <= 1), (written, true));
        if refused == 0 {
            assert_eq!(version(&table, 7).as_deref(), Some("2"));
        }
    }
}

/// awslabs/aws-sdk-rust#1456: each chunk has a delay of its own, and the others continue to send.
#[tokio::test(start_paused = true)]
async fn the_loop_is_rejected_again_and_again_because_each_chunk_waits_alone() {
    let rejected = async |by_hand: bool| {
        let (table, client) = orders(Capacity::per_second(1_000.0).burst(100.0));
        let writes = (0..10_000).map(|id| put(id, 1)).collect();
        if by_hand {
            write_by_hand(&client, writes, 30).await.unwrap();
        } else {
            write(&client, writes).await.unwrap();
        }
        assert_eq!(table.len(), 10_000);
        table.statistics().throttled
    };
    let (by_hand, by_crate) = (rejected(true).await, rejected(false).await);
    assert!(by_hand > 10 * by_crate, "{by_hand} and {by_crate} rejections");
}
