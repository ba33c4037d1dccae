//! Which service answers a request.

use serde_json::Value;

#[cfg(feature = "cloudwatch")]
use crate::cloudwatch::{self, MetricNamespace};
use crate::dynamo::{self, Table};
use crate::eventbridge::{self, EventBus};
use crate::firehose::{self, DeliveryStream};
use crate::journal::AnswerReceipt;
use crate::kinesis::{self, Stream};
use crate::logs::{self, LogStream};
use crate::registry::Registry;
use crate::s3::{self, Bucket};
use crate::sns::{self, Topic};
use crate::sqs::{self, Queue};
use crate::wire::{Api, CallEnd, LARGEST_BODY, OperationOutcome, Refusal, Request, Responder};

/// The path of an operation of CloudWatch, without its name.
#[cfg(feature = "cloudwatch")]
const METRICS: &str = "/service/GraniteServiceVersion20100801/operation/";

/// The resources of all services.
pub(super) struct Services {
    pub(super) tables: Registry<Table>,
    tokens: dynamo::Tokens,
    pub(super) queues: Registry<Queue>,
    pub(super) streams: Registry<Stream>,
    pub(super) delivery_streams: Registry<DeliveryStream>,
    pub(super) topics: Registry<Topic>,
    pub(super) buses: Registry<EventBus>,
    pub(super) buckets: Registry<Bucket>,
    pub(super) log_streams: Registry<LogStream>,
    #[cfg(feature = "cloudwatch")]
    pub(super) namespaces: Registry<MetricNamespace>,
}

/// The services whose operations are POST requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Dynamo,
    Sqs,
    Kinesis,
    Firehose,
    EventBridge,
    Logs,
    Sns,
}

impl Service {
    /// The service and the operation that `X-Amz-Target` names. SNS has no target: its operation is in the body.
    fn of_target(target: &str) -> Option<(Self, &str)> {
        if target.is_empty() {
            return Some((Self::Sns, ""));
        }
        let (service, operation) = target.split_once('.')?;
        let service = match service {
            "DynamoDB_20120810" => Self::Dynamo,
            "AmazonSQS" => Self::Sqs,
            "Kinesis_20131202" => Self::Kinesis,
            "Firehose_20150804" => Self::Firehose,
            "AWSEvents" => Self::EventBridge,
            "Logs_20140328" => Self::Logs,
            _ => return None,
        };
        Some((service, operation))
    }

    fn api(self) -> &'static Api {
        match self {
            Self::Dynamo => &dynamo::API,
            Self::Sqs => &sqs::API,
            Self::Kinesis => &kinesis::API,
            Self::Firehose => &firehose::API,
            Self::EventBridge => &eventbridge::API,
            Self::Logs => &logs::API,
            Self::Sns => &sns::API,
        }
    }
}

impl Services {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            tables: Registry::new("table", seed),
            tokens: dynamo::Tokens::default(),
            queues: Registry::new("queue", seed),
            streams: Registry::new("stream", seed),
            delivery_streams: Registry::new("delivery stream", seed),
            topics: Registry::new("topic", seed),
            buses: Registry::new("event bus", seed),
            buckets: Registry::new("bucket", seed),
            log_streams: Registry::new("log stream", seed),
            #[cfg(feature = "cloudwatch")]
            namespaces: Registry::new("namespace", seed),
        }
    }

    /// Answers one request, without waiting.
    pub(super) async fn answer(
        &self,
        responder: &Responder,
        request: &Request<'_>,
        answered: &AnswerReceipt,
    ) -> CallEnd {
        if request.target().is_empty() && s3::is_of_bucket(request) {
            return s3::answer(&self.buckets, responder, request, answered);
        }
        #[cfg(feature = "cloudwatch")]
        if let Some(operation) = request.path.strip_prefix(METRICS) {
            return self.answer_metrics(responder, request, operation, answered);
        }
        let Some((service, operation)) = Service::of_target(request.target()) else {
            return responder.refuse(&dynamo::API, &Refusal::unknown_operation());
        };
        if request.body.len() > LARGEST_BODY {
            return responder.too_large();
        }
        let api = service.api();
        let body = match api.protocol.parse(request.body) {
            Ok(body) => body,
            Err(refusal) => return responder.refuse(api, &refusal),
        };
        // In the Query protocol the operation is a member of the form.
        let action = body.get("Action").and_then(Value::as_str).map(str::to_owned);
        let action = action.filter(|_| service == Service::Sns);
        let operation = action.as_deref().unwrap_or(operation);
        let outcome = self.operate(service, operation, body, answered).await;
        ended(responder, api, operation, outcome)
    }

    /// CloudWatch is named by the path, and its requests may be compressed.
    #[cfg(feature = "cloudwatch")]
    fn answer_metrics(
        &self,
        responder: &Responder,
        request: &Request<'_>,
        operation: &str,
        answered: &AnswerReceipt,
    ) -> CallEnd {
        let api = &cloudwatch::API;
        let body = crate::wire::decompressed(request.body, request.header("content-encoding"));
        let parsed = body.and_then(|body| Ok((api.protocol.parse(&body)?, body.len())));
        match parsed {
            Ok((body, bytes)) => {
                let outcome = cloudwatch::operate(&self.namespaces, operation, body, bytes, answered);
                ended(responder, api, operation, outcome)
            }
            Err(refusal) => responder.refuse(api, &refusal),
        }
    }

    async fn operate(
        &self,
        service: Service,
        operation: &str,
        body: Value,
        answered: &AnswerReceipt,
    ) -> OperationOutcome {
        match service {
            Service::Dynamo => dynamo::operate(&self.tables, &self.tokens, operation, body, answered),
            Service::Sqs => sqs::operate(&self.queues, operation, body, answered).await,
            Service::Kinesis => kinesis::operate(&self.streams, operation, body, answered),
            Service::Firehose => firehose::operate(&self.delivery_streams, operation, body, answered),
            Service::EventBridge => eventbridge::operate(&self.buses, operation, body, answered),
            Service::Logs => logs::operate(&self.log_streams, operation, body, answered),
            Service::Sns => sns::operate(&self.topics, operation, body, answered),
        }
    }
}

fn ended(responder: &Responder, api: &Api, operation: &str, outcome: OperationOutcome) -> CallEnd {
    match outcome {
        OperationOutcome::Success(value) => responder.succeed(api, operation, &value),
        OperationOutcome::Refused(refusal) => responder.refuse(api, &refusal),
        OperationOutcome::Fault(fault) => responder.fail(api, operation, fault),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_service_and_operation() {
        for (target, expected) in [
            (
                "DynamoDB_20120810.BatchWriteItem",
                Some((Service::Dynamo, "BatchWriteItem")),
            ),
            ("AmazonSQS.SendMessageBatch", Some((Service::Sqs, "SendMessageBatch"))),
            ("Kinesis_20131202.PutRecords", Some((Service::Kinesis, "PutRecords"))),
            ("Logs_20140328.PutLogEvents", Some((Service::Logs, "PutLogEvents"))),
            ("AWSGlue.StartJobRun", None),
        ] {
            assert_eq!(Service::of_target(target), expected);
        }
    }
}
