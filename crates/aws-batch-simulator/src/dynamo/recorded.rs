//! Answers of the service that others have recorded: the authors of `ScyllaDB`'s `test/alternator`, whose tests pass on it, of moto and of
//! LocalStack.

#![expect(clippy::needless_pass_by_value, reason = "nearly all values are made for one call")]

use serde_json::{Map, Value, json};

use super::{API, KeyType, Table, TableOptions, Tables, Tokens, operate};
use crate::admission::{OnDemand, Throughput};
use crate::dynamo::IndexOptions;
use crate::journal::Answered;
use crate::registry::Registry;
use crate::wire::Outcome;

/// A simulator with three tables.
struct Recorded {
    tables: Tables,
}

impl Recorded {
    fn new() -> Self {
        let tables: Tables = Registry::new("table", 1);
        let by_kind = IndexOptions::key("kind", KeyType::S).sort_key("rank", KeyType::N);
        let by_label = IndexOptions::key("rank", KeyType::N).sort_key("label", KeyType::S);
        for (name, options) in [
            ("items", TableOptions::key("p", KeyType::S)),
            ("pairs", TableOptions::key("p", KeyType::S).sort_key("c", KeyType::S)),
            ("numbers", TableOptions::key("p", KeyType::N)),
            (
                "indexed",
                TableOptions::key("p", KeyType::S)
                    .index("by_kind", by_kind)
                    .index("by_label", by_label),
            ),
            (
                "on_demand",
                TableOptions::key("p", KeyType::S).throughput(Throughput::on_demand(OnDemand::default())),
            ),
        ] {
            tables.add(name, |seed| Table::new(name, options, seed));
        }
        Self { tables }
    }

