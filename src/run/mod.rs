//! One run: what is delivered to which target, how, and what is reported about it.
//!
//! - `contents`, `values`: entries of the target, or values that become entries.
//! - `completion`: the result of a run in a task of its own.
//!
//! A batch and a stream are [one delivery](Run::once). A producer and a spool run until they are closed: a delivery that a fault has
//! stopped is followed by the [next](Run::deliver) one, [unless](DeliveryOptions::end) they are asked to end.

mod completion;
mod contents;
mod values;

use std::sync::Arc;

use tracing::warn;

pub(crate) use self::completion::Completion;
pub(crate) use self::contents::Contents;
pub use self::contents::Values;
use crate::contract::{BatchTarget, Fault};
use crate::engine::{Delivered, DynInput, Input};
use crate::events::STOPPED;
use crate::guarded::destination;
use crate::handlers::{ActiveHandlers, HandledInput, Handlers};
use crate::log_limit::LogLimit;
use crate::options::DeliveryOptions;

/// What is delivered to which target, and how.
pub(crate) struct Run<T: BatchTarget, C: Contents<T>> {
    pub(crate) target: Arc<T>,
    pub(crate) conversion: C::Conversion,
    pub(crate) options: DeliveryOptions,
    pub(crate) handlers: Handlers<C::Value>,
}

impl<T: BatchTarget, C: Contents<T>> Clone for Run<T, C> {
    fn clone(&self) -> Self {
        self.with(self.options.clone())
    }
}

impl<T: BatchTarget, C: Contents<T>> Run<T, C> {
    /// To the same target, with other options.
    pub(crate) fn with(&self, options: DeliveryOptions) -> Self {
        Self {
            target: Arc::clone(&self.target),
            conversion: self.conversion.clone(),
            options,
            handlers: self.handlers.clone(),
        }
    }

    /// The name of the target in the log.
    pub(crate) fn destination(&self) -> String {
        destination(&*self.target)
    }

    /// Delivers an input, until it ends or the delivery stops.
    pub(crate) async fn once(&self, input: impl Input<Entry = C::Value> + Send) -> Delivered<C::Value> {
        let handling = self.handling();
        let mut input = HandledInput::new(input, Arc::clone(&handling));
        self.deliver(&mut input, &handling).await.with_handled(&handling)
    }

    /// The handlers for one delivery or for several.
    pub(crate) fn handling(&self) -> Arc<ActiveHandlers<C::Value>> {
        ActiveHandlers::of(&self.handlers, &self.options)
    }

    /// Delivers an input whose entries report to these handlers, until it ends or the delivery stops.
    pub(crate) fn deliver(
        &self,
        input: DynInput<'_, C::Value>,
        handling: &ActiveHandlers<C::Value>,
    ) -> impl Future<Output = Delivered<C::Value>> + Send {
        C::deliver(
            Arc::clone(&self.target),
            &self.conversion,
            input,
            handling.options().clone(),
        )
    }
}

/// Logs that this fault has stopped a delivery, which another one follows.
pub(crate) fn warn_of_stop(destination: &str, fault: &Fault, limit: &mut LogLimit) {
    if limit.permits() {
        let (code, explanation) = (fault.code(), fault.explanation());
        warn!(target: STOPPED, destination, code, explanation, "the delivery stopped: what is left is tried by a new one");
    }
}
