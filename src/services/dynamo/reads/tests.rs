//! The verdict for each key of a call.

use super::super::testing::{client, text};
use super::*;
use crate::aws::recording::Recorder;

fn reads(ids: &[&str]) -> Vec<KeyRead> {
    let read = |id: &&str| KeyRead::new(HashMap::from([("id".to_owned(), AttributeValue::N((*id).to_owned()))]));
    ids.iter().map(read).collect()
}

async fn ask(recorder: &Recorder, reads: &[KeyRead]) -> String {
    let target = DynamoReads::new(client(recorder), "films");
    let letter = |verdict: &Verdict| match verdict {
        Verdict::Accepted => '.',
        Verdict::Rejected(Rejection::Unprocessed, _) => 'u',
        Verdict::Rejected(Rejection::Unanswered, _) => '?',
        other => panic!("{other:?}"),
    };
    match target.send(reads).await {
        Answer::Each(verdicts) => verdicts.iter().map(letter).collect(),
        Answer::Whole(verdict) => letter(&verdict).to_string().repeat(reads.len()),
        Answer::Disputed(fault) | Answer::Stop(fault) => panic!("{fault}"),
    }
}

#[tokio::test]
async fn each_key_gets_its_item_whatever_the_order_and_the_spelling() {
    let recorder = Recorder::answering(
        200,
        r#"{"Responses":{"films":[{"id":{"N":"3"},"t":{"S":"three"}},{"id":{"N":"1"},"t":{"S":"one"}}]},
            "UnprocessedKeys":{"films":{"Keys":[{"id":{"N":"4"}}]}}}"#,
    );
    let reads = reads(&["1.0", "2", "3", "4"]);
    assert_eq!(ask(&recorder, &reads).await, "...u");
    let titles: Vec<_> = reads.iter().map(|read| read.take_item()?.remove("t")).collect();
    assert_eq!(titles, [Some(text("one")), None, Some(text("three")), None]);
}

#[tokio::test]
async fn a_partition_of_which_an_answer_has_as_much_as_it_may_is_not_throttled() {
    let key = |id: &str, sort: usize| format!(r#""id":{{"S":"{id}"}},"sort":{{"N":"{sort}"}}"#);
    let large = |sort| format!(r#"{{{},"t":{{"S":"{}"}}}}"#, key("a", sort), "x".repeat(350_000));
    let answer = format!(
        r#"{{"Responses":{{"films":[{},{}]}},"UnprocessedKeys":{{"films":{{"Keys":[{{{}}},{{{}}}]}}}}}}"#,
        large(0),
        large(1),
        key("a", 2),
        key("b", 3),
    );
    let recorder = Recorder::answering(200, answer.leak());
    let read = |(sort, id): (usize, &str)| {
        let sort = AttributeValue::N(sort.to_string());
        KeyRead::new(HashMap::from([("id".to_owned(), text(id)), ("sort".to_owned(), sort)]))
    };
    let reads: Vec<_> = ["a", "a", "a", "b"].into_iter().enumerate().map(read).collect();
    assert_eq!(ask(&recorder, &reads).await, "..?u");
}

#[tokio::test]
async fn an_answer_without_responses_says_nothing() {
    let recorder = Recorder::answering(200, "{}");
    assert_eq!(ask(&recorder, &reads(&["1", "2"])).await, "??");
}

#[tokio::test]
async fn beside_an_item_that_was_not_asked_for_no_key_counts_as_missing() {
    let recorder = Recorder::answering(200, r#"{"Responses":{"films":[{"id":{"N":"1"}},{"id":{"N":"9"}}]}}"#);
    assert_eq!(ask(&recorder, &reads(&["1", "2"])).await, ".?");
}

#[tokio::test]
async fn a_projection_has_the_attributes_of_the_key() {
    let recorder = Recorder::answering(200, r#"{"Responses":{"films":[]}}"#);
    let target = DynamoReads::new(client(&recorder), "films").attributes(["title", "rating"]);
    target.send(&reads(&["1"])).await;
    let body = recorder.only_request().body;
    for part in [
        r##""ProjectionExpression":"#0,#1,#2""##,
        r##""#0":"id""##,
        r##""#1":"rating""##,
        r##""#2":"title""##,
    ] {
        assert!(body.contains(part), "{body}");
    }
}

#[test]
fn equal_keys_share_a_lane_however_their_numbers_are_spelled() {
    let target = DynamoReads::new(client(&Recorder::answering(200, "{}")), "films");
    let lanes: Vec<_> = reads(&["1", "1.0", "2"]).iter().map(|read| target.lane(read)).collect();
    assert!(lanes[0].is_some() && lanes[0] == lanes[1] && lanes[0] != lanes[2]);
}