    /// The answer to a call, or the code and the message of its error.
    fn call(&self, operation: &str, body: Value) -> Result<Value, (String, String)> {
        match operate(&self.tables, &Tokens::default(), operation, body, &Answered::default()) {
            Outcome::Success(answer) => Ok(answer),
            Outcome::Refused(refusal) => {
                let error: Value = serde_json::from_slice(&API.error(&refusal, "")).unwrap();
                let code = error["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
                let message = error["message"]
                    .as_str()
                    .or(error["Message"].as_str())
                    .unwrap_or_default();
                Err((code, message.to_owned()))
            }
            Outcome::Fault(_) => panic!("no fault is set"),
        }
    }

    fn put(&self, table: &str, item: Value) {
        self.call("PutItem", json!({"TableName": table, "Item": item})).unwrap();
    }

    fn item(&self, table: &str, key: Value) -> Option<Value> {
        let answer = self.call("GetItem", json!({"TableName": table, "Key": key})).unwrap();
        answer.get("Item").cloned()
    }

    /// The code of the error of a put of an item on a condition, or `None` if it is true. `a` is 1 and `b` is 2 before.
    fn condition(&self, condition: &str, values: Value) -> Option<(String, String)> {
        let item =
            json!({"p": {"S": "1"}, "a": {"N": "1"}, "b": {"N": "2"}, "l": {"L": [{"S": "x"}]}, "s": {"S": "text"}});
        self.put("items", item.clone());
        let mut request = json!({"TableName": "items", "Item": item, "ConditionExpression": condition});
        if values != json!({}) {
            request["ExpressionAttributeValues"] = values;
        }
        self.call("PutItem", request).err()
    }

    /// The item after an update of one with these attributes, or of none.
    fn update(&self, before: Option<Value>, update: &str, values: Value) -> Result<Option<Value>, String> {
        let key = json!({"p": {"S": "updated"}});
        let of_key = |body: Value| {
            let mut body = body;
            body["TableName"] = "items".into();
            body["Key"] = key.clone();
            body
        };
        self.call("DeleteItem", of_key(json!({}))).unwrap();
        if let Some(mut before) = before {
            before["p"] = key["p"].clone();
            self.put("items", before);
        }
        let mut request = of_key(json!({"UpdateExpression": update}));
        if values != json!({}) {
            request["ExpressionAttributeValues"] = values;
        }
        self.call("UpdateItem", request).map_err(|(code, message)| {
            assert_eq!(code, "ValidationException", "{update}");
            message
        })?;
        let mut item = self.item("items", key.clone());
        if let Some(Value::Object(item)) = &mut item {
            item.remove("p");
        }
        Ok(item)
    }

    /// What the operations answer that have a condition from before there were expressions.
    fn legacy(&self, condition: &Value) -> [Result<Value, (String, String)>; 4] {
        let of_partition = json!({"p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "1"}]}});
        let mut of_both = of_partition.clone();
        of_both["c"] = condition.clone();
        [
            (
                "DeleteItem",
                json!({"TableName": "items", "Key": {"p": {"S": "none"}}, "Expected": {"a": condition}}),
            ),
            ("Scan", json!({"TableName": "items", "ScanFilter": {"a": condition}})),
            (
                "Query",
                json!({"TableName": "items", "KeyConditions": of_partition, "QueryFilter": {"a": condition}}),
            ),
            ("Query", json!({"TableName": "pairs", "KeyConditions": of_both})),
        ]
        .map(|(operation, body)| self.call(operation, body))
    }

    /// The code of the error of a deletion that expects this of an item whose `a` is 3 and whose `s` is a text; `None` if it succeeds.
    fn expected(&self, expected: Value, joined: Option<&str>) -> Option<String> {
        self.put("items", json!({"p": {"S": "1"}, "a": {"N": "3"}, "s": {"S": "text"}}));
        let request = json!({"TableName": "items", "Key": {"p": {"S": "1"}}, "Expected": expected,
            "ConditionalOperator": joined});
        self.call("DeleteItem", request).err().map(|(code, _)| code)
    }
}

const INVALID: Option<&str> = Some("ValidationException");
const FALSE: Option<&str> = Some("ConditionalCheckFailedException");

#[test]
fn a_condition_may_nest_as_deep_as_its_operators_allow() {
    let recorded = Recorded::new();
    let nested = |depth: usize| format!("a<b {}{}", "or (a<b ".repeat(depth), ")".repeat(depth));
    let flat = |count: usize| vec!["a<b"; count].join(" and ");
    for (condition, expected) in [
        (nested(149), None),
        (nested(150), INVALID),
        (nested(454), INVALID),
        (format!("{}a<b{}", "(".repeat(163), ")".repeat(163)), INVALID),
        (format!("{}a<b{}", "(".repeat(2_046), ")".repeat(2_046)), INVALID),
        ("(".repeat(4_096), INVALID),
        (format!("{}a<b", "not ".repeat(250)), None),
        (format!("{}a<b", "not ".repeat(249)), FALSE),
        (format!("{}a<b", "not ".repeat(1_000)), INVALID),
        (flat(150), None),
        (flat(151), INVALID),
        (flat(254), INVALID),
        (format!("a < {}b{}", "size(".repeat(680), ")".repeat(680)), INVALID),
        (format!("a < {}b{}", "f(".repeat(1_355), ")".repeat(1_355)), INVALID),
    ] {
        let error = recorded.condition(&condition, json!({}));
        assert_eq!(
            error.as_ref().map(|(code, _)| code.as_str()),
            expected,
            "{condition}: {error:?}"
        );
    }
    for update in [
        format!("SET x = {}a{}", "if_not_exists(a,".repeat(200), ", a)".repeat(200)),
        format!("SET x = {}", "if_not_exists(a,(".repeat(240)),
        format!("SET x={}", "(".repeat(4_090)),
        format!("SET x = {}a{}", "(".repeat(2_000), ")".repeat(2_000)),
        format!("SET x = a + {}a", "(".repeat(4_000)),
    ] {
        recorded.update(None, &update, json!({})).unwrap_err();
    }
    let (code, message) = recorded.condition(&flat(151), json!({})).unwrap();
    assert_eq!(
        (code.as_str(), message.contains("operator count: 301")),
        ("ValidationException", true)
    );
}

#[test]
fn an_update_that_only_removes_creates_no_item() {
    let recorded = Recorded::new();
    for (update, values) in [
        ("REMOVE a", json!({})),
        ("REMOVE a, b.c, d[0]", json!({})),
        ("DELETE a :v", json!({":v": {"SS": ["x"]}})),
        ("DELETE a :v REMOVE b", json!({":v": {"SS": ["x"]}})),
    ] {
        assert_eq!(recorded.update(None, update, values.clone()), Ok(None), "{update}");
        let mut request = json!({"TableName": "items", "Key": {"p": {"S": "none"}}, "UpdateExpression": update});
        if values != json!({}) {
            request["ExpressionAttributeValues"] = values;
        }
        recorded
            .call("TransactWriteItems", json!({"TransactItems": [{"Update": request}]}))
            .unwrap();
        assert_eq!(recorded.item("items", json!({"p": {"S": "none"}})), None, "{update}");
    }
    let created = recorded.update(None, "REMOVE a SET b = :v", json!({":v": {"N": "1"}}));
    assert_eq!(created, Ok(Some(json!({"b": {"N": "1"}}))));
}

#[test]
fn members_of_number_sets_are_compared_by_value() {
    let recorded = Recorded::new();
    let before = || Some(json!({"ns": {"NS": ["1", "2", "3", "20"]}}));
    for (update, value, expected) in [
        ("DELETE ns :v", json!(["1.0", "2e1"]), json!({"ns": {"NS": ["2", "3"]}})),
        (
            "ADD ns :v",
            json!(["1.0", "2.00", "4"]),
            json!({"ns": {"NS": ["1", "2", "3", "4", "20"]}}),
        ),
        ("DELETE ns :v", json!(["1e0", "2", "3.0", "20"]), json!({})),
    ] {
        let after = recorded.update(before(), update, json!({":v": {"NS": value}}));
        assert_eq!(after, Ok(Some(expected)), "{update}");
    }
}

#[test]
fn a_condition_that_no_item_could_meet_is_refused_and_others_are_true_or_false() {
    let recorded = Recorded::new();
    let list = json!({":v": {"L": [{"N": "1"}]}});
    let number = |value: &str| json!({":v": {"N": value}});
    let text = |value: &str| json!({":v": {"S": value}});
    let size = |size: &str| json!({":v": {"S": "abc"}, ":n": {"N": size}});
    for (condition, values, expected) in [
        ("a < :v", list.clone(), INVALID),
        (":v >= a", list.clone(), INVALID),
        ("a BETWEEN :v AND b", list.clone(), INVALID),
        ("l < a", json!({}), FALSE),
        ("a < :v", text("1"), FALSE),
        ("absent < lacking", json!({}), FALSE),
        ("absent <> lacking", json!({}), None),
        ("absent = lacking", json!({}), FALSE),
        ("attribute_type(a, :v)", text("DOG"), INVALID),
        ("attribute_type(a, :v)", number("1"), INVALID),
        ("attribute_type(a, b)", json!({}), INVALID),
        ("attribute_type(:v, :v)", text("S"), None),
        ("attribute_type(:v, :v)", text("N"), FALSE),
        ("attribute_exists(:v)", text("a"), INVALID),
        ("size(:v) = :n", size("3"), None),
        ("size(:v) = :n", size("4"), FALSE),
        ("size(:v) > a", number("1"), INVALID),
        ("size(a) = b", json!({}), FALSE),
        ("size(l) = a", json!({}), None),
        ("size(s)", json!({}), INVALID),
        ("size(s, s) > a", json!({}), INVALID),
        ("attribute_exists(a) = b", json!({}), INVALID),
        ("BEGINS_WITH(s, :v)", text("te"), INVALID),
        ("begins_with(s, :v)", text("te"), None),
        ("begins_with(s, :v)", number("1"), INVALID),
        ("contains(s, s)", json!({}), INVALID),
        ("contains(l, :v)", text("x"), None),
        ("if_not_exists(a, b) = a", json!({}), INVALID),
        (
            "a BETWEEN :v AND :n",
            json!({":v": {"N": "2"}, ":n": {"N": "1"}}),
            INVALID,
        ),
        (
            "a BETWEEN :v AND :n",
            json!({":v": {"N": "0"}, ":n": {"S": "1"}}),
            INVALID,
        ),
        ("a BETWEEN b AND a", json!({}), FALSE),
        ("(a) = (:v)", number("1"), None),
        ("((a) = :v) AND NOT (b = :v)", number("1.0"), None),
        ("((a = :v))", number("1"), INVALID),
        ("((a = :v) AND b > a)", number("1"), None),
        ("a = :v OR b = :v AND b = a", number("1"), None),
        ("NOT a = :v OR b > a", number("1"), None),
        ("a IN (b, :v)", number("1"), None),
        ("a =", json!({}), INVALID),
        ("_a = b", json!({}), INVALID),
        ("a = b AND", json!({}), INVALID),
        ("a = b)", json!({}), INVALID),
        ("and = b", json!({}), INVALID),
        ("a = l[99999999999]", json!({}), INVALID),
    ] {
        let error = recorded.condition(condition, values);
        let code = error.as_ref().map(|(code, _)| code.as_str());
        assert_eq!(code, expected, "{condition}: {error:?}");
    }
}

#[test]
fn an_update_is_checked_before_and_with_its_item() {
    let recorded = Recorded::new();
    let number = || json!({":v": {"N": "7"}});
    let list = || json!({":v": {"L": [{"N": "7"}]}});
    let item = || Some(json!({"a": {"M": {"b": {"N": "1"}}}, "l": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}]}}));
    for (update, values, part) in [
        ("SET _abc = :v", number(), "Syntax error"),
        ("SET #a-b = :v", number(), "not defined"),
        ("SET x = LIST_APPEND(l, :v)", list(), "Invalid function name"),
        ("SET x = list_append(list_append(l, :v), :v)", list(), "list_append"),
        ("SET x = list_append(l, :v)", number(), "Incorrect operand type"),
        ("SET x = list_append(:v)", list(), "Incorrect number of operands"),
        ("SET x = if_not_exists(:v, :v)", number(), "requires a document path"),
        ("SET x = size(l)", json!({}), "not allowed"),
        ("SET x = :v + :v + :v", number(), "Syntax error"),
        ("SET x = (:v + :v", number(), "Syntax error"),
        ("SET x = (:v + :v) + :v", number(), "Syntax error"),
        ("SET x = :v + (:v + :v)", number(), "Syntax error"),
        ("SET x = (((:v)))", number(), "Syntax error"),
        ("SET x = :v SET y = :v", number(), "can only be used once"),
        ("SET a = :v, a.b = :v", number(), "overlap"),
        ("SET a.b = :v, a[1] = :v", number(), "conflict"),
        ("SET x.y = :v", number(), "document path"),
        ("SET l.y = :v", number(), "document path"),
        ("REMOVE x.y", json!({}), "document path"),
        ("REMOVE a[0]", json!({}), "document path"),
        ("SET x = y", json!({}), "does not exist"),
        ("ADD l :v", number(), "incorrect data type"),
        ("ADD x :v", list(), "Incorrect operand type"),
        ("DELETE x :v", number(), "Incorrect operand type"),
        ("SET p = :v", number(), "part of the key"),
        ("SET x = :v + a", number(), "incorrect data type"),
    ] {
        let message = recorded.update(item(), update, values).unwrap_err();
        assert!(message.contains(part), "{update}: {message}");
    }
    for (update, values, changed) in [
        (
            "REMOVE l[1] SET l[2] = :v",
            number(),
            json!({"l": {"L": [{"N": "1"}, {"N": "7"}]}}),
        ),
        (
            "SET l[9] = :v, l[5] = l[0]",
            number(),
            json!({"l": {"L": [{"N": "1"}, {"N": "2"}, {"N": "3"}, {"N": "1"}, {"N": "7"}]}}),
        ),
        (
            "REMOVE a.b, l[0], l[2], l[7]",
            json!({}),
            json!({"a": {"M": {}}, "l": {"L": [{"N": "2"}]}}),
        ),
        (
            "SET a.c = a.b - :v",
            number(),
            json!({"a": {"M": {"b": {"N": "1"}, "c": {"N": "-6"}}}}),
        ),
        (
            "SET x = (a.b + :v), y = ((a.b) - (:v)), z = (a.b) + (:v)",
            number(),
            json!({"x": {"N": "8"}, "y": {"N": "-6"}, "z": {"N": "8"}}),
        ),
        (
            "SET x = if_not_exists(y, if_not_exists(a.b, :v))",
            number(),
            json!({"x": {"N": "1"}}),
        ),
        (
            "SET x = list_append(if_not_exists(y, :v), l)",
            list(),
            json!({"x": {"L": [{"N": "7"}, {"N": "1"}, {"N": "2"}, {"N": "3"}]}}),
        ),
        (
            "SET x = l REMOVE l",
            json!({}),
            json!({"l": null, "x": item().unwrap()["l"]}),
        ),
    ] {
        let mut expected = item().unwrap();
        for (name, value) in changed.as_object().unwrap() {
            expected[name] = value.clone();
        }
        expected.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        assert_eq!(recorded.update(item(), update, values), Ok(Some(expected)), "{update}");
    }
    let large = json!({":v": {"N": "1e50"}, ":w": {"N": "1"}});
    let message = recorded.update(None, "SET x = :v + :w", large).unwrap_err();
    assert!(message.contains("Number overflow"), "{message}");
}

