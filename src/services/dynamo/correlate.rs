//! Which of the writes in a call were returned as unprocessed.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::WriteRequest;
use tracing::warn;

use super::TableWrite;
use super::equality::same_request;
use crate::contract::{Answer, Fault, Rejection, Verdict};
use crate::events::ANSWER;

/// Reads `UnprocessedItems` after writes to one table.
///
/// The field is keyed by the table's name or ARN, as in the request. Whatever the key is, its writes were sent by this
/// call.
///
/// A returned write that was not sent is a sent one in changed form, and it is not known which. Writes to DynamoDB can be
/// repeated without harm, so every write that is not matched otherwise is sent again.
pub(super) fn verdicts(sent: &[WriteRequest], unprocessed: Option<&HashMap<String, Vec<WriteRequest>>>) -> Answer {
    let Some(unprocessed) = unprocessed else {
        return Answer::Whole(unanswered(NOTHING_SAID));
    };
    let returned: Vec<&WriteRequest> = unprocessed.values().flatten().collect();
    if returned.is_empty() {
        return Answer::Whole(Verdict::Accepted);
    }
    Answer::Each(of_table(&sent.iter().collect::<Vec<_>>(), returned))
}

/// Reads `UnprocessedItems` after writes to several tables.
///
/// Each table is read separately, because two tables may have been sent the same item. A table that was not written to puts
/// all writes in doubt.
pub(super) fn verdicts_by_table(
    sent: &[TableWrite],
    unprocessed: Option<&HashMap<String, Vec<WriteRequest>>>,
) -> Answer {
    let Some(unprocessed) = unprocessed else {
        return Answer::Whole(unanswered(NOTHING_SAID));
    };
    if unprocessed.values().all(Vec::is_empty) {
        return Answer::Whole(Verdict::Accepted);
    }
    let mut verdicts = vec![Verdict::Accepted; sent.len()];
    let was_sent = |name: &str| sent.iter().any(|write| same_table(&write.table, name));
    for (first, write) in sent.iter().enumerate() {
        let table = &write.table;
        if sent[..first].iter().any(|earlier| earlier.table == *table) {
            continue;
        }
        let of_this = |place: &usize| sent[*place].table == *table;
        let places: Vec<usize> = (first..sent.len()).filter(of_this).collect();
        let requests: Vec<&WriteRequest> = places.iter().map(|place| &sent[*place].request).collect();
        let returned = unprocessed
            .iter()
            .filter(|(name, _)| same_table(table, name) || !was_sent(name))
            .flat_map(|(_, returned)| returned);
        for (place, verdict) in places.iter().zip(of_table(&requests, returned.collect())) {
            verdicts[*place] = verdict;
        }
    }
    Answer::Each(verdicts)
}

/// A name and the ARN that ends in it are one table. Two ARNs may be those of tables of two accounts.
fn same_table(one: &str, other: &str) -> bool {
    fn name(table: &str) -> Option<&str> {
        Some(table.split_once(":table/")?.1)
    }
    match (name(one), name(other)) {
        (None, Some(name)) => one == name,
        (Some(name), None) => name == other,
        _ => one == other,
    }
}

/// The service always sends the field, which is empty if everything was processed. Without it, no entry has a verdict.
const NOTHING_SAID: &str = "no UnprocessedItems";

fn of_table(sent: &[&WriteRequest], mut unmatched: Vec<&WriteRequest>) -> Vec<Verdict> {
    let mut returned = vec![false; sent.len()];
    match_all(sent, &mut returned, &mut unmatched, |sent, request| sent == request);
    match_all(sent, &mut returned, &mut unmatched, same_request);
    // The remaining ones may be named twice.
    unmatched.retain(|request| !sent.iter().any(|sent| same_request(sent, request)));

    let unknown = unmatched.len();
    if unknown > 0 {
        warn!(target: ANSWER, entries = unknown, "DynamoDB returned unprocessed writes that were not sent");
    }
    let verdict = |returned: bool| match (returned, unknown) {
        (true, _) => Verdict::Rejected(Rejection::Unprocessed, Fault::new("UnprocessedItems")),
        (false, 0) => Verdict::Accepted,
        (false, _) => unanswered("unknown UnprocessedItems"),
    };
    returned.into_iter().map(verdict).collect()
}

/// Marks a sent write for each equal one in `unmatched`, and removes that one from `unmatched`.
fn match_all(
    sent: &[&WriteRequest],
    returned: &mut [bool],
    unmatched: &mut Vec<&WriteRequest>,
    same: impl Fn(&WriteRequest, &WriteRequest) -> bool,
) {
    unmatched.retain(|request| {
        let mut free = sent.iter().zip(returned.iter_mut()).filter(|(_, returned)| !**returned);
        match free.find(|(sent, _)| same(sent, request)) {
            Some((_, returned)) => {
                *returned = true;
                false
            }
            None => true,
        }
    });
}

