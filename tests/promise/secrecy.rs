//! No message of this crate shows what is in an entry.

use aws_batch_delivery::simulator::InjectedFault;
use aws_batch_delivery::{DeliveryError, deliver_batch_to_dynamo, deliver_batch_to_sqs};
use aws_sdk_dynamodb::types::AttributeValue;

use crate::entries::{message, no_rest, put_with, with_queue, with_table};

const SECRET: &str = "hunter2";

/// Everything that the error says of itself, `Display` and `Debug`.
fn said<E>(error: &DeliveryError<E>) -> String {
    let causes = error
        .undelivered()
        .iter()
        .map(|undelivered| format!("{undelivered:?} {}", undelivered.cause));
    format!("{error} {error:?} {}", causes.collect::<String>())
}

#[tokio::test(start_paused = true)]
async fn errors_do_not_show_what_is_in_an_entry() {
    let (simulator, table) = with_table();
    table.script([InjectedFault::Error {
        status: 400,
        code: "ValidationException".into(),
        message: format!("cannot be converted to a numeric value: {SECRET}").into(),
        applied: false,
    }]);
    let writes = [
        put_with("a", "password", AttributeValue::S(SECRET.into())),
        put_with("b", "password", AttributeValue::N(SECRET.into())),
    ];
    let error = deliver_batch_to_dynamo(&simulator.dynamo_client(), "orders", writes, &no_rest())
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 2);
    assert!(!said(&error).contains(SECRET), "{}", said(&error));

    let (simulator, queue) = with_queue("orders");
    queue.script([InjectedFault::failed(1, "InvalidMessageContents", true)]);
    let entries = [message("a", SECRET), message("b", format!("{SECRET}\u{7}"))];
    let error = deliver_batch_to_sqs(&simulator.sqs_client(), queue.url(), entries, &no_rest())
        .await
        .unwrap_err();
    assert_eq!(error.undelivered().len(), 2);
    assert!(!said(&error).contains(SECRET), "{}", said(&error));
}
