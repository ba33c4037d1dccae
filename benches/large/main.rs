//! Long streams, many producers, streams that are read ahead, and the size and latency of a producer's calls.
//!
//! ```sh
//! cargo bench --bench large              # 1 and 10 million entries of a stream, 1 million of 1,000 producers, 5,000/s of 200
//! cargo bench --bench large -- --check   # fails when a target is missed
//! cargo bench --bench large -- --ahead 2000000   # only streams that are read ahead, with this many entries
//! ```

#![expect(clippy::cast_precision_loss, reason = "no count comes near 2^52")]

mod ahead;
#[path = "../shared/immediate.rs"]
mod immediate;
mod linger;
mod memory;
mod work;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// Fail when a target is missed.
    #[arg(long)]
    check: bool,
    /// Measure only the memory of a delivery that reads ahead, with this many entries.
    #[arg(long, value_name = "ENTRIES")]
    ahead: Option<usize>,
    /// Do this work in this process, and print the peak of its memory.
    #[arg(long, num_args = 2, value_names = ["WORK", "ENTRIES"], hide = true)]
    once: Option<Vec<String>>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Some(words) = &arguments.once {
        runtime.block_on(work::once(&words[0], words[1].parse().expect("a number")));
        return ExitCode::SUCCESS;
    }
    let missed = if let Some(entries) = arguments.ahead {
        memory::measure_ahead(entries)
    } else {
        let mut missed = memory::measure();
        missed.extend(memory::measure_ahead(10_000_000));
        missed.extend(runtime.block_on(linger::measure()));
        missed
    };
    for miss in &missed {
        eprintln!("missed: {miss}");
    }
    if arguments.check && !missed.is_empty() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