pub(super) fn unanswered(code: &'static str) -> Verdict {
    Verdict::Rejected(Rejection::Unanswered, Fault::new(code).ambiguous())
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;

    use super::super::testing::{delete, put, text};
    use super::*;

    /// `.` accepted, `u` unprocessed, `?` unanswered.
    fn letters(answer: &Answer) -> String {
        let letter = |verdict: &Verdict| match verdict {
            Verdict::Accepted => '.',
            Verdict::Rejected(Rejection::Unprocessed, fault) if !fault.is_ambiguous() => 'u',
            Verdict::Rejected(Rejection::Unanswered, fault) if fault.is_ambiguous() => '?',
            other => panic!("{other:?}"),
        };
        match answer {
            Answer::Each(verdicts) => verdicts.iter().map(letter).collect(),
            Answer::Whole(verdict) => format!("all {}", letter(verdict)),
            Answer::Disputed(fault) | Answer::Stop(fault) => panic!("{fault:?}"),
        }
    }

    fn returned(requests: Vec<WriteRequest>) -> HashMap<String, Vec<WriteRequest>> {
        HashMap::from([("arn:aws:dynamodb:eu-central-1:1:table/orders".to_owned(), requests)])
    }

    fn item(id: &str, number: &str) -> WriteRequest {
        put([("id", text(id)), ("n", AttributeValue::N(number.to_owned()))])
    }

    #[test]
    fn a_write_that_is_not_returned_is_accepted() {
        let sent = [item("a", "1"), item("b", "1")];
        assert_eq!(letters(&verdicts(&sent, Some(&HashMap::new()))), "all .");
        assert_eq!(letters(&verdicts(&sent, Some(&returned(Vec::new())))), "all .");
    }

    #[test]
    fn puts_and_deletes_are_told_apart() {
        let sent = [
            item("a", "1"),
            delete([("id", text("b"))]),
            item("b", "1"),
            delete([("id", text("c"))]),
        ];
        let back = returned(vec![delete([("id", text("b"))]), item("a", "1")]);
        assert_eq!(letters(&verdicts(&sent, Some(&back))), "uu..");
    }

    #[test]
    fn a_number_spelled_anew_is_found_again() {
        let sent = [item("a", "1.0"), item("b", "2")];
        assert_eq!(letters(&verdicts(&sent, Some(&returned(vec![item("a", "1")])))), "u.");
    }

    #[test]
    fn equal_spellings_are_matched_before_equal_values() {
        // The engine never sends these two together; they test that the exact match wins in any order.
        let sent = [item("a", "1.0"), item("a", "1")];
        assert_eq!(letters(&verdicts(&sent, Some(&returned(vec![item("a", "1")])))), ".u");
        let both = returned(vec![item("a", "1"), item("a", "1")]);
        assert_eq!(letters(&verdicts(&sent, Some(&both))), "uu");
    }

    #[test]
    fn a_write_that_is_returned_twice_counts_once() {
        let sent = [item("a", "1"), item("b", "1")];
        let back = returned(vec![item("a", "1"), item("a", "1.0")]);
        assert_eq!(letters(&verdicts(&sent, Some(&back))), "u.");
    }

    #[test]
    fn a_write_that_was_not_sent_leaves_the_others_unanswered() {
        let sent = [item("a", "1"), item("b", "1"), item("c", "1")];
        let back = returned(vec![item("b", "1"), item("z", "1")]);
        assert_eq!(letters(&verdicts(&sent, Some(&back))), "?u?");
    }

    fn to(table: &str, request: WriteRequest) -> TableWrite {
        TableWrite::new(table, request)
    }

    #[test]
    fn each_table_has_its_own_writes_back() {
        let sent = [
            to("orders", item("a", "1")),
            to("customers", item("a", "1")),
            to("orders", item("b", "1")),
            to("customers", item("b", "1")),
        ];
        let mut back = returned(vec![item("a", "1")]);
        assert_eq!(letters(&verdicts_by_table(&sent, Some(&back))), "u...");
        back.insert("customers".to_owned(), vec![item("b", "1.0")]);
        assert_eq!(letters(&verdicts_by_table(&sent, Some(&back))), "u..u");
        assert_eq!(letters(&verdicts_by_table(&sent, Some(&HashMap::new()))), "all .");
        assert_eq!(letters(&verdicts_by_table(&sent, None)), "all ?");
    }

    #[test]
    fn leftovers_of_a_table_leave_the_writes_to_its_namesake_of_another_account_accepted() {
        let tables = ["1", "2"].map(|account| format!("arn:aws:dynamodb:eu-central-1:{account}:table/orders"));
        let sent = [to(&tables[0], item("a", "1")), to(&tables[1], item("b", "1"))];
        let back = returned(vec![item("a", "1")]);
        assert_eq!(letters(&verdicts_by_table(&sent, Some(&back))), "u.");
    }

    #[test]
    fn a_table_that_was_not_written_to_puts_all_in_doubt() {
        let sent = [to("orders", item("a", "1")), to("customers", item("b", "1"))];
        let mut back = returned(vec![item("a", "1")]);
        back.insert("others".to_owned(), vec![item("c", "1")]);
        assert_eq!(letters(&verdicts_by_table(&sent, Some(&back))), "u?");
    }

    #[test]
    fn an_answer_without_the_field_says_nothing() {
        assert_eq!(letters(&verdicts(&[item("a", "1")], None)), "all ?");
    }
}
