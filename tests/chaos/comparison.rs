//! The comparison finds what it looks for: of a mix that went well, one record is changed.

use std::sync::LazyLock;

use aws_batch_delivery::Progress;

use crate::support::chaos::check::{Seen, check};
use crate::support::chaos::fault::Faults;
use crate::support::chaos::ledger::Fate;
use crate::support::chaos::mix::{Mix, Service, Way};
use crate::support::chaos::trial::{Outcome, deliver};

/// A mix without faults: entries that are ordered in a few lanes.
fn mix(service: Service) -> Mix {
    Mix {
        service,
        way: Way::Batch,
        workers: 1,
        entries: 60,
        lanes: Some(5),
        faults: Faults::default(),
        last_write_wins: false,
        cut: None,
        ..Mix::draw(1)
    }
}

static WRITES: LazyLock<Outcome> = LazyLock::new(|| deliver(&mix(Service::Table), &Progress::default()));
static MESSAGES: LazyLock<Outcome> = LazyLock::new(|| deliver(&mix(Service::Fifo), &Progress::default()));

/// What the comparison says of these when one thing is changed.
fn changed(service: Service, change: impl FnOnce(&mut Seen)) -> Vec<String> {
    let outcome = if service == Service::Table { &WRITES } else { &MESSAGES };
    assert_eq!(outcome.complaints, Vec::<String>::new());
    let mut seen = outcome.seen.clone();
    change(&mut seen);
    check(&mix(service), &outcome.load, &seen)
}

fn assert_found(complaints: &[String], what: &str) {
    assert!(
        complaints.iter().any(|complaint| complaint.contains(what)),
        "{what}: {complaints:?}"
    );
}

#[test]
fn a_lost_entry_is_found() {
    for service in [Service::Table, Service::Fifo] {
        let complaints = changed(service, |seen| _ = seen.entered.pop());
        assert_found(&complaints, "is said to be delivered, and was never accepted");
    }
    let complaints = changed(Service::Fifo, |seen| _ = seen.stored.pop());
    assert_found(&complaints, "59 messages are there, and 60 arrived");
}

#[test]
fn an_entry_that_is_there_and_said_not_to_be_is_found() {
    let complaints = changed(Service::Table, |seen| {
        seen.told.fates[7] = Fate::HandedBack {
            may_have_been_delivered: false,
            why: "time used up".to_owned(),
        };
        seen.attempts.iter_mut().for_each(|attempt| attempt.heard = false);
    });
    assert_found(&complaints, "7 is said not to be there, and is");
}

#[test]
fn a_doubt_without_a_reason_is_found() {
    let complaints = changed(Service::Table, |seen| {
        seen.told.fates[7] = Fate::HandedBack {
            may_have_been_delivered: true,
            why: "time used up".to_owned(),
        };
    });
    assert_found(&complaints, "7 was accepted, and is handed back");
    let complaints = changed(Service::Table, |seen| {
        seen.told.fates[7] = Fate::HandedBack {
            may_have_been_delivered: true,
            why: "time used up".to_owned(),
        };
        seen.entered.clear();
    });
    assert_found(&complaints, "7 is in doubt, and each attempt was answered");
}

#[test]
fn an_accepted_entry_that_is_sent_again_is_found() {
    let complaints = changed(Service::Table, |seen| {
        let (number, attempt) = (seen.attempts.len() as u64, seen.attempts[0].clone());
        seen.attempts.push(attempt);
        seen.arrived.insert(number, seen.arrived[&0]);
    });
    assert_found(&complaints, "was sent again after it was accepted");
}

#[test]
fn an_entry_that_was_overtaken_is_found() {
    let complaints = changed(Service::Table, |seen| seen.entered.reverse());
    assert_found(&complaints, "of the same key");
    let complaints = changed(Service::Fifo, |seen| seen.stored.reverse());
    assert_found(&complaints, "of the same group");
}

#[test]
fn an_older_write_that_is_stored_is_found() {
    let complaints = changed(Service::Table, |seen| _ = seen.stored.pop());
    assert_found(&complaints, "arrived last");
}
