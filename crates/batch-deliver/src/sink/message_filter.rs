//! Which messages of a queue are taken.

use aws_sdk_sqs::types::Message;

use super::json_value;

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
        let body = message.body().unwrap_or_default();
        let has_value = |(path, expected): &(String, String)| {
            json_value::at(body, path).is_some_and(|value| json_value::is_given_as(value, expected))
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
    fn values_of_the_body_are_compared_exactly() {
        let holds = |body: &str, pointer: &str| {
            let message = Message::builder().body(body).build();
            MessageFilter::new(Vec::new(), equalities(&[pointer])).holds(&message)
        };
        for (value, equal, other) in [
            ("18446744073709551617", "18446744073709551617", "18446744073709551616"),
            ("1.10", "1.1", "1.11"),
            ("1.10", "1.10", "-1.10"),
            ("1E2", "100.00", "1E3"),
            ("0.30000000000000001", "0.30000000000000001", "0.3"),
            ("-0", "0.0e7", "1"),
            (
                "1e999999999999999999999",
                "1e999999999999999999999",
                "1e999999999999999999998",
            ),
            ("1e-400", "0.1e-399", "0"),
            (r#""1.10""#, "1.10", "1.1"),
            (r#""\u0041""#, "A", "\"A\""),
            ("true", "true", "True"),
            ("null", "null", ""),
            (
                "[1.0, {\"b\": 2, \"a\": \"x\"}]",
                "[1,{\"a\":\"x\",\"b\":2}]",
                "[1,{\"a\":\"x\"}]",
            ),
            ("{}", "{ }", "[]"),
        ] {
            for (body, pointer) in [
                (format!("{{\"a\": {value}}}"), "/a"),
                (format!("[0,{{\"~/\": {value}}}]"), "/1/~0~1"),
            ] {
                assert!(holds(&body, &format!("{pointer}={equal}")), "{body} {equal}");
                assert!(!holds(&body, &format!("{pointer}={other}")), "{body} {other}");
            }
        }
        assert!(holds("7.0", "=7"));
        assert!(!holds(r#"{"a":{"b":1}}"#, "/a/c=1"));
        assert!(!holds("[1]", "/00=1"));
        assert!(!holds(r#"{"a":1} {"a":1}"#, "/a=1"));
        let nested = "[".repeat(200_000) + &"]".repeat(200_000);
        for given in ["[[1]]", &nested] {
            assert!(!holds(&format!("{{\"a\":{nested}}}"), &format!("/a={given}")));
        }
    }

    #[test]
    fn a_body_that_is_no_json_has_no_value() {
        let message = Message::builder().body("failed").build();
        assert!(!MessageFilter::new(Vec::new(), equalities(&["/state=failed"])).holds(&message));
        assert!(MessageFilter::default().holds(&message));
    }
}
