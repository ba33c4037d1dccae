//! Why entries were handed back.

use aws_batch_delivery::Cause;

use crate::input::Place;

/// Causes that are told; the others are counted.
const TOLD: usize = 8;

/// Each cause with its first entry.
#[derive(Debug, Default)]
pub(super) struct HandedBack {
    causes: Vec<Reason>,
    others: u64,
}

/// A cause in words, its first entry, and how many entries have it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reason {
    pub(super) words: String,
    pub(super) first: Place,
    pub(super) entries: u64,
}

impl HandedBack {
    /// The entry of this place was not delivered.
    pub(super) fn add(&mut self, place: Place, cause: &Cause) {
        let words = cause.to_string();
        let is_full = self.causes.len() == TOLD;
        match self.causes.iter_mut().find(|known| known.words == words) {
            Some(known) => known.entries += 1,
            None if is_full => self.others += 1,
            None => self.causes.push(Reason {
                words,
                first: place,
                entries: 1,
            }),
        }
    }

    /// The causes in the order in which they were met, and how many entries have other ones.
    pub(super) fn reasons(&self) -> (&[Reason], u64) {
        (&self.causes, self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once_with_its_first_place() {
        let mut handed_back = HandedBack::default();
        let place = |line| Place { input: 0, line };
        handed_back.add(place(7), &Cause::Cancelled(None));
        handed_back.add(place(8), &Cause::Closed);
        handed_back.add(place(3), &Cause::Cancelled(None));
        let (reasons, others) = handed_back.reasons();
        let told: Vec<_> = reasons
            .iter()
            .map(|reason| (reason.first.line, reason.entries))
            .collect();
        assert_eq!((told, others), (vec![(7, 2), (8, 1)], 0));
    }
}
