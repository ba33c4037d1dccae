//! What is kept of a shard is called after it.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::plan::Planned;

/// Bytes of the name of an input within the name of a file. File systems take 255 of all.
const LONGEST_NAME: usize = 160;

/// Bytes of the name of an execution. Step Functions allows as many.
const LONGEST_EXECUTION: usize = 80;

/// A name for what is kept of a shard, which tells what the shard is, and of which run of a state machine if that is asked for.
pub(super) fn name_of(shard: &Planned, execution: Option<&str>) -> String {
    let safe = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => character,
        _ => '+',
    };
    let mut name: String = shard.input.chars().map(safe).collect();
    let longest = LONGEST_NAME - execution.map_or(0, str::len).min(LONGEST_EXECUTION);
    if name.len() > longest {
        // The end tells more than the beginning, and the whole tells it from others with the same end.
        let mut hasher = DefaultHasher::new();
        shard.input.hash(&mut hasher);
        name = format!("{:016x}{}", hasher.finish(), &name[name.len() - longest..]);
    }
    let execution = execution.map(|name| name.chars().take(LONGEST_EXECUTION).map(safe).collect::<String>() + "@");
    let (begin, end) = (shard.part.begin, shard.part.end);
    format!("{}{name}@{begin}-{end}", execution.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Part;

    #[test]
    fn a_name_tells_the_shard_and_fits_a_file_system() {
        let shard = |input: &str| Planned {
            input: input.to_owned(),
            part: Part {
                begin: 0,
                end: u64::MAX,
            },
            execution: None,
        };
        let short = shard("s3://b/a.jsonl");
        assert_eq!(name_of(&short, None), format!("s3+++b+a.jsonl@0-{}", u64::MAX));
        assert_eq!(
            name_of(&short, Some("one")),
            format!("one@s3+++b+a.jsonl@0-{}", u64::MAX)
        );
        let (long, other) = (
            shard(&format!("a{}", "ä".repeat(300))),
            shard(&format!("b{}", "ä".repeat(300))),
        );
        let names = [&long, &other].map(|shard| name_of(shard, Some(&"e".repeat(99))) + ".causes.jsonl");
        assert!(
            names[0] != names[1] && names.iter().all(|name| name.len() <= 255),
            "{names:?}"
        );
    }
}
