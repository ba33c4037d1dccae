//! Tables: what fits is forwarded, and the answer says what did not.

use serde_json::{Value, json};

use super::Proxy;
use super::wire::{batch, put};

/// 25 units, and no more ever.
const ONCE_25: &str = "[tables.orders]\nwrite_units = 0\nread_units = 0\nstarts_full = true\n";

#[tokio::test]
async fn what_fits_is_forwarded_and_the_rest_is_unprocessed() {
    let proxy = Proxy::new(ONCE_25).await;
    let mut client = proxy.connect().await;
    let sent = batch(0..25, 2);
    let answer = client.tables("BatchWriteItem", sent.clone()).await;
    assert_eq!(answer.status, 200);
    let forwarded = proxy.emulator.received("BatchWriteItem")[0].json();
    let forwarded = forwarded["RequestItems"]["orders"].as_array().unwrap().clone();
    let answered = answer.json();
    let unprocessed = answered["UnprocessedItems"]["orders"].as_array().unwrap();
    // 12 of two units each.
    assert_eq!((forwarded.len(), unprocessed.len()), (12, 13));
    let mut all: Vec<&Value> = forwarded.iter().chain(unprocessed).collect();
    all.sort_by_key(|write| write["PutRequest"]["Item"]["id"]["S"].as_str());
    assert_eq!(
        all,
        sent["RequestItems"]["orders"]
            .as_array()
            .unwrap()
            .iter()
            .collect::<Vec<_>>()
    );
    assert_eq!(answer.headers["x-amz-crc32"], crc32fast::hash(&answer.body).to_string());
}

#[tokio::test]
async fn a_call_of_which_nothing_fits_is_throttled_with_its_reason() {
    let proxy = Proxy::new(ONCE_25).await;
    let mut client = proxy.connect().await;
    assert_eq!(
        client.tables("BatchWriteItem", batch(0..25, 1)).await.json()["UnprocessedItems"],
        json!({})
    );
    let answer = client.tables("BatchWriteItem", batch(25..50, 1)).await;
    assert_eq!(answer.status, 400);
    let error = answer.json();
    assert!(
        error["__type"]
            .as_str()
            .unwrap()
            .ends_with("#ProvisionedThroughputExceededException")
    );
    let reason = json!([{
        "reason": "TableWriteProvisionedThroughputExceeded",
        "resource": "arn:aws:dynamodb:us-east-1:0:table/orders",
    }]);
    assert_eq!(error["ThrottlingReasons"], reason);
    assert_eq!(
        proxy.emulator.received("BatchWriteItem").len(),
        1,
        "nothing more was forwarded"
    );
    let figures = client.get("figures").await;
    let orders = &figures["dynamodb"]["orders"];
    let shown = (
        &orders["calls"],
        &orders["throttled_calls"],
        &orders["throttled"],
        &orders["written"],
    );
    assert_eq!(shown, (&json!(2), &json!(1), &json!(25), &json!(25.0)));
}

#[tokio::test]
async fn single_writes_and_reads_take_units_too() {
    let proxy = Proxy::new(ONCE_25).await;
    let mut client = proxy.connect().await;
    let item = put(1, 25)["PutRequest"]["Item"].clone();
    let key = json!({"id": {"S": "a"}});
    let put = client
        .tables("PutItem", json!({"TableName": "orders", "Item": item}))
        .await;
    assert_eq!(put.status, 200);
    for (operation, member) in [("UpdateItem", "Key"), ("DeleteItem", "Key"), ("PutItem", "Item")] {
        let answer = client
            .tables(operation, json!({"TableName": "orders", member: key}))
            .await;
        assert_eq!(answer.status, 400, "{operation}");
    }
    // 75 read units at first: the 300 KB of an answer leave none.
    let read = json!({"TableName": "orders", "Key": key, "ConsistentRead": true});
    let large = json!({"Item": {"id": {"S": "a"}, "text": {"S": "x".repeat(400_000)}}}).to_string();
    proxy
        .emulator
        .answers(move |target, _| target.ends_with("GetItem").then(|| (200, large.clone())));
    assert_eq!(client.tables("GetItem", read.clone()).await.status, 200);
    let answer = client.tables("GetItem", read.clone()).await;
    let reason = answer.json()["ThrottlingReasons"][0]["reason"].clone();
    assert_eq!(reason, "TableReadProvisionedThroughputExceeded");
    for operation in ["Query", "Scan"] {
        assert_eq!(
            client.tables(operation, json!({"TableName": "orders"})).await.status,
            400,
            "{operation}"
        );
    }
    let keys = json!({"RequestItems": {"orders": {"Keys": [key], "ConsistentRead": true}}});
    assert_eq!(client.tables("BatchGetItem", keys).await.status, 400);
}

