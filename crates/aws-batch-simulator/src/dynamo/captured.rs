//! Refusals of the service, as the authors of the suite `paritysuite/dynamodb-conformance` captured them in up to ten regions in October
//! 2026. Where regions differ, one of their answers.

use serde_json::{Value, json};

use super::{API, KeyType, Table, TableOptions, Tables, Tokens, operate};
use crate::journal::AnswerReceipt;
use crate::registry::Registry;
use crate::wire::OperationOutcome;

const NO_MATCH: &str = "The provided key element does not match the schema";
const INVALID: &str = "One or more parameter values were invalid: ";
const TOO_DEEP: &str =
    "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit";
const OVERFLOW: &str = "Number overflow. Attempting to store a number with magnitude larger than supported range";
const UNDERFLOW: &str = "Number underflow. Attempting to store a number with magnitude smaller than supported range";
const NOT_NUMERIC: &str = "The parameter cannot be converted to a numeric value";
const CAPACITY: &str = "Value 'BOGUS' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum \
                        value set: [INDEXES, TOTAL, NONE]";
const METRICS: &str = "Value 'BOGUS2' at 'returnItemCollectionMetrics' failed to satisfy constraint: Member must satisfy \
                       enum value set: [SIZE, NONE]";

fn tables() -> Tables {
    let tables: Tables = Registry::new("table", 1);
    for (name, options) in [
        ("texts", TableOptions::key("pk", KeyType::S)),
        ("blobs", TableOptions::key("pk", KeyType::B)),
        ("numbers", TableOptions::key("pk", KeyType::N)),
    ] {
        tables.add(name, |seed| Table::new(name, options, seed));
    }
    tables
}

/// The message with which a call is refused as invalid.
#[track_caller]
fn refusal(operation: &str, body: Value) -> String {
    match operate(
        &tables(),
        &Tokens::default(),
        operation,
        body,
        &AnswerReceipt::default(),
    ) {
        OperationOutcome::Refused(refusal) => {
            let error: Value = serde_json::from_slice(&API.error(&refusal, "")).unwrap();
            assert_eq!(
                error["__type"], "com.amazon.coral.validate#ValidationException",
                "{error}"
            );
            error["message"].as_str().unwrap().to_owned()
        }
        _ => panic!("not refused"),
    }
}

fn put(table: &str, item: &Value) -> Value {
    json!({"RequestItems": {table: [{"PutRequest": {"Item": item}}]}})
}

fn of_member(problem: &str) -> String {
    format!("1 validation error detected: {problem}")
}

/// As many maps around a text.
fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({"S": "leaf"}), |inner, _| json!({"M": {"n": inner}}))
}

fn with(mut body: Value, member: &str, value: &str) -> Value {
    body[member] = json!(value);
    body
}

#[test]
fn batch_writes_are_refused_in_these_words() {
    let a = json!({"pk": {"S": "a"}});
    let no_value =
        "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty";
    let delete = |key: Value| json!({"RequestItems": {"texts": [{"DeleteRequest": {"Key": key}}]}});
    for (body, message) in [
        (
            json!({"RequestItems": {}}),
            "The requestItems parameter is required for BatchWriteItem".to_owned(),
        ),
        (
            json!({"RequestItems": {"texts": vec![json!({"PutRequest": {"Item": a}}); 26]}}),
            of_member(
                "Value at 'RequestItems.texts.member' failed to satisfy constraint: Member must have length less than or equal to 25",
            ),
        ),
        (
            json!({"RequestItems": {"texts": []}}),
            of_member(
                "Value '{texts=[]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: [Member must \
                 have length less than or equal to 25, Member must have length greater than or equal to 1]",
            ),
        ),
        (
            json!({"RequestItems": {"texts": [{"PutRequest": {"Item": a}}, {"DeleteRequest": {"Key": a}}]}}),
            "Provided list of item keys contains duplicates".to_owned(),
        ),
        (put("texts", &json!({"pk": {"N": "5"}})), NO_MATCH.to_owned()),
        (put("texts", &json!({"pk": {"L": [{"S": "x"}]}})), NO_MATCH.to_owned()),
        (put("texts", &json!({"other": {"S": "x"}})), NO_MATCH.to_owned()),
        (delete(json!({"other": {"S": "x"}})), NO_MATCH.to_owned()),
        (
            put("texts", &json!({"pk": {"S": ""}})),
            format!("{no_value} string value. Key: pk"),
        ),
        (
            put("blobs", &json!({"pk": {"B": ""}})),
            format!("{no_value} binary value. Key: pk"),
        ),
        (
            put("texts", &json!({"pk": {"S": "a"}, "d": nested(32)})),
            TOO_DEEP.to_owned(),
        ),
        (
            put("texts", &json!({"pk": {"S": "a"}, "": {"S": "x"}})),
            "Empty attribute name".to_owned(),
        ),
        (
            with(put("texts", &a), "ReturnConsumedCapacity", "BOGUS"),
            of_member(CAPACITY),
        ),
        (
            with(put("nowhere", &a), "ReturnConsumedCapacity", "BOGUS"),
            of_member(CAPACITY),
        ),
        (
            with(put("bad!name", &a), "ReturnConsumedCapacity", "BOGUS"),
            of_member(CAPACITY),
        ),
        (
            with(
                with(put("texts", &a), "ReturnConsumedCapacity", "BOGUS"),
                "ReturnItemCollectionMetrics",
                "BOGUS2",
            ),
            format!("2 validation errors detected: {CAPACITY}; {METRICS}"),
        ),
    ] {
        assert_eq!(refusal("BatchWriteItem", body), message);
    }
}

