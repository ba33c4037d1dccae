//! Names for the journal and the dead letters of a shard.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::plan::Planned;

/// The most bytes of an input's name within a file name. File systems allow 255 in total.
const LONGEST_NAME: usize = 160;

/// The most bytes of the name of an execution, as in Step Functions.
const LONGEST_EXECUTION: usize = 80;

/// A name that identifies the shard, and also the execution of a state machine if one is given.
pub(super) fn name_of(shard: &Planned, execution: Option<&str>) -> String {
    let safe = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => character,
        _ => '+',
    };
    let mut name: String = shard.input.chars().map(safe).collect();
    let longest = LONGEST_NAME - execution.map_or(0, str::len).min(LONGEST_EXECUTION);
    if name.len() > longest {
        // The end of a long name says more than its beginning; the hash of all of it distinguishes names with the same end.
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
    use crate::source::Part;

    #[test]
    fn a_name_identifies_the_shard_and_fits_a_file_system() {
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
