//! The errors of calls, which are those of entries as well.

use std::borrow::Cow;

use crate::wire::Refusal;

/// An error with its code in the older protocol.
pub(super) fn error(code: &'static str, query_code: &'static str, message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new(code, message).query_code(query_code)
}

pub(super) fn invalid_value(message: impl Into<Cow<'static, str>>) -> Refusal {
    error(
        "com.amazon.coral.service#InvalidParameterValueException",
        "InvalidParameterValue",
        message,
    )
}

pub(super) fn missing(parameter: &str) -> Refusal {
    error(
        "com.amazon.coral.service#MissingRequiredParameterException",
        "MissingParameter",
        format!("The request must contain the parameter {parameter}."),
    )
}
