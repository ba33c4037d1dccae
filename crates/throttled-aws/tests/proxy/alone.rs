//! The emulator by itself: the operations of first tutorials.

use serde_json::{Value, json};
use throttled_aws::{Config, Server};

use super::wire::{Connection, batch};

async fn alone(file: &str) -> (Server, Connection) {
    let server = Server::alone(Config::parse(file).unwrap(), "127.0.0.1:0")
        .await
        .unwrap();
    let client = Connection::to(&server.endpoint()).await;
    (server, client)
}

fn music() -> Value {
    json!({
        "TableName": "Music",
        "KeySchema": [{"AttributeName": "Artist", "KeyType": "HASH"}, {"AttributeName": "Song", "KeyType": "RANGE"}],
        "AttributeDefinitions": [{"AttributeName": "Artist", "AttributeType": "S"}, {"AttributeName": "Song", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 10, "WriteCapacityUnits": 5},
    })
}

#[tokio::test]
async fn a_table_is_created_filled_changed_and_deleted() {
    let (_server, mut client) = alone("").await;
    let created = client.tables("CreateTable", music()).await.json();
    assert_eq!(created["TableDescription"]["TableName"], "Music", "{created}");
    let again = client.tables("CreateTable", music()).await;
    assert!(
        again.json()["__type"]
            .as_str()
            .unwrap()
            .ends_with("#ResourceInUseException")
    );
    assert_eq!(
        client.tables("ListTables", json!({})).await.json(),
        json!({"TableNames": ["Music"]})
    );
    let described = client
        .tables("DescribeTable", json!({"TableName": "Music"}))
        .await
        .json();
    let table = &described["Table"];
    assert_eq!(
        (
            &table["TableStatus"],
            &table["ProvisionedThroughput"]["WriteCapacityUnits"]
        ),
        (&json!("ACTIVE"), &json!(5))
    );
    client
        .tables(
            "UpdateTable",
            json!({"TableName": "Music", "BillingMode": "PAY_PER_REQUEST"}),
        )
        .await;
    let item = json!({"Artist": {"S": "a"}, "Song": {"S": "b"}});
    assert_eq!(
        client
            .tables("PutItem", json!({"TableName": "Music", "Item": item}))
            .await
            .status,
        200
    );
    let found = client
        .tables("GetItem", json!({"TableName": "Music", "Key": item}))
        .await
        .json();
    assert_eq!(found, json!({"Item": item}));
    let query = json!({"TableName": "Music", "KeyConditionExpression": "Artist = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}});
    assert_eq!(client.tables("Query", query).await.json()["Count"], 1);
    let deleted = client.tables("DeleteTable", json!({"TableName": "Music"})).await.json();
    assert_eq!(deleted["TableDescription"]["TableStatus"], "DELETING");
    for (operation, body) in [
        ("DescribeTable", json!({"TableName": "Music"})),
        ("PutItem", json!({"TableName": "Music", "Item": item})),
        ("DeleteTable", json!({"TableName": "Music"})),
    ] {
        let gone = client.tables(operation, body).await.json();
        assert!(
            gone["__type"].as_str().unwrap().ends_with("ResourceNotFoundException"),
            "{operation}: {gone}"
        );
    }
}

#[tokio::test]
async fn a_table_of_the_file_is_throttled_as_in_front_of_an_emulator() {
    let (_server, mut client) =
        alone("[tables.orders]\nkey = { name = \"id\" }\nwrite_units = 0\nstarts_full = true\n").await;
    let answer = client.tables("BatchWriteItem", batch(0..25, 2)).await.json();
    assert_eq!(
        answer["UnprocessedItems"]["orders"].as_array().unwrap().len(),
        13,
        "{answer}"
    );
}

#[tokio::test]
async fn limits_of_all_others_are_not_a_table() {
    let file = "[tables.\"*\"]\nkey = { name = \"id\" }\n[tables.orders]\nkey = { name = \"id\" }\n";
    let (_server, mut client) = alone(file).await;
    let listed = client.tables("ListTables", json!({})).await.json();
    assert_eq!(listed, json!({"TableNames": ["orders"]}));
}

#[tokio::test]
async fn pages_of_tables_follow_each_other() {
    let (_server, mut client) = alone("").await;
    for name in ["a-1", "b-2", "c-3"] {
        let mut request = music();
        request["TableName"] = json!(name);
        client.tables("CreateTable", request).await;
    }
    let first = client.tables("ListTables", json!({"Limit": 2})).await.json();
    assert_eq!(
        first,
        json!({"TableNames": ["a-1", "b-2"], "LastEvaluatedTableName": "b-2"})
    );
    let rest = client
        .tables("ListTables", json!({"Limit": 2, "ExclusiveStartTableName": "b-2"}))
        .await
        .json();
    assert_eq!(rest, json!({"TableNames": ["c-3"]}));
}

#[tokio::test]
async fn a_message_is_sent_received_hidden_and_deleted() {
    let (_server, mut client) = alone("").await;
    let url = client
        .call(
            "AmazonSQS.CreateQueue",
            &json!({"QueueName": "orders", "Attributes": {"VisibilityTimeout": "60"}}),
        )
        .await
        .unwrap();
    let url = url.json()["QueueUrl"].clone();
    assert!(url.as_str().unwrap().starts_with("http://proxy.test/"), "{url}");
    let sent = client
        .call(
            "AmazonSQS.SendMessage",
            &json!({"QueueUrl": url, "MessageBody": "hello"}),
        )
        .await
        .unwrap()
        .json();
    assert_eq!(sent["MD5OfMessageBody"], "5d41402abc4b2a76b9719d911017c592");
    assert!(sent["MessageId"].is_string() && sent["Id"].is_null(), "{sent}");
    let received = client
        .call("AmazonSQS.ReceiveMessage", &json!({"QueueUrl": url}))
        .await
        .unwrap()
        .json();
    assert_eq!(received["Messages"][0]["Body"], "hello");
    let receipt = &received["Messages"][0]["ReceiptHandle"];
    for (operation, status) in [("ChangeMessageVisibility", 200), ("DeleteMessage", 200)] {
        let body = json!({"QueueUrl": url, "ReceiptHandle": receipt, "VisibilityTimeout": 30});
        assert_eq!(
            client
                .call(&format!("AmazonSQS.{operation}"), &body)
                .await
                .unwrap()
                .status,
            status,
            "{operation}"
        );
    }
    let wrong = client
        .call(
            "AmazonSQS.DeleteMessage",
            &json!({"QueueUrl": url, "ReceiptHandle": "nonsense"}),
        )
        .await
        .unwrap();
    assert_eq!(wrong.status, 400);
    client
        .call(
            "AmazonSQS.SendMessage",
            &json!({"QueueUrl": url, "MessageBody": "more"}),
        )
        .await
        .unwrap();
    client
        .call("AmazonSQS.PurgeQueue", &json!({"QueueUrl": url}))
        .await
        .unwrap();
    let attributes = client
        .call(
            "AmazonSQS.GetQueueAttributes",
            &json!({"QueueUrl": url, "AttributeNames": ["All"]}),
        )
        .await
        .unwrap()
        .json();
    assert_eq!(attributes["Attributes"]["ApproximateNumberOfMessages"], "0");
    assert_eq!(attributes["Attributes"]["VisibilityTimeout"], "60");
    let listed = client
        .call("AmazonSQS.ListQueues", &json!({"QueueNamePrefix": "ord"}))
        .await
        .unwrap()
        .json();
    assert_eq!(listed, json!({ "QueueUrls": [url] }));
    client
        .call("AmazonSQS.DeleteQueue", &json!({"QueueUrl": url}))
        .await
        .unwrap();
    let gone = client
        .call("AmazonSQS.SendMessage", &json!({"QueueUrl": url, "MessageBody": "x"}))
        .await
        .unwrap();
    assert_eq!(
        gone.headers["x-amzn-query-error"],
        "AWS.SimpleQueueService.NonExistentQueue;Sender"
    );
}

#[tokio::test]
async fn a_record_is_put_into_a_new_stream() {
    let (_server, mut client) = alone("").await;
    assert_eq!(
        client
            .call(
                "Kinesis_20131202.CreateStream",
                &json!({"StreamName": "events", "ShardCount": 2})
            )
            .await
            .unwrap()
            .status,
        200
    );
    let put = json!({"StreamName": "events", "PartitionKey": "a", "Data": "AAEC"});
    let answer = client.call("Kinesis_20131202.PutRecord", &put).await.unwrap().json();
    assert!(
        answer["ShardId"].is_string() && answer["SequenceNumber"].is_string(),
        "{answer}"
    );
    let streams = client
        .call("Kinesis_20131202.ListStreams", &json!({}))
        .await
        .unwrap()
        .json();
    assert_eq!(streams["StreamNames"], json!(["events"]));
}

#[tokio::test]
async fn the_shards_of_a_stream_are_doubled_and_halved_and_no_more() {
    let (_server, mut client) = alone("[streams.'*']\nrecords = 3\n").await;
    let create = json!({"StreamName": "events", "ShardCount": 2});
    client.call("Kinesis_20131202.CreateStream", &create).await.unwrap();
    let records: Vec<Value> = (0..100)
        .map(|key| json!({"PartitionKey": key.to_string(), "Data": "AAEC"}))
        .collect();
    let put = json!({"StreamName": "events", "Records": records});
    for (wanted, status, open) in [(5, 400, 2), (4, 200, 4), (1, 400, 4), (2, 200, 2), (4, 200, 4)] {
        let change = json!({"StreamName": "events", "TargetShardCount": wanted, "ScalingType": "UNIFORM_SCALING"});
        let answer = client.call("Kinesis_20131202.UpdateShardCount", &change).await.unwrap();
        assert_eq!(answer.status, status, "{wanted}");
        let described = json!({"StreamName": "events"});
        let summary = client
            .call("Kinesis_20131202.DescribeStreamSummary", &described)
            .await
            .unwrap();
        assert_eq!(summary.json()["StreamDescriptionSummary"]["OpenShardCount"], open);
    }
    let answer = client.call("Kinesis_20131202.PutRecords", &put).await.unwrap().json();
    assert_eq!(answer["FailedRecordCount"], 88);
}

#[tokio::test]
async fn an_empty_queue_takes_other_attributes_and_one_with_messages_refuses_them() {
    let (_server, mut client) = alone("").await;
    let url = "https://sqs/000000000000/jobs";
    let mut call = async |operation: &str, body: Value| {
        let answer = client.call(&format!("AmazonSQS.{operation}"), &body).await.unwrap();
        (answer.status, answer.json())
    };
    call(
        "CreateQueue",
        json!({"QueueName": "jobs", "Attributes": {"DelaySeconds": "5"}}),
    )
    .await;
    let change = json!({"QueueUrl": url, "Attributes": {"VisibilityTimeout": "60"}});
    assert_eq!(call("SetQueueAttributes", change.clone()).await, (200, json!({})));
    let get = json!({"QueueUrl": url, "AttributeNames": ["All"]});
    let attributes = call("GetQueueAttributes", get).await.1["Attributes"].clone();
    assert_eq!(
        (&attributes["VisibilityTimeout"], &attributes["DelaySeconds"]),
        (&json!("60"), &json!("5"))
    );
    call("SendMessage", json!({"QueueUrl": url, "MessageBody": "a"})).await;
    let (status, error) = call("SetQueueAttributes", change).await;
    assert!(
        status == 400 && error["message"].as_str().unwrap().contains("1 message"),
        "{error}"
    );
    let of_another = json!({"QueueUrl": "https://sqs/000000000000/other", "Attributes": {}});
    assert_eq!(call("SetQueueAttributes", of_another).await.0, 400);
}

#[tokio::test]
async fn a_queue_has_tags() {
    let (_server, mut client) = alone("[queues.jobs]\n").await;
    let url = "https://sqs/000000000000/jobs";
    let mut call = async |operation: &str, body: Value| {
        let answer = client.call(&format!("AmazonSQS.{operation}"), &body).await.unwrap();
        answer.json()
    };
    call("TagQueue", json!({"QueueUrl": url, "Tags": {"a": "1", "b": "2"}})).await;
    call("TagQueue", json!({"QueueUrl": url, "Tags": {"b": "3", "c": "4"}})).await;
    call("UntagQueue", json!({"QueueUrl": url, "TagKeys": ["a"]})).await;
    let tags = call("ListQueueTags", json!({ "QueueUrl": url })).await;
    assert_eq!(tags, json!({"Tags": {"b": "3", "c": "4"}}));
}

#[tokio::test]
async fn an_index_that_is_added_later_is_refused() {
    let (_server, mut client) = alone("").await;
    client.tables("CreateTable", music()).await;
    let index = json!({"IndexName": "by_song", "KeySchema": [{"AttributeName": "Song", "KeyType": "HASH"}]});
    let update = json!({"TableName": "Music", "GlobalSecondaryIndexUpdates": [{"Create": index}]});
    let answer = client.tables("UpdateTable", update).await;
    let message = answer.json()["message"].as_str().unwrap().to_owned();
    assert!(answer.status == 400 && message.contains("CreateTable"), "{message}");
}

#[tokio::test]
async fn the_units_of_an_index_are_changed_if_the_table_has_it() {
    let (_server, mut client) = alone("").await;
    let mut table = music();
    table["GlobalSecondaryIndexes"] = json!([{
        "IndexName": "by_song",
        "KeySchema": [{"AttributeName": "Song", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }]);
    client.tables("CreateTable", table).await;
    let units = json!({"ReadCapacityUnits": 3, "WriteCapacityUnits": 7});
    let update = |index: &str| {
        let update = json!({"IndexName": index, "ProvisionedThroughput": units});
        json!({"TableName": "Music", "GlobalSecondaryIndexUpdates": [{ "Update": update }]})
    };
    // The index stays known without units.
    let on_demand = json!({"TableName": "Music", "BillingMode": "PAY_PER_REQUEST"});
    for request in [update("by_song"), on_demand, update("by_song")] {
        let answer = client.tables("UpdateTable", request).await;
        assert_eq!(answer.status, 200, "{}", answer.json());
    }
    let described = client
        .tables("DescribeTable", json!({"TableName": "Music"}))
        .await
        .json();
    let index = &described["Table"]["GlobalSecondaryIndexes"][0];
    assert_eq!(index["ProvisionedThroughput"]["WriteCapacityUnits"], 7, "{described}");
    let answer = client.tables("UpdateTable", update("by_sing")).await;
    let error = answer.json();
    let message = error["message"].as_str().unwrap_or_default();
    assert!(answer.status == 400 && message.contains("by_sing"), "{error}");
}

#[tokio::test]
async fn attributes_that_a_queue_cannot_have_are_refused() {
    let (_server, mut client) = alone("[queues.jobs]\n").await;
    let url = "https://sqs/000000000000/jobs";
    for (name, value, code) in [
        ("VisibilityTimeout", "abc", "InvalidAttributeValue"),
        ("VisibilityTimeout", "43201", "InvalidAttributeValue"),
        ("DelaySeconds", "-1", "InvalidAttributeValue"),
        ("MaximumMessageSize", "1023", "InvalidAttributeValue"),
        ("ContentBasedDeduplication", "yes", "InvalidAttributeValue"),
        ("FifoThroughputLimit", "perMessage", "InvalidAttributeValue"),
        ("RedrivePolicy", "{\"maxReceiveCount\": 3}", "InvalidAttributeValue"),
        ("VisibilityTimeOut", "60", "InvalidAttributeName"),
    ] {
        let attributes = json!({ name: value });
        for (operation, request) in [
            ("SetQueueAttributes", json!({"QueueUrl": url, "Attributes": attributes})),
            ("CreateQueue", json!({"QueueName": "other", "Attributes": attributes})),
        ] {
            let answer = client.call(&format!("AmazonSQS.{operation}"), &request).await.unwrap();
            let error = answer.json();
            let (kind, message) = (error["__type"].as_str(), error["message"].as_str());
            assert!(
                kind.is_some_and(|kind| kind.ends_with(code)),
                "{operation} {name}: {error}"
            );
            let names_both = |message: &str| message.contains(name) && message.contains(value);
            assert!(message.is_some_and(names_both) && answer.status == 400, "{error}");
        }
    }
    let dead_letters = json!({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:0:dead", "maxReceiveCount": "3"});
    let attributes = json!({
        "VisibilityTimeout": "43200",
        "DelaySeconds": "0",
        "MessageRetentionPeriod": "60",
        "ReceiveMessageWaitTimeSeconds": "20",
        "RedrivePolicy": dead_letters.to_string(),
        "Policy": "",
    });
    let request = json!({"QueueUrl": url, "Attributes": attributes});
    let answer = client.call("AmazonSQS.SetQueueAttributes", &request).await.unwrap();
    assert_eq!((answer.status, answer.json()), (200, json!({})));
}
