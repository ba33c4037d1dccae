//! Assigns the parts of an answer to the entries that were sent.

use std::collections::HashMap;
use std::hash::Hash;

use super::classify_entry;
use crate::contract::{Acknowledgement, Answer, Fault, Rejection, Verdict};

/// The id of the entry at `place` in the call, for services that answer by id. The caller's own ids may repeat or be too
/// long, so they are not sent.
pub(crate) fn wire_id(place: usize) -> String {
    place.to_string()
}

/// Reads the two lists of the answer to a call with `sent` entries, which had the ids of [`wire_id`].
///
/// An entry that is in neither list, or in both, is sent again: what became of it is not known, and a duplicate can be recognized
/// while a lost entry cannot. If an entry failed several times, the first failure counts.
pub(crate) fn by_id(
    service: &'static str,
    sent: usize,
    accepted: impl IntoIterator<Item = (impl AsRef<str>, Verdict)>,
    failed: impl IntoIterator<Item = (impl AsRef<str>, Verdict)>,
) -> Answer {
    let mut verdicts: Vec<Option<Verdict>> = vec![None; sent];
    let mut unknown = 0_usize;
    for (id, failure) in failed {
        match place(id.as_ref(), sent) {
            Some(place) => {
                verdicts[place].get_or_insert(failure);
            }
            None => unknown += 1,
        }
    }
    for (id, acceptance) in accepted {
        match place(id.as_ref(), sent) {
            Some(place) => {
                let has_failed = verdicts[place].as_ref().is_some_and(|verdict| !verdict.is_accepted());
                verdicts[place] = Some(if has_failed {
                    unanswered("both accepted and failed")
                } else {
                    acceptance
                });
            }
            None => unknown += 1,
        }
    }
    warn_of_unsent(service, unknown);
    let verdicts = verdicts.into_iter();
    Answer::Each(
        verdicts
            .map(|verdict| verdict.unwrap_or_else(|| unanswered("neither accepted nor failed")))
            .collect(),
    )
}

/// Reads the list of the answer to a call with `sent` entries, in the order of the entries.
///
/// A list of another length is of no use: it is not known which of its places belong to which entries.
pub(crate) fn by_place(service: &'static str, sent: usize, verdicts: impl ExactSizeIterator<Item = Verdict>) -> Answer {
    let answered = verdicts.len();
    if answered == sent {
        return Answer::Each(verdicts.collect());
    }
    warn_of_unsent(service, answered.saturating_sub(sent));
    Answer::Whole(unanswered("fewer or more answers than entries"))
}

/// The verdict for one place of a list: the failure with this code and message, or else the acknowledgement.
pub(crate) fn entry_verdict(code: Option<&str>, message: Option<&str>, accepted: Option<Acknowledgement>) -> Verdict {
    match (code, accepted) {
        (Some(code), _) if !code.is_empty() => classify_entry(code, false, message),
        (_, Some(acknowledgement)) => Verdict::Acknowledged(acknowledgement),
        (_, None) => unanswered("neither accepted nor failed"),
    }
}

/// Reads the two lists of the answer to a call with entries of these names, which may repeat: entries of one name have one
/// verdict.
///
/// What becomes of an entry in neither list, or in both, is as with [`by_id`]. If the answer names failures alone, an entry that it
/// does not name is accepted, unless a failure has a name that was not sent: it may be any entry's.
pub(crate) fn by_name<N: Copy + Eq + Hash>(
    service: &'static str,
    sent: &[N],
    accepted: impl IntoIterator<Item = N>,
    failed: impl IntoIterator<Item = (N, Verdict)>,
    names_failures_alone: bool,
) -> Answer {
    let mut verdicts: HashMap<N, Option<Verdict>> = sent.iter().map(|name| (*name, None)).collect();
    let mut unknown = 0_usize;
    for (name, failure) in failed {
        match verdicts.get_mut(&name) {
            Some(verdict) => {
                verdict.get_or_insert(failure);
            }
            None => unknown += 1,
        }
    }
    let is_complete = names_failures_alone && unknown == 0;
    for name in accepted {
        match verdicts.get_mut(&name) {
            Some(verdict) => {
                let has_failed = verdict.as_ref().is_some_and(|verdict| !verdict.is_accepted());
                *verdict = Some(if has_failed {
                    unanswered("both accepted and failed")
                } else {
                    Verdict::Accepted
                });
            }
            None => unknown += 1,
        }
    }
    warn_of_unsent(service, unknown);
    let verdict = |name| match verdicts.get(name) {
        Some(Some(verdict)) => verdict.clone(),
        _ if is_complete => Verdict::Accepted,
        _ => unanswered("neither accepted nor failed"),
    };
    Answer::Each(sent.iter().map(verdict).collect())
}

