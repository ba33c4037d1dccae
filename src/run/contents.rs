//! What a delivery delivers: the entries of its target, or values of another type.

use std::marker::PhantomData;
use std::sync::Arc;

use super::values::{self, Convert};
use crate::contract::BatchTarget;
use crate::engine::{self, Delivered, DynInput};
use crate::options::DeliveryOptions;

/// What a [`Delivery`](crate::Delivery) delivers: the entries of its target, as they are, which is `()`, or [`Values`].
pub trait Contents<T: BatchTarget>: 'static {
    /// What is submitted, and handed back if it is not delivered.
    type Value: Send + Sync + 'static;

    /// How a value becomes an entry.
    type Conversion: Clone + Send + Sync + 'static;

    /// Delivers an input, until it ends or the delivery stops.
    fn deliver(
        target: Arc<T>,
        conversion: &Self::Conversion,
        input: DynInput<'_, Self::Value>,
        options: DeliveryOptions,
    ) -> impl Future<Output = Delivered<Self::Value>> + Send;
}

/// The entries of the target, as they are.
impl<T: BatchTarget> Contents<T> for () {
    type Value = T::Entry;
    type Conversion = ();

    fn deliver(
        target: Arc<T>,
        (): &(),
        input: DynInput<'_, T::Entry>,
        options: DeliveryOptions,
    ) -> impl Future<Output = Delivered<T::Entry>> + Send {
        engine::deliver(target, input, options)
    }
}

/// Values of type `V`, which are converted into entries as they are read, and handed back as values.
///
/// Each value is converted once, and kept next to its entry until its disposition is known. So a delivery needs memory for
/// both: for those in flight, those that wait to be sent again, and those read ahead for the next calls.
pub struct Values<V>(PhantomData<fn(V)>);

impl<T: BatchTarget, V: Send + Sync + 'static> Contents<T> for Values<V> {
    type Value = V;
    type Conversion = Arc<Convert<V, T::Entry>>;

    fn deliver(
        target: Arc<T>,
        convert: &Self::Conversion,
        input: DynInput<'_, V>,
        options: DeliveryOptions,
    ) -> impl Future<Output = Delivered<V>> + Send {
        values::deliver(target, input, &**convert, options)
    }
}
