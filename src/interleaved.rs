//! Several inputs that are read in turn.

use std::collections::VecDeque;

/// Several inputs, read one entry at a time in turn. An input that has ended is skipped from then on.
pub(crate) struct Interleaved<I> {
    /// The next one first.
    inputs: VecDeque<I>,
}

impl<I: Iterator> Interleaved<I> {
    pub(crate) fn new<N: IntoIterator<IntoIter = I>>(inputs: impl IntoIterator<Item = N>) -> Self {
        Self {
            inputs: inputs.into_iter().map(N::into_iter).collect(),
        }
    }
}

impl<I: Iterator> Iterator for Interleaved<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        loop {
            let mut input = self.inputs.pop_front()?;
            if let Some(entry) = input.next() {
                self.inputs.push_back(input);
                return Some(entry);
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let hints = || self.inputs.iter().map(Iterator::size_hint);
        let least = hints().fold(0, |sum: usize, (least, _)| sum.saturating_add(least));
        let most = hints().try_fold(0, |sum: usize, (_, most)| sum.checked_add(most?));
        (least, most)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn inputs_are_read_in_turn_and_one_that_has_ended_is_left_out() {
        let inputs = [vec!["a1", "a2", "a3"], vec!["b1"], vec![], vec!["d1", "d2"]];
        let read: Vec<_> = Interleaved::new(inputs).collect();
        assert_eq!(read, ["a1", "b1", "d1", "a2", "d2", "a3"]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_each_input_keeps_its_order(lengths in vec(0_usize..20, 0..8)) {
            let numbered = |(input, length): (usize, &usize)| (0..*length).map(move |place| (input, place));
            let inputs: Vec<_> = lengths.iter().enumerate().map(numbered).collect();
            let interleaved = Interleaved::new(inputs);
            let all = lengths.iter().sum::<usize>();
            prop_assert_eq!(interleaved.size_hint(), (all, Some(all)));
            let read: Vec<_> = interleaved.collect();
            prop_assert_eq!(read.len(), all);
            for (input, length) in lengths.iter().enumerate() {
                let of_input = read.iter().filter(|(of, _)| *of == input).map(|(_, place)| *place);
                prop_assert_eq!(of_input.collect::<Vec<_>>(), (0..*length).collect::<Vec<_>>());
            }
            // The places grow from turn to turn, so no input gets ahead of another that still has entries.
            prop_assert!(read.is_sorted_by_key(|(input, place)| (*place, *input)));
        }
    }
}
