//! Draws how strategies pace: as SVG.
//!
//! ```text
//! cargo run --release --example backoff_plot -- responsive
//! cargo run --release --example backoff_plot -- timeline --capacity 0:1000,20:500,40:2000 --seconds 60
//! ```
//!
//! `responsive` draws the published picture of responsive exponential backoff: the delay over the number of the request.
//! `timeline` loads a simulated table whose capacity changes, and draws what was accepted, what was rejected, and the
//! strategy's estimate of the capacity. It takes a second or two: the clock is paused.

mod canvas;
mod responsive;
mod timeline;

use std::error::Error;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

type Failure = Box<dyn Error + Send + Sync>;

/// Draws how strategies pace.
#[derive(Parser)]
struct Arguments {
    /// Where to write the pictures
    #[arg(long, default_value = "docs/pictures", global = true)]
    into: PathBuf,
    #[command(subcommand)]
    picture: Picture,
}

#[derive(Subcommand)]
enum Picture {
    /// The published picture of responsive exponential backoff
    Responsive,
    /// A table whose capacity changes, and a strategy that follows it
    Timeline(timeline::Scenario),
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    std::fs::create_dir_all(&arguments.into)?;
    match arguments.picture {
        Picture::Responsive => responsive::draw(&arguments.into),
        Picture::Timeline(scenario) => timeline::draw(&scenario, &arguments.into),
    }
}
