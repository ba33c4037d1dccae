//! Why a lookup brought no answer, and whether to ask again.

use thiserror::Error;

use crate::contract::{Answer, Fault, Rejection, Verdict};

/// A client that may write need not have the permission to describe.
const FORBIDDEN: &[&str] = &[
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "NotAuthorized",
];

/// Other implementations of the protocol may not know the operation.
const UNKNOWN: &[&str] = &[
    "InvalidAction",
    "NotImplemented",
    "UnknownOperationException",
    "UnsupportedOperation",
];

/// Why a call of a [`Lookup`](super::Lookup) brought no answer, which decides whether another one follows. An [`Answer`] is converted into
/// it.
#[derive(Debug, Clone, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum LookupError {
    /// It is repeated until there is an answer: the service is throttled or fails, or cannot be reached.
    Transient(Fault),
    /// It is not repeated now: the resource does not exist, for example, and the first call of the delivery fails as well.
    NotNow(Fault),
    /// Asking is pointless: the permission is missing, or the service does not know the operation. The delivery continues
    /// without the answer.
    Never(Fault),
}

/// What the user can do when there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Grant the permission to ask, or give the answer.
    Permit,
    /// Give the answer: it cannot be asked for.
    DoWithout,
    /// Nothing: the next delivery may get an answer.
    Wait,
}

impl LookupError {
    /// What the user can do after a lookup failed for this reason.
    pub(crate) fn advice(fault: &Fault) -> Advice {
        if FORBIDDEN.contains(&fault.code()) {
            Advice::Permit
        } else if UNKNOWN.contains(&fault.code()) {
            Advice::DoWithout
        } else {
            Advice::Wait
        }
    }
}

impl From<Answer> for LookupError {
    /// What a failed call means for the next one.
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Stop(fault) | Answer::Whole(Verdict::Refused(fault)) if Self::advice(&fault) != Advice::Wait => {
                Self::Never(fault)
            }
            // Without a code it is not the service that refuses: a proxy, or a page of HTML.
            Answer::Whole(Verdict::Refused(fault)) if fault.is_ambiguous() => Self::Transient(fault),
            // A limit of calls a second, not a number of resources: describing creates none.
            Answer::Whole(Verdict::Refused(fault)) if fault.code() == "LimitExceededException" => {
                Self::Transient(fault)
            }
            // A missing resource may be created later, and credentials may be corrected.
            Answer::Disputed(fault) if Self::advice(&fault) != Advice::Wait => Self::Never(fault),
            Answer::Disputed(fault) if fault.is_ambiguous() => Self::Transient(fault),
            Answer::Disputed(fault)
            | Answer::Stop(fault)
            | Answer::Whole(Verdict::Refused(fault) | Verdict::Rejected(Rejection::Unconfigured, fault)) => {
                Self::NotNow(fault)
            }
            Answer::Whole(Verdict::Rejected(_, fault)) => Self::Transient(fault),
            Answer::Whole(Verdict::Accepted | Verdict::Acknowledged(_) | Verdict::ConditionFailed)
            | Answer::Each(_) => Self::NotNow(Fault::new("no answer")),
        }
    }
}
