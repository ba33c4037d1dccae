//! The redrive policy of a queue: how often a message is received before it becomes a dead letter.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName;

use super::calls::SqsCalls;
use crate::contract::Answer;

/// The member of the policy, which is a number or, as it was set, a text.
const MEMBER: &str = "\"maxReceiveCount\"";

/// How often a message of the queue is received before it becomes a dead letter; `None` if it never does.
///
/// # Errors
/// Why the queue does not say.
pub(crate) async fn max_receive_count(client: Client, queue_url: &str) -> Result<Option<u32>, Answer> {
    let names = vec![QueueAttributeName::RedrivePolicy];
    let output = SqsCalls::new(client).attributes(queue_url, names).await?;
    let policy = output
        .attributes()
        .and_then(|all| all.get(&QueueAttributeName::RedrivePolicy));
    Ok(policy.and_then(|policy| read(policy)))
}

fn read(policy: &str) -> Option<u32> {
    let (_, rest) = policy.split_once(MEMBER)?;
    let rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ':' || letter == '"');
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::testing::client;
    use super::*;
    use crate::aws::recording::Recorder;

    const URL: &str = "https://sqs.eu-central-1.amazonaws.com/1/orders";

    async fn told(answer: String) -> Option<u32> {
        let recorder = Recorder::answering(200, answer.leak());
        let told = max_receive_count(client(&recorder), URL).await.unwrap();
        let body = recorder.only_request().body;
        assert!(body.contains("RedrivePolicy") && !body.contains("All"), "{body}");
        told
    }

    #[tokio::test]
    async fn the_count_is_a_number_or_a_text() {
        for policy in [
            r#"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:1:maxReceiveCount-9\",\"maxReceiveCount\":5}"#,
            r#"{\"maxReceiveCount\":\"5\",\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:1:dead\"}"#,
            r#"{ \"maxReceiveCount\" : 5 }"#,
        ] {
            let answer = format!(r#"{{"Attributes":{{"RedrivePolicy":"{policy}"}}}}"#);
            assert_eq!(told(answer).await, Some(5), "{policy}");
        }
        for answer in ["{}", r#"{"Attributes":{"RedrivePolicy":"{}"}}"#] {
            assert_eq!(told(answer.to_owned()).await, None, "{answer}");
        }
    }

    #[tokio::test]
    async fn a_queue_that_does_not_tell_is_an_error() {
        let recorder = Recorder::answering(403, r#"{"__type":"com.amazonaws.sqs#AccessDenied"}"#);
        max_receive_count(client(&recorder), URL).await.unwrap_err();
    }
}
