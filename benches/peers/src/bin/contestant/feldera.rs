//! The loop of Feldera's sink. What it cannot write is logged as a number, and dropped.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::WriteRequest;
use peers::{Failure, Service, Told, Work};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{dynamo, steps};

/// Changes of a step. The engine makes steps of what has arrived.
const CHANGES: usize = 1_000;

const AT_ONCE: usize = 64;
const RETRIES: u32 = 10;

/// When a step is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// When all calls of the one before have ended.
    Alone,
    /// At the same time as the one before, as an option allowed at first.
    Overlapping,
}

/// Some writes of a call are not written.
struct Unwritten;

type Calls = JoinSet<Result<(), Unwritten>>;

pub async fn write(work: &Work, order: Steps) -> Result<Told, Failure> {
    let client = dynamo::client(work, RetryConfig::standard())?;
    let steps = steps::cut(&dynamo::writes(work)?, CHANGES);
    work.start()?;
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let (mut calls, mut has_failed) = (Calls::new(), false);
    for step in steps {
        for chunk in step.chunks(Service::Dynamo.chunk()) {
            let permit = Arc::clone(&permits).acquire_owned().await?;
            let is_cut_short = have_failed(&mut calls)?;
            has_failed |= is_cut_short;
            let (client, table, writes) = (client.clone(), work.target.clone(), chunk.to_vec());
            calls.spawn(async move {
                let _permit = permit;
                call(&client, &table, writes).await
            });
            if is_cut_short && order == Steps::Alone {
                // What is not sent yet of a step with a failed call is dropped.
                break;
            }
        }
        if order == Steps::Alone {
            has_failed |= end(&mut calls).await?;
        }
    }
    has_failed |= end(&mut calls).await?;
    Ok(if has_failed { Told::failure() } else { Told::success() })
}

/// Whether one of the calls that have ended has failed.
fn have_failed(calls: &mut Calls) -> Result<bool, Failure> {
    let mut has_failed = false;
    while let Some(result) = calls.try_join_next() {
        has_failed |= result?.is_err();
    }
    Ok(has_failed)
}

/// Waits for all calls. Whether one of them has failed.
async fn end(calls: &mut Calls) -> Result<bool, Failure> {
    let mut has_failed = false;
    while let Some(result) = calls.join_next().await {
        has_failed |= result?.is_err();
    }
    Ok(has_failed)
}

async fn call(client: &Client, table: &str, mut writes: Vec<WriteRequest>) -> Result<(), Unwritten> {
    for retry in 1..=RETRIES + 1 {
        match dynamo::call(client, table, writes).await {
            dynamo::Outcome::Done => return Ok(()),
            dynamo::Outcome::Unprocessed(rest) if retry <= RETRIES => writes = rest,
            _ => break,
        }
        sleep(full_jitter(retry)).await;
    }
    Err(Unwritten)
}

/// 0 to 100 ms, 0 to 200 ms, and so on up to 0 to 12.8 s.
fn full_jitter(retry: u32) -> Duration {
    Duration::from_millis(50 << retry.min(8)).mul_f64(rand::random())
}
