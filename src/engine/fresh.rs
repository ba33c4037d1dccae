//! Entries as they come from the input.

use std::collections::VecDeque;

use super::ticket::{Ticket, Ticketed};
use crate::invalid::InvalidEntry;
use crate::target::{BatchTarget, Limits};

/// Entries that were not sent yet: the input, and a few of its entries that are checked already.
pub(crate) struct Fresh<E, I> {
    input: I,
    input_ended: bool,
    next_position: u64,
    checked: VecDeque<Ticketed<E>>,
}

impl<E, I: Iterator<Item = E>> Fresh<E, I> {
    pub(crate) fn new(input: I) -> Self {
        Self {
            input,
            input_ended: false,
            next_position: 0,
            checked: VecDeque::new(),
        }
    }

    /// Reads and checks until `count` entries are at hand or the input has ended. What fails the check goes to `refuse`.
    pub(crate) fn fill<T>(
        &mut self,
        count: usize,
        target: &T,
        limits: &Limits,
        mut refuse: impl FnMut(Ticketed<E>, InvalidEntry),
    ) where
        T: BatchTarget<Entry = E>,
    {
        while self.checked.len() < count {
            let Some((position, entry)) = self.read() else {
                return;
            };
            match measure(&entry, target, limits) {
                Ok(bytes) => self.checked.push_back(Ticketed {
                    entry,
                    ticket: Ticket::new(position, bytes),
                }),
                Err(invalid) => {
                    let ticket = Ticket::new(position, 0);
                    refuse(Ticketed { entry, ticket }, invalid);
                }
            }
        }
    }

    fn read(&mut self) -> Option<(u64, E)> {
        if self.input_ended {
            return None;
        }
        let Some(entry) = self.input.next() else {
            self.input_ended = true;
            return None;
        };
        let position = self.next_position;
        self.next_position += 1;
        Some((position, entry))
    }

    /// How many are at hand.
    pub(crate) fn len(&self) -> usize {
        self.checked.len()
    }

    /// The one that goes next.
    pub(crate) fn peek(&self) -> Option<&Ticketed<E>> {
        self.checked.front()
    }

    pub(crate) fn pop(&mut self) -> Option<Ticketed<E>> {
        self.checked.pop_front()
    }

    /// The next one, checked or not, for handing it back.
    pub(crate) fn pop_unsent(&mut self) -> Option<Ticketed<E>> {
        self.checked.pop_front().or_else(|| {
            let (position, entry) = self.read()?;
            let ticket = Ticket::new(position, 0);
            Some(Ticketed { entry, ticket })
        })
    }
}

/// What an entry takes up of a call, or why it can be in none.
fn measure<T: BatchTarget>(entry: &T::Entry, target: &T, limits: &Limits) -> Result<usize, InvalidEntry> {
    let bytes = target.check(entry)?;
    if bytes > limits.bytes {
        return Err(InvalidEntry::TooLarge {
            part: "entry",
            limit: limits.bytes,
            actual: bytes,
        });
    }
    Ok(bytes)
}
