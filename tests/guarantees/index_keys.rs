//! Items that an index of their table cannot take.

use aws_batch_delivery::{Cause, Delivery};
use aws_batch_simulator::{IndexOptions, KeyType, Simulator, TableOptions};
use aws_sdk_dynamodb::types::AttributeValue;

use crate::guarantees::entries::{put, put_with, text};

#[tokio::test(start_paused = true)]
async fn items_that_an_index_cannot_take_cost_no_call() {
    let simulator = Simulator::new(7);
    let index = IndexOptions::key("email", KeyType::S);
    let table = simulator.table("orders", TableOptions::key("id", KeyType::S).index("g", index));
    // A fifth has an empty or mistyped key of the index, a fifth has none.
    let writes = (0..4_000).map(|number: usize| {
        let id = number.to_string();
        match number % 10 {
            0 => put_with(id, "email", AttributeValue::N("7".to_owned())),
            1 => put_with(id, "email", text("")),
            2 | 3 => put(id),
            _ => put_with(id, "email", text("a@example.com")),
        }
    });
    let delivery = Delivery::to_dynamo(simulator.dynamo_client(), "orders");
    let error = delivery.deliver(writes).await.unwrap_err();
    assert_eq!(
        (error.report.delivered, error.report.undelivered, table.len()),
        (3_200, 800, 3_200)
    );
    assert!(error.report.calls < 150, "{}", error.report);
    for undelivered in error.undelivered() {
        assert!(matches!(undelivered.cause, Cause::Invalid(_)));
        let words = undelivered.cause.to_string();
        assert!(
            words.starts_with("not sent: the index `g` needs `email` as S, the item has "),
            "{words}"
        );
    }
}
