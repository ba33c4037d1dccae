//! This crate, with its defaults.

use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{
    Delivery, DeliveryError, DeliveryOptions, Report, deliver_batch_to_dynamo, deliver_batch_to_sqs,
};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use futures::future::join_all;
use peers::{Failure, Told, Work};

use super::{dynamo, sqs};

pub async fn write(work: &Work) -> Result<Told, Failure> {
    let client = dynamo::client(work, RetryConfig::standard())?;
    let writes = dynamo::writes(work)?;
    let options = DeliveryOptions::default().concurrency(work.workers);
    work.start()?;
    let result = deliver_batch_to_dynamo(&client, &work.target, writes, &options).await;
    Ok(told(result, |write| dynamo::numbers([write])))
}

/// Each worker has its own delivery with one call at a time. Their options are clones.
pub async fn write_by_workers(work: &Work) -> Result<Told, Failure> {
    let client = dynamo::client(work, RetryConfig::standard())?;
    let parts = work.parts(dynamo::writes(work)?);
    let options = DeliveryOptions::default().concurrency(1);
    work.start()?;
    let workers = parts.into_iter().map(|part| {
        let (client, table, options) = (client.clone(), work.target.clone(), options.clone());
        tokio::spawn(async move { deliver_batch_to_dynamo(&client, table, part, &options).await })
    });
    let mut all = Told::success();
    for result in join_all(workers).await {
        all = all.and(told(result?, |write| dynamo::numbers([write])));
    }
    Ok(all)
}

pub async fn send(work: &Work, strict: bool) -> Result<Told, Failure> {
    let client = sqs::client(work, RetryConfig::standard())?;
    let messages = sqs::messages(work)?;
    let options = DeliveryOptions::default().concurrency(work.workers);
    work.start()?;
    let result = if strict {
        let queue = Delivery::to_sqs(client, &work.target).map_target(SqsQueue::strict_order);
        queue.options(options).deliver(messages).await
    } else {
        deliver_batch_to_sqs(&client, &work.target, messages, &options).await
    };
    Ok(told(result, |message| sqs::numbers([message])))
}

fn told<E>(result: Result<Report, DeliveryError<E>>, numbers: impl Fn(&E) -> Vec<usize>) -> Told {
    match result {
        Ok(_) => Told::success(),
        Err(error) => {
            let undelivered = error.undelivered().iter();
            Told::undelivered(
                undelivered
                    .flat_map(|undelivered| numbers(&undelivered.entry))
                    .collect(),
            )
        }
    }
}
