//! One contestant in one scenario.

use std::time::{Duration, Instant};

use peers::{Failure, Scenario, Tally, Told};
use tokio::process::Command;
use tokio::time::timeout;

use crate::contestant::beside_this;
use crate::process::Process;
use crate::transport::Transport;

/// How long the service may take to count its entries at the end.
const PATIENCE: Duration = Duration::from_mins(1);

pub struct Measured {
    /// From the start signal until it reported its end, or was stopped.
    pub elapsed: Duration,
    /// Processor time used in this time.
    pub processor: Duration,
    /// Bytes at the peak, including the entries.
    pub memory: u64,
    /// `None` if it was stopped.
    pub told: Option<Told>,
    pub tally: Tally,
}

impl Measured {
    /// Entries that are neither in the service nor handed back.
    pub fn lost(&self) -> usize {
        let handed_back = self.told.as_ref().map_or(&[][..], |told| &told.handed_back);
        let handed_back: std::collections::HashSet<usize> = handed_back.iter().copied().collect();
        self.tally
            .missing
            .iter()
            .filter(|number| !handed_back.contains(number))
            .count()
    }

    pub fn handed_back(&self) -> usize {
        self.told.as_ref().map_or(0, |told| told.handed_back.len())
    }
}

/// A service with an empty table or queue, and a contestant that waits for its start signal: fresh processes.
pub async fn started(
    scenario: &Scenario,
    mut contestant: Command,
    transport: Transport,
    seed: u64,
) -> Result<(Process, Process), Failure> {
    let mut serve = Command::new(beside_this("serve"));
    serve.args(["--scenario", scenario.name, "--seed", &seed.to_string()]);
    transport.arguments(&mut serve, &mut contestant);
    let mut service = Process::start(serve)?;
    let endpoint = service.hear().await?;

    contestant.args(["--endpoint", &endpoint]);
    let mut contestant = Process::start(contestant)?;
    contestant.hear().await?;
    service.say().await?;
    service.hear().await?;
    Ok((service, contestant))
}

pub async fn run(
    scenario: &Scenario,
    contestant: Command,
    transport: Transport,
    seed: u64,
) -> Result<Measured, Failure> {
    let (mut service, mut contestant) = started(scenario, contestant, transport, seed).await?;
    let before = contestant.used()?;
    let start = Instant::now();
    contestant.say().await?;
    let told = match timeout(scenario.limit(), contestant.hear()).await {
        Ok(line) => Some(serde_json::from_str(&line?)?),
        Err(_) => None,
    };
    let elapsed = start.elapsed();
    let after = contestant.used()?;
    contestant.end().await?;

    service.say().await?;
    let tally = timeout(PATIENCE, service.hear()).await??;
    Ok(Measured {
        elapsed,
        processor: after.processor.saturating_sub(before.processor),
        memory: after.memory,
        told,
        tally: serde_json::from_str(&tally)?,
    })
}
