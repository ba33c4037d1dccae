//! Secondary indexes: a write takes of them what it changes of what they store, whatever the emulator says.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::Proxy;

/// A table with one item, a global index of `g` with the attribute `p`, and a local index of `l` with all attributes. The emulator
/// says one unit of each write, as moto does.
struct Table {
    proxy: Proxy,
    item: Arc<Mutex<Value>>,
    consumed: Arc<Mutex<Value>>,
}

impl Table {
    /// `units` are those of the global index.
    async fn new(file: &str, units: f64) -> Self {
        let proxy = Proxy::new(file).await;
        let item = Arc::new(Mutex::new(Value::Null));
        let consumed = Arc::new(Mutex::new(json!({"TableName": "orders", "CapacityUnits": 1.0})));
        let (stored, said) = (Arc::clone(&item), Arc::clone(&consumed));
        proxy.emulator.answers(move |target, body| {
            let mut stored = stored.lock().unwrap();
            let mut answer = json!({ "ConsumedCapacity": *said.lock().unwrap() });
            match target.rsplit('.').next().unwrap() {
                "DescribeTable" => answer = described(units),
                "BatchGetItem" => {
                    let items: Vec<&Value> = Some(&*stored).filter(|item| !item.is_null()).into_iter().collect();
                    answer = json!({"Responses": {"orders": items}});
                }
                "PutItem" => *stored = body["Item"].clone(),
                "DeleteItem" => *stored = Value::Null,
                "UpdateItem" => {
                    // What the update does is in the values of its expression: each name is `SET` to the value of that name.
                    for (name, value) in body["ExpressionAttributeValues"].as_object().unwrap() {
                        stored[name.trim_start_matches(':')] = value.clone();
                    }
                    if body["ReturnValues"] == "ALL_NEW" {
                        answer["Attributes"] = stored.clone();
                    }
                }
                _ => return None,
            }
            Some((200, answer.to_string()))
        });
        Self { proxy, item, consumed }
    }

    async fn call(&self, operation: &str, members: Value) -> Value {
        let mut request = json!({"TableName": "orders", "ReturnConsumedCapacity": "INDEXES"});
        for (name, value) in members.as_object().unwrap() {
            request[name] = value.clone();
        }
        self.proxy.connect().await.tables(operation, request).await.json()
    }

    /// The units of the table, of the global and of the local index, and all together.
    async fn units(&self, operation: &str, members: Value) -> [Value; 4] {
        let answer = self.call(operation, members).await;
        assert_eq!(answer["Attributes"], Value::Null, "it was not asked for");
        let consumed = &answer["ConsumedCapacity"];
        let global = &consumed["GlobalSecondaryIndexes"]["by_g"]["CapacityUnits"];
        let local = &consumed["LocalSecondaryIndexes"]["by_l"]["CapacityUnits"];
        [
            &consumed["Table"]["CapacityUnits"],
            global,
            local,
            &consumed["CapacityUnits"],
        ]
        .map(Clone::clone)
    }
}

fn described(units: f64) -> Value {
    let schema = |names: &[&str]| {
        let roles = names.iter().zip(["HASH", "RANGE"]);
        roles
            .map(|(name, role)| json!({"AttributeName": name, "KeyType": role}))
            .collect::<Value>()
    };
    let projection = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": ["p"]});
    let provisioned = json!({"WriteCapacityUnits": units, "ReadCapacityUnits": units});
    let global = json!({
        "IndexName": "by_g",
        "KeySchema": schema(&["g"]),
        "Projection": projection,
        "ProvisionedThroughput": provisioned,
    });
    let local = json!({
        "IndexName": "by_l",
        "KeySchema": schema(&["id", "l"]),
        "Projection": {"ProjectionType": "ALL"},
    });
    json!({"Table": {
        "TableArn": "arn:aws:dynamodb:us-east-1:0:table/orders",
        "KeySchema": schema(&["id", "sort"]),
        "GlobalSecondaryIndexes": [global],
        "LocalSecondaryIndexes": [local],
    }})
}

fn item(members: &[(&str, &str)]) -> Value {
    let mut item = json!({"id": {"S": "1"}, "sort": {"S": "1"}});
    for (name, value) in members {
        item[name] = json!({ "S": value });
    }
    item
}

fn update(members: &[(&str, &str)]) -> Value {
    let sets: Vec<String> = members.iter().map(|(name, _)| format!("{name} = :{name}")).collect();
    let values = members
        .iter()
        .map(|(name, value)| (format!(":{name}"), json!({ "S": value })));
    let expression = format!("SET {}", sets.join(", "));
    json!({"Key": item(&[]), "UpdateExpression": expression, "ExpressionAttributeValues": values.collect::<Value>()})
}