#[test]
fn batch_reads_are_refused_in_these_words() {
    let keys = |count: usize| {
        let keys: Vec<Value> = (0..count).map(|id| json!({"pk": {"S": id.to_string()}})).collect();
        json!({"RequestItems": {"texts": {"Keys": keys}}})
    };
    let length = |constraint: &str| {
        of_member(&format!(
            "Value at 'RequestItems.texts.member.Keys' failed to satisfy constraint: Member must have length {constraint}"
        ))
    };
    let mut mixed = keys(1);
    mixed["RequestItems"]["texts"]["ProjectionExpression"] = json!("pk");
    mixed["RequestItems"]["blobs"] = json!({"Keys": [{"pk": {"B": "AA=="}}], "AttributesToGet": ["pk"]});
    let twice = json!({"RequestItems": {"texts": {"Keys": [{"pk": {"S": "a"}}, {"pk": {"S": "a"}}]}}});
    let of_number = json!({"RequestItems": {"numbers": {"Keys": [{"pk": {"N": "1e99999999999"}}]}}});
    for (body, message) in [
        (
            json!({"RequestItems": {}}),
            of_member("Value at 'RequestItems' failed to satisfy constraint: Member must have length greater than or equal to 1"),
        ),
        (keys(101), length("less than or equal to 100")),
        (keys(0), length("greater than or equal to 1")),
        (twice, "Provided list of item keys contains duplicates".to_owned()),
        (with(keys(1), "ReturnConsumedCapacity", "BOGUS"), of_member(CAPACITY)),
        (of_number, OVERFLOW.to_owned()),
        (
            mixed,
            "Can not use both expression and non-expression parameters in the same request: Non-expression parameters: \
             {AttributesToGet} Expression parameters: {ProjectionExpression}"
                .to_owned(),
        ),
    ] {
        assert_eq!(refusal("BatchGetItem", body), message);
    }
}

/// `PutItem` and the reads have the newer layer of checks, `BatchWriteItem` still the older one.
#[test]
fn numbers_are_refused_in_the_words_of_two_layers() {
    let newer = [
        ("abc", format!("{NOT_NUMERIC}: abc")),
        ("", format!("{NOT_NUMERIC}: ")),
        ("1e126", OVERFLOW.to_owned()),
        ("1e2147483647", OVERFLOW.to_owned()),
    ];
    let more = [
        ("1e99999999999", OVERFLOW.to_owned()),
        ("-1e99999999999", OVERFLOW.to_owned()),
        ("1e-99999999999", UNDERFLOW.to_owned()),
        ("1e2147483648", OVERFLOW.to_owned()),
        ("1e-2147483648", UNDERFLOW.to_owned()),
        ("1e-131", UNDERFLOW.to_owned()),
        ("0e126", OVERFLOW.to_owned()),
        ("0e-131", UNDERFLOW.to_owned()),
        ("1.2.3", format!("{NOT_NUMERIC}: 1.2.3")),
        (" 1", format!("{NOT_NUMERIC}:  1")),
        ("1 ", format!("{NOT_NUMERIC}: 1 ")),
        ("0x10", format!("{NOT_NUMERIC}: 0x10")),
        ("1e", format!("{NOT_NUMERIC}: 1e")),
        ("NaN", format!("{NOT_NUMERIC}: NaN")),
        ("Infinity", format!("{NOT_NUMERIC}: Infinity")),
        ("1e9223372036854775808", format!("{NOT_NUMERIC}: 1e9223372036854775808")),
        (
            "1234567890123456789012345678901234567890",
            "Attempting to store more than 38 significant digits in a Number".to_owned(),
        ),
    ];
    for (number, message) in newer.iter().chain(&more) {
        for value in [
            json!({"N": number}),
            json!({"NS": ["1", number]}),
            json!({"M": {"x": {"L": [{"N": number}]}}}),
        ] {
            let body = json!({"TableName": "texts", "Item": {"pk": {"S": "a"}, "n": value}});
            assert_eq!(refusal("PutItem", body), of_member(message));
        }
        let body = json!({"TableName": "numbers", "Key": {"pk": {"N": number}}});
        assert_eq!(refusal("GetItem", body.clone()), *message);
        assert_eq!(refusal("DeleteItem", body), of_member(message));
    }
    for (number, message) in [
        ("abc", format!("{NOT_NUMERIC}: abc")),
        ("", NOT_NUMERIC.to_owned()),
        ("1e126", OVERFLOW.to_owned()),
        ("1e2147483647", UNDERFLOW.to_owned()),
    ] {
        let body = put("texts", &json!({"pk": {"S": "a"}, "n": {"N": number}}));
        assert_eq!(refusal("BatchWriteItem", body), message);
    }
}

