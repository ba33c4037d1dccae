//! Thirty mixes of faults over real sockets. The time of day runs here, and decides nothing: no test asserts how long
//! anything takes.
//!
//! `cargo bench --bench chaos -- --seeds 17..18` runs a single mix again; the bench has more of them.

mod comparison;

use crate::support::cases::cases;
use crate::support::chaos::mix::Mix;
use crate::support::chaos::tally::Tally;

#[test]
fn what_a_delivery_says_is_what_the_service_has_whatever_fails() {
    let tally = Tally::of(&(0..cases(12).into()), Mix::draw);
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
        delivered > 400 && handed_back > in_doubt && in_doubt > 0 && unanswered > 40,
        "{tally:?}"
    );
}
