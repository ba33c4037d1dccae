//! Objects of a bucket.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_batch_delivery::targets::s3::S3Deletions;
use aws_batch_delivery::{Cause, Delivery, DeliveryOptions};
use aws_batch_simulator::{Acknowledgement, Bucket, Capacity, InjectedFault, Simulator};
use aws_sdk_s3::types::ObjectIdentifier;

use crate::{client, faults_of_calls, simulator};

fn delivery(simulator: &Simulator) -> Delivery<S3Deletions> {
    Delivery::new(S3Deletions::new(client!(aws_sdk_s3, simulator), "logs"))
}

/// A bucket with these objects.
fn bucket(simulator: &Simulator, keys: impl IntoIterator<Item = String>) -> Bucket {
    let bucket = simulator.bucket("logs");
    for key in keys {
        bucket.insert(key, "body");
    }
    bucket
}

fn numbered(objects: usize) -> impl Iterator<Item = String> + Clone {
    (0..objects).map(|number| format!("2026/{}/{number}", number % 7))
}

fn left(bucket: &Bucket) -> BTreeSet<String> {
    bucket.objects().into_keys().collect()
}

#[tokio::test(start_paused = true)]
async fn objects_are_deleted_whatever_goes_wrong() {
    for is_quiet in [false, true] {
        let simulator = simulator();
        let bucket = bucket(&simulator, numbered(20_000));
        bucket.insert("kept", "body");
        let faults = faults_of_calls()
            .unprocessed(0.02)
            .calls(0.05, InjectedFault::Unknown(1))
            .calls(0.05, InjectedFault::Repeated(3))
            .calls(
                0.05,
                InjectedFault::Omitted {
                    entries: 2,
                    applied: false,
                },
            );
        bucket.set_faults(faults);
        let delivery = delivery(&simulator).map_target(|target| if is_quiet { target.quiet() } else { target });
        let report = delivery.keys().deliver(numbered(20_000)).await.unwrap();
        assert_eq!(report.delivered, 20_000);
        assert_eq!(left(&bucket), BTreeSet::from(["kept".to_owned()]));
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_do_not_exist_are_deleted() {
    let simulator = simulator();
    bucket(&simulator, []);
    let report = delivery(&simulator).keys().deliver(numbered(10)).await.unwrap();
    assert_eq!((report.delivered, report.resubmitted), (10, 0));
}

/// Rebuilt from reports of programs that threw the errors in an answer of success away: locked objects stayed in the bucket and were
/// shown as deleted.
#[tokio::test(start_paused = true)]
async fn what_an_answer_of_success_does_not_delete_is_handed_back_and_nothing_else() {
    for is_quiet in [false, true] {
        let simulator = simulator();
        let bucket = bucket(&simulator, numbered(2_500));
        bucket.poison(|deletion| deletion["Key"].as_str().is_some_and(|key| key.ends_with("77")));
        let delivery = delivery(&simulator).map_target(|target| if is_quiet { target.quiet() } else { target });
        let error = delivery.keys().deliver(numbered(2_500)).await.unwrap_err();
        let handed_back = error.undelivered().iter().inspect(|undelivered| {
            assert!(matches!(undelivered.cause, Cause::Refused(_)) && !undelivered.may_have_been_delivered);
            assert!(
                undelivered.cause.to_string().contains("AccessDenied"),
                "{}",
                undelivered.cause
            );
        });
        let handed_back: BTreeSet<String> = handed_back.map(|undelivered| (*undelivered.entry).clone()).collect();
        assert_eq!(handed_back.len(), 25);
        assert_eq!(left(&bucket), handed_back);
    }
}

/// Rebuilt from reports in which one such key made S3 refuse a thousand others with `MalformedXML`.
#[tokio::test(start_paused = true)]
async fn a_key_that_xml_cannot_express_takes_no_other_down() {
    let simulator = simulator();
    let bucket = bucket(&simulator, numbered(1_500));
    let keys = numbered(1_500).chain(["bad/\u{10}\u{10}.jpg".to_owned(), "good/<&>\r\n .jpg".to_owned()]);
    let error = delivery(&simulator).keys().deliver(keys).await.unwrap_err();
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert_eq!(
        undelivered.cause.to_string(),
        "not sent: the key has U+0010 at byte 4, a character that is not allowed"
    );
    assert!(bucket.is_empty());
    assert_eq!(bucket.statistics().refused_calls, 0);
}

#[tokio::test(start_paused = true)]
async fn a_version_that_does_not_exist_is_handed_back_alone() {
    let simulator = simulator();
    let bucket = bucket(&simulator, numbered(3));
    let version = |key: &str, id: &str| ObjectIdentifier::builder().key(key).version_id(id).build().unwrap();
    let objects = [
        version("2026/0/0", "null"),
        version("2026/1/1", "7"),
        version("2026/2/2", "null"),
    ];
    let error = delivery(&simulator).deliver(objects).await.unwrap_err();
    let [undelivered] = error.undelivered() else {
        panic!("{error:?}");
    };
    assert_eq!((undelivered.entry.key(), undelivered.position), ("2026/1/1", 1));
    assert_eq!(left(&bucket), BTreeSet::from(["2026/1/1".to_owned()]));
}

/// S3's own figure for a prefix: of 70,000 deletions at most a twentieth is sent again.
#[tokio::test(start_paused = true)]
async fn deletions_are_paced_by_the_capacity_of_the_bucket() {
    let simulator = simulator();
    let bucket = bucket(&simulator, []);
    bucket.set_capacity("", Capacity::per_second(3_500.0).burst(3_500.0));
    let report = delivery(&simulator).keys().deliver(numbered(70_000)).await.unwrap();
    assert_eq!(report.delivered, 70_000);
    assert!(report.resubmitted * 20 <= report.delivered, "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_takes_nothing_does_not_hold_up_the_others() {
    let simulator = simulator();
    let bucket = bucket(&simulator, numbered(7_000));
    bucket.set_capacity("2026/3/", Capacity::none());
    bucket.keep_journal();
    let options = DeliveryOptions::default().give_up_after(Duration::from_secs(30));
    let delivery = delivery(&simulator).options(options).keys();
    let error = delivery.deliver(numbered(7_000)).await.unwrap_err();
    assert_eq!(error.undelivered().len(), 1_000);
    assert!(left(&bucket).iter().all(|key| key.starts_with("2026/3/")));
    let deleted: Vec<_> = bucket
        .journal()
        .into_iter()
        .filter(|record| record.acknowledgement() == Acknowledgement::Accepted)
        .map(|record| record.at)
        .collect();
    let took = *deleted.last().unwrap() - deleted[0];
    assert!(took < Duration::from_secs(5), "{took:?}");
}
