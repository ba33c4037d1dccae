//! `CreateQueue`, `DeleteQueue`, `ListQueues`, `PurgeQueue`, and calls with one message.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_simulator::{QueueOptions, Simulator};
use serde_json::{Value, json};

use super::step::Step;
use crate::config::Config;
use crate::refusal::Refusal;
use crate::registry::last_part;

/// The queues, with the attributes that they were created with.
pub(super) struct Queues(BTreeMap<String, (Value, QueueOptions)>);

impl Queues {
    /// The queues of the file.
    pub(super) fn of(config: &Config, simulator: &Simulator) -> Self {
        let mut queues = Self(BTreeMap::new());
        for name in config.queues.keys().filter(|name| *name != "*") {
            queues.create(name, Value::Null, simulator);
        }
        queues
    }

    fn create(&mut self, name: &str, attributes: Value, simulator: &Simulator) -> String {
        let options = options(&attributes);
        let queue = simulator.queue(name, options.clone());
        self.0.insert(name.to_owned(), (attributes, options));
        queue.url()
    }

    pub(super) fn step(&mut self, operation: &str, request: Value, simulator: &Simulator) -> Result<Step, Refusal> {
        let name = last_part(request["QueueUrl"].as_str().unwrap_or_default()).to_owned();
        match operation {
            "CreateQueue" => {
                let name = request["QueueName"].as_str().unwrap_or_default();
                let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
                let bare = name.strip_suffix(".fifo").unwrap_or(name);
                if bare.is_empty() || name.len() > 80 || !bare.bytes().all(is_letter) {
                    let rule = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length";
                    return Err(Refusal::new("InvalidParameterValue", rule));
                }
                if self.0.contains_key(name) {
                    return Ok(url_of(name));
                }
                let url = self.create(name, request["Attributes"].clone(), simulator);
                Ok(Step::Answer(json!({ "QueueUrl": url })))
            }
            "DeleteQueue" if self.0.remove(&name).is_some() => {
                simulator.remove_queue(&name);
                Ok(Step::Answer(json!({})))
            }
            "PurgeQueue" => match self.0.get(&name) {
                Some((_, options)) => {
                    simulator.queue(&name, options.clone());
                    Ok(Step::Answer(json!({})))
                }
                None => Err(does_not_exist()),
            },
            "DeleteQueue" => Err(does_not_exist()),
            "ListQueues" => {
                let prefix = request["QueueNamePrefix"].as_str().unwrap_or_default();
                let names = self.0.keys().filter(|name| name.starts_with(prefix));
                let urls: Vec<String> = names.map(|name| format!("https://sqs/000000000000/{name}")).collect();
                Ok(Step::Answer(if urls.is_empty() {
                    json!({})
                } else {
                    json!({ "QueueUrls": urls })
                }))
            }
            "GetQueueAttributes" => {
                let attributes = self
                    .0
                    .get(&name)
                    .map_or(Value::Null, |(attributes, _)| attributes.clone());
                let change = move |mut answer: Value| {
                    // What the simulator does not show.
                    for member in ["FifoThroughputLimit", "DeduplicationScope"] {
                        if !attributes[member].is_null() && answer["Attributes"].is_object() {
                            answer["Attributes"][member] = attributes[member].clone();
                        }
                    }
                    Ok(answer)
                };
                Ok(Step::Ask("AmazonSQS.GetQueueAttributes", request, Box::new(change)))
            }
            "SendMessage" => Ok(batch_of_one("AmazonSQS.SendMessageBatch", request)),
            "DeleteMessage" => Ok(batch_of_one("AmazonSQS.DeleteMessageBatch", request)),
            "ChangeMessageVisibility" => Ok(batch_of_one("AmazonSQS.ChangeMessageVisibilityBatch", request)),
            _ => Ok(Step::Pass),
        }
    }
}

fn options(attributes: &Value) -> QueueOptions {
    let number = |name: &str| attributes[name].as_str().and_then(|text| text.parse::<u64>().ok());
    let mut options = QueueOptions::default();
    if let Some(seconds) = number("VisibilityTimeout") {
        options = options.visibility_timeout(Duration::from_secs(seconds));
    }
    if let Some(seconds) = number("DelaySeconds") {
        options = options.delay(Duration::from_secs(seconds));
    }
    if let Some(bytes) = number("MaximumMessageSize").and_then(|bytes| usize::try_from(bytes).ok()) {
        options = options.maximum_message_size(bytes);
    }
    if attributes["ContentBasedDeduplication"] == "true" {
        options = options.content_based_deduplication();
    }
    let policy: Option<Value> = attributes["RedrivePolicy"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok());
    if let Some(policy) = policy
        && let Some(arn) = policy["deadLetterTargetArn"].as_str()
    {
        options = options.dead_letter_queue(last_part(arn));
        // A number, or the text of one.
        let receives = policy["maxReceiveCount"]
            .as_u64()
            .or_else(|| policy["maxReceiveCount"].as_str()?.parse().ok());
        if let Some(receives) = receives.and_then(|receives| u32::try_from(receives).ok()) {
            options = options.maximum_receives(receives);
        }
    }
    options
}

fn url_of(name: &str) -> Step {
    Step::Ask("AmazonSQS.GetQueueUrl", json!({ "QueueName": name }), Box::new(Ok))
}

/// A call with one message as a batch, whose only entry has the answer.
fn batch_of_one(target: &'static str, mut request: Value) -> Step {
    let Some(members) = request.as_object_mut() else {
        return Step::Pass;
    };
    let url = members.remove("QueueUrl");
    members.insert("Id".to_owned(), json!("0"));
    let change = |mut answer: Value| {
        let mut first = |list: &str| answer.get_mut(list).and_then(|list| Some(list.get_mut(0)?.take()));
        let failed = first("Failed").unwrap_or_default();
        if let Some(code) = failed["Code"].as_str() {
            let message = failed["Message"].as_str().unwrap_or_default();
            return Err(Refusal::new(code, message));
        }
        let mut one = first("Successful").unwrap_or_default();
        if let Some(members) = one.as_object_mut() {
            members.remove("Id");
        }
        Ok(if one.is_object() { one } else { json!({}) })
    };
    Step::Ask(target, json!({"QueueUrl": url, "Entries": [request]}), Box::new(change))
}

fn does_not_exist() -> Refusal {
    Refusal::new("QueueDoesNotExist", "The specified queue does not exist.")
}
