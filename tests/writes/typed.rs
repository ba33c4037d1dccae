//! Conditional writes of values of one's own types.

use aws_batch_delivery::{Cause, Delivery, InvalidEntry};
use serde::Serialize;
use serde_json::json;

use crate::mix::Mix;
use crate::paused::paused;

#[derive(Serialize)]
struct Order {
    id: String,
    version: u64,
    status: &'static str,
}

#[derive(Serialize)]
struct Key {
    id: String,
}

#[derive(Serialize)]
struct Change {
    status: &'static str,
    more: u64,
}

fn order(version: u64, status: &'static str) -> Order {
    let id = "1".to_owned();
    Order { id, version, status }
}

fn key() -> Key {
    Key { id: "1".to_owned() }
}

#[test]
fn the_newest_version_stays_in_whatever_order_they_are_loaded() {
    paused(async {
        let (simulator, table) = Mix::without_faults(7).table();
        let newest = Delivery::to_dynamo(simulator.dynamo_client(), "orders")
            .put_if("attribute_not_exists(id) OR version < :version");
        let orders = [2, 1, 5, 3, 4].map(|version| order(version, "paid"));
        let report = newest.deliver(orders).await.unwrap();
        assert_eq!((report.delivered, report.condition_failed), (2, 3));
        assert_eq!(table.items()[0]["version"], json!({"N": "5"}));
    });
}

#[test]
fn fields_are_the_values_of_an_update_and_attributes_its_names() {
    paused(async {
        let (simulator, table) = Mix::without_faults(7).table();
        let to = || Delivery::to_dynamo(simulator.dynamo_client(), "orders");
        // `status` is a reserved word: without its placeholder the service refuses it.
        let changes = to().update("SET #status = :status ADD pieces :more");
        let change = |more| {
            (
                key(),
                Change {
                    status: "shipped",
                    more,
                },
            )
        };
        let report = changes.deliver([change(2), change(3)]).await.unwrap();
        assert_eq!(report.delivered, 2);
        assert_eq!(
            table.items(),
            [json!({"id": {"S": "1"}, "status": {"S": "shipped"}, "pieces": {"N": "5"}})]
        );

        let kept = to()
            .delete_if("attribute_not_exists(pieces)")
            .deliver([key()])
            .await
            .unwrap();
        assert_eq!((kept.condition_failed, table.len()), (1, 1));
        let deleted = to()
            .delete_if("attribute_exists(#pieces)")
            .deliver([key()])
            .await
            .unwrap();
        assert_eq!((deleted.delivered, table.len()), (1, 0));
    });
}

#[test]
fn a_placeholder_without_its_field_is_reported_before_anything_is_sent() {
    paused(async {
        let (simulator, table) = Mix::without_faults(7).table();
        let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders").put_if("version < :newest");
        let error = delivery.deliver([order(1, "paid")]).await.unwrap_err();
        let Cause::Invalid(invalid @ InvalidEntry::Attribute { .. }) = &error.undelivered()[0].cause else {
            panic!("{error:?}");
        };
        assert!(invalid.to_string().starts_with("`:newest`: "), "{invalid}");
        assert_eq!(table.statistics().calls, 0);
    });
}
