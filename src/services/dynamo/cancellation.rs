//! Why a transaction was cancelled, action by action.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::CancellationReason;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use super::attempts::{FailedCondition, Reply, is_refusal};
use super::throttling;
use crate::contract::{Answer, Fault, Rejection, Verdict};

/// The meaning of a failed transaction.
///
/// The reasons of a cancellation are read from its fields, one for each action in their order, and never from its message. From the
/// API reference of `TransactWriteItems`: `TransactionCanceledException`.
pub(super) fn of_transaction(error: SdkError<TransactWriteItemsError, HttpResponse>) -> Reply {
    let is_refusal = is_refusal(&error);
    match error.as_service_error() {
        Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) if is_refusal => {
            of_reasons(cancelled.cancellation_reasons())
        }
        // An earlier request with the token is under way, whose result is not known yet.
        Some(TransactWriteItemsError::TransactionInProgressException(_)) if is_refusal => {
            let fault = Fault::new("TransactionInProgressException").ambiguous();
            Reply::Failed(Answer::Whole(Verdict::Rejected(Rejection::Transient, fault)))
        }
        Some(TransactWriteItemsError::IdempotentParameterMismatchException(_)) if is_refusal => {
            let fault = Fault::new("IdempotentParameterMismatchException").ambiguous();
            Reply::Failed(Answer::Whole(Verdict::Refused(fault)))
        }
        _ => Reply::Failed(throttling::of_call(error)),
    }
}

/// What the reason of one action means for its transaction, in the order in which they count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ActionVerdict {
    Nothing,
    /// Another transaction, or a reason that is not known.
    Passing,
    Throttled,
    ConditionFailed,
    /// The action can never succeed, whatever the others do.
    Refused,
}

impl ActionVerdict {
    fn of(reason: &CancellationReason) -> Self {
        match reason.code() {
            None | Some("None") => Self::Nothing,
            Some("ConditionalCheckFailed" | "DuplicateItem") => Self::ConditionFailed,
            Some("ValidationError" | "ItemCollectionSizeLimitExceeded" | "AccessDenied") => Self::Refused,
            Some("ProvisionedThroughputExceeded" | "ThrottlingError" | "RequestLimitExceeded") => Self::Throttled,
            // `TransactionConflict`, and codes that are not known.
            Some(_) => Self::Passing,
        }
    }
}

/// The transaction was cancelled for these reasons: none of it was applied.
fn of_reasons(reasons: &[CancellationReason]) -> Reply {
    let of_actions = || {
        reasons
            .iter()
            .enumerate()
            .map(|(action, reason)| (ActionVerdict::of(reason), action, reason))
    };
    let deciding = of_actions().max_by(|(one, earlier, _), (other, later, _)| one.cmp(other).then(later.cmp(earlier)));
    let (verdict, action, code) = match deciding {
        Some((verdict, action, reason)) => (verdict, action, reason.code()),
        None => (ActionVerdict::Nothing, 0, None),
    };
    if verdict == ActionVerdict::ConditionFailed {
        let failed = of_actions().filter(|(verdict, ..)| *verdict == ActionVerdict::ConditionFailed);
        let failed = failed.map(|(_, action, reason)| FailedCondition::new(action, reason.item.clone()));
        return Reply::ConditionFailed(failed.collect());
    }
    let mut fault = Fault::new(match code.filter(|_| verdict != ActionVerdict::Nothing) {
        Some(code) => format!("TransactionCanceledException: action {action}: {code}"),
        None => "TransactionCanceledException".to_owned(),
    });
    if let Some(message) = reasons.get(action).and_then(CancellationReason::message) {
        fault = fault.caused_by(message).with_message(message);
    }
    Reply::Failed(Answer::Whole(match verdict {
        ActionVerdict::Refused => Verdict::Refused(fault),
        ActionVerdict::Throttled => Verdict::Rejected(Rejection::Throttled, fault),
        _ => Verdict::Rejected(Rejection::Transient, fault),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attributes, text};
    use super::*;

    fn reasons(codes: &[&str]) -> Vec<CancellationReason> {
        let reason = |code: &&str| CancellationReason::builder().code(*code).message("about `x`").build();
        codes.iter().map(reason).collect()
    }

    fn verdict(codes: &[&str]) -> Verdict {
        match of_reasons(&reasons(codes)) {
            Reply::Failed(Answer::Whole(verdict)) => verdict,
            Reply::ConditionFailed(_) => Verdict::ConditionFailed,
            Reply::Applied(_) | Reply::Failed(_) => panic!("{codes:?}"),
        }
    }

    #[test]
    fn one_action_decides_for_all() {
        for (codes, rejection) in [
            (&["None", "TransactionConflict"][..], Rejection::Transient),
            (&["ProvisionedThroughputExceeded", "None"], Rejection::Throttled),
            (&["TransactionConflict", "ThrottlingError"], Rejection::Throttled),
            (&["None", "SomethingNew"], Rejection::Transient),
            (&["None"], Rejection::Transient),
            (&[], Rejection::Transient),
        ] {
            let verdict = verdict(codes);
            assert!(
                matches!(&verdict, Verdict::Rejected(is, fault) if *is == rejection && !fault.is_ambiguous()),
                "{codes:?}: {verdict:?}"
            );
        }
        for codes in [
            &["None", "ConditionalCheckFailed"][..],
            &["TransactionConflict", "ConditionalCheckFailed", "ThrottlingError"],
        ] {
            assert!(matches!(verdict(codes), Verdict::ConditionFailed), "{codes:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_first_action_at_fault() {
        for (codes, words) in [
            (
                &["None", "ValidationError", "ValidationError"][..],
                "action 1: ValidationError",
            ),
            (
                &["ItemCollectionSizeLimitExceeded"],
                "action 0: ItemCollectionSizeLimitExceeded",
            ),
            (
                &["ConditionalCheckFailed", "None", "AccessDenied"],
                "action 2: AccessDenied",
            ),
        ] {
            let Verdict::Refused(fault) = verdict(codes) else {
                panic!("{codes:?}");
            };
            assert_eq!(fault.code(), format!("TransactionCanceledException: {words}"));
            assert_eq!((fault.message(), fault.is_ambiguous()), (Some("about `x`"), false));
            assert!(!fault.to_string().contains('`'));
        }
    }

    #[test]
    fn every_failed_condition_is_named_with_its_item() {
        let item = attributes([("id", text("1"))]);
        let mut reasons = reasons(&["ConditionalCheckFailed", "None", "ConditionalCheckFailed"]);
        reasons[2].item = Some(item.clone());
        let Reply::ConditionFailed(failed) = of_reasons(&reasons) else {
            panic!("the conditions have failed");
        };
        assert_eq!(
            failed,
            [FailedCondition::new(0, None), FailedCondition::new(2, Some(item))]
        );
    }
}
