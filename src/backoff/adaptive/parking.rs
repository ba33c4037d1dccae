//! How long an entry rests that was rejected more than once.

use std::time::Duration;

use super::super::growth;
use super::super::jitter::Jitter;
use crate::backoff::Retry;

/// The rest before the second retry. The first is made at once: the pace has room for it.
const FIRST: Duration = Duration::from_millis(50);

/// The longest rest.
const LONGEST: Duration = Duration::from_secs(5);

/// Bad luck ends with this retry: at a loss of 30% only one entry in 15,000 needs more.
const UNLUCKY: u32 = 8;

/// The rest before that retry. It doubles with each unless the entry is just unlucky, and half of it is chance.
pub(super) fn rest(retry: Retry, unlucky: bool, jitter: &Jitter) -> Duration {
    if retry.number < 2 {
        return Duration::ZERO;
    }
    let ceiling = if unlucky && retry.number <= UNLUCKY {
        FIRST
    } else {
        growth::raised(FIRST, 2.0, retry.number - 2).min(LONGEST)
    };
    jitter.between(ceiling / 2, ceiling)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::retry;
    use super::*;

    #[test]
    fn the_first_retry_is_made_at_once_and_later_ones_rest_ever_longer() {
        let jitter = Jitter::seeded(1);
        assert_eq!(rest(Retry::FIRST, false, &jitter), Duration::ZERO);
        for (number, millis) in [(2, 50), (3, 100), (8, 3200), (9, 5000), (u32::MAX, 5000)] {
            let rest = rest(retry(number, None), false, &jitter);
            let longest = Duration::from_millis(millis);
            assert!(longest / 2 <= rest && rest <= longest, "{number}: {rest:?}");
        }
    }

    #[test]
    fn the_unlucky_do_not_rest_for_long_until_it_cannot_be_bad_luck() {
        let jitter = Jitter::seeded(1);
        assert!((2..=UNLUCKY).all(|number| rest(retry(number, None), true, &jitter) <= FIRST));
        assert!(rest(retry(UNLUCKY + 1, None), true, &jitter) > FIRST);
    }
}
