//! The next chunk: what is ready, topped up with fresh entries.

use super::fresh::Fresh;
use super::ticket::{Chunk, Ticketed};
use super::waiting::Waiting;
use crate::target::Limits;

/// Packs at most `count` entries into a chunk that keeps the limits. Entries that were rejected before go first.
pub(crate) fn pack<E, I>(count: usize, limits: &Limits, waiting: &mut Waiting<E>, fresh: &mut Fresh<E, I>) -> Chunk<E>
where
    I: Iterator<Item = E>,
{
    let count = count.clamp(1, limits.entries.max(1));
    let mut chunk = Chunk::with_capacity(count.min(waiting.ready() + fresh.len()));
    let fits = |chunk: &Chunk<E>, next: &Ticketed<E>| {
        chunk.len() < count && chunk.bytes.saturating_add(next.ticket.bytes) <= limits.bytes
    };
    while waiting.peek().is_some_and(|next| fits(&chunk, next)) {
        waiting.pop().into_iter().for_each(|entry| chunk.push(entry));
    }
    while fresh.peek().is_some_and(|next| fits(&chunk, next)) {
        fresh.pop().into_iter().for_each(|entry| chunk.push(entry));
    }
    chunk
}
