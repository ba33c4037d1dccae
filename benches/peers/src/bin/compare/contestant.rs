//! The contestants: their scenarios, and how each is started.

use std::path::{Path, PathBuf};

use clap::Args;
use peers::{FIFO_QUEUE, Load, QUEUE, Scenario, Service, TABLE, Trouble};
use tokio::process::Command;

/// Seconds after which a program gives up waiting by itself: less than the limit of every scenario, so that it can still report
/// what it knows.
const PATIENCE: &str = "50";

/// The paths of the programs that are not written in Rust. A contestant whose program is missing does not take part.
#[derive(Args)]
pub struct Programs {
    /// A Python that has boto3
    #[arg(long)]
    pub python: Option<PathBuf>,
    /// boto3's contestant
    #[arg(long, default_value = "boto3/contestant.py")]
    pub script: PathBuf,
    /// The contestant for guregu/dynamo
    #[arg(long)]
    pub guregu: Option<PathBuf>,
    /// The class path of the contestant for `SqsAsyncBatchManager`
    #[arg(long)]
    pub class_path: Option<String>,
}

pub struct Contestant {
    pub name: &'static str,
    pub title: &'static str,
    program: Program,
    takes_part: fn(&Scenario) -> bool,
}

enum Program {
    /// The binary `contestant` with this first argument.
    Rust,
    Python(&'static [&'static str]),
    Go,
    Java,
}

macro_rules! contestants {
    ($($name:literal, $title:literal, $program:expr, $takes_part:expr;)*) => {
        const CONTESTANTS: &[Contestant] = &[$(Contestant {
            name: $name,
            title: $title,
            program: $program,
            takes_part: $takes_part,
        }),*];
    };
}

contestants! {
    "own", "**aws-batch-delivery**", Program::Rust, |_| true;
    "own-shared", "**aws-batch-delivery**, 32 deliveries share the pace", Program::Rust,
        |scenario| matches!(scenario.trouble, Trouble::Capacity(_));
    "own-strict", "**aws-batch-delivery**, `strict_order`", Program::Rust, has_groups;
    "backon", "SDK + backon 1.6.0", Program::Rust, |_| true;
    "adaptive", "SDK, adaptive retries", Program::Rust, |_| true;
    "facade", "dynamodb-facade 0.2.0", Program::Rust, is_dynamo;
    "dynamo-table", "dynamo_table 0.11.0", Program::Rust, is_dynamo;
    "graphddb", "graphddb_runtime 1.5.0", Program::Rust, is_dynamo;
    "omniqueue", "omniqueue 0.3.0", Program::Rust, |scenario| scenario.service == Service::Sqs && !has_groups(scenario);
    "boto3", "boto3 1.44.8 `batch_writer`", Program::Python(&[]), is_dynamo;
    "boto3-overwrite", "boto3 1.44.8 `batch_writer`, `overwrite_by_pkeys`", Program::Python(&["--overwrite"]),
        |scenario| scenario.load == Load::Duplicates;
    "guregu", "guregu/dynamo 2.1.1 (Go)", Program::Go, is_dynamo;
    "batch-manager", "SqsAsyncBatchManager 2.54.14 (Java)", Program::Java, |scenario| scenario.service == Service::Sqs;
}

fn is_dynamo(scenario: &Scenario) -> bool {
    scenario.service == Service::Dynamo
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

    /// The command that starts it, without the endpoint; `None` if its program is missing.
    pub fn command(&self, scenario: &Scenario, programs: &Programs) -> Option<Command> {
        let mut command = match self.program {
            Program::Rust => {
                let mut command = Command::new(beside_this("contestant"));
                command.arg(self.name);
                command
            }
            Program::Python(more) => {
                let mut command = Command::new(programs.python.as_ref()?);
                command.arg(&programs.script).args(more);
                command
            }
            Program::Go => Command::new(programs.guregu.as_ref()?),
            Program::Java => {
                let mut command = Command::new("java");
                command.args([
                    "-cp",
                    programs.class_path.as_ref()?,
                    "Contestant",
                    "--patience",
                    PATIENCE,
                ]);
                command
            }
        };
        let offered = scenario.offered();
        command.args(["--target", &target(scenario)]);
        command.args(["--entries", &offered.entries.to_string()]);
        command.args(["--workers", &scenario.workers().to_string()]);
        if offered.groups > 0 {
            command.args(["--groups", &offered.groups.to_string()]);
        }
        if offered.duplicates {
            command.arg("--duplicates");
        }
        Some(command)
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
