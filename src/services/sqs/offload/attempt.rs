//! One attempt to send a chunk: the uploads to S3, and then the call to SQS.

use std::collections::HashSet;

use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use futures::future::join_all;

use super::Offload;
use super::mark;
use crate::contract::{Answer, Fault, Rejection, Verdict};
use crate::services::sqs::plain::PlainQueue;

/// Uploads the bodies that are not in the bucket yet, all at once, and then sends all messages whose uploads succeeded in one
/// call.
pub(in super::super) async fn send(
    offload: &Offload,
    queue: &PlainQueue,
    chunk: &[SendMessageBatchRequestEntry],
) -> Answer {
    let uploads = chunk.iter().map(|entry| offload.upload(entry));
    let mut failures: Vec<Option<Verdict>> = join_all(uploads).await.into_iter().map(Result::err).collect();
    if queue.fifo {
        hold_behind(chunk, &mut failures);
    }
    let ready = || chunk.iter().zip(&failures).filter(|(_, failure)| failure.is_none());
    let sent = ready().count();
    let answer = if sent > 0 {
        let messages = ready().map(|(entry, _)| offload.as_sent(queue, entry));
        queue.call(messages).await
    } else {
        Answer::Each(Vec::new())
    };
    let answer = with_failures(answer, sent, failures);
    if let Answer::Each(verdicts) = &answer {
        let arrived = chunk.iter().zip(verdicts).filter(|(_, verdict)| verdict.is_accepted());
        let keys = arrived.filter_map(|(entry, _)| mark::key(&entry.id));
        keys.for_each(|key| _ = offload.uploads.forget(key));
    }
    answer
}

/// Holds back the later messages of the group of a message whose upload is repeated, so that they do not pass it.
fn hold_behind(chunk: &[SendMessageBatchRequestEntry], failures: &mut [Option<Verdict>]) {
    let mut held = HashSet::new();
    for (entry, failure) in chunk.iter().zip(failures) {
        if failure.is_none() && held.contains(&entry.message_group_id) {
            let fault = Fault::new("behind an upload that failed");
            // No call was made for it.
            *failure = Some(Verdict::Rejected(Rejection::Setup, fault));
        } else if matches!(failure, Some(Verdict::Rejected(..))) {
            held.insert(&entry.message_group_id);
        }
    }
}

/// The answer for the whole chunk: the verdicts on failed uploads, and the answer of SQS for the `sent` other messages.
fn with_failures(answer: Answer, sent: usize, failures: Vec<Option<Verdict>>) -> Answer {
    if sent == failures.len() {
        return answer;
    }
    let unanswered = Fault::new("no answer for this entry").ambiguous();
    let (mut each, rest) = match answer {
        Answer::Each(verdicts) => (verdicts, Verdict::Rejected(Rejection::Unanswered, unanswered)),
        // Which message SQS refused is not known, so the whole chunk is bisected, including the messages that were not sent.
        Answer::Whole(Verdict::Refused(_)) if sent > 1 => return answer,
        Answer::Disputed(_) | Answer::Stop(_) => return answer,
        Answer::Whole(verdict) => (Vec::new(), verdict),
    };
    let mut answers = each.drain(..);
    let verdicts = failures
        .into_iter()
        .map(|failure| failure.unwrap_or_else(|| answers.next().unwrap_or_else(|| rest.clone())));
    Answer::Each(verdicts.collect())
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::message;
    use super::*;

    fn rejected() -> Verdict {
        Verdict::Rejected(Rejection::Transient, Fault::new("SlowDown"))
    }

    fn refused() -> Verdict {
        Verdict::Refused(Fault::new("AccessDenied"))
    }

    /// `.` accepted, `r` rejected, `x` refused.
    fn letters(verdicts: &[Verdict]) -> String {
        let letter = |verdict: &Verdict| match verdict {
            Verdict::Accepted | Verdict::Acknowledged(_) => '.',
            Verdict::Rejected(..) => 'r',
            Verdict::Refused(_) | Verdict::ConditionFailed => 'x',
        };
        verdicts.iter().map(letter).collect()
    }

    fn each(answer: Answer, sent: usize, failures: Vec<Option<Verdict>>) -> String {
        match with_failures(answer, sent, failures) {
            Answer::Each(verdicts) => letters(&verdicts),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_failed_upload_has_its_own_verdict_and_the_others_have_that_of_sqs() {
        let failures = || vec![None, Some(rejected()), None, Some(refused())];
        let answers = Answer::Each(vec![Verdict::Accepted, refused()]);
        assert_eq!(each(answers, 2, failures()), ".rxx");
        assert_eq!(each(Answer::Whole(rejected()), 2, failures()), "rrrx");
        let unanswered = Answer::Each(vec![Verdict::Accepted]);
        assert_eq!(each(unanswered, 2, failures()), ".rrx");
    }

    #[test]
    fn a_refused_call_is_bisected_unless_it_had_one_message() {
        let both = with_failures(Answer::Whole(refused()), 2, vec![None, None, Some(rejected())]);
        assert!(matches!(both, Answer::Whole(Verdict::Refused(_))));
        assert_eq!(each(Answer::Whole(refused()), 1, vec![None, Some(rejected())]), "xr");
    }

    #[test]
    fn a_group_waits_for_the_upload_of_its_first_message() {
        let chunk = ["a", "b", "a", "c", "b", "c"].map(|group| message("x").message_group_id(group).build().unwrap());
        let mut failures = vec![None, Some(rejected()), None, Some(refused()), None, None];
        hold_behind(&chunk, &mut failures);
        let verdicts: Vec<Verdict> = failures
            .into_iter()
            .map(|failure| failure.unwrap_or(Verdict::Accepted))
            .collect();
        assert_eq!(letters(&verdicts), ".r.xr.");
    }
}
