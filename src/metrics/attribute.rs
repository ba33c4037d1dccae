//! The attributes of a metric.

use aws_smithy_observability::{AttributeValue, Attributes};

pub(super) fn set(attributes: &mut Attributes, name: &'static str, value: &str) {
    attributes.set(name, AttributeValue::String(value.to_owned()));
}
