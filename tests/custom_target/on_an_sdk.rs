//! A target on an AWS SDK, made with `classify`, `classify_entry`, `Transmission` and `Lookup`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use aws_batch_delivery::targets::{
    Answer, BatchTarget, Fault, Limits, Lookup, LookupError, Verdict, classify, classify_entry,
};
use aws_batch_delivery::targets::{Rejection, Transmission};
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions, InvalidEntry};
use aws_batch_simulator::{InjectedFault, QueueOptions, Simulator};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{Builder, Config};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use tokio::time::timeout;

use crate::custom_target::numbers::no_delay;

/// Sends numbers to a queue of that name.
#[derive(Clone)]
struct Numbers {
    client: Client,
    once: Builder,
    queue: &'static str,
    url: Lookup<String>,
    lookups: Arc<AtomicUsize>,
}

impl Numbers {
    fn to(queue: &'static str, client: Client) -> Self {
        Self {
            client,
            once: Config::builder()
                .retry_config(RetryConfig::disabled())
                .interceptor(Transmission::default()),
            queue,
            url: Lookup::default(),
            lookups: Arc::default(),
        }
    }

    async fn look_up(&self) -> Result<String, LookupError> {
        self.lookups.fetch_add(1, Relaxed);
        let call = self.client.get_queue_url().queue_name(self.queue).customize();
        let output = call.config_override(self.once.clone()).send().await.map_err(classify)?;
        Ok(output.queue_url.unwrap())
    }
}

impl BatchTarget for Numbers {
    type Entry = usize;

    fn limits(&self) -> Limits {
        Limits::new(10, 1 << 20)
    }

    async fn prepare(&self) {
        let _ = self.url.ask(|| self.look_up()).await;
    }

    fn check(&self, entry: &usize) -> Result<usize, InvalidEntry> {
        Ok(entry.to_string().len())
    }

    async fn send(&self, chunk: &[usize]) -> Answer {
        let Some(url) = self.url.get() else {
            return Answer::Stop(Fault::new("the queue is not known"));
        };
        let entries = chunk.iter().map(|number| {
            let entry = SendMessageBatchRequestEntry::builder().id(number.to_string());
            entry.message_body(number.to_string()).build().unwrap()
        });
        let call = self.client.send_message_batch().queue_url(&*url);
        let call = call.set_entries(Some(entries.collect())).customize();
        let output = match call.config_override(self.once.clone()).send().await {
            Ok(output) => output,
            Err(error) => return classify(error),
        };
        let verdict = |number: &usize| {
            let failed = output.failed().iter().find(|failed| failed.id() == number.to_string());
            failed.map_or(Verdict::Accepted, |failed| {
                classify_entry(failed.code(), failed.sender_fault(), failed.message())
            })
        };
        Answer::Each(chunk.iter().map(verdict).collect())
    }
}

/// One attempt for each entry.
fn once() -> DeliveryOptions {
    no_delay().retries(0).concurrency(1)
}

#[tokio::test(start_paused = true)]
async fn what_a_service_rejects_is_sent_again_and_what_it_refuses_is_handed_back() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("numbers", QueueOptions::default());
    queue.script([
        InjectedFault::Throttle,
        InjectedFault::internal_error(false),
        InjectedFault::failed(3, "InternalError", false),
        InjectedFault::failed(2, "InvalidMessageContents", true),
    ]);
    let delivery = Delivery::new(Numbers::to("numbers", simulator.sqs_client())).options(no_delay());
    let error = delivery.deliver(0..100).await.unwrap_err();
    assert_eq!((error.undelivered().len(), queue.len()), (2, 98));
    for undelivered in error.undelivered() {
        assert_eq!(undelivered.cause.to_string(), "refused: InvalidMessageContents");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_call_that_left_is_in_doubt() {
    let simulator = Simulator::new(1);
    let queue = simulator.queue("numbers", QueueOptions::default());
    queue.script([InjectedFault::Dropped { applied: true }]);
    let target = Numbers::to("numbers", simulator.sqs_client());
    let delivery = Delivery::new(target.clone()).options(once());
    let error = delivery.deliver([1]).await.unwrap_err();
    assert!(error.undelivered()[0].may_have_been_delivered);

    let config = simulator.sqs_client().config().to_builder().region(None);
    let without_region = Numbers {
        client: Client::from_conf(config.build()),
        ..target
    };
    let error = Delivery::new(without_region)
        .options(once())
        .deliver([1])
        .await
        .unwrap_err();
    let undelivered = &error.undelivered()[0];
    assert!(
        matches!(&undelivered.cause, Cause::Stopped(fault) if fault.code() == "request not sent"),
        "{error}"
    );
    assert!(!undelivered.may_have_been_delivered);
}

#[tokio::test(start_paused = true)]
async fn what_every_call_shares_stops_the_delivery() {
    let simulator = Simulator::new(1);
    let mut target = Numbers::to("numbers", simulator.sqs_client());
    target.url = Lookup::given("https://sqs.us-east-1.amazonaws.com/000000000000/missing".to_owned());
    let error = Delivery::new(target.clone()).deliver(0..100).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 100);
    assert_eq!(error.stopped().unwrap().code(), "NonExistentQueue");
    assert_eq!(target.lookups.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn deliveries_that_start_together_share_one_lookup_and_later_ones_its_answer() {
    let simulator = Simulator::new(1);
    simulator.set_latency(aws_batch_simulator::Latency::fixed(Duration::from_millis(10)));
    simulator.queue("numbers", QueueOptions::default());
    let target = Numbers::to("numbers", simulator.sqs_client());
    let deliveries = [0, 1, 2].map(|_| Delivery::new(target.clone()));
    let [first, second, third] = &deliveries;
    let (first, second) = tokio::join!(first.deliver(0..10), second.deliver(10..20));
    first.and(second).unwrap();
    third.deliver(20..30).await.unwrap();
    assert_eq!(target.lookups.load(Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lookup_is_repeated_for_as_long_as_that_may_help() {
    let fault = || Fault::new("code");
    let asked = async |error: fn(Fault) -> LookupError| {
        let (lookup, calls) = (Lookup::<()>::default(), AtomicUsize::new(0));
        let call = async || {
            calls.fetch_add(1, Relaxed);
            Err(error(fault()))
        };
        // A delivery limits it by `give_up_after`.
        let limit = Duration::from_mins(1);
        let first = timeout(limit, lookup.ask(call)).await;
        let _ = timeout(limit, lookup.ask(call)).await;
        (
            first.map(|asked| asked.unwrap_err().code().to_owned()),
            calls.into_inner(),
        )
    };
    let (first, calls) = asked(LookupError::Transient).await;
    assert!(first.is_err() && (40..200).contains(&calls), "{calls} calls");
    assert_eq!(asked(LookupError::NotNow).await, (Ok("code".into()), 2));
    assert_eq!(asked(LookupError::Never).await, (Ok("code".into()), 1));
    let throttled = Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault()));
    assert!(matches!(LookupError::from(throttled), LookupError::Transient(_)));
}
