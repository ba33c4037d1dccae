//! The contestants that are written in Rust, each under its own name.

mod adaptive;
mod backon;
mod dynamo;
mod dynamo_table;
mod facade;
mod feldera;
mod graphddb;
mod http;
mod lanes;
mod omniqueue;
mod own;
mod risingwave;
mod spice;
mod sqs;
mod steps;

use clap::{Parser, ValueEnum};
use peers::{Failure, Told, Work};

#[derive(Parser)]
struct Arguments {
    contestant: Contestant,
    #[command(flatten)]
    work: Work,
}

#[derive(Clone, Copy, ValueEnum)]
enum Contestant {
    Own,
    OwnShared,
    OwnStrict,
    Backon,
    Adaptive,
    Facade,
    DynamoTable,
    Graphddb,
    SinkRisingwave,
    SinkRisingwaveOverlap,
    SinkFeldera,
    SinkFelderaOverlap,
    SinkSpice,
    Omniqueue,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let Arguments { contestant, work } = Arguments::parse();
    run(contestant, work).await?.tell()
}

async fn run(contestant: Contestant, work: Work) -> Result<Told, Failure> {
    // The URL of a queue, or the name of a table.
    let is_queue = work.target.contains('/');
    match contestant {
        Contestant::Own if is_queue => own::send(&work, false).await,
        Contestant::Own => own::write(&work).await,
        Contestant::OwnShared => own::write_by_workers(&work).await,
        Contestant::OwnStrict => own::send(&work, true).await,
        Contestant::Backon if is_queue => backon::send(work).await,
        Contestant::Backon => backon::write(work).await,
        Contestant::Adaptive if is_queue => adaptive::send(work).await,
        Contestant::Adaptive => adaptive::write(work).await,
        Contestant::Facade => facade::write(&work).await,
        Contestant::DynamoTable => dynamo_table::write(&work).await,
        Contestant::Graphddb => graphddb::write(&work).await,
        Contestant::SinkRisingwave => risingwave::write(&work, risingwave::Chunks::Alone).await,
        Contestant::SinkRisingwaveOverlap => risingwave::write(&work, risingwave::Chunks::Overlapping).await,
        Contestant::SinkFeldera => feldera::write(&work, feldera::Steps::Alone).await,
        Contestant::SinkFelderaOverlap => feldera::write(&work, feldera::Steps::Overlapping).await,
        Contestant::SinkSpice => spice::write(&work).await,
        Contestant::Omniqueue => omniqueue::send(&work).await,
    }
}
