//! The picture with which responsive exponential backoff was published, computed again: the delay before each request of
//! one worker, and whether the request succeeded.

use std::time::{Duration, Instant};

use super::Responsive;
use crate::backoff::{Outcome, Pace};

/// Consecutive requests with the same delay: microseconds, outcome, number of requests.
type Stretch = (u128, Fate, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Fails,
    Succeeds,
}
use Fate::{Fails, Succeeds};

/// 1 ms · 1.5^k, k from 0 to 14. The first request has no delay.
const CLIMB: [Stretch; 15] = [
    (0, Fails, 1),
    (1_000, Fails, 1),
    (1_500, Fails, 1),
    (2_250, Fails, 1),
    (3_375, Fails, 1),
    (5_062, Fails, 1),
    (7_593, Fails, 1),
    (11_390, Fails, 1),
    (17_085, Fails, 1),
    (25_628, Fails, 1),
    (38_443, Fails, 1),
    (57_665, Fails, 1),
    (86_497, Fails, 1),
    (129_746, Fails, 1),
    (194_619, Fails, 1),
];

/// Down by 0.6 after every five successes; at 60 ms and below a failure, and up by 1.5.
const DESCENT: [Stretch; 17] = [
    (291_929, Succeeds, 5),
    (175_157, Succeeds, 5),
    (105_094, Succeeds, 5),
    (63_056, Succeeds, 5),
    (37_834, Fails, 1),
    (56_751, Fails, 1),
    (85_126, Succeeds, 5),
    (51_075, Fails, 1),
    (76_613, Succeeds, 5),
    (45_968, Fails, 1),
    (68_952, Succeeds, 5),
    (41_371, Fails, 1),
    (62_057, Succeeds, 5),
    (37_234, Fails, 1),
    (55_851, Fails, 1),
    (83_777, Succeeds, 5),
    (50_266, Fails, 1),
];

/// Requests fail until the delay reaches 291.9 ms; from then on every delay above 60 ms succeeds.
fn service(delay: Duration, was_reached: &mut bool) -> Fate {
    *was_reached |= delay >= Duration::from_micros(291_900);
    if *was_reached && delay > Duration::from_millis(60) {
        Succeeds
    } else {
        Fails
    }
}

fn drawn(strategy: Responsive) -> Vec<Stretch> {
    let strategy = strategy
        .initial_interval(Duration::from_millis(1))
        .down_multiplier(0.6)
        .down_threshold(5)
        .randomization_factor(0.0);
    let requests = CLIMB.iter().chain(&DESCENT).map(|(_, _, requests)| requests).sum();
    let mut was_reached = false;
    let mut answered_at = Instant::now();
    let mut picture: Vec<Stretch> = Vec::new();
    for _ in 0..requests {
        let delay = strategy.cooldown();
        let sent_at = answered_at + delay;
        answered_at = sent_at + Duration::from_millis(8);
        let outcome = Outcome::new(sent_at, answered_at);
        let fate = service(delay, &mut was_reached);
        strategy.observe(&match fate {
            Succeeds => outcome.with_accepted(1),
            Fails => outcome.with_throttled(1),
        });
        match picture.last_mut() {
            Some((same, _, requests)) if *same == delay.as_micros() => *requests += 1,
            _ => picture.push((delay.as_micros(), fate, 1)),
        }
    }
    picture
}

#[test]
fn the_published_picture_is_drawn_again() {
    let published: Vec<_> = CLIMB.into_iter().chain(DESCENT).collect();
    assert_eq!(drawn(Responsive::published()), published);
}
