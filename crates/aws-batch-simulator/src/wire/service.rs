//! The services, and the protocols of their answers.

/// The services whose operations are POST requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Dynamo,
    Sqs,
    Kinesis,
    Firehose,
    EventBridge,
    Sns,
}

/// The format of requests and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Json10,
    Json11,
    /// Requests are forms, answers are XML.
    Query,
}

impl Service {
    /// The service and the operation that `X-Amz-Target` names.
    pub(crate) fn of_target(target: &str) -> Option<(Self, &str)> {
        let (service, operation) = target.split_once('.')?;
        let service = match service {
            "DynamoDB_20120810" => Self::Dynamo,
            "AmazonSQS" => Self::Sqs,
            "Kinesis_20131202" => Self::Kinesis,
            "Firehose_20150804" => Self::Firehose,
            "AWSEvents" => Self::EventBridge,
            _ => return None,
        };
        Some((service, operation))
    }

    /// The prefix of the codes of its errors.
    pub(super) fn namespace(self) -> &'static str {
        match self {
            Self::Dynamo => "com.amazonaws.dynamodb.v20120810#",
            Self::Sqs => "com.amazonaws.sqs#",
            Self::Kinesis | Self::Firehose | Self::EventBridge | Self::Sns => "",
        }
    }

    pub(super) fn protocol(self) -> Protocol {
        match self {
            Self::Dynamo | Self::Sqs => Protocol::Json10,
            Self::Kinesis | Self::Firehose | Self::EventBridge => Protocol::Json11,
            Self::Sns => Protocol::Query,
        }
    }
}

impl Protocol {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json10 => "application/x-amz-json-1.0",
            Self::Json11 => "application/x-amz-json-1.1",
            Self::Query => "text/xml",
        }
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
            ("AWSGlue.StartJobRun", None),
        ] {
            assert_eq!(Service::of_target(target), expected);
        }
    }
}
