//! The names by which DynamoDB's JSON is recognized: of the types of values, and of the members of answers.

/// The types, as DynamoDB names them.
pub(super) const TYPES: [&str; 10] = ["S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"];

/// The type with this name. Data Pipeline writes names in its own case, as the fields of the SDK for Java: `s`, `bOOL`, `sS`,
/// `nULLValue`.
pub(super) fn type_of(name: &str) -> Option<&'static str> {
    let name = if name == "nULLValue" { "NULL" } else { name };
    TYPES.into_iter().find(|kind| kind.eq_ignore_ascii_case(name))
}

/// Members of answers that are next to what was asked for.
const OF_ANSWERS: [&str; 9] = [
    "ConsumedCapacity",
    "Count",
    "LastEvaluatedKey",
    "NextToken",
    "ResponseMetadata",
    "ScannedCount",
    "$metadata",
    "UnprocessedKeys",
    "ItemCollectionMetrics",
];

/// Whether an answer of DynamoDB may have this member next to the items.
pub(super) fn is_of_answer(name: &str) -> bool {
    OF_ANSWERS.contains(&name)
}