/// As measured on `DynamoDB` for nubo-db/dynoxide#176; dynoxide, floci and ministack counted one unit for each index of the new item.
#[tokio::test]
async fn a_write_takes_of_each_index_what_it_changes_there() {
    let table = Table::new("", 1_000_000.0).await;
    let nothing = Value::Null;
    let one = json!(1.0);
    let [none, two] = [&nothing, &json!(2.0)];
    let one = &one;
    let steps = [
        ("PutItem", json!({"Item": item(&[("p", "x")])}), [one, none, none, one]),
        (
            "PutItem",
            json!({"Item": item(&[("g", "a"), ("l", "a")])}),
            [one, one, one, &json!(3.0)],
        ),
        (
            "PutItem",
            json!({"Item": item(&[("g", "a"), ("l", "a")])}),
            [one, none, none, one],
        ),
        ("UpdateItem", update(&[("p", "y")]), [one, one, one, &json!(3.0)]),
        ("UpdateItem", update(&[("other", "y")]), [one, none, one, two]),
        ("UpdateItem", update(&[("g", "b")]), [one, two, one, &json!(4.0)]),
        ("UpdateItem", update(&[("l", "b")]), [one, none, two, &json!(3.0)]),
        (
            "PutItem",
            json!({"Item": item(&[("l", "b")])}),
            [one, one, one, &json!(3.0)],
        ),
        ("DeleteItem", json!({"Key": item(&[])}), [one, none, one, two]),
        ("DeleteItem", json!({"Key": item(&[])}), [one, none, none, one]),
    ];
    for (operation, members, units) in steps {
        assert_eq!(
            table.units(operation, members.clone()).await.each_ref(),
            units,
            "{operation} {members}"
        );
    }
}

#[tokio::test]
async fn an_index_without_units_throttles_only_the_writes_that_change_it() {
    let table = Table::new("", 1e-9).await;
    for (old, operation, members, is_throttled) in [
        (item(&[]), "DeleteItem", json!({"Key": item(&[])}), false),
        (item(&[("g", "a")]), "DeleteItem", json!({"Key": item(&[])}), true),
        (item(&[("g", "a")]), "UpdateItem", update(&[("other", "x")]), false),
        (item(&[("g", "a")]), "UpdateItem", update(&[("p", "x")]), true),
        (item(&[]), "UpdateItem", update(&[("p", "x")]), false),
        (item(&[]), "UpdateItem", update(&[("g", "x")]), true),
        (
            item(&[("g", "a")]),
            "PutItem",
            json!({"Item": item(&[("g", "a"), ("other", "x")])}),
            false,
        ),
        (item(&[("g", "a")]), "PutItem", json!({"Item": item(&[])}), true),
    ] {
        *table.item.lock().unwrap() = old;
        let answer = table.call(operation, members.clone()).await;
        let reason = json!([{
            "reason": "IndexWriteProvisionedThroughputExceeded",
            "resource": "arn:aws:dynamodb:us-east-1:0:table/orders/index/by_g",
        }]);
        let reasons = &answer["throttlingReasons"];
        assert_eq!(*reasons == reason, is_throttled, "{operation} {members}: {answer}");
    }
}

#[tokio::test]
async fn what_an_update_has_changed_is_charged_to_the_index() {
    // Two units: the update needs one of them, and a million bytes are more than the other.
    let table = Table::new("", 1e-9).await;
    *table.item.lock().unwrap() = item(&[("l", "a")]);
    let units = table.units("UpdateItem", update(&[("p", &"x".repeat(3_000))])).await;
    // The item has three started KiB, and so has its copy in the local index.
    assert_eq!(
        units.map(|units| units.as_f64()),
        [Some(3.0), None, Some(3.0), Some(6.0)]
    );
}

#[tokio::test]
async fn the_units_of_an_update_are_shown_to_a_caller_that_asks_for_other_values() {
    let table = Table::new("", 1_000_000.0).await;
    *table.item.lock().unwrap() = item(&[("g", "a")]);
    let mut request = update(&[("g", "b")]);
    request["ReturnValues"] = json!("UPDATED_OLD");
    let answer = table.call("UpdateItem", request.clone()).await;
    // The new item is not known: that it moves is not either.
    assert_eq!(
        answer["ConsumedCapacity"]["GlobalSecondaryIndexes"]["by_g"]["CapacityUnits"],
        1.0
    );
    request["ReturnValues"] = json!("ALL_NEW");
    request["ExpressionAttributeValues"][":g"] = json!({"S": "c"});
    let answer = table.call("UpdateItem", request).await;
    assert_eq!(
        answer["ConsumedCapacity"]["GlobalSecondaryIndexes"]["by_g"]["CapacityUnits"],
        2.0
    );
    assert_eq!(answer["Attributes"]["g"], json!({"S": "c"}));
}

