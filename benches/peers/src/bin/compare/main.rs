//! Runs every contestant with the same work against the same service, one after another, and writes the results.

mod contestant;
mod instructions;
mod machine;
mod measure;
mod process;
mod results;
mod transport;
mod turns;

use std::path::PathBuf;

use clap::Parser;
use contestant::Contestant;
use peers::{Failure, SCENARIOS, Scenario};
use transport::Transport;

/// The heading of the results of another bench. From there on the file is not changed.
const OTHERS: &str = "\n# Compared with SDK + backon alone";

/// Runs every contestant with the same work against the same service, one after another.
#[derive(Parser)]
struct Arguments {
    /// Only this scenario; may be given several times
    #[arg(long)]
    scenario: Vec<String>,
    /// Only contestants whose name contains this; may be given several times
    #[arg(long)]
    contestant: Vec<String>,
    /// Only measures each contestant with and without TLS, alternately
    #[arg(long)]
    tls: bool,
    /// How often, with `--tls`
    #[arg(long, default_value_t = 6)]
    turns: usize,
    /// Only counts the instructions for an entry, by valgrind: no noise
    #[arg(long)]
    instructions: bool,
    /// Also writes the results to this file
    #[arg(long)]
    write: Option<PathBuf>,
    /// The date for the results
    #[arg(long, default_value = "undated")]
    date: String,
    /// The seed of the faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    if let Some(unknown) = arguments.scenario.iter().find(|name| Scenario::find(name).is_none()) {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        return Err(format!("no scenario {unknown}; there are {}", names.join(", ")).into());
    }
    if arguments.tls {
        Transport::make_identity().await?;
    }
    let only_prints = arguments.instructions || arguments.tls;
    let mut results = if only_prints {
        String::new()
    } else {
        results::heading(&arguments.date)
    };
    print!("{results}");
    for scenario in SCENARIOS {
        if !arguments.scenario.is_empty() && !arguments.scenario.iter().any(|name| name == scenario.name) {
            continue;
        }
        let names = &arguments.contestant;
        let takes_part = |contestant: &&Contestant| {
            names.is_empty() || names.iter().any(|part| contestant.name.contains(part.as_str()))
        };
        let contestants: Vec<_> = Contestant::of(scenario).filter(takes_part).collect();
        if arguments.tls && !arguments.instructions {
            let table = turns::table(scenario, &contestants, arguments.turns, arguments.seed).await?;
            print!("{table}");
            continue;
        }
        if !only_prints {
            show(&mut results, &results::table_heading(scenario));
        }
        for contestant in contestants {
            if arguments.instructions {
                let transports = if arguments.tls {
                    &Transport::COUNTED[..]
                } else {
                    &[Transport::Direct]
                };
                for transport in transports {
                    let counted = instructions::describe(scenario, contestant, *transport, arguments.seed).await?;
                    println!("{counted}");
                }
                continue;
            }
            let measured = measure::run(
                scenario,
                contestant.command(scenario),
                Transport::Direct,
                arguments.seed,
            )
            .await;
            let measured = measured.map_err(|error| format!("{}, {}: {error}", scenario.name, contestant.name))?;
            show(&mut results, &results::line(scenario, contestant, &measured));
        }
    }
    if let Some(path) = arguments.write.filter(|_| !only_prints) {
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        let rest = before.find(OTHERS).map_or("", |at| &before[at..]);
        std::fs::write(&path, results + rest)?;
    }
    Ok(())
}

fn show(results: &mut String, text: &str) {
    print!("{text}");
    results.push_str(text);
}
