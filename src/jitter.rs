//! Randomness for the strategies with jitter.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// Draws uniformly distributed delays.
///
/// With a seed the draws are the same on every machine. They come from one generator, so that workers which share the
/// strategy get different draws. Without a seed each thread draws from its own generator, seeded by the system.
#[derive(Default)]
pub(crate) enum Jitter {
    #[default]
    Thread,
    Seeded {
        seed: u64,
        generator: Mutex<Xoshiro256PlusPlus>,
    },
}

impl Jitter {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self::Seeded {
            seed,
            generator: Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed)),
        }
    }

    /// A delay from `low` to `high`, both included; `low` when `high` is below it.
    pub(crate) fn between(&self, low: Duration, high: Duration) -> Duration {
        if high <= low {
            return low;
        }
        match self {
            Self::Thread => rand::rng().random_range(low..=high),
            // A panic elsewhere leaves the generator valid.
            Self::Seeded { generator, .. } => generator
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .random_range(low..=high),
        }
    }
}

/// A clone of a seeded source starts again from the seed.
impl Clone for Jitter {
    fn clone(&self) -> Self {
        match self {
            Self::Thread => Self::Thread,
            Self::Seeded { seed, .. } => Self::seeded(*seed),
        }
    }
}

impl fmt::Debug for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread => f.write_str("Thread"),
            Self::Seeded { seed, .. } => f.debug_tuple("Seeded").field(seed).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use proptest::prelude::*;

    use super::*;
    use crate::backoff::testing::any_delay;

    const LOW: Duration = Duration::from_millis(100);
    const HIGH: Duration = Duration::from_millis(300);

    fn draws(jitter: &Jitter) -> Vec<Duration> {
        (0..100).map(|_| jitter.between(LOW, HIGH)).collect()
    }

    #[test]
    fn a_clone_of_a_seeded_source_begins_again() {
        let jitter = Jitter::seeded(7);
        let first = draws(&jitter);
        assert_ne!(draws(&jitter), first);
        assert_eq!(draws(&jitter.clone()), first);
        assert_ne!(draws(&Jitter::seeded(8)), first);
    }

    #[test]
    fn without_a_seed_no_two_sources_draw_the_same() {
        assert_ne!(draws(&Jitter::default()), draws(&Jitter::default().clone()));
    }

    #[test]
    fn both_ends_are_drawn() {
        let (low, high) = (Duration::ZERO, Duration::from_nanos(1));
        for jitter in [Jitter::seeded(7), Jitter::default()] {
            let drawn: HashSet<_> = (0..100).map(|_| jitter.between(low, high)).collect();
            assert_eq!(drawn, HashSet::from([low, high]));
        }
    }

    #[test]
    fn a_panic_in_another_thread_does_not_stop_the_draws() {
        let jitter = Jitter::seeded(7);
        let Jitter::Seeded { generator, .. } = &jitter else {
            unreachable!()
        };
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _held = generator.lock().unwrap();
            panic!("while the generator is held");
        }));
        assert!(panicked.is_err() && generator.is_poisoned());
        assert_eq!(draws(&jitter), draws(&Jitter::seeded(7)));
    }

    proptest! {
        #[test]
        fn every_draw_lies_in_its_range(low in any_delay(), high in any_delay(), seed: u64) {
            let draw = Jitter::seeded(seed).between(low, high);
            prop_assert!(low <= draw && draw <= high.max(low));
        }
    }
}
