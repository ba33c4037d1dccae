//! Runs every contestant with the same work against the same service, one after another, and writes the results.

mod contestant;
mod instructions;
mod machine;
mod measure;
mod process;
mod results;

use std::path::PathBuf;

use clap::Parser;
use contestant::Contestant;
use peers::{Failure, SCENARIOS, Scenario};

/// The heading of the results of another bench. From there on the file is not changed.
const OTHERS: &str = "\n# Compared with SDK + backon alone";

/// Runs every contestant with the same work against the same service, one after another.
#[derive(Parser)]
struct Arguments {
    /// Only this scenario; may be given several times
    #[arg(long)]
    scenario: Vec<String>,
    /// Only contestants whose name contains this
    #[arg(long)]
    contestant: Option<String>,
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
    let mut results = if arguments.instructions {
        String::new()
    } else {
        results::heading(&arguments.date)
    };
    print!("{results}");
    for scenario in SCENARIOS {
        if !arguments.scenario.is_empty() && !arguments.scenario.iter().any(|name| name == scenario.name) {
            continue;
        }
        if !arguments.instructions {
            show(&mut results, &results::table_heading(scenario));
        }
        for contestant in Contestant::of(scenario) {
            if arguments
                .contestant
                .as_ref()
                .is_some_and(|part| !contestant.name.contains(part))
            {
                continue;
            }
            if arguments.instructions {
                let count = instructions::per_entry(scenario, contestant, arguments.seed).await?;
                println!(
                    "{}, {}: {count:.0} instructions an entry",
                    scenario.name, contestant.name
                );
                continue;
            }
            let measured = measure::run(scenario, contestant.command(scenario), arguments.seed).await;
            let measured = measured.map_err(|error| format!("{}, {}: {error}", scenario.name, contestant.name))?;
            show(&mut results, &results::line(scenario, contestant, &measured));
        }
    }
    if let Some(path) = arguments.write.filter(|_| !arguments.instructions) {
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