#[tokio::test]
async fn keys_that_were_not_read_are_unprocessed_with_everything_else_of_their_request() {
    let proxy = Proxy::new("[tables.orders]\nread_units = 0\nstarts_full = true\n").await;
    let mut client = proxy.connect().await;
    let keys: Vec<Value> = (0..100).map(|id| json!({"id": {"S": id.to_string()}})).collect();
    let of_table = json!({"Keys": keys, "ConsistentRead": true, "ProjectionExpression": "id"});
    let answer = client
        .tables("BatchGetItem", json!({"RequestItems": {"orders": of_table}}))
        .await
        .json();
    let unprocessed = &answer["UnprocessedKeys"]["orders"];
    assert_eq!(unprocessed["Keys"].as_array().unwrap().len(), 25);
    assert_eq!(
        (&unprocessed["ConsistentRead"], &unprocessed["ProjectionExpression"]),
        (&json!(true), &json!("id"))
    );
}

#[tokio::test]
async fn what_the_emulator_did_not_process_is_returned_with_what_was_not_forwarded() {
    let proxy = Proxy::new(ONCE_25).await;
    // The first two of each call, with a number in another notation.
    proxy.emulator.answers(|target, body| {
        let writes = body["RequestItems"]["orders"].as_array()?;
        let first: Vec<Value> = writes.iter().take(2).map(unlike).collect();
        let answer = json!({"UnprocessedItems": {"orders": first}});
        target.ends_with("BatchWriteItem").then(|| (200, answer.to_string()))
    });
    let mut client = proxy.connect().await;
    let mut sent = batch(0..25, 2);
    for write in sent["RequestItems"]["orders"].as_array_mut().unwrap() {
        write["PutRequest"]["Item"]["n"] = json!({"N": "1.0"});
    }
    let id = |write: &Value| write["PutRequest"]["Item"]["id"]["S"].as_str().unwrap().to_owned();
    let ids = |writes: &Value| writes.as_array().unwrap().iter().map(id).collect::<Vec<_>>();
    let answer = client.tables("BatchWriteItem", sent.clone()).await.json();
    let forwarded = ids(&proxy.emulator.received("BatchWriteItem")[0].json()["RequestItems"]["orders"]);
    let unprocessed = ids(&answer["UnprocessedItems"]["orders"]);
    assert_eq!((forwarded.len(), unprocessed.len()), (12, 15));
    let mut all = [&forwarded[2..], &unprocessed].concat();
    all.sort();
    assert_eq!(all, ids(&sent["RequestItems"]["orders"]));
    let figures = client.get("figures").await;
    let orders = &figures["dynamodb"]["orders"];
    let shown = (&orders["accepted"], &orders["refused"], &orders["written"]);
    assert_eq!(shown, (&json!(10), &json!(2), &json!(20.0)));
    // 25 - 20 units are left, which are two writes.
    client.tables("BatchWriteItem", sent).await;
    let again = proxy.emulator.received("BatchWriteItem")[1].json();
    assert_eq!(ids(&again["RequestItems"]["orders"]).len(), 2);
}

/// The write, as an emulator may return it.
fn unlike(write: &Value) -> Value {
    let mut write = write.clone();
    write["PutRequest"]["Item"]["n"] = json!({"N": "1"});
    write
}

#[tokio::test]
async fn keys_that_the_emulator_did_not_read_are_unprocessed_under_its_name_of_the_table() {
    let file = "[tables.orders]\nread_units = 0\nstarts_full = true\n";
    let proxy = Proxy::new(file).await;
    let arn = "arn:aws:dynamodb:us-east-1:0:table/orders";
    proxy.emulator.answers(move |target, body| {
        let keys = body["RequestItems"][arn]["Keys"].as_array()?;
        let answer = json!({"Responses": {}, "UnprocessedKeys": {"orders": {"Keys": keys[..5]}}});
        target.ends_with("BatchGetItem").then(|| (200, answer.to_string()))
    });
    let keys: Vec<Value> = (0..100).map(|id| json!({"id": {"S": id.to_string()}})).collect();
    let request = json!({"RequestItems": {arn: {"Keys": keys, "ConsistentRead": true}}});
    let mut client = proxy.connect().await;
    let answer = client.tables("BatchGetItem", request).await.json();
    let unprocessed = answer["UnprocessedKeys"].as_object().unwrap();
    assert_eq!(unprocessed.len(), 1);
    // 75 are forwarded.
    assert_eq!(unprocessed["orders"]["Keys"].as_array().unwrap().len(), 30);
    let figures = client.get("figures").await;
    assert_eq!(figures["dynamodb"]["orders"]["accepted"], 70);
}

