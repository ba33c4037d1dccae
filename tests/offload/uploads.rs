//! Uploads that fail, and messages that are sent again.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use aws_batch_delivery::targets::sqs::Offload;
use aws_batch_delivery::{Cause, Progress};
use aws_batch_simulator::InjectedFault;
use aws_credential_types::credential_fn::provide_credentials_fn;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::Credentials;
use aws_sdk_s3::config::retry::RetryConfig;
use aws_sdk_s3::error::SdkError;
use aws_sdk_s3::operation::put_object::PutObjectError;
use tokio::time::{Instant, timeout};

use crate::offload::entries::{Services, THRESHOLD, key, large, message, mixed, mixed_body, one_at_a_time};

fn bodies(count: usize) -> Vec<String> {
    (0..count).map(mixed_body).collect()
}

fn sorted(mut bodies: Vec<String>) -> Vec<String> {
    bodies.sort_unstable();
    bodies
}

/// Their ids had a mark before them, and no origin recognized them.
#[tokio::test(start_paused = true)]
async fn a_handler_gets_each_delivered_message_as_it_was_given() {
    let services = Services::new("orders");
    let entries = mixed(6);
    let (handled, delivered) = mpsc::channel();
    let delivery = services.delivery(services.offload());
    let delivery = delivery.on_delivered(move |_, entry, _| handled.send(entry.clone()).unwrap());
    delivery.deliver(entries.clone()).await.unwrap();
    assert_eq!(delivered.try_iter().collect::<Vec<_>>(), entries);
    assert_eq!(services.bucket.objects().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_sent_again_is_not_uploaded_again() {
    let services = Services::new("orders");
    services.queue.script([
        InjectedFault::Throttle,
        InjectedFault::internal_error(false),
        InjectedFault::Unprocessed(10),
        InjectedFault::Omitted {
            entries: 5,
            applied: false,
        },
    ]);
    let report = services.delivery(services.offload()).deliver(mixed(10)).await.unwrap();
    assert_eq!((report.calls, report.resubmitted), (5, 35));
    assert_eq!(services.bucket.puts(), 4);
    assert_eq!(sorted(services.received()), bodies(10));
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leads_to_two_pointers_to_one_object() {
    let services = Services::new("orders");
    services.queue.script([InjectedFault::Dropped { applied: true }]);
    services
        .delivery(services.offload())
        .deliver([message(large(0))])
        .await
        .unwrap();
    let keys: Vec<_> = services.queue.messages().iter().map(key).collect();
    assert_eq!((keys.len(), services.bucket.len()), (2, 1));
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_upload_is_repeated_and_the_other_messages_are_delivered_meanwhile() {
    let faults = [
        InjectedFault::Throttle,
        InjectedFault::internal_error(false),
        InjectedFault::internal_error(true),
        InjectedFault::error(503, "", false),
        InjectedFault::error(400, "ExpiredToken", false),
        InjectedFault::Dropped { applied: true },
        InjectedFault::Hung { applied: false },
    ];
    for fault in faults {
        let services = Services::new("orders");
        services.queue.keep_journal();
        services.bucket.script([InjectedFault::None, fault.clone()]);
        let report = services.delivery(services.offload()).deliver(mixed(10)).await.unwrap();
        assert_eq!((report.calls, report.resubmitted), (2, 1), "{fault:?}");
        assert_eq!((services.bucket.puts(), services.bucket.len()), (5, 4), "{fault:?}");
        let first_call = services
            .queue
            .journal()
            .iter()
            .filter(|record| record.call == 1)
            .count();
        assert_eq!(first_call, 9, "{fault:?}");
        assert_eq!(sorted(services.received()), bodies(10));
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_without_an_end_is_given_up_before_the_attempt_is() {
    let services = Services::new("orders");
    services.bucket.script([InjectedFault::Hung { applied: false }]);
    let offload = services.offload().upload_timeout(Duration::from_secs(3));
    let started = Instant::now();
    let error = services
        .delivery(offload)
        .options(one_at_a_time().retries(0))
        .deliver(mixed(10))
        .await
        .unwrap_err();
    assert_eq!((error.report.delivered, error.undelivered()[0].position), (9, 0));
    assert!(!error.undelivered()[0].may_have_been_delivered);
    assert!(matches!(&error.undelivered()[0].cause, Cause::RetriesUsedUp(fault) if fault.code() == "upload timeout"));
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_s3_throttles_is_no_throttle_of_the_queue() {
    let services = Services::new("orders");
    services.bucket.script(vec![InjectedFault::Throttle; 4]);
    let progress = Progress::default();
    let options = one_at_a_time().progress(&progress);
    let report = services
        .delivery(services.offload())
        .options(options)
        .deliver(mixed(10))
        .await
        .unwrap();
    assert_eq!((report.delivered, progress.snapshot().throttled), (10, 0));
}

#[tokio::test(start_paused = true)]
async fn retries_are_counted_for_uploads_too() {
    let services = Services::new("orders");
    services.bucket.script(vec![InjectedFault::Throttle; 4]);
    let error = services
        .delivery(services.offload())
        .options(one_at_a_time().retries(3))
        .deliver(vec![message(large(0))])
        .await
        .unwrap_err();
    assert!(matches!(&error.undelivered()[0].cause, Cause::RetriesUsedUp(fault) if fault.code() == "SlowDown"));
    assert_eq!((error.undelivered()[0].attempts, services.bucket.puts()), (4, 4));
    assert_eq!(services.queue.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn credentials_that_s3_refuses_are_loaded_anew() {
    for code in ["ExpiredToken", "InvalidAccessKeyId"] {
        let services = Services::new("orders");
        let loaded = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&loaded);
        let provider = provide_credentials_fn(move || {
            count.fetch_add(1, Relaxed);
            async { Ok(Credentials::new("key", "secret", None, None, "test")) }
        });
        let config = services.simulator.s3_client().config().to_builder();
        let config = config
            .credentials_provider(provider)
            .retry_config(RetryConfig::disabled());
        let offload = Offload::to_s3(Client::from_conf(config.build()), "large").threshold(THRESHOLD);
        services.bucket.script([InjectedFault::error(403, code, false)]);
        let report = services
            .delivery(offload)
            .deliver(vec![message(large(0))])
            .await
            .unwrap();
        assert_eq!((report.delivered, loaded.load(Relaxed)), (1, 2), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_bucket_or_permission_concerns_only_what_has_to_go_there() {
    let denied = Services::new("orders");
    denied
        .bucket
        .script(vec![InjectedFault::error(403, "AccessDenied", false); 7]);
    let elsewhere = Services::new("orders");
    elsewhere
        .bucket
        .script(vec![InjectedFault::error(301, "PermanentRedirect", false); 7]);
    let missing = Services::new("orders");
    for (services, bucket, code) in [
        (denied, "large", "AccessDenied"),
        (elsewhere, "large", "PermanentRedirect"),
        (missing, "nowhere", "NoSuchBucket"),
    ] {
        let entries = mixed(20);
        let error = services
            .delivery(services.offload_to(bucket))
            .deliver(entries.clone())
            .await
            .unwrap_err();
        assert_eq!((error.report.delivered, error.undelivered().len()), (13, 7), "{code}");
        assert_eq!(services.bucket.deletes(), 0, "there is nothing to remove");
        for undelivered in error.undelivered() {
            let position = usize::try_from(undelivered.position).unwrap();
            assert_eq!(*undelivered.entry, entries[position]);
            assert!(!undelivered.may_have_been_delivered);
            assert!(
                matches!(&undelivered.cause, Cause::Refused(fault) if fault.code() == code),
                "{code}"
            );
            let source = undelivered.cause.source().unwrap();
            assert!(source.is::<SdkError<PutObjectError>>(), "{source:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_wait_do_not_pile_up_in_memory() {
    const BODY: usize = 1 << 20;
    let services = Services::new("orders");
    services
        .queue
        .reject_while(|message| message["MessageAttributes"].is_object());
    let bodies = AtomicUsize::new(0);
    // One of each call is large, and is not accepted.
    let entries = (0..2_000).map(|number| {
        if number % 10 > 0 {
            return message("x");
        }
        bodies.fetch_add(1, Relaxed);
        message("x".repeat(BODY))
    });
    let hours = |_: u32| Duration::from_hours(2);
    let options = one_at_a_time().backoff(hours).give_up_after(Duration::MAX);
    let delivery = services.delivery(services.offload()).options(options);
    assert!(
        timeout(Duration::from_hours(1), delivery.deliver(entries))
            .await
            .is_err()
    );
    // 64 MiB may wait.
    let waiting = bodies.load(Relaxed);
    assert!((64..=66).contains(&waiting), "{waiting} bodies were read");
}

#[tokio::test(start_paused = true)]
async fn the_uploads_of_a_call_are_made_at_the_same_time() {
    let services = Services::new("orders");
    let entries = (0..10).map(|number| message(large(number)));
    let started = Instant::now();
    services.delivery(services.offload()).deliver(entries).await.unwrap();
    // A round trip to ask the queue for its largest message, one for all of the uploads, and one for the call.
    assert_eq!(started.elapsed(), Duration::from_millis(24));
    assert_eq!(services.simulator.most_calls_in_flight(), 10);
}
