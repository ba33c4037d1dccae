//! The Query protocol: forms as requests, XML as answers.

use serde_json::{Map, Value, json};

use super::refusal::Refusal;

/// The most parts of a name. An attribute of a message in a batch has eight.
const DEEPEST: usize = 16;

/// The members of a form as JSON: `Entries.member.1.Id=a` becomes `{"Entries": [{"Id": "a"}]}`, and the pairs of
/// `Attributes.entry.1.Name=a&Attributes.entry.1.Value=b` become `{"Attributes": {"a": "b"}}`. All values are text.
pub(super) fn parse(body: &[u8]) -> Result<Value, Refusal> {
    let form = std::str::from_utf8(body).map_err(|_| malformed())?;
    let mut root = Node::default();
    for pair in form.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(malformed)?;
        let text = |text: &str| percent_decoded(&text.replace('+', " "));
        let name = text(name);
        if name.split('.').count() > DEEPEST {
            return Err(malformed());
        }
        let mut node = &mut root;
        for part in name.split('.') {
            node = node.member(part);
        }
        node.text = Some(text(value));
    }
    Ok(root.value())
}

/// Decodes percent-encoded text. A `%` without two hexadecimal digits stays as it is.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let digits = digits.filter(|_| *first == b'%');
        if let Some(Ok(byte)) = digits.map(|digits| u8::from_str_radix(digits, 16)) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn malformed() -> Refusal {
    Refusal::new("MalformedInput", "The request is not a form")
}

/// A part of a name, with its value and its further parts in the order of the form.
#[derive(Default)]
struct Node {
    text: Option<String>,
    members: Vec<(String, Node)>,
}

impl Node {
    fn member(&mut self, name: &str) -> &mut Self {
        let place = self.members.iter().position(|(known, _)| known == name);
        let place = place.unwrap_or_else(|| {
            self.members.push((name.to_owned(), Self::default()));
            self.members.len() - 1
        });
        &mut self.members[place].1
    }

    fn value(self) -> Value {
        if let Some(text) = self.text {
            return Value::String(text);
        }
        let mut members = Map::new();
        for (name, node) in self.members {
            match name.as_str() {
                "member" => return Value::Array(node.listed()),
                "entry" => return Value::Object(node.listed().into_iter().filter_map(pair).collect()),
                _ => members.insert(name, node.value()),
            };
        }
        Value::Object(members)
    }

    /// The values of the parts 1, 2, 3 …
    fn listed(self) -> Vec<Value> {
        self.members.into_iter().map(|(_, node)| node.value()).collect()
    }
}

fn pair(mut entry: Value) -> Option<(String, Value)> {
    let name = entry["Name"].as_str()?.to_owned();
    Some((name, entry["Value"].take()))
}

/// The answer of an operation.
pub(super) fn answer(operation: &str, result: &Value, request_id: &str) -> String {
    let mut xml = format!(r#"<{operation}Response xmlns="http://sns.amazonaws.com/doc/2010-03-31/">"#);
    write(&mut xml, &format!("{operation}Result"), result);
    write(&mut xml, "ResponseMetadata", &json!({"RequestId": request_id}));
    xml.extend(["</", operation, "Response>"]);
    xml
}

pub(super) fn error(refusal: &Refusal, request_id: &str) -> String {
    let error = json!({"Type": refusal.faulty_side(), "Code": refusal.code, "Message": refusal.message});
    let mut xml = String::new();
    write(
        &mut xml,
        "ErrorResponse",
        &json!({"Error": error, "RequestId": request_id}),
    );
    xml
}

/// Writes an element; a list becomes several elements of the same name.
fn write(xml: &mut String, name: &str, value: &Value) {
    if let Value::Array(values) = value {
        for value in values {
            write(xml, name, value);
        }
        return;
    }
    xml.extend(["<", name, ">"]);
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| write(xml, name, value)),
        Value::String(text) => *xml += &escaped(text),
        other => *xml += &other.to_string(),
    }
    xml.extend(["</", name, ">"]);
}

/// The text of an element. A reader of XML would take a carriage return for a line feed.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\r', "&#13;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_lists_and_maps() {
        let form = "Action=PublishBatch&E.member.1.Id=a&E.member.1.A.entry.1.Name=c%26d&E.member.1.A.entry.1.Value.T=x+y&E.member.2.Id=%C3%BC";
        let expected = json!({
            "Action": "PublishBatch",
            "E": [{"Id": "a", "A": {"c&d": {"T": "x y"}}}, {"Id": "ü"}],
        });
        assert_eq!(parse(form.as_bytes()).unwrap(), expected);
        assert!(parse(b"Action").is_err());
        assert!(parse(format!("a{}=b", ".a".repeat(100_000)).as_bytes()).is_err());
    }

    #[test]
    fn an_answer_is_written_as_elements() {
        let result = json!({"Failed": {"member": [{"Id": "a"}, {"Id": "<b>", "SenderFault": true}]}});
        let xml = answer("PublishBatch", &result, "r");
        let failed = "<Failed><member><Id>a</Id></member><member><Id>&lt;b&gt;</Id><SenderFault>true</SenderFault></member></Failed>";
        assert!(
            xml.contains(&format!("<PublishBatchResult>{failed}</PublishBatchResult>")),
            "{xml}"
        );
        assert!(
            xml.ends_with("<RequestId>r</RequestId></ResponseMetadata></PublishBatchResponse>"),
            "{xml}"
        );
    }
}
