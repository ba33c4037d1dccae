//! The contestants: their scenarios, and how each is started.

use std::path::{Path, PathBuf};

use peers::{FIFO_QUEUE, Load, QUEUE, Scenario, Service, TABLE, Trouble};
use tokio::process::Command;

pub struct Contestant {
    pub name: &'static str,
    pub title: &'static str,
    takes_part: fn(&Scenario) -> bool,
}

macro_rules! contestants {
    ($($name:literal, $title:literal, $takes_part:expr;)*) => {
        const CONTESTANTS: &[Contestant] = &[$(Contestant {
            name: $name,
            title: $title,
            takes_part: $takes_part,
        }),*];
    };
}

contestants! {
    "own", "**aws-batch-delivery**", |_| true;
    "own-shared", "**aws-batch-delivery**, 32 deliveries share the pace",
        |scenario| matches!(scenario.trouble, Trouble::Capacity(_)) && scenario.load == Load::Plain;
    "own-strict", "**aws-batch-delivery**, `strict_order`", has_groups;
    "backon", "SDK + backon 1.6.0", |_| true;
    "adaptive", "SDK, adaptive retries", |_| true;
    "facade", "dynamodb-facade 0.2.0", is_dynamo;
    "dynamo-table", "dynamo_table 0.11.0", is_dynamo;
    "graphddb", "graphddb_runtime 1.5.0", is_dynamo;
    "sink-risingwave", "RisingWave's loop", is_disturbed_table;
    "sink-risingwave-overlap", "RisingWave's loop, chunks overlap", is_disturbed_table;
    "sink-feldera", "Feldera's loop", is_disturbed_table;
    "sink-feldera-overlap", "Feldera's loop, steps overlap", is_disturbed_table;
    "sink-spice", "Spice.ai's loop", is_disturbed_table;
    "omniqueue", "omniqueue 0.3.0", |scenario| scenario.service == Service::Sqs && !has_groups(scenario);
}

fn is_dynamo(scenario: &Scenario) -> bool {
    scenario.service == Service::Dynamo
}

fn is_disturbed_table(scenario: &Scenario) -> bool {
    let is_easy = matches!(scenario.trouble, Trouble::None) && scenario.load == Load::Plain;
    is_dynamo(scenario) && !is_easy
}

fn has_groups(scenario: &Scenario) -> bool {
    matches!(scenario.load, Load::Groups(_))
}

impl Contestant {
    /// The contestants that support a scenario.
    pub fn of(scenario: &Scenario) -> impl Iterator<Item = &'static Self> {
        CONTESTANTS
            .iter()
            .filter(|contestant| (contestant.takes_part)(scenario))
    }

    /// The command that starts it, without the endpoint.
    pub fn command(&self, scenario: &Scenario) -> Command {
        let mut command = Command::new(beside_this("contestant"));
        self.arguments(&mut command, scenario, scenario.entries);
        command
    }

    /// Adds its arguments for so many entries, without the endpoint.
    pub fn arguments(&self, command: &mut Command, scenario: &Scenario, entries: usize) {
        command.arg(self.name);
        let offered = scenario.offered();
        command.args(["--target", &target(scenario)]);
        command.args(["--entries", &entries.to_string()]);
        command.args(["--workers", &scenario.workers().to_string()]);
        if offered.groups > 0 {
            command.args(["--groups", &offered.groups.to_string()]);
        }
        if offered.keys > 0 {
            command.args(["--keys", &offered.keys.to_string()]);
        }
        if offered.duplicates {
            command.arg("--duplicates");
        }
    }
}

fn target(scenario: &Scenario) -> String {
    match scenario.service {
        Service::Dynamo => TABLE.to_owned(),
        Service::Sqs => {
            let queue = if has_groups(scenario) { FIFO_QUEUE } else { QUEUE };
            format!("https://sqs.us-east-1.amazonaws.com/000000000000/{queue}")
        }
    }
}

/// Another binary of this package.
pub fn beside_this(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap_or_default();
    this.parent().unwrap_or(Path::new("")).join(name)
}
