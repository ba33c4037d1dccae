//! Errors that services answer with.

use std::borrow::Cow;

use serde_json::Value;

/// An error that the service answers with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: Cow<'static, str>,
    /// The code in the older protocol of SQS, if it differs.
    pub(super) query_code: Option<&'static str>,
    pub(super) message: Cow<'static, str>,
    /// Whether the message is in `Message` instead of `message`.
    pub(super) has_capital_message: bool,
    pub(super) more: Option<(&'static str, Value)>,
}

impl Refusal {
    /// An error with the status 400. A code that contains `#` has a namespace already.
    pub(crate) fn new(code: impl Into<Cow<'static, str>>, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            status: 400,
            code: code.into(),
            query_code: None,
            message: message.into(),
            has_capital_message: false,
            more: None,
        }
    }

    /// An error that is the same for each request.
    pub(crate) const fn of(status: u16, code: &'static str, message: &'static str) -> Self {
        Self {
            status,
            code: Cow::Borrowed(code),
            query_code: None,
            message: Cow::Borrowed(message),
            has_capital_message: false,
            more: None,
        }
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn query_code(mut self, code: &'static str) -> Self {
        self.query_code = Some(code);
        self
    }

    /// The message is in `Message` instead of `message`, as in some of the errors of `DynamoDB`.
    pub(crate) fn capital_message(mut self) -> Self {
        self.has_capital_message = true;
        self
    }

    pub(crate) fn with(mut self, member: &'static str, value: Value) -> Self {
        self.more = Some((member, value));
        self
    }

    pub(crate) fn unknown_operation() -> Self {
        Self::new("com.amazon.coral.service#UnknownOperationException", "")
    }

    pub(crate) fn validation(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new("com.amazon.coral.validate#ValidationException", message)
    }

    pub(crate) fn serialization(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new("com.amazon.coral.service#SerializationException", message)
    }

    /// The code as in an entry of a batch answer: without a namespace.
    pub(crate) fn short_code(&self) -> &str {
        self.query_code.unwrap_or(&self.code)
    }

    /// Whether the service has failed, so that the caller does not know what it has done.
    pub(crate) fn is_of_service(&self) -> bool {
        self.status >= 500
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Whether the sender or the receiver is at fault, as SQS writes it.
    pub(super) fn faulty_side(&self) -> &'static str {
        if self.status < 500 { "Sender" } else { "Receiver" }
    }
}
