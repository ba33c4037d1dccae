//! Delays from an iterator.

use std::time::Duration;

use super::{BackoffStrategy, Retry};
use crate::debug::debug_fields;

/// Waits the `n`th delay of an iterator before retry `n`.
///
/// It is made from a closure that returns an iterator, so that the builders of other crates plug in:
///
/// ```
/// use aws_batch_delivery::backoff::Delays;
/// use backon::{BackoffBuilder, ExponentialBuilder};
///
/// let strategy = Delays::new(|| ExponentialBuilder::default().build());
/// ```
///
/// An iterator that ends repeats its last delay: the strategy does not limit the number of retries. An empty one means no
/// delay.
///
/// A new iterator is created for each delay and advanced `n` steps for retry `n`, so that entries do not share one. If the
/// iterator draws jitter, do not seed it: the same retry would always get the same delay.
#[derive(Clone)]
pub struct Delays<F> {
    iterator: F,
}

impl<F, I> Delays<F>
where
    F: Fn() -> I + Send + Sync + 'static,
    I: IntoIterator<Item = Duration>,
{
    /// The delays of the iterators that the closure returns.
    pub fn new(iterator: F) -> Self {
        Self { iterator }
    }
}

impl<F, I> BackoffStrategy for Delays<F>
where
    F: Fn() -> I + Send + Sync + 'static,
    I: IntoIterator<Item = Duration>,
{
    fn delay(&self, retry: Retry) -> Duration {
        let mut delays = (self.iterator)().into_iter();
        let mut last = Duration::ZERO;
        for _ in 0..retry.number {
            match delays.next() {
                Some(delay) => last = delay,
                None => break,
            }
        }
        last
    }
}

debug_fields!(Delays<F>);

#[cfg(test)]
mod tests {
    use backon::{BackoffBuilder, ConstantBuilder, ExponentialBuilder, FibonacciBuilder};

    use super::*;
    use crate::backoff::testing::{delays, retry};

    #[test]
    fn the_builders_of_backon_are_strategies() {
        let exponential = Delays::new(|| ExponentialBuilder::default().without_max_times().build());
        assert_eq!(delays(&exponential, 4), [1000, 2000, 4000, 8000]);
        let fibonacci = Delays::new(|| FibonacciBuilder::default().without_max_times().build());
        assert_eq!(delays(&fibonacci, 5), [1000, 1000, 2000, 3000, 5000]);
        let constant = Delays::new(|| ConstantBuilder::default().build());
        assert_eq!(delays(&constant, 5), [1000; 5]);
    }

    #[test]
    fn a_jittered_iterator_is_one_too() {
        let strategy = Delays::new(|| ExponentialBuilder::default().with_jitter().build());
        let third = strategy.delay(retry(3, None));
        assert!((4000..=8000).contains(&third.as_millis()), "{third:?}");
    }

    #[test]
    fn an_iterator_that_ends_repeats_its_last_delay() {
        let strategy = Delays::new(|| [5, 9].map(Duration::from_millis));
        assert_eq!(delays(&strategy, 4), [5, 9, 9, 9]);
        assert_eq!(strategy.delay(retry(u32::MAX, None)), Duration::from_millis(9));
    }

    #[test]
    fn an_empty_iterator_means_no_delay() {
        assert_eq!(delays(&Delays::new(Vec::new), 2), [0, 0]);
    }

    #[test]
    fn an_iterator_is_walked_only_as_far_as_the_retry() {
        let strategy = Delays::new(|| {
            (1..=3).map(|n| {
                if n < 3 {
                    Duration::from_secs(n)
                } else {
                    panic!("too far")
                }
            })
        });
        assert_eq!(delays(&strategy, 2), [1000, 2000]);
    }
}
