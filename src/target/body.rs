//! The body of a call, written from entries that stay with the delivery.
//!
//! The SDK keeps the input of a call, so that whoever may have to send an entry again gives it a copy. To copy entries and to
//! drop the copies takes as long as to write them, so the body is written here and the SDK gets an input without entries;
//! it signs and sends the body as if it were its own. Who watches the client's calls by an interceptor, as mocks do,
//! sees the input: for such a client the SDK writes, from copies.

use std::error::Error;
use std::iter::successors;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_types::body::SdkBody;

/// The protocols whose bodies are plain JSON.
const JSON: &str = "application/x-amz-json-";

/// Bytes that a body has room for when its writing begins.
const ROOM: usize = 8 * 1024;

/// The body of one call.
#[derive(Debug)]
pub(crate) struct Body(Vec<u8>);

/// The SDK expects something other than JSON, as a later version may. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[error("the SDK does not speak JSON")]
pub(crate) struct OtherProtocol;

impl Body {
    /// The body with the JSON that is written.
    pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut json = Vec::with_capacity(ROOM);
        write(&mut json);
        Self(json)
    }

    /// What gives a request this body instead of its own.
    pub(crate) fn place(self) -> impl Fn(HttpRequest) -> Result<HttpRequest, OtherProtocol> + Send + Sync + 'static {
        let length = self.0.len();
        let body = SdkBody::from(self.0);
        move |mut request| {
            let is_json = request
                .headers()
                .get("content-type")
                .is_some_and(|kind| kind.starts_with(JSON));
            let body = body.try_clone().filter(|_| is_json).ok_or(OtherProtocol)?;
            request.headers_mut().insert("content-length", length.to_string());
            *request.body_mut() = body;
            Ok(request)
        }
    }
}

/// Whether a call failed because it could not have the body, before anything was sent.
pub(crate) fn was_not_placed(error: &(dyn Error + 'static)) -> bool {
    successors(Some(error), |&error| error.source()).any(<dyn Error>::is::<OtherProtocol>)
}

/// Whether an entry has all that is known here, and no more: a later SDK may have given it a field that would not be
/// written. A field more makes it larger.
pub(crate) const fn is_known<Entry, Known>() -> bool {
    size_of::<Entry>() == size_of::<Known>()
}
