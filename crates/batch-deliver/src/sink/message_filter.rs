//! Which messages of a queue are taken.

use aws_sdk_sqs::types::Message;
use serde_json::Value;

/// Equalities that all have to hold. Without any, every message matches.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageFilter {
    attributes: Vec<(String, String)>,
    pointers: Vec<(String, String)>,
}

impl MessageFilter {
    /// Of attributes by their names, and of values in the JSON of the body by their JSON pointers.
    pub(crate) fn new(attributes: Vec<(String, String)>, pointers: Vec<(String, String)>) -> Self {
        Self { attributes, pointers }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.pointers.is_empty()
    }

    pub(super) fn holds(&self, message: &Message) -> bool {
        let has_attribute = |(name, value): &(String, String)| {
            let attributes = message.message_attributes();
            let attribute = attributes.and_then(|attributes| attributes.get(name));
            attribute.and_then(|attribute| attribute.string_value()) == Some(value)
        };
        if !self.attributes.iter().all(has_attribute) {
            return false;
        }
        if self.pointers.is_empty() {
            return true;
        }
        let Ok(body) = serde_json::from_str::<Value>(message.body().unwrap_or_default()) else {
            return false;
        };
        let has_value = |(path, expected): &(String, String)| match body.pointer(path) {
            Some(Value::String(value)) => value == expected,
            // Numbers are equal as they are written.
            Some(value) => serde_json::to_string(value).is_ok_and(|text| text == *expected),
            None => false,
        };
        self.pointers.iter().all(has_value)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_sqs::types::MessageAttributeValue;

    use super::*;

    fn equalities(texts: &[&str]) -> Vec<(String, String)> {
        let parts = texts.iter().filter_map(|text| text.split_once('='));
        parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn all_equalities_have_to_hold() {
        let attribute = MessageAttributeValue::builder().data_type("String");
        let message = Message::builder()
            .body(r#"{"order": {"state": "failed", "tries": 3, "paid": false}}"#)
            .message_attributes("kind", attribute.string_value("order").build().unwrap())
            .build();
        let holds = |attributes: &[&str], pointers: &[&str]| {
            MessageFilter::new(equalities(attributes), equalities(pointers)).holds(&message)
        };
        assert!(holds(&[], &[]));
        assert!(holds(
            &["kind=order"],
            &["/order/state=failed", "/order/tries=3", "/order/paid=false"]
        ));
        assert!(!holds(&["kind=refund"], &["/order/state=failed"]));
        assert!(!holds(&["sort=order"], &[]));
        assert!(!holds(&["kind=order"], &["/order/state=done"]));
        assert!(!holds(&[], &["/state=failed"]));
    }

    #[test]
    fn a_body_that_is_no_json_has_no_value() {
        let message = Message::builder().body("failed").build();
        assert!(!MessageFilter::new(Vec::new(), equalities(&["/state=failed"])).holds(&message));
        assert!(MessageFilter::default().holds(&message));
    }
}