#[tokio::test]
async fn an_emulator_that_cannot_be_asked_for_the_items_counts_as_empty() {
    let table = Table::new("", 1_000_000.0).await;
    table.proxy.emulator.answers(move |target, _| {
        let answer = match target.rsplit('.').next().unwrap() {
            "DescribeTable" => described(1_000_000.0),
            "BatchGetItem" => return Some((400, "{}".to_owned())),
            _ => json!({}),
        };
        Some((200, answer.to_string()))
    });
    let units = table.units("PutItem", json!({"Item": item(&[("g", "a")])})).await;
    assert_eq!(
        units.map(|units| units.as_f64()),
        [Some(1.0), Some(1.0), None, Some(2.0)]
    );
}

#[tokio::test]
async fn batches_and_transactions_take_of_the_index_what_they_replace_there() {
    let table = Table::new("", 1e-9).await;
    *table.item.lock().unwrap() = item(&[("g", "a")]);
    let other = json!({"id": {"S": "2"}, "sort": {"S": "1"}});
    let deletes = json!([{"DeleteRequest": {"Key": item(&[])}}, {"DeleteRequest": {"Key": other}}]);
    let mut client = table.proxy.connect().await;
    let answer = client
        .tables("BatchWriteItem", json!({"RequestItems": {"orders": deletes}}))
        .await;
    assert_eq!(answer.json()["UnprocessedItems"]["orders"], json!([deletes[0]]));
    let delete = |key: &Value| json!({"Delete": {"TableName": "orders", "Key": key}});
    let actions = json!({"TransactItems": [delete(&item(&[])), delete(&other)]});
    let answer = client.tables("TransactWriteItems", actions).await.json();
    let codes: Vec<&Value> = answer["CancellationReasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| &reason["Code"])
        .collect();
    assert_eq!(codes, ["ThrottlingError", "None"]);
}

#[tokio::test]
async fn what_an_emulator_says_about_indexes_is_not_charged_to_the_table() {
    let part = json!({"CapacityUnits": 1.0});
    let divided = json!({
        "TableName": "orders",
        "CapacityUnits": 3.0,
        "Table": part,
        "GlobalSecondaryIndexes": {"by_g": part},
        "LocalSecondaryIndexes": {"by_l": part},
    });
    let mut more = divided.clone();
    more["Table"]["CapacityUnits"] = json!(5.0);
    let undivided = json!({"TableName": "orders", "CapacityUnits": 3.0});
    for (consumed, units) in [(divided, 1.0), (undivided, 1.0), (more, 5.0)] {
        let table = Table::new("", 1_000_000.0).await;
        let same = item(&[("g", "a"), ("l", "a")]);
        *table.item.lock().unwrap() = same.clone();
        *table.consumed.lock().unwrap() = consumed.clone();
        // Nothing changes, in the indexes neither.
        let shown = table.units("PutItem", json!({"Item": same})).await;
        assert_eq!(
            shown.map(|units| units.as_f64()),
            [Some(units), None, None, Some(units)],
            "{consumed}"
        );
        let figures = table.proxy.connect().await.get("figures").await;
        assert_eq!(figures["dynamodb"]["orders"]["written"], units, "{consumed}");
    }
}

/// As measured on `DynamoDB` for nubo-db/dynoxide#188: of a transaction the base table alone takes twice the units.
#[tokio::test]
async fn a_transaction_takes_once_of_an_index_and_twice_of_the_table() {
    let table = Table::new("", 1_000_000.0).await;
    let part = json!({"CapacityUnits": 1.0, "WriteCapacityUnits": 1.0});
    let mut said = json!({"TableName": "orders", "CapacityUnits": 3.0, "WriteCapacityUnits": 3.0, "Table": part});
    said["GlobalSecondaryIndexes"] = json!({"by_g": part});
    table
        .proxy
        .emulator
        .answers(move |target, _| match target.rsplit('.').next().unwrap() {
            "DescribeTable" => Some((200, described(1_000_000.0).to_string())),
            "TransactWriteItems" => Some((200, json!({ "ConsumedCapacity": [said] }).to_string())),
            _ => None,
        });
    let put = json!({"Put": {"TableName": "orders", "Item": item(&[("g", "a"), ("l", "a")])}});
    let call = json!({"TransactItems": [put], "ReturnConsumedCapacity": "INDEXES"});
    let answer = table.proxy.connect().await.tables("TransactWriteItems", call).await;
    let units = |units: f64| json!({"CapacityUnits": units, "WriteCapacityUnits": units});
    let mut consumed = units(4.0);
    consumed["TableName"] = json!("orders");
    consumed["Table"] = units(2.0);
    consumed["GlobalSecondaryIndexes"] = json!({"by_g": units(1.0)});
    consumed["LocalSecondaryIndexes"] = json!({"by_l": units(1.0)});
    assert_eq!(answer.json()["ConsumedCapacity"], json!([consumed]));
}
