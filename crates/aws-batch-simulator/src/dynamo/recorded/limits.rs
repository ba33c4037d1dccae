use super::*;

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
