//! An entry that the service has is never reported as certainly not delivered.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_delivery::targets::BatchTarget;
use aws_batch_delivery::targets::sqs::SqsQueue;
use aws_batch_delivery::{Cause, Delivery, DeliveryError, DeliveryOptions};
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::retry::ErrorKind;

use crate::guarantees::answers::{Told, all, everything, html, ok};
use crate::guarantees::entries::{message, no_delay, put};
use crate::guarantees::raw::{Does, Raw, Then};

const QUEUE: &str = "https://sqs.eu-central-1.amazonaws.com/123456789012/orders";

macro_rules! client {
    ($sdk:ident) => {
        $sdk::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
    };
}

/// How long to wait for an answer that does not arrive.
const HANGS: Duration = Duration::from_millis(500);

/// No retries, so that the outcome depends on one answer.
fn once() -> DeliveryOptions {
    no_delay().retries(0)
}

/// The outcome of the only entry of a delivery.
fn told<E>(outcome: Result<aws_batch_delivery::Report, DeliveryError<E>>) -> Told {
    let Err(error) = outcome else {
        return Told::Delivered;
    };
    let undelivered = &error.undelivered()[0];
    match (&undelivered.cause, undelivered.may_have_been_delivered) {
        (_, true) => Told::InDoubt,
        (Cause::Refused(_) | Cause::Stopped(_), false) => Told::Refused,
        (_, false) => Told::NotDelivered,
    }
}

/// If `warm`, first delivers an entry to a service that accepts it; then `odd`, with an odd answer.
async fn told_of<T: BatchTarget>(delivery: &Delivery<T>, entry: impl Fn(&'static str) -> T::Entry, warm: bool) -> Told {
    if warm {
        let warm = delivery.clone().options(once());
        warm.deliver([entry("warm")]).await.unwrap();
    }
    told(delivery.deliver([entry("odd")]).await)
}

/// The outcomes of writes and messages, in the first call of a client and in later ones.
async fn all_told(url: &str, options: &DeliveryOptions) -> BTreeMap<&'static str, Told> {
    let dynamo = || aws_sdk_dynamodb::Client::from_conf(client!(aws_sdk_dynamodb).endpoint_url(url).build());
    let sqs = || aws_sdk_sqs::Client::from_conf(client!(aws_sdk_sqs).endpoint_url(url).build());
    let write = || {
        let delivery = Delivery::to_dynamo(dynamo(), "orders").map_target(|table| table.key("id"));
        delivery.options(options.clone())
    };
    let send = || Delivery::to_sqs(sqs(), QUEUE).options(options.clone());
    let message = |body| message("1", body);
    BTreeMap::from([
        ("first write", told_of(&write(), put, false).await),
        ("later write", told_of(&write(), put, true).await),
        ("first message", told_of(&send(), message, false).await),
        ("later message", told_of(&send(), message, true).await),
    ])
}

