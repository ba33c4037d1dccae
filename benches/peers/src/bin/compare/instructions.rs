//! Counts instructions, which do not depend on other load on the machine.

use std::process::Stdio;

use peers::{Failure, Scenario, Tally};
use tokio::process::Command;

use crate::contestant::{Contestant, beside_this};
use crate::measure::started;
use crate::process::Process;
use crate::transport::Transport;

/// Entries of two runs. Only their difference counts, so that the start of the process does not.
const ENTRIES: [usize; 2] = [5_000, 15_000];

/// The functions in which the SDK opens a connection with TLS.
const HANDSHAKE: &str = "*RustTlsConnector*handle_direct_connection*";

/// Describes the instructions of a contestant: for one more entry, with its creation, and for all else.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub async fn describe(
    scenario: &Scenario,
    contestant: &Contestant,
    transport: Transport,
    seed: u64,
) -> Result<String, Failure> {
    let few = of_a_run(scenario, contestant, transport, ENTRIES[0], seed).await?;
    let many = of_a_run(scenario, contestant, transport, ENTRIES[1], seed).await?;
    let entry = (many.0 as f64 - few.0 as f64) / (ENTRIES[1] - ENTRIES[0]) as f64;
    let start = few.0 as f64 - entry * ENTRIES[0] as f64;
    let connections = match transport {
        Transport::Direct => String::new(),
        _ => format!("; {} and {} connections", few.1, many.1),
    };
    Ok(format!(
        "{}, {}, {}: {entry:.0} instructions an entry, {:.1} million to start{connections}",
        scenario.name,
        contestant.name,
        transport.title(),
        start / 1e6,
    ))
}

/// The instructions and the connections of a process that delivers so many entries.
async fn of_a_run(
    scenario: &Scenario,
    contestant: &Contestant,
    transport: Transport,
    entries: usize,
    seed: u64,
) -> Result<(u64, u64), Failure> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    // Not what opens a connection with TLS: neither the number of connections nor the work to gather random bytes is the same each time.
    valgrind.args([
        format!("--toggle-collect={HANDSHAKE}"),
        "--collect-atstart=yes".to_owned(),
    ]);
    valgrind.arg(beside_this("contestant")).stderr(Stdio::piped());
    contestant.arguments(&mut valgrind, scenario, entries);
    let (mut service, mut contestant) = started(scenario, valgrind, transport, seed).await?;
    contestant.say().await?;
    contestant.hear().await?;
    service.say().await?;
    let tally: Tally = serde_json::from_str(&service.hear().await?)?;
    let words = ended(contestant).await?;
    let count = words.lines().find_map(|line| line.split_once("Collected :"));
    let count = count.ok_or_else(|| format!("valgrind counted nothing: {words}"))?;
    Ok((count.1.trim().parse()?, tally.connections))
}

/// What a contestant that has told its result writes to its standard error.
async fn ended(mut contestant: Process) -> Result<String, Failure> {
    contestant.say().await?;
    contestant.errors().await
}
