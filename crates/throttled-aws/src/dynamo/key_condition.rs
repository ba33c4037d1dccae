//! The key condition of a query, as far as it says which partition is read.

use serde_json::Value;

/// The value that a query wants of the partition key with this name. `None` if the condition has another form.
pub(super) fn partition_value<'a>(query: &'a Value, name: &str) -> Option<&'a Value> {
    let older = &query["KeyConditions"][name];
    if older["ComparisonOperator"] == "EQ" {
        return older["AttributeValueList"].get(0);
    }
    let (names, values) = (&query["ExpressionAttributeNames"], &query["ExpressionAttributeValues"]);
    let is_name = |word: &str| names[word].as_str().unwrap_or(word) == name;
    let words = words(query["KeyConditionExpression"].as_str()?);
    words.windows(3).find_map(|words| match *words {
        [left, "=", right] if is_name(left) => values.get(right),
        [left, "=", right] if is_name(right) => values.get(left),
        _ => None,
    })
}

#[derive(PartialEq)]
enum Kind {
    Word,
    Comparison,
    Other,
}

/// The words and the comparisons of an expression.
fn words(expression: &str) -> Vec<&str> {
    let kind = |byte: u8| match byte {
        b'<' | b'=' | b'>' => Kind::Comparison,
        b'_' | b'#' | b':' | b'.' | b'-' => Kind::Word,
        _ if byte.is_ascii_alphanumeric() || !byte.is_ascii() => Kind::Word,
        _ => Kind::Other,
    };
    let parts = expression.as_bytes().chunk_by(|a, b| kind(*a) == kind(*b));
    parts
        .filter(|part| kind(part[0]) != Kind::Other)
        .filter_map(|part| std::str::from_utf8(part).ok())
        .collect()
}
