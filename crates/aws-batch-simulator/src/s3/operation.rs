//! Which operation a request is, if it is one that is modelled.

use super::chunks::ENCODING;
use super::condition::Condition;
use crate::wire::Request;

/// The parameter of the query that makes a request `DeleteObjects`.
const DELETIONS: &str = "delete";
/// The parameter by which the SDK names operations that method and path name already.
const NAME: &str = "x-id";

/// Headers of S3 that clients send by themselves, or that change nothing in a bucket of this simulator.
const WITHOUT_EFFECT: [&str; 9] = [
    "x-amz-checksum-mode",
    "x-amz-content-sha256",
    "x-amz-date",
    "x-amz-decoded-content-length",
    "x-amz-request-payer",
    "x-amz-sdk-checksum-algorithm",
    "x-amz-security-token",
    "x-amz-trailer",
    "x-amz-user-agent",
];
/// Headers of HTTP that would change what is read or written.
const OF_HTTP: [&str; 6] = [
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "range",
];
/// Headers that would be kept with an object.
const METADATA: [&str; 4] = ["cache-control", "content-disposition", "content-language", "expires"];

#[derive(Debug, PartialEq)]
pub(super) enum Operation {
    Get,
    Head,
    Put(Condition),
    Delete(Condition),
    DeleteAll,
}

impl Operation {
    /// The operation of a request for this key, or what of the request is not modelled.
    pub(super) fn of(request: &Request<'_>, key: &str) -> Result<Self, String> {
        let parameters = request.query.split('&').filter(|pair| !pair.is_empty());
        let (mut names_deletions, is_of_object) = (false, !key.is_empty());
        for parameter in parameters {
            match parameter.split('=').next() {
                Some(NAME) => {}
                Some(DELETIONS) if request.method == "POST" && !is_of_object => names_deletions = true,
                name => return Err(format!("the parameter {}", name.unwrap_or_default())),
            }
        }
        let operation = match request.method {
            "GET" if is_of_object => Self::Get,
            "HEAD" if is_of_object => Self::Head,
            "PUT" if is_of_object => Self::Put(condition(request)),
            "DELETE" if is_of_object => Self::Delete(condition(request)),
            "POST" if names_deletions => Self::DeleteAll,
            method => return Err(format!("{method} {}", request.path)),
        };
        let mut names = request.headers.iter().map(|(name, _)| *name);
        match names.find(|name| !operation.allows(name, request)) {
            Some(name) => Err(format!("the header {name}: {}", request.header(name))),
            None => Ok(operation),
        }
    }

    fn allows(&self, header: &str, request: &Request<'_>) -> bool {
        let value = request.header(header);
        match (header, self) {
            ("if-none-match", Self::Put(Condition::IsMissing)) => request.header("if-match").is_empty(),
            // S3 itself takes no `*` for a put.
            ("if-match", Self::Put(Condition::HasTag(_)) | Self::Delete(_)) => true,
            ("content-encoding", Self::Put(_)) => value.split(',').all(|encoding| encoding.trim() == ENCODING),
            (header, Self::Put(_)) if METADATA.contains(&header) => false,
            (header, _) if header.starts_with("x-amz-checksum-") => true,
            (header, _) if header.starts_with("x-amz-") => WITHOUT_EFFECT.contains(&header),
            (header, _) => !OF_HTTP.contains(&header),
        }
    }
}