#[test]
fn a_projection_has_paths_that_are_apart_and_not_too_deep() {
    let recorded = Recorded::new();
    recorded.put(
        "items",
        json!({"p": {"S": "1"}, "a": {"M": {"b": {"L": [{"N": "0"}, {"N": "1"}, {"N": "2"}]}}}}),
    );
    let read = |projection: &str| {
        let request = json!({"TableName": "items", "Key": {"p": {"S": "1"}}, "ProjectionExpression": projection});
        recorded.call("GetItem", request)
    };
    for projection in [
        "a, a.b",
        "a.b[0], a.b",
        "a.b, a[0]",
        "a,",
        "",
        "a b",
        &format!("a{}", ".b".repeat(32)),
    ] {
        let (code, message) = read(projection).unwrap_err();
        assert_eq!(code, "ValidationException", "{projection}");
        assert!(message.contains("Invalid ProjectionExpression"), "{message}");
    }
    read(&format!("a{}", ".b".repeat(31))).unwrap();
    let answer = read("a.b[2], a.b[0], x").unwrap();
    assert_eq!(
        answer["Item"],
        json!({"a": {"M": {"b": {"L": [{"N": "0"}, {"N": "2"}]}}}})
    );
}

#[test]
fn names_of_attributes_have_a_longest_length() {
    let recorded = Recorded::new();
    for (length, expected) in [(65_535, None), (65_536, INVALID)] {
        let name = "n".repeat(length);
        let mut item = Map::from_iter([("p".to_owned(), json!({"S": "1"}))]);
        item.insert(name.clone(), json!({"N": "1"}));
        let put = recorded.call("PutItem", json!({"TableName": "items", "Item": item}));
        let key = json!({"p": {"S": "1"}});
        let read = recorded.call(
            "GetItem",
            json!({"TableName": "items", "Key": key, "ProjectionExpression": "#n", "ExpressionAttributeNames": {"#n": name}}),
        );
        for result in [put, read] {
            assert_eq!(result.err().as_ref().map(|(code, _)| code.as_str()), expected);
        }
    }
}

