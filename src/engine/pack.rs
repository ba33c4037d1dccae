//! The next chunk: what is ready, topped up with fresh entries.

use super::fresh::Fresh;
use super::input::Input;
use super::lanes::Lanes;
use super::ticket::{Chunk, Ticketed};
use super::waiting::Waiting;
use crate::target::Limits;

/// Packs the chunk until its entries count for `cost`, or as many as the limits and what is there allow. The first one goes
/// whatever it costs.
///
/// Entries that were rejected before go first. Those that are held in a lane but may share its call go last, so that a call
/// carries few entries of one lane where it can.
pub(crate) fn pack<I>(
    chunk: &mut Chunk<I::Entry>,
    cost: usize,
    limits: &Limits,
    waiting: &mut Waiting<I::Entry>,
    fresh: &mut Fresh<I>,
    lanes: &mut Lanes<I::Entry>,
) where
    I: Input,
{
    let count = limits.entries.max(1);
    let fits = |chunk: &Chunk<I::Entry>, next: &Ticketed<I::Entry>| {
        let is_paid = chunk.len() == 0 || chunk.cost.saturating_add(next.ticket.cost) <= cost;
        is_paid && chunk.len() < count && chunk.bytes.saturating_add(next.ticket.bytes) <= limits.bytes
    };
    while waiting.peek().is_some_and(|next| fits(chunk, next))
        && let Some(entry) = waiting.pop()
    {
        chunk.push(entry);
    }
    while fresh.peek().is_some_and(|next| fits(chunk, next))
        && let Some(entry) = fresh.pop()
    {
        chunk.push(entry);
    }
    lanes.ride(chunk, fits);
}
