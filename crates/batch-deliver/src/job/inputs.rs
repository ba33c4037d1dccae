//! Inputs as the source of a delivery.

use std::io;
use std::sync::Arc;

use super::first_entries::FirstEntriesCheck;
use super::reading::{ReaderHandle, StartFailure};
use crate::keeping::{Journal, LoadState};
use crate::source::{self, Format, Input, Order, ReadProgress, SettledRecords, Turns};
use crate::stop::Stop;

/// How inputs are read.
pub(crate) struct InputReads<E> {
    pub(crate) format: Arc<dyn Format<E>>,
    /// The order of the inputs; `None` if it depends on them.
    pub(crate) order: Option<Order>,
    /// Looks at the first entries, unless an earlier run has begun with them.
    pub(crate) look: Option<FirstEntriesCheck<E>>,
}

impl<E: Send + Sync + 'static> InputReads<E> {
    /// Whether the input can be read in parts.
    pub(crate) async fn can_be_cut(&self, input: &Input) -> io::Result<bool> {
        let start = input.start().await?;
        Ok(start.is_some_and(|start| self.format.can_be_cut(&start, &input.name)))
    }

    /// The order of the inputs, one after another unless something else is known of them.
    pub(super) fn order(&self) -> Order {
        self.order.unwrap_or(Order::File)
    }

    /// The records of the inputs that are not settled.
    pub(super) fn turns(&self, inputs: Vec<Input>, settled: SettledRecords) -> Turns<E> {
        let turns = Turns::new(inputs, Arc::clone(&self.format), settled);
        match self.order() {
            Order::Turns => turns,
            Order::File => turns.one_by_one(),
        }
    }

    /// Reads the records that are not settled. With a journal it is kept how far they are read, by which the next run recognizes them.
    pub(super) async fn begin(
        &self,
        inputs: Vec<Input>,
        state: Option<LoadState>,
        has_begun: bool,
        stop: &Stop,
    ) -> Result<(ReaderHandle<E>, Option<Journal>), StartFailure> {
        let names = inputs.iter().map(|input| input.name.clone()).collect();
        let total = inputs.iter().map(|input| input.bytes).sum();
        let settled = state.as_ref().map(|state| state.kept.settled.clone());
        let read_so_far = ReadProgress::default();
        let mut turns = self.turns(inputs, settled.unwrap_or_default());
        if state.is_some() {
            turns = turns.with_checksums(read_so_far.clone());
        }
        let (receiver, read) = source::read(turns);
        let mut reading = ReaderHandle {
            receiver,
            read,
            names,
            total,
        };
        if let Some(look) = self.look.as_ref().filter(|_| !has_begun) {
            reading = reading.looked_at(look, stop).await.map_err(StartFailure::Entries)?;
        }
        let journal = match state {
            None => None,
            Some(state) => {
                let started = Journal::start(state, read_so_far, stop.token.clone());
                Some(started.await.map_err(StartFailure::Journal)?)
            }
        };
        Ok((reading, journal))
    }
}
