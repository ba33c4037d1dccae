//! 64 workers share one pace: they load a table that accepts 1,000 writes/s, and then send as many messages to a queue that
//! rejects some of them. Everything runs in this process, against the simulator.
//!
//! ```text
//! cargo run -p quickstart
//! cargo run -p quickstart -- --file films.jsonl --key year,title
//! ```

mod input;
mod key;
mod live_line;
mod load;
mod queue;
mod report;
mod table;

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use aws_batch_simulator::{Latency, Simulator};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;

use self::key::Key;

type Failure = Box<dyn Error + Send + Sync>;
type Item = HashMap<String, AttributeValue>;

/// The round trip to the simulated services.
const ROUND_TRIP: Duration = Duration::from_millis(8);

/// Loads a simulated table and a simulated queue with many workers at once
#[derive(Parser)]
struct Arguments {
    /// Load the JSON objects of this file, one a line
    #[arg(long, requires = "key")]
    file: Option<PathBuf>,
    /// The key of these objects: one attribute or two
    #[arg(long, value_name = "NAME[,NAME]", requires = "file")]
    key: Option<String>,
    /// How many orders to generate
    #[arg(
        long, value_name = "COUNT", default_value_t = 20_000, conflicts_with = "file",
        value_parser = clap::value_parser!(u32).range(1..=10_000_000)
    )]
    orders: u32,
    /// How many workers share the load
    #[arg(long, value_name = "COUNT", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    workers: u32,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of the report may close the pipe early, as `head` does.
        Err(failure) if is_broken_pipe(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", in_words(&*failure));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), Failure> {
    let items = match &arguments.file {
        Some(file) => input::read(file)?,
        None => input::generate(arguments.orders),
    };
    let key = Key::of(arguments.key.as_deref().unwrap_or("id"), &items)?;
    let simulator = Simulator::new(42);
    simulator.set_latency(Latency::lognormal(ROUND_TRIP, 0.4));
    let workers = usize::try_from(arguments.workers)?;
    table::load(&simulator, &items, &key, workers).await?;
    queue::fill(&simulator, items.len(), workers).await
}

/// The failure and its sources on one line, without repetitions.
fn in_words(failure: &(dyn Error + 'static)) -> String {
    let mut words = failure.to_string();
    let mut source = failure.source();
    while let Some(failure) = source {
        let more = failure.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        source = failure.source();
    }
    words
}

fn is_broken_pipe(failure: &(dyn Error + 'static)) -> bool {
    let error = failure.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}
