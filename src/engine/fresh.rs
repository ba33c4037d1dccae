//! Entries as they come from the input.

use std::collections::{BTreeMap, VecDeque};
use std::iter::Peekable;

use super::ticket::{Ticket, Ticketed};
use crate::invalid::InvalidEntry;
use crate::target::{BatchTarget, Limits};

/// Entries that were not sent yet: the input, and a few of its entries that are checked already and may go.
pub(crate) struct Fresh<E, I: Iterator<Item = E>> {
    input: Peekable<I>,
    input_ended: bool,
    next_position: u64,
    checked: VecDeque<Ticketed<E>>,
    /// Those that were held in a lane, by position: who came first goes first.
    let_out: BTreeMap<u64, Ticketed<E>>,
}

impl<E, I: Iterator<Item = E>> Fresh<E, I> {
    pub(crate) fn new(input: I) -> Self {
        Self {
            input: input.peekable(),
            input_ended: false,
            next_position: 0,
            checked: VecDeque::new(),
            let_out: BTreeMap::new(),
        }
    }

    /// Whether the input has an entry, which is not read yet.
    pub(crate) fn has_any(&mut self) -> bool {
        self.input.peek().is_some()
    }

    /// Whether the input is known to have more, without a look at it: it may have to be waited for.
    pub(crate) fn has_more(&self) -> bool {
        !self.input_ended && self.input.size_hint().0 > 0
    }

    /// Reads and checks the next entry of the input; `None` when it has ended.
    #[expect(clippy::type_complexity, reason = "an entry, or an entry and what is wrong with it")]
    pub(crate) fn read<T>(
        &mut self,
        target: &T,
        limits: &Limits,
    ) -> Option<Result<Ticketed<E>, (Ticketed<E>, InvalidEntry)>>
    where
        T: BatchTarget<Entry = E>,
    {
        let (position, mut entry) = self.next_entry()?;
        Some(match measure(&entry, target, limits) {
            Ok(bytes) => {
                target.complete(&mut entry);
                let mut ticket = Ticket::new(position, bytes);
                ticket.lane = target.lane(&entry);
                Ok(Ticketed { entry, ticket })
            }
            Err(invalid) => {
                let ticket = Ticket::new(position, 0);
                Err((Ticketed { entry, ticket }, invalid))
            }
        })
    }

    fn next_entry(&mut self) -> Option<(u64, E)> {
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

    /// The entry that was read last may go.
    pub(crate) fn push(&mut self, entry: Ticketed<E>) {
        self.checked.push_back(entry);
    }

    /// The entry that was held may go.
    pub(crate) fn let_out(&mut self, entry: Ticketed<E>) {
        self.let_out.insert(entry.ticket.position, entry);
    }

    /// How many may go.
    pub(crate) fn len(&self) -> usize {
        self.checked.len() + self.let_out.len()
    }

    /// The one that goes next.
    pub(crate) fn peek(&self) -> Option<&Ticketed<E>> {
        if self.let_out_is_next() {
            self.let_out.first_key_value().map(|(_, entry)| entry)
        } else {
            self.checked.front()
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Ticketed<E>> {
        if self.let_out_is_next() {
            self.let_out.pop_first().map(|(_, entry)| entry)
        } else {
            self.checked.pop_front()
        }
    }

    fn let_out_is_next(&self) -> bool {
        let Some((position, _)) = self.let_out.first_key_value() else {
            return false;
        };
        self.checked
            .front()
            .is_none_or(|checked| checked.ticket.position > *position)
    }

    /// The next one, checked or not, for handing it back.
    pub(crate) fn pop_unsent(&mut self) -> Option<Ticketed<E>> {
        self.pop().or_else(|| {
            let (position, entry) = self.next_entry()?;
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