#[tokio::test]
async fn no_odd_answer_reports_an_accepted_entry_as_not_delivered() {
    let answers = all();
    assert!(answers.len() >= 60, "{} answers", answers.len());
    let mut wrong = Vec::new();
    for (name, does, expected) in answers {
        let hangs = matches!(does.then, Then::Hangs);
        let options = if hangs { once().attempt_timeout(HANGS) } else { once() };
        let service = Raw::serving(move |_, body| if body.contains("odd") { does.clone() } else { ok() });
        for (call, told) in all_told(&service.url, &options).await {
            if !expected.contains(&told) {
                wrong.push(format!("{name}, {call}: told {told:?} instead of {expected:?}"));
            }
        }
        let odd = service.taken().iter().filter(|body| body.contains("odd")).count();
        // On a busy machine there may be no time for more than to connect.
        assert!(odd == 4 || hangs, "{name}: the service was asked {odd} times");
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// An HTTP client that sends, and then reports an error.
#[derive(Debug, Clone)]
struct Fails(fn() -> ConnectorError);

impl HttpClient for Fails {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Fails {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(Err((self.0)()))
    }
}

#[tokio::test]
async fn whatever_an_http_client_reports_leaves_it_in_doubt() {
    let errors: [fn() -> ConnectorError; 7] = [
        || ConnectorError::other("boom".into(), None),
        || ConnectorError::other("boom".into(), Some(ErrorKind::ServerError)),
        || ConnectorError::other("boom".into(), Some(ErrorKind::ClientError)),
        || ConnectorError::other("boom".into(), Some(ErrorKind::ThrottlingError)),
        || ConnectorError::user("boom".into()),
        || ConnectorError::io("boom".into()),
        || ConnectorError::timeout("boom".into()),
    ];
    for error in errors {
        let dynamo = client!(aws_sdk_dynamodb).http_client(Fails(error)).build();
        let dynamo = aws_sdk_dynamodb::Client::from_conf(dynamo);
        let write = Delivery::to_dynamo(dynamo, "orders")
            .map_target(|table| table.key("id"))
            .options(once());
        assert_eq!(told_of(&write, put, false).await, Told::InDoubt, "{:?}", error());
        let sqs = aws_sdk_sqs::Client::from_conf(client!(aws_sdk_sqs).http_client(Fails(error)).build());
        let send = Delivery::to_sqs(sqs, QUEUE).options(once());
        let told = told_of(&send, |body| message("1", body), false).await;
        assert_eq!(told, Told::InDoubt, "{:?}", error());
    }
}

/// An entry that is sent again because of an odd answer is sent before later ones, with the same deduplication id.
#[tokio::test]
async fn a_message_in_doubt_keeps_its_place_and_its_id() {
    const MESSAGES: usize = 3;
    for odd in [html("403 Forbidden"), html("302 Found"), html("400 Bad Request")] {
        let service = Raw::serving(move |number, body| {
            if body.contains("ContentBasedDeduplication") {
                return crate::guarantees::answers::answer(
                    "200 OK",
                    r#"{"Attributes":{"ContentBasedDeduplication":"false"}}"#,
                );
            }
            // The queue accepts the message, and the answer is odd.
            if number == 1 { odd.clone() } else { everything_for(body) }
        });
        let sqs = aws_sdk_sqs::Client::from_conf(client!(aws_sdk_sqs).endpoint_url(&service.url).build());
        let options = no_delay().give_up_after(Duration::from_secs(5));
        let queue = Delivery::to_sqs(sqs, format!("{QUEUE}.fifo"))
            .options(options)
            .map_target(SqsQueue::strict_order);
        let messages = (0..MESSAGES).map(|number| {
            let message = message(format!("{number}"), format!("body {number}"));
            let mut message = message;
            message.message_group_id = Some("one".to_owned());
            message
        });
        let outcome = queue.deliver(messages).await;
        let sent: Vec<(String, String)> = service.taken()[1..]
            .iter()
            .map(|body| (of(body, "MessageBody"), of(body, "MessageDeduplicationId")))
            .collect();
        let bodies: Vec<&str> = sent.iter().map(|(body, _)| body.as_str()).collect();
        outcome.unwrap();
        assert_eq!(bodies, ["body 0", "body 0", "body 1", "body 2"]);
        assert_eq!(sent[0], sent[1], "the queue takes the two for one");
    }
}

/// The answer that accepts all messages of a call.
fn everything_for(body: &str) -> Does {
    let count = body.matches("MessageBody").count();
    crate::guarantees::answers::answer("200 OK", &everything(count))
}

/// The value of a member of a JSON text that has no escapes.
fn of(body: &str, member: &str) -> String {
    let value = body.split_once(&format!(r#""{member}":""#)).unwrap().1;
    value.split_once('"').unwrap().0.to_owned()
}

/// A client whose runtime ends while a call of another one uses its connection.
#[test]
fn a_connection_that_ends_with_another_runtime_is_a_lost_connection() {
    let (asked, was_asked) = std::sync::mpsc::channel();
    let (answer, answers) = std::sync::mpsc::channel::<()>();
    let (asked, answers) = (std::sync::Mutex::new(asked), std::sync::Mutex::new(answers));
    let service = Raw::serving(move |number, _| {
        if number == 1 {
            asked.lock().unwrap().send(()).unwrap();
            // Until the runtime of the connection is gone.
            answers.lock().unwrap().recv().unwrap();
        }
        ok()
    });
    let client = aws_sdk_dynamodb::Client::from_conf(client!(aws_sdk_dynamodb).endpoint_url(&service.url).build());
    let orders = Delivery::to_dynamo(client, "orders")
        .map_target(|table| table.key("id"))
        .options(no_delay());
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().unwrap()
    };
    let (first, second) = (runtime(), runtime());
    first.block_on(orders.deliver([put("first")])).unwrap();
    let (delivery, write) = (orders.clone(), put("second"));
    let outcome = second.spawn(async move { delivery.deliver([write]).await });
    was_asked.recv().unwrap();
    first.shutdown_background();
    // The connection's task has to be gone before the answer could come.
    std::thread::sleep(Duration::from_millis(100));
    answer.send(()).unwrap();
    let report = second.block_on(outcome).unwrap().unwrap();
    assert_eq!((report.delivered, report.resubmitted), (1, 1));
    let taken = service.taken();
    assert_eq!(taken.iter().filter(|body| body.contains("second")).count(), 2);
}
