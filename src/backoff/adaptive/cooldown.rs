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

/// A rest is at most this many times the previous one: the ceiling doubles, and a rest is at least half of its ceiling. Without this
/// limit, short rests of retries that the baseline loss explained are followed by one of seconds when the loss is gone.
const MOST_LONGER: u32 = 4;

/// What happens to fewer entries than this by chance is no bad luck: one in a hundred thousand. At a loss of 10% that is about
/// the sixth rejection, at 30% the tenth; what rests longer then is too rare to hold anything up.
const UNLUCKY: f64 = 1e-5;

/// Luck explains no more retries than this, however much is lost: as many as where a third is. A service that rejects more is in
/// trouble.
const MOST_EXPLAINED: u32 = 10;

/// The rest before that retry. It doubles with each that is more than bad luck, and half of it is chance.
///
/// `loss` is the share of entries that are rejected by mere chance, and so again and again some of them.
pub(super) fn rest(retry: Retry, loss: f64, jitter: &Jitter) -> Duration {
    let explained = explained(loss);
    let least = if explained > 0 { FIRST_OF_THE_UNLUCKY } else { FIRST };
    let beyond = retry.number.saturating_sub(explained.max(2));
    let longest = retry
        .previous
        .map_or(LONGEST, |previous| (MOST_LONGER * previous).max(least));
    let ceiling = growth::raised(least, 2.0, beyond).min(longest).min(LONGEST);
    jitter.between(ceiling / 2, ceiling)
}

/// How many retries of one entry bad luck explains.
fn explained(loss: f64) -> u32 {
    let (mut retries, mut luck) = (0, loss);
    while luck >= UNLUCKY && retries < MOST_EXPLAINED {
        retries += 1;
        luck *= loss;
    }
    retries
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::retry;
    use super::*;

    #[test]
    fn retries_rest_ever_longer() {
        let jitter = Jitter::seeded(1);
        for (number, millis) in [(1, 50), (2, 50), (3, 100), (8, 3200), (9, 5000), (u32::MAX, 5000)] {
            let rest = rest(retry(number, None), 0.0, &jitter);
            let longest = Duration::from_millis(millis);
            assert!(longest / 2 <= rest && rest <= longest, "{number}: {rest:?}");
        }
    }

    #[test]
    fn the_unlucky_do_not_rest_for_long_until_it_cannot_be_bad_luck() {
        let jitter = Jitter::seeded(1);
        let rests_shortly = |number, loss| rest(retry(number, None), loss, &jitter) <= FIRST_OF_THE_UNLUCKY;
        assert!((1..=5).all(|number| rests_shortly(number, 0.11)));
        assert!((1..=9).all(|number| rests_shortly(number, 0.3)));
        assert!(!(0..100).all(|_| rests_shortly(6, 0.11)));
        assert!(!(0..100).all(|_| rests_shortly(10, 0.3)));
    }

    #[test]
    fn many_short_rests_are_not_followed_by_a_long_one_when_luck_explains_the_retries_no_more() {
        let jitter = Jitter::seeded(1);
        let mut retry = Retry::FIRST;
        for _ in 0..10 {
            retry = retry.after(rest(retry, 0.4, &jitter));
        }
        for millis in [50, 200, 800, 3200] {
            let rest = rest(retry, 0.0, &jitter);
            assert!(
                rest <= Duration::from_millis(millis),
                "retry {}: {rest:?}",
                retry.number
            );
            retry = retry.after(rest);
        }
    }

    #[test]
    fn beyond_bad_luck_rests_double_from_the_first() {
        let jitter = Jitter::seeded(1);
        for (number, millis) in [(6, 10), (7, 20), (9, 80), (13, 1280), (u32::MAX, 5000)] {
            let rest = rest(retry(number, None), 0.11, &jitter);
            let longest = Duration::from_millis(millis);
            assert!(longest / 2 <= rest && rest <= longest, "{number}: {rest:?}");
        }
    }

    #[test]
    fn luck_explains_only_so_many_retries_however_much_is_lost() {
        let jitter = Jitter::seeded(1);
        assert_eq!(explained(1.0), MOST_EXPLAINED);
        assert!(rest(retry(MOST_EXPLAINED + 2, None), 1.0, &jitter) > FIRST_OF_THE_UNLUCKY);
    }
}
