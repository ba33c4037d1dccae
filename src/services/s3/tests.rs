use proptest::prelude::*;

use super::*;
use crate::aws::recording::{Recorder, recorded_config};

const ACCESS_POINT: &str = "arn:aws:s3:eu-central-1:123456789012:accesspoint/logs";

fn client(recorder: &Recorder) -> Client {
    Client::from_conf(recorded_config!(aws_sdk_s3, recorder.clone()).build())
}

fn bucket() -> S3Deletions {
    S3Deletions::new(client(&Recorder::answering(200, "<a/>")), "logs")
}

fn object(key: &str) -> ObjectIdentifier {
    ObjectIdentifier::builder().key(key).build().unwrap()
}

fn version(key: &str, id: &str) -> ObjectIdentifier {
    ObjectIdentifier::builder().key(key).version_id(id).build().unwrap()
}

fn checked(object: &ObjectIdentifier) -> Result<usize, String> {
    bucket().check(object).map_err(|error| error.to_string())
}

/// `.` deleted, `t` throttled, `~` failed for the moment, `?` unanswered, `x` handed back.
async fn answered(deletions: impl FnOnce(S3Deletions) -> S3Deletions, body: &'static str, keys: &[&str]) -> String {
    let recorder = Recorder::answering(200, body);
    let bucket = deletions(S3Deletions::new(client(&recorder), "logs"));
    let objects: Vec<_> = keys.iter().map(|key| object(key)).collect();
    let answer = bucket.send(&objects).await;
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Accepted => '.',
        Verdict::Rejected(Rejection::Throttled, _) => 't',
        Verdict::Rejected(Rejection::Transient | Rejection::Connection, fault) if fault.is_ambiguous() => '~',
        Verdict::Rejected(Rejection::Unanswered, _) => '?',
        Verdict::Refused(_) => 'x',
        other => panic!("{other:?}"),
    };
    match &answer {
        Answer::Each(verdicts) => verdicts.iter().map(letter).collect(),
        Answer::Whole(verdict) => letter(verdict).to_string().repeat(objects.len()),
        other => panic!("{other:?}"),
    }
}

const MIXED: &str = "<DeleteResult>\
    <Error><Key>b</Key><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>\
    <Deleted><Key>a</Key></Deleted>\
    <Error><Key>d</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>\
    <Error><Key>c</Key><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>\
    </DeleteResult>";

#[tokio::test]
async fn each_key_has_a_verdict_of_its_own() {
    assert_eq!(answered(|own| own, MIXED, &["a", "b", "c", "d", "e"]).await, ".t~x?");
    assert_eq!(
        answered(S3Deletions::quiet, MIXED, &["a", "b", "c", "d", "e"]).await,
        ".t~x."
    );
}

#[tokio::test]
async fn a_key_that_the_answer_does_not_name_is_deleted_only_in_quiet_mode() {
    assert_eq!(answered(|own| own, "<DeleteResult/>", &["a", "b"]).await, "??");
    assert_eq!(answered(S3Deletions::quiet, "<DeleteResult/>", &["a", "b"]).await, "..");
}

#[tokio::test]
async fn an_error_without_a_key_may_be_that_of_any_object() {
    let body = "<DeleteResult><Error><Code>InternalError</Code></Error></DeleteResult>";
    assert_eq!(answered(S3Deletions::quiet, body, &["a", "b"]).await, "??");
}

#[tokio::test]
async fn a_slow_down_in_an_answer_of_success_is_a_throttle() {
    let body = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>";
    assert_eq!(answered(S3Deletions::quiet, body, &["a", "b"]).await, "tt");
}

#[tokio::test]
async fn an_answer_that_is_not_from_s3_deletes_nothing() {
    for body in ["", "<html/>", "<DeleteResult", "{}"] {
        assert_eq!(answered(S3Deletions::quiet, body, &["a"]).await, "~", "{body}");
    }
}

/// The connection ends where the body does, so that only its end shows that it is complete.
#[tokio::test]
async fn an_answer_that_is_cut_off_deletes_nothing() {
    for body in [
        "<DeleteResult>",
        "<?xml version=\"1.0\"?>\n<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">",
        "<DeleteResult><Error><Key>b</Key><Code>SlowDown</Code></Error>",
    ] {
        assert_eq!(answered(S3Deletions::quiet, body, &["a", "b"]).await, "~~", "{body}");
    }
}

#[tokio::test]
async fn what_s3_does_not_have_is_not_asked_for_again() {
    let body = "<DeleteResult><Error><Key>a</Key><Code>NotImplemented</Code></Error>\
        <Error><Key>b</Key><Code>MethodNotAllowed</Code></Error></DeleteResult>";
    assert_eq!(answered(S3Deletions::quiet, body, &["a", "b", "c"]).await, "xx.");
    let recorder = Recorder::answering(501, "<Error><Code>NotImplemented</Code></Error>");
    let bucket = S3Deletions::new(client(&recorder), "logs");
    let answer = bucket.send(&[object("a")]).await;
    assert!(
        matches!(&answer, Answer::Disputed(fault) if !fault.is_ambiguous()),
        "{answer:?}"
    );
}

