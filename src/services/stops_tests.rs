//! Whose fault each code that stops can be, in each target: that of all calls, or of entries that name what they are for.

use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
use aws_sdk_eventbridge::types::PutEventsRequestEntry;

use super::dynamo::{DynamoReads, DynamoTable, DynamoTables, DynamoTransactions, DynamoWrites, ItemWrite, KeyRead};
use super::dynamo::{TableWrite, Transaction};
use super::eventbridge::EventBus;
use crate::aws::recording::{Recorder, recorded_config};
use crate::aws::stops;
use crate::contract::{Answer, BatchTarget, Verdict};

/// A client whose calls are all refused with this code.
macro_rules! refused_client {
    ($sdk:ident, $code:expr) => {{
        let body: &'static str = format!(r#"{{"__type":"{}","message":"no"}}"#, $code).leak();
        let config = recorded_config!($sdk, Recorder::answering(400, body));
        $sdk::Client::from_conf(config.build())
    }};
}

/// Whether the answer blames all calls.
async fn stops_all<T: BatchTarget>(target: T, entry: T::Entry) -> bool {
    match target.send(&[entry]).await {
        Answer::Stop(fault) => !fault.is_ambiguous(),
        Answer::Whole(Verdict::Refused(fault)) => {
            assert!(!fault.is_ambiguous());
            false
        }
        // The service may know other credentials by the next call.
        Answer::Whole(Verdict::Rejected(rejection, _)) if rejection.is_unsent() => true,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_resource_that_an_entry_names_is_the_fault_of_the_entry_and_any_other_that_of_all_calls() {
    let key = || {
        std::collections::HashMap::from([(
            "id".to_owned(),
            aws_sdk_dynamodb::types::AttributeValue::S("1".to_owned()),
        )])
    };
    let request = || {
        let put = aws_sdk_dynamodb::types::PutRequest::builder().set_item(Some(key()));
        let put = put.build().unwrap();
        aws_sdk_dynamodb::types::WriteRequest::builder()
            .put_request(put)
            .build()
    };
    let transaction = || {
        let put = Put::builder().table_name("orders").set_item(Some(key()));
        Transaction::new([TransactWriteItem::builder().put(put.build().unwrap()).build()])
    };
    let event = || {
        PutEventsRequestEntry::builder()
            .source("s")
            .detail_type("t")
            .detail("{}")
    };
    for (code, is_of_resource) in stops() {
        let dynamo = || refused_client!(aws_sdk_dynamodb, code);
        let table = || DynamoTable::new(dynamo(), "orders").key("id");
        let tables = DynamoTables::new(dynamo(), ["orders", "stock"])
            .key("orders", "id")
            .key("stock", "id");
        let bus = || EventBus::new(refused_client!(aws_sdk_eventbridge, code), "orders");
        let of_entry = [
            (
                "transactions",
                stops_all(DynamoTransactions::new(dynamo()), transaction()).await,
            ),
            ("tables", stops_all(tables, TableWrite::new("orders", request())).await),
            (
                "another bus",
                stops_all(bus(), event().event_bus_name("other").build()).await,
            ),
        ];
        for (target, stops) in of_entry {
            assert_eq!(stops, !is_of_resource, "{target}: {code}");
        }
        let of_target = [
            ("table", stops_all(table(), request()).await),
            (
                "writes",
                stops_all(DynamoWrites::from(table()), ItemWrite::put(key())).await,
            ),
            (
                "counters",
                stops_all(DynamoWrites::from(table()), ItemWrite::put(key()).with_token()).await,
            ),
            (
                "reads",
                stops_all(DynamoReads::new(dynamo(), "orders"), KeyRead::new(key())).await,
            ),
            ("bus", stops_all(bus(), event().build()).await),
        ];
        for (target, stops) in of_target {
            assert!(stops, "{target}: {code}");
        }
    }
}
