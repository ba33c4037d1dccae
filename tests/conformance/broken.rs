//! The kit finds the bugs of a target.

use aws_batch_delivery::InvalidEntry;
use aws_batch_delivery::conformance::{Fixture, Reply, Said, Service, check};
use aws_batch_delivery::targets::{Answer, BatchTarget, Fault, Limits, Rejection, Verdict};

use crate::{number, text};

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
    /// It takes every failed condition for a decision, although an earlier attempt may be the reason.
    ForgetsDoubt,
}

struct Target {
    flaw: Flaw,
    service: Service,
    limits: Limits,
}

impl Target {
    fn verdict(&self, said: Said) -> Verdict {
        let fault = Fault::new("said");
        match said {
            Said::Accepted => Verdict::Accepted,
            Said::Throttled if self.flaw == Flaw::Loses => Verdict::Accepted,
            Said::Throttled => Verdict::Rejected(Rejection::Throttled, fault),
            Said::Refused if self.flaw == Flaw::NeverGivesUp => Verdict::Rejected(Rejection::Transient, fault),
            Said::Refused => Verdict::Refused(fault),
            Said::ConditionFailed => Verdict::ConditionFailed,
            _ if self.flaw == Flaw::HidesDoubt => Verdict::Rejected(Rejection::Transient, fault),
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
        Ok(actual)
    }

    async fn send(&self, texts: &[String]) -> Answer {
        let numbers: Vec<usize> = texts.iter().map(|text| number(text)).collect();
        match self.service.call(&numbers) {
            Reply::Each { said, .. } => {
                let rejected = said.iter().find(|said| **said != Said::Accepted);
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

    fn entry_replies(&self) -> &[Said] {
        match self {
            Self::ForgetsDoubt => &[Said::Accepted, Said::Failed, Said::ConditionFailed],
            _ => &[Said::Accepted, Said::Throttled, Said::Failed, Said::Refused],
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_without_a_flaw_passes() {
    check(Flaw::None, 200).await;
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
