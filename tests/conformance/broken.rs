//! The kit finds the bugs of a target.

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::conformance::{Fixture, Reply, Service, Statement, check};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};

use crate::conformance::{number, text};

/// The bug of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// It treats a throttled entry as accepted.
    Loses,
    /// It treats a call with one rejected entry as a rejected call.
    SendsAllAgain,
    /// It does not report that a failed entry may have been applied.
    HidesDoubt,
    /// It sends refused entries again.
    NeverGivesUp,
    /// It does not measure its entries.
    DoesNotMeasure,
    /// It hands back entries that are too large, but counts one byte for each of the others.
    CountsOneByte,
    /// Its service refuses nothing but whole calls, and it hides doubt.
    HidesDoubtOfCalls,
    /// Its service refuses nothing but single entries, and it hides doubt.
    HidesDoubtOfEntries,
    /// It sends the first entry of a call twice.
    SendsTwice,
    /// It takes every failed condition for a decision, although an earlier attempt may be the reason.
    ForgetsDoubt,
}

impl Flaw {
    fn hides_doubt(self) -> bool {
        matches!(
            self,
            Self::HidesDoubt | Self::HidesDoubtOfCalls | Self::HidesDoubtOfEntries
        )
    }
}

struct Target {
    flaw: Flaw,
    service: Service,
    limits: Limits,
}

impl Target {
    fn verdict(&self, said: Statement) -> Verdict {
        let fault = Fault::new("said");
        match said {
            Statement::Accepted => Verdict::Accepted,
            Statement::Throttled if self.flaw == Flaw::Loses => Verdict::Accepted,
            Statement::Throttled => Verdict::Rejected(Rejection::Throttled, fault),
            Statement::Refused if self.flaw == Flaw::NeverGivesUp => Verdict::Rejected(Rejection::Transient, fault),
            Statement::Refused => Verdict::Refused(fault),
            Statement::ConditionFailed => Verdict::ConditionFailed,
            _ if self.flaw.hides_doubt() => Verdict::Rejected(Rejection::Transient, fault),
            _ => Verdict::Rejected(Rejection::Transient, fault.ambiguous()),
        }
    }
}

impl BatchTarget for Target {
    type Entry = String;

    fn limits(&self) -> Limits {
        self.limits
    }

    fn check(&self, text: &String) -> Result<usize, InvalidEntry> {
        let actual = if self.flaw == Flaw::DoesNotMeasure {
            1
        } else {
            text.len()
        };
        let (part, limit) = ("text", self.limits.bytes);
        if actual > limit {
            return Err(InvalidEntry::TooLarge { part, limit, actual });
        }
        Ok(if self.flaw == Flaw::CountsOneByte { 1 } else { actual })
    }

    async fn send(&self, texts: &[String]) -> Answer {
        let mut numbers: Vec<usize> = texts.iter().map(|text| number(text)).collect();
        if self.flaw == Flaw::SendsTwice {
            numbers.insert(0, numbers[0]);
        }
        match self.service.call(&numbers) {
            Reply::Each { mut said, .. } => {
                if self.flaw == Flaw::SendsTwice {
                    said.remove(0);
                }
                let rejected = said.iter().find(|said| **said != Statement::Accepted);
                match rejected {
                    Some(rejected) if self.flaw == Flaw::SendsAllAgain => Answer::Whole(self.verdict(*rejected)),
                    _ => Answer::Each(said.into_iter().map(|said| self.verdict(said)).collect()),
                }
            }
            Reply::Whole(said) => Answer::Whole(self.verdict(said)),
        }
    }
}

impl Fixture for Flaw {
    type Target = Target;

    fn target(&self, service: Service, limits: Option<Limits>) -> Target {
        Target {
            flaw: *self,
            service,
            limits: limits.unwrap_or(Limits::new(20, 10_000)),
        }
    }

    fn entry(&self, number: usize, bytes: usize) -> String {
        text(number, bytes)
    }

    fn number(&self, text: &String) -> usize {
        number(text)
    }

    fn entry_replies(&self) -> &[Statement] {
        match self {
            Self::ForgetsDoubt => &[Statement::Accepted, Statement::Failed, Statement::ConditionFailed],
            Self::HidesDoubtOfCalls => &[Statement::Accepted, Statement::Throttled, Statement::Failed],
            _ => &[
                Statement::Accepted,
                Statement::Throttled,
                Statement::Failed,
                Statement::Refused,
            ],
        }
    }

    fn refuses_calls(&self) -> bool {
        *self != Self::HidesDoubtOfEntries
    }
}

/// A target without a flaw that has these limits.
struct Limited(Limits);

impl Fixture for Limited {
    type Target = Target;

    fn target(&self, service: Service, limits: Option<Limits>) -> Target {
        Flaw::None.target(service, Some(limits.unwrap_or(self.0)))
    }

    fn entry(&self, number: usize, bytes: usize) -> String {
        text(number, bytes)
    }

    fn number(&self, text: &String) -> usize {
        number(text)
    }

    fn entry_replies(&self) -> &[Statement] {
        Flaw::None.entry_replies()
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_without_a_flaw_passes() {
    check(Flaw::None, 200).await;
}

#[tokio::test(start_paused = true)]
async fn targets_whose_bytes_bind_first_or_not_at_all_pass() {
    for limits in [
        Limits::new(500, 1_000),
        Limits::new(20, usize::MAX),
        Limits::new(0, 10_000),
    ] {
        check(Limited(limits), 20).await;
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "counts as delivered, and the service has it not")]
async fn an_entry_that_is_lost_is_found() {
    check(Flaw::Loses, 200).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "was sent again after the service had said Accepted")]
async fn an_accepted_entry_that_is_sent_again_is_found() {
    check(Flaw::SendsAllAgain, 200).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "was handed back: retries used up")]
async fn a_refused_call_that_is_sent_again_is_found() {
    check(Flaw::NeverGivesUp, 200).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "was handed back as surely not delivered, and the service has it")]
async fn a_doubt_that_is_hidden_is_found() {
    check(Flaw::HidesDoubt, 200).await;
}

/// What the kit says of the target with this flaw.
async fn complaint(flaw: Flaw) -> String {
    let panic = tokio::spawn(check(flaw, 200)).await.unwrap_err().into_panic();
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_doubt_that_is_hidden_for_single_entries_or_where_only_calls_are_refused_is_found() {
    for flaw in [Flaw::HidesDoubtOfCalls, Flaw::HidesDoubtOfEntries] {
        let complaint = complaint(flaw).await;
        assert!(
            complaint.contains("was handed back as surely not delivered, and the service has it"),
            "{flaw:?}: {complaint}"
        );
    }
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "an entry with 200 bytes more counts 1 bytes instead of 1")]
async fn a_size_that_does_not_grow_with_the_entry_is_found() {
    check(Flaw::CountsOneByte, 200).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "was twice in a call")]
async fn an_entry_that_is_twice_in_a_call_is_found() {
    check(Flaw::SendsTwice, 200).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "an entry that is larger than a call was sent")]
async fn an_entry_that_is_not_measured_is_found() {
    check(Flaw::DoesNotMeasure, 200).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "is reported as failed, and the service has the entry")]
async fn a_failed_condition_of_an_entry_that_was_applied_is_found() {
    check(Flaw::ForgetsDoubt, 200).await;
}
