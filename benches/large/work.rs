//! The work of a process of its own.

use std::time::Instant;

use aws_batch_delivery::{Delivery, DeliveryOptions};
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use aws_sdk_dynamodb::{Client, Config};
use futures::stream;
use tokio::task::JoinSet;

use crate::ahead;
use crate::immediate::all_written;

/// The works that read ahead, and the bytes of their entries.
const NOTES: [(&str, usize); 2] = [("ahead", 120), ("ahead-large", 10_000)];

/// Tasks that share a producer.
const PRODUCERS: usize = 1_000;

/// Delivers this many entries through the SDK to a service that accepts everything, and prints the peak memory of the process in
/// KiB.
pub(crate) async fn once(work: &str, entries: usize) {
    let started = Instant::now();
    if let Some(note) = NOTES.iter().find_map(|(of, bytes)| (*of == work).then_some(*bytes)) {
        let (delivered, most, bytes) = ahead::deliver(client(), entries, note).await;
        assert_eq!(delivered, entries as u64);
        let seconds = started.elapsed().as_secs_f64();
        return println!("{} {seconds:.1} {most} entries of {bytes} bytes read ahead", peak_kib());
    }
    let delivery = Delivery::to_dynamo(client(), "orders")
        .map_target(|table| table.key("id"))
        .options(DeliveryOptions::default());
    let delivered = if work == "stream" {
        let report = delivery.deliver_stream(stream::iter((0..entries).map(write))).await;
        report.expect("the service takes everything").delivered
    } else {
        let producer = delivery.producer();
        let mut tasks = JoinSet::new();
        for task in 0..PRODUCERS {
            let producer = producer.clone();
            tasks.spawn(async move {
                for number in (task..entries).step_by(PRODUCERS) {
                    producer
                        .send(write(number))
                        .await
                        .expect("the service takes everything");
                }
            });
        }
        tasks.join_all().await;
        producer.close().await.expect("every entry has a fate").delivered
    };
    assert_eq!(delivered, entries as u64);
    println!("{} {:.1}", peak_kib(), started.elapsed().as_secs_f64());
}

/// The peak memory of this process, from the kernel.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse().ok()).expect("a number of kB")
}

fn write(number: usize) -> WriteRequest {
    let put = PutRequest::builder()
        .item("id", AttributeValue::S(format!("order-{number:012}")))
        .item("customer", AttributeValue::S(format!("customer-{}", number % 1_000)))
        .item("total", AttributeValue::N(format!("{}.95", number % 500)))
        .item("note", AttributeValue::S("leave it with the neighbours, ".repeat(4)))
        .build()
        .expect("an item is there");
    WriteRequest::builder().put_request(put).build()
}

fn client() -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::for_tests())
        .http_client(all_written())
        .build();
    Client::from_conf(config)
}
