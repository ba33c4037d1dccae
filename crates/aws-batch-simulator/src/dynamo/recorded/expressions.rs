use super::*;

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