/// Units of capacity that a call counts for with the pace if the service limits the number of calls, whatever they carry.
///
/// The pace permits whole units, and so each call may have twice the entries of those before it, until calls are full. With one unit, calls
/// that once became small, because the first ones were throttled, would stay small.
pub(crate) const UNITS_OF_CALL: f64 = 0.5;

/// Reads the answer to a call that is accepted as a whole, if it comes from the service: then it has a request id. What lies between may
/// answer with a success of its own, whose body nothing reads.
pub(crate) fn of_whole_call(request_id: Option<&str>) -> Answer {
    Answer::Whole(match request_id {
        Some(_) => Verdict::Accepted,
        None => unanswered("an answer without a request id"),
    })
}

/// The place that an id stands for, if it was sent. `01` and `+1` were not sent.
fn place(id: &str, sent: usize) -> Option<usize> {
    let place = id.parse().ok()?;
    let is_spelled_so = id == "0" || !id.starts_with(['0', '+']);
    (place < sent && is_spelled_so).then_some(place)
}

fn unanswered(code: &'static str) -> Verdict {
    Verdict::Rejected(Rejection::Unanswered, Fault::new(code).ambiguous())
}

fn warn_of_unsent(service: &'static str, entries: usize) {
    if entries > 0 {
        tracing::warn!(target: crate::events::ANSWER, entries, service, "an answer is about entries that were not sent");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `.` accepted, `t` throttled, `x` refused, `?` unanswered.
    fn letters(answer: &Answer, sent: usize) -> String {
        let letter = |verdict: &Verdict| match verdict {
            Verdict::Accepted | Verdict::Acknowledged(_) => '.',
            Verdict::Rejected(Rejection::Throttled, _) => 't',
            Verdict::Rejected(Rejection::Unanswered, fault) if fault.is_ambiguous() => '?',
            Verdict::Refused(_) => 'x',
            other @ (Verdict::Rejected(..) | Verdict::ConditionFailed) => panic!("{other:?}"),
        };
        match answer {
            Answer::Each(verdicts) => verdicts.iter().map(letter).collect(),
            Answer::Whole(verdict) => letter(verdict).to_string().repeat(sent),
            Answer::Disputed(fault) | Answer::Stop(fault) => panic!("{fault}"),
        }
    }

    mod of_ids {
        use super::*;
        use crate::aws::classify_entry;

        fn verdicts(sent: usize, accepted: &[&str], failed: &[(&str, &str)]) -> String {
            let accepted = accepted.iter().map(|id| (*id, Verdict::Accepted));
            let failed = failed.iter().map(|(id, code)| (*id, classify_entry(code, true, None)));
            letters(&by_id("SQS", sent, accepted, failed), sent)
        }

        #[test]
        fn each_entry_gets_its_own_verdict_whatever_the_order() {
            let failed = [("3", "InvalidMessageContents"), ("1", "RequestThrottled")];
            assert_eq!(verdicts(4, &["2", "0"], &failed), ".t.x");
        }

        #[test]
        fn an_entry_in_neither_list_is_unanswered() {
            assert_eq!(verdicts(3, &["1"], &[]), "?.?");
            assert_eq!(verdicts(2, &[], &[]), "??");
        }

        #[test]
        fn an_entry_that_fails_twice_fails_as_it_did_first() {
            assert_eq!(
                verdicts(1, &[], &[("0", "RequestThrottled"), ("0", "InvalidMessageContents")]),
                "t"
            );
        }

        #[test]
        fn an_entry_accepted_twice_is_accepted() {
            assert_eq!(verdicts(1, &["0", "0"], &[]), ".");
        }

        #[test]
        fn an_entry_in_both_lists_is_unanswered() {
            for code in ["RequestThrottled", "InvalidMessageContents"] {
                assert_eq!(verdicts(2, &["0", "1"], &[("0", code)]), "?.");
                assert_eq!(verdicts(1, &["0", "0"], &[("0", code)]), "?");
            }
        }

        #[test]
        fn ids_that_were_not_sent_are_ignored() {
            let failed = [("2", "InternalError"), ("x", "InternalError"), ("", "InternalError")];
            assert_eq!(verdicts(2, &["01", "+1", "0"], &failed), ".?");
        }

        #[test]
        fn more_than_ten_entries_have_ids_too() {
            let ids: Vec<String> = (0..100).map(wire_id).collect();
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            assert_eq!(verdicts(100, &ids, &[]), ".".repeat(100));
        }
    }

    mod of_places {
        use super::*;

        fn answer(sent: usize, codes: &[Option<&str>]) -> String {
            let verdicts = codes
                .iter()
                .map(|code| entry_verdict(*code, None, code.is_none().then(Default::default)));
            letters(&by_place("Kinesis", sent, verdicts), sent)
        }

        #[test]
        fn each_place_is_about_the_entry_at_that_place() {
            let codes = [
                None,
                Some("ProvisionedThroughputExceededException"),
                None,
                Some("AccessDenied"),
            ];
            assert_eq!(answer(4, &codes), ".t.x");
        }

        #[test]
        fn with_a_list_of_another_length_every_entry_is_unanswered() {
            assert_eq!(answer(3, &[None, None]), "???");
            assert_eq!(answer(2, &[None, None, None]), "??");
            assert_eq!(answer(2, &[]), "??");
        }

        #[test]
        fn an_empty_place_is_not_an_acceptance() {
            let verdict = entry_verdict(None, Some("?"), None);
            assert!(matches!(verdict, Verdict::Rejected(Rejection::Unanswered, fault) if fault.is_ambiguous()));
        }
    }

    mod of_names {
        use super::*;
        use crate::aws::classify_entry;

        fn verdicts(sent: &[&str], accepted: &[&str], failed: &[(&str, &str)], names_failures_alone: bool) -> String {
            let failed = failed
                .iter()
                .map(|(name, code)| (*name, classify_entry(code, true, None)));
            let answer = by_name("S3", sent, accepted.iter().copied(), failed, names_failures_alone);
            letters(&answer, sent.len())
        }

        #[test]
        fn each_name_has_its_own_verdict_whatever_the_order() {
            let failed = [("d", "AccessDenied"), ("b", "SlowDown")];
            assert_eq!(verdicts(&["a", "b", "c", "d"], &["c", "a"], &failed, false), ".t.x");
        }

        #[test]
        fn entries_of_one_name_have_one_verdict() {
            assert_eq!(verdicts(&["a", "a", "b"], &["a"], &[("b", "SlowDown")], false), "..t");
            assert_eq!(verdicts(&["a", "b", "a"], &["b"], &[("a", "SlowDown")], false), "t.t");
        }

        #[test]
        fn a_name_in_neither_list_is_accepted_only_if_failures_alone_are_named() {
            assert_eq!(verdicts(&["a", "b"], &["b"], &[], false), "?.");
            assert_eq!(verdicts(&["a", "b"], &[], &[("b", "SlowDown")], true), ".t");
        }

        #[test]
        fn a_failure_of_a_name_that_was_not_sent_may_be_that_of_any_entry() {
            assert_eq!(verdicts(&["a", "b"], &["a"], &[("", "SlowDown")], true), ".?");
            assert_eq!(verdicts(&["a"], &["a", "z"], &[], true), ".");
        }

        #[test]
        fn a_name_in_both_lists_is_unanswered() {
            assert_eq!(
                verdicts(&["a", "b"], &["a", "b"], &[("a", "AccessDenied")], false),
                "?."
            );
        }
    }
}
