//! A request, the result of its operation, and the end of the call.

use serde_json::Value;

use super::refusal::Refusal;
use crate::fault::InjectedFault;

/// The largest request body that `DynamoDB` accepts: 16 MiB. S3 takes larger ones.
pub(crate) const LARGEST_BODY: usize = 16 * 1024 * 1024;

/// A request. S3 is recognized by method, query and the missing target, CloudWatch by its path, SNS by the missing target, and the
/// others by their target.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    /// Names in lower case, and values.
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a [u8],
}

impl<'a> Request<'a> {
    /// The value of the header with this name in lower case. It is empty if there is none.
    pub(crate) fn header(&self, name: &str) -> &'a str {
        let header = self.headers.iter().find(|(other, _)| *other == name);
        header.map(|(_, value)| *value).unwrap_or_default()
    }

    /// `X-Amz-Target`.
    pub(crate) fn target(&self) -> &'a str {
        self.header("x-amz-target")
    }
}

/// The result of an operation.
pub(crate) enum OperationOutcome {
    Success(Value),
    Refused(Refusal),
    /// A fault replaces the answer.
    Fault(InjectedFault),
}

impl From<Refusal> for OperationOutcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Result<Value, Refusal>> for OperationOutcome {
    fn from(result: Result<Value, Refusal>) -> Self {
        result.map_or_else(Self::Refused, Self::Success)
    }
}

impl From<Result<Self, Refusal>> for OperationOutcome {
    fn from(result: Result<Self, Refusal>) -> Self {
        result.unwrap_or_else(Self::Refused)
    }
}

/// How a call ends for the caller.
#[derive(Debug)]
pub(crate) enum CallEnd {
    Reply(Reply),
    /// The connection is closed.
    Dropped,
    /// There is no answer, and the connection stays open.
    Hung,
}

/// An HTTP response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
}
