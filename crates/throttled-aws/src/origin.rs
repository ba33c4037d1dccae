//! Which service and operation a request is for.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE};
use hyper::http::request::Parts;

/// The service and the operation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// `dynamodb`, `sqs`, `kinesis`, or as in the signature. Empty if neither does.
    pub(crate) service: String,
    /// The operation, or else the method.
    pub(crate) operation: String,
}

impl Origin {
    pub(crate) fn of(parts: &Parts) -> Self {
        let target = text(&parts.headers, "x-amz-target");
        let signed = signed_service(&parts.headers);
        let Some((prefix, operation)) = target.rsplit_once('.') else {
            let mut pairs = parts.uri.query().into_iter().flat_map(|query| query.split('&'));
            let action = pairs.find_map(|pair| pair.strip_prefix("Action="));
            return Self {
                service: signed.to_owned(),
                operation: action.unwrap_or(parts.method.as_str()).to_owned(),
            };
        };
        let service = match prefix {
            "DynamoDB_20120810" => "dynamodb",
            "AmazonSQS" => "sqs",
            "Kinesis_20131202" => "kinesis",
            _ if signed.is_empty() => prefix,
            _ => signed,
        };
        Self {
            service: service.to_owned(),
            operation: operation.to_owned(),
        }
    }
}

/// Whether the body is JSON that is not compressed.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.contains("json")) && !headers.contains_key(CONTENT_ENCODING)
}

/// The service in the scope of the signature: `Credential=KEY/DATE/REGION/SERVICE/aws4_request`.
fn signed_service(headers: &HeaderMap) -> &str {
    let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let scope = authorization
        .and_then(|text| text.split_once("Credential="))
        .map(|(_, scope)| scope);
    scope.and_then(|scope| scope.split('/').nth(3)).unwrap_or_default()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn origin(builder: hyper::http::request::Builder) -> (String, String) {
        let (parts, ()) = builder.body(()).unwrap().into_parts();
        let origin = Origin::of(&parts);
        (origin.service, origin.operation)
    }

    #[test]
    fn a_request_tells_its_service_by_target_or_signature() {
        let signed =
            "AWS4-HMAC-SHA256 Credential=key/20261128/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        for (builder, service, operation) in [
            (
                Request::post("/").header("x-amz-target", "DynamoDB_20120810.PutItem"),
                "dynamodb",
                "PutItem",
            ),
            (
                Request::post("/").header("x-amz-target", "AWSEvents.PutEvents"),
                "AWSEvents",
                "PutEvents",
            ),
            (Request::put("/bucket/key").header("authorization", signed), "s3", "PUT"),
            (Request::get("/?Action=ListTopics&Version=1"), "", "ListTopics"),
            (Request::get("/"), "", "GET"),
            (Request::get("/").header("authorization", "Credential="), "", "GET"),
        ] {
            assert_eq!(origin(builder), (service.to_owned(), operation.to_owned()));
        }
    }
}
