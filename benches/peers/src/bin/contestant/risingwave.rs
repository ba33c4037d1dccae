//! The loop of `RisingWave`'s sink. It returns a failure without its writes; the engine then begins again behind the last chunk before
//! which everything is written.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::WriteRequest;
use futures::{StreamExt, TryStreamExt, stream};
use peers::{Failure, Service, Told, Work};
use tokio::time::sleep;

use super::{dynamo, steps};

/// Rows of a chunk of the stream, by default.
const ROWS: usize = 256;

/// Calls of a chunk at once, and overlapping chunks.
const AT_ONCE: usize = 256;

/// The longest delays between the tries of a call.
const DELAYS: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_secs(2),
    Duration::from_secs(2),
];

/// The longest delays before the engine begins again, from the first one to all later ones, as long as no chunk is written.
const RESTART: Duration = Duration::from_secs(2);
const LATER_RESTART: Duration = Duration::from_mins(3);

/// When a chunk is sent.
#[derive(Clone, Copy)]
pub enum Chunks {
    /// When the one before is written.
    Alone,
    /// At the same time as others, as when leftovers were first sent again.
    Overlapping,
}

impl Chunks {
    fn at_once(self) -> usize {
        match self {
            Self::Alone => 1,
            Self::Overlapping => AT_ONCE,
        }
    }

    fn delay(self, retry: usize) -> Duration {
        match self {
            Self::Alone => DELAYS[retry].mul_f64(rand::random()),
            Self::Overlapping => Duration::from_millis(rand::random_range(100..=500)),
        }
    }
}

/// Some writes of a chunk are not written.
struct Unwritten;

pub async fn write(work: &Work, order: Chunks) -> Result<Told, Failure> {
    let client = dynamo::client(work, RetryConfig::standard())?;
    let chunks = steps::cut(&dynamo::writes(work)?, ROWS);
    work.start()?;
    let (mut written, mut restart) = (0, RESTART);
    loop {
        let mut results = stream::iter(&chunks[written..])
            .map(|chunk| write_chunk(&client, &work.target, chunk, order))
            .buffered(order.at_once());
        loop {
            match results.next().await {
                Some(Ok(())) => (written, restart) = (written + 1, RESTART),
                Some(Err(Unwritten)) => break,
                None => return Ok(Told::success()),
            }
        }
        drop(results);
        sleep(restart.mul_f64(rand::random())).await;
        restart = LATER_RESTART;
    }
}

async fn write_chunk(client: &Client, table: &str, chunk: &[WriteRequest], order: Chunks) -> Result<(), Unwritten> {
    stream::iter(chunk.chunks(Service::Dynamo.chunk()))
        .map(|writes| call(client, table, writes.to_vec(), order))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}

async fn call(client: &Client, table: &str, mut writes: Vec<WriteRequest>, order: Chunks) -> Result<(), Unwritten> {
    for retry in 0..=DELAYS.len() {
        match dynamo::call(client, table, writes).await {
            dynamo::Outcome::Done => return Ok(()),
            dynamo::Outcome::Unprocessed(rest) if retry < DELAYS.len() => writes = rest,
            _ => break,
        }
        sleep(order.delay(retry)).await;
    }
    Err(Unwritten)
}
