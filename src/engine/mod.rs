//! The loop that every delivery goes through.
//!
//! ```text
//! input ─▶ order ─▶ supply ─▶ pace ─▶ calls ──▶ outcome: delivered, or handed back
//!                     ▲                 │
//!                     └──── retry ◀─────┘ rejected, or refused as a whole
//! ```
//!
//! - `entry`: one entry and its state, and the chunk of a call.
//! - `input`: the source of the entries, and the entries that were read and checked.
//! - `order`: holds entries of a lane while earlier ones are not settled.
//! - `retry`: the entries that wait, and when a rejected one is sent again.
//! - `supply`: the entries to send, packed into chunks.
//! - `calls`: the calls in flight, and the step from an answer to the result for each entry.
//! - `health`: whether the service accepts anything at all.
//! - `outcome`: counts what became of the entries, and hands them back.
//! - `preparation`: what happens before the first call.
//! - `delivering`: the loop, which asks the others and applies their decisions.
//!
//! The engine does not know AWS: the service is a [`BatchTarget`](crate::targets::BatchTarget). It uses tokio's clock alone, so
//! that tests can pause it. The pace that deliveries share is in `crate::pace`.

mod calls;
mod delivering;
mod entry;
mod health;
mod input;
mod order;
mod outcome;
mod preparation;
mod retry;
mod supply;

use std::sync::Arc;

use futures::FutureExt;
use tracing::{Instrument, Span};

use crate::contract::ErasedTarget;
use crate::options::DeliveryOptions;

pub(crate) use entry::{Confirmation, Confirms};
pub(crate) use input::{Batch, DynInput, Incoming, Input, Source, StreamSource, feed};
pub(crate) use outcome::{Delivered, delivery_span};

/// Delivers every entry of the input, or hands it back, in a span of its own.
///
/// Not an `async fn`, because its future would contain the options twice.
pub(crate) fn deliver<E: Send + Sync + 'static>(
    target: Arc<dyn ErasedTarget<E>>,
    input: DynInput<'_, E>,
    options: DeliveryOptions,
) -> impl Future<Output = Delivered<E>> + Send {
    let span = delivery_span(&*target);
    deliver_in(&span, target, input, options).map(move |delivered| delivered.recorded_in(&span))
}

/// Delivers every entry of the input, or hands it back, in this span. The result is not recorded in it.
pub(crate) fn deliver_in<'a, E: Send + Sync + 'static>(
    span: &Span,
    target: Arc<dyn ErasedTarget<E>>,
    input: DynInput<'a, E>,
    options: DeliveryOptions,
) -> impl Future<Output = Delivered<E>> + Send + use<'a, E> {
    delivering::deliver(target, input, options).instrument(span.clone())
}
