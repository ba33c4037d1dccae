//! Recognizes an answer of success whose body was cut off.
//!
//! The SDK reads as much as came: an empty body is an object without members, and XML may end within its root. Where such an answer means
//! that everything was accepted, the connection that ends with it may have lost the failures.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::AfterDeserializationInterceptorContextRef;

/// How a success whose body is not whole is recognized, which becomes an answer that was cut short.
#[derive(Debug, Clone, Copy)]
#[allow(dead_code, reason = "each service uses one of them")]
pub(crate) enum WholeBody {
    /// JSON: it cannot be read if it is cut off anywhere but before its beginning.
    Json,
    /// XML with this root: it ends with its end.
    Xml(&'static str),
}

impl WholeBody {
    /// # Errors
    /// When the answer is a success and its body is cut off.
    pub(super) fn look_at(self, context: &AfterDeserializationInterceptorContextRef<'_>) -> Result<(), BoxError> {
        let is_cut_off = |body: &[u8]| !self.is_whole(body);
        if context.output_or_error().is_ok() && context.response().body().bytes().is_some_and(is_cut_off) {
            return Err("the body of the answer is not whole".into());
        }
        Ok(())
    }

    fn is_whole(self, body: &[u8]) -> bool {
        match self {
            Self::Json => !body.trim_ascii().is_empty(),
            Self::Xml(root) => ends_with_end_of(root, body.trim_ascii_end()),
        }
    }
}

/// Whether the last tag is the end of this root, or the root itself if it is empty.
fn ends_with_end_of(root: &str, body: &[u8]) -> bool {
    let last_tag = body
        .iter()
        .rposition(|byte| *byte == b'<')
        .map(|place| &body[place + 1..]);
    let Some(Ok(tag)) = last_tag.map(str::from_utf8) else {
        return false;
    };
    let end = tag.strip_prefix('/').and_then(|tag| tag.strip_suffix('>'));
    let empty = tag.strip_suffix("/>");
    let name = |tag: &str| tag.split_ascii_whitespace().next() == Some(root);
    end.or(empty).is_some_and(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_whole_from_its_last_byte_on() {
        const WHOLE: [&str; 6] = [
            "<DeleteResult/>",
            "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\" />",
            "<?xml version=\"1.0\"?>\n<DeleteResult></DeleteResult>",
            "<DeleteResult><Error><Key>&lt;/a></Key><Code>SlowDown</Code></Error></DeleteResult>",
            "<DeleteResult><Deleted><Key>a</Key></Deleted></DeleteResult >",
            "<DeleteResult><Empty/></DeleteResult>",
        ];
        for whole in WHOLE {
            let is_whole = |length: usize| WholeBody::Xml("DeleteResult").is_whole(&whole.as_bytes()[..length]);
            let first = (0..=whole.len()).find(|length| is_whole(*length));
            assert_eq!(first, Some(whole.len()), "{whole}");
            assert!(WholeBody::Xml("DeleteResult").is_whole(format!("{whole}\r\n").as_bytes()));
        }
        for (body, is_whole) in [("", false), (" \n", false), ("{}", true)] {
            assert_eq!(WholeBody::Json.is_whole(body.as_bytes()), is_whole, "{body:?}");
        }
    }
}
