//! Divides inputs into shards, which workers deliver.

use std::io::{self, Write, stdout};

use serde::{Deserialize, Serialize};
use tokio::task;

use crate::arguments::{Cutting, TableFormat, ToPlan};
use crate::console::{self, grouped, size};
use crate::format::refusal;
use crate::outcome::{Failure, Outcome};
use crate::run::reading;
use crate::source::{Input, Part, named};

/// A planned shard: the bytes of an input from `begin` to before `end`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Planned {
    pub(crate) input: String,
    #[serde(flatten)]
    pub(crate) part: Part,
    /// The execution of the state machine that hands the shard out, if it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) execution: Option<String>,
}

/// Writes the shards of the inputs to the standard output.
pub(crate) async fn run(arguments: ToPlan) -> Result<Outcome, Failure> {
    let inputs = named(&arguments.inputs, &arguments.service).await?;
    console::print(&format!("reading {}", reading::words(&inputs)));
    let sized = inputs.into_iter().map(|input| {
        let cannot = |words: String| Failure::WrongUse(format!("{} cannot be planned: {words}", input.name));
        let bytes = input
            .bytes
            .ok_or_else(|| cannot("workers read only files and objects of S3".to_owned()))?;
        let is_cut = task::block_in_place(|| can_be_cut(&input, arguments.format));
        let is_cut = is_cut.map_err(|error| cannot(error.to_string()))?;
        let count = if is_cut {
            bytes.div_ceil(arguments.shard_bytes)
        } else {
            1
        };
        Ok((input.name, bytes, count.max(1)))
    });
    let sized = sized.collect::<Result<Vec<_>, Failure>>()?;
    let shards = interleaved(&sized);
    let bytes = sized.iter().map(|(_, bytes, _)| bytes).sum();
    console::print(&format!(
        "{} shards of {} inputs with {}",
        grouped(shards.len() as u64),
        grouped(sized.len() as u64),
        size(bytes)
    ));
    write(&shards, arguments.lines).map_err(|error| Failure::Failed(format!("the plan cannot be written: {error}")))?;
    Ok(Outcome::Delivered)
}

fn can_be_cut(input: &Input, cutting: Cutting) -> io::Result<bool> {
    let start = input.start()?;
    Ok(start.is_some_and(|start| match cutting {
        Cutting::Lines => refusal(&start).is_none(),
        Cutting::Auto => TableFormat::Auto.can_be_cut(&start, &input.name),
    }))
}

/// The shards of inputs, each given by its name, its bytes and its number of shards. The shards of each input are spread evenly
/// over the list, so that workers write to many places of a table at the same time.
fn interleaved(inputs: &[(String, u64, u64)]) -> Vec<Planned> {
    let shards = inputs.iter().flat_map(|(input, bytes, count)| {
        (0..*count).map(move |index| {
            let part = Part::of(*bytes, index, *count);
            ((2 * index + 1, *count), input, part)
        })
    });
    let mut shards: Vec<_> = shards.collect();
    shards.sort_by_key(|((numerator, count), ..)| (u128::from(*numerator) << 64) / u128::from(*count));
    let planned = shards.into_iter().map(|(_, input, part)| Planned {
        input: input.clone(),
        part,
        execution: None,
    });
    planned.collect()
}

fn write(shards: &[Planned], lines: bool) -> io::Result<()> {
    let (before, between, behind) = if lines {
        ("", "\n", "\n")
    } else {
        ("[\n", ",\n", "\n]\n")
    };
    let mut output = io::BufWriter::new(stdout().lock());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shards_cover_each_input_and_are_spread_evenly(inputs in prop::collection::vec((0_u64..1_000, 1_u64..20), 1..6)) {
            let inputs: Vec<_> = (0..).zip(inputs).map(|(number, (bytes, count))| (i32::to_string(&number), bytes, count)).collect();
            let shards = interleaved(&inputs);
            for (name, bytes, count) in &inputs {
                let mut end = 0;
                let places: Vec<_> = (0..shards.len()).filter(|place| shards[*place].input == *name).collect();
                prop_assert_eq!(places.len() as u64, *count);
                for (index, place) in (0..).zip(places) {
                    prop_assert_eq!(shards[place].part.begin, end);
                    end = shards[place].part.end;
                    // Its position without rounding.
                    let ideal = (2 * index + 1) * shards.len() as u64 / (2 * count);
                    prop_assert!(ideal.abs_diff(place as u64) <= inputs.len() as u64, "{} is at {}", ideal, place);
                }
                prop_assert_eq!(end, *bytes);
            }
        }
    }
}