#[test]
fn sets_are_refused_in_the_words_of_two_layers() {
    for (set, newer, older) in [
        (
            json!({"SS": ["b", "a", "b"]}),
            format!("{INVALID}Input collection [\"a\", \"b\", \"b\"] contains duplicates."),
            format!("{INVALID}Input collection [b, a, b] contains duplicates."),
        ),
        (
            json!({"BS": ["/w==", "AA==", "AA=="]}),
            format!("{INVALID}Input collection [\"AA==\",\"/w==\",\"AA==\"]of type BS contains duplicates."),
            format!("{INVALID}Input collection [/w==, AA==, AA==]of type BS contains duplicates."),
        ),
        (
            json!({"NS": ["2", "1", "2"]}),
            format!("{INVALID}Input collection contains duplicates."),
            "Input collection contains duplicates".to_owned(),
        ),
        (
            json!({"SS": []}),
            format!("{INVALID}An string set  may not be empty"),
            format!("{INVALID}An string set  may not be empty"),
        ),
    ] {
        let item = json!({"pk": {"S": "a"}, "s": set});
        let body = json!({"TableName": "texts", "Item": item});
        assert_eq!(refusal("PutItem", body), of_member(&newer));
        assert_eq!(refusal("BatchWriteItem", put("texts", &item)), older);
    }
}

#[test]
fn names_of_tables_have_their_rules() {
    let rule = |name: &str, rule: &str| {
        of_member(&format!(
            "Value '{name}' at 'tableName' failed to satisfy constraint: Member must {rule}"
        ))
    };
    let long = "a".repeat(256);
    for (name, message) in [
        (
            "",
            of_member(
                "Value at 'TableName' failed to satisfy constraint: Member must have length greater than or equal to 1",
            ),
        ),
        ("a!", rule("a!", "have length greater than or equal to 3")),
        (&long, rule(&long, "have length less than or equal to 255")),
        (
            "bad table!@#",
            rule("bad table!@#", "satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
        ),
    ] {
        let body = json!({"TableName": name, "Item": {"pk": {"S": "a"}}});
        assert_eq!(refusal("PutItem", body), message);
    }
    assert_eq!(
        refusal("PutItem", json!({"Item": {"pk": {"S": "a"}}})),
        of_member("Value null at 'tableName' failed to satisfy constraint: Member must not be null")
    );
}

#[test]
fn values_of_members_are_refused_in_these_words() {
    let body = json!({"TableName": "texts", "Item": {"pk": {"S": "a"}}});
    let bogus = with(body.clone(), "ReturnValues", "BOGUS");
    let values = "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, UPDATED_OLD, ALL_NEW, UPDATE_NEW, NONE]";
    assert_eq!(refusal("PutItem", bogus), of_member(values));
    let all_new = with(body.clone(), "ReturnValues", "ALL_NEW");
    assert_eq!(
        refusal("PutItem", all_new),
        of_member("ReturnValues can only be ALL_OLD or NONE")
    );
    let both = with(with(body, "ReturnValues", "BOGUS"), "ReturnConsumedCapacity", "BOGUS");
    assert_eq!(
        refusal("PutItem", both.clone()),
        format!("2 validation errors detected: {CAPACITY}; {values}")
    );
    let mut update = both;
    update["Key"] = update["Item"].take();
    assert_eq!(refusal("UpdateItem", update), of_member(values));
    let transaction = json!({"TransactItems": [{"Put": {"TableName": "texts", "Item": {"pk": {"S": "a"}}}}]});
    let with_token = with(transaction.clone(), "ClientRequestToken", &"x".repeat(37));
    assert_eq!(
        refusal(
            "TransactWriteItems",
            with(with_token, "ReturnConsumedCapacity", "BOGUS")
        ),
        of_member(
            "Value at 'ClientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36"
        )
    );
    let both = with(transaction, "ReturnConsumedCapacity", "BOGUS");
    assert_eq!(
        refusal(
            "TransactWriteItems",
            with(both, "ReturnItemCollectionMetrics", "BOGUS2")
        ),
        format!("2 validation errors detected: {CAPACITY}; {METRICS}")
    );
}
