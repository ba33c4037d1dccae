//! The service: the simulator over loopback HTTP, with TLS if it has a proxy with a certificate, in a process of its own.
//!
//! It prints its endpoint. On the first line that it reads it makes the table or the queue anew and empty, on the second it
//! prints its tally.

mod proxy;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use aws_batch_simulator::{KeyType, Latency, Queue, QueueOptions, Simulator, Statistics, Table, TableOptions};
use clap::Parser;
use peers::{FIFO_QUEUE, Failure, Offered, QUEUE, Scenario, Service, TABLE, Tally, Trouble, number_of_body};
use proxy::Proxy;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin, stdin};

#[derive(Parser)]
struct Arguments {
    #[arg(long)]
    scenario: String,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Connections pass through a proxy that counts them
    #[arg(long)]
    proxy: bool,
    /// The certificate and the key of the proxy, which then has TLS
    #[arg(long, requires = "proxy")]
    identity: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let scenario = Scenario::find(&arguments.scenario).ok_or("no such scenario")?;
    let simulator = Simulator::new(arguments.seed);
    simulator.set_latency(Latency::fixed(scenario.round_trip()));
    let server = simulator.serve("127.0.0.1:0").await?;
    let proxy = if arguments.proxy {
        Some(Proxy::before(server.address(), arguments.identity.as_deref()).await?)
    } else {
        None
    };
    println!(
        "{}",
        proxy.as_ref().map_or(server.endpoint(), |proxy| proxy.endpoint.clone())
    );

    let mut lines = BufReader::new(stdin()).lines();
    next(&mut lines).await?;
    let mut tally = match scenario.service {
        Service::Dynamo => {
            let table = make_table(&simulator, scenario);
            println!("begun");
            next(&mut lines).await?;
            tally_of_table(&table, &scenario.offered())
        }
        Service::Sqs => {
            let queue = make_queue(&simulator, scenario);
            println!("begun");
            next(&mut lines).await?;
            tally_of_queue(&queue, &scenario.offered())
        }
    };
    tally.connections = proxy.as_ref().map_or(0, Proxy::connections);
    println!("{}", serde_json::to_string(&tally)?);
    Ok(())
}

async fn next(lines: &mut Lines<BufReader<Stdin>>) -> Result<String, Failure> {
    Ok(lines.next_line().await?.ok_or("the comparison has gone")?)
}

fn make_table(simulator: &Simulator, scenario: &Scenario) -> Table {
    let table = simulator.table(TABLE, TableOptions::key("id", KeyType::S).capacity(scenario.capacity()));
    table.set_faults(scenario.faults());
    table.keep_journal();
    if let Trouble::Poison(number) = scenario.trouble {
        let number = number.to_string();
        table.poison(move |item| item["n"]["N"] == *number);
    }
    table
}

fn make_queue(simulator: &Simulator, scenario: &Scenario) -> Queue {
    let name = if scenario.offered().groups > 0 {
        FIFO_QUEUE
    } else {
        QUEUE
    };
    let queue = simulator.queue(name, QueueOptions::default().capacity(scenario.capacity()));
    queue.set_faults(scenario.faults());
    queue
}

/// What was written when is in the journal: a write may be overwritten by a later one.
fn tally_of_table(table: &Table, offered: &Offered) -> Tally {
    let mut applied: HashMap<usize, usize> = HashMap::new();
    let mut keys: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut overtaken = 0;
    for record in table.journal() {
        if !record.acknowledgement().is_applied() {
            continue;
        }
        let number = record.entry()["n"]["N"].as_str().and_then(|number| number.parse().ok());
        let Some(number) = number else { continue };
        *applied.entry(number).or_default() += 1;
        let (last, latest) = keys.entry(offered.id(number)).or_default();
        overtaken += usize::from(number < *latest);
        *last = number;
        *latest = number.max(*latest);
    }
    let made_up_for = |number: usize| {
        keys.get(&offered.id(number))
            .is_some_and(|(_, latest)| *latest > number)
    };
    Tally {
        missing: (0..offered.entries)
            .filter(|number| !applied.contains_key(number) && !made_up_for(*number))
            .collect(),
        duplicates: applied.values().map(|times| times - 1).sum(),
        overtaken,
        stale: keys.values().filter(|(last, latest)| last != latest).count(),
        ..counted(table.statistics())
    }
}

fn tally_of_queue(queue: &Queue, offered: &Offered) -> Tally {
    let mut arrived: HashMap<usize, usize> = HashMap::new();
    let mut latest: HashMap<Option<String>, usize> = HashMap::new();
    let mut overtaken = 0;
    for message in queue.messages() {
        let Some(number) = number_of_body(&message.body) else {
            continue;
        };
        *arrived.entry(number).or_default() += 1;
        if message.group.is_some() {
            let latest = latest.entry(message.group).or_default();
            overtaken += usize::from(number < *latest);
            *latest = number.max(*latest);
        }
    }
    Tally {
        missing: (0..offered.entries)
            .filter(|number| !arrived.contains_key(number))
            .collect(),
        duplicates: arrived.values().map(|times| times - 1).sum(),
        overtaken,
        ..counted(queue.statistics())
    }
}

fn counted(statistics: Statistics) -> Tally {
    Tally {
        calls: statistics.calls,
        entries: statistics.entries,
        rejected: statistics.throttled + statistics.failed,
        refused_calls: statistics.refused_calls,
        ..Tally::default()
    }
}
