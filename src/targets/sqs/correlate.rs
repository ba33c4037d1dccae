//! Which of the messages sent an answer speaks of.
//!
//! Messages go out under the ids `0`, `1`, `2` … of their places in the chunk. The caller's own ids may repeat or be too
//! long, and never reach the wire.

use aws_sdk_sqs::types::{BatchResultErrorEntry, SendMessageBatchResultEntry};
use tracing::warn;

use crate::events::ANSWER;
use crate::targets::answer::{Acknowledgement, Fault, Rejection, Verdict};
use crate::targets::classify_entry;

/// The id of the message at `place`.
pub(super) fn wire_id(place: usize) -> String {
    place.to_string()
}

/// Reads the two lists of an answer to a call with as many messages as `sent`.
///
/// A message that is in neither list, or in both, is sent again: the answer does not say what became of it, and a duplicate
/// can be told from its content while a lost message is gone. Of several failures of one message the first counts.
pub(super) fn verdicts(
    sent: usize,
    successful: Vec<SendMessageBatchResultEntry>,
    failed: &[BatchResultErrorEntry],
) -> Vec<Verdict> {
    let mut verdicts: Vec<Option<Verdict>> = vec![None; sent];
    let mut strangers = 0_usize;
    for entry in failed {
        match place(entry.id(), sent) {
            Some(place) => {
                verdicts[place]
                    .get_or_insert_with(|| classify_entry(entry.code(), entry.sender_fault(), entry.message()));
            }
            None => strangers += 1,
        }
    }
    for entry in successful {
        match place(entry.id(), sent) {
            Some(place) => {
                let accepted = verdicts[place].as_ref().is_none_or(Verdict::is_accepted);
                verdicts[place] = Some(if accepted {
                    acknowledged(entry)
                } else {
                    unanswered("both accepted and failed")
                });
            }
            None => strangers += 1,
        }
    }
    if strangers > 0 {
        warn!(target: ANSWER, entries = strangers, "SQS answered for messages that were not sent");
    }
    verdicts
        .into_iter()
        .map(|verdict| verdict.unwrap_or_else(|| unanswered("neither accepted nor failed")))
        .collect()
}

/// The place that an id stands for, if it was sent. `01` and `+1` were not.
fn place(id: &str, sent: usize) -> Option<usize> {
    let place = id.parse().ok()?;
    let is_spelled_so = id == "0" || !id.starts_with(['0', '+']);
    (place < sent && is_spelled_so).then_some(place)
}

fn acknowledged(entry: SendMessageBatchResultEntry) -> Verdict {
    let acknowledgement = Acknowledgement::default().with_message_id(entry.message_id);
    Verdict::Acknowledged(match entry.sequence_number {
        Some(number) => acknowledgement.with_sequence_number(number),
        None => acknowledgement,
    })
}

fn unanswered(code: &'static str) -> Verdict {
    Verdict::Rejected(Rejection::Unanswered, Fault::new(code).may_have_been_applied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn successful(ids: &[&str]) -> Vec<SendMessageBatchResultEntry> {
        let entry = |id: &&str| {
            SendMessageBatchResultEntry::builder()
                .id(*id)
                .message_id("m")
                .md5_of_message_body("d")
                .build()
                .unwrap()
        };
        ids.iter().map(entry).collect()
    }

    fn failed(failures: &[(&str, &str)]) -> Vec<BatchResultErrorEntry> {
        let entry = |(id, code): &(&str, &str)| {
            BatchResultErrorEntry::builder()
                .id(*id)
                .code(*code)
                .sender_fault(true)
                .build()
                .unwrap()
        };
        failures.iter().map(entry).collect()
    }

    /// `.` accepted, `t` throttled, `x` refused, `?` unanswered.
    fn told(verdicts: &[Verdict]) -> String {
        let letter = |verdict: &Verdict| match verdict {
            Verdict::Accepted | Verdict::Acknowledged(_) => '.',
            Verdict::Rejected(Rejection::Throttled, _) => 't',
            Verdict::Rejected(Rejection::Unanswered, fault) if fault.is_ambiguous() => '?',
            Verdict::Refused(_) => 'x',
            other @ Verdict::Rejected(..) => panic!("{other:?}"),
        };
        verdicts.iter().map(letter).collect()
    }

    #[test]
    fn each_message_gets_its_own_verdict_whatever_the_order() {
        let failed = failed(&[("3", "InvalidMessageContents"), ("1", "RequestThrottled")]);
        assert_eq!(told(&verdicts(4, successful(&["2", "0"]), &failed)), ".t.x");
    }

    #[test]
    fn an_accepted_message_has_the_ids_that_the_queue_gave_it() {
        let entry = SendMessageBatchResultEntry::builder()
            .id("0")
            .message_id("5fea7756")
            .md5_of_message_body("d");
        let ordered = entry.clone().sequence_number("18885").build().unwrap();
        for (entry, expected) in [(entry.build().unwrap(), None), (ordered, Some("18885"))] {
            let verdicts = verdicts(1, vec![entry], &[]);
            let [Verdict::Acknowledged(acknowledgement)] = &verdicts[..] else {
                panic!("{verdicts:?}");
            };
            assert_eq!(acknowledgement.message_id.as_deref(), Some("5fea7756"));
            assert_eq!(acknowledgement.sequence_number.as_deref(), expected);
        }
    }

    #[test]
    fn a_message_in_neither_list_is_unanswered() {
        assert_eq!(told(&verdicts(3, successful(&["1"]), &[])), "?.?");
        assert_eq!(told(&verdicts(2, Vec::new(), &[])), "??");
    }

    #[test]
    fn a_message_that_fails_twice_fails_once() {
        let failed = failed(&[("0", "RequestThrottled"), ("0", "RequestThrottled")]);
        assert_eq!(told(&verdicts(1, Vec::new(), &failed)), "t");
    }

    #[test]
    fn a_message_accepted_twice_is_accepted() {
        assert_eq!(told(&verdicts(1, successful(&["0", "0"]), &[])), ".");
    }

    #[test]
    fn a_message_in_both_lists_is_unanswered() {
        for code in ["RequestThrottled", "InvalidMessageContents"] {
            let failed = failed(&[("0", code)]);
            assert_eq!(told(&verdicts(2, successful(&["0", "1"]), &failed)), "?.");
            assert_eq!(told(&verdicts(1, successful(&["0", "0"]), &failed)), "?");
        }
    }

    #[test]
    fn ids_that_were_not_sent_are_ignored() {
        let failed = failed(&[("2", "InternalError"), ("x", "InternalError"), ("", "InternalError")]);
        assert_eq!(told(&verdicts(2, successful(&["01", "+1", "0"]), &failed)), ".?");
    }

    #[test]
    fn more_than_ten_messages_have_ids_too() {
        let ids: Vec<String> = (0..100).map(wire_id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        assert_eq!(told(&verdicts(100, successful(&ids), &[])), ".".repeat(100));
    }
}