#[test]
fn a_number_that_is_written_in_two_ways_is_read_twice() {
    let recorded = Recorded::new();
    recorded.put("numbers", json!({"p": {"N": "1000"}}));
    let read = |keys: [&str; 2]| {
        let keys = keys.map(|key| json!({"p": {"N": key}}));
        recorded.call("BatchGetItem", json!({"RequestItems": {"numbers": {"Keys": keys}}}))
    };
    let item = json!({"p": {"N": "1000"}});
    assert_eq!(
        read(["1000", "1e3"]).unwrap()["Responses"]["numbers"],
        json!([item, item])
    );
    let (_, message) = read(["1000", "1000"]).unwrap_err();
    assert!(message.contains("duplicates"), "{message}");
}

#[test]
fn reads_are_in_the_order_of_their_sort_keys_from_any_key_on() {
    let recorded = Recorded::new();
    let ordered = ["1", "10", "2", "a", "aa", "b"];
    for sort in ordered {
        recorded.put("pairs", json!({"p": {"S": "1"}, "c": {"S": sort}}));
    }
    let read = |operation: &str, more: Value| -> Vec<String> {
        let mut request = json!({"TableName": "pairs"});
        if operation == "Query" {
            request["KeyConditionExpression"] = "p = :p".into();
            request["ExpressionAttributeValues"] = json!({":p": {"S": "1"}});
        }
        for (member, value) in more.as_object().unwrap() {
            request[member] = value.clone();
        }
        let answer = recorded.call(operation, request).unwrap();
        let items = answer["Items"].as_array().unwrap().iter();
        items.map(|item| item["c"]["S"].as_str().unwrap().to_owned()).collect()
    };
    let after = |sort: &str| json!({"ExclusiveStartKey": {"p": {"S": "1"}, "c": {"S": sort}}});
    for operation in ["Query", "Scan"] {
        assert_eq!(read(operation, json!({})), ordered);
        assert_eq!(read(operation, after("10")), ordered[2..]);
        assert_eq!(read(operation, after("11")), ordered[2..], "a key of no item");
    }
    let mut backward = after("11");
    backward["ScanIndexForward"] = false.into();
    assert_eq!(read("Query", backward), ["10", "1"]);
    let from_a = json!({"KeyConditionExpression": "p = :p AND begins_with(c, :c)", "ExpressionAttributeValues":
        {":p": {"S": "1"}, ":c": {"S": "a"}}});
    assert_eq!(read("Query", from_a), ["a", "aa"]);
}