fn condition(request: &Request<'_>) -> Condition {
    match (request.header("if-match"), request.header("if-none-match")) {
        (_, "*") => Condition::IsMissing,
        ("", _) => Condition::None,
        ("*", _) => Condition::Exists,
        (tag, _) => Condition::HasTag(tag.trim_matches('"').to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(method: &str, target: &str, headers: &[(&str, &str)]) -> Result<Operation, String> {
        let (key, query) = target.split_once('?').unwrap_or((target, ""));
        let request = Request {
            method,
            host: "large.s3.us-east-1.amazonaws.com",
            path: "/",
            query,
            headers: headers.to_vec(),
            body: &[],
        };
        Operation::of(&request, key)
    }

    #[test]
    fn a_request_is_an_operation_by_its_method_its_key_and_its_query() {
        for (method, target, expected) in [
            ("GET", "a?x-id=GetObject", Operation::Get),
            ("HEAD", "a", Operation::Head),
            ("PUT", "a?x-id=PutObject", Operation::Put(Condition::None)),
            ("DELETE", "a?x-id=DeleteObject", Operation::Delete(Condition::None)),
            ("POST", "?delete", Operation::DeleteAll),
            ("POST", "?delete=&x-id=DeleteObjects", Operation::DeleteAll),
        ] {
            assert_eq!(operation(method, target, &[]), Ok(expected), "{method} {target}");
        }
    }

    #[test]
    fn operations_that_are_not_modelled_are_none() {
        for (method, target) in [
            ("GET", ""),
            ("HEAD", ""),
            ("PUT", ""),
            ("DELETE", ""),
            ("GET", "?list-type=2"),
            ("GET", "a?versionId=1"),
            ("PUT", "a?tagging"),
            ("PUT", "a?partNumber=1&uploadId=b"),
            ("DELETE", "a?tagging"),
            ("DELETE", "a?delete"),
            ("POST", "a?uploads"),
            ("POST", "a?delete"),
            ("POST", "?x-id=other"),
            ("PATCH", "a"),
        ] {
            assert!(operation(method, target, &[]).is_err(), "{method} {target}");
        }
    }

    #[test]
    fn a_condition_is_one_that_its_operation_has() {
        let tag = || Condition::HasTag("b".to_owned());
        let put = |headers: &[_]| operation("PUT", "a", headers);
        let delete = |headers: &[_]| operation("DELETE", "a", headers);
        assert_eq!(put(&[("if-none-match", "*")]), Ok(Operation::Put(Condition::IsMissing)));
        assert_eq!(put(&[("if-match", "\"b\"")]), Ok(Operation::Put(tag())));
        assert_eq!(delete(&[("if-match", "b")]), Ok(Operation::Delete(tag())));
        assert_eq!(delete(&[("if-match", "*")]), Ok(Operation::Delete(Condition::Exists)));
        assert!(put(&[("if-match", "*")]).is_err());
        assert!(put(&[("if-none-match", "b")]).is_err());
        assert!(put(&[("if-none-match", "*"), ("if-match", "b")]).is_err());
        assert!(delete(&[("if-none-match", "*")]).is_err());
        assert!(operation("GET", "a", &[("if-match", "b")]).is_err());
        assert!(operation("HEAD", "a", &[("if-none-match", "b")]).is_err());
    }

    #[test]
    fn headers_that_clients_send_by_themselves_are_no_other_operation() {
        let headers = [
            ("host", "large"),
            ("authorization", "AWS4-HMAC-SHA256"),
            ("content-type", "text/plain"),
            ("content-encoding", "aws-chunked"),
            ("amz-sdk-request", "attempt=1"),
            ("x-amz-checksum-crc32", "AAAAAA=="),
            ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
            ("x-amz-trailer", "x-amz-checksum-crc32"),
            ("x-amzn-trace-id", "Root=1"),
        ];
        assert_eq!(operation("PUT", "a", &headers), Ok(Operation::Put(Condition::None)));
    }

    #[test]
    fn headers_whose_effect_is_not_modelled_are_named() {
        for (method, header, value) in [
            ("GET", "range", "bytes=0-1"),
            ("PUT", "x-amz-copy-source", "large/b"),
            ("PUT", "x-amz-meta-b", "c"),
            ("PUT", "x-amz-tagging", "b=c"),
            ("PUT", "content-encoding", "gzip"),
            ("PUT", "content-encoding", "gzip, aws-chunked"),
            ("PUT", "cache-control", "no-store"),
            ("DELETE", "x-amz-if-match-size", "1"),
        ] {
            let expected = Err(format!("the header {header}: {value}"));
            assert_eq!(operation(method, "a", &[(header, value)]), expected);
        }
    }
}
