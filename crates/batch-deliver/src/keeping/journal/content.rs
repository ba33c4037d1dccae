//! The content of a journal, as lines of JSON with a checksum each: the load, which of its records are settled, and which of these were
//! not delivered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::failures::{FailedRecord, Failures};
#[cfg(any(test, fuzzing))]
use super::checked_line::checksum;
use super::checked_line::{JournalFault, add, checked, first_line};
use super::{Claim, Identity, StopLine};
use crate::console::Console;
use crate::outcome::Failure;
use crate::source::{Beginning, SettledRecords};

/// A line after the first one, which is the identity.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum JournalLine {
    /// Records that are settled.
    Settled(SettledRecords),
    /// Records that are settled and were not delivered.
    Failed(Vec<FailedRecord>),
    /// What earlier lines like the one before come to.
    Failures(Failures),
    /// How inputs begin, by their indices. All settled records are within that.
    Read(Vec<(usize, Beginning)>),
    /// Which run has written the journal.
    Written(WriterStamp),
    /// From here on, entries may have been sent.
    Begun,
    /// The run has stopped at a bad line.
    Stopped(StopLine),
    /// The run has ended without being killed.
    Ended,
    /// All failures were reported to the user.
    Reported,
}

/// The run that has written a journal, and its number of writes, so that no two writes have the same content.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WriterStamp {
    pub(super) by: String,
    pub(super) times: u64,
}

/// What earlier runs have left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JournalContent {
    pub(crate) settled: SettledRecords,
    /// What they have not delivered, and no run of the whole has reported.
    pub(crate) failures: Failures,
    /// How the inputs begin, as far as they were read.
    pub(super) read: BTreeMap<usize, Beginning>,
    /// Whether entries may have been sent.
    pub(super) has_begun: bool,
}

impl JournalContent {
    /// Whether a run that has ended cleanly has left something for the next one.
    fn is_empty(&self) -> bool {
        self.settled.len() == 0 && self.failures.is_empty()
    }

    pub(super) fn fail(&mut self, failed: &FailedRecord) {
        self.settled.add(failed.number, failed.number);
        self.failures.add(failed);
    }

    /// The changes that say more than is known.
    pub(super) fn note(&mut self, changes: Vec<(usize, Beginning)>) -> Vec<(usize, Beginning)> {
        let is_more = |(input, new): &(usize, Beginning)| self.read.get(input).is_none_or(|old| old.bytes < new.bytes);
        let more: Vec<_> = changes.into_iter().filter(is_more).collect();
        self.read.extend(more.iter().copied());
        more
    }
}

/// What an earlier run has left, and how many entries are in doubt.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EarlierRun {
    pub(super) kept: JournalContent,
    /// How many entries the last run may have sent without recording them.
    pub(super) doubtful: u64,
}

impl EarlierRun {
    /// Reads the text of the journal with this name, for this load.
    pub(super) fn read(
        name: &str,
        text: &str,
        identity: &Identity,
        claim: Claim,
        console: &Console,
    ) -> Result<Self, Failure> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let (parsed, damaged) = parsed(text).map_err(|unreadable| unreadable.of_journal(name))?;
        if let Some(line) = damaged {
            let words =
                format!("{name} is damaged in line {line}: what is settled is known of the lines before it alone");
            claim
                .trusts(&words, console)
                .map_err(|words| Failure::WrongUse(format!("{words}. To start over, remove {name}")))?;
        }
        let ParsedJournal {
            identity: before,
            mut kept,
            stopped,
            has_ended,
        } = parsed;
        // The next run begins with everything, even if another one is meant.
        if damaged.is_none() && kept.is_empty() && (has_ended || !kept.has_begun) {
            return Ok(Self::default());
        }
        // A later record that is settled would have another number if the line became two.
        let stopped = stopped.filter(|stopped| kept.settled.last().is_none_or(|last| last < stopped.number));
        for difference in identity.differences(&before, stopped.as_ref(), &mut kept.read) {
            difference.accept(name, claim, console)?;
        }
        let doubtful = if has_ended && damaged.is_none() {
            0
        } else {
            before.unsure
        };
        Ok(Self { kept, doubtful })
    }
}

/// The settled records of a journal with these lines, each of which gets its checksum.
#[cfg(any(test, fuzzing))]
pub(crate) fn settled_in(lines: &str) -> Option<SettledRecords> {
    let with_checksum = |line: &str| match line.strip_suffix('\n') {
        Some(json) => format!("{} {json}\n", checksum(json.as_bytes())),
        None => line.to_owned(),
    };
    let text: String = lines.split_inclusive('\n').map(with_checksum).collect();
    parsed(&text).ok().map(|(parsed, _)| parsed.kept.settled)
}

/// The error if another run uses the journal.
pub(super) fn in_use(name: &str) -> String {
    format!("the journal {name} is in use by another load: wait until it ends, or name another one")
}

/// The shortest text of a journal, which says in an object which run has written it, and ends with these lines.
pub(super) fn text(
    identity: &Identity,
    kept: &JournalContent,
    written: Option<WriterStamp>,
    last: &[JournalLine],
) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::new();
    add(&mut text, identity)?;
    if !kept.read.is_empty() {
        add(
            &mut text,
            &JournalLine::Read(kept.read.iter().map(|(input, read)| (*input, *read)).collect()),
        )?;
    }
    if kept.has_begun {
        add(&mut text, &JournalLine::Begun)?;
    }
    if !kept.failures.is_empty() {
        add(&mut text, &JournalLine::Failures(kept.failures.clone()))?;
    }
    add(&mut text, &JournalLine::Settled(kept.settled.clone()))?;
    if let Some(written) = written {
        add(&mut text, &JournalLine::Written(written))?;
    }
    for line in last {
        add(&mut text, line)?;
    }
    Ok(text)
}