#[tokio::test]
async fn a_transaction_is_canceled_with_a_reason_for_each_action() {
    let proxy = Proxy::new(ONCE_25).await;
    let mut client = proxy.connect().await;
    let put_of = |units| json!({"Put": {"TableName": "orders", "Item": put(units, units)["PutRequest"]["Item"]}});
    let check =
        json!({"ConditionCheck": {"TableName": "plenty", "Key": {"id": {"S": "a"}}, "ConditionExpression": "x"}});
    let answer = client
        .tables("TransactWriteItems", json!({"TransactItems": [check, put_of(13)]}))
        .await;
    // 26 units are more than the 25 of the bucket, but it is full.
    assert_eq!(answer.status, 200);
    let answer = client
        .tables("TransactWriteItems", json!({"TransactItems": [check, put_of(1)]}))
        .await;
    let error = answer.json();
    assert!(
        error["__type"]
            .as_str()
            .unwrap()
            .ends_with("#TransactionCanceledException")
    );
    let codes: Vec<&Value> = error["CancellationReasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| &reason["Code"])
        .collect();
    assert_eq!(codes, ["None", "ProvisionedThroughputExceeded"]);
}

#[tokio::test]
async fn a_canceled_transaction_takes_no_capacity() {
    let empty = "[tables.empty]\nwrite_units = 0\n";
    let proxy = Proxy::new(&format!("{ONCE_25}{empty}")).await;
    let mut client = proxy.connect().await;
    let put_into = |table| json!({"Put": {"TableName": table, "Item": put(1, 10)["PutRequest"]["Item"]}});
    for _ in 0..3 {
        let actions = json!({"TransactItems": [put_into("orders"), put_into("empty")]});
        let answer = client.tables("TransactWriteItems", actions).await.json();
        assert_eq!(answer["CancellationReasons"][0]["Code"], "None", "{answer}");
        assert_eq!(
            answer["CancellationReasons"][1]["Code"],
            "ProvisionedThroughputExceeded"
        );
    }
    let answer = client.tables("BatchWriteItem", batch(0..25, 1)).await;
    assert_eq!(answer.json(), json!({"UnprocessedItems": {}}));
}

#[tokio::test]
async fn consumed_capacity_is_there_if_and_only_if_it_was_asked_for() {
    let proxy = Proxy::new("").await;
    let mut client = proxy.connect().await;
    let item = put(1, 3)["PutRequest"]["Item"].clone();
    let answer = client
        .tables("PutItem", json!({"TableName": "orders", "Item": item}))
        .await
        .json();
    assert_eq!(answer, json!({}));
    let request = json!({"TableName": "orders", "Item": item, "ReturnConsumedCapacity": "TOTAL"});
    let consumed = client.tables("PutItem", request).await.json()["ConsumedCapacity"].clone();
    assert_eq!(consumed, json!({"TableName": "orders", "CapacityUnits": 3.0}));
    // An emulator that knows more is believed.
    proxy.emulator.answers(|_, _| {
        Some((
            200,
            json!({"ConsumedCapacity": {"TableName": "orders", "CapacityUnits": 7.0}}).to_string(),
        ))
    });
    let request = json!({"TableName": "orders", "Key": {"id": {"S": "a"}}, "ReturnConsumedCapacity": "TOTAL"});
    let consumed = client.tables("DeleteItem", request).await.json()["ConsumedCapacity"].clone();
    assert_eq!(consumed["CapacityUnits"], 7.0);
    assert_eq!(client.get("figures").await["dynamodb"]["orders"]["written"], 13.0);
}

#[tokio::test]
async fn a_table_with_an_index_has_all_its_units() {
    for is_divided in [false, true] {
        let proxy = Proxy::new(ONCE_25).await;
        proxy.emulator.answers(move |target, _| {
            let schema = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
            let index = json!({"IndexName": "by_id", "KeySchema": schema});
            let mut consumed = json!({"TableName": "orders", "CapacityUnits": 2.0});
            if is_divided {
                consumed["Table"] = json!({"CapacityUnits": 1.0});
                consumed["GlobalSecondaryIndexes"] = json!({"by_id": {"CapacityUnits": 1.0}});
            }
            let answer = if target.ends_with("DescribeTable") {
                json!({"Table": {"KeySchema": schema, "GlobalSecondaryIndexes": [index]}})
            } else {
                json!({ "ConsumedCapacity": consumed })
            };
            Some((200, answer.to_string()))
        });
        let mut client = proxy.connect().await;
        for number in 0..26 {
            let item = put(number, 1)["PutRequest"]["Item"].clone();
            let request = json!({"TableName": "orders", "Item": item, "ReturnConsumedCapacity": "TOTAL"});
            let answer = client.tables("PutItem", request).await;
            if number == 25 {
                assert_eq!(answer.status, 400);
            } else {
                let total = json!({"TableName": "orders", "CapacityUnits": 2.0});
                assert_eq!(answer.json(), json!({"ConsumedCapacity": total}), "{number}");
            }
        }
        assert_eq!(client.get("figures").await["dynamodb"]["orders"]["written"], 25.0);
    }
}

#[tokio::test]
async fn the_capacity_is_what_the_table_says_until_it_is_changed() {
    let proxy = Proxy::new("").await;
    let description = |units: u64| {
        let schema = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
        json!({"Table": {"KeySchema": schema, "ProvisionedThroughput": {"WriteCapacityUnits": units, "ReadCapacityUnits": 1}}}).to_string()
    };
    proxy
        .emulator
        .answers(move |target, _| target.ends_with("DescribeTable").then(|| (200, description(1))));
    let mut client = proxy.connect().await;
    // The bucket is empty at first.
    assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 400);
    assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 400);
    assert_eq!(proxy.emulator.received("DescribeTable").len(), 1);
    proxy.emulator.answers(|_, _| None);
    assert_eq!(
        client
            .tables(
                "UpdateTable",
                json!({"TableName": "orders", "BillingMode": "PAY_PER_REQUEST"})
            )
            .await
            .status,
        200
    );
    assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 200);
    assert_eq!(proxy.emulator.received("DescribeTable").len(), 2);
}

