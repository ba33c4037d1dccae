//! Thirty mixes of faults over real sockets. The time of day runs here, and decides nothing: no test asserts how long
//! anything takes.
//!
//! `cargo bench --bench chaos -- --seeds 17..18` runs a single mix again; the bench has more of them.

mod comparison;

use std::ops::Range;

use crate::support::chaos::mix::Mix;
use crate::support::chaos::tally::Tally;

/// The seeds of the mixes.
const SEEDS: Range<u64> = 0..30;

#[test]
fn what_a_delivery_says_is_what_the_service_has_whatever_fails() {
    let tally = Tally::of(&SEEDS, Mix::draw);
    tally.assert_right();
    // The faults were met, and what is compared was there.
    let Tally {
        delivered,
        handed_back,
        in_doubt,
        unanswered,
        ..
    } = tally;
    assert!(
        delivered > 1_000 && handed_back > in_doubt && in_doubt > 0 && unanswered > 100,
        "{tally:?}"
    );
}
