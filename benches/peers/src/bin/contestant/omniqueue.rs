//! `omniqueue`: one chunk after another, by each worker.

use std::sync::Arc;

use aws_sdk_sqs::config::retry::RetryConfig;
use futures::future::join_all;
use omniqueue::QueueProducer;
use omniqueue::backends::SqsBackend;
use peers::{Failure, Offered, Told, Work};

use super::sqs;

pub async fn send(work: &Work) -> Result<Told, Failure> {
    let producer = SqsBackend::builder(work.target.as_str())
        .sqs_config(sqs::config(work, RetryConfig::standard())?)
        .build_producer()
        .await?;
    let producer = Arc::new(producer);
    let bodies: Vec<String> = (0..work.offered.entries).map(Offered::body).collect();
    let parts = work.parts(bodies);
    work.start()?;
    let workers = parts.into_iter().map(|part| {
        let producer = Arc::clone(&producer);
        tokio::spawn(async move { producer.send_bytes_batch(&part).await })
    });
    let mut all = Told::success();
    for result in join_all(workers).await {
        all = all.and(result?.map_or_else(|_| Told::failure(), |()| Told::success()));
    }
    Ok(all)
}
