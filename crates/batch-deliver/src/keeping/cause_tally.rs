//! The causes of entries that were handed back, and the lines that were not kept anywhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::source::{LinePlace, SettledRecords};

/// The most causes that are printed; the others are counted.
const SHOWN: usize = 8;

/// The most ranges of lines that are remembered.
const RUNS: usize = 1_000;

/// Each cause with its first entry, and the lines that are only in their input.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CauseTally {
    causes: Vec<Reason>,
    others: u64,
    /// By the number of the input.
    lines: BTreeMap<usize, SettledRecords>,
    runs: usize,
}

/// A cause as text, its first entry, and how many entries have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reason {
    pub(crate) words: String,
    pub(crate) first: LinePlace,
    pub(crate) entries: u64,
}

impl CauseTally {
    /// The entry at this place was not delivered, with this cause. `is_kept`: it is in a journal or among the dead letters.
    pub(crate) fn add(&mut self, place: LinePlace, cause: String, is_kept: bool) {
        let is_full = self.causes.len() == SHOWN;
        match self.causes.iter_mut().find(|known| known.words == cause) {
            Some(known) => {
                known.entries += 1;
                // Entries are settled in no order.
                known.first = known.first.min(place);
            }
            None if is_full => self.others += 1,
            None => self.causes.push(Reason {
                words: cause,
                first: place,
                entries: 1,
            }),
        }
        if !is_kept {
            self.only_in_the_input(place);
        }
    }

    /// The line at this place is neither in a journal nor among the dead letters.
    pub(crate) fn only_in_the_input(&mut self, place: LinePlace) {
        if self.runs < RUNS {
            let lines = self.lines.entry(place.input).or_default();
            let before = lines.runs().count();
            lines.add(place.line, place.line);
            self.runs = (self.runs + lines.runs().count()).saturating_sub(before);
        }
    }

    /// How many entries were added.
    pub(crate) fn count(&self) -> u64 {
        self.causes.iter().map(|cause| cause.entries).sum::<u64>() + self.others
    }

    /// The causes in the order of their first entries, and how many entries have other causes.
    pub(crate) fn reasons(&self) -> (&[Reason], u64) {
        (&self.causes, self.others)
    }

    /// The lines that are only in their input, such as `a.jsonl: 3, 7-9`: at most `most` ranges.
    pub(crate) fn lines(&self, names: &[String], most: usize) -> Option<String> {
        let runs = self
            .lines
            .iter()
            .flat_map(|(input, lines)| lines.runs().map(move |run| (*input, run)));
        let mut shown = String::new();
        let mut last_input = None;
        for (input, (first, last)) in runs.take(most) {
            let separator = if shown.is_empty() { "" } else { ", " };
            let name = Some(&names[input]).filter(|_| last_input != Some(input));
            let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
            let lines = if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            };
            shown = format!("{shown}{separator}{name}{lines}");
            last_input = Some(input);
        }
        if self.runs > most || self.runs == RUNS {
            shown += " and others";
        }
        (!shown.is_empty()).then_some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(line: u64) -> LinePlace {
        LinePlace { input: 1, line }
    }

    #[test]
    fn each_cause_is_listed_once_with_its_first_place() {
        let mut handed_back = CauseTally::default();
        handed_back.add(place(7), "cancelled".to_owned(), true);
        handed_back.add(place(8), "closed".to_owned(), true);
        handed_back.add(place(3), "cancelled".to_owned(), true);
        let (reasons, others) = handed_back.reasons();
        let shown: Vec<_> = reasons
            .iter()
            .map(|reason| (reason.first.line, reason.entries))
            .collect();
        assert_eq!((shown, others), (vec![(3, 2), (8, 1)], 0));
        assert_eq!(handed_back.lines(&[], 9), None);
    }

    #[test]
    fn lines_that_are_only_in_their_input_are_listed_as_ranges() {
        let mut handed_back = CauseTally::default();
        for line in [9, 3, 7, 8] {
            handed_back.add(place(line), "closed".to_owned(), false);
        }
        handed_back.add(LinePlace { input: 0, line: 5 }, "closed".to_owned(), false);
        let names = ["a.jsonl".to_owned(), "b.jsonl".to_owned()];
        assert_eq!(handed_back.lines(&names, 9).unwrap(), "a.jsonl: 5, b.jsonl: 3, 7-9");
        assert_eq!(
            handed_back.lines(&names, 2).unwrap(),
            "a.jsonl: 5, b.jsonl: 3 and others"
        );
        for line in 10..5_000 {
            handed_back.add(place(line * 2), "closed".to_owned(), false);
        }
        assert!(handed_back.lines(&names, 9_999).unwrap().ends_with(" and others"));
    }
}