/// Some services that speak S3's protocol report it, S3 itself does not.
#[tokio::test]
async fn an_object_that_does_not_exist_is_deleted() {
    let body = "<DeleteResult><Error><Key>a</Key><Code>NoSuchKey</Code></Error></DeleteResult>";
    assert_eq!(answered(|own| own, body, &["a"]).await, ".");
}

#[tokio::test]
async fn versions_of_a_key_are_told_apart() {
    let body = "<DeleteResult>\
        <Error><Key>a</Key><VersionId>2</VersionId><Code>NoSuchVersion</Code></Error>\
        <Deleted><Key>a</Key><VersionId>1</VersionId></Deleted>\
        <Deleted><Key>a</Key><DeleteMarker>true</DeleteMarker><DeleteMarkerVersionId>3</DeleteMarkerVersionId></Deleted>\
        </DeleteResult>";
    let recorder = Recorder::answering(200, body);
    let bucket = S3Deletions::new(client(&recorder), "logs");
    let answer = bucket.send(&[version("a", "1"), version("a", "2"), object("a")]).await;
    let Answer::Each(verdicts) = answer else {
        panic!("{answer:?}");
    };
    let [Verdict::Accepted, Verdict::Refused(fault), Verdict::Accepted] = &verdicts[..] else {
        panic!("{verdicts:?}");
    };
    assert_eq!(fault.code(), "NoSuchVersion");
}

#[tokio::test]
async fn white_space_and_markup_in_keys_are_sent_and_recognized() {
    let recorder = Recorder::answering(
        200,
        "<DeleteResult><Deleted><Key> a&#10;b&#13; </Key></Deleted><Deleted><Key>&lt;c&gt;&amp;\"</Key></Deleted>\
         <Deleted><Key> </Key></Deleted></DeleteResult>",
    );
    let bucket = S3Deletions::new(client(&recorder), "logs");
    let answer = bucket.send(&[object(" a\nb\r "), object("<c>&\""), object(" ")]).await;
    assert!(
        matches!(&answer, Answer::Each(verdicts) if verdicts.iter().all(Verdict::is_accepted)),
        "{answer:?}"
    );
    let request = recorder.only_request().body;
    assert!(
        request.contains("<Key> a&#xA;b&#xD; </Key>") && request.contains("<Key>&lt;c&gt;&amp;&quot;</Key>"),
        "{request}"
    );
    assert!(!request.contains("Quiet"), "{request}");
}

#[tokio::test]
async fn a_call_that_is_throttled_is_a_throttle() {
    let recorder = Recorder::answering(503, "<Error><Code>SlowDown</Code></Error>");
    let bucket = S3Deletions::new(client(&recorder), "logs");
    let answer = bucket.send(&[object("a")]).await;
    assert!(
        matches!(&answer, Answer::Whole(Verdict::Rejected(Rejection::Throttled, fault)) if fault.is_ambiguous()),
        "{answer:?}"
    );
    assert_eq!(recorder.requests(), 1, "the SDK does not send it again");
}

#[test]
fn a_key_and_a_version_id_have_their_limits() {
    assert_eq!(checked(&object(&"ü".repeat(512))), Ok(1_024));
    assert_eq!(
        checked(&object(&"ü".repeat(513))),
        Err("the key has 1026 bytes, the limit is 1024".to_owned())
    );
    assert_eq!(checked(&version("a", &"v".repeat(1_024))), Ok(1_025));
    assert_eq!(
        checked(&version("a", &"v".repeat(1_025))),
        Err("the version id has 1025 bytes, the limit is 1024".to_owned())
    );
    assert_eq!(checked(&object("")), Err("the key is missing or empty".to_owned()));
    assert_eq!(
        checked(&version("a", "")),
        Err("the version id is missing or empty".to_owned())
    );
}

#[test]
fn keys_of_a_folder_share_a_part_of_the_capacity() {
    let part = |key| bucket().partition_key(&object(key));
    assert_eq!(part("2026/11/a"), part("2026/11/b"));
    assert_ne!(part("2026/11/a"), part("2026/12/a"));
    assert_eq!(part("a"), None);
}

#[test]
fn the_log_names_the_bucket_without_its_account() {
    assert_eq!(bucket().name(), "s3/logs");
    let access_point = S3Deletions::new(client(&Recorder::answering(200, "<a/>")), ACCESS_POINT);
    assert_eq!(access_point.name(), "s3/accesspoint/logs");
    assert!(!format!("{access_point:?}").contains("123456789012"));
}

proptest! {
    /// What is accepted can be expressed in the request, and what is refused cannot.
    #[test]
    fn a_key_is_accepted_if_xml_can_express_it(key in any::<String>().prop_filter("not empty", |key| !key.is_empty())) {
        let is_expressible = key.chars().all(|character| match u32::from(character) {
            0x9 | 0xA | 0xD => true,
            code => code >= 0x20 && code != 0xFFFE && code != 0xFFFF,
        });
        let fits = key.len() <= MAX_KEY_BYTES;
        prop_assert_eq!(bucket().check(&object(&key)).is_ok(), is_expressible && fits);
    }
}
