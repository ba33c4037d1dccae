//! The loop of an `INSERT` of Spice.ai. The first failure ends it, without its writes.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::WriteRequest;
use futures::{StreamExt, TryStreamExt, stream};
use peers::{Failure, Service, Told, Work};
use tokio::time::sleep;

use super::dynamo;

const WORKERS: usize = 5;
const RETRIES: u32 = 8;

/// Some writes of a call are not written.
struct Unwritten;

pub async fn write(work: &Work) -> Result<Told, Failure> {
    let client = dynamo::client(work, RetryConfig::standard())?;
    let writes = dynamo::writes(work)?;
    work.start()?;
    let inserted = stream::iter(writes.chunks(Service::Dynamo.chunk()))
        .map(Ok)
        .try_for_each_concurrent(WORKERS, |chunk| call(&client, &work.target, chunk.to_vec()));
    Ok(match inserted.await {
        Ok(()) => Told::success(),
        Err(Unwritten) => Told::failure(),
    })
}

async fn call(client: &Client, table: &str, mut writes: Vec<WriteRequest>) -> Result<(), Unwritten> {
    for retry in 0..=RETRIES {
        match dynamo::call(client, table, writes).await {
            dynamo::Outcome::Done => return Ok(()),
            dynamo::Outcome::Unprocessed(rest) if retry < RETRIES => writes = rest,
            _ => break,
        }
        sleep(Duration::from_millis(50 << retry)).await;
    }
    Err(Unwritten)
}