#[test]
fn a_page_of_a_table_on_demand_costs_a_unit_for_each_partition() {
    let recorded = Recorded::new();
    recorded.put("on_demand", json!({"p": {"S": "1"}}));
    for (consistent, units) in [(true, 4.0), (false, 2.0)] {
        let request =
            json!({"TableName": "on_demand", "ConsistentRead": consistent, "ReturnConsumedCapacity": "TOTAL"});
        let answer = recorded.call("Scan", request).unwrap();
        assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], units);
    }
}

#[test]
fn no_reason_is_told_behind_the_first_action_that_is_invalid() {
    let recorded = Recorded::new();
    recorded.put("items", json!({"p": {"S": "1"}, "s": {"S": "x"}}));
    let add = |id: &str| {
        json!({"Update": {"TableName": "items", "Key": {"p": {"S": id}}, "UpdateExpression": "ADD s :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}}}})
    };
    let exists = |id: &str| json!({"ConditionCheck": {"TableName": "items", "Key": {"p": {"S": id}}, "ConditionExpression": "attribute_exists(p)"}});
    let (code, message) = recorded
        .call(
            "TransactWriteItems",
            json!({"TransactItems": [exists("2"), add("1"), exists("3")]}),
        )
        .unwrap_err();
    assert_eq!(code, "TransactionCanceledException");
    assert!(
        message.ends_with("[ConditionalCheckFailed, ValidationError, None]"),
        "{message}"
    );
}

#[test]
fn an_index_is_read_in_its_own_order() {
    let recorded = Recorded::new();
    for (id, kind, rank) in [("a", "x", "10"), ("b", "x", "9"), ("c", "y", "1"), ("d", "x", "9")] {
        recorded.put(
            "indexed",
            json!({"p": {"S": id}, "kind": {"S": kind}, "rank": {"N": rank}, "more": {"S": id}}),
        );
    }
    recorded.put("indexed", json!({"p": {"S": "e"}, "kind": {"S": "x"}}));
    let query = |more: Value| {
        let mut request = json!({"TableName": "indexed", "IndexName": "by_kind", "KeyConditionExpression": "kind = :k",
            "ExpressionAttributeValues": {":k": {"S": "x"}}, "ReturnConsumedCapacity": "INDEXES"});
        for (member, value) in more.as_object().unwrap() {
            request[member] = value.clone();
        }
        recorded.call("Query", request)
    };
    let mut found = Vec::new();
    let mut more = json!({"Limit": 1});
    loop {
        let page = query(more.clone()).unwrap();
        for item in page["Items"].as_array().unwrap() {
            found.push(item["p"]["S"].as_str().unwrap().to_owned());
        }
        assert!(
            page["ConsumedCapacity"]["GlobalSecondaryIndexes"]["by_kind"].is_object(),
            "{page}"
        );
        match page.get("LastEvaluatedKey") {
            Some(last) => more["ExclusiveStartKey"] = last.clone(),
            None => break,
        }
    }
    assert_eq!(
        (found.len(), found.last().map(String::as_str)),
        (3, Some("a")),
        "{found:?}"
    );
    let backward = query(json!({"ScanIndexForward": false, "ProjectionExpression": "p"})).unwrap();
    assert_eq!(backward["Items"][0], json!({"p": {"S": "a"}}));
    for (more, part) in [
        (json!({"ConsistentRead": true}), "Consistent reads are not supported"),
        (json!({"IndexName": "other"}), "does not have the specified index"),
        (json!({"FilterExpression": "kind = :k"}), "non-primary key attributes"),
        (
            json!({"ExclusiveStartKey": {"p": {"S": "a"}}}),
            "starting key is invalid",
        ),
    ] {
        let (_, message) = query(more).unwrap_err();
        assert!(message.contains(part), "{message}");
    }
    let scanned = recorded
        .call("Scan", json!({"TableName": "indexed", "IndexName": "by_kind"}))
        .unwrap();
    assert_eq!(scanned["Count"], 4, "an item without a key of the index is not in it");
}

#[test]
fn a_key_without_a_sort_key_has_no_condition_on_another_attribute() {
    let recorded = Recorded::new();
    let request = json!({"TableName": "items", "KeyConditionExpression": "p = :v AND z = :v",
        "ExpressionAttributeValues": {":v": {"S": "x"}}});
    let (_, message) = recorded.call("Query", request).unwrap_err();
    assert_eq!(message, "Query key condition not supported");
}

#[test]
fn select_must_fit_the_projection() {
    let recorded = Recorded::new();
    for (select, projection, index, part) in [
        ("SPECIFIC_ATTRIBUTES", None, None, "SPECIFIC_ATTRIBUTES"),
        ("SPECIFIC_ATTRIBUTES", Some("more"), None, ""),
        ("COUNT", Some("more"), None, "only the Count"),
        ("COUNT", None, None, ""),
        ("ALL_ATTRIBUTES", Some("more"), None, "ALL_ATTRIBUTES"),
        ("ALL_ATTRIBUTES", None, Some("by_kind"), ""),
        ("ALL_PROJECTED_ATTRIBUTES", None, None, "using an IndexName"),
        ("ALL_PROJECTED_ATTRIBUTES", None, Some("by_kind"), ""),
        ("DOG", None, None, "enum value set"),
    ] {
        let request =
            json!({"TableName": "indexed", "Select": select, "ProjectionExpression": projection, "IndexName": index});
        match recorded.call("Scan", request) {
            Ok(answer) => {
                assert_eq!(part, "", "{select}");
                assert_eq!(answer.get("Items").is_none(), select == "COUNT");
            }
            Err((_, message)) => assert!(!part.is_empty() && message.contains(part), "{select}: {message}"),
        }
    }
}

#[test]
fn a_condition_before_expressions_has_values_that_fit_each_other() {
    let recorded = Recorded::new();
    let numbers = |one: &str, other: &str| json!([{"N": one}, {"N": other}]);
    let mixed = json!([{"N": "3"}, {"S": "dog"}]);
    for (operator, values, part) in [
        ("BETWEEN", numbers("4", "3"), "BETWEEN"),
        ("BETWEEN", mixed.clone(), "type"),
        ("IN", mixed, "type"),
        ("DOG", numbers("3", "4"), "comparisonOperator"),
        ("DOG", json!([]), "comparisonOperator"),
    ] {
        for result in recorded.legacy(&json!({"ComparisonOperator": operator, "AttributeValueList": values})) {
            let (code, message) = result.unwrap_err();
            assert_eq!(code, "ValidationException", "{operator} {values}");
            assert!(message.contains(part), "{operator} {values}: {message}");
        }
    }
    let between = json!({"a": {"ComparisonOperator": "BETWEEN", "AttributeValueList": numbers("3", "3")}});
    assert_eq!(recorded.expected(between, None), None);
}

#[test]
fn an_absent_attribute_neither_contains_a_value_nor_does_not() {
    let recorded = Recorded::new();
    let condition = |operator: &str| json!({"ComparisonOperator": operator, "AttributeValueList": [{"S": "x"}]});
    for (attribute, operator, is_true) in [
        ("s", "CONTAINS", true),
        ("s", "NOT_CONTAINS", false),
        ("a", "NOT_CONTAINS", true),
        ("absent", "CONTAINS", false),
        ("absent", "NOT_CONTAINS", false),
    ] {
        let other = |value: &str| json!({"ComparisonOperator": "EQ", "AttributeValueList": [{"N": value}]});
        let one = |joined: &Value| json!({attribute: condition(operator), "zz": joined});
        for (expected, joined, is_true) in [
            (json!({attribute: condition(operator)}), None, is_true),
            (one(&json!({"Exists": false})), Some("AND"), is_true),
            (one(&other("1")), Some("OR"), is_true),
            (one(&json!({"Exists": false})), Some("OR"), true),
        ] {
            let code = recorded.expected(expected.clone(), joined);
            assert_eq!(
                code.as_deref(),
                if is_true { None } else { FALSE },
                "{expected} {joined:?}"
            );
        }
    }
}

#[test]
fn an_operator_has_a_list_of_values_and_nothing_else() {
    let recorded = Recorded::new();
    let three = json!({"N": "3"});
    for (condition, code) in [
        (json!({"ComparisonOperator": "EQ", "AttributeValueList": [three]}), None),
        (json!({"ComparisonOperator": "EQ", "Value": three}), None),
        (
            json!({"ComparisonOperator": "EQ", "AttributeValueList": [three], "Exists": false}),
            INVALID,
        ),
        (
            json!({"ComparisonOperator": "EQ", "Value": three, "Exists": true}),
            INVALID,
        ),
        (
            json!({"ComparisonOperator": "EQ", "AttributeValueList": [three], "Value": three}),
            INVALID,
        ),
        (json!({"AttributeValueList": [three]}), INVALID),
        (json!({"AttributeValueList": [three], "Value": three}), INVALID),
    ] {
        let actual = recorded.expected(json!({"a": condition}), None);
        assert_eq!(actual.as_deref(), code, "{condition}");
    }
}

#[test]
fn an_update_has_as_many_operators_as_a_condition() {
    let recorded = Recorded::new();
    let update = |count: usize| {
        let sums = (0..count).map(|number| format!("a{number}=b{}b", if number % 2 == 0 { "+" } else { "-" }));
        let update = format!("SET {}", sums.collect::<Vec<_>>().join(","));
        recorded.update(Some(json!({"b": {"N": "1"}})), &update, json!({}))
    };
    update(300).unwrap();
    let message = update(301).unwrap_err();
    assert!(message.contains("too many operators; operator count: 301"), "{message}");
}

#[test]
fn a_placeholder_has_255_bytes_at_most() {
    let recorded = Recorded::new();
    for (length, expected) in [(254, None), (255, INVALID)] {
        let (name, value) = (format!("#{}", "n".repeat(length)), format!(":{}", "v".repeat(length)));
        for (condition, names, values) in [
            (
                format!("attribute_not_exists({name})"),
                json!({&name: "a"}),
                Value::Null,
            ),
            (format!("a <> {value}"), Value::Null, json!({&value: {"N": "1"}})),
        ] {
            let request = json!({"TableName": "items", "Item": {"p": {"S": "1"}}, "ConditionExpression": condition,
                "ExpressionAttributeNames": names, "ExpressionAttributeValues": values});
            let error = recorded.call("PutItem", request).err();
            assert_eq!(
                error.as_ref().map(|(code, _)| code.as_str()),
                expected,
                "{length}: {error:?}"
            );
        }
    }
}

#[test]
fn a_key_of_an_index_is_no_longer_than_one_of_a_table() {
    let recorded = Recorded::new();
    let count = |index: &str| {
        let scanned = recorded.call("Scan", json!({"TableName": "indexed", "IndexName": index}));
        scanned.unwrap()["Count"].clone()
    };
    for (index, key, longest) in [("by_kind", "kind", 2_048), ("by_label", "label", 1_024)] {
        for length in [longest, longest + 1] {
            let value = json!({"S": "v".repeat(length)});
            let item = json!({"p": {"S": index}, "rank": {"N": "1"}, key: value});
            let set = json!({key: {"Action": "PUT", "Value": value}, "rank": {"Value": {"N": "1"}}});
            for (operation, request) in [
                ("PutItem", json!({"TableName": "indexed", "Item": item})),
                (
                    "BatchWriteItem",
                    json!({"RequestItems": {"indexed": [{"PutRequest": {"Item": item}}]}}),
                ),
                (
                    "UpdateItem",
                    json!({"TableName": "indexed", "Key": {"p": {"S": index}}, "AttributeUpdates": set}),
                ),
            ] {
                match recorded.call(operation, request) {
                    Ok(_) => assert_eq!((length, count(index)), (longest, json!(1)), "{operation}"),
                    Err((code, message)) => {
                        assert_eq!(
                            (length, code.as_str()),
                            (longest + 1, "ValidationException"),
                            "{message}"
                        );
                        let sizes = format!("Actual Size: {length} bytes Max Size: {longest} bytes IndexName: {index}");
                        assert!(message.contains(&sizes), "{operation}: {message}");
                    }
                }
            }
        }
    }
}

#[test]
fn segments_are_counted_from_0_to_a_million() {
    let recorded = Recorded::new();
    for (segment, total, part) in [
        (
            json!(-1),
            json!(4),
            "1 validation error detected: Value '-1' at 'segment'",
        ),
        (json!(-1), Value::Null, "greater than or equal to 0"),
        (json!(0), json!(0), "Value '0' at 'totalSegments'"),
        (json!(0), json!(-1), "greater than or equal to 1"),
        (json!(0), json!(1_000_001), "less than or equal to 1000000"),
        (json!(-1), json!(-1), "2 validation errors detected"),
        (json!(4), json!(4), "not less than TotalSegments"),
        (Value::Null, json!(4), "Segment parameter is required"),
        (json!(0), json!(1_000_000), ""),
    ] {
        let request = json!({"TableName": "items", "Segment": segment, "TotalSegments": total});
        match recorded.call("Scan", request) {
            Ok(_) => assert_eq!(part, "", "{segment} of {total}"),
            Err((code, message)) => {
                assert_eq!(code, "ValidationException", "{segment} of {total}");
                assert!(
                    !part.is_empty() && message.contains(part),
                    "{segment} of {total}: {message}"
                );
            }
        }
    }
}

/// The values behind the one that is too large are not looked at: they might be hundreds of copies of an item.
#[test]
fn an_update_stops_where_its_item_becomes_too_large() {
    let recorded = Recorded::new();
    let large = || Some(json!({"l": {"L": [{"S": "x".repeat(150_000)}]}}));
    for update in [
        "SET a = l, b = l, c = l, d = absent",
        "SET a = list_append(if_not_exists(x, list_append(if_not_exists(x, list_append(l, l)), l)), absent)",
    ] {
        let message = recorded.update(large(), update, json!({})).unwrap_err();
        assert!(
            message.contains("Item size to update has exceeded"),
            "{update}: {message}"
        );
    }
    recorded.update(large(), "SET a = l", json!({})).unwrap();
}

/// With a comparison of each member with each other one it takes minutes.
#[test]
fn a_set_grows_and_shrinks_by_thousands_of_members() {
    let recorded = Recorded::new();
    let members = |range: std::ops::Range<u32>| -> Value { range.map(|number| number.to_string()).collect() };
    let set = |range: std::ops::Range<u32>| json!({"ns": {"NS": members(range)}});
    for (update, range, expected) in [
        ("ADD ns :v", 30_000..90_000, set(0..90_000)),
        ("DELETE ns :v", 30_000..90_000, set(0..30_000)),
    ] {
        let after = recorded.update(Some(set(0..60_000)), update, json!({":v": {"NS": members(range)}}));
        assert_eq!(after, Ok(Some(expected)), "{update}");
    }
}

#[test]
fn a_wrong_expression_is_told_before_a_missing_table_or_a_wrong_key() {
    let recorded = Recorded::new();
    for operation in ["PutItem", "UpdateItem", "DeleteItem"] {
        for (table, name) in [("missing", "p"), ("items", "other")] {
            let call = |condition: &str| {
                let item = json!({name: {"S": "1"}});
                let mut request = json!({"TableName": table, "ConditionExpression": condition});
                request[if operation == "PutItem" { "Item" } else { "Key" }] = item;
                recorded.call(operation, request).unwrap_err().1
            };
            let (wrong, right) = (call("a ="), call("attribute_exists(a)"));
            assert!(wrong.contains("Invalid ConditionExpression"), "{operation}: {wrong}");
            assert!(!right.contains("ConditionExpression"), "{operation}: {right}");
        }
    }
    for (table, index) in [("missing", None), ("items", Some("missing"))] {
        for operation in ["Scan", "Query"] {
            let call = |filter: &str| {
                let mut request = json!({"TableName": table, "IndexName": index, "FilterExpression": filter});
                if operation == "Query" {
                    request["KeyConditions"] =
                        json!({"p": {"ComparisonOperator": "EQ", "AttributeValueList": [{"S": "1"}]}});
                }
                recorded.call(operation, request).unwrap_err().1
            };
            let (wrong, right) = (call("a ="), call("attribute_exists(a)"));
            assert!(wrong.contains("Invalid FilterExpression"), "{operation}: {wrong}");
            assert!(!right.contains("FilterExpression"), "{operation}: {right}");
        }
    }
}
