//! Queries and scans: which index and which partition they are charged to.

use serde_json::{Value, json};

use super::Proxy;

const PLENTY: f64 = 1e9;
const NONE: f64 = 1e-9;

/// In front of a table with the keys `id` and `sort`, a global index of `g` and a local one of `l`, which have these units. The emulator
/// says what a read takes.
async fn proxy(file: &str, of_table: f64, of_index: f64, said: f64) -> Proxy {
    let proxy = Proxy::new(file).await;
    let units = |units: f64| json!({"ReadCapacityUnits": units, "WriteCapacityUnits": units});
    let schema = |names: &[&str]| -> Value {
        let roles = names.iter().zip(["HASH", "RANGE"]);
        roles
            .map(|(name, role)| json!({"AttributeName": name, "KeyType": role}))
            .collect()
    };
    let table = json!({"Table": {
        "TableArn": "table/orders",
        "KeySchema": schema(&["id", "sort"]),
        "ProvisionedThroughput": units(of_table),
        "GlobalSecondaryIndexes": [
            {"IndexName": "by_g", "KeySchema": schema(&["g"]), "ProvisionedThroughput": units(of_index)},
        ],
        "LocalSecondaryIndexes": [{"IndexName": "by_l", "KeySchema": schema(&["id", "l"])}],
    }});
    proxy.emulator.answers(move |target, _| {
        let answer = if target.ends_with("DescribeTable") {
            table.clone()
        } else {
            json!({"Items": [], "ConsumedCapacity": {"TableName": "orders", "CapacityUnits": said}})
        };
        Some((200, answer.to_string()))
    });
    proxy
}

fn query(index: Option<&str>, name: &str, value: &str) -> Value {
    let mut query = json!({
        "TableName": "orders",
        "ReturnConsumedCapacity": "INDEXES",
        "KeyConditionExpression": "#k = :k",
        "ExpressionAttributeNames": {"#k": name},
        "ExpressionAttributeValues": {":k": {"S": value}},
    });
    if let Some(index) = index {
        query["IndexName"] = json!(index);
    }
    query
}

#[tokio::test]
async fn a_read_of_a_global_index_takes_units_of_the_index_alone() {
    let of_index = query(Some("by_g"), "g", "a");
    let of_table = query(None, "id", "a");
    let in_debt = "[tables.orders]\nstarts_full = true\n";
    for (file, units, poor, rich, resource) in [
        ("", [PLENTY, NONE], &of_index, &of_table, "table/orders/index/by_g"),
        ("", [NONE, PLENTY], &of_table, &of_index, "table/orders"),
        (in_debt, [NONE, PLENTY], &of_table, &of_index, "table/orders"),
    ] {
        let proxy = proxy(file, units[0], units[1], 100.0).await;
        let mut client = proxy.connect().await;
        if file == in_debt {
            // It has 25 units at first, and this takes 100.
            assert_eq!(client.tables("Query", poor.clone()).await.status, 200);
        }
        let answer = client.tables("Query", poor.clone()).await;
        assert_eq!(answer.status, 400, "{resource}");
        let reason = &answer.json()["ThrottlingReasons"][0];
        assert_eq!(reason["resource"], resource);
        let kind = reason["reason"].as_str().unwrap();
        assert!(kind.ends_with("ReadProvisionedThroughputExceeded"), "{kind}");
        assert_eq!(client.tables("Query", rich.clone()).await.status, 200, "{resource}");
    }
}

#[tokio::test]
async fn the_units_of_a_read_are_shown_where_they_are_taken() {
    let proxy = proxy("", PLENTY, PLENTY, 2.5).await;
    let mut client = proxy.connect().await;
    for (index, name, kind) in [
        ("by_g", "g", "GlobalSecondaryIndexes"),
        ("by_l", "id", "LocalSecondaryIndexes"),
    ] {
        let answer = client.tables("Query", query(Some(index), name, "a")).await;
        let mut consumed = json!({"TableName": "orders", "CapacityUnits": 2.5, "Table": {"CapacityUnits": 0.0}});
        consumed[kind] = json!({index: {"CapacityUnits": 2.5}});
        assert_eq!(answer.json()["ConsumedCapacity"], consumed);
    }
    assert_eq!(client.get("figures").await["dynamodb"]["orders"]["read"], 5.0);
}

/// How many of 20 pages of 1,000 units, of which a partition accepts four at once.
async fn accepted(call: impl Fn(usize) -> Value) -> usize {
    let file = "[tables.orders]\nstarts_full = true\npartitions = 100\n";
    let proxy = proxy(file, PLENTY, PLENTY, 1_000.0).await;
    let mut client = proxy.connect().await;
    let mut accepted = 0;
    for number in 0..20 {
        let call = call(number);
        let operation = if call == json!({"TableName": "orders"}) {
            "Scan"
        } else {
            "Query"
        };
        accepted += usize::from(client.tables(operation, call).await.status == 200);
    }
    accepted
}

#[tokio::test]
async fn a_query_takes_units_of_the_partition_of_its_key() {
    let of_one = accepted(|_| query(None, "id", "a")).await;
    assert!(of_one < 20, "{of_one}");
    assert_eq!(accepted(|number| query(None, "id", &number.to_string())).await, 20);
    assert_eq!(
        accepted(|number| query(Some("by_g"), "g", &number.to_string())).await,
        20
    );
    let older = |number: usize| {
        let condition = json!({"ComparisonOperator": "EQ", "AttributeValueList": [{"S": number.to_string()}]});
        json!({"TableName": "orders", "KeyConditions": {"id": condition}})
    };
    assert_eq!(accepted(older).await, 20);
    let with_sort = |number: usize| {
        let values = json!({":a": {"S": "a"}, ":k": {"S": number.to_string()}});
        let condition = "sort>=:a AND (id=:k)";
        json!({"TableName": "orders", "KeyConditionExpression": condition, "ExpressionAttributeValues": values})
    };
    assert_eq!(accepted(with_sort).await, 20);
}

#[tokio::test]
async fn scans_are_spread_over_all_partitions() {
    assert_eq!(accepted(|_| json!({"TableName": "orders"})).await, 20);
}