/// The load, what is settled of it, and how its last run has ended.
struct ParsedJournal {
    identity: Identity,
    kept: JournalContent,
    stopped: Option<StopLine>,
    /// Whether the run ended without being killed.
    has_ended: bool,
}

/// The content of the lines before the first one that is damaged, and the number of that one.
fn parsed(text: &str) -> Result<(ParsedJournal, Option<usize>), JournalFault> {
    let mut parsed = ParsedJournal {
        identity: first_line(text)?,
        kept: JournalContent::default(),
        stopped: None,
        has_ended: false,
    };
    // A last line without a line end was incomplete when the process was killed.
    let lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    for (index, found) in lines.enumerate().skip(1) {
        let Some(found) = checked(found).and_then(|json| serde_json::from_str(json).ok()) else {
            return Ok((parsed, Some(index + 1)));
        };
        match found {
            JournalLine::Settled(settled) => {
                settled
                    .runs()
                    .for_each(|(first, last)| parsed.kept.settled.add(first, last));
                (parsed.stopped, parsed.has_ended) = (None, false);
            }
            JournalLine::Failed(failed) => {
                for one in &failed {
                    parsed.kept.fail(one);
                }
                (parsed.stopped, parsed.has_ended) = (None, false);
            }
            JournalLine::Failures(failures) => parsed.kept.failures = failures,
            JournalLine::Read(read) => parsed.kept.read.extend(read),
            JournalLine::Written(_) => {}
            JournalLine::Begun => parsed.kept.has_begun = true,
            JournalLine::Stopped(at) => parsed.stopped = Some(at),
            JournalLine::Ended => parsed.has_ended = true,
            JournalLine::Reported => parsed.kept.failures = Failures::default(),
        }
    }
    Ok((parsed, None))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::source::LinePlace;

    fn failed(number: u64) -> FailedRecord {
        FailedRecord {
            number,
            place: LinePlace {
                input: 0,
                line: number + 1,
            },
            words: "refused".to_owned(),
            is_bad_line: number.is_multiple_of(2),
            is_kept: false,
        }
    }

    /// Each line is about these records.
    fn journal(lines: &[u64]) -> (Vec<u8>, Identity) {
        let identity = Identity::new([("destination", "films".to_owned())], &[], 7).unwrap();
        let mut text = text(&identity, &JournalContent::default(), None, &[]).unwrap();
        for number in lines {
            add(&mut text, &JournalLine::Failed(vec![failed(*number)])).unwrap();
            let mut settled = SettledRecords::default();
            settled.add(number + 100, number + 110);
            add(&mut text, &JournalLine::Settled(settled)).unwrap();
        }
        (text, identity)
    }

    fn read(text: &[u8], identity: &Identity, claim: Claim) -> Result<EarlierRun, Failure> {
        let text = String::from_utf8_lossy(text);
        EarlierRun::read("state", &text, identity, claim, &Console::new(false, true))
    }

    proptest! {
        #[test]
        fn a_bit_that_is_another_one_never_settles_what_was_not_settled(
            numbers in prop::collection::vec(0_u64..90, 1..6),
            place in any::<prop::sample::Index>(),
            bit in 0_u32..8,
        ) {
            let (text, identity) = journal(&numbers);
            let whole = read(&text, &identity, Claim::Named).unwrap();
            let mut damaged = text.clone();
            let at = place.index(text.len());
            damaged[at] ^= 1 << bit;
            let is_end = at + 1 == text.len();
            let found = read(&damaged, &identity, Claim::Named);
            // Without its end, the last line is one that was not written to its end.
            prop_assert_eq!(found.is_ok(), is_end);
            for claim in [Claim::Named, Claim::Trusted] {
                let Ok(found) = read(&damaged, &identity, claim) else { continue };
                for (first, last) in found.kept.settled.runs() {
                    prop_assert!((first..=last).all(|number| whole.kept.settled.contains(number)));
                }
            }
        }

        #[test]
        fn what_failed_stays_until_it_is_reported(numbers in prop::collection::btree_set(0_u64..90, 1..9), cut in any::<prop::sample::Index>()) {
            let numbers: Vec<u64> = numbers.into_iter().collect();
            let (mut text, identity) = journal(&numbers);
            let cut = cut.index(text.len());
            let begun = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
            let torn = read(&text[..cut.max(begun)], &identity, Claim::Named).unwrap();
            let of = |run: &EarlierRun| run.kept.failures.given_up.count() + run.kept.failures.bad_lines.count();
            // What is settled and was not delivered is known, wherever the text ends.
            let settled = numbers.iter().filter(|number| torn.kept.settled.contains(**number)).count();
            prop_assert_eq!(of(&torn), settled as u64);
            let whole = read(&text, &identity, Claim::Named).unwrap();
            prop_assert_eq!(of(&whole), numbers.len() as u64);
            // A shorter text says the same.
            let shorter = super::text(&identity, &whole.kept, None, &[]).unwrap();
            prop_assert_eq!(&read(&shorter, &identity, Claim::Named).unwrap(), &whole);
            add(&mut text, &JournalLine::Reported).unwrap();
            prop_assert_eq!(of(&read(&text, &identity, Claim::Named).unwrap()), 0);
        }
    }
}
