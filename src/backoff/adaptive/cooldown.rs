//! How long an entry rests that was rejected more than once.

use std::time::Duration;

use super::super::growth;
use super::super::jitter::Jitter;
use crate::backoff::Retry;

/// The rest before the first and the second retry.
const FIRST: Duration = Duration::from_millis(50);

/// The same for those that bad luck explains, which need no time to become well.
const FIRST_OF_THE_UNLUCKY: Duration = Duration::from_millis(5);

/// The longest rest.
const LONGEST: Duration = Duration::from_secs(5);

/// Bad luck explains so many retries: at a loss of 30% it takes that many from one entry in a hundred thousand.
const EXPLAINED: u32 = 10;

/// The rest before that retry. It doubles with each that is more than bad luck, and half of it is chance.
///
/// Where entries are rejected by mere chance, some of them are again and again.
pub(super) fn rest(retry: Retry, is_by_chance: bool, jitter: &Jitter) -> Duration {
    let (least, free) = if is_by_chance {
        (FIRST_OF_THE_UNLUCKY, EXPLAINED)
    } else {
        (FIRST, 2)
    };
    let beyond = retry.number.saturating_sub(free);
    let ceiling = growth::raised(least, 2.0, beyond).min(LONGEST);
    jitter.between(ceiling / 2, ceiling)
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::retry;
    use super::*;

    #[test]
    fn retries_rest_ever_longer() {
        let jitter = Jitter::seeded(1);
        for (number, millis) in [(1, 50), (2, 50), (3, 100), (8, 3200), (9, 5000), (u32::MAX, 5000)] {
            let rest = rest(retry(number, None), false, &jitter);
            let longest = Duration::from_millis(millis);
            assert!(longest / 2 <= rest && rest <= longest, "{number}: {rest:?}");
        }
    }

    #[test]
    fn the_unlucky_do_not_rest_for_long_until_it_cannot_be_bad_luck() {
        let jitter = Jitter::seeded(1);
        for (number, millis) in [(1, 5), (10, 5), (11, 10), (13, 40), (u32::MAX, 5000)] {
            let rest = rest(retry(number, None), true, &jitter);
            let longest = Duration::from_millis(millis);
            assert!(longest / 2 <= rest && rest <= longest, "{number}: {rest:?}");
        }
    }
}
