//! The loop that every delivery goes through.
//!
//! ```text
//! input ─▶ order ─▶ supply ─▶ pace ─▶ calls ──▶ outcome: delivered, or handed back
//!                     ▲                 │
//!                     └──── retry ◀─────┘ rejected, or refused as a whole
//! ```
//!
//! - `entry`: one entry on its way, and the chunk of a call.
//! - `input`: where the entries come from, checked and measured once.
//! - `order`: holds entries back whose key or group has another one under way.
//! - `retry`: what was read and waits, and when a leftover goes again.
//! - `supply`: what there is to send, packed into chunks.
//! - `calls`: the calls in flight, and from the answer to the fate of each entry.
//! - `health`: whether the service takes anything at all.
//! - `outcome`: the fate of the entries, and the way back.
//! - `preparation`: what is done before the first call.
//! - `delivering`: the loop, which applies what the others decide.
//! - `later`: moments that may be too far away for a clock.
//!
//! It knows no AWS: the service is a [`BatchTarget`](crate::targets::BatchTarget). It has no clock but tokio's, so that
//! paused time works. The pace that deliveries share is `crate::pace`.

mod calls;
mod delivering;
mod entry;
mod health;
mod input;
mod later;
mod order;
mod outcome;
mod preparation;
mod retry;
mod supply;

use std::sync::Arc;

use tracing::Instrument;

use self::outcome::delivery_span;
use crate::options::DeliveryOptions;
use crate::targets::BatchTarget;

pub(crate) use entry::{Confirmation, Confirms};
pub(crate) use input::{Batch, Incoming, Input, Streamed};
pub(crate) use outcome::Delivered;

/// Delivers every entry of the input, or hands it back, in a span of its own.
///
/// Not an `async fn`, whose future would hold the input and the options once more.
pub(crate) fn deliver<T, I>(
    target: Arc<T>,
    input: I,
    options: DeliveryOptions,
) -> impl Future<Output = Delivered<T::Entry>>
where
    T: BatchTarget,
    I: Input<Entry = T::Entry>,
{
    let span = delivery_span(&*target);
    delivering::deliver(target, input, options, span.clone()).instrument(span)
}
