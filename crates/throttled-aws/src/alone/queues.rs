//! `CreateQueue`, `SetQueueAttributes`, `DeleteQueue`, `ListQueues`, `PurgeQueue`, tags, and calls with one message.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_batch_simulator::{Queue, QueueOptions, Simulator};
use serde_json::{Map, Value, json};

use super::attributes::check;
use super::step::Step;
use crate::config::Config;
use crate::refusal::Refusal;
use crate::registry::last_part;

/// The queues by name.
pub(super) struct Queues(BTreeMap<String, Known>);

/// A queue with the attributes and tags that were set.
struct Known {
    queue: Queue,
    attributes: Map<String, Value>,
    tags: Map<String, Value>,
}

impl Known {
    fn new(name: &str, attributes: Map<String, Value>, simulator: &Simulator) -> Self {
        Self {
            queue: simulator.queue(name, options(&attributes)),
            attributes,
            tags: Map::new(),
        }
    }

    /// Another queue with the same name, which is empty.
    fn replace(&mut self, name: &str, simulator: &Simulator) {
        self.queue = simulator.queue(name, options(&self.attributes));
    }

    /// The simulator has attributes from the start.
    fn set(&mut self, name: &str, attributes: Map<String, Value>, simulator: &Simulator) -> Result<(), Refusal> {
        check(&attributes)?;
        let messages = self.queue.len();
        if messages > 0 {
            let message = format!(
                "throttled-aws --alone changes the attributes of empty queues, and {name} has {messages} message(s): purge it, or \
                 name the attributes in CreateQueue"
            );
            return Err(Refusal::new("UnsupportedOperation", message));
        }
        self.attributes.extend(attributes);
        self.replace(name, simulator);
        Ok(())
    }
}

impl Queues {
    /// The queues of the file.
    pub(super) fn of(config: &Config, simulator: &Simulator) -> Self {
        let mut queues = Self(BTreeMap::new());
        for name in config.queues.keys().filter(|name| *name != "*") {
            queues.0.insert(name.clone(), Known::new(name, Map::new(), simulator));
        }
        queues
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
                let attributes = members(&request["Attributes"]);
                check(&attributes)?;
                let mut queue = Known::new(name, attributes, simulator);
                queue.tags = members(&request["tags"]);
                let url = queue.queue.url();
                self.0.insert(name.to_owned(), queue);
                Ok(Step::Answer(json!({ "QueueUrl": url })))
            }
            "DeleteQueue" | "ListQueueTags" | "PurgeQueue" | "SetQueueAttributes" | "TagQueue" | "UntagQueue" => {
                let queue = self.0.get_mut(&name).ok_or_else(does_not_exist)?;
                let mut answer = json!({});
                match operation {
                    "DeleteQueue" => {
                        simulator.remove_queue(&name);
                        self.0.remove(&name);
                    }
                    "ListQueueTags" => answer["Tags"] = json!(queue.tags),
                    "PurgeQueue" => queue.replace(&name, simulator),
                    "SetQueueAttributes" => queue.set(&name, members(&request["Attributes"]), simulator)?,
                    "TagQueue" => queue.tags.extend(members(&request["Tags"])),
                    _ => {
                        let keys = request["TagKeys"].as_array().into_iter().flatten();
                        keys.filter_map(Value::as_str)
                            .for_each(|key| _ = queue.tags.remove(key));
                    }
                }
                Ok(Step::Answer(answer))
            }
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
                let known = self.0.get(&name);
                let attributes = known.map_or_else(Map::new, |known| known.attributes.clone());
                let change = move |mut answer: Value| {
                    // What the simulator does not show.
                    for member in ["FifoThroughputLimit", "DeduplicationScope"] {
                        if let Some(value) = attributes.get(member)
                            && answer["Attributes"].is_object()
                        {
                            answer["Attributes"][member] = value.clone();
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

fn members(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn options(attributes: &Map<String, Value>) -> QueueOptions {
    let text = |name: &str| attributes.get(name).and_then(Value::as_str);
    let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
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
    if text("ContentBasedDeduplication") == Some("true") {
        options = options.content_based_deduplication();
    }
    let policy: Option<Value> = text("RedrivePolicy").and_then(|text| serde_json::from_str(text).ok());
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
