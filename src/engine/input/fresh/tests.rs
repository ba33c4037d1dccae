use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use super::*;
use crate::contract::{Answer, BatchTarget};
use crate::engine::input::Input;

const LIMITS: Limits = Limits::new(8, 40);

/// Numbers whose size is their value and whose weight is a third of it.
struct BySize;

impl BatchTarget for BySize {
    type Entry = usize;

    fn limits(&self) -> Limits {
        LIMITS
    }

    fn check(&self, bytes: &usize) -> Result<usize, InvalidEntry> {
        Ok(*bytes)
    }

    fn units(&self, bytes: &usize) -> usize {
        bytes / 3
    }

    async fn send(&self, _: &[usize]) -> Answer {
        unreachable!("nothing is sent here")
    }
}

/// An input that has all of its entries at once.
struct Listed(std::vec::IntoIter<(u64, usize)>);

impl Input for Listed {
    type Entry = usize;

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Incoming<usize>>> {
        Poll::Ready(self.0.next().map(|(position, entry)| Incoming::new(position, entry)))
    }

    fn known(&self) -> usize {
        self.0.len()
    }
}

const WANTED: WantedTraits = WantedTraits {
    units: true,
    partition_keys: false,
};

proptest! {
    #[test]
    fn chunks_are_filled_in_the_order_of_the_input_as_far_as_there_is_space(
        sizes in vec(1_usize..12, 0..30),
        held in btree_set(0_u64..30, 0..10),
        costs in vec(1_usize..10, 60),
    ) {
        let entries: Vec<_> = (0..).zip(sizes.iter().copied()).collect();
        let mut input = Listed(entries.into_iter());
        let mut fresh = FreshEntries::new(&mut input);
        let now = Instant::now();
        let mut released = Vec::new();
        while let Some(read) = fresh.read(&BySize, &LIMITS, WANTED, now) {
            prop_assert!(matches!(read, ReadOutcome::Checked));
            if held.contains(&fresh.checked.states.last().unwrap().position) {
                released.extend(fresh.pop_newest());
            }
        }
        for entry in released {
            fresh.push_released(entry);
        }

        let mut left = Vec::new();
        for cost in costs {
            let mut chunk = Chunk::with_capacity(0);
            let mut space = Space::left_in(&chunk, &LIMITS, cost);
            fresh.fill(&mut chunk, &mut space);
            prop_assert_eq!(chunk.bytes, chunk.entries.iter().sum::<usize>());
            prop_assert_eq!(chunk.cost, chunk.states.iter().map(|state| state.cost).sum::<usize>());
            prop_assert!(chunk.bytes <= LIMITS.bytes && chunk.len() <= LIMITS.entries);
            prop_assert!(chunk.cost <= cost || chunk.len() == 1);
            if let Some(next) = fresh.next_state() {
                let is_full = chunk.len() == LIMITS.entries || chunk.bytes + next.bytes > LIMITS.bytes;
                prop_assert!(is_full || chunk.cost + next.cost > cost);
            }
            left.extend(chunk.into_tracked().map(|left| (left.state.position, left.entry)));
        }
        prop_assert_eq!(left, (0..).zip(sizes.iter().copied()).collect::<Vec<_>>());
        prop_assert_eq!((fresh.len(), fresh.bytes(), fresh.released_bytes()), (0, 0, 0));
    }
}

#[test]
fn an_invalid_entry_weighs_its_size_or_a_full_share_of_a_call() {
    let too_large = InvalidEntry::TooLarge {
        part: "entry",
        limit: 40,
        actual: 41,
    };
    let missing = InvalidEntry::Missing { part: "key" };
    assert_eq!(weight_of_invalid(&too_large, &LIMITS), 41);
    assert_eq!(weight_of_invalid(&missing, &LIMITS), 5);
    assert_eq!(weight_of_invalid(&missing, &Limits::new(0, 40)), 40);
}

#[test]
fn an_entry_may_be_as_large_as_a_call() {
    assert!(matches!(measure(&40, &BySize, &LIMITS), Ok(40)));
    assert!(matches!(
        measure(&41, &BySize, &LIMITS),
        Err(InvalidEntry::TooLarge { .. })
    ));
}
