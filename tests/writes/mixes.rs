//! Mixes of faults over real sockets, with several deliveries of conditional writes, counters and transactions to the same keys. The
//! time of day runs here, and decides nothing.
//!
//! `cargo bench --bench chaos -- --writes --seeds 17..18` runs a single mix again; the bench
//! has more of them.

use std::ops::Range;
use std::sync::LazyLock;

use aws_batch_delivery::Progress;
use aws_batch_simulator::Record;

use crate::chaos::check::{Seen, check};
use crate::chaos::fault::Faults;
use crate::chaos::ledger::Fate;
use crate::chaos::load::Kind;
use crate::chaos::mix::{Mix, Way};
use crate::chaos::model::Does;
use crate::chaos::tally::Tally;
use crate::chaos::trial::{Outcome, deliver};

/// The seeds of the mixes.
const SEEDS: Range<u64> = 0..30;

#[test]
fn what_is_said_of_each_write_is_what_the_tables_have_whatever_fails() {
    let tally = Tally::of(&SEEDS, Mix::draw_writes);
    tally.assert_right();
    // The faults were met, and what is compared was there.
    let Tally {
        delivered,
        condition_failed,
        handed_back,
        in_doubt,
        unanswered,
        ..
    } = tally;
    assert!(
        delivered > 1_000 && condition_failed > 1_000 && handed_back > in_doubt && in_doubt > 0 && unanswered > 100,
        "{tally:?}"
    );
}

/// A mix without faults.
fn mix() -> Mix {
    Mix {
        way: Way::Batch,
        workers: 3,
        transactors: 1,
        entries: 300,
        faults: Faults {
            seed: 1,
            ..Faults::default()
        },
        cut: None,
        ..Mix::draw_writes(1)
    }
}

static WENT_WELL: LazyLock<Outcome> = LazyLock::new(|| deliver(&mix(), &Progress::default()));

/// The comparison finds what it looks for: of a mix that went well, one record is changed.
fn assert_found(what: &str, change: impl FnOnce(&mut Seen)) {
    assert_eq!(WENT_WELL.complaints, Vec::<String>::new());
    let mut seen = WENT_WELL.seen.clone();
    change(&mut seen);
    let complaints = check(&mix(), &WENT_WELL.load, &seen);
    assert!(
        complaints.iter().any(|complaint| complaint.contains(what)),
        "{what}: {complaints:?}"
    );
}

fn position(seen: &Seen, fate: &Fate) -> usize {
    let found = seen.told.fates.iter().position(|other| other == fate);
    found.expect("there are some of each")
}

#[test]
fn a_write_that_is_said_to_have_failed_and_was_applied_is_found() {
    assert_found("is said to have failed, and was applied", |seen| {
        let delivered = position(seen, &Fate::Delivered);
        seen.told.fates[delivered] = Fate::ConditionFailed;
    });
}

#[test]
fn a_write_that_is_said_to_be_there_and_is_not_is_found() {
    assert_found("is said to be there, and is not", |seen| {
        let failed = position(seen, &Fate::ConditionFailed);
        seen.told.fates[failed] = Fate::Delivered;
    });
}

#[test]
fn a_doubt_without_a_reason_is_found() {
    assert_found("is in doubt, and each attempt was answered", |seen| {
        let failed = position(seen, &Fate::ConditionFailed);
        seen.told.fates[failed] = Fate::HandedBack {
            may_have_been_delivered: true,
            why: "time used up".to_owned(),
        };
    });
}

#[test]
fn an_increment_that_counts_twice_is_found() {
    assert_found("was applied twice", |seen| {
        let adds = |number: Option<usize>| {
            number.is_some_and(|number| matches!(WENT_WELL.load.entries[number].kind, Kind::Write(Does::Add(_))))
        };
        let position = seen.journal.iter().position(|record| {
            record.acknowledgement().is_applied() && adds(WENT_WELL.load.number_of_write(&record.entry()))
        });
        let position = position.expect("there are increments");
        seen.journal.insert(position, seen.journal[position].clone());
    });
}

#[test]
fn half_a_transaction_is_found() {
    let without_stock = |seen: &mut Seen| {
        let is_stock = |record: &Record| record.entry()["Key"]["id"]["S"].to_string().contains("stock-");
        let is_taken = |record: &Record| record.acknowledgement().is_applied() && is_stock(record);
        let last = seen.journal.iter().rposition(is_taken);
        seen.journal.remove(last.expect("there are transactions"));
    };
    assert_found("was applied in part", without_stock);
    assert_found("the tables are not what was applied to them", without_stock);
}

#[test]
fn a_write_that_was_overtaken_is_found() {
    assert_found("of the same worker and key", |seen| seen.journal.reverse());
}
