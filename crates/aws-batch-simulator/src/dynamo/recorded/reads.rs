use super::*;

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
