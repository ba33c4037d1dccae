//! The numbers of settled records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A set of numbers, most of which are consecutive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub(crate) struct SettledRecords {
    /// From the first number of each run to its last one.
    runs: BTreeMap<u64, u64>,
}

impl TryFrom<Vec<(u64, u64)>> for SettledRecords {
    type Error = &'static str;

    fn try_from(runs: Vec<(u64, u64)>) -> Result<Self, Self::Error> {
        let mut settled = Self::default();
        for (first, last) in runs {
            if first > last || last == u64::MAX {
                return Err("no run ends before it begins, and no load has as many records as a number can count");
            }
            settled.add(first, last);
        }
        Ok(settled)
    }
}

impl From<SettledRecords> for Vec<(u64, u64)> {
    fn from(settled: SettledRecords) -> Self {
        settled.runs().collect()
    }
}

impl SettledRecords {
    /// Adds all numbers from the first to the last.
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        let (mut first, mut last) = (first, last);
        // Runs that overlap or touch the new one are merged with it.
        while let Some((&from, &to)) = self.runs.range(..=last.saturating_add(1)).next_back() {
            if to.saturating_add(1) < first {
                break;
            }
            self.runs.remove(&from);
            first = first.min(from);
            last = last.max(to);
        }
        self.runs.insert(first, last);
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let run = self.runs.range(..=number).next_back();
        run.is_some_and(|(_, last)| number <= *last)
    }

    /// The largest number.
    pub(crate) fn last(&self) -> Option<u64> {
        self.runs.values().next_back().copied()
    }

    pub(crate) fn len(&self) -> u64 {
        self.runs.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// The first and the last number of each run.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().map(|(first, last)| (*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_the_numbers_in_as_few_runs_as_possible(added in prop::collection::vec((0_u64..40, 0_u64..6), 0..20)) {
            let mut settled = SettledRecords::default();
            let mut numbers = BTreeSet::new();
            for (first, more) in added {
                settled.add(first, first + more);
                numbers.extend(first..=first + more);
            }
            let in_runs: Vec<u64> = settled.runs().flat_map(|(first, last)| first..=last).collect();
            prop_assert_eq!(&in_runs, &numbers.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(settled.len(), numbers.len() as u64);
            prop_assert_eq!(settled.last(), numbers.last().copied());
            let gaps = settled.runs().zip(settled.runs().skip(1));
            for ((_, last), (first, _)) in gaps {
                prop_assert!(last + 1 < first);
            }
            for number in 0..60 {
                prop_assert_eq!(settled.contains(number), numbers.contains(&number));
            }
        }
    }
}
