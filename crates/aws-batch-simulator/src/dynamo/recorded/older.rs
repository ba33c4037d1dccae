use super::*;

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
