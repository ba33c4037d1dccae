//! A table or a queue of an emulator behind `throttled-aws`, whose limits, faults and journal replace those of the simulator.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use aws_batch_simulator::{Value, json};

use super::check::Entered;
use super::fault::Faults;
use super::load::{Load, lane_on_wire};
use super::mix::Service;
use super::proxy::Arrived;
use super::served::NAME;
use super::witness::Attempt;

/// The resource. Calls wait for their answer: they are few, and `throttled-aws` is another process.
#[derive(Debug, Clone)]
pub(crate) struct Limited {
    throttled_aws: SocketAddr,
    service: Service,
    name: String,
    /// The name of the table, or the URL of the queue.
    pub(crate) destination: String,
}

impl Limited {
    /// Creates it, with a capacity if it is a table. The limits of queues are those of the file.
    pub(crate) fn create(throttled_aws: SocketAddr, service: Service, faults: &Faults) -> Self {
        post(throttled_aws, "reset", &json!({}));
        let name = format!("{NAME}-{}", faults.seed);
        let mut limited = Self {
            throttled_aws,
            service,
            destination: name.clone(),
            name,
        };
        if service == Service::Table {
            let mut table = json!({
                "TableName": limited.name,
                "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
                "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
                "BillingMode": "PAY_PER_REQUEST",
            });
            if let Some(units) = faults.capacity {
                let units = units.round();
                table["BillingMode"] = json!("PROVISIONED");
                table["ProvisionedThroughput"] = json!({"WriteCapacityUnits": units, "ReadCapacityUnits": units});
            }
            limited.call("CreateTable", &table);
        } else {
            let is_fifo = service == Service::Fifo;
            let suffix = if is_fifo { ".fifo" } else { "" };
            limited.name.push_str(suffix);
            let attributes = if is_fifo {
                json!({"FifoQueue": "true"})
            } else {
                json!({})
            };
            let queue = json!({"QueueName": limited.name, "Attributes": attributes});
            let created = limited.call("CreateQueue", &queue);
            created["QueueUrl"]
                .as_str()
                .expect("a URL")
                .clone_into(&mut limited.destination);
        }
        limited
    }

    /// Sets the share of calls of which the first two entries are rejected, and of calls that are throttled.
    pub(crate) fn set_faults(&self, is_internal: bool, rejected: f64, throttled: f64) {
        let code = if is_internal {
            "InternalError"
        } else {
            "RequestThrottled"
        };
        let failed = json!({"entries": 2, "code": code, "sender_fault": !is_internal});
        let faults = json!([
            {"destination": self.name, "share": throttled, "fault": "throttle"},
            {"destination": self.name, "share": rejected, "fault": {"failed": failed}},
        ]);
        post(self.throttled_aws, "faults", &json!({ "faults": faults }));
    }

    /// The entries of a call are in the journal in their order, and which they are is known by the client.
    pub(crate) fn entered(&self, load: &Load, attempts: &[Attempt], arrived: &HashMap<u64, Arrived>) -> Vec<Entered> {
        let attempt = |(number, arrived): (&u64, &Arrived)| {
            let entries = &attempts[usize::try_from(*number).expect("a place")].entries;
            Some((arrived.call?, entries.iter()))
        };
        let mut entries: HashMap<u64, _> = arrived.iter().filter_map(attempt).collect();
        let journal = get(self.throttled_aws, &format!("journal?destination={}", self.name));
        assert_eq!(journal["dropped"], 0, "the journal is complete");
        let mut entered = Vec::new();
        for entry in journal["entries"].as_array().expect("the journal") {
            let call = entry["call"].as_u64().expect("a number");
            let number = entries.get_mut(&call).and_then(Iterator::next);
            let number = *number.expect("each entry is of an attempt");
            if self.service == Service::Table {
                let key: Value = serde_json::from_str(entry["key"].as_str().expect("a key")).expect("JSON");
                assert_eq!(
                    lane_on_wire(&key),
                    load.entries[number].lane,
                    "the entries are in their order"
                );
            }
            entered.push(Entered {
                call,
                number,
                applied: entry["outcome"] == "accepted" || entry["outcome"] == "lost",
            });
        }
        entered
    }

    /// Calls that the emulator refused. It is asked for after the delivery.
    pub(crate) fn refused(&self) -> u64 {
        let service = if self.service == Service::Table {
            "dynamodb"
        } else {
            "sqs"
        };
        let refused = get(self.throttled_aws, "figures")[service][&self.name]["refused"].as_u64();
        refused.unwrap_or_default()
    }

    /// The items of the table, or the messages of the queue in their order, which are removed. Without faults and limits.
    pub(crate) fn stored(&self) -> Vec<Value> {
        post(self.throttled_aws, "faults", &json!({"faults": []}));
        let mut stored = Vec::new();
        if self.service == Service::Table {
            let mut scan = json!({"TableName": self.name, "ConsistentRead": true});
            loop {
                let page = self.call("Scan", &scan);
                stored.extend(page["Items"].as_array().expect("items").iter().cloned());
                scan["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
                if scan["ExclusiveStartKey"].is_null() {
                    self.call("DeleteTable", &json!({"TableName": self.name}));
                    return stored;
                }
            }
        }
        let receive = json!({"QueueUrl": self.destination, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 0});
        loop {
            let received = self.call("ReceiveMessage", &receive);
            let messages = received["Messages"].as_array().cloned().unwrap_or_default();
            if messages.is_empty() {
                self.call("DeleteQueue", &json!({"QueueUrl": self.destination}));
                return stored;
            }
            let delete = |(id, message): (usize, &Value)| json!({"Id": id.to_string(), "ReceiptHandle": message["ReceiptHandle"]});
            let entries: Vec<Value> = messages.iter().enumerate().map(delete).collect();
            self.call(
                "DeleteMessageBatch",
                &json!({"QueueUrl": self.destination, "Entries": entries}),
            );
            let body = |message: &Value| json!({"MessageBody": message["Body"]});
            stored.extend(messages.iter().map(body));
        }
    }

    fn call(&self, operation: &str, body: &Value) -> Value {
        let (target, service) = if self.service == Service::Table {
            ("DynamoDB_20120810", "dynamodb")
        } else {
            ("AmazonSQS", "sqs")
        };
        let head = format!(
            "POST / HTTP/1.1\r\nx-amz-target: {target}.{operation}\r\ncontent-type: application/x-amz-json-1.0\r\n\
             x-amz-date: 20261129T000000Z\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential=key/20261129/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0\r\n"
        );
        ask(self.throttled_aws, &head, &body.to_string())
    }
}

fn post(address: SocketAddr, path: &str, body: &Value) -> Value {
    let head = format!("POST /_throttled/{path} HTTP/1.1\r\ncontent-type: application/json\r\n");
    ask(address, &head, &body.to_string())
}

fn get(address: SocketAddr, path: &str) -> Value {
    ask(address, &format!("GET /_throttled/{path} HTTP/1.1\r\n"), "")
}

fn ask(address: SocketAddr, head: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(address).expect("throttled-aws listens");
    let length = body.len();
    write!(
        stream,
        "{head}host: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .expect("throttled-aws reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("throttled-aws answers");
    let (answered, body) = answer.split_once("\r\n\r\n").expect("an answer");
    assert!(answered.starts_with("HTTP/1.1 2"), "{head}: {answer}");
    serde_json::from_str(body).unwrap_or_default()
}