#[tokio::test]
async fn a_change_in_progress_is_asked_for_until_it_has_ended() {
    let proxy = Proxy::new("").await;
    let is_described = |table: Value| {
        proxy.emulator.answers(move |target, _| {
            let schema = json!([{"AttributeName": "id", "KeyType": "HASH"}]);
            let mut table = table.clone();
            table["KeySchema"] = schema;
            target
                .ends_with("DescribeTable")
                .then(|| (200, json!({ "Table": table }).to_string()))
        });
    };
    let mut client = proxy.connect().await;
    let units = json!({"WriteCapacityUnits": 1, "ReadCapacityUnits": 1});
    is_described(json!({"TableStatus": "UPDATING", "ProvisionedThroughput": units}));
    // The bucket is empty at first.
    for asked in 1..=3 {
        assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 400);
        assert_eq!(proxy.emulator.received("DescribeTable").len(), asked);
    }
    is_described(json!({"TableStatus": "ACTIVE"}));
    for _ in 0..3 {
        assert_eq!(client.tables("BatchWriteItem", batch(0..25, 1)).await.status, 200);
        assert_eq!(proxy.emulator.received("DescribeTable").len(), 4);
    }
}

#[tokio::test]
async fn what_the_emulator_refuses_costs_nothing_and_is_not_applied() {
    let proxy = Proxy::new(ONCE_25).await;
    let error = json!({"__type": "com.amazon.coral.validate#ValidationException", "message": "no"}).to_string();
    let refused = error.clone();
    proxy
        .emulator
        .answers(move |target, _| target.ends_with("BatchWriteItem").then(|| (400, refused.clone())));
    let mut client = proxy.connect().await;
    for _ in 0..3 {
        let answer = client.tables("BatchWriteItem", batch(0..25, 1)).await;
        assert_eq!(
            (answer.status, String::from_utf8(answer.body).unwrap()),
            (400, error.clone())
        );
    }
    let journal = client.get("journal?destination=orders").await;
    let entries = journal["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 75);
    assert!(entries.iter().all(|entry| entry["outcome"] == "refused"), "{journal}");
}

#[tokio::test]
async fn a_table_that_does_not_exist_is_refused_by_the_emulator() {
    let proxy = Proxy::new("").await;
    let error = json!({"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}).to_string();
    proxy.emulator.answers(move |_, _| Some((400, error.clone())));
    let mut client = proxy.connect().await;
    let answer = client.tables("BatchWriteItem", batch(0..1, 1)).await;
    assert!(
        answer.json()["__type"]
            .as_str()
            .unwrap()
            .ends_with("ResourceNotFoundException")
    );
    assert_eq!(client.get("figures").await["passed"]["dynamodb.BatchWriteItem"], 1);
}

#[tokio::test]
async fn an_on_demand_table_has_no_limit_of_a_partition_if_the_file_says_so() {
    // 25 items of 390 units: a partition takes two of them, and the table has 4,000.
    for (file, most) in [("", 8), ("[tables.orders]\npartitions = 0\n", 10)] {
        let proxy = Proxy::new(file).await;
        let answer = proxy.connect().await.tables("BatchWriteItem", batch(0..25, 390)).await;
        let left = answer.json()["UnprocessedItems"]["orders"]
            .as_array()
            .map_or(0, Vec::len);
        assert!(25 - left <= most, "{file}: {left}");
        assert!(most == 8 || left == 15, "{file}: {left}");
    }
}
