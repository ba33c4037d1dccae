//! The next chunk: what is ready, topped up with fresh entries.

use tokio::time::Instant;

use super::fresh::Fresh;
use super::gate::Gate;
use super::input::Input;
use super::key_lines::KeyLines;
use super::lanes::Lanes;
use super::retry_queue::RetryQueue;
use super::space::Space;
use super::tracked_entry::Chunk;
use crate::targets::Limits;

/// Where the entries of a chunk come from.
pub(super) struct Sources<'a, I: Input> {
    pub(super) retry_queue: &'a mut RetryQueue<I::Entry>,
    pub(super) key_lines: &'a mut KeyLines<I::Entry>,
    /// For the pace of hot keys.
    pub(super) gate: &'a Gate,
    pub(super) fresh: &'a mut Fresh<I>,
    pub(super) lanes: &'a mut Lanes<I::Entry>,
}

/// Packs the chunk until its entries count for `cost`, or as many as the limits and what is there allow. The first one goes
/// whatever it costs.
///
/// Entries that were rejected before go first. Those that are held in a lane but may share its call go last, so that a call
/// carries few entries of one lane where it can.
pub(super) fn pack<I: Input>(chunk: &mut Chunk<I::Entry>, cost: usize, limits: &Limits, from: Sources<'_, I>) {
    let Sources {
        retry_queue,
        key_lines,
        gate,
        fresh,
        lanes,
    } = from;
    let mut space = Space::left_in(chunk, limits, cost);
    while retry_queue.peek().is_some_and(|next| space.take(&next.state))
        && let Some(entry) = retry_queue.pop()
    {
        chunk.push(entry);
    }
    if key_lines.len() > 0 {
        let now = Instant::now();
        key_lines.take_due(
            now,
            |key, wanted| gate.admit_key(now, key, wanted),
            |key, cost| gate.depart_key(now, key, cost),
            |next| space.take(&next.state),
            |entry| chunk.push(entry),
        );
        key_lines.take_turns(|next| space.take(&next.state), |entry| chunk.push(entry));
    }
    fresh.fill(chunk, &mut space);
    lanes.join(chunk, |next| space.take(&next.state));
}
