//! Divides inputs or a table into shards for workers, and prints them.

use std::io::{self, Write};

use crate::arguments::{PlanArguments, PlanFormat};
use crate::console::{self, counted, grouped, rate, size};
use crate::format::{TableFormat, refusal};
use crate::outcome::{CommandOutcome, Failure};
use crate::output::check_standard;
use crate::sink;
use crate::source::{Input, described, named};
use crate::worker::{InputVersion, PlannedShard, divide_rate, interleaved, planned_segments};

/// Writes the shards of the inputs to the standard output.
pub(super) async fn run(arguments: PlanArguments) -> Result<CommandOutcome, Failure> {
    check_standard()?;
    if let Some(table) = &arguments.from_table {
        return of_table(table, &arguments).await;
    }
    let inputs = named(&arguments.inputs, &(&arguments.service).into()).await?;
    console::print(&format!("reading {}", described(&inputs)));
    let mut sized = Vec::new();
    for input in inputs {
        let cannot = |words: String| Failure::WrongUse(format!("{} cannot be planned: {words}", input.name));
        let version =
            InputVersion::of(&input).ok_or_else(|| cannot("workers read only files and objects of S3".to_owned()))?;
        let is_cut = can_be_cut(&input, arguments.format).await;
        let is_cut = is_cut.map_err(|error| cannot(error.to_string()))?;
        let count = if is_cut {
            version.bytes.div_ceil(arguments.shard_bytes)
        } else {
            1
        };
        sized.push((input.name, version, count.max(1)));
    }
    let mut shards = interleaved(&sized);
    let bytes = sized.iter().map(|(_, version, _)| version.bytes).sum();
    console::print(&format!(
        "{} shards of {} inputs with {}",
        grouped(shards.len() as u64),
        grouped(sized.len() as u64),
        size(bytes)
    ));
    limit(&mut shards, &arguments);
    write(&shards, arguments.lines).map_err(|error| Failure::Failed(format!("the plan cannot be written: {error}")))?;
    Ok(CommandOutcome::Delivered)
}

/// Divides the rate among the workers, if one is given.
fn limit(shards: &mut [PlannedShard], arguments: &PlanArguments) {
    let (Some(whole), Some(workers)) = (arguments.max_rate, arguments.workers) else {
        return;
    };
    let part = rate(divide_rate(shards, whole, workers));
    console::print(&format!("each shard is delivered with {part} units a second at most"));
}

/// Writes the segments of a table to the standard output.
async fn of_table(name: &str, arguments: &PlanArguments) -> Result<CommandOutcome, Failure> {
    let table = sink::existing(name, &(&arguments.service).into(), "--from-table").await?;
    let mut shards = planned_segments(name, arguments.segments.unwrap_or(1));
    let (count, described) = (counted(shards.len() as u64, "segment"), table.size());
    let described = described.map(|(items, bytes)| {
        let (items, bytes) = (counted(items, "item"), size(bytes));
        format!(" with about {items}, {bytes}, as of up to six hours ago")
    });
    console::print(&format!("{count} of {name}{}", described.unwrap_or_default()));
    limit(&mut shards, arguments);
    write(&shards, arguments.lines).map_err(|error| Failure::Failed(format!("the plan cannot be written: {error}")))?;
    Ok(CommandOutcome::Delivered)
}

async fn can_be_cut(input: &Input, cutting: PlanFormat) -> io::Result<bool> {
    let start = input.start().await?;
    Ok(start.is_some_and(|start| match cutting {
        PlanFormat::Lines => refusal(&start).is_none(),
        PlanFormat::Auto => TableFormat::Auto.can_be_cut(&start, &input.name),
    }))
}

fn write(shards: &[PlannedShard], lines: bool) -> io::Result<()> {
    let (before, between, behind) = if lines {
        ("", "\n", "\n")
    } else {
        ("[\n", ",\n", "\n]\n")
    };
    let mut output = io::BufWriter::new(console::standard_output());
    output.write_all(before.as_bytes())?;
    for (index, shard) in shards.iter().enumerate() {
        if index > 0 {
            output.write_all(between.as_bytes())?;
        }
        serde_json::to_writer(&mut output, shard)?;
    }
    output.write_all(behind.as_bytes())?;
    output.flush()
}
