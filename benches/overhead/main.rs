//! The cost of the crate in addition to that of the bare SDK.
//!
//! The same entries go to the same service, which answers at once and costs nothing: with the crate, and with the SDK alone, whose
//! chunks are made in advance, with the same number of calls in flight. The two take turns, so that other load on the machine
//! affects both.
//!
//! ```sh
//! cargo bench --bench overhead                    # entries/s, CPU and allocations an entry
//! cargo bench --bench overhead -- --together --entries 10000 --turns 100  # the same in one process, with less noise
//! cargo bench --bench overhead -- --instructions  # instructions an entry, by valgrind: no noise
//! cargo bench --bench overhead -- --check         # both, and fails when a target is missed
//! ```

#![expect(clippy::cast_precision_loss, reason = "no count comes near 2^52")]

#[path = "../shared/immediate.rs"]
mod immediate;
mod instructions;
mod side;
mod turns;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use side::{Service, Side};
use turns::Process;

/// The least throughput, as a share of the bare SDK's. The bare SDK gives its entries away; the crate copies them, because it may
/// have to send them again.
const THROUGHPUT: f64 = 0.75;

/// The most instructions, as a multiple of the bare SDK's.
const INSTRUCTIONS: f64 = 1.35;

#[derive(Parser)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of a command line")]
struct Arguments {
    /// Entries of each turn.
    #[arg(long, default_value_t = 200_000)]
    entries: usize,
    /// Turns of each side.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    turns: u16,
    /// Take all turns in this process, with warm memory and after the search for the pace. With many short turns this detects a
    /// difference of 2%, which turns in processes of their own do not.
    #[arg(long)]
    together: bool,
    /// Count instructions under valgrind instead.
    #[arg(long)]
    instructions: bool,
    /// Measure both, and fail when a target is missed.
    #[arg(long)]
    check: bool,
    /// Deliver once and print nothing, for a run under valgrind.
    #[arg(long, num_args = 3, value_names = ["SERVICE", "SIDE", "WHAT"], hide = true)]
    once: Option<Vec<String>>,
    /// Take one turn.
    #[arg(long, num_args = 2, value_names = ["SERVICE", "SIDE"], hide = true)]
    turn: Option<Vec<String>>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> io::Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(words) = &arguments.once {
        let Some((service, side)) = named(words) else {
            return Ok(ExitCode::FAILURE);
        };
        instructions::once(service, side, &words[2], arguments.entries);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(words) = &arguments.turn {
        let Some((service, side)) = named(words) else {
            return Ok(ExitCode::FAILURE);
        };
        turns::once(service, side, arguments.entries)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut met = true;
    for service in Service::ALL {
        if !arguments.instructions || arguments.check {
            met &= throughput(&arguments, service)? >= THROUGHPUT;
        }
        if arguments.instructions || arguments.check {
            met &= instructions::compare(service)? <= INSTRUCTIONS;
        }
    }
    if arguments.check && !met {
        eprintln!("missed: at least {THROUGHPUT} of the throughput, at most {INSTRUCTIONS} of the instructions");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The crate's throughput as a share of the bare SDK's.
fn throughput(arguments: &Arguments, service: Service) -> io::Result<f64> {
    let Arguments { entries, turns, .. } = *arguments;
    if arguments.together {
        let process = Process::new()?;
        return turns::compare(service, entries, turns.into(), |side| {
            Ok(process.turn(service, side, entries))
        });
    }
    turns::compare(service, entries, turns.into(), |side| {
        turns::of_its_own(service, side, entries)
    })
}

/// The service and the side that the first words of a child process's arguments name.
fn named(words: &[String]) -> Option<(Service, Side)> {
    let service = Service::ALL
        .into_iter()
        .find(|service| format!("{service:?}") == words[0]);
    let side = SIDES.into_iter().find(|side| format!("{side:?}") == words[1]);
    service.zip(side)
}

/// Both sides, in the order in which they are printed.
const SIDES: [Side; 2] = [Side::Bare, Side::Crate];
